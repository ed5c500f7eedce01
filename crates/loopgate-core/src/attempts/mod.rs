//! The attempts of a run: what one attempt is, how it compares with the one before, what the run of them amounts to,
//! and what is run again.

pub mod attempt;
pub mod comparison;
pub mod rerun;
pub mod retry;

pub use self::{rerun::NextRerun, retry::Judgement};
use crate::{
    gate::waiting::OverdueGate,
    state::{Dispute, Outage},
    verdict::tamper::Tampering,
};

/// The facts by which a trigger that holds was recognised. `last` is always the summary of the last attempt, as its
/// digest keeps it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum Cause {
    /// A security check fails.
    SecurityIssueFound,
    /// What weakens the checks, and how many more ways of it there are.
    Tampering { first: Tampering, more: usize },
    /// What is disputed, and how much more there is.
    Disputed { first: Box<Dispute>, more: usize },
    /// So many failures of the run were disputed that what is wanted cannot be clear.
    ManyDisputes { disputes: usize },
    /// Names of the tests, at most three.
    RegressionDetected { tests: Vec<String> },
    /// How the attempts come back.
    CircularFailure { circle: Circle },
    /// So many attempts in a row share a failure.
    SameError { attempts: u32, last: String },
    /// So many attempts of the run failed.
    TotalFailures { attempts: u32 },
    /// Why there is no further one.
    MaxAttemptsReached { reason: AttemptsEnd },
    /// The score stands still.
    Stagnation,
    /// A check was stopped at its time limit.
    TimeoutExceeded { last: String },
    /// It has lasted longer than is tolerated.
    ExternalDependencyDown { outage: Outage },
    /// So many failing attempts a fixer was asked about.
    BudgetExhausted { attempts: u32 },
    /// They have waited too long.
    GateTimeout { gates: Vec<OverdueGate> },
    /// Nothing else is missing.
    CoverageThresholdUnmet { last: String },
    /// Code that failed before fails again.
    NoChange,
    /// Two attempts in a row failed without saying how.
    UnknownErrorType { last: String },
}

/// How the attempts come back to where they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Circle {
    /// A failure of attempt `first` was gone in attempt `gone` and is back in attempt `back`.
    Failure { first: u32, gone: u32, back: u32 },
    /// Attempt `again` is the code of attempt `first`.
    Code { first: u32, again: u32 },
}

/// Why no further attempt is made.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum AttemptsEnd {
    /// A review asks for changes, and no fixer is to answer one.
    Rejected { last: String },
    /// It failed, and nothing that fails is tried again.
    NotRetried { last: String },
    /// So many failing attempts in a row, with so many different errors.
    UsedUp { attempts: u32, errors: usize },
}
