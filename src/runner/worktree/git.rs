//! How git is asked: one command at a time, in the working tree, with an index of our own where one is written.

use std::{fs, path::PathBuf};

use super::Worktree;
use crate::git::{GitCommand, GitError};
use loopgate_core::Sha;

/// Why the working tree could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("{} cannot be changed: {source}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error("HEAD was moved while the fixer worked; run the loop again")]
    HeadMoved,
}

impl Worktree {
    /// A name for an index of our own; the file goes when the name does.
    pub(super) fn scratch_index(&self) -> Result<Scratch, WorktreeError> {
        let folder = self.private_dir();
        fs::create_dir_all(&folder).map_err(|source| WorktreeError::File { path: folder.clone(), source })?;
        let path = folder.join(format!("index-{}-{:08x}", std::process::id(), fastrand::u32(..)));
        Ok(Scratch(path))
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
        index: Option<&Scratch>,
        input: Option<&[u8]>,
    ) -> Result<Vec<u8>, WorktreeError> {
        let command = self.command(arguments, index);
        let command = if let Some(input) = input { command.input(input) } else { command };
        Ok(command.run()?.success()?)
    }

    pub(super) fn command(&self, arguments: &[&str], index: Option<&Scratch>) -> GitCommand {
        let command = GitCommand::new(&self.root, arguments);
        if let Some(index) = index { command.env("GIT_INDEX_FILE", &index.0) } else { command }
    }
}

/// An index file of our own.
pub(super) struct Scratch(pub(super) PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // A file that stays behind is not reused and does no harm.
        let _ = fs::remove_file(&self.0);
        let _ = fs::remove_file(self.0.with_extension("lock"));
    }
}
