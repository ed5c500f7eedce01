//! The debug memory of a repository in hidden refs.
//!
//! `refs/loopgate/memory/2026-W47` holds the lines of a week, a run's in files of its own (`failures/RUN.jsonl`), and
//! beside them those of runs that taught (`taught/`) or called a human (`escalated/`), which outlive the week.
//! `refs/loopgate/memory/cards` holds the cards made from all lines. A look-up reads the latter alone.
//!
//! Races: a writer that finds a ref moved reads it again and adds to its content, so that no writer loses another's
//! line. The two refs are written one after the other: a writer that dies in between leaves lines that no card counts.
//! Cards are made of whole runs, so the next attempt of the run makes up for them. [`MemoryStore::forget`] replaces a
//! ref by a commit without parents, which no compare-and-swap can do: a line that is written in that very moment is
//! lost.
//!
//! `cards.json` is all that is read at a look-up; `recurring.json` repeats what recurs for readers that want that
//! alone. The lines of a run are `failures/pr-12-20261120-101500.jsonl`, then `….2.jsonl`, each at most 256 KB.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    GitObjects, ListObjects, NewCommit, RefName, RefsError, Result, TreeFile, objects::unwritable,
};
use loopgate_core::{
    FailureId, Sha, Timestamp,
    memory::{
        Card, Folder, LineStatus, Memory, MemoryLine, Offers, Recurring, Retention, Rights, Week,
        redact_value, union,
    },
};

/// Saves tried before a write is left for later.
const MOST_SAVES: usize = 6;

/// Reads and writes one repository's memory.
#[derive(Debug, Clone, Copy)]
pub struct MemoryStore<'g, G> {
    objects: &'g G,
    retention: Retention,
    /// What is older than its retention by now is not read.
    now: Timestamp,
}

/// What is to be remembered.
#[derive(Debug, Clone, Default)]
pub struct MemoryNotes {
    pub lines: Vec<MemoryLine>,
    /// Runs of others that somebody with write merged: what they did may teach from now on.
    pub merged: BTreeSet<String>,
}

/// New lines by their runs.
type LinesByRun<'l> = BTreeMap<&'l str, Vec<MemoryLine>>;

/// All lines of a run, and which of them are new.
struct RecordedRun {
    lines: Vec<MemoryLine>,
    new: BTreeSet<u32>,
}

impl<'g, G: ListObjects> MemoryStore<'g, G> {
    pub fn new(objects: &'g G, retention: impl Into<Retention>, now: Timestamp) -> Self {
        Self {
            objects,
            retention: retention.into(),
            now,
        }
    }

    /// What is remembered, without the lines; empty where nothing is, or what is there cannot be read.
    ///
    /// # Errors
    /// When the git database does not answer.
    pub async fn load(&self) -> Result<Memory> {
        Ok(self.cards().await?.1)
    }

