//! What people may do in the repository, what they wrote, and who made what the head holds, beside what its commits say
//! of themselves: a commit's author is what its maker writes.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use crate::{
    ids::{AppId, CommentId, Login, ReviewId, Sha, TeamSlug, Timestamp, UserId},
    observed::Account,
};

/// What GitHub says about the rights of people and teams that matter for the decision.
///
/// Only accounts that wrote (a command, a gate word, a review) and those that the policy names are looked up. Any other
/// account has no authority.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Authority {
    pub people: BTreeMap<UserId, Standing>,
    /// Accounts named by login in the policy, resolved to the account that bears the login now.
    pub logins: BTreeMap<Login, Result<Account, Unusable>>,
    /// Teams named in the policy that exist and can read the repository, with their members.
    pub teams: BTreeMap<TeamSlug, Result<Members, Unusable>>,
    /// The accounts with write access to the repository. `None` if they were not asked for, or GitHub does not list
    /// them.
    pub writers: Option<BTreeMap<UserId, Writer>>,
}

/// An account with write access to the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writer {
    pub account: Account,
    pub permission: Permission,
}

impl Authority {
    /// Whether somebody has at least this permission; `None` where their rights are not known.
    pub fn has(&self, person: UserId, least: Permission) -> Option<bool> {
        match self.people.get(&person)? {
            Standing::Known { permission, .. } => Some(*permission >= least),
            Standing::Gone => Some(false),
            Standing::Unknown(_) => None,
        }
    }

    /// Why something of it could not be looked up; what depends on that waits.
    pub fn unknown(&self) -> Option<&str> {
        let people = self.people.values().filter_map(|one| {
            if let Standing::Unknown(why) = one {
                Some(why)
            } else {
                None
            }
        });
        let accounts = self.logins.values().filter_map(|one| one.as_ref().err());
        let names = accounts.chain(self.teams.values().filter_map(|one| one.as_ref().err()));
        let names = names.filter_map(|one| {
            if let Unusable::Unknown(why) = one {
                Some(why)
            } else {
                None
            }
        });
        people.chain(names).next().map(String::as_str)
    }
}

/// The members of a team, and of its child teams.
pub type Members = BTreeMap<UserId, Login>;

/// Why a name in the configuration stands for no approver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unusable {
    /// The base branch has no CODEOWNERS file.
    NoCodeowners,
    /// None of the files that trigger the gate has an owner.
    OwnsNothing,
    /// An e-mail address in CODEOWNERS names no account.
    Email,
    NoAccount,
    /// There is no such team, or it is secret to us.
    NoTeam,
    /// The team cannot read the repository.
    NoAccess,
    /// GitHub does not let us read who is in the team, with the reason: the permission `members: read` is missing, and
    /// asking again changes nothing.
    Unreadable(String),
    /// The look-up failed for now; the reason.
    Unknown(String),
}

/// One person's rights on the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// GitHub says what they may do. `teams` are those named in the policy that the person belongs to, child teams
    /// included.
    Known {
        permission: Permission,
        teams: BTreeSet<TeamSlug>,
    },
    /// Suspended or removed account.
    Gone,
    /// The look-up failed (404, 403, outage): no authority, for this reason.
    Unknown(String),
}

words! {
    /// Effective permission on the repository, weakest first. `maintain` and `triage` come from `role_name` or
    /// `user.permissions`: GitHub's plain `permission` field folds them into `write` and `read`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
    pub enum Permission {
        None = "none",
        Read = "read",
        Triage = "triage",
        Write = "write",
        Maintain = "maintain",
        Admin = "admin",
    }
}

/// An issue comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    pub id: CommentId,
    pub author: Account,
    /// The App it was written through, if any: such a comment is not a person's own word.
    pub via_app: Option<AppId>,
    pub body: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Minimised by a moderator: readers of the page do not see it.
    pub is_hidden: bool,
    pub url: String,
}

