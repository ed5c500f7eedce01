//! The comments that must notify, each posted once, and what goes out beside them: the call for a human in short, for
//! channels, and the workflow that is started for a fixer that works elsewhere.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use minijinja::{Value, context, value::Serde};
use serde_json::json;

use super::{
    Brevity, Feedback, LIMIT, Links, Markdown, Subject, causes, code, escalation, gate_card,
    markdown, marker,
    messages::{self, entry},
    sanitize,
    sanitize::text,
    short_text, texts, words,
};
use loopgate_core::{
    CommentId, GateName, Login, TeamSlug,
    concerns::{
        fixer::fix_request::{FixTurn, Whom},
        gates::{GateReport, checkboxes},
    },
    deciding::Post,
    observed::{Lifecycle, OwnCheck},
    policy::{ChecklistMode, DispatchFixer, Fixer, InvalidateOnPush},
    state::{GateStatus, Reviewer},
};

/// The text of one post, its marker first.
pub(super) fn text_of(subject: &Subject<'_>, post: &Post, own: Option<&str>) -> String {
    match post {
        Post::GateRequest { gate, .. } => gate_request(subject, gate, post),
        Post::GateReminder { gate, .. } => reminder(subject, gate, post),
        Post::Escalation { trigger, .. } => match &subject.decision.view.escalation {
            Some(view) => escalation::report(subject, view, post, own),
            // The post outlived its cause: what is known without it is the cause's name.
            None => format!(
                "{}\n## Execution Feedback Escalation\n\nBlocked: {}.\n",
                marker(post),
                words::trigger(*trigger)
            ),
        },
        Post::MergedOverOpenGates => bypassed(subject, post),
        Post::FixRequest { whom, attempt } => fix_request(subject, *whom, *attempt, post),
    }
}

/// Gate requests as they were, with the boxes ticked that approvers have ticked.
pub(super) fn restored(subject: &Subject<'_>, own: Option<&str>) -> Vec<(CommentId, String)> {
    let restored = subject
        .decision
        .surface
        .restore
        .iter()
        .map(|(post, ticks)| {
            let line = |line: &str| {
                let done = line.replacen("- [ ]", "- [x]", 1);
                let is_done = done != line && checkboxes(&done).1.is_subset(&ticks.boxes);
                if is_done { done } else { line.to_owned() }
            };
            let lines: Vec<String> = text_of(subject, post, own).lines().map(line).collect();
            (ticks.comment, lines.join("\n") + "\n")
        });
    restored.collect()
}

/// What was merged over, and by whom.
fn bypassed(subject: &Subject<'_>, post: &Post) -> String {
    let (by, at) = match &subject.snapshot.pull_request.lifecycle {
        Lifecycle::Merged { by, at } => (by.as_ref(), *at),
        Lifecycle::Open | Lifecycle::Closed => (None, None),
    };
    let base = &subject.snapshot.pull_request.base;
    let model = context! {
        by => by.map_or_else(|| text("Somebody"), words::person),
        at => at.map(words::moment),
        bypassed => subject.decision.view.bypassed.iter().take(50).map(|what| short_text(what, 100)).collect::<Vec<_>>(),
        base => code(&base.branch),
        checks => OwnCheck::ALL.map(|check| code(&check.name(&base.scope))).to_vec(),
    };
    format!("{}\n{}", marker(post), texts::render("bypassed.md", model))
}

/// The request of one gate.
fn gate_request(subject: &Subject<'_>, gate: &GateName, post: &Post) -> String {
    let Some(report) = subject.gate(gate) else {
        return format!(
            "{}\n### 🔒 The {gate} gate needs a decision\n",
            marker(post)
        );
    };
    let policy = subject.policy.gates.get(gate);
    let links = Links::of(subject.snapshot);
    let model = |brevity: Brevity| {
        context! {
            matches => gate_card::why(report, &links, brevity.of(40, 2)),
            checklist_required => policy.map(|gate| gate.checklist) == Some(ChecklistMode::Required),
            binds => binds(subject, report),
            notes => gate_card::notes(report, &links, false).keep(brevity.of(6, 0)),
            ..asked(subject, report, post, mentions(subject, report))
        }
    };
    // The template of a gate's own, or what is asked of any gate.
    let preset = policy.and_then(|gate| gate.preset.as_ref());
    let template = preset.map_or_else(|| "custom".to_owned(), |preset| preset.template.to_string());
    texts::fitted(&format!("gates/{template}.md"), LIMIT, model)
}

