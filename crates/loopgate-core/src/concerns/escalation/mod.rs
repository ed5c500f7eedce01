//! Calling somebody: a human with one question, a senior fixer, or a fixer that works elsewhere.

pub mod cause;
pub mod escalation_call;

pub use self::{
    cause::{AttemptsEnd, Cause, Circle},
    escalation_call::{Disagreement, EscalationView, Question},
};
