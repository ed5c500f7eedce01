//! What was observed of one pull request, as plain data: an input of [`decide`](crate::deciding::decide).
//!
//! A snapshot holds what *is*, read from GitHub's API (or a local repository), never what an event claimed. The few
//! facts that only events state come as [`Hint`]s. Everything textual in it was written by somebody else.
//!
//! The pull request itself: who opened it, its head and its base, its files and commits.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    evidence::Evidence,
    ids::{AppId, Login, PrNumber, RepoName, ReviewId, Sha, TeamSlug, Timestamp, UserId},
    observed::{
        Assignments, Authority, BaseEvidence, CheckScope, Comment, Contents, ExternalCheck,
        ForgedCheck, Hint, Makers, QueueStanding, Readings, ReceivedEvidence, Review, ReviewThread,
        Stack, WorkflowRun,
    },
};

/// One pull request as observed at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    pub repository: RepoName,
    /// Who we are on this GitHub: our own words and checks are recognised by these ids.
    pub app: AppIdentity,
    pub pull_request: PullRequest,
    pub files: ChangedFiles,
    /// The newest common ancestor of the head and the tip of what it is compared with: the old side of `files`. `None`
    /// if GitHub does not compare them.
    pub merge_base: Option<Sha>,
    /// Files that a decision reads whole, at the base, the head or an approved head.
    pub contents: Contents,
    /// Names of the folders at the top of the base's tree, for telling new ones. None: not observed, so that a
    /// folder whose changed files are all new counts as new.
    pub base_folders: Option<BTreeSet<String>>,
    pub assignments: Assignments,
    /// The commits of the pull request, oldest first.
    pub commits: Listing<Commit>,
    /// Who made them, beside what they say.
    pub makers: Makers,
    /// Issue comments, oldest first, ours included.
    pub comments: Listing<Comment>,
    pub reviews: Listing<Review>,
    /// Who dismissed a review, as far as it matters.
    pub dismissed_by: BTreeMap<ReviewId, Account>,
    /// On lines of the diff. Commands count there, words about gates do not. Not read where the pull request has none.
    pub inline: Listing<Comment>,
    /// Of the AI reviewers that the policy names, oldest first; not read where it names none.
    pub review_threads: Listing<ReviewThread>,
    /// Check runs and commit statuses on the head commit that are not ours.
    pub checks: Vec<ExternalCheck>,
    /// Check runs on the head that carry one of our names but another App's id: they are reported, never believed.
    pub forged_checks: Vec<ForgedCheck>,
    /// Evidence artifacts produced for the head commit, accepted or refused.
    pub evidence: Vec<ReceivedEvidence>,
    /// Runs on the head commit of the workflows that may bring evidence.
    pub workflow_runs: Vec<WorkflowRun>,
    /// Runs on the head of all workflows of the repository, in whatever state.
    pub all_runs: Vec<WorkflowRun>,
    /// Those of them that wait for somebody with write to press *Approve and run*
    /// (<https://docs.github.com/en/actions/how-tos/manage-workflow-runs/approve-runs-from-forks>).
    pub held_runs: Vec<WorkflowRun>,
    /// What is known of the checks on the merge base, else the base head. Blame is decided by it.
    pub base_evidence: Option<BaseEvidence>,
    /// Approvals that the base branch's rules ask for; 0 when they ask for none.
    pub required_approvals: u32,
    /// The pull request with the same head and base on which both are decided, where it is not this one.
    pub judged_on: Option<PrNumber>,
    /// Earlier heads on which check runs of ours still say what does not hold any more.
    pub left_heads: BTreeSet<Sha>,
    /// Where it is a layer of a native stack. Its base branch is then the stack's, and its files are its own part's.
    pub stack: Option<Stack>,
    /// Where it stands with its merge queue. `None` if nothing suggests that it is or was in one.
    pub queue: Option<QueueStanding>,
    pub authority: Authority,
    /// Text of the base branch's CODEOWNERS file, if there is one.
    pub codeowners: Option<String>,
    /// Who committed last to test files that are in question, on the base branch.
    pub test_authors: BTreeMap<String, Account>,
    pub hints: Vec<Hint>,
    /// What could not be observed, and why: shown to people, and closing whatever depends on it.
    pub problems: Vec<ObservationProblem>,
    /// What was read of this and of earlier snapshots. No decision depends on it.
    pub readings: Readings,
}

