//! States of ended runs, and their lines for the repository's metrics. Only refs are archived: what is kept elsewhere
//! stays, or goes, with the place that holds it.
//!
//! Races: folding deletes a ref only if it is unchanged, in one step with the archive's own. A process that saves at
//! the same time is refused, or makes the fold be refused. A reopened pull request that finds its ref gone while it
//! saves begins its turn anew, and takes the run from the archive.

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt as _, TryStreamExt as _, stream};

use super::{Failed, RunStore, Turn};
use crate::github::{
    client::{objects::GithubObjects, repo::Repo},
    observe::PullRequestFacts,
    reconcile::storage::KEPT_AFTER_THE_END,
};
use loopgate_core::{PrNumber, Sha, Timestamp, metrics::RunLine, observed::Lifecycle};
use loopgate_refs::{
    ARCHIVE, GitObjects as _, LoadedRun, NewCommit, RefName, RefsError, Result, Retry, RunLines,
    StateStore, archive_entry, archived,
};

/// Runs that are folded at once.
const MOST_AT_ONCE: usize = 100;
/// Commits read at the same time.
const READ_AT_ONCE: usize = 8;
/// How often a batch is tried while somebody else moves its refs.
const MOST_TRIES: usize = 3;
/// What a batch costs: three reads, and as many writes.
const REQUESTS_OF_A_BATCH: usize = 6;

/// The outcome of one pass that folds a repository's ended runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FoldResult {
    pub runs: usize,
    /// Requests it took, roughly.
    pub requests: usize,
    /// Whether nothing more is due.
    pub is_complete: bool,
}

/// Folds the refs of runs that ended a fortnight ago into the archive: of pull requests that are not `open`, and that
/// nothing was saved of since. It stops after so many requests, and goes on the next time.
///
/// # Errors
/// When GitHub does not answer, refuses or asks to wait. What was folded stays so.
pub async fn fold_ended_runs(
    repo: Repo<'_>,
    open: &BTreeSet<PrNumber>,
    most_requests: usize,
    now: Timestamp,
) -> Result<FoldResult> {
    let objects = repo.objects();
    // Earlier versions moved each run to a ref of its own, which is not looked at again.
    let mut due = objects.refs(ARCHIVE).await?;
    due.retain(|(name, _)| name.number().is_some());
    let mut ended = objects.refs("pr/").await?;
    let mut folded = FoldResult {
        runs: 0,
        requests: 2 + ended.len() / 100,
        is_complete: true,
    };
    ended.retain(|(name, _)| {
        name.is_of_pull_request() && name.number().is_none_or(|number| !open.contains(&number))
    });
    ended.sort_by_key(|(name, _)| name.number());
    let made = stream::iter(ended).map(async |run| match objects.made_at(run.1).await {
        Ok(made) => Ok(Some((made, run))),
        // It points at no commit: nothing of ours.
        Err(RefsError::Refused(_)) => Ok(None),
        Err(error) => Err(error),
    });
    let mut made = std::pin::pin!(made.buffered(READ_AT_ONCE));
    while folded.requests < most_requests
        && let Some(read) = made.try_next().await?
    {
        let Some(((made_at, is_known), run)) = read else {
            continue;
        };
        folded.requests += usize::from(!is_known);
        if made_at + KEPT_AFTER_THE_END <= now {
            due.push(run);
        }
    }
    folded.is_complete = folded.requests < most_requests;
    for batch in due.chunks(MOST_AT_ONCE) {
        folded.runs += fold_batch(&objects, batch.to_vec(), now).await?;
        folded.requests += REQUESTS_OF_A_BATCH;
    }
    Ok(folded)
}

