//! What several processes of one App share: each books in one place what it takes of an installation's limits.

use std::{future::Future, pin::Pin};

use chrono::TimeDelta;

use loopgate_core::{InstallationId, Timestamp};

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limited {
    Creations,
    Points,
}

/// What a process wants to take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub installation: InstallationId,
    pub what: Limited,
    pub amount: u32,
    /// At most so much may be taken within each of these times; less than `amount` is nothing.
    pub limits: Vec<(TimeDelta, usize)>,
    pub now: Timestamp,
    /// How long it may be used.
    pub usable_for: TimeDelta,
}

/// The result of a [`Claim`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Granted {
    pub is_granted: bool,
    /// What was taken by all processes, with this: until when each amount may be used, oldest first.
    pub taken: Vec<(Timestamp, u32)>,
}

/// A creation that was booked and is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CreationEnd {
    pub installation: InstallationId,
    /// Until when it was booked, as in [`Granted::taken`].
    pub booked_until: Timestamp,
    /// GitHub counted it before that.
    pub answered_at: Timestamp,
}

/// Where the processes of one App book what they take.
pub trait SharedBudget: Send + Sync {
    /// None if it cannot be booked now: then each process counts for itself.
    fn take(&self, claim: Claim) -> Pin<Box<dyn Future<Output = Option<Granted>> + Send + '_>>;

    /// Notes when a creation was answered, soon. Without this it counts from the end of its booking.
    fn creation_ended(&self, end: CreationEnd);
}
