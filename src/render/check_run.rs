//! The texts of `loopgate / verify` and `loopgate / gates`.

use minijinja::context;
use serde::Serialize;

use super::{
    annotations::{CheckAnnotation, annotations},
    configuration, explain, fit,
    gate_card::{self, GateCard, GateList},
    links::Links,
    messages,
    sanitize::{clip, code, line},
    status::{self, StatusModel},
    templates,
    verdict::{self, Subject},
    words,
};
use loopgate_core::{
    CheckName, PrNumber, Sha,
    commands::Button,
    deciding::{CheckRunPlan, CheckView, Decision, NextAction, View},
    evidence::{CheckKind, CheckResults},
    gate::{GateReport, GateStanding},
    observed::{Conclusion, OwnCheck},
    stages::Blocker,
    verdict::CheckStanding,
};

/// GitHub's limits of a button, in characters (<https://docs.github.com/en/rest/checks/runs>).
const LABEL: usize = 20;
const DESCRIPTION: usize = 40;
const IDENTIFIER: usize = 20;
/// Characters of a title.
const TITLE: usize = 60;

/// What a check run says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckRunText {
    /// At most 60 characters, plain.
    pub title: String,
    /// Markdown.
    pub summary: String,
    /// Markdown: what is wrong in the configuration, when something is.
    pub text: Option<String>,
    /// The most severe first, at most 200.
    pub annotations: Vec<CheckAnnotation>,
    /// At most three.
    pub actions: Vec<CheckAction>,
}

/// A button under a check run, as GitHub takes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckAction {
    pub label: String,
    pub description: String,
    /// Comes back in the `requested_action` event; a [`Button`].
    pub identifier: String,
}

pub(super) fn verify(subject: &Subject<'_>, model: StatusModel) -> CheckRunText {
    let view = &subject.decision.view;
    let (annotations, not_annotated) = annotations(view);
    CheckRunText {
        title: title(layered(subject, OwnCheck::Verify, verify_title(subject))),
        summary: status::check_summary(subject, model, not_annotated).unwrap_or_else(|| title(verify_title(subject))),
        text: configuration::check_text(&view.origin),
        annotations,
        actions: actions(subject.decision),
    }
}

pub(super) fn title(words: String) -> String {
    clip(&line(&words), TITLE).into_owned()
}

/// What `loopgate / verify` says where work was given up because the server ended so many times during it.
pub fn given_up(times: u32) -> CheckRunText {
    let summary = messages::markdown("check_run", &"given_up", context! { times }).into_string();
    let title = title("Not looked at any more: the server failed".to_owned());
    CheckRunText { title, summary, ..CheckRunText::default() }
}

/// A check run on a head that was left for another one, or for a base that was left.
pub fn superseded(by: Option<Sha>, base: &str) -> CheckRunText {
    let summary =
        messages::markdown("check_run", &"superseded", context! { is_new_head => by.is_some() }).into_string();
    let now = by.map_or_else(|| format!("into {base}"), |head| head.short());
    CheckRunText { title: title(format!("Superseded: now {now}")), summary, ..CheckRunText::default() }
}

/// The status comment of a pull request from whose base a commit took the configuration away.
pub fn switched_off(branch: &str, by: Sha) -> String {
    let model = context! { branch, commit => by.short() };
    messages::markdown("check_run", &"switched_off", model).into_string()
}

/// What another pull request on the same commit comes to, where branches share the names of their checks.
pub struct SharedVerdict {
    pub number: PrNumber,
    pub branch: String,
    pub plan: CheckRunPlan,
}

/// Says it above what the check run says of its own pull request.
pub fn add_shared(text: &mut CheckRunText, shared: &SharedVerdict) {
    let state = match shared.plan {
        CheckRunPlan::Completed(Conclusion::Success) => "✅ passes",
        CheckRunPlan::InProgress => "⏳ is not decided yet",
        CheckRunPlan::Completed(_) => "❌ does not pass",
    };
    text.summary = format!("- #{} into {} {state}\n\n{}", shared.number, code(&shared.branch), text.summary);
}

/// What the check says, or where its own part passes and a layer of the stack beneath does not, that.
fn layered(subject: &Subject<'_>, check: OwnCheck, own: String) -> String {
    let part = match check {
        OwnCheck::Verify => "passes",
        OwnCheck::Gates => "approved",
    };
    let waits_for = subject.decision.surface.waits_for.get(&check);
    waits_for.map_or(own, |layer| format!("Own part {part}; waits for #{layer}"))
}

