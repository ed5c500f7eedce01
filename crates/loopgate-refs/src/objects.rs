//! What the state store needs of a git database.

use std::future::Future;

use serde::Serialize;

use super::RefName;
use loopgate_core::{RepoName, Sha, Timestamp};
use loopgate_git::GitError;

/// What a git database answers, or what follows from it.
pub type Result<T, E = RefsError> = std::result::Result<T, E>;

/// A git database with refs: the one a repository has on GitHub, or the one on this machine.
pub trait GitObjects: Sync {
    /// The commit a ref points at, if it exists.
    fn read_ref(&self, name: &RefName) -> impl Future<Output = Result<Option<Sha>>> + Send;

    /// The bytes of a file in a commit's tree, if it is there.
    ///
    /// # Errors
    /// [`RefsError::TooLarge`] above `limit` bytes.
    fn read_file(
        &self,
        commit: Sha,
        path: &str,
        limit: usize,
    ) -> impl Future<Output = Result<Option<Vec<u8>>>> + Send;

    /// The bytes of a document of ours in a commit's tree, if it is there. What is larger than ours was written by
    /// somebody else, and counts as absent.
    fn read_own(
        &self,
        commit: Sha,
        path: &str,
        limit: usize,
    ) -> impl Future<Output = Result<Option<Vec<u8>>>> + Send {
        async move {
            match self.read_file(commit, path, limit).await {
                Err(RefsError::TooLarge { .. }) => Ok(None),
                read => read,
            }
        }
    }

    /// The first parent of a commit, if it has one.
    fn parent(&self, commit: Sha) -> impl Future<Output = Result<Option<Sha>>> + Send;

    /// Writes blobs, tree and commit; nothing points at it yet.
    fn write_commit(&self, commit: NewCommit<'_>) -> impl Future<Output = Result<Sha>> + Send;

    /// Moves a ref from `old` (none: it must not exist) to `new`, a commit on top of it.
    ///
    /// # Errors
    /// [`RefsError::RefMoved`] when the ref is not at `old`.
    fn compare_and_swap(
        &self,
        name: &RefName,
        old: Option<Sha>,
        new: Sha,
    ) -> impl Future<Output = Result<()>> + Send;

    /// Writes a commit, and moves a ref to it from its parent.
    ///
    /// # Errors
    /// [`RefsError::RefMoved`] when the ref is not at the parent.
    fn commit(
        &self,
        name: &RefName,
        commit: NewCommit<'_>,
    ) -> impl Future<Output = Result<Sha>> + Send {
        async move {
            let made = self.write_commit(commit).await?;
            self.compare_and_swap(name, commit.parent, made)
                .await
                .map(|()| made)
        }
    }

    /// Whether its repository is known by another name too, which it had before. Only GitHub knows.
    fn was_called(&self, _name: &RepoName) -> impl Future<Output = Result<bool>> + Send {
        async { Ok(false) }
    }

    /// Removes a ref; it is fine if it is gone already.
    fn delete_ref(&self, name: &RefName) -> impl Future<Output = Result<()>> + Send;

    /// Our refs whose names begin so below `refs/loopgate/`, with their commits; at most some thousands.
    fn refs(&self, below: &str) -> impl Future<Output = Result<Vec<(RefName, Sha)>>> + Send;
}

/// A git database that lists what it holds.
pub trait ListObjects: GitObjects {
    /// The names in a folder at the top of a commit's tree, or at the top itself (`""`); none where there is no such
    /// folder.
    fn list_folder(
        &self,
        commit: Sha,
        folder: &str,
    ) -> impl Future<Output = Result<Vec<String>>> + Send;
}

/// A file of a commit's tree: its path and its text.
pub type TreeFile = (String, String);

/// A commit to write.
#[derive(Debug, Clone, Copy, Default)]
pub struct NewCommit<'a> {
    /// The commit whose files stay where `files` does not replace them.
    pub parent: Option<Sha>,
    /// Commits that are kept with it, further parents.
    pub keeps: &'a [Sha],
    pub files: &'a [TreeFile],
    pub subject: &'a str,
}

/// When something that failed may be tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Not before this moment, which GitHub named.
    At(Timestamp),
    /// Not before this moment, since something more needed goes first. Nothing else has to wait.
    Paced(Timestamp),
    /// Soon, and for as long as it takes: GitHub did not answer, its answer could not be read, or a newer process has to
    /// go on.
    WhenAnswered,
    /// With growing pauses, and not for ever: it may not pass by itself.
    Later,
    /// Never by itself: nothing may be asked there until an event allows it.
    OnEvent,
}

/// What can go wrong with a ref or what it points at.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RefsError {
    /// Somebody else was faster; load again and decide from what is there.
    #[error("{name} was moved by somebody else")]
    RefMoved { name: RefName },
    #[error("{path} is larger than {limit} bytes")]
    TooLarge { path: String, limit: usize },
    #[error("not inside a git repository: start one with `git init`, then make a first commit")]
    NoRepository,
    /// Expected, and repeating it changes nothing: a permission is missing.
    #[error("{0}")]
    Refused(String),
    /// Unexpected; worth another try.
    #[error("{message}")]
    Fault { message: String, retry: Retry },
}

impl From<GitError> for RefsError {
    fn from(error: GitError) -> Self {
        Self::Fault {
            message: error.to_string(),
            retry: Retry::Later,
        }
    }
}

/// A document as JSON that people can read.
pub(super) fn document(value: &impl Serialize) -> Result<String> {
    let mut text = serde_json::to_string_pretty(value).map_err(unwritable)?;
    text.push('\n');
    Ok(text)
}

pub(super) fn unwritable(error: serde_json::Error) -> RefsError {
    RefsError::Fault {
        message: format!("the state cannot be written as JSON: {error}"),
        retry: Retry::Later,
    }
}
