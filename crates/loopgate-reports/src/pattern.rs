//! Plain text read with a regular expression of the configuration.

use regex::{Regex, RegexBuilder};

/// Names of groups that mean something.
const GROUPS: [&str; 12] = [
    "file", "line", "column", "test", "name", "class", "rule", "message", "severity", "expected",
    "actual", "function",
];

/// An expression matched against each line; each match is a failure (or, by its `severity`, a finding).
///
/// The groups are `file`, `line`, `column`, `test` (or `name`), `class` or `rule`, `message`, `severity`, `expected`,
/// `actual` and `function`; at least `message` or `file` must be there.
#[derive(Clone, Debug)]
pub struct Pattern(pub(super) Regex);

/// Why an expression cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PatternError {
    #[error("the expression is not valid: {0}")]
    Syntax(#[from] regex::Error),
    #[error("the group `{name}` means nothing here; groups are {}", GROUPS.join(", "))]
    UnknownGroup { name: String },
    #[error("the expression needs a group `message` or `file`")]
    NothingToReport,
}

impl Pattern {
    /// Compiles an expression, of at most 1 MiB compiled.
    pub fn new(expression: &str) -> Result<Self, PatternError> {
        let regex = RegexBuilder::new(expression).size_limit(1 << 20).build()?;
        let names: Vec<&str> = regex.capture_names().flatten().collect();
        if let Some(unknown) = names.iter().find(|name| !GROUPS.contains(name)) {
            return Err(PatternError::UnknownGroup {
                name: (*unknown).to_owned(),
            });
        }
        if !names.iter().any(|name| matches!(*name, "message" | "file")) {
            return Err(PatternError::NothingToReport);
        }
        Ok(Self(regex))
    }
}
