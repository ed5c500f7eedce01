//! What can be saved of a run whose state is unusable (loop.md, State): rebuilt from its history, else an older state,
//! else a new run. Never a crash, never a silent reset.

use std::fmt;

use super::{GitObjects, RefsError, StateStore, attempt};
use crate::core::{
    Sha,
    history::{Event, HistoryLine},
    state::{AttemptDigest, LoopState},
};

/// An unusable state, and what was found instead.
#[derive(Debug)]
pub struct Damaged {
    why: String,
    found: Found,
}

#[derive(Debug)]
enum Found {
    History { lines: Vec<HistoryLine>, attempts: Vec<AttemptDigest> },
    Older { state: Box<LoopState>, commit: Sha },
    Nothing,
}

/// Older commits looked at for a good state.
const MOST_PARENTS: usize = 50;
/// Attempts looked for: a run is forced to stop long before.
const MOST_ATTEMPTS: u32 = 100;

/// Looks for something to go on from.
pub(super) async fn salvage<G: GitObjects>(
    store: &StateStore<'_, G>,
    tip: Sha,
    why: String,
) -> Result<Damaged, RefsError> {
    let lines = match store.history(tip).await {
        Ok(lines) => lines,
        Err(RefsError::TooLarge { .. }) => Vec::new(),
        Err(error) => return Err(error),
    };
    if !lines.is_empty() {
        let attempts = attempts(store, tip, &lines).await?;
        return Ok(Damaged { why, found: Found::History { lines, attempts } });
    }
    let mut commit = tip;
    for _ in 0..MOST_PARENTS {
        let Some(parent) = store.objects.parent(commit).await? else { break };
        commit = parent;
        if let Ok(state) = store.state_at(commit).await? {
            return Ok(Damaged { why, found: Found::Older { state: Box::new(state), commit } });
        }
    }
    Ok(Damaged { why, found: Found::Nothing })
}

/// The digests of the attempts of the last run in the history, as far as their documents can be read.
async fn attempts<G: GitObjects>(
    store: &StateStore<'_, G>,
    tip: Sha,
    lines: &[HistoryLine],
) -> Result<Vec<AttemptDigest>, RefsError> {
    let last_run = lines.last().map(|line| line.run_id.as_str());
    let of_run = lines.iter().filter(|line| Some(line.run_id.as_str()) == last_run);
    let counted = of_run.filter(|line| line.event == Event::EvaluationDone).map(|line| line.iteration).max();
    let mut attempts = Vec::new();
    for number in 1..=counted.unwrap_or(0).min(MOST_ATTEMPTS) {
        let bytes = match store.objects.read_file(tip, &attempt::path(number), attempt::READ_LIMIT).await {
            Ok(Some(bytes)) => bytes,
            Ok(None) | Err(RefsError::TooLarge { .. }) => continue,
            Err(error) => return Err(error),
        };
        if let Ok(attempt::Digested { digest }) = serde_json::from_slice(&bytes) {
            attempts.push(digest);
        }
    }
    Ok(attempts)
}

/// The lines that are lines of a history.
pub(super) fn readable_lines(bytes: &[u8]) -> Vec<HistoryLine> {
    let lines = bytes.split(|byte| *byte == b'\n');
    lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

impl Damaged {
    /// The state to go on from, and a sentence for the people who are told.
    pub(super) fn rebuild(&self, begin: impl FnOnce() -> LoopState) -> (LoopState, String) {
        let state = match &self.found {
            Found::History { lines, attempts } => replay(begin(), lines, attempts),
            Found::Older { state, .. } => state.as_ref().clone(),
            Found::Nothing => begin(),
        };
        (state, self.to_string())
    }
}

/// What the history and the attempts tell, on top of a new run. Everything derivable is derived at the next decision.
fn replay(fresh: LoopState, lines: &[HistoryLine], attempts: &[AttemptDigest]) -> LoopState {
    let Some(last) = lines.last() else { return fresh };
    let first = lines.iter().find(|line| line.run_id == last.run_id).unwrap_or(last);
    LoopState {
        run_id: last.run_id.clone(),
        created_at: first.ts,
        phase: last.phase,
        iteration: last.iteration,
        attempts: attempts.to_vec(),
        last_score: attempts.last().map(|attempt| attempt.score),
        ..fresh
    }
}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; ", self.why)?;
        match &self.found {
            Found::History { lines, attempts } => {
                write!(f, "rebuilt from {} lines of history and {} attempts", lines.len(), attempts.len())
            }
            Found::Older { commit, .. } => write!(f, "went back to the state of commit {}", commit.short()),
            Found::Nothing => f.write_str("nothing of it could be saved, so a new run was begun"),
        }
    }
}
