//! What happens next and by whom.

use minijinja::{Value, context, value::Serde};

use super::{
    Markdown, Subject, address, code, linked,
    messages::{self, entry},
    short_text,
    verdict::{fails_on_the_base, silence_of, silences},
    words,
};
use loopgate_core::{
    CheckName,
    concerns::{
        checks::{CheckStanding, Silence, external},
        fixer::{fix_request::Whom, senior_fixer},
    },
    deciding::{NextAction, View, stages::Blocker},
    evidence::CheckKind,
    observed::Stack,
    policy::{CheckSource, EscalationAction, GateRole, Trigger},
    result::CheckState,
    state::RunStatus,
};

/// What happens next and by whom, one step a line.
pub fn next_steps(subject: &Subject<'_>) -> Vec<Markdown> {
    let next = &subject.decision.next;
    let mut steps = match &subject.decision.action {
        _ if subject.is_single() => Vec::new(),
        // Who opens a gate, and how, stands with the gate.
        NextAction::Complete | NextAction::WaitForApproval { .. } | NextAction::WaitForReady => {
            Vec::new()
        }
        NextAction::Stopped if subject.stopped_by_a_person() => {
            let words = next
                .run
                .stop
                .words
                .as_deref()
                .map(|words| short_text(words, 300))
                .unwrap_or_default();
            vec![step(entry::Step::StoppedByAPerson, context! { words })]
        }
        NextAction::Stopped if next.run.status == RunStatus::Failed => {
            vec![step(entry::Step::Failed, context! {})]
        }
        NextAction::Stopped => Vec::new(),
        NextAction::Retry { .. } => retry_steps(subject),
        NextAction::Escalate { cause } | NextAction::WaitForHuman { cause } => {
            resume_steps(subject, *cause)
        }
        NextAction::WaitForEvidence { missing } => evidence_steps(subject, missing),
        NextAction::WaitForRunApproval { .. } => vec![run_approval_step(subject)],
        NextAction::WaitForPush { capability } => {
            vec![step(
                entry::Step::BuildCapability,
                context! { author => subject.author(), capability },
            )]
        }
        NextAction::WaitForReview => vec![step(entry::Step::Review, context! {})],
        NextAction::WaitForMerge if !subject.decision.surface.waits_for.is_empty() => Vec::new(),
        NextAction::WaitForMerge => vec![step(entry::Step::Merge, context! {})],
    };
    if let Some(Stack {
        position,
        size,
        beneath,
        ..
    }) = subject.snapshot.stack.as_ref().filter(|it| it.position > 0)
    {
        let on = beneath.last().map(|layer| layer.number.get());
        steps.push(step(entry::Step::Layer, context! { position, size, on }));
    }
    steps.into_iter().map(Markdown::ours).collect()
}

/// How the loop goes on after a person was called.
pub(super) fn resume_steps(subject: &Subject<'_>, cause: Trigger) -> Vec<String> {
    let branch = subject.snapshot.pull_request.head.branch.as_str();
    let named = |name: entry::Step| step(name, context! { branch });
    let mut steps = match cause {
        Trigger::Tampering => vec![
            named(entry::Step::TamperingMeant),
            named(entry::Step::TamperingNotMeant),
        ],
        // The answers of the question are the ways on.
        Trigger::Disputed => vec![named(entry::Step::Disputed)],
        Trigger::SecurityIssueFound | Trigger::AmbiguousRequirement => {
            let is_gated = cause == Trigger::SecurityIssueFound
                && subject.policy.gate_with_role(GateRole::Security).is_some();
            vec![
                named(entry::Step::Answer),
                step(entry::Step::ResumeBy, context! { is_gated }),
            ]
        }
        Trigger::ExternalDependencyDown => {
            let checks: Vec<_> = subject.policy.verify.checks.keys().cloned().collect();
            silent_step(subject, &checks)
                .into_iter()
                .chain([named(entry::Step::ServiceIsBack)])
                .collect()
        }
        Trigger::NoReport => {
            let silent = &subject.decision.next.concerns.checks.unreported.of_head;
            let silent: Vec<_> = silent.iter().cloned().collect();
            silence_steps(subject, &silent).unwrap_or_default()
        }
        Trigger::GateTimeout => Vec::new(),
        Trigger::TimeoutExceeded => vec![
            named(entry::Step::CodeHangs),
            named(entry::Step::CheckIsSlow),
        ],
        _ => {
            let (total, limit) = (
                subject.decision.next.attempts.failures.total,
                subject.policy.retry.total_failures,
            );
            let most = subject.decision.view.max_attempts;
            vec![
                named(entry::Step::PushAFix),
                step(
                    entry::Step::Resume,
                    context! { total, most, is_last => total >= limit },
                ),
            ]
        }
    };
    steps.push(named(entry::Step::GiveUp));
    steps
}

