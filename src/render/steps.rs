//! What happens next and by whom.

use super::{
    sanitize::{Markdown, address, code, short_text, text},
    verdict::{Subject, fails_on_the_base},
    words,
};
use loopgate_core::{
    CheckName,
    deciding::{NextAction, View},
    escalation::{fix_request::Whom, senior_fixer},
    evidence::CheckKind,
    observed::Stack,
    policy::{CheckSource, GateRole},
    stages::Blocker,
    state::RunStatus,
    verdict::{CheckStanding, external},
};

/// What happens next and by whom, one step a line.
pub fn next_steps(subject: &Subject<'_>) -> Vec<Markdown> {
    let author = text(&subject.author());
    let mut steps = match &subject.decision.action {
        _ if subject.is_single() => Vec::new(),
        NextAction::Complete => Vec::new(),
        NextAction::Stopped => stopped_steps(subject),
        NextAction::Retry { .. } => retry_steps(subject),
        NextAction::Escalate { cause } | NextAction::WaitForHuman { cause } => {
            super::escalation::resume_steps(subject, *cause)
        }
        NextAction::WaitForEvidence { missing } => evidence_steps(subject, missing),
        NextAction::WaitForRunApproval { .. } => vec![run_approval_step(subject)],
        // Who opens it, and how, stands with the gate.
        NextAction::WaitForApproval { .. } => Vec::new(),
        NextAction::WaitForPush { capability } => vec![format!(
            "{author} builds “{}”, ticks it under *Capabilities* in the description and pushes.",
            short_text(capability, 200)
        )],
        NextAction::WaitForReady => Vec::new(),
        NextAction::WaitForReview => vec!["A reviewer with write access approves the head commit.".to_owned()],
        NextAction::WaitForMerge if !subject.decision.surface.waits_for.is_empty() => Vec::new(),
        NextAction::WaitForMerge => vec!["Anybody with write access merges.".to_owned()],
    };
    steps.extend(subject.snapshot.stack.as_ref().filter(|stack| stack.position > 0).map(layer_step));
    steps.into_iter().map(Markdown::ours).collect()
}

/// Whether what is to be done stands with the failures, and the steps say what follows.
pub const fn are_of_later(action: &NextAction) -> bool {
    matches!(action, NextAction::Retry { .. })
}

/// Where it is in its stack.
fn layer_step(stack: &Stack) -> String {
    let on = stack.beneath.last().map(|layer| format!(", on #{}", layer.number)).unwrap_or_default();
    format!("It is {} of {} in its stack{on}. Layers are merged from the bottom.", stack.position, stack.size)
}

fn stopped_steps(subject: &Subject<'_>) -> Vec<String> {
    let next = &subject.decision.next;
    if subject.stopped_by_a_person() {
        let words = next.stop.words.as_deref().map(|words| short_text(words, 300)).filter(|words| !words.is_empty());
        let said = words.map(|words| format!("“{words}”. ")).unwrap_or_default();
        vec![format!("{said}{} takes the loop up again.", code("/loop resume"))]
    } else if next.status == RunStatus::Failed {
        vec![format!(
            "Nobody is called, since {} is off. {} begins a new streak of attempts.",
            code("escalation_on_max"),
            code("/loop resume")
        )]
    } else {
        Vec::new()
    }
}

/// The verdict has already said who pushes what; here is what happens if that does not help.
fn retry_steps(subject: &Subject<'_>) -> Vec<String> {
    let failures = &subject.decision.next.failures;
    if subject.rejection().is_some() {
        return Vec::new();
    }
    match &subject.decision.view.held_by {
        Some(Blocker::ChangesRequested(by)) => return vec![format!("{} approves when content.", words::person(by))],
        Some(Blocker::Configuration) => return Vec::new(),
        _ => {}
    }
    let most = subject.decision.view.max_attempts;
    if subject.is_taken_up_again() {
        return vec![format!(
            "The loop was resumed: that push is the first of {} in a new streak.",
            words::count(most, "attempt")
        )];
    }
    let left = most.saturating_sub(failures.count);
    let called = text(&words::asked(subject.policy));
    if let Some(step) = senior_step(subject, &called) {
        return vec![step];
    }
    let mut steps: Vec<String> = later_step(subject).into_iter().collect();
    steps.extend(what_if_it_fails(subject, left, &called));
    steps
}

