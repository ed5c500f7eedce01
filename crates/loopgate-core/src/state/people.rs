//! What people wrote to a run, and its effect: gates, skips, blocks, resumes, answers.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    ids::{CheckName, CheckRunId, CommentId, FailureId, GateName, Login, ReviewId, Sha, Timestamp, UserId},
    memory::ToldFix,
    policy::Trigger,
    state::Settlement,
};

/// Checks for which a person took responsibility, although nothing shows that they ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    /// `results_lost`: for the run. `skipped`: on this head.
    pub what: String,
    pub checks: BTreeSet<CheckName>,
    pub head: Sha,
    pub by: Login,
    pub at: Timestamp,
}

/// What is remembered of a gate. Never evidence of an approval: gates are derived anew at each reconcile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GateState {
    pub required: bool,
    pub status: GateStatus,
    pub requested_at: Option<Timestamp>,
    pub approved_by: Option<Vec<Login>>,
    pub approved_at: Option<Timestamp>,
    pub head_sha: Option<Sha>,
    pub fingerprint: Option<String>,
    pub evidence_url: Option<String>,
    pub notes: Option<String>,
    /// How many times it has been requested: an approval that a push invalidated starts a new round.
    #[serde(default)]
    pub round: u32,
    /// Reviewers Loopgate asked for on behalf of this gate, to be withdrawn with it.
    #[serde(default)]
    pub reviewers: Vec<String>,
    /// Comments that counted, with the SHA-256 of their body when they did: a later difference is tampering.
    #[serde(default)]
    pub counted: BTreeMap<CommentId, String>,
    /// Since when its approvers could decide: none while it is not asked for, and on a draft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_since: Option<Timestamp>,
    pub reminded_at: Option<Timestamp>,
    /// Counted comments that somebody else changed, as far as that is in the history.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub tampered: BTreeSet<CommentId>,
    /// Who did, if an event or the API names them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tamperers: BTreeMap<CommentId, Login>,
    /// Labels that opened it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub labels: BTreeSet<String>,
    /// Rejections that stood when it was last looked at. They can only keep the gate closed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objections: Vec<Objection>,
    /// Approvals that were taken back, the newest of each person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub revocations: Vec<Revocation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticks: Option<Ticks>,
}

/// A check skipped by a person with a reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skip {
    pub check: CheckName,
    pub reason: String,
    pub by: Login,
    pub at: Timestamp,
}

/// Why a human was called, while the cause stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Blocked {
    pub trigger: Trigger,
    /// Further triggers that held at the same time.
    #[serde(default)]
    pub also: Vec<Trigger>,
    pub attempt: u32,
    /// How often this cause has called somebody at this attempt, the last time included.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub call: u32,
    pub head_sha: Sha,
    pub since: Timestamp,
}

const fn once() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
const fn is_once(call: &u32) -> bool {
    *call == 1
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resume {
    /// The last attempt made before it: streaks count from the next one.
    pub after_attempt: u32,
    pub by: Login,
    pub by_id: UserId,
    pub at: Timestamp,
    /// The disputed failure whose settling began it; none of `/loop resume`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<FailureId>,
    /// How the change weakens what checks it, where this person took responsibility for that: one clause each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<String>,
}

/// A comment or review whose commands were answered, or a button.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    pub source: Asked,
    pub answers: Vec<Answer>,
}

impl Answered {
    /// Nothing was carried out, since GitHub did not return the rights of the person who asked.
    pub fn waits_for_rights(&self) -> bool {
        let unknown = AnswerOutcome::Refused(CommandRefusal::RightsUnknown);
        self.answers.iter().all(|answer| answer.outcome == unknown)
    }
}

/// Where something was asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Asked {
    InWords(WordSource),
    /// A button under one of our check runs, by its identifier; or its *Re-run*, `rerun`.
    ByButton {
        check_run: CheckRunId,
        button: String,
    },
}

/// What was answered to one command of a comment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    pub by: Login,
    /// The command as understood, `resume`.
    pub verb: String,
    pub outcome: AnswerOutcome,
    /// The head the answer was given on.
    pub head_sha: Sha,
}

