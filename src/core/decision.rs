//! What [`decide`](crate::core::decide) says: the next action, the next state, what happened, what people should see.
//!
//! A decision is data. [`render`](crate::render) turns it into text, [`refs`](crate::refs) saves its state, and
//! [`github::act`](crate::github) makes the pull request look like its [`Surface`]; none of them decides anything.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::{Deserialize, Serialize};

use super::{
    escalation::{EscalationAction, Trigger},
    evidence::{ChangedCoverage, CheckEvidence, CheckKind, Failure},
    failure::{Blame, RootCauseCategory},
    fix_request::{FixRequest, FixTurn, Whom},
    gate::{Considered, GateReport, WordSource},
    history::HistoryLine,
    ids::{CheckName, CommentId, GateName, Login, RuleId, Score, Sha, TeamSlug, Timestamp},
    policy::{Channel, ConfigError, Phase, PolicyOrigin, Recipient, Severity},
    rerun::{Ask, NextRerun, Rerun},
    snapshot::{Conclusion, ForgedCheck, ObservationProblem},
    stage::Stage,
    state::{Answer, Asked, AttemptDigest, CapabilityProgress, LoopState, LostRecord, Skip, StopReason},
    tamper::Tampering,
};

/// The outcome of one reconcile.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    pub action: NextAction,
    /// The state to save.
    pub next: LoopState,
    /// Lines to append to the history.
    pub events: Vec<HistoryLine>,
    /// The attempt to write to `attempts/NNN.json`, when one was counted or its evidence replaced.
    pub attempt: Option<AttemptRecord>,
    /// Everything that is shown, before it becomes text.
    pub view: View,
    /// How the pull request should look.
    pub surface: Surface,
    /// The next moment at which time alone changes the decision (a timeout, a reminder).
    pub revisit_at: Option<Timestamp>,
}

/// What happens next, and who acts.
#[derive(Clone, Debug, PartialEq)]
pub enum NextAction {
    /// Merged.
    Complete,
    /// Closed unmerged.
    Stopped,
    /// Blocked, and the cause still stands.
    WaitForHuman {
        cause: Trigger,
    },
    WaitForApproval {
        gate: GateName,
    },
    WaitForEvidence {
        missing: Vec<CheckName>,
    },
    /// The author (or fixer) mends the head and pushes.
    Retry {
        attempt: u32,
    },
    /// A human is called now.
    Escalate {
        cause: Trigger,
    },
    /// More capabilities are to come.
    WaitForPush {
        capability: String,
    },
    WaitForReady,
    WaitForReview,
    WaitForMerge,
}

impl NextAction {
    /// The four words scripts see (loop.md, What next?).
    pub const fn word(&self) -> DecisionWord {
        match self {
            Self::Retry { .. } => DecisionWord::Retry,
            Self::Escalate { .. } | Self::WaitForHuman { .. } => DecisionWord::Escalate,
            Self::Complete | Self::WaitForMerge => DecisionWord::Proceed,
            Self::Stopped
            | Self::WaitForApproval { .. }
            | Self::WaitForEvidence { .. }
            | Self::WaitForPush { .. }
            | Self::WaitForReady
            | Self::WaitForReview => DecisionWord::Wait,
        }
    }
}

/// The four words every action folds into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionWord {
    Proceed,
    Retry,
    Escalate,
    Wait,
}

impl DecisionWord {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Proceed => "proceed",
            Self::Retry => "retry",
            Self::Escalate => "escalate",
            Self::Wait => "wait",
        }
    }
}

/// The whole record of an attempt, as written to `attempts/NNN.json` beside the digest of its evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptRecord {
    pub digest: AttemptDigest,
    pub decision: DecisionWord,
    pub checks: Vec<CheckEvidence>,
    pub coverage: Option<ChangedCoverage>,
    pub compare: Compare,
    pub analysis: Vec<FailureView>,
    pub feedback: Vec<FeedbackLine>,
}

/// Set algebra against the previous attempt and the base, in names of tests (else of checks).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compare {
    pub new: BTreeSet<String>,
    pub still: BTreeSet<String>,
    pub fixed: BTreeSet<String>,
    pub flaky: BTreeSet<String>,
    pub added: BTreeSet<String>,
    pub removed: BTreeSet<String>,
    #[serde(default)]
    pub against: Against,
}

/// What an attempt is compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Against {
    #[default]
    AttemptBefore,
    /// The first attempt has none before it.
    Base,
}

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

/// The outcome of evaluating the rules on one head.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    pub phase: Phase,
    pub score: Score,
    pub threshold: Score,
    pub verdict: EvaluationVerdict,
    /// Active rules with their outcome, in their order.
    pub rules: Vec<RuleView>,
    /// 0.3 × test pass rate + 0.7 × score, as `progress.weight` says.
    pub progress: Score,
}

impl Evaluation {
    pub fn passed(&self) -> bool {
        matches!(self.verdict, EvaluationVerdict::Passed(_))
    }

    /// Ids of the active rules that failed with severity fail or warn.
    pub fn failed_rules(&self) -> Vec<RuleId> {
        self.failed(Severity::Fail)
    }

    pub fn warnings(&self) -> Vec<RuleId> {
        self.failed(Severity::Warn)
    }

    fn failed(&self, severity: Severity) -> Vec<RuleId> {
        let failed = |rule: &&RuleView| rule.severity == severity && matches!(rule.outcome, RuleOutcome::Failed { .. });
        self.rules.iter().filter(failed).map(|rule| rule.id.clone()).collect()
    }
}

