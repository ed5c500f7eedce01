//! Shapes that several answers of the API share. Only the fields that are used; unknown values are tolerated.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use loopgate_core::{
    CheckRunId, Login, RepoName, Sha, Timestamp, UserId, WorkflowRunId,
    observed::{Account, AccountKind, FileStatus},
};
use loopgate_webhook::App;

/// An account as answers show it. Deleted accounts are `null`, and shown as `ghost` here as there.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::github) struct User {
    pub id: UserId,
    pub login: String,
    #[serde(rename = "type", default)]
    pub kind: String,
}

impl User {
    /// The login, unless it is malformed.
    pub fn login(self) -> Option<Login> {
        self.login.parse().ok()
    }
}

impl From<User> for Account {
    fn from(user: User) -> Self {
        // An account whose login is malformed cannot be named, and has no authority.
        let Ok(login) = user.login.parse() else {
            return Self {
                id: user.id,
                ..ghost()
            };
        };
        let kind = match user.kind.as_str() {
            "User" => AccountKind::User,
            "Bot" => AccountKind::Bot,
            "Organization" => AccountKind::Organization,
            _ => AccountKind::Other,
        };
        Self {
            id: user.id,
            login,
            kind,
        }
    }
}

/// Who owns an App, or has it installed: GitHub's answers show an enterprise in another form than accounts
/// (<https://docs.github.com/en/rest/apps/apps>).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "WireHolder")]
pub(in crate::github) enum Holder {
    Person(String),
    Organisation(String),
    /// By its slug.
    Enterprise(String),
}

#[derive(Deserialize)]
struct WireHolder {
    login: Option<String>,
    slug: Option<String>,
    #[serde(rename = "type", default)]
    kind: String,
}

impl TryFrom<WireHolder> for Holder {
    type Error = &'static str;

    fn try_from(holder: WireHolder) -> Result<Self, Self::Error> {
        match (holder.login, holder.slug) {
            (Some(login), _) if holder.kind == "Organization" => Ok(Self::Organisation(login)),
            (Some(login), _) => Ok(Self::Person(login)),
            (None, Some(slug)) => Ok(Self::Enterprise(slug)),
            (None, None) => Err("an account has no `login`, and an enterprise no `slug`"),
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Person(login) | Self::Organisation(login) => f.write_str(login),
            Self::Enterprise(slug) => write!(f, "the enterprise {slug}"),
        }
    }
}

/// What answers contain about a pull request that is a layer of a native stack
/// (<https://docs.github.com/en/pull-requests/reference/stacked-pull-requests-apis-and-webhooks>).
#[derive(Debug, Clone, Deserialize)]
pub(in crate::github) struct InStack {
    /// The branch that the stack lands on, whatever the layer itself targets.
    pub base: Side,
}

/// The head or the base of a pull request, or the base of a stack.
#[derive(Debug, Clone, Deserialize)]
pub(in crate::github) struct Side {
    pub sha: Sha,
    #[serde(rename = "ref", default)]
    pub branch: String,
    pub repo: Option<SideRepository>,
}

#[derive(Debug, Clone, Deserialize)]
pub(in crate::github) struct SideRepository {
    pub full_name: Option<RepoName>,
    pub default_branch: Option<String>,
    pub private: Option<bool>,
    #[serde(default)]
    pub archived: bool,
}

/// A commit, or another object of git, by its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectRef {
    pub sha: Sha,
}

/// A branch, as `GET …/branches/{branch}` answers.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(in crate::github) struct Branch {
    pub commit: ObjectRef,
    #[serde(default)]
    pub protected: bool,
}

/// The name in the same answer.
#[derive(Deserialize)]
pub(in crate::github) struct BranchName {
    pub name: String,
}

/// `GET …/git/trees/{sha}`.
#[derive(Default, Deserialize)]
pub(in crate::github) struct Tree {
    pub tree: Vec<TreeEntry>,
    #[serde(default)]
    pub truncated: bool,
}

/// A file, folder or submodule of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(in crate::github) struct TreeEntry {
    pub path: String,
    #[serde(default)]
    pub mode: String,
    #[serde(rename = "type", default)]
    pub kind: String,
    pub sha: Sha,
}

/// A repository's own answer.
#[derive(Deserialize)]
pub(in crate::github) struct Repository {
    pub node_id: Option<String>,
    pub default_branch: String,
    #[serde(default)]
    pub private: bool,
    pub mirror_url: Option<String>,
}

/// A rule of a branch, as `GET …/rules/branches/{branch}` answers
/// (<https://docs.github.com/en/rest/repos/rules#get-rules-for-a-branch>).
#[derive(Deserialize)]
pub(in crate::github) struct BranchRule {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub parameters: RuleParameters,
}

/// What rules for pull requests and for checks ask for; classic protection answers in the same words.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(in crate::github) struct RuleParameters {
    pub required_approving_review_count: u32,
    pub required_status_checks: Vec<RequiredCheck>,
}

/// A check that a branch requires.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(in crate::github) struct RequiredCheck {
    pub context: String,
    /// Whose it must be. -1 stands for anybody in classic protection.
    #[serde(alias = "app_id")]
    pub integration_id: Option<i64>,
}

/// A commit as git has it: `GET …/git/commits/{sha}`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::github) struct GitCommit {
    #[serde(default)]
    pub message: String,
    pub tree: ObjectRef,
    #[serde(default)]
    pub parents: Vec<ObjectRef>,
    pub author: Option<Signature>,
    pub committer: Option<Signature>,
}

