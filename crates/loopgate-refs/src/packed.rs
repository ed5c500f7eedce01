//! Keeps a run in a place that holds one text, where no git database may be written to (`state.backend`): the documents
//! of the run are packed into a bundle.
//!
//! A bundle comes from where others can write: what it unpacks to is counted while it does, and one that cannot be read
//! is damage, not an error.

use std::{
    collections::{BTreeMap, HashMap},
    future::Future,
    io::{Read as _, Write as _},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use super::{
    GitObjects, NewCommit, RefName, RefsError, Result, Retry, TreeFile, attempt,
    documents::{ARTIFACT_FILE, HISTORY_FILE, HISTORY_LIMIT, STATE_FILE, STATE_LIMIT},
};
use loopgate_core::{
    RepoName, Sha, Timestamp,
    state::{LoopState, RunStatus, StopReason},
};

/// A place that holds one text.
pub trait Slot: Sync {
    /// Bytes that it holds at most.
    const ROOM: usize;

    /// What it holds.
    fn read(&self) -> impl Future<Output = Result<Option<String>>> + Send;

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
    ) -> impl Future<Output = Result<()>> + Send;

    /// As [`GitObjects::was_called`].
    fn was_called(&self, _name: &RepoName) -> impl Future<Output = Result<bool>> + Send {
        async { Ok(false) }
    }
}

/// A run packed into a [`Slot`].
///
/// There are no older commits to go back to, and a digest of the text takes the place of a commit's id. How sure the
/// compare-and-swap is depends on the slot.
#[derive(Debug)]
pub struct PackedObjects<S> {
    pub slot: S,
    /// Versions that were read or made here.
    known: Mutex<HashMap<Sha, PackedVersion>>,
}

#[derive(Debug, Clone)]
struct PackedVersion {
    packed: String,
    bundle: Bundle,
    report: String,
}

impl<S> PackedObjects<S> {
    pub fn new(slot: S) -> Self {
        Self {
            slot,
            known: Mutex::default(),
        }
    }

    fn known(&self, commit: Sha) -> Option<PackedVersion> {
        self.known.lock().get(&commit).cloned()
    }

    fn learn(&self, version: PackedVersion) -> Sha {
        let digest = Sha256::digest(version.packed.as_bytes());
        let mut id = [0; 20];
        id.copy_from_slice(&digest[..20]);
        let id = Sha::from_bytes(id);
        self.known.lock().insert(id, version);
        id
    }
}

/// `loop-state.json` of a packed run, for people who look at one. None when it is none that can be read.
pub fn packed_state(packed: &str) -> Option<String> {
    Bundle::unpack(packed)
        .ok()?
        .file(STATE_FILE)
        .map(str::to_owned)
}

/// Whether a packed run ended, and was last saved before this moment. One that a person stopped has not: it waits to be
/// resumed.
pub fn ended_before(packed: &str, moment: Timestamp) -> bool {
    let state =
        packed_state(packed).and_then(|state| serde_json::from_str::<LoopState>(&state).ok());
    state.is_some_and(|state| {
        let over = match state.run.status {
            RunStatus::Completed => true,
            RunStatus::Stopped => state.run.stop.reason != Some(StopReason::UserStop),
            _ => false,
        };
        over && state.run.updated_at < moment
    })
}

impl<S: Slot> GitObjects for PackedObjects<S> {
    async fn was_called(&self, name: &RepoName) -> Result<bool> {
        self.slot.was_called(name).await
    }

    async fn read_ref(&self, _: &RefName) -> Result<Option<Sha>> {
        let Some(packed) = self.slot.read().await? else {
            return Ok(None);
        };
        // A text that cannot be unpacked holds no state: that is damage, and reported as such.
        let bundle = Bundle::unpack(&packed).unwrap_or_default();
        Ok(Some(self.learn(PackedVersion {
            packed,
            bundle,
            report: String::new(),
        })))
    }

    async fn read_file(&self, commit: Sha, path: &str, limit: usize) -> Result<Option<Vec<u8>>> {
        let version = self.known(commit);
        match version
            .as_ref()
            .and_then(|version| version.bundle.file(path))
        {
            Some(text) if text.len() > limit => Err(RefsError::TooLarge {
                path: path.to_owned(),
                limit,
            }),
            text => Ok(text.map(|text| text.as_bytes().to_vec())),
        }
    }

    async fn parent(&self, _: Sha) -> Result<Option<Sha>> {
        Ok(None)
    }

    async fn write_commit(&self, commit: NewCommit<'_>) -> Result<Sha> {
        let before = commit.parent.and_then(|parent| self.known(parent));
        let bundle = before
            .map(|before| before.bundle)
            .unwrap_or_default()
            .with(commit.files);
        let packed = bundle.pack(S::ROOM)?;
        let report = commit
            .files
            .iter()
            .find(|(path, _)| path == ARTIFACT_FILE)
            .map(|(_, text)| text.clone());
        Ok(self.learn(PackedVersion {
            packed,
            bundle,
            report: report.unwrap_or_default(),
        }))
    }

