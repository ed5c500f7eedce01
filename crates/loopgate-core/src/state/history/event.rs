//! The events of the history, each with its data.
//!
//! The order of fields is the order in which they are written. Pull requests and local loops share the names of events.
//! Some events have other data in each: such an event has a variant for each, and `kind` in its payload names it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    ids::{CheckName, GateName, Login, RuleId, Score, Sha, Timestamp, WorkflowRunId},
    policy::{Phase, Trigger},
    stage::Stage,
    state::{
        AnswerOutcome, Blocked, CritiqueItem, Dispute, DistanceToSuccess, FixMaker, Resume, RunStatus, Settings, Skip,
        Step, StopReason, Trace, WordSource,
    },
};

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", content = "payload", rename_all = "snake_case")]
pub enum Event {
    RunStarted(RunStarted),
    /// PLAN: what the iteration will do.
    PlanCreated {
        plan: Vec<String>,
    },
    ArtifactCreated(ArtifactCreated),
    /// PREPARE: the checks that will be run.
    ChecksPrepared {
        checks: Vec<CheckName>,
    },
    EvaluationDone {
        attempt: u32,
        head: Sha,
        score: Score,
        passed: bool,
        /// Those of severity fail.
        failed_rules: Vec<RuleId>,
    },
    CritiqueDone {
        items: Vec<CritiqueItem>,
    },
    /// REFINE: the code was changed.
    RefinementDone {
        /// Of the code before the change; empty when nothing had been produced.
        previous_artifact_hash: String,
        by: FixMaker,
        head: Sha,
        /// The subject of the commit.
        subject: String,
        /// `+5/-2`
        diff_summary: String,
        files_modified: Vec<String>,
        outside_scope: Vec<String>,
        cost_usd: Option<f64>,
    },
    PhaseSwitched {
        to: Phase,
    },
    IterationAdvanced {
        to: u32,
    },
    GateRequested {
        round: u32,
        /// The stage it holds.
        holds: Stage,
        gate: GateName,
    },
    GateApproved {
        by: Vec<Login>,
        /// The head the approval is bound to.
        head: Option<Sha>,
        gate: GateName,
    },
    GateRejected {
        by: Login,
        gate: GateName,
    },
    GateInvalidated(GateInvalidated),
    CheckSkipped(Skip),
    /// Somebody said that a failure is not theirs to mend, or that ended: as it stands now.
    Disputed(Box<Dispute>),
    CommandRun(CommandRun),
    Escalated(Escalated),
    Resumed(Resumed),
    MergedWithOpenGates {
        /// Open gates and failing required rules, in words.
        bypassed: Vec<String>,
        by: Option<Login>,
    },
    /// A step of a local loop broke its contract.
    PhaseError {
        step: Step,
        why: String,
        /// It had been executed once more already.
        retried: bool,
    },
    Stopped(Stopped),
    Failed(Failed),
    Completed(Completed),
    /// An event of a newer writer, or one whose payload this version cannot read: kept as it is.
    #[serde(untagged)]
    Other {
        event: String,
        payload: Map<String, Value>,
    },
}

/// A run began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RunStarted {
    LocalLoop(Box<LocalLoopStarted>),
    /// The record of an earlier run on the pull request is gone.
    AfterLostRecord {
        title: String,
        lost_attempts: u32,
        lost_trace: Trace,
    },
    PullRequest {
        title: String,
    },
}

/// A local loop was confirmed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LocalLoopStarted {
    pub title: String,
    pub task: String,
    pub max_iterations: u32,
    /// None where an older version wrote the line.
    #[serde(flatten)]
    pub confirmed: Option<Confirmed>,
}

/// What a person confirmed when a local loop began, and where it began. A damaged state gets it back from here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Confirmed {
    pub ideal_result: Option<String>,
    /// The commit the loop began on.
    pub began_at: Sha,
    /// The commit its change is measured from.
    pub base_sha: Sha,
    pub settings: Settings,
}

/// There is new code to judge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ArtifactCreated {
    /// A local loop produced it.
    Produced { head: Sha, hash: String },
    /// A head commit of a pull request was seen for the first time.
    HeadSeen {
        head: Sha,
        #[serde(default)]
        base: Option<String>,
        /// Digests of the diff that triggers each gate.
        #[serde(default)]
        gates: BTreeMap<GateName, String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        merge_base: Option<Sha>,
        at: Timestamp,
        /// The head of before, if another took its place before its verification ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stale_head: Option<Sha>,
    },
    /// The same, by the first versions.
    Head { head: Sha },
}

/// An approval no longer counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum GateInvalidated {
    /// Somebody else changed a comment that counted.
    CommentChanged {
        gate: GateName,
        /// Its address.
        tampered_comment: String,
        written_by: Login,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        changed_by: Option<Login>,
    },
    /// The head is not the one it was bound to, or the gate applies anew.
    Unbound { was_bound_to: Option<Sha>, gate: GateName },
}

