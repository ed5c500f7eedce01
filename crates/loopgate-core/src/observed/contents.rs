//! The text of files at commits, as far as it was read: patches alone do not say what is code and what is a comment.

use std::{collections::BTreeMap, sync::Arc};

use crate::ids::Sha;

/// A file at a commit: the commit, and the path from the repository's root.
pub type FileAt = (Sha, String);

/// What stands in a file at a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    Text(Arc<str>),
    /// The commit has no such file.
    Absent,
    /// Binary, larger than 10 MB, a symlink, a submodule, or GitHub refused it for good.
    Unreadable,
}

/// The files that were read. A commit never changes, so neither does an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents(BTreeMap<FileAt, Content>);

impl Contents {
    /// What stands in the file, or `None` if it was not read.
    pub fn get(&self, commit: Sha, path: &str) -> Option<&Content> {
        self.0.get(&(commit, path.to_owned()))
    }

    /// The text of the file, if it was read and is text. An absent file is the empty text.
    pub fn text(&self, commit: Sha, path: &str) -> Option<&str> {
        match self.get(commit, path)? {
            Content::Text(text) => Some(text),
            Content::Absent => Some(""),
            Content::Unreadable => None,
        }
    }

    pub fn insert(&mut self, file: FileAt, content: Content) {
        self.0.insert(file, content);
    }

    pub fn contains(&self, file: &FileAt) -> bool {
        self.0.contains_key(file)
    }
}
