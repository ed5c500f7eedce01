//! Deciding: from what was observed, remembered and configured to what comes next and how the pull request should look.

pub mod command_execution;
mod decide;
mod decision;
pub mod describe;
#[cfg(test)]
mod interleavings;
pub mod iteration;
pub mod new_run;
#[cfg(test)]
mod row_tests;
mod run;
mod surface;

pub use self::{
    decide::decide,
    decision::{
        AttemptRecord, CheckRunPlan, CheckView, CommandReply, Decision, DecisionWord, LabelMeaning, LabelWish,
        MergedBranch, NextAction, Post, Provenance, StatusCommentWish, Surface, View, Warning,
    },
};
