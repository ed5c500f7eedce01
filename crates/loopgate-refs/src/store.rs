//! Loads and saves the documents of a run.

use super::{
    GitObjects, NewCommit, RefsError, Result, StateStore, TreeFile, attempt,
    documents::{
        ARTIFACT_FILE, ARTIFACT_LIMIT, HISTORY_FILE, HISTORY_LIMIT, STATE_FILE, STATE_LIMIT,
        STATEMENT_FILE,
    },
    objects::unwritable,
    recover::{self, Damaged},
};
use loopgate_core::{
    Sha,
    state::{
        LoopState,
        history::{Event, EventStatus, HistoryLine, LocalLoopStarted, Resumed},
    },
};

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
    pub attempt: Option<TreeFile>,
    /// The rendered report of the last evaluation, in Markdown.
    pub artifact: &'a str,
    /// The subject of the commit.
    pub subject: &'a str,
    /// The signed statement about the merge, where this is the save after it.
    pub statement: Option<&'a str>,
}

impl<G: GitObjects> StateStore<'_, G> {
    /// Reads the state, or what can be saved of it.
    ///
    /// # Errors
    /// When the git database does not answer, or where a newer version of Loopgate saved the state. Damage is no error:
    /// it is recovered from and reported.
    pub async fn load(&self) -> Result<LoadedRun> {
        self.load_at(self.objects.read_ref(&self.name).await?).await
    }

    /// [`load`](Self::load) from a commit, if there is one.
    ///
    /// # Errors
    /// As there.
    pub async fn load_at(&self, tip: Option<Sha>) -> Result<LoadedRun> {
        let Some(at) = tip else {
            return Ok(LoadedRun {
                tip,
                whole: None,
                damaged: None,
            });
        };
        Ok(match self.state_at(at).await? {
            Ok(state) => LoadedRun {
                tip,
                whole: Some(Box::new(state)),
                damaged: None,
            },
            Err(why) => {
                let damaged = recover::salvage(self, at, why).await?;
                LoadedRun {
                    tip,
                    whole: None,
                    damaged: Some(Box::new(damaged)),
                }
            }
        })
    }

    /// Writes one commit on the loaded tip and moves the ref to it. Nothing is written, and `None` returned, when
    /// nothing but [`Run::updated_at`](loopgate_core::state::Run::updated_at) differs from what was loaded.
    ///
    /// # Errors
    /// [`RefsError::RefMoved`] when somebody saved since: load and decide again.
    pub async fn save(&self, loaded: &LoadedRun, save: &Save<'_>) -> Result<Option<Sha>> {
        // The first statement stays: what is decided after the merge did not carry it.
        let statement = match (save.statement, loaded.tip) {
            (Some(_), Some(tip)) if self.statement(tip).await?.is_some() => None,
            (statement, _) => statement,
        };
        // Equal in everything but the time of the last change.
        let is_same = |before: &LoopState| {
            let mut now = save.state.clone();
            now.run.updated_at = before.run.updated_at;
            *before == now
        };
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
            let note = Event::Resumed(Resumed::Recovered {
                recovered: damaged.to_string(),
            });
            lines.insert(
                0,
                HistoryLine::of(
                    save.state,
                    save.state.run.updated_at,
                    note,
                    EventStatus::Fail,
                ),
            );
        }
        if !lines.is_empty() {
            files.push((
                HISTORY_FILE.to_owned(),
                self.appended(loaded.tip, &lines).await?,
            ));
        }
        files.extend(save.attempt.clone());
        files.push((ARTIFACT_FILE.to_owned(), save.artifact.to_owned()));
        files.extend(statement.map(|text| (STATEMENT_FILE.to_owned(), text.to_owned())));
        let commit = NewCommit {
            parent: loaded.tip,
            files: &files,
            subject: save.subject,
            ..NewCommit::default()
        };
        self.objects.commit(&self.name, commit).await.map(Some)
    }

    /// Gives a run that was archived its ref again, and loads it.
    ///
    /// # Errors
    /// When the git database does not answer.
    pub async fn unfold(&self, tip: Sha) -> Result<LoadedRun> {
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
    ) -> Result<()> {
        let documents = [
            (STATE_FILE, STATE_LIMIT),
            (HISTORY_FILE, HISTORY_LIMIT),
            (ARTIFACT_FILE, ARTIFACT_LIMIT),
        ];
        let documents = documents
            .map(|(path, limit)| (path.to_owned(), limit))
            .into_iter();
        let attempts = state
            .attempts
            .counted
            .iter()
            .map(|attempt| (attempt::path(attempt.number), attempt::READ_LIMIT));
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

    /// The history with lines appended. What stands there stays byte for byte; a history too large to have been
    /// written by us is left to the older commits, and a new one begun.
    async fn appended(&self, tip: Option<Sha>, lines: &[HistoryLine]) -> Result<String> {
        let before = match tip {
            None => None,
            Some(tip) => {
                self.objects
                    .read_own(tip, HISTORY_FILE, HISTORY_LIMIT)
                    .await?
            }
        };
        let mut text = before
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default();
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