    /// What is remembered, with the commit it was read from.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub async fn cards(&self) -> Result<(Option<Sha>, Memory)> {
        let Some(tip) = self.objects.read_ref(&RefName::memory_cards()).await? else {
            return Ok((None, Memory::default()));
        };
        let bytes = self
            .objects
            .read_own(tip, CARDS_FILE, CARDS_LIMIT)
            .await?
            .unwrap_or_default();
        let document: Cards = serde_json::from_slice(&bytes).unwrap_or_default();
        let cards = if document.schema == SCHEMA {
            document.cards
        } else {
            Vec::new()
        };
        let mut memory = Memory {
            cards: cards.into_iter().map(|card| (card.id, card)).collect(),
            recurring: document
                .recurring
                .into_iter()
                .map(|seen| (seen.key(), seen))
                .collect(),
            offers: document.offers,
            weeks: document.weeks,
            recent: document.recent,
        };
        memory.drop_old(self.retention, self.now);
        Ok((Some(tip), memory))
    }

    /// Adds to what is remembered, and lets go what is too old.
    ///
    /// # Errors
    /// When the git database does not answer, or others write again and again meanwhile. What was written of it stays,
    /// and writing it again adds nothing.
    pub async fn record(&self, notes: &MemoryNotes) -> Result<()> {
        let mut by_week: BTreeMap<Week, LinesByRun<'_>> = BTreeMap::new();
        // As it will be read: cut, and without what must not be written.
        let clean = |line: &MemoryLine| {
            line.to_json()
                .map(|text| MemoryLine::read_all(&text))
                .map_err(unwritable)
        };
        let lines: Vec<Vec<MemoryLine>> =
            notes.lines.iter().map(clean).collect::<Result<_, _>>()?;
        for line in lines.iter().flatten() {
            let runs = by_week.entry(Week::of(line.timestamp)).or_default();
            runs.entry(&line.session_id).or_default().push(line.clone());
        }
        for run in &notes.merged {
            by_week
                .entry(Week::of(self.now))
                .or_default()
                .entry(run)
                .or_default();
        }
        let mut runs = Vec::new();
        for (week, of_week) in by_week {
            runs.extend(self.append(week, of_week, &notes.merged).await?);
        }
        self.take_in(&runs).await
    }

    /// Adds lines to the ref of a week; the whole runs come back.
    async fn append(
        &self,
        week: Week,
        notes: LinesByRun<'_>,
        merged: &BTreeSet<String>,
    ) -> Result<Vec<RecordedRun>> {
        let name = RefName::memory_week(week);
        for _ in 0..MOST_SAVES {
            let tip = self.objects.read_ref(&name).await?;
            let (mut files, mut runs) = (Vec::new(), Vec::new());
            for (run, new) in &notes {
                let before = read_run(self.objects, tip, Folder::Failures, run).await?;
                let mut lines = union(before.iter().chain(new).cloned());
                let earliest = lines.iter().map(|line| line.attempt).min();
                if earliest.is_none_or(|earliest| earliest > 1) {
                    // It began in another week.
                    lines = union(lines.into_iter().chain(self.last_week(week, run).await?));
                }
                if merged.contains(*run)
                    && let Some(last) = lines.iter_mut().max_by_key(|line| line.attempt)
                {
                    last.rights = Rights::Write;
                }
                let of_week: Vec<&MemoryLine> = lines
                    .iter()
                    .filter(|line| Week::of(line.timestamp) == week)
                    .collect();
                let known: BTreeSet<_> = before.iter().map(MemoryLine::key).collect();
                let is_new = |line: &&&MemoryLine| !known.contains(&line.key());
                let new = of_week
                    .iter()
                    .filter(is_new)
                    .map(|line| line.attempt)
                    .collect();
                if before.iter().ne(of_week.iter().copied()) {
                    files.extend(files_of(Folder::Failures, run, &of_week)?);
                    if !Memory::learn(lines.clone()).cards.is_empty() {
                        files.extend(files_of(
                            Folder::Taught,
                            run,
                            &lines.iter().collect::<Vec<_>>(),
                        )?);
                    }
                    if of_week
                        .iter()
                        .any(|line| line.status == LineStatus::Escalated)
                    {
                        files.extend(files_of(Folder::Escalated, run, &of_week)?);
                    }
                }
                runs.push(RecordedRun { lines, new });
            }
            if files.is_empty()
                || self
                    .commit(&name, tip, &files, "failures remembered")
                    .await?
            {
                return Ok(runs);
            }
        }
        Err(RefsError::RefMoved { name })
    }

    async fn last_week(&self, week: Week, run: &str) -> Result<Vec<MemoryLine>> {
        let Some(before) = week.before() else {
            return Ok(Vec::new());
        };
        let tip = self.objects.read_ref(&RefName::memory_week(before)).await?;
        read_run(self.objects, tip, Folder::Failures, run).await
    }

    /// Makes cards of whole runs, counts their new lines, and drops what is too old.
    async fn take_in(&self, runs: &[RecordedRun]) -> Result<()> {
        let now = self.now;
        for _ in 0..MOST_SAVES {
            let (tip, before) = self.cards().await?;
            let mut memory = before.clone();
            for run in runs {
                memory.take_in(&run.lines, |line| run.new.contains(&line.attempt));
            }
            memory.drop_old(self.retention, now);
            let over: Vec<Week> = memory
                .weeks
                .iter()
                .copied()
                .filter(|week| self.retention.is_over(*week, now))
                .take(2)
                .collect();
            for week in over {
                self.end_week(week).await?;
                memory.weeks.remove(&week);
                memory.weeks.insert(Week::of(now));
            }
            if memory == before || self.save(tip, &memory).await? {
                return Ok(());
            }
        }
        Err(RefsError::RefMoved {
            name: RefName::memory_cards(),
        })
    }

    /// Removes the ref of a week, once what outlives it stands in this one.
    async fn end_week(&self, week: Week) -> Result<()> {
        let (name, current) = (
            RefName::memory_week(week),
            RefName::memory_week(Week::of(self.now)),
        );
        let Some(ended) = self.objects.read_ref(&name).await? else {
            return Ok(());
        };
        for _ in 0..MOST_SAVES {
            let tip = self.objects.read_ref(&current).await?;
            let mut files = Vec::new();
            for folder in [Folder::Taught, Folder::Escalated] {
                for run in runs_in(self.objects, ended, folder).await? {
                    let old = read_run(self.objects, Some(ended), folder, &run).await?;
                    let kept = old
                        .into_iter()
                        .filter(|line| self.retention.keeps(folder, line.timestamp, self.now));
                    let there = read_run(self.objects, tip, folder, &run).await?;
                    let lines = union(kept.chain(there.iter().cloned()));
                    if lines != there {
                        files.extend(files_of(folder, &run, &lines.iter().collect::<Vec<_>>())?);
                    }
                }
            }
            if files.is_empty()
                || self
                    .commit(&current, tip, &files, "what outlives its week")
                    .await?
            {
                return self.objects.delete_ref(&name).await;
            }
        }
        Err(RefsError::RefMoved { name: current })
    }

    /// All lines of all weeks that are not older than their retention, each once.
    ///
    /// # Errors
    /// When the git database does not answer.
    pub async fn lines(&self) -> Result<Vec<MemoryLine>> {
        let mut lines = Vec::new();
        for week in self.load().await?.weeks {
            if let Some(tip) = self.objects.read_ref(&RefName::memory_week(week)).await? {
                for folder in Folder::ALL {
                    for run in runs_in(self.objects, tip, folder).await? {
                        let of_run = read_run(self.objects, Some(tip), folder, &run).await?;
                        let is_kept = |line: &MemoryLine| {
                            self.retention.keeps(folder, line.timestamp, self.now)
                        };
                        lines.extend(of_run.into_iter().filter(is_kept));
                    }
                }
            }
        }
        Ok(union(lines))
    }

    /// Removes an error from every line and card, and the commits that held it. Returns how many lines held it.
    ///
    /// # Errors
    /// When the git database does not answer.
    pub async fn forget(&self, id: FailureId) -> Result<usize> {
        let (tip, mut memory) = self.cards().await?;
        let mut forgotten = 0;
        for week in memory.weeks.clone() {
            forgotten += self.forget_in(week, id).await?;
        }
        if memory.forget(id) && tip.is_some() {
            self.objects.delete_ref(&RefName::memory_cards()).await?;
            self.save(None, &memory).await?;
        }
        Ok(forgotten)
    }

    /// Notes that an error will not be mended. Whether it is known.
    ///
    /// # Errors
    /// When the git database does not answer, or others write again and again meanwhile.
    pub async fn give_up(&self, id: FailureId) -> Result<bool> {
        for _ in 0..MOST_SAVES {
            let (tip, mut memory) = self.cards().await?;
            if !memory.give_up(id) || self.save(tip, &memory).await? {
                return Ok(memory.give_up(id));
            }
        }
        Err(RefsError::RefMoved {
            name: RefName::memory_cards(),
        })
    }

    async fn forget_in(&self, week: Week, id: FailureId) -> Result<usize> {
        let name = RefName::memory_week(week);
        let Some(tip) = self.objects.read_ref(&name).await? else {
            return Ok(0);
        };
        let (mut files, mut is_found, mut forgotten) = (Vec::new(), false, 0);
        for folder in Folder::ALL {
            for run in runs_in(self.objects, tip, folder).await? {
                let mut lines = read_run(self.objects, Some(tip), folder, &run).await?;
                for line in &mut lines {
                    let before = line.failures.len();
                    line.failures
                        .retain(|failure| failure.fingerprint.map(FailureId::from) != Some(id));
                    if line.failures.len() < before {
                        line.analysis = None;
                        is_found = true;
                        forgotten += usize::from(folder == Folder::Failures);
                    }
                }
                files.extend(files_of(folder, &run, &lines.iter().collect::<Vec<_>>())?);
            }
        }
        if is_found {
            let commit = NewCommit {
                files: &files,
                subject: "an error forgotten",
                ..NewCommit::default()
            };
            let commit = self.objects.write_commit(commit).await?;
            self.objects.delete_ref(&name).await?;
            self.objects.compare_and_swap(&name, None, commit).await?;
        }
        Ok(forgotten)
    }

    /// Removes all that is remembered.
    ///
    /// # Errors
    /// When the git database does not answer.
    pub async fn clear(&self) -> Result<()> {
        for week in self.load().await?.weeks {
            self.objects.delete_ref(&RefName::memory_week(week)).await?;
        }
        self.objects.delete_ref(&RefName::memory_cards()).await
    }

    async fn save(&self, tip: Option<Sha>, memory: &Memory) -> Result<bool> {
        self.commit(
            &RefName::memory_cards(),
            tip,
            &write_cards(memory)?,
            "cards",
        )
        .await
    }

    /// Writes files on a tip; false when somebody was faster.
    async fn commit(
        &self,
        name: &RefName,
        parent: Option<Sha>,
        files: &[TreeFile],
        subject: &str,
    ) -> Result<bool> {
        match self
            .objects
            .commit(
                name,
                NewCommit {
                    parent,
                    files,
                    subject,
                    ..NewCommit::default()
                },
            )
            .await
        {
            Err(RefsError::RefMoved { .. }) => Ok(false),
            written => written.map(|_| true),
        }
    }
}

