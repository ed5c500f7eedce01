//! The comments that ask for a gate and that remind its approvers: who is asked, what to look at, exactly what to write.

use chrono::TimeDelta;
use minijinja::context;
use serde::Serialize;

use super::{
    fit::{LIMIT, Shorten, Shown},
    gate_card,
    links::Links,
    marker,
    messages::{self, markdown},
    sanitize::{Markdown, text},
    templates,
    verdict::Subject,
    words,
};
use loopgate_core::{
    GateName, Login, TeamSlug,
    deciding::Post,
    gate::{GateReport, Reviewer},
    observed::Readiness,
    policy::{ChecklistMode, InvalidateOnPush},
};

/// `gates/request.md` and the gate's own template on top of it.
#[derive(Serialize)]
struct Request {
    #[serde(flatten)]
    asked: Asked,
    matches: Shown<Markdown>,
    checklist_required: bool,
    author: Markdown,
    binds: String,
    notes: Shown<Markdown>,
}

/// What a request and a reminder share.
#[derive(Serialize)]
struct Asked {
    marker: Markdown,
    gate: String,
    who: String,
    mentions: Markdown,
    /// What to write, or where to click.
    how: Markdown,
    /// "comment `security rejected`", after "to turn it down".
    reject: Markdown,
}

impl Shorten for Request {
    fn shorten(&mut self) -> bool {
        self.notes.halve() || self.matches.halve()
    }
}

/// The request of one gate.
pub(super) fn request(subject: &Subject<'_>, gate: &GateName, post: &Post) -> String {
    let shortest = || format!("{}\n### 🔒 The {gate} gate needs a decision\n", marker(post));
    let Some(report) = subject.gate(gate) else { return shortest() };
    let policy = subject.policy.gates.get(gate);
    let links = Links::of(subject.snapshot);
    let model = Request {
        asked: Asked::new(subject, report, post, mentions(subject, report)),
        matches: gate_card::why(report, &links, 40),
        checklist_required: policy.map(|gate| gate.checklist) == Some(ChecklistMode::Required),
        author: words::person(&subject.snapshot.pull_request.author.login),
        binds: binds(subject, report),
        notes: gate_card::notes(report, &links),
    };
    // The template of a gate's own, or what is asked of any gate.
    let preset = policy.and_then(|gate| gate.preset.as_ref());
    let template =
        preset.map_or_else(|| "gates/custom.md".to_owned(), |preset| format!("gates/{}.md", preset.template));
    templates::fitted(&template, model, LIMIT).unwrap_or_else(shortest)
}

/// The reminder of one gate: how long it has waited, and what happens next.
pub(super) fn reminder(subject: &Subject<'_>, gate: &GateName, post: &Post) -> String {
    let waiting = subject.decision.next.gates.get(gate).and_then(|gate| gate.waiting_since);
    let Some((report, since)) = subject.gate(gate).zip(waiting) else {
        return format!("{}\n### ⏰ The {gate} gate still waits for a decision\n", marker(post));
    };
    let limit = subject.policy.gates.get(gate).map_or(TimeDelta::hours(72), |gate| gate.escalate_after);
    // Also those whose review was requested are mentioned: that they were asked once is why they are reminded.
    let everybody = mention(report.eligible.teams.keys(), report.eligible.people.iter());
    let asked = minijinja::value::Serde(Asked::new(subject, report, post, everybody));
    let model = context! {
        since => words::moment(since),
        deadline => words::moment(since + limit),
        called => text(&words::called(subject.policy)),
        ..asked
    };
    templates::render("gates/reminder.md", &model)
}

impl Asked {
    fn new(subject: &Subject<'_>, report: &GateReport, post: &Post, mentions: Markdown) -> Self {
        let by = gate_card::approve_by(subject.policy, &report.name);
        let name = context! { name => report.name.as_str() };
        let who = words::approvers(report);
        Self {
            marker: Markdown::ours(marker(post)),
            gate: report.name.to_string(),
            who: if report.needed > 1 { format!("{who}; {} approvals are needed", report.needed) } else { who },
            mentions,
            how: markdown("approve_how", &by, name.clone()),
            reject: markdown("approve_reject", &by, name),
        }
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
    format!("{}{lets_go}", messages::word("invalidate_on_push", &messages::variant_name(&lasts)))
}

/// Review requests notify by themselves. Approvers who are not asked that way are mentioned instead, except on a draft,
/// where people are not called yet.
fn mentions(subject: &Subject<'_>, report: &GateReport) -> Markdown {
    let pull = &subject.snapshot.pull_request;
    if pull.readiness == Readiness::Draft {
        return Markdown::default();
    }
    let asked = &subject.decision.surface.request;
    let eligible = &report.eligible;
    let teams = eligible
        .teams
        .keys()
        .filter(|team| !asked.contains(&Reviewer::Team((*team).clone())) && !pull.requested_teams.contains(team));
    let people = eligible
        .people
        .iter()
        .filter(|login| !asked.contains(&Reviewer::User((*login).clone())) && !pull.requested_users.contains(login));
    mention(teams, people)
}

/// The first ten of them, to be notified.
fn mention<'a>(teams: impl Iterator<Item = &'a TeamSlug>, people: impl Iterator<Item = &'a Login>) -> Markdown {
    let mentions = teams.map(|team| format!("@{team}")).chain(people.map(|login| format!("@{login}")));
    Markdown::ours(mentions.take(10).collect::<Vec<_>>().join(" "))
}
