//! The object store of a fork network.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;

use super::object::{Commit, Entry, Kind, Mode, Object, Tree};
use loopgate_core::Sha;

/// Whole paths below a tree, in byte order.
pub type Files = BTreeMap<String, Entry>;

/// Content-addressed objects.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    objects: HashMap<Sha, Object>,
    /// How many commits lie below each commit at most, itself counted.
    generations: HashMap<Sha, u32>,
}

impl Objects {
    pub fn put(&mut self, object: Object) -> Sha {
        let id = object.id();
        if let Object::Commit(commit) = &object {
            let below = commit
                .parents
                .iter()
                .map(|parent| self.generation(*parent))
                .max();
            self.generations.insert(id, below.unwrap_or(0) + 1);
        }
        self.objects.entry(id).or_insert(object);
        id
    }

    /// Above those of a commit's ancestors; 0 for what is no stored commit.
    pub(super) fn generation(&self, commit: Sha) -> u32 {
        self.generations.get(&commit).copied().unwrap_or(0)
    }

    pub fn put_blob(&mut self, content: impl Into<Bytes>) -> Sha {
        self.put(Object::Blob(content.into()))
    }

    pub fn kind(&self, sha: Sha) -> Option<Kind> {
        self.objects.get(&sha).map(Object::kind)
    }

    pub fn blob(&self, sha: Sha) -> Option<&Bytes> {
        match self.objects.get(&sha) {
            Some(Object::Blob(content)) => Some(content),
            _ => None,
        }
    }

    pub fn tree(&self, sha: Sha) -> Option<&Tree> {
        match self.objects.get(&sha) {
            Some(Object::Tree(tree)) => Some(tree),
            _ => None,
        }
    }

    pub fn commit(&self, sha: Sha) -> Option<&Commit> {
        match self.objects.get(&sha) {
            Some(Object::Commit(commit)) => Some(commit),
            _ => None,
        }
    }

    /// The tree of a commit, or the tree itself.
    pub fn tree_of(&self, treeish: Sha) -> Option<Sha> {
        match self.objects.get(&treeish)? {
            Object::Commit(commit) => Some(commit.tree),
            Object::Tree(_) => Some(treeish),
            Object::Blob(_) => None,
        }
    }

    /// What stands at `path` (no leading or trailing slash) below a commit or tree; the empty path is the tree.
    pub fn at_path(&self, treeish: Sha, path: &str) -> Option<Entry> {
        let root = Entry {
            mode: Mode::Directory,
            sha: self.tree_of(treeish)?,
        };
        path.split('/')
            .filter(|part| !part.is_empty())
            .try_fold(root, |entry, part| {
                self.tree(entry.sha)?.0.get(part).copied()
            })
    }

    /// Every file, symlink and submodule below a commit or tree.
    pub fn files(&self, treeish: Sha) -> Files {
        let mut files = Files::new();
        self.walk(treeish, &mut |path, entry| {
            if entry.mode != Mode::Directory {
                files.insert(path.to_owned(), entry);
            }
        });
        files
    }

    /// Visits every entry below a commit or tree, directories before what they hold, in git's order.
    pub fn walk(&self, treeish: Sha, visit: &mut impl FnMut(&str, Entry)) {
        if let Some(tree) = self.tree_of(treeish) {
            self.walk_below(tree, "", visit);
        }
    }

    fn walk_below(&self, tree: Sha, prefix: &str, visit: &mut impl FnMut(&str, Entry)) {
        let Some(tree) = self.tree(tree) else { return };
        for (name, entry) in tree.entries() {
            let path = if prefix.is_empty() {
                name.to_owned()
            } else {
                format!("{prefix}/{name}")
            };
            visit(&path, entry);
            if entry.mode == Mode::Directory {
                self.walk_below(entry.sha, &path, visit);
            }
        }
    }

    /// Files that are not equal in two trees or commits, with what each side has. Equal directories are not read.
    pub fn differing(
        &self,
        old: Option<Sha>,
        new: Option<Sha>,
    ) -> BTreeMap<String, (Option<Entry>, Option<Entry>)> {
        let tree = |treeish: Option<Sha>| treeish.and_then(|sha| self.tree_of(sha));
        let mut differing = BTreeMap::new();
        self.differ_below(tree(old), tree(new), "", &mut differing);
        differing
    }

