//! What a fixer's edits amount to.

use std::collections::BTreeSet;

use indexmap::IndexMap;

use crate::{
    concerns::{
        tampering::{self, Tampering},
        verdict::{FailureView, evaluate::TESTS_ADDED},
    },
    deciding::View,
    evidence::{BaseTestRun, ProofEnd},
    ids::{CheckName, Fingerprint, RuleId, Sha},
    observed::{ChangedFile, ChangedFiles, Contents},
    policy::{CheckPolicy, CheckSource},
    source_files::{belongs_to_tests, is_test},
    state::LoopState,
    text,
};

/// What is done with the edits of a fixer.
#[derive(Clone, Debug, PartialEq)]
pub enum EditVerdict {
    /// It changed nothing.
    Nothing,
    /// They become a commit. Files outside the failing scope are reported.
    Take { outside: Vec<String> },
    /// They do not: a person looks at them.
    Refuse(Vec<EditRefusal>),
}

/// Why edits are refused.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EditRefusal {
    /// They weaken what checks them.
    Weakens(Tampering),
    /// Workflows, owners, configuration, hooks and submodules are for people to change.
    Protected { path: String },
    /// A command of a package manager that runs without being called, and was not there before.
    RunsByItself { path: String, command: String },
    /// What cannot be read cannot be taken.
    TooLarge { reason: String },
}

/// The edits of a fixer.
#[derive(Clone, Copy)]
pub struct Edits<'a> {
    pub files: &'a ChangedFiles,
    /// The text of the files that [`files_to_read`](tampering::files_to_read) names, at both commits.
    pub contents: &'a Contents,
    pub before: Sha,
    pub after: Sha,
    /// How the checks end with the files of a [`PutBack`] as they were before; empty where that did not run.
    pub base_tests: &'a [BaseTestRun],
}

/// Judges the edits of a fixer. `scope` is what the failures and the change itself point at (none: not known);
/// `failed` names the tests that it is to mend, `state` is that of its loop, and `configuration` is the path of the
/// configuration in force.
pub fn judge_edits(
    edits: Edits<'_>,
    scope: &BTreeSet<String>,
    failed: BTreeSet<&str>,
    state: Option<&LoopState>,
    configuration: &str,
) -> EditVerdict {
    let Edits {
        files,
        contents,
        before,
        after,
        base_tests,
    } = edits;
    let known = files.known();
    if let (true, ChangedFiles::Complete(_)) = (known.is_empty(), files) {
        return EditVerdict::Nothing;
    }
    let mut refusals = intrusions(files, configuration);
    let mut change = tampering::Change::of_fixer(files, contents, before, after, failed, state);
    change.runs.base_tests = base_tests.iter().collect();
    let passing = base_tests
        .iter()
        .filter(|run| run.on_head == ProofEnd::Passed);
    change.runs.proven = passing.map(|run| run.file.as_str()).collect();
    let is_protected = |path: &str| {
        refusals
            .iter()
            .any(|one| matches!(one, EditRefusal::Protected { path: known } if known == path))
    };
    let mut findings = tampering::findings(&change);
    findings.retain(|one| !one.path.as_deref().is_some_and(is_protected));
    refusals.extend(findings.into_iter().map(EditRefusal::Weakens));
    if !refusals.is_empty() {
        return EditVerdict::Refuse(refusals);
    }
    let outside = |path: &&str| !scope.is_empty() && !scope.contains(*path) && !is_test(path);
    EditVerdict::Take {
        outside: known
            .iter()
            .map(|file| file.path.as_str())
            .filter(outside)
            .map(str::to_owned)
            .collect(),
    }
}

/// What shows whether the checks pass without what the edits do to tests and to what decides which of them run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PutBack<'a> {
    /// These are put back as they were. None where the edits are refused for another reason than such files.
    pub files: BTreeSet<&'a str>,
    /// The checks to run: those of tests, and those that failed, where one of the files may be their own.
    pub checks: BTreeSet<CheckName>,
    /// The failures that show it although no test is named.
    pub failures: BTreeSet<Fingerprint>,
}

