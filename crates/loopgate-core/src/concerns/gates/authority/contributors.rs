//! Who had a hand in a pull request's commits: they do not approve what they wrote.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    concerns::gates::report::Refusal,
    ids::{Login, Sha, UserId},
    observed::{Account, AccountKind, Assignments, Commit, PushContent, Snapshot},
    policy::Exclusions,
};

/// The account and the address GitHub commits with when somebody uses its web pages
/// (<https://github.com/web-flow>). It is a committer only: anybody can write this address as an author's.
const WEB_FLOW: &str = "web-flow";
const WEB_FLOW_EMAIL: &str = "noreply@github.com";

/// Everybody who made a part of the pull request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::concerns::gates) struct Contributors {
    /// Authors and committers of its commits.
    committed: People,
    co_authored: People,
    pushed: People,
    /// Commits with a contributor whom GitHub does not know.
    pub(in crate::concerns::gates) unattributed: Vec<Sha>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct People {
    ids: BTreeSet<UserId>,
    /// From e-mail addresses of the form `login@users.noreply.…`, which carry no id.
    logins: BTreeSet<Login>,
}

impl People {
    fn include(&self, account: &Account) -> bool {
        self.ids.contains(&account.id) || self.logins.contains(&account.login)
    }
}

impl Contributors {
    /// Those of a gate whose own diff has these `paths`. Unless all counts, a merge of the base or a rebase adds
    /// no contributor.
    pub(in crate::concerns::gates) fn new(
        snapshot: &Snapshot,
        counts_all: bool,
        paths: &[String],
    ) -> Self {
        let makers = &snapshot.makers;
        let no_merger = |commit: &Commit| counts_all || !commit.update_merge;
        let mut found = Self::of_commits(snapshot, paths, no_merger, counts_all);
        let pushes = makers
            .pushes
            .iter()
            .filter(|push| counts_all || push.content == PushContent::Own);
        found.pushed.ids.extend(pushes.map(|push| push.by.id));
        found
    }

    /// Of the commits that count. Who rebases commits becomes their committer: whether that counts, too.
    fn of_commits(
        snapshot: &Snapshot,
        paths: &[String],
        counts: impl Fn(&Commit) -> bool,
        rebasers_count: bool,
    ) -> Self {
        let (mut found, makers) = (Self::default(), &snapshot.makers);
        // An address that GitHub attributed once belongs to the same account wherever it stands.
        let mut known: BTreeMap<String, UserId> = makers
            .addresses
            .iter()
            .map(|(address, account)| (address.clone(), account.id))
            .collect();
        let named = snapshot.commits.items.iter().flat_map(|commit| {
            let committer = (&commit.committer, &commit.committer_email);
            [(&commit.author, &commit.author_email), committer]
        });
        known.extend(named.filter_map(|(account, email)| {
            Some((email.to_ascii_lowercase(), account.as_ref()?.id))
        }));
        for commit in snapshot
            .commits
            .items
            .iter()
            .filter(|commit| counts(commit))
        {
            let rebased = !rebasers_count
                && commit.committer != commit.author
                && commit
                    .committer
                    .as_ref()
                    .is_some_and(|committer| makers.only_merged(committer));
            let mut is_known = add(
                &mut found.committed,
                commit.author.as_ref(),
                &commit.author_email,
                &known,
            );
            let committer = commit.committer.as_ref();
            if !rebased && !is_site(committer, &commit.committer_email) {
                is_known &= add(
                    &mut found.committed,
                    committer,
                    &commit.committer_email,
                    &known,
                );
            }
            let is_elsewhere = makers
                .suggestions
                .get(&commit.sha)
                .is_some_and(|files| !paths.iter().any(|path| files.contains(path)));
            for email in co_authors(&commit.message) {
                let mut nobody = People::default();
                let people = if is_elsewhere {
                    &mut nobody
                } else {
                    &mut found.co_authored
                };
                is_known &= add(people, None, email, &known);
            }
            if !is_known {
                found.unattributed.push(commit.sha);
            }
        }
        found
    }

    /// Of a coding agent's pull request, who had a hand in the commits that a bot wrote: whom the agent names there
    /// asked for it.
    pub(in crate::concerns::gates) fn named_by_agent(snapshot: &Snapshot) -> Self {
        if snapshot.assignments == Assignments::NotAnAgents {
            return Self::default();
        }
        let by_bot = |commit: &Commit| {
            commit
                .author
                .as_ref()
                .is_some_and(|author| author.kind == AccountKind::Bot)
        };
        Self::of_commits(snapshot, &[], by_bot, true)
    }

    pub(in crate::concerns::gates) fn include(&self, account: &Account) -> bool {
        [&self.committed, &self.co_authored, &self.pushed]
            .iter()
            .any(|people| people.include(account))
    }

    /// Why somebody may not approve what they made, if so.
    pub(in crate::concerns::gates) fn refusal(
        &self,
        account: &Account,
        exclusions: &Exclusions,
    ) -> Option<Refusal> {
        let parts = [
            (
                &self.committed,
                exclusions.allow_contributors,
                Refusal::IsContributor,
            ),
            (
                &self.co_authored,
                exclusions.allow_coauthors,
                Refusal::IsCoAuthor,
            ),
            (&self.pushed, exclusions.allow_pusher, Refusal::IsPusher),
        ];
        let excludes = |(people, is_allowed, _): &(&People, bool, Refusal)| {
            !is_allowed && people.include(account)
        };
        parts
            .into_iter()
            .find(excludes)
            .map(|(.., refusal)| refusal)
    }
}

