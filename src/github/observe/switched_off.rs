//! A base branch whose configuration a commit took away.

use super::{ObservedSurface, Observer, Target, config, pull, surface};
use crate::github::{
    Error,
    error::OrAbsent as _,
    path,
    wire::{CommitFile, CommitFiles},
};
use loopgate_core::{Sha, observed::Lifecycle};

/// What an open pull request still shows of us, the labels that were ours, and the commit that took the configuration away.
type SwitchedOff = (ObservedSurface, Vec<String>, Sha);

impl CommitFile {
    /// It stood at this path, and does not any more.
    fn is_gone_from(&self, path: &str) -> bool {
        self.status == "removed" && self.filename == path || self.previous_filename.as_deref() == Some(path)
    }
}

impl Observer {
    /// What an open pull request shows of us although the newest commit of its base branch that touched the configuration
    /// took it away. None where that is not so: then the file may only be hidden for a while.
    ///
    /// # Errors
    /// Every kind of [`Error`].
    pub(in crate::github) async fn switched_off(&self, target: Target<'_>) -> Result<Option<SwitchedOff>, Error> {
        let Target { repo, number } = target;
        let pull = pull::read(repo, number).await?.pull_request;
        if pull.lifecycle != Lifecycle::Open {
            return Ok(None);
        }
        let (base, branch) = (repo.root(), path::escape(&pull.base.branch));
        let newest = format!("{base}/commits?path={}&sha={branch}&per_page=1", config::FILE);
        let newest = repo.get::<Vec<CommitFiles>>(&newest).await.or_absent()?;
        let Some(newest) = newest.and_then(|commits| commits.into_iter().next()) else { return Ok(None) };
        let path = format!("{base}/commits/{}", newest.sha);
        let Some(CommitFiles { sha: commit, parents, files }) = repo.get_immutable_json(&path).await? else {
            return Ok(None);
        };
        let (true, Some(parent)) = (files.iter().any(|file| file.is_gone_from(config::FILE)), parents.first()) else {
            return Ok(None);
        };
        let Some(policy) = config::policy(repo, parent.sha, None).await? else { return Ok(None) };
        let us = self.github.identity(&repo).await?;
        let state_labels = policy.labels.labels.all().into_iter().map(|label| label.name.clone());
        let gate_labels = policy.gates.values().map(|gate| gate.label.clone());
        let surface = ObservedSurface {
            status_comments: surface::status_comments(repo, number, &us).await?,
            repository: repo.name.clone(),
            pull_request: pull,
            ..ObservedSurface::default()
        };
        Ok(Some((surface, state_labels.chain(gate_labels).collect(), commit)))
    }
}