const CARDS_FILE: &str = "cards.json";
const RECURRING_FILE: &str = "recurring.json";
/// Bytes read at most; what is larger was not written by us.
const CARDS_LIMIT: usize = 16 << 20;

/// Of cards that are made only where the failing test was seen to pass and nothing was weakened. Those of documents
/// with another schema are not read: they do not show which of them come from a weakened test.
const SCHEMA: &str = "loopgate.memory-cards/v2";

/// `cards.json`. What cannot be read of it is left out: anybody with push access can write it.
#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
struct Cards {
    schema: String,
    #[serde(deserialize_with = "readable")]
    cards: Vec<Card>,
    #[serde(deserialize_with = "readable")]
    recurring: Vec<Recurring>,
    offers: Offers,
    weeks: BTreeSet<Week>,
    recent: BTreeSet<Timestamp>,
}

/// The items of a list that can be read.
fn readable<'de, T: DeserializeOwned, D: Deserializer<'de>>(list: D) -> Result<Vec<T>, D::Error> {
    let items = Vec::<Value>::deserialize(list)?;
    Ok(items
        .into_iter()
        .filter_map(|item| serde_json::from_value(item).ok())
        .collect())
}

fn write_cards(memory: &Memory) -> Result<Vec<TreeFile>> {
    let cards = Cards {
        schema: SCHEMA.to_owned(),
        cards: memory.cards.values().cloned().collect(),
        recurring: memory.recurring.values().cloned().collect(),
        offers: memory.offers,
        weeks: memory.weeks.clone(),
        recent: memory.recent.clone(),
    };
    let recurring = serde_json::to_value(&cards.recurring);
    let documents = [
        (CARDS_FILE, serde_json::to_value(cards)),
        (RECURRING_FILE, recurring),
    ];
    let written = documents.into_iter().map(|(path, value)| {
        let mut value = value?;
        redact_value(&mut value);
        Ok((path.to_owned(), format!("{value}\n")))
    });
    written
        .collect::<Result<_, serde_json::Error>>()
        .map_err(unwritable)
}

