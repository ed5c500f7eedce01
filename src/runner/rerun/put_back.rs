//! The checks with files put back: whether a change passes without what it does to tests and settings.

use std::{collections::BTreeSet, sync::Arc};

use super::{executed, tree::BaseTree, use_installed};
use crate::runner::{Interrupt, Observer, Plan, run};
use loopgate_core::{
    Fingerprint, Sha,
    evidence::{BaseTestRun, CheckEvidence, Failure, Outcome, ProofEnd},
};

/// Failing tests that are named.
const MOST_NAMED: usize = 20;

/// Runs the plan on the commit `head` with files as they are in the tree `before`, in a worktree of its own: each of the
/// files where all checks pass so, or one with the tests that fail so. Empty where nothing can be known, since the checks do
/// not run in a worktree.
pub async fn with_files_put_back(
    plan: &Plan,
    head: Sha,
    before: Sha,
    files: &BTreeSet<&str>,
    to_mend: &BTreeSet<Fingerprint>,
    interrupt: Interrupt,
    observer: Arc<dyn Observer>,
) -> Vec<BaseTestRun> {
    let Ok(tree) = BaseTree::at(&plan.root, head) else { return Vec::new() };
    if tree.put_back(before, files).is_err() {
        return Vec::new();
    }
    let commands: Vec<&str> = plan.checks.values().map(|planned| planned.command.run.as_str()).collect();
    let run = |file: &str, on_head, failing| BaseTestRun {
        file: file.to_owned(),
        command: commands.join("; "),
        on_head,
        failing,
    };
    let (end, failing) = ending(&run_in(plan, &tree, interrupt.clone(), observer.clone()).await, to_mend);
    match (end, files.first()) {
        (ProofEnd::Passed, _) => files.iter().map(|file| run(file, end, Vec::new())).collect(),
        (ProofEnd::Failed, Some(file)) => {
            // They may fail for what the worktree lacks: then they fail there as they are edited too.
            let Ok(edited) = BaseTree::at(&plan.root, head) else { return Vec::new() };
            match ending(&run_in(plan, &edited, interrupt, observer).await, to_mend) {
                (ProofEnd::Passed, _) => vec![run(file, end, failing)],
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

async fn run_in(plan: &Plan, tree: &BaseTree, interrupt: Interrupt, observer: Arc<dyn Observer>) -> Vec<CheckEvidence> {
    let mut there = Plan { root: tree.path.clone(), ..plan.clone() };
    for planned in there.checks.values_mut() {
        use_installed(&mut planned.command.environment, &planned.command.run, &tree.path, &plan.root);
    }
    run(&there, interrupt, observer).await.checks
}

/// How the checks end together, with the names of the tests that fail. What fails and names no test may be a build that the
/// edits broke: it counts where it is a failure `to_mend`.
fn ending(checks: &[CheckEvidence], to_mend: &BTreeSet<Fingerprint>) -> (ProofEnd, Vec<String>) {
    let passes = |check: &CheckEvidence| check.outcome == Outcome::Passed && executed(check.results) != Some(0);
    if !checks.is_empty() && checks.iter().all(passes) {
        return (ProofEnd::Passed, Vec::new());
    }
    let failed = || checks.iter().filter(|check| check.outcome == Outcome::Failed).flat_map(|check| &check.failures);
    let tests: Vec<String> = failed().filter_map(|failure| failure.test_name.clone()).take(MOST_NAMED).collect();
    let is_to_mend = |failure: &Failure| failure.fingerprint.is_some_and(|print| to_mend.contains(&print));
    let end = if tests.is_empty() && !failed().any(is_to_mend) { ProofEnd::Broken } else { ProofEnd::Failed };
    (end, tests)
}
