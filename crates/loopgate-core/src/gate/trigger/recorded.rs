//! What a diff said to the conditions of gates, kept without its lines, and asked again under other gates.
//!
//! No line is kept: it may be a secret that was pushed by mistake. So a condition on lines is known by a digest of its
//! patterns, and one that nobody asked then has no answer now.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Look, Match, OwnNames, Scene, Triggered, governing};
use crate::{
    evidence::Finding,
    gate::report::MatchReason,
    ids::GateName,
    observed::{ChangedFile, ChangedFiles, FileStatus, Snapshot},
    policy::{GateRole, GateTrigger, LineCondition, Mode, Policy},
};

/// A diff without its lines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedDiff {
    pub files: Vec<RecordedFile>,
    /// Files beyond those kept: which gates they would open is not known.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub not_kept: usize,
    /// GitHub did not list all files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub too_large: Option<String>,
    /// What the conditions on content came to, by their digest.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub asked: BTreeMap<String, Said>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
const fn is_nothing(count: &usize) -> bool {
    *count == 0
}

/// A changed file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedFile {
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_path: Option<String>,
    pub status: FileStatus,
    pub additions: u32,
    pub deletions: u32,
    /// Whether more than comments, blanks and places of lines changes.
    #[serde(default, skip_serializing_if = "Substance::is_code")]
    pub code: Substance,
}

/// Whether a change counts where `code_only` is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Substance {
    #[default]
    Code,
    CommentsOnly,
}

impl Substance {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
    fn is_code(&self) -> bool {
        *self == Self::Code
    }
}

/// What a condition said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    Yes,
    No,
    CannotTell,
}

/// Whether a gate would open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    Opens,
    StaysClosed,
    /// Its conditions ask for what was not recorded.
    NotRecorded,
}

/// What a scene is asked about, where the lines are gone.
pub(super) struct FromRecord<'a> {
    diff: &'a RecordedDiff,
    /// Whether something was asked that nobody recorded.
    missed: Cell<bool>,
}

impl FromRecord<'_> {
    /// What a condition on content said then.
    pub(super) fn answer(&self, key: &str) -> Match {
        let whole = || Triggered::whole(MatchReason::Unreadable);
        match self.diff.asked.get(key) {
            Some(Said::Yes) => Match::Yes(whole()),
            Some(Said::No) => Match::No,
            Some(Said::CannotTell) => Match::CannotTell(whole()),
            None => {
                self.missed.set(true);
                Match::CannotTell(whole())
            }
        }
    }

    pub(super) fn is_comments_only(&self, index: usize) -> bool {
        self.diff.files.get(index).is_some_and(|file| file.code == Substance::CommentsOnly)
    }
}

impl RecordedDiff {
    /// The diff of a pull request, as the gates of this policy see it.
    pub fn of(snapshot: &Snapshot, policy: &Policy) -> Self {
        let scene = Scene::new(snapshot, &[]);
        let file = |(index, file): (usize, &ChangedFile)| RecordedFile {
            path: file.path.clone(),
            previous_path: file.previous_path.clone(),
            status: file.status,
            additions: file.additions,
            deletions: file.deletions,
            code: match scene.lines.get(index).and_then(Option::as_ref) {
                Some(lines) if !lines.change_code() => Substance::CommentsOnly,
                _ => Substance::Code,
            },
        };
        let nothing = BTreeSet::new();
        let look = Look { scene: &scene, remembered: &nothing, only: None };
        let mut asked = BTreeMap::new();
        for condition in policy.gates.values().flat_map(|gate| contents(&gate.trigger)) {
            let Some(key) = key(condition) else { continue };
            asked.entry(key).or_insert_with(|| match look.at(condition) {
                Match::Yes(_) => Said::Yes,
                Match::No => Said::No,
                Match::CannotTell(_) => Said::CannotTell,
            });
        }
        let too_large = match &snapshot.files {
            ChangedFiles::Complete(_) => None,
            ChangedFiles::TooLarge { reason, .. } => Some(reason.clone()),
        };
        Self { files: snapshot.files.known().iter().enumerate().map(file).collect(), not_kept: 0, too_large, asked }
    }

    /// The same with fewer files.
    #[must_use]
    pub fn shortened(&self, most: usize) -> Self {
        let files: Vec<RecordedFile> = self.files.iter().take(most).cloned().collect();
        Self { not_kept: self.not_kept + self.files.len() - files.len(), files, ..self.clone() }
    }