/// Something was run for a pull request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CommandRun {
    /// A command that a person wrote.
    Written {
        /// The command as understood, `resume`.
        command: String,
        by: Login,
        /// The comment or review.
        url: String,
        answer: AnswerOutcome,
        source: WordSource,
        head: Sha,
    },
    /// The button of a command.
    Pressed {
        command: String,
        by: Login,
        button: bool,
    },
    Own(OwnCommand),
}

/// What Loopgate does without being asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum OwnCommand {
    /// Checks that failed for reasons outside the code were asked for again.
    Rerun { by: ByNobody, checks: BTreeSet<CheckName> },
    /// The senior fixer was asked to mend what would have called a person.
    SeniorFixer { by: ByNobody, senior: Blocked },
    /// GitHub was asked to let these workflow runs go that it held back on the head, since these people approved it.
    ApproveRuns { by: Vec<Login>, head: Sha, runs: BTreeSet<WorkflowRunId> },
}

/// Written as `null`: no person did it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByNobody;

/// A person was called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Escalated {
    PullRequest {
        triggers: Vec<Trigger>,
        /// What was recognised, in words; the code that saves the line adds them.
        pattern: Option<String>,
        blocked: Option<Blocked>,
    },
    LocalLoop {
        trigger: Trigger,
        also: Vec<Trigger>,
        notes: Vec<String>,
    },
}

/// A run goes on after it stood still.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Resumed {
    /// Its state was damaged, and rebuilt as this sentence says.
    Recovered { recovered: String },
    PullRequest {
        by: Login,
        resume: Resume,
        /// The cause that was released with `--accept`.
        accepted: Option<Trigger>,
        /// What weakens tests and was accepted, and how many of each.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        accepted_tampering: BTreeMap<String, u32>,
    },
    LocalLoop {
        by: Login,
        cause: Option<Trigger>,
        accepted: Option<Trigger>,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        accepted_tampering: BTreeMap<String, u32>,
    },
}

/// The status of a pull request's run changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatusChange {
    pub from: RunStatus,
    pub reason: Option<StopReason>,
    /// Those of the person who stopped it.
    pub words: Option<String>,
}

/// A run stopped before it passed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Stopped {
    PullRequest(StatusChange),
    /// A person stopped a local loop.
    ByPerson {
        reason: StopReason,
        words: Option<String>,
        by: Login,
    },
    /// A local loop reached its limit or stands still.
    ShortOfPassing {
        reason: StopReason,
        distance_to_success: DistanceToSuccess,
    },
}

/// A run failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Failed {
    PullRequest(StatusChange),
    /// A step of a local loop broke its contract twice.
    Broken {
        reason: PhaseFailure,
    },
    /// A cause that ends a local loop, by the configuration.
    Aborted {
        reason: Trigger,
    },
}

/// The one reason for which a step ends a local loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseFailure {
    PhaseError,
}

/// A run passed, or its pull request was merged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Completed {
    PullRequest(StatusChange),
    LocalLoop { reason: StopReason, iterations: u32 },
}

/// The kind of an event that was written before kinds were: the first row that the payload has the field of.
const KINDS: [(&str, &str, &str); 23] = [
    ("run_started", "task", "local_loop"),
    ("run_started", "lost_trace", "after_lost_record"),
    ("run_started", "title", "pull_request"),
    ("artifact_created", "hash", "produced"),
    ("artifact_created", "at", "head_seen"),
    ("artifact_created", "head", "head"),
    ("gate_invalidated", "tampered_comment", "comment_changed"),
    ("gate_invalidated", "gate", "unbound"),
    ("command_run", "url", "written"),
    ("command_run", "button", "pressed"),
    ("command_run", "command", "own"),
    ("escalated", "triggers", "pull_request"),
    ("escalated", "trigger", "local_loop"),
    ("resumed", "recovered", "recovered"),
    ("resumed", "resume", "pull_request"),
    ("resumed", "by", "local_loop"),
    ("stopped", "from", "pull_request"),
    ("stopped", "distance_to_success", "short_of_passing"),
    ("stopped", "by", "by_person"),
    ("failed", "from", "pull_request"),
    ("failed", "reason", "aborted"),
    ("completed", "from", "pull_request"),
    ("completed", "iterations", "local_loop"),
];

/// The kind of an event whose payload was written before kinds were.
pub(super) fn kind_of_old(event: &str, payload: &Map<String, Value>) -> Option<&'static str> {
    let row = KINDS.iter().find(|(of, field, _)| *of == event && payload.contains_key(*field));
    let (.., kind) = row.filter(|_| !payload.contains_key("kind"))?;
    let is_broken = event == "failed" && payload.get("reason").is_some_and(|reason| reason == "phase_error");
    Some(if is_broken { "broken" } else { kind })
}
