//! `history.jsonl`: what happened, one line per event, append-only.
//!
//! A line is `ts`, `run_id`, `iteration`, `phase`, `step`, `status`, `event` and `payload`. The name in
//! `event`, and `kind` in `payload` where an event is of several, say what `payload` holds: each [`Event`] is read and
//! written with its data. Pull requests and local loops share the names of events; an event that has other data in each
//! has a variant for each. The order of fields is the order in which they are written. A state that is damaged is
//! rebuilt from these lines, so what a person decided must be found again in what any version of ours wrote. Lines are
//! only appended: the file keeps what newer writers wrote, and an event of theirs is read as [`Event::Other`].

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::{Map, Value};

use super::{
    AnswerOutcome, Blocked, CritiqueItem, Dispute, DistanceToSuccess, FixMaker, LoopState, Resume,
    RunStatus, Settings, Skip, Step, StopReason, Trace, WordSource,
};
use crate::{
    ids::{CheckName, GateName, Login, RuleId, Score, Sha, Timestamp, WorkflowRunId},
    policy::{Phase, Trigger},
    stage::Stage,
};

/// One line of the history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryLine {
    pub ts: Timestamp,
    pub run_id: String,
    pub iteration: u32,
    pub phase: Phase,
    pub step: Step,
    pub status: EventStatus,
    #[serde(flatten, deserialize_with = "of_any_version")]
    pub event: Event,
}

/// Whether the event went well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventStatus {
    Ok,
    Fail,
}

impl HistoryLine {
    /// A line on what happened at `ts` to a run, where it stands.
    pub fn of(state: &LoopState, ts: Timestamp, event: Event, status: EventStatus) -> Self {
        let run = &state.run;
        Self {
            ts,
            run_id: run.id.clone(),
            iteration: run.iteration,
            phase: run.phase,
            step: run.step,
            status,
            event,
        }
    }
}

impl Event {
    /// The name of the event, as the file has it.
    pub fn name(&self) -> String {
        let written = serde_json::to_value(self).unwrap_or_default();
        written["event"].as_str().unwrap_or_default().to_owned()
    }
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", content = "payload", rename_all = "snake_case")]
pub enum Event {
    /// A run began.
    RunStarted(RunStarted),
    /// PLAN: what the iteration will do.
    PlanCreated { plan: Vec<String> },
    /// There is new code to judge.
    ArtifactCreated(ArtifactCreated),
    /// PREPARE: the checks that will be run.
    ChecksPrepared { checks: Vec<CheckName> },
    /// EVALUATE: a head was judged; `failed_rules` are those of severity fail.
    EvaluationDone {
        attempt: u32,
        head: Sha,
        score: Score,
        passed: bool,
        failed_rules: Vec<RuleId>,
    },
    /// CRITIQUE: what is to be mended.
    CritiqueDone { items: Vec<CritiqueItem> },
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
    /// Phase A passes: the rules of phase B count too.
    PhaseSwitched { to: Phase },
    /// A local loop goes on with another iteration.
    IterationAdvanced { to: u32 },
    /// Approvers were asked for a gate; `holds` is the stage it holds.
    GateRequested {
        round: u32,
        holds: Stage,
        gate: GateName,
    },
    /// A gate was approved; `head` is what the approval is bound to.
    GateApproved {
        by: Vec<Login>,
        head: Option<Sha>,
        gate: GateName,
    },
    /// An approver rejected a gate.
    GateRejected { by: Login, gate: GateName },
    /// An approval no longer counts.
    GateInvalidated(GateInvalidated),
    /// A person skipped a check.
    CheckSkipped(Skip),
    /// Somebody said that a failure is not theirs to mend, or that ended: as it stands now.
    Disputed(Box<Dispute>),
    /// Something was run for a pull request.
    CommandRun(CommandRun),
    /// A person was called.
    Escalated(Escalated),
    /// A run goes on after it stood still.
    Resumed(Resumed),
    /// It was merged over these open gates and failing required rules, in words.
    MergedWithOpenGates {
        bypassed: Vec<String>,
        by: Option<Login>,
    },
    /// A step of a local loop broke its contract; `retried`: it had been executed once more already.
    PhaseError {
        step: Step,
        why: String,
        retried: bool,
    },
    /// A run stopped before it passed.
    Stopped(RunEnd),
    /// A run failed.
    Failed(RunEnd),
    /// A run passed, or its pull request was merged.
    Completed(RunEnd),
    /// An event of a newer writer, or one whose payload this version cannot read: kept as it is.
    #[serde(untagged)]
    Other {
        event: String,
        #[serde(default)]
        payload: Map<String, Value>,
    },
}

/// A run began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RunStarted {
    /// A local loop began.
    LocalLoop(Box<LocalLoopStarted>),
    /// The record of an earlier run on the pull request is gone.
    AfterLostRecord {
        title: String,
        lost_attempts: u32,
        lost_trace: Trace,
    },
    /// A run on a pull request began.
    PullRequest { title: String },
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
        base: Option<String>,
        /// Digests of the diff that triggers each gate.
        #[serde(default)]
        gates: BTreeMap<GateName, String>,
        merge_base: Option<Sha>,
        at: Timestamp,
        /// The previous head, if another took its place before its verification ended.
        stale_head: Option<Sha>,
    },
    /// As the first versions wrote it.
    Head { head: Sha },
}

