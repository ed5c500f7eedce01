//! All that Loopgate knows, as pure code: no I/O, no clock, no randomness, no async, and nothing of our other crates.
//!
//! [`decide`](fn@decide) is the heart: it takes what was observed of a pull request, the state of its loop, the policy
//! and the time, and returns a decision. The App, the Action, the command line, the demo and every test call it.
//!
//! Each room may use those before it: `ids`, `stage`, [`text`], `letters`, [`untrusted`] → [`evidence`] → [`observed`]
//! → [`source_files`], [`workflow`] → [`policy`] → [`failure`] → [`memory`] → [`state`] → [`commands`] → [`concerns`] →
//! [`deciding`] → [`result`] → [`proof`] → [`reflex`] → [`metrics`] → [`replay`].

#![cfg_attr(
    not(test),
    warn(
        clippy::print_stderr,
        clippy::print_stdout,
        clippy::unwrap_used,
        clippy::use_debug
    )
)]

#[macro_use]
mod words;
#[macro_use]
pub mod expressions;

mod letters;

pub mod commands;
pub mod concerns;
pub mod deciding;
pub mod evidence;
pub mod failure;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixtures;
mod ids;
pub mod memory;
pub mod metrics;
pub mod observed;
pub mod policy;
pub mod proof;
pub mod reflex;
pub mod replay;
pub mod result;
pub mod source_files;
pub mod stage;
pub mod state;
pub mod text;
pub mod untrusted;
pub mod workflow;

pub use deciding::decide;
pub use ids::{
    AppId, CheckName, CheckRunId, CommentId, FailureId, Fingerprint, GateName, InstallationId,
    Login, Malformed, PatternName, PrNumber, RepoName, ReviewId, RuleId, Score, Sha, TeamSlug,
    TemplateName, Timestamp, UserId, WorkflowRunId,
};