/// Bytes of a file at most.
const MOST_BYTES: usize = 256 << 10;
/// A file with less room than this may be followed by another: no line is longer.
const NEARLY_FULL: usize = MOST_BYTES - (32 << 10);
/// Files of a run at most: more than ten attempts a file.
const MOST_FILES: usize = 64;

fn path(folder: Folder, run: &str, nth: usize) -> String {
    // Runs are named by states, which others can write.
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') {
            c
        } else {
            '-'
        }
    };
    let name: String = run.chars().take(100).map(plain).collect();
    let nth = if nth == 0 {
        String::new()
    } else {
        format!(".{}", nth + 1)
    };
    format!("{}/{name}{nth}.jsonl", folder.as_str())
}

/// The lines of a run in a commit.
async fn read_run<G: GitObjects>(
    objects: &G,
    tip: Option<Sha>,
    folder: Folder,
    run: &str,
) -> Result<Vec<MemoryLine>> {
    let mut lines = Vec::new();
    let Some(tip) = tip else { return Ok(lines) };
    for nth in 0..MOST_FILES {
        let Some(bytes) = objects
            .read_file(tip, &path(folder, run, nth), 2 * MOST_BYTES)
            .await?
        else {
            break;
        };
        lines.extend(MemoryLine::read_all(&String::from_utf8_lossy(&bytes)));
        if bytes.len() < NEARLY_FULL {
            break;
        }
    }
    Ok(lines)
}

/// The runs that have files in a folder.
async fn runs_in<G: ListObjects>(objects: &G, tip: Sha, folder: Folder) -> Result<Vec<String>> {
    let names = objects.list_folder(tip, folder.as_str()).await?;
    let first = |name: String| {
        name.strip_suffix(".jsonl")
            .filter(|run| !run.contains('.'))
            .map(str::to_owned)
    };
    Ok(names.into_iter().filter_map(first).collect())
}

/// The lines of a run as the files of a folder.
fn files_of(folder: Folder, run: &str, lines: &[&MemoryLine]) -> Result<Vec<TreeFile>> {
    let mut files: Vec<TreeFile> = vec![(path(folder, run, 0), String::new())];
    for line in lines {
        let text = line.to_json().map_err(unwritable)?;
        let is_full = files
            .last()
            .is_some_and(|(_, file)| file.len() + text.len() >= MOST_BYTES);
        if is_full && files.len() < MOST_FILES {
            files.push((path(folder, run, files.len()), String::new()));
        }
        if let Some((_, file)) = files
            .last_mut()
            .filter(|(_, file)| file.len() + text.len() < MOST_BYTES)
        {
            file.push_str(&text);
            file.push('\n');
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests;
