//! What people may do in the repository.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    ids::{Login, TeamSlug, UserId},
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
    /// The accounts with write access to the repository. `None` if they were not asked for, or GitHub does not list them.
    pub writers: Option<BTreeSet<UserId>>,
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
        let people = self.people.values().filter_map(|one| match one {
            Standing::Unknown(reason) => Some(reason),
            Standing::Known { .. } | Standing::Gone => None,
        });
        let accounts = self.logins.values().filter_map(|one| one.as_ref().err());
        let names = accounts.chain(self.teams.values().filter_map(|one| one.as_ref().err()));
        let names = names.filter_map(|one| match one {
            Unusable::Unknown(reason) => Some(reason),
            _ => None,
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
    Known {
        permission: Permission,
        /// Teams named in the policy that the person belongs to, child teams included.
        teams: BTreeSet<TeamSlug>,
    },
    /// Suspended or removed account.
    Gone,
    /// The look-up failed (404, 403, outage): no authority, and said so with this reason.
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
