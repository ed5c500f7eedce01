//! The base branch as it was before a pull request was merged into it: afterwards it holds the change, so that nothing
//! would look new there, and what the change adds to the configuration would govern it.

use serde::{Deserialize, Serialize};

use super::pull::Pull;
use crate::github::{Client, Error, path};
use loopgate_core::{RepoName, Sha};

/// Commits of a rebased pull request that are followed back at most.
const MOST_COMMITS: usize = 30;

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Commit {
    message: String,
    parents: Vec<Parent>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Parent {
    sha: Sha,
}

/// The base's last commit before the merge; of a merge that cannot be followed, the commit the head is compared with,
/// which was on the branch before.
pub(super) async fn base(client: &Client, repository: &RepoName, pull: &Pull, merged_as: Sha) -> Result<Sha, Error> {
    let landed = commit(client, repository, merged_as).await?;
    let head = commit(client, repository, pull.pull_request.head.sha).await?;
    let Some(landed) = landed else { return Ok(pull.compared_base) };
    // A merge and a squash put one commit on the branch. A rebase puts each commit there anew, with its own message.
    let is_rebase = landed.parents.len() == 1
        && pull.commits > 1
        && head.is_some_and(|head| head.message.trim() == landed.message.trim());
    let mut steps = if is_rebase { pull.commits } else { 1 };
    if steps > MOST_COMMITS {
        return Ok(pull.compared_base);
    }
    let mut at = landed;
    loop {
        let Some(parent) = at.parents.first().map(|parent| parent.sha) else { return Ok(pull.compared_base) };
        steps -= 1;
        if steps == 0 {
            return Ok(parent);
        }
        let Some(next) = commit(client, repository, parent).await? else { return Ok(pull.compared_base) };
        at = next;
    }
}

async fn commit(client: &Client, repository: &RepoName, sha: Sha) -> Result<Option<Commit>, Error> {
    let path = format!("{}/git/commits/{sha}", path::repo(repository));
    match client.get_immutable_json::<Commit>(&path).await {
        Ok(commit) => Ok(commit),
        Err(error) => error.refusal().map(|_| None),
    }
}
