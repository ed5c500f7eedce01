//! The documents of a run, in the tree of its ref: `loop-state.json`, `history.jsonl`, `attempts/NNN.json`,
//! `artifact.md`.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{
    GitObjects, NewCommit, RefName, RefsError,
    archive::archived,
    attempt,
    objects::{document, unwritable},
    recover::{self, Damaged},
    seal::{self, SealOf},
};
use loopgate_core::{
    Sha, Timestamp,
    evidence::CheckEvidence,
    metrics::RunLine,
    replay::RecordedAttempt,
    state::{
        LOOP_STATE_SCHEMA, LoopState,
        history::{Event, EventStatus, HistoryLine, LocalLoopStarted, Resumed},
    },
};

pub(super) const STATE_FILE: &str = "loop-state.json";
pub(crate) const HISTORY_FILE: &str = "history.jsonl";
pub(super) const ARTIFACT_FILE: &str = "artifact.md";
/// The signed statement about the merge.
const STATEMENT_FILE: &str = "verdict.dsse.json";
const STATEMENT_LIMIT: usize = 1 << 20;
/// Bytes read at most; what is larger was not written by us.
pub(super) const STATE_LIMIT: usize = 2 << 20;
pub(super) const HISTORY_LIMIT: usize = 8 << 20;
const ARTIFACT_LIMIT: usize = 1 << 20;

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
    /// Readable, but not under our seal.
    Unsealed(Box<LoopState>),
    /// The state of another pull request: somebody put it there, and the documents beside it are that one's too.
    Foreign,
}

/// A run as its ref holds it.
#[derive(Debug)]
pub struct LoadedRun {
    /// The commit it was read from; none when the ref does not exist.
    pub tip: Option<Sha>,
    /// The state, if it is whole.
    pub whole: Option<Box<LoopState>>,
    /// What is left of a state that is missing or unusable.
    pub damaged: Option<Box<Damaged>>,
}

impl LoadedRun {
    /// The state to go on from, and how it was recovered if it had to be. `begin` makes the state of a new run.
    pub fn state(&self, begin: impl FnOnce() -> LoopState) -> (LoopState, Option<String>) {
        match (&self.whole, &self.damaged) {
            (Some(state), _) => (state.as_ref().clone(), None),
            (None, Some(damaged)) => (damaged.rebuild(begin), Some(damaged.to_string())),
            (None, None) => (begin(), None),
        }
    }

    /// How the local loop began, if its state is damaged and its history records it.
    pub fn begun(&self) -> Option<&LocalLoopStarted> {
        self.damaged.as_ref()?.begun()
    }

    /// The state as it was found, if it was whole.
    pub fn intact(&self) -> Option<&LoopState> {
        self.whole.as_deref()
    }
}

/// What one reconcile wants kept.
#[derive(Debug)]
pub struct Save<'a> {
    pub state: &'a LoopState,
    /// To be appended to the history.
    pub lines: &'a [HistoryLine],
    /// The document of an attempt, and where it stands.
    pub attempt: Option<(String, String)>,
    /// The rendered report of the last evaluation, in Markdown.
    pub artifact: &'a str,
    /// The subject of the commit.
    pub subject: &'a str,
    /// The signed statement about the merge, where this is the save after it.
    pub statement: Option<&'a str>,
}

impl<'g, G: GitObjects> StateStore<'g, G> {
    pub const fn new(objects: &'g G, name: RefName) -> Self {
        Self { objects, name, seal: None }
    }

    /// A store that seals what it saves and distrusts what is not sealed.
    pub fn sealed(self, seal: Option<SealOf>) -> Self {
        Self { seal, ..self }
    }

    /// Reads the state, or what can be saved of it.
    ///
    /// # Errors
    /// When the git database does not answer. Damage is no error: it is recovered from and reported.
    pub async fn load(&self) -> Result<LoadedRun, RefsError> {
        self.load_at(self.objects.read_ref(&self.name).await?).await
    }

    /// The commit it was saved in last, although the run may be archived by now.
    ///
    /// # Errors
    /// When the git database does not answer.
    pub async fn tip(&self) -> Result<Option<Sha>, RefsError> {
        match (self.objects.read_ref(&self.name).await?, self.name.number()) {
            (None, Some(number)) => archived(self.objects, number).await,
            (tip, _) => Ok(tip),
        }
    }

    /// [`load`](Self::load) from a commit, if there is one.
    ///
    /// # Errors
    /// As there.
    pub async fn load_at(&self, tip: Option<Sha>) -> Result<LoadedRun, RefsError> {
        let Some(at) = tip else { return Ok(LoadedRun { tip, whole: None, damaged: None }) };
        Ok(match self.state_at(at).await? {
            Ok(state) => LoadedRun { tip, whole: Some(Box::new(state)), damaged: None },
            Err(why) => {
                let damaged = recover::salvage(self, at, why).await?;
                LoadedRun { tip, whole: None, damaged: Some(Box::new(damaged)) }
            }
        })
    }

