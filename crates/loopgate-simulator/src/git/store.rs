//! The object store of a fork network.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;

use super::object::{Commit, Entry, Kind, Mode, Object, Tree};
use loopgate_core::Sha;

/// Whole paths below a tree, in byte order.
pub type Files = BTreeMap<String, Entry>;

/// Content-addressed objects.
#[derive(Clone, Debug, Default)]
pub struct Objects(HashMap<Sha, Object>);

impl Objects {
    pub fn put(&mut self, object: Object) -> Sha {
        let id = object.id();
        self.0.entry(id).or_insert(object);
        id
    }

    pub fn put_blob(&mut self, content: impl Into<Bytes>) -> Sha {
        self.put(Object::Blob(content.into()))
    }

    pub fn kind(&self, sha: Sha) -> Option<Kind> {
        self.0.get(&sha).map(Object::kind)
    }

    pub fn blob(&self, sha: Sha) -> Option<&Bytes> {
        match self.0.get(&sha) {
            Some(Object::Blob(content)) => Some(content),
            _ => None,
        }
    }

    pub fn tree(&self, sha: Sha) -> Option<&Tree> {
        match self.0.get(&sha) {
            Some(Object::Tree(tree)) => Some(tree),
            _ => None,
        }
    }

    pub fn commit(&self, sha: Sha) -> Option<&Commit> {
        match self.0.get(&sha) {
            Some(Object::Commit(commit)) => Some(commit),
            _ => None,
        }
    }

    /// The tree of a commit, or the tree itself.
    pub fn tree_of(&self, treeish: Sha) -> Option<Sha> {
        match self.0.get(&treeish)? {
            Object::Commit(commit) => Some(commit.tree),
            Object::Tree(_) => Some(treeish),
            Object::Blob(_) => None,
        }
    }

    /// What stands at `path` (no leading or trailing slash) below a commit or tree; the empty path is the tree.
    pub fn at_path(&self, treeish: Sha, path: &str) -> Option<Entry> {
        let root = Entry { mode: Mode::Directory, sha: self.tree_of(treeish)? };
        path.split('/')
            .filter(|part| !part.is_empty())
            .try_fold(root, |entry, part| self.tree(entry.sha)?.0.get(part).copied())
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
            let path = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") };
            visit(&path, entry);
            if entry.mode == Mode::Directory {
                self.walk_below(entry.sha, &path, visit);
            }
        }
    }

    /// Stores the trees that hold exactly these files; returns the root.
    pub fn put_files(&mut self, files: &Files) -> Sha {
        let mut root = Nested::default();
        for (path, entry) in files {
            root.insert(path, *entry);
        }
        root.store(self)
    }
}

/// A tree under construction.
#[derive(Default)]
struct Nested {
    files: BTreeMap<String, Entry>,
    folders: BTreeMap<String, Nested>,
}

impl Nested {
    fn insert(&mut self, path: &str, entry: Entry) {
        match path.split_once('/') {
            Some((folder, rest)) => self.folders.entry(folder.to_owned()).or_default().insert(rest, entry),
            None => {
                self.files.insert(path.to_owned(), entry);
            }
        }
    }

    fn store(self, objects: &mut Objects) -> Sha {
        let mut tree = Tree(self.files);
        for (name, folder) in self.folders {
            let sha = folder.store(objects);
            tree.0.insert(name, Entry { mode: Mode::Directory, sha });
        }
        objects.put(Object::Tree(tree))
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
            .map(|path| (path.to_owned(), Entry { mode: Mode::File, sha }))
            .collect();
        let root = objects.put_files(&files);
        assert_eq!(objects.files(root), files);
        assert_eq!(objects.at_path(root, "src/deep/er.rs").map(|entry| entry.sha), Some(sha));
        assert_eq!(objects.at_path(root, "src/deep").map(|entry| entry.mode), Some(Mode::Directory));
        assert!(objects.at_path(root, "src/none").is_none() && objects.at_path(root, "z/x").is_none());
    }
}
