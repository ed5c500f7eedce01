//! Edits of a program: distinguished from earlier changes, turned into a commit, or put aside.

use std::fs;

use super::{Extent, Head, Worktree, WorktreeError};
use loopgate_core::{
    Sha,
    observed::{ChangedFile, ChangedFiles},
    policy::CommitAuthor,
};

/// One path that differs between two trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) path: String,
    pub(super) is_new: bool,
}

/// Edits of a program, as they would be committed.
#[derive(Clone, Debug)]
pub struct Edits {
    /// The commit that was edited.
    pub head: Head,
    before: Sha,
    /// Everything that differs, files the checks leave lying about included.
    all: Vec<Edit>,
    /// The head's tree with the edits that count.
    pub tree: Sha,
    pub files: ChangedFiles,
}

impl Edits {
    pub fn is_empty(&self) -> bool {
        self.tree == self.head.tree
    }
}

/// `+5/-2`.
pub fn diff_summary(files: &ChangedFiles) -> String {
    let count = |of: fn(&ChangedFile) -> u32| {
        files
            .known()
            .iter()
            .map(|file| u64::from(of(file)))
            .sum::<u64>()
    };
    format!(
        "+{}/-{}",
        count(|file| file.additions),
        count(|file| file.deletions)
    )
}

impl Worktree {
    /// What a program edited since the working tree was `before`.
    ///
    /// A file that stood there untracked before, as builds and test runs leave them, is no edit of the change.
    pub fn edits_since(&self, before: Sha, head: Head) -> Result<Edits, WorktreeError> {
        let after = self.tree(Extent::Everything)?;
        let all = self.edits_between(before, after)?;
        let stood_there = self
            .edits_between(head.tree, before)?
            .into_iter()
            .filter(|file| file.is_new);
        let stood_there: Vec<u8> = stood_there
            .flat_map(|file| file.path.into_bytes().into_iter().chain([0]))
            .collect();
        let index = self.scratch_index()?;
        self.run(&["read-tree", &after.to_string()], Some(&index), None)?;
        self.run(
            &["update-index", "--force-remove", "-z", "--stdin"],
            Some(&index),
            Some(&stood_there),
        )?;
        let tree = self
            .command(&["write-tree"], Some(&index))
            .run()?
            .object_id()?;
        let files = self.changes(head.tree, tree)?;
        Ok(Edits {
            head,
            before,
            all,
            tree,
            files,
        })
    }

    /// Commits edits on their head without moving anything yet.
    pub fn commit(
        &self,
        edits: &Edits,
        message: &str,
        author: &CommitAuthor,
    ) -> Result<Sha, WorktreeError> {
        self.commit_tree(edits.tree, edits.head.commit, message, author, None)
    }

    /// Moves the branch on to a commit whose tree is what is in the working tree already.
    pub fn advance(&self, from: Sha, to: Sha) -> Result<(), WorktreeError> {
        let update = [
            "update-ref",
            "-m",
            "loopgate: fix",
            "HEAD",
            &to.to_string(),
            &from.to_string(),
        ];
        if self.run(&update, None, None).is_err() {
            return Err(WorktreeError::HeadMoved);
        }
        self.settle_index()
    }

    /// Makes the index that of HEAD; the working tree stays.
    pub fn settle_index(&self) -> Result<(), WorktreeError> {
        self.run(&["reset", "--quiet"], None, None).map(drop)
    }

    /// Moves the branch and the working tree on to a commit on top of the head.
    pub fn take_over(&self, from: Sha, to: Sha) -> Result<(), WorktreeError> {
        self.run(
            &["read-tree", "-m", "-u", &from.to_string(), &to.to_string()],
            None,
            None,
        )?;
        self.advance(from, to)
    }

    /// Undoes edits in the working tree, after they have been kept as a commit of a ref. None when there are none.
    pub fn put_aside(
        &self,
        edits: &Edits,
        name: &str,
        message: &str,
    ) -> Result<Option<Sha>, WorktreeError> {
        if edits.all.is_empty() {
            return Ok(None);
        }
        let kept = if edits.is_empty() {
            None
        } else {
            let commit = self.commit(edits, message, &CommitAuthor::default())?;
            self.run(
                &[
                    "update-ref",
                    "-m",
                    "loopgate: put aside",
                    name,
                    &commit.to_string(),
                ],
                None,
                None,
            )?;
            Some(commit)
        };
        self.undo(edits)?;
        Ok(kept)
    }

