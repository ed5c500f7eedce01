//! The state of a run that has just begun.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::describe;
use crate::{
    evidence::{CheckKind, TestFramework, framework_of},
    ids::{RepoName, Timestamp},
    observed::Snapshot,
    policy::{CheckSource, OnMax, OnRegression, Policy},
    stage::Stage,
    state::{
        CapabilityProgress, Criteria, ExecutionConfig, FailureLog, LOOP_STATE_SCHEMA, LoopState, LostRecord,
        RetryPolicySummary, RunStatus, Step, Stop, Task,
    },
};

/// Name of the hidden ref that holds the debug memory.
pub const MEMORY_REF: &str = "refs/loopgate/memory";

impl LoopState {
    /// A new run over a pull request, begun at `now`.
    pub fn begin(snapshot: &Snapshot, policy: &Policy, now: Timestamp) -> Self {
        let pull_request = &snapshot.pull_request;
        let alias = format!("pr-{}", pull_request.number);
        let run_id = format!("{alias}-{}", now.format("%Y%m%d-%H%M%S"));
        Self {
            schema: LOOP_STATE_SCHEMA.to_owned(),
            workflow_id: workflow_id(&snapshot.repository, &run_id),
            run_id,
            repository: snapshot.repository.clone(),
            pull_request: Some(pull_request.number),
            title: pull_request.title.clone(),
            linked_issues: describe::linked_issues(&pull_request.body),
            branch: pull_request.head.branch.clone(),
            head_sha: pull_request.head.sha,
            base_ref: pull_request.base.branch.clone(),
            base_sha: pull_request.base.sha,
            policy_sha: policy.origin.commit(),
            first_seen_heads: Vec::new(),
            pushes: Vec::new(),
            edited_words: BTreeSet::new(),
            edited_by_others: BTreeSet::new(),
            closed_periods: Vec::new(),
            left_heads: BTreeSet::new(),
            hold: None,
            above: None,
            agent: describe::agent(pull_request),
            author: None,
            code_artifact: describe::artifact(snapshot, policy),
            execution_config: execution_config(policy),
            retry_policy: retry_policy(policy),
            debug_memory_ref: MEMORY_REF.to_owned(),
            known_here: None,
            proposed: None,
            state: Stage::Init,
            state_entered_at: now,
            status: RunStatus::InProgress,
            phase: crate::policy::Phase::A,
            current_step: Step::Evaluate,
            iteration: 1,
            max_iterations: policy.retry.max_attempts,
            task_alias: alias,
            task: Task { prompt: pull_request.title.clone(), ideal_result: None },
            plan: Vec::new(),
            prepared_checks: policy.verify.checks.keys().cloned().collect(),
            critique: None,
            criteria: Criteria {
                name: "loopgate_default_v1".to_owned(),
                version: 1,
                phase: BTreeMap::new(),
                rules: Vec::new(),
            },
            capabilities: CapabilityProgress::default(),
            stages: BTreeMap::new(),
            stage_evidence: BTreeMap::new(),
            last_verification: None,
            failures: FailureLog::default(),
            gates: BTreeMap::new(),
            skips: Vec::new(),
            approved_runs: BTreeSet::new(),
            prerequisites: describe::prerequisites(policy),
            evaluation: None,
            last_score: None,
            stagnation_count: 0,
            best_attempt: None,
            check_log: Vec::new(),
            check_usage: BTreeMap::new(),
            checkpoints: Vec::new(),
            bypassed: Vec::new(),
            stop: Stop::default(),
            attempts: Vec::new(),
            lost_attempts: 0,
            lost_trace: None,
            blocked: None,
            past_causes: Vec::new(),
            senior: None,
            disputes: Vec::new(),
            resumes: Vec::new(),
            accepted: BTreeSet::new(),
            accepted_tampering: BTreeMap::new(),
            releases: Vec::new(),
            reruns: Vec::new(),
            outage: None,
            answered: Vec::new(),
            reflex: None,
            created_at: now,
            updated_at: now,
            extra: serde_json::Map::new(),
        }
    }
}

impl LoopState {
    /// A new run in the place of one whose record is gone: the numbers of attempts go on.
    pub fn begin_after(lost: LostRecord, snapshot: &Snapshot, policy: &Policy, now: Timestamp) -> Self {
        let LostRecord { attempts, trace } = lost;
        Self { lost_attempts: attempts, lost_trace: Some(trace), ..Self::begin(snapshot, policy, now) }
    }
}

/// The id of a run among those of all repositories.
pub fn workflow_id(repository: &RepoName, run_id: &str) -> Uuid {
    Uuid::new_v5(&Uuid::NAMESPACE_URL, format!("{repository}/{run_id}").as_bytes())
}

/// How tests are executed, by the first command check of kind test.
pub fn execution_config(policy: &Policy) -> ExecutionConfig {
    let command = policy.verify.checks.values().find_map(|check| match &check.source {
        CheckSource::Command(command) if check.kind == CheckKind::Test => Some(command),
        _ => None,
    });
    ExecutionConfig {
        test_framework: command.map_or(TestFramework::Other, |command| framework_of(&command.run)),
        test_command: command.map(|command| command.run.clone()),
        timeout_seconds: command.map_or(120, |command| u64::try_from(command.timeout.num_seconds()).unwrap_or(120)),
        fail_fast: command.is_some_and(|command| command.fail_fast == crate::policy::FailFast::On),
        verbose: true,
        working_directory: command.and_then(|command| command.working_directory.clone()).unwrap_or_else(|| ".".into()),
    }
}

/// The retry numbers in force, as the state shows them.
pub fn retry_policy(policy: &Policy) -> RetryPolicySummary {
    RetryPolicySummary {
        max_attempts: policy.retry.max_attempts,
        same_error: policy.retry.same_error,
        total_failures: policy.retry.total_failures,
        backoff: policy.retry.backoff,
        escalation_on_max: policy.retry.on_max == OnMax::Escalate,
        abort_on_regression: policy.retry.regression == OnRegression::Escalate,
    }
}
