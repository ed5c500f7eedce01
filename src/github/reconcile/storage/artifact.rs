//! The states of all pull requests in one artifact, for workflows whose token may write nothing to the repository.
//!
//! A workflow run finds the newest artifact of an earlier one, goes on from the states in it, and leaves a folder with
//! all of them behind, which the Action's last step uploads under the same name. Artifacts cannot be changed, so every
//! upload carries everything.
//!
//! Anybody's workflow run can upload an artifact of this name, a fork's too. Only those count that come from a run of
//! our own workflow file for an event that takes the file from the default branch.
//!
//! Races: between reading and uploading there is no condition at all, so runs of this workflow must go one after the
//! other (`concurrency` with `queue: max`). The artifact is looked for again before every save, which narrows what two
//! runs at once can lose; what they lose is derived again, as far as it can be derived.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use chrono::TimeDelta;
use tokio::sync::{Mutex, MutexGuard};

use super::KEPT_AFTER_THE_END;
use crate::github::{
    client::{
        Client,
        error::{OrAbsent as _, Result},
        repo::Repo,
        wire::{Artifact, WireRun},
    },
    observe::artifacts::{self, ArchiveLimits},
};
use loopgate_core::{PrNumber, RepoName, Timestamp};
use loopgate_refs::{RefName, RefsError, Retry, Slot, ended_before};

/// The artifact's name.
const NAME: &str = "loopgate-state";
/// Pages of artifacts of that name looked through at most.
const MOST_PAGES: usize = 5;
/// Bytes of the archive at most.
const ARCHIVE_LIMIT: usize = 64 << 20;
/// Bytes of one packed state at most.
const STATE_LIMIT: usize = 512 << 10;
/// How much an archive may hold.
const FILES: ArchiveLimits = ArchiveLimits {
    entries: 10_000,
    bytes_each: STATE_LIMIT as u64,
    bytes: 128 << 20,
};
/// An older artifact than this, or than half its life, is uploaded again although nothing has changed. Repositories and
/// organisations set how long artifacts live: 90 days at most, a day at least.
const RENEWED_AFTER: TimeDelta = TimeDelta::days(7);

/// Events whose runs take the workflow's file from the default branch, whatever a pull request changes
/// (<https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows>).
const EVENTS_OF_THE_DEFAULT_BRANCH: [&str; 4] = [
    "issue_comment",
    "pull_request_target",
    "schedule",
    "workflow_run",
];
/// Events whose runs take it from the branch they are about.
const EVENTS_OF_A_BRANCH: [&str; 2] = ["push", "workflow_dispatch"];

/// The artifact as this run found it and leaves it behind.
#[derive(Debug)]
pub struct StateArtifact {
    folder: PathBuf,
    /// The file of the workflow that this process is part of.
    workflow: String,
    /// The branch that it was started for; none where it was started for a tag.
    branch: Option<String>,
    loaded: Mutex<LoadedArtifact>,
}

type PackedStates = BTreeMap<PrNumber, String>;

#[derive(Debug, Default)]
struct LoadedArtifact {
    /// The artifact the states were read from last.
    found: Option<u64>,
    states: PackedStates,
    /// Whether the folder is to be uploaded.
    changed: bool,
}

impl Artifact {
    fn is_aging(&self, now: Timestamp) -> bool {
        let Some(created) = self.created_at else {
            return true;
        };
        let half_its_life = self
            .expires_at
            .map_or(RENEWED_AFTER, |expires| (expires - created) / 2);
        now >= created + half_its_life.min(RENEWED_AFTER)
    }
}

impl StateArtifact {
    /// `folder` is where the states are left, one file for each pull request. `workflow_ref` is what Actions gives as
    /// `GITHUB_WORKFLOW_REF`.
    ///
    /// # Errors
    /// When that is not the name of a workflow file at a ref.
    pub fn new(folder: PathBuf, workflow_ref: &str, repository: &RepoName) -> Result<Self, String> {
        let (path, at) = workflow_ref.split_once('@').ok_or_else(|| {
            let form = "which is not of the form owner/name/.github/workflows/FILE@REF";
            format!("GITHUB_WORKFLOW_REF is `{workflow_ref}`, {form}")
        })?;
        let branch = at.strip_prefix("refs/heads/").map(str::to_owned);
        let workflow = artifacts::normalise(path, repository);
        Ok(Self {
            folder,
            workflow,
            branch,
            loaded: Mutex::default(),
        })
    }

    /// The folder to upload, when a state in it has changed or the artifact is about to expire.
    pub async fn to_upload(&self) -> Option<&Path> {
        self.loaded
            .lock()
            .await
            .changed
            .then_some(self.folder.as_path())
    }