/// What the senior fixer has, and until when.
fn senior_step(subject: &Subject<'_>, called: &Markdown) -> Option<String> {
    subject.decision.view.fixing.as_ref().filter(|turn| turn.whom == Whom::Senior)?;
    let call = subject.decision.next.senior.as_ref()?;
    let until = words::moment(senior_fixer::deadline(call, subject.policy));
    Some(format!(
        "It is the last try before a human: {}. If that fails too, or nothing is pushed until {until}, {called}.",
        words::trigger(call.trigger)
    ))
}

/// When the fixer is asked, where `loop.backoff` makes it wait.
fn later_step(subject: &Subject<'_>) -> Option<String> {
    let turn = subject.decision.view.fixing.as_ref()?;
    let is_asked = subject.decision.surface.fix.is_some();
    (!is_asked).then(|| format!("It is asked at {} ({}).", words::moment(turn.at), code("loop.backoff")))
}

fn what_if_it_fails(subject: &Subject<'_>, left: u32, called: &Markdown) -> Vec<String> {
    let failures = &subject.decision.next.failures;
    if failures.same_error >= subject.policy.retry.same_error {
        vec![format!(
            "The same error has come {} in a row. Try another way: if it comes again, {called}.",
            words::times(failures.same_error)
        )]
    } else if left == 1 {
        vec![format!("If the next attempt fails too, {called}.")]
    } else if left > 1 {
        vec![format!("After {left} more failures {called}.")]
    } else {
        Vec::new()
    }
}

fn evidence_steps(subject: &Subject<'_>, missing: &[CheckName]) -> Vec<String> {
    let limit = words::duration(u64::try_from(subject.policy.retry.evidence_timeout.num_milliseconds()).unwrap_or(0));
    let standing = |name: &CheckName| subject.check(name).map(|check| &check.standing);
    if missing.iter().all(|name| matches!(standing(name), Some(CheckStanding::Done(_)))) {
        if fails_on_the_base(subject, missing) {
            let base = code(&subject.snapshot.pull_request.base.branch);
            return vec![format!(
                "Nothing to do here, and no attempt is counted: {base} fails in the same way. Once it is fixed there, \
                 update this branch from it. {} on {base} lets such failures pass.",
                code("loop.baseline: new")
            )];
        }
        return vec![outside_step(&subject.decision.view)];
    }
    if let Some(step) = start_step(subject, missing) {
        return step;
    }
    let skipped = missing.iter().filter_map(standing).find_map(|standing| match standing {
        CheckStanding::AwaitsRelease { job, cause, .. } => Some((job, cause)),
        _ => None,
    });
    if let Some((job, cause)) = skipped {
        let words = short_text(&words::skipped_job(job, cause), 300);
        return vec![
            format!("{words}. Let it run; it is waited for without limit."),
            format!(
                "If it need not run on this head, somebody with write access who did not contribute writes {}. {} in the \
                 configuration says what a skipped job of this check means.",
                code("/loop resume --accept skipped"),
                code("when_skipped"),
            ),
        ];
    }
    if missing.iter().filter_map(standing).any(|standing| matches!(standing, CheckStanding::Lost { .. })) {
        return vec![format!("No attempt is counted. {} runs what failed again.", code("/loop retry"))];
    }
    if let Some(silent) = silent_step(subject, missing) {
        return vec![silent, format!("Once that is fixed, a push or {} asks for it again.", code("/loop run"))];
    }
    if let Some(name) = missing.iter().find(|name| matches!(standing(name), None | Some(CheckStanding::Missing))) {
        let kind = subject.check(name).map(|check| check.kind);
        let skip = match kind {
            Some(CheckKind::Build | CheckKind::Test) => String::new(),
            _ => format!("; {} continues without it", code(&format!("/loop skip {name} --reason \"…\""))),
        };
        let name = code(name.as_str());
        return vec![format!(
            "{name} has not reported yet, and counts as failed after {limit} of silence. If nothing runs it, {} asks for \
             it again{skip}.",
            code("/loop run")
        )];
    }
    vec![format!("Nothing to do: checks report by themselves. One that is silent for {limit} counts as failed.")]
}

