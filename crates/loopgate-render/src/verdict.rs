//! The one line on how it stands and who acts.

use minijinja::{Value, context, value::Serde};

use super::{
    Subject, causes,
    messages::{self, entry},
    short_line, words,
};
use loopgate_core::{
    CheckName, GateName, Login,
    concerns::checks::{Silence, external},
    deciding::{NextAction, View, stages::Blocker},
    failure::Blame,
    observed::Lifecycle,
    policy::{CheckSource, Recipient, Trigger},
    result::CheckState,
    stage::Stage,
    state::RunStatus,
};

/// A sign, and one line in plain words: how it stands and who acts.
pub fn verdict(subject: &Subject<'_>) -> (&'static str, String) {
    let view = &subject.decision.view;
    let (icon, words) = match &subject.decision.action {
        _ if subject.is_single() => single(subject),
        NextAction::Complete => merged(subject),
        NextAction::Stopped => ("⏹️", stopped(subject)),
        NextAction::Retry { .. } => ("🔁", retry(subject)),
        NextAction::Escalate { cause } | NextAction::WaitForHuman { cause } => {
            ("🚫", blocked(subject, *cause))
        }
        NextAction::WaitForEvidence { missing } => ("⏳", waiting(subject, missing)),
        NextAction::WaitForRunApproval { .. } => (
            "⏳",
            sentence(
                entry::Verdict::RunApproval,
                context! { is_asked => !subject.decision.surface.approve_runs.is_empty() },
            ),
        ),
        NextAction::WaitForApproval { gate } => ("🔒", gated(subject, gate)),
        NextAction::WaitForPush { .. } => {
            let done = &view.capabilities;
            let (completed, total) = (done.completed, done.total);
            (
                "🧩",
                sentence(
                    entry::Verdict::Push,
                    context! { completed, total, author => subject.author() },
                ),
            )
        }
        NextAction::WaitForReady => (
            "📝",
            sentence(
                entry::Verdict::ReadyForReview,
                context! { author => subject.author() },
            ),
        ),
        NextAction::WaitForReview => ("👀", review(subject)),
        NextAction::WaitForMerge => match subject.decision.surface.waits_for.values().min() {
            Some(layer) => (
                "⏳",
                sentence(entry::Verdict::Layer, context! { layer => layer.get() }),
            ),
            // A check that did not apply, or was absent, has not passed, so not all is green.
            None => {
                let states = subject.checks().map(|(state, _)| state);
                let mut others = states.filter(|it| it.is_without_verdict()).peekable();
                let is_whole = others.peek().is_none();
                let is_filtered = others.all(|state| state == CheckState::Filtered);
                (
                    "✅",
                    sentence(entry::Verdict::Ready, context! { is_whole, is_filtered }),
                )
            }
        },
    };
    (icon, short_line(&words, 300))
}

fn single(subject: &Subject<'_>) -> (&'static str, String) {
    let view = &subject.decision.view;
    match &subject.decision.action {
        NextAction::WaitForEvidence { missing } => ("⏳", waiting(subject, missing)),
        NextAction::Escalate { cause } | NextAction::WaitForHuman { cause } => {
            let pattern = view.escalation.as_ref().map(causes::recognised);
            let failed = words::checks(&subject.failing());
            (
                "🚫",
                sentence(
                    entry::Verdict::ToDecide,
                    context! { why => words::trigger(*cause), pattern, failed },
                ),
            )
        }
        NextAction::Retry { .. } => ("❌", format!("Failed: {}", failing(subject))),
        _ => ("✅", format!("Passed{}", with_warnings(view))),
    }
}

/// Whether a single verification has passed.
pub(super) const fn has_passed(action: &NextAction) -> bool {
    !matches!(
        action,
        NextAction::WaitForEvidence { .. }
            | NextAction::Escalate { .. }
            | NextAction::WaitForHuman { .. }
            | NextAction::Retry { .. }
    )
}

/// ", with 2 warnings: lint and docs", after "Passed".
pub(super) fn with_warnings(view: &View) -> String {
    sentence(
        entry::Verdict::Warnings,
        context! { names => Serde(view.evaluation.warnings()) },
    )
}

fn merged(subject: &Subject<'_>) -> (&'static str, String) {
    let by = match &subject.snapshot.pull_request.lifecycle {
        Lifecycle::Merged { by, .. } => by.as_ref().map(Login::as_str),
        _ => None,
    };
    let bypassed: Vec<String> = subject
        .decision
        .view
        .bypassed
        .iter()
        .map(|what| format!("the {what}"))
        .collect();
    let icon = if bypassed.is_empty() {
        "🎉"
    } else {
        "⚠️"
    };
    (
        icon,
        sentence(
            entry::Verdict::Merged,
            context! { by, bypassed, attempts => subject.decision.next.attempts.counted.len() },
        ),
    )
}

