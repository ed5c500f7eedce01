//! Everything that is shown, before it becomes text.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::{Deserialize, Serialize};

use super::{Compare, DistanceToSuccess, Evaluation};
use crate::{
    escalation::{EscalationAction, Trigger},
    evidence::{ChangedCoverage, CheckEvidence, CheckKind, Failure},
    failure::{Blame, RootCauseCategory},
    fix_request::FixTurn,
    gate::{Considered, GateReport},
    ids::{CheckName, GateName, Login, Score, Sha, Timestamp},
    policy::{ConfigError, Phase, PolicyOrigin, Recipient},
    rerun::{NextRerun, Rerun},
    snapshot::{ForgedCheck, ObservationProblem},
    stage::Stage,
    state::{Answer, Asked, AttemptDigest, CapabilityProgress, LostRecord, Skip},
    tamper::Tampering,
};

/// Everything a reader may be shown of the loop, in the order it matters.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    pub origin: PolicyOrigin,
    /// The furthest stage, gates heeded.
    pub stage: Stage,
    /// The furthest stage, gates ignored.
    pub evidence_stage: Stage,
    /// What stops the stage walk at `stage`.
    pub held_by: Option<Hold>,
    /// What stops the evidence walk.
    pub evidence_held_by: Option<Hold>,
    /// The attempt the head is (counts from 1).
    pub attempt: u32,
    pub max_attempts: u32,
    pub evaluation: Evaluation,
    pub checks: Vec<CheckView>,
    pub gates: Vec<GateReport>,
    /// Words about approving that name no gate, while some gate waits for one.
    pub strays: Vec<Considered>,
    pub capabilities: CapabilityProgress,
    /// Failures of the head, the most telling first.
    pub failures: Vec<FailureView>,
    pub feedback: Vec<FeedbackLine>,
    /// The fixer elsewhere whose turn it is, if one is asked.
    pub fixing: Option<FixTurn>,
    pub compare: Option<Compare>,
    pub coverage: Option<ChangedCoverage>,
    /// Present while a human is called.
    pub escalation: Option<EscalationView>,
    /// Mandatory when the run stopped at its limit.
    pub distance: Option<DistanceToSuccess>,
    pub skips: Vec<Skip>,
    /// What was asked for again on this head.
    pub reruns: Vec<Rerun>,
    /// The repetition that comes by itself.
    pub next_rerun: Option<NextRerun>,
    /// Causes that are only flagged, each with what was recognised: the loop goes on.
    pub flags: BTreeMap<Trigger, String>,
    /// How the change weakens what checks it.
    pub tampering: Vec<Tampering>,
    /// Commands answered on this head.
    pub replies: Vec<CommandReply>,
    pub warnings: Vec<Warning>,
    pub bypassed: Vec<String>,
}

/// What a walk stops at.
#[derive(Clone, Debug, PartialEq)]
pub enum Hold {
    /// These checks have no evidence yet.
    MissingEvidence(Vec<CheckName>),
    Failing(Vec<CheckName>),
    /// The evaluation of this phase has not passed.
    Evaluation(Phase),
    Gate(GateName),
    Capability(String),
    Draft,
    Review {
        have: u32,
        need: u32,
    },
    /// Somebody asked for changes.
    ChangesRequested(Login),
    Merge,
    /// The configuration could not be read at all.
    Configuration,
}

/// One check as shown.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckView {
    pub name: CheckName,
    pub kind: CheckKind,
    pub standing: CheckStanding,
    pub blame: Option<Blame>,
}

/// Where a check of the head commit stands.
#[derive(Clone, Debug, PartialEq)]
pub enum CheckStanding {
    /// Nothing is known of it yet.
    Missing,
    Running {
        url: Option<String>,
    },
    Done(Box<CheckEvidence>),
    /// No evidence came within the time allowed.
    TimedOutWaiting,
    /// Skipped by a person, with a reason.
    Skipped {
        by: Login,
        reason: String,
    },
    /// An artifact was there and refused.
    Refused {
        reason: String,
    },
    /// GitHub could not start the workflow: no code was run.
    NotStarted {
        url: Option<String>,
        /// Workflow files that the change edits: an invalid one cannot start.
        edited_workflows: Vec<String>,
    },
}

/// One failure with its analysis.
#[derive(Clone, Debug, PartialEq)]
pub struct FailureView {
    pub check: CheckName,
    pub failure: Failure,
    pub blame: Blame,
    /// 0–1; 0.5 where nothing is known of the base.
    pub blame_confidence: f64,
    pub root_cause: String,
    pub category: RootCauseCategory,
    pub fix_strategy: String,
    /// 0–1.
    pub confidence: f64,
    pub patterns_matched: Vec<String>,
    /// Names of failures with the same root cause.
    pub related: Vec<String>,
}

/// One item of feedback: where, what, do what, why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedbackLine {
    /// `file:line`, or the check's name where no place is known.
    pub location: String,
    pub problem: String,
    pub action: String,
    pub reason: String,
    /// The smallest command that reproduces it.
    pub reproduce: Option<String>,
}

/// The item as one line of a summary.
impl fmt::Display for FeedbackLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ended = |text: &str| if text.ends_with(['.', '!', '?', '…', ':']) { "" } else { "." };
        let Self { location, problem, action, reason, .. } = self;
        write!(
            f,
            "{location}: {problem}{} Fix: {action}{} Why: {reason}{}",
            ended(problem),
            ended(action),
            ended(reason)
        )
    }
}

/// A human is called: everything the report needs beside the view.
#[derive(Clone, Debug, PartialEq)]
pub struct EscalationView {
    pub trigger: Trigger,
    pub also: Vec<Trigger>,
    pub action: EscalationAction,
    pub since: Timestamp,
    /// The attempt it was raised at.
    pub attempt: u32,
    /// What was recognised in the run of failures: "the same failure in 3 attempts: unit (…)".
    pub pattern: String,
    pub question: Question,
    pub recipients: BTreeSet<Recipient>,
    /// Every attempt, oldest first.
    pub history: Vec<AttemptDigest>,
    pub best: Option<(u32, Sha, Score)>,
}

/// One specific decision to take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub text: String,
    pub options: Vec<String>,
}

/// The answer to one command in a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandReply {
    pub source: Asked,
    pub answer: Answer,
}

/// Something people must know although it decides nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// No check of this kind is configured although every loop should have one.
    NoCheckOfKind(CheckKind),
    NotObserved(ObservationProblem),
    /// The repository's file says something that the organisation has locked: it has no effect.
    Overruled(ConfigError),
    Forged(ForgedCheck),
    EvidenceRefused {
        artifact: String,
        reason: String,
    },
    /// There was a record before this run, and it is gone.
    RecordLost(LostRecord),
    /// A counted comment's body changed.
    TamperedComment {
        by: Login,
        url: String,
    },
}
