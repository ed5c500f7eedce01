//! The rules of the presets, asked of every changed file once for all gates.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::{
    ReadDiff,
    conditions::{existing_folders, new_folder},
    dependencies::{self, Added},
    excerpt, in_file,
    reading::{ChangedLine, FileReading, Weight, texts},
    sources,
};
use crate::{
    gate::report::{MatchReason, RuleEvidence, TriggerMatch},
    letters::LineWords,
    observed::Snapshot,
    policy::{ChosenRules, GateRule, ManifestChange, RuleBook, RuleCondition, RuleSide, RuleTier},
    source_files::{FileKind, is_named_test, runs},
};

/// Places kept of one rule in one file; more are counted.
const KEPT: usize = 3;

/// Folders whose files a framework loads one and all, whatever they are called.
const LOADED_WHOLE: [&str; 10] = [
    "migrations",
    "migration",
    "migrate",
    "versions",
    "initializers",
    "plugins",
    "workflows",
    "hooks",
    "init.d",
    "autoload",
];

/// A place that a rule finds.
pub(super) struct RuleHit {
    /// The index of the rule in its book.
    pub rule: usize,
    /// The index of the file.
    pub file: usize,
    pub line: Option<u32>,
    pub evidence: RuleEvidence,
    /// The line may be part of a comment: the rule is a suspect here, whatever its tier.
    pub is_doubtful: bool,
    /// Places of the rule in this file that are not kept.
    pub more: usize,
}

impl RuleHit {
    /// Whether it opens a gate alone that goes by these rules.
    pub(super) fn opens(&self, chosen: &ChosenRules) -> bool {
        !self.is_doubtful && chosen.tiers.get(&self.rule) == Some(&RuleTier::Opens)
    }
}

impl ChosenRules {
    /// Whether one of the rules looks at lines of a file of these kinds.
    pub(super) fn reads_lines_of(&self, path: &str, kinds: &[FileKind; 2]) -> bool {
        let reads = |rule: &GateRule| match rule.condition {
            RuleCondition::Line { .. } => kinds.iter().any(|kind| rule.kinds.contains(kind)),
            RuleCondition::Manifest(_) => kinds.contains(&FileKind::Manifest) || sources::is_lock_file(path),
            RuleCondition::Path { .. } | RuleCondition::NewFolder => false,
        };
        self.iter().any(|(_, rule, _)| reads(rule))
    }
}

impl ReadDiff<'_> {
    /// What the chosen rules find, those that open first.
    pub(super) fn rule_matches(&self, chosen: &ChosenRules) -> Vec<(&RuleHit, TriggerMatch)> {
        let own = self.hits(&chosen.book).iter().filter(|hit| chosen.tiers.contains_key(&hit.rule));
        let mut matches: Vec<_> = own
            .filter_map(|hit| {
                let rule = chosen.book.rules().get(hit.rule)?;
                let reason = MatchReason::Rule {
                    id: rule.id.clone(),
                    preset: rule.gate.clone(),
                    says: rule.says.clone(),
                    tier: if hit.opens(chosen) { RuleTier::Opens } else { RuleTier::Suspects },
                    evidence: hit.evidence.clone(),
                };
                Some((hit, in_file(self.files.get(hit.file)?.file, hit.line, reason)))
            })
            .collect();
        matches.sort_by_key(|(hit, _)| !hit.opens(chosen));
        matches
    }
}