/// Who lets the workflows run that GitHub holds back.
fn run_approval_step(subject: &Subject<'_>) -> String {
    let security = subject.policy.gate_with_role(GateRole::Security).and_then(|(name, _)| subject.gate(name));
    if let Some(gate) = security.filter(|_| !subject.decision.surface.approve_runs.is_empty()) {
        let head = subject.snapshot.pull_request.head.sha;
        let here = gate.approvals.iter().filter(|approval| approval.head == head);
        let by: Vec<String> = here.map(|approval| words::person(&approval.by).to_string()).collect();
        return format!(
            "Nothing to do: {} approved the {} gate on this commit, so GitHub is asked to run its workflows.",
            words::few(&by, 3),
            code(gate.name.as_str())
        );
    }
    let mut urls = subject.snapshot.held_runs.iter().filter_map(|run| run.url.as_deref().and_then(address));
    let button = match urls.next() {
        Some(url) => format!("[Approve and run]({url})"),
        None => "*Approve and run*".to_owned(),
    };
    let or_in_words = security.filter(|gate| subject.lets_runs_go(gate)).map(|gate| {
        let phrase = code(&format!("{} approved", gate.name));
        format!(" {phrase} by one of the gate's approvers, written on this commit, does the same.")
    });
    format!(
        "Somebody with write reads the change and presses {button}: GitHub does not run workflows of this author \
         before.{} No attempt is counted, and nothing runs out meanwhile.",
        or_in_words.unwrap_or_default()
    )
}

/// Which runs have ended and brought nothing, where a check waits for what they were to bring.
pub(super) fn silent_step(subject: &Subject<'_>, missing: &[CheckName]) -> Option<String> {
    silences(subject, missing).then_some(())?;
    let runs: Vec<String> = external::silent_runs(subject.snapshot)
        .map(|run| match run.url.as_deref().and_then(address) {
            Some(url) => format!("[{}]({url})", code(&run.path)),
            None => code(&run.path).into_string(),
        })
        .collect();
    Some(format!(
        "{} ended and uploaded no evidence. Somebody opens the run and sees whether it came to Loopgate's step: what \
         fails before it has to be fixed, and a workflow without that step does not belong in {}.",
        words::few(&runs, 3),
        code("verify.workflows")
    ))
}

/// Whether a check that is missing was to come of workflows, one of which has ended and brought nothing.
pub(super) fn silences(subject: &Subject<'_>, missing: &[CheckName]) -> bool {
    let waits = |name: &CheckName| {
        let standing = subject.check(name).map(|check| &check.standing);
        let check = subject.policy.verify.checks.get(name);
        matches!(standing, None | Some(CheckStanding::Missing | CheckStanding::TimedOutWaiting))
            && check.is_some_and(|check| matches!(check.source, CheckSource::Command(_)))
    };
    missing.iter().any(waits) && external::silent_runs(subject.snapshot).next().is_some()
}

/// What to do about workflows that GitHub could not start; none where all did. Its API gives no reason, its page does.
fn start_step(subject: &Subject<'_>, missing: &[CheckName]) -> Option<Vec<String>> {
    let not_started = |name: &CheckName| match subject.check(name).map(|check| &check.standing) {
        Some(CheckStanding::NotStarted { edited_workflows, .. }) => Some(edited_workflows),
        _ => None,
    };
    let edited = missing.iter().find_map(not_started)?;
    let mut steps = vec!["None of this code was run. The run's page on GitHub says why.".to_owned()];
    if edited.is_empty() {
        steps.push(
            "It is hardly this change: mostly GitHub Actions is disturbed, out of minutes, or not allowed to run it, or \
             the workflow on the base branch is not valid."
                .to_owned(),
        );
        steps.push(outside_step(&subject.decision.view));
    } else {
        let files: Vec<String> = edited.iter().map(|path| code(path).into_string()).collect();
        steps.push(format!(
            "This change edits {}: see whether it is valid, and push the correction. If it is, {} has it run again.",
            words::few(&files, 3),
            code("/loop retry")
        ));
    }
    Some(steps)
}

/// When what failed for reasons outside the code runs again, and how to have it at once.
fn outside_step(view: &View) -> String {
    let at_once = code("/loop retry");
    match &view.next_rerun {
        Some(next) => format!(
            "Nothing to do: GitHub is asked to run {} again at {} (repetition {} of {}), which costs no attempt. \
             {at_once} asks at once.",
            words::checks_code(&next.checks.iter().cloned().collect::<Vec<_>>()),
            words::moment(next.at),
            next.nth,
            next.times
        ),
        None if !view.reruns.is_empty() => {
            format!("GitHub was asked to run it again, which costs no attempt. {at_once} asks once more.")
        }
        None => format!("It costs no attempt. {at_once} has it run again."),
    }
}
