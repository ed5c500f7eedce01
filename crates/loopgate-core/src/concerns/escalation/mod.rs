//! Calling a person: the causes, whether one still stands, and the one question that is put.

pub mod cause;
pub mod escalation_call;

pub use self::{
    cause::{AttemptsEnd, Cause, Circle},
    escalation_call::{Disagreement, EscalationView, Question},
};
