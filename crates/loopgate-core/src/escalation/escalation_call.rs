//! Calling a human: whether a cause stands, whom it concerns, and the one question to put to them (decisions.md, E).

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    attempts::retry,
    failure,
    gate::{self, waiting},
    ids::{GateName, Score, Sha, Timestamp},
    observed::Snapshot,
    policy::{EscalationAction, EscalationPolicy, GateRole, Policy, Recipient, Trigger},
    state::{AttemptDigest, Blocked, LoopState},
    verdict::FailureView,
};

/// What a trigger does under this policy.
pub fn action_of(trigger: Trigger, policy: &EscalationPolicy) -> EscalationAction {
    policy.triggers.get(&trigger).map_or_else(|| trigger.default_action(), |own| own.action)
}

/// The triggers that stop the loop, the most urgent first; the others are only flagged.
pub fn stopping<'a>(triggers: impl Iterator<Item = &'a Trigger>, policy: &EscalationPolicy) -> Vec<Trigger> {
    let stops = |trigger: &Trigger| action_of(*trigger, policy) != EscalationAction::FlagAndContinue;
    triggers.copied().filter(stops).collect()
}

/// The triggers that are only flagged, with what was recognised.
pub fn flagged(causes: &BTreeMap<Trigger, String>, policy: &EscalationPolicy) -> BTreeMap<Trigger, String> {
    let flags = |trigger: &Trigger| action_of(*trigger, policy) == EscalationAction::FlagAndContinue;
    causes.iter().filter(|(trigger, _)| flags(trigger)).map(|(trigger, pattern)| (*trigger, pattern.clone())).collect()
}

/// Whether the cause that blocks the run still stands. A resume releases every cause; a passing attempt releases those
/// that need no person's decision.
pub fn still_stands(blocked: &Blocked, state: &LoopState, policy: &Policy, now: Timestamp) -> bool {
    if blocked.trigger == Trigger::GateTimeout {
        // Only the approvers' decision releases this cause; no push does.
        return waiting::overdue(state, &policy.gates, now).next().is_some();
    }
    let resumed = state.resumes.iter().any(|resume| resume.at > blocked.since);
    let head = state.attempt_of(state.head_sha);
    let is_over = match blocked.trigger {
        // A head that passed may be run again and meet the outage now, so only how that run ends counts.
        Trigger::ExternalDependencyDown => state.outage.is_none(),
        cause => !cause.needs_a_decision() && head.is_some_and(AttemptDigest::passes),
    };
    !resumed && !is_over
}

/// The cause to record when these triggers hold and none did before.
pub fn block(triggers: &[Trigger], state: &LoopState, now: Timestamp) -> Option<Blocked> {
    let (first, also) = triggers.split_first()?;
    let attempt = state.attempts.last().map_or(0, |last| last.number);
    let before = state.past_causes.iter().filter(|cause| **cause == (*first, attempt)).count();
    Some(Blocked {
        trigger: *first,
        also: also.to_vec(),
        attempt,
        call: u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1),
        head_sha: state.head_sha,
        since: now,
    })
}

/// The gates that a cause belongs to: whoever may decide one of them may release it.
pub fn gates_of(trigger: Trigger, state: &LoopState, policy: &Policy, now: Timestamp) -> Vec<GateName> {
    match trigger {
        Trigger::SecurityIssueFound => {
            policy.gate_with_role(GateRole::Security).map(|(name, _)| name.clone()).into_iter().collect()
        }
        Trigger::GateTimeout => waiting::overdue(state, &policy.gates, now).cloned().collect(),
        _ => Vec::new(),
    }
}

/// Everything the report needs beside the view.
pub fn describe(
    blocked: &Blocked,
    causes: &BTreeMap<Trigger, String>,
    state: &LoopState,
    snapshot: &Snapshot,
    policy: &Policy,
    failures: &[FailureView],
) -> EscalationView {
    // The run as it stood when the human was called: later pushes do not rewrite the report.
    let upto = state.attempts.iter().take_while(|attempt| attempt.number <= blocked.attempt);
    let history: Vec<AttemptDigest> = upto.cloned().collect();
    let best = retry::best(&history).map(|best| (best.number, best.head_sha, best.score));
    EscalationView {
        trigger: blocked.trigger,
        also: blocked.also.clone(),
        action: action_of(blocked.trigger, &policy.escalation),
        since: blocked.since,
        attempt: blocked.attempt,
        pattern: causes.get(&blocked.trigger).cloned().unwrap_or_else(|| in_words(blocked.trigger).to_owned()),
        question: question(blocked, failures),
        recipients: recipients(blocked, state, snapshot, policy, failures),
        history,
        best,
    }
}

/// A trigger as a sentence's beginning.
pub const fn in_words(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::SecurityIssueFound => "a security check found an issue",
        Trigger::Tampering => "tests or thresholds were weakened",
        Trigger::RegressionDetected => "tests that passed before fail now",
        Trigger::CircularFailure => "the attempts go round in a circle",
        Trigger::SameError => "the same error keeps coming back",
        Trigger::TotalFailures => "the run has failed too often",
        Trigger::MaxAttemptsReached => "the attempts are used up",
        Trigger::Stagnation => "the score stands still",
        Trigger::TimeoutExceeded => "a check does not end",
        Trigger::ExternalDependencyDown => "something outside the pull request is down",
        Trigger::AmbiguousRequirement => "it is unclear what is wanted",
        Trigger::BudgetExhausted => "the budget for fixes is used up",
        Trigger::GateTimeout => "a gate has waited too long for its approval",
        Trigger::CoverageThresholdUnmet => "only the coverage is missing",
        Trigger::NoChange => "the same code was tried again",
        Trigger::UnknownErrorType => "the error is of no known kind",
    }
}

