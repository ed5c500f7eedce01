//! Causes for calling a person: what each is, when it holds, and which trigger of the configuration it is.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;

use crate::{
    concerns::{
        attempts::{Judgement, retry},
        disputes,
        fixer::fix_request,
        gates::waiting::{self, OverdueGate},
        tampering::Tampering,
    },
    evidence::RetryClass,
    ids::{CheckName, Fingerprint, Timestamp},
    policy::{Context, LoopPolicy, Trigger},
    state::{
        AttemptDigest, Dispute, Lacking, LoopState, Outage, RejectedIn, Resume, VerificationResult,
    },
};

/// How long something may be down before a person is called.
const TOLERATED: TimeDelta = TimeDelta::hours(1);

/// Most tests that a regression names.
const TESTS_NAMED: usize = 3;

/// A cause that holds, with the facts by which it was recognised. `last` is always the summary of the last attempt, as its
/// digest keeps it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A security check fails.
    SecurityIssueFound,
    /// What weakens the checks, and how many more ways of it there are.
    Tampering { first: Tampering, more: usize },
    /// What is disputed, and how much more there is.
    Disputed { first: Box<Dispute>, more: usize },
    /// So many failures of the run were disputed that what is wanted cannot be clear.
    AmbiguousRequirement { disputes: usize },
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
    /// A check was stopped at its time limit, or what it runs waits for itself.
    TimeoutExceeded { last: String },
    /// It has lasted longer than is tolerated.
    ExternalDependencyDown { outage: Outage },
    /// Nothing was heard of them in the time that they have.
    NoReport {
        checks: BTreeSet<CheckName>,
        within_ms: u64,
    },
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
pub enum AttemptsEnd {
    /// A review asks for changes, and no fixer is to answer one.
    Rejected { last: String },
    /// It failed, and nothing that fails is tried again.
    NotRetried { last: String },
    /// So many failing attempts in a row, with so many different errors.
    UsedUp { attempts: u32, errors: usize },
}

impl Cause {
    /// The trigger that the configuration knows it by.
    pub const fn trigger(&self) -> Trigger {
        match self {
            Self::SecurityIssueFound => Trigger::SecurityIssueFound,
            Self::Tampering { .. } => Trigger::Tampering,
            Self::Disputed { .. } => Trigger::Disputed,
            Self::AmbiguousRequirement { .. } => Trigger::AmbiguousRequirement,
            Self::RegressionDetected { .. } => Trigger::RegressionDetected,
            Self::CircularFailure { .. } => Trigger::CircularFailure,
            Self::SameError { .. } => Trigger::SameError,
            Self::TotalFailures { .. } => Trigger::TotalFailures,
            Self::MaxAttemptsReached { .. } => Trigger::MaxAttemptsReached,
            Self::Stagnation => Trigger::Stagnation,
            Self::TimeoutExceeded { .. } => Trigger::TimeoutExceeded,
            Self::ExternalDependencyDown { .. } => Trigger::ExternalDependencyDown,
            Self::NoReport { .. } => Trigger::NoReport,
            Self::BudgetExhausted { .. } => Trigger::BudgetExhausted,
            Self::GateTimeout { .. } => Trigger::GateTimeout,
            Self::CoverageThresholdUnmet { .. } => Trigger::CoverageThresholdUnmet,
            Self::NoChange => Trigger::NoChange,
            Self::UnknownErrorType { .. } => Trigger::UnknownErrorType,
        }
    }
}

/// The causes, the most urgent first, each by its trigger.
pub type Causes = BTreeMap<Trigger, Cause>;

/// Every cause that holds. `tampering` is what weakens the checks and was accepted by no person.
pub fn causes(
    cx: Context<'_>,
    state: &LoopState,
    judgement: &Judgement,
    tampering: Option<(&Tampering, usize)>,
) -> Causes {
    let mut causes = of_attempts(
        &state.attempts.counted,
        &state.people.resumes,
        judgement,
        &cx.policy.retry,
    );
    let is_spent = judgement.streak > 0 && fix_request::is_budget_used_up(state, cx.policy);
    let is_overdue = external_deadline(state).is_some_and(|deadline| cx.now >= deadline);
    let outage = state.concerns.checks.outage.clone().filter(|_| is_overdue);
    let mut disputed = disputes::open(state);
    let first = disputed.next().map(|first| Box::new(first.clone()));
    let gates: Vec<_> = waiting::overdue(cx, state).collect();
    let of_run = [
        is_spent.then(|| Cause::BudgetExhausted {
            attempts: fix_request::asked(state),
        }),
        outage.map(|outage| Cause::ExternalDependencyDown { outage }),
        (!state.concerns.checks.unreported.of_head.is_empty()).then(|| Cause::NoReport {
            checks: state.concerns.checks.unreported.of_head.clone(),
            within_ms: cx.policy.retry.evidence_timeout_ms(),
        }),
        tampering.map(|(first, more)| Cause::Tampering {
            first: first.clone(),
            more,
        }),
        first.map(|first| Cause::Disputed {
            first,
            more: disputed.count(),
        }),
        disputes::too_many(state).map(|disputes| Cause::AmbiguousRequirement { disputes }),
        (!gates.is_empty()).then_some(Cause::GateTimeout { gates }),
    ];
    causes.extend(by_trigger(of_run));
    causes
}