    /// The state in a commit, or why it is unusable.
    pub(super) async fn state_at(&self, commit: Sha) -> Result<Result<LoopState, Unusable>, RefsError> {
        let broken = |why: String| Ok(Err(Unusable::Broken(why)));
        let bytes = match self.objects.read_file(commit, STATE_FILE, STATE_LIMIT).await {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return broken(format!("{STATE_FILE} is missing")),
            Err(error @ RefsError::TooLarge { .. }) => return broken(error.to_string()),
            Err(error) => return Err(error),
        };
        let unreadable = |error: serde_json::Error| broken(format!("{STATE_FILE} cannot be read: {error}"));
        let mut document: Map<String, Value> = match serde_json::from_slice(&bytes) {
            Ok(document) => document,
            Err(error) => return unreadable(error),
        };
        let trusted = match &self.seal {
            Some(seal) => seal.fits(&mut document),
            None => {
                seal::take_off(&mut document);
                true
            }
        };
        match serde_json::from_value::<LoopState>(Value::Object(document)) {
            Ok(state) if state.schema != LOOP_STATE_SCHEMA => {
                broken(format!("{STATE_FILE} is of another schema than {LOOP_STATE_SCHEMA}"))
            }
            Ok(state) if self.name.number().is_some_and(|number| state.pull_request != Some(number)) => {
                Ok(Err(Unusable::Foreign))
            }
            Ok(state) if trusted => Ok(Ok(state)),
            Ok(state) => Ok(Err(Unusable::Unsealed(Box::new(state)))),
            Err(error) => unreadable(error),
        }
    }

    /// The lines of the history in a commit that can be read; none where there is no such file, or where it is larger than
    /// ours.
    ///
    /// # Errors
    /// When the git database does not answer.
    pub async fn history(&self, commit: Sha) -> Result<Vec<HistoryLine>, RefsError> {
        let bytes = self.objects.read_own(commit, HISTORY_FILE, HISTORY_LIMIT).await?.unwrap_or_default();
        let lines = bytes.split(|byte| *byte == b'\n');
        Ok(lines.filter_map(|line| serde_json::from_slice(line).ok()).collect())
    }