impl GitCommit {
    /// When it was made.
    pub fn made_at(&self) -> Option<Timestamp> {
        self.committer.as_ref()?.date.as_ref()?.parse().ok()
    }
}

/// Who signed a commit, and when.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::github) struct Signature {
    #[serde(default)]
    pub email: String,
    /// As its author wrote it: it may be no date.
    date: Option<String>,
}

/// A commit in a list of commits or in a comparison.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::github) struct ListedCommit {
    pub sha: Sha,
    pub node_id: Option<String>,
    #[serde(default)]
    pub parents: Vec<ObjectRef>,
    /// Without its parents, which stand above.
    pub commit: GitCommit,
    pub author: Option<MaybeUser>,
    pub committer: Option<MaybeUser>,
}

/// GitHub writes an author it cannot attribute as `null` or as `{}`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub(in crate::github) enum MaybeUser {
    Somebody(User),
    Nobody {},
}

/// A commit with the files it changes, as far as they are listed.
#[derive(Deserialize)]
pub(in crate::github) struct CommitFiles {
    pub sha: Sha,
    #[serde(default)]
    pub parents: Vec<ObjectRef>,
    #[serde(default)]
    pub files: Vec<WireFile>,
}

/// A file as listed, and as kept: the cache holds no more than what is used.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::github) struct WireFile {
    pub filename: String,
    pub previous_filename: Option<String>,
    pub status: FileStatus,
    pub additions: u32,
    pub deletions: u32,
    pub sha: Option<Sha>,
    pub patch: Option<String>,
    #[serde(skip_serializing)]
    pub contents_url: Option<String>,
}

/// A label, a folder, a secret.
#[derive(Debug, Deserialize)]
pub(in crate::github) struct Named {
    pub name: String,
}

/// A team.
#[derive(Debug, Deserialize)]
pub(in crate::github) struct Team {
    pub slug: String,
}

/// A check run, or the execution of a job, which is one
/// (<https://docs.github.com/en/rest/checks/runs#list-check-runs-for-a-git-reference>).
#[derive(Serialize, Deserialize)]
pub(in crate::github) struct CheckRun {
    pub id: CheckRunId,
    pub name: String,
    pub status: String,
    pub conclusion: Option<String>,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    pub html_url: Option<String>,
    pub external_id: Option<String>,
    pub app: Option<App>,
    pub output: Option<CheckOutput>,
    /// Of a job.
    pub run_attempt: Option<u32>,
    #[serde(default)]
    pub steps: Vec<WireStep>,
}

#[derive(Serialize, Deserialize)]
pub(in crate::github) struct WireStep {
    #[serde(default)]
    pub name: String,
    pub status: Option<String>,
    pub conclusion: Option<String>,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
}

/// What a check run shows.
#[derive(Serialize, Deserialize)]
pub(in crate::github) struct CheckOutput {
    pub title: Option<String>,
    pub summary: Option<String>,
    pub text: Option<String>,
    pub annotations_count: Option<u64>,
}

/// A workflow run (<https://docs.github.com/en/rest/actions/workflow-runs>).
#[derive(Deserialize)]
pub(in crate::github) struct WireRun {
    pub id: WorkflowRunId,
    pub path: String,
    pub event: Option<String>,
    pub head_sha: Sha,
    pub head_branch: Option<String>,
    pub run_attempt: Option<u32>,
    pub status: Option<String>,
    pub conclusion: Option<String>,
    pub html_url: Option<String>,
    pub run_started_at: Option<Timestamp>,
    pub created_at: Option<Timestamp>,
    pub updated_at: Option<Timestamp>,
}

/// An artifact of a workflow run (<https://docs.github.com/en/rest/actions/artifacts>).
#[derive(Serialize, Deserialize)]
pub(in crate::github) struct Artifact {
    pub id: u64,
    pub name: String,
    pub size_in_bytes: u64,
    #[serde(default)]
    pub expired: bool,
    pub created_at: Option<Timestamp>,
    pub expires_at: Option<Timestamp>,
    /// The run that uploaded it.
    #[serde(default)]
    pub workflow_run: Value,
}

/// An account as GraphQL shows it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::github) struct GraphqlAccount {
    pub database_id: Option<UserId>,
    pub login: Login,
}

impl GraphqlAccount {
    /// The account at a part of an answer, if there is one.
    pub fn at(node: &Value) -> Option<Self> {
        Self::deserialize(node).ok()
    }
}

/// The nodes of a list of GraphQL, without what may not be seen.
pub(in crate::github) fn nodes(list: &Value) -> impl DoubleEndedIterator<Item = &Value> {
    list["nodes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|node| !node.is_null())
}

/// The account at a part of an answer, or GitHub's placeholder for one that is gone.
pub(in crate::github) fn account_at(user: &Value) -> Account {
    account(User::deserialize(user).ok())
}

/// The account, or GitHub's placeholder for one that is gone.
pub(in crate::github) fn account(user: Option<User>) -> Account {
    user.map_or_else(ghost, Account::from)
}

/// The account `ghost`, to which GitHub gives what deleted accounts wrote
/// (<https://github.com/ghost>).
const GHOST: UserId = UserId::new(10_137);

/// Whether it stands for any account that is gone.
pub(in crate::github) fn is_ghost(id: UserId) -> bool {
    id == GHOST
}

fn ghost() -> Account {
    let login: Login = "ghost".parse().expect("five letters are a login");
    Account {
        id: GHOST,
        login,
        kind: AccountKind::Other,
    }
}
