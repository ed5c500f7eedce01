//! What pushes mean to pull requests: moved heads, moved bases, what is computed from both.

use chrono::SubsecRound as _;

use crate::{
    git::{Commit, FileChange, Merge, Object, Signature},
    refused::Refused,
    world::{
        RepoId, World,
        app::Actor,
        issue::{Issue, MergeState},
        journal::{Force, What},
        repo::StaleReviews,
    },
};
use loopgate_core::{PrNumber, Sha};

impl World {
    /// Pull requests from and onto a branch that moved.
    pub(super) fn branch_moved(
        &mut self,
        actor: Actor,
        repo: RepoId,
        branch: &str,
        before: Option<Sha>,
        after: Option<Sha>,
    ) -> Result<(), Refused> {
        let mut heads = Vec::new();
        let mut bases = Vec::new();
        for target in self.repos.values() {
            for issue in target.open_pulls() {
                let Some(pull) = &issue.pull else { continue };
                if pull.head.repo == Some(repo) && pull.head.branch == branch {
                    heads.push((target.id, issue.number));
                } else if target.id == repo && pull.base_branch == branch {
                    bases.push(issue.number);
                }
            }
        }
        for (target, number) in heads {
            match (before, after) {
                (Some(before), Some(after)) => {
                    self.synchronize(actor, target, number, before, after)?
                }
                // GitHub closes a pull request whose head branch is deleted.
                _ => self.mark_closed(actor, target, number)?,
            }
        }
        for number in bases {
            self.base_moved(actor, repo, number, after)?;
        }
        Ok(())
    }

    /// Pull requests from and into a branch that was renamed.
    pub(super) fn follow_renamed_branch(
        &mut self,
        actor: Actor,
        repo: RepoId,
        (from, to): (&str, &str),
    ) -> Result<(), Refused> {
        self.branch_moved(actor, repo, from, None, None)?;
        let into = |issue: &&Issue| issue.pull.as_ref().is_some_and(|it| it.base_branch == from);
        let open = self.repo(repo)?.open_pulls().filter(into);
        let numbers: Vec<_> = open.map(|issue| issue.number).collect();
        for number in numbers {
            self.pull_mut(repo, number)?.base_branch = to.to_owned();
        }
        Ok(())
    }

    fn base_moved(
        &mut self,
        actor: Actor,
        repo: RepoId,
        number: PrNumber,
        tip: Option<Sha>,
    ) -> Result<(), Refused> {
        let Some(tip) = tip else { return Ok(()) };
        let head = self.pull(repo, number)?.head.sha;
        let found = self.repo(repo)?;
        if self.objects(found).is_fast_forward(head, tip) {
            // Pushed past the pull request: GitHub marks it as merged.
            self.mark_merged(actor, repo, number, tip)
        } else {
            self.refresh_pull(repo, number)
        }
    }

    fn synchronize(
        &mut self,
        actor: Actor,
        repo: RepoId,
        number: PrNumber,
        before: Sha,
        after: Sha,
    ) -> Result<(), Refused> {
        let now = self.now();
        let base_branch = self.pull(repo, number)?.base_branch.clone();
        let base_tip = self.repo(repo)?.branch(&base_branch);
        let dismiss = self
            .repo(repo)?
            .protections
            .get(&base_branch)
            .is_some_and(|p| p.stale_reviews == StaleReviews::Dismiss);
        self.issue_mut(repo, number)?.updated_at = now;
        let pull = self.pull_mut(repo, number)?;
        pull.head.sha = after;
        pull.base_sha = base_tip.unwrap_or(pull.base_sha);
        self.refresh_pull(repo, number)?;
        let found = self.repo(repo)?;
        let force = if self.objects(found).is_fast_forward(before, after) {
            Force::FastForward
        } else {
            Force::Forced
        };
        self.record(
            actor,
            repo,
            Some(number),
            What::Pushed {
                before,
                after,
                force,
            },
        );
        let event = self.pull_event("synchronize", actor, repo, number)?;
        self.emit(
            event
                .with("before", before.to_string())
                .with("after", after.to_string()),
        );
        if dismiss {
            self.dismiss_stale(actor, repo, number)
        } else {
            Ok(())
        }
    }

    /// Computes again what follows from head and base: counts, mergeability and the `refs/pull/N/…` refs.
    pub fn refresh_pull(&mut self, repo: RepoId, number: PrNumber) -> Result<(), Refused> {
        let pull = self.pull(repo, number)?;
        let (head, base_sha) = (pull.head.sha, pull.base_sha);
        let tip = self
            .repo(repo)?
            .branch(&pull.base_branch)
            .unwrap_or(base_sha);
        let found = self.repo(repo)?;
        let objects = self.objects(found);
        let commits = objects
            .compare(base_sha, head)
            .map_or(0, |comparison| comparison.ahead.len());
        let changes = self.pull_changes(repo, number)?;
        let lines: Vec<_> = changes
            .iter()
            .map(|change| objects.line_diff(change))
            .collect();
        let standing = MergeState {
            commits,
            changed_files: changes.len(),
            additions: lines.iter().map(|lines| lines.additions).sum(),
            deletions: lines.iter().map(|lines| lines.deletions).sum(),
            test_merge: self.test_merge(repo, tip, head)?,
        };
        self.pull_mut(repo, number)?.standing = standing;
        let refs = &mut self.repo_mut(repo)?.refs;
        refs.insert(format!("refs/pull/{number}/head"), head);
        match standing.test_merge {
            Some(merge) => drop(refs.insert(format!("refs/pull/{number}/merge"), merge)),
            None => drop(refs.remove(&format!("refs/pull/{number}/merge"))),
        }
        Ok(())
    }

    /// The files a pull request changes: from the merge base to its head.
    pub fn pull_changes(&self, repo: RepoId, number: PrNumber) -> Result<Vec<FileChange>, Refused> {
        let pull = self.pull(repo, number)?;
        let objects = self.objects(self.repo(repo)?);
        let merge_base = objects.merge_base(pull.base_sha, pull.head.sha);
        Ok(objects.diff(merge_base, pull.head.sha))
    }

    fn test_merge(&mut self, repo: RepoId, tip: Sha, head: Sha) -> Result<Option<Sha>, Refused> {
        let objects = self.objects_mut(repo)?;
        let Merge::Clean(tree) = objects.merge(tip, head) else {
            return Ok(None);
        };
        let at = objects
            .commit(head)
            .map(|commit| commit.committer.at)
            .unwrap_or_default()
            .trunc_subsecs(0);
        let github = Signature {
            name: "GitHub".into(),
            email: "noreply@github.com".into(),
            at,
        };
        let message = format!("Merge {head} into {tip}");
        let commit = Commit {
            tree,
            parents: vec![tip, head],
            author: github.clone(),
            committer: github,
            message,
        };
        Ok(Some(objects.put(Object::Commit(commit))))
    }
}
