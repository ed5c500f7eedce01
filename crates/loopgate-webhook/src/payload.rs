//! The few fields of a payload that routing reads.
//!
//! Everything else a payload holds is skipped by the parser without being kept, so an event costs one pass over its
//! bytes whatever its size. GitHub's events name the same things alike, so that one type reads them all; what an event
//! must have, its own function asks for. What a few events alone have is a [`Part`], so that all others pass it over.

use serde::{
    Deserialize, Serialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::{Value, value::RawValue};

use loopgate_core::{
    AppId, CommentId, InstallationId, PrNumber, RepoName, ReviewId, Sha, Timestamp, observed::Actor,
};

#[derive(Debug, Deserialize)]
pub(super) struct Payload {
    #[serde(default)]
    pub action: String,
    pub repository: Option<PayloadRepository>,
    pub installation: Option<Id<InstallationId>>,
    pub sender: Part,
    pub pull_request: Option<PayloadPull>,
    /// Of `synchronize` and of a push: the commits before and after.
    pub before: Option<Sha>,
    pub after: Option<Sha>,
    pub issue: Option<Issue>,
    pub comment: Option<PayloadComment>,
    pub review: Option<Id<ReviewId>>,
    /// What an edit changed, as it was before.
    pub changes: Part,
    pub check_run: Option<Box<Run>>,
    pub requested_action: Part,
    pub check_suite: Option<Box<Run>>,
    /// Of a commit status.
    pub sha: Option<Sha>,
    pub context: Option<String>,
    pub workflow_run: Option<Box<Run>>,
    /// Of a push.
    #[serde(rename = "ref")]
    pub git_ref: Option<String>,
    pub created: Option<bool>,
    pub deleted: Option<bool>,
    pub forced: Option<bool>,
    pub commits: Option<Vec<PushedCommit>>,
    pub repositories_added: Part,
    pub merge_group: Part,
    pub reason: Option<String>,
    /// Of `workflow_dispatch`.
    pub inputs: Part,
}

/// A part of a payload as it stands there, until an event asks for it.
pub(super) type Part = Option<Box<RawValue>>;

/// What a part holds; none where it is missing or of another shape.
pub(super) fn read_part<T: DeserializeOwned>(part: &Part) -> Option<T> {
    serde_json::from_str(part.as_ref()?.get()).ok()
}

/// What a part holds, or null.
pub(super) fn tree(part: &Part) -> Value {
    read_part(part).unwrap_or_default()
}

impl Payload {
    /// Who caused the event. None where GitHub names no account, or one by a login that none can have, as imported
    /// identities are: then nothing is known of who it was.
    pub fn sender(&self) -> Option<Actor> {
        read_part(&self.sender)
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Id<T> {
    pub id: T,
}

#[derive(Debug, Deserialize)]
pub(super) struct Issue {
    pub number: PrNumber,
    /// There when the issue is a pull request; only its presence matters.
    pub pull_request: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
pub(super) struct PayloadRepository {
    pub full_name: RepoName,
    pub default_branch: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct PayloadPull {
    pub number: PrNumber,
    pub head: Option<PayloadSide>,
    pub base: Option<PayloadSide>,
    pub updated_at: Option<Timestamp>,
}

/// The head or the base of a pull request.
#[derive(Debug, Deserialize)]
pub(super) struct PayloadSide {
    pub sha: Option<Sha>,
    #[serde(rename = "ref")]
    pub branch: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct PayloadComment {
    pub id: CommentId,
    pub body: Option<String>,
    pub updated_at: Option<Timestamp>,
}

/// A check run, a suite of them or a workflow run.
#[derive(Debug, Deserialize)]
pub(super) struct Run {
    pub id: Option<u64>,
    pub name: Option<String>,
    pub head_sha: Sha,
    /// [`App`], which has an id of null where it is gone.
    app: Part,
    pub pull_requests: Option<Vec<PayloadPull>>,
    /// What started a workflow run.
    pub event: Option<String>,
    pub head_branch: Option<String>,
}

/// The App that made a post or a check.
#[derive(Debug, Serialize, Deserialize)]
pub struct App {
    pub id: AppId,
    pub slug: Option<String>,
}

impl Run {
    /// The App that made it, where that is known.
    pub fn app(&self) -> Option<App> {
        read_part(&self.app)
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct PushedCommit {
    pub added: Option<Vec<String>>,
    pub modified: Option<Vec<String>>,
    pub removed: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct PayloadGroup {
    pub head_sha: Sha,
    pub base_sha: Sha,
    pub base_ref: String,
    pub head_ref: Option<String>,
}
