//! The `loop:` section: when a failing run is retried, and when a human is called.

use chrono::TimeDelta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `loop:` section.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopPolicy {
    /// Failing attempts of one streak before a person is called, 1–10.
    pub max_attempts: u32,
    /// How often the same fingerprint may repeat: one present in the (n+1)th consecutive attempt escalates.
    pub same_error: u32,
    /// Failures in a run that force BLOCKED whatever else happens.
    pub total_failures: u32,
    /// Iterations of a local reflex loop.
    pub max_iterations: u32,
    pub backoff: Backoff,
    pub on_max: OnMax,
    pub regression: OnRegression,
    pub test_fail: AutoRetry,
    pub review_reject: AutoRetry,
    pub escalation_diff: EscalationDiff,
    /// Characters of one text of feedback, and of the summary of all.
    pub feedback_max_length: usize,
    /// How long a missing check is waited for before it counts as failed (class `external`).
    pub evidence_timeout: TimeDelta,
    pub review: ReviewRequirement,
    pub baseline: Baseline,
    pub capabilities: CapabilityMode,
    pub skipping: ExecutionSkips,
    pub passing_tests: PassingTests,
    pub external_retry: ExternalRetry,
    /// Share of the test pass rate in the progress shown, 0–1; the rest is the score's.
    pub progress_weight: f64,
}

impl Default for LoopPolicy {
    fn default() -> Self {
        Self {
            max_attempts: 3,
            same_error: 2,
            total_failures: 10,
            max_iterations: 4,
            backoff: Backoff::None,
            on_max: OnMax::Escalate,
            regression: OnRegression::Escalate,
            test_fail: AutoRetry::Retry,
            review_reject: AutoRetry::Retry,
            escalation_diff: EscalationDiff::Include,
            feedback_max_length: 500,
            evidence_timeout: TimeDelta::minutes(60),
            review: ReviewRequirement::Auto,
            baseline: Baseline::All,
            capabilities: CapabilityMode::Hold,
            skipping: ExecutionSkips::NeverBuildOrTest,
            passing_tests: PassingTests::Required,
            external_retry: ExternalRetry::default(),
            progress_weight: 0.3,
        }
    }
}

/// Waiting between automatic fix attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Backoff {
    #[default]
    None,
    Linear,
    Exponential,
}

/// `escalation_on_max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnMax {
    Escalate,
    /// The run is `failed`, said in the status comment; nobody is called.
    Fail,
}

/// `abort_on_regression`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnRegression {
    Escalate,
    Ignore,
}

/// `auto_retry_on_…`: whether such a failure is retried, or escalates at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutoRetry {
    Retry,
    Escalate,
}

/// `escalation_includes_diff`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EscalationDiff {
    Include,
    Omit,
}

/// `loop.review`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewRequirement {
    /// As many approvals as the base branch's rules ask for.
    #[default]
    Auto,
    /// At least one, whatever the rules ask for.
    Required,
}

/// `loop.baseline`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Baseline {
    /// Every failure counts.
    #[default]
    All,
    /// A run passes when every failure already exists on the base.
    New,
}

/// `loop.capabilities`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CapabilityMode {
    Off,
    /// Shown, never holding.
    Report,
    /// Holding when the heading exists, shown otherwise.
    #[default]
    Hold,
}

/// `loop.execution_gate.allow_skip`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutionSkips {
    NeverBuildOrTest,
    AnyCheck,
}

/// `loop.execution_gate.require_passing_tests`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassingTests {
    /// A failing test holds the loop.
    Required,
    /// Tests must have been executed; their failures are shown and hold nothing.
    Shown,
}

/// How a check is run again that failed for outside reasons (class `external`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExternalRetry {
    /// Of a command that `verify` runs itself.
    pub commands: Waits,
    /// Of workflow runs and of other Apps' checks, which GitHub is asked to repeat.
    pub workflows: Waits,
}

/// How often, and how far apart, something is repeated. The waits double from the first to the longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    pub first_wait: TimeDelta,
    pub longest_wait: TimeDelta,
    pub times: u32,
}

impl Default for ExternalRetry {
    fn default() -> Self {
        let waits = |first_wait, longest_wait| Waits { first_wait, longest_wait, times: 5 };
        Self {
            commands: waits(TimeDelta::seconds(1), TimeDelta::seconds(30)),
            workflows: waits(TimeDelta::minutes(1), TimeDelta::minutes(15)),
        }
    }
}

impl Waits {
    /// The wait before the repetition after `tries` of them: doubling from the first to the longest.
    pub fn after(&self, tries: u32) -> TimeDelta {
        let factor = 1_i32.checked_shl(tries).filter(|factor| *factor > 0).unwrap_or(i32::MAX);
        self.first_wait.checked_mul(factor).map_or(self.longest_wait, |wait| wait.min(self.longest_wait))
    }
}

/// How long is waited before the fixer's next call, after so many: the first is never waited for. The unit and the
/// longest wait are those of `loop.external_retry` for commands.
pub fn backoff(backoff: Backoff, calls: u32, waits: &Waits) -> TimeDelta {
    let factor = match (backoff, calls) {
        (Backoff::None, _) | (_, 0) => return TimeDelta::zero(),
        (Backoff::Linear, calls) => i32::try_from(calls).unwrap_or(i32::MAX),
        (Backoff::Exponential, calls) => return waits.after(calls - 1),
    };
    waits.first_wait.checked_mul(factor).map_or(waits.longest_wait, |wait| wait.min(waits.longest_wait))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_from_the_first_to_the_longest() {
        let ExternalRetry { commands, workflows } = ExternalRetry::default();
        let all = |waits: &Waits| [0, 1, 2, 3, 4, 5, 40].map(|tries| waits.after(tries).num_seconds());
        assert_eq!(all(&commands), [1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(all(&workflows), [60, 120, 240, 480, 900, 900, 900]);
    }

    #[test]
    fn waits_grow_as_configured_and_never_beyond_the_longest() {
        let waits = ExternalRetry::default().commands;
        let seconds = |kind: Backoff| [0, 1, 2, 3, 40].map(|calls| backoff(kind, calls, &waits).num_seconds());
        assert_eq!(seconds(Backoff::None), [0, 0, 0, 0, 0]);
        assert_eq!(seconds(Backoff::Linear), [0, 1, 2, 3, 30]);
        assert_eq!(seconds(Backoff::Exponential), [0, 1, 2, 4, 30]);
    }
}
