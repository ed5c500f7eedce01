//! The one line that says how it stands, and the steps that follow: who does what next.

use super::{
    refusal,
    sanitize::{Markdown, code, short_text, text},
    words,
};
use crate::core::{
    CheckName,
    decision::{CheckStanding, Decision, Hold, NextAction},
    escalation::Trigger,
    gate::{GateReport, GateStanding},
    policy::Policy,
    snapshot::{Lifecycle, Snapshot},
    stage::Stage,
    state::StopReason,
};

/// How it stands, in plain words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub icon: &'static str,
    pub words: String,
}

/// What the texts of one reconcile are made from.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    pub decision: &'a Decision,
    pub snapshot: &'a Snapshot,
    pub policy: &'a Policy,
}

impl Subject<'_> {
    /// Whoever pushes: the author, by name.
    fn author(&self) -> String {
        self.snapshot.pull_request.author.login.to_string()
    }

    /// "Attempt 1 of 3", or how far a later streak is.
    pub fn attempt(&self) -> String {
        let failed = self.decision.next.failures.count;
        let attempt = self.decision.view.attempt;
        let most = self.decision.view.max_attempts;
        if attempt == failed || attempt <= most && failed == 0 {
            format!("Attempt {attempt} of {most}")
        } else {
            format!("Attempt {attempt}")
        }
    }

    pub fn gate(&self, name: &crate::core::GateName) -> Option<&GateReport> {
        self.decision.view.gates.iter().find(|gate| gate.name == *name)
    }

    pub fn rejected_gate(&self) -> Option<&GateReport> {
        self.decision.view.gates.iter().find(|gate| matches!(gate.standing, GateStanding::Rejected { .. }))
    }

    fn checks_pass(&self) -> bool {
        self.decision.view.evidence_stage >= Stage::Document
    }

    fn stopped_by_a_person(&self) -> bool {
        self.decision.next.stop.reason == Some(StopReason::UserStop)
    }
}

/// One line: how it stands and who acts.
pub fn verdict(subject: &Subject<'_>) -> Verdict {
    let view = &subject.decision.view;
    let (icon, words) = match &subject.decision.action {
        NextAction::Complete => merged(subject),
        NextAction::Stopped => ("⏹️", stopped(subject)),
        NextAction::Retry { .. } => ("🔁", retry(subject)),
        NextAction::Escalate { cause } | NextAction::WaitForHuman { cause } => ("🚫", blocked(subject, *cause)),
        NextAction::WaitForEvidence { missing } => ("⏳", waiting(subject, missing)),
        NextAction::WaitForApproval { gate } => ("🔒", gated(subject, gate)),
        NextAction::WaitForPush { .. } => {
            let done = &view.capabilities;
            ("🧩", format!("{} of {} capabilities are done — {} goes on", done.completed, done.total, subject.author()))
        }
        NextAction::WaitForReady => {
            ("📝", format!("Checks pass on this draft — {} marks it ready for review", subject.author()))
        }
        NextAction::WaitForReview => ("👀", review(subject)),
        NextAction::WaitForMerge => ("✅", "All green — ready to merge".to_owned()),
    };
    Verdict { icon, words }
}

fn merged(subject: &Subject<'_>) -> (&'static str, String) {
    let by = match &subject.snapshot.pull_request.lifecycle {
        Lifecycle::Merged { by: Some(by), .. } => format!(" by {by}"),
        _ => String::new(),
    };
    let attempts = subject.decision.next.attempts.len();
    let bypassed = &subject.decision.view.bypassed;
    if !bypassed.is_empty() {
        ("⚠️", format!("Merged{by} over {}", words::few(bypassed, 3)))
    } else if attempts > 0 {
        ("🎉", format!("Merged{by} after {}", words::count(attempts, "attempt")))
    } else {
        ("🎉", format!("Merged{by}"))
    }
}

fn stopped(subject: &Subject<'_>) -> String {
    if !subject.stopped_by_a_person() {
        return "Closed without being merged".to_owned();
    }
    let by = subject.decision.next.stop.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
    format!("The loop was stopped{by}")
}

fn retry(subject: &Subject<'_>) -> String {
    let author = subject.author();
    if let Some(GateStanding::Rejected { by, .. }) = subject.rejected_gate().map(|gate| &gate.standing) {
        let gate = subject.rejected_gate().map(|gate| gate.name.to_string()).unwrap_or_default();
        return format!("{by} rejected the {gate} gate — {author} answers with a push");
    }
    if let Some(Hold::ChangesRequested(by)) = &subject.decision.view.held_by {
        return format!("{by} asked for changes — {author} answers with a push");
    }
    let failing = words::failing(&subject.decision.view);
    let what = match (failing.as_slice(), &subject.decision.view.evidence_held_by) {
        ([], Some(Hold::Evaluation(phase))) => format!("the score is too low in phase {phase:?}"),
        ([], _) => "it does not pass".to_owned(),
        (failing, _) => words::checks(failing),
    };
    format!("{} failed: {what} — {author} fixes it and pushes", subject.attempt())
}

fn blocked(subject: &Subject<'_>, cause: Trigger) -> String {
    let who = match &subject.decision.view.escalation {
        Some(escalation) if !escalation.recipients.is_empty() => {
            let names: Vec<String> = escalation.recipients.iter().map(words::recipient).collect();
            words::few(&names, 3)
        }
        _ => words::called(subject.policy),
    };
    let verb = if who.starts_with("the ") || who.contains(" and ") || who.contains('/') { "decide" } else { "decides" };
    format!("Blocked: {} — {who} {verb}", words::trigger(cause))
}

