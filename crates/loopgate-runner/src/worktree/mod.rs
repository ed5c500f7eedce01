//! The working tree a fixer edits: what is in it, what changed, and turning edits into a commit or putting them aside.
//!
//! Everything here survives being killed at any instant. Trees are written through an index of our own, so that the
//! index people see is only touched once a commit is in place; a commit becomes part of the branch by one
//! compare-and-swap of HEAD. Edits that are not wanted are never thrown away: they are kept as a commit under
//! `refs/loopgate/aside/`.

mod edits;

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use self::edits::Edit;
use super::checkout;
use loopgate_core::{
    Sha,
    observed::{ChangedFiles, Content, Contents, FileAt},
    policy::CommitAuthor,
};
use loopgate_git::{Git, GitCommand, GitError};

pub use self::edits::{Anchor, Edits, Moved, diff_summary};

/// Where `loopgate verify` writes evidence: no part of the change.
const NOT_OURS: &str = ":(exclude,top)loopgate-evidence";

/// What of the working tree is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Files git knows.
    Tracked,
    /// New files too, but for those git ignores.
    Everything,
}

/// A git working tree.
#[derive(Clone, Debug)]
pub struct Worktree {
    git: Git,
    pub root: PathBuf,
    /// A folder of ours that belongs to this working tree, outside what is tracked.
    pub private_dir: PathBuf,
    /// A folder of ours that all working trees of the repository share.
    pub shared_dir: PathBuf,
}

/// The commit that is checked out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub commit: Sha,
    pub tree: Sha,
}

impl Worktree {
    /// The working tree with this top folder.
    ///
    /// # Errors
    /// When it is none.
    pub fn at(root: &Path) -> Result<Self, WorktreeError> {
        Self::of(&Git::at(root))
    }

    /// The working tree at whose top git is asked.
    ///
    /// # Errors
    /// When it is none.
    pub fn of(git: &Git) -> Result<Self, WorktreeError> {
        let Some(folders) = git.folders() else {
            let asked = git.command(&["rev-parse", "--git-dir"]);
            return Err(asked.run()?.failure().into());
        };
        Ok(Self {
            git: git.clone(),
            root: git.directory().to_owned(),
            private_dir: folders.own.join("loopgate"),
            shared_dir: folders.shared.join("loopgate"),
        })
    }

    /// Git, in this working tree.
    pub fn git(&self) -> &Git {
        &self.git
    }

    pub fn head(&self) -> Result<Head, WorktreeError> {
        Ok(Head {
            commit: self.sha(&["rev-parse", "HEAD"])?,
            tree: self.sha(&["rev-parse", "HEAD^{tree}"])?,
        })
    }

    /// Writes the working tree as a tree, through an index of our own.
    pub fn tree(&self, extent: Extent) -> Result<Sha, WorktreeError> {
        let index = self.scratch_index()?;
        let shown = self.private_dir.with_file_name("index");
        if shown.is_file() {
            let path = index.path().join("index");
            copy_index(&shown, &path).map_err(|source| WorktreeError::File { path, source })?;
        }
        let others: &[&str] = match extent {
            Extent::Tracked => &[],
            Extent::Everything => &["--others", "--exclude-standard"],
        };
        let list = [
            &["ls-files", "-v", "-z", "--cached"],
            others,
            &["--", NOT_OURS],
        ]
        .concat();
        let listed = self.run(&list, Some(&index), None)?;
        self.show_hidden(&listed, &index)?;
        let compare = [
            "diff-files",
            "-z",
            "--name-status",
            checkout::IGNORE_SUBMODULES,
            "--",
            NOT_OURS,
        ];
        let printed = self.run(&compare, Some(&index), None)?;
        let mut fields = printed.split(|byte| *byte == 0);
        let mut gone = Vec::new();
        let mut there = Vec::new();
        while let (Some(status), Some(path)) = (fields.next(), fields.next()) {
            let paths = if status == b"D" {
                &mut gone
            } else {
                &mut there
            };
            paths.push(path);
        }
        // Git writes a repository within this one as a folder; it is taken as the commit that it is at.
        let new = marked(&listed).filter(|(mark, _)| *mark == b'?');
        there.extend(new.map(|(_, path)| path.strip_suffix(b"/").unwrap_or(path)));
        // Before what is new: a folder may be a link by now.
        self.update_index(&["--force-remove"], &gone, &index)?;
        self.update_index(&["--add", "--remove", "--replace"], &there, &index)?;
        Ok(self
            .command(&["write-tree"], Some(&index))
            .run()?
            .object_id()?)
    }

