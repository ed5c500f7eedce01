//! The long answer: why a pull request is where it is, why each gate is closed, and who can open it. `loopgate explain`
//! shows all of it, the text of `loopgate / gates` the part about gates.

use serde::Serialize;

use super::{
    answers,
    fit::{self, Shorten, Shortened, Shown},
    gate_card::{self, GateCard},
    handoff::attempt_row,
    links::Links,
    machine,
    plain::plain,
    sanitize::{Markdown, code},
    steps, templates,
    verdict::{self, Subject},
    warning, words,
};
use loopgate_core::{
    GateName, Login, Timestamp,
    gate::{GateReport, GateStanding, Holding, Word, WordOutcome},
    stage::Stage,
    state::GateStatus,
};

/// `schema` of the document.
const SCHEMA: &str = "loopgate.explain/v1";
/// Places and words shown of one gate.
const MOST_PLACES: usize = 20;
const MOST_WORDS: usize = 30;

/// One gate as `parts/gate_explained.md` shows it.
#[derive(Clone, Debug, Serialize)]
struct ExplainedGate {
    icon: &'static str,
    name: String,
    state: Markdown,
    why: Shown<Markdown>,
    how: Option<Markdown>,
    /// Who is in the teams, where only somebody with the right to know asked.
    members: Vec<String>,
    words: Shown<Markdown>,
    notes: Shown<Markdown>,
}

impl ExplainedGate {
    fn of(report: &GateReport, subject: &Subject<'_>, links: &Links) -> Self {
        let card = GateCard::new(report, subject, links);
        Self {
            icon: card.icon,
            name: card.name,
            state: card.state,
            why: gate_card::why(report, links, MOST_PLACES),
            how: card.how,
            members: Vec::new(),
            words: Shown::first(MOST_WORDS, report.considered.iter().rev(), |word| {
                answers::considered(word, report, subject)
            }),
            notes: gate_card::notes(report, links),
        }
    }
}

/// The part about gates.
#[derive(Serialize)]
struct Gates {
    gates: Shown<ExplainedGate>,
}

impl Shorten for Gates {
    fn shorten(&mut self) -> Shortened {
        shorten(&mut self.gates)
    }
}

/// Old words first, then places, then whole gates.
fn shorten(gates: &mut Shown<ExplainedGate>) -> Shortened {
    let mut shortened = Shortened::NothingLeft;
    for gate in &mut gates.items {
        if gate.words.items.len() > 3 && gate.words.halve() == Shortened::Yes
            || gate.why.items.len() > 3 && gate.why.halve() == Shortened::Yes
        {
            shortened = Shortened::Yes;
        }
    }
    if shortened == Shortened::Yes { shortened } else { gates.halve() }
}

/// The text of `loopgate / gates`; none where no gate applies and nobody spoke of one.
pub(super) fn gates_text(subject: &Subject<'_>) -> Option<String> {
    let links = Links::of(subject.snapshot);
    let mut model = Gates { gates: explained(subject, &links) };
    if model.gates.items.is_empty() {
        return None;
    }
    fit::fit(&mut model, fit::LIMIT, |model| templates::render("check_run/gates_explained.md", model))
}

fn explained(subject: &Subject<'_>, links: &Links) -> Shown<ExplainedGate> {
    let mut shown: Vec<_> =
        subject.decision.view.gates.iter().filter(|gate| GateCard::is_worth_showing(gate)).collect();
    // What stands in the way comes first.
    shown.sort_by_key(|gate| !gate.is_closed());
    Shown::first(100, shown, |gate| ExplainedGate::of(gate, subject, links))
}

/// On the command line, where whoever asks has the right to read the organisation's members.
fn with_members(mut gates: Shown<ExplainedGate>, subject: &Subject<'_>) -> Shown<ExplainedGate> {
    for gate in &mut gates.items {
        let report = subject.decision.view.gates.iter().find(|report| report.name.as_str() == gate.name);
        let open = report.filter(|report| matches!(report.standing, GateStanding::Open));
        gate.members = open.map(words::members).unwrap_or_default();
    }
    gates
}

