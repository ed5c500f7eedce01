//! Reading one loop for its page: what would be decided of it now, and what its state ref holds at any commit.

use std::collections::BTreeMap;

use futures::{StreamExt as _, stream};
use serde_json::Value;

use crate::github::{
    client::{
        Github,
        error::{Error, OrAbsent as _, Result},
        objects::GithubObjects,
        path,
        repo::Repo,
        ttl_cache::TtlCache,
        wire::{ListedCommit, User},
    },
    reconcile::{Preview, Reconcile, request::ReconcileRequest},
};
use loopgate_core::{InstallationId, Login, PrNumber, RepoName, Sha, Timestamp, UserId};
use loopgate_refs::{RefName, RefsError, Seal, StateStore};
use loopgate_render::{RecordedLoop, SavedState};

/// Pages of saved states read at most, of 100 each.
const MOST_PAGES: usize = 3;
/// Attempts whose documents are read: the newest.
const MOST_ATTEMPTS: usize = 10;

/// Reads loops for people who look at them. It writes nothing.
pub struct LoopReader {
    pub(crate) github: Github,
    reconcile: Reconcile,
    seal: Option<Seal>,
    /// Who may read what, as GitHub answered.
    readers: TtlCache<(RepoName, UserId), bool>,
}

impl LoopReader {
    /// States that are not under this seal are not shown, if there is one.
    pub fn new(github: Github, seal: Option<Seal>) -> Self {
        let reconcile = Reconcile::new(github.clone()).sealing(seal.clone());
        Self {
            reconcile,
            github,
            seal,
            readers: TtlCache::default(),
        }
    }

    /// The installation that may see a repository, if this person may read it. GitHub's answer is believed for five
    /// minutes. What it does not show to the App, and what it does not show to the person, are one.
    ///
    /// # Errors
    /// When GitHub does not answer, or asks to wait.
    pub async fn installation_for(
        &self,
        repository: &RepoName,
        (id, login): (UserId, &Login),
    ) -> Result<Option<InstallationId>> {
        let asked = async {
            let Some(installation) = self.github.client(None).installation_of(repository).await?
            else {
                return Ok::<_, Error>(None);
            };
            let (client, key) = (
                self.github.client(Some(installation)),
                (repository.clone(), id),
            );
            let may_read = match self.readers.get(&key, client.now()) {
                Some(known) => known,
                None => {
                    let may_read = may_read(client.repo(repository), id, login).await?;
                    self.readers.put(key, may_read, client.now());
                    may_read
                }
            };
            Ok(may_read.then_some(installation))
        };
        Ok(asked.await.or_refused()?.flatten())
    }

    pub fn objects(&self, installation: InstallationId, repository: &RepoName) -> GithubObjects {
        self.github
            .client(Some(installation))
            .repo(repository)
            .objects()
    }

    /// What would be decided now; none where Loopgate is not switched on, or there is no such pull request.
    ///
    /// # Errors
    /// When GitHub does not answer, or asks to wait.
    pub async fn now(
        &self,
        installation: InstallationId,
        (repository, number): (&RepoName, PrNumber),
        now: Timestamp,
    ) -> Result<Option<Preview>, crate::github::reconcile::Failed> {
        let (installation, repository) = (Some(installation), repository.clone());
        let request = ReconcileRequest {
            installation,
            repository,
            number,
            hints: Vec::new(),
        };
        Box::pin(self.reconcile.peek(&request, now)).await
    }

    /// The run as the newest of its saved states holds it, or the one that `at` names; none where there is none in a
    /// ref.
    ///
    /// # Errors
    /// When GitHub does not answer, or asks to wait.
    pub async fn recorded(
        &self,
        installation: InstallationId,
        (repository, number): (&RepoName, PrNumber),
        at: Option<Sha>,
    ) -> Result<Option<RecordedLoop>, RefsError> {
        let client = self.github.client(Some(installation));
        let objects = client.repo(repository).objects();
        let seal = self.seal.as_ref().map(|seal| seal.of(repository, number));
        let store = StateStore::new(&objects, RefName::pull_request(number)).sealed(seal);
        let Some(tip) = store.tip().await? else {
            return Ok(None);
        };
        let saved = saved_states(client.repo(repository), tip).await?;
        let commit = match at {
            // Any other commit of the repository holds nothing that was saved here.
            Some(at) if !saved.iter().any(|saved| saved.sha == at) => return Ok(None),
            Some(at) => at,
            None => tip,
        };
        let Some((state, history)) = store.recorded(commit).await? else {
            return Ok(None);
        };
        let mut newest: Vec<u32> = state
            .attempts
            .counted
            .iter()
            .map(|attempt| attempt.number)
            .collect();
        newest.drain(..newest.len().saturating_sub(MOST_ATTEMPTS));
        let documents = stream::iter(newest)
            .map(async |number| (number, store.recorded_attempt(commit, number).await));
        let documents: Vec<_> = documents.buffered(MOST_ATTEMPTS).collect().await;
        let mut attempts = BTreeMap::new();
        for (number, document) in documents {
            attempts.extend(document?.map(|document| (number, document)));
        }
        let report = store.report(commit).await?;
        Ok(Some(RecordedLoop {
            commit,
            state,
            history,
            attempts,
            report,
            saved,
        }))
    }
}

/// Whether GitHub lets a person read a repository. `login` is theirs as it once was: who is renamed keeps the id alone
/// (<https://docs.github.com/en/rest/users/users#get-a-user-using-their-id>).
async fn may_read(repo: Repo<'_>, id: UserId, login: &Login) -> Result<bool> {
    if let Some(known) = right_of(repo, id, login).await? {
        return Ok(known);
    }
    let account: Option<User> = repo.get(&format!("/user/{id}")).await.or_absent()?;
    let present = account.and_then(User::login);
    match present.filter(|present| present != login) {
        Some(present) => Ok(right_of(repo, id, &present).await?.unwrap_or_default()),
        None => Ok(false),
    }
}

/// Whether who has the login now may read; none where that is not this account. Ids are never reused.
async fn right_of(repo: Repo<'_>, id: UserId, login: &Login) -> Result<Option<bool>> {
    let login = path::escape(login.as_str());
    let path = repo.path(format!("collaborators/{login}/permission"));
    let rights: Value = repo.get(&path).await.or_absent()?.unwrap_or_default();
    let right = rights["permission"].as_str();
    Ok((rights["user"]["id"] == id.get()).then(|| right.is_some_and(|right| right != "none")))
}

/// The commits of a state ref, newest first.
async fn saved_states(repo: Repo<'_>, tip: Sha) -> Result<Vec<SavedState>, RefsError> {
    let path = repo.path(format!("commits?sha={tip}"));
    let listed = repo
        .list::<ListedCommit>(&path, MOST_PAGES)
        .await
        .or_absent()?;
    let saved = |ListedCommit { sha, commit, .. }: ListedCommit| {
        let subject = commit.message.lines().next().unwrap_or_default().to_owned();
        Some(SavedState {
            sha,
            at: commit.made_at()?,
            subject,
        })
    };
    Ok(listed
        .into_iter()
        .flat_map(|listed| listed.items)
        .filter_map(saved)
        .collect())
}
