//! The outcome of looking at one gate: where it stands, why it applies, and every word that was considered.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    ids::{CommentId, GateName, Login, PatternName, RepoName, Sha, TeamSlug, Timestamp, UserId},
    observed::{Authority, FilesToRead, Permission, Unusable},
    policy::{GatePolicy, Mode, RuleTier},
    stage::Stage,
    state::{GateStatus, Objection, Revocation, Ticks, WordSource},
};

/// One gate of one pull request at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct GateReport {
    pub name: GateName,
    /// The gate holds the transition out of this stage.
    pub holds: Stage,
    /// It is shown, without standing in the way.
    pub is_advisory: bool,
    /// Where it stands; never pending.
    pub status: GateStatus,
    /// Why it applies, the first 50; empty when it does not.
    pub matches: Vec<TriggerMatch>,
    /// Matches beyond those kept.
    pub matches_not_kept: usize,
    /// What is suspicious and does not open it: one suspect alone.
    pub suspects: Vec<TriggerMatch>,
    /// Files and changed lines that its conditions looked at.
    pub looked_at: (usize, usize),
    /// Digest of the diff that triggers it; empty when it does not apply.
    pub fingerprint: String,
    /// Who can approve, as far as GitHub says.
    pub eligible: EligibleApprovers,
    /// Distinct people needed.
    pub needed: u32,
    /// Approvals that count, whether or not they are enough.
    pub approvals: Vec<Approval>,
    /// Triggering files whose owners have not approved yet, where only their owners can.
    pub awaiting_owners: BTreeSet<String>,
    /// Every approval, rejection, revocation and near miss about this gate, oldest first, with its outcome.
    pub considered: Vec<Considered>,
    /// Approving comments that count or once did, with the SHA-256 of their body then: kept in
    /// [`GateState::counted`](crate::state::GateState) so that a later edit is noticed.
    pub counted: BTreeMap<CommentId, String>,
    /// Objections that stand, kept in [`GateState::objections`](crate::state::GateState) so that deleting or
    /// editing somebody's comment does not lift them.
    pub objections: Vec<Objection>,
    /// Approvals that were taken back, the newest of each person.
    pub revocations: Vec<Revocation>,
    /// What approvers have ticked of the checklist.
    pub ticks: Option<Ticks>,
    /// Whether its request shows other boxes than those, or others as ticked.
    pub request_altered: bool,
    pub label: String,
}

impl GateReport {
    /// Whether it stands in the way now.
    pub fn is_closed(&self) -> bool {
        !self.is_advisory
            && !matches!(
                self.status,
                GateStatus::NotApplicable | GateStatus::Approved
            )
    }

    /// Whether it applies and has no decision yet.
    pub fn is_waiting(&self) -> bool {
        self.status == GateStatus::Requested
    }

    /// The newest objection, where it is rejected.
    pub fn rejection(&self) -> Option<&Objection> {
        self.objections
            .iter()
            .max_by_key(|objection| objection.at)
            .filter(|_| self.status == GateStatus::Rejected)
    }

    /// Labels that open it, kept in [`GateState::labels`](crate::state::GateState): taking such a label away
    /// does not close a gate that was requested because of it.
    pub fn opening_labels(&self) -> BTreeSet<String> {
        let label = |found: &TriggerMatch| match &found.reason {
            MatchReason::Label { label } | MatchReason::LabelRemoved { label } => {
                Some(label.clone())
            }
            _ => None,
        };
        self.matches.iter().filter_map(label).collect()
    }
}

/// Whether a gate is only shown, and does not stand in the way: a preset in `autonomous` mode, or one in `hybrid` mode
/// without approvers.
pub fn is_advisory(
    policy: &GatePolicy,
    mode: Mode,
    repository: &RepoName,
    authority: &Authority,
) -> bool {
    let always = || {
        policy
            .preset
            .as_ref()
            .is_some_and(|preset| preset.holds_without_team)
    };
    // A team that could not be looked up for now may well be there, and its gate holds; one that we may never read is
    // to us one that is not there.
    let has_team = || {
        let standing = policy
            .preset_team(repository)
            .and_then(|team| authority.teams.get(&team));
        matches!(standing, Some(Ok(_) | Err(Unusable::Unknown(_))))
    };
    match mode {
        Mode::Supervised => false,
        Mode::Autonomous => !policy.is_configured,
        Mode::Hybrid => !(policy.is_configured || always() || has_team()),
    }
}

/// One approval that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    pub by: Login,
    pub by_id: UserId,
    pub at: Timestamp,
    /// The head it is bound to.
    pub head: Sha,
    pub source: WordSource,
    pub url: String,
}

