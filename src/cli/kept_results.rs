//! The checks of tests that had results by test when `verify` ran here before, kept in the git folder for all its working
//! trees. One that passes without any under the same command may run no test any more.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::working_tree::{self, EVIDENCE};
use loopgate_core::{
    CheckName, Sha,
    concerns::checks::lost_results,
    evidence::{CheckEvidence, Evidence, Outcome},
    policy::{CheckSource, Policy},
    source_files::{FileKind, kind},
};
use loopgate_git::Git;
use loopgate_runner::{Checkout, Worktree};

/// Runs that are kept of a check: the newest.
const MOST: usize = 20;

/// By which a tool says that it ran nothing since nothing that it reads has changed: Gradle, Go, Nx, Turborepo, Bazel.
const REUSED: [&str; 7] = [
    "UP-TO-DATE",
    "FROM-CACHE",
    "(cached)",
    "cache hit",
    "FULL TURBO",
    "existing outputs match the cache",
    "local cache",
];

/// A run of a check with results by test.
#[derive(Serialize, Deserialize)]
struct Run {
    /// As `command` names it.
    command: String,
    branch: Option<String>,
    commit: Sha,
    /// The working tree, where git could name it.
    tree: Option<Sha>,
}

type Runs = BTreeMap<CheckName, Vec<Run>>;

/// Lets each check of tests fail that passed without results by test, which it had before under the same command: on
/// this branch, or on a commit that it stands on. Keeps those that have results now.
pub(super) fn compare(checkout: &Checkout, policy: &Policy, evidence: &mut Evidence) {
    let Some(path) = path(&checkout.git) else {
        return;
    };
    let there = fs::read(&path).unwrap_or_default();
    let mut runs: Runs = serde_json::from_slice(&there).unwrap_or_default();
    let tree = working_tree::tree(&checkout.git, Path::new(EVIDENCE));
    for check in &mut evidence.checks {
        let Some(command) = command(policy, &check.name) else {
            continue;
        };
        if !check.kind.is_of_tests() {
            continue;
        }
        let of_check = runs.entry(check.name.clone()).or_default();
        if lost_results::has_results_when_passing(check) {
            keep(of_check, command, checkout, tree);
        } else if is_bare_pass(check)
            && let Some(before) = newest(of_check, &command, checkout)
            && !is_reused(check, &checkout.git, before.tree.zip(tree))
        {
            check.outcome = Outcome::ResultsLost;
        }
    }
    // Nothing that passes depends on it, so what cannot be written is not kept.
    if let Ok(text) = serde_json::to_string(&runs) {
        let _ = fs::write(path, text);
    }
}

/// What names a check's command. Of one that was found by looking at the project, that is what stands before its options:
/// those for reports come and go with what the project names.
fn command(policy: &Policy, name: &CheckName) -> Option<String> {
    let check = policy.verify.checks.get(name)?;
    match &check.source {
        CheckSource::Command(found) if check.is_detected => {
            let words = found.run.split_whitespace();
            let own: Vec<&str> = words.take_while(|word| !word.starts_with('-')).collect();
            Some(own.join(" "))
        }
        _ => lost_results::digest(policy, name),
    }
}

fn path(git: &Git) -> Option<PathBuf> {
    let worktree = Worktree::of(git).ok()?;
    Some(worktree.shared_dir.with_file_name("loopgate-results"))
}

fn is_bare_pass(check: &CheckEvidence) -> bool {
    check.outcome == Outcome::Passed && check.tests.is_none()
}

fn keep(runs: &mut Vec<Run>, command: String, checkout: &Checkout, tree: Option<Sha>) {
    let run = Run {
        command,
        branch: checkout.branch.clone(),
        commit: checkout.head,
        tree,
    };
    runs.retain(|old| (&old.command, old.commit) != (&run.command, run.commit));
    runs.insert(0, run);
    runs.truncate(MOST);
}

/// The newest run with results under the same command, on this branch or on a commit that the head stands on.
fn newest<'r>(runs: &'r [Run], command: &str, checkout: &Checkout) -> Option<&'r Run> {
    let mut of_command = runs.iter().filter(|run| run.command == command);
    of_command.find(|run| is_before(run, checkout))
}

/// Whether its tool says that it reused its results, and nothing changed that it may read.
fn is_reused(check: &CheckEvidence, git: &Git, trees: Option<(Sha, Sha)>) -> bool {
    let printed = [&check.log_head, &check.log_tail];
    let says = |word: &&str| printed.iter().any(|text| text.contains(*word));
    REUSED.iter().any(says) && trees.is_some_and(|(before, now)| is_unchanged(git, before, now))
}

/// Whether a run was on this branch, or on a commit that the head stands on.
fn is_before(run: &Run, checkout: &Checkout) -> bool {
    let on_branch = checkout.branch.is_some() && run.branch == checkout.branch;
    let arguments = ["merge-base", "--is-ancestor"].map(str::to_owned);
    let commits = [run.commit, checkout.head].map(|commit| commit.to_string());
    let arguments: Vec<String> = arguments.into_iter().chain(commits).collect();
    on_branch || printed(&checkout.git, &arguments).is_some()
}

/// Whether documents are all that differs between two trees. Of a tree that is gone it is not known.
fn is_unchanged(git: &Git, before: Sha, now: Sha) -> bool {
    let arguments = ["diff-tree", "-r", "--name-only", "-z"].map(str::to_owned);
    let trees = [before, now].map(|tree| tree.to_string());
    let arguments: Vec<String> = arguments.into_iter().chain(trees).collect();
    let is_document = |path: &str| path.is_empty() || kind(path) == FileKind::Docs;
    before == now
        || printed(git, &arguments).is_some_and(|paths| paths.split('\0').all(is_document))
}

/// What git prints; none where it refuses.
fn printed(git: &Git, arguments: &[String]) -> Option<String> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let printed = git.command(&arguments).run().ok()?.success().ok()?;
    Some(String::from_utf8_lossy(&printed).into_owned())
}