/// The sentence, Markdown.
pub(super) fn step(name: entry::Step, beside: Value) -> String {
    messages::markdown(name, beside).into_string()
}

/// The verdict already names who pushes what; here is what happens if that does not help.
fn retry_steps(subject: &Subject<'_>) -> Vec<String> {
    let failures = &subject.decision.next.attempts.failures;
    if subject.rejection().is_some() {
        return Vec::new();
    }
    match &subject.decision.view.held_by {
        Some(Blocker::ChangesRequested(by)) => {
            return vec![format!("{} approves when content.", words::person(by))];
        }
        Some(Blocker::Configuration) => return Vec::new(),
        _ => {}
    }
    let most = subject.decision.view.max_attempts;
    // The streak ended with `/loop resume`: the next push begins a new one.
    let attempt = subject.decision.view.attempt;
    if subject
        .decision
        .next
        .people
        .resumes
        .iter()
        .any(|resume| resume.after_attempt >= attempt)
    {
        return vec![step(entry::Step::TakenUp, context! { most })];
    }
    let left = most.saturating_sub(failures.count);
    let called = words::asked(subject.policy, Trigger::MaxAttemptsReached);
    let turn = subject.decision.view.fixing.as_ref();
    if let (Some(Whom::Senior), Some(call)) = (
        turn.map(|turn| turn.whom),
        &subject.decision.next.concerns.fixer,
    ) {
        let until = words::moment(senior_fixer::deadline(call, subject.policy));
        return vec![step(
            entry::Step::Senior,
            context! { why => words::trigger(call.trigger), until, called },
        )];
    }
    // When the fixer is asked, if `loop.backoff` makes it wait.
    let waits = turn.filter(|_| subject.decision.surface.fix.is_none());
    let later = waits.map(|turn| {
        step(
            entry::Step::Later,
            context! { at => words::moment(turn.at) },
        )
    });
    let same = failures.same_error;
    let if_it_fails = match left {
        _ if same >= subject.policy.retry.same_error => Some(entry::Step::SameErrorAgain),
        0 => None,
        1 => Some(entry::Step::LastAttempt),
        _ => Some(entry::Step::AttemptsLeft),
    };
    let if_it_fails =
        if_it_fails.map(|name| step(name, context! { times => words::times(same), left, called }));
    later.into_iter().chain(if_it_fails).collect()
}

