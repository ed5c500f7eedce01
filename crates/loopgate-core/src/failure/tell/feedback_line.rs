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
    /// The one thing to do; empty where no rule is certain of it.
    pub action: String,
    /// Why that fixes it; empty without an action.
    pub reason: String,
    /// The smallest command that reproduces it.
    pub reproduce: Option<String>,
}

/// The item as one line of a summary.
impl fmt::Display for FeedbackLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ended = |text: &str| if text.ends_with(['.', '!', '?', '…', ':']) { "" } else { "." };
        let Self { location, problem, action, reason, reproduce, .. } = self;
        write!(f, "{location}: {problem}{}", ended(problem))?;
        match (action.as_str(), reproduce) {
            ("", Some(command)) => write!(f, " Run: {command}"),
            ("", None) => Ok(()),
            _ => write!(f, " Fix: {action}{} Why: {reason}{}", ended(action), ended(reason)),
        }
    }
}