    /// Takes from an index of our own what hides edits of files that are there: the marks "assume unchanged" and "skip
    /// worktree", which a program may have set. What a sparse checkout leaves out stays so.
    fn show_hidden(&self, listed: &[u8], index: &TempDir) -> Result<(), WorktreeError> {
        let hides = |mark: u8| mark == b'S' || mark.is_ascii_lowercase();
        let hiding = marked(listed).filter(|(mark, _)| hides(*mark));
        let is_there = |path: &&[u8]| {
            let path = self.root.join(String::from_utf8_lossy(path).as_ref());
            path.symlink_metadata().is_ok()
        };
        let hidden: Vec<&[u8]> = hiding.map(|(_, path)| path).filter(is_there).collect();
        self.update_index(&["--no-assume-unchanged"], &hidden, index)?;
        self.update_index(&["--no-skip-worktree"], &hidden, index)
    }

    /// Changes entries of an index of our own. `git add` would start another git in each submodule, under a configuration
    /// that nobody has looked at.
    fn update_index(
        &self,
        how: &[&str],
        paths: &[&[u8]],
        index: &TempDir,
    ) -> Result<(), WorktreeError> {
        let named = paths.iter().filter(|path| !path.is_empty());
        let named: Vec<u8> = named
            .flat_map(|path| path.iter().copied().chain([0]))
            .collect();
        if named.is_empty() {
            return Ok(());
        }
        let update = [&["update-index"], how, &["-z", "--stdin"]].concat();
        self.run(&update, Some(index), Some(&named)).map(drop)
    }

    /// Paths of tracked files that differ between two trees.
    pub fn differing(&self, from: Sha, to: Sha) -> Result<Vec<String>, WorktreeError> {
        Ok(self
            .edits_between(from, to)?
            .into_iter()
            .map(|edit| edit.path)
            .collect())
    }

    /// The commit that stands for an uncommitted tree. A given tree on a given head always has one and the same commit.
    pub fn stand_in(&self, tree: Sha, head: Head) -> Result<Sha, WorktreeError> {
        let date = self.line(&["show", "-s", "--format=%cI", &head.commit.to_string()])?;
        let author = CommitAuthor::default();
        self.commit_tree(
            tree,
            head.commit,
            "The working tree, uncommitted\n",
            &author,
            Some(&date),
        )
    }

    /// What changed from one tree to another.
    pub fn changes(&self, from: Sha, to: Sha) -> Result<ChangedFiles, WorktreeError> {
        Ok(checkout::in_diff(self.printed_diff(from, to))?)
    }

    /// The commits after `before` up to `after`, oldest first.
    pub fn commits_since(&self, before: Sha, after: Sha) -> Result<Vec<Sha>, WorktreeError> {
        let printed = self.line(&["rev-list", "--reverse", &format!("{before}..{after}")])?;
        Ok(printed
            .split_whitespace()
            .filter_map(|commit| commit.parse().ok())
            .collect())
    }

    /// The tree of a commit.
    pub fn tree_of(&self, commit: Sha) -> Result<Sha, WorktreeError> {
        self.sha(&["rev-parse", &format!("{commit}^{{tree}}")])
    }

    /// The same as a unified diff.
    pub fn diff(&self, from: Sha, to: Sha) -> Result<String, WorktreeError> {
        Ok(String::from_utf8_lossy(&self.printed_diff(from, to)?).into_owned())
    }

    fn printed_diff(&self, from: Sha, to: Sha) -> Result<Vec<u8>, GitError> {
        let (from, to) = (from.to_string(), to.to_string());
        self.command(&[&checkout::DIFF[..], &[&from, &to]].concat(), None)
            .run()?
            .success()
    }

