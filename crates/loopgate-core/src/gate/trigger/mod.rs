//! Whether a pull request triggers a gate, and what in it does.
//!
//! A predicate answers yes, no, or *cannot tell*: a patch that is missing might hold anything. Not being able to tell
//! opens the gate, and stays so through `not:`, which would otherwise turn caution into permission.

mod dependencies;
mod fingerprint;
mod lines;
mod own_names;
mod recorded;

use std::collections::BTreeSet;

use self::{
    dependencies::Added,
    lines::{FileLines, Hit, Side, split_words},
    own_names::{OwnNames, without_owner},
    recorded::FromRecord,
};
use super::report::{MatchReason, TriggerMatch};
use crate::{
    evidence::{Finding, FindingSeverity},
    ids::{PatternName, Sha},
    observed::{ChangedFile, ChangedFiles, FileStatus, Readiness, Snapshot},
    policy::{Context, GatePolicy, GateTrigger, LineCondition, PathCondition, PathGlobs},
};

pub(super) use self::fingerprint::fingerprint;
pub use self::recorded::{Opening, RecordedDiff, RecordedFile, Said, Substance};

/// Matches kept of one gate; the rest are counted.
pub const MATCHES_KEPT: usize = 50;
/// Matches kept of one file, so that one file does not crowd out the others.
const KEPT_PER_FILE: usize = 5;
/// Characters of a matching line that are shown.
const EXCERPT: usize = 160;

/// Why a gate applies, and to which part of the diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Triggered {
    pub(super) matches: Vec<TriggerMatch>,
    pub(super) not_kept: usize,
    pub(super) scope: Scope,
}

impl Triggered {
    /// A gate that applies whatever changed.
    pub(super) fn whole(reason: MatchReason) -> Self {
        let matches = vec![TriggerMatch { file: None, line: None, reason }];
        Self { matches, not_kept: 0, scope: Scope::Whole }
    }

    fn nothing() -> Self {
        Self { matches: Vec::new(), not_kept: 0, scope: Scope::Files(BTreeSet::new()) }
    }

    fn file(index: usize, matches: Vec<TriggerMatch>) -> Self {
        Self { not_kept: 0, matches, scope: Scope::Files(BTreeSet::from([index])) }
    }

    fn is_nothing(&self) -> bool {
        self.matches.is_empty()
    }

    pub(super) fn add(&mut self, other: Self) {
        self.not_kept += other.not_kept;
        for found in other.matches {
            // A condition on the whole pull request adds one match at most, and labels must be remembered.
            let is_condition = found.file.is_none() && !matches!(found.reason, MatchReason::Finding { .. });
            if is_condition || self.matches.len() < MATCHES_KEPT {
                self.matches.push(found);
            } else {
                self.not_kept += 1;
            }
        }
        self.scope.add(other.scope);
    }
}

/// The part of the diff that is a gate's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Whole,
    /// Indices into the changed files.
    Files(BTreeSet<usize>),
}

impl Scope {
    fn add(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::Files(files), Self::Files(more)) => files.extend(more),
            (_, Self::Whole) => *self = Self::Whole,
            (Self::Whole, Self::Files(_)) => {}
        }
    }

    /// The files in it.
    pub(super) fn files<'a>(&self, all: &'a [ChangedFile]) -> Vec<&'a ChangedFile> {
        match self {
            Self::Whole => all.iter().collect(),
            Self::Files(indices) => indices.iter().filter_map(|&index| all.get(index)).collect(),
        }
    }
}

/// What every gate of a pull request is asked about.
pub(super) struct Scene<'a> {
    snapshot: &'a Snapshot,
    findings: &'a [Finding],
    /// In the order of the changed files; none for one whose patch is missing or cannot be read.
    lines: Vec<Option<FileLines<'a>>>,
    own: OwnNames,
    /// Where the lines are gone.
    record: Option<FromRecord<'a>>,
}

