//! What [`decide`](crate::decide) says: the next action, the next state, what happened, what people should see.
//!
//! A decision is data. `render` turns it into text, `refs` saves its state, and
//! `github::act` makes the pull request look like its [`Surface`]; none of them decides anything.

mod evaluation;
mod post;
mod provenance;
mod surface;
mod view;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use self::{
    evaluation::{DistanceToSuccess, Evaluation, EvaluationVerdict, RuleOutcome, RuleView},
    post::Post,
    provenance::Provenance,
    surface::{CheckRunPlan, LabelWish, MergedBranch, Reacted, ReactionKind, Reviewer, StatusCommentWish, Surface},
    view::{
        CheckStanding, CheckView, CommandReply, EscalationView, FailureView, FeedbackLine, Hold, Question, View,
        Warning,
    },
};
use super::{
    escalation::Trigger,
    evidence::{ChangedCoverage, CheckEvidence},
    history::HistoryLine,
    ids::{CheckName, GateName, Timestamp},
    state::{AttemptDigest, LoopState},
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
    pub provenance: Provenance,
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
