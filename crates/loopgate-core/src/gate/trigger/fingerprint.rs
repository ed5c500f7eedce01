//! The digest of a gate's own diff: what an approval covers.
//!
//! It is taken over the patches of the files that trigger the gate, without the line numbers of their hunks, and with the
//! functions that they stand in: a rebase or a merge of the base that leaves those changes as they were keeps it, and so
//! do pushes to other files. The same lines in another function are another change. Where
//! there is no patch to compare, it changes rather once too often than once too seldom.

use sha2::{Digest, Sha256};

use super::Scope;
use crate::observed::{ChangedFile, ChangedFiles, FileStatus, Snapshot};

/// The digest, in hex.
pub(in crate::gate) fn fingerprint(scope: &Scope, snapshot: &Snapshot) -> String {
    let mut files = scope.files(snapshot.files.known());
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let mut digest = Framed::default();
    for file in files {
        add(&mut digest, file, snapshot);
    }
    if matches!((&snapshot.files, scope), (ChangedFiles::TooLarge { .. }, Scope::Whole)) {
        // What was not listed may have changed with any push.
        digest.field(snapshot.pull_request.head.sha.as_bytes());
    }
    hex::encode(digest.finish())
}

fn add(digest: &mut Framed, file: &ChangedFile, snapshot: &Snapshot) {
    digest.field(file.path.as_bytes());
    digest.field(file.previous_path.as_deref().unwrap_or_default().as_bytes());
    digest.field(file.status.as_str().as_bytes());
    digest.field(&file.additions.to_be_bytes());
    digest.field(&file.deletions.to_be_bytes());
    match (&file.patch, file.blob, file.status) {
        (Some(patch), ..) => {
            digest.field(b"patch");
            for line in patch.split('\n') {
                let function = line.strip_prefix("@@ ").and_then(|header| header.split_once("@@"));
                digest.field(function.map_or(line, |(_, function)| function).as_bytes());
            }
        }
        (None, Some(blob), _) => digest.field(blob.as_bytes()),
        (None, None, FileStatus::Removed) => digest.field(b"removed"),
        (None, None, _) => digest.field(snapshot.pull_request.head.sha.as_bytes()),
    }
    digest.field(b"end of file");
}

/// A digest in which every field carries its length, so that no two lists of fields read the same.
#[derive(Default)]
struct Framed {
    digest: Sha256,
    /// Fields that are digested together: most are a line, and each alone would cost more than its bytes.
    fields: Vec<u8>,
}

impl Framed {
    const TOGETHER: usize = 8 * 1024;

    fn field(&mut self, bytes: &[u8]) {
        self.fields.extend((bytes.len() as u64).to_be_bytes());
        self.fields.extend(bytes);
        if self.fields.len() >= Self::TOGETHER {
            self.digest.update(&self.fields);
            self.fields.clear();
        }
    }

    fn finish(mut self) -> [u8; 32] {
        self.digest.update(&self.fields);
        self.digest.finalize().into()
    }
}