/// The reminder of one gate: how long it has waited, and what happens next.
fn reminder(subject: &Subject<'_>, gate: &GateName, post: &Post) -> String {
    let waiting = subject
        .decision
        .next
        .concerns
        .gates
        .get(gate)
        .and_then(|gate| gate.waiting_since);
    let Some((report, since)) = subject.gate(gate).zip(waiting) else {
        return format!(
            "{}\n### ⏰ The {gate} gate still waits for a decision\n",
            marker(post)
        );
    };
    let limit = subject
        .policy
        .gates
        .get(gate)
        .map_or(TimeDelta::hours(72), |gate| gate.escalate_after);
    // Also those whose review was requested are mentioned: that they were asked once is why they are reminded.
    let people = report.eligible.people.iter();
    let people = people.chain(&report.eligible.by_right);
    let everybody = mention(report.eligible.teams.keys(), people);
    let model = context! {
        since => words::moment(since),
        deadline => words::moment(since + limit),
        called => text(&words::called(subject.policy)),
        ..asked(subject, report, post, everybody)
    };
    texts::render("gates/reminder.md", model)
}

/// What a request and a reminder share.
fn asked(subject: &Subject<'_>, report: &GateReport, post: &Post, mentions: Markdown) -> Value {
    let by = subject.approve_by(&report.name);
    let name = context! { name => report.name.as_str() };
    let who = words::approvers(report);
    let how = match report.eligible.only_hope {
        true => markdown(entry::GateHow::OnlyAuthor, name.clone()),
        false => markdown(entry::ApproveHow(&by), name.clone()),
    };
    context! {
        marker => Markdown::ours(marker(post)),
        gate => report.name.as_str(),
        who => if report.needed > 1 { format!("{who}; {} approvals are needed", report.needed) } else { who },
        mentions,
        // What to write, or where to click.
        how,
        only_author => report.eligible.only_hope,
        // "comment `security rejected`", after "to turn it down".
        reject => markdown(entry::ApproveReject(&by), name),
    }
}

/// How long an approval lasts, and what else it does, so that no approver approves more than they meant to.
fn binds(subject: &Subject<'_>, report: &GateReport) -> String {
    let policy = subject.policy.gates.get(&report.name);
    let lasts = policy.map_or(InvalidateOnPush::Matching, |gate| gate.invalidate_on_push);
    let lets_go = match subject.lets_runs_go(report) {
        true => " It also lets the workflows run that GitHub holds back on the approved commit.",
        false => "",
    };
    format!(
        "{}{lets_go}",
        messages::word(entry::InvalidateOnPush(&lasts))
    )
}

/// Review requests notify by themselves. Approvers who are not asked that way are mentioned instead, except on a draft,
/// where people are not called yet.
fn mentions(subject: &Subject<'_>, report: &GateReport) -> Markdown {
    let pull = &subject.snapshot.pull_request;
    if pull.is_draft {
        return Markdown::default();
    }
    let is_asked = |reviewer: &Reviewer| subject.decision.surface.request.contains(reviewer);
    let (teams, people) = (report.eligible.teams.keys(), report.eligible.people.iter());
    let teams = teams.filter(|it| {
        !is_asked(&Reviewer::Team((*it).clone())) && !pull.requested_teams.contains(*it)
    });
    let people = people.chain(&report.eligible.by_right).filter(|it| {
        !is_asked(&Reviewer::User((*it).clone())) && !pull.requested_users.contains(*it)
    });
    mention(teams, people)
}

