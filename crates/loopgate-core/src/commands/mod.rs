//! What people ask of Loopgate: `/loop` commands and the buttons under check runs.

mod button;
pub mod command;

pub use self::{
    button::pressed,
    command::{Acceptable, Command, CommandProblem, Right, Verb, read},
};
