//! The debug memory of repositories on GitHub: asked before a failing attempt is told, written after the verdict is shown.
//!
//! A memory helps; nothing depends on it. Where it cannot be read nothing is told, and where it cannot be written a line
//! waits, or is let go: no turn fails for it. Written is at most once a minute for each repository, by whichever turn
//! comes then. What waits is kept in the process, and goes with it: of a killed process the memory lacks a minute.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, PoisonError},
};

use chrono::TimeDelta;
use futures::future::join_all;

use super::{Client, Error, GithubObjects, Observation, client::blob_id, observe::pushed_between, path};
use crate::refs::{MemoryNotes, MemoryStore, RefsError};
use loopgate_core::{
    RepoName, Sha, Timestamp,
    deciding::{Decision, MemoryAnswers},
    memory::{AppliedFix, CitedFile, Index, LineStatus, MemoryMatch, Retention},
    observed::{ChangedFile, Snapshot},
    policy::{Policy, StateBackend},
};

/// Between two writes of a repository.
const PAUSE: TimeDelta = TimeDelta::minutes(1);
/// After a write that failed: what is in trouble mostly is for seconds.
const AGAIN: TimeDelta = TimeDelta::seconds(15);
/// After a write that GitHub refused twice in a row: the permission is missing, and mostly stays so.
const AFTER_A_REFUSAL: TimeDelta = TimeDelta::hours(1);
/// Lines that wait for one repository at most.
const MOST_WAITING: usize = 200;
/// Repositories, and runs of one, that are known at most.
const MOST_KNOWN: usize = 4_096;
/// Files that are read to see whether cards still hold, and bytes of each.
const MOST_CITED: usize = 8;
const CITED_BYTES: usize = 1 << 20;

/// Who writes the lines that a look may find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writers {
    ThisProcess,
    Others,
}

/// What waits to be written, and what was.
#[derive(Debug, Default)]
pub(super) struct DebugMemory(Mutex<BTreeMap<RepoName, OfRepository>>);

#[derive(Debug, Default)]
struct OfRepository {
    waiting: MemoryNotes,
    not_before: Option<Timestamp>,
    /// The last write was refused.
    is_doubtful: bool,
    /// Until then nothing is kept: it may not be written.
    refused_until: Option<Timestamp>,
    /// Cards that each run has taught, for the looks after its pass was written.
    taught: BTreeMap<String, u32>,
    /// Runs whose pass was written since they were looked at.
    untold: BTreeSet<String>,
}

impl DebugMemory {
    fn with<T>(&self, repository: &RepoName, change: impl FnOnce(&mut OfRepository) -> T) -> T {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_KNOWN {
            known.retain(|_, of| !of.waiting.lines.is_empty());
        }
        change(known.entry(repository.clone()).or_default())
    }

    /// Asks the memory what a decision needs of it, and puts that into the decision.
    ///
    /// A process that stays knows what it wrote; one of a single turn asks what the one before it wrote.
    pub async fn recall(&self, client: &Client, observation: &Observation, decision: &mut Decision, writers: Writers) {
        let Observation { snapshot, policy, .. } = observation;
        let questions = decision.memory_questions(policy);
        let change = match questions.changed_since {
            Some(from) => change(client, snapshot, decision, from).await,
            None => Ok(None),
        };
        let matches = match (questions.look_up, policy.state) {
            (false, _) => Ok(None),
            (true, StateBackend::Ref) => look_up(client, snapshot, policy, decision).await.map(Some),
            // Where no ref may be written there is none to read, and a comment has no room for more.
            (true, StateBackend::Comment | StateBackend::Artifact) => Ok(Some(Vec::new())),
        };
        let errors = [change.as_ref().err().map(ToString::to_string), matches.as_ref().err().map(ToString::to_string)];
        for error in errors.into_iter().flatten() {
            tracing::info!(error, "the debug memory could not be asked");
        }
        decision.remember(MemoryAnswers { change: change.unwrap_or_default(), matches: matches.unwrap_or_default() });
        let Some(attempt) = decision.unrecorded() else { return };
        let run = decision.next.run_id.clone();
        let taught = match self.with(&snapshot.repository, |of| of.taught.get(&run).copied()) {
            None if writers == Writers::Others && policy.state == StateBackend::Ref && decision.attempt.is_none() => {
                let objects = GithubObjects::new(client.clone(), snapshot.repository.clone());
                let store = MemoryStore::new(&objects, Retention { days: policy.memory.retention_days });
                store
                    .taught(&run, attempt, client.now())
                    .await
                    .ok()
                    .flatten()
                    .and_then(|cards| u32::try_from(cards).ok())
            }
            known => known,
        };
        if let Some(taught) = taught {
            decision.note_recorded(taught);
        }
    }

    /// Notes what a decision that was saved leaves to be remembered.
    pub fn note(&self, snapshot: &Snapshot, decision: &Decision) {
        let merged = decision.merges_from_outside(snapshot).then(|| decision.next.run_id.clone());
        let line = decision.memory_line(snapshot);
        if line.is_some() || merged.is_some() {
            self.with(&snapshot.repository, |of| {
                of.waiting.lines.extend(line.filter(|_| of.waiting.lines.len() < MOST_WAITING));
                of.waiting.merged.extend(merged);
            });
        }
    }