/// The first ten of them, to be notified.
fn mention<'a>(
    teams: impl Iterator<Item = &'a TeamSlug>,
    people: impl Iterator<Item = &'a Login>,
) -> Markdown {
    let mentions = teams
        .map(|team| format!("@{team}"))
        .chain(people.map(|login| format!("@{login}")));
    Markdown::ours(mentions.take(10).collect::<Vec<_>>().join(" "))
}

/// Items of feedback shown; the status comment has them all.
const ITEMS: usize = 10;

/// What a fixer is asked that works elsewhere: by its name, or as a note that a workflow was started.
fn fix_request(subject: &Subject<'_>, whom: Whom, attempt: u32, post: &Post) -> String {
    let trigger = match (whom, &subject.decision.next.concerns.fixer) {
        (Whom::Senior, Some(call)) => Some(words::trigger(call.trigger)),
        _ => None,
    };
    let most = subject.decision.view.max_attempts;
    let failed = messages::plain(
        entry::FixRequest::Failed,
        context! { attempt, most, trigger },
    );
    let fixer = whom.of(subject.policy);
    let (login, file, event_type) = match fixer {
        Some(Fixer::Mention(login)) => (Some(login.as_str()), None, None),
        Some(Fixer::Dispatch(DispatchFixer::Workflow { file })) => {
            (None, Some(file.as_str()), None)
        }
        Some(Fixer::Dispatch(DispatchFixer::Repository { event_type })) => {
            (None, None, Some(event_type.as_str()))
        }
        Some(Fixer::Author | Fixer::Command(_)) | None => (None, None, None),
    };
    let feedback = subject.feedback();
    let model = context! {
        login,
        file,
        event_type,
        sentence => words::sentence(&failed, 200),
        failed,
        branch => subject.snapshot.pull_request.head.branch.as_str(),
        items => Serde(feedback.iter().take(ITEMS).collect::<Vec<_>>()),
        more => feedback.len().saturating_sub(ITEMS),
    };
    format!(
        "{}\n{}\n",
        marker(post),
        messages::markdown(entry::FixRequest::Comment, model)
    )
}

/// A workflow that is started with the feedback.
#[derive(Clone, Debug, PartialEq)]
pub struct Dispatch {
    pub to: DispatchFixer,
    /// The head branch: a `workflow_dispatch` runs there.
    pub branch: String,
    pub payload: serde_json::Value,
}

/// The workflow to start; none where naming the fixer in a comment is all.
pub(super) fn dispatch(subject: &Subject<'_>, fix: FixTurn) -> Option<Dispatch> {
    let Some(Fixer::Dispatch(to)) = fix.whom.of(subject.policy) else {
        return None;
    };
    let (pull, most) = (
        &subject.snapshot.pull_request,
        subject.policy.retry.max_attempts,
    );
    let payload = json!({
        "schema": "loopgate.fix-request/v1",
        "pull_request": pull.number,
        "branch": pull.head.branch,
        "head_sha": pull.head.sha,
        "attempt": fix.attempt,
        "max_attempts": most,
        "feedback": Feedback::of(subject).value(),
    });
    Some(Dispatch {
        to: to.clone(),
        branch: pull.head.branch.clone(),
        payload,
    })
}

/// The comment that a fixer was asked by, with the run that GitHub started for it; none where its address is none of the
/// web.
pub fn with_run(comment: &str, url: &str) -> Option<String> {
    let url = sanitize::address(url)?;
    let run = messages::markdown(entry::FixRequest::Run, context! { url });
    Some(format!("{}\n\n{run}\n", comment.trim_end()))
}

/// What a channel is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// One line.
    pub subject: String,
    pub text: String,
}

/// What channels say of the call for a person and of the gates that wait, by the keys of their posts.
pub(super) fn announcements(subject: &Subject<'_>) -> BTreeMap<String, Announcement> {
    let next = &subject.decision.next;
    let call = next.people.blocked.as_ref().zip(call(subject));
    let call = call.map(|(blocked, call)| (Post::escalation(blocked).key(), call));
    let waiting = next
        .concerns
        .gates
        .iter()
        .filter(|(_, gate)| gate.status == GateStatus::Requested);
    let gates = waiting.filter_map(|(gate, state)| {
        let post = Post::GateRequest {
            gate: gate.clone(),
            round: state.round,
        };
        Some((post.key(), gate_opened(subject, gate)?))
    });
    call.into_iter().chain(gates).collect()
}