impl Snapshot {
    /// Whether the branch is the repository's own, so that our fixer may push to it.
    pub fn has_own_branch(&self) -> bool {
        self.pull_request.head.repository.as_ref() == Some(&self.repository)
    }

    /// Whether it comes from a fork that is still there.
    pub fn is_from_fork(&self) -> bool {
        self.pull_request
            .head
            .repository
            .as_ref()
            .is_some_and(|head| head != &self.repository)
    }

    /// The evidence of the head that was not refused.
    pub fn evidence_of_head(&self) -> impl Iterator<Item = &Evidence> + Clone {
        self.evidence.iter().filter_map(|received| match received {
            ReceivedEvidence::Accepted(evidence)
                if evidence.head_sha == self.pull_request.head.sha =>
            {
                Some(evidence.as_ref())
            }
            _ => None,
        })
    }

    /// A pull request of which only the files are known: no comments, no reviews, no check runs.
    pub fn of_files(
        repository: RepoName,
        app: AppIdentity,
        pull_request: PullRequest,
        files: ChangedFiles,
    ) -> Self {
        Self {
            repository,
            app,
            pull_request,
            files,
            ..Self::default()
        }
    }
}

/// The identity Loopgate acts under.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppIdentity {
    pub id: AppId,
    /// The account comments are written by, `slug[bot]`.
    pub bot: Login,
    pub bot_id: Option<UserId>,
}

impl AppIdentity {
    /// Whether we act with a workflow's own token, as every workflow of the repository does. Then no event arrives when
    /// a button is pressed, no team can be read or asked, and check runs of jobs bear our App's name.
    pub fn is_actions(&self) -> bool {
        self.bot
            .as_str()
            .eq_ignore_ascii_case("github-actions[bot]")
    }
}

/// A list that may not be whole. What depends on the missing part stays closed.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing<T> {
    pub items: Vec<T>,
    /// Nothing is missing: neither a limit of the platform nor a failed page cut it short.
    pub is_complete: bool,
}

impl<T> Default for Listing<T> {
    fn default() -> Self {
        Self::complete(Vec::new())
    }
}

impl<T> Listing<T> {
    pub const fn complete(items: Vec<T>) -> Self {
        Self {
            items,
            is_complete: true,
        }
    }
}

/// Something that could not be observed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ObservationProblem {
    /// What was asked for: "team acme/security", "permission of bob".
    pub what: String,
    pub reason: String,
}

/// A GitHub account.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Account {
    pub id: UserId,
    pub login: Login,
    pub kind: AccountKind,
}

/// What kind of account it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccountKind {
    User,
    Bot,
    Organization,
    /// GitHub's placeholder for deleted accounts, or a kind we do not know: never an approver.
    #[default]
    Other,
}

/// The pull request itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PullRequest {
    pub number: PrNumber,
    pub title: String,
    pub body: String,
    pub author: Account,
    pub lifecycle: Lifecycle,
    pub is_draft: bool,
    /// Whether it merges without a conflict. `None` while GitHub has not found out, of which no event tells, and where
    /// it was not asked
    /// (<https://docs.github.com/en/rest/guides/using-the-rest-api-to-interact-with-your-git-database#checking-mergeability-of-pull-requests>).
    pub is_mergeable: Option<bool>,
    pub head: Head,
    pub base: Base,
    pub labels: BTreeSet<String>,
    /// The type of change that a label from somebody with write declares.
    pub declared_type: Option<CodeType>,
    pub requested_users: BTreeSet<Login>,
    /// Slugs of the repository's organisation.
    pub requested_teams: BTreeSet<TeamSlug>,
    pub created_at: Timestamp,
    pub closed_at: Option<Timestamp>,
    pub url: String,
}