/// The result of a command. `render` has the sentence for each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerOutcome {
    /// The status comment shows what was asked for.
    Shown,
    /// The debug memory was searched; none until it could be read.
    Searched {
        words: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        found: Option<Vec<ToldFix>>,
    },
    /// The lines quoted of jobs' output are shown no more, on the head that the answer is given on.
    ExcerptForgotten,
    /// Looked at everything again, now: nothing was missing or failing.
    LookedAgain,
    /// GitHub was asked to run what brings these checks again.
    RunAgain {
        checks: BTreeSet<CheckName>,
    },
    /// They are running, or were asked for a moment ago.
    Underway {
        checks: BTreeSet<CheckName>,
    },
    /// Nothing on the head brings these checks that could be run again.
    NothingToRun {
        checks: BTreeSet<CheckName>,
    },
    Resumed,
    Stopped,
    Skipped {
        check: CheckName,
    },
    Disputed {
        failure: FailureId,
    },
    Settled {
        failure: FailureId,
        outcome: Settlement,
    },
    Refused(CommandRefusal),
}

/// Why a command was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandRefusal {
    NeedsWrite,
    /// The author of the pull request, or somebody with write.
    NeedsAuthorOrWrite,
    /// An approver of the gate that the cause belongs to, or a maintainer; not an account that wrote the code.
    NeedsApproverOf {
        gate: GateName,
    },
    /// An account that wrote the code does not skip its checks, nor accept weakened tests.
    OwnWork,
    /// Their rights could not be looked up.
    RightsUnknown,
    /// The comment was edited: whose words it holds is not known.
    Edited,
    NothingToResume,
    /// A button cannot say why; the command can.
    NeedsReason {
        check: CheckName,
    },
    /// The cause is released only with `--accept`.
    NeedsAccept {
        cause: Trigger,
    },
    UnknownCheck {
        check: CheckName,
        nearest: Option<CheckName>,
    },
    /// `build` and `test` are not skipped here.
    NeverSkipped {
        check: CheckName,
    },
    /// The head has no failure of this id.
    NoSuchFailure {
        failure: FailureId,
    },
    /// It is disputed, and was not settled yet.
    DisputedAlready {
        failure: FailureId,
    },
    /// The same was settled before.
    SettledBefore {
        failure: FailureId,
        outcome: Settlement,
        by: Login,
    },
    /// There is no dispute, or not that one.
    NothingToSettle,
    /// Several are disputed: which?
    WhichFailure {
        failures: Vec<FailureId>,
    },
    /// Only a person who was called, or a maintainer, settles it, and not for their own work.
    NeedsSettler {
        failure: FailureId,
    },
    /// What blocks is a dispute, and only settling it helps.
    NeedsSettling {
        failure: FailureId,
    },
    UnknownCommand {
        typed: String,
        nearest: Option<String>,
    },
    Usage {
        usage: String,
    },
}

words! {
    /// The status of a gate, as the state keeps it.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum GateStatus {
        /// Triggered, not asked for yet (`request: after_checks`).
        #[default]
        Pending = "pending",
        NotApplicable = "not_applicable",
        Requested = "requested",
        Approved = "approved",
        Rejected = "rejected",
    }
}

/// A rejection that stands until the same person approves or revokes, or a maintainer dismisses it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Objection {
    pub by: Login,
    pub by_id: UserId,
    pub at: Timestamp,
    pub source: WordSource,
    pub words: String,
    pub url: String,
}

/// An approver took their approval back: what they approved before that stays taken back, whatever becomes of the
/// comment that says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Revocation {
    pub by_id: UserId,
    pub at: Timestamp,
    pub source: WordSource,
    /// There was something to take back.
    pub took_back: bool,
}

/// What approvers ticked of a gate's checklist. What others tick counts for nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ticks {
    /// The request that holds it.
    pub comment: CommentId,
    pub boxes: BTreeSet<String>,
}

/// A time in which the pull request was closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClosedPeriod {
    pub from: Timestamp,
    /// None while it is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Timestamp>,
}

/// Where a word was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WordSource {
    Comment(CommentId),
    Review(ReviewId),
    /// On a line of the diff; these ids are counted apart from those of comments.
    Inline(CommentId),
}
