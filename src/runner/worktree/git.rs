//! How git is asked: one command at a time, in the working tree, with an index of our own where one is written.

use std::{
    fs,
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
};

use super::Worktree;
use crate::runner::host;
use loopgate_core::Sha;

/// Why the working tree could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    #[error("git could not be run: {0}; install git, then try again")]
    NoGit(#[source] std::io::Error),
    #[error("git {command} failed: {said}")]
    Git { command: String, said: String },
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
        Ok(String::from_utf8_lossy(&self.run(arguments, None, None)?).trim_end().to_owned())
    }

    pub(super) fn sha(&self, arguments: &[&str]) -> Result<Sha, WorktreeError> {
        parse(&self.run(arguments, None, None)?, arguments.first().unwrap_or(&""))
    }

    pub(super) fn run(
        &self,
        arguments: &[&str],
        index: Option<&Scratch>,
        input: Option<&[u8]>,
    ) -> Result<Vec<u8>, WorktreeError> {
        finish(self.command(arguments, index), arguments, input)
    }

    pub(super) fn command(&self, arguments: &[&str], index: Option<&Scratch>) -> Command {
        let mut command = Command::new("git");
        // Not with the terminal's Ctrl-C: what git has begun it finishes.
        host::in_own_group(&mut command);
        command.arg("-c").arg("core.quotePath=false").arg("-c").arg("core.hooksPath=/dev/null");
        command.current_dir(&self.root).args(arguments).env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0");
        if let Some(index) = index {
            command.env("GIT_INDEX_FILE", &index.0);
        }
        command
    }
}

/// An index file of our own.
pub(super) struct Scratch(pub(super) PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // One that stays behind is overwritten by nobody and harms nothing.
        let _ = fs::remove_file(&self.0);
        let _ = fs::remove_file(self.0.with_extension("lock"));
    }
}

pub(super) fn finish(mut command: Command, arguments: &[&str], input: Option<&[u8]>) -> Result<Vec<u8>, WorktreeError> {
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(WorktreeError::NoGit)?;
    if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
        // The commands that are given input read it whole before they answer. One that ends early says why itself.
        let _ = stdin.write_all(input);
    }
    let output = child.wait_with_output().map_err(WorktreeError::NoGit)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(WorktreeError::Git {
        command: (*arguments.first().unwrap_or(&"")).to_owned(),
        said: String::from_utf8_lossy(&output.stderr).trim().chars().take(300).collect(),
    })
}

pub(super) fn parse(output: &[u8], command: &str) -> Result<Sha, WorktreeError> {
    let text = String::from_utf8_lossy(output);
    text.trim().parse().map_err(|_| WorktreeError::Git {
        command: command.to_owned(),
        said: "it answered no object id (only SHA-1 repositories are supported)".to_owned(),
    })
}
