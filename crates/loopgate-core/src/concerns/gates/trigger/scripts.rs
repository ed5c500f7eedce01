//! The files that workflows run: what a `run:` names is a part of CI, wherever it lies.

use std::collections::BTreeSet;

use super::diff::Diff;
use crate::{
    observed::{FileAt, Snapshot},
    source_files::{FileKind, extension, kind},
    workflow::Workflow,
};

/// Where GitHub looks for workflows.
const WORKFLOWS: &str = ".github/workflows/";
/// Workflows read for one pull request.
const MOST: usize = 10;

/// The workflows at the base, where a file changes that one of them may run.
pub(super) fn workflows_to_read(snapshot: &Snapshot, workflows: &[String]) -> Vec<FileAt> {
    let mut changed = snapshot.files.known().iter();
    if !changed.any(|file| may_be_run(&file.path)) {
        return Vec::new();
    }
    let own = workflows.iter().filter(|path| path.starts_with(WORKFLOWS));
    own.take(MOST)
        .map(|path| (snapshot.pull_request.base.sha, path.clone()))
        .collect()
}

/// The changed files that a workflow at the base runs, by their paths, as far as workflows were read.
pub(super) fn run_by_workflows<'a>(diff: &Diff<'a>) -> BTreeSet<&'a str> {
    let workflows = diff
        .texts_of_base()
        .filter(|(path, _)| path.starts_with(WORKFLOWS));
    let named: BTreeSet<String> = workflows
        .filter_map(|(_, text)| Workflow::parse(text))
        .flat_map(|workflow| named_files(&workflow))
        .collect();
    let changed = diff.files.known().iter().flat_map(|file| file.paths());
    changed
        .filter(|path| may_be_run(path) && named.contains(*path))
        .collect()
}

/// Scripts, and what has no extension: programs are built first.
fn may_be_run(path: &str) -> bool {
    const SCRIPTS: [&str; 14] = [
        "sh", "bash", "zsh", "py", "js", "mjs", "cjs", "ts", "rb", "pl", "ps1", "php", "bat", "cmd",
    ];
    let is_script = match extension(path) {
        Some(end) => SCRIPTS.contains(&end),
        None => true,
    };
    is_script && matches!(kind(path), FileKind::Code | FileKind::Config)
}

/// The paths that the commands of a workflow name, from the top of the repository.
fn named_files(workflow: &Workflow) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for step in workflow.jobs().flat_map(|job| job.steps()) {
        let Some(run) = step["run"].as_str() else {
            continue;
        };
        let folder = step["working-directory"].as_str().unwrap_or_default();
        let is_apart = |c: char| c.is_whitespace() || "\"'`;&|()<>=$".contains(c);
        for word in run.split(is_apart).filter(|word| !word.is_empty()) {
            let path = word.trim_start_matches("./");
            all.insert(path.to_owned());
            if !folder.is_empty() {
                let folder = folder.trim_start_matches("./").trim_end_matches('/');
                all.insert(format!("{folder}/{path}"));
            }
        }
    }
    all
}
