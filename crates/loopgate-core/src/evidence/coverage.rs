//! Coverage as documents and reports give it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::words::is_default;

/// Coverage of the lines a pull request changed, as kept in `evidence.json`.
///
/// Figures from a document are claims until [`coverage::believe`](crate::concerns::coverage::believe) has checked them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedCoverage {
    /// Over all measured files.
    pub lines_covered: u64,
    pub lines_total: u64,
    /// Added executable lines that were executed.
    pub changed_covered: u64,
    /// Added executable lines.
    pub changed_total: u64,
    /// Added executable lines that were not executed, as `file:first-last`, or `file:line` for a single one.
    pub uncovered: Vec<String>,
    /// Lines of further ranges, which are counted only.
    #[serde(default, skip_serializing_if = "is_default")]
    pub uncovered_not_listed: u64,
    /// The changed lines by file, where several jobs' figures can be put together.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, LineTally>,
    /// Changed code that no report mentions although others of its language are measured: nothing is known of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmeasured: Vec<String>,
}

/// Executable lines, and how many of them were executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineTally {
    pub covered: u64,
    pub total: u64,
}

impl ChangedCoverage {
    /// Percentage of the changed lines that were executed; none when no changed line is executable.
    pub fn changed_percent(&self) -> Option<f64> {
        percent(self.changed_covered, self.changed_total)
    }

    /// Percentage of all lines that were executed; none when there is no executable line.
    pub fn percent(&self) -> Option<f64> {
        percent(self.lines_covered, self.lines_total)
    }
}

fn percent(covered: u64, total: u64) -> Option<f64> {
    (total > 0).then(|| covered as f64 * 100.0 / total as f64)
}

/// Execution counts of one file's executable lines, as a coverage report gives them: line (from 1) → hits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileCoverage {
    pub path: String,
    pub lines: BTreeMap<u32, u64>,
}