/// `explain.md`.
#[derive(Serialize)]
struct Page {
    icon: &'static str,
    verdict: String,
    stage_line: Markdown,
    next: Vec<Markdown>,
    stage: &'static str,
    held: Markdown,
    evidence_stage: &'static str,
    evidence_held: Markdown,
    phase: String,
    score: String,
    threshold: String,
    checks: Shown<Markdown>,
    rules: Shown<Markdown>,
    gates: Shown<ExplainedGate>,
    quiet: Markdown,
    attempts: Shown<Markdown>,
    warnings: Shown<Markdown>,
}

impl Page {
    fn of(subject: &Subject<'_>) -> Self {
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
            gates: with_members(explained(subject, &links), subject),
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

/// The page, for people: Markdown.
pub fn page(subject: &Subject<'_>) -> String {
    templates::render("explain.md", &Page::of(subject))
}

/// The same for programs.
#[derive(Serialize)]
pub struct Explanation {
    pub(super) schema: &'static str,
    pub(super) verdict: String,
    pub(super) next: Vec<String>,
    pub(super) stage: Stage,
    pub(super) held_by: String,
    /// How far it would come without gates.
    pub(super) evidence_stage: Stage,
    pub(super) evidence_held_by: String,
    pub(super) rules: Vec<String>,
    pub(super) gates: Vec<GateDocument>,
    pub(super) attempts: Vec<String>,
    pub(super) warnings: Vec<String>,
    /// What the status comment tells programs.
    pub(super) status: machine::Status,
}

#[derive(Serialize)]
pub(super) struct GateDocument {
    pub(super) name: GateName,
    pub(super) status: GateStatus,
    /// The gate holds the transition out of this stage.
    pub(super) holds: Stage,
    /// Whether it stands in the way now.
    pub(super) closed: bool,
    /// Shown only: the mode in force lets it hold nothing.
    pub(super) advisory: bool,
    pub(super) why: Vec<String>,
    pub(super) who: String,
    /// Of each team among them, who may approve here.
    pub(super) members: Vec<String>,
    pub(super) how: Option<String>,
    pub(super) approvals: Vec<Login>,
    pub(super) approvals_needed: u32,
    pub(super) words: Vec<WordDocument>,
    pub(super) notes: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct WordDocument {
    pub(super) by: Login,
    pub(super) at: Timestamp,
    pub(super) url: String,
    pub(super) word: Word,
    /// counted | superseded | refused
    pub(super) outcome: &'static str,
    pub(super) said: String,
}

pub fn document(subject: &Subject<'_>) -> Explanation {
    let (view, links, page) = (&subject.decision.view, Links::of(subject.snapshot), Page::of(subject));
    let all = |items: &[Markdown]| items.iter().map(|item| plain(&item.to_string())).collect::<Vec<_>>();
    let gate = |report: &GateReport| {
        let explained = ExplainedGate::of(report, subject, &links);
        let word = |word: &loopgate_core::gate::Considered| WordDocument {
            by: word.by.clone(),
            at: word.at,
            url: word.url.clone(),
            word: word.word,
            outcome: match word.outcome {
                WordOutcome::Counted => "counted",
                WordOutcome::Superseded => "superseded",
                WordOutcome::Refused(_) => "refused",
            },
            said: plain(&answers::considered(word, report, subject).to_string()),
        };
        GateDocument {
            name: report.name.clone(),
            status: report.status(),
            holds: report.holds,
            closed: report.is_closed(),
            advisory: report.holding == Holding::Advisory,
            why: all(&explained.why.items),
            who: words::approvers(report),
            members: words::members(report),
            how: explained.how.map(|how| plain(&how.to_string())),
            approvals: report.approvals.iter().map(|approval| approval.by.clone()).collect(),
            approvals_needed: report.needed,
            words: report.considered.iter().map(word).collect(),
            notes: all(&explained.notes.items),
        }
    };
    Explanation {
        schema: SCHEMA,
        verdict: format!("{} {}", page.icon, page.verdict),
        next: all(&page.next),
        stage: view.stage,
        held_by: plain(&page.held.to_string()),
        evidence_stage: view.evidence_stage,
        evidence_held_by: plain(&page.evidence_held.to_string()),
        rules: all(&page.rules.items),
        gates: view.gates.iter().map(gate).collect(),
        attempts: all(&page.attempts.items),
        warnings: all(&page.warnings.items),
        status: machine::Status::of(subject),
    }
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
        let mut document = serde_json::to_value(document(&subject)).unwrap();
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
        assert!(text.len() <= fit::LIMIT && text.contains("older words"), "{}", text.len());
    }
}
