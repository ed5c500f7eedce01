//! Reading many recorded runs.

use std::collections::BTreeMap;

use futures::{StreamExt as _, TryStreamExt as _, stream};

use super::{ListObjects, RefName, RefsError, StateStore};
use loopgate_core::{Sha, Timestamp, replay::RecordedRun};

/// Runs read at the same time.
const AT_ONCE: usize = 8;

/// What `read` makes of these runs, several at a time, at most `most` of them: those with the highest numbers.
///
/// Returns how many were left out beside it.
///
/// # Errors
/// When the git database does not answer.
pub async fn each_run<G: ListObjects, T, R: Future<Output = Result<Option<T>, RefsError>>>(
    objects: &G,
    wanted: impl Fn(&RefName) -> bool,
    most: usize,
    read: impl Fn(RefName, Sha) -> R,
) -> Result<(Vec<T>, usize), RefsError> {
    let mut runs = objects.runs().await?;
    runs.retain(|(name, _)| wanted(name));
    runs.sort_by_key(|(name, _)| std::cmp::Reverse(name.number()));
    let left_out = runs.len().saturating_sub(most);
    runs.truncate(most);
    let read = stream::iter(runs).map(|(name, tip)| read(name, tip)).buffered(AT_ONCE).try_collect::<Vec<_>>().await?;
    Ok((read.into_iter().flatten().collect(), left_out))
}

/// The runs that something happened to since then, open and archived, as they can be judged again.
///
/// # Errors
/// When the git database does not answer.
pub async fn recorded_runs<G: ListObjects>(
    objects: &G,
    since: Timestamp,
    most: usize,
) -> Result<(Vec<RecordedRun>, usize), RefsError> {
    each_run(objects, |_| true, most, |name, tip| recorded_run(objects, name, tip, since)).await
}

async fn recorded_run<G: ListObjects>(
    objects: &G,
    name: RefName,
    tip: Sha,
    since: Timestamp,
) -> Result<Option<RecordedRun>, RefsError> {
    let store = StateStore::new(objects, name);
    let Some((state, history)) = store.recorded(tip).await? else { return Ok(None) };
    if state.updated_at < since {
        return Ok(None);
    }
    let mut attempts = BTreeMap::new();
    for attempt in &state.attempts {
        let recorded = store.recorded_attempt(tip, attempt.number).await?;
        attempts.extend(recorded.map(|recorded| (attempt.number, recorded)));
    }
    Ok(Some(RecordedRun { state, history, attempts }))
}
