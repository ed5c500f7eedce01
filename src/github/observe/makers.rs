//! Who made what the head holds: to whom the addresses of its commits belong, which files commits of suggestions change,
//! and who pushed it. Events name the pusher of each head that they announce, the activity of the head
//! repository those before and between, and the pull request's events who forced a push.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::try_join_all;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    events,
    pull::{Changes, Pull},
    update_merges,
};
use crate::github::{
    Client, Error, Repo,
    error::OrAbsent as _,
    path,
    wire::{CommitFile, CommitFiles, GraphqlAccount, User, graphql_nodes, nodes},
};
use loopgate_core::{
    Sha,
    gate::co_authors,
    observed::{Account, AccountKind, AnnouncedPush, Commit, Hint, Makers, Push, PushContent, Snapshot},
    state::LoopState,
};

/// Commits asked about, the newest first; GitHub takes 100 at once.
const MOST_COMMITS: usize = 100;
/// Commits of suggestions whose files are read.
const MOST_SUGGESTIONS: usize = 20;
/// Who commits for everybody who uses GitHub's pages.
const WEB_FLOW: &str = "web-flow";
/// <https://docs.github.com/en/graphql/reference/objects#commit>, `authors`: the author and all co-authors.
const QUERY: &str = "query($ids: [ID!]!) { nodes(ids: $ids) { ... on Commit { authors(first: 50) { nodes { email \
                     user { databaseId login } } } } } }";

/// Pages of activity read: 300 pushes.
const MOST_PAGES: usize = 3;
/// Pushes of others than the author that are looked into.
const MOST_PUSHES: usize = 6;

/// `GET …/activity`, newest first
/// (<https://docs.github.com/en/rest/repos/repos#list-repository-activities>).
#[derive(Deserialize, Serialize)]
struct Activity {
    before: Sha,
    after: Sha,
    activity_type: String,
    actor: Option<User>,
}

/// A move of the head branch.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Move {
    before: Before,
    after: Sha,
    by: Option<Account>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    /// The branch was made.
    Nothing,
    /// The commit that stood there. `after` holds it.
    Commit(Sha),
    /// The commit that stood there. `after` may not hold it.
    Replaced(Sha),
}

impl Before {
    const fn commit(self) -> Option<Sha> {
        match self {
            Self::Commit(sha) | Self::Replaced(sha) => Some(sha),
            Self::Nothing => None,
        }
    }
}

/// Enters the pushes into the snapshot. GitHub is asked for pushes without events only if `asks`. `tip` is the base's.
pub(super) async fn pushes(
    client: &Client,
    snapshot: &mut Snapshot,
    pull: &Pull,
    tip: Sha,
    previous: Option<&LoopState>,
    asks: bool,
) -> Result<(), Error> {
    let repository = snapshot.repository.clone();
    let mut moves = if asks { activity(client, pull).await? } else { Vec::new() };
    add_events(&mut moves, previous, &snapshot.hints);
    let in_head: BTreeSet<Sha> = snapshot.commits.items.iter().map(|commit| commit.sha).collect();
    let lineage = lineage(&moves, snapshot.pull_request.head.sha, &in_head);
    let is_whole = lineage.is_some();
    // Where the way back is lost, everybody counts who is known to have pushed.
    let counted = lineage.unwrap_or(moves);
    if !is_whole && asks {
        let forced = events::forced_pushes(client.repo(&repository), pull.pull_request.number).await?;
        snapshot.makers.pushes.extend(forced.into_iter().map(|by| Push { by, content: PushContent::Own }));
    }
    snapshot.makers.has_unknown_pusher = asks && (!is_whole || counted.iter().any(|push| push.by.is_none()));
    let mut looked_into = 0;
    for push in counted {
        let Some(by) = push.by else { continue };
        let mut content = PushContent::Own;
        if let Some(before) = push.before.commit()
            && by.id != snapshot.pull_request.author.id
            && looked_into < MOST_PUSHES
        {
            looked_into += 1;
            if update_merges::is_only_merged(client.repo(&repository), (before, push.after), tip).await? {
                content = PushContent::Merged;
            }
        }
        snapshot.makers.pushes.push(Push { by, content });
    }
    Ok(())
}

