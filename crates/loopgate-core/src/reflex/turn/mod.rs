//! One transition of a loop in the making: the state as it becomes, and what is told of it.

mod ends;
mod steps;
#[cfg(test)]
mod tests;

pub use self::ends::Evaluated;
use crate::{
    ids::Timestamp,
    policy::Trigger,
    state::{
        LoopState, ReflexState, Step,
        history::{Event, EventStatus, HistoryLine},
    },
};

/// A transition: what the current step brought goes in, what is to be saved comes out.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// The state to save.
    pub state: LoopState,
    /// Lines to append to the history.
    pub lines: Vec<HistoryLine>,
    /// The cause that the senior fixer is to mend before a person is called.
    pub senior_for: Option<Trigger>,
    now: Timestamp,
}

impl Turn {
    fn on(state: &LoopState, now: Timestamp) -> Self {
        let mut state = state.clone();
        state.updated_at = now;
        Self { state, lines: Vec::new(), senior_for: None, now }
    }

    /// Goes on to the next step, and forgets that a step broke its contract.
    fn go_to(&mut self, step: Step) {
        self.state.current_step = step;
        let reflex = self.reflex();
        reflex.broken = None;
        reflex.calling = None;
    }

    fn reflex(&mut self) -> &mut ReflexState {
        self.state.reflex.as_mut().expect("a turn is made on a local loop, which has it from its beginning")
    }

    fn happened(&mut self, event: Event, status: EventStatus) {
        self.lines.push(HistoryLine::of(&self.state, self.now, event, status));
    }
}
