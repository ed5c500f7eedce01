//! The line of a run that has ended, for its repository's metrics.

use super::Failed;
use crate::{
    github::{GithubObjects, Repo, storage::Storage},
    refs::{RefsError, RunLines, StateStore},
};
use loopgate_core::{Timestamp, metrics::RunLine};

/// Writes the line of a run whose pull request was closed then, unless it is there. Each look at an ended pull request
/// does so: a process may die between its save and this. A repository that lets no ref be written keeps no lines. What was
/// written now comes back.
pub(super) async fn keep(
    repo: Repo<'_>,
    store: &StateStore<'_, Storage>,
    closed_at: Timestamp,
) -> Result<Option<RunLine>, Failed> {
    let objects = repo.objects();
    match append(&RunLines::of_pull_requests(&objects), store, closed_at).await {
        Err(RefsError::Refused(reason) | RefsError::Fault { message: reason, retry: crate::refs::Retry::Later }) => {
            tracing::warn!(repository = %repo.name, reason, "the line of a run was not written");
            Ok(None)
        }
        written => Ok(written?),
    }
}

async fn append(
    lines: &RunLines<'_, GithubObjects>,
    store: &StateStore<'_, Storage>,
    closed_at: Timestamp,
) -> Result<Option<RunLine>, RefsError> {
    let loaded = store.load().await?;
    let (Some(tip), Some(state)) = (loaded.tip, loaded.intact()) else { return Ok(None) };
    if lines.holds(&state.run_id, closed_at).await? {
        return Ok(None);
    }
    let line = store.line(tip, closed_at).await?;
    if let Some(line) = &line {
        lines.append(line).await?;
    }
    Ok(line)
}
