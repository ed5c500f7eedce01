//! One failure as people need it: where, what, do what, why, and how to see it fail.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    fit::{Shortened, Shown},
    links::{Links, place},
    sanitize::{Markdown, clip_lines, code, fence, line, short_text, summary_code},
    words,
};
use loopgate_core::{deciding::View, evidence::Failure, failure::FeedbackLine, verdict::FailureView};

/// What `parts/failures.md` shows of one failure, collapsed.
#[derive(Clone, Debug, Serialize)]
pub struct FailureCard {
    /// For the `<summary>` line, where no Markdown is read.
    pub title: Markdown,
    pub place: Option<Markdown>,
    pub check: String,
    pub kind: String,
    /// "flaky", "fails on the base too": why it is not held against the pull request.
    pub blame: Option<&'static str>,
    pub message: Option<Markdown>,
    pub expected: Option<Markdown>,
    pub actual: Option<Markdown>,
    pub action: Markdown,
    pub reason: Option<Markdown>,
    pub reproduce: Option<Markdown>,
    pub cause: Markdown,
    pub related: Option<Markdown>,
    pub seen_before: Vec<Markdown>,
    pub trace: Option<Markdown>,
}

/// One thing to do that no failure stands for: a reviewer's words, a rule.
#[derive(Clone, Debug, Serialize)]
pub struct Todo {
    pub place: Markdown,
    pub problem: Markdown,
    pub action: Markdown,
    pub reason: Markdown,
    pub reproduce: Option<Markdown>,
}

/// Failures and other feedback of a head, the most telling first.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Failures {
    pub cards: Shown<FailureCard>,
    pub todos: Shown<Todo>,
    /// Failures the tools reported without keeping their texts.
    pub not_kept: u64,
}

impl Failures {
    pub fn of(view: &View, feedback: &[FeedbackLine], links: &Links, most: usize) -> Self {
        let places = places(view);
        let todos = feedback.iter().filter(|line| failure_of(line, &places).is_none());
        Self {
            cards: Shown::first(most, &view.failures, |failure| {
                let feedback = feedback.iter().find(|line| speaks_of(line, failure));
                card(failure, feedback, links)
            }),
            todos: Shown::first(most, todos, |line| todo(line, links)),
            not_kept: not_kept(view),
        }
    }

    /// Traces go first: whoever needs one finds it in the log.
    pub fn drop_traces(&mut self) -> Shortened {
        let mut shortened = Shortened::NothingLeft;
        for card in &mut self.cards.items {
            if card.trace.take().is_some() {
                shortened = Shortened::Yes;
            }
        }
        shortened
    }
}

fn not_kept(view: &View) -> u64 {
    use loopgate_core::verdict::CheckStanding::Done;
    view.checks
        .iter()
        .map(|check| if let Done(evidence) = &check.standing { evidence.failures_not_kept } else { 0 })
        .sum()
}

/// Failures by their place: the key feedback is joined by.
fn places(view: &View) -> BTreeMap<String, Vec<&FailureView>> {
    let mut places: BTreeMap<String, Vec<&FailureView>> = BTreeMap::new();
    for failure in &view.failures {
        places.entry(place_of_failure(failure)).or_default().push(failure);
    }
    places
}

fn failure_of<'a>(line: &FeedbackLine, places: &BTreeMap<String, Vec<&'a FailureView>>) -> Option<&'a FailureView> {
    places.get(bare(&line.location))?.iter().find(|failure| names(line, failure)).copied()
}

pub(super) fn speaks_of(line: &FeedbackLine, failure: &FailureView) -> bool {
    bare(&line.location) == place_of_failure(failure) && names(line, failure)
}

/// The place without the function that stands in it: `src/cart.ts:9` of ``src/cart.ts:9 in `total` ``.
fn bare(location: &str) -> &str {
    location.split_once(" in `").map_or(location, |(place, _)| place)
}

/// Where several failures share a place, the test's name or the fix tells which one is meant.
fn names(line: &FeedbackLine, failure: &FailureView) -> bool {
    let test = failure.failure.test_name.as_deref();
    test.is_none_or(|name| line.problem.contains(name) || line.action == failure.fix_strategy)
}

fn place_of_failure(failure: &FailureView) -> String {
    failure.failure.location().map_or_else(|| failure.check.to_string(), |(file, line)| place(file, line))
}

