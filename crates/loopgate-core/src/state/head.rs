//! The head of a pull request or of a local loop: the commit, what it changes, how it was seen and judged.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    ids::{GateName, RuleId, Score, Sha, Timestamp, WorkflowRunId},
    observed::{AnnouncedPush, CodeType},
    state::VerificationResult,
};

/// The commit that is judged, its base, and what was seen of it and of the heads before it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HeadRecord {
    pub sha: Sha,
    pub branch: String,
    /// The branch that it is to be merged into.
    pub base_ref: String,
    pub base_sha: Sha,
    /// The commit whose configuration governed the last decision.
    pub policy_sha: Option<Sha>,
    pub artifact: CodeArtifact,
    pub evaluation: Option<EvaluationSummary>,
    pub last_verification: Option<LastVerification>,
    /// Every head in the order it was first seen.
    pub sightings: Vec<HeadObservation>,
    /// Pushes from events, oldest first, at most [`MOST_PUSHES`](Self::MOST_PUSHES).
    pub pushes: Vec<AnnouncedPush>,
    /// Earlier heads on which check runs of ours may still show an outdated result.
    pub left: BTreeSet<Sha>,
    /// Whether its workflows wait to be let run.
    pub hold: Option<RunHold>,
    /// Held workflow runs that GitHub was asked to let go, as far as that is in the history.
    pub approved_runs: BTreeSet<WorkflowRunId>,
    /// Fields of newer writers.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl HeadRecord {
    /// Of each person's pushes at least one is kept.
    pub const MOST_PUSHES: usize = 200;

    /// Notes a push, once.
    pub fn note_push(&mut self, push: &AnnouncedPush) {
        if !self.pushes.contains(push) {
            self.pushes.push(push.clone());
        }
        if self.pushes.len() > Self::MOST_PUSHES {
            let has_later = |at: usize| {
                self.pushes[at + 1..]
                    .iter()
                    .any(|later| later.by.id == self.pushes[at].by.id)
            };
            let repeated = (0..self.pushes.len())
                .find(|at| has_later(*at))
                .unwrap_or(0);
            self.pushes.remove(repeated);
        }
    }
}

/// A head commit, when it was first seen, and what each gate's diff looked like then.
///
/// A commit is entered again when it is seen with another base or with other gates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HeadObservation {
    pub sha: Sha,
    pub at: Timestamp,
    /// Digests of the diff that triggers each gate, for telling whether an approval still covers it.
    #[serde(default)]
    pub gates: BTreeMap<GateName, String>,
    /// The base branch at that time; none in states written before it was kept.
    pub base: Option<String>,
    /// The commit that the diff was taken from; none in states written before it was kept.
    pub merge_base: Option<Sha>,
}

impl HeadObservation {
    /// Enters what was seen: at the end of the record, or instead of its only entry, if that is now known to be older.
    pub fn enter(self, record: &mut Vec<Self>) {
        if matches!(record.as_slice(), [only] if self.at < only.at) {
            record.clear();
        }
        record.push(self);
    }
}

/// What is being looped over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CodeArtifact {
    /// The file with most changed lines.
    pub path: Option<String>,
    pub language: String,
    pub code_type: CodeType,
    /// SHA-256 over the head's tree id, in hex.
    pub content_hash: String,
    pub test_files: Vec<String>,
    pub requirements_ref: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EvaluationSummary {
    pub score: Score,
    pub passed: bool,
    pub failed_rules: Vec<RuleId>,
    pub warnings: Vec<RuleId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastVerification {
    pub at: Timestamp,
    pub result: VerificationResult,
    pub head_sha: Sha,
}

/// A head whose workflows wait, or waited, for somebody to let them run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunHold {
    pub head: Sha,
    /// When that was seen to be over: its checks are waited for since then.
    pub ended_at: Option<Timestamp>,
}
