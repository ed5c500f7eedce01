//! One attempt as a memory keeps it: a line of JSON.

use std::{cmp::Reverse, collections::BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{MemoryMatch, SettledDispute, redact, redact_value};
use crate::{
    evidence::{Analysis, CheckResults, Environment, Failure},
    failure,
    ids::{Fingerprint, PrNumber, Sha, Timestamp},
    observed::ChangedFile,
    source_files::{FileKind, Syntax, file_name, is_test, kind},
    text,
};

/// `schema` of a line.
pub const MEMORY_SCHEMA: &str = "loopgate.memory/v1";
/// Bytes of a line at most.
const MOST_BYTES: usize = 16_000;
/// Failures of a line at most.
const MOST_FAILURES: usize = 20;
/// Hunks of a fix that are kept, and lines and bytes of each.
const MOST_HUNKS: usize = 3;
const HUNK_LINES: usize = 40;
const HUNK_BYTES: usize = 1_500;
/// Lines of a file in which a hunk is looked for: a hostile file must not make the search long.
const MOST_LINES: usize = 20_000;

/// An attempt that was counted, passed or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryLine {
    pub schema: String,
    /// The run's id. Texts in a line come from outside, all of them.
    pub session_id: String,
    pub pull_request: Option<PrNumber>,
    pub file_path: Option<String>,
    /// Counts from 1.
    pub attempt: u32,
    pub timestamp: Timestamp,
    /// SHA-256 over the head's tree id, in hex.
    pub code_hash: String,
    pub head_sha: Sha,
    pub environment: Option<Environment>,
    /// The sum over all checks.
    #[serde(default)]
    pub test_results: CheckResults,
    /// The change's own failures, with their fingerprints; at most 20.
    #[serde(default)]
    pub failures: Vec<Failure>,
    /// Of the first failure.
    pub analysis: Option<Analysis>,
    /// What changed since the attempt before.
    pub fix_applied: Option<AppliedFix>,
    pub status: LineStatus,
    /// It weakens what checks it, whether or not a person accepted that: it teaches nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub weakened: bool,
    /// Tests that failed in the attempt before and were seen to pass in this one. What is not known to have run again
    /// is not among them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub fixed: BTreeSet<String>,
    /// Tests that failed and passed on this very head.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub flaky: BTreeSet<String>,
    /// What was found in the memory for the attempt before, and whether it was followed and helped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory_matches: Vec<MemoryMatch>,
    /// Disputes of the run that were settled by then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settled: Vec<SettledDispute>,
    #[serde(default)]
    pub rights: Rights,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineStatus {
    Passed,
    Failed,
    /// It failed, and a human was called.
    Escalated,
}

/// Whether the person who pushed may write to the repository. What others push is remembered, and teaches nothing until
/// it is merged: a card is advice, and anybody can open a pull request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rights {
    Write,
    #[default]
    None,
}

/// The change between two attempts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedFix {
    pub description: String,
    /// `+5/-2`
    pub diff_summary: String,
    /// At most 50.
    pub files_modified: Vec<String>,
    /// The head it led to.
    pub commit: Sha,
    /// Its first hunks that change what is checked, those in files that the failures name first: none of tests, of what
    /// chooses tests, or of lines that only silence a check.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hunks: Vec<Hunk>,
}

/// A place that a fix changed, and how.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Hunk {
    pub path: String,
    /// The file's blob after the fix.
    pub blob: Option<Sha>,
    /// The first line after the fix, from 1.
    pub line: u32,
    /// Lines as a unified diff has them, without the header.
    pub text: String,
}

