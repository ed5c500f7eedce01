//! Files at commits, as far as they were read: patches alone do not say what is code and what is a comment, nor whether
//! an approved file is still the same one.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use similar::TextMerge;

use crate::ids::Sha;

/// A file at a commit: the commit, and the path from the repository's root.
pub type FileAt = (Sha, String);

/// What stands in a file at a commit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Content {
    Text(Arc<str>),
    /// The commit has no such file.
    Absent,
    /// Binary, larger than 10 MB, a symlink, a submodule, or GitHub refused it for good.
    Unreadable,
}

/// What git keeps at a path of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileEntry {
    /// Git's mode: `0o100644`, `0o100755`, `0o120000` of a symlink, `0o160000` of a submodule, `0o40000` of a folder.
    pub mode: u32,
    /// The id of the blob, of a submodule's commit, or of a folder's tree.
    pub id: Sha,
}

impl FileEntry {
    pub const fn is_file(self) -> bool {
        self.mode & 0o170_000 == 0o100_000
    }
}

/// The files that were read. A commit never changes, so neither does an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Contents {
    pub texts: BTreeMap<FileAt, Content>,
    /// What git keeps there: `None` if the commit has nothing there.
    pub entries: BTreeMap<FileAt, Option<FileEntry>>,
}

impl Contents {
    /// What stands in the file, or `None` if it was not read.
    pub fn get(&self, commit: Sha, path: &str) -> Option<&Content> {
        self.texts.get(&(commit, path.to_owned()))
    }

    /// The text of the file, if it was read and is text. An absent file is the empty text.
    pub fn text(&self, commit: Sha, path: &str) -> Option<&str> {
        match self.get(commit, path)? {
            Content::Text(text) => Some(text),
            Content::Absent => Some(""),
            Content::Unreadable => None,
        }
    }

    /// What git keeps there: `None` if it was not read, `Some(None)` if the commit has nothing there.
    pub fn entry(&self, commit: Sha, path: &str) -> Option<Option<FileEntry>> {
        self.entries.get(&(commit, path.to_owned())).copied()
    }

    /// Whether a file at a commit is the three-way merge of the base, our side and theirs. `None` if that is unknown;
    /// what was not read and would decide it is added to `missing`.
    pub fn is_merged(
        &self,
        sides: [Sha; 3],
        merged: Sha,
        path: &str,
        missing: &mut FilesToRead,
    ) -> Option<bool> {
        let commits = || sides.into_iter().chain([merged]);
        let entries: Vec<Option<FileEntry>> = commits()
            .filter_map(|commit| self.entry(commit, path))
            .collect();
        let [base, ours, theirs, merged] = entries[..] else {
            missing
                .entries
                .extend(commits().map(|commit| (commit, path.to_owned())));
            return None;
        };
        if let Some(whole) = merge_whole(base, ours, theirs) {
            return Some(whole == merged);
        }
        let (Some(base), Some(ours), Some(theirs), Some(merged)) = (base, ours, theirs, merged)
        else {
            return Some(false);
        };
        if merge_whole(base.mode, ours.mode, theirs.mode) != Some(merged.mode) || !merged.is_file()
        {
            return Some(false);
        }
        let texts: Vec<&Content> = commits()
            .filter_map(|commit| self.get(commit, path))
            .collect();
        match texts[..] {
            [
                Content::Text(base),
                Content::Text(ours),
                Content::Text(theirs),
                Content::Text(merged),
            ] => Some(merge_lines(base, ours, theirs).is_some_and(|lines| lines == **merged)),
            [_, _, _, _] => None,
            _ => {
                missing
                    .texts
                    .extend(commits().map(|commit| (commit, path.to_owned())));
                None
            }
        }
    }
}

/// Files that a decision lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilesToRead {
    /// Whose text is needed.
    pub texts: BTreeSet<FileAt>,
    /// Of which it is enough to know what git keeps there.
    pub entries: BTreeSet<FileAt>,
}

impl FilesToRead {
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.entries.is_empty()
    }

    pub fn extend(&mut self, other: Self) {
        self.texts.extend(other.texts);
        self.entries.extend(other.entries);
    }

    /// Leaves out what was read.
    #[must_use]
    pub fn missing_in(mut self, contents: &Contents) -> Self {
        self.texts.retain(|file| !contents.texts.contains_key(file));
        self.entries
            .retain(|file| !contents.entries.contains_key(file));
        self
    }
}

/// Bytes and lines of a text that is merged. What is larger counts as a conflict.
const LARGEST_TEXT: usize = 512 << 10;
const MOST_LINES: usize = 20_000;

/// What the side has that changed it, or both sides alike; `None` if they changed it differently.
pub fn merge_whole<T: PartialEq>(base: T, ours: T, theirs: T) -> Option<T> {
    if ours == theirs || theirs == base {
        Some(ours)
    } else if ours == base {
        Some(theirs)
    } else {
        None
    }
}

/// The merge of the lines of three texts; `None` if they conflict, or are too large to be merged.
pub fn merge_lines(base: &str, ours: &str, theirs: &str) -> Option<String> {
    let is_small = |text: &&str| text.len() <= LARGEST_TEXT && text.lines().count() <= MOST_LINES;
    if ![base, ours, theirs].iter().all(is_small) {
        return None;
    }
    let merge = TextMerge::from_lines(base, ours, theirs);
    (!merge.is_conflicted()).then(|| merge.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_side_that_changed_it_wins() {
        for (base, ours, theirs, merged) in [
            (1, 2, 1, Some(2)),
            (1, 1, 2, Some(2)),
            (1, 2, 2, Some(2)),
            (1, 2, 3, None),
        ] {
            assert_eq!(merge_whole(base, ours, theirs), merged);
        }
    }

    #[test]
    fn lines_of_both_sides_are_merged_unless_they_conflict() {
        let base = "a\nb\nc\nd\ne\n";
        let merged = merge_lines(base, "A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n");
        assert_eq!(merged.as_deref(), Some("A\nb\nc\nd\nE\n"));
        assert_eq!(
            merge_lines(base, "a\nb\nX\nd\ne\n", "a\nb\nY\nd\ne\n"),
            None
        );
    }
}
