//! Who had a hand in a pull request's commits: they do not approve what they wrote.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    ids::{Login, Sha, UserId},
    observed::{Account, AccountKind, Assignments, Commit, Completeness, Listing, Snapshot},
    policy::Exclusion,
};

/// The account GitHub commits with when somebody uses its web pages.
const WEB_FLOW: &str = "web-flow";

/// Everybody who authored, co-authored or committed a commit of the pull request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::gate) struct Contributors {
    ids: BTreeSet<UserId>,
    /// From e-mail addresses of the form `login@users.noreply.…`, which carry no id.
    logins: BTreeSet<Login>,
    /// Commits with a contributor whom GitHub does not know.
    pub(in crate::gate) unattributed: Vec<Sha>,
}

impl Contributors {
    /// Those of all commits; where update merges are allowed, of the others.
    pub(in crate::gate) fn of(commits: &Listing<Commit>, update_merges: Exclusion) -> Self {
        let mut found = Self::default();
        // An address that GitHub attributed once belongs to the same account wherever it stands.
        let mut known: BTreeMap<String, UserId> = BTreeMap::new();
        for commit in &commits.items {
            let pairs = [(&commit.author, &commit.author_email), (&commit.committer, &commit.committer_email)];
            for (account, email) in pairs {
                if let Some(account) = account {
                    known.insert(email.to_ascii_lowercase(), account.id);
                }
            }
        }
        let counts = |commit: &&Commit| update_merges == Exclusion::Excluded || !commit.update_merge;
        for commit in commits.items.iter().filter(counts) {
            let author = found.add(commit.author.as_ref(), &commit.author_email, &known);
            let committer = found.add(commit.committer.as_ref(), &commit.committer_email, &known);
            let trailers: Vec<bool> = co_authors(&commit.message).map(|email| found.add(None, email, &known)).collect();
            if !author || !committer || trailers.contains(&false) {
                found.unattributed.push(commit.sha);
            }
        }
        found
    }

    /// Of a coding agent's pull request, who had a hand in the commits that a bot wrote: whom the agent names there asked
    /// for it.
    pub(in crate::gate) fn named_by_agent(snapshot: &Snapshot) -> Self {
        if snapshot.assignments == Assignments::NotAnAgents {
            return Self::default();
        }
        let by_bot = |commit: &&Commit| commit.author.as_ref().is_some_and(|author| author.kind == AccountKind::Bot);
        let items = snapshot.commits.items.iter().filter(by_bot).cloned().collect();
        Self::of(&Listing::complete(items), Exclusion::Excluded)
    }

    pub(in crate::gate) fn include_id(&self, id: UserId) -> bool {
        self.ids.contains(&id)
    }

    pub(in crate::gate) fn include(&self, account: &Account) -> bool {
        self.include_id(account.id) || self.logins.contains(&account.login)
    }

    /// Adds one contributor; false when nobody knows who it is.
    fn add(&mut self, account: Option<&Account>, email: &str, known: &BTreeMap<String, UserId>) -> bool {
        if let Some(account) = account {
            if account.login.as_str() != WEB_FLOW {
                self.ids.insert(account.id);
            }
            return true;
        }
        let email = email.to_ascii_lowercase();
        if let Some(&id) = known.get(&email) {
            self.ids.insert(id);
            return true;
        }
        match noreply(&email) {
            Some((id, login)) => {
                self.ids.extend(id);
                self.logins.extend(login.parse::<Login>());
                true
            }
            None => email == "noreply@github.com",
        }
    }
}

/// Why it cannot be known of anybody that they are no contributor, if the list of commits is not whole.
pub(in crate::gate) fn not_all_read(commits: &Listing<Commit>) -> Option<&'static str> {
    (commits.completeness == Completeness::Incomplete).then_some("the commits")
}

/// The addresses of `Co-authored-by:` trailers. Taken from any line: GitHub itself is as generous.
fn co_authors(message: &str) -> impl Iterator<Item = &str> {
    message.lines().filter_map(|line| {
        let (key, value) = line.split_once(':')?;
        let email = value.rsplit_once('<')?.1.split_once('>')?.0;
        key.trim().eq_ignore_ascii_case("co-authored-by").then(|| email.trim())
    })
}

/// `123+login@users.noreply.github.com`, and the older form without an id.
fn noreply(email: &str) -> Option<(Option<UserId>, &str)> {
    let (local, domain) = email.split_once('@')?;
    domain.strip_prefix("users.noreply.").filter(|host| !host.is_empty())?;
    match local.split_once('+') {
        Some((id, login)) => Some((Some(UserId::new(id.parse().ok()?)), login)),
        None => Some((None, local)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(id: u64, login: &str) -> Account {
        Account { id: UserId::new(id), login: login.parse().unwrap(), kind: AccountKind::User }
    }

    fn commit(author: Option<Account>, committer: Option<Account>, message: &str) -> Commit {
        let email = |account: &Option<Account>| {
            account.as_ref().map_or("ghost@nowhere".to_owned(), |account| format!("{}@example.com", account.login))
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
        Contributors::of(&Listing::complete(commits), Exclusion::Allowed)
    }

    #[test]
    fn authors_committers_and_co_authors_are_contributors() {
        let message = "Fix\n\nCo-authored-by: Carol <77+carol@users.noreply.github.com>\n\
                       co-authored-by: Dan <dan@users.noreply.github.com>\nCo-Authored-By: Erin <ERIN@example.com>";
        let found = of(vec![
            commit(Some(account(1, "alice")), Some(account(2, "bob")), message),
            commit(Some(account(5, "erin")), Some(account(5, "erin")), ""),
        ]);
        for (id, login) in [(1, "alice"), (2, "bob"), (77, "renamed"), (99, "Dan"), (5, "erin")] {
            assert!(found.include(&account(id, login)), "{login}");
        }
        assert!(!found.include(&account(9, "zoe")));
        assert!(found.unattributed.is_empty());
    }

    #[test]
    fn web_flow_is_nobody() {
        let found = of(vec![commit(Some(account(1, "alice")), Some(account(19_864_447, "web-flow")), "")]);
        assert!(!found.include(&account(19_864_447, "web-flow")) && found.unattributed.is_empty());
    }

    #[test]
    fn an_unknown_author_is_listed() {
        assert_eq!(of(vec![commit(None, Some(account(1, "alice")), "")]).unattributed.len(), 1);
        let trailer = "x\n\nCo-authored-by: Mallory <mallory@nowhere.example>";
        assert_eq!(of(vec![commit(Some(account(1, "a")), Some(account(1, "a")), trailer)]).unattributed.len(), 1);
    }
}