/// Whether these are GitHub's own pages, which are no contributor.
fn is_site(account: Option<&Account>, email: &str) -> bool {
    email.eq_ignore_ascii_case(WEB_FLOW_EMAIL)
        || account.is_some_and(|account| account.login.as_str() == WEB_FLOW)
}

/// Adds one contributor; false if the account is unknown.
fn add(
    people: &mut People,
    account: Option<&Account>,
    email: &str,
    known: &BTreeMap<String, UserId>,
) -> bool {
    if is_site(account, email) {
        return false;
    }
    let email = email.to_ascii_lowercase();
    match (account, known.get(&email), noreply(&email)) {
        (Some(account), ..) => drop(people.ids.insert(account.id)),
        (None, Some(&id), _) => drop(people.ids.insert(id)),
        (None, None, Some((id, login))) => {
            people.ids.extend(id);
            people.logins.extend(login.parse::<Login>());
        }
        (None, None, None) => return false,
    }
    true
}

/// The addresses of `Co-authored-by:` trailers. Taken from any line: GitHub itself is as generous.
pub fn co_authors(message: &str) -> impl Iterator<Item = &str> {
    message.lines().filter_map(|line| {
        let (key, value) = line.split_once(':')?;
        let email = value.rsplit_once('<')?.1.split_once('>')?.0;
        key.trim()
            .eq_ignore_ascii_case("co-authored-by")
            .then(|| email.trim())
    })
}

/// `123+login@users.noreply.github.com`, and the older form without an id.
pub(in crate::concerns::gates) fn noreply(email: &str) -> Option<(Option<UserId>, &str)> {
    let (local, domain) = email.split_once('@')?;
    domain
        .strip_prefix("users.noreply.")
        .filter(|host| !host.is_empty())?;
    match local.split_once('+') {
        Some((id, login)) => Some((Some(UserId::new(id.parse().ok()?)), login)),
        None => Some((None, local)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fixtures,
        observed::{Head, Listing},
    };

    fn account(id: u64, login: &str) -> Account {
        Account {
            id: UserId::new(id),
            login: login.parse().unwrap(),
            kind: AccountKind::User,
        }
    }

    fn commit(author: Option<Account>, committer: Option<Account>, message: &str) -> Commit {
        let email = |account: &Option<Account>| {
            account
                .as_ref()
                .map_or("ghost@nowhere".to_owned(), |account| {
                    format!("{}@example.com", account.login)
                })
        };
        Commit {
            sha: Sha::from_bytes([7; 20]),
            message: message.into(),
            author_email: email(&author),
            committer_email: email(&committer),
            author,
            committer,
            update_merge: false,
        }
    }

    fn of(commits: Vec<Commit>) -> Contributors {
        let head = Head {
            sha: fixtures::sha(1),
            tree: fixtures::sha(1),
            branch: "a".into(),
            repository: None,
            known_since: None,
        };
        let pull_request = fixtures::pull_request(1, "A", fixtures::person(90, "author"), head);
        let mut snapshot = fixtures::snapshot_of(pull_request, (7, 700), Vec::new());
        snapshot.commits = Listing::complete(commits);
        Contributors::new(&snapshot, false, &[])
    }

    #[test]
    fn authors_committers_and_co_authors_are_contributors() {
        let message = "Fix\n\nCo-authored-by: Carol <77+carol@users.noreply.github.com>\n\
                       co-authored-by: Dan <dan@users.noreply.github.com>\nCo-Authored-By: Erin <ERIN@example.com>";
        let found = of(vec![
            commit(Some(account(1, "alice")), Some(account(2, "bob")), message),
            commit(Some(account(5, "erin")), Some(account(5, "erin")), ""),
        ]);
        for (id, login) in [
            (1, "alice"),
            (2, "bob"),
            (77, "renamed"),
            (99, "Dan"),
            (5, "erin"),
        ] {
            assert!(found.include(&account(id, login)), "{login}");
        }
        assert!(!found.include(&account(9, "zoe")));
        assert!(found.unattributed.is_empty());
    }

    #[test]
    fn web_flow_is_nobody() {
        let found = of(vec![commit(
            Some(account(1, "alice")),
            Some(account(19_864_447, "web-flow")),
            "",
        )]);
        assert!(!found.include(&account(19_864_447, "web-flow")) && found.unattributed.is_empty());
    }

    /// Its address is public: under it, anybody would be no contributor of their own commits.
    #[test]
    fn web_flow_is_no_author() {
        let (alice, site) = (account(1, "alice"), account(19_864_447, "web-flow"));
        let by_site = commit(Some(site.clone()), Some(alice.clone()), "");
        let by_its_address = Commit {
            author_email: "NoReply@GitHub.com".to_owned(),
            ..commit(None, Some(site), "")
        };
        let trailer = "x\n\nCo-authored-by: GitHub <noreply@github.com>";
        let with_it = commit(Some(alice.clone()), Some(alice), trailer);
        for hidden in [by_site, by_its_address, with_it] {
            assert_eq!(of(vec![hidden]).unattributed.len(), 1);
        }
    }

    #[test]
    fn an_unknown_author_is_listed() {
        assert_eq!(
            of(vec![commit(None, Some(account(1, "alice")), "")])
                .unattributed
                .len(),
            1
        );
        let trailer = "x\n\nCo-authored-by: Mallory <mallory@nowhere.example>";
        assert_eq!(
            of(vec![commit(
                Some(account(1, "a")),
                Some(account(1, "a")),
                trailer
            )])
            .unattributed
            .len(),
            1
        );
    }
}
