//! A git database in memory, for tests.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Mutex,
};

use super::{GitObjects, ListObjects, NewCommit, RefName, RefsError};
use loopgate_core::{
    Score, Sha,
    deciding::{AttemptRecord, DecisionWord, Provenance},
    evidence::Compare,
    policy::Phase,
    state::{
        LoopState, Step,
        history::{Event, EventStatus, HistoryLine, RunStarted},
    },
};

/// Commits with whole trees, and refs.
#[derive(Debug, Default)]
pub(crate) struct FakeObjects(Mutex<World>);

#[derive(Debug, Default)]
struct World {
    refs: HashMap<RefName, Sha>,
    commits: HashMap<Sha, Commit>,
    /// Somebody else who is faster: how often, and the line they append to which file.
    rival: Option<(u32, String, String)>,
}

#[derive(Debug, Clone)]
struct Commit {
    parent: Option<Sha>,
    subject: String,
    tree: BTreeMap<String, String>,
}

impl FakeObjects {
    /// Subjects from the tip of a ref back.
    pub(crate) fn log(&self, name: &RefName) -> Vec<String> {
        let world = self.0.lock().unwrap();
        let mut at = world.refs.get(name).copied();
        let mut log = Vec::new();
        while let Some(commit) = at.map(|sha| &world.commits[&sha]) {
            log.push(commit.subject.clone());
            at = commit.parent;
        }
        log
    }

    pub(crate) fn file(&self, name: &RefName, path: &str) -> Option<String> {
        let world = self.0.lock().unwrap();
        world.commits[world.refs.get(name)?].tree.get(path).cloned()
    }
}

impl FakeObjects {
    /// So many of the next compare-and-swaps come too late: a line was appended to this file before.
    pub(crate) fn move_before_swaps(&self, times: u32, path: &str, line: &str) {
        self.0.lock().unwrap().rival = Some((times, path.to_owned(), line.to_owned()));
    }

    async fn outrun(&self, name: &RefName) {
        let Some((path, line)) = ({
            let mut world = self.0.lock().unwrap();
            world.rival.as_mut().filter(|rival| rival.0 > 0).map(|(times, path, line)| {
                *times -= 1;
                (path.clone(), line.clone())
            })
        }) else {
            return;
        };
        let parent = self.read_ref(name).await.unwrap();
        let text = format!("{}{line}\n", self.file(name, &path).unwrap_or_default());
        let files = [(path, text)];
        let commit = self
            .write_commit(NewCommit { parent, files: &files, subject: "rival", ..NewCommit::default() })
            .await
            .unwrap();
        self.0.lock().unwrap().refs.insert(name.clone(), commit);
    }
}

impl GitObjects for FakeObjects {
    async fn read_ref(&self, name: &RefName) -> Result<Option<Sha>, RefsError> {
        Ok(self.0.lock().unwrap().refs.get(name).copied())
    }

    async fn read_file(&self, commit: Sha, path: &str, limit: usize) -> Result<Option<Vec<u8>>, RefsError> {
        let world = self.0.lock().unwrap();
        match world.commits[&commit].tree.get(path) {
            Some(text) if text.len() > limit => Err(RefsError::TooLarge { path: path.to_owned(), limit }),
            text => Ok(text.map(|text| text.clone().into_bytes())),
        }
    }

    async fn parent(&self, commit: Sha) -> Result<Option<Sha>, RefsError> {
        Ok(self.0.lock().unwrap().commits[&commit].parent)
    }

    async fn write_commit(&self, commit: NewCommit<'_>) -> Result<Sha, RefsError> {
        let mut world = self.0.lock().unwrap();
        let mut tree = commit.parent.map(|parent| world.commits[&parent].tree.clone()).unwrap_or_default();
        tree.extend(commit.files.iter().cloned());
        let mut id = [0; 20];
        id[..8].copy_from_slice(&(world.commits.len() as u64 + 1).to_be_bytes());
        let sha = Sha::from_bytes(id);
        world.commits.insert(sha, Commit { parent: commit.parent, subject: commit.subject.to_owned(), tree });
        Ok(sha)
    }

    async fn compare_and_swap(&self, name: &RefName, old: Option<Sha>, new: Sha) -> Result<(), RefsError> {
        self.outrun(name).await;
        let mut world = self.0.lock().unwrap();
        if world.refs.get(name).copied() != old {
            return Err(RefsError::RefMoved { name: name.clone() });
        }
        world.refs.insert(name.clone(), new);
        Ok(())
    }

    async fn delete_ref(&self, name: &RefName) -> Result<(), RefsError> {
        self.0.lock().unwrap().refs.remove(name);
        Ok(())
    }

    async fn refs(&self, below: &str) -> Result<Vec<(RefName, Sha)>, RefsError> {
        let world = self.0.lock().unwrap();
        let prefix = format!("loopgate/{below}");
        let refs = world.refs.iter().filter(|(name, _)| name.short().starts_with(&prefix));
        Ok(refs.map(|(name, sha)| (name.clone(), *sha)).collect())
    }
}

impl ListObjects for FakeObjects {
    async fn list_folder(&self, commit: Sha, folder: &str) -> Result<Vec<String>, RefsError> {
        let world = self.0.lock().unwrap();
        let within = |path: &String| match folder {
            "" => Some(path.clone()),
            folder => path.strip_prefix(folder)?.strip_prefix('/').map(str::to_owned),
        };
        Ok(world.commits[&commit].tree.keys().filter_map(within).collect())
    }
}

/// An example state, with a field of a newer writer.
pub(crate) fn sample_state() -> LoopState {
    serde_json::from_str(include_str!("testdata/loop-state.json")).unwrap()
}

/// A line of its history.
pub(crate) fn line(event: Event, iteration: u32) -> HistoryLine {
    let state = LoopState { iteration, phase: Phase::A, current_step: Step::Evaluate, ..sample_state() };
    HistoryLine::of(&state, state.updated_at, event, EventStatus::Ok)
}

/// The run began.
pub(crate) fn begun() -> Event {
    Event::RunStarted(RunStarted::PullRequest { title: sample_state().title })
}

/// The head was judged.
pub(crate) fn judged() -> Event {
    let (head, failed_rules) = (sample_state().head_sha, Vec::new());
    Event::EvaluationDone { attempt: 1, head, score: Score::ZERO, passed: false, failed_rules }
}

/// An attempt's record with nothing in it but its number.
pub(crate) fn record(number: u32) -> AttemptRecord {
    let digest = serde_json::json!({
        "number": number, "headSha": sample_state().head_sha, "treeHash": "1a2b", "at": sample_state().updated_at,
        "result": "fail", "blame": "pr_code", "score": 0.5, "phase": "A", "failedRules": ["unit"],
        "failedChecks": ["unit"], "fingerprints": [], "failingTests": { "a::b": null }, "summary": "unit: boom",
    });
    AttemptRecord {
        digest: serde_json::from_value(digest).unwrap(),
        decision: DecisionWord::Retry,
        provenance: Provenance {
            repository: sample_state().repository,
            base_sha: sample_state().base_sha,
            pull_request: sample_state().pull_request,
            workflow: None,
            environment: None,
            started_at: None,
            ended_at: None,
        },
        checks: Vec::new(),
        coverage: None,
        compare: Compare::default(),
        analysis: Vec::new(),
        fix_applied: None,
    }
}
