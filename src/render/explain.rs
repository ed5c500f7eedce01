//! The long answer: why a pull request is where it is, why each gate is closed, and who can open it. `loopgate explain`
//! shows all of it, the text of `loopgate / gates` the part about gates.

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    answers,
    fit::{LIMIT, Shown},
    gate_card::{self, GateCard, GateList},
    handoff::attempt_row,
    links::Links,
    model::Document,
    plain::plain,
    sanitize::{Markdown, code},
    steps, templates,
    verdict::{self, Subject},
    warning, words,
};
use loopgate_core::gate::{Considered, GateReport, GateStanding, WordOutcome};

/// `schema` of the document.
const SCHEMA: &str = "loopgate.explain/v1";

/// The text of `loopgate / gates`; `None` if no gate applies and no comment names one.
pub(super) fn gates_text(subject: &Subject<'_>) -> Option<String> {
    let gates = explained(subject, &Links::of(subject.snapshot), |_| Vec::new());
    let model = GateList { verdict: "", gates, unmatched: Shown::default(), quiet: Markdown::default() };
    if model.gates.items.is_empty() {
        return None;
    }
    templates::fitted("check_run/gates_explained.md", model, LIMIT)
}

/// `members` names those of the teams, where the one who asks has the right to read them.
fn explained(subject: &Subject<'_>, links: &Links, members: fn(&GateReport) -> Vec<String>) -> Shown<GateCard> {
    let mut shown: Vec<_> =
        subject.decision.view.gates.iter().filter(|gate| GateCard::is_worth_showing(gate)).collect();
    // What stands in the way comes first.
    shown.sort_by_key(|gate| !gate.is_closed());
    Shown::first(100, shown, |gate| {
        let is_open = matches!(gate.standing, GateStanding::Open);
        let members = if is_open { members(gate) } else { Vec::new() };
        GateCard { members, ..GateCard::explained(gate, subject, links) }
    })
}

/// `explain.md`.
#[derive(Serialize)]
pub(super) struct Page {
    pub icon: &'static str,
    pub verdict: String,
    stage_line: Markdown,
    pub next: Vec<Markdown>,
    stage: &'static str,
    held: Markdown,
    evidence_stage: &'static str,
    evidence_held: Markdown,
    phase: String,
    score: String,
    threshold: String,
    checks: Shown<Markdown>,
    pub rules: Shown<Markdown>,
    gates: Shown<GateCard>,
    quiet: Markdown,
    attempts: Shown<Markdown>,
    pub warnings: Shown<Markdown>,
}

impl Page {
    pub fn of(subject: &Subject<'_>) -> Self {
        let (view, links) = (&subject.decision.view, Links::of(subject.snapshot));
        let verdict = verdict::verdict(subject);
        let quiet: Vec<&GateReport> = view.gates.iter().filter(|gate| !GateCard::is_worth_showing(gate)).collect();
        Self {
            icon: verdict.icon,
            verdict: verdict.words,
            stage_line: Markdown::ours(verdict::stage_line(view.stage)),
            next: steps::next_steps(subject),
            stage: view.stage.as_str(),
            held: answers::hold(view.held_by.as_ref(), subject),
            evidence_stage: view.evidence_stage.as_str(),
            evidence_held: answers::hold(view.evidence_held_by.as_ref(), subject),
            phase: format!("{:?}", view.evaluation.phase),
            score: view.evaluation.score.to_string(),
            threshold: view.evaluation.threshold.to_string(),
            checks: Shown::first(200, &view.checks, |check| {
                let row = super::check_table::row(check, &links);
                Markdown::ours(format!("{} ({}): {}", code(check.name.as_str()), check.kind.as_str(), row.outcome))
            }),
            rules: Shown::first(200, &view.evaluation.rules, |rule| answers::rule_line(rule, 300)),
            // On the command line the one who asks has that right.
            gates: explained(subject, &links, words::members),
            quiet: gate_card::quiet(&quiet, &links),
            attempts: Shown::first(50, subject.decision.next.attempts.iter().rev(), |attempt| {
                let row = attempt_row(attempt, &links);
                Markdown::ours(format!(
                    "Attempt {}, {}: {}, score {}. {}",
                    row.number, row.head, row.outcome, row.score, row.summary
                ))
            }),
            warnings: Shown::first(50, &view.warnings, |one| warning::sentence(one, &links)),
        }
    }
}

