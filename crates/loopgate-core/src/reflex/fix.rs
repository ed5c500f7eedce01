//! What a fixer's edits amount to.

use std::collections::BTreeSet;

use crate::{
    deciding::View,
    evidence::{CheckEvidence, CheckKind},
    ids::Sha,
    observed::ChangedFiles,
    policy::Trigger,
    source_files::is_test,
    state::{FixMaker, LoopState},
    verdict::tamper::{self, Tampering},
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditRefusal {
    Weakens(Tampering),
    /// Workflows, owners and configuration are for people to change.
    Protected {
        path: String,
    },
    /// What cannot be read cannot be taken.
    TooLarge {
        reason: String,
    },
}

/// Judges the edits of a fixer. `scope` is what the failures and the change itself point at (none: not known);
/// `configuration` the path of the configuration in force.
pub fn judge_edits(files: &ChangedFiles, scope: &BTreeSet<String>, configuration: &str) -> EditVerdict {
    let known = files.known();
    if let (true, ChangedFiles::Complete(_)) = (known.is_empty(), files) {
        return EditVerdict::Nothing;
    }
    let protected = known.iter().flat_map(|file| file.paths()).filter(|path| is_protected(path, configuration));
    let mut refusals: Vec<EditRefusal> =
        protected.map(|path| EditRefusal::Protected { path: path.to_owned() }).collect();
    refusals.extend(tamper::findings(files).into_iter().map(EditRefusal::Weakens));
    if let ChangedFiles::TooLarge { reason, .. } = files {
        refusals.push(EditRefusal::TooLarge { reason: reason.clone() });
    }
    if !refusals.is_empty() {
        return EditVerdict::Refuse(refusals);
    }
    let outside = |path: &&str| !scope.is_empty() && !scope.contains(*path) && !is_test(path);
    EditVerdict::Take {
        outside: known.iter().map(|file| file.path.as_str()).filter(outside).map(str::to_owned).collect(),
    }
}

/// Fewer tests ran after a fix than before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FewerTests {
    pub before: usize,
    pub after: usize,
    pub fix: Sha,
}

/// Whether an evaluation ran fewer tests than the one before although only a fixer has changed anything, and none of
/// its test checks fails: then they did not go because something broke.
pub fn fewer_tests(state: &LoopState, checks: &[CheckEvidence]) -> Option<FewerTests> {
    let reflex = state.reflex.as_ref()?;
    let fix = reflex.fixes.last().filter(|fix| fix.iteration + 1 == state.iteration)?;
    if fix.by == FixMaker::Person || state.accepted.contains(&Trigger::Tampering) {
        return None;
    }
    let tests = |kind: CheckKind| matches!(kind, CheckKind::Test | CheckKind::Integration);
    if checks.iter().any(|check| tests(check.kind) && check.outcome.is_failure()) {
        return None;
    }
    let before = state.attempts.iter().rev().find(|attempt| attempt.number < state.iteration)?.tests.as_ref()?;
    let now = state.attempts.iter().find(|attempt| attempt.number == state.iteration)?.tests.as_ref()?;
    let (before, after) = (before.len(), now.len());
    (after < before).then_some(FewerTests { before, after, fix: fix.head_sha })
}

fn is_protected(path: &str, configuration: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let name = lower.rsplit('/').next().unwrap_or(&lower);
    lower.starts_with(".github/") || name == "codeowners" || path == configuration || lower.starts_with(".git/")
}

/// The files the failures and the change itself point at; empty when no failure names a place.
pub fn failing_scope(view: &View, change: &ChangedFiles) -> BTreeSet<String> {
    let mut scope = BTreeSet::new();
    for view in &view.failures {
        let failure = &view.failure;
        scope.extend(failure.source.as_ref().map(|source| source.file.clone()));
        scope.extend(failure.test_file.clone());
    }
    if !scope.is_empty() {
        scope.extend(change.known().iter().flat_map(|file| file.paths()).map(str::to_owned));
    }
    scope
}

#[cfg(test)]
#[path = "fix_tests.rs"]
mod tests;