    /// Reads the newest artifact that counts, unless it is the one that was read last.
    async fn refresh(&self, loaded: &mut LoadedArtifact, repo: Repo<'_>) -> Result<(), RefsError> {
        let path = repo.path(format!("actions/artifacts?name={NAME}"));
        let mut listed = repo.list::<Artifact>(&path, MOST_PAGES).await?;
        listed
            .items
            .sort_by_key(|artifact| std::cmp::Reverse(artifact.id));
        for artifact in listed.items.iter().filter(|artifact| !artifact.expired) {
            let Some(run) = artifact.workflow_run["id"].as_u64() else {
                continue;
            };
            if !self.is_ours(repo, run).await? {
                continue;
            }
            if loaded.found == Some(artifact.id) {
                return Ok(());
            }
            match self.download(repo, artifact).await? {
                Ok(states) => {
                    (loaded.states, loaded.found) = (states, Some(artifact.id));
                    if artifact.is_aging(repo.now()) {
                        self.leave_behind(loaded)?;
                    }
                    return Ok(());
                }
                Err(reason) => tracing::warn!(
                    artifact = artifact.id,
                    reason,
                    "a {NAME} that cannot be read"
                ),
            }
        }
        // A flood of artifacts must not make a run look as if it had just begun.
        let refused = || {
            RefsError::Refused(format!(
                "too many artifacts of other workflows are named {NAME}"
            ))
        };
        listed.is_complete.then_some(()).ok_or_else(refused)
    }

    /// The states in an artifact, or why they cannot be read.
    async fn download(
        &self,
        repo: Repo<'_>,
        artifact: &Artifact,
    ) -> Result<Result<PackedStates, String>, RefsError> {
        let path = repo.path(format!("actions/artifacts/{}/zip", artifact.id));
        let archive = repo.download(&path, ARCHIVE_LIMIT).await.or_reason()?;
        let files = archive.and_then(|archive| artifacts::unpack_each(&archive, FILES));
        let kept_since = repo.now() - KEPT_AFTER_THE_END;
        let state = |(name, packed): (String, String)| {
            let number = name.strip_prefix("pr-")?.parse().ok().map(PrNumber::new)?;
            (!ended_before(&packed, kept_since)).then_some((number, packed))
        };
        Ok(files.map(|files| files.into_iter().filter_map(state).collect()))
    }

    async fn is_ours(&self, repo: Repo<'_>, run: u64) -> Result<bool> {
        let path = repo.path(format!("actions/runs/{run}"));
        // These fields of a run never change.
        let Some(run) = repo.get_immutable_json::<WireRun>(&path).await? else {
            return Ok(false);
        };
        let event = run.event.as_deref().unwrap_or_default();
        let is_of_branch = || {
            EVENTS_OF_A_BRANCH.contains(&event)
                && self.branch.is_some()
                && run.head_branch == self.branch
        };
        Ok(artifacts::normalise(&run.path, repo.name) == self.workflow
            && (EVENTS_OF_THE_DEFAULT_BRANCH.contains(&event) || is_of_branch()))
    }

    /// Writes all states to the folder.
    fn leave_behind(&self, loaded: &mut LoadedArtifact) -> Result<(), RefsError> {
        let fault = |error: std::io::Error| RefsError::Fault {
            message: format!("{} cannot be written: {error}", self.folder.display()),
            retry: Retry::Later,
        };
        std::fs::create_dir_all(&self.folder).map_err(fault)?;
        for (number, packed) in &loaded.states {
            std::fs::write(self.folder.join(format!("pr-{number}")), packed).map_err(fault)?;
        }
        loaded.changed = true;
        Ok(())
    }
}

/// One pull request's part of the artifact.
pub struct ArtifactSlot {
    pub(super) artifact: Arc<StateArtifact>,
    pub(super) client: Client,
    pub(super) repository: RepoName,
    pub(super) number: PrNumber,
}

impl ArtifactSlot {
    /// The states as they are now.
    async fn loaded(&self) -> Result<MutexGuard<'_, LoadedArtifact>, RefsError> {
        let mut loaded = self.artifact.loaded.lock().await;
        // What this process changed is newer than any artifact: it is uploaded when the process has ended.
        if !loaded.changed {
            self.artifact
                .refresh(&mut loaded, self.client.repo(&self.repository))
                .await?;
        }
        Ok(loaded)
    }
}

impl Slot for ArtifactSlot {
    const ROOM: usize = STATE_LIMIT;

    async fn read(&self) -> Result<Option<String>, RefsError> {
        Ok(self.loaded().await?.states.get(&self.number).cloned())
    }

    async fn replace(
        &self,
        name: &RefName,
        old: Option<&str>,
        new: &str,
        _: &str,
    ) -> Result<(), RefsError> {
        let mut loaded = self.loaded().await?;
        if loaded.states.get(&self.number).map(String::as_str) != old {
            return Err(RefsError::RefMoved { name: name.clone() });
        }
        loaded.states.insert(self.number, new.to_owned());
        self.artifact.leave_behind(&mut loaded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artifact(created: &str, expires: &str) -> Artifact {
        let (created_at, expires_at) = (created.parse().ok(), expires.parse().ok());
        let (name, size_in_bytes, expired, workflow_run) =
            (NAME.to_owned(), 1, false, serde_json::Value::Null);
        Artifact {
            id: 1,
            name,
            size_in_bytes,
            expired,
            created_at,
            expires_at,
            workflow_run,
        }
    }

    #[test]
    fn an_artifact_ages_within_a_week_or_half_its_life() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let long = artifact("2026-11-01T00:00:00Z", "2027-01-30T00:00:00Z");
        assert!(
            !long.is_aging(at("2026-11-07T23:59:59Z")) && long.is_aging(at("2026-11-08T00:00:00Z"))
        );
        let short = artifact("2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z");
        assert!(
            !short.is_aging(at("2026-11-01T11:59:59Z"))
                && short.is_aging(at("2026-11-01T12:00:00Z"))
        );
    }
}
