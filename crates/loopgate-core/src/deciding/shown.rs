//! What a run's document shows and no decision reads. It is written down once, when the decision has been made.

use serde_json::{Value, json};

use super::{inputs::Inputs, new_run::linked_issues, verification::Counting};
use crate::{
    concerns::{
        checks::{
            CheckStanding,
            gather::{CheckView, HeadEvidence},
        },
        verdict::Verification,
    },
    evidence::{CheckKind, TestFramework, framework_of},
    ids::{CheckName, Sha},
    observed::Snapshot,
    policy::{CheckSource, GateRole, Policy},
    stage::Stage,
    state::{LoopState, Shown, criteria},
    text,
};

/// Heads, and ends of checks, that are shown at most.
const MOST_CHECKPOINTS: usize = 20;
const MOST_LOGGED: usize = 30;

/// Writes down what the decision about the head came to.
pub(super) fn write_down(
    inputs: &Inputs<'_>,
    next: &mut LoopState,
    verification: &Verification,
    counting: &Counting,
) {
    let Verification {
        evidence, rules, ..
    } = verification;
    let reached = next.run.stage;
    let has_pull_request = next.run.pull_request.is_some();
    let shown = &mut next.shown;
    shown.describe(inputs.snapshot, inputs.policy);
    shown.criteria = criteria(&inputs.policy.evaluate, rules);
    shown.stagnation_count = counting.judgement.stagnation;
    shown.reach(reached, inputs);
    shown.stage_evidence = [(reached, evidence_of_stage(evidence))].into();
    let Some(counted) = counting.counted.as_ref().filter(|counted| counted.is_news) else {
        return;
    };
    let head = counted.digest.head_sha;
    shown.log_checks(evidence, head);
    if has_pull_request {
        shown.checkpoint(inputs, head);
    }
    for check in evidence.ended() {
        *shown.check_usage.entry(check.name.clone()).or_default() += 1;
    }
}

impl Shown {
    /// Notes what the pull request says, and what governs it.
    pub(super) fn describe(&mut self, snapshot: &Snapshot, policy: &Policy) {
        // Nothing deploys without somebody who approves it, so `deploy` is configured where its gate is.
        let deploy = if policy.gate_with_role(GateRole::Deploy).is_some() {
            "configured"
        } else {
            "skipped"
        };
        let prerequisites = [("git", "configured"), ("deploy", deploy)];
        self.prerequisites = prerequisites
            .map(|(name, state)| (name.to_owned(), state.to_owned()))
            .into();
        self.linked_issues = linked_issues(&snapshot.pull_request.body);
        self.execution_config = execution_config(policy);
        self.retry_policy = json!({
            "maxAttempts": policy.retry.max_attempts,
            "sameError": policy.retry.same_error,
            "totalFailures": policy.retry.total_failures,
            "backoff": policy.retry.backoff,
            "escalationOnMax": policy.retry.escalation_on_max,
            "abortOnRegression": policy.retry.abort_on_regression,
        });
    }

    /// Notes of each stage whether it is complete, and since when.
    fn reach(&mut self, reached: Stage, inputs: &Inputs<'_>) {
        for stage in Stage::ALL {
            let record = self.stages.entry(stage).or_default();
            let status = if stage < reached || reached == Stage::Complete {
                "complete"
            } else if stage == reached {
                "in-progress"
            } else {
                "pending"
            };
            if record["status"] == status {
                continue;
            }
            let started = match (status, &record["startedAt"]) {
                ("pending", _) => Value::Null,
                ("complete", known @ Value::String(_)) => known.clone(),
                _ => json!(inputs.now),
            };
            let completed = (status == "complete").then_some(inputs.now);
            *record = json!({ "status": status, "startedAt": started, "completedAt": completed });
        }
    }

    /// The attempt's head, by the first line of its message.
    fn checkpoint(&mut self, inputs: &Inputs<'_>, head: Sha) {
        let hash = head.to_string();
        if self.checkpoints.iter().any(|known| known["hash"] == hash) {
            return;
        }
        let mut commits = inputs.snapshot.commits.items.iter();
        let commit = commits.find(|commit| commit.sha == head);
        let subject = commit.and_then(|commit| commit.message.lines().next());
        let message = text::start(subject.unwrap_or_default(), 200);
        self.checkpoints
            .push(json!({ "type": "commit", "hash": head, "message": message, "at": inputs.now }));
        keep_last(&mut self.checkpoints, MOST_CHECKPOINTS);
    }

    /// What ran on each head, the newest heads last.
    fn log_checks(&mut self, evidence: &HeadEvidence, head: Sha) {
        let reason = format!("head {}", head.short());
        let of_head = evidence.ended().map(|found| {
            json!({
                "check": found.name,
                "reason": reason,
                "startedAt": found.started_at,
                "completedAt": found.started_at.and_then(|at| at.checked_add_signed(found.duration())),
                "durationMs": found.duration_ms,
                "status": found.outcome,
                "deliverables": found.reports.iter().map(|report| &report.path).collect::<Vec<_>>(),
                "children": [],
            })
        });
        self.check_log.retain(|entry| entry["reason"] != reason);
        self.check_log.extend(of_head);
        keep_last(&mut self.check_log, MOST_LOGGED);
    }
}

fn keep_last(entries: &mut Vec<Value>, most: usize) {
    entries.drain(..entries.len().saturating_sub(most));
}

/// The checks that are asked for, and how far they are.
fn evidence_of_stage(evidence: &HeadEvidence) -> Value {
    let names = |wanted: fn(&CheckView) -> bool| -> Vec<&CheckName> {
        let checks = evidence.checks.iter();
        let wanted = checks.filter(|(_, check)| wanted(check));
        wanted.map(|(name, _)| name).collect()
    };
    json!({
        "required": evidence.checks.keys().collect::<Vec<_>>(),
        "completed": names(|check| check.evidence().is_some_and(|found| !found.outcome.is_failure())),
        "skipped": names(|check| matches!(check.standing, CheckStanding::Skipped { .. })),
    })
}

/// How tests are executed, by the first command check of kind test.
fn execution_config(policy: &Policy) -> Value {
    let command = policy
        .verify
        .checks
        .values()
        .find_map(|check| match &check.source {
            CheckSource::Command(command) if check.kind == CheckKind::Test => Some(command),
            _ => None,
        });
    json!({
        "testFramework": command.map_or(TestFramework::Other, |command| framework_of(&command.run)),
        "testCommand": command.map(|command| &command.run),
        "timeoutSeconds": command.map_or(120, |command| command.timeout.num_seconds()),
        "failFast": command.is_some_and(|command| command.fail_fast),
        "verbose": true,
        "workingDirectory": command.and_then(|command| command.working_directory.as_deref()).unwrap_or("."),
    })
}
