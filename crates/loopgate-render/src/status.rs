//! The sticky status comment: what a tired reviewer needs first, and the same facts for an agent at the end. The texts
//! of the check run, the job and the state ref show parts of it.

use std::cell::LazyCell;

use minijinja::{Value, context, value::Serde};

use super::{
    Brevity, Feedback, GateCard, Iteration, LIMIT, Links, Markdown, Shown, Subject, answers,
    attempt_row, check_table, escalation, excerpts, failure_card, fence, items,
    messages::{self, entry},
    refusal, short_text, steps, summary,
    texts::{Lists, Parts, fitted},
    verdict, warning, words,
};
use loopgate_core::{
    concerns::{
        tampering::{Tampering, Weight},
        verdict::{RuleOutcome, feedback::sentence},
    },
    deciding::{Decision, NextAction},
    evidence::MOST_EXCERPTS,
    observed::Snapshot,
    policy::{Policy, Severity},
    result::CheckState,
    state::{AttemptDigest, Skip},
};

/// The hidden first line by which the comment is found again.
pub const STATUS_MARKER: &str = "<!-- loopgate:status -->";

/// The whole comment, within GitHub's limit.
pub(super) fn comment(subject: &Subject<'_>) -> String {
    let limit = LIMIT - subject.policy.state.taken_of_comment();
    with_document(subject, "status.md", limit, 0)
}

/// A text with the document for programs. `not_annotated` places have no annotation.
pub(super) fn with_document(
    subject: &Subject<'_>,
    name: &str,
    limit: usize,
    not_annotated: usize,
) -> String {
    let (document, whole) = subject
        .document
        .get_or_init(|| Feedback::with_text(subject));
    // It repeats what people read, so it is the first to be shortened.
    let short = LazyCell::new(|| {
        let mut document = document.clone();
        while document.shorten() {}
        document.fenced()
    });
    fitted(name, limit, |brevity| {
        let machine = if brevity.0 > 0 { &*short } else { whole };
        context! { machine => Serde(machine), not_annotated, ..Parts::of(subject, brevity) }
    })
}

/// The summary of a workflow job, with the tables of the status comment: Markdown for `GITHUB_STEP_SUMMARY`, at most
/// [`LIMIT`] bytes, as the platform takes 1 MiB for all steps of a job together.
pub fn job_summary(decision: &Decision, snapshot: &Snapshot, policy: &Policy) -> String {
    let subject = Subject::new(decision, snapshot, policy);
    fitted("job_summary.md", LIMIT, |brevity| {
        Parts::of(&subject, brevity)
    })
}

/// Bytes: the state ref grows by at most 20 KB for an attempt, of which this is one file.
const ARTIFACT_LIMIT: usize = 12_000;
/// Rules that the report of a state lists.
const RULES: usize = 60;

/// `artifact.md` of the state ref: the report of the last evaluation, every rule included.
pub(super) fn artifact(subject: &Subject<'_>) -> String {
    fitted("artifact.md", ARTIFACT_LIMIT, |brevity| {
        Parts::of(subject, brevity)
    })
}

impl Parts {
    fn new(subject: &Subject<'_>) -> Self {
        let links = Links::of(subject.snapshot);
        let (whole, lists) = (Self::whole(subject, &links), Self::lists(subject, &links));
        let cards = failure_card::cards(&subject.decision.view, &links);
        Self {
            links,
            whole,
            lists,
            cards,
        }
    }

    /// What is never shortened.
    fn whole(subject: &Subject<'_>, links: &Links) -> Value {
        let Subject {
            decision, snapshot, ..
        } = *subject;
        let (view, next) = (&decision.view, &decision.next);
        let (icon, verdict) = verdict::verdict(subject);
        let stage = if subject.is_single() {
            view.evidence_stage
        } else {
            view.stage
        };
        // Of a retry, what is to be done stands with the failures, and the steps have what follows.
        let steps = steps::next_steps(subject);
        let is_retry = matches!(decision.action, NextAction::Retry { .. });
        let (due, later) = if is_retry {
            (Vec::new(), steps)
        } else {
            (steps, Vec::new())
        };
        // Where it waits for capabilities, the verdict and the next step name them.
        let names_capabilities = matches!(decision.action, NextAction::WaitForPush { .. });
        let capabilities =
            Some(&view.capabilities).filter(|progress| progress.total > 0 && !names_capabilities);
        let flags = view.flags.iter().map(|(trigger, cause)| {
            (
                words::trigger(*trigger),
                messages::reason(entry::Cause(cause)),
            )
        });
        // Until something failed: then each failure has what is known of it.
        let known_here = next
            .concerns
            .memory
            .iter()
            .flatten()
            .filter(|_| next.attempts.counted.iter().all(AttemptDigest::passes));
        let known_here = known_here.map(|fix| {
            messages::markdown(entry::Memory::KnownHere, context! { fix => Serde(fix) })
        });
        let author = &snapshot.pull_request.author.login;
        let accepted = next.people.accepted_by();
        let accepted = accepted
            .map(|(by, what)| context! { by => by.as_str(), is_author => by == author, what });
        context! {
            title => short_text(&snapshot.pull_request.title, 200),
            icon,
            verdict,
            stage_line => Markdown::ours(verdict::stage_line(stage)),
            configuration => warning::configuration_note(&view.origin),
            next => due,
            later,
            escalation => view.escalation.as_ref().map(escalation::card),
            // Causes that stop nothing, each with what was recognised.
            flags => flags.collect::<Vec<_>>(),
            accepted => accepted.take(20).collect::<Vec<_>>(),
            base_tests_head => check_table::base_tests_head(snapshot),
            // What fixed errors in the edited files before.
            known_here => Shown::first(3, known_here, |line| line),
            // What earlier runs would have come to under the configuration that it proposes.
            proposed => next.concerns.configuration.as_ref().filter(|tried| tried.runs > 0).map(|it| messages::markdown(entry::Proposed::Line, Serde(it).into())),
            coverage => check_table::coverage_line(view, links),
            compare => view.compare.as_ref().and_then(check_table::compare_line),
            flaky => check_table::flaky_line(view),
            distance => Serde(subject.distance()),
            capabilities => Serde(capabilities),
            iteration => Iteration::of(subject).map(|iteration| fence("text", &iteration.head.join("\n"))),
            state_place => summary::state_place_in_markdown(subject),
            head => links.commit(snapshot.pull_request.head.sha),
        }
    }