    /// The files, without a patch.
    pub fn changed_files(&self) -> ChangedFiles {
        let file = |file: &RecordedFile| ChangedFile {
            path: file.path.clone(),
            previous_path: file.previous_path.clone(),
            status: file.status,
            additions: file.additions,
            deletions: file.deletions,
            blob: None,
            patch: None,
        };
        let known = self.files.iter().map(file).collect();
        match &self.too_large {
            None if self.not_kept == 0 => ChangedFiles::Complete(known),
            reason => ChangedFiles::TooLarge { known, reason: reason.clone().unwrap_or_default() },
        }
    }

    /// Which gates of another policy this diff opens. `snapshot` has the files of [`changed_files`](Self::changed_files).
    pub fn openings(&self, snapshot: &Snapshot, findings: &[Finding], policy: &Policy) -> BTreeMap<GateName, Opening> {
        let record = FromRecord { diff: self, missed: Cell::new(false) };
        let own = OwnNames::of(&snapshot.repository);
        let scene = Scene { snapshot, findings, lines: Vec::new(), own, record: Some(record) };
        let nothing = BTreeSet::new();
        let look = Look { scene: &scene, remembered: &nothing, only: None };
        let missed = || scene.record.as_ref().is_some_and(|record| record.missed.replace(self.not_kept > 0));
        missed();
        let opening = |(name, gate): (&GateName, &crate::policy::GatePolicy)| {
            let governs = || governing(snapshot, &policy.verify.workflows).is_some();
            let certain = policy.mode == Mode::Supervised || gate.has_role(GateRole::Security) && governs();
            let said = look.at(&gate.trigger);
            let missed = missed();
            let opening = match said {
                _ if certain => Opening::Opens,
                Match::Yes(_) => Opening::Opens,
                Match::No => Opening::StaysClosed,
                Match::CannotTell(_) if missed => Opening::NotRecorded,
                Match::CannotTell(_) => Opening::Opens,
            };
            (name.clone(), opening)
        };
        policy.gates.iter().map(opening).collect()
    }
}

/// The conditions on content in a trigger.
fn contents(trigger: &GateTrigger) -> Vec<&GateTrigger> {
    match trigger {
        GateTrigger::Any(parts) | GateTrigger::All(parts) => parts.iter().flat_map(contents).collect(),
        GateTrigger::Not(part) => contents(part),
        other => vec![other],
    }
}

/// The digest by which a condition on content is known; none for other conditions.
pub(super) fn key(trigger: &GateTrigger) -> Option<String> {
    use GateTrigger::{AddedLines, DependenciesAdded, NewTopLevelFolder, RemovedLines, SameFile};
    if !matches!(trigger, AddedLines(_) | RemovedLines(_) | DependenciesAdded | NewTopLevelFolder | SameFile(_)) {
        return None;
    }
    let mut digest = Sha256::new();
    describe(trigger, &mut |text: &str| {
        digest.update(text.len().to_be_bytes());
        digest.update(text);
    });
    Some(hex::encode(&digest.finalize()[..8]))
}

/// Everything that a condition asks for, text by text.
fn describe(trigger: &GateTrigger, say: &mut impl FnMut(&str)) {
    let lines = |kind: &str, lines: &LineCondition, say: &mut dyn FnMut(&str)| {
        say(kind);
        for patterns in [&lines.patterns, &lines.unless] {
            say(&patterns.as_slice().len().to_string());
            patterns.as_slice().iter().for_each(|pattern| say(pattern.as_str()));
        }
        lines.except.as_slice().iter().for_each(|glob| say(glob.as_str()));
        say(&format!("{} {} {}", lines.code_only, lines.split_words, lines.skip_own_name));
        if let Some(context) = lines.with_context {
            say(&format!("{context:?}"));
        }
    };
    match trigger {
        GateTrigger::AddedLines(added) => lines("added", added, say),
        GateTrigger::RemovedLines(removed) => lines("removed", removed, say),
        GateTrigger::Paths(paths) => {
            for globs in [&paths.globs, &paths.except] {
                say(&globs.as_slice().len().to_string());
                globs.as_slice().iter().for_each(|glob| say(glob.as_str()));
            }
            paths.words.as_slice().iter().for_each(|pattern| say(pattern.as_str()));
            say(&format!("paths {} {}", paths.code_only, paths.skip_own_name));
        }
        GateTrigger::SameFile(parts) | GateTrigger::Any(parts) | GateTrigger::All(parts) => {
            let kind = match trigger {
                GateTrigger::SameFile(_) => "same file",
                GateTrigger::Any(_) => "any",
                _ => "all",
            };
            say(&format!("{kind} {}", parts.len()));
            parts.iter().for_each(|part| describe(part, &mut *say));
        }
        GateTrigger::Not(part) => {
            say("not");
            describe(part, say);
        }
        other => say(&format!("{other:?}")),
    }
}