/// How an evaluation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvaluationVerdict {
    /// Some evidence is still missing.
    Undecided,
    Passed(StopReason),
    Failed,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RuleView {
    pub id: RuleId,
    pub description: String,
    pub severity: Severity,
    pub weight: f64,
    pub phase: Phase,
    pub outcome: RuleOutcome,
}

#[derive(Clone, Debug, PartialEq)]
pub enum RuleOutcome {
    Passed,
    Failed {
        /// One line: what to do about it.
        fix: String,
    },
    /// What it looks at is not known yet, or does not exist here: it has no weight.
    Unknown,
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

/// How far a run that stopped is from passing (loop.md).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DistanceToSuccess {
    pub threshold: Score,
    pub score: Score,
    pub gap: Score,
    pub failed_fail_rules: usize,
    pub blocking_rule_ids: Vec<RuleId>,
    pub passed_rules: usize,
    pub total_rules: usize,
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

/// How the pull request should look. [`github::act`](crate::github) applies the difference to what was observed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surface {
    /// Labels Loopgate owns: wanted, or to be taken away if present. Others are never touched.
    pub labels: BTreeMap<String, LabelWish>,
    pub request: BTreeSet<Reviewer>,
    /// Only reviewers Loopgate had asked for.
    pub withdraw: BTreeSet<Reviewer>,
    /// None: nothing is written (closed unmerged).
    pub verify: Option<CheckRunPlan>,
    pub gates: Option<CheckRunPlan>,
    pub status_comment: StatusCommentWish,
    pub posts: Vec<Post>,
    pub reactions: BTreeMap<Reacted, ReactionKind>,
    /// Channels that an escalation is said on beside the comment, with the key of its post.
    pub announce: BTreeMap<Channel, String>,
    /// What GitHub is to be asked to run again.
    pub reruns: BTreeSet<Ask>,
    /// The fixer that is to be asked; its post is among `posts`.
    pub fix: Option<FixRequest>,
    /// The head branch, once it is merged and is to go.
    pub delete_branch: Option<MergedBranch>,
}

/// A branch that was merged and is no longer needed, if it still points at what was merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedBranch {
    pub name: String,
    pub sha: Sha,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LabelWish {
    /// Colour is six hex digits without `#`.
    Present {
        color: String,
        description: String,
    },
    Absent,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reviewer {
    User(Login),
    Team(TeamSlug),
}

/// State of one of our check runs; its text is rendered from the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckRunPlan {
    InProgress,
    Completed(Conclusion),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatusCommentWish {
    #[default]
    Leave,
    Upsert,
}

/// A comment that must notify: posted once, found again by its marker.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Post {
    GateRequest {
        gate: GateName,
        round: u32,
    },
    /// To the approvers of a gate that has waited too long.
    GateReminder {
        gate: GateName,
        round: u32,
    },
    Escalation {
        trigger: Trigger,
        attempt: u32,
        /// Counts from 1: the same cause at the same attempt may go away by itself and come back.
        call: u32,
    },
    MergedOverOpenGates,
    /// A fixer that works elsewhere is asked to mend this attempt.
    FixRequest {
        whom: Whom,
        attempt: u32,
    },
}

impl Post {
    /// The text of the hidden idempotency marker, unique per pull request and cause.
    pub fn key(&self) -> String {
        match self {
            Self::GateRequest { gate, round } => format!("gate:{gate}:{round}"),
            Self::GateReminder { gate, round } => format!("gate-reminder:{gate}:{round}"),
            Self::Escalation { trigger, attempt, call: 1 } => format!("escalation:{}:{attempt}", trigger.as_str()),
            Self::Escalation { trigger, attempt, call } => format!("escalation:{}:{attempt}:{call}", trigger.as_str()),
            Self::MergedOverOpenGates => "bypassed".to_owned(),
            Self::FixRequest { whom: Whom::Fixer, attempt } => format!("fix:{attempt}"),
            Self::FixRequest { whom: Whom::Senior, attempt } => format!("fix-senior:{attempt}"),
        }
    }

    /// The newest attempt that had failed when a post with this key was made; none where the key tells of no attempt.
    pub fn attempt_failed(key: &str) -> Option<u32> {
        let mut parts = key.split(':');
        match parts.next()? {
            "escalation" => {
                let trigger = parts.next()?;
                let attempt: u32 = parts.next()?.parse().ok()?;
                // These two come while an attempt's evidence or approval is waited for.
                let waits = [Trigger::ExternalDependencyDown, Trigger::GateTimeout].map(Trigger::as_str);
                Some(if waits.contains(&trigger) { attempt.saturating_sub(1) } else { attempt })
            }
            "fix" | "fix-senior" => parts.next()?.parse().ok(),
            _ => None,
        }
    }
}

/// What bears a reaction. The ids of the two are counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reacted {
    Comment(CommentId),
    /// On a line of the diff.
    Inline(CommentId),
}

impl Reacted {
    /// Where a word was written; none for reviews, which GitHub lets nobody react to.
    pub const fn at(source: WordSource) -> Option<Self> {
        match source {
            WordSource::Comment(id) => Some(Self::Comment(id)),
            WordSource::Inline(id) => Some(Self::Inline(id)),
            WordSource::Review(_) => None,
        }
    }
}

/// Reactions on commands and approvals (github.md): seen, done, not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ReactionKind {
    #[serde(rename = "eyes")]
    Seen,
    #[serde(rename = "+1")]
    Done,
    #[serde(rename = "confused")]
    NotAccepted,
}

impl ReactionKind {
    /// GitHub's word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Seen => "eyes",
            Self::Done => "+1",
            Self::NotAccepted => "confused",
        }
    }
}
