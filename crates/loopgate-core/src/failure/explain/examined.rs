//! A failure that is examined once, for blame, analysis and feedback.

use super::{
    diagnosis::{Conclusion, Touch, best_place, conclude, is_known, touch},
    known,
};
use crate::{
    Fingerprint,
    evidence::{Confidence, ErrorType, Failure, RetryClass, RootCauseCategory, SourceLocation},
    failure::{
        classify::fingerprint,
        read::{Changes, Reading, text},
    },
    observed::Recallable,
};

/// A failure as read among the files that a pull request changes. Reading is nearly all of the work; the texts
/// that were read are not kept.
#[derive(Clone, Debug)]
pub struct ExaminedFailure {
    /// What people call it: its test, else its place, else its fingerprint.
    pub(in crate::failure) name: String,
    /// One error has one fingerprint in every run, on every machine, at every line.
    pub fingerprint: Fingerprint,
    pub(in crate::failure) retry: RetryClass,
    pub(in crate::failure) error_type: ErrorType,
    pub(in crate::failure) error_class: Option<String>,
    /// The error in the tool's own words, as a code span.
    pub(in crate::failure) reported: String,
    /// The file of the innermost frame in a test.
    pub(in crate::failure) test_file: Option<String>,
    /// Where to look first.
    pub at: Option<SourceLocation>,
    /// How the pull request touches that place.
    pub touch: Touch,
    pub conclusion: Conclusion,
    pub(in crate::failure) confidence: Confidence,
}

impl Recallable for Vec<ExaminedFailure> {
    fn size(&self) -> usize {
        let texts = |one: &ExaminedFailure| {
            let conclusion = &one.conclusion;
            let all = [
                &one.name,
                &one.reported,
                &conclusion.cause,
                &conclusion.action,
                &conclusion.reason,
                &conclusion.subject,
            ];
            let patterns = conclusion.patterns.iter().map(String::len);
            all.into_iter()
                .map(String::len)
                .chain(patterns)
                .sum::<usize>()
        };
        let each = |one: &ExaminedFailure| size_of::<ExaminedFailure>() + texts(one);
        self.iter().map(each).sum()
    }
}

impl ExaminedFailure {
    pub fn new(failure: &Failure, changes: &Changes) -> Self {
        Self::of_reading(failure, Reading::of(failure), changes)
    }

    pub(in crate::failure) fn of_reading(
        failure: &Failure,
        mut reading: Reading,
        changes: &Changes,
    ) -> Self {
        let fingerprint = fingerprint::of_reading(failure, &reading);
        let conclusion = conclude(failure, &reading, known::explain(&reading));
        // The failure is about what the job sets up before it runs code: an action of the workflow, a program that is
        // not installed. Trying again can help, unless the push changes what is set up.
        let is_of_setup = conclusion.missing_program
            || conclusion.category == RootCauseCategory::ConfigurationError
                && conclusion.retry == RetryClass::External;
        let retry = if is_of_setup && changes.touch_setup() {
            RetryClass::Code
        } else {
            conclusion.retry
        };
        reading.look_up(failure, changes);
        let at = best_place(failure, &reading, changes);
        let touch = at
            .as_ref()
            .map_or(Touch::Untouched, |place| touch(place, changes));
        let by = match (&at, touch) {
            (None, _) => -15,
            (Some(_), Touch::AddsLine) => 8,
            (Some(_), Touch::ChangesFile) => 4,
            (Some(_), Touch::Untouched) => 0,
        };
        let base = conclusion.certainty;
        let confidence = if base == Confidence::default() || by == 0 {
            base
        } else {
            base.shifted(by)
        };
        let place = || {
            failure
                .location()
                .map(|(file, line)| line.map_or(file.to_owned(), |line| format!("{file}:{line}")))
        };
        let name = failure
            .test_name
            .clone()
            .or_else(place)
            .unwrap_or_else(|| fingerprint.to_string());
        Self {
            name: text::one_line(&name, 200),
            fingerprint,
            retry,
            error_type: reading.error_type,
            reported: reading.summary(),
            test_file: reading
                .test_frame()
                .map(|frame| frame.file.clone())
                .filter(|file| is_known(file, failure, changes)),
            at,
            touch,
            conclusion,
            confidence,
            error_class: reading.class,
        }
    }
}
