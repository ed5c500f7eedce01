//! A base branch whose configuration a commit took away.

use serde::Deserialize;

use super::{ObservedSurface, Observer, Target, config, pull, surface};
use crate::github::{Client, Error, error::OrAbsent as _, path};
use loopgate_core::{Sha, observed::Lifecycle};

/// What an open pull request still shows of us.
pub(in crate::github) struct SwitchedOff {
    pub surface: ObservedSurface,
    /// The labels that were ours.
    pub labels: Vec<String>,
    /// The commit that took the configuration away.
    pub commit: Sha,
}

#[derive(Deserialize)]
struct Commit {
    sha: Sha,
    parents: Vec<Parent>,
    #[serde(default)]
    files: Vec<File>,
}

#[derive(Deserialize)]
struct Parent {
    sha: Sha,
}

#[derive(Deserialize)]
struct File {
    filename: String,
    status: String,
    previous_filename: Option<String>,
}

impl File {
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
    pub(in crate::github) async fn switched_off(
        &self,
        client: &Client,
        target: Target<'_>,
    ) -> Result<Option<SwitchedOff>, Error> {
        let Target { repository, number } = target;
        let pull = pull::read(client, repository, number).await?.pull_request;
        if pull.lifecycle != Lifecycle::Open {
            return Ok(None);
        }
        let (base, branch) = (path::repo(repository), path::escape(&pull.base.branch));
        let newest = format!("{base}/commits?path={}&sha={branch}&per_page=1", config::FILE);
        let newest = client.get::<Vec<Commit>>(&newest).await.or_absent()?;
        let Some(newest) = newest.and_then(|commits| commits.into_iter().next()) else { return Ok(None) };
        let path = format!("{base}/commits/{}", newest.sha);
        let Some(Commit { sha: commit, parents, files }) = client.get_immutable_json(&path).await? else {
            return Ok(None);
        };
        let (true, Some(parent)) = (files.iter().any(|file| file.is_gone_from(config::FILE)), parents.first()) else {
            return Ok(None);
        };
        let Some(policy) = config::policy(client, repository, parent.sha, None, false).await? else { return Ok(None) };
        let us = self.github.identity(client).await?;
        let state_labels = policy.labels.labels.all().into_iter().map(|label| label.name.clone());
        let gate_labels = policy.gates.values().map(|gate| gate.label.clone());
        let surface = ObservedSurface {
            labels: pull.labels,
            requested_users: pull.requested_users,
            requested_teams: pull.requested_teams,
            status_comments: surface::status_comments(client, repository, number, &us).await?,
            ..ObservedSurface::of_nothing(repository.clone(), number, pull.head.sha, pull.base, pull.author.login)
        };
        Ok(Some(SwitchedOff { surface, labels: state_labels.chain(gate_labels).collect(), commit }))
    }
}