fn evidence_steps(subject: &Subject<'_>, missing: &[CheckName]) -> Vec<String> {
    let limit = words::duration(subject.policy.retry.evidence_timeout_ms());
    let called = asked_about_silence(subject, missing);
    let standing = |name: &CheckName| subject.check(name).map(|check| &check.standing);
    let ended = |name: &CheckName| {
        subject
            .check(name)
            .is_some_and(|it| it.evidence().is_some())
    };
    if missing.iter().all(ended) {
        if fails_on_the_base(subject, missing) {
            return vec![step(
                entry::Step::BaseFails,
                context! { base => subject.snapshot.pull_request.base.branch.as_str() },
            )];
        }
        return vec![outside_step(&subject.decision.view)];
    }
    if let Some(step) = silence_steps(subject, missing).or_else(|| start_step(subject, missing)) {
        return step;
    }
    let skipped = missing
        .iter()
        .filter_map(standing)
        .find_map(|standing| match standing {
            CheckStanding::AwaitsRelease { job, cause } => Some((job, cause)),
            _ => None,
        });
    if let Some((job, cause)) = skipped {
        let why = short_text(&words::awaited_job(job, cause), 300);
        let filter = job.filter.as_ref().map(Serde);
        return vec![
            step(entry::Step::LetSkippedRun, context! { why, filter }),
            step(entry::Step::ReleaseSkipped, context! {}),
        ];
    }
    let is_lost = |name: &CheckName| subject.state_of(name) == Some(CheckState::Lost);
    if missing.iter().any(is_lost) {
        return vec![step(entry::Step::Lost, context! {})];
    }
    if let Some(silent) = silent_step(subject, missing) {
        return vec![silent, step(entry::Step::AfterSilence, context! {})];
    }
    let is_silent =
        |name: &&CheckName| matches!(subject.state_of(name), None | Some(CheckState::Missing));
    let silent: Vec<&CheckName> = missing.iter().filter(is_silent).collect();
    if !silent.is_empty() {
        return vec![not_reported(subject, &silent, context! { limit, called })];
    }
    if let Some(step) = missing.iter().find_map(|name| still_running(subject, name)) {
        return vec![step];
    }
    vec![step(entry::Step::NothingToDo, context! { limit, called })]
}

/// What is said of checks of which nothing is there yet; `beside` is what happens if that stays so.
fn not_reported(subject: &Subject<'_>, names: &[&CheckName], beside: Value) -> String {
    let may_run = names.iter().any(|name| is_command(subject, name));
    let skips = names.iter().find(|name| may_skip(subject, name));
    let of_them = context! {
        names => names.iter().map(ToString::to_string).collect::<Vec<_>>(),
        may_run,
        skips => skips.map(ToString::to_string),
    };
    step(entry::Step::NotReported, context! { ..of_them, ..beside })
}

/// What happens if nothing is heard of these checks: who is asked; `None` if that would be nobody, since it is only
/// flagged, or somebody was asked about each of them before.
fn asked_about_silence(subject: &Subject<'_>, missing: &[CheckName]) -> Option<String> {
    let Subject {
        decision, policy, ..
    } = *subject;
    let action = policy.escalation.action_of(Trigger::NoReport);
    let called_for = &decision.next.concerns.checks.unreported.called_for;
    let is_news = !missing.iter().all(|name| called_for.contains(name));
    (is_news && action != EscalationAction::FlagAndContinue)
        .then(|| words::asked(policy, Trigger::NoReport))
}

/// Whether its evidence comes of workflows, which GitHub can be asked for again.
fn is_command(subject: &Subject<'_>, name: &CheckName) -> bool {
    let check = subject.policy.verify.checks.get(name);
    check.is_some_and(|check| matches!(check.source, CheckSource::Command(_)))
}

fn may_skip(subject: &Subject<'_>, name: &CheckName) -> bool {
    let kind = subject.check(name).map(|check| check.kind);
    !matches!(kind, Some(CheckKind::Build | CheckKind::Test))
}

/// The run that may yet bring a check of which nothing is there, although its time is over.
fn still_running(subject: &Subject<'_>, name: &CheckName) -> Option<String> {
    let CheckStanding::Running { url, is_queued } = &subject.check(name)?.standing else {
        return None;
    };
    let mut runs = subject.snapshot.all_runs.iter();
    let run = runs.find(|run| url.is_some() && run.url == *url)?;
    let since = words::moment(run.started_at?);
    let beside = context! {
        name => name.as_str(),
        workflow => run.path.as_str(),
        since,
        is_queued,
        url => url.as_deref().and_then(address),
    };
    Some(step(entry::Step::StillRunning, beside))
}