/// Why a pull request is where it is, and who can open its gates: Markdown.
pub fn page(subject: &Subject<'_>) -> String {
    templates::render("explain.md", &Page::of(subject))
}

/// Markdown as plain texts, a line each.
pub(super) fn plain_lines(items: &[Markdown]) -> Vec<String> {
    items.iter().map(|item| plain(item.as_str())).collect()
}

/// The page for programs: `loopgate.explain/v1`.
pub fn document(subject: &Subject<'_>) -> Value {
    let (view, links, page) = (&subject.decision.view, Links::of(subject.snapshot), Page::of(subject));
    json!({
        "schema": SCHEMA,
        "verdict": format!("{} {}", page.icon, page.verdict),
        "next": plain_lines(&page.next),
        "stage": view.stage,
        "held_by": plain(page.held.as_str()),
        // How far it would come without gates.
        "evidence_stage": view.evidence_stage,
        "evidence_held_by": plain(page.evidence_held.as_str()),
        "rules": plain_lines(&page.rules.items),
        "gates": view.gates.iter().map(|report| gate_document(report, subject, &links)).collect::<Vec<_>>(),
        "attempts": plain_lines(&page.attempts.items),
        "warnings": plain_lines(&page.warnings.items),
        "status": Document::of(subject),
    })
}

fn gate_document(report: &GateReport, subject: &Subject<'_>, links: &Links) -> Value {
    let card = GateCard::explained(report, subject, links);
    let word = |word: &Considered| {
        json!({
            "by": word.by, "at": word.at, "url": word.url, "word": word.word,
            "outcome": match word.outcome {
                WordOutcome::Counted => "counted",
                WordOutcome::Superseded => "superseded",
                WordOutcome::Refused(_) => "refused",
            },
            "said": plain(answers::considered(word, report, subject).as_str()),
        })
    };
    json!({
        "name": report.name,
        "status": report.status(),
        "holds": report.holds,
        "closed": report.is_closed(),
        "advisory": report.is_advisory,
        "why": plain_lines(&card.why.items),
        "who": words::approvers(report),
        "members": words::members(report),
        "how": card.how.map(|how| plain(how.as_str())),
        "approvals": report.approvals.iter().map(|approval| &approval.by).collect::<Vec<_>>(),
        "approvals_needed": report.needed,
        "words": report.considered.iter().map(word).collect::<Vec<_>>(),
        "notes": plain_lines(&card.notes.items),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::fixtures;

    #[test]
    fn a_closed_gate_is_explained_on_a_page() {
        let (decision, snapshot) = (fixtures::open_security_gate_with_an_outsider(), fixtures::snapshot());
        let policy = fixtures::policy();
        let subject = Subject { decision: &decision, snapshot: &snapshot, policy: &policy };
        insta::assert_snapshot!("explain_page", page(&subject));
        insta::assert_snapshot!("explain_page_on_a_terminal", plain(&page(&subject)));
        let mut document = document(&subject);
        document["status"] = "as in the status comment".into();
        insta::assert_json_snapshot!("explain_document", document);
    }

    #[test]
    fn a_page_that_is_too_long_says_less() {
        let (mut decision, snapshot) = (fixtures::open_security_gate_with_an_outsider(), fixtures::snapshot());
        let word = decision.view.gates[1].considered[0].clone();
        decision.view.gates[1].considered = vec![word; 200];
        decision.view.gates = (0..60).map(|_| decision.view.gates[1].clone()).collect();
        let policy = fixtures::policy();
        let text = gates_text(&Subject { decision: &decision, snapshot: &snapshot, policy: &policy }).unwrap();
        assert!(text.len() <= LIMIT && text.contains("older words"), "{}", text.len());
    }
}
