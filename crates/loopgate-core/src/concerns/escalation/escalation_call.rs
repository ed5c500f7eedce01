//! Calling a human: whether a cause stands, whom it concerns, and the one question to put to them.

use std::collections::BTreeSet;

use crate::{
    concerns::{
        disputes,
        escalation::cause::{Cause, Causes},
        gates::{self, waiting},
        verdict::FailureView,
    },
    failure,
    ids::{GateName, Score, Sha, Timestamp},
    observed::Snapshot,
    policy::{Context, EscalationAction, EscalationPolicy, GateRole, Recipient, Trigger},
    state::{AttemptDigest, Blocked, Dispute, LoopState, best_attempt},
};

/// The triggers that stop the loop, the most urgent first; the others are only flagged.
pub fn stopping<'a>(
    triggers: impl Iterator<Item = &'a Trigger>,
    policy: &EscalationPolicy,
) -> Vec<Trigger> {
    let stops = |trigger: &Trigger| policy.action_of(*trigger) != EscalationAction::FlagAndContinue;
    triggers.copied().filter(stops).collect()
}

/// Whether the cause that blocks the run still stands. A resume releases every cause; a passing attempt releases those
/// that need no person's decision.
pub fn still_stands(cx: Context<'_>, blocked: &Blocked, state: &LoopState) -> bool {
    if blocked.trigger == Trigger::GateTimeout {
        // Only the approvers' decision releases this cause; no push does.
        return waiting::overdue(cx, state).next().is_some();
    }
    if blocked.trigger == Trigger::Disputed {
        // Nor is a dispute over before it is settled.
        return disputes::open(state).next().is_some();
    }
    let resumed = state
        .people
        .resumes
        .iter()
        .any(|resume| resume.at > blocked.since);
    let head = state.attempt_of(state.head.sha);
    let is_over = match blocked.trigger {
        // A head that passed may be run again and meet the outage now, so only how that run ends counts.
        Trigger::ExternalDependencyDown => state.concerns.checks.outage.is_none(),
        Trigger::NoReport => state.concerns.checks.unreported.of_head.is_empty(),
        cause => !cause.needs_a_decision() && head.is_some_and(AttemptDigest::passes),
    };
    !resumed && !is_over
}

/// The gates that a cause belongs to: an approver of one of them may release it.
pub fn gates_of(cx: Context<'_>, trigger: Trigger, state: &LoopState) -> Vec<GateName> {
    match trigger {
        Trigger::SecurityIssueFound => cx
            .policy
            .gate_with_role(GateRole::Security)
            .map(|(name, _)| name.clone())
            .into_iter()
            .collect(),
        Trigger::GateTimeout => waiting::overdue(cx, state).map(|wait| wait.gate).collect(),
        _ => Vec::new(),
    }
}

/// Everything the report needs beside the view.
pub fn describe(
    cx: Context<'_>,
    blocked: &Blocked,
    causes: &Causes,
    state: &LoopState,
    failures: &[FailureView],
) -> EscalationView {
    // The run as it stood when the human was called: later pushes do not rewrite the report.
    let upto = state
        .attempts
        .counted
        .iter()
        .take_while(|attempt| attempt.number <= blocked.attempt);
    let history: Vec<AttemptDigest> = upto.cloned().collect();
    let best = best_attempt(&history).map(|best| (best.number, best.head_sha, best.score));
    EscalationView {
        trigger: blocked.trigger,
        also: blocked.also.clone(),
        action: cx.policy.escalation.action_of(blocked.trigger),
        since: blocked.since,
        attempt: blocked.attempt,
        cause: causes.get(&blocked.trigger).cloned(),
        question: Question::about(blocked, causes.get(&blocked.trigger), failures),
        recipients: recipients(cx, blocked, state, failures),
        history,
        best,
    }
}

