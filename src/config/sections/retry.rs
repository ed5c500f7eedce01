//! `loop:`, when to try again and when to call a person.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::{
    leaf::{Period, UpTo, Whole},
    lower::{Lowering, meaning},
    problem::Problem,
    wrappers::Located,
};
use loopgate_core::policy::{
    AutoRetry, Backoff, Baseline, CapabilityMode, EscalationDiff, ExecutionSkips, ExternalRetry, LoopPolicy, OnMax,
    OnRegression, PassingTests, ReviewRequirement, Waits,
};

/// When to try again, and when to call a person.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(in crate::config) struct LoopSection {
    /// Failing attempts in a row before a person is called.
    max_attempts: Option<Whole<1, 10>>,
    /// How often the same error may repeat; once more calls a person.
    same_error: Option<Whole<1, 10>>,
    /// Failures in one run that block it whatever else happens.
    total_failures: Option<Whole<1, 100>>,
    /// Iterations of a local loop.
    max_iterations: Option<Whole<1, 10>>,
    /// Waiting between automatic fix attempts.
    backoff: Option<Backoff>,
    /// Call a person at the limit; false ends the run as failed.
    escalation_on_max: Option<bool>,
    /// Call a person when a test that passed fails.
    abort_on_regression: Option<bool>,
    /// Retry failing tests; false calls a person at once.
    auto_retry_on_test_fail: Option<bool>,
    /// Retry after a rejected review; false calls a person at once.
    auto_retry_on_review_reject: Option<bool>,
    /// Show the diff in an escalation.
    escalation_includes_diff: Option<bool>,
    /// Characters of one text of feedback, and of the summary of all.
    feedback_max_length: Option<Whole<80, 10000>>,
    /// How long a missing check is waited for.
    evidence_timeout: Option<Period>,
    /// Whether a review is needed.
    review: Option<ReviewRequirement>,
    /// Which failures count.
    baseline: Option<Baseline>,
    /// What unticked capabilities of the description do.
    capabilities: Option<CapabilityMode>,
    /// What may be skipped.
    execution_gate: ExecutionGateSection,
    /// How progress is counted.
    progress: ProgressSection,
    /// How what failed for outside reasons is run again.
    external_retry: ExternalRetrySection,
}

/// What may be skipped.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct ExecutionGateSection {
    /// Whether a failing test holds the loop.
    require_passing_tests: Option<bool>,
    /// Whether build and test checks may be skipped with a reason, as others may.
    allow_skip: Option<bool>,
}

/// How progress is counted.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct ProgressSection {
    /// Share of the tests' pass rate; the rest is the score's.
    weight: Option<UpTo<1>>,
}

/// How a command is run again that failed for outside reasons (a service, the network). The waits double.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct ExternalRetrySection {
    /// Before the first repetition.
    first_wait: Option<Located<Period>>,
    /// No wait is longer.
    longest_wait: Option<Located<Period>>,
    /// Repetitions.
    times: Option<Whole<0, 20>>,
    /// The same for workflow runs and other Apps' checks, which GitHub is asked to repeat.
    workflows: WorkflowRetrySection,
}

/// How GitHub is asked to repeat what failed for outside reasons. The waits double.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct WorkflowRetrySection {
    /// Before the first repetition.
    first_wait: Option<Located<Period>>,
    /// No wait is longer.
    longest_wait: Option<Located<Period>>,
    /// Repetitions.
    times: Option<Whole<0, 20>>,
}

impl LoopSection {
    pub fn lower(self, cx: &mut Lowering) -> LoopPolicy {
        let default = LoopPolicy::default();
        LoopPolicy {
            max_attempts: self.max_attempts.map_or(default.max_attempts, |n| n.0),
            same_error: self.same_error.map_or(default.same_error, |n| n.0),
            total_failures: self.total_failures.map_or(default.total_failures, |n| n.0),
            max_iterations: self.max_iterations.map_or(default.max_iterations, |n| n.0),
            backoff: self.backoff.unwrap_or(default.backoff),
            on_max: meaning(self.escalation_on_max, OnMax::Escalate, OnMax::Fail, default.on_max),
            regression: meaning(
                self.abort_on_regression,
                OnRegression::Escalate,
                OnRegression::Ignore,
                default.regression,
            ),
            test_fail: auto_retry(self.auto_retry_on_test_fail, default.test_fail),
            review_reject: auto_retry(self.auto_retry_on_review_reject, default.review_reject),
            escalation_diff: meaning(
                self.escalation_includes_diff,
                EscalationDiff::Include,
                EscalationDiff::Omit,
                default.escalation_diff,
            ),
            feedback_max_length: self.feedback_max_length.map_or(default.feedback_max_length, |n| n.0 as usize),
            evidence_timeout: self.evidence_timeout.map_or(default.evidence_timeout, |period| period.0),
            review: self.review.unwrap_or(default.review),
            baseline: self.baseline.unwrap_or(default.baseline),
            capabilities: self.capabilities.unwrap_or(default.capabilities),
            skipping: meaning(
                self.execution_gate.allow_skip,
                ExecutionSkips::AnyCheck,
                ExecutionSkips::NeverBuildOrTest,
                default.skipping,
            ),
            passing_tests: meaning(
                self.execution_gate.require_passing_tests,
                PassingTests::Required,
                PassingTests::Shown,
                default.passing_tests,
            ),
            external_retry: self.external_retry.lower(default.external_retry, cx),
            progress_weight: self.progress.weight.map_or(default.progress_weight, |share| share.0),
        }
    }
}

impl ExternalRetrySection {
    fn lower(self, default: ExternalRetry, cx: &mut Lowering) -> ExternalRetry {
        let WorkflowRetrySection { first_wait, longest_wait, times } = self.workflows;
        ExternalRetry {
            commands: waits(self.first_wait, self.longest_wait, self.times, default.commands, cx),
            workflows: waits(first_wait, longest_wait, times, default.workflows, cx),
        }
    }
}

fn waits(
    first: Option<Located<Period>>,
    longest: Option<Located<Period>>,
    times: Option<Whole<0, 20>>,
    default: Waits,
    cx: &mut Lowering,
) -> Waits {
    let waits = Waits {
        first_wait: first.as_ref().map_or(default.first_wait, |wait| wait.value.0),
        longest_wait: longest.as_ref().map_or(default.longest_wait, |wait| wait.value.0),
        times: times.map_or(default.times, |n| n.0),
    };
    if let (true, Some(written)) = (waits.longest_wait < waits.first_wait, longest.or(first)) {
        cx.refuse(Problem::wrong(written.place, "the longest wait is shorter than the first"));
    }
    waits
}

fn auto_retry(written: Option<bool>, default: AutoRetry) -> AutoRetry {
    meaning(written, AutoRetry::Retry, AutoRetry::Escalate, default)
}
