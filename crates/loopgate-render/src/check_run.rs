//! The texts of `loopgate / verify` and `loopgate / gates`: on a pull request's head, and on the commit of a merge
//! group, where they name the pull requests in it, and how each stands.

use minijinja::{context, value::Serde};
use serde::Serialize;

use super::{
    Brevity, GateCard, LIMIT, Links, Markdown, Shown, Subject,
    annotations::{CheckAnnotation, annotations},
    causes, clip, code, explain, gate_card, line, messages,
    messages::entry,
    status, texts, verdict, warning, words,
};
use loopgate_core::{
    GateName, PrNumber, Sha,
    commands::Verb,
    concerns::gates::GateReport,
    deciding::{CheckRunPlan, NextAction, stages::Blocker},
    evidence::{CheckKind, CheckResults},
    observed::{Conclusion, OwnCheck},
    result::CheckState,
    state::GateStatus,
};

/// GitHub's limits of a button, in characters (<https://docs.github.com/en/rest/checks/runs>).
const LABEL: usize = 20;
const DESCRIPTION: usize = 40;
const IDENTIFIER: usize = 20;
/// Characters of a title.
const TITLE: usize = 60;

/// The texts of a check run.
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
    /// Comes back in the `requested_action` event; see [`pressed`](loopgate_core::commands::pressed).
    pub identifier: String,
}

pub(super) fn verify(subject: &Subject<'_>) -> CheckRunText {
    let view = &subject.decision.view;
    let (annotations, not_annotated) = annotations(view);
    CheckRunText {
        title: title(layered(subject, OwnCheck::Verify, verify_title(subject))),
        summary: status::with_document(subject, "check_run/verify.md", LIMIT, not_annotated),
        text: warning::configuration_text(&view.origin),
        annotations,
        actions: actions(subject),
    }
}

fn title(words: String) -> String {
    clip(&line(&words), TITLE).into_owned()
}

/// A check run with a title and a summary alone.
fn summed_up(words: String, summary: Markdown) -> CheckRunText {
    CheckRunText {
        title: title(words),
        summary: summary.into_string(),
        ..CheckRunText::default()
    }
}

/// The text of `loopgate / verify` where work was given up because the server ended so many times during it.
pub fn given_up(times: u32) -> CheckRunText {
    let summary = messages::markdown(entry::CheckRun::GivenUp, context! { times });
    summed_up(
        "Not looked at any more: the server failed".to_owned(),
        summary,
    )
}

/// A check run on a head that was left for another one, or for a base that was left.
pub fn superseded(by: Option<Sha>, base: &str) -> CheckRunText {
    let now = by.map_or_else(|| format!("into {base}"), |head| head.short());
    let summary = messages::markdown(
        entry::CheckRun::Superseded,
        context! { is_new_head => by.is_some() },
    );
    summed_up(format!("Superseded: now {now}"), summary)
}

/// The status comment of a pull request from whose base a commit took the configuration away.
pub fn switched_off(branch: &str, by: Sha) -> String {
    let model = context! { branch, commit => by.short() };
    messages::markdown(entry::CheckRun::SwitchedOff, model).into_string()
}

/// Adds above the text of the check run what another pull request on the same commit comes to, where their
/// branches share the names of their checks.
pub fn add_shared(text: &mut CheckRunText, number: PrNumber, branch: &str, plan: CheckRunPlan) {
    let state = match plan {
        CheckRunPlan::Completed(Conclusion::Success) => "✅ passes",
        CheckRunPlan::InProgress => "⏳ is not decided yet",
        CheckRunPlan::Completed(_) => "❌ does not pass",
    };
    text.summary = format!(
        "- #{number} into {} {state}\n\n{}",
        code(branch),
        text.summary
    );
}

