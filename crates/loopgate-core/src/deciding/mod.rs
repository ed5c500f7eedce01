//! Deciding: from what was observed, remembered and configured to what comes next and how the pull request should look.

mod blocking;
mod command_execution;
mod counting;
mod decide;
mod decision;
mod history_lines;
#[cfg(test)]
mod interleavings;
pub mod iteration;
pub mod new_run;
mod next_action;
mod opening;
mod queue_group;
mod remembering;
#[cfg(test)]
mod row_tests;
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
    remembering::{LookUp, MemoryAnswers, MemoryQuestions},
    verification::files_to_read,
    who_acts::{Part, WhoActs, who_acts},
};
