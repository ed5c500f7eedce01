//! Reads that look at less than a turn does: one commit, another head of a pull request, or what a pull request still
//! shows where its base has no configuration.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    LeftCheckRun, ObservedSurface, Observer, OwnCheckRun, Pull, PullReading, Target, checks,
    config, evidence, pull, surface,
};
use crate::github::{
    client::{
        error::{OrAbsent as _, Result},
        path,
        repo::Repo,
        wire::{CommitFiles, WireFile},
    },
    observe::resolve::ListedPull,
};
use loopgate_core::{
    Sha, Timestamp,
    observed::{CheckScope, FileStatus, Hint, Lifecycle, PullRequest, Snapshot},
    policy::Policy,
};

/// What an open pull request still shows of us, the labels that were ours, and the commit that took the configuration
/// away.
type SwitchedOff = (ObservedSurface, Vec<String>, Sha);

impl Observer {
    /// A pull request as it would be observed with this commit for its head: with the commit's own checks and evidence.
    /// None where it has none that the policy asks about.
    ///
    /// # Errors
    /// Every kind of [`Error`](crate::github::client::error::Error).
    pub async fn on_commit(
        &self,
        repo: Repo<'_>,
        commit: Sha,
        snapshot: &Snapshot,
        policy: &Policy,
    ) -> Result<Option<Snapshot>> {
        let (checks, runs) = futures::join!(
            checks::read(repo, commit, &snapshot.app),
            evidence::runs(repo, commit),
        );
        let mut checks = checks?;
        let runs = runs.or_refused()?.unwrap_or_default();
        let (listed, _) = evidence::listed(&runs, repo.name, &policy.verify);
        if listed.is_empty() && !checks.has_mapped(&policy.verify, |_| true) {
            return Ok(None);
        }
        checks
            .annotate(repo, &policy.verify, checks::MOST_ANNOTATED)
            .await?;
        let mut on_commit = snapshot.clone();
        on_commit.pull_request.head.sha = commit;
        on_commit.evidence = evidence::read(repo, commit, &listed).await?;
        on_commit.workflow_runs = evidence::with_jobs(repo, &listed, &on_commit.evidence).await?;
        on_commit.held_runs = evidence::held(&runs);
        on_commit.all_runs = evidence::all(&runs);
        evidence::drop_superseded(&mut checks.external, &runs);
        on_commit.checks = checks.external;
        on_commit.hints.clear();
        Ok(Some(on_commit))
    }

    /// Our check runs on a commit.
    ///
    /// # Errors
    /// Every kind of [`Error`](crate::github::client::error::Error).
    pub async fn own_check_runs(&self, repo: Repo<'_>, commit: Sha) -> Result<Vec<OwnCheckRun>> {
        let us = self.github.identity(&repo).await?;
        Ok(checks::read_runs(repo, commit, &us).await?.own)
    }

    /// What a pull request carries from another base into one that has no configuration: our check runs on its head
    /// whose result does not hold here. None where nothing is carried.
    ///
    /// # Errors
    /// Every kind of [`Error`](crate::github::client::error::Error).
    pub async fn left_for_nothing(&self, target: Target<'_>) -> Result<Option<ObservedSurface>> {
        let Target { repo, number } = target;
        let Pull {
            mut pull_request,
            default_branch,
            ..
        } = pull::read(repo, number).await?;
        let PullRequest {
            head,
            base,
            lifecycle,
            ..
        } = &mut pull_request;
        let Some(default_branch) = default_branch.filter(|default| *default != base.branch) else {
            return Ok(None);
        };
        if *lifecycle != Lifecycle::Open {
            return Ok(None);
        }
        let us = self.github.identity(&repo).await?;
        let checks = checks::read_runs(repo, head.sha, &us).await.or_refused()?;
        let check_runs = checks.map(|checks| checks.own).unwrap_or_default();
        base.scope = CheckScope::Branch(base.branch.clone());
        let left: Vec<_> = check_runs
            .iter()
            .filter_map(|run| run.left_by_retargeting(head.sha, base, &default_branch))
            .collect();
        let repository = repo.name.clone();
        let surface = ObservedSurface {
            repository,
            pull_request,
            check_runs,
            left,
            ..ObservedSurface::default()
        };
        Ok((!surface.left.is_empty()).then_some(surface))
    }

