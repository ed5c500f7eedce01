//! When a server first knew a head.

use serde::Deserialize;

use super::pull::Pull;
use crate::github::{Error, Repo, error::OrAbsent as _, paging::wrapped_pages};
use loopgate_core::{
    Timestamp,
    observed::{Hint, Lifecycle},
    state::LoopState,
};

wrapped_pages! {
    Suites.check_suites of Suite;
}

#[derive(Deserialize)]
struct Suite {
    created_at: Option<Timestamp>,
}

/// When a server first knew the head, for pull requests whose events were missed: the creation of its first check
/// suite, not before the pull request's own.
///
/// It is used only where no other head is known. A commit may be pushed to another branch, and its suite created, long
/// before a pull request's branch is moved to it. So where the head has changed unseen, its time is unknown, and it
/// counts as seen now.
pub(super) async fn known_since(
    repo: Repo<'_>,
    pull: &Pull,
    hints: &[Hint],
    previous: Option<&LoopState>,
) -> Result<Option<Timestamp>, Error> {
    let head = pull.pull_request.head.sha;
    let hinted = hints.iter().any(|hint| matches!(hint, Hint::HeadSeen { sha, .. } if *sha == head));
    if previous.is_some() || hinted || pull.pull_request.lifecycle != Lifecycle::Open {
        return Ok(None);
    }
    let path = repo.path(format!("commits/{head}/check-suites"));
    let suites = repo.list::<Suites>(&path, 1).await.or_refused()?;
    let first = suites.iter().flat_map(|listing| &listing.items).filter_map(|suite| suite.created_at).min();
    Ok(first.map(|first| first.max(pull.pull_request.created_at)))
}
