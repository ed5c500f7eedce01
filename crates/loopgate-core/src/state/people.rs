//! What people wrote to a run, and its effect: gates, skips, blocks, resumes, answers, and failures of which somebody
//! said that they are not theirs to mend.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    ids::{
        CheckName, CheckRunId, CommentId, FailureId, GateName, Login, ReviewId, Sha, TeamSlug,
        Timestamp, UserId,
    },
    memory::{Settlement, ShownFix},
    policy::Trigger,
};

/// What people decided and asked for, what was answered, and whether one is called.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct People {
    /// The cause that called a human, while it stands.
    pub blocked: Option<Blocked>,
    /// Causes that went away by themselves, each with the attempt it called a human at. One that comes back calls
    /// again.
    pub past_causes: Vec<(Trigger, u32)>,
    /// Where streaks were started anew by `/loop resume`.
    pub resumes: Vec<Resume>,
    pub skips: Vec<Skip>,
    /// Checks that a person let go although nothing shows that they ran, oldest first.
    pub releases: Vec<Release>,
    /// Causes released by a person, such as `tampering`.
    pub accepted: BTreeSet<Trigger>,
    /// Comments and reviews whose commands were carried out or refused, with what was answered: never twice.
    pub answered: Vec<Answered>,
    /// Comments and reviews with words for us that an event reports as edited: the API may not show it.
    pub edited_words: BTreeSet<WordSource>,
    /// Those of them that somebody else edited.
    pub edited_by_others: BTreeSet<WordSource>,
    /// Fields of newer writers.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl People {
    /// Who took responsibility for what weakens the checks: the person, and a clause for each.
    pub fn accepted_by(&self) -> impl Iterator<Item = (&Login, &str)> {
        self.resumes.iter().flat_map(|resume| {
            resume
                .accepted
                .iter()
                .map(move |what| (&resume.by, what.as_str()))
        })
    }
}

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
#[serde(default, rename_all = "camelCase")]
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
    pub round: u32,
    /// Reviewers Loopgate asked for on behalf of this gate, to be withdrawn with it.
    pub reviewers: BTreeSet<Reviewer>,
    /// Comments that counted, with the SHA-256 of their body when they did: a later difference is tampering.
    pub counted: BTreeMap<CommentId, String>,
    /// Since when its approvers could decide: none while it is not asked for, and on a draft.
    pub waiting_since: Option<Timestamp>,
    pub reminded_at: Option<Timestamp>,
    /// Counted comments that somebody else changed, as far as that is in the history.
    pub tampered: BTreeSet<CommentId>,
    /// Who did, if an event or the API names them.
    pub tamperers: BTreeMap<CommentId, Login>,
    /// Labels that opened it.
    pub labels: BTreeSet<String>,
    /// Rejections that stood when it was last looked at. They can only keep the gate closed.
    pub objections: Vec<Objection>,
    /// Approvals that were taken back, the newest of each person.
    pub revocations: Vec<Revocation>,
    pub ticks: Option<Ticks>,
}

/// A user or a team that GitHub can request a review from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Reviewer {
    User(Login),
    Team(TeamSlug),
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
    #[serde(default = "once")]
    pub call: u32,
    pub head_sha: Sha,
    pub since: Timestamp,
}

const fn once() -> u32 {
    1
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
    /// A comment or a review.
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
        found: Option<Vec<ShownFix>>,
    },
    /// The lines quoted of jobs' output are shown no more, on the head that the answer is given on.
    ExcerptForgotten,
    /// Looked at everything again, now: nothing was missing or failing.
    LookedAgain,
    /// GitHub was asked to run what brings these checks again.
    RunAgain { checks: BTreeSet<CheckName> },
    /// They are running, or were asked for a moment ago.
    Underway { checks: BTreeSet<CheckName> },
    /// Nothing on the head brings these checks that could be run again.
    NothingToRun { checks: BTreeSet<CheckName> },
    /// The run goes on.
    Resumed,
    /// The run was stopped.
    Stopped,
    /// The check counts as skipped.
    Skipped { check: CheckName },
    /// The failure is disputed from now on.
    Disputed { failure: FailureId },
    /// The dispute about the failure is settled.
    Settled {
        failure: FailureId,
        outcome: Settlement,
    },
    /// Nothing was carried out.
    Refused(CommandRefusal),
}

