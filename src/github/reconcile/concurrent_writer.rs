//! Two processes that reconcile one pull request at the same time, and what only one of them is to do.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use chrono::TimeDelta;

use super::ReconcileRequest;
use crate::{github::Effect, refs::LoadedRun};
use loopgate_core::{PrNumber, RepoName, Sha, Timestamp};

/// How long the process that saved a state has to make the posts that follow from it.
const CONCURRENT_WRITER_TIME: TimeDelta = TimeDelta::seconds(10);

/// Another process that saved the state of a pull request a moment ago. That process is about to show what follows from
/// the state. What both would show twice is left to it, and is looked at again when its time is over.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConcurrentWriter {
    pub saved_at: Timestamp,
}

impl ConcurrentWriter {
    /// Takes out of the effects what must not be made twice; when to look whether it was made.
    pub fn left_to_them(self, effects: &mut Vec<Effect>) -> Option<Timestamp> {
        let all = effects.len();
        effects.retain(|effect| {
            !matches!(
                effect,
                Effect::CreateStatusComment { .. }
                    | Effect::PostComment { .. }
                    | Effect::AskFixer { .. }
                    | Effect::Announce { .. }
            )
        });
        (effects.len() < all).then(|| self.saved_at + CONCURRENT_WRITER_TIME)
    }
}

/// The state commits that this process made last, by pull request. A recent commit that it did not make has a
/// [`ConcurrentWriter`], unless the commit is older than this process: then the process before this one most likely
/// made it, and has ended.
#[derive(Debug)]
pub(super) struct SaveMemory {
    since: Timestamp,
    ours: Mutex<BTreeMap<(RepoName, PrNumber), Sha>>,
}

impl SaveMemory {
    pub const fn since(since: Timestamp) -> Self {
        Self { since, ours: Mutex::new(BTreeMap::new()) }
    }

    /// More pull requests than are busy within seconds.
    const MOST: usize = 4_096;

    pub fn concurrent_writer(
        &self,
        job: &ReconcileRequest,
        loaded: &LoadedRun,
        now: Timestamp,
    ) -> Option<ConcurrentWriter> {
        let saved_at = loaded.intact()?.updated_at;
        // Clocks of two processes may differ: a time in the future is taken for now.
        let saved_at = saved_at.min(now);
        let known = self.ours.lock().unwrap_or_else(PoisonError::into_inner);
        let is_ours = known.get(&(job.repository.clone(), job.number)) == loaded.tip.as_ref();
        (!is_ours && saved_at > self.since && now < saved_at + CONCURRENT_WRITER_TIME)
            .then_some(ConcurrentWriter { saved_at })
    }

    pub fn remember(&self, job: &ReconcileRequest, saved: Option<Sha>) {
        let Some(saved) = saved else { return };
        let mut known = self.ours.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= Self::MOST {
            known.clear();
        }
        known.insert((job.repository.clone(), job.number), saved);
    }
}
