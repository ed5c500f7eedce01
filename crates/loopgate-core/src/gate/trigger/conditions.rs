//! What a configuration says of a gate itself: conditions, and any, all or not of others.
//!
//! A condition answers yes, no, or *cannot tell*: a patch that is missing might hold anything. Not being able to tell
//! opens the gate, and stays so through `not:`, which would otherwise turn caution into permission.

use std::collections::BTreeSet;

use super::{
    KEPT_PER_FILE, ReadDiff, Scope, Triggered,
    dependencies::{self, Added},
    excerpt, in_file,
    reading::{ChangedLine, FileReading},
};
use crate::{
    evidence::FindingSeverity,
    gate::{
        agents::agent_in,
        report::{MatchReason, TriggerMatch},
    },
    observed::{ChangedFile, ChangedFiles, FileStatus, Readiness, Snapshot},
    policy::{ChosenRules, GateTrigger, LineCondition, PathCondition},
};

/// The answer of a condition, with what it found.
pub(super) enum Match {
    Yes(Triggered),
    No,
    CannotTell(Triggered),
}

impl Match {
    /// Nothing found is a no; what is found for certain a yes.
    fn of(certain: bool, found: Option<Triggered>) -> Self {
        match found {
            Some(found) if certain => Self::Yes(found),
            Some(found) => Self::CannotTell(found),
            None => Self::No,
        }
    }

    fn whole(reason: Option<MatchReason>) -> Self {
        Self::of(true, reason.map(Triggered::whole))
    }
}

/// Asks the conditions of one gate.
pub(super) struct Evaluator<'a> {
    pub diff: &'a ReadDiff<'a>,
    pub remembered: &'a BTreeSet<String>,
}

