//! Deciding: from what was observed, remembered and configured to what comes next and how the pull request should look.

mod blocking;
mod command_execution;
mod counting;
mod decide;
mod decision;
pub mod describe;
mod history_lines;
#[cfg(test)]
mod interleavings;
pub mod iteration;
pub mod new_run;
mod next_action;
mod opening;
mod reading;
mod remembering;
#[cfg(test)]
mod row_tests;
mod run_approval;
mod settling;
mod surface;
mod verification;
mod viewing;
mod who_acts;

pub use self::{
    decide::decide,
    decision::{
        AttemptRecord, CheckRunPlan, CheckView, CommandReply, Decision, DecisionWord, LabelMeaning, LabelWish,
        MergedBranch, NextAction, Post, Provenance, StatusCommentWish, Surface, View, Warning,
    },
    reading::files_to_read,
    remembering::{LookUp, MemoryAnswers, MemoryQuestions},
    who_acts::{Part, WhoActs, who_acts},
};