/// What ends the silence of these checks; `None` where one of them is waited for for another reason.
fn silence_steps(subject: &Subject<'_>, checks: &[CheckName]) -> Option<Vec<String>> {
    let silence = silence_of(subject, checks)?;
    let base = subject.snapshot.pull_request.base.branch.as_str();
    let of_author = |about: entry::Step, word: Option<&str>| {
        let beside = context! { author => subject.author(), base, word };
        vec![step(about, beside)]
    };
    Some(match silence {
        Silence::Conflict => of_author(entry::Step::Conflict, None),
        Silence::WorkflowToken => of_author(entry::Step::WorkflowToken, None),
        Silence::SkipWord { word } => of_author(entry::Step::SkipWord, Some(word)),
        Silence::EndedWithout => {
            let silent = silent_step(subject, checks);
            silent
                .into_iter()
                .chain([step(entry::Step::AfterSilence, context! {})])
                .collect()
        }
        Silence::Unexplained { beside } => {
            let name = checks.first()?;
            let of_name =
                |about: entry::Step| step(about, context! { name => name.as_str(), base, beside });
            let skip = may_skip(subject, name).then_some(entry::Step::Skip);
            let decision = subject.decision;
            let was_asked = decision
                .next
                .concerns
                .checks
                .unreported
                .called_for
                .contains(name)
                && decision.next.people.blocked.is_none();
            let steps = [
                entry::Step::Unexplained,
                entry::Step::Renamed,
                entry::Step::NotTriggered,
            ]
            .into_iter()
            .chain(skip)
            .chain(was_asked.then_some(entry::Step::WasAsked));
            steps.map(of_name).collect()
        }
    })
}

/// Who lets the workflows run that GitHub holds back.
fn run_approval_step(subject: &Subject<'_>) -> String {
    let security = subject
        .policy
        .gate_with_role(GateRole::Security)
        .and_then(|(name, _)| subject.gate(name));
    if let Some(gate) = security.filter(|_| !subject.decision.surface.approve_runs.is_empty()) {
        let head = subject.snapshot.pull_request.head.sha;
        let here = gate
            .approvals
            .iter()
            .filter(|approval| approval.head == head);
        let by: Vec<Markdown> = here.map(|approval| words::person(&approval.by)).collect();
        return step(
            entry::Step::RunsApproved,
            context! { by, gate => gate.name.as_str() },
        );
    }
    let url = subject
        .snapshot
        .held_runs
        .iter()
        .find_map(|run| run.url.as_deref().and_then(address));
    let gate = security
        .filter(|gate| subject.lets_runs_go(gate))
        .map(|gate| gate.name.as_str());
    step(entry::Step::ApproveRuns, context! { url, gate })
}

/// Which runs have ended and brought nothing, where a check waits for what they were to bring.
pub(super) fn silent_step(subject: &Subject<'_>, missing: &[CheckName]) -> Option<String> {
    silences(subject, missing).then_some(())?;
    let runs = external::silent_runs(subject.snapshot);
    let runs = runs.map(|run| linked(code(&run.path), run.url.as_deref().and_then(address)));
    let runs: Vec<Markdown> = runs.collect();
    Some(step(entry::Step::Silent, context! { runs }))
}

/// What to do about workflows that GitHub could not start; none where all did. Its API gives no reason, its page does.
fn start_step(subject: &Subject<'_>, missing: &[CheckName]) -> Option<Vec<String>> {
    let not_started = |name: &CheckName| match subject.check(name).map(|check| &check.standing) {
        Some(CheckStanding::NotStarted {
            edited_workflows, ..
        }) => Some(edited_workflows),
        _ => None,
    };
    let edited = missing.iter().find_map(not_started)?;
    let mut steps = vec![step(entry::Step::NotStarted, context! {})];
    if edited.is_empty() {
        steps.extend([
            step(entry::Step::NotStartedOutside, context! {}),
            outside_step(&subject.decision.view),
        ]);
    } else {
        steps.push(step(
            entry::Step::NotStartedEdited,
            context! { files => edited.clone() },
        ));
    }
    Some(steps)
}

/// When what failed for reasons outside the code runs again, and how to have it at once.
fn outside_step(view: &View) -> String {
    match &view.next_rerun {
        Some(next) => {
            let (checks, at) = (Serde(&next.checks), words::moment(next.at));
            step(
                entry::Step::RerunAt,
                context! { checks, at, nth => next.nth, times => next.times },
            )
        }
        None if !view.reruns.is_empty() => step(entry::Step::RerunAsked, context! {}),
        None => step(entry::Step::Rerun, context! {}),
    }
}