fn waiting(subject: &Subject<'_>, missing: &[CheckName]) -> String {
    let running = missing.iter().all(|name| {
        let is = |check: &&crate::core::decision::CheckView| check.name == *name;
        let standing = subject.decision.view.checks.iter().find(is).map(|check| &check.standing);
        matches!(standing, Some(CheckStanding::Running { .. }))
    });
    let verb = if running { "Running" } else { "Waiting for" };
    format!("{verb}: {}", words::checks(missing))
}

fn gated(subject: &Subject<'_>, gate: &crate::core::GateName) -> String {
    let who = subject.gate(gate).map_or_else(|| "its approvers".to_owned(), words::approvers);
    let state = if subject.checks_pass() { "Checks pass" } else { "On hold" };
    format!("{state}; the {gate} gate is closed — {who} decides")
}

fn review(subject: &Subject<'_>) -> String {
    match &subject.decision.view.held_by {
        Some(Hold::Review { have, need }) => format!("Checks pass — waiting for a review ({have} of {need} approvals)"),
        Some(Hold::ChangesRequested(by)) => format!("Checks pass — {by} asked for changes"),
        _ => "Checks pass — waiting for a review".to_owned(),
    }
}

/// What happens next and by whom, one step a line.
pub fn next_steps(subject: &Subject<'_>) -> Vec<Markdown> {
    let author = text(&subject.author());
    let steps = match &subject.decision.action {
        NextAction::Complete | NextAction::Stopped if !subject.stopped_by_a_person() => Vec::new(),
        NextAction::Complete | NextAction::Stopped => {
            vec![format!("{} takes the loop up again.", code("/loop resume"))]
        }
        NextAction::Retry { .. } => retry_steps(subject, &author),
        NextAction::Escalate { cause } | NextAction::WaitForHuman { cause } => {
            super::escalation::resume_steps(subject, *cause)
        }
        NextAction::WaitForEvidence { missing } => evidence_steps(subject, missing),
        NextAction::WaitForApproval { gate } => gate_steps(subject, gate),
        NextAction::WaitForPush { capability } => vec![format!(
            "{author} builds “{}”, ticks it under *Capabilities* in the description and pushes.",
            short_text(capability, 200)
        )],
        NextAction::WaitForReady => vec![format!("{author} presses *Ready for review*.")],
        NextAction::WaitForReview => vec!["A reviewer with write access approves the head commit.".to_owned()],
        NextAction::WaitForMerge => vec!["Anybody with write access merges.".to_owned()],
    };
    steps.into_iter().map(Markdown::ours).collect()
}

/// The verdict has already said who pushes what; here is what happens if that does not help.
fn retry_steps(subject: &Subject<'_>, author: &Markdown) -> Vec<String> {
    let failures = &subject.decision.next.failures;
    if let Some(gate) = subject.rejected_gate() {
        let by = if let GateStanding::Rejected { by, .. } = &gate.standing {
            words::person(by)
        } else {
            text("the approver")
        };
        return vec![
            format!("{author} answers {by}’s words with a push or a comment."),
            format!("{by} comments {} when content.", refusal::phrase(&gate.name)),
        ];
    }
    let left = subject.decision.view.max_attempts.saturating_sub(failures.count);
    let called = text(&words::called(subject.policy));
    if failures.same_error >= subject.policy.retry.same_error {
        vec![format!(
            "The same error has come {} times in a row. Try another way: if it comes again, {called} are called.",
            failures.same_error
        )]
    } else if left == 1 {
        vec![format!("If the next attempt fails too, {called} are called.")]
    } else if left > 1 {
        vec![format!("After {left} more failing attempts {called} are called.")]
    } else {
        Vec::new()
    }
}

fn evidence_steps(subject: &Subject<'_>, missing: &[CheckName]) -> Vec<String> {
    let limit = words::duration(u64::try_from(subject.policy.retry.evidence_timeout.num_milliseconds()).unwrap_or(0));
    let mut steps =
        vec![format!("Nothing to do: they report by themselves. After {limit} of silence a check counts as failed.")];
    let silent = missing.iter().find(|name| {
        let is = |check: &&crate::core::decision::CheckView| check.name == **name;
        let standing = subject.decision.view.checks.iter().find(is).map(|check| &check.standing);
        !matches!(standing, Some(CheckStanding::Running { .. }))
    });
    if let Some(name) = silent {
        steps.push(format!(
            "{} has not begun. {} asks for it again; {} goes on without it.",
            code(name.as_str()),
            code("/loop run"),
            code(&format!("/loop skip {name} --reason \"…\""))
        ));
    }
    steps
}

fn gate_steps(subject: &Subject<'_>, gate: &crate::core::GateName) -> Vec<String> {
    let Some(report) = subject.gate(gate) else { return Vec::new() };
    let approve_by = super::gate_card::approve_by(subject.policy, gate);
    let who = text(&words::approvers(report));
    let then = match report.holds.next() {
        Some(Stage::Complete) | None => "Then it can be merged.".to_owned(),
        Some(next) => format!("Then it goes on to {}.", next.as_str()),
    };
    vec![format!("{who} looks at the places named below and {}. {then}", refusal::approves(gate, approve_by))]
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