fn add_events(moves: &mut Vec<Move>, previous: Option<&LoopState>, hints: &[Hint]) {
    let recorded = previous.into_iter().flat_map(|state| &state.pushes);
    let hinted = hints.iter().filter_map(|hint| match hint {
        Hint::Pushed(push) => Some(push),
        _ => None,
    });
    for AnnouncedPush { before, after, by } in recorded.chain(hinted) {
        let known = |known: &Move| known.after == *after && known.before.commit() == Some(*before);
        if !moves.iter().any(known) {
            let by = Account { id: by.id, login: by.login.clone(), kind: AccountKind::User };
            moves.push(Move { before: Before::Replaced(*before), after: *after, by: Some(by) });
        }
    }
}

/// The moves that led to the head, the newest first: of each commit the move that brought it first, since a branch that
/// goes back to a commit drops what was pushed meanwhile. `None` if they do not lead back to the base, or to the making of
/// the branch.
fn lineage(moves: &[Move], head: Sha, in_head: &BTreeSet<Sha>) -> Option<Vec<Move>> {
    let (mut found, mut sha, mut end, mut is_rewritten) = (Vec::new(), head, moves.len(), false);
    loop {
        let at = moves[..end].iter().position(|moved| moved.after == sha)?;
        found.push(moves[at].clone());
        match moves[at].before {
            Before::Nothing => return Some(found),
            // What the head holds, but for the base, begins after it.
            Before::Commit(before) if !is_rewritten && !in_head.contains(&before) => return Some(found),
            Before::Commit(before) => sha = before,
            Before::Replaced(before) => {
                is_rewritten |= !in_head.contains(&before);
                sha = before;
            }
        }
        end = at;
    }
}

/// The moves of the head branch, oldest first; none where GitHub does not show them.
async fn activity(client: &Client, pull: &Pull) -> Result<Vec<Move>, Error> {
    let head = &pull.pull_request.head;
    let Some(repository) = &head.repository else { return Ok(Vec::new()) };
    let branch = path::escape(&format!("refs/heads/{}", head.branch));
    let path = format!("{}/activity?ref={branch}", path::repo(repository));
    let read = async || Ok(client.list::<Activity>(&path, MOST_PAGES).await.or_refused()?.map(|listed| listed.items));
    // Until the push of the head is listed, more may come.
    let is_settled = |listed: &Option<Vec<Activity>>| listed.iter().flatten().any(|one| one.after == head.sha);
    let listed = client.once(&format!("{path}#{}", head.sha), is_settled, read).await?.unwrap_or_default();
    let moved = |Activity { before, after, activity_type, actor }: Activity| {
        let before = match activity_type.as_str() {
            "branch_creation" => Before::Nothing,
            "force_push" => Before::Replaced(before),
            _ => Before::Commit(before),
        };
        Move { before, after, by: actor.map(Account::from) }
    };
    Ok(listed.into_iter().rev().filter(|one| one.activity_type != "branch_deletion").map(moved).collect())
}

/// Enters both into what is known of the makers.
pub(super) async fn authors(repo: Repo<'_>, Changes { commits, nodes, .. }: &Changes) -> Result<Makers, Error> {
    let co_authored: Vec<&Commit> =
        commits.items.iter().rev().filter(|commit| co_authors(&commit.message).next().is_some()).collect();
    if co_authored.is_empty() {
        return Ok(Makers::default());
    }
    let by_pages = |commit: &&&Commit| commit.committer.as_ref().is_some_and(|by| by.login.as_str() == WEB_FLOW);
    let suggested = co_authored.iter().filter(by_pages).take(MOST_SUGGESTIONS);
    let suggestions = try_join_all(suggested.map(|commit| files(repo, commit.sha)));
    let ids: Vec<&str> =
        co_authored.iter().take(MOST_COMMITS).filter_map(|commit| Some(nodes.get(&commit.sha)?.as_str())).collect();
    let (suggestions, addresses) = futures::try_join!(suggestions, addresses(&repo, &ids))?;
    Ok(Makers { addresses, suggestions: suggestions.into_iter().flatten().collect(), ..Makers::default() })
}

