//! The sticky status comment: what a tired reviewer needs first, and the same facts for an agent at the end.

use minijinja::{Value, context};
use serde::Serialize;

use super::{
    answers::{self, LongAnswer},
    base_tests, causes, changes,
    check_table::{self, CheckRow},
    escalation::EscalationCard,
    excerpts::{self, ExcerptCard},
    failure_card::Failures,
    fit::{LIMIT, Shorten, Shown},
    gate_card::GateCard,
    handoff::Handoff,
    links::Links,
    memory, messages,
    model::Document,
    refusal,
    sanitize::{Markdown, fence, short_text, text},
    steps,
    summary::{self, Iteration},
    templates,
    verdict::{self, Subject},
    warning, what_if, words,
};
use loopgate_core::{
    Login,
    deciding::{CheckView, Decision, NextAction, View},
    memory::ToldFix,
    observed::Snapshot,
    policy::Policy,
    state::{AttemptDigest, CapabilityProgress, Skip},
    verdict::{CheckStanding, DistanceToSuccess, RuleOutcome, RuleView},
};

/// The hidden first line by which the comment is found again.
pub const STATUS_MARKER: &str = "<!-- loopgate:status -->";

/// What `status.md` shows, and what `job_summary.md` and `artifact.md` show of it.
#[derive(Clone, Debug, Serialize)]
pub struct StatusModel {
    icon: &'static str,
    verdict: String,
    /// Where it stands among the stages; only the artifact shows it, and the iteration.
    stage_line: Markdown,
    configuration: Option<Markdown>,
    /// What is to be done.
    next: Vec<Markdown>,
    /// What comes after that.
    later: Vec<Markdown>,
    escalation: Option<EscalationCard>,
    /// Causes that stop nothing, each with what was recognised.
    flags: Vec<(&'static str, String)>,
    tampering: Shown<Markdown>,
    /// Of tests as they were before the change.
    accepted: Vec<Value>,
    base_tests_head: Option<String>,
    base_tests: Shown<Markdown>,
    /// What fixed errors in the edited files before.
    known_here: Shown<Markdown>,
    /// What earlier runs would have come to under the configuration that it proposes.
    proposed: Option<Markdown>,
    /// Those that do not pass.
    checks: Shown<CheckRow>,
    passed: Shown<CheckRow>,
    passed_head: String,
    coverage: Option<Markdown>,
    compare: Option<Markdown>,
    skips: Shown<Skip>,
    failures: Failures,
    excerpts: Shown<ExcerptCard>,
    gates: Shown<GateCard>,
    distance: Option<DistanceToSuccess>,
    handoff: Option<Handoff>,
    capabilities: Option<CapabilityProgress>,
    unmatched: Shown<Markdown>,
    replies: Shown<Markdown>,
    answers: Shown<LongAnswer>,
    warnings: Shown<Markdown>,
    iteration: Option<Markdown>,
    state_place: Markdown,
    head: Markdown,
    /// Only the comment and the check run have the document for programs.
    #[serde(serialize_with = "fenced")]
    machine: Option<Document>,
    /// Places that the check run has no annotation for.
    not_annotated: usize,
    /// Only the artifact has the title and each rule.
    title: Markdown,
    rules: Vec<Value>,
}

fn fenced<S: serde::Serializer>(document: &Option<Document>, serializer: S) -> Result<S::Ok, S::Error> {
    document.as_ref().map(Document::fenced).serialize(serializer)
}

/// The whole comment, within GitHub's limit.
pub(super) fn comment(subject: &Subject<'_>, model: StatusModel) -> String {
    let shortest = format!("{STATUS_MARKER}\n### {} {}\n", model.icon, text(&model.verdict));
    let model = StatusModel { machine: Some(Document::of(subject)), ..model };
    let limit = LIMIT - subject.policy.state.taken_of_comment();
    templates::fitted("status.md", model, limit).unwrap_or(shortest)
}

/// The summary of `loopgate / verify`; none if even the shortest is too long.
pub(super) fn check_summary(subject: &Subject<'_>, model: StatusModel, not_annotated: usize) -> Option<String> {
    let model = StatusModel { machine: Some(Document::of(subject)), not_annotated, ..model };
    templates::fitted("check_run/verify.md", model, LIMIT)
}

/// The summary of a workflow job, with the tables of the status comment: Markdown for `GITHUB_STEP_SUMMARY`, at most
/// [`LIMIT`] bytes, as the platform takes 1 MiB for all steps of a job together.
pub fn job_summary(decision: &Decision, snapshot: &Snapshot, policy: &Policy) -> String {
    let subject = Subject { decision, snapshot, policy };
    let model = StatusModel::of(&subject);
    let shortest = model.verdict.clone();
    templates::fitted("job_summary.md", model, LIMIT).unwrap_or(shortest)
}

impl StatusModel {
    pub(super) fn of(subject: &Subject<'_>) -> Self {
        let Subject { decision, snapshot, .. } = *subject;
        let (view, links) = (&decision.view, Links::of(snapshot));
        let verdict = verdict::verdict(subject);
        let head = snapshot.pull_request.head.sha;
        let shown_gates = view.gates.iter().filter(|gate| GateCard::is_worth_showing(gate));
        let stage = if subject.is_single() { view.evidence_stage } else { view.stage };
        let steps = steps::next_steps(subject);
        // Of a retry, what is to be done stands with the failures, and the steps say what follows.
        let is_retry = matches!(decision.action, NextAction::Retry { .. });
        let (next, later) = if is_retry { (Vec::new(), steps) } else { (steps, Vec::new()) };
        let failures = Failures::of(view, &links, 20);
        // What was put off stands with what stays behind after the merge.
        let todos = if decision.action == NextAction::Complete { Shown::default() } else { failures.todos };
        let (base_tests_head, base_tests) = base_tests::shown(snapshot).unzip();
        let (passed, checks): (Vec<_>, Vec<_>) = view.checks.iter().partition(|check| check_table::passes(check));
        Self {
            icon: verdict.icon,
            verdict: verdict.words,
            stage_line: Markdown::ours(verdict::stage_line(stage)),
            configuration: super::configuration::note(&view.origin),
            next,
            later,
            escalation: view.escalation.as_ref().map(EscalationCard::of),
            flags: view.flags.values().map(|it| (words::trigger(it.trigger()), causes::cause_in_words(it))).collect(),
            tampering: Shown::first(20, &view.tampering, |one| base_tests::weakened(one, snapshot)),
            accepted: decision.next.accepted_by().take(20).map(|(by, what)| accepted(by, what, snapshot)).collect(),
            base_tests_head,
            base_tests: base_tests.unwrap_or_default(),
            known_here: Shown::first(3, known_here(subject), memory::known_here),
            proposed: decision.next.proposed.as_ref().filter(|tried| tried.runs > 0).map(what_if::proposed),
            passed_head: check_table::passed_head(passed.len(), checks.len()),
            passed: Shown::first(100, passed, |check| check_table::row(check, &links)),
            checks: Shown::first(100, checks, |check| check_table::row(check, &links)),
            coverage: changes::coverage_line(view, &links),
            compare: view.compare.as_ref().and_then(changes::compare_line),
            skips: Shown::first(30, skips(view), Skip::clone),
            failures: Failures { todos, ..failures },
            excerpts: excerpts::cards(decision),
            gates: Shown::first(40, shown_gates, |gate| GateCard::new(gate, subject, &links)),
            distance: view.distance.clone(),
            handoff: matches!(decision.action, NextAction::Complete).then(|| Handoff::of(subject, &links)),
            capabilities: capabilities(subject).cloned(),
            replies: Shown::first(20, view.replies.iter().rev(), super::reply::line),
            unmatched: unmatched(subject),
            answers: answers::answers(subject).collect(),
            warnings: Shown::first(30, &view.warnings, |warning| warning::sentence(warning, &links)),
            iteration: Iteration::of(subject).map(|iteration| fence("text", &iteration.head().join("\n"))),
            state_place: summary::state_place(subject).in_markdown(),
            head: links.commit(head),
            machine: None,
            not_annotated: 0,
            title: Markdown::default(),
            rules: Vec::new(),
        }
    }
}

/// Told until something failed: then each failure has what is known of it.
fn known_here<'a>(subject: &Subject<'a>) -> impl Iterator<Item = &'a ToldFix> {
    let next = &subject.decision.next;
    let is_told = next.attempts.iter().all(AttemptDigest::passes);
    next.known_here.iter().flatten().filter(move |_| is_told)
}