/// Whom the trigger calls: its own recipients, else the defaults of its cause, else `notify`, else
/// the overdue gates' approvers, else the owners of the failing files.
fn recipients(
    cx: Context<'_>,
    blocked: &Blocked,
    state: &LoopState,
    failures: &[FailureView],
) -> BTreeSet<Recipient> {
    let Context {
        snapshot, policy, ..
    } = cx;
    let trigger = blocked.trigger;
    let own = policy
        .escalation
        .triggers
        .get(&trigger)
        .map(|own| own.to.as_slice())
        .unwrap_or_default();
    if !own.is_empty() {
        return own.iter().cloned().collect();
    }
    if trigger == Trigger::Disputed {
        let called = disputes::open(state).flat_map(|dispute| disputes::called(snapshot, dispute));
        let called: BTreeSet<Recipient> = called.collect();
        if !called.is_empty() {
            return called;
        }
    }
    let security = (trigger == Trigger::SecurityIssueFound)
        .then(|| policy.gate_with_role(GateRole::Security))
        .flatten();
    let approvers = security.map(|(gate, _)| Recipient::GateApprovers(gate.clone()));
    if let Some((_, gate)) = security
        && !(gate.approvers.users.is_empty() && gate.approvers.teams.is_empty())
    {
        return approvers.into_iter().collect();
    }
    // If no approver is named, the gate may have no approver to call. Then other people are called, too.
    let escalation = &policy.escalation;
    let default = escalation.called_for(trigger);
    if default.is_empty() && trigger == Trigger::GateTimeout {
        let overdue = waiting::overdue(
            Context {
                now: blocked.since,
                ..cx
            },
            state,
        );
        return overdue
            .map(|wait| Recipient::GateApprovers(wait.gate))
            .collect();
    }
    if default.is_empty() {
        return owners(snapshot, failures)
            .into_iter()
            .chain(approvers)
            .collect();
    }
    default.iter().cloned().chain(approvers).collect()
}

/// Code owners of the files that fail; of all that are changed, where no failure names one of the repository's.
fn owners(snapshot: &Snapshot, failures: &[FailureView]) -> BTreeSet<Recipient> {
    let Some(codeowners) = &snapshot.codeowners else {
        return BTreeSet::new();
    };
    let failing: BTreeSet<&str> = failures
        .iter()
        .filter_map(|view| {
            let source = view
                .failure
                .source
                .as_ref()
                .map(|source| source.file.as_str());
            source.or(view.failure.test_file.as_deref())
        })
        .collect();
    let owners = gates::owners_of(codeowners, failing.into_iter());
    if !owners.is_empty() {
        return owners;
    }
    gates::owners_of(
        codeowners,
        snapshot.files.known().iter().map(|file| file.path.as_str()),
    )
}

/// A human is called: everything the report needs beside the view.
#[derive(Clone, Debug, PartialEq)]
pub struct EscalationView {
    pub trigger: Trigger,
    pub also: Vec<Trigger>,
    pub action: EscalationAction,
    pub since: Timestamp,
    /// The attempt it was raised at.
    pub attempt: u32,
    /// What was recognised; none where the trigger does not hold any more and only a person lifts the call.
    pub cause: Option<Cause>,
    pub question: Question,
    pub recipients: BTreeSet<Recipient>,
    /// Every attempt, oldest first.
    pub history: Vec<AttemptDigest>,
    pub best: Option<(u32, Sha, Score)>,
}

/// One specific decision to take.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// Gates have waited too long: who decides them?
    WhoDecides,
    /// A test and the code disagree: which side is right?
    WhichSide {
        test: String,
        expected: String,
        actual: String,
        since: Disagreement,
    },
    /// Somebody says that a failure is not theirs to mend: who is right?
    Disputed {
        dispute: Box<Dispute>,
        expected: Option<String>,
        actual: Option<String>,
    },
    /// What the trigger leaves undecided about the run as a whole, after so many attempts.
    OfRun { attempts: u32, about: Trigger },
}

/// Since when a test and the code disagree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Disagreement {
    /// The test passed before.
    Regression,
    /// So many attempts have not settled it.
    Attempts(u32),
}

/// Failures in which two sides are looked for.
const LOOKED_AT: usize = 20;

impl Question {
    /// Who is right about a failure that is disputed.
    pub fn disputed(dispute: Dispute, failures: &[FailureView]) -> Self {
        let view = failures.iter().find(|view| view.cause == dispute.failure);
        let (expected, actual) = view.and_then(|view| failure::sides(&view.failure)).unzip();
        Self::Disputed {
            dispute: Box::new(dispute),
            expected,
            actual,
        }
    }

    /// What to ask about a cause. Where a failure shows two sides, they are the choice.
    pub fn about(blocked: &Blocked, cause: Option<&Cause>, failures: &[FailureView]) -> Self {
        if let Some(Cause::Disputed { first, .. }) = cause {
            return Self::disputed(first.as_ref().clone(), failures);
        }
        if blocked.trigger == Trigger::GateTimeout {
            return Self::WhoDecides;
        }
        let since = match blocked.trigger {
            Trigger::RegressionDetected => Disagreement::Regression,
            _ => Disagreement::Attempts(blocked.attempt),
        };
        let sided = failures.iter().take(LOOKED_AT).find_map(|view| {
            let test = view
                .failure
                .test_name
                .as_deref()
                .unwrap_or(view.check.as_str());
            let (expected, actual) = failure::sides(&view.failure)?;
            Some(Self::WhichSide {
                test: test.to_owned(),
                expected,
                actual,
                since,
            })
        });
        sided.unwrap_or(Self::OfRun {
            attempts: blocked.attempt,
            about: blocked.trigger,
        })
    }
}
