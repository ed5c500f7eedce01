//! What can be saved of a run whose state is unusable (loop.md, State): rebuilt from its history, else an older state,
//! else a new run. Never a crash, never a silent reset.

use std::{collections::BTreeSet, fmt};

use super::{GitObjects, RefsError, StateStore, attempt, store::Unusable};
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

const UNSEALED: &str = "the saved state does not carry this App's seal";

#[derive(Debug)]
enum Found {
    History {
        lines: Vec<HistoryLine>,
        attempts: Vec<AttemptDigest>,
    },
    Older {
        state: Box<LoopState>,
        commit: Sha,
    },
    /// The state as it stands, without what somebody could have forged for their own good.
    Stripped(Box<LoopState>),
    Nothing,
}

/// Older commits looked at for a good state.
const MOST_PARENTS: usize = 50;
/// Attempts looked for: a run is forced to stop long before.
const MOST_ATTEMPTS: u32 = 100;

/// Looks for something to go on from. Who could rewrite the state could rewrite the history beside it, so only an older
/// state under our seal stands in for one that lacks it.
pub(super) async fn salvage<G: GitObjects>(
    store: &StateStore<'_, G>,
    tip: Sha,
    unusable: Unusable,
) -> Result<Damaged, RefsError> {
    let (why, mut left) = match unusable {
        Unusable::Unsealed(state) => (UNSEALED.to_owned(), Found::Stripped(Box::new(stripped(*state)))),
        Unusable::Broken(why) => (why, Found::Nothing),
    };
    if !store.is_sealing() {
        let lines = match store.history(tip).await {
            Ok(lines) => lines,
            Err(RefsError::TooLarge { .. }) => Vec::new(),
            Err(error) => return Err(error),
        };
        if !lines.is_empty() {
            let attempts = attempts(store, tip, &lines).await?;
            return Ok(Damaged { why, found: Found::History { lines, attempts } });
        }
    }
    let mut commit = tip;
    for _ in 0..MOST_PARENTS {
        let Some(parent) = store.objects.parent(commit).await? else { break };
        commit = parent;
        match store.state_at(commit).await? {
            Ok(state) => return Ok(Damaged { why, found: Found::Older { state: Box::new(state), commit } }),
            Err(Unusable::Unsealed(state)) if matches!(left, Found::Nothing) => {
                left = Found::Stripped(Box::new(stripped(*state)));
            }
            Err(_) => {}
        }
    }
    Ok(Damaged { why, found: left })
}

/// A state without what grants something: attempts and answers stay, so nothing is spent or said twice.
fn stripped(state: LoopState) -> LoopState {
    LoopState {
        skips: Vec::new(),
        first_seen_heads: Vec::new(),
        resumes: Vec::new(),
        accepted: BTreeSet::new(),
        ..state
    }
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
            Found::Older { state, .. } | Found::Stripped(state) => state.as_ref().clone(),
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
            Found::Stripped(_) => {
                f.write_str("kept the attempts, dropped skips, resumes and when heads were first seen")
            }
            Found::Nothing => f.write_str("nothing of it could be saved, so a new run was begun"),
        }
    }
}