/// Everything that the rules of a book find in the changed files.
pub(super) fn hits(book: &RuleBook, snapshot: &Snapshot, files: &[FileReading<'_>]) -> Vec<RuleHit> {
    let existing = existing_folders(snapshot);
    let names = names_in(files);
    let mut all = Vec::new();
    for (index, reading) in files.iter().enumerate() {
        let references = sources::changes_only_references(reading, &snapshot.pull_request);
        let mut found = Found { file: index, hits: BTreeMap::new() };
        let kinds = kinds_that_count(reading, &names);
        let of_kind = |rule: usize| kinds.iter().any(|kind| looks_at(&book.rules()[rule], *kind, reading));
        if !references {
            for rule in paths_named(book, reading).into_iter().filter(|&rule| of_kind(rule)) {
                found.add(rule, None, RuleEvidence::Path, false);
            }
            for line in reading.lines.iter().filter(|line| line.weight != Weight::Nothing) {
                let kind = kinds[usize::from(!line.is_added)];
                for rule in lines_named(book, line) {
                    if looks_at(&book.rules()[rule], kind, reading) {
                        found.add_line(rule, line);
                    }
                }
            }
        }
        for (rule, condition) in book.rules().iter().enumerate().map(|(rule, it)| (rule, &it.condition)) {
            match condition {
                RuleCondition::NewFolder => {
                    if let Some(folder) = new_folder(reading.file, &existing) {
                        found.add(rule, None, RuleEvidence::NewFolder(folder.to_owned()), false);
                    }
                }
                RuleCondition::Manifest(change) => found.add_manifest(rule, *change, reading, references, snapshot),
                RuleCondition::Path { .. } | RuleCondition::Line { .. } => {}
            }
        }
        all.extend(found.hits.into_values().flatten());
    }
    all
}

/// Whether a rule looks at files of a kind. A manifest that is a program is code too.
fn looks_at(rule: &GateRule, kind: FileKind, reading: &FileReading<'_>) -> bool {
    let runs = || kind == FileKind::Manifest && rule.kinds.contains(&FileKind::Code) && runs(&reading.file.path);
    rule.kinds.contains(&kind) || runs()
}

/// What is found in one file.
struct Found {
    file: usize,
    hits: BTreeMap<usize, Vec<RuleHit>>,
}

impl Found {
    fn add(&mut self, rule: usize, line: Option<u32>, evidence: RuleEvidence, is_doubtful: bool) {
        let hits = self.hits.entry(rule).or_default();
        // A certain place is kept before one in doubt.
        if hits.len() == KEPT
            && !is_doubtful
            && let Some(doubtful) = hits.iter().position(|hit| hit.is_doubtful)
        {
            hits.remove(doubtful);
        }
        if hits.len() < KEPT {
            hits.push(RuleHit { rule, file: self.file, line, evidence, is_doubtful, more: 0 });
        } else {
            hits[0].more += 1;
        }
    }

    fn add_line(&mut self, rule: usize, line: &ChangedLine<'_>) {
        let text = excerpt(line.text.trim());
        let evidence = if line.is_added { RuleEvidence::AddedLine(text) } else { RuleEvidence::RemovedLine(text) };
        self.add(rule, Some(line.number), evidence, line.weight == Weight::Doubtful);
    }

    fn add_manifest(
        &mut self,
        rule: usize,
        change: ManifestChange,
        reading: &FileReading<'_>,
        references: bool,
        snapshot: &Snapshot,
    ) {
        let named = match change {
            ManifestChange::Dependency => {
                match dependencies::added(reading.file, reading.patch.as_ref()) {
                    Added::NotAManifest => {}
                    Added::Unreadable => self.add(rule, None, RuleEvidence::Path, false),
                    Added::Names(names) => {
                        names
                            .into_iter()
                            .for_each(|(line, name)| self.add(rule, Some(line), RuleEvidence::Named(name), false));
                    }
                }
                return;
            }
            ManifestChange::Source => sources::changed_sources(reading, texts(reading.file, snapshot)),
            ManifestChange::Hook => sources::added_hooks(reading),
            ManifestChange::Action => {
                let action = reading.lines.first().filter(|_| references);
                action.map(|line| (*line, excerpt(line.text.trim()))).into_iter().collect()
            }
        };
        for (line, name) in named {
            let evidence = if line.is_added {
                RuleEvidence::Named(excerpt(&name))
            } else {
                RuleEvidence::RemovedLine(excerpt(line.text.trim()))
            };
            self.add(rule, Some(line.number), evidence, false);
        }
    }
}

/// The kinds of a file on both sides, as they count: a test that a framework loads, or that another file of the pull
/// request names, is code.
fn kinds_that_count(reading: &FileReading<'_>, names: &HashSet<&str>) -> [FileKind; 2] {
    let path = &reading.file.path;
    let in_loaded =
        path.rsplit('/').skip(1).any(|folder| LOADED_WHOLE.iter().any(|it| folder.eq_ignore_ascii_case(it)));
    let file_name = path.rsplit('/').next().unwrap_or(path);
    let name = file_name.rsplit_once('.').map_or(file_name, |(name, _)| name);
    let is_loaded = in_loaded || is_named_test(path) && (names.contains(name) || names.contains(file_name));
    reading.kinds.map(|kind| if kind == FileKind::Tests && is_loaded { FileKind::Code } else { kind })
}

/// The names of files that added lines of code may load: `auth.test` of `import "./auth.test"`. Empty where the pull
/// request changes no test.
fn names_in<'a>(files: &'a [FileReading<'_>]) -> HashSet<&'a str> {
    let is_code =
        |reading: &&FileReading<'_>| reading.kinds[0] != FileKind::Tests && reading.kinds[0] != FileKind::Docs;
    if files.iter().all(|reading| reading.kinds[0] != FileKind::Tests) {
        return HashSet::new();
    }
    let lines = files.iter().filter(is_code).flat_map(|reading| &reading.lines).filter(|line| line.is_added);
    let is_name = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    let words = lines.flat_map(|line| line.text.split(move |c: char| !is_name(c)));
    words.flat_map(|word| [word].into_iter().chain(word.rsplit('.').take(1))).filter(|word| word.len() > 3).collect()
}

/// The rules that name a path of the file: by a glob, or by a word of one of its folders or its name.
fn paths_named(book: &RuleBook, reading: &FileReading<'_>) -> BTreeSet<usize> {
    let mut named = BTreeSet::new();
    for path in reading.file.paths() {
        for part in path.split('/') {
            named.extend(book.with_word_in(&LineWords::of(part)));
        }
        named.extend(book.with_glob_for(path));
    }
    named.retain(|&rule| matches!(book.rules()[rule].condition, RuleCondition::Path { .. }));
    named
}

/// The rules that name a changed line, by a word or an expression.
fn lines_named(book: &RuleBook, line: &ChangedLine<'_>) -> BTreeSet<usize> {
    let looks = |rule: &GateRule| match rule.condition {
        RuleCondition::Line { side: RuleSide::Changed, .. } => true,
        RuleCondition::Line { side: RuleSide::Added, .. } => line.is_added,
        RuleCondition::Line { side: RuleSide::Removed, .. } => !line.is_added,
        _ => false,
    };
    let mut named = book.with_word_in(&LineWords::of(line.text));
    let matches = |rule: &GateRule| matches!(&rule.condition, RuleCondition::Line { pattern: Some(pattern), .. } if pattern.matches(line.text));
    named.extend(book.with_pattern().filter(|&rule| looks(&book.rules()[rule]) && matches(&book.rules()[rule])));
    named.retain(|&rule| looks(&book.rules()[rule]));
    named
}
