//! The `loop:` section: when a failing run is retried, and when a human is called.

use chrono::TimeDelta;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::{Period, UpTo, Whole};

/// When to try again, and when to call a person.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LoopPolicy {
    /// Failing attempts in a row before a person is called.
    #[serde(with = "Whole::<1, 10>")]
    pub max_attempts: u32,
    /// How often the same error may repeat; once more calls a person.
    #[serde(with = "Whole::<1, 10>")]
    pub same_error: u32,
    /// Failures in one run that block it whatever else happens.
    #[serde(with = "Whole::<1, 100>")]
    pub total_failures: u32,
    /// Iterations of a local loop.
    #[serde(with = "Whole::<1, 10>")]
    pub max_iterations: u32,
    /// Waiting between automatic fix attempts.
    pub backoff: Backoff,
    /// Call a person at the limit; false ends the run as failed.
    pub escalation_on_max: bool,
    /// Call a person when a test that passed fails.
    pub abort_on_regression: bool,
    /// Retry failing tests; false calls a person at once.
    pub auto_retry_on_test_fail: bool,
    /// Retry after a rejected review; false calls a person at once.
    pub auto_retry_on_review_reject: bool,
    /// Show the diff in an escalation.
    pub escalation_includes_diff: bool,
    /// Characters of one text of feedback, and of the summary of all.
    #[serde(deserialize_with = "length")]
    #[schemars(with = "Whole<80, 10000>")]
    pub feedback_max_length: usize,
    /// How long a missing check is waited for.
    #[serde(with = "Period")]
    pub evidence_timeout: TimeDelta,
    /// Whether a review is needed.
    pub review: ReviewRequirement,
    /// Which failures count.
    pub baseline: Baseline,
    /// What unticked capabilities of the description do.
    pub capabilities: CapabilityMode,
    /// What may be skipped.
    pub execution_gate: ExecutionGate,
    /// How progress is counted.
    pub progress: Progress,
    /// How what failed for outside reasons is run again.
    pub external_retry: ExternalRetry,
}

impl Default for LoopPolicy {
    fn default() -> Self {
        Self {
            max_attempts: 3,
            same_error: 2,
            total_failures: 10,
            max_iterations: 4,
            backoff: Backoff::None,
            escalation_on_max: true,
            abort_on_regression: true,
            auto_retry_on_test_fail: true,
            auto_retry_on_review_reject: true,
            escalation_includes_diff: true,
            feedback_max_length: 500,
            evidence_timeout: TimeDelta::minutes(60),
            review: ReviewRequirement::Auto,
            baseline: Baseline::All,
            capabilities: CapabilityMode::Hold,
            execution_gate: ExecutionGate::default(),
            progress: Progress::default(),
            external_retry: ExternalRetry::default(),
        }
    }
}

impl LoopPolicy {
    /// How long a check is waited for of which nothing is heard, in milliseconds.
    pub fn evidence_timeout_ms(&self) -> u64 {
        u64::try_from(self.evidence_timeout.num_milliseconds()).unwrap_or_default()
    }
}

fn length<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    Whole::<80, 10000>::deserialize(deserializer).map(|length| length as usize)
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
    /// Not read.
    Off,
    /// Shown, never holding.
    Report,
    /// Holding when the heading exists, shown otherwise.
    #[default]
    Hold,
}

/// What may be skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExecutionGate {
    /// Whether a failing test holds the loop.
    pub require_passing_tests: bool,
    /// Whether build and test checks may be skipped with a reason, as others may.
    pub allow_skip: bool,
}

impl Default for ExecutionGate {
    fn default() -> Self {
        Self {
            require_passing_tests: true,
            allow_skip: false,
        }
    }
}

/// How progress is counted.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Progress {
    /// Share of the tests' pass rate; the rest is the score's.
    #[serde(with = "UpTo::<1>")]
    pub weight: f64,
}

impl Default for Progress {
    fn default() -> Self {
        Self { weight: 0.3 }
    }
}

/// How a command is run again that failed for outside reasons (a service, the network). The waits double.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExternalRetry {
    /// Before the first repetition.
    #[serde(with = "Period")]
    pub first_wait: TimeDelta,
    /// No wait is longer.
    #[serde(with = "Period")]
    pub longest_wait: TimeDelta,
    /// Repetitions.
    #[serde(with = "Whole::<0, 20>")]
    pub times: u32,
    /// The waits for workflow runs and other Apps' checks, which GitHub is asked to repeat.
    pub workflows: Waits,
}

/// How GitHub is asked to repeat what failed for outside reasons. The waits double.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Waits {
    /// Before the first repetition.
    #[serde(with = "Period")]
    pub first_wait: TimeDelta,
    /// No wait is longer.
    #[serde(with = "Period")]
    pub longest_wait: TimeDelta,
    /// Repetitions.
    #[serde(with = "Whole::<0, 20>")]
    pub times: u32,
}

impl Default for ExternalRetry {
    fn default() -> Self {
        let (first_wait, longest_wait) = (TimeDelta::seconds(1), TimeDelta::seconds(30));
        Self {
            first_wait,
            longest_wait,
            times: 5,
            workflows: Waits::default(),
        }
    }
}

impl Default for Waits {
    fn default() -> Self {
        Self {
            first_wait: TimeDelta::minutes(1),
            longest_wait: TimeDelta::minutes(15),
            times: 5,
        }
    }
}

impl ExternalRetry {
    /// Of a command that `verify` runs itself.
    pub const fn commands(&self) -> Waits {
        Waits {
            first_wait: self.first_wait,
            longest_wait: self.longest_wait,
            times: self.times,
        }
    }
}

impl Waits {
    /// The wait before the repetition after `tries` of them: doubling from the first to the longest.
    pub fn after(&self, tries: u32) -> TimeDelta {
        let factor = 1_i32
            .checked_shl(tries)
            .filter(|factor| *factor > 0)
            .unwrap_or(i32::MAX);
        self.first_wait
            .checked_mul(factor)
            .map_or(self.longest_wait, |wait| wait.min(self.longest_wait))
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
    waits
        .first_wait
        .checked_mul(factor)
        .map_or(waits.longest_wait, |wait| wait.min(waits.longest_wait))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_from_the_first_to_the_longest() {
        let retry = ExternalRetry::default();
        let all =
            |waits: &Waits| [0, 1, 2, 3, 4, 5, 40].map(|tries| waits.after(tries).num_seconds());
        assert_eq!(all(&retry.commands()), [1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(all(&retry.workflows), [60, 120, 240, 480, 900, 900, 900]);
    }

    #[test]
    fn waits_grow_as_configured_and_never_beyond_the_longest() {
        let waits = ExternalRetry::default().commands();
        let seconds = |kind: Backoff| {
            [0, 1, 2, 3, 40].map(|calls| backoff(kind, calls, &waits).num_seconds())
        };
        assert_eq!(seconds(Backoff::None), [0, 0, 0, 0, 0]);
        assert_eq!(seconds(Backoff::Linear), [0, 1, 2, 3, 30]);
        assert_eq!(seconds(Backoff::Exponential), [0, 1, 2, 4, 30]);
    }
}