/// "olga accepted that tests/a.py has 1 test fewer (test_sums)."
fn accepted(by: &Login, what: &str, snapshot: &Snapshot) -> Value {
    context! { by => by.as_str(), is_author => *by == snapshot.pull_request.author.login, what }
}

impl Shorten for StatusModel {
    /// The document first, which repeats what people read; then traces: a reader who needs one finds it in the log. Open
    /// gates last, since people wait for them, and the rules that an artifact lists.
    fn shorten(&mut self) -> bool {
        self.machine.as_mut().is_some_and(Document::shorten)
            || self.failures.drop_traces()
            || self.failures.cards.keep(10)
            || self.answers.halve()
            || self.warnings.halve()
            || self.unmatched.halve()
            || self.replies.halve()
            || self.handoff.as_mut().is_some_and(Handoff::shorten)
            || self.skips.halve()
            || self.base_tests.halve()
            || self.tampering.halve()
            || self.failures.todos.halve()
            || self.excerpts.halve()
            || self.failures.cards.halve()
            || self.passed.halve()
            || self.checks.halve()
            || self.gates.halve()
            || !std::mem::take(&mut self.rules).is_empty()
    }
}

/// Words about approving that name no gate are explained by the gate that waits for one.
pub(super) fn unmatched(subject: &Subject<'_>) -> Shown<Markdown> {
    let view = &subject.decision.view;
    let Some(report) = view.gates.iter().find(|gate| gate.is_waiting()) else { return Shown::default() };
    let links = Links::of(subject.snapshot);
    refusal::lines(&view.unmatched, &refusal::Gate::of(report, subject, &links))
}

