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

/// `template` with each `{name}` replaced by what `value` gives for the name.
pub(super) fn fill(template: &str, value: impl Fn(&str) -> String) -> String {
    let mut out = String::with_capacity(template.len() + 32);
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let Some((name, after)) = after.split_once('}') else { break };
        out.push_str(&value(name));
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The names between braces in a template.
#[cfg(test)]
pub(super) fn placeholders(template: &str) -> impl Iterator<Item = &str> {
    template.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name)
}
