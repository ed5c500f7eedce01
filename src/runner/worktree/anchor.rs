//! Where git stands while a program edits the working tree, and putting it back there.
//!
//! Many fixers commit by themselves, some on a branch of their own. Their commits would escape the judgement that edits
//! get, and a branch of theirs would leave the loop's behind. So their work counts as edits of the working tree: HEAD,
//! its branch and the refs that are held go back to where they were, and the files stay as the program left them.

use super::{Worktree, WorktreeError};
use loopgate_core::Sha;

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
        Ok(Anchor { branch: self.branch(), commit: self.sha(&["rev-parse", "HEAD"])?, held })
    }

    /// Puts git back to where it stood; the files of the working tree stay as they are.
    ///
    /// # Errors
    /// When the repository is gone or cannot be written.
    pub fn hold(&self, anchor: &Anchor) -> Result<Moved, WorktreeError> {
        let mut moved = Moved::default();
        for (name, before) in &anchor.held {
            if self.resolve(name) != Some(*before) {
                self.point(name, *before)?;
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
                self.point(name, anchor.commit)?;
                self.run(&["symbolic-ref", "-m", "loopgate: back", "HEAD", name], None, None)?;
            }
            None => {
                let back = anchor.commit.to_string();
                self.run(&["update-ref", "--no-deref", "-m", "loopgate: back", "HEAD", &back], None, None)?;
            }
        }
        self.settle_index()?;
        Ok(moved)
    }

    fn branch(&self) -> Option<String> {
        self.line(&["symbolic-ref", "--quiet", "HEAD"]).ok()
    }

    fn point(&self, name: &str, at: Sha) -> Result<(), WorktreeError> {
        self.run(&["update-ref", "-m", "loopgate: back", name, &at.to_string()], None, None).map(drop)
    }
}
