//! A failure that is examined once, for blame, analysis and feedback.

use super::{diagnosis::Diagnosis, known};
use crate::{
    Fingerprint,
    evidence::{ErrorType, Failure, RetryClass},
    failure::{
        classify::{fingerprint, known_as},
        read::{Changes, Reading},
    },
};

/// A failure as read among the files that a pull request changes. Reading is nearly all of the work; the texts
/// that were read are not kept.
#[derive(Clone, Debug)]
pub struct ExaminedFailure {
    /// What people call it.
    pub(in crate::failure) name: String,
    pub(in crate::failure) fingerprint: Fingerprint,
    pub(in crate::failure) retry: RetryClass,
    pub(in crate::failure) error_type: ErrorType,
    pub(in crate::failure) error_class: Option<String>,
    /// The error in the tool's own words, as a code span.
    pub(in crate::failure) reported: String,
    /// The file of the innermost frame in a test.
    pub(in crate::failure) test_file: Option<String>,
    pub(in crate::failure) diagnosis: Diagnosis,
}

impl ExaminedFailure {
    pub fn new(failure: &Failure, changes: &Changes) -> Self {
        Self::of_reading(failure, Reading::of(failure), changes)
    }

    pub(in crate::failure) fn of_reading(failure: &Failure, mut reading: Reading, changes: &Changes) -> Self {
        let fingerprint = fingerprint::of_reading(failure, &reading);
        let known = known::explain(&reading);
        // Whether trying again can help must not depend on what a push touched.
        let own = Diagnosis::of(failure, &reading, &known, &Changes::default());
        let retry = match own.is_of_setup() && changes.touch_setup() {
            // Except for what the push itself sets up.
            true => RetryClass::Code,
            false => own.conclusion.retry,
        };
        reading.look_up(failure, changes);
        Self {
            name: known_as(failure, fingerprint),
            fingerprint,
            retry,
            error_type: reading.error_type,
            reported: reading.said(),
            test_file: reading.test_frame().map(|frame| frame.file.clone()),
            diagnosis: Diagnosis::of(failure, &reading, &known, changes),
            error_class: reading.class,
        }
    }

    /// Whether its explanation only repeats the two sides of its assertion.
    pub const fn repeats_sides(&self) -> bool {
        self.diagnosis.conclusion.repeats_sides
    }

    /// Whether a program is not installed where the check runs: running the check again finds it no more.
    pub const fn lacks_program(&self) -> bool {
        self.diagnosis.conclusion.missing_program
    }

    /// The same for the same error in every run, on every machine, at every line.
    pub const fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }
}