    fn differ_below(
        &self,
        old: Option<Sha>,
        new: Option<Sha>,
        prefix: &str,
        differing: &mut BTreeMap<String, (Option<Entry>, Option<Entry>)>,
    ) {
        let names = |tree: Option<Sha>| {
            tree.and_then(|sha| self.tree(sha))
                .map(|tree| &tree.0)
                .into_iter()
                .flatten()
        };
        let entry = |tree: Option<Sha>, name: &str| {
            tree.and_then(|sha| self.tree(sha)?.0.get(name).copied())
        };
        let before = names(old).map(|(name, before)| (name, Some(*before), entry(new, name)));
        let added = names(new)
            .filter(|(name, _)| entry(old, name).is_none())
            .map(|(name, new)| (name, None, Some(*new)));
        for (name, before, after) in before
            .chain(added)
            .filter(|(_, before, after)| before != after)
        {
            let path = format!("{prefix}{name}");
            let folder = |entry: Option<Entry>| {
                entry
                    .filter(|entry| entry.mode == Mode::Directory)
                    .map(|it| it.sha)
            };
            let file = |entry: Option<Entry>| entry.filter(|entry| entry.mode != Mode::Directory);
            if folder(before).or(folder(after)).is_some() {
                self.differ_below(
                    folder(before),
                    folder(after),
                    &format!("{path}/"),
                    differing,
                );
            }
            if file(before).or(file(after)).is_some() {
                differing.insert(path, (file(before), file(after)));
            }
        }
    }

    /// Stores the trees that hold exactly these files; returns the root.
    pub fn put_files(&mut self, files: &Files) -> Sha {
        self.put_edited(
            None,
            files
                .iter()
                .map(|(path, entry)| (path.as_str(), Some(*entry))),
        )
    }

    /// Stores the trees of a commit or tree after some edits; returns the root. A path without an entry is deleted, and
    /// so is a directory that holds nothing any more.
    pub fn put_edited<'a>(
        &mut self,
        treeish: Option<Sha>,
        edits: impl IntoIterator<Item = (&'a str, Option<Entry>)>,
    ) -> Sha {
        let tree = treeish.and_then(|sha| self.tree_of(sha));
        let edited = self.edited(tree, edits.into_iter().collect());
        self.put(Object::Tree(edited))
    }

    fn edited(&mut self, tree: Option<Sha>, edits: Vec<(&str, Option<Entry>)>) -> Tree {
        let mut edited = tree
            .and_then(|sha| self.tree(sha))
            .cloned()
            .unwrap_or_default();
        let mut folders = BTreeMap::<&str, Vec<(&str, Option<Entry>)>>::new();
        for (path, entry) in edits {
            match (path.split_once('/'), entry) {
                (Some((folder, rest)), _) => folders.entry(folder).or_default().push((rest, entry)),
                (None, Some(entry)) => drop(edited.0.insert(path.to_owned(), entry)),
                (None, None) => drop(edited.0.remove(path)),
            }
        }
        for (name, edits) in folders {
            let before = edited
                .0
                .get(name)
                .filter(|entry| entry.mode == Mode::Directory)
                .map(|entry| entry.sha);
            let folder = self.edited(before, edits);
            if !folder.0.is_empty() {
                let sha = self.put(Object::Tree(folder));
                edited.0.insert(
                    name.to_owned(),
                    Entry {
                        mode: Mode::Directory,
                        sha,
                    },
                );
            } else if before.is_some() {
                edited.0.remove(name);
            }
        }
        edited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_round_trip_through_trees() {
        let mut objects = Objects::default();
        let sha = objects.put_blob("x");
        let files: Files = ["a.rs", "src/lib.rs", "src/deep/er.rs", "z"]
            .into_iter()
            .map(|path| {
                (
                    path.to_owned(),
                    Entry {
                        mode: Mode::File,
                        sha,
                    },
                )
            })
            .collect();
        let root = objects.put_files(&files);
        assert_eq!(objects.files(root), files);
        assert_eq!(
            objects
                .at_path(root, "src/deep/er.rs")
                .map(|entry| entry.sha),
            Some(sha)
        );
        assert_eq!(
            objects.at_path(root, "src/deep").map(|entry| entry.mode),
            Some(Mode::Directory)
        );
        assert!(
            objects.at_path(root, "src/none").is_none() && objects.at_path(root, "z/x").is_none()
        );
    }

    #[test]
    fn edits_give_the_tree_that_the_files_give() {
        let mut objects = Objects::default();
        let [one, other] = ["x", "y"].map(|text| objects.put_blob(text));
        let entry = |sha| Entry {
            mode: Mode::File,
            sha,
        };
        let files = |paths: &[(&str, Sha)]| {
            paths
                .iter()
                .map(|(path, sha)| ((*path).to_owned(), entry(*sha)))
                .collect()
        };
        let old = objects.put_files(&files(&[
            ("a/b/c", one),
            ("a/d", one),
            ("e", one),
            ("f/g", one),
        ]));
        let edits = [
            ("a/b/c", None),
            ("e", Some(entry(other))),
            ("h/i", Some(entry(one))),
            ("f/none", None),
        ];
        let new = objects.put_edited(Some(old), edits);
        assert_eq!(
            new,
            objects.put_files(&files(&[
                ("a/d", one),
                ("e", other),
                ("f/g", one),
                ("h/i", one)
            ]))
        );
        let (one, other) = (Some(entry(one)), Some(entry(other)));
        let differing = [
            ("a/b/c", (one, None)),
            ("e", (one, other)),
            ("h/i", (None, one)),
        ];
        assert_eq!(
            objects.differing(Some(old), Some(new)),
            differing
                .map(|(path, sides)| (path.to_owned(), sides))
                .into()
        );
    }
}