words! {
    /// What kind of change a pull request is.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
    pub enum CodeType {
        #[default]
        NewFunction = "new_function",
        BugFix = "bug_fix",
        Refactor = "refactor",
        ApiEndpoint = "api_endpoint",
        Integration = "integration",
    }
}

/// Open, closed, or merged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Lifecycle {
    /// It is open.
    #[default]
    Open,
    /// It was closed without a merge.
    Closed,
    /// It was merged.
    Merged {
        by: Option<Login>,
        at: Option<Timestamp>,
    },
}

/// The head branch and commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    pub sha: Sha,
    /// The tree of the head commit: equal trees are equal code, whatever the commits say.
    pub tree: Sha,
    pub branch: String,
    /// None when the fork it came from is gone.
    pub repository: Option<RepoName>,
    /// When a server first knew this commit (its check suite's creation), if GitHub says so. Commit dates are not
    /// used anywhere: authors choose them.
    pub known_since: Option<Timestamp>,
}

/// The base branch, and the commit that the head is compared with: the branch itself may have moved on. In a native
/// stack the branch is the stack's base, the commit one of the layer beneath.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Base {
    pub branch: String,
    /// Earlier names of the branch, as far as they were asked about: GitHub redirects them to it.
    pub earlier_names: BTreeSet<String>,
    pub sha: Sha,
    /// What the names of our check runs say about it.
    pub scope: CheckScope,
    /// A pattern of `branches:` that it matches, whose name its checks do not bear because people can make such
    /// branches.
    pub open_pattern: Option<String>,
}

impl Base {
    /// Whether a branch of this name, at any time, was this branch.
    pub fn is_named(&self, name: &str) -> bool {
        self.branch == name || self.earlier_names.contains(name)
    }
}

/// The files a pull request changes.
#[derive(Clone, Debug, PartialEq, Hash)]
pub enum ChangedFiles {
    /// All of them.
    Complete(Vec<ChangedFile>),
    /// More than the platform lists (3,000), or a page that could not be read: every content trigger matches.
    TooLarge {
        known: Vec<ChangedFile>,
        reason: String,
    },
}

/// None.
impl Default for ChangedFiles {
    fn default() -> Self {
        Self::Complete(Vec::new())
    }
}

impl ChangedFiles {
    pub fn known(&self) -> &[ChangedFile] {
        match self {
            Self::Complete(files) => files,
            Self::TooLarge { known, .. } => known,
        }
    }
}

/// One changed file, with its patch where GitHub gives one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChangedFile {
    pub path: String,
    /// The old name of a renamed or copied file. Both names count as touched.
    pub previous_path: Option<String>,
    pub status: FileStatus,
    pub additions: u32,
    pub deletions: u32,
    /// The file's blob at the head; none for removed files.
    pub blob: Option<Sha>,
    /// Unified diff hunks. GitHub leaves it out for binary and very large files; such a file counts as matching
    /// every content trigger.
    pub patch: Option<String>,
}

impl ChangedFile {
    /// Both names of a rename, else the one name.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.path.as_str()).chain(self.previous_path.as_deref())
    }

    /// Its name at the base.
    pub fn old_path(&self) -> &str {
        self.previous_path.as_deref().unwrap_or(&self.path)
    }
}

words! {
    /// What happened to a file. Words of GitHub's files list.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum FileStatus {
        Added = "added",
        Modified = "modified",
        Removed = "removed",
        Renamed = "renamed",
        Copied = "copied",
        Changed = "changed",
        Unchanged = "unchanged",
    }
}

/// One commit of the pull request and who had a hand in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    pub sha: Sha,
    pub message: String,
    /// The account GitHub attributes the author to; `None` if the e-mail belongs to no account.
    pub author: Option<Account>,
    pub committer: Option<Account>,
    /// The raw author and committer e-mails, for attributing co-author trailers.
    pub author_email: String,
    pub committer_email: String,
    /// It merges the base into the head, and holds nothing that neither side has.
    pub update_merge: bool,
}