impl<'a> Scene<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, findings: &'a [Finding]) -> Self {
        let own = OwnNames::of(&snapshot.repository);
        Self { snapshot, findings, lines: FileLines::of_all(snapshot.files.known()), own, record: None }
    }

    /// What opens the gate, if anything does. `remembered` are the labels that opened it before: taking one away does
    /// not close it again.
    pub(super) fn triggered(&self, policy: &GatePolicy, remembered: &BTreeSet<String>) -> Option<Triggered> {
        match (Look { scene: self, remembered, only: None }).at(&policy.trigger) {
            Match::No => None,
            Match::Yes(found) | Match::CannotTell(found) if found.is_nothing() => {
                Some(Triggered::whole(MatchReason::NotExcluded))
            }
            Match::Yes(found) | Match::CannotTell(found) => Some(found),
        }
    }
}

/// Why a gate applies to a pull request; empty when it does not. Labels that were taken away are not known here.
pub fn matches(policy: &GatePolicy, snapshot: &Snapshot, findings: &[Finding]) -> Vec<TriggerMatch> {
    Scene::new(snapshot, findings).triggered(policy, &BTreeSet::new()).map(|found| found.matches).unwrap_or_default()
}

/// Files that govern gates themselves (configuration, code owners, workflows). A pull request that edits one opens the
/// security gate, whatever the gate's own trigger says.
pub(super) fn governing(snapshot: &Snapshot, workflows: &[String]) -> Option<Triggered> {
    const FILES: [&str; 5] =
        [".github/loopgate.yml", ".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".github/loopgate/"];
    let mut found = Triggered::nothing();
    for (index, file) in snapshot.files.known().iter().enumerate() {
        let governs = |path: &&str| {
            FILES.iter().any(|known| path == known || known.ends_with('/') && path.starts_with(known))
                || workflows.iter().any(|workflow| workflow == path)
        };
        if let Some(path) = file.paths().find(governs) {
            let reason = MatchReason::Path { name: None, glob: Some(path.to_owned()) };
            found.add(Triggered::file(index, vec![in_file(file, None, reason)]));
        }
    }
    (!found.is_nothing()).then_some(found)
}

enum Match {
    Yes(Triggered),
    No,
    CannotTell(Triggered),
}

impl Match {
    fn whole(matched: bool, reason: impl FnOnce() -> MatchReason) -> Self {
        if matched { Self::Yes(Triggered::whole(reason())) } else { Self::No }
    }
}

struct Look<'a> {
    scene: &'a Scene<'a>,
    remembered: &'a BTreeSet<String>,
    /// The file that is asked alone, by its index, inside of `same_file`.
    only: Option<usize>,
}

