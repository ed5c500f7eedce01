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
    fit::{self, LIMIT, Shorten, Shortened, Shown, shorten_first},
    gate_card::GateCard,
    handoff::Handoff,
    links::Links,
    memory, messages,
    model::Document,
    refusal,
    sanitize::{Markdown, code, fence, short_text, text},
    steps,
    summary::{self, Iteration},
    templates,
    verdict::{self, Subject},
    warning, what_if,
};
use loopgate_core::{
    Login,
    attempts::Cause,
    deciding::{CheckView, Decision, NextAction, View},
    memory::ToldFix,
    observed::Snapshot,
    policy::Policy,
    state::{AttemptDigest, Skip},
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
    flags: Vec<Markdown>,
    tampering: Shown<Markdown>,
    /// Of tests as they were before the change.
    accepted: Vec<Markdown>,
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
    skips: Shown<Markdown>,
    failures: Failures,
    excerpts: Shown<ExcerptCard>,
    gates: Shown<GateCard>,
    distance: Option<DistanceToSuccess>,
    handoff: Option<Handoff>,
    capabilities: Option<Markdown>,
    unmatched: Shown<Markdown>,
    replies: Shown<Markdown>,
    answers: Shown<LongAnswer>,
    warnings: Shown<Markdown>,
    iteration: Option<Markdown>,
    state_place: Markdown,
    head: Markdown,
}

/// The model beside the document for programs.
#[derive(Serialize)]
pub(super) struct Page {
    marker: Markdown,
    #[serde(flatten)]
    model: StatusModel,
    #[serde(serialize_with = "fenced")]
    machine: Document,
}

fn fenced<S: serde::Serializer>(document: &Document, serializer: S) -> Result<S::Ok, S::Error> {
    document.fenced().serialize(serializer)
}

/// The whole comment, within GitHub's limit.
pub(super) fn comment(subject: &Subject<'_>, model: StatusModel) -> String {
    let mut page = Page::of(subject, model);
    let limit = LIMIT - subject.policy.state.taken_of_comment();
    fit::fit(&mut page, limit, |page| templates::render("status.md", page)).unwrap_or_else(|| {
        let verdict = text(&page.model.verdict);
        format!("{STATUS_MARKER}\n### {} {verdict}\n", page.model.icon)
    })
}

/// The summary of a workflow job, with the tables of the status comment: Markdown for `GITHUB_STEP_SUMMARY`, at most
/// [`LIMIT`] bytes, as the platform takes 1 MiB for all steps of a job together.
pub fn job_summary(decision: &Decision, snapshot: &Snapshot, policy: &Policy) -> String {
    let subject = Subject { decision, snapshot, policy };
    let mut model = StatusModel::of(&subject);
    fit::fit(&mut model, LIMIT, |model| templates::render("job_summary.md", model)).unwrap_or(model.verdict)
}

impl Page {
    pub(super) fn of(subject: &Subject<'_>, model: StatusModel) -> Self {
        Self { marker: Markdown::ours(STATUS_MARKER), model, machine: Document::of(subject) }
    }
}

