//! All that Loopgate knows, pure: no I/O, no clock, no randomness, no async, and nothing of our other rooms.
//!
//! `decide` is the heart: what was observed of a pull request, the state of its loop, the policy and the time go
//! in; a decision comes out. The App, the Action, the command line, the demo and every test call the same function.

pub mod command;
pub mod decision;
pub mod escalation;
pub mod evidence;
pub mod failure;
pub mod gate;
pub mod hint;
pub mod history;
mod ids;
pub mod policy;
pub mod roster;
pub mod snapshot;
pub mod stage;
pub mod state;

pub use ids::{
    AppId, CheckName, CheckRunId, CommentId, Fingerprint, GateName, InstallationId, Login, Malformed, PrNumber,
    RepoName, ReviewId, RuleId, Score, Sha, TeamSlug, Timestamp, UserId, WorkflowRunId,
};
