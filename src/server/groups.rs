//! Merge groups that wait for an answer.
//!
//! A queue asks once, when its commit is made; what that commit's own checks say comes later, as events about a commit
//! that is no pull request's head. So the groups whose answer is not final are remembered and answered again when
//! something is reported about their commit. They are remembered in this process only: after a restart the queue's own
//! time limit ends a group that was being tested, and it is asked about anew.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use super::reconciler::Unresolved;
use crate::github::{Failed, GroupAnswer, MergeGroup, Reconcile, webhook::Target};
use loopgate_core::{RepoName, Sha, Timestamp};

/// Groups remembered at most; beyond that the oldest commit ids go.
const MOST: usize = 1_000;

#[derive(Default)]
pub(super) struct Groups(Mutex<BTreeMap<(RepoName, Sha), MergeGroup>>);

impl Groups {
    /// Answers the merge group that some work is about, if it is about one.
    pub(super) async fn heed(&self, reconcile: &Reconcile, work: &Unresolved, now: Timestamp) -> Result<(), Failed> {
        let Some(group) = self.concerned(work) else { return Ok(()) };
        let answer = reconcile.merge_group(&group, now).await?;
        tracing::info!(head = group.head.short(), ?answer, "merge group");
        let mut unfinished = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (group.repository.clone(), group.head);
        match answer {
            GroupAnswer::Unfinished => drop(unfinished.insert(key, group)),
            GroupAnswer::Final | GroupAnswer::Dormant => drop(unfinished.remove(&key)),
        }
        while unfinished.len() > MOST {
            unfinished.pop_first();
        }
        Ok(())
    }

    fn concerned(&self, work: &Unresolved) -> Option<MergeGroup> {
        match &work.target {
            Target::MergeGroup { .. } => MergeGroup::of(Some(work.installation), &work.target, &work.hints),
            Target::Head { repository, sha } => {
                let unfinished = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                unfinished.get(&(repository.clone(), *sha)).cloned()
            }
            _ => None,
        }
    }
}