impl Evaluator<'_> {
    pub(super) fn evaluate(&self, trigger: &GateTrigger) -> Match {
        let pull_request = &self.diff.snapshot.pull_request;
        match trigger {
            GateTrigger::Any(parts) => self.any(parts),
            GateTrigger::All(parts) => self.all(parts),
            GateTrigger::Not(part) => match self.evaluate(part) {
                Match::Yes(_) => Match::No,
                Match::No => Match::Yes(Triggered::nothing()),
                Match::CannotTell(found) => Match::CannotTell(found),
            },
            GateTrigger::Always => Match::whole(Some(MatchReason::Always)),
            GateTrigger::Rules(rules) => self.rules(rules),
            GateTrigger::Paths(paths) => self.in_files(|reading| touched(reading.file, paths)),
            GateTrigger::AddedLines(wanted) => self.in_files(|reading| changed(reading, wanted, true)),
            GateTrigger::RemovedLines(wanted) => self.in_files(|reading| changed(reading, wanted, false)),
            GateTrigger::DependenciesAdded => self.in_files(new_dependencies),
            GateTrigger::NewTopLevelFolder => self.new_folder(),
            GateTrigger::Labels(labels) => self.labelled(labels),
            GateTrigger::BaseBranch(globs) => {
                let branch = &pull_request.base.branch;
                let matched = globs.iter().any(|glob| glob.matches(branch));
                Match::whole(matched.then(|| MatchReason::BaseBranch { branch: branch.clone() }))
            }
            GateTrigger::Author(logins) => {
                let login = &pull_request.author.login;
                Match::whole(logins.contains(login).then(|| MatchReason::Author { login: login.clone() }))
            }
            GateTrigger::Agent(agents) => {
                Match::whole(agent_in(self.diff.snapshot, agents).map(|name| MatchReason::Agent { name }))
            }
            GateTrigger::Size { lines, files } => self.size(*lines, *files),
            GateTrigger::Draft => {
                Match::whole((pull_request.readiness == Readiness::Draft).then_some(MatchReason::Draft))
            }
            GateTrigger::Findings(severity) => self.found(*severity),
        }
    }

    fn any(&self, parts: &[GateTrigger]) -> Match {
        let (mut certain, mut all) = (false, None::<Triggered>);
        for part in parts {
            let answer = self.evaluate(part);
            certain |= matches!(answer, Match::Yes(_));
            if let Match::Yes(found) | Match::CannotTell(found) = answer {
                all.get_or_insert_with(Triggered::nothing).add(found);
            }
        }
        Match::of(certain, all)
    }

    fn all(&self, parts: &[GateTrigger]) -> Match {
        let (mut certain, mut all) = (true, Triggered::nothing());
        let mut files = BTreeSet::new();
        for part in parts {
            let answer = self.evaluate(part);
            certain &= matches!(answer, Match::Yes(_));
            let (Match::Yes(found) | Match::CannotTell(found)) = answer else { return Match::No };
            if let Scope::Files(more) = &found.scope {
                files.extend(more.iter().copied());
            }
            all.add(found);
        }
        // "Files under billing/, on the base main": the gate's own diff is those files, not everything.
        if !files.is_empty() {
            all.scope = Scope::Files(files);
        }
        Match::of(certain, Some(all))
    }

    fn files(&self) -> &[ChangedFile] {
        self.diff.snapshot.files.known()
    }

    /// Asks each file; a list that is not whole leaves it open whether another file would match.
    fn in_files(&self, ask: impl Fn(&FileReading<'_>) -> InFile) -> Match {
        let (mut certain, mut found) = (false, Triggered::nothing());
        for (index, reading) in self.diff.files.iter().enumerate() {
            let matches = match ask(reading) {
                InFile::Nothing => continue,
                InFile::Unreadable => vec![in_file(reading.file, None, MatchReason::Unreadable)],
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
        if matches!(self.diff.snapshot.files, ChangedFiles::TooLarge { .. }) {
            found.add(Triggered::whole(MatchReason::TooLarge));
        }
        Match::of(certain, (certain || !found.is_nothing()).then_some(found))
    }

    /// A rule that opens, or two different suspects.
    fn rules(&self, rules: &ChosenRules) -> Match {
        let mut found = Triggered::nothing();
        let (mut certain, mut suspects) = (false, BTreeSet::new());
        for (hit, matched) in self.diff.rule_matches(rules) {
            certain |= hit.opens(rules);
            suspects.insert(hit.rule);
            found.add(Triggered { not_kept: hit.more, ..Triggered::file(hit.file, vec![matched]) });
        }
        certain |= suspects.len() > 1;
        if !certain {
            found = Triggered::nothing();
        }
        let looked_at = |reading: &&FileReading<'_>| {
            reading.is_unreadable && rules.reads_lines_of(&reading.file.path, &reading.kinds)
        };
        for (index, reading) in self.diff.files.iter().enumerate().filter(|(_, reading)| looked_at(reading)) {
            found.add(Triggered::file(index, vec![in_file(reading.file, None, MatchReason::Unreadable)]));
        }
        self.of_files(certain, found)
    }

    fn new_folder(&self) -> Match {
        let existing = existing_folders(self.diff.snapshot);
        self.in_files(|reading| match new_folder(reading.file, &existing) {
            Some(folder) => {
                let reason = MatchReason::NewTopLevelFolder { folder: folder.to_owned() };
                InFile::Matches(vec![in_file(reading.file, None, reason)])
            }
            None => InFile::Nothing,
        })
    }

    fn labelled(&self, wanted: &[String]) -> Match {
        let is = |label: &str, wanted: &String| label.to_lowercase() == wanted.to_lowercase();
        let among = |labels: &BTreeSet<String>| {
            labels.iter().find(|label| wanted.iter().any(|wanted| is(label, wanted))).cloned()
        };
        let label = among(&self.diff.snapshot.pull_request.labels).map(|label| MatchReason::Label { label });
        Match::whole(label.or_else(|| among(self.remembered).map(|label| MatchReason::LabelRemoved { label })))
    }

    fn size(&self, most_lines: Option<u64>, most_files: Option<u64>) -> Match {
        let lines = self.files().iter().map(|file| u64::from(file.additions) + u64::from(file.deletions)).sum();
        let files = self.files().len() as u64;
        let exceeds = |most: Option<u64>, is: u64| most.is_some_and(|most| is > most);
        if exceeds(most_lines, lines) || exceeds(most_files, files) {
            return Match::whole(Some(MatchReason::Size { lines, files }));
        }
        match self.diff.snapshot.files {
            ChangedFiles::TooLarge { .. } => Match::CannotTell(Triggered::whole(MatchReason::TooLarge)),
            ChangedFiles::Complete(_) => Match::No,
        }
    }

    fn found(&self, severity: FindingSeverity) -> Match {
        let mut found = Triggered::nothing();
        for finding in self.diff.findings.iter().filter(|finding| finding.severity >= severity) {
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
        Match::of(true, (!found.is_nothing()).then_some(found))
    }
}

/// What one file says to a condition about content.
enum InFile {
    Nothing,
    Matches(Vec<TriggerMatch>),
    /// Its changes cannot be read.
    Unreadable,
}

fn touched(file: &ChangedFile, wanted: &PathCondition) -> InFile {
    let found = file.paths().find_map(|path| wanted.globs.first(path).filter(|_| !wanted.except.matches(path)));
    found.map_or(InFile::Nothing, |glob| {
        let reason = MatchReason::Path { name: wanted.name.clone(), glob: Some(glob.as_str().to_owned()) };
        InFile::Matches(vec![in_file(file, None, reason)])
    })
}

/// Lines of one side that match. Out of what is excepted a file is new with all its lines, and into it all are gone: no
/// patch shows them.
fn changed(reading: &FileReading<'_>, wanted: &LineCondition, is_added: bool) -> InFile {
    let file = reading.file;
    let new = wanted.except.matches(&file.path);
    let old = file.previous_path.as_ref().map_or(new, |path| wanted.except.matches(path));
    let (own, other) = if is_added { (new, old) } else { (old, new) };
    if own {
        return InFile::Nothing;
    }
    let matched = |line: &ChangedLine<'_>| {
        let name = wanted.patterns.first(line.text)?.name().cloned();
        let excerpt = excerpt(line.text.trim());
        let reason = if is_added {
            MatchReason::AddedLine { name, excerpt }
        } else {
            MatchReason::RemovedLine { name, excerpt }
        };
        Some(in_file(file, Some(line.number), reason))
    };
    let lines = reading.lines.iter().filter(|line| line.is_added == is_added);
    let found: Vec<TriggerMatch> = lines.filter_map(matched).collect();
    match (found.is_empty(), reading.is_unreadable || other && !has_no_side(file, is_added)) {
        (false, _) => InFile::Matches(found),
        (true, true) => InFile::Unreadable,
        (true, false) => InFile::Nothing,
    }
}

/// Whether a file has no line on this side at all.
fn has_no_side(file: &ChangedFile, is_added: bool) -> bool {
    file.status == if is_added { FileStatus::Removed } else { FileStatus::Added }
}

fn new_dependencies(reading: &FileReading<'_>) -> InFile {
    let file = reading.file;
    match dependencies::added(file, reading.patch.as_ref()) {
        Added::NotAManifest => InFile::Nothing,
        Added::Unreadable => InFile::Unreadable,
        Added::Names(names) if names.is_empty() => InFile::Nothing,
        Added::Names(names) => {
            let matched = |(line, name)| in_file(file, Some(line), MatchReason::Dependency { name });
            InFile::Matches(names.into_iter().map(matched).collect())
        }
    }
}

/// The folders at the top of the base. Where they are not known, a folder in which something is changed or removed is
/// known to exist.
pub(super) fn existing_folders(snapshot: &Snapshot) -> BTreeSet<&str> {
    match &snapshot.base_folders {
        Some(folders) => folders.iter().map(String::as_str).collect(),
        None => {
            let files = snapshot.files.known();
            let old_names = files.iter().filter(|file| !arrives(file)).map(|file| file.path.as_str());
            let renamed = files.iter().filter_map(|file| file.previous_path.as_deref());
            old_names.chain(renamed).filter_map(top_folder).collect()
        }
    }
}

/// The folder at the top that a file brings.
pub(super) fn new_folder<'a>(file: &'a ChangedFile, existing: &BTreeSet<&str>) -> Option<&'a str> {
    top_folder(&file.path).filter(|folder| arrives(file) && !existing.contains(folder))
}

fn arrives(file: &ChangedFile) -> bool {
    matches!(file.status, FileStatus::Added | FileStatus::Renamed | FileStatus::Copied)
}

fn top_folder(path: &str) -> Option<&str> {
    path.split_once('/').map(|(folder, _)| folder)
}