    /// The message of a commit, and its first parent.
    pub fn message(&self, commit: Sha) -> Result<(String, Option<Sha>), WorktreeError> {
        let text = self.line(&["show", "-s", "--format=%P%n%B", &commit.to_string()])?;
        let (parents, message) = text.split_once('\n').unwrap_or((text.as_str(), ""));
        Ok((
            message.to_owned(),
            parents
                .split(' ')
                .next()
                .and_then(|parent| parent.parse().ok()),
        ))
    }

    /// The commit a revision names, if it names one.
    pub fn resolve(&self, revision: &str) -> Option<Sha> {
        let commit = format!("{revision}^{{commit}}");
        self.sha(&[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &commit,
        ])
        .ok()
    }

    fn edits_between(&self, from: Sha, to: Sha) -> Result<Vec<Edit>, WorktreeError> {
        let listed = [
            "diff-tree",
            "-r",
            "-z",
            "--name-status",
            "--no-renames",
            &from.to_string(),
            &to.to_string(),
        ];
        let raw = self.run(&listed, None, None)?;
        let mut fields = raw.split(|byte| *byte == 0).map(String::from_utf8_lossy);
        let mut edits = Vec::new();
        while let (Some(status), Some(path)) = (fields.next(), fields.next()) {
            edits.push(Edit {
                path: path.into_owned(),
                is_new: status == "A",
            });
        }
        Ok(edits)
    }

    /// Commits a tree on a parent without moving anything.
    pub fn commit_tree(
        &self,
        tree: Sha,
        parent: Sha,
        message: &str,
        author: &CommitAuthor,
        date: Option<&str>,
    ) -> Result<Sha, WorktreeError> {
        let arguments = [
            "commit-tree",
            &tree.to_string(),
            "-p",
            &parent.to_string(),
            "-F",
            "-",
        ];
        let mut command = self.command(&arguments, None).input(message.as_bytes());
        for role in ["AUTHOR", "COMMITTER"] {
            command = command
                .env(&format!("GIT_{role}_NAME"), &author.name)
                .env(&format!("GIT_{role}_EMAIL"), &author.email);
            if let Some(date) = date {
                command = command.env(&format!("GIT_{role}_DATE"), date);
            }
        }
        Ok(command.run()?.object_id()?)
    }
}

/// Copies an index with its time. By that time git knows which files may have changed within the second in which they
/// were read, and looks into them (<https://git-scm.com/docs/racy-git>); in a copy that looks newer it would not.
fn copy_index(from: &Path, to: &Path) -> io::Result<()> {
    let written = fs::metadata(from)?.modified()?;
    fs::copy(from, to)?;
    File::options().write(true).open(to)?.set_modified(written)
}

/// What `git ls-files -v -z` printed, as marks with paths: `?` is a file that git does not know.
fn marked(listed: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let entries = listed.split(|byte| *byte == 0);
    entries.filter_map(|entry| match entry {
        [mark, b' ', path @ ..] => Some((*mark, path)),
        _ => None,
    })
}

/// Why the working tree could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("{} cannot be changed: {source}", path.display())]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("HEAD was moved while the fixer worked; run the loop again")]
    HeadMoved,
}

impl Worktree {
    /// A folder for an index of our own; it goes with the value.
    pub(super) fn scratch_index(&self) -> Result<TempDir, WorktreeError> {
        let path = &self.private_dir;
        let folder = fs::create_dir_all(path).and_then(|()| tempfile::tempdir_in(path));
        folder.map_err(|source| WorktreeError::File {
            path: path.clone(),
            source,
        })
    }

    pub(super) fn line(&self, arguments: &[&str]) -> Result<String, WorktreeError> {
        Ok(self.command(arguments, None).run()?.text()?)
    }

    pub(super) fn sha(&self, arguments: &[&str]) -> Result<Sha, WorktreeError> {
        Ok(self.command(arguments, None).run()?.object_id()?)
    }

    pub(super) fn run(
        &self,
        arguments: &[&str],
        index: Option<&TempDir>,
        input: Option<&[u8]>,
    ) -> Result<Vec<u8>, WorktreeError> {
        let command = self.command(arguments, index);
        let command = if let Some(input) = input {
            command.input(input)
        } else {
            command
        };
        Ok(command.run()?.success()?)
    }