/// Whom the trigger calls: its own recipients, else the defaults of its cause (decisions.md, E), else `notify`, else
/// the overdue gates' approvers, else the owners of the failing files.
fn recipients(
    blocked: &Blocked,
    state: &LoopState,
    snapshot: &Snapshot,
    policy: &Policy,
    failures: &[FailureView],
) -> BTreeSet<Recipient> {
    let trigger = blocked.trigger;
    let own = policy.escalation.triggers.get(&trigger).map(|own| own.to.as_slice()).unwrap_or_default();
    if !own.is_empty() {
        return own.iter().cloned().collect();
    }
    let security =
        (trigger == Trigger::SecurityIssueFound).then(|| policy.gate_with_role(GateRole::Security)).flatten();
    let approvers = security.map(|(gate, _)| Recipient::GateApprovers(gate.clone()));
    if let Some((_, gate)) = security
        && !(gate.approvers.users.is_empty() && gate.approvers.teams.is_empty())
    {
        return approvers.into_iter().collect();
    }
    // Where no approver is named, the approvers may be nobody in particular. Then somebody else is called, too.
    let escalation = &policy.escalation;
    let default = match trigger {
        Trigger::ExternalDependencyDown if !escalation.ops.is_empty() => &escalation.ops,
        Trigger::AmbiguousRequirement if !escalation.product_owner.is_empty() => &escalation.product_owner,
        _ => &escalation.notify,
    };
    if default.is_empty() && trigger == Trigger::GateTimeout {
        let overdue = waiting::overdue(state, &policy.gates, blocked.since);
        return overdue.cloned().map(Recipient::GateApprovers).collect();
    }
    if default.is_empty() {
        return owners(snapshot, failures).into_iter().chain(approvers).collect();
    }
    default.iter().cloned().chain(approvers).collect()
}

/// Code owners of the files that fail; of all that are changed, where no failure names one of the repository's.
fn owners(snapshot: &Snapshot, failures: &[FailureView]) -> BTreeSet<Recipient> {
    let Some(codeowners) = &snapshot.codeowners else { return BTreeSet::new() };
    let failing: BTreeSet<&str> = failures
        .iter()
        .filter_map(|view| {
            let source = view.failure.source.as_ref().map(|source| source.file.as_str());
            source.or(view.failure.test_file.as_deref())
        })
        .collect();
    let owners = gate::owners_of(codeowners, failing.into_iter());
    if !owners.is_empty() {
        return owners;
    }
    gate::owners_of(codeowners, snapshot.files.known().iter().map(|file| file.path.as_str()))
}

/// How many failures are searched for two sides.
const LOOKED_AT: usize = 20;

/// One specific decision to take. Where the failure shows two sides, they are the options.
fn question(blocked: &Blocked, failures: &[FailureView]) -> Question {
    let attempts = match blocked.attempt {
        0 => "Before any attempt could be judged".to_owned(),
        1 => "After 1 attempt".to_owned(),
        more => format!("After {more} attempts"),
    };
    if blocked.trigger == Trigger::GateTimeout {
        return Question {
            text: "Who decides the gate that nobody has decided?".to_owned(),
            options: [
                "Its approvers, now: approve or reject it.",
                "Somebody else: name other approvers in the configuration on the base branch.",
                "Nobody: close the pull request, or take out what opened the gate.",
            ]
            .map(str::to_owned)
            .into(),
        };
    }
    let sided = failures.iter().take(LOOKED_AT).find_map(|view| {
        let name = view.failure.test_name.as_deref().unwrap_or(view.check.as_str());
        let (expected, actual) = failure::sides(&view.failure)?;
        Some((name, expected, actual))
    });
    if let Some((name, expected, actual)) = sided {
        return Question {
            text: match blocked.trigger {
                Trigger::RegressionDetected => {
                    format!("`{name}` passed before and disagrees with the code now. Which side is right?")
                }
                _ => format!("{attempts} `{name}` disagrees with the code. Which side is right?"),
            },
            options: vec![
                format!("The test: it expects `{expected}`. Change the code."),
                format!("The code: it gives `{actual}`. Change the test, and say so in a comment."),
                "Neither: describe what should happen.".to_owned(),
            ],
        };
    }
    let (text, options): (&str, &[&str]) = match blocked.trigger {
        Trigger::SecurityIssueFound => {
            ("is the finding real?", &["Yes: it must be fixed before anything else.", "No: record why, then resume."])
        }
        Trigger::Tampering => (
            "is the change to what checks the code meant?",
            &[
                "Yes: somebody else than its author takes responsibility for it.",
                "No: put it back as it was, then resume.",
            ],
        ),
        Trigger::ExternalDependencyDown => (
            "should the loop wait or go on without this check?",
            &["Wait until it is back, then resume.", "Skip the check with a reason."],
        ),
        Trigger::TimeoutExceeded => (
            "does the code hang, or is the check too slow for its timeout?",
            &[
                "The code hangs: fix it and push.",
                "The check is slow: raise its timeout on the base branch, then resume.",
            ],
        ),
        _ => (
            "how should this go on?",
            &[
                "Another try: push a fix, then resume.",
                "Stop this approach: close the pull request.",
                "Take it over by hand.",
            ],
        ),
    };
    Question { text: format!("{attempts}, {text}"), options: options.iter().map(|&option| option.to_owned()).collect() }
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
    /// What was recognised in the run of failures: "the same failure in 3 attempts: unit (…)".
    pub pattern: String,
    pub question: Question,
    pub recipients: BTreeSet<Recipient>,
    /// Every attempt, oldest first.
    pub history: Vec<AttemptDigest>,
    pub best: Option<(u32, Sha, Score)>,
}

/// One specific decision to take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub text: String,
    pub options: Vec<String>,
}
