//! All that Loopgate knows, pure: no I/O, no clock, no randomness, no async, and nothing of our other rooms.
//!
//! `decide` is the heart: what was observed of a pull request, the state of its loop, the policy and the time go
//! in; a decision comes out. The App, the Action, the command line, the demo and every test call the same function.

pub mod attempt;
pub mod begin;
pub mod blame;
pub mod button;
pub mod call;
pub mod capability;
pub mod command;
pub mod comparison;
mod course;
pub mod coverage;
mod decide;
pub mod decision;
pub mod describe;
pub mod escalation;
pub mod evaluate;
pub mod evidence;
pub mod external;
pub mod failure;
pub mod feedback;
pub mod fix_request;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixtures;
pub mod gate;
mod gatekeeping;
pub mod gather;
pub mod hint;
pub mod history;
mod ids;
#[cfg(test)]
mod interleavings;
pub mod iteration;
mod legs;
mod orders;
pub mod policy;
pub mod reflex;
mod rejection;
pub mod rerun;
pub mod retry;
pub mod review;
pub mod roster;
#[cfg(test)]
mod row_tests;
mod run;
pub mod senior;
pub mod snapshot;
pub mod stage;
pub mod state;
mod surface;
pub mod survey;
pub mod tamper;
mod waiting;
pub mod walk;

pub use begin::framework_of;
pub use decide::decide;
pub use hint::{Actor, Hint};
pub use ids::{
    AppId, CheckName, CheckRunId, CommentId, Fingerprint, GateName, InstallationId, Login, Malformed, PrNumber,
    RepoName, ReviewId, RuleId, Score, Sha, TeamSlug, Timestamp, UserId, WorkflowRunId,
};