/// The causes that the attempts themselves are, where the last failed through this change.
pub fn of_attempts(
    attempts: &[AttemptDigest],
    resumes: &[Resume],
    judgement: &Judgement,
    policy: &LoopPolicy,
) -> Causes {
    let since = retry::since_resume(attempts, resumes);
    let Some((last, earlier)) = since.split_last().filter(|(last, _)| last.spent()) else {
        return Causes::new();
    };
    let spent = retry::spent(&since);
    let last_summary = || last.summary.clone();
    let is_performance =
        |attempt: &AttemptDigest| attempt.retry_class == Some(RetryClass::Performance);
    let performance_again =
        is_performance(last) && earlier.last().is_some_and(|before| is_performance(before));
    let attempts_used_up = judgement.streak >= policy.max_attempts || performance_again;
    let of_review = |reason: &RejectedIn| *reason == RejectedIn::Review;
    let is_rejected = last.rejections.iter().any(|one| of_review(&one.of));
    let refused = is_rejected && !policy.auto_retry_on_review_reject;
    let failed = last.result == VerificationResult::Fail && !policy.auto_retry_on_test_fail;
    let is_regression = policy.abort_on_regression && !judgement.regressed.is_empty();
    let tests = judgement.regressed.iter().take(TESTS_NAMED);
    let is_same_tree = earlier
        .last()
        .is_some_and(|before| before.spent() && before.tree_hash == last.tree_hash);
    // Twice in a row, or when the attempts are used up.
    let lacks = |what: Lacking| {
        let lacking = |attempt: &&&AttemptDigest| attempt.lacking == Some(what);
        spent.iter().rev().take_while(lacking).count()
    };
    let lacks_coverage =
        lacks(Lacking::Coverage) >= 2 || lacks(Lacking::Coverage) == 1 && attempts_used_up;
    by_trigger([
        (last.retry_class == Some(RetryClass::Security)).then_some(Cause::SecurityIssueFound),
        is_regression.then(|| Cause::RegressionDetected {
            tests: tests.cloned().collect(),
        }),
        circle(&spent).map(|circle| Cause::CircularFailure { circle }),
        (judgement.same_error > policy.same_error).then(|| Cause::SameError {
            attempts: judgement.same_error,
            last: last_summary(),
        }),
        (judgement.total >= policy.total_failures).then_some(Cause::TotalFailures {
            attempts: judgement.total,
        }),
        (attempts_used_up && policy.escalation_on_max || failed || refused).then(|| {
            Cause::MaxAttemptsReached {
                reason: attempts_end(refused, judgement.streak, &spent, last_summary()),
            }
        }),
        (judgement.stagnation >= 2).then_some(Cause::Stagnation),
        (last.retry_class == Some(RetryClass::Logic)).then(|| Cause::TimeoutExceeded {
            last: last_summary(),
        }),
        is_same_tree.then_some(Cause::NoChange),
        lacks_coverage.then(|| Cause::CoverageThresholdUnmet {
            last: last_summary(),
        }),
        (lacks(Lacking::Explanation) >= 2).then(|| Cause::UnknownErrorType {
            last: last_summary(),
        }),
    ])
}

fn by_trigger(causes: impl IntoIterator<Item = Option<Cause>>) -> Causes {
    let causes = causes.into_iter().flatten();
    causes.map(|cause| (cause.trigger(), cause)).collect()
}

fn attempts_end(
    is_refused: bool,
    streak: u32,
    spent: &[&AttemptDigest],
    last: String,
) -> AttemptsEnd {
    match (is_refused, streak) {
        (true, _) => AttemptsEnd::Rejected { last },
        (false, 1) => AttemptsEnd::NotRetried { last },
        (false, attempts) => {
            let errors: BTreeSet<&Fingerprint> = spent
                .iter()
                .flat_map(|attempt| &attempt.fingerprints)
                .collect();
            AttemptsEnd::UsedUp {
                attempts,
                errors: errors.len(),
            }
        }
    }
}

/// A failure that was fixed, gave way to another, and is back; or a tree that failed before and is back.
fn circle(spent: &[&AttemptDigest]) -> Option<Circle> {
    let (last, earlier) = spent.split_last()?;
    let (before, older) = earlier.split_last()?;
    let returned = older.iter().rev().find(|old| {
        !old.fingerprints.is_disjoint(&last.fingerprints)
            && last
                .fingerprints
                .intersection(&old.fingerprints)
                .any(|print| !before.fingerprints.contains(print))
    });
    if let Some(old) = returned {
        return Some(Circle::Failure {
            first: old.number,
            gone: before.number,
            back: last.number,
        });
    }
    let same_tree = older
        .iter()
        .rev()
        .find(|old| old.tree_hash == last.tree_hash && before.tree_hash != last.tree_hash);
    same_tree.map(|old| Circle::Code {
        first: old.number,
        again: last.number,
    })
}

/// When trouble outside calls a person, if there is any: counted anew from a resume.
pub fn external_deadline(state: &LoopState) -> Option<Timestamp> {
    let outage = state.concerns.checks.outage.as_ref()?;
    let resumed = state.people.resumes.iter().map(|resume| resume.at).max();
    Some(resumed.map_or(outage.since, |resumed| resumed.max(outage.since)) + TOLERATED)
}

#[cfg(test)]
#[path = "cause_tests.rs"]
mod tests;