impl<'a> PutBack<'a> {
    pub fn of(
        edited: &'a ChangedFiles,
        verdict: &EditVerdict,
        checks: &IndexMap<CheckName, CheckPolicy>,
        failures: &[FailureView],
    ) -> Self {
        let weakens_only = |refusals: &[EditRefusal]| {
            refusals
                .iter()
                .all(|one| matches!(one, EditRefusal::Weakens(_)))
        };
        let is_refused =
            matches!(verdict, EditVerdict::Refuse(refusals) if !weakens_only(refusals));
        let counts = |path: &str| belongs_to_tests(path) || tampering::decides_what_runs(path);
        let wanted = edited
            .known()
            .iter()
            .filter(|file| !is_refused && file.paths().any(counts));
        let files: BTreeSet<&str> = wanted.flat_map(ChangedFile::paths).collect();
        let are_of_checks = files.iter().any(|file| tampering::decides_what_runs(file));
        let runs_tests = |check: &CheckPolicy| check.kind.is_of_tests();
        let fails = |name: &CheckName| failures.iter().any(|view| view.check == *name);
        let is_run = |(name, check): &(&CheckName, &CheckPolicy)| {
            matches!(check.source, CheckSource::Command(_))
                && (runs_tests(check) || are_of_checks && fails(name))
        };
        let to_run: BTreeSet<CheckName> = checks
            .iter()
            .filter(is_run)
            .map(|(name, _)| name.clone())
            .collect();
        // What is wrong with a file itself is wrong again where the file is put back.
        let is_in_them = |view: &FailureView| {
            view.failure
                .source
                .as_ref()
                .is_some_and(|place| files.contains(place.file.as_str()))
        };
        let shows = |view: &&FailureView| {
            checks.get(&view.check).is_some_and(runs_tests) || !is_in_them(view)
        };
        let failures = failures
            .iter()
            .filter(shows)
            .filter_map(|view| view.failure.fingerprint)
            .collect();
        Self {
            files,
            checks: to_run,
            failures,
        }
    }
}

/// What runs elsewhere than in the checks, or says who decides: no commit of a fixer may hold it, even if a later one
/// takes it away.
pub fn intrusions(files: &ChangedFiles, configuration: &str) -> Vec<EditRefusal> {
    let mut refusals = Vec::new();
    for file in files.known() {
        let is_submodule = file
            .patch
            .as_deref()
            .is_some_and(|patch| patch.contains("\n+Subproject commit "));
        let protected = file
            .paths()
            .filter(|path| is_submodule || is_protected(path, configuration));
        refusals.extend(protected.map(|path| EditRefusal::Protected {
            path: path.to_owned(),
        }));
        let commands = runs_by_itself(file).into_iter();
        refusals.extend(commands.map(|command| EditRefusal::RunsByItself {
            path: file.path.clone(),
            command,
        }));
    }
    if let ChangedFiles::TooLarge { reason, .. } = files {
        refusals.push(EditRefusal::TooLarge {
            reason: reason.clone(),
        });
    }
    refusals
}

fn is_protected(path: &str, configuration: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let mut parts = lower.rsplit('/');
    let name = parts.next().unwrap_or_default();
    let is_hook = |part: &str| {
        matches!(
            part,
            ".husky" | ".githooks" | ".git-hooks" | ".hooks" | ".git"
        )
    };
    let runs_hooks = name.starts_with("lefthook.")
        || name.starts_with(".lefthook.")
        || name == ".pre-commit-config.yaml";
    lower.starts_with(".github/")
        || matches!(name, "codeowners" | ".gitmodules")
        || path == configuration
        || runs_hooks
        || parts.any(is_hook)
}

/// Scripts of a package manager that a file gains and that run by themselves: where packages are installed, or before
/// or after another script.
fn runs_by_itself(file: &ChangedFile) -> Vec<String> {
    let by_itself = pattern!(
        r#""(?:(?:pre|post)-?(?:install|prepare|publish|pack|update|autoload|test|check|lint|build|start)[\w:-]*|install|prepare)"\s*:"#
    );
    let is_manifest = ["package.json", "composer.json"]
        .iter()
        .any(|name| file.path.rsplit('/').next() == Some(*name));
    let patch = file
        .read_patch()
        .filter(|_| is_manifest)
        .unwrap_or_default();
    let known: BTreeSet<&str> = patch
        .removed()
        .map(|line| line.text.trim().trim_end_matches(','))
        .collect();
    let added = patch
        .added()
        .map(|line| line.text.trim().trim_end_matches(','));
    let gained = added.filter(|line| !known.contains(line) && by_itself.is_match(line));
    gained.map(|line| text::start(line, 200)).collect()
}

/// Whether the last evaluation of a loop holds nothing against it but that the change comes without a test.
pub fn lacks_only_a_test(state: &LoopState) -> bool {
    let failed = state.head.evaluation.iter().flat_map(|it| &it.failed_rules);
    failed.map(RuleId::as_str).eq([TESTS_ADDED])
}

/// The files the failures and the change itself point at; empty where a failure names no code but that of its test:
/// what it fails by may be anywhere.
pub fn failing_scope(view: &View, change: &ChangedFiles) -> BTreeSet<String> {
    let names_code = |view: &FailureView| {
        let source = view.failure.source.as_ref();
        source.is_some_and(|source| !is_test(&source.file))
    };
    if !view.failures.iter().all(names_code) {
        return BTreeSet::new();
    }
    let mut scope = BTreeSet::new();
    for view in &view.failures {
        let failure = &view.failure;
        scope.extend(failure.source.as_ref().map(|source| source.file.clone()));
        scope.extend(failure.test_file.clone());
    }
    if !scope.is_empty() {
        let changed = change.known().iter().flat_map(|file| file.paths());
        scope.extend(changed.map(str::to_owned));
    }
    scope
}

#[cfg(test)]
#[path = "fix_tests.rs"]
mod tests;
