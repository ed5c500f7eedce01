//! Reading what runs recorded.

use futures::{StreamExt as _, TryStreamExt as _, stream};

use super::{GitObjects, RefName, RefsError, StateStore};
use loopgate_core::{PrNumber, Sha, replay::RecordedAttempt};

/// Runs read at the same time.
const AT_ONCE: usize = 8;

/// What `read` makes of the runs that are not archived, several at a time, at most `most` of them: those with the highest numbers.
///
/// Returns how many were left out beside it.
///
/// # Errors
/// When the git database does not answer.
pub async fn each_run<G: GitObjects, T, R: Future<Output = Result<Option<T>, RefsError>>>(
    objects: &G,
    most: usize,
    read: impl Fn(RefName, Sha) -> R,
) -> Result<(Vec<T>, usize), RefsError> {
    let mut runs = objects.refs("").await?;
    runs.retain(|(name, _)| name.is_run());
    runs.sort_by_key(|(name, _)| std::cmp::Reverse(name.number()));
    let left_out = runs.len().saturating_sub(most);
    runs.truncate(most);
    let read = stream::iter(runs).map(|(name, tip)| read(name, tip)).buffered(AT_ONCE).try_collect::<Vec<_>>().await?;
    Ok((read.into_iter().flatten().collect(), left_out))
}

/// The newest attempts that the run of a pull request recorded, oldest first, at most `most` of them; none where no state is
/// kept in a ref, or none can be read.
///
/// # Errors
/// When the git database does not answer.
pub async fn recorded_attempts<G: GitObjects>(
    objects: &G,
    number: PrNumber,
    most: usize,
) -> Result<Vec<RecordedAttempt>, RefsError> {
    let store = StateStore::new(objects, RefName::pull_request(number));
    let Some(tip) = store.tip().await? else { return Ok(Vec::new()) };
    let Ok(state) = store.state_at(tip).await? else { return Ok(Vec::new()) };
    let mut attempts = Vec::new();
    for attempt in &state.attempts[state.attempts.len().saturating_sub(most)..] {
        attempts.extend(store.recorded_attempt(tip, attempt.number).await?);
    }
    Ok(attempts)
}
