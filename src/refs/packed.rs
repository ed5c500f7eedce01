//! Keeps a run in a place that holds one text, where no git database may be written to.

use std::{collections::HashMap, future::Future, sync::Mutex};

use sha2::{Digest as _, Sha256};

use super::{
    GitObjects, NewCommit, RefName, RefsError,
    bundle::Bundle,
    store::{ARTIFACT_FILE, STATE_FILE},
};
use loopgate_core::{
    Sha, Timestamp,
    state::{LoopState, RunStatus, StopReason},
};

/// A place that holds one text.
pub trait Slot: Sync {
    /// Bytes that it holds at most.
    fn room(&self) -> usize;

    /// What it holds.
    fn read(&self) -> impl Future<Output = Result<Option<String>, RefsError>> + Send;

    /// Puts a new text where `old` still stands. `report` is what people read beside it.
    ///
    /// # Errors
    /// [`RefsError::RefMoved`] when something else stands there by now; the error carries `name`.
    fn replace(
        &self,
        name: &RefName,
        old: Option<&str>,
        new: &str,
        report: &str,
    ) -> impl Future<Output = Result<(), RefsError>> + Send;
}

/// A run packed into a [`Slot`].
///
/// There are no older commits to go back to, and a digest of the text takes the place of a commit's id. How sure the
/// compare-and-swap is depends on the slot.
#[derive(Debug)]
pub struct PackedObjects<S> {
    slot: S,
    /// Versions that were read or made here.
    known: Mutex<HashMap<Sha, Version>>,
}

#[derive(Debug, Clone)]
struct Version {
    packed: String,
    bundle: Bundle,
    report: String,
}

impl<S> PackedObjects<S> {
    pub fn new(slot: S) -> Self {
        Self { slot, known: Mutex::default() }
    }

    pub const fn slot(&self) -> &S {
        &self.slot
    }

    fn known(&self, commit: Sha) -> Option<Version> {
        self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get(&commit).cloned()
    }

    fn learn(&self, version: Version) -> Sha {
        let digest = Sha256::digest(version.packed.as_bytes());
        let mut id = [0; 20];
        id.copy_from_slice(&digest[..20]);
        let id = Sha::from_bytes(id);
        self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(id, version);
        id
    }
}

/// `loop-state.json` of a packed run, for people who look at one. None when it is none that can be read.
pub fn packed_state(packed: &str) -> Option<String> {
    Bundle::unpack(packed).ok()?.file(STATE_FILE).map(str::to_owned)
}

/// Whether a packed run ended, and was last saved before this moment. One that a person stopped has not: it waits to be
/// resumed.
pub fn ended_before(packed: &str, moment: Timestamp) -> bool {
    let state = packed_state(packed).and_then(|state| serde_json::from_str::<LoopState>(&state).ok());
    state.is_some_and(|state| {
        let over = match state.status {
            RunStatus::Completed => true,
            RunStatus::Stopped => state.stop.reason != Some(StopReason::UserStop),
            _ => false,
        };
        over && state.updated_at < moment
    })
}

impl<S: Slot> GitObjects for PackedObjects<S> {
    async fn read_ref(&self, _: &RefName) -> Result<Option<Sha>, RefsError> {
        let Some(packed) = self.slot.read().await? else { return Ok(None) };
        // A text that cannot be unpacked holds no state: that is damage, and reported as such.
        let bundle = Bundle::unpack(&packed).unwrap_or_default();
        Ok(Some(self.learn(Version { packed, bundle, report: String::new() })))
    }

    async fn read_file(&self, commit: Sha, path: &str, limit: usize) -> Result<Option<Vec<u8>>, RefsError> {
        let version = self.known(commit);
        match version.as_ref().and_then(|version| version.bundle.file(path)) {
            Some(text) if text.len() > limit => Err(RefsError::TooLarge { path: path.to_owned(), limit }),
            text => Ok(text.map(|text| text.as_bytes().to_vec())),
        }
    }

    async fn parent(&self, _: Sha) -> Result<Option<Sha>, RefsError> {
        Ok(None)
    }

    async fn write_commit(&self, commit: NewCommit<'_>) -> Result<Sha, RefsError> {
        let before = commit.parent.and_then(|parent| self.known(parent));
        let bundle = before.map(|before| before.bundle).unwrap_or_default().with(commit.files);
        let packed = bundle.pack(self.slot.room())?;
        let report = commit.files.iter().find(|(path, _)| path == ARTIFACT_FILE).map(|(_, text)| text.clone());
        Ok(self.learn(Version { packed, bundle, report: report.unwrap_or_default() }))
    }

    async fn compare_and_swap(&self, name: &RefName, old: Option<Sha>, new: Sha) -> Result<(), RefsError> {
        let moved = || RefsError::RefMoved { name: name.clone() };
        let old = old.map(|old| self.known(old).ok_or_else(moved)).transpose()?;
        let Version { packed, report, .. } = self.known(new).ok_or_else(moved)?;
        self.slot.replace(name, old.as_ref().map(|old| old.packed.as_str()), &packed, &report).await
    }

    /// What is packed goes with the place that holds it.
    async fn delete_ref(&self, _: &RefName) -> Result<(), RefsError> {
        Ok(())
    }

    async fn refs(&self, _: &str) -> Result<Vec<(RefName, Sha)>, RefsError> {
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::refs::fixtures::sample_state;

    fn packed(status: RunStatus, reason: Option<StopReason>) -> String {
        let mut state = LoopState { status, ..sample_state() };
        state.stop.reason = reason;
        let document = (STATE_FILE.to_owned(), serde_json::to_string(&state).unwrap());
        Bundle::default().with(&[document]).pack(usize::MAX).unwrap()
    }

    #[test]
    fn only_what_has_ended_is_over_and_only_after_a_while() {
        let saved = sample_state().updated_at;
        let (before, after) = (saved - TimeDelta::seconds(1), saved + TimeDelta::seconds(1));
        for (status, reason, over) in [
            (RunStatus::Completed, None, true),
            (RunStatus::Stopped, None, true),
            (RunStatus::Stopped, Some(StopReason::UserStop), false),
            (RunStatus::Escalated, Some(StopReason::IterationLimit), false),
            (RunStatus::Passed, None, false),
            (RunStatus::InProgress, None, false),
        ] {
            let packed = packed(status, reason);
            assert_eq!(ended_before(&packed, after), over, "{status:?} {reason:?}");
            assert!(!ended_before(&packed, before), "{status:?}");
        }
        assert!(!ended_before("v1.damaged", after), "damage is told to people, not dropped");
    }
}
