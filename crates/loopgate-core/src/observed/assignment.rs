//! Who asked a coding agent for a pull request, as its assignments tell.

use chrono::TimeDelta;

use super::Account;
use crate::ids::{Timestamp, UserId};

/// Whoever is assigned so soon after the opening was assigned by it.
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
    /// Why that cannot be told.
    pub fn asked(&self, person: UserId, opened: Timestamp) -> Result<bool, &str> {
        let counts = |one: &Assignment| one.by != Assigner::Other || one.at <= opened + OPENING;
        match self {
            Self::NotAnAgents => Ok(false),
            Self::Read(all) => Ok(all.iter().any(|one| one.whom.id == person && counts(one))),
            Self::Unread(reason) => Err(reason),
        }
    }
}
