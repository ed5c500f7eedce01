//! Git's objects and their encodings.

use std::{collections::BTreeMap, fmt::Write as _};

use bytes::Bytes;
use sha1::{Digest as _, Sha1};

use loopgate_core::{Sha, Timestamp};

/// A blob, tree or commit. Annotated tags are not simulated: nothing Loopgate does reads one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Object {
    Blob(Bytes),
    Tree(Tree),
    Commit(Commit),
}

/// The type of an object, by git's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Blob,
    Tree,
    Commit,
}

impl Kind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Blob => "blob",
            Self::Tree => "tree",
            Self::Commit => "commit",
        }
    }
}

/// What a tree entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    File,
    Executable,
    Symlink,
    Directory,
    Submodule,
}

impl Mode {
    /// As the REST API writes it: six digits.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::File => "100644",
            Self::Executable => "100755",
            Self::Symlink => "120000",
            Self::Directory => "040000",
            Self::Submodule => "160000",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [
            Self::File,
            Self::Executable,
            Self::Symlink,
            Self::Directory,
            Self::Submodule,
        ]
        .into_iter()
        .find(|mode| mode.as_str() == text)
    }

    pub const fn kind(self) -> Kind {
        match self {
            Self::Directory => Kind::Tree,
            Self::Submodule => Kind::Commit,
            Self::File | Self::Executable | Self::Symlink => Kind::Blob,
        }
    }
}

/// One name in a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    pub mode: Mode,
    pub sha: Sha,
}

/// A directory: names without slashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree(pub BTreeMap<String, Entry>);

impl Tree {
    /// In git's order, which sorts a directory as if its name ended in a slash.
    pub fn entries(&self) -> Vec<(&str, Entry)> {
        let mut entries: Vec<_> = self
            .0
            .iter()
            .map(|(name, entry)| (name.as_str(), *entry))
            .collect();
        entries.sort_by_key(|(name, entry)| match entry.mode {
            Mode::Directory => format!("{name}/").into_bytes(),
            _ => name.as_bytes().to_vec(),
        });
        entries
    }
}

/// Who made a commit, and when (second granularity, UTC).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    pub name: String,
    pub email: String,
    pub at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    pub tree: Sha,
    pub parents: Vec<Sha>,
    pub author: Signature,
    pub committer: Signature,
    pub message: String,
}

impl Object {
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Blob(_) => Kind::Blob,
            Self::Tree(_) => Kind::Tree,
            Self::Commit(_) => Kind::Commit,
        }
    }

    /// The object's id: the SHA-1 of `<kind> <length>\0<body>`.
    pub fn id(&self) -> Sha {
        let body = self.encode();
        let mut hasher = Sha1::new();
        hasher.update(format!("{} {}\0", self.kind().as_str(), body.len()));
        hasher.update(&body);
        Sha::from_bytes(hasher.finalize().into())
    }

    fn encode(&self) -> Bytes {
        match self {
            Self::Blob(content) => content.clone(),
            Self::Tree(tree) => {
                let mut body = Vec::new();
                for (name, entry) in tree.entries() {
                    // Git itself writes modes without the leading zero of a directory's.
                    body.extend_from_slice(entry.mode.as_str().trim_start_matches('0').as_bytes());
                    body.push(b' ');
                    body.extend_from_slice(name.as_bytes());
                    body.push(0);
                    body.extend_from_slice(entry.sha.as_bytes());
                }
                body.into()
            }
            Self::Commit(commit) => encode_commit(commit).into(),
        }
    }
}

fn encode_commit(commit: &Commit) -> String {
    let mut text = format!("tree {}\n", commit.tree);
    let mut line = |name: &str, value: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name} {value}");
    };
    for parent in &commit.parents {
        line("parent", &parent.to_string());
    }
    line("author", &encode_signature(&commit.author));
    line("committer", &encode_signature(&commit.committer));
    text.push('\n');
    text.push_str(&commit.message);
    text
}

/// Git leaves out of names and addresses what would break the line.
fn encode_signature(signature: &Signature) -> String {
    let clean = |text: &str| text.replace(['<', '>', '\n', '\0'], "").trim().to_owned();
    format!(
        "{} <{}> {} +0000",
        clean(&signature.name),
        clean(&signature.email),
        signature.at.timestamp()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_known_ids() {
        let empty_blob = Object::Blob(Bytes::new());
        assert_eq!(
            empty_blob.id().to_string(),
            "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
        );
        let hello = Object::Blob(Bytes::from_static(b"hello\n"));
        assert_eq!(
            hello.id().to_string(),
            "ce013625030ba8dba906f756967f9e9ca394464a"
        );
        let empty_tree = Object::Tree(Tree::default());
        assert_eq!(
            empty_tree.id().to_string(),
            "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
        );
    }

    #[test]
    fn directories_sort_with_a_slash() {
        let entry = |mode| Entry {
            mode,
            sha: Object::Blob(Bytes::new()).id(),
        };
        let tree = Tree(BTreeMap::from([
            ("a".to_owned(), entry(Mode::Directory)),
            ("a.txt".to_owned(), entry(Mode::File)),
            ("a-b".to_owned(), entry(Mode::File)),
        ]));
        let names: Vec<_> = tree.entries().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["a-b", "a.txt", "a"]);
    }
}
