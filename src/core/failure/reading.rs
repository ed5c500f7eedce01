//! One failure as its texts tell it: read once, used by fingerprint, analysis and feedback.

use super::{
    changes::Changes,
    error_type,
    expected::{self, Sides},
    message,
    stack::{self, Frame},
    text,
};
use crate::core::evidence::{ErrorType, Failure};

/// What the message and the trace of a failure say, within the bounds of [`text::clean`].
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub class: Option<String>,
    pub error_type: ErrorType,
    /// What went wrong, without class, trace and excerpts of source.
    pub message: String,
    /// Message and trace, for whoever looks for words.
    pub whole: String,
    pub sides: Option<Sides>,
    /// Innermost first.
    pub frames: Vec<Frame>,
    /// The innermost own frame as it is found without the pull request's files.
    pub top: Option<Frame>,
}

impl Reading {
    pub fn of(failure: &Failure, changes: &Changes) -> Self {
        let message = text::clean(&failure.error_message);
        let trace = failure.stack_trace.as_deref().map(text::clean).unwrap_or_default();
        let whole = match (message.is_empty(), trace.is_empty()) {
            (false, false) if trace.contains(&message) => trace.clone(),
            (false, false) => text::clean(&format!("{message}\n{trace}")),
            (false, true) => message.clone(),
            (true, _) => trace.clone(),
        };
        let headline = message::headline(if message.is_empty() { &trace } else { &message });
        let class = failure.error_class.clone().or(headline.class).or_else(|| message::headline(&trace).class);
        let error_type = match failure.error_type {
            ErrorType::Other => match headline.error_type {
                ErrorType::Other => error_type::type_of(class.as_deref(), &headline.message),
                known => known,
            },
            known => known,
        };
        let sides = match (&failure.expected, &failure.actual) {
            (Some(expected), Some(actual)) => {
                Some(Sides { expected: text::one_line(expected, 400), actual: text::one_line(actual, 400) })
            }
            _ => expected::sides(&whole),
        };
        let mut printed = stack::printed(&trace);
        if printed.is_empty() {
            printed = stack::printed(&message);
        }
        let frames = stack::located(&printed, changes);
        let top = stack::located(&printed, &Changes::default()).into_iter().find(|frame| frame.origin.in_repository());
        Self { class, error_type, message: headline.message, whole, sides, frames, top }
    }

    /// The innermost frame that the repository's own people can edit.
    pub fn own_frame(&self) -> Option<&Frame> {
        self.frames.iter().find(|frame| frame.origin.in_repository())
    }
}