    /// Writes what waits for a repository, if it is time; else when it will be.
    pub async fn write(&self, client: &Client, repository: &RepoName, days: u32, now: Timestamp) -> Option<Timestamp> {
        let due = self.with(repository, |of| {
            if of.refused_until.is_some_and(|until| until > now) {
                of.waiting = MemoryNotes::default();
            }
            if of.waiting.lines.is_empty() && of.waiting.merged.is_empty() {
                return Ok(None);
            }
            match of.not_before.filter(|at| *at > now) {
                Some(at) => Err(at),
                None => {
                    of.not_before = Some(now + PAUSE);
                    Ok(Some(std::mem::take(&mut of.waiting)))
                }
            }
        });
        let notes = match due {
            Ok(None) => return None,
            Ok(Some(notes)) => notes,
            Err(at) => return Some(at),
        };
        let objects = GithubObjects::new(client.clone(), repository.clone());
        let written = MemoryStore::new(&objects, Retention { days }).record(&notes, now).await;
        self.with(repository, |of| match written {
            Ok(recorded) => {
                of.is_doubtful = false;
                let mended =
                    |line: &&loopgate_core::memory::MemoryLine| line.status == LineStatus::Passed && line.attempt > 1;
                for line in notes.lines.iter().filter(mended) {
                    if of.taught.len() >= MOST_KNOWN {
                        of.taught.pop_first();
                    }
                    let taught = recorded.taught.get(&line.session_id).copied().unwrap_or_default();
                    of.taught.insert(line.session_id.clone(), u32::try_from(taught).unwrap_or(u32::MAX));
                    of.untold.insert(line.session_id.clone());
                }
                None
            }
            Err(RefsError::Refused(reason)) if of.is_doubtful => {
                tracing::info!(reason, "the debug memory may not be written");
                of.is_doubtful = false;
                of.refused_until = Some(now + AFTER_A_REFUSAL);
                None
            }
            Err(error) => {
                of.is_doubtful = matches!(error, RefsError::Refused(_));
                tracing::warn!(%error, "the debug memory could not be written; it is tried again");
                let newer = std::mem::replace(&mut of.waiting, notes);
                of.waiting.lines.extend(newer.lines);
                of.waiting.merged.extend(newer.merged);
                of.not_before = Some(now + AGAIN);
                of.not_before
            }
        })
    }

    /// Whether a run's pass was written since it was last asked: its status says so at the next look.
    pub fn has_news(&self, repository: &RepoName, run_id: &str) -> bool {
        self.with(repository, |of| of.untold.remove(run_id))
    }
}

/// What was pushed since an attempt that failed, as far as it is the pull request's own.
async fn change(
    client: &Client,
    snapshot: &Snapshot,
    decision: &Decision,
    from: Sha,
) -> Result<Option<(AppliedFix, Vec<ChangedFile>)>, Error> {
    let to = snapshot.pull_request.head.sha;
    let Some((files, subjects)) = pushed_between(client, &snapshot.repository, from, to).await? else {
        return Ok(None);
    };
    // What came with a merge of the base mended nothing here, or did it for everybody.
    let own: BTreeSet<&str> = snapshot.files.known().iter().map(|file| file.path.as_str()).collect();
    let files: Vec<ChangedFile> = files.into_iter().filter(|file| own.contains(file.path.as_str())).collect();
    let failing = decision.next.attempts.iter().rev().find(|attempt| attempt.head_sha == from);
    let failing = failing.map(|attempt| attempt.summary.clone()).unwrap_or_default();
    let failing: BTreeSet<String> =
        files.iter().filter(|file| failing.contains(&file.path)).map(|file| file.path.clone()).collect();
    let described = subjects.iter().rev().take(3).rev().map(String::as_str).collect::<Vec<_>>().join("; ");
    Ok(Some((AppliedFix::of(to, &described, &files, &failing), files)))
}

/// What the memory says of the head's errors and of what people search for. The cards are named by their commit, so an
/// unchanged memory costs one conditional request.
async fn look_up(
    client: &Client,
    snapshot: &Snapshot,
    policy: &Policy,
    decision: &mut Decision,
) -> Result<Vec<MemoryMatch>, RefsError> {
    let objects = GithubObjects::new(client.clone(), snapshot.repository.clone());
    let memory = MemoryStore::new(&objects, Retention { days: policy.memory.retention_days }).load().await?;
    let index = Index::of(&memory);
    decision.search(&index);
    let recalled = decision.look_up(&index, snapshot, policy);
    let cited: BTreeSet<&str> = recalled.iter().flat_map(|found| found.cited()).take(64).collect();
    let read = cited.into_iter().take(MOST_CITED).map(async |cited| {
        let repository = path::repo(&snapshot.repository);
        let head = snapshot.pull_request.head.sha;
        let at = format!("{repository}/contents/{}?ref={head}", path::escape_path(cited));
        Some((cited, client.get_file(&at, CITED_BYTES).await.ok()??))
    });
    let files: BTreeMap<&str, (Sha, String)> = join_all(read)
        .await
        .into_iter()
        .flatten()
        .map(|(cited, bytes)| (cited, (blob_id(&bytes), String::from_utf8_lossy(&bytes).into_owned())))
        .collect();
    let file = |path: &str| files.get(path).map(|(blob, text)| CitedFile { blob: Some(*blob), text });
    let run = &decision.next.run_id;
    Ok(recalled.iter().flat_map(|found| found.matches(run, &policy.memory, |card| card.verify(file))).collect())
}
