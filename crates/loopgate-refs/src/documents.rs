//! The documents of a run, in the tree of its ref: `loop-state.json`, `history.jsonl`, `attempts/NNN.json`,
//! `artifact.md`.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{
    GitObjects, RefName, RefsError, Result,
    archive::archived,
    attempt,
    objects::{document, unwritable},
    seal::{self, Carried, SealOf},
};
use loopgate_core::{
    Sha, Timestamp,
    evidence::CheckEvidence,
    metrics::RunLine,
    replay::RecordedAttempt,
    state::{LoopState, UnreadableState, history::HistoryLine},
};

pub(super) const STATE_FILE: &str = "loop-state.json";
/// The file of a run that has a line for each of its events, beside its state.
pub const HISTORY_FILE: &str = "history.jsonl";
pub(super) const ARTIFACT_FILE: &str = "artifact.md";
/// The signed statement about the merge.
pub(super) const STATEMENT_FILE: &str = "verdict.dsse.json";
pub(super) const STATEMENT_LIMIT: usize = 1 << 20;
/// Bytes read at most; what is larger was not written by us.
pub(super) const STATE_LIMIT: usize = 2 << 20;
pub(super) const HISTORY_LIMIT: usize = 8 << 20;
pub(super) const ARTIFACT_LIMIT: usize = 1 << 20;

/// Loads and saves one run.
#[derive(Debug, Clone)]
pub struct StateStore<'g, G> {
    /// Where it is kept.
    pub objects: &'g G,
    pub(super) name: RefName,
    pub(super) seal: Option<SealOf>,
}

/// Why a state cannot be used as it stands.
#[derive(Debug)]
pub(super) enum Unusable {
    Broken(String),
    /// A newer version wrote it.
    Newer(String),
    /// Readable, but not under our seal.
    Unsealed(Box<LoopState>),
    /// The state of another pull request: somebody put it there, and the documents beside it are that one's too.
    Foreign,
}

impl<'g, G: GitObjects> StateStore<'g, G> {
    pub const fn new(objects: &'g G, name: RefName) -> Self {
        Self {
            objects,
            name,
            seal: None,
        }
    }

    /// A store that seals what it saves and distrusts what is not sealed.
    pub fn sealed(self, seal: Option<SealOf>) -> Self {
        Self { seal, ..self }
    }

    /// The commit it was saved in last, although the run may be archived by now.
    ///
    /// # Errors
    /// When the git database does not answer.
    pub async fn tip(&self) -> Result<Option<Sha>> {
        match (self.objects.read_ref(&self.name).await?, self.name.number()) {
            (None, Some(number)) => archived(self.objects, number).await,
            (tip, _) => Ok(tip),
        }
    }

    /// The state in a commit, or why it is unusable.
    pub(super) async fn state_at(&self, commit: Sha) -> Result<Result<LoopState, Unusable>> {
        let broken = |why: String| Ok(Err(Unusable::Broken(why)));
        let bytes = match self
            .objects
            .read_file(commit, STATE_FILE, STATE_LIMIT)
            .await
        {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return broken(format!("{STATE_FILE} is missing")),
            Err(error @ RefsError::TooLarge { .. }) => return broken(error.to_string()),
            Err(error) => return Err(error),
        };
        let unreadable =
            |error: serde_json::Error| broken(format!("{STATE_FILE} cannot be read: {error}"));
        let mut document: Map<String, Value> = match serde_json::from_slice(&bytes) {
            Ok(document) => document,
            Err(error) => return unreadable(error),
        };
        let trusted = match self.seal.as_ref().map(|seal| seal.take_off(&mut document)) {
            Some(Carried::This) => true,
            Some(Carried::Elsewhere(name)) => self.objects.was_called(&name).await?,
            Some(Carried::None) => false,
            None => {
                document.shift_remove(seal::FIELD);
                true
            }
        };
        match LoopState::read(document) {
            // It may be whole. Under no seal of ours somebody could have put it there to stop the run.
            Err(error @ UnreadableState::Newer { .. }) if trusted => Ok(Err(Unusable::Newer(
                format!("{STATE_FILE} {error}; a newer Loopgate wrote it, so it is left as it is"),
            ))),
            Ok(state)
                if self
                    .name
                    .number()
                    .is_some_and(|number| state.run.pull_request != Some(number)) =>
            {
                Ok(Err(Unusable::Foreign))
            }
            Ok(state) if trusted => Ok(Ok(state)),
            Ok(state) => Ok(Err(Unusable::Unsealed(Box::new(state)))),
            Err(error) => broken(format!("{STATE_FILE} {error}")),
        }
    }