    fn undo(&self, edits: &Edits) -> Result<(), WorktreeError> {
        let index = self.scratch_index()?;
        self.run(
            &["read-tree", &edits.before.to_string()],
            Some(&index),
            None,
        )?;
        let mut back = Vec::new();
        for edit in &edits.all {
            if !edit.is_new {
                back.extend_from_slice(edit.path.as_bytes());
                back.push(0);
                continue;
            }
            let path = self.root.join(&edit.path);
            match fs::remove_file(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(source) => return Err(WorktreeError::File { path, source }),
            }
            // Folders that only held new files go too; git would not have kept them.
            let folders = path
                .ancestors()
                .skip(1)
                .take_while(|folder| *folder != self.root);
            for folder in folders {
                if fs::remove_dir(folder).is_err() {
                    break;
                }
            }
        }
        if !back.is_empty() {
            self.run(
                &["checkout-index", "--force", "-z", "--stdin"],
                Some(&index),
                Some(&back),
            )?;
        }
        // Out of the index that people see too: what the program staged would go along with their next commit.
        let paths: Vec<u8> = edits
            .all
            .iter()
            .flat_map(|edit| edit.path.bytes().chain([0]))
            .collect();
        let reset = [
            "--literal-pathspecs",
            "reset",
            "--quiet",
            "--pathspec-from-file=-",
            "--pathspec-file-nul",
        ];
        self.run(&reset, None, Some(&paths)).map(drop)
    }
}

/// Where git stood before a program was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// The full name of the branch; none where HEAD is detached.
    branch: Option<String>,
    commit: Sha,
    /// Refs that are none of the program's business, with what they pointed at.
    held: Vec<(String, Sha)>,
}

/// What a program had moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// The commit HEAD was left at, if it is another one.
    pub commit: Option<Sha>,
    /// What was checked out instead, if it was something else.
    pub branch: Option<String>,
    /// Refs that were held, and had been changed or deleted.
    pub refs: Vec<String>,
}

impl Worktree {
    /// Remembers where git stands. `held` are refs and what they point at now.
    pub fn anchor(&self, held: Vec<(String, Sha)>) -> Result<Anchor, WorktreeError> {
        Ok(Anchor {
            branch: self.branch(),
            commit: self.sha(&["rev-parse", "HEAD"])?,
            held,
        })
    }

    /// Puts git back to where it stood; the files of the working tree stay as they are.
    ///
    /// # Errors
    /// When the repository is gone or cannot be written.
    pub fn hold(&self, anchor: &Anchor) -> Result<Moved, WorktreeError> {
        let point = |name: &str, at: Sha| {
            self.run(
                &["update-ref", "-m", "loopgate: back", name, &at.to_string()],
                None,
                None,
            )
        };
        let mut moved = Moved::default();
        for (name, before) in &anchor.held {
            if self.resolve(name) != Some(*before) {
                point(name, *before)?;
                moved.refs.push(name.clone());
            }
        }
        let (branch, commit) = (self.branch(), self.resolve("HEAD"));
        if branch == anchor.branch && commit == Some(anchor.commit) {
            return Ok(moved);
        }
        moved.commit = commit.filter(|commit| *commit != anchor.commit);
        if branch != anchor.branch {
            moved.branch = Some(branch.unwrap_or_else(|| "a detached HEAD".to_owned()));
        }
        match &anchor.branch {
            Some(name) => {
                point(name, anchor.commit)?;
                self.run(
                    &["symbolic-ref", "-m", "loopgate: back", "HEAD", name],
                    None,
                    None,
                )?;
            }
            None => {
                let back = anchor.commit.to_string();
                self.run(
                    &[
                        "update-ref",
                        "--no-deref",
                        "-m",
                        "loopgate: back",
                        "HEAD",
                        &back,
                    ],
                    None,
                    None,
                )?;
            }
        }
        self.settle_index()?;
        Ok(moved)
    }

    fn branch(&self) -> Option<String> {
        self.line(&["symbolic-ref", "--quiet", "HEAD"]).ok()
    }
}
