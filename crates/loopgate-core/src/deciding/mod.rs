//! Deciding: from what was observed, remembered and configured to what comes next and how the pull request should look.

mod action;
mod command_execution;
mod decide;
mod decision;
mod history_lines;
mod inputs;
#[cfg(test)]
mod interleavings;
pub mod iteration;
pub mod new_run;
mod outcome;
mod remembering;
mod returned;
mod revisit;
#[cfg(test)]
mod row_tests;
mod shown;
pub mod stages;
mod surface;
mod verification;
mod view;
mod warnings;

pub use self::{
    action::{AttemptOrigin, AttemptRecord, DecisionWord, NextAction},
    decide::decide,
    decision::{Decision, Part, WhoActs, who_acts},
    remembering::{LookUp, MemoryAnswers, MemoryQuestions},
    surface::{CheckRunPlan, LabelMeaning, MergedBranch, Post, Surface},
    verification::files_to_read,
    view::View,
    warnings::Warning,
};
pub use crate::concerns::checks::gather::CheckView;