fn stopped(subject: &Subject<'_>) -> String {
    let next = &subject.decision.next;
    let beside = context! {
        by_a_person => subject.stopped_by_a_person(),
        by => next.run.stop.by.as_ref().map(Login::as_str),
        has_failed => next.run.status == RunStatus::Failed,
        most => subject.decision.view.max_attempts,
    };
    sentence(entry::Verdict::Stopped, beside)
}

fn retry(subject: &Subject<'_>) -> String {
    let author = subject.author();
    if let Some((gate, by)) = subject.rejection() {
        return sentence(
            entry::Verdict::GateRejected,
            context! { by => by.as_str(), gate => gate.name.as_str(), author },
        );
    }
    match &subject.decision.view.held_by {
        Some(Blocker::ChangesRequested(by)) => {
            return sentence(
                entry::Verdict::ChangeAskedFor,
                context! { by => by.as_str(), author },
            );
        }
        Some(Blocker::Configuration) => {
            return sentence(entry::Verdict::NoConfiguration, context! {});
        }
        _ => {}
    }
    let who = match &subject.decision.view.fixing {
        None => format!("{author}, please fix and push"),
        Some(turn) => format!(
            "{} is asked to fix it",
            words::fixer(turn.whom, subject.policy)
        ),
    };
    format!(
        "{} failed: {}{} — {who}",
        subject.attempt(),
        failing(subject),
        subject.tries_left()
    )
}

/// Whether a check that is missing was to come of workflows, one of which has ended and brought nothing.
pub(super) fn silences(subject: &Subject<'_>, missing: &[CheckName]) -> bool {
    let waits = |name: &CheckName| {
        let ended_without = subject
            .check(name)
            .is_some_and(|check| check.silence() == Some(&Silence::EndedWithout));
        let check = subject.policy.verify.checks.get(name);
        (ended_without || matches!(subject.state_of(name), None | Some(CheckState::Missing)))
            && check.is_some_and(|check| matches!(check.source, CheckSource::Command(_)))
    };
    missing.iter().any(waits) && external::silent_runs(subject.snapshot).next().is_some()
}

/// What fails: checks, else rules that must pass, else the score.
fn failing(subject: &Subject<'_>) -> String {
    let view = &subject.decision.view;
    let failing = subject.failing();
    let rules = view.evaluation.failed_rules();
    match (failing.as_slice(), &view.evidence_held_by) {
        ([], Some(Blocker::Evaluation(_))) if !rules.is_empty() => words::and(&rules),
        ([], Some(Blocker::Evaluation(phase))) => {
            format!("the score is too low in phase {phase:?}")
        }
        ([], _) => "it does not pass".to_owned(),
        (failing, _) => words::checks(failing),
    }
}

fn blocked(subject: &Subject<'_>, cause: Trigger) -> String {
    let (called, who): (Vec<&Recipient>, _) = match &subject.decision.view.escalation {
        Some(escalation) if !escalation.recipients.is_empty() => (
            escalation.recipients.iter().collect(),
            words::few(escalation.recipients.iter().map(words::recipient), 3),
        ),
        _ => (
            subject.policy.escalation.notify.iter().collect(),
            words::called(subject.policy),
        ),
    };
    let decide = if matches!(called.as_slice(), [Recipient::User(_)]) {
        "decides"
    } else {
        "decide"
    };
    let why = causes::blocked(&subject.decision.view, cause);
    format!("{why} — {who} {decide}")
}

fn waiting(subject: &Subject<'_>, missing: &[CheckName]) -> String {
    let silent = silence_of(subject, missing);
    let reason = match silent {
        Some(Silence::Conflict) => entry::Waiting::Conflict,
        Some(Silence::SkipWord { .. }) => entry::Waiting::SkipWord,
        Some(Silence::WorkflowToken) => entry::Waiting::WorkflowToken,
        Some(Silence::EndedWithout | Silence::Unexplained { .. }) => entry::Waiting::NoReport,
        None => awaited(subject, missing),
    };
    let base = subject.snapshot.pull_request.base.branch.as_str();
    messages::plain(
        reason,
        context! {
            names => words::checks(missing),
            base,
            author => subject.author(),
            limit => words::duration(subject.policy.retry.evidence_timeout_ms()),
            word => match silent {
                Some(Silence::SkipWord { word }) => Some(word),
                _ => None,
            },
        },
    )
}

