//! A run in one flat object: the document that programs are shown, and `loop-state.json` of schema 1.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::{
    ids::{CheckName, GateName, PrNumber, RepoName, Score, Sha, Timestamp, WorkflowRunId},
    memory::ShownFix,
    observed::AnnouncedPush,
    policy::{Phase, Trigger},
    stage::Stage,
    state::{
        Agent, Answered, AttemptDigest, AuthorKind, BestAttempt, Blocked, CapabilityProgress,
        ClosedPeriod, CodeArtifact, Dispute, EvaluationSummary, FailureLog, GateState,
        HeadObservation, LastVerification, LoopState, Outage, ProposedConfiguration, QueueRecord,
        ReflexState, Release, Rerun, Resume, RunHold, RunStatus, Skip, Step, Stop, Task, Trace,
        Unreported, WordSource,
    },
};

/// `schema` of the flat document.
pub const RUN_DOCUMENT_SCHEMA: &str = "loopgate.loop-state/v1";

/// Name of the hidden refs that hold the debug memory.
pub const MEMORY_REF: &str = "refs/loopgate/memory";

/// Makes the document from its fields in order. One with a path is that part of the state, in both directions; one
/// without is derived from the state, and not read.
macro_rules! run_document {
    ($($(#[$about:meta])* $field:ident: $kind:ty $(= $($part:ident).+)?,)*) => {
        /// A run as programs see it, with all fields beside each other.
        #[derive(Clone, Debug, Default, Serialize, Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        pub struct RunDocument {
            $($(#[$about])* $field: $kind,)*
        }

        impl From<RunDocument> for LoopState {
            fn from(flat: RunDocument) -> Self {
                let mut state = Self::default();
                $($(state.$($part).+ = flat.$field;)?)*
                state
            }
        }

        impl From<LoopState> for RunDocument {
            fn from(state: LoopState) -> Self {
                let mut flat = Self {
                    schema: RUN_DOCUMENT_SCHEMA.to_owned(),
                    workflow_id: state.run.workflow_id(),
                    debug_memory_ref: MEMORY_REF.to_owned(),
                    last_score: state.attempts.score_before(),
                    best_attempt: state.attempts.best().map(BestAttempt::of),
                    ..Self::default()
                };
                $($(flat.$field = state.$($part).+;)?)*
                flat
            }
        }
    };
}

run_document! {
    schema: String,
    run_id: String = run.id,
    workflow_id: Uuid,
    repository: RepoName = run.repository,
    pull_request: Option<PrNumber> = run.pull_request,
    title: String = run.title,
    linked_issues: Vec<u64> = shown.linked_issues,
    branch: String = head.branch,
    head_sha: Sha = head.sha,
    base_ref: String = head.base_ref,
    base_sha: Sha = head.base_sha,
    policy_sha: Option<Sha> = head.policy_sha,
    first_seen_heads: Vec<HeadObservation> = head.sightings,
    pushes: Vec<AnnouncedPush> = head.pushes,
    agent: Option<Agent> = run.agent,
    author: Option<AuthorKind> = run.author,
    code_artifact: CodeArtifact = head.artifact,
    execution_config: Value = shown.execution_config,
    retry_policy: Value = shown.retry_policy,
    debug_memory_ref: String,
    state: Stage = run.stage,
    state_entered_at: Timestamp = run.stage_entered_at,
    status: RunStatus = run.status,
    phase: Phase = run.phase,
    current_step: Step = run.step,
    iteration: u32 = run.iteration,
    max_iterations: u32 = run.max_iterations,
    task_alias: String = run.alias,
    task: Task = run.task,
    plan: Vec<String> = run.plan,
    prepared_checks: Vec<CheckName> = concerns.checks.prepared,
    critique: Option<Vec<String>> = run.critique,
    criteria: Value = shown.criteria,
    capabilities: CapabilityProgress = concerns.capabilities,
    stages: BTreeMap<Stage, Value> = shown.stages,
    stage_evidence: BTreeMap<Stage, Value> = shown.stage_evidence,
    last_verification: Option<LastVerification> = head.last_verification,
    failures: FailureLog = attempts.failures,
    gates: BTreeMap<GateName, GateState> = concerns.gates,
    skips: Vec<Skip> = people.skips,
    approved_runs: BTreeSet<WorkflowRunId> = head.approved_runs,
    prerequisites: BTreeMap<String, String> = shown.prerequisites,
    evaluation: Option<EvaluationSummary> = head.evaluation,
    last_score: Option<Score>,
    stagnation_count: u32 = shown.stagnation_count,
    best_attempt: Option<BestAttempt>,
    check_log: Vec<Value> = shown.check_log,
    check_usage: BTreeMap<CheckName, u32> = shown.check_usage,
    checkpoints: Vec<Value> = shown.checkpoints,
    bypassed: Vec<String> = run.bypassed,
    stop: Stop = run.stop,
    attempts: Vec<AttemptDigest> = attempts.counted,
    lost_attempts: u32 = attempts.lost,
    lost_trace: Option<Trace> = attempts.lost_trace,
    blocked: Option<Blocked> = people.blocked,
    past_causes: Vec<(Trigger, u32)> = people.past_causes,
    senior: Option<Blocked> = concerns.fixer,
    disputes: Vec<Dispute> = concerns.disputes,
    resumes: Vec<Resume> = people.resumes,
    accepted_tampering: BTreeMap<String, u32> = concerns.tampering,
    releases: Vec<Release> = people.releases,
    accepted: BTreeSet<Trigger> = people.accepted,
    reruns: Vec<Rerun> = concerns.checks.reruns,
    outage: Option<Outage> = concerns.checks.outage,
    #[serde(skip_serializing_if = "crate::words::is_default")]
    unreported: Unreported = concerns.checks.unreported,
    answered: Vec<Answered> = people.answered,
    edited_words: BTreeSet<WordSource> = people.edited_words,
    edited_by_others: BTreeSet<WordSource> = people.edited_by_others,
    closed_periods: Vec<ClosedPeriod> = run.closed_periods,
    left_heads: BTreeSet<Sha> = head.left,
    hold: Option<RunHold> = head.hold,
    above: Option<PrNumber> = concerns.stack,
    queue: QueueRecord = concerns.queue,
    known_here: Option<Vec<ShownFix>> = concerns.memory,
    proposed: Option<ProposedConfiguration> = concerns.configuration,
    reflex: Option<ReflexState> = run.reflex,
    created_at: Timestamp = run.created_at,
    updated_at: Timestamp = run.updated_at,
    #[serde(flatten)]
    extra: Map<String, Value> = extra,
}