impl AppliedFix {
    /// The change to `files` that led to `commit`. `failing` are the files that the failures before it name.
    pub fn of(
        commit: Sha,
        description: &str,
        files: &[ChangedFile],
        failing: &BTreeSet<String>,
    ) -> Self {
        let sum = |lines: fn(&ChangedFile) -> u32| {
            files.iter().map(|file| u64::from(lines(file))).sum::<u64>()
        };
        let mut code: Vec<&ChangedFile> = files.iter().collect();
        code.sort_by_key(|file| !failing.contains(&file.path));
        // What is no code fixes nothing: tests, and what chooses them or silences findings.
        let hunks = |file: &ChangedFile| -> Vec<Hunk> {
            let is_setting = file_name(&file.path).contains(".config.");
            let is_code =
                matches!(kind(&file.path), FileKind::Code | FileKind::Manifest) && !is_setting;
            let patch = file
                .read_patch()
                .filter(|_| is_code && !is_test(&file.path))
                .unwrap_or_default();
            let hunks = patch.hunks.iter().map(|hunk| {
                let lines = hunk
                    .lines
                    .iter()
                    .take(HUNK_LINES)
                    .map(|line| format!("{}{}", line.change.sign(), line.text));
                let text = text::whole_lines(lines, HUNK_BYTES);
                Hunk {
                    path: text::start(&file.path, 300),
                    blob: file.blob,
                    line: hunk.new_start,
                    text,
                }
            });
            hunks.filter(Hunk::changes_code).take(MOST_HUNKS).collect()
        };
        Self {
            description: text::start(description, 300),
            diff_summary: format!(
                "+{}/-{}",
                sum(|file| file.additions),
                sum(|file| file.deletions)
            ),
            files_modified: files
                .iter()
                .take(50)
                .map(|file| text::start(&file.path, 300))
                .collect(),
            commit,
            hunks: code.into_iter().flat_map(hunks).take(MOST_HUNKS).collect(),
        }
    }
}

impl Hunk {
    /// The line of a text, from 1, at which the change stands or would stand: where at least two thirds of the lines of
    /// one side (`-` before the change, `+` after it) stand as in the hunk, nearest to where it stood. Lines without
    /// words do not count.
    pub(super) fn find(&self, side: char, text: &str) -> Option<u32> {
        let change = self
            .text
            .lines()
            .position(|line| line.starts_with(['+', '-']))
            .unwrap_or_default();
        let numbered = self
            .text
            .lines()
            .enumerate()
            .filter(|(_, line)| line.starts_with([' ', side]));
        let trimmed =
            numbered.map(|(at, line)| (at >= change, line.get(1..).unwrap_or_default().trim()));
        let wanted: Vec<(bool, &str)> = trimmed.filter(|(_, line)| has_words(line)).collect();
        let lines = (1..)
            .zip(text.lines().map(str::trim))
            .filter(|(_, line)| has_words(line));
        let lines: Vec<(u32, &str)> = lines.take(MOST_LINES).collect();
        let found = |part: &&[(u32, &str)]| {
            part.iter()
                .zip(&wanted)
                .filter(|(line, sought)| line.1 == sought.1)
                .count()
        };
        let nearness =
            |part: &&[(u32, &str)]| Reverse(part.first().map(|first| first.0.abs_diff(self.line)));
        let best = lines
            .windows(wanted.len().max(1))
            .max_by_key(|part| (found(part), nearness(part)))?;
        let place = best
            .iter()
            .zip(&wanted)
            .find(|(_, (is_changed, _))| *is_changed)
            .map(|(line, _)| line.0);
        let behind = best.last().map(|line| line.0.saturating_add(1));
        place
            .or(behind)
            .filter(|_| !wanted.is_empty() && 3 * found(&best) >= 2 * wanted.len())
    }

    /// Whether it does more than silence a check: some line of code goes or comes that is no comment and no
    /// suppression.
    fn changes_code(&self) -> bool {
        let silences = pattern!(r"(?i)^\s*(?:#!?\[\s*(?:allow|expect)\s*\(|@(?:file:)?suppress)");
        let code = |side: char| -> Vec<String> {
            let lines = self.text.lines().filter_map(|line| line.strip_prefix(side));
            let (code, _) = Syntax::of(&self.path).without_comments(lines.map(str::trim));
            code.into_iter()
                .filter(|line| has_words(line) && !silences.is_match(line))
                .collect()
        };
        code('-') != code('+')
    }
}

/// The lines that a hunk's text adds, without what only closes a block.
pub(super) fn added(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .filter_map(|line| line.strip_prefix('+'))
        .map(str::trim)
        .filter(|line| has_words(line))
}

