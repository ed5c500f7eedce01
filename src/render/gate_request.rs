//! The comment that asks for a gate: who is asked, what to look at, what to ask oneself, exactly what to write.

use serde::Serialize;

use super::{
    fit::{self, Shorten, Shortened, Shown},
    gate_card,
    links::Links,
    marker,
    sanitize::{Markdown, code},
    templates,
    verdict::Subject,
    words,
};
use loopgate_core::{
    GateName,
    deciding::Post,
    gate::{GateReport, Reviewer},
    observed::Readiness,
    policy::{ApproveBy, ChecklistMode},
};

/// `gates/request.md` and the gate's own template on top of it.
#[derive(Serialize)]
struct Request {
    marker: Markdown,
    gate: String,
    who: String,
    mentions: Markdown,
    matches: Shown<Markdown>,
    checklist_required: bool,
    how: Markdown,
    reject: Markdown,
    author: Markdown,
    binds: Markdown,
    notes: Shown<Markdown>,
}

impl Shorten for Request {
    fn shorten(&mut self) -> Shortened {
        match self.notes.halve() {
            Shortened::Yes => Shortened::Yes,
            Shortened::NothingLeft => self.matches.halve(),
        }
    }
}

/// The request of one gate.
pub(super) fn request(subject: &Subject<'_>, gate: &GateName, post: &Post) -> String {
    let Some(report) = subject.gate(gate) else {
        return format!("{}\n### 🔒 The {gate} gate needs a decision\n", marker(post));
    };
    let mut model = Request::of(subject, report, post);
    let template = template(subject, gate);
    let render = |model: &Request| templates::render(&template, model);
    fit::fit(&mut model, fit::LIMIT, render)
        .unwrap_or_else(|| format!("{}\n### 🔒 The {gate} gate needs a decision\n", marker(post)))
}

/// The template of a gate's own, or what is asked of any gate.
fn template(subject: &Subject<'_>, gate: &GateName) -> String {
    match subject.policy.gates.get(gate).and_then(|gate| gate.preset.as_ref()) {
        Some(preset) => format!("gates/{}.md", preset.template),
        None => "gates/custom.md".to_owned(),
    }
}

impl Request {
    fn of(subject: &Subject<'_>, report: &GateReport, post: &Post) -> Self {
        let name = &report.name;
        let links = Links::of(subject.snapshot);
        let by = gate_card::approve_by(subject.policy, name);
        let required = subject.policy.gates.get(name).map(|gate| gate.checklist) == Some(ChecklistMode::Required);
        Self {
            marker: Markdown::ours(marker(post)),
            gate: name.to_string(),
            who: who(report),
            mentions: mentions(subject, report),
            matches: gate_card::why(report, &links, 40),
            checklist_required: required,
            how: how(name, by),
            reject: reject(name, by),
            author: words::person(&subject.snapshot.pull_request.author.login),
            binds: Markdown::ours(format!("{}{}", binds(subject, report), lets_go(subject, report))),
            notes: gate_card::notes(report, &links),
        }
    }
}

pub(super) fn who(report: &GateReport) -> String {
    let who = words::approvers(report);
    if report.needed > 1 { format!("{who}; {} approvals are needed", report.needed) } else { who }
}

pub(super) fn how(name: &GateName, by: ApproveBy) -> Markdown {
    let phrase = format!("Write this on a line of its own in a comment:\n\n```text\n{name} approved\n```");
    let review = "*Files changed* → *Review changes* → *Approve*, on the head commit.";
    Markdown::ours(match by {
        ApproveBy::Comment => phrase,
        ApproveBy::Review => format!("Approve in a review: {review}"),
        ApproveBy::CommentOrReview => format!("{phrase}\n\nOr approve in a review: {review}"),
    })
}

/// "comment `security rejected`", after "to turn it down".
pub(super) fn reject(name: &GateName, by: ApproveBy) -> Markdown {
    let comment = || format!("comment {}", code(&format!("{name} rejected")));
    Markdown::ours(match by {
        ApproveBy::Comment => comment(),
        ApproveBy::Review => "request changes in a review".to_owned(),
        ApproveBy::CommentOrReview => format!("{} or request changes in a review", comment()),
    })
}

/// How long an approval lasts.
fn binds(subject: &Subject<'_>, report: &GateReport) -> &'static str {
    use loopgate_core::policy::InvalidateOnPush::{Any, Matching, Never};
    match subject.policy.gates.get(&report.name).map_or(Matching, |gate| gate.invalidate_on_push) {
        Matching => "Your approval stays valid unless one of these files changes.",
        Any => "Your approval stays valid until the next push.",
        Never => "Your approval stays valid for the whole pull request.",
    }
}

/// What else it does, so that nobody approves more than they meant to.
fn lets_go(subject: &Subject<'_>, report: &GateReport) -> &'static str {
    match subject.lets_runs_go(report) {
        true => " It also lets the workflows run that GitHub holds back on the approved commit.",
        false => "",
    }
}

/// Review requests notify by themselves. Whoever may decide and is not asked that way is mentioned instead, except on a
/// draft, where people are not called yet.
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
    let mentions = teams.map(|team| format!("@{team}")).chain(people.map(|login| format!("@{login}")));
    Markdown::ours(mentions.take(10).collect::<Vec<_>>().join(" "))
}
