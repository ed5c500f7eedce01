//! Who made what the head holds, beside what its commits say of themselves: a commit's author is what its maker writes.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;

use super::Account;
use crate::ids::{Sha, Timestamp, UserId};

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
        let mut pushes = self.pushes.iter().filter(|push| push.by.id == account.id).peekable();
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