/// A gate that waits, for those who may approve it.
fn gate_opened(subject: &Subject<'_>, gate: &GateName) -> Option<Announcement> {
    let report = subject.gate(gate)?;
    let pull_request = &subject.snapshot.pull_request;
    let name = context! { name => gate.as_str() };
    let model = context! {
        title => pull_request.title.as_str(),
        author => pull_request.author.login.as_str(),
        url => pull_request.url.as_str(),
        gate => gate.as_str(),
        who => words::approvers(report),
        needed => report.needed,
        only_author => report.eligible.only_hope,
        how => messages::plain(entry::Approves(&subject.approve_by(gate)), name),
    };
    let repository = &subject.snapshot.repository;
    let number = pull_request.number;
    Some(Announcement {
        subject: format!("{repository}#{number} waits for the {gate} gate"),
        text: messages::text("gate_opened.txt", model),
    })
}

/// `None` if no person is called.
fn call(subject: &Subject<'_>) -> Option<Announcement> {
    let escalation = subject.decision.view.escalation.as_ref()?;
    let pull_request = &subject.snapshot.pull_request;
    let model = context! {
        title => pull_request.title.as_str(),
        author => pull_request.author.login.as_str(),
        url => pull_request.url.as_str(),
        why => causes::recognised(escalation),
        who => escalation.recipients.iter().map(words::recipient).collect::<Vec<_>>(),
        question => messages::reason(entry::Question(&escalation.question)),
        options => causes::options(&escalation.question),
    };
    let (number, reason) = (pull_request.number, causes::why(escalation));
    let subject = format!(
        "{}#{number} is blocked: {reason}",
        subject.snapshot.repository
    );
    Some(Announcement {
        subject,
        text: messages::text("announcement.txt", model),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use loopgate_core::state::GateState;

    #[test]
    fn one_look_tells_what_to_decide() {
        let (decision, snapshot) = fixtures::regression_escalated();
        let policy = fixtures::policy();
        let Announcement { subject, text } =
            call(&Subject::new(&decision, &snapshot, &policy)).unwrap();
        insta::assert_snapshot!(format!("{subject}\n---\n{text}"));
    }

    #[test]
    fn approvers_are_told_what_to_write() {
        let mut decision = fixtures::open_security_gate_with_an_outsider();
        let snapshot = fixtures::snapshot();
        let policy = fixtures::policy();
        let asked = GateState {
            status: GateStatus::Requested,
            round: 1,
            ..GateState::default()
        };
        let gates = &mut decision.next.concerns.gates;
        gates.insert(fixtures::gate_name("security"), asked);
        let said = announcements(&Subject::new(&decision, &snapshot, &policy));
        let texts: Vec<String> = said
            .into_iter()
            .map(|(key, Announcement { subject, text })| format!("{key}: {subject}\n{text}"))
            .collect();
        insta::assert_snapshot!(texts.join("---\n"));
    }
}

#[cfg(test)]
mod fixer_tests {
    use super::*;
    use crate::fixtures;
    use loopgate_core::{
        concerns::verdict::FeedbackFact,
        fixtures::{Story, evidence, sha},
        observed::{ReceivedEvidence, ReviewVerdict},
    };

    #[test]
    fn an_agent_is_named_and_nobody_else() {
        let (mut decision, snapshot, mut policy) = (
            fixtures::first_failure(),
            fixtures::snapshot(),
            fixtures::policy(),
        );
        policy.fixer.fixer = Fixer::Mention("copilot".parse().unwrap());
        if let Some(FeedbackFact::Failure(first)) = decision.view.feedback.first_mut() {
            first.problem = "cc @everybody <!-- x -->".to_owned();
        }
        let subject = Subject::new(&decision, &snapshot, &policy);
        let text = fix_request(
            &subject,
            Whom::Fixer,
            1,
            &Post::FixRequest {
                whom: Whom::Fixer,
                attempt: 1,
            },
        );
        assert!(
            text.starts_with("<!-- loopgate:fix:1 -->\n@copilot attempt 1 of 3 failed."),
            "{text}"
        );
        assert!(
            !text.contains("@everybody") && text.matches("<!--").count() == 1,
            "{text}"
        );
    }

    fn story(to: DispatchFixer) -> Story {
        let mut story = Story::opened();
        story.policy.fixer.fixer = Fixer::Dispatch(to);
        story
    }

    fn dispatched(story: &Story) -> Dispatch {
        crate::pull_request(
            story.last.as_ref().unwrap(),
            &story.snapshot,
            &story.policy,
            None,
        )
        .dispatch
        .unwrap()
    }

    #[test]
    fn feedback_is_cut_at_a_sentence() {
        let to = DispatchFixer::Repository {
            event_type: "fix".into(),
        };
        let mut story = story(to);
        story.policy.retry.feedback_max_length = 80;
        story.snapshot.required_approvals = 1;
        story.push(1, &["a", "b"], &[]);
        story.review(
            ReviewVerdict::ChangesRequested,
            &"Read `one. two` first. ".repeat(50),
        );
        let dispatch = dispatched(&story);
        let words = &dispatch.payload["feedback"]["feedback"]
            .as_array()
            .unwrap()
            .last()
            .unwrap()["problem"];
        assert_eq!(
            words,
            "Read `one. two` first. ".repeat(3).trim_end(),
            "whole sentences, and no code span in two"
        );
    }

    #[test]
    fn what_was_tried_stands_beside_its_failure() {
        let mut story = story(DispatchFixer::Repository {
            event_type: "fix".into(),
        });
        story.push(1, &["a"], &[]);
        assert!(
            dispatched(&story).payload["feedback"]["failures"][0]["tried"].is_null(),
            "nothing was"
        );
        let tried = |story: &Story| {
            let failures = dispatched(story).payload["feedback"]["failures"].clone();
            let of = |failure: &serde_json::Value| {
                let tried = failure["tried"].as_array().into_iter().flatten();
                tried
                    .map(|one| format!("{} {}", one["attempt"], one["outcome"]))
                    .collect::<Vec<_>>()
            };
            failures
                .as_array()
                .unwrap()
                .iter()
                .map(of)
                .collect::<Vec<_>>()
        };
        story.push(2, &["a", "b"], &[]);
        assert_eq!(tried(&story), [vec!["2 \"same\"".to_owned()], vec![]]);
    }

    #[test]
    fn a_workflow_gets_the_feedback() {
        let to = DispatchFixer::Repository {
            event_type: "fix".into(),
        };
        let mut story = story(to.clone());
        story.set_head(1);
        story.decide();
        let mut received = evidence(sha(1), &["a"], &[]);
        if let ReceivedEvidence::Accepted(evidence) = &mut received {
            let failure = &mut evidence.checks.last_mut().unwrap().failures[0];
            (failure.expected, failure.actual) = (Some("2".to_owned()), Some("3".to_owned()));
        }
        story.snapshot.evidence = vec![received];
        story.decide();
        let dispatch = dispatched(&story);
        assert_eq!((dispatch.to, dispatch.branch.as_str()), (to, "alice/round"));
        assert_eq!(dispatch.payload["attempt"], json!(1));
        let feedback = &dispatch.payload["feedback"];
        assert_eq!(feedback["schema"], "loopgate.feedback/v1");
        let failure = &feedback["failures"][0];
        assert_eq!(
            (&failure["expected"], &failure["actual"]),
            (&json!("2"), &json!("3")),
            "{feedback:#}"
        );
        // GitHub takes ten properties at the top of a client_payload.
        assert!(
            dispatch
                .payload
                .as_object()
                .is_some_and(|fields| fields.len() <= 10)
        );
    }
}
