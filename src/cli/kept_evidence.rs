//! The evidence of commits that `verify` ran on with nothing edited, kept in the git folder for all its working trees:
//! what failed on a commit is known where it is the base of a change.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use loopgate_core::{Sha, evidence::Evidence};
use loopgate_git::Git;
use loopgate_runner::Worktree;

/// The evidence among the files that `verify` leaves.
pub(super) const FILE: &str = "evidence.json";

/// Commits of which it is kept: the newest.
const MOST: usize = 8;

/// Keeps the evidence of a commit. Nothing that passes depends on it, so what cannot be written is not kept.
pub(super) fn keep(git: &Git, evidence: &Evidence) {
    let Some(folder) = folder(git) else { return };
    let Ok(text) = serde_json::to_string(evidence) else {
        return;
    };
    let path = path(&folder, evidence.head_sha);
    let _ = fs::create_dir_all(&folder).and_then(|()| fs::write(path, text));
    for old in files(&folder).into_iter().skip(MOST) {
        let _ = fs::remove_file(old);
    }
}

/// What is kept of a commit.
pub(super) fn of_commit(git: &Git, commit: Sha) -> Option<Evidence> {
    read(&path(&folder(git)?, commit)).filter(|evidence| evidence.head_sha == commit)
}

/// What the last verification left in its folder.
pub(super) fn of_tree(folder: &Path) -> Option<Evidence> {
    read(&folder.join(FILE))
}

fn read(path: &Path) -> Option<Evidence> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn folder(git: &Git) -> Option<PathBuf> {
    let worktree = Worktree::of(git).ok()?;
    Some(worktree.shared_dir.with_file_name("loopgate-evidence"))
}

fn path(folder: &Path, commit: Sha) -> PathBuf {
    folder.join(format!("{commit}.json"))
}

/// The files of a folder, the newest first.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let written = |entry: &fs::DirEntry| entry.metadata().and_then(|found| found.modified());
    let mut files: Vec<(SystemTime, PathBuf)> = entries
        .filter_map(|entry| Some((written(&entry).ok()?, entry.path())))
        .collect();
    files.sort_by(|one, other| other.cmp(one));
    files.into_iter().map(|(_, path)| path).collect()
}
