//! What people ask of Loopgate: `/loop` commands and the buttons under check runs.

mod button;
pub mod command;
mod execution;

pub use self::{
    button::pressed,
    command::{Acceptable, Command, CommandProblem, Right, Verb, read},
    execution::{CarriedOut, Execution},
};