/// The accounts of authors, by their addresses in lower case. Asked once: a commit's trailers do not change.
async fn addresses(client: &Client, ids: &[&str]) -> Result<BTreeMap<String, Account>, Error> {
    let key = format!("/graphql#authors-of-{}", ids.join(","));
    let asked = async || {
        let commits = graphql_nodes(client, QUERY, ids).await?;
        let authors = commits.iter().flat_map(|commit| nodes(&commit["authors"]));
        let named = |author: &Value| Some((author["email"].as_str()?.to_owned(), GraphqlAccount::at(&author["user"])?));
        Ok(authors.filter_map(named).collect::<Vec<_>>())
    };
    let found: Vec<(String, GraphqlAccount)> = client.once(&key, |_| true, asked).await?;
    let account = |(address, GraphqlAccount { database_id, login }): (String, GraphqlAccount)| {
        Some((address.to_ascii_lowercase(), Account { id: database_id?, login, kind: AccountKind::User }))
    };
    Ok(found.into_iter().filter_map(account).collect())
}

/// The files that a commit changes, by either name; `None` if they are not all shown.
async fn files(repo: Repo<'_>, commit: Sha) -> Result<Option<(Sha, BTreeSet<String>)>, Error> {
    const PAGE: usize = 100;
    let path = repo.path(format!("commits/{commit}?per_page={PAGE}"));
    let details = repo.get_immutable_json::<CommitFiles>(&path).await.or_refused()?.flatten();
    let details = details.filter(|details| details.files.len() < PAGE);
    let names = |file: CommitFile| [Some(file.filename), file.previous_filename].into_iter().flatten();
    Ok(details.map(|details| (commit, details.files.into_iter().flat_map(names).collect())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopgate_core::fixtures::{person, sha};

    fn moved(before: Before, after: u8, by: &str) -> Move {
        Move { before, after: sha(after), by: Some(person(u64::from(by.as_bytes()[0]), by)) }
    }

    #[test]
    fn the_pushes_that_led_to_the_head() {
        use Before::{Commit, Nothing, Replaced};
        let in_head = |shas: &[u8]| shas.iter().map(|byte| sha(*byte)).collect::<BTreeSet<_>>();
        let made = || moved(Nothing, 1, "alice");
        for (name, moves, head, held, pushers) in [
            ("made", vec![made()], 1, vec![1], Some("alice")),
            ("pushed on", vec![made(), moved(Commit(sha(1)), 2, "carol")], 2, vec![1, 2], Some("carol alice")),
            // An empty branch of the base's: 9 is on the base.
            (
                "from the base",
                vec![moved(Nothing, 9, "dan"), moved(Commit(sha(9)), 2, "alice")],
                2,
                vec![2],
                Some("alice"),
            ),
            // Carol's commit is rewritten away, but the new head is made of it.
            (
                "rewritten",
                vec![made(), moved(Commit(sha(1)), 2, "carol"), moved(Replaced(sha(2)), 3, "alice")],
                3,
                vec![3],
                Some("alice carol alice"),
            ),
            (
                "forced back",
                vec![made(), moved(Commit(sha(1)), 2, "carol"), moved(Replaced(sha(2)), 1, "alice")],
                1,
                vec![1],
                Some("alice"),
            ),
            // A head that comes back after it was left still belongs to the person who pushed it first.
            (
                "brought back",
                vec![
                    made(),
                    moved(Commit(sha(1)), 2, "carol"),
                    moved(Replaced(sha(2)), 1, "alice"),
                    moved(Commit(sha(1)), 2, "alice"),
                ],
                2,
                vec![1, 2],
                Some("carol alice"),
            ),
            ("before lost", vec![moved(Replaced(sha(1)), 2, "carol")], 2, vec![1, 2], None),
            ("head lost", vec![made()], 2, vec![1, 2], None),
        ] {
            let found = lineage(&moves, sha(head), &in_head(&held));
            let names = |found: Vec<Move>| {
                found.into_iter().filter_map(|one| Some(one.by?.login.to_string())).collect::<Vec<_>>().join(" ")
            };
            assert_eq!(found.map(names).as_deref(), pushers, "{name}");
        }
    }
}
