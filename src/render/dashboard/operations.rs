//! The page for whoever runs the server: queue, budget, dead letters, and whether it works.

use schemars::JsonSchema;
use serde::Serialize;

use super::Page;

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
    /// The newest first, a hundred at most.
    pub dead_letters: Vec<DeadLetterRow>,
    /// What the forms of this page prove that they are of this page with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Verdict {
    pub name: String,
    pub ok: bool,
    pub said: String,
}

/// What waits, by who waits for it.
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
pub struct DeadLetterRow {
    pub id: String,
    pub failures: u32,
    pub reason: String,
    pub died: String,
}

/// Who waits for work of a class, by its number.
pub const fn work_class(class: usize) -> &'static str {
    match class {
        0 => "a person",
        1 => "an author or agent",
        2 => "nobody yet: checks went on",
        _ => "nobody: something spread",
    }
}

impl Page for Operations {
    const TEMPLATE: &'static str = "dashboard/operations.html";
}