    async fn compare_and_swap(&self, name: &RefName, old: Option<Sha>, new: Sha) -> Result<()> {
        let moved = || RefsError::RefMoved { name: name.clone() };
        let old = old
            .map(|old| self.known(old).ok_or_else(moved))
            .transpose()?;
        let PackedVersion { packed, report, .. } = self.known(new).ok_or_else(moved)?;
        self.slot
            .replace(
                name,
                old.as_ref().map(|old| old.packed.as_str()),
                &packed,
                &report,
            )
            .await
    }

    /// What is packed goes with the place that holds it.
    async fn delete_ref(&self, _: &RefName) -> Result<()> {
        Ok(())
    }

    async fn refs(&self, _: &str) -> Result<Vec<(RefName, Sha)>> {
        Ok(Vec::new())
    }
}

/// What a packed bundle begins with; another version would be packed in another way.
const VERSION: &str = "v1.";
/// Bytes of all documents at most, unpacked.
const UNPACKED_LIMIT: u64 = (STATE_LIMIT + HISTORY_LIMIT) as u64;

/// Documents by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Bundle(BTreeMap<String, String>);

impl Bundle {
    /// A copy with these documents in place of those of the same path. The report of the last evaluation is no part of
    /// it: where there is a bundle, the status comment is that report.
    fn with(&self, files: &[TreeFile]) -> Self {
        let mut all = self.0.clone();
        all.extend(
            files
                .iter()
                .filter(|(path, _)| path != ARTIFACT_FILE)
                .cloned(),
        );
        Self(all)
    }

    fn file(&self, path: &str) -> Option<&str> {
        self.0.get(path).map(String::as_str)
    }

    /// One line of text of at most `room` bytes. What does not fit is left out, the least important first: records of
    /// attempts, then lines of the history, each time the oldest.
    ///
    /// # Errors
    /// [`RefsError::Refused`] when not even the state alone fits.
    fn pack(&self, room: usize) -> Result<String> {
        let mut kept = self.clone();
        loop {
            let packed = kept.packed()?;
            if packed.len() <= room {
                return Ok(packed);
            }
            if !kept.leave_out() {
                return Err(RefsError::Refused(format!(
                    "the state takes {} bytes and there is room for {room}: write `state: {{ backend: ref }}`",
                    packed.len()
                )));
            }
        }
    }

    fn packed(&self) -> Result<String> {
        let unwritable = |error: String| RefsError::Fault {
            message: error,
            retry: Retry::Later,
        };
        let json = serde_json::to_vec(&self.0).map_err(|error| unwritable(error.to_string()))?;
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        let written = encoder.write_all(&json).and_then(|()| encoder.finish());
        let bytes = written.map_err(|error| unwritable(error.to_string()))?;
        Ok(format!("{VERSION}{}", STANDARD.encode(bytes)))
    }

    /// Whether there was something to leave out.
    fn leave_out(&mut self) -> bool {
        if let Some(oldest) = self
            .0
            .keys()
            .find(|path| path.starts_with(attempt::FOLDER))
            .cloned()
        {
            self.0.remove(&oldest);
            return true;
        }
        let Some(history) = self.0.get_mut(HISTORY_FILE) else {
            return false;
        };
        // A quarter at a time, so that a long history is not packed once for each of its lines.
        let lines = history.lines().count();
        let dropped = lines.div_ceil(4);
        *history = history
            .lines()
            .skip(dropped)
            .map(|line| format!("{line}\n"))
            .collect();
        if history.is_empty() {
            self.0.remove(HISTORY_FILE);
        }
        true
    }

