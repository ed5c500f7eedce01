//! Who waits for what a delivery asks for.

use loopgate_core::observed::Hint;
use serde::Serialize;

loopgate_core::words! {
    /// Who waits for a piece of work, the most urgent first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    pub enum WorkClass {
        /// Somebody commented, reviewed or pressed a button.
        Person = "person",
        /// An author or an agent: the verdict on a push.
        Author = "author",
        /// No person waits yet: a check made progress.
        Progress = "progress",
        /// No person waits: one of many that a change elsewhere concerns, or a resync asks for.
        Spread = "spread",
    }
}

/// The work class of an event. The end of a workflow or a suite brings the verdict on a push; news of single checks
/// before that is progress.
pub fn class_of(event: &str, hints: &[Hint]) -> WorkClass {
    let is_pressed = |hint: &Hint| {
        matches!(
            hint,
            Hint::ButtonPressed { .. }
                | Hint::CheckRunRerequested { .. }
                | Hint::CheckSuiteRerequested { .. }
        )
    };
    match event {
        _ if hints.iter().any(is_pressed) => WorkClass::Person,
        "issue_comment"
        | "pull_request_review"
        | "pull_request_review_comment"
        | "pull_request_review_thread" => WorkClass::Person,
        "pull_request" | "merge_group" | "workflow_run" | "check_suite" => WorkClass::Author,
        "check_run" | "status" => WorkClass::Progress,
        _ => WorkClass::Spread,
    }
}
