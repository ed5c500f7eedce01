//! Loopgate closes the loop on pull requests: it reads the evidence of each push, and decides *proceed*, *retry with
//! feedback* or *escalate to a human*. This page is the map of the code; `docs/dev/architecture.md` is the guided tour, and
//! `docs/dev/decisions.md` lists what is decided, by the names of its tests.
//!
//! Eight crates lie below, and the compiler keeps them there:
//!
//! - [`loopgate_core`] holds all that Loopgate knows, and is pure: no I/O, no clock, no randomness, no async. Its heart
//!   is [`decide`](fn@loopgate_core::deciding::decide), which turns what was observed, what is remembered and what
//!   governs into one decision. Around it stand gates and their grammar, rules and scores, attempts and the retry
//!   policy, failures and their fingerprints.
//! - [`loopgate_git`] starts git, in the only place: without hooks, and without the settings of the surroundings.
//! - [`loopgate_refs`] keeps a run in a hidden git ref: loads it, recovers it when it is damaged, and saves it by
//!   compare-and-swap, the only lock there is. It works over GitHub's API and over a local repository alike.
//! - [`loopgate_render`] turns decisions into what people read: the status comment, check runs, gate requests, escalations,
//!   the job summary, the terminal. Whatever came from outside is made safe here, and every page fits GitHub's limits.
//! - [`loopgate_reports`] turns the bytes of test runners, compilers and linters into results, failures, findings and
//!   coverage. It never fails and never trusts: the code under test wrote them.
//! - [`loopgate_runner`] runs the checks of a policy as commands, each bounded in time and memory, several at once. It
//!   executes what the working tree holds, so it never runs where a write token is.
//! - [`loopgate_webhook`] says which pull requests a webhook delivery concerns, in one pass over its payload.
//! - `loopgate_simulator` is a GitHub on loopback for the demo and the tests (feature `demo`): one world of plain
//!   structs, which people and the REST API change by the same operations.
//!
//! Arrows between the rooms here point down only: `cli, server → mcp → github → config, channels, proof`.
//!
//! - [`config`] turns `.github/loopgate.yml` into a [`Policy`](loopgate_core::policy::Policy): every default filled in,
//!   every number in its range, and what is wrong reported with line, column and what was probably meant.
//! - [`channels`] carries a call for a human to Slack and by e-mail, for those who do not watch the pull request.
//! - [`github`] is the only room that calls GitHub: one client with its tokens, cache and limits; observing a pull
//!   request and making it look as it should; evidence artifacts.
//! - [`mcp`] is the table of tools for programs that speak the Model Context Protocol; the command line and the server answer them.
//! - [`server`] is `loopgate serve`: it acknowledges a webhook once it is on disk, and sees to it that every pull
//!   request it concerns is looked at, once at a time, however often the process dies.
//! - [`cli`] is the command line, one file per subcommand, and the demo.

#![cfg_attr(
    not(test),
    warn(
        clippy::print_stderr,
        clippy::print_stdout,
        clippy::unwrap_used,
        clippy::use_debug
    )
)]
#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests start what their users would"
    )
)]

pub mod channels;
pub mod cli;
pub mod config;
pub mod github;
pub mod mcp;
pub mod proof;
pub mod server;

/// Where Loopgate is published, as OWNER/REPO: `repository` of `Cargo.toml`, the one place that has it.
pub fn published() -> &'static str {
    let address = env!("CARGO_PKG_REPOSITORY");
    address
        .strip_prefix("https://github.com/")
        .unwrap_or(address)
}
