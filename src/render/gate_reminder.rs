//! The comment that reminds the approvers of a gate: how long it has waited, and what happens next.

use chrono::TimeDelta;
use serde::Serialize;

use super::{
    gate_card, gate_request, marker,
    sanitize::{Markdown, text},
    templates,
    verdict::Subject,
    words,
};
use loopgate_core::{GateName, Timestamp, deciding::Post, gate::GateReport};

/// What `gates/reminder.md` shows.
#[derive(Serialize)]
struct Reminder {
    marker: Markdown,
    gate: String,
    since: String,
    who: String,
    mentions: Markdown,
    how: Markdown,
    reject: Markdown,
    deadline: String,
    called: Markdown,
}

/// The reminder of one gate.
pub(super) fn reminder(subject: &Subject<'_>, gate: &GateName, post: &Post) -> String {
    let model = subject.gate(gate).and_then(|report| Reminder::of(subject, report, post));
    match model {
        Some(model) => templates::render("gates/reminder.md", &model),
        None => format!("{}\n### ⏰ The {gate} gate still waits for a decision\n", marker(post)),
    }
}

impl Reminder {
    fn of(subject: &Subject<'_>, report: &GateReport, post: &Post) -> Option<Self> {
        let name = &report.name;
        let since: Timestamp = subject.decision.next.gates.get(name)?.waiting_since?;
        let by = gate_card::approve_by(subject.policy, name);
        let patience = subject.policy.gates.get(name).map_or(TimeDelta::hours(72), |gate| gate.escalate_after);
        Some(Self {
            marker: Markdown::ours(marker(post)),
            gate: name.to_string(),
            since: words::moment(since),
            who: gate_request::who(report),
            mentions: mentions(report),
            how: gate_request::how(name, by),
            reject: gate_request::reject(name, by),
            deadline: words::moment(since + patience),
            called: text(&words::called(subject.policy)),
        })
    }
}

/// Everybody who may decide, also those whose review was requested: that they were told once is why they are reminded.
fn mentions(report: &GateReport) -> Markdown {
    let eligible = &report.eligible;
    let teams = eligible.teams.keys().map(|team| format!("@{team}"));
    let people = eligible.people.iter().map(|login| format!("@{login}"));
    Markdown::ours(teams.chain(people).take(10).collect::<Vec<_>>().join(" "))
}