/// An approval no longer counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum GateInvalidated {
    /// Somebody else changed the comment at this address, which counted.
    CommentChanged {
        gate: GateName,
        tampered_comment: String,
        written_by: Login,
        changed_by: Option<Login>,
    },
    /// The head is not the one it was bound to, or the gate applies anew.
    Unbound {
        was_bound_to: Option<Sha>,
        gate: GateName,
    },
}

/// Something was run for a pull request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CommandRun {
    /// A person wrote `command`, as it is understood (`resume`), in the comment or review at `url`.
    Written {
        command: String,
        by: Login,
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
    /// Loopgate ran it by itself.
    Own(OwnCommand),
}

/// What Loopgate does without being asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum OwnCommand {
    /// Checks that failed for reasons outside the code were asked for again.
    Rerun {
        by: ByNobody,
        checks: BTreeSet<CheckName>,
    },
    /// The senior fixer was asked to mend what would have called a person.
    SeniorFixer { by: ByNobody, senior: Blocked },
    /// GitHub was asked to let these workflow runs go that it held back on the head, since these people approved it.
    ApproveRuns {
        by: Vec<Login>,
        head: Sha,
        runs: BTreeSet<WorkflowRunId>,
    },
}

/// Written as `null`: no person did it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByNobody;

/// A person was called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Escalated {
    /// On a pull request. `pattern` is what was recognised, in words; the code that saves the line adds them.
    PullRequest {
        triggers: Vec<Trigger>,
        pattern: Option<String>,
        blocked: Option<Blocked>,
    },
    /// In a local loop.
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
    /// A person resumed it.
    PullRequest {
        by: Login,
        resume: Resume,
        /// The cause that was released with `--accept`.
        accepted: Option<Trigger>,
        /// What weakens tests and was accepted, and how many of each.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        accepted_tampering: BTreeMap<String, u32>,
    },
    /// A person resumed a local loop.
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

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RunEnd {
    /// That of a pull request, or the pull request.
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
    /// A step of a local loop broke its contract twice.
    Broken { reason: StopReason },
    /// A cause that ends a local loop, by the configuration.
    Aborted { reason: Trigger },
    /// A local loop ended well.
    LocalLoop { reason: StopReason, iterations: u32 },
}

/// The kinds of the events that were written without one: the first that the payload is read as.
const KINDS: [(&str, &[&str]); 9] = [
    (
        "run_started",
        &["local_loop", "after_lost_record", "pull_request"],
    ),
    ("artifact_created", &["produced", "head_seen", "head"]),
    ("gate_invalidated", &["comment_changed", "unbound"]),
    ("command_run", &["written", "pressed", "own"]),
    ("escalated", &["pull_request", "local_loop"]),
    ("resumed", &["recovered", "pull_request", "local_loop"]),
    (
        "stopped",
        &["pull_request", "short_of_passing", "by_person"],
    ),
    ("failed", &["pull_request", "aborted", "broken"]),
    ("completed", &["pull_request", "local_loop"]),
];

/// Reads an event that any version wrote.
fn of_any_version<'de, D: Deserializer<'de>>(fields: D) -> Result<Event, D::Error> {
    let written = Value::deserialize(fields)?;
    let event = Event::deserialize(&written).map_err(de::Error::custom)?;
    let Event::Other {
        event: name,
        payload,
    } = &event
    else {
        return Ok(event);
    };
    let row = KINDS
        .iter()
        .find(|(of, _)| of == name && !payload.contains_key("kind"));
    let mut of_kinds = row
        .into_iter()
        .flat_map(|(_, kinds)| *kinds)
        .filter_map(|kind| {
            let mut written = written.clone();
            written["payload"]["kind"] = (*kind).into();
            Event::deserialize(written)
                .ok()
                .filter(|event| !matches!(event, Event::Other { .. }))
        });
    Ok(of_kinds.next().unwrap_or(event))
}
