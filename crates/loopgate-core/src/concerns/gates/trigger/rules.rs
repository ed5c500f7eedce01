//! The rules of the presets, asked of every changed file once for all gates.

use std::collections::{BTreeSet, HashSet};

use super::{
    EXCERPT, ReadDiff, copies,
    diff::{Diff, arrives},
    excerpt, in_file, manifests, pins,
    reading::{ChangedLine, FileReading, LineWeight},
    scripts,
};
use crate::{
    concerns::gates::report::{MatchReason, RuleEvidence, TriggerMatch},
    observed::{FileStatus, Recallable},
    policy::{ChosenRules, GateRule, ManifestChange, RuleBook, RuleTier},
    source_files::{FileKind, TestSyntax, in_test_folder, is_named_test, runs},
};

/// The place of a file as a whole.
const PATH: (Option<u32>, Option<RuleEvidence>) = (None, Some(RuleEvidence::Path));
/// Places kept of one rule in one file; more are counted.
const KEPT: usize = 3;

/// Folders whose files a framework loads one and all, whatever they are called.
const LOADED_WHOLE: &str =
    "migrations migration migrate versions initializers plugins workflows hooks init.d autoload";

/// A place that a rule finds.
#[derive(Clone)]
pub(super) struct RuleHit {
    /// The index of the rule in its book.
    pub rule: usize,
    /// The index of the file.
    pub file: usize,
    pub line: Option<u32>,
    /// None where what changes cannot be read, and may be what the rule looks for.
    pub evidence: Option<RuleEvidence>,
    /// The line may be part of a comment: the rule is a suspect here, whatever its tier.
    pub is_doubtful: bool,
    /// Places of the rule in this file that are not kept.
    pub more: usize,
}

impl Recallable for Box<[RuleHit]> {
    fn size(&self) -> usize {
        let longest = size_of::<RuleHit>() + EXCERPT;
        self.len() * longest
    }
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
        let reads = |rule: &GateRule| match rule.manifest {
            // Where its lines cannot be read it is taken to change.
            Some(ManifestChange::Copy | ManifestChange::Script) => false,
            Some(_) => {
                kinds.contains(&FileKind::Manifest)
                    || manifests::is_lock_file(path)
                    || manifests::is_listed(path)
            }
            None => {
                rule.of_lines().next().is_some()
                    && kinds.iter().any(|kind| rule.kinds.contains(kind))
            }
        };
        self.iter().any(|(_, rule, _)| reads(rule))
    }
}

impl ReadDiff<'_> {
    /// What the chosen rules find, those that open first.
    pub(super) fn rule_matches(&self, chosen: &ChosenRules) -> Vec<(&RuleHit, TriggerMatch)> {
        let own = self
            .hits(&chosen.book)
            .iter()
            .filter(|hit| chosen.tiers.contains_key(&hit.rule));
        let mut matches: Vec<_> = own
            .filter_map(|hit| {
                let rule = chosen.book.rules.get(hit.rule)?;
                let reason = hit
                    .evidence
                    .clone()
                    .map_or(MatchReason::Unreadable, |evidence| MatchReason::Rule {
                        id: rule.id.clone(),
                        preset: rule.gate.clone(),
                        says: rule.says.clone(),
                        tier: if hit.opens(chosen) {
                            RuleTier::Opens
                        } else {
                            RuleTier::Suspects
                        },
                        evidence,
                    });
                Some((
                    hit,
                    in_file(self.diff.files.known().get(hit.file)?, hit.line, reason),
                ))
            })
            .collect();
        matches.sort_by_key(|(hit, _)| !hit.opens(chosen));
        matches
    }
}

