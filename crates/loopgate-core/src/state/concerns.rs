//! What each concern keeps of a run: what it alone reads and writes.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    ids::{CheckName, CheckRunId, GateName, Login, PrNumber, Sha, Timestamp, WorkflowRunId},
    memory::ShownFix,
    policy::Trigger,
    state::{Blocked, Dispute, GateState, QueueRecord},
};

/// The record of each concern, by its name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Concerns {
    pub checks: ChecksRecord,
    pub gates: BTreeMap<GateName, GateState>,
    /// Failures that somebody disputes as not theirs to mend, oldest first.
    pub disputes: Vec<Dispute>,
    /// Weakened checks that a person took responsibility for, and how many of each.
    pub tampering: BTreeMap<String, u32>,
    pub capabilities: CapabilityProgress,
    /// The cause that the senior fixer was asked to mend instead of a human: once in a run.
    pub fixer: Option<Blocked>,
    /// The merge queue.
    pub queue: QueueRecord,
    /// The layer of its stack above it, which is notified also once the stack is dissolved.
    pub stack: Option<PrNumber>,
    /// What mended errors in the files it edits before, as of its first look; none until that was looked up.
    pub memory: Option<Vec<ShownFix>>,
    /// What earlier runs would have come to under the configuration that it proposes.
    pub configuration: Option<ProposedConfiguration>,
    /// Fields of newer writers.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What is kept of the checks beside the attempts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ChecksRecord {
    /// Those that are to run.
    pub prepared: Vec<CheckName>,
    /// What was asked for again on this head, oldest first.
    pub reruns: Vec<Rerun>,
    /// Checks that fail for reasons outside the code, while they do.
    pub outage: Option<Outage>,
    #[serde(skip_serializing_if = "crate::words::is_default")]
    pub unreported: Unreported,
    /// Fields of newer writers.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Trouble outside the code: a service, the network, a lost runner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outage {
    /// When it was first seen. It goes on while checks are repeated, also over pushes, until they end otherwise.
    pub since: Timestamp,
    /// What failed, and is repeated.
    pub checks: BTreeSet<CheckName>,
    /// Checks that were cancelled, whose evidence was refused, or which an edited workflow file may keep from starting:
    /// their result is unknown, and repeating them is a person's choice.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub unclear: BTreeSet<CheckName>,
}

/// Checks that did not report in their time, for a reason that is not the author's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Unreported {
    /// Those of the head, while nothing else of it is to be mended.
    pub of_head: BTreeSet<CheckName>,
    /// Those for which a person was called: no one is called for them again before they report.
    pub called_for: BTreeSet<CheckName>,
}

/// Something GitHub can be asked to run again, as it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeatable {
    /// A run of a workflow that brings evidence.
    WorkflowRun { id: WorkflowRunId, attempt: u32 },
    /// A job of GitHub Actions; each attempt of one has its own number, which is that of its check run.
    Job { id: CheckRunId },
    /// A check run of another App, and when it ended: the App may use the same one again.
    CheckRun {
        id: CheckRunId,
        ended: Option<Timestamp>,
    },
}

/// What was asked for again on a head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rerun {
    pub what: Repeatable,
    pub head_sha: Sha,
    /// The checks it was asked for.
    pub checks: BTreeSet<CheckName>,
    pub by: AskedBy,
    pub at: Timestamp,
}

/// Who asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskedBy {
    /// A person.
    Person(Login),
    /// No one: it failed for reasons outside the code. The first repetition is number 1.
    Backoff { nth: u32 },
}

/// Task-list items under the `Capabilities` heading of the pull request's body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CapabilityProgress {
    pub total: usize,
    pub completed: usize,
    /// The first unticked one.
    pub current: Option<String>,
    /// Those after it.
    #[serde(default)]
    pub remaining: Vec<String>,
}

/// A configuration that a pull request proposes, tried on recorded runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedConfiguration {
    /// The file's blob at the head.
    pub blob: Sha,
    /// Runs that were judged again.
    pub runs: usize,
    pub gates: BTreeMap<GateName, RunChanges>,
    /// Calls for a human, by their cause.
    pub calls: BTreeMap<Trigger, RunChanges>,
}

/// Runs that have something more, or lack it. `#12`, or the alias of a local loop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunChanges {
    pub more: Vec<String>,
    pub fewer: Vec<String>,
}