/// A pull-request review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Review {
    pub id: ReviewId,
    pub author: Account,
    pub verdict: ReviewVerdict,
    pub body: String,
    /// The commit it was given on; none after garbage collection.
    pub commit: Option<Sha>,
    pub submitted_at: Timestamp,
    pub url: String,
}

/// The state of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewVerdict {
    Approved,
    ChangesRequested,
    Commented,
    Dismissed,
    Pending,
}

/// Characters that are kept of what a thread begins with.
pub const MOST_OF_A_FINDING: usize = 8_000;
/// Characters that are kept of an answer.
pub const MOST_OF_AN_ANSWER: usize = 500;

/// One thread on a line of the diff. All text in it is somebody else's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewThread {
    /// Who began it, by the slug of an App.
    pub app: String,
    pub path: String,
    /// None for a whole file.
    pub line: Option<u32>,
    /// At most [`MOST_OF_A_FINDING`] characters.
    pub finding: String,
    /// The head on which it was begun.
    pub begun_on: Option<Sha>,
    /// The newest word of somebody else than the reviewer, at most [`MOST_OF_AN_ANSWER`] characters.
    pub answer: Option<(Login, String)>,
    pub resolution: Resolution,
    /// The lines it is about were changed since.
    pub is_outdated: bool,
    pub url: String,
}

/// Whether somebody called a thread done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    Open,
    ByReviewer,
    By(Account),
    /// GitHub names no account that resolved it.
    Unknown,
}

/// What GitHub knows of the makers of a head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Makers {
    /// Pushes to the head branch that brought what the head holds.
    pub pushes: Vec<Push>,
    /// Part of what the head holds was pushed by somebody whom no source names.
    pub has_unknown_pusher: bool,
    /// Coding agents that were assigned, where a gate asks for agents.
    pub assigned: Vec<Account>,
    /// Addresses of co-authors in lower case, and the accounts that they belong to.
    pub addresses: BTreeMap<String, Account>,
    /// Commits that GitHub made of suggestions, and the files that each changes.
    pub suggestions: BTreeMap<Sha, BTreeSet<String>>,
}

/// A push to the head branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Push {
    pub by: Account,
    pub content: PushContent,
}

/// What a push brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushContent {
    /// Something of its pusher's, or what could not be compared.
    Own,
    /// Each file is what the three-way merge of the head before with the base gives: a merge of the base, or a rebase.
    Merged,
}

impl Makers {
    /// Whether somebody pushed, and nothing but merges of the base and rebases.
    pub fn only_merged(&self, account: &Account) -> bool {
        let mut pushes = self
            .pushes
            .iter()
            .filter(|push| push.by.id == account.id)
            .peekable();
        pushes.peek().is_some() && pushes.all(|push| push.content == PushContent::Merged)
    }
}

/// An assignment so soon after the opening comes from the opening.
const OPENING: TimeDelta = TimeDelta::minutes(1);

/// The assignments of a pull request that a coding agent opened. Taking one back changes nothing of who asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Assignments {
    /// Its author is no coding agent.
    #[default]
    NotAnAgents,
    Read(Vec<Assignment>),
    /// They could not be read, with the reason: anybody may have asked.
    Unread(String),
}

/// One person who was assigned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    pub whom: Account,
    pub by: Assigner,
    pub at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assigner {
    Agent,
    Themselves,
    /// Counts at the opening only, or anybody could be kept from approving.
    Other,
}

impl Assignments {
    /// Whether somebody asked for the pull request, which was opened then.
    ///
    /// # Errors
    /// Why that is not known.
    pub fn asked(&self, person: UserId, opened: Timestamp) -> Result<bool, &str> {
        let counts = |one: &Assignment| one.by != Assigner::Other || one.at <= opened + OPENING;
        match self {
            Self::NotAnAgents => Ok(false),
            Self::Read(all) => Ok(all.iter().any(|one| one.whom.id == person && counts(one))),
            Self::Unread(reason) => Err(reason),
        }
    }
}
