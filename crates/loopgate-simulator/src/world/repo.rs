//! Repositories, with all that lives in one.

use std::collections::BTreeMap;

use super::{
    ArtifactId, RepoId, SuiteId,
    account::Role,
    checks::{CheckRun, CheckSuite, CommitStatus},
    issue::{Comment, Issue, Reaction},
    runs::{Artifact, JobLog, WorkflowRun},
};
use loopgate_core::{
    AppId, CheckRunId, CommentId, PrNumber, Sha, Timestamp, UserId, WorkflowRunId,
};

/// Repositories that share objects: a repository and its forks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network(pub usize);

#[derive(Clone, Debug)]
pub struct Repo {
    pub id: RepoId,
    pub owner: UserId,
    pub name: String,
    /// `owner/name`s it was known by: GitHub redirects them.
    pub former_names: Vec<String>,
    pub visibility: Visibility,
    /// Archived: it is read-only.
    pub is_archived: bool,
    pub network: Network,
    pub fork_of: Option<RepoId>,
    pub default_branch: String,
    /// Full names (`refs/heads/main`) to object ids.
    pub refs: BTreeMap<String, Sha>,
    /// Branches that were renamed: the former name to the name after it. GitHub redirects the former.
    pub renamed_branches: BTreeMap<String, String>,
    /// Moves of branches, oldest first.
    pub activities: Vec<Activity>,
    /// By lower-case name.
    pub labels: BTreeMap<String, Label>,
    pub issues: BTreeMap<PrNumber, Issue>,
    pub stacks: Vec<Stack>,
    pub comments: BTreeMap<CommentId, Comment>,
    pub reactions: BTreeMap<u64, Reaction>,
    pub collaborators: BTreeMap<UserId, Role>,
    /// By branch name.
    pub protections: BTreeMap<String, Protection>,
    pub suites: BTreeMap<SuiteId, CheckSuite>,
    pub check_runs: BTreeMap<CheckRunId, CheckRun>,
    pub statuses: Vec<CommitStatus>,
    pub workflow_runs: BTreeMap<WorkflowRunId, WorkflowRun>,
    pub artifacts: BTreeMap<ArtifactId, Artifact>,
    /// What jobs printed, by their check runs; of others the log is empty.
    pub job_logs: BTreeMap<CheckRunId, JobLog>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub pushed_at: Timestamp,
}

/// A move of a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activity {
    pub id: u64,
    pub branch: String,
    /// None for a branch that was made.
    pub before: Option<Sha>,
    /// None for a branch that was deleted.
    pub after: Option<Sha>,
    pub kind: ActivityKind,
    pub by: UserId,
    pub at: Timestamp,
}

/// `activity_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActivityKind {
    Push,
    ForcePush,
    BranchCreation,
    BranchDeletion,
    PrMerge,
}

impl ActivityKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Push => "push",
            Self::ForcePush => "force_push",
            Self::BranchCreation => "branch_creation",
            Self::BranchDeletion => "branch_deletion",
            Self::PrMerge => "pr_merge",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    Public,
    Private,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    pub id: u64,
    pub name: String,
    /// Six hex digits.
    pub color: String,
    pub description: Option<String>,
}

/// Pull requests that stand on each other's branches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    pub id: u64,
    pub number: u64,
    /// The branch that all of it lands on.
    pub base: String,
    /// The bottom first.
    pub layers: Vec<PrNumber>,
    pub created_at: Timestamp,
}

/// What a branch asks for before a merge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protection {
    pub source: ProtectionSource,
    /// 0: no review needed.
    pub required_approvals: u32,
    pub required_checks: Vec<RequiredCheck>,
    /// Approvals of earlier heads are dismissed when somebody pushes.
    pub stale_reviews: StaleReviews,
    pub creations: Creations,
}

/// Rulesets and classic protection are read through different endpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProtectionSource {
    #[default]
    Ruleset,
    Classic,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StaleReviews {
    #[default]
    Keep,
    Dismiss,
}

/// Whether anybody who may push may make a branch of this name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Creations {
    #[default]
    Free,
    Restricted,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredCheck {
    pub context: String,
    /// Only this App's check runs count.
    pub app: Option<AppId>,
}

impl Repo {
    pub fn issue(&self, number: PrNumber) -> Option<&Issue> {
        self.issues.get(&number)
    }

    /// The next number of an issue or pull request, counting from 1.
    pub fn next_number(&self) -> PrNumber {
        PrNumber::new(
            self.issues
                .last_key_value()
                .map_or(0, |(number, _)| number.get())
                + 1,
        )
    }

    pub fn branch(&self, name: &str) -> Option<Sha> {
        self.refs.get(&format!("refs/heads/{name}")).copied()
    }

    pub fn label(&self, name: &str) -> Option<&Label> {
        self.labels.get(&name.to_lowercase())
    }

    /// Comments of one issue or pull request, oldest first.
    pub fn comments_of(&self, number: PrNumber) -> impl Iterator<Item = &Comment> {
        self.comments
            .values()
            .filter(move |comment| comment.issue == number)
    }

    /// The stack that a pull request is a layer of.
    pub fn stack_of(&self, number: PrNumber) -> Option<&Stack> {
        self.stacks
            .iter()
            .find(|stack| stack.layers.contains(&number))
    }

    /// Open pull requests.
    pub fn open_pulls(&self) -> impl Iterator<Item = &Issue> {
        self.issues
            .values()
            .filter(|issue| issue.is_open() && issue.pull.is_some())
    }
}