impl Look<'_> {
    fn at(&self, trigger: &GateTrigger) -> Match {
        let pull_request = &self.scene.snapshot.pull_request;
        // The digest of a long condition costs more than its answer, so only a record is asked for it.
        if let Some(record) = &self.scene.record
            && let Some(key) = recorded::key(trigger)
        {
            return record.answer(&key);
        }
        match trigger {
            GateTrigger::Any(parts) => self.any(parts),
            GateTrigger::All(parts) => self.all(parts),
            GateTrigger::SameFile(parts) => self.same_file(parts),
            GateTrigger::Not(part) => match self.at(part) {
                Match::Yes(_) => Match::No,
                Match::No => Match::Yes(Triggered::nothing()),
                Match::CannotTell(found) => Match::CannotTell(found),
            },
            GateTrigger::Always => Match::Yes(Triggered::whole(MatchReason::Always)),
            GateTrigger::Paths(paths) => {
                self.in_files(|index, file| touched(file, self.says_nothing(index), paths, &self.scene.own))
            }
            GateTrigger::AddedLines(wanted) => {
                self.in_files(|index, file| changed(file, self.lines(index), wanted, (Change::Adds, &self.scene.own)))
            }
            GateTrigger::RemovedLines(wanted) => self
                .in_files(|index, file| changed(file, self.lines(index), wanted, (Change::Removes, &self.scene.own))),
            GateTrigger::DependenciesAdded => self.in_files(|_, file| new_dependencies(file)),
            GateTrigger::NewTopLevelFolder => self.new_folder(),
            GateTrigger::Labels(labels) => self.labelled(labels),
            GateTrigger::BaseBranch(globs) => {
                let branch = &pull_request.base.branch;
                let matched = globs.iter().any(|glob| glob.matches(branch));
                Match::whole(matched, || MatchReason::BaseBranch { branch: branch.clone() })
            }
            GateTrigger::Author(logins) => {
                let login = &pull_request.author.login;
                Match::whole(logins.contains(login), || MatchReason::Author { login: login.clone() })
            }
            GateTrigger::Size { lines, files } => self.size(*lines, *files),
            GateTrigger::Draft => Match::whole(pull_request.readiness == Readiness::Draft, || MatchReason::Draft),
            GateTrigger::Findings(severity) => self.found(*severity),
        }
    }

    fn any(&self, parts: &[GateTrigger]) -> Match {
        let (mut certain, mut found) = (false, Triggered::nothing());
        let mut doubtful = false;
        for part in parts {
            match self.at(part) {
                Match::No => {}
                Match::Yes(more) => {
                    certain = true;
                    found.add(more);
                }
                Match::CannotTell(more) => {
                    doubtful = true;
                    found.add(more);
                }
            }
        }
        match (certain, doubtful) {
            (true, _) => Match::Yes(found),
            (false, true) => Match::CannotTell(found),
            (false, false) => Match::No,
        }
    }

    fn all(&self, parts: &[GateTrigger]) -> Match {
        let (mut certain, mut found) = (true, Triggered::nothing());
        let mut files = BTreeSet::new();
        for part in parts {
            let more = match self.at(part) {
                Match::No => return Match::No,
                Match::Yes(more) => more,
                Match::CannotTell(more) => {
                    certain = false;
                    more
                }
            };
            if let Scope::Files(more) = &more.scope {
                files.extend(more.iter().copied());
            }
            found.add(more);
        }
        // "Files under billing/, on the base main": the gate's own diff is those files, not everything.
        if !files.is_empty() {
            found.scope = Scope::Files(files);
        }
        if certain { Match::Yes(found) } else { Match::CannotTell(found) }
    }

    /// Asks the files one by one, each as if nothing else changed.
    fn same_file(&self, parts: &[GateTrigger]) -> Match {
        if self.only.is_some() {
            return self.all(parts);
        }
        let (mut certain, mut found) = (false, Triggered::nothing());
        for (index, file) in self.files().iter().enumerate() {
            let alone = Look { only: Some(index), ..*self };
            let more = match alone.all(parts) {
                Match::No => continue,
                Match::Yes(more) => {
                    certain = true;
                    more
                }
                Match::CannotTell(more) => more,
            };
            let not_excluded = || vec![in_file(file, None, MatchReason::NotExcluded)];
            found.add(if more.is_nothing() { Triggered::file(index, not_excluded()) } else { more });
        }
        self.of_files(certain, found)
    }

    fn files(&self) -> &[ChangedFile] {
        self.scene.snapshot.files.known()
    }

    fn lines(&self, index: usize) -> Option<&FileLines<'_>> {
        self.scene.lines.get(index).and_then(Option::as_ref)
    }

    /// Whether nothing but comments, blanks and places of lines changes in a file.
    fn says_nothing(&self, index: usize) -> bool {
        match &self.scene.record {
            Some(record) => record.is_comments_only(index),
            None => self.lines(index).is_some_and(|lines| !lines.change_code()),
        }
    }

    /// Asks each file; a list that is not whole leaves it open whether another file would match.
    fn in_files(&self, ask: impl Fn(usize, &ChangedFile) -> InFile) -> Match {
        let (mut certain, mut found) = (false, Triggered::nothing());
        let asked = self.only.map_or(0..self.files().len(), |only| only..only + 1);
        for index in asked {
            let Some(file) = self.files().get(index) else { continue };
            let matches = match ask(index, file) {
                InFile::Nothing => continue,
                InFile::Unreadable => vec![in_file(file, None, MatchReason::Unreadable)],
                InFile::Matches(matches) => {
                    certain = true;
                    matches
                }
            };
            let mut of_file = Triggered::file(index, matches);
            of_file.not_kept = of_file.matches.len().saturating_sub(KEPT_PER_FILE);
            of_file.matches.truncate(KEPT_PER_FILE);
            found.add(of_file);
        }
        self.of_files(certain, found)
    }

    fn of_files(&self, certain: bool, mut found: Triggered) -> Match {
        if self.only.is_none() && matches!(self.scene.snapshot.files, ChangedFiles::TooLarge { .. }) {
            found.add(Triggered::whole(MatchReason::TooLarge));
        }
        match (certain, found.is_nothing()) {
            (true, _) => Match::Yes(found),
            (false, false) => Match::CannotTell(found),
            (false, true) => Match::No,
        }
    }

    fn new_folder(&self) -> Match {
        let known = self.scene.snapshot.base_folders.as_ref();
        let arrives =
            |file: &ChangedFile| matches!(file.status, FileStatus::Added | FileStatus::Renamed | FileStatus::Copied);
        // Without the base's folders, a folder in which something is changed or removed is known to exist.
        let existing: BTreeSet<&str> = match known {
            Some(folders) => folders.iter().map(String::as_str).collect(),
            None => {
                let old_names = self.files().iter().filter(|file| !arrives(file)).map(|file| file.path.as_str());
                let renamed = self.files().iter().filter_map(|file| file.previous_path.as_deref());
                old_names.chain(renamed).filter_map(top_folder).collect()
            }
        };
        self.in_files(|_, file| match top_folder(&file.path) {
            Some(folder) if arrives(file) && !existing.contains(folder) => {
                let reason = MatchReason::NewTopLevelFolder { folder: folder.to_owned() };
                InFile::Matches(vec![in_file(file, None, reason)])
            }
            _ => InFile::Nothing,
        })
    }

    fn labelled(&self, wanted: &[String]) -> Match {
        let is = |label: &str, wanted: &String| label.to_lowercase() == wanted.to_lowercase();
        let among = |labels: &BTreeSet<String>| {
            labels.iter().find(|label| wanted.iter().any(|wanted| is(label, wanted))).cloned()
        };
        if let Some(label) = among(&self.scene.snapshot.pull_request.labels) {
            return Match::Yes(Triggered::whole(MatchReason::Label { label }));
        }
        match among(self.remembered) {
            Some(label) => Match::Yes(Triggered::whole(MatchReason::LabelRemoved { label })),
            None => Match::No,
        }
    }

    fn size(&self, most_lines: Option<u64>, most_files: Option<u64>) -> Match {
        let lines = self.files().iter().map(|file| u64::from(file.additions) + u64::from(file.deletions)).sum();
        let files = self.files().len() as u64;
        let exceeds = |most: Option<u64>, is: u64| most.is_some_and(|most| is > most);
        if exceeds(most_lines, lines) || exceeds(most_files, files) {
            return Match::Yes(Triggered::whole(MatchReason::Size { lines, files }));
        }
        match self.scene.snapshot.files {
            ChangedFiles::TooLarge { .. } => Match::CannotTell(Triggered::whole(MatchReason::TooLarge)),
            ChangedFiles::Complete(_) => Match::No,
        }
    }

    fn found(&self, severity: FindingSeverity) -> Match {
        let mut found = Triggered::nothing();
        for finding in self.scene.findings.iter().filter(|finding| finding.severity >= severity) {
            let reason = MatchReason::Finding { rule: excerpt(&finding.rule) };
            let place = finding.location.as_ref();
            let index = place.and_then(|place| self.files().iter().position(|file| file.path == place.file));
            let matched = TriggerMatch {
                file: place.map(|place| place.file.clone()),
                line: place.and_then(|place| place.line),
                reason,
            };
            // A finding outside the changed files concerns the change as a whole.
            let scope = index.map_or(Scope::Whole, |index| Scope::Files(BTreeSet::from([index])));
            found.add(Triggered { matches: vec![matched], not_kept: 0, scope });
        }
        if found.is_nothing() { Match::No } else { Match::Yes(found) }
    }
}