/// The title of the check itself, or where its own part passes and a layer of the stack beneath does not, that.
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
        return format!(
            "Configuration error at line {}, column {}",
            error.line, error.column
        );
    }
    let failing = subject.failing();
    let tests = |count: fn(CheckResults) -> u64| -> u64 {
        subject
            .checks()
            .filter_map(|(_, check)| check.evidence()?.results)
            .map(count)
            .sum()
    };
    let awaits_approval = subject
        .checks()
        .any(|(state, _)| state == CheckState::AwaitsApproval);
    match (&subject.decision.action, &view.evidence_held_by) {
        (NextAction::Escalate { cause } | NextAction::WaitForHuman { cause }, _) => {
            causes::blocked(view, *cause)
        }
        (NextAction::Stopped, _) => verdict::verdict(subject).1,
        (NextAction::Complete, Some(Blocker::MissingEvidence(missing))) => {
            format!("Merged without {}", words::checks(missing))
        }
        (_, Some(Blocker::MissingEvidence(_))) if awaits_approval => {
            "Waits for somebody to press Approve and run".to_owned()
        }
        (NextAction::WaitForEvidence { missing }, Some(Blocker::MissingEvidence(_)))
        | (_, Some(Blocker::MissingEvidence(missing))) => {
            format!("Waiting for {}", words::checks(missing))
        }
        (_, Some(Blocker::Capability(_))) => {
            format!(
                "{} of {} capabilities",
                view.capabilities.completed, view.capabilities.total
            )
        }
        (_, Some(Blocker::Evaluation(phase))) => {
            format!(
                "Score {} of {} in phase {phase:?}",
                view.evaluation.score, view.evaluation.threshold
            )
        }
        (_, Some(Blocker::Configuration)) => "The configuration could not be read".to_owned(),
        // What stands in the way has not failed.
        (_, Some(Blocker::Failing(_))) if failing.is_empty() => verdict::verdict(subject).1,
        _ if !failing.is_empty() => {
            let tests = tests(|results| results.failed + results.errors);
            let model = context! { attempt => subject.attempt(), failing => words::checks(&failing), tests };
            messages::plain(entry::CheckTitle::Failed, model)
        }
        _ => {
            let model =
                context! { checks => view.checks.len(), tests => tests(|results| results.passed) };
            messages::plain(entry::CheckTitle::Passed, model)
        }
    }
}

/// Retry, Skip and Explain, while the head fails and somebody can press them.
fn actions(subject: &Subject<'_>) -> Vec<CheckAction> {
    let decision = subject.decision;
    let failing = subject.failing();
    let over = matches!(decision.action, NextAction::Complete | NextAction::Stopped);
    let running = decision.surface.verify == Some(CheckRunPlan::InProgress);
    if over
        || running
        || failing.is_empty() && !matches!(decision.action, NextAction::WaitForHuman { .. })
    {
        return Vec::new();
    }
    // Build and tests cannot be skipped; a name too long for the platform's limits has no button, only its command.
    let skip = subject.checks().find_map(|(_, check)| {
        let is_skippable = !matches!(check.kind, CheckKind::Build | CheckKind::Test)
            && failing.contains(&check.name);
        let (label, button) = (
            format!("Skip {}…", check.name),
            format!("{}:{}", Verb::Skip, check.name),
        );
        let fits = label.chars().count() <= LABEL && button.len() <= IDENTIFIER;
        (is_skippable && fits).then_some((label, "Go on without it; asks for a reason", button))
    });
    let retry = (
        "Retry".to_owned(),
        "Run the checks again on this commit",
        Verb::Retry.to_string(),
    );
    let explain = (
        "Explain".to_owned(),
        "Say why this stands where it stands",
        Verb::Explain.to_string(),
    );
    let action = |(label, description, identifier): (String, &str, String)| {
        debug_assert!(label.chars().count() <= LABEL && description.chars().count() <= DESCRIPTION);
        CheckAction {
            label,
            description: description.to_owned(),
            identifier,
        }
    };
    [Some(retry), skip, Some(explain)]
        .into_iter()
        .flatten()
        .map(action)
        .collect()
}

pub(super) fn gates(subject: &Subject<'_>) -> CheckRunText {
    let view = &subject.decision.view;
    CheckRunText {
        title: title(layered(subject, OwnCheck::Gates, gates_title(subject))),
        summary: gates_summary(subject),
        text: warning::configuration_text(&view.origin).or_else(|| explain::gates_text(subject)),
        ..CheckRunText::default()
    }
}

fn gates_title(subject: &Subject<'_>) -> String {
    let named = |wanted: fn(&GateReport) -> bool| -> Vec<String> {
        subject
            .gates()
            .filter(|gate| wanted(gate))
            .map(|gate| gate.name.to_string())
            .collect()
    };
    let model = context! {
        rejected => named(|gate| gate.is_closed() && gate.status == GateStatus::Rejected),
        open => named(|gate| gate.is_closed() && gate.is_waiting()),
        approved => named(|gate| gate.status == GateStatus::Approved),
    };
    messages::plain(entry::CheckTitle::Gates, model)
}

fn gates_summary(subject: &Subject<'_>) -> String {
    let links = Links::of(subject.snapshot);
    let (shown, quiet): (Vec<_>, Vec<_>) = subject
        .gates()
        .partition(|gate| GateCard::is_worth_showing(gate));
    let verdict = match (subject.gates().any(GateReport::is_closed), shown.is_empty()) {
        (true, _) => "A gate is not approved yet. The people named below decide.",
        (false, true) => "Nothing in this pull request needs a gate.",
        (false, false) => "No gate stands in the way.",
    };
    let model = |brevity: Brevity| {
        let cards = shown
            .iter()
            .map(|gate| GateCard::with_set_up(gate, subject, &links));
        context! {
            verdict,
            gates => Shown::first(brevity.of(60, 0), cards, |card| card),
            unmatched => status::unmatched(subject),
            quiet => gate_card::quiet(&quiet, &links),
        }
    };
    texts::fitted("check_run/gates.md", LIMIT, model)
}