    /// The lists, each with its lengths in the longest and in the shortest text.
    fn lists(subject: &Subject<'_>, links: &Links) -> Lists {
        let Subject {
            decision, snapshot, ..
        } = *subject;
        let (view, next) = (&decision.view, &decision.next);
        let mut lists = Lists::default();
        let (passed, checks): (Vec<_>, Vec<_>) = subject
            .checks()
            .partition(|(state, check)| check_table::passes(*state, check));
        let gates = subject
            .gates()
            .filter(|gate| GateCard::is_worth_showing(gate))
            // A gate that holds nothing is for the details of the check.
            .filter(|gate| !gate.is_advisory || !gate.considered.is_empty());
        // Skips that no check's line shows.
        let is_apart = |skip: &&Skip| subject.state_of(&skip.check) != Some(CheckState::Skipped);
        lists.add("answers", (10, 2), answers::answers(subject));
        lists.add(
            "rules",
            (RULES, 8),
            subject.rules().map(|rule| items::rule_line(rule, 200)),
        );
        let weakened = |one: &Tampering| check_table::weakened(one, snapshot);
        let is_named = |one: &&Tampering| one.weight == Weight::Named;
        let weakening = subject.tampering().filter(|one| !is_named(one));
        lists.add("tampering", (20, 2), weakening.map(weakened));
        let named = subject.tampering().filter(is_named);
        lists.add("edits", (10, 2), named.map(weakened));
        lists.add_shown("base_tests", (10, 2), check_table::base_tests(snapshot));
        lists.add(
            "passed",
            (100, 8),
            passed
                .into_iter()
                .map(|(state, check)| check_table::row(state, check, links)),
        );
        lists.add(
            "checks",
            (100, 8),
            checks
                .into_iter()
                .map(|(state, check)| check_table::row(state, check, links)),
        );
        lists.add("skips", (30, 2), view.skips.iter().filter(is_apart));
        lists.add_shown("excerpts", (MOST_EXCERPTS, 2), excerpts::cards(decision));
        lists.add(
            "gates",
            (40, 8),
            gates.map(|gate| GateCard::new(gate, subject, links)),
        );
        lists.add("replies", (20, 2), next.replies().rev().map(answers::line));
        lists.add_shown("unmatched", (60, 2), unmatched(subject));
        let (of_set_up, warnings): (Vec<_>, Vec<_>) = subject
            .warnings()
            .partition(|warning| warning.is_of_set_up());
        lists.add(
            "warnings",
            (30, 2),
            warnings
                .into_iter()
                .map(|warning| warning::sentence(warning, links)),
        );
        lists.add(
            "set_up",
            (30, 2),
            of_set_up
                .into_iter()
                .map(|warning| warning::sentence(warning, links)),
        );
        lists
    }

    /// As much of it as a text of this brevity shows.
    fn of(subject: &Subject<'_>, brevity: Brevity) -> Value {
        let Self {
            links,
            whole,
            lists,
            cards,
        } = subject.parts.get_or_init(|| Self::new(subject));
        let is_over = subject.decision.action == NextAction::Complete;
        let rest = context! { ..lists.at(brevity), ..whole.clone() };
        context! {
            failures => failure_card::shown(cards, subject, brevity),
            handoff => is_over.then(|| handoff(subject, links, brevity)),
            ..rest
        }
    }
}

/// Words about approving that name no gate are explained by the gate that waits for one.
pub(super) fn unmatched(subject: &Subject<'_>) -> Shown<Markdown> {
    let Some(report) = subject.gates().find(|gate| gate.is_waiting()) else {
        return Shown::default();
    };
    refusal::lines(&subject.decision.view.unmatched, report, subject)
}

/// What stays behind after the merge: attempts, and what was put off, which are the capabilities left open, warnings
/// and notes that the merge did not wait for.
fn handoff(subject: &Subject<'_>, links: &Links, brevity: Brevity) -> Value {
    let view = &subject.decision.view;
    let open = view
        .capabilities
        .current
        .iter()
        .chain(&view.capabilities.remaining);
    let rules = subject
        .rules()
        .filter(|rule| rule.severity != Severity::Fail);
    let rules = rules.filter_map(|rule| match &rule.outcome {
        RuleOutcome::Failed(why) => Some(short_text(
            &sentence(&messages::reason(entry::Rule(why))),
            200,
        )),
        RuleOutcome::Passed | RuleOutcome::Unknown => None,
    });
    let deferred = open.map(|name| short_text(name, 200)).chain(rules);
    let attempts = &subject.decision.next.attempts.counted;
    context! {
        attempts => Shown::first(brevity.of(attempts.len(), 2), attempts, |attempt| attempt_row(attempt, links, subject.shows_scores())),
        deferred => Shown::first(brevity.of(50, 2), deferred, |line| line),
    }
}
