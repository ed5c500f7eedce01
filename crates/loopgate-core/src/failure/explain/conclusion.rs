//! What is wrong with a failure and what mends it, in classes and sentences.

use crate::evidence::{Confidence, RetryClass, RootCauseCategory};

/// The sentences and classes of a diagnosis. The default says nothing.
#[derive(Clone, Debug, Default)]
pub(in crate::failure) struct Conclusion {
    pub category: RootCauseCategory,
    pub retry: RetryClass,
    /// A program is not installed where the check runs.
    pub missing_program: bool,
    pub certainty: Confidence,
    /// What was observed, as one or two sentences; empty where no rule is certain.
    pub cause: String,
    /// The one thing to do; empty where no rule is certain.
    pub action: String,
    /// Why that fixes it; empty without an action.
    pub reason: String,
    /// Cause and action say only what the two sides of the assertion say.
    pub repeats_sides: bool,
    /// What the known message is about: the module that is missing, the host that does not answer.
    pub subject: String,
}
