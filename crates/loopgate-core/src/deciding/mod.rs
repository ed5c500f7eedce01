//! Deciding: from what was observed, remembered and configured to what comes next and how the pull request should look.

mod command_execution;
mod decide;
mod decision;
mod history_lines;
#[cfg(test)]
mod interleavings;
pub mod iteration;
pub mod new_run;
mod outcome;
mod remembering;
#[cfg(test)]
mod row_tests;
mod surface;
mod verification;
mod view;

pub use self::{
    decide::decide,
    decision::{AttemptRecord, Decision, DecisionWord, NextAction, Part, Provenance, WhoActs, who_acts},
    remembering::{LookUp, MemoryAnswers, MemoryQuestions},
    surface::{CheckRunPlan, LabelMeaning, MergedBranch, Post, Surface},
    verification::files_to_read,
    view::{CommandReply, View, Warning},
};
pub use crate::verdict::gather::CheckView;
