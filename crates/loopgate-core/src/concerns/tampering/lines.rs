//! How lines of test files read in whatever language. The words are data: `data/test_lines.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::expressions::Pattern;

/// The file, which says what each key means.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Lines {
    pub(super) takes_over: Pattern,
    pub(super) for_every_test: Pattern,
    pub(super) catches: Pattern,
    pub(super) imports: Pattern,
    pub(super) always_true: Pattern,
    pub(super) loose: Pattern,
    pub(super) leaves: Pattern,
    pub(super) goes_on: Pattern,
    pub(super) declares: Pattern,
    pub(super) never_enters: Pattern,
    pub(super) waits: Pattern,
}

pub(super) static LINES: LazyLock<Lines> = LazyLock::new(|| data!("test_lines.toml"));