    pub(super) fn command(&self, arguments: &[&str], index: Option<&TempDir>) -> GitCommand {
        let command = self.git.command(arguments);
        if let Some(index) = index {
            command.env("GIT_INDEX_FILE", index.path().join("index"))
        } else {
            command
        }
    }
}

/// Bytes of a file that is read. A larger one is unreadable.
const LARGEST: usize = 1 << 20;

impl Worktree {
    /// Reads files whole, all by one git. A path with a line break is unreadable.
    pub fn contents(&self, wanted: BTreeSet<FileAt>) -> Result<Contents, WorktreeError> {
        let mut contents = Contents::default();
        let (asked, other): (Vec<FileAt>, Vec<FileAt>) = wanted
            .into_iter()
            .partition(|(_, path)| !path.contains('\n'));
        let questions: String = asked
            .iter()
            .map(|(commit, path)| format!("{commit}:{path}\n"))
            .collect();
        let printed = self.run(&["cat-file", "--batch"], None, Some(questions.as_bytes()))?;
        let mut rest = printed.as_slice();
        for file in asked {
            let content = next_object(&mut rest);
            contents.texts.insert(file, content);
        }
        contents
            .texts
            .extend(other.into_iter().map(|file| (file, Content::Unreadable)));
        Ok(contents)
    }
}

/// Takes one answer of `git cat-file --batch`: `<id> blob <size>` and the bytes, or a line that ends with `missing`.
fn next_object(rest: &mut &[u8]) -> Content {
    let end = rest
        .iter()
        .position(|byte| *byte == b'\n')
        .unwrap_or(rest.len());
    let header = String::from_utf8_lossy(&rest[..end]).into_owned();
    *rest = rest.get(end + 1..).unwrap_or_default();
    let mut words = header.rsplit(' ');
    let Some(size) = words.next().and_then(|word| word.parse::<usize>().ok()) else {
        return Content::Absent;
    };
    let is_file = words.next() == Some("blob");
    let bytes = rest.get(..size).unwrap_or_default();
    *rest = rest.get(size + 1..).unwrap_or_default();
    match std::str::from_utf8(bytes) {
        Ok(text) if is_file && size <= LARGEST && !text.contains('\0') => {
            Content::Text(text.into())
        }
        _ => Content::Unreadable,
    }
}

#[cfg(test)]
mod tests {
    use std::{
        process::Command,
        time::{Duration, SystemTime},
    };

    use super::*;
    use loopgate_git::Outsider;

    struct Repository {
        folder: tempfile::TempDir,
    }

    fn paths(edits: &Edits) -> Vec<&str> {
        edits
            .files
            .known()
            .iter()
            .map(|file| file.path.as_str())
            .collect()
    }

    impl Repository {
        fn new() -> Self {
            let new = Self {
                folder: tempfile::tempdir().unwrap(),
            };
            new.git(&["init", "-q", "-b", "main"]);
            new.write("a.txt", "one\n");
            new.write("sub/b.txt", "two\n");
            new.git(&["add", "."]);
            new.git(&[
                "-c",
                "user.name=a",
                "-c",
                "user.email=a@b",
                "commit",
                "-qm",
                "first",
            ]);
            new
        }