/// What one file says to a predicate about content.
enum InFile {
    Nothing,
    Matches(Vec<TriggerMatch>),
    /// Its patch is missing or cannot be read.
    Unreadable,
}

fn touched(file: &ChangedFile, says_nothing: bool, wanted: &PathCondition, own: &OwnNames) -> InFile {
    // Few paths match a gate's globs, so that its exceptions are seldom asked.
    let found = file.paths().find_map(|path| {
        let glob = wanted.globs.first(path);
        let words = || {
            let path = without_owner(path);
            let path = if wanted.skip_own_name { own.without(&path).into() } else { path };
            own.first(&wanted.words, &split_words(&path), wanted.skip_own_name)
        };
        let is_named = glob.is_some() || !wanted.words.as_slice().is_empty() && words().is_some();
        (is_named && !is_excepted(&wanted.except, path)).then(|| glob.map(|glob| glob.as_str().to_owned()))
    });
    // A rename, a removal and a change of mode touch a file whatever its lines.
    let stays = matches!(file.status, FileStatus::Added | FileStatus::Modified);
    let says_nothing = wanted.code_only && stays && says_nothing;
    match found {
        Some(glob) if !says_nothing => {
            InFile::Matches(vec![in_file(file, None, MatchReason::Path { name: wanted.name.clone(), glob })])
        }
        _ => InFile::Nothing,
    }
}

