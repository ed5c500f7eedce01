//! The files and commits of a pull request.

use serde::{Deserialize, Serialize};

use crate::{ids::Sha, observed::Account};

/// The files a pull request changes.
#[derive(Clone, Debug, PartialEq)]
pub enum ChangedFiles {
    Complete(Vec<ChangedFile>),
    /// More than the platform lists (3,000), or a page that could not be read: every content trigger matches.
    TooLarge {
        known: Vec<ChangedFile>,
        reason: String,
    },
}

/// None.
impl Default for ChangedFiles {
    fn default() -> Self {
        Self::Complete(Vec::new())
    }
}

impl ChangedFiles {
    pub fn known(&self) -> &[ChangedFile] {
        match self {
            Self::Complete(files) => files,
            Self::TooLarge { known, .. } => known,
        }
    }
}

/// One changed file, with its patch where GitHub gives one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    pub path: String,
    /// The old name of a renamed or copied file. Both names count as touched.
    pub previous_path: Option<String>,
    pub status: FileStatus,
    pub additions: u32,
    pub deletions: u32,
    /// The file's blob at the head; none for removed files.
    pub blob: Option<Sha>,
    /// Unified diff hunks. GitHub leaves it out for binary and very large files; such a file counts as matching
    /// every content trigger.
    pub patch: Option<String>,
}

impl ChangedFile {
    /// Both names of a rename, else the one name.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.path.as_str()).chain(self.previous_path.as_deref())
    }

    /// Its name at the base.
    pub fn old_path(&self) -> &str {
        self.previous_path.as_deref().unwrap_or(&self.path)
    }
}

words! {
    /// What happened to a file. Words of GitHub's files list.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum FileStatus {
        Added = "added",
        Modified = "modified",
        Removed = "removed",
        Renamed = "renamed",
        Copied = "copied",
        Changed = "changed",
        Unchanged = "unchanged",
    }
}

/// One commit of the pull request and who had a hand in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    pub sha: Sha,
    pub message: String,
    /// The account GitHub attributes the author to; `None` if the e-mail belongs to no account.
    pub author: Option<Account>,
    pub committer: Option<Account>,
    /// The raw author and committer e-mails, for attributing co-author trailers.
    pub author_email: String,
    pub committer_email: String,
    /// It merges the base into the head, and holds nothing that neither side has.
    pub update_merge: bool,
}