        fn git(&self, arguments: &[&str]) -> String {
            let output = Command::new("git")
                .current_dir(self.folder.path())
                .args(arguments)
                .output()
                .unwrap();
            assert!(
                output.status.success(),
                "{arguments:?}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            String::from_utf8_lossy(&output.stdout)
                .trim_end()
                .to_owned()
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn worktree(&self) -> Worktree {
            Worktree::at(self.folder.path()).unwrap()
        }
    }

    #[test]
    fn edits_become_a_commit_and_rubbish_does_not() {
        let repository = Repository::new();
        let tree = repository.worktree();
        repository.write("cache/rubbish", "left by a check");
        let (head, before) = (tree.head().unwrap(), tree.tree(Extent::Everything).unwrap());
        repository.write("a.txt", "1\n");
        repository.write("new/c.txt", "three\n");
        repository.write("cache/rubbish", "left by the fixer's own run");
        fs::remove_file(repository.folder.path().join("sub/b.txt")).unwrap();
        let edits = tree.edits_since(before, head).unwrap();
        assert_eq!(paths(&edits), ["a.txt", "new/c.txt", "sub/b.txt"]);
        assert_eq!(diff_summary(&edits.files), "+2/-2");
        let author = CommitAuthor {
            name: "Fixer".into(),
            email: "fixer@example.com".into(),
        };
        let commit = tree
            .commit(&edits, "fix(a): count\n\nAttempt 1/4\n", &author)
            .unwrap();
        assert_eq!(tree.head().unwrap(), head, "nothing has moved yet");
        tree.advance(head.commit, commit).unwrap();
        assert_eq!(repository.git(&["status", "--porcelain"]), "?? cache/");
        assert_eq!(
            repository.git(&["log", "-1", "--format=%an <%ae> %s"]),
            "Fixer <fixer@example.com> fix(a): count"
        );
        assert!(matches!(
            tree.advance(head.commit, commit),
            Err(WorktreeError::HeadMoved)
        ));
    }

    #[cfg(unix)]
    #[test]
    fn no_git_starts_in_a_submodule_nor_by_the_settings_of_one_worktree() {
        use std::os::unix::fs::PermissionsExt as _;

        let repository = Repository::new();
        let trap = repository.folder.path().join(".git/trap");
        let sprung = repository.folder.path().join("sprung");
        repository.write(
            ".git/trap",
            &format!("#!/bin/sh\ntouch '{}'\ncat\n", sprung.display()),
        );
        fs::set_permissions(&trap, fs::Permissions::from_mode(0o755)).unwrap();
        let trap = trap.display().to_string();
        let who = ["-c", "user.name=a", "-c", "user.email=a@b"];
        let commit = ["commit", "-qm", "more"];
        repository.write("inner/c.txt", "c\n");
        for arguments in [
            &["init", "-q"][..],
            &["add", "."],
            &[&who[..], &commit].concat(),
        ] {
            repository.git(&[&["-C", "inner"], arguments].concat());
        }
        repository.git(&["add", "inner"]);
        repository.git(&[&who[..], &commit].concat());
        let tree = repository.worktree();
        let exposed = tree.git().expose(Outsider::Checks);
        for setting in ["core.fsmonitor", "filter.deep.clean"] {
            repository.git(&["-C", "inner", "config", setting, &trap]);
        }
        repository.write("inner/.gitattributes", "*.txt filter=deep\n");
        repository.write("inner/c.txt", "d\n");
        repository.write(".git/info/attributes", "*.txt filter=evil\n");
        repository.git(&["config", "extensions.worktreeConfig", "true"]);
        repository.git(&["config", "--worktree", "filter.evil.clean", &trap]);
        repository.write("a.txt", "edited\n");
        for tree in [tree.clone(), repository.worktree()] {
            let head = tree.head().unwrap();
            let written = tree.tree(Extent::Everything).unwrap();
            assert_eq!(tree.differing(head.tree, written).unwrap(), ["a.txt"]);
            tree.tree(Extent::Tracked).unwrap();
            tree.settle_index().unwrap();
            let checkout = checkout::Checkout::of(tree.git()).unwrap();
            assert!(!checkout.is_clean);
            checkout::Changes::against(tree.git(), Some("main")).unwrap();
        }
        drop(exposed);
        repository.worktree().tree(Extent::Everything).unwrap();
        assert!(!sprung.exists());
    }

    #[test]
    fn an_edit_within_the_second_of_the_index_is_seen() {
        let repository = Repository::new();
        // What the clock alone would show: the time of the entry, not that of the change.
        repository.git(&["config", "core.trustctime", "false"]);
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_790_000_000);
        let at_that_second = |path: &str| {
            let file = File::options()
                .write(true)
                .open(repository.folder.path().join(path));
            file.unwrap().set_modified(then).unwrap();
        };
        at_that_second("a.txt");
        repository.git(&["add", "a.txt"]);
        at_that_second(".git/index");
        repository.write("a.txt", "two\n");
        at_that_second("a.txt");
        let tree = repository.worktree();
        let (head, written) = (tree.head().unwrap(), tree.tree(Extent::Tracked).unwrap());
        assert_eq!(tree.differing(head.tree, written).unwrap(), ["a.txt"]);
    }

