//! Whether a coding agent had a hand in a pull request, and which.

use std::collections::BTreeSet;

use super::authority::{co_authors, noreply};
use crate::{
    ids::Login,
    observed::{Account, Commit, Snapshot},
};

/// Trailers that name who made a commit. GitHub itself takes them from any line.
const TRAILERS: [&str; 4] = ["agent", "assisted-by", "generated-by", "co-authored-by"];

/// The agent that wrote, committed, co-authored, pushed, opened or was assigned a part of the pull request; `None` if
/// no source names one. `agents` are the accounts that count.
pub(super) fn agent_in(snapshot: &Snapshot, agents: &BTreeSet<Login>) -> Option<String> {
    let by_account = |account: &Account| {
        agents
            .contains(&account.login)
            .then(|| account.login.to_string())
    };
    let pushers = snapshot.makers.pushes.iter().map(|push| &push.by);
    let accounts = std::iter::once(&snapshot.pull_request.author)
        .chain(pushers)
        .chain(&snapshot.makers.assigned);
    let by_commit = || {
        snapshot
            .commits
            .items
            .iter()
            .find_map(|commit| of_commit(commit, agents))
    };
    accounts.filter_map(by_account).next().or_else(by_commit)
}

/// The agent that wrote, committed or co-authored a commit, by its accounts, addresses and trailers.
pub(crate) fn of_commit(commit: &Commit, agents: &BTreeSet<Login>) -> Option<String> {
    // Addresses, and names as trailers begin with them, in lower case.
    let is_listed = |line: &str| {
        include_str!("../../../data/coding_agents.txt")
            .lines()
            .any(|known| known == line)
    };
    let accounts = [&commit.author, &commit.committer].into_iter().flatten();
    let mut by_account = accounts
        .filter(|account| agents.contains(&account.login))
        .map(|one| one.login.to_string());
    let addresses = [commit.author_email.as_str(), &commit.committer_email]
        .into_iter()
        .chain(co_authors(&commit.message));
    let mut by_address = addresses.filter_map(|address| {
        let address = address.to_ascii_lowercase();
        let login = noreply(&address).and_then(|(_, login)| login.parse::<Login>().ok());
        let login = login
            .filter(|login| agents.contains(login))
            .map(|login| login.to_string());
        login.or_else(|| (address.contains('@') && is_listed(&address)).then_some(address))
    });
    let mut by_trailer = commit.message.lines().filter_map(|line| {
        let (key, value) = line.split_once(':')?;
        let is_trailer = TRAILERS
            .iter()
            .any(|trailer| key.trim().eq_ignore_ascii_case(trailer));
        let name = value
            .split(|c: char| !c.is_ascii_alphanumeric())
            .find(|word| !word.is_empty())?
            .to_ascii_lowercase();
        (is_trailer && is_listed(&format!("name: {name}"))).then_some(name)
    });
    by_account
        .next()
        .or_else(|| by_address.next())
        .or_else(|| by_trailer.next())
}

#[cfg(test)]
mod tests {
    use super::{super::assess::world::*, *};
    use crate::{
        observed::{Push, PushContent},
        policy::known_coding_agents,
    };

    fn agent(change: impl FnOnce(&mut Snapshot)) -> Option<String> {
        let mut world = World::new();
        change(&mut world.snapshot);
        agent_in(
            &world.snapshot,
            &known_coding_agents()
                .chain([login("acme-fixer[bot]")])
                .collect(),
        )
    }

    #[test]
    fn an_agent_is_found_wherever_it_is_named() {
        let commit =
            |snapshot: &mut Snapshot| snapshot.commits.items.last().cloned().expect("a commit");
        let message = |text: &'static str| {
            move |snapshot: &mut Snapshot| snapshot.commits.items[0].message = text.into()
        };
        assert_eq!(agent(|_| {}), None);
        assert_eq!(
            agent(|snapshot| snapshot.pull_request.author = account("Copilot")).as_deref(),
            Some("Copilot")
        );
        assert_eq!(
            agent(|snapshot| snapshot.makers.assigned = vec![account("copilot")]).as_deref(),
            Some("copilot")
        );
        let pushed = Push {
            by: account("acme-fixer[bot]"),
            content: PushContent::Merged,
        };
        assert_eq!(
            agent(|snapshot| snapshot.makers.pushes = vec![pushed]).as_deref(),
            Some("acme-fixer[bot]")
        );
        let by_committer = |snapshot: &mut Snapshot| {
            let made = Commit {
                committer: Some(account("claude[bot]")),
                ..commit(snapshot)
            };
            snapshot.commits.items.push(made);
        };
        assert_eq!(agent(by_committer).as_deref(), Some("claude[bot]"));
        let by_address = |snapshot: &mut Snapshot| {
            snapshot.commits.items[0].author_email = "NoReply@Anthropic.com".into()
        };
        assert_eq!(agent(by_address).as_deref(), Some("noreply@anthropic.com"));
        for (text, found) in [
            (
                "Fix\n\nCo-authored-by: Claude Opus <x@y.example>",
                Some("claude"),
            ),
            (
                "Fix\n\nCo-authored-by: X <175728472+Copilot@users.noreply.github.com>",
                Some("copilot"),
            ),
            ("Fix\n\nAssisted-by: Codex", Some("codex")),
            ("Fix\n\nGenerated-By: cursor/1.2", Some("cursor")),
            ("Fix\n\nAssisted-by: Dana Claude", None),
            ("Fix claude: nothing", None),
            ("Fix\n\nCo-authored-by: Claudette <c@y.example>", None),
        ] {
            assert_eq!(agent(message(text)).as_deref(), found, "{text}");
        }
    }
}
