//! Runs the checks of a policy as commands: each in its own process group, with a timeout, its output captured in
//! bounded memory and read as a report, several at once.
//!
//! This room executes what the working tree holds, so it never runs where a write token is: `verify` needs
//! `contents: read` and nothing else.
//!
//! Concurrency: one task per running check; a check starts when the checks it needs have passed and a slot is free.
//! Nothing is shared between tasks but the slots and the interrupt; a command that outlives its timeout loses its
//! whole process group, and whatever left it ([`processes`]).

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

mod beside;
mod capture;
mod check;
mod checkout;
mod command;
mod detect;
mod environment;
mod fixer;
mod job;
mod lock;
#[cfg(all(test, unix))]
mod own_word_tests;
mod places;
mod processes;
mod reproduction;
mod rerun;
mod schedule;
mod worktree;

pub use capture::Captured;
pub use checkout::{Changes, Checkout, CheckoutError, NoBase};
pub use command::{
    CommandLine, Ending, Finished, Interrupt, asked_to_stop, interrupt_at, run as run_command,
};
pub use detect::{
    Ci, CiJob, Detected, Ecosystem, LeftOut, Project, Purpose, WhyLeftOut, detect, submodules,
    workflow_texts,
};
pub use environment::environment;
pub use fixer::{FixerDispute, FixerEnd, FixerReport, ask as ask_analyzer, call as call_fixer};
pub use job::{CheckEvent, Observer};
pub use lock::{Holder, Lock, LockError};
pub use processes::{LOOP_MARK, end_left_behind};
pub use rerun::{TestTrial, base_tests, burn_in, prove, with_files_put_back};
pub use schedule::{Plan, Ran, SelectionError, run};
pub use worktree::{Anchor, Edits, Extent, Head, Moved, Worktree, WorktreeError, diff_summary};
