//! What a failure is recognised by in another run: its test, else its place.

use crate::{
    Fingerprint,
    evidence::{Failure, TestId},
    failure::explain::analysis,
};

/// The thing that fails.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::failure) enum TestKey {
    /// A test of a report that tells file, class and name.
    Test(TestId),
    /// A test of which only the name is known.
    Named(String),
    /// No test: a compile error, a lint finding.
    Place(String),
}

impl TestKey {
    pub fn of(failure: &Failure, fingerprint: Fingerprint) -> Self {
        match (failure.test_id, &failure.test_name) {
            (Some(id), _) => Self::Test(id),
            (None, Some(name)) => Self::Named(name.clone()),
            (None, None) => Self::Place(analysis::name(failure, fingerprint)),
        }
    }

    pub const fn is_test(&self) -> bool {
        !matches!(self, Self::Place(_))
    }
}
