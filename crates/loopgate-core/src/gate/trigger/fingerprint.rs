//! Digests of a gate's own diff: which files it has, and what stands in them at the head.
//!
//! Between two heads with the same merge base, equal digests are equal diffs. After a rebase, or a merge of the base, only
//! the files can be compared so; `gate::assess` compares what stands in them.

use sha2::{Digest, Sha256};

use super::Scope;
use crate::observed::{ChangedFiles, FileStatus, Snapshot};

/// Bytes of each digest.
const LENGTH: usize = 20;

/// `FILES/BLOBS` in hex: a digest of the names of the files and of what happened to each, and one of their blobs.
pub(in crate::gate) fn fingerprint(scope: &Scope, snapshot: &Snapshot) -> String {
    let mut changed = scope.files(snapshot.files.known());
    changed.sort_by(|a, b| a.path.cmp(&b.path));
    let (mut files, mut blobs) = (Sha256::new(), Sha256::new());
    for file in changed {
        // Each name is preceded by its length, so that no two lists of names read alike.
        for part in [&*file.path, file.previous_path.as_deref().unwrap_or_default(), file.status.as_str()] {
            files.update((part.len() as u64).to_be_bytes());
            files.update(part.as_bytes());
        }
        // Of a file that is there and has no blob nothing is known: it may change with any push.
        let is_there = file.status != FileStatus::Removed;
        let blob = file.blob.or(is_there.then_some(snapshot.pull_request.head.sha));
        blobs.update(blob.map_or([0; 20], |blob| *blob.as_bytes()));
    }
    if matches!((&snapshot.files, scope), (ChangedFiles::TooLarge { .. }, Scope::Whole)) {
        // What was not listed may have changed with any push.
        files.update(snapshot.pull_request.head.sha.as_bytes());
    }
    let hex = |digest: Sha256| hex::encode(&digest.finalize()[..LENGTH]);
    format!("{}/{}", hex(files), hex(blobs))
}