/// Why a command was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandRefusal {
    /// The command asks for permission write.
    NeedsWrite,
    /// The author of the pull request, or somebody with write.
    NeedsAuthorOrWrite,
    /// An approver of the gate that the cause belongs to, or a maintainer; not an account that wrote the code.
    NeedsApproverOf { gate: GateName },
    /// An account that wrote the code does not skip its checks, nor accept weakened tests.
    OwnWork,
    /// Their rights could not be looked up.
    RightsUnknown,
    /// The comment was edited: whose words it holds is not known.
    Edited,
    /// Nothing blocks the run.
    NothingToResume,
    /// A button cannot say why; the command can.
    NeedsReason { check: CheckName },
    /// The cause is released only with `--accept`.
    NeedsAccept { cause: Trigger },
    /// The configuration has no such check.
    UnknownCheck {
        check: CheckName,
        nearest: Option<CheckName>,
    },
    /// `build` and `test` are not skipped here.
    NeverSkipped { check: CheckName },
    /// The head has no failure of this id.
    NoSuchFailure { failure: FailureId },
    /// It is disputed, and was not settled yet.
    DisputedAlready { failure: FailureId },
    /// That dispute was settled before.
    SettledBefore {
        failure: FailureId,
        outcome: Settlement,
        by: Login,
    },
    /// There is no dispute, or not that one.
    NothingToSettle,
    /// Several are disputed: which?
    WhichFailure { failures: Vec<FailureId> },
    /// Only a person who was called, or a maintainer, settles it, and not for their own work.
    NeedsSettler { failure: FailureId },
    /// What blocks is a dispute, and only settling it helps.
    NeedsSettling { failure: FailureId },
    /// There is no such command.
    UnknownCommand {
        typed: String,
        nearest: Option<String>,
    },
    /// The arguments are not what the command takes.
    Usage { usage: String },
}

words! {
    /// The status of a gate, as the state keeps it.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// One dispute. It is open until a person settles it, or a push ends what it is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Dispute {
    pub failure: FailureId,
    pub kind: DisputeKind,
    /// At most 500 characters.
    pub reason: String,
    pub by: Login,
    pub by_id: UserId,
    pub at: Timestamp,
    pub source: DisputeSource,
    pub check: CheckName,
    pub test: Option<String>,
    /// The test's file, as it was reported.
    pub file: Option<String>,
    /// The head that failed so.
    pub head_sha: Sha,
    /// Digest of what the pull request changes in that file; empty where it leaves it alone.
    #[serde(default)]
    pub test_diff: String,
    pub end: Option<DisputeEnd>,
}

impl Dispute {
    pub const fn is_open(&self) -> bool {
        self.end.is_none()
    }
}

/// Where it was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DisputeSource {
    Words(WordSource),
    /// The message of a commit, in its trailer `Loopgate-Dispute`.
    Commit(Sha),
    /// A local loop: its fixer's answer, or the command line.
    LocalLoop,
}

words! {
    /// Why the fixer is not to mend a failure.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum DisputeKind {
        /// The code is right, and the test asks for something else.
        #[default]
        TestWrong = "test_wrong",
        RequirementUnclear = "requirement_unclear",
        /// What is asked for cannot be had.
        Impossible = "impossible",
        /// The change has nothing to do with it.
        NotMine = "not_mine",
        Environment = "environment",
    }
}

/// How a dispute ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DisputeEnd {
    /// A person settled it.
    Settled {
        outcome: Settlement,
        by: Login,
        by_id: UserId,
        at: Timestamp,
    },
    /// A push mended the failure and left the test as it was.
    Mended { head_sha: Sha },
}