/// Whether an exception covers a path. Below `src/main` no folder holds tests, and a package may be called so
/// (`src/main/java/test/acme/`): an exception means it where it names `src/main` itself.
fn is_excepted(except: &PathGlobs, path: &str) -> bool {
    let Some(glob) = except.first(path) else { return false };
    let Some((before, packages)) = path.split_once("src/main/").filter(|_| !glob.as_str().contains("src/main")) else {
        return true;
    };
    let is_test = |folder: &&str| ["test", "tests", "testing"].iter().any(|name| folder.eq_ignore_ascii_case(name));
    let kept: Vec<&str> = packages.split('/').filter(|folder| !is_test(folder)).collect();
    except.matches(&format!("{before}src/main/{}", kept.join("/")))
}

/// Which lines of a patch are asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Adds,
    Removes,
}

fn changed(
    file: &ChangedFile,
    lines: Option<&FileLines<'_>>,
    wanted: &LineCondition,
    (change, names): (Change, &OwnNames),
) -> InFile {
    let is_excepted = |path: &str| is_excepted(&wanted.except, path);
    let asked = || lines_asked(file, lines, wanted, (change, names));
    let Some(previous_path) = &file.previous_path else {
        // Few lines match, so that the exceptions are seldom asked.
        return match asked() {
            InFile::Nothing => InFile::Nothing,
            found => {
                if is_excepted(&file.path) {
                    InFile::Nothing
                } else {
                    found
                }
            }
        };
    };
    let (new, old) = (is_excepted(&file.path), is_excepted(previous_path));
    let (own, other) = if change == Change::Adds { (new, old) } else { (old, new) };
    match (own, other) {
        (true, _) => InFile::Nothing,
        // Moved out of the exception, all of the file is new to the predicate, and moved into it, all of it is gone:
        // the patch does not show it.
        (false, true) => InFile::Unreadable,
        (false, false) => asked(),
    }
}

