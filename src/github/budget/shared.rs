//! What several processes of one App share: each books in one place what it takes of an installation's limits.

use std::{future::Future, pin::Pin};

use chrono::TimeDelta;

use super::creates::Want;
use loopgate_core::{InstallationId, Timestamp};

/// Points of a request that a process wants to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PointsClaim {
    pub installation: InstallationId,
    pub points: u32,
    /// At most so many may be used within a minute; less than `points` is nothing.
    pub most: u32,
    pub now: Timestamp,
    /// How long after they were booked GitHub may count them.
    pub takes: TimeDelta,
}

/// Something that a process wants to create.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CreationClaim {
    pub installation: InstallationId,
    /// None: it waits for nothing.
    pub want: Option<Want>,
    pub now: Timestamp,
    /// How long after it was booked GitHub may count it.
    pub takes: TimeDelta,
}

/// A creation that was booked and is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CreationEnd {
    pub installation: InstallationId,
    /// Until when it was booked, as [`SharedBudget::create`] answers.
    pub booked_until: Timestamp,
    /// GitHub counted it before that.
    pub answered_at: Timestamp,
}

/// An answer of the place in which all book; none if it cannot be reached: then each process counts for itself.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Option<T>> + Send + 'a>>;

/// Where the processes of one App book what they take.
pub trait SharedBudget: Send + Sync {
    /// Whether the points may be used.
    fn take_points(&self, claim: PointsClaim) -> Answer<'_, bool>;

    /// Until when it is booked; else when to ask again, for which a turn is kept.
    fn create(&self, claim: CreationClaim) -> Answer<'_, Result<Timestamp, Timestamp>>;

    /// Notes when a creation was answered, soon. Without this it counts from the end of its booking.
    fn creation_ended(&self, end: CreationEnd);
}
