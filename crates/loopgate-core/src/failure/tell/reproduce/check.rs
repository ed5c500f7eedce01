//! The check in which a failure is shown again.

use crate::{
    CheckName,
    evidence::{CheckKind, TestFramework},
};

/// The check a failure belongs to, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub struct CheckContext<'a> {
    pub name: &'a CheckName,
    pub kind: CheckKind,
    pub framework: Option<TestFramework>,
    /// The configured command line, `cargo test --workspace`.
    pub command: Option<&'a str>,
    /// Where it runs, relative to the top of the repository; none for the top.
    pub directory: Option<&'a str>,
}
