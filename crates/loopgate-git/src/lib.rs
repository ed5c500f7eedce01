//! Starting git. Nothing else of Loopgate starts it.
//!
//! A repository is not trusted: its hooks do not run, its settings start no file system monitor, what code of a pull
//! request has planted in its configuration is left out ([`Git::expose`]), and no variable of the surroundings (a hook,
//! a rebase) points git at another repository, index or identity. No token is in git's environment. What a caller sets
//! with [`GitCommand::env`] does count, and so does `GIT_CONFIG_*`, by which people and CI choose the configuration.
//! Git asks nothing, pages nothing, and prints English, since some of its messages are read.
//!
//! Output is read into bounded memory while it comes.

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

mod command;
mod folders;
mod repository;
mod settings;
#[cfg(test)]
mod tests;
mod withheld;

pub use self::{
    command::{GitCommand, GitError, GitOutput, in_own_group},
    folders::Folders,
    repository::{Exposed, Git, Outsider, Planted},
    withheld::withhold,
};
