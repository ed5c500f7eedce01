//! The debug memory of repositories on GitHub: read before a failing attempt is shown, written after the verdict is.
//!
//! No turn depends on it. If it cannot be read, nothing of it is shown. If it cannot be written, lines wait, or are
//! dropped. Each repository's memory is written at most once a minute, by the first turn then. Waiting lines are kept
//! in the process: if it is killed, the memory lacks up to a minute.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;
use futures::future::join_all;
use parking_lot::Mutex;

use crate::github::{
    client::{
        Client,
        error::{Error, Result},
        path,
        repo::Repo,
    },
    observe::{Observation, pushed_between},
    reconcile::request::ReconcileRequest,
};
use loopgate_core::{
    PrNumber, RepoName, Sha, Timestamp,
    deciding::{Decision, MemoryAnswers, NextAction},
    memory::{AppliedFix, Memory, MemoryLine, Retention},
    observed::{ChangedFile, Snapshot},
    policy::{Policy, StateBackend},
};
use loopgate_refs::{MemoryNotes, MemoryStore, RefsError};

/// Between two writes of a repository.
const PAUSE: TimeDelta = TimeDelta::minutes(1);
/// After a write that failed: what is in trouble mostly is for seconds.
const AGAIN: TimeDelta = TimeDelta::seconds(15);
/// After writes that GitHub went on refusing: the permission is missing, and mostly stays so.
const AFTER_A_REFUSAL: TimeDelta = TimeDelta::hours(1);
/// Lines that wait for one repository at most.
const MOST_WAITING: usize = 200;
/// Repositories, and runs of one, that are known at most.
const MOST_KNOWN: usize = 4_096;
/// How long it is asked again what a line's fix changed. Then the line is written without.
const ASKED_FOR: TimeDelta = TimeDelta::hours(1);
/// How long writes must be refused before no look is made to repeat them: the first look an hour later tries again.
const REFUSED_FOR: TimeDelta = TimeDelta::minutes(2);
/// How long a repository without cards is believed to have none: other processes may write the first.
const ABSENCE_IS_BELIEVED_FOR: TimeDelta = TimeDelta::minutes(1);
/// Files that are read to see whether cards still hold, and bytes of each.
const MOST_CITED: usize = 8;
const CITED_BYTES: usize = 1 << 20;

/// What waits to be written, and what was.
#[derive(Debug, Default)]
pub(in crate::github) struct DebugMemory(Mutex<BTreeMap<RepoName, RepositoryMemory>>);

#[derive(Debug, Default)]
struct RepositoryMemory {
    /// What runs leave to be remembered once their saved states contain it. The answer to a save may be lost.
    unsaved: BTreeMap<String, Unsaved>,
    waiting: MemoryNotes,
    /// What waiting or coming lines still lack, by their runs.
    unanswered: BTreeMap<String, PushedSince>,
    not_before: Option<Timestamp>,
    /// The pull request whose next look writes what waits, and when that look is due.
    writer: Option<(PrNumber, Timestamp)>,
    /// Until then nothing is there to be looked up.
    without_cards_until: Option<Timestamp>,
    /// Since when writes are refused.
    refused_since: Option<Timestamp>,
}

impl RepositoryMemory {
    /// When this pull request is looked at again to write what waits; `None` if another one is.
    fn looked_at_again(
        &mut self,
        number: PrNumber,
        at: Timestamp,
        now: Timestamp,
    ) -> Option<Timestamp> {
        if self
            .writer
            .is_some_and(|(other, due)| other != number && due >= now)
        {
            return None;
        }
        self.writer = Some((number, at));
        Some(at)
    }
}

/// Of no more runs than are known at most.
fn put<T>(of_runs: &mut BTreeMap<String, T>, run: &str, value: T) {
    if of_runs.len() >= MOST_KNOWN {
        of_runs.pop_first();
    }
    of_runs.insert(run.to_owned(), value);
}

#[derive(Debug)]
struct Unsaved {
    line: Option<MemoryLine>,
    is_merged: bool,
}

/// The question what a run pushed after an attempt that failed.
#[derive(Debug, Clone)]
struct PushedSince {
    from: Sha,
    to: Sha,
    /// The files of the pull request. What came with a merge of the base mended nothing here, or did it for everybody.
    own: BTreeSet<String>,
    /// The summary of the failing attempt: it names files.
    failing: String,
    asked_until: Timestamp,
}

impl DebugMemory {
    fn with<T>(&self, repository: &RepoName, change: impl FnOnce(&mut RepositoryMemory) -> T) -> T {
        let mut known = self.0.lock();
        if known.len() >= MOST_KNOWN {
            known.retain(|_, of| !of.waiting.lines.is_empty() || !of.unsaved.is_empty());
        }
        change(known.entry(repository.clone()).or_default())
    }

