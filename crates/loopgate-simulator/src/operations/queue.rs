//! The merge queue: groups of pull requests that are tested together before they reach their base.

use serde_json::json;

use crate::{
    git::{Commit, Merge, Object, Signature},
    hooks::Event,
    json,
    refused::Refused,
    world::{RepoId, World, account::Role, app::Actor, issue::QueueRemoval},
};
use loopgate_core::{PrNumber, Sha};

/// Pull requests merged one after the other onto a base, on a branch of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeGroup {
    /// `refs/heads/gh-readonly-queue/main/pr-2-…`.
    pub head_ref: String,
    pub head_sha: Sha,
    pub base_branch: String,
    pub base_sha: Sha,
    pub numbers: Vec<PrNumber>,
}

/// How a merge group ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueOutcome {
    /// Its checks passed: the base moves to it and its pull requests are merged.
    Merged,
    /// Thrown away: nothing is merged.
    Invalidated,
}

impl World {
    /// Builds a group and asks for its checks: `merge_group.checks_requested`.
    pub fn enqueue_pulls(
        &mut self,
        actor: Actor,
        repo: RepoId,
        numbers: &[PrNumber],
    ) -> Result<MergeGroup, Refused> {
        self.need(actor, repo, Role::Write)?;
        let (first, last) = numbers
            .first()
            .zip(numbers.last())
            .ok_or_else(Refused::not_found)?;
        let base_branch = self.pull(repo, *first)?.base_branch.clone();
        let base_sha = self
            .repo(repo)?
            .branch(&base_branch)
            .ok_or_else(Refused::not_found)?;
        let mut head_sha = base_sha;
        for number in numbers {
            self.pull_mut(repo, *number)?.is_queued = true;
            let event = self.pull_event("enqueued", actor, repo, *number)?;
            self.emit(event);
            head_sha = self.stack(repo, head_sha, *number)?;
        }
        let head_ref = format!("refs/heads/gh-readonly-queue/{base_branch}/pr-{last}-{base_sha}");
        let group = MergeGroup {
            head_ref,
            head_sha,
            base_branch,
            base_sha,
            numbers: numbers.to_vec(),
        };
        self.set_ref(actor, repo, &group.head_ref, Some(head_sha))?;
        self.group_event("checks_requested", actor, repo, &group, None)?;
        Ok(group)
    }

    /// Takes a pull request out of the queue: `pull_request.dequeued` with this reason.
    pub fn dequeue_pull(
        &mut self,
        actor: Actor,
        repo: RepoId,
        number: PrNumber,
        reason: &str,
    ) -> Result<(), Refused> {
        let (at, by) = (self.now(), self.account_of(actor));
        let pull = self.pull_mut(repo, number)?;
        pull.is_queued = false;
        pull.removal = Some(QueueRemoval {
            at,
            by,
            reason: reason.to_owned(),
        });
        let event = self
            .pull_event("dequeued", actor, repo, number)?
            .with("reason", reason);
        self.emit(event);
        Ok(())
    }

    /// One more merge commit on top of a group.
    fn stack(&mut self, repo: RepoId, onto: Sha, number: PrNumber) -> Result<Sha, Refused> {
        let (head, at) = (self.pull(repo, number)?.head.clone(), self.now());
        let message = format!(
            "Merge pull request #{number} from {}/{}",
            self.login(head.owner),
            head.branch
        );
        let objects = self.objects_mut(repo)?;
        let Merge::Clean(tree) = objects.merge(onto, head.sha) else {
            return Err(Refused::unprocessable(
                "merge conflict between base and head",
            ));
        };
        let github = Signature {
            name: "GitHub".into(),
            email: "noreply@github.com".into(),
            at,
        };
        let parents = vec![onto, head.sha];
        Ok(objects.put(Object::Commit(Commit {
            tree,
            parents,
            author: github.clone(),
            committer: github,
            message,
        })))
    }

    /// Ends a group: `merge_group.destroyed`, and its branch is deleted.
    pub fn finish_group(
        &mut self,
        actor: Actor,
        repo: RepoId,
        group: &MergeGroup,
        outcome: QueueOutcome,
    ) -> Result<(), Refused> {
        let reason = match outcome {
            QueueOutcome::Merged => {
                // The base's new head holds every head of the group, so all its pull requests count as merged.
                self.set_ref(
                    actor,
                    repo,
                    &format!("refs/heads/{}", group.base_branch),
                    Some(group.head_sha),
                )?;
                "merged"
            }
            QueueOutcome::Invalidated => "invalidated",
        };
        self.group_event("destroyed", actor, repo, group, Some(reason))?;
        self.set_ref(actor, repo, &group.head_ref, None)
    }

    fn group_event(
        &mut self,
        action: &'static str,
        actor: Actor,
        repo: RepoId,
        group: &MergeGroup,
        reason: Option<&str>,
    ) -> Result<(), Refused> {
        let payload = json!({
            "head_sha": group.head_sha, "head_ref": group.head_ref, "base_sha": group.base_sha,
            "base_ref": format!("refs/heads/{}", group.base_branch),
            "head_commit": json::head_commit(self, self.repo(repo)?, group.head_sha),
        });
        let mut event =
            Event::in_repo("merge_group", action, repo, actor).with("merge_group", payload);
        if let Some(reason) = reason {
            event = event.with("reason", reason);
        }
        self.emit(event);
        Ok(())
    }
}