/// What the lines say, whatever the file is called.
fn lines_asked(
    file: &ChangedFile,
    lines: Option<&FileLines<'_>>,
    wanted: &LineCondition,
    (change, names): (Change, &OwnNames),
) -> InFile {
    let no_line = match change {
        Change::Adds => adds_nothing(file),
        Change::Removes => removes_nothing(file),
    };
    if no_line {
        return InFile::Nothing;
    }
    let Some(lines) = lines else { return InFile::Unreadable };
    let hits =
        |side: &Side<'_>, only_code, reason: fn(Option<PatternName>, String) -> MatchReason| -> Vec<TriggerMatch> {
            let found = |hit: Hit<'_>| in_file(file, Some(hit.number), reason(hit.name, excerpt(hit.text.trim())));
            side.hits(wanted, names, only_code).map(found).collect()
        };
    let mut found = match change {
        Change::Adds => hits(&lines.added, wanted.code_only, |name, excerpt| MatchReason::AddedLine { name, excerpt }),
        Change::Removes => {
            hits(&lines.removed, wanted.code_only, |name, excerpt| MatchReason::RemovedLine { name, excerpt })
        }
    };
    if found.is_empty()
        && let Some(context) = wanted.with_context
    {
        found = hits(&lines.context, context == Context::Enclosing, |name, excerpt| MatchReason::ContextLine {
            name,
            excerpt,
        });
    }
    if found.is_empty() { InFile::Nothing } else { InFile::Matches(found) }
}

fn new_dependencies(file: &ChangedFile) -> InFile {
    match dependencies::added(file) {
        Added::NotAManifest => InFile::Nothing,
        Added::Unreadable => InFile::Unreadable,
        Added::Names(names) if names.is_empty() => InFile::Nothing,
        Added::Names(names) => {
            let matched = |(line, name)| in_file(file, Some(line), MatchReason::Dependency { name });
            InFile::Matches(names.into_iter().map(matched).collect())
        }
    }
}

/// The git object of a file without a byte, `e69de29bb2d1d6434b8b29ae775ad8c2e48c5391`.
const EMPTY: Sha = Sha::from_bytes([
    0xe6, 0x9d, 0xe2, 0x9b, 0xb2, 0xd1, 0xd6, 0x43, 0x4b, 0x8b, 0x29, 0xae, 0x77, 0x5a, 0xd8, 0xc2, 0xe4, 0x8c, 0x53,
    0x91,
]);

/// A removed or empty file, or one renamed without a change, has no patch and adds no line.
pub(super) fn adds_nothing(file: &ChangedFile) -> bool {
    if file.blob == Some(EMPTY) {
        return true;
    }
    match file.status {
        FileStatus::Removed | FileStatus::Unchanged => true,
        FileStatus::Renamed => file.patch.is_none() && file.additions == 0 && file.deletions == 0,
        FileStatus::Added | FileStatus::Modified | FileStatus::Changed | FileStatus::Copied => false,
    }
}

/// A new file takes no line away, and one that GitHub shows no patch of may: a file that was removed is always shown
/// as such.
fn removes_nothing(file: &ChangedFile) -> bool {
    match file.status {
        FileStatus::Added | FileStatus::Copied | FileStatus::Unchanged => true,
        _ => file.patch.is_none() && file.deletions == 0,
    }
}

fn in_file(file: &ChangedFile, line: Option<u32>, reason: MatchReason) -> TriggerMatch {
    TriggerMatch { file: Some(file.path.clone()), line, reason }
}

fn top_folder(path: &str) -> Option<&str> {
    path.split_once('/').map(|(folder, _)| folder)
}

fn excerpt(text: &str) -> String {
    text.chars().take(EXCERPT).collect()
}

#[cfg(test)]
mod tests;