    /// What was packed, or why it cannot be read.
    fn unpack(packed: &str) -> Result<Self, String> {
        let text = packed
            .strip_prefix(VERSION)
            .ok_or("it is of another version")?;
        let bytes = STANDARD.decode(text).map_err(|error| error.to_string())?;
        let mut json = Vec::new();
        let read = ZlibDecoder::new(bytes.as_slice())
            .take(UNPACKED_LIMIT + 1)
            .read_to_end(&mut json);
        read.map_err(|error| error.to_string())?;
        if json.len() as u64 > UNPACKED_LIMIT {
            return Err(format!(
                "it unpacks to more than {} MB",
                UNPACKED_LIMIT >> 20
            ));
        }
        serde_json::from_slice(&json)
            .map(Self)
            .map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use proptest::prelude::*;

    use super::*;
    use crate::fixtures::sample_state;

    fn packed(status: RunStatus, reason: Option<StopReason>) -> String {
        let mut state = sample_state();
        state.run.status = status;
        state.run.stop.reason = reason;
        let document = (
            STATE_FILE.to_owned(),
            serde_json::to_string(&state).unwrap(),
        );
        Bundle::default()
            .with(&[document])
            .pack(usize::MAX)
            .unwrap()
    }

    #[test]
    fn only_what_has_ended_is_over_and_only_after_a_while() {
        let saved = sample_state().run.updated_at;
        let (before, after) = (saved - TimeDelta::seconds(1), saved + TimeDelta::seconds(1));
        for (status, reason, over) in [
            (RunStatus::Completed, None, true),
            (RunStatus::Stopped, None, true),
            (RunStatus::Stopped, Some(StopReason::UserStop), false),
            (
                RunStatus::Escalated,
                Some(StopReason::IterationLimit),
                false,
            ),
            (RunStatus::Passed, None, false),
            (RunStatus::InProgress, None, false),
        ] {
            let packed = packed(status, reason);
            assert_eq!(ended_before(&packed, after), over, "{status:?} {reason:?}");
            assert!(!ended_before(&packed, before), "{status:?}");
        }
        assert!(
            !ended_before("v1.damaged", after),
            "damage is told to people, not dropped"
        );
    }

    fn bundle(files: &[(&str, &str)]) -> Bundle {
        let files: Vec<_> = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect();
        Bundle::default().with(&files)
    }

    /// Text that packs badly, as digests do.
    fn noise(bytes: usize, seed: u64) -> String {
        let mut at = seed;
        let mut next = || {
            at = at
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            char::from(b'a' + u8::try_from((at >> 33) % 26).expect("below 26"))
        };
        (0..bytes).map(|_| next()).collect()
    }

    #[test]
    fn what_does_not_fit_goes_oldest_records_first_then_the_oldest_history_never_the_state() {
        let history: String = (0..40)
            .map(|line| format!("{line} {}\n", noise(100, line)))
            .collect();
        let state = noise(1_000, 7);
        let records: Vec<_> = (1..=9)
            .map(|n| (attempt::path(n), noise(2_000, u64::from(n))))
            .collect();
        let mut all = bundle(&[
            ("loop-state.json", &state),
            (HISTORY_FILE, &history),
            (ARTIFACT_FILE, "# report"),
        ]);
        assert_eq!(all.file(ARTIFACT_FILE), None, "the comment is the report");
        all = all.with(&records);
        let whole = all.pack(usize::MAX).unwrap().len();
        let mut last = all.clone();
        for room in [whole, whole - 1, 10_000, 5_000, 1_500, 900] {
            let packed = all.pack(room).unwrap();
            assert!(packed.len() <= room);
            let kept = Bundle::unpack(&packed).unwrap();
            assert_eq!(kept.file("loop-state.json"), Some(&*state));
            let numbers: Vec<_> = (1..=9)
                .filter(|n| kept.file(&attempt::path(*n)).is_some())
                .collect();
            assert!(
                numbers
                    .iter()
                    .rev()
                    .zip((1..=9).rev())
                    .all(|(kept, newest)| *kept == newest),
                "{numbers:?}"
            );
            let lines = kept.file(HISTORY_FILE).unwrap_or_default();
            assert!(
                history.ends_with(lines) && (lines.len() == history.len() || numbers.is_empty())
            );
            assert!(kept.0.len() <= last.0.len());
            last = kept;
        }
        assert_eq!(
            last.0.len(),
            1,
            "the state alone is left: {:?}",
            last.0.keys()
        );
        let refused = all.pack(500).unwrap_err().to_string();
        assert!(
            refused.contains("room for 500") && refused.contains("backend: ref"),
            "{refused}"
        );
    }

    #[test]
    fn a_bomb_is_not_unpacked_and_what_is_no_bundle_is_named() {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        let block = vec![b' '; 1 << 20];
        for _ in 0..64 {
            encoder.write_all(&block).unwrap();
        }
        let bomb = format!("{VERSION}{}", STANDARD.encode(encoder.finish().unwrap()));
        assert!(bomb.len() < 200_000, "{}", bomb.len());
        assert_eq!(
            Bundle::unpack(&bomb).unwrap_err(),
            "it unpacks to more than 10 MB"
        );
        for bad in [
            "",
            "v2.eJw=",
            "v1.",
            "v1.***",
            "v1.eJwrS",
            "v1.eJyrVgIAAOoAlQ==",
        ] {
            assert!(Bundle::unpack(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_bundle_comes_back_as_it_was(files in proptest::collection::btree_map("[a-z/]{1,12}", ".*", 0..6)) {
            let files: Vec<_> = files.into_iter().collect();
            let bundle = Bundle::default().with(&files);
            prop_assert_eq!(Bundle::unpack(&bundle.pack(usize::MAX).unwrap()), Ok(bundle));
        }

        #[test]
        fn anything_may_stand_where_a_bundle_should(text in ".*") {
            let _ = Bundle::unpack(&text);
            let _ = Bundle::unpack(&format!("{VERSION}{text}"));
        }
    }
}