fn card(view: &FailureView, feedback: Option<&FeedbackLine>, links: &Links) -> FailureCard {
    let failure = &view.failure;
    let sides = failure.expected.as_deref().zip(failure.actual.as_deref());
    // A message that shows both sides needs no line that shows them again.
    let sides = sides.filter(|(expected, actual)| {
        !(failure.error_message.contains(expected) && failure.error_message.contains(actual))
    });
    FailureCard {
        title: title(view),
        place: failure.location().map(|(file, line)| links.place(file, line)),
        check: view.check.to_string(),
        kind: failure.error_class.as_deref().map_or_else(|| failure.error_type.as_str().to_owned(), line),
        blame: words::blame(view.blame),
        message: message(failure),
        expected: sides.map(|(expected, _)| code(expected)),
        actual: sides.map(|(_, actual)| code(actual)),
        action: words::sentence(feedback.map_or(&view.fix_strategy, |feedback| &feedback.action), 400),
        reason: feedback.map(|feedback| words::sentence(&feedback.reason, 400)).filter(|reason| !reason.is_empty()),
        reproduce: feedback.and_then(|feedback| feedback.reproduce.as_deref()).map(code),
        cause: cause(view),
        related: related(view),
        seen_before: view.patterns_matched.iter().take(3).map(|pattern| short_text(pattern, 300)).collect(),
        trace: trace(failure),
    }
}

/// The test, else what the tool calls the error, with the place.
fn title(view: &FailureView) -> Markdown {
    let failure = &view.failure;
    let first_line = failure.error_message.lines().next().unwrap_or_default();
    let what = failure.test_name.as_deref().filter(|name| !name.trim().is_empty()).unwrap_or(first_line);
    let what = if what.trim().is_empty() { view.check.as_str() } else { what };
    let at = failure.location().map(|(file, line)| format!(" at {}", summary_code(&place(file, line))));
    Markdown::ours(format!("{}{}", summary_code(what), at.unwrap_or_default()))
}

fn message(failure: &Failure) -> Option<Markdown> {
    let message = failure.error_message.trim();
    (!message.is_empty()).then(|| fence("text", &clip_lines(message, 15)))
}

/// The trace, unless it only repeats the message.
fn trace(failure: &Failure) -> Option<Markdown> {
    let trace = failure.stack_trace.as_deref()?;
    let repeats = |line: &&str| {
        let line = line.trim();
        line.is_empty() || line.starts_with("note: run with") || failure.error_message.contains(line)
    };
    (trace.lines().filter(|line| !repeats(line)).count() > 1).then(|| fence("text", &clip_lines(trace, 24)))
}

fn cause(view: &FailureView) -> Markdown {
    Markdown::ours(format!(
        "{} ({}, confidence {:.1}).",
        short_text(view.root_cause.trim_end_matches('.'), 300),
        words::category(view.category),
        view.confidence.clamp(0.0, 1.0)
    ))
}

fn related(view: &FailureView) -> Option<Markdown> {
    let names: Vec<String> = view.related.iter().map(|name| code(name).into_string()).collect();
    (!names.is_empty()).then(|| Markdown::ours(words::few(&names, 5)))
}

/// What is remembered of failures like these, one line each, at most 10.
pub fn seen_before(failures: &[FailureView]) -> Markdown {
    let mut seen: Vec<String> = Vec::new();
    for pattern in failures.iter().flat_map(|view| &view.patterns_matched) {
        let line = format!("- {}", short_text(pattern, 300));
        if seen.len() < 10 && !seen.contains(&line) {
            seen.push(line);
        }
    }
    Markdown::ours(seen.join("\n"))
}

fn todo(feedback: &FeedbackLine, links: &Links) -> Todo {
    Todo {
        place: place_of(&feedback.location, links),
        problem: words::sentence(&feedback.problem, 400),
        action: words::sentence(&feedback.action, 400),
        reason: words::sentence(&feedback.reason, 400),
        reproduce: feedback.reproduce.as_deref().map(code),
    }
}

/// A location that reads `file:line` is linked.
fn place_of(location: &str, links: &Links) -> Markdown {
    match location.rsplit_once(':') {
        Some((file, number)) if let Ok(line) = number.parse() => links.place(file, Some(line)),
        _ => code(location),
    }
}