/// Everything that the rules of a book find in the changed files.
pub(super) fn hits(book: &RuleBook, diff: &Diff<'_>, files: &[FileReading<'_>]) -> Vec<RuleHit> {
    let existing = diff.existing_folders();
    let names = names_in(files);
    let copies = copies::edited(files);
    let scripts = scripts::run_by_workflows(diff);
    let mut all = Vec::new();
    for (file, reading) in files.iter().enumerate() {
        let references = manifests::changes_only_references(reading, diff.is_by_update_bot);
        let hit = |rule, line, evidence, is_doubtful| RuleHit {
            rule,
            file,
            line,
            evidence,
            is_doubtful,
            more: 0,
        };
        let mut found = Vec::new();
        let kinds = kinds_that_count(reading, &names);
        let of_kind = |rule: usize| {
            kinds
                .iter()
                .any(|kind| looks_at(&book.rules[rule], *kind, reading))
        };
        if !references {
            let paths: BTreeSet<usize> = reading
                .file
                .paths()
                .flat_map(|path| book.of_path(path))
                .filter(|&rule| of_kind(rule))
                .collect();
            found.extend(
                paths
                    .into_iter()
                    .map(|rule| hit(rule, None, Some(RuleEvidence::Path), false)),
            );
            let lines = reading
                .lines
                .iter()
                .filter(|line| line.weight != LineWeight::Nothing)
                .map(|line| (line, None));
            let joined = reading
                .joined
                .iter()
                .map(|(line, text)| (line, Some(text.as_str())));
            let mut known = BTreeSet::new();
            for (line, rule) in gone(book, reading) {
                if looks_at(&book.rules[rule], kinds[1], reading) {
                    let evidence = Some(line_evidence(line));
                    let is_doubtful = line.weight == LineWeight::Doubtful;
                    found.push(hit(rule, Some(line.number), evidence, is_doubtful));
                }
            }
            for (line, joined) in lines.chain(joined) {
                let kind = kinds[usize::from(!line.is_added)];
                let mut rules =
                    book.of_line(joined.unwrap_or(line.text), line.is_added, joined.is_some());
                // A rule that a line alone shows is not shown again.
                rules.retain(|rule| {
                    looks_at(&book.rules[*rule], kind, reading)
                        && book.looks_within(*rule, || reading.declaration_of(line))
                        && (known.insert(*rule) || joined.is_none())
                });
                let is_doubtful = line.weight == LineWeight::Doubtful;
                let hits = rules.into_iter().map(|rule| {
                    hit(
                        rule,
                        Some(line.number),
                        Some(line_evidence(line)),
                        is_doubtful,
                    )
                });
                found.extend(hits);
            }
        }
        // The folder at the top that the file brings.
        let folder = reading.file.path.split_once('/').map(|(folder, _)| folder);
        let folder = folder.filter(|folder| arrives(reading.file) && !existing.contains(folder));
        let is_of_packages =
            manifests::is_of_packages(reading) || pins::may_pin(&reading.file.path);
        for (index, rule) in book.rules.iter().enumerate() {
            let folder = folder.filter(|_| rule.new_folder);
            let folder =
                folder.map(|folder| (None, Some(RuleEvidence::NewFolder(folder.to_owned()))));
            let named = rule.manifest.map(|change| match change {
                ManifestChange::Copy => Vec::from_iter(copies.contains(&file).then_some(PATH)),
                ManifestChange::Script => {
                    let is_run = reading.file.paths().any(|path| scripts.contains(path));
                    Vec::from_iter(is_run.then_some(PATH))
                }
                ManifestChange::Action => in_workflow(reading, references),
                change if is_of_packages => in_manifest(change, reading, diff),
                _ => Vec::new(),
            });
            let places = folder.into_iter().chain(named.into_iter().flatten());
            found.extend(places.map(|(line, evidence)| hit(index, line, evidence, false)));
        }
        // A certain place is kept before one in doubt.
        found.sort_by_key(|hit| (hit.rule, hit.is_doubtful));
        for same in found.chunk_by_mut(|one, next| one.rule == next.rule) {
            same[0].more = same.len().saturating_sub(KEPT);
            all.extend_from_slice(&same[..same.len().min(KEPT)]);
        }
    }
    all
}

/// The removed lines in which a guard stands that no added line of the file has, each with the rule that looks for it.
fn gone<'r>(book: &RuleBook, reading: &'r FileReading<'_>) -> Vec<(&'r ChangedLine<'r>, usize)> {
    let on_side = |is_added: bool| {
        let lines = reading.lines.iter();
        lines.filter(move |line| line.is_added == is_added && line.weight != LineWeight::Nothing)
    };
    let removed = on_side(false).map(|line| (line, book.guards_of(line.text)));
    let removed: Vec<_> = removed.filter(|(_, guards)| !guards.is_empty()).collect();
    if removed.is_empty() {
        return Vec::new();
    }
    let added: BTreeSet<(usize, usize)> = on_side(true)
        .flat_map(|line| book.guards_of(line.text))
        .collect();
    let mut all = Vec::new();
    for (line, guards) in removed {
        let mut rules: Vec<usize> = guards.difference(&added).map(|(rule, _)| *rule).collect();
        rules.dedup();
        all.extend(rules.into_iter().map(|rule| (line, rule)));
    }
    all
}

/// Whether a rule looks at files of a kind. A manifest that is a program is code too.
fn looks_at(rule: &GateRule, kind: FileKind, reading: &FileReading<'_>) -> bool {
    let runs = || {
        kind == FileKind::Manifest
            && rule.kinds.contains(&FileKind::Code)
            && runs(&reading.file.path)
    };
    rule.kinds.contains(&kind) || runs()
}

fn line_evidence(line: &ChangedLine<'_>) -> RuleEvidence {
    let text = excerpt(line.text.trim());
    if line.is_added {
        RuleEvidence::AddedLine(text)
    } else {
        RuleEvidence::RemovedLine(text)
    }
}

