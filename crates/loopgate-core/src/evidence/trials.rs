//! Tests that were run for what they prove: without the change, as they were before it, and several times.

use serde::{Deserialize, Serialize};

/// Whether the tests a change adds or changes fail without it and pass with it (`coverage.prove_regression`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegressionTrial {
    pub verdict: ProofVerdict,
    /// The test files that were run, and how each ended.
    pub tests: Vec<ProofRun>,
    /// One sentence for people.
    pub reason: String,
}

/// What the runs on the base and on the head show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProofVerdict {
    /// A test fails on the base and passes on the head.
    Proved,
    /// None does.
    NotProved,
    /// They could not be run.
    Unknown,
}

/// One test file, run on both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofRun {
    pub file: String,
    /// The command both were run with.
    pub command: String,
    pub on_base: ProofEnd,
    pub on_head: ProofEnd,
}

/// A test file that the change edits or removes, run on the head as it was on the base.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BaseTestRun {
    /// Where it was on the base.
    pub file: String,
    pub command: String,
    pub on_head: ProofEnd,
    /// Tests that fail so, at most 20; none where the tool names none.
    #[serde(default)]
    pub failing: Vec<String>,
}

/// A test that the change adds, run alone several times on the head after the checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepeatedTest {
    /// As it is declared.
    pub test: String,
    pub file: String,
    /// What runs it alone; none where that is not known.
    pub command: Option<String>,
    /// How often it ran to its end, and how often it failed then.
    pub runs: u32,
    pub failed: u32,
    /// Why it did not run as often as was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<RepetitionGap>,
}

impl RepeatedTest {
    /// Whether it both passed and failed on the same code.
    pub const fn is_flaky(&self) -> bool {
        0 < self.failed && self.failed < self.runs
    }
}

/// Why a test did not run as often as was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RepetitionGap {
    /// It is not known how to run it alone.
    NotAlone,
    /// Run alone it ended without a word on it.
    Broken,
    OutOfTime,
}

/// How a run of a test file ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProofEnd {
    Passed,
    Failed,
    /// It ended without a word on any test: it could not be built, or was cut off.
    Broken,
}