    /// Asks the memory what a decision needs of it, and puts that into the decision.
    pub async fn recall(
        &self,
        client: &Client,
        observation: &Observation,
        decision: &mut Decision,
    ) {
        let Observation {
            snapshot, policy, ..
        } = observation;
        let questions = decision.memory_questions(policy);
        let since = questions
            .changed_since
            .map(|from| PushedSince::of(from, snapshot, decision, client.now()));
        let change = match &since {
            Some(since) => since.ask(client.repo(&snapshot.repository)).await,
            None => Ok(None),
        };
        if let (Some(since), Err(_)) = (since, &change) {
            self.with(&snapshot.repository, |of| {
                put(&mut of.unanswered, &decision.next.run.id, since)
            });
        }
        let found = match (questions.look_up, policy.state) {
            (false, _) => Ok(MemoryAnswers::default()),
            (true, StateBackend::Ref) => match self.cards(client, snapshot, policy).await {
                Ok(memory) => Ok(lookup(client, observation, decision, &memory).await),
                Err(error) => Err(error),
            },
            // Where no ref may be written there is none to read, and a comment has no room for more.
            (true, StateBackend::Comment | StateBackend::Artifact) => Ok(MemoryAnswers {
                matches: Some(Vec::new()),
                ..Default::default()
            }),
        };
        let errors = [
            change.as_ref().err().map(ToString::to_string),
            found.as_ref().err().map(ToString::to_string),
        ];
        for error in errors.into_iter().flatten() {
            tracing::info!(error, "the debug memory could not be asked");
        }
        decision.remember(MemoryAnswers {
            change: change.unwrap_or_default(),
            ..found.unwrap_or_default()
        });
    }

    /// The cards. Where there were none a moment ago, and none were written here since, there are none now.
    async fn cards(
        &self,
        client: &Client,
        snapshot: &Snapshot,
        policy: &Policy,
    ) -> Result<Memory, RefsError> {
        let (repository, now) = (&snapshot.repository, client.now());
        if self.with(repository, |of| {
            of.without_cards_until.is_some_and(|until| until > now)
        }) {
            return Ok(Memory::default());
        }
        let objects = client.repo(repository).objects();
        let store = MemoryStore::new(&objects, &policy.memory, now);
        let (tip, memory) = store.cards().await?;
        let until = tip.is_none().then(|| now + ABSENCE_IS_BELIEVED_FOR);
        self.with(repository, |of| of.without_cards_until = until);
        Ok(memory)
    }

    /// Keeps what a decision that is about to be saved leaves to be remembered.
    pub fn expect(&self, snapshot: &Snapshot, decision: &Decision) {
        let unsaved = Unsaved {
            line: decision.memory_line(snapshot),
            is_merged: decision.merges_from_outside(snapshot),
        };
        if unsaved.line.is_some() || unsaved.is_merged {
            self.with(&snapshot.repository, |of| {
                put(&mut of.unsaved, &decision.next.run.id, unsaved)
            });
        }
    }

    /// Notes what was kept of a run, now that its state is known: a save whose answer was lost shows in the state too.
    pub fn note(&self, repository: &RepoName, decision: &Decision) {
        let run = &decision.next.run.id;
        let is_recorded = |line: &MemoryLine| {
            decision
                .next
                .attempt_of(line.head_sha)
                .is_some_and(|attempt| attempt.number == line.attempt)
        };
        self.with(repository, |of| {
            let Some(Unsaved { line, is_merged }) = of.unsaved.remove(run) else {
                return;
            };
            let has_room = of.waiting.lines.len().max(of.waiting.merged.len()) < MOST_WAITING;
            of.waiting
                .lines
                .extend(line.filter(|line| has_room && is_recorded(line)));
            let is_merged = has_room && is_merged && decision.action == NextAction::Complete;
            of.waiting.merged.extend(is_merged.then(|| run.clone()));
        });
    }