    #[test]
    fn marks_in_the_index_hide_no_edit() {
        let repository = Repository::new();
        let tree = repository.worktree();
        for mark in ["--skip-worktree", "--assume-unchanged"] {
            repository.git(&["update-index", mark, "a.txt"]);
            repository.write("a.txt", mark);
            let head = tree.head().unwrap();
            let written = tree.tree(Extent::Tracked).unwrap();
            assert_eq!(tree.differing(head.tree, written).unwrap(), ["a.txt"]);
        }
        // What a sparse checkout leaves out is no edit.
        repository.git(&["update-index", "--skip-worktree", "sub/b.txt"]);
        fs::remove_file(repository.folder.path().join("sub/b.txt")).unwrap();
        let written = tree.tree(Extent::Everything).unwrap();
        let head = tree.head().unwrap();
        assert_eq!(tree.differing(head.tree, written).unwrap(), ["a.txt"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_may_become_a_link_or_a_file_and_a_file_a_folder() {
        let repository = Repository::new();
        let tree = repository.worktree();
        let there = |name: &str| repository.folder.path().join(name);
        repository.write("other/b.txt", "two\n");
        fs::remove_dir_all(there("sub")).unwrap();
        std::os::unix::fs::symlink("other", there("sub")).unwrap();
        fs::remove_file(there("a.txt")).unwrap();
        repository.write("a.txt/c.txt", "c\n");
        let head = tree.head().unwrap();
        let written = tree.tree(Extent::Everything).unwrap();
        repository.git(&["add", "-A"]);
        assert_eq!(repository.git(&["write-tree"]), written.to_string());
        let paths = tree.differing(head.tree, written).unwrap();
        let expected = ["a.txt", "a.txt/c.txt", "other/b.txt", "sub", "sub/b.txt"];
        assert_eq!(paths, expected);
    }

    #[test]
    fn what_is_put_aside_is_undone_and_kept() {
        let repository = Repository::new();
        let tree = repository.worktree();
        repository.write("notes", "untracked, and somebody's own");
        let (head, before) = (tree.head().unwrap(), tree.tree(Extent::Everything).unwrap());
        repository.write("a.txt", "broken\n");
        repository.write("x/y/z.txt", "new\n");
        repository.write("notes", "scribbled over");
        fs::remove_file(repository.folder.path().join("sub/b.txt")).unwrap();
        let edits = tree.edits_since(before, head).unwrap();
        let kept = tree
            .put_aside(&edits, "refs/loopgate/aside/x", "half-made\n")
            .unwrap()
            .unwrap();
        assert_eq!(repository.git(&["status", "--porcelain"]), "?? notes");
        assert_eq!(
            fs::read_to_string(repository.folder.path().join("notes")).unwrap(),
            "untracked, and somebody's own"
        );
        assert!(!repository.folder.path().join("x").exists());
        assert_eq!(
            repository.git(&["show", "-s", "--format=%s", "refs/loopgate/aside/x"]),
            "half-made"
        );
        tree.take_over(head.commit, kept).unwrap();
        assert_eq!(
            fs::read_to_string(repository.folder.path().join("a.txt")).unwrap(),
            "broken\n"
        );
        assert_eq!(repository.git(&["status", "--porcelain"]), "?? notes");
    }

    #[test]
    fn what_a_program_staged_is_put_aside_too() {
        let repository = Repository::new();
        let tree = repository.worktree();
        let (head, before) = (tree.head().unwrap(), tree.tree(Extent::Everything).unwrap());
        repository.git(&["rm", "-q", "a.txt"]);
        repository.write("c.txt", "new\n");
        repository.git(&["add", "c.txt"]);
        let edits = tree.edits_since(before, head).unwrap();
        tree.put_aside(&edits, "refs/loopgate/aside/x", "half-made\n")
            .unwrap();
        assert_eq!(
            repository.git(&["status", "--porcelain"]),
            "",
            "the next commit takes nothing of it along"
        );
    }

    #[test]
    fn git_is_put_back_to_where_it_stood_and_the_files_stay() {
        let commits = [
            "-c",
            "user.name=f",
            "-c",
            "user.email=f@x",
            "commit",
            "-qam",
            "theirs",
        ];
        let cases = [
            ("a commit", vec![&commits[..]], None),
            (
                "a branch",
                vec![&["checkout", "-qb", "theirs"][..]],
                Some("refs/heads/theirs"),
            ),
            (
                "a commit on a branch",
                vec![&["checkout", "-qb", "theirs"][..], &commits[..]],
                Some("refs/heads/theirs"),
            ),
            (
                "a detached HEAD",
                vec![&["checkout", "-q", "--detach"][..], &commits[..]],
                Some("a detached HEAD"),
            ),
            (
                "no branch",
                vec![&["checkout", "-q", "--orphan", "theirs"][..]],
                Some("refs/heads/theirs"),
            ),
        ];
        for (case, deeds, branch) in cases {
            let repository = Repository::new();
            let tree = repository.worktree();
            let (head, before) = (tree.head().unwrap(), tree.tree(Extent::Everything).unwrap());
            repository.git(&[
                "update-ref",
                "refs/loopgate/task/x",
                &head.commit.to_string(),
            ]);
            let anchor = tree
                .anchor(vec![("refs/loopgate/task/x".into(), head.commit)])
                .unwrap();
            assert_eq!(tree.hold(&anchor).unwrap(), Moved::default(), "{case}");
            repository.write("a.txt", "1\n");
            deeds.iter().for_each(|deed| drop(repository.git(deed)));
            repository.git(&["update-ref", "-d", "refs/loopgate/task/x"]);
            let moved = tree.hold(&anchor).unwrap();
            assert_eq!(moved.branch.as_deref(), branch, "{case}");
            assert_eq!(
                moved.commit.is_some(),
                deeds.contains(&&commits[..]),
                "{case}"
            );
            assert_eq!(moved.refs, ["refs/loopgate/task/x"], "{case}");
            assert_eq!(tree.head().unwrap(), head, "{case}");
            assert_eq!(
                repository.git(&["symbolic-ref", "HEAD"]),
                "refs/heads/main",
                "{case}"
            );
            assert_eq!(
                repository.git(&["status", "--porcelain"]),
                " M a.txt",
                "{case}"
            );
            assert_eq!(
                paths(&tree.edits_since(before, head).unwrap()),
                ["a.txt"],
                "{case}"
            );
            assert_eq!(
                tree.resolve("refs/loopgate/task/x"),
                Some(head.commit),
                "{case}"
            );
        }
    }

    #[test]
    fn an_uncommitted_tree_has_one_stand_in() {
        let repository = Repository::new();
        let tree = repository.worktree();
        let head = tree.head().unwrap();
        assert_eq!(tree.tree(Extent::Tracked).unwrap(), head.tree);
        repository.write("a.txt", "1\n");
        let dirty = tree.tree(Extent::Tracked).unwrap();
        assert_ne!(dirty, head.tree);
        assert_eq!(
            tree.stand_in(dirty, head).unwrap(),
            tree.stand_in(dirty, head).unwrap()
        );
        assert_eq!(
            repository.git(&["status", "--porcelain"]),
            " M a.txt",
            "the index people see is untouched"
        );
        let names = tree.differing(head.tree, dirty).unwrap();
        assert_eq!(names, ["a.txt"]);
    }
}

#[cfg(test)]
mod contents_tests {
    use super::*;

    #[test]
    fn answers_are_read_one_after_the_other() {
        let printed = b"1111111111111111111111111111111111111111 blob 4\na\nb\n\nHEAD:x y missing\n2222222222222222222222222222222222222222 tree 2\nab\n3333333333333333333333333333333333333333 blob 2\n\x00a\n";
        let mut rest = printed.as_slice();
        let read: Vec<Content> = (0..4).map(|_| next_object(&mut rest)).collect();
        assert_eq!(
            read,
            [
                Content::Text("a\nb\n".into()),
                Content::Absent,
                Content::Unreadable,
                Content::Unreadable
            ]
        );
        assert!(rest.is_empty());
    }
}
