//! The world as GitHub's JSON: one function per schema of its API description, shared by answers and webhooks.

mod app;
mod checks;
mod commit;
mod conversation;
mod people;
mod pull;
mod repo;
mod runs;

pub use app::{app, delivery, delivery_brief, installation, repository_stub, token};
pub use checks::{annotation, check_run, check_suite, combined_status, status};
pub use commit::{
    blob, changed_file, commit, commit_detail, comparison, content, directory, git_commit, git_ref,
    head_commit, tree,
};
pub use conversation::{comment, issue, issue_event, label, reaction};
pub use people::{
    collaborator, collaborator_permission, full_user, org_membership, organization,
    organization_full, team, team_full, team_membership, user,
};
pub use pull::{pull, pull_brief, review, review_comment, stack};
pub use repo::{activity, branch, protection, repo_full, repository, rules, ruleset};
pub use runs::{artifact, job, workflow, workflow_run};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;

use super::world::{World, repo::Repo};
use loopgate_core::Timestamp;

/// GitHub's form of a time: seconds, `Z`.
pub fn time(at: Timestamp) -> Value {
    at.format("%Y-%m-%dT%H:%M:%SZ").to_string().into()
}

pub fn maybe_time(at: Option<Timestamp>) -> Value {
    at.map_or(Value::Null, time)
}

/// A global id: opaque to clients, unique per kind and number.
pub fn node_id(kind: &str, id: impl std::fmt::Display) -> String {
    STANDARD.encode(format!("{kind}:{id}"))
}

/// `…/repos/owner/name`.
fn repo_url(world: &World, repo: &Repo) -> String {
    format!("{}/repos/{}", world.base_url, world.full_name(repo))
}

/// The page of a repository.
fn repo_page(world: &World, repo: &Repo) -> String {
    format!("{}/{}", world.pages_url, world.full_name(repo))
}

/// A path as part of a URL.
fn quoted(path: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(byte);
    path.bytes()
        .map(|byte| {
            if plain(&byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}
