//! What is told of one failure in one line.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::FailureId;

/// One item of feedback: where, what, do what, why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedbackLine {
    /// Of the failure it tells of; none where no failure stands for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<FailureId>,
    /// `file:line`, or the check's name where no place is known.
    pub location: String,
    pub problem: String,
    pub action: String,
    pub reason: String,
    /// The smallest command that reproduces it.
    pub reproduce: Option<String>,
}

/// The item as one line of a summary.
impl fmt::Display for FeedbackLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ended = |text: &str| if text.ends_with(['.', '!', '?', '…', ':']) { "" } else { "." };
        let Self { location, problem, action, reason, .. } = self;
        write!(
            f,
            "{location}: {problem}{} Fix: {action}{} Why: {reason}{}",
            ended(problem),
            ended(action),
            ended(reason)
        )
    }
}
