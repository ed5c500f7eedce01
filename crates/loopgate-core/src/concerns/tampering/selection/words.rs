//! The words by which a line says which tests run and what their failures do: `data/test_runs.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::expressions::{Pattern, Table};

/// The file, which says what each key means.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Words {
    pub runners: Pattern,
    pub targets: Pattern,
    pub command_keys: Pattern,
    pub no_commands: Pattern,
    pub nothing: Pattern,
    pub harmless: Pattern,
    pub ignores_failures: Pattern,
    pub asks: Pattern,
    pub callers: Pattern,
    pub equalities: Pattern,
    pub examples_off: Pattern,
    pub stops_at_failure: Pattern,
    pub discovers: Pattern,
    pub takes_places: Pattern,
    pub test_environment: Pattern,
    pub ends_run: Pattern,
    pub hooks: Pattern,
    pub matchers: Pattern,
    pub suppressions: Pattern,
    pub thresholds: Pattern,
    pub demands: Pattern,
    pub reruns: Pattern,
    pub options: Pattern,
    pub commands: Pattern,
    pub tools: Vec<(Pattern, String, Pattern)>,
    pub head: Pattern,
    pub heads: Vec<(Pattern, Pattern, Pattern)>,
    /// By names of files.
    pub settings: Table<Pattern>,
    pub loads: Table<Pattern>,
    pub exclusions: Table<Pattern>,
}

pub static WORDS: LazyLock<Words> = LazyLock::new(|| data!("test_runs.toml"));

/// The words of a command's options, those apart that only say how a command prints, measures, or is spread over processes.
pub fn selecting_options(options: &str) -> Vec<&str> {
    let words = options.split_whitespace();
    let plain = words.map(|word| word.trim_matches(['"', '\'', ',', '\\']));
    plain
        .filter(|word| !WORDS.harmless.is_match(word))
        .collect()
}
