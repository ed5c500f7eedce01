//! One gate as configured: what opens it, what it holds, who may approve, and how.

use std::collections::BTreeSet;

use chrono::TimeDelta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    evidence::FindingSeverity,
    ids::{Login, PatternName, RepoName, TeamSlug, TemplateName},
    observed::Permission,
    policy::{ChosenRules, NameGlob, PathGlobs, Pattern},
    stage::Stage,
};

/// A gate as it governs a pull request.
#[derive(Clone, Debug, PartialEq)]
pub struct GatePolicy {
    /// The configuration adjusts this preset, or the gate is its own: it decides whether the gate holds in each
    /// [`Mode`](crate::policy::Mode).
    pub is_configured: bool,
    /// What Loopgate says of the gate, if it is a preset.
    pub preset: Option<GatePreset>,
    pub trigger: GateTrigger,
    /// The gate holds the transition out of this stage.
    pub holds: Stage,
    pub approvers: Approvers,
    pub approve_by: ApproveBy,
    pub invalidate_on_push: InvalidateOnPush,
    pub exclusions: Exclusions,
    pub checklist: ChecklistMode,
    pub request: RequestTime,
    /// At most 50 characters, the platform's limit.
    pub label: String,
    /// Pending longer than this reminds the approvers.
    pub remind_after: TimeDelta,
    /// Pending longer than this escalates as `gate_timeout`.
    pub escalate_after: TimeDelta,
}

impl GatePolicy {
    pub fn has_role(&self, role: GateRole) -> bool {
        self.preset
            .as_ref()
            .is_some_and(|preset| preset.role == Some(role))
    }

    /// The team a preset prefers if no approver is named, in the organisation that owns the repository.
    pub fn preset_team(&self, repository: &RepoName) -> Option<TeamSlug> {
        let slug = self.approvers.preset_team.as_ref()?;
        format!("{}/{slug}", repository.owner()).parse().ok()
    }
}

/// What opens a gate.
#[derive(Clone, Debug, PartialEq)]
pub enum GateTrigger {
    /// One of these holds.
    Any(Vec<Self>),
    /// All of these hold.
    All(Vec<Self>),
    /// This does not hold.
    Not(Box<Self>),
    /// Every pull request.
    Always,
    /// Rules of the presets.
    Rules(ChosenRules),
    /// A file is touched, by either name of a rename.
    Paths(PathCondition),
    /// A line is added.
    AddedLines(LineCondition),
    /// A line is taken away.
    RemovedLines(LineCondition),
    /// The pull request carries one of these labels.
    Labels(Vec<String>),
    /// The base branch matches one of these.
    BaseBranch(Vec<NameGlob>),
    /// One of these people opened it.
    Author(Vec<Login>),
    /// A coding agent had a hand in it: one of these accounts, or what `data/coding_agents.txt` says of agents'
    /// commits.
    Agent(BTreeSet<Login>),
    /// More than so many changed lines or files.
    Size {
        lines: Option<u64>,
        files: Option<u64>,
    },
    /// It is a draft.
    Draft,
    /// A finding of at least this severity in the head's evidence.
    Findings(FindingSeverity),
}

impl GateTrigger {
    /// The conditions that it is made of, those inside of `any`, `all` and `not`.
    pub fn conditions(&self) -> Vec<&Self> {
        match self {
            Self::Any(parts) | Self::All(parts) => {
                parts.iter().flat_map(Self::conditions).collect()
            }
            Self::Not(part) => part.conditions(),
            condition => vec![condition],
        }
    }

    /// These conditions, to be changed.
    pub fn conditions_mut(&mut self) -> Vec<&mut Self> {
        match self {
            Self::Any(parts) | Self::All(parts) => {
                parts.iter_mut().flat_map(Self::conditions_mut).collect()
            }
            Self::Not(part) => part.conditions_mut(),
            condition => vec![condition],
        }
    }
}

/// Which touched files open a gate: those that one glob names, and none excludes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathCondition {
    /// What the request calls it.
    pub name: Option<PatternName>,
    pub globs: PathGlobs,
    pub except: PathGlobs,
}

/// Which lines open a gate: those that one pattern matches, in a file that no glob excludes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineCondition {
    pub patterns: Vec<Pattern>,
    pub except: PathGlobs,
}

/// Who may approve.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approvers {
    pub users: BTreeSet<Login>,
    pub teams: BTreeSet<TeamSlug>,
    /// Everybody with at least this permission.
    pub permission: Option<Permission>,
    /// The code owners of the triggering files may approve.
    pub codeowners: bool,
    /// Distinct people needed; 0 and 1 are one.
    pub count: u32,
    /// The team a preset prefers: counts only if it exists and can read the repository. A slug without organisation.
    pub preset_team: Option<String>,
}

/// What counts as an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ApproveBy {
    Comment,
    Review,
    CommentOrReview,
}

/// When a push invalidates approvals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InvalidateOnPush {
    /// When the gate's own diff changed.
    #[default]
    Matching,
    Any,
    Never,
}

/// Who may approve although they are excluded by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exclusions {
    pub allow_author: bool,
    /// Anyone who authored or committed a commit of the pull request.
    pub allow_contributors: bool,
    /// Anyone who co-authored one.
    pub allow_coauthors: bool,
    /// Anyone who pushed to its branch, but merges of the base and rebases.
    pub allow_pusher: bool,
    /// The person who asked a coding agent for the pull request.
    pub allow_requester: bool,
    /// Anyone who merely merged the base into the head is a contributor too (`ignore_update_merges: false`).
    pub count_update_merges: bool,
    pub allow_bots: bool,
}

/// Whether the boxes of the gate's checklist must be ticked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChecklistMode {
    #[default]
    Optional,
    Required,
}

/// When people are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequestTime {
    #[default]
    Immediately,
    /// Once the checks of the transition it holds have passed.
    AfterChecks,
}

/// The part of a preset that no configuration can change: the key `preset` of the gate's file in `config/presets/`. It
/// stays with the gate when a configuration adjusts it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatePreset {
    /// The team that approves if no approver is named, if it exists: a slug without its organisation.
    pub team: String,
    /// The template of the comment that asks for the gate.
    pub template: TemplateName,
    /// How many boxes its checklist has.
    pub boxes: usize,
    /// Where no configuration mentions it, it holds in the mode `hybrid` although its team does not exist here.
    #[serde(default)]
    pub holds_without_team: bool,
    pub role: Option<GateRole>,
    /// It is none of the gates that every repository starts with: a configuration names it.
    #[serde(default)]
    pub only_where_written: bool,
}

impl GatePreset {
    /// How many boxes the checklist of a gate has that is no preset.
    pub const BOXES_OF_OTHERS: usize = 2;
}

/// What else of Loopgate asks for a gate. At most one preset has each role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateRole {
    /// Its approvers decide about security findings, and a change of the files that govern gates opens it.
    Security,
    /// Its approvers let the change be deployed.
    Deploy,
}
