//! The few fields of a payload that routing reads.
//!
//! Everything else a payload holds is skipped by the parser without being kept, so an event costs one pass over its
//! bytes whatever its size. GitHub's events name the same things alike, so that one type reads them all; what an event
//! must have, its own function asks for.

use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;

use crate::github::wire::App;
use loopgate_core::{CommentId, InstallationId, PrNumber, RepoName, ReviewId, Sha, Timestamp, observed::Actor};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Payload {
    pub action: String,
    pub repository: Option<PayloadRepository>,
    pub installation: Option<Id<InstallationId>>,
    pub sender: Option<Actor>,
    pub pull_request: Option<PayloadPull>,
    /// Of `synchronize` and of a push: the commits before and after.
    pub before: Option<Sha>,
    pub after: Option<Sha>,
    pub issue: Option<Issue>,
    pub comment: Option<PayloadComment>,
    pub review: Option<Id<ReviewId>>,
    /// What an edit changed, as it was before.
    pub changes: Value,
    pub check_run: Option<Run>,
    pub requested_action: Value,
    pub check_suite: Option<Run>,
    /// Of a commit status.
    pub sha: Option<Sha>,
    pub context: Option<String>,
    pub workflow_run: Option<Run>,
    /// Of a push.
    #[serde(rename = "ref")]
    pub git_ref: Option<String>,
    pub created: Option<bool>,
    pub deleted: Option<bool>,
    pub forced: Option<bool>,
    pub commits: Vec<PushedCommit>,
    pub repositories_added: Vec<PayloadRepository>,
    pub organization: Option<PayloadOrganization>,
    pub team: Value,
    pub member: Option<Actor>,
    pub membership: Value,
    pub merge_group: Option<PayloadGroup>,
    pub reason: Option<String>,
    /// Of `workflow_dispatch`.
    pub inputs: Value,
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
pub(super) struct PayloadOrganization {
    pub login: Option<String>,
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
    pub app: Option<App>,
    pub pull_requests: Option<Vec<PayloadPull>>,
    /// What started a workflow run.
    pub event: Option<String>,
    pub head_branch: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct PushedCommit {
    pub added: Option<Vec<String>>,
    pub modified: Option<Vec<String>>,
    pub removed: Option<Vec<String>>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct PayloadGroup {
    pub head_sha: Sha,
    pub base_sha: Sha,
    pub base_ref: String,
    pub head_ref: Option<String>,
}
