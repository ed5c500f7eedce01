//! What a failure is recognised by in another run, and what people call it: its test, else its place.

use crate::{
    Fingerprint,
    evidence::{Failure, TestId},
    failure::read::text,
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
            (None, None) => Self::Place(known_as(failure, fingerprint)),
        }
    }

    pub const fn is_test(&self) -> bool {
        !matches!(self, Self::Place(_))
    }
}

/// What people call the failure: its test, else its place, else its fingerprint.
pub(in crate::failure) fn known_as(failure: &Failure, fingerprint: Fingerprint) -> String {
    let place = || failure.location().map(|(file, line)| line.map_or(file.to_owned(), |line| format!("{file}:{line}")));
    let name = failure.test_name.clone().or_else(place).unwrap_or_else(|| fingerprint.to_string());
    text::one_line(&name, 200)
}