    /// What an open pull request shows of us although the newest commit of its base branch that touched the
    /// configuration took it away. None where that is not so: then the file may only be hidden for a while.
    ///
    /// # Errors
    /// Every kind of [`Error`](crate::github::client::error::Error).
    pub(in crate::github) async fn switched_off(
        &self,
        target: Target<'_>,
    ) -> Result<Option<SwitchedOff>> {
        let Target { repo, number } = target;
        let pull = pull::read(repo, number).await?.pull_request;
        if pull.lifecycle != Lifecycle::Open {
            return Ok(None);
        }
        let (base, branch) = (repo.root(), path::escape(&pull.base.branch));
        let newest = format!(
            "{base}/commits?path={}&sha={branch}&per_page=1",
            config::FILE
        );
        let newest = repo.get::<Vec<CommitFiles>>(&newest).await.or_absent()?;
        let Some(newest) = newest.and_then(|commits| commits.into_iter().next()) else {
            return Ok(None);
        };
        let path = format!("{base}/commits/{}", newest.sha);
        let Some(CommitFiles {
            sha: commit,
            parents,
            files,
        }) = repo.get_immutable_json(&path).await?
        else {
            return Ok(None);
        };
        let is_gone = |file: &WireFile| {
            file.status == FileStatus::Removed && file.filename == config::FILE
                || file.previous_filename.as_deref() == Some(config::FILE)
        };
        let (true, Some(parent)) = (files.iter().any(is_gone), parents.first()) else {
            return Ok(None);
        };
        let Some(policy) = config::policy(repo, parent.sha, None).await? else {
            return Ok(None);
        };
        let us = self.github.identity(&repo).await?;
        let state_labels = policy.labels.all().into_iter().map(|(_, name, _)| name);
        let gate_labels = policy.gates.values().map(|gate| gate.label.clone());
        let surface = ObservedSurface {
            status_comments: surface::status_comments(repo, number, &us).await?,
            repository: repo.name.clone(),
            pull_request: pull,
            ..ObservedSurface::default()
        };
        Ok(Some((
            surface,
            state_labels.chain(gate_labels).collect(),
            commit,
        )))
    }
}

/// Earlier heads that are looked at in one turn.
const MOST_LEFT_HEADS: usize = 5;

impl PullReading<'_> {
    /// Other open pull requests with the same head. A list that may not be read names none.
    pub(super) async fn others(&self, may_be_shared: bool) -> Result<Vec<ListedPull>> {
        let (repo, pull) = (self.repo, &self.facts.pull);
        if !may_be_shared || pull.pull_request.lifecycle != Lifecycle::Open {
            return Ok(Vec::new());
        }
        Ok(repo
            .open_with_head(pull.pull_request.head.sha)
            .await
            .or_refused()?
            .unwrap_or_default())
    }

    /// Our check runs on earlier heads whose result no longer holds, and the heads that are to be looked at again:
    /// until nothing is left there, since a turn may end before it acts.
    pub(super) async fn left_behind(&self) -> Result<(Vec<LeftCheckRun>, BTreeSet<Sha>)> {
        let Self {
            repo,
            facts,
            previous,
            ..
        } = *self;
        let head = facts.pull.pull_request.head.sha;
        let (mut left, mut left_heads) = (Vec::new(), BTreeSet::new());
        let Some(previous) = previous else {
            return Ok((left, left_heads));
        };
        let known = previous
            .head
            .left
            .iter()
            .copied()
            .chain([previous.head.sha])
            .filter(|old| *old != head);
        let known: BTreeSet<Sha> = known.collect();
        if facts.pull.pull_request.lifecycle != Lifecycle::Open {
            return Ok((left, known));
        }
        for (nth, old) in known.into_iter().enumerate() {
            if nth >= MOST_LEFT_HEADS {
                left_heads.insert(old);
                continue;
            }
            // The commit may be gone after a force-push, and its check runs with it.
            let Some(checks) = checks::read_runs(repo, old, &facts.us).await.or_refused()? else {
                continue;
            };
            let runs: Vec<_> = checks.own.iter().filter_map(|run| run.left(old)).collect();
            if !runs.is_empty() {
                left_heads.insert(old);
                left.extend(runs);
            }
        }
        Ok((left, left_heads))
    }

    /// When a server first knew the head, for pull requests whose events were missed: the creation of its first check
    /// suite, not before the pull request's own.
    ///
    /// It is used only where no other head is known. A commit may be pushed to another branch, and its suite created,
    /// long before a pull request's branch is moved to it. So where the head has changed unseen, its time is unknown,
    /// and it counts as seen now.
    pub(super) async fn known_since(&self) -> Result<Option<Timestamp>> {
        let Self {
            repo,
            facts,
            hints,
            previous,
            ..
        } = *self;
        let pull_request = &facts.pull.pull_request;
        let head = pull_request.head.sha;
        let hinted = hints
            .iter()
            .any(|hint| matches!(hint, Hint::HeadSeen { sha, .. } if *sha == head));
        if previous.is_some() || hinted || pull_request.lifecycle != Lifecycle::Open {
            return Ok(None);
        }
        let path = repo.path(format!("commits/{head}/check-suites"));
        let suites = repo.list::<Value>(&path, 1).await.or_refused()?;
        let first = suites
            .iter()
            .flat_map(|listing| &listing.items)
            .filter_map(|suite| suite["created_at"].as_str()?.parse::<Timestamp>().ok())
            .min();
        Ok(first.map(|first| first.max(pull_request.created_at)))
    }
}