/// The line of a workflow that names another version of an action, where nothing else changes.
fn in_workflow(
    reading: &FileReading<'_>,
    references: bool,
) -> Vec<(Option<u32>, Option<RuleEvidence>)> {
    let action = reading.lines.first().filter(|_| references);
    let place = |line: &ChangedLine<'_>| {
        (
            Some(line.number),
            Some(named_evidence(line, line.text.trim())),
        )
    };
    action.map(place).into_iter().collect()
}

/// The lines of a manifest that make a change of this kind.
fn in_manifest(
    change: ManifestChange,
    reading: &FileReading<'_>,
    diff: &Diff<'_>,
) -> Vec<(Option<u32>, Option<RuleEvidence>)> {
    let named = match change {
        ManifestChange::Dependency => {
            return match manifests::added_dependencies(reading.file, reading.patch.as_ref()) {
                // A file that is unreadable as a whole is one problem.
                None => Vec::from_iter((!reading.is_unreadable).then_some((None, None))),
                Some(names) => names
                    .into_iter()
                    .map(|(line, name)| (Some(line), Some(RuleEvidence::Named(name))))
                    .collect(),
            };
        }
        ManifestChange::Source => manifests::changed_sources(reading, diff.texts(reading.file)),
        ManifestChange::Hook => manifests::added_hooks(reading),
        ManifestChange::Identity => {
            let others = manifests::other_packages(reading, diff.texts(reading.file));
            let place = |(line, name): (Option<ChangedLine<'_>>, String)| {
                let number = line.map(|line| line.number);
                (number, Some(RuleEvidence::Named(excerpt(&name))))
            };
            return others.into_iter().map(place).collect();
        }
        ManifestChange::Downgrade => pins::downgrades(reading, diff),
        ManifestChange::Copy | ManifestChange::Script | ManifestChange::Action => {
            return Vec::new();
        }
    };
    let place = |(line, name): (ChangedLine<'_>, String)| {
        (Some(line.number), Some(named_evidence(&line, &name)))
    };
    named.into_iter().map(place).collect()
}

/// What an added line names; of a removed one, the line.
fn named_evidence(line: &ChangedLine<'_>, name: &str) -> RuleEvidence {
    match line.is_added {
        true => RuleEvidence::Named(excerpt(name)),
        false => line_evidence(line),
    }
}

/// The kinds of a file on both sides, as they count: a test that a framework loads, or that another file of the pull
/// request names, is code.
fn kinds_that_count(reading: &FileReading<'_>, names: &HashSet<&str>) -> [FileKind; 2] {
    let path = &reading.file.path;
    let in_loaded = path.rsplit('/').skip(1).any(|folder| {
        LOADED_WHOLE
            .split(' ')
            .any(|it| folder.eq_ignore_ascii_case(it))
    });
    let file_name = path.rsplit('/').next().unwrap_or(path);
    let name = file_name
        .rsplit_once('.')
        .map_or(file_name, |(name, _)| name);
    let is_named = names.contains(name) || names.contains(file_name);
    let is_loaded = in_loaded || is_named_test(path) && (is_named || gives_alone(reading));
    reading.kinds.map(|kind| {
        if kind == FileKind::Tests && is_loaded {
            FileKind::Code
        } else {
            kind
        }
    })
}

/// Whether a file gives something to others and neither declares nor asserts anything: it is no test, whatever its name.
/// In a folder of tests it is a helper of tests.
fn gives_alone(reading: &FileReading<'_>) -> bool {
    let path = &reading.file.path;
    if reading.file.status != FileStatus::Added || in_test_folder(path) {
        return false;
    }
    let Some(syntax) = TestSyntax::of(path) else {
        return false;
    };
    let tests =
        |line: &ChangedLine<'_>| syntax.begins_test(line.text) || syntax.assertions(line.text) > 0;
    let gives = pattern!(
        r"^\s*(export\b|module\.exports\b|exports\.|pub (fn|struct|mod|const)\b|public\b|(async )?def \w|class \w|func [A-Z])"
    );
    reading.lines.iter().any(|line| gives.is_match(line.text))
        && !reading
            .lines
            .iter()
            .any(|line| line.weight == LineWeight::Full && tests(line))
}

/// The names of files that added lines of code may load: `auth.test` of `import "./auth.test"`. Empty where the pull
/// request changes no test.
fn names_in<'a>(files: &'a [FileReading<'_>]) -> HashSet<&'a str> {
    let is_code = |reading: &&FileReading<'_>| {
        reading.kinds[0] != FileKind::Tests && reading.kinds[0] != FileKind::Docs
    };
    if files
        .iter()
        .all(|reading| reading.kinds[0] != FileKind::Tests)
    {
        return HashSet::new();
    }
    let lines = files
        .iter()
        .filter(is_code)
        .flat_map(|reading| &reading.lines)
        .filter(|line| line.is_added);
    let is_name = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    let words = lines.flat_map(|line| line.text.split(move |c: char| !is_name(c)));
    words
        .flat_map(|word| [word].into_iter().chain(word.rsplit('.').take(1)))
        .filter(|word| word.len() > 3)
        .collect()
}
