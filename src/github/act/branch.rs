//! Deletes the head branch of a merged pull request (`on_complete.delete_branch`) that nothing uses any more.
//!
//! GitHub deletes a ref whatever it points at by then, so the branch is looked at right before. A push between the two
//! requests is accepted: its commit stays reachable through the push's own event, and GitHub offers *Restore branch*.

use http::Method;
use serde::de::IgnoredAny;

use super::execute::Did;
use crate::github::{
    Error, Repo,
    error::OrAbsent,
    path,
    retry::Repeat,
    wire::{Branch, Repository},
};
use loopgate_core::deciding::MergedBranch;

/// Deletes the branch, unless it is protected, the default branch, was pushed to after the merge, or another pull
/// request is open from or onto it (deleting would close that one).
///
/// # Errors
/// What GitHub refuses, and faults.
pub(super) async fn delete(repo: Repo<'_>, merged: &MergedBranch) -> Result<Did, Error> {
    let name = path::escape_path(&merged.name);
    let kept = |reason: &str| Did::Refused(reason.to_owned());
    let Some(branch) = repo.get::<Branch>(&repo.path(format!("branches/{name}"))).await.or_absent()? else {
        return Ok(Did::Nothing);
    };
    if branch.commit.sha != merged.sha {
        return Ok(kept("somebody pushed to it after the merge"));
    }
    if branch.protected {
        return Ok(kept("it is protected"));
    }
    if repo.get::<Repository>(&repo.root()).await?.default_branch == merged.name {
        return Ok(kept("it is the default branch"));
    }
    let (owner, value) = (path::escape(repo.name.owner()), path::escape(&merged.name));
    for filter in [format!("head={owner}:{value}"), format!("base={value}")] {
        let open = repo.list::<IgnoredAny>(&repo.path(format!("pulls?state=open&{filter}")), 1).await?;
        if !open.items.is_empty() {
            return Ok(kept("another open pull request uses it"));
        }
    }
    let reference = repo.path(format!("git/refs/heads/{name}"));
    let deleted = repo.tell(Method::DELETE, &reference, None::<&()>, Repeat::Safe).await.or_absent()?;
    Ok(deleted.map_or(Did::Nothing, |()| Did::Something))
}