/// Why a gate applies, with the place to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriggerMatch {
    /// None for matches about the pull request as a whole (labels, size, base branch).
    pub file: Option<String>,
    /// Line at the head; at the base for a removed line.
    pub line: Option<u32>,
    pub reason: MatchReason,
}

/// What matched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchReason {
    /// The gate applies to every pull request.
    Always,
    /// The path is one that the condition names: by this glob, or by a word in it.
    Path {
        name: Option<PatternName>,
        glob: Option<String>,
    },
    /// An added line matches the pattern of this name; `excerpt` is the line, shortened.
    AddedLine {
        name: Option<PatternName>,
        excerpt: String,
    },
    /// As [`MatchReason::AddedLine`], of a line taken away.
    RemovedLine {
        name: Option<PatternName>,
        excerpt: String,
    },
    /// A rule of a preset finds something.
    Rule {
        id: PatternName,
        /// The preset that the rule belongs to: with the id, its place in `docs/rules.md`.
        preset: GateName,
        /// Its sentence, without the end.
        says: String,
        tier: RuleTier,
        evidence: RuleEvidence,
    },
    /// The patch is missing or unreadable, so it counts as matching.
    Unreadable,
    /// The pull request has the label.
    Label { label: String },
    /// The label that opened it was taken away; the gate had been requested and stays.
    LabelRemoved { label: String },
    /// What the configuration excludes with `not:` is absent.
    NotExcluded,
    /// It is for this branch.
    BaseBranch { branch: String },
    /// Its author is named.
    Author { login: Login },
    /// A coding agent had a hand in it: its account, address or name.
    Agent { name: String },
    /// It changes so many lines and files.
    Size { lines: u64, files: u64 },
    /// It is a draft.
    Draft,
    /// A finding of the evidence is severe enough.
    Finding { rule: String },
    /// The file list is not whole: every content trigger matches.
    TooLarge,
    /// The gate holds at its stage whatever changed (`supervised`).
    Mode,
}

/// What a rule finds, shortened to 160 characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleEvidence {
    /// The path itself.
    Path,
    AddedLine(String),
    RemovedLine(String),
    /// A new dependency, a source of packages, a command that runs at install.
    Named(String),
    NewFolder(String),
}

/// Who can approve a gate here and now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EligibleApprovers {
    /// People known by name, the author and other excluded people left out. Members of teams are not among them.
    pub people: BTreeSet<Login>,
    /// With those of their members who may approve.
    pub teams: BTreeMap<TeamSlug, BTreeSet<Login>>,
    /// "Anybody with at least this permission".
    pub permission: Option<Permission>,
    /// Who has it, where GitHub lists them and they are at most [`MOST_BY_RIGHT`].
    pub by_right: BTreeSet<Login>,
    /// Names of the policy that do not work, and why.
    pub unusable: Vec<UnusableApprover>,
    /// The team a preset prefers, when people with `permission` stand in for it.
    pub absent_preset_team: Option<UnusableApprover>,
    /// Commits whose author GitHub does not know: their contributors cannot be excluded by name.
    pub unattributed: Vec<Sha>,
    /// Nor is it known who pushed those: approvals must name the head.
    pub must_name_head: bool,
    /// Whom the configuration names and who may not approve here, and why.
    pub fell_out: BTreeMap<Login, Refusal>,
    /// The author is excluded, and no other person could ever approve: `allow_author: true` is the way out.
    pub only_hope: bool,
}

/// More people than these are not named: each would think that another one looks.
pub const MOST_BY_RIGHT: usize = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusableApprover {
    pub name: String,
    pub why: Unusable,
}

/// One word about a gate, and its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Considered {
    pub by: Login,
    pub by_id: UserId,
    pub at: Timestamp,
    pub source: WordSource,
    pub url: String,
    pub word: Word,
    /// What a near miss means to say; of other words the word itself.
    pub meant: Word,
    /// Its writer could approve the gate they speak of; where they name none, any gate that waits.
    pub by_approver: bool,
    pub answer: AnswerExtent,
    pub outcome: WordOutcome,
}

impl Considered {
    /// Why it does not count, if it was refused.
    pub const fn refusal(&self) -> Option<&Refusal> {
        match &self.outcome {
            WordOutcome::Refused(refusal) => Some(refusal),
            WordOutcome::Counted | WordOutcome::Superseded => None,
        }
    }
}

/// How much of an answer a word gets that does not count. What counts counts whatever is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerExtent {
    #[default]
    Sentence,
    /// A reaction alone.
    Reaction,
    /// Nothing: its writer was answered often enough.
    Silence,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    Approve,
    Reject,
    Revoke,
    Dismiss,
    /// Talks about approving without being an approval.
    NearMiss,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WordOutcome {
    Counted,
    /// A newer word of the same person, or a dismissal, replaced it.
    Superseded,
    Refused(Refusal),
}

