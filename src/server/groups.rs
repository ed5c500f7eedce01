//! Merge groups that were asked about.
//!
//! A queue asks once, when its commit is made. The results of that commit's own checks come later, as events about a
//! commit that is no pull request's head. So groups are remembered, and answered again when something is reported about
//! their commit: a job may also run again on it. They are remembered in this process only. After a restart the queue's
//! own time limit ends a group that was being tested, and the queue asks anew.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use super::reconciler::Unresolved;
use crate::github::{AnsweredGroup, Failed, GroupAnswer, MergeGroup, PullRequest, Reconcile};
use loopgate_core::{
    RepoName, Sha, Timestamp,
    observed::{GroupResult, Hint, QueueGroup},
};
use loopgate_webhook::Target;

/// Groups remembered at most; beyond that the oldest commit ids go.
const MOST: usize = 1_000;

/// A group, with the result that its pull requests keep.
type KeptGroup = (MergeGroup, Option<QueueGroup>);

#[derive(Default)]
pub(super) struct Groups(Mutex<BTreeMap<(RepoName, Sha), KeptGroup>>);

impl Groups {
    /// Answers the merge group that some work is about, if it is about one. Returns the pull requests that keep its
    /// result: they are looked at when the queue asks, and when the result changes. Adds the result to the hints.
    pub(super) async fn answer(
        &self,
        reconcile: &Reconcile,
        work: &mut Unresolved,
        now: Timestamp,
    ) -> Result<Vec<PullRequest>, Failed> {
        let group = match &work.target {
            Target::MergeGroup { .. } => {
                MergeGroup::of(Some(work.installation), &work.target, &work.hints)
            }
            Target::Head { repository, sha } => self
                .0
                .lock()
                .get(&(repository.clone(), *sha))
                .map(|(group, _)| group.clone()),
            _ => None,
        };
        let Some(group) = group else {
            return Ok(Vec::new());
        };
        let AnsweredGroup {
            answer,
            result,
            pulls,
        } = reconcile.merge_group(&group, now).await?;
        tracing::info!(head = group.head.short(), ?answer, "merge group");
        let mut known = self.0.lock();
        let repository = group.repository.clone();
        let key = (repository.clone(), group.head);
        let before = match answer {
            GroupAnswer::Dormant => known.remove(&key),
            _ => known.insert(key, (group, result.clone())),
        };
        while known.len() > MOST {
            known.pop_first();
        }
        let ended = |result: Option<&QueueGroup>| {
            let ended = result.filter(|result| result.result != GroupResult::Running);
            ended.map(|result| (result.result, result.failing.clone()))
        };
        let is_news = ended(before.as_ref().and_then(|(_, result)| result.as_ref()))
            != ended(result.as_ref());
        if !is_news && !matches!(work.target, Target::MergeGroup { .. }) {
            return Ok(Vec::new());
        }
        work.hints
            .extend(result.map(|result| Hint::QueueGroup(Box::new(result))));
        Ok(pulls
            .into_iter()
            .map(|number| PullRequest {
                repository: repository.clone(),
                number,
            })
            .collect())
    }
}
