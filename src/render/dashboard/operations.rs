//! The operator's page: health of the server, queue, budget, dead letters.

use schemars::JsonSchema;
use serde::Serialize;

use crate::render::{address, line, word, words};
use loopgate_core::Timestamp;

/// How the server does.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Operations {
    pub schema: &'static str,
    /// What was looked at, and how it is: storage, key, clock.
    pub checks: Vec<Verdict>,
    pub queue: Vec<Queue>,
    pub waiting: u64,
    pub dead: u64,
    pub budgets: Vec<Budget>,
    /// What is wrong with configurations, as looks at open pull requests found it: a hundred at most, the oldest first.
    pub configuration: Vec<ConfigurationRow>,
    /// Repositories whose configuration is not found; a hundred at most, those that had one first.
    pub without_configuration: Vec<DormantRow>,
    /// The newest first, a hundred at most.
    pub dead_letters: Vec<DeadLetterRow>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Verdict {
    pub name: String,
    pub ok: bool,
    pub said: String,
}

/// The waiting work of one class.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Queue {
    pub class: &'static str,
    /// How long the oldest has waited; none where nothing does.
    pub oldest: Option<String>,
    /// Requests that cost something of the quota, since the server began.
    pub spent: u64,
    /// What was put off for something more urgent.
    pub deferred: u64,
}

/// What an installation may still ask this hour.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Budget {
    pub installation: u64,
    pub limit: u64,
    pub remaining: u64,
    pub reset: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ConfigurationRow {
    pub repository: String,
    /// What, with file, line and column.
    pub problem: String,
    /// For how long it is known.
    pub known: String,
}

/// A repository without `.github/loopgate.yml`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DormantRow {
    pub repository: String,
    /// It had one before, so it may be GitHub that does not show it.
    pub had_one: bool,
    /// For how long it is known.
    pub known: String,
    /// When the file is asked for again without news; none where only an event makes Loopgate ask.
    pub next: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct DeadLetterRow {
    pub id: String,
    pub failures: u32,
    pub reason: String,
    pub died: String,
}

/// What work of a class is about, by its word.
pub fn work_class(class: &str) -> &'static str {
    word("work_class", class)
}

/// What the doctor found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Diagnosis {
    pub schema: &'static str,
    /// No line is a fault.
    pub healthy: bool,
    /// In the order of the checks; those that cannot be made after others failed are left out.
    pub lines: Vec<DoctorLine>,
    /// When; none where nothing was examined yet.
    pub examined: Option<String>,
    pub under_way: bool,
}

/// One check, or one thing that it found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DoctorLine {
    pub check: &'static str,
    pub outcome: DoctorOutcome,
    /// What is so. It may quote what others wrote.
    pub message: String,
    /// What to do about it; none where nothing is to be done.
    pub remedy: Option<String>,
    /// Where that is done.
    pub link: Option<String>,
}

/// What a check comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DoctorOutcome {
    Healthy,
    /// GitHub does not say, or there is nothing to tell by yet.
    Unknown,
    /// It may be meant.
    Warning,
    Fault,
}

impl Diagnosis {
    pub fn new(examined: Option<Timestamp>, lines: &[DoctorLine]) -> Self {
        let plain = |it: &DoctorLine| DoctorLine {
            message: line(&it.message),
            link: it.link.as_deref().and_then(address),
            ..it.clone()
        };
        Self {
            schema: "loopgate.doctor/v1",
            healthy: lines.iter().all(|line| line.outcome != DoctorOutcome::Fault),
            lines: lines.iter().map(plain).collect(),
            examined: examined.map(words::moment),
            under_way: false,
        }
    }
}
