//! Which files a decision reads whole.

use crate::{
    gate,
    observed::{FilesToRead, Snapshot},
    policy::Policy,
    verdict::tamper,
};

/// The files that a decision about the snapshot lacks. What they say may ask for further files.
pub fn files_to_read(snapshot: &Snapshot, policy: &Policy) -> FilesToRead {
    let mut texts = gate::trigger::files_to_read(snapshot, policy);
    texts.extend(tamper::files_to_read(&snapshot.files, snapshot.merge_base, snapshot.pull_request.head.sha));
    let wanted = FilesToRead { texts, ..FilesToRead::default() };
    wanted.missing_in(&snapshot.contents)
}
