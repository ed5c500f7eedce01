//! Which files differ between two trees, with renames.

use std::collections::BTreeMap;

use similar::TextDiff;

use super::{
    object::{Entry, Kind},
    patch::{LineDiff, is_binary},
    store::{Files, Objects},
};
use loopgate_core::Sha;

/// GitHub's words for what happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileStatus {
    Added,
    Removed,
    Modified,
    Renamed,
    /// Its type changed, for example from a file to a symlink.
    Changed,
}

impl FileStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Modified => "modified",
            Self::Renamed => "renamed",
            Self::Changed => "changed",
        }
    }
}

/// One file of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    pub path: String,
    /// The old name, for renames.
    pub previous: Option<String>,
    pub status: FileStatus,
    pub old: Option<Entry>,
    pub new: Option<Entry>,
}

/// Renames are found from half of the lines in common, as git does by default.
const SIMILAR_ENOUGH: f32 = 0.5;
/// Above this many candidate pairs only exact renames are found (git's `diff.renameLimit` serves the same end).
const MAX_RENAME_PAIRS: usize = 2_500;

impl Objects {
    /// The changed files from one commit or tree to another, by path.
    pub fn diff(&self, old: Option<Sha>, new: Sha) -> Vec<FileChange> {
        let (mut changes, mut removed, mut added) = (BTreeMap::new(), Files::new(), Files::new());
        for (path, (before, after)) in self.differing(old, Some(new)) {
            match (before, after) {
                (Some(before), Some(after)) => {
                    let same_kind = std::mem::discriminant(&kind_of(before))
                        == std::mem::discriminant(&kind_of(after));
                    let status = if same_kind {
                        FileStatus::Modified
                    } else {
                        FileStatus::Changed
                    };
                    changes.insert(
                        path.clone(),
                        change(&path, None, status, Some(before), Some(after)),
                    );
                }
                (Some(before), None) => drop(removed.insert(path, before)),
                (None, after) => added.extend(after.map(|after| (path, after))),
            }
        }
        for (from, to) in self.renames(&removed, &added) {
            let (before, after) = (removed.remove(&from), added.remove(&to));
            changes.insert(
                to.clone(),
                change(&to, Some(from), FileStatus::Renamed, before, after),
            );
        }
        changes.extend(removed.into_iter().map(|(p, e)| {
            (
                p.clone(),
                change(&p, None, FileStatus::Removed, Some(e), None),
            )
        }));
        changes.extend(added.into_iter().map(|(p, e)| {
            (
                p.clone(),
                change(&p, None, FileStatus::Added, None, Some(e)),
            )
        }));
        changes.into_values().collect()
    }

    /// Pairs of (old path, new path): the same content first, then the most similar.
    fn renames(&self, removed: &Files, added: &Files) -> Vec<(String, String)> {
        let mut scored = Vec::new();
        let exhaustive = removed.len() * added.len() <= MAX_RENAME_PAIRS;
        for (from, before) in removed {
            for (to, after) in added {
                let comparable = exhaustive && before.mode == after.mode;
                let score = if comparable || before.sha == after.sha {
                    self.similarity(*before, *after)
                } else {
                    0.0
                };
                if score >= SIMILAR_ENOUGH && !self.is_empty_file(*after) {
                    scored.push((score, from, to));
                }
            }
        }
        scored.sort_by(|a, b| {
            b.0.total_cmp(&a.0)
                .then_with(|| (a.1, a.2).cmp(&(b.1, b.2)))
        });
        let mut pairs: Vec<(String, String)> = Vec::new();
        for (_, from, to) in scored {
            if pairs.iter().all(|(f, t)| f != from && t != to) {
                pairs.push((from.clone(), to.clone()));
            }
        }
        pairs
    }

    /// Empty files are not renames of each other.
    fn is_empty_file(&self, entry: Entry) -> bool {
        self.blob(entry.sha)
            .is_some_and(|content| content.is_empty())
    }

    /// How much of the lines two text files share, 0 to 1; 1 for the same content.
    pub(super) fn similarity(&self, one: Entry, other: Entry) -> f32 {
        match (self.blob(one.sha), self.blob(other.sha)) {
            _ if one.sha == other.sha => 1.0,
            (Some(a), Some(b)) if !is_binary(a) && !is_binary(b) => {
                TextDiff::from_lines(&*String::from_utf8_lossy(a), &*String::from_utf8_lossy(b))
                    .ratio()
            }
            _ => 0.0,
        }
    }

    /// The lines of one changed file. A submodule counts as the one line that git shows for it.
    pub fn line_diff(&self, change: &FileChange) -> LineDiff {
        let content = |entry: Option<Entry>| match entry {
            None => Vec::new(),
            Some(Entry { sha, mode }) if mode.kind() == Kind::Commit => {
                format!("Subproject commit {sha}\n").into_bytes()
            }
            Some(Entry { sha, .. }) => self
                .blob(sha)
                .map(|content| content.to_vec())
                .unwrap_or_default(),
        };
        LineDiff::between(&content(change.old), &content(change.new))
    }
}

/// What git calls the file's type: plain and executable files are one.
fn kind_of(entry: Entry) -> super::object::Mode {
    match entry.mode {
        super::object::Mode::Executable => super::object::Mode::File,
        mode => mode,
    }
}

fn change(
    path: &str,
    previous: Option<String>,
    status: FileStatus,
    old: Option<Entry>,
    new: Option<Entry>,
) -> FileChange {
    FileChange {
        path: path.to_owned(),
        previous,
        status,
        old,
        new,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::Mode;

    fn tree(objects: &mut Objects, files: &[(&str, &str, Mode)]) -> Sha {
        let files = files
            .iter()
            .map(|(path, content, mode)| {
                let sha = objects.put_blob(content.to_string());
                ((*path).to_owned(), Entry { mode: *mode, sha })
            })
            .collect();
        objects.put_files(&files)
    }

    #[test]
    fn every_kind_of_change() {
        use Mode::{Executable, File, Symlink};
        let mut o = Objects::default();
        let body = "one\ntwo\nthree\nfour\n";
        let old = tree(
            &mut o,
            &[
                ("gone", "bye\n", File),
                ("kept", "k\n", File),
                ("link", "x\n", File),
                ("mode", "m\n", File),
                ("old/name", body, File),
            ],
        );
        let new = tree(
            &mut o,
            &[
                ("kept", "changed\n", File),
                ("link", "kept", Symlink),
                ("mode", "m\n", Executable),
                ("new/name", &format!("{body}five\n"), File),
                ("plus", "", File),
            ],
        );
        let told: Vec<_> = o
            .diff(Some(old), new)
            .iter()
            .map(|c| (c.status.as_str(), c.path.clone(), c.previous.clone()))
            .collect();
        let expected = [
            ("removed", "gone", None),
            ("modified", "kept", None),
            ("changed", "link", None),
            ("modified", "mode", None),
            ("renamed", "new/name", Some("old/name")),
            ("added", "plus", None),
        ];
        let expected: Vec<_> = expected
            .iter()
            .map(|(s, p, previous)| (*s, (*p).to_owned(), previous.map(str::to_owned)))
            .collect();
        assert_eq!(told, expected);
        let mode_only = &o.diff(Some(old), new)[3];
        assert_eq!(o.line_diff(mode_only), LineDiff::default());
    }
}