/// Why a word does not count. Every variant becomes a sentence in `render`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// They wrote the pull request. `only_hope`: no other person could approve, so `allow_author` is suggested.
    IsAuthor { only_hope: bool },
    /// They wrote or committed one of its commits.
    IsContributor,
    /// One of its commits names them as co-author.
    IsCoAuthor,
    /// They pushed to its branch.
    IsPusher,
    /// No source names who wrote a commit, nor who pushed it: the words must name the head.
    PusherUnknown,
    /// They asked the coding agent for it that opened it.
    IsRequester,
    /// A bot wrote it.
    IsBot,
    /// Written through an App, so not a person's own word.
    ViaApp,
    /// They may not approve this gate.
    NotAnApprover,
    /// Their rights could not be looked up, so they have none for now.
    AuthorityUnknown { reason: String },
    /// Their account is suspended or removed.
    AccountGone,
    /// The comment was edited after it was written.
    Edited,
    /// An event names an editor who is not its writer.
    EditedByAnother,
    /// The comment is hidden.
    Hidden,
    /// Written while the pull request was closed.
    WhileClosed,
    /// They take back an approval that they never gave.
    NothingToRevoke,
    /// The gate's own diff changed after the head it is bound to.
    DiffChanged { seen: Sha },
    /// It may have changed: `missing` are files that were not read.
    DiffUnread {
        seen: Sha,
        #[serde(skip)]
        missing: FilesToRead,
    },
    /// It was written so soon after the push of `head` that its writer may not have seen it.
    HeadTooYoung { head: Sha },
    /// Another base branch than the pull request has now.
    BaseChanged { seen: String },
    /// Written before anything in the pull request triggered the gate.
    BeforeTrigger { seen: Sha },
    /// An event and the API disagree about the head: looked at again when they agree.
    HeadUnsettled,
    /// Comments, reviews or commits could not all be read, so that an objection or a contributor may be missing.
    NotAllRead { what: String },
    /// It names another commit than the head.
    OtherCommit { named: Sha },
    /// No head is known to have been seen before it was written.
    NoHeadSeenBefore,
    /// The review's commit is gone or not the head.
    ReviewStale { seen: Option<Sha> },
    /// It stands on a line of the diff.
    OnTheDiff,
    /// This gate takes only the other kind of approval.
    WrongChannel { wants_review: bool },
    /// The line is not the approval phrase; the sentence says why and what to write.
    Phrase(PhraseProblem),
    /// So many boxes of the gate's checklist are not ticked.
    ChecklistOpen { open: usize },
    /// The gate's checklist must be ticked and has not been posted.
    ChecklistMissing,
    /// Ending another's rejection takes permission maintain.
    NeedsMaintain,
    /// The person named in a dismissal has no rejection standing.
    NothingToDismiss { of: Login },
    /// The pull request is closed.
    NotOpen,
    /// The gate does not apply to this pull request.
    NotTriggered,
}

words! {
    /// What words stand in that do not count, as it is named to the person: "it stands in …".
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Inside {
        Quote = "a quote",
        EmailReply = "a quoted e-mail",
        Code = "code",
        Suggestion = "a suggestion block",
        Heading = "a heading",
        Table = "a table",
        Strikethrough = "struck-through text",
        Link = "a link",
        Image = "an image's description",
        ClosedDetails = "a closed details block",
        Html = "HTML",
        HtmlComment = "an HTML comment",
        Footnote = "a footnote",
        TaskItem = "a task-list item",
    }
}

/// Why a line that talks about approving is not the phrase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "problem", rename_all = "snake_case")]
pub enum PhraseProblem {
    /// Letters that only look like the phrase's.
    Lookalike,
    /// The id of a commit is not whole.
    ShortSha,
    /// There is no gate of this name.
    UnknownGate {
        named: String,
        nearest: Option<GateName>,
    },
    /// It stands in a quote, code, heading, table, link, strike-through, …
    NotPlainText { inside: Inside },
    /// A verdict without a gate: "approved".
    NoGate,
    /// It names a gate and a verdict, and is not the phrase alone.
    Wording,
    /// It agrees in words or signs that people use for an approval: `LGTM`, `security ok`. Said to approvers only.
    Agreement,
    /// It approves in a review that asks for changes.
    AgainstReview,
    /// A command that lacks what it needs, or has too much; `usage` is its form.
    Usage { usage: String },
    /// There is no command of this name.
    UnknownCommand {
        typed: String,
        nearest: Option<String>,
    },
    /// Longer than GitHub's own limit: not read at all.
    TooLong,
}

impl PhraseProblem {
    /// Whether it is wrong with a command rather than with an approval.
    pub const fn is_of_command(&self) -> bool {
        matches!(self, Self::UnknownCommand { .. } | Self::Usage { .. })
    }
}