    /// Writes what waits for a repository, if it is time; else when this pull request is looked at again to do so.
    pub async fn write(
        &self,
        client: &Client,
        job: &ReconcileRequest,
        days: u32,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let ReconcileRequest {
            repository, number, ..
        } = job;
        let due = self.with(repository, |of| {
            if of.waiting.lines.is_empty() && of.waiting.merged.is_empty() {
                return Ok(None);
            }
            match of.not_before.filter(|at| *at > now) {
                Some(at) => Err(of.looked_at_again(*number, at, now)),
                None => {
                    of.not_before = Some(now + PAUSE);
                    Ok(Some(std::mem::take(&mut of.waiting)))
                }
            }
        });
        let mut notes = match due {
            Ok(None) => return None,
            Ok(Some(notes)) => notes,
            Err(at) => return at,
        };
        let objects = client.repo(repository).objects();
        let written = match self
            .ask_again(client.repo(repository), &mut notes, now)
            .await
        {
            Ok(()) => {
                MemoryStore::new(&objects, Retention { days }, now)
                    .record(&notes)
                    .await
            }
            Err(error) => Err(error),
        };
        self.with(repository, |of| match written {
            Ok(()) => {
                (of.refused_since, of.without_cards_until) = (None, None);
                None
            }
            Err(error) => {
                let is_refused = matches!(error, RefsError::Refused(_));
                of.refused_since = is_refused.then(|| of.refused_since.unwrap_or(now));
                tracing::warn!(%error, "the debug memory could not be written; it is tried again");
                let newer = std::mem::replace(&mut of.waiting, notes);
                of.waiting.lines.extend(newer.lines);
                of.waiting.merged.extend(newer.merged);
                let may_not = of
                    .refused_since
                    .is_some_and(|since| now - since >= REFUSED_FOR);
                let again_at = now + if may_not { AFTER_A_REFUSAL } else { AGAIN };
                of.not_before = Some(again_at);
                (!may_not).then(|| of.looked_at_again(*number, again_at, now))?
            }
        })
    }

    /// Asks again what GitHub did not answer when the lines were made.
    async fn ask_again(
        &self,
        repo: Repo<'_>,
        notes: &mut MemoryNotes,
        now: Timestamp,
    ) -> Result<(), RefsError> {
        for line in &mut notes.lines {
            let since = self.with(repo.name, |of| of.unanswered.get(&line.session_id).cloned());
            let Some(since) = since.filter(|since| since.to == line.head_sha) else {
                continue;
            };
            match since.ask(repo).await {
                Ok(change) => line.fix_applied = change.map(|(fix, _)| fix),
                Err(error) if now < since.asked_until => return Err(error.into()),
                Err(_) => {}
            }
            self.with(repo.name, |of| of.unanswered.remove(&line.session_id));
        }
        Ok(())
    }
}

impl PushedSince {
    fn of(from: Sha, snapshot: &Snapshot, decision: &Decision, now: Timestamp) -> Self {
        let failing = decision
            .next
            .attempts
            .counted
            .iter()
            .rev()
            .find(|attempt| attempt.head_sha == from);
        Self {
            from,
            to: snapshot.pull_request.head.sha,
            own: snapshot
                .files
                .known()
                .iter()
                .map(|file| file.path.clone())
                .collect(),
            failing: failing
                .map(|attempt| attempt.summary.clone())
                .unwrap_or_default(),
            asked_until: now + ASKED_FOR,
        }
    }

    /// What was pushed, as far as it is the pull request's own; none where GitHub does not show it. A first refusal,
    /// which is not confirmed yet, is no answer.
    async fn ask(&self, repo: Repo<'_>) -> Result<Option<(AppliedFix, Vec<ChangedFile>)>> {
        let doubts = repo.doubts();
        let Some((mut files, subjects)) = pushed_between(repo, self.from, self.to).await? else {
            let (path, message) = (
                repo.path("compare"),
                "it shows no comparison for the moment".to_owned(),
            );
            let in_doubt = Error::Unavailable {
                path,
                message,
                retry_at: None,
            };
            return if repo.doubts() > doubts {
                Err(in_doubt)
            } else {
                Ok(None)
            };
        };
        files.retain(|file| self.own.contains(&file.path));
        let is_failing = |file: &&ChangedFile| self.failing.contains(&file.path);
        let failing: BTreeSet<String> = files
            .iter()
            .filter(is_failing)
            .map(|file| file.path.clone())
            .collect();
        let described = subjects
            .iter()
            .rev()
            .take(3)
            .rev()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join("; ");
        Ok(Some((
            AppliedFix::of(self.to, &described, &files, &failing),
            files,
        )))
    }
}

/// Finds the cards for the head's errors and for what people search. The cards are named by their commit, so an
/// unchanged memory costs one conditional request.
async fn lookup(
    client: &Client,
    observation: &Observation,
    decision: &mut Decision,
    memory: &Memory,
) -> MemoryAnswers {
    let Observation {
        snapshot, policy, ..
    } = observation;
    decision.search(memory);
    let asked = decision.look_up(memory, snapshot, policy);
    let read = asked
        .cited()
        .into_iter()
        .take(MOST_CITED)
        .map(async |cited| {
            let repository = path::repo(&snapshot.repository);
            let head = snapshot.pull_request.head.sha;
            let at = format!(
                "{repository}/contents/{}?ref={head}",
                path::escape_path(cited)
            );
            Some((cited, client.get_file(&at, CITED_BYTES).await.ok()??))
        });
    let read = join_all(read).await.into_iter().flatten();
    let files: BTreeMap<&str, String> = read
        .map(|(cited, bytes)| (cited, String::from_utf8_lossy(&bytes).into_owned()))
        .collect();
    asked.answers(&policy.memory, |path| files.get(path).map(String::as_str))
}
