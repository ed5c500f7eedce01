//! The execution of commands.

use crate::{
    policy::Context,
    state::{AnswerOutcome, CommandRefusal, LoopState, history::Event},
};

/// Commands under execution: the state as they make it, and what happened.
pub struct Execution<'a> {
    pub cx: Context<'a>,
    pub next: &'a mut LoopState,
    pub events: Vec<Event>,
}

/// The answer to a command, or why it is not carried out.
pub type CarriedOut = Result<AnswerOutcome, CommandRefusal>;
