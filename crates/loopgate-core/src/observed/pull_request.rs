//! A pull request: who opened it, its head and its base.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{
    ids::{Login, PrNumber, RepoName, Sha, TeamSlug, Timestamp, UserId},
    observed::CheckScope,
};

/// A GitHub account.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Account {
    pub id: UserId,
    pub login: Login,
    pub kind: AccountKind,
}

/// What kind of account it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccountKind {
    User,
    Bot,
    Organization,
    /// GitHub's placeholder for deleted accounts, or a kind we do not know: never an approver.
    #[default]
    Other,
}

/// The pull request itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PullRequest {
    pub number: PrNumber,
    pub title: String,
    pub body: String,
    pub author: Account,
    pub lifecycle: Lifecycle,
    pub readiness: Readiness,
    pub head: Head,
    pub base: Base,
    pub labels: BTreeSet<String>,
    /// The type of change that a label from somebody with write declares.
    pub declared_type: Option<CodeType>,
    pub requested_users: BTreeSet<Login>,
    /// Slugs of the repository's organisation.
    pub requested_teams: BTreeSet<TeamSlug>,
    pub created_at: Timestamp,
    pub closed_at: Option<Timestamp>,
    pub url: String,
}

words! {
    /// What kind of change a pull request is.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
    pub enum CodeType {
        #[default]
        NewFunction = "new_function",
        BugFix = "bug_fix",
        Refactor = "refactor",
        ApiEndpoint = "api_endpoint",
        Integration = "integration",
    }
}

/// Open, closed, or merged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Lifecycle {
    #[default]
    Open,
    Closed,
    Merged {
        by: Option<Login>,
        at: Option<Timestamp>,
    },
}

/// Whether the author calls it ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Readiness {
    Draft,
    #[default]
    Ready,
}

/// The head branch and commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    pub sha: Sha,
    /// The tree of the head commit: equal trees are equal code, whatever the commits say.
    pub tree: Sha,
    pub branch: String,
    /// None when the fork it came from is gone.
    pub repository: Option<RepoName>,
    /// When a server first knew this commit (its check suite's creation), if GitHub says so. Commit dates are not
    /// used anywhere: authors choose them.
    pub known_since: Option<Timestamp>,
}

/// The base branch, and the commit that the head is compared with: the branch itself may have moved on. In a native
/// stack the branch is the stack's base, the commit one of the layer beneath.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Base {
    pub branch: String,
    pub sha: Sha,
    /// What the names of our check runs say about it.
    pub scope: CheckScope,
    /// A pattern of `branches:` that it matches, whose name its checks do not bear because people can make such branches.
    pub open_pattern: Option<String>,
}
