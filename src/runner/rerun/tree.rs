//! The base with the change's tests laid over it, or the head with the base's, in a worktree of its own.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::TestTrial;
use crate::{
    git::{GitCommand, GitOutput},
    runner::worktree::{Extent, Worktree},
};
use loopgate_core::{Sha, source_files::belongs_to_tests, text::one_line};

/// A git worktree on a commit, removed when dropped.
pub struct BaseTree {
    root: PathBuf,
    /// Its top.
    pub path: PathBuf,
}

impl BaseTree {
    /// The commit as it is.
    ///
    /// # Errors
    /// In words.
    pub fn at(root: &Path, commit: Sha) -> Result<Self, String> {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let name = format!("loopgate-base-{}-{}", std::process::id(), since.as_nanos());
        let path = std::env::temp_dir().join(name);
        // Fails where something is there already, so that a link placed there is not followed.
        fs::create_dir(&path).map_err(|error| format!("no place for a worktree: {error}"))?;
        let worktree = Self { root: root.to_owned(), path };
        let shown = worktree.path.display().to_string();
        match git(root, &["worktree", "add", "--quiet", "--detach", &shown, &commit.to_string()]) {
            Ok(()) => {
                worktree.link_installed(root);
                Ok(worktree)
            }
            Err(reason) => Err(format!("{} cannot be checked out: {reason}", commit.short())),
        }
    }

    /// The base with the change's test files over it.
    ///
    /// # Errors
    /// In words.
    pub fn with_tests_of(trial: &TestTrial<'_>) -> Result<Self, String> {
        let tree = Self::at(trial.root, trial.base)?;
        let tests = trial.files.known().iter().map(|file| file.path.as_str()).filter(|path| belongs_to_tests(path));
        let head = Worktree::at(trial.root).and_then(|worktree| worktree.tree(Extent::Tracked));
        let laid_over = head.map_err(|error| error.to_string()).and_then(|head| tree.put_back(head, &tests.collect()));
        laid_over.map_err(|error| format!("the tests cannot be laid over the base: {error}"))?;
        Ok(tree)
    }

    /// Makes files what they are in another tree, and takes out those that it does not have.
    ///
    /// # Errors
    /// In words.
    pub fn put_back(&self, from: Sha, files: &BTreeSet<&str>) -> Result<(), String> {
        let is_there = |path: &&str| git(&self.root, &["cat-file", "-e", &format!("{from}:{path}")]).is_ok();
        let (there, new): (Vec<&str>, Vec<&str>) = files.iter().copied().partition(is_there);
        for path in new {
            let place = self.inside(path).map_err(|error| error.to_string())?;
            fs::remove_file(place).map_err(|error| format!("{path}: {error}"))?;
        }
        let restore = ["--literal-pathspecs", "restore", &format!("--source={from}"), "--worktree", "--"];
        if there.is_empty() { Ok(()) } else { git(&self.path, &[&restore[..], &there].concat()) }
    }

    /// A place in the worktree, with no link of the base on the way to it.
    fn inside(&self, path: &str) -> std::io::Result<PathBuf> {
        let mut place = self.path.clone();
        for part in Path::new(path).components() {
            let std::path::Component::Normal(part) = part else {
                return Err(std::io::Error::other(format!("{path} is no plain path")));
            };
            place.push(part);
            if place.is_symlink() {
                fs::remove_file(&place)?;
            }
        }
        Ok(place)
    }

    /// Packages are installed beside the manifest, and are no part of the repository.
    fn link_installed(&self, root: &Path) {
        let places = ["", "packages", "apps", "frontend", "web"].map(|package| Path::new(package).join("node_modules"));
        let others = [".venv", "venv", "vendor", "deps"].map(PathBuf::from);
        for place in places.into_iter().chain(others) {
            let (installed, wanted) = (root.join(&place), self.path.join(&place));
            if installed.is_dir() && !wanted.exists() && wanted.parent().is_some_and(Path::is_dir) {
                // Without it the run is broken, and says so.
                #[cfg(unix)]
                let _ = std::os::unix::fs::symlink(installed, wanted);
                #[cfg(windows)]
                let _ = std::os::windows::fs::symlink_dir(installed, wanted);
            }
        }
    }
}

impl Drop for BaseTree {
    fn drop(&mut self) {
        let shown = self.path.display().to_string();
        if git(&self.root, &["worktree", "remove", "--force", "--force", &shown]).is_err() {
            let _ = fs::remove_dir_all(&self.path);
            let _ = git(&self.root, &["worktree", "prune"]);
        }
    }
}

fn git(root: &Path, arguments: &[&str]) -> Result<(), String> {
    let output = GitCommand::new(root, arguments).run().and_then(GitOutput::success);
    output.map(drop).map_err(|error| one_line(&error.to_string(), 200))
}