/// One pull request of a merge group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupMember {
    pub number: PrNumber,
    /// Gates that are closed now.
    pub closed: Vec<GateName>,
    pub verify: CheckRunPlan,
    /// The group's commit has been tested itself; else the pull request's own head counts.
    pub is_tested: bool,
}

/// The texts of `loopgate / verify` and `loopgate / gates`, and how each ends. `unknown` are commits of the group
/// whose pull request is not known.
pub fn merge_group(members: &[GroupMember], unknown: &[Sha]) -> [(CheckRunPlan, CheckRunText); 2] {
    let verified = |member: &GroupMember| match (member.verify, member.is_tested) {
        (CheckRunPlan::Completed(Conclusion::Success), _) => "good",
        (CheckRunPlan::InProgress, true) => "running",
        // Nothing more will come for this group: a queue must not wait for it.
        (CheckRunPlan::InProgress, false) | (CheckRunPlan::Completed(_), _) => "bad",
    };
    let gated = |member: &GroupMember| {
        if member.closed.is_empty() {
            "good"
        } else {
            "bad"
        }
    };
    [
        text("verify", members, verified, unknown),
        text("gates", members, gated, unknown),
    ]
}

/// How a check ends by the state of each member, and its texts. A queue throws out what ends in any other way than
/// success.
fn text(
    check: &str,
    members: &[GroupMember],
    state: impl Fn(&GroupMember) -> &'static str,
    unknown: &[Sha],
) -> (CheckRunPlan, CheckRunText) {
    let of_state = |wanted: &str| -> Vec<String> {
        members
            .iter()
            .filter(|member| state(member) == wanted)
            .map(|member| format!("#{}", member.number))
            .collect()
    };
    let line = |member: &GroupMember| {
        let GroupMember {
            number,
            closed,
            is_tested,
            ..
        } = member;
        context! { number => number.get(), state => state(member), is_tested, closed => Serde(closed) }
    };
    let lines: Vec<_> = members.iter().map(line).collect();
    let (good, bad, running) = (of_state("good"), of_state("bad"), of_state("running"));
    let plan = match (bad.is_empty() && unknown.is_empty(), running.is_empty()) {
        (false, _) => CheckRunPlan::Completed(Conclusion::Failure),
        (true, false) => CheckRunPlan::InProgress,
        (true, true) => CheckRunPlan::Completed(Conclusion::Success),
    };
    let unknown: Vec<String> = unknown.iter().take(20).map(Sha::short).collect();
    let model = context! { check, members => lines, unknown, good, bad, running };
    let summary = messages::markdown(entry::MergeGroup::Summary, model.clone());
    (
        plan,
        summed_up(messages::plain(entry::MergeGroup::Title, model), summary),
    )
}

#[cfg(test)]
mod merge_group_tests {
    use super::*;

    const SUCCESS: CheckRunPlan = CheckRunPlan::Completed(Conclusion::Success);

    fn member(number: u64, closed: &[&str], verify: CheckRunPlan, is_tested: bool) -> GroupMember {
        let closed = closed.iter().map(|gate| gate.parse().unwrap()).collect();
        GroupMember {
            number: PrNumber::new(number),
            closed,
            verify,
            is_tested,
        }
    }

    fn said(members: &[GroupMember], unknown: &[Sha]) -> String {
        let texts = merge_group(members, unknown)
            .map(|(plan, text)| format!("{plan:?} — {}\n{}", text.title, text.summary));
        texts.join("\n")
    }

    #[test]
    fn a_group_is_as_good_as_its_worst_member() {
        let (group, pull_request) = (true, false);
        let good = member(12, &[], SUCCESS, group);
        let own = member(13, &[], SUCCESS, pull_request);
        let waits = member(14, &["security", "deploy"], CheckRunPlan::InProgress, group);
        let silent = member(15, &[], CheckRunPlan::InProgress, pull_request);
        let groups = [
            said(&[good.clone(), own], &[]),
            said(&[good.clone(), waits], &[]),
            said(&[good.clone(), silent], &[]),
            said(&[good], &[Sha::from_bytes([0xab; 20])]),
        ];
        insta::assert_snapshot!("merge_groups", groups.join("\n\n"));
    }
}
