//! What GitHub refused, from one turn to the next.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use super::ReconcileRequest;
use crate::github::Problem;
use loopgate_core::{PrNumber, RepoName};

/// What GitHub refused at the last turn of each pull request.
///
/// It is told in the status comment, so forgetting it (a restart) costs one turn that finds out again.
#[derive(Default)]
pub(super) struct ProblemMemory(Mutex<BTreeMap<(RepoName, PrNumber), Vec<Problem>>>);

/// Pull requests with problems remembered at most.
const MOST_REMEMBERED: usize = 10_000;

impl ProblemMemory {
    pub fn of(&self, job: &ReconcileRequest) -> Vec<Problem> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&(job.repository.clone(), job.number)).cloned().unwrap_or_default()
    }

    /// Replaces what is known, and gives it back.
    pub fn remember(&self, job: &ReconcileRequest, problems: &[Problem]) -> Vec<Problem> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_REMEMBERED {
            known.clear();
        }
        let key = (job.repository.clone(), job.number);
        if problems.is_empty() {
            known.remove(&key);
        } else {
            known.insert(key, problems.to_vec());
        }
        problems.to_vec()
    }
}