/// Folds these runs, as far as they stay where they are. Returns how many.
async fn fold_batch(
    objects: &GithubObjects,
    mut runs: Vec<(RefName, Sha)>,
    now: Timestamp,
) -> Result<usize> {
    let archive = RefName::quarter(now);
    for _ in 0..MOST_TRIES {
        let before = objects.read_ref(&archive).await?;
        // A run's own ref is listed after what an earlier version moved, and counts.
        let entries: BTreeMap<_, _> = runs
            .iter()
            .filter_map(|(name, tip)| Some(archive_entry(name.number()?, *tip)))
            .collect();
        let files: Vec<_> = entries.into_iter().collect();
        let keeps: Vec<Sha> = runs
            .iter()
            .map(|(_, tip)| *tip)
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        let subject = format!("ended runs folded: {}", files.len());
        let commit = NewCommit {
            parent: before,
            keeps: &keeps,
            files: &files,
            subject: &subject,
        };
        let commit = objects.write_commit(commit).await?;
        let mut moves = vec![(archive.clone(), before, Some(commit))];
        moves.extend(
            runs.iter()
                .map(|(name, tip)| (name.clone(), Some(*tip), None)),
        );
        if objects.move_all(&moves).await? {
            return Ok(runs.len());
        }
        let after = objects.read_ref(&archive).await?;
        if after == Some(commit) {
            // Done before, and the answer was lost.
            return Ok(runs.len());
        }
        let mut there = objects.refs("pr/").await?;
        there.extend(objects.refs(ARCHIVE).await?);
        let there: BTreeSet<_> = there.into_iter().collect();
        let seen = runs.len();
        runs.retain(|run| there.contains(run));
        if after == before && runs.len() == seen {
            // GitHub does not move such refs at once: first the archive, then each ref that is still as it was.
            match objects.compare_and_swap(&archive, before, commit).await {
                Err(RefsError::RefMoved { .. }) => return Ok(0),
                moved => moved?,
            }
            let mut folded = 0;
            for (name, tip) in &runs {
                if objects.read_ref(name).await? == Some(*tip) {
                    objects.delete_ref(name).await?;
                    folded += 1;
                }
            }
            return Ok(folded);
        }
        if runs.is_empty() {
            break;
        }
    }
    Ok(0)
}

impl Turn<'_> {
    /// Looks in the archive where a pull request has no state although it could have had one: a run comes back when its
    /// pull request is reopened, and what ended before Loopgate came, or is archived, is left alone.
    pub async fn find_archived(
        &self,
        facts: &PullRequestFacts,
        loaded: LoadedRun,
        store: &RunStore<'_>,
    ) -> Result<Option<LoadedRun>, Failed> {
        let (job, now) = (self.job, self.now);
        let pull_request = &facts.pull.pull_request;
        let open = pull_request.lifecycle == Lifecycle::Open;
        if loaded.tip.is_some() || (open && now < pull_request.created_at + KEPT_AFTER_THE_END) {
            return Ok(Some(loaded));
        }
        let merged_lately = match &pull_request.lifecycle {
            Lifecycle::Merged { at: Some(at), .. } => now < *at + KEPT_AFTER_THE_END,
            _ => false,
        };
        let hidden_refs = self.target().repo.objects();
        let name = RefName::pull_request(job.number);
        // A server that lags behind may have answered before.
        let own = hidden_refs.read_ref(&name).await?;
        if own.is_some() && store.objects.is_ref() {
            return Ok(Some(store.load_at(own).await?));
        }
        let archived_tip = match own {
            Some(tip) => Some(tip),
            None => archived(&hidden_refs, job.number).await?,
        };
        let Some(tip) = archived_tip else {
            let is_begun = open || merged_lately;
            if !is_begun {
                hidden_refs.relies_on_absence(&name);
            }
            return Ok(is_begun.then_some(loaded));
        };
        if !open {
            return Ok(None);
        }
        let archived = StateStore::new(&hidden_refs, name);
        if store.objects.is_ref() {
            return Ok(Some(store.unfold(tip).await?));
        }
        match archived.load_at(Some(tip)).await?.intact() {
            Some(state) => store.adopt(&archived, tip, state).await?,
            None => drop(archived.unfold(tip).await?),
        }
        Ok(Some(store.load().await?))
    }

    /// Writes the line of a run whose pull request was closed then, unless it is there. Each look at an ended pull
    /// request does so: a process may die between its save and this. A repository that lets no ref be written keeps no
    /// lines. What was written now comes back.
    pub async fn keep_line(
        &self,
        store: &RunStore<'_>,
        closed_at: Timestamp,
    ) -> Result<Option<RunLine>, Failed> {
        let objects = self.target().repo.objects();
        let lines = RunLines {
            objects: &objects,
            name: RefName::metrics(),
        };
        let append = async {
            let loaded = store.load().await?;
            let (Some(tip), Some(state)) = (loaded.tip, loaded.intact()) else {
                return Ok(None);
            };
            if lines.holds(&state.run.id, closed_at).await? {
                return Ok(None);
            }
            let line = store.line(tip, closed_at).await?;
            if let Some(line) = &line {
                lines.append(line).await?;
            }
            Ok::<_, RefsError>(line)
        };
        match append.await {
            Err(
                RefsError::Refused(reason)
                | RefsError::Fault {
                    message: reason,
                    retry: Retry::Later,
                },
            ) => {
                tracing::warn!(repository = %self.job.repository, reason, "the line of a run was not written");
                Ok(None)
            }
            written => Ok(written?),
        }
    }
}