/// What all of the missing checks have in common, by which they are waited for.
fn awaited(subject: &Subject<'_>, missing: &[CheckName]) -> entry::Waiting {
    let all = |wanted: &[CheckState]| {
        let mut states = missing.iter().map(|name| subject.state_of(name));
        states.all(|state| state.is_some_and(|state| wanted.contains(&state)))
    };
    let has_ended = |name: &CheckName| {
        subject
            .check(name)
            .is_some_and(|it| it.evidence().is_some())
    };
    if all(&[CheckState::Queued]) {
        entry::Waiting::Queued
    } else if all(&[CheckState::Queued, CheckState::Running]) {
        entry::Waiting::Running
    } else if fails_on_the_base(subject, missing) {
        entry::Waiting::FailsOnTheBase
    } else if all(&[CheckState::Cancelled]) {
        entry::Waiting::Cancelled
    } else if all(&[CheckState::NotStarted]) {
        entry::Waiting::NotStarted
    } else if all(&[CheckState::Lost]) {
        entry::Waiting::Lost
    } else if missing.iter().all(has_ended) {
        entry::Waiting::FailedOutside
    } else if silences(subject, missing) {
        entry::Waiting::Silent
    } else {
        entry::Waiting::Missing
    }
}

/// Why nothing was heard of these checks: what their author ends comes first. `None` where one of them is waited for for
/// another reason.
pub(super) fn silence_of<'s>(
    subject: &'s Subject<'_>,
    checks: &[CheckName],
) -> Option<&'s Silence> {
    let silences = checks.iter().map(|name| subject.check(name)?.silence());
    let all: Vec<&Silence> = silences.collect::<Option<_>>()?;
    let authors = all.iter().find(|silence| silence.is_authors());
    authors.or(all.first()).copied()
}

/// Whether what is waited for fails as it does on the base, at least in part.
pub(super) fn fails_on_the_base(subject: &Subject<'_>, failing: &[CheckName]) -> bool {
    failing.iter().any(|name| {
        subject
            .check(name)
            .is_some_and(|check| check.blame == Some(Blame::Base))
    })
}

fn gated(subject: &Subject<'_>, gate: &GateName) -> String {
    let report = subject.gate(gate);
    let who = report.map_or_else(|| "its approvers".to_owned(), words::approvers);
    let only_author = report.is_some_and(|report| report.eligible.only_hope);
    let closed = subject.gates().filter(|gate| gate.is_closed());
    let closed: Vec<String> = closed.map(|gate| gate.name.to_string()).collect();
    sentence(
        entry::Verdict::Gated,
        context! { passes => subject.decision.view.evidence_stage >= Stage::Document, closed, gate => gate.as_str(), who, only_author },
    )
}

fn review(subject: &Subject<'_>) -> String {
    let (reviews, by) = match &subject.decision.view.held_by {
        Some(Blocker::Review { have, need }) => (Some(format!("{have} of {need}")), None),
        Some(Blocker::ChangesRequested(by)) => (None, Some(by.as_str())),
        _ => (None, None),
    };
    sentence(entry::Verdict::Review, context! { reviews, by })
}

/// The line, plain text.
fn sentence(line: entry::Verdict, beside: Value) -> String {
    messages::plain(line, beside)
}

