//! Which files a decision reads whole.

use crate::{
    gate,
    ids::Timestamp,
    observed::{FilesToRead, Snapshot},
    policy::Policy,
    state::LoopState,
    verdict::{gather, tamper},
};

/// The files that a decision about the snapshot lacks. What they say may ask for further files. `state` is that of the last
/// reconcile, if any.
pub fn files_to_read(snapshot: &Snapshot, state: Option<&LoopState>, policy: &Policy, now: Timestamp) -> FilesToRead {
    let mut wanted = FilesToRead::default();
    wanted.texts.extend(gate::trigger::files_to_read(snapshot, policy));
    wanted.texts.extend(tamper::files_to_read(&snapshot.files, snapshot.merge_base, snapshot.pull_request.head.sha));
    if let Some(state) = state {
        let findings = gather::findings(snapshot);
        wanted.extend(gate::files_of_approvals(snapshot, state, policy, &findings, now));
    }
    wanted.missing_in(&snapshot.contents)
}