/// The state of the evidence; gates and reviews are the other check's business.
fn verify_title(subject: &Subject<'_>) -> String {
    let view = &subject.decision.view;
    if let Some(error) = view.origin.error() {
        return format!("Configuration error at line {}, column {}", error.line, error.column);
    }
    let failing = words::failing(view);
    let awaits_approval = |check: &CheckView| matches!(check.standing, CheckStanding::AwaitsApproval { .. });
    match (&subject.decision.action, &view.evidence_held_by) {
        (NextAction::Escalate { cause } | NextAction::WaitForHuman { cause }, _) => {
            format!("Blocked: {}", words::trigger(*cause))
        }
        (NextAction::Stopped, _) => verdict::verdict(subject).words,
        (NextAction::Complete, Some(Blocker::MissingEvidence(missing))) => {
            format!("Merged without {}", words::checks(missing))
        }
        (_, Some(Blocker::MissingEvidence(_))) if view.checks.iter().any(awaits_approval) => {
            "Waits for somebody to press Approve and run".to_owned()
        }
        (_, Some(Blocker::MissingEvidence(missing))) => format!("Waiting for {}", words::checks(missing)),
        (_, Some(Blocker::Capability(_))) => {
            format!("{} of {} capabilities", view.capabilities.completed, view.capabilities.total)
        }
        (_, Some(Blocker::Evaluation(phase))) => {
            format!("Score {} of {} in phase {phase:?}", view.evaluation.score, view.evaluation.threshold)
        }
        (_, Some(Blocker::Configuration)) => "The configuration could not be read".to_owned(),
        _ if !failing.is_empty() => failed_title(subject, &failing),
        _ => passed_title(view),
    }
}

fn failed_title(subject: &Subject<'_>, failing: &[CheckName]) -> String {
    let tests = tests(&subject.decision.view, |results| results.failed + results.errors);
    let model = context! { attempt => subject.attempt(), failing => words::checks(failing), tests };
    messages::plain("check_title", &"failed", model)
}

/// How many tests of all checks are counted so.
fn tests(view: &View, count: fn(CheckResults) -> u64) -> u64 {
    view.checks.iter().filter_map(|check| words::evidence(check)?.results).map(count).sum()
}

fn passed_title(view: &View) -> String {
    let model = context! { checks => view.checks.len(), tests => tests(view, |results| results.passed) };
    messages::plain("check_title", &"passed", model)
}

/// Retry, Skip and Explain, while the head fails and somebody can press them.
fn actions(decision: &Decision) -> Vec<CheckAction> {
    let failing = words::failing(&decision.view);
    let over = matches!(decision.action, NextAction::Complete | NextAction::Stopped);
    let running = decision.surface.verify == Some(CheckRunPlan::InProgress);
    if over || running || failing.is_empty() && !matches!(decision.action, NextAction::WaitForHuman { .. }) {
        return Vec::new();
    }
    let mut actions = vec![action("Retry", "Run the checks again on this commit", &Button::Retry.to_string())];
    actions.extend(decision.view.checks.iter().find_map(|check| skip_action(check, &failing)));
    actions.push(action("Explain", "Say why this stands where it stands", &Button::Explain.to_string()));
    actions
}

/// Build and tests cannot be skipped; a name too long for the platform's limits has no button, only its command.
fn skip_action(check: &CheckView, failing: &[CheckName]) -> Option<CheckAction> {
    let skippable = !matches!(check.kind, CheckKind::Build | CheckKind::Test) && failing.contains(&check.name);
    let (label, identifier) = (format!("Skip {}…", check.name), Button::Skip(check.name.clone()).to_string());
    let fits = label.chars().count() <= LABEL && identifier.len() <= IDENTIFIER;
    (skippable && fits).then(|| action(&label, "Go on without it; asks for a reason", &identifier))
}

fn action(label: &str, description: &str, identifier: &str) -> CheckAction {
    debug_assert!(label.chars().count() <= LABEL && description.chars().count() <= DESCRIPTION);
    CheckAction { label: label.to_owned(), description: description.to_owned(), identifier: identifier.to_owned() }
}

pub(super) fn gates(subject: &Subject<'_>) -> CheckRunText {
    let view = &subject.decision.view;
    CheckRunText {
        title: title(layered(subject, OwnCheck::Gates, gates_title(&view.gates))),
        summary: gates_summary(subject),
        text: configuration::check_text(&view.origin).or_else(|| explain::gates_text(subject)),
        annotations: Vec::new(),
        actions: Vec::new(),
    }
}

fn gates_title(gates: &[GateReport]) -> String {
    let named = |wanted: fn(&GateReport) -> bool| -> Vec<String> {
        gates.iter().filter(|gate| wanted(gate)).map(|gate| gate.name.to_string()).collect()
    };
    let model = context! {
        rejected => named(|gate| gate.is_closed() && matches!(gate.standing, GateStanding::Rejected { .. })),
        open => named(|gate| gate.is_closed() && matches!(gate.standing, GateStanding::Open)),
        approved => named(|gate| matches!(gate.standing, GateStanding::Approved { .. })),
    };
    messages::plain("check_title", &"gates", model)
}

fn gates_summary(subject: &Subject<'_>) -> String {
    let (view, links) = (&subject.decision.view, Links::of(subject.snapshot));
    let (shown, quiet): (Vec<_>, Vec<_>) = view.gates.iter().partition(|gate| GateCard::is_worth_showing(gate));
    let closed = view.gates.iter().any(GateReport::is_closed);
    let model = GateList {
        verdict: match (closed, shown.is_empty()) {
            (true, _) => "A gate is not approved yet. The people named below decide.",
            (false, true) => "Nothing in this pull request needs a gate.",
            (false, false) => "No gate stands in the way.",
        },
        gates: fit::Shown::first(60, shown, |gate| GateCard::new(gate, subject, &links)),
        unmatched: status::unmatched(subject),
        quiet: gate_card::quiet(&quiet, &links),
    };
    templates::fitted("check_run/gates.md", model, fit::LIMIT).unwrap_or_else(|| gates_title(&view.gates))
}