/// The line of stages, the current one marked.
pub fn stage_line(stage: Stage) -> String {
    let mark = |one: Stage| match one.cmp(&stage) {
        std::cmp::Ordering::Less => format!("{} ✓", one.as_str()),
        std::cmp::Ordering::Equal if one == Stage::Complete => format!("**{} ✓**", one.as_str()),
        std::cmp::Ordering::Equal => format!("**{} ●**", one.as_str()),
        std::cmp::Ordering::Greater => one.as_str().to_owned(),
    };
    Stage::ALL.map(mark).join(" → ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use loopgate_core::{
        concerns::{
            attempts::rerun::NextRerun,
            fixer::fix_request::{FixTurn, Whom},
            gates::GateReport,
        },
        deciding::Decision,
        observed::Snapshot,
        policy::{DispatchFixer, Fixer, Policy},
        state::{Blocked, GateStatus, Stop, StopReason},
    };

    fn said(decision: &Decision, snapshot: &Snapshot) -> String {
        let mut policy = fixtures::policy();
        policy.retry.escalation_on_max = false;
        said_under(decision, snapshot, &policy)
    }

    fn said_under(decision: &Decision, snapshot: &Snapshot, policy: &Policy) -> String {
        let subject = Subject::new(decision, snapshot, policy);
        let (icon, words) = verdict(&subject);
        let steps: Vec<String> = super::super::steps::next_steps(&subject)
            .into_iter()
            .map(|step| format!("\n   {step}"))
            .collect();
        format!("{icon} {words}{}", steps.concat())
    }

    fn rejected_gate() -> Decision {
        let mut decision = fixtures::first_failure();
        let objection = fixtures::objection(fixtures::at(3), "Use the vault".into(), String::new());
        let gate = fixtures::security_gate(GateStatus::Rejected);
        decision.view.gates = vec![GateReport {
            objections: vec![objection],
            ..gate
        }];
        decision
    }

    fn held(action: NextAction, hold: Blocker) -> Decision {
        let mut decision = fixtures::green(action);
        decision.view.held_by = Some(hold);
        decision
    }

    fn stopped(status: RunStatus, stop: Stop) -> Decision {
        let mut decision = fixtures::green(NextAction::Stopped);
        decision.next.run.status = status;
        decision.next.run.stop = stop;
        decision
    }

    fn infrastructure() -> Decision {
        let mut decision = fixtures::first_failure();
        decision.view.checks[1].blame = Some(Blame::Infrastructure);
        decision.action = NextAction::WaitForEvidence {
            missing: vec![fixtures::check("unit")],
        };
        decision
    }

    fn repeated_later() -> Decision {
        let mut decision = infrastructure();
        let checks = [fixtures::check("unit")].into();
        decision.view.next_rerun = Some(NextRerun {
            at: fixtures::at(16),
            checks,
            nth: 3,
            times: 5,
        });
        decision
    }

    /// The fixer's turn on the first failure, `minutes` after the attempt.
    fn fixing(whom: Whom, minutes: i64) -> Decision {
        let mut decision = fixtures::first_failure();
        let turn = FixTurn {
            whom,
            attempt: 1,
            at: fixtures::at(20 + minutes),
        };
        decision.view.fixing = Some(turn);
        decision.surface.fix = Some(turn).filter(|_| minutes == 0);
        if whom == Whom::Senior {
            let (trigger, head_sha) = (Trigger::SameError, fixtures::sha(0xa1));
            let since = fixtures::at(20);
            decision.next.concerns.fixer = Some(Blocked {
                trigger,
                also: Vec::new(),
                attempt: 1,
                call: 1,
                head_sha,
                since,
            });
        }
        decision
    }

    fn said_with_fixers(decision: &Decision, snapshot: &Snapshot) -> String {
        let mut policy = fixtures::policy();
        policy.fixer.fixer = Fixer::Mention(fixtures::login("copilot"));
        let workflow = DispatchFixer::Workflow {
            file: "fix.yml".to_owned(),
        };
        policy.escalation.senior = Some(Fixer::Dispatch(workflow));
        said_under(decision, snapshot, &policy)
    }

    fn two_thirds() -> Decision {
        let mut decision = fixtures::first_failure();
        decision.next.attempts.failures.count = 2;
        decision.view.attempt = 5;
        decision
    }

    #[test]
    fn every_situation_says_how_it_stands_and_who_acts() {
        let plain = fixtures::snapshot();
        let (same, same_snapshot) = fixtures::same_error_again();
        let (blocked, blocked_snapshot) = fixtures::blocked();
        let by_dana = Stop {
            passed: false,
            reason: Some(StopReason::UserStop),
            words: Some("not now".into()),
            by: Some(fixtures::login("dana")),
        };
        let bob = fixtures::login("bob");
        let all = [
            said(&fixtures::first_failure(), &plain),
            said(&two_thirds(), &plain),
            said(&same, &same_snapshot),
            said_with_fixers(&fixing(Whom::Fixer, 0), &plain),
            said_with_fixers(&fixing(Whom::Fixer, 2), &plain),
            said_with_fixers(&fixing(Whom::Senior, 0), &plain),
            said(&rejected_gate(), &plain),
            said(
                &held(
                    NextAction::Retry { attempt: 1 },
                    Blocker::ChangesRequested(bob),
                ),
                &plain,
            ),
            said(
                &held(NextAction::Retry { attempt: 1 }, Blocker::Configuration),
                &plain,
            ),
            said(&blocked, &blocked_snapshot),
            said(&fixtures::waiting_for_evidence(), &plain),
            said(&infrastructure(), &plain),
            said(&repeated_later(), &plain),
            said(&fixtures::open_security_gate_with_an_outsider(), &plain),
            said(&held(NextAction::WaitForReady, Blocker::Draft), &plain),
            said(
                &held(
                    NextAction::WaitForReview,
                    Blocker::Review { have: 1, need: 2 },
                ),
                &plain,
            ),
            said(&fixtures::ready_to_merge(), &plain),
            said(&stopped(RunStatus::Stopped, by_dana), &plain),
            said(&stopped(RunStatus::Failed, Stop::default()), &plain),
            said(&stopped(RunStatus::Stopped, Stop::default()), &plain),
        ];
        insta::assert_snapshot!(all.join("\n"));
    }
}