    /// The checks of an attempt as its document keeps them, shortened; none when it has none that can be read.
    ///
    /// # Errors
    /// When the git database does not answer.
    pub async fn recorded_checks(&self, commit: Sha, attempt: u32) -> Result<Vec<CheckEvidence>, RefsError> {
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
    ) -> Result<Option<T>, RefsError> {
        let bytes = self.objects.read_own(commit, &attempt::path(attempt), attempt::READ_LIMIT).await?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// The newest attempts that the run recorded, oldest first, at most `most` of them; none where no state is kept in a ref,
    /// or none can be read.
    ///
    /// # Errors
    /// When the git database does not answer.
    pub async fn recorded_attempts(&self, most: usize) -> Result<Vec<RecordedAttempt>, RefsError> {
        let Some(tip) = self.tip().await? else { return Ok(Vec::new()) };
        let Ok(state) = self.state_at(tip).await? else { return Ok(Vec::new()) };
        let mut attempts = Vec::new();
        for attempt in &state.attempts[state.attempts.len().saturating_sub(most)..] {
            attempts.extend(self.recorded_attempt(tip, attempt.number).await?);
        }
        Ok(attempts)
    }

    /// The rendered report in a commit; empty where there is none that can be read.
    ///
    /// # Errors
    /// When the git database does not answer.
    pub async fn report(&self, commit: Sha) -> Result<String, RefsError> {
        let bytes = self.objects.read_own(commit, ARTIFACT_FILE, ARTIFACT_LIMIT).await?;
        Ok(String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned())
    }

    /// The signed statement about the merge; none where nothing was signed, or where the file is larger than ours.
    ///
    /// # Errors
    /// When the git database does not answer.
    pub async fn statement(&self, commit: Sha) -> Result<Option<Vec<u8>>, RefsError> {
        self.objects.read_own(commit, STATEMENT_FILE, STATEMENT_LIMIT).await
    }

    /// The run as a commit holds it; none where its state cannot be read.
    ///
    /// # Errors
    /// As [`history`](Self::history).
    pub async fn recorded(&self, commit: Sha) -> Result<Option<(LoopState, Vec<HistoryLine>)>, RefsError> {
        let Ok(state) = self.state_at(commit).await? else { return Ok(None) };
        Ok(Some((state, self.history(commit).await?)))
    }

    /// The line of a run that ended then, as a commit holds it.
    ///
    /// # Errors
    /// As [`history`](Self::history).
    pub async fn line(&self, commit: Sha, ended_at: Timestamp) -> Result<Option<RunLine>, RefsError> {
        let Some((state, history)) = self.recorded(commit).await? else { return Ok(None) };
        let mut checks = Vec::new();
        for attempt in &state.attempts {
            checks.extend(self.recorded_checks(commit, attempt.number).await?);
        }
        Ok(Some(RunLine::of(&state, &history, &checks, Some(ended_at))))
    }

    /// Writes one commit on the loaded tip and moves the ref to it. Nothing is written, and `None` returned, when
    /// nothing but [`LoopState::updated_at`] differs from what was loaded.
    ///
    /// # Errors
    /// [`RefsError::RefMoved`] when somebody saved since: load and decide again.
    pub async fn save(&self, loaded: &LoadedRun, save: &Save<'_>) -> Result<Option<Sha>, RefsError> {
        // The first statement stays: what is decided after the merge did not carry it.
        let statement = match (save.statement, loaded.tip) {
            (Some(_), Some(tip)) if self.statement(tip).await?.is_some() => None,
            (statement, _) => statement,
        };
        // Equal in everything but the time of the last change.
        let is_same = |before: &LoopState| before == &LoopState { updated_at: before.updated_at, ..save.state.clone() };
        if loaded.intact().is_some_and(is_same)
            && save.lines.is_empty()
            && save.attempt.is_none()
            && statement.is_none()
        {
            return Ok(None);
        }
        let mut files = vec![(STATE_FILE.to_owned(), self.document(save.state)?)];
        let mut lines = save.lines.to_vec();
        if let Some(damaged) = &loaded.damaged {
            // A recovery is noted in the history too, before whatever came after it.
            let note = Event::Resumed(Resumed::Recovered { recovered: damaged.to_string() });
            lines.insert(0, HistoryLine::of(save.state, save.state.updated_at, note, EventStatus::Fail));
        }
        if !lines.is_empty() {
            files.push((HISTORY_FILE.to_owned(), self.appended(loaded.tip, &lines).await?));
        }
        files.extend(save.attempt.clone());
        files.push((ARTIFACT_FILE.to_owned(), save.artifact.to_owned()));
        files.extend(statement.map(|text| (STATEMENT_FILE.to_owned(), text.to_owned())));
        let commit = NewCommit { parent: loaded.tip, files: &files, subject: save.subject, ..NewCommit::default() };
        self.objects.commit(&self.name, commit).await.map(Some)
    }

    /// Gives a run that was archived its ref again, and loads it.
    ///
    /// # Errors
    /// When the git database does not answer.
    pub async fn unfold(&self, tip: Sha) -> Result<LoadedRun, RefsError> {
        match self.objects.compare_and_swap(&self.name, None, tip).await {
            Ok(()) => self.load_at(Some(tip)).await,
            Err(RefsError::RefMoved { .. }) => self.load().await,
            Err(error) => Err(error),
        }
    }

    /// Takes over a run that was kept elsewhere until now, with all its documents.
    ///
    /// # Errors
    /// [`RefsError::RefMoved`] when somebody was faster.
    pub async fn adopt<O: GitObjects>(
        &self,
        from: &StateStore<'_, O>,
        tip: Sha,
        state: &LoopState,
    ) -> Result<(), RefsError> {
        let documents = [(STATE_FILE, STATE_LIMIT), (HISTORY_FILE, HISTORY_LIMIT), (ARTIFACT_FILE, ARTIFACT_LIMIT)];
        let documents = documents.map(|(path, limit)| (path.to_owned(), limit)).into_iter();
        let attempts = state.attempts.iter().map(|attempt| (attempt::path(attempt.number), attempt::READ_LIMIT));
        let mut files = Vec::new();
        for (path, limit) in documents.chain(attempts) {
            let bytes = from.objects.read_own(tip, &path, limit).await?;
            files.extend(bytes.map(|bytes| (path, String::from_utf8_lossy(&bytes).into_owned())));
        }
        let commit = NewCommit {
            parent: None,
            files: &files,
            subject: "taken over from where it was kept before",
            ..NewCommit::default()
        };
        self.objects.commit(&self.name, commit).await.map(drop)
    }

    /// `loop-state.json`, sealed if we have a key.
    fn document(&self, state: &LoopState) -> Result<String, RefsError> {
        let mut value = serde_json::to_value(state).map_err(unwritable)?;
        if let (Some(seal), Value::Object(fields)) = (&self.seal, &mut value) {
            seal.put_on(fields);
        }
        document(&value)
    }

    /// The history with lines appended. What stands there stays byte for byte; a history too large to have been
    /// written by us is left to the older commits, and a new one begun.
    async fn appended(&self, tip: Option<Sha>, lines: &[HistoryLine]) -> Result<String, RefsError> {
        let before = match tip {
            None => None,
            Some(tip) => self.objects.read_own(tip, HISTORY_FILE, HISTORY_LIMIT).await?,
        };
        let mut text = before.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        for line in lines {
            text.push_str(&serde_json::to_string(line).map_err(unwritable)?);
            text.push('\n');
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests;