    /// The lines of the history in a commit that can be read; none where there is no such file, or where it is larger
    /// than ours.
    ///
    /// # Errors
    /// When the git database does not answer.
    pub async fn history(&self, commit: Sha) -> Result<Vec<HistoryLine>> {
        let bytes = self
            .objects
            .read_own(commit, HISTORY_FILE, HISTORY_LIMIT)
            .await?
            .unwrap_or_default();
        let lines = bytes.split(|byte| *byte == b'\n');
        Ok(lines
            .filter_map(|line| serde_json::from_slice(line).ok())
            .collect())
    }

    /// The checks of an attempt as its document keeps them, shortened; none when it has none that can be read.
    ///
    /// # Errors
    /// When the git database does not answer.
    pub async fn recorded_checks(&self, commit: Sha, attempt: u32) -> Result<Vec<CheckEvidence>> {
        let read: Option<RecordedAttempt> = self.recorded_attempt(commit, attempt).await?;
        Ok(read.map(|read| read.checks).unwrap_or_default())
    }

    /// The document of an attempt, `attempts/NNN.json`; none when it has none that can be read.
    ///
    /// # Errors
    /// When the git database does not answer.
    pub async fn recorded_attempt<T: DeserializeOwned>(
        &self,
        commit: Sha,
        attempt: u32,
    ) -> Result<Option<T>> {
        let bytes = self
            .objects
            .read_own(commit, &attempt::path(attempt), attempt::READ_LIMIT)
            .await?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// The newest attempts that the run recorded, oldest first, at most `most` of them; none where no state is kept in
    /// a ref, or none can be read.
    ///
    /// # Errors
    /// When the git database does not answer.
    pub async fn recorded_attempts(&self, most: usize) -> Result<Vec<RecordedAttempt>> {
        let Some(tip) = self.tip().await? else {
            return Ok(Vec::new());
        };
        let Ok(state) = self.state_at(tip).await? else {
            return Ok(Vec::new());
        };
        let mut attempts = Vec::new();
        for attempt in &state.attempts.counted[state.attempts.counted.len().saturating_sub(most)..]
        {
            attempts.extend(self.recorded_attempt(tip, attempt.number).await?);
        }
        Ok(attempts)
    }

    /// The rendered report in a commit; empty where there is none that can be read.
    ///
    /// # Errors
    /// When the git database does not answer.
    pub async fn report(&self, commit: Sha) -> Result<String> {
        let bytes = self
            .objects
            .read_own(commit, ARTIFACT_FILE, ARTIFACT_LIMIT)
            .await?;
        Ok(String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned())
    }

    /// The signed statement about the merge; none where nothing was signed, or where the file is larger than ours.
    ///
    /// # Errors
    /// When the git database does not answer.
    pub async fn statement(&self, commit: Sha) -> Result<Option<Vec<u8>>> {
        self.objects
            .read_own(commit, STATEMENT_FILE, STATEMENT_LIMIT)
            .await
    }

    /// The run as a commit holds it; none where its state cannot be read.
    ///
    /// # Errors
    /// As [`history`](Self::history).
    pub async fn recorded(&self, commit: Sha) -> Result<Option<(LoopState, Vec<HistoryLine>)>> {
        let Ok(state) = self.state_at(commit).await? else {
            return Ok(None);
        };
        Ok(Some((state, self.history(commit).await?)))
    }

    /// The line of a run that ended then, as a commit holds it.
    ///
    /// # Errors
    /// As [`history`](Self::history).
    pub async fn line(&self, commit: Sha, ended_at: Timestamp) -> Result<Option<RunLine>> {
        let Some((state, history)) = self.recorded(commit).await? else {
            return Ok(None);
        };
        let mut checks = Vec::new();
        for attempt in &state.attempts.counted {
            checks.extend(self.recorded_checks(commit, attempt.number).await?);
        }
        Ok(Some(RunLine::of(&state, &history, &checks, Some(ended_at))))
    }

    /// `loop-state.json`, sealed if we have a key.
    pub(super) fn document(&self, state: &LoopState) -> Result<String> {
        let mut value = serde_json::to_value(state).map_err(unwritable)?;
        if let (Some(seal), Value::Object(fields)) = (&self.seal, &mut value) {
            seal.put_on(fields);
        }
        document(&value)
    }
}