/// Skips that no check's line shows.
fn skips(view: &View) -> impl Iterator<Item = &Skip> {
    let tells = |check: &CheckView| matches!(check.standing, CheckStanding::Skipped { .. });
    view.skips.iter().filter(move |skip| !view.checks.iter().any(|check| check.name == skip.check && tells(check)))
}

/// Where capabilities are what it waits for, the verdict and the next step have said it.
fn capabilities<'a>(subject: &Subject<'a>) -> Option<&'a CapabilityProgress> {
    let said = matches!(subject.decision.action, NextAction::WaitForPush { .. });
    Some(&subject.decision.view.capabilities).filter(|progress| progress.total > 0 && !said)
}

/// Bytes: the state ref grows by at most 20 KB for an attempt, of which this is one file.
const ARTIFACT_LIMIT: usize = 12_000;
/// Rules that the report of a state lists.
const RULES: usize = 60;

/// `artifact.md` of the state ref: the report of the last evaluation, every rule included.
pub(super) fn artifact(subject: &Subject<'_>, model: StatusModel) -> String {
    let (title, shortest) = (short_text(&subject.snapshot.pull_request.title, 200), model.verdict.clone());
    let rules = subject.decision.view.evaluation.rules.iter().take(RULES).map(rule).collect();
    templates::fitted("artifact.md", StatusModel { title, rules, ..model }, ARTIFACT_LIMIT).unwrap_or(shortest)
}

fn rule(rule: &RuleView) -> Value {
    context! {
        id => rule.id.as_str(),
        severity => messages::word("severity", &messages::variant_name(&rule.severity)),
        weight => rule.weight,
        outcome => match &rule.outcome {
            RuleOutcome::Passed => Markdown::ours("✅ passed"),
            // What to do about it stands above.
            RuleOutcome::Failed(_) => Markdown::ours("❌ failed"),
            RuleOutcome::Unknown => Markdown::ours("➖ not known"),
        },
    }
}
