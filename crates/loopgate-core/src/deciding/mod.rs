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
        AttemptRecord, CheckBasis, CheckEnd, CheckRunPlan, CheckView, CommandReply, Decision, DecisionWord,
        LabelMeaning, LabelWish, MergedBranch, NextAction, Post, Provenance, ReplayBasis, StatusCommentWish, Surface,
        View, Warning,
    },
    remembering::{LookUp, MemoryAnswers, MemoryQuestions},
    who_acts::{Part, WhoActs, who_acts},
};