impl Shorten for Page {
    /// The machine-readable part repeats what people read, so it goes first.
    fn shorten(&mut self) -> Shortened {
        shorten_first(self, &[|page| page.machine.shorten(), |page| page.model.shorten()])
    }
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
            flags: view.flags.values().map(flag_line).collect(),
            tampering: Shown::first(20, &view.tampering, |one| base_tests::weakened(one, snapshot)),
            accepted: decision
                .next
                .accepted_by()
                .take(20)
                .map(|(by, what)| accepted_line(by, what, snapshot))
                .collect(),
            base_tests_head,
            base_tests: base_tests.unwrap_or_default(),
            known_here: Shown::first(3, known_here(subject), memory::known_here),
            proposed: decision.next.proposed.as_ref().filter(|tried| tried.runs > 0).map(what_if::proposed),
            passed_head: check_table::passed_head(passed.len(), checks.len()),
            passed: Shown::first(100, passed, |check| check_table::row(check, &links)),
            checks: Shown::first(100, checks, |check| check_table::row(check, &links)),
            coverage: changes::coverage_line(view, &links),
            compare: view.compare.as_ref().and_then(changes::compare_line),
            skips: Shown::first(30, skips(view), skip_line),
            failures: Failures { todos, ..failures },
            excerpts: excerpts::cards(decision),
            gates: Shown::first(40, shown_gates, |gate| GateCard::new(gate, subject, &links)),
            distance: view.distance.clone(),
            handoff: matches!(decision.action, NextAction::Complete).then(|| Handoff::of(subject, &links)),
            capabilities: capabilities_line(subject),
            replies: Shown::first(20, view.replies.iter().rev(), super::reply::line),
            unmatched: unmatched(subject),
            answers: answers::answers(subject).into_iter().collect(),
            warnings: Shown::first(30, &view.warnings, |warning| warning::sentence(warning, &links)),
            iteration: Iteration::of(subject).map(|iteration| fence("text", &iteration.head().join("\n"))),
            state_place: summary::state_place(subject).in_markdown(),
            head: links.commit(head),
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
fn accepted_line(by: &Login, what: &str, snapshot: &Snapshot) -> Markdown {
    let by_author = if *by == snapshot.pull_request.author.login { ", the only person with write access," } else { "" };
    Markdown::ours(format!("{}{by_author} accepted that {}.", short_text(by.as_str(), 40), short_text(what, 300)))
}

/// A cause that stops nothing, with what was recognised.
fn flag_line(cause: &Cause) -> Markdown {
    let recognised = short_text(&causes::cause_in_words(cause), 300);
    Markdown::ours(format!("{}: {recognised}.", super::words::trigger(cause.trigger())))
}

impl Shorten for StatusModel {
    /// Traces first: a reader who needs one finds it in the log. Open gates last: people wait for them.
    fn shorten(&mut self) -> Shortened {
        shorten_first(
            self,
            &[
                |model| model.failures.drop_traces(),
                |model| model.failures.cards.keep(10),
                |model| model.answers.halve(),
                |model| model.warnings.halve(),
                |model| model.unmatched.halve(),
                |model| model.replies.halve(),
                |model| model.handoff.as_mut().map_or(Shortened::NothingLeft, Handoff::shorten),
                |model| model.skips.halve(),
                |model| model.base_tests.halve(),
                |model| model.tampering.halve(),
                |model| model.failures.todos.halve(),
                |model| model.excerpts.halve(),
                |model| model.failures.cards.halve(),
                |model| model.passed.halve(),
                |model| model.checks.halve(),
                |model| model.gates.halve(),
            ],
        )
    }
}

/// Words about approving that name no gate are explained by the gate that waits for one.
pub(super) fn unmatched(subject: &Subject<'_>) -> Shown<Markdown> {
    let view = &subject.decision.view;
    let Some(report) = view.gates.iter().find(|gate| gate.is_waiting()) else { return Shown::default() };
    let approve_by = super::gate_card::approve_by(subject.policy, &report.name);
    let links = &Links::of(subject.snapshot);
    let gate = refusal::Gate { report, approve_by, head: subject.snapshot.pull_request.head.sha, links };
    refusal::lines(&view.unmatched, &gate)
}

/// Skips that no check's line shows.
fn skips(view: &View) -> impl Iterator<Item = &Skip> {
    let tells = |check: &CheckView| matches!(check.standing, CheckStanding::Skipped { .. });
    view.skips.iter().filter(move |skip| !view.checks.iter().any(|check| check.name == skip.check && tells(check)))
}

fn skip_line(skip: &Skip) -> Markdown {
    Markdown::ours(format!(
        "{} skipped by {}: {}",
        code(skip.check.as_str()),
        super::words::person(&skip.by),
        short_text(&skip.reason, 200)
    ))
}

/// Where capabilities are what it waits for, the verdict and the next step have said it.
fn capabilities_line(subject: &Subject<'_>) -> Option<Markdown> {
    let progress = &subject.decision.view.capabilities;
    let said = matches!(subject.decision.action, NextAction::WaitForPush { .. });
    let current =
        progress.current.as_deref().map(|name| format!(", next: {}", short_text(name, 200))).unwrap_or_default();
    (progress.total > 0 && !said).then(|| {
        Markdown::ours(format!("{} of {} capabilities are done{current}.", progress.completed, progress.total))
    })
}

/// Bytes: the state ref grows by at most 20 KB for an attempt, of which this is one file.
const ARTIFACT_LIMIT: usize = 12_000;
/// Rules that the report of a state lists.
const RULES: usize = 60;

#[derive(Serialize)]
struct Artifact {
    #[serde(flatten)]
    status: StatusModel,
    title: Markdown,
    rules: Vec<Value>,
}

impl Shorten for Artifact {
    fn shorten(&mut self) -> Shortened {
        match self.status.shorten() {
            Shortened::Yes => Shortened::Yes,
            Shortened::NothingLeft if self.rules.is_empty() => Shortened::NothingLeft,
            Shortened::NothingLeft => {
                self.rules.clear();
                Shortened::Yes
            }
        }
    }
}

/// `artifact.md` of the state ref: the report of the last evaluation, every rule included.
pub(super) fn artifact(subject: &Subject<'_>, status: StatusModel) -> String {
    let rules = &subject.decision.view.evaluation.rules;
    let mut artifact = Artifact {
        status,
        title: short_text(&subject.snapshot.pull_request.title, 200),
        rules: rules.iter().take(RULES).map(rule).collect(),
    };
    fit::fit(&mut artifact, ARTIFACT_LIMIT, |artifact| templates::render("artifact.md", artifact))
        .unwrap_or(artifact.status.verdict)
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