fn has_words(line: &str) -> bool {
    line.chars().any(char::is_alphanumeric)
}

impl MemoryLine {
    /// Which attempt it is: a line with the same key is the same line.
    pub fn key(&self) -> (&str, u32, &str) {
        (&self.session_id, self.attempt, &self.code_hash)
    }

    /// Whether this attempt fixed a failure of the attempt before. A failure that names a test needs that test's pass.
    pub(super) fn mends(&self, failure: &Failure) -> bool {
        let Some(name) = &failure.test_name else {
            return true;
        };
        // One of the two lines may have been cut more than the other.
        self.fixed
            .iter()
            .any(|fixed| text::start(fixed, 300) == text::start(name, 300))
    }

    /// Cut to what is kept, without what must not be written, as JSON without a line break.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let mut line = self.clone();
        line.failures.truncate(MOST_FAILURES);
        line.failures
            .iter_mut()
            .for_each(|failure| failure.fingerprint = Some(fingerprint_of(failure)));
        // Statistics need no texts.
        line.memory_matches
            .iter_mut()
            .for_each(|found| found.fix = None);
        let mut value = serde_json::to_value(line)?;
        redact_value(&mut value);
        let mut text = String::new();
        for (items, characters) in [
            (200, 1_000),
            (100, 300),
            (20, 300),
            (10, 300),
            (3, 120),
            (0, 120),
        ] {
            shorten(&mut value, items, characters);
            text = value.to_string();
            if text.len() <= MOST_BYTES {
                break;
            }
        }
        Ok(text)
    }

    /// Reads the lines of a shard; what is no line of ours is left out.
    pub fn read_all(shard: &str) -> Vec<Self> {
        let lines = shard.lines().filter(|line| line.len() <= 2 * MOST_BYTES);
        lines
            .filter_map(|line| serde_json::from_str::<Self>(line).ok())
            .filter(|line| line.schema == MEMORY_SCHEMA)
            .collect()
    }
}

/// Cuts each text of a document to so many characters, and each list to so many items. Hunks stay whole, or go with the
/// lists.
pub fn shorten(value: &mut Value, items: usize, characters: usize) {
    match value {
        Value::String(text) => *text = text::start(text, characters),
        Value::Array(list) => {
            list.truncate(items);
            list.iter_mut()
                .for_each(|item| shorten(item, items, characters));
        }
        Value::Object(fields) => {
            let cut = fields
                .iter_mut()
                .filter(|(name, _)| items == 0 || *name != "hunks");
            cut.for_each(|(_, field)| shorten(field, items, characters));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The message as look-ups compare it: redacted and cut, because lines are.
pub(super) fn template(failure: &Failure) -> String {
    let mut kept = Failure {
        stack_trace: None,
        ..failure.clone()
    };
    let others = [&mut kept.test_name, &mut kept.expected, &mut kept.actual]
        .into_iter()
        .flatten();
    others
        .chain([&mut kept.error_message])
        .for_each(|text| *text = text::start(&redact(text), 300));
    text::start(&failure::template(&kept), 300)
}

pub(super) fn fingerprint_of(failure: &Failure) -> Fingerprint {
    failure
        .fingerprint
        .unwrap_or_else(|| failure::fingerprint(failure))
}

/// Two writers' lines as one list, in an order that does not depend on who wrote first. Of two lines of one attempt the
/// later stays: its evidence was replaced.
pub fn union(lines: impl IntoIterator<Item = MemoryLine>) -> Vec<MemoryLine> {
    // Written texts decide between lines of one moment, so that the order of writers does not.
    let text = |line: &MemoryLine| line.to_json().unwrap_or_default();
    let mut lines: Vec<MemoryLine> = lines.into_iter().collect();
    lines.sort_by(|a, b| {
        let age = || {
            b.timestamp
                .cmp(&a.timestamp)
                .then_with(|| text(b).cmp(&text(a)))
        };
        a.key().cmp(&b.key()).then_with(age)
    });
    lines.dedup_by(|older, newest| older.key() == newest.key());
    lines.sort_by(|a, b| (a.timestamp, a.key()).cmp(&(b.timestamp, b.key())));
    lines
}
