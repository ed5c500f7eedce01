//! Everything that is shown, before it becomes text.

use std::collections::BTreeMap;

use crate::{
    attempts::{Cause, rerun::NextRerun},
    escalation::{EscalationView, fix_request::FixTurn},
    evidence::{ChangedCoverage, CheckKind, Compare, RepeatedTest},
    failure::Blame,
    gate::{Considered, GateReport},
    ids::{CheckName, Login, PrNumber},
    observed::{ForgedCheck, ObservationProblem},
    policy::{ConfigError, PolicyOrigin, Trigger},
    stage::Stage,
    stages::Blocker,
    state::{Answer, Asked, CapabilityProgress, LostRecord, Rerun, Skip},
    verdict::{
        CheckStanding, DistanceToSuccess, Evaluation, FailureView, FeedbackFact, LeftQueue, gather::OnBase,
        tamper::Tampering,
    },
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
    pub held_by: Option<Blocker>,
    /// What stops the evidence walk.
    pub evidence_held_by: Option<Blocker>,
    /// The attempt the head is (counts from 1).
    pub attempt: u32,
    pub max_attempts: u32,
    pub evaluation: Evaluation,
    pub checks: Vec<CheckView>,
    pub gates: Vec<GateReport>,
    /// Words about approving that name no gate, while some gate waits for one.
    pub unmatched: Vec<Considered>,
    pub capabilities: CapabilityProgress,
    /// Failures of the head, the most telling first.
    pub failures: Vec<FailureView>,
    pub feedback: Vec<FeedbackFact>,
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
    pub flags: BTreeMap<Trigger, Cause>,
    /// How the change weakens what checks it.
    pub tampering: Vec<Tampering>,
    /// Commands answered on this head.
    pub replies: Vec<CommandReply>,
    pub warnings: Vec<Warning>,
    pub bypassed: Vec<String>,
}

/// One check as shown.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckView {
    pub name: CheckName,
    pub kind: CheckKind,
    pub standing: CheckStanding,
    /// Whether its failure is held against the head.
    pub baseline: OnBase,
    pub blame: Option<Blame>,
}

/// The answer to one command in a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandReply {
    pub source: Asked,
    pub answer: Answer,
}

/// Something people must know although it decides nothing.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Warning {
    /// No check of this kind is configured although every loop should have one.
    NoCheckOfKind(CheckKind),
    /// A test check that is not in the configuration passed without running a test.
    NoTests(CheckName),
    /// The jobs that a followed check takes come from several Apps, of which its configuration names none.
    SeveralApps {
        check: CheckName,
        /// A job of each App, at most 5; a commit status has no App.
        jobs: Vec<(String, Option<String>)>,
    },
    /// A test that the change adds passed and failed on the same code.
    FlakyNewTest(RepeatedTest),
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
    /// The same head into the same base is judged on another pull request.
    JudgedOn(PrNumber),
    /// It left the merge queue without being merged.
    LeftQueue(LeftQueue),
    /// The checks bear the branch's own name, since people can make branches of the pattern it matches.
    OpenPattern {
        pattern: String,
        branch: String,
    },
    /// A counted comment's body changed.
    TamperedComment {
        by: Login,
        /// `None` if neither an event nor the API names the editor.
        changed_by: Option<Login>,
        url: String,
    },
}
