//! Loopgate closes the loop on pull requests: it reads the evidence of each push, and decides *proceed*, *retry with
//! feedback* or *escalate to a human*. This page is the map of the house; `docs/architecture.md` is the guided tour.
//!
//! Arrows point down only: `cli, server, simulator → github, runner → refs → render, reports, config → core`.

#![forbid(unsafe_code)]

pub mod cli;
pub mod config;
pub mod core;
pub mod github;
pub mod refs;
pub mod render;
pub mod reports;
pub mod runner;
pub mod server;
pub mod simulator;
