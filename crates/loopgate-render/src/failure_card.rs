//! One failure as people need it: what the tool reports, what to do, why, and how to see it fail. Every surface shows
//! it in these words, under its id.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use minijinja::{Value, context};

use super::{
    Brevity, Links, Markdown, Shown, Subject, causes, clip, clip_lines, code, fence,
    messages::{entry, reason},
    place, short_text, words,
};
use loopgate_core::{
    CheckName,
    concerns::verdict::{EvaluationVerdict, FailureView, FeedbackFact, feedback::sentence},
    deciding::{CheckView, NextAction, View},
    evidence::Failure,
    failure::{Blame, FeedbackLine, cut_at_sentence},
    untrusted::without_secrets,
};

/// Names of further failures with one cause.
const NAMED: usize = 3;

/// Bytes of a title that every surface shows whole.
const TITLE: usize = 160;

/// Cards of one text at most.
const MOST_CARDS: usize = 20;

/// A failure and those that share its cause.
pub(super) struct Cause<'a> {
    pub first: &'a FailureView,
    pub others: Vec<&'a FailureView>,
}

/// The failures by their causes, in their order.
pub(super) fn causes(failures: &[FailureView]) -> Vec<Cause<'_>> {
    let (mut causes, mut known): (Vec<Cause<'_>>, _) = (Vec::new(), BTreeMap::new());
    for failure in failures {
        let at = *known
            .entry((failure.blame, failure.cause))
            .or_insert(causes.len());
        match causes.get_mut(at) {
            Some(cause) => cause.others.push(failure),
            None => causes.push(Cause {
                first: failure,
                others: Vec::new(),
            }),
        }
    }
    causes
}

impl Cause<'_> {
    /// "39 more fail in the same way: `b`, `c`, `d` and 36 more", each named by `quote`.
    pub fn others(&self, quote: impl Fn(&str) -> String) -> Option<String> {
        let names: Vec<String> = self.other_names().map(|name| quote(&name)).collect();
        let fail = words::plural(names.len(), "more fails", "more fail");
        (!names.is_empty())
            .then(|| format!("{fail} in the same way: {}", words::few(&names, NAMED)))
    }

    /// What each failure but the first is called.
    pub fn other_names(&self) -> impl Iterator<Item = String> {
        let mut alike: BTreeMap<(&CheckName, String), usize> = BTreeMap::new();
        for view in self.others.iter().chain([&self.first]) {
            *alike.entry((&view.check, name(view))).or_default() += 1;
        }
        // A name that stands for several failures needs the job beside it, or the place.
        self.others.iter().map(move |other| {
            let name = name(other);
            let check = (other.check != self.first.check && name != other.check.as_str())
                .then(|| other.check.to_string());
            let is_shared = alike
                .get(&(&other.check, name.clone()))
                .is_some_and(|alike| *alike > 1);
            let place = || {
                other
                    .failure
                    .location()
                    .map(|(file, line)| place(file, line))
                    .filter(|place| *place != name)
            };
            let job = is_shared
                .then(|| {
                    other
                        .failure
                        .job
                        .as_deref()
                        .map(|job| clip(job, 100).into_owned())
                        .or_else(place)
                })
                .flatten();
            let beside: Vec<String> = check.into_iter().chain(job).collect();
            if beside.is_empty() {
                name
            } else {
                format!("{name} ({})", beside.join(", "))
            }
        })
    }
}

/// The test, else the place, else the check.
fn name(view: &FailureView) -> String {
    let place = || {
        view.failure
            .location()
            .map(|(file, line)| place(file, line))
    };
    let test = view
        .failure
        .test_name
        .clone()
        .filter(|name| !name.trim().is_empty());
    test.or_else(place)
        .unwrap_or_else(|| view.check.to_string())
}

/// The title, which is the test, else the first line of what its tool reports; and what the tool reports, without what
/// the title has.
pub(super) fn title_and_message(view: &FailureView) -> (String, String) {
    let (reported, test) = (view.failure.reported(), view.failure.test_name.as_deref());
    let message = reported.trim();
    let named = [
        test.unwrap_or_default(),
        message.lines().next().unwrap_or_default(),
    ];
    let title = named
        .into_iter()
        .find(|name| !name.trim().is_empty())
        .unwrap_or(view.check.as_str());
    let rest = message
        .strip_prefix(title)
        .filter(|_| test.is_none() && title.len() <= TITLE);
    (
        title.to_owned(),
        rest.unwrap_or(message)
            .trim_matches(['\r', '\n'])
            .to_owned(),
    )
}

/// Reasons and commands that a text already has: those of one tool are mostly alike, and are shown once.
pub(super) type ShownTexts<'a> = BTreeSet<&'a str>;

/// Our lines about a failure beside the tool's own message, in the order in which they are read.
pub(super) fn advice<'a>(
    view: &'a FailureView,
    shown: &mut ShownTexts<'a>,
) -> Vec<(&'static str, &'a str)> {
    let line = &view.feedback;
    // What is fixed elsewhere, or by itself, asks nothing of the reader. Nor does an action that repeats the assertion.
    let asks = !matches!(view.blame, Blame::Base | Blame::Flaky) && !view.repeats_sides;
    let reason = Some(line.reason.as_str()).filter(|reason| asks && shown.insert(reason));
    let command = line
        .reproduce
        .as_deref()
        .filter(|command| shown.insert(command));
    let lines = [
        asks.then_some(("Do", line.action.as_str())),
        reason.map(|reason| ("Why", reason)),
        explained(view).map(|cause| ("Cause", cause)),
        command.map(|command| (REPRODUCE, command)),
    ];
    lines
        .into_iter()
        .flatten()
        .filter(|(_, words)| !words.trim().is_empty())
        .collect()
}

/// What stands before what the debug memory has.
const REMEMBERED: &str = "Before";

/// What stands before a command.
const REPRODUCE: &str = "Reproduce";

/// The advice as lines of plain text.
pub(super) fn advice_lines<'a>(
    view: &'a FailureView,
    shown: &mut ShownTexts<'a>,
) -> impl Iterator<Item = String> {
    let remembered = super::memory::line(view)
        .map(|line| format!("{REMEMBERED}: {}", super::plain(line.as_str())));
    let advice = advice(view, shown)
        .into_iter()
        .map(|(label, words)| match label {
            REPRODUCE => format!("{label}: {}", super::sanitize::command(words)),
            _ => format!(
                "{label}: {}",
                super::sanitize::short_line(&without_secrets(words), 400)
            ),
        });
    let sides = sides(view).map(|sides| sides.map(|side| super::sanitize::short_line(&side, 200)));
    let sides = sides.map(|[expected, actual]| format!("Expected {expected}, got {actual}"));
    sides.into_iter().chain(advice).chain(remembered)
}

/// What was expected, and what was there, where the tool's message does not show both.
fn sides(view: &FailureView) -> Option<[Cow<'_, str>; 2]> {
    let [expected, actual] = view.failure.shown_sides();
    let sides = [expected?, actual?];
    let is_in_message = sides
        .iter()
        .all(|side| view.failure.error_message.contains(side.as_ref()));
    (!is_in_message).then_some(sides)
}

/// What explains a failure, where it names something that the tool's message and the failure's place do not.
pub(super) fn explained(view: &FailureView) -> Option<&str> {
    if view.repeats_sides {
        return None;
    }
    let Failure {
        error_message,
        test_name,
        error_class,
        expected,
        actual,
        ..
    } = &view.failure;
    let known = [
        Some(error_message),
        test_name.as_ref(),
        error_class.as_ref(),
        expected.as_ref(),
        actual.as_ref(),
    ];
    let mut known: String = known
        .into_iter()
        .flatten()
        .map(|text| format!("{text}\n"))
        .collect();
    known.extend(
        view.failure
            .location()
            .map(|(file, line)| place(file, line)),
    );
    let problem = view.feedback.problem.as_str();
    let mut names = problem
        .split('`')
        .skip(1)
        .step_by(2)
        .flat_map(|name| name.split(|c: char| !c.is_alphanumeric()));
    let repeats = problem.contains('`') && names.all(|word| known.contains(word));
    (!repeats).then_some(problem)
}

/// A card for each cause of a head's failures, the most telling first.
pub(super) fn cards(view: &View, links: &Links) -> Shown<Value> {
    let mut shown = ShownTexts::new();
    Shown::first(MOST_CARDS, &causes(&view.failures), |cause| {
        card(cause, links, &mut shown)
    })
}

/// The cards and other feedback, as `parts/failures.md` shows them.
pub(super) fn shown(cards: &Shown<Value>, subject: &Subject<'_>, brevity: Brevity) -> Value {
    let view = &subject.decision.view;
    // Traces go first: a reader who needs one finds it in the log.
    let (has_traces, most) = if brevity.0 < 2 {
        (true, MOST_CARDS)
    } else {
        (false, brevity.of(10, 8))
    };
    // What was put off stands with what stays behind after the merge.
    let is_open = subject.decision.action != NextAction::Complete;
    let todos = view
        .feedback
        .iter()
        .filter(|_| is_open)
        .filter_map(|fact| todo(fact, view));
    context! {
        cards => cards.clone().keep(most),
        has_traces,
        todos => Shown::first(brevity.of(20, 2), todos, |todo| todo),
        // Failures the tools reported without keeping their texts.
        not_kept => view.checks.iter().filter_map(CheckView::evidence).map(|evidence| evidence.failures_not_kept).sum::<u64>(),
    }
}

fn card<'a>(cause: &Cause<'a>, links: &Links, shown: &mut ShownTexts<'a>) -> Value {
    let view = cause.first;
    let failure = &view.failure;
    let (title, message) = title_and_message(view);
    let advice = advice(view, shown)
        .into_iter()
        .map(|(label, words)| match label {
            REPRODUCE => (label, super::sanitize::command_code(words)),
            _ => (label, words::sentence(&without_secrets(words), 400)),
        });
    let remembered = super::memory::line(view).map(|line| (REMEMBERED, line));
    context! {
        place => failure.location().map(|(file, line)| links.place(file, line)),
        id => view.cause.to_string(),
        title,
        // The place without a link.
        at => failure.location().map(|(file, line)| place(file, line)),
        check => view.check.to_string(),
        // "flaky", "fails on the base too": why it is not held against the pull request.
        blame => words::blame(view.blame),
        others => cause.others(|name| code(name).into_string()).map(Markdown::ours),
        message => Some(message).filter(|text| !text.is_empty()).map(|text| fence("text", &clip_lines(&text, 15))),
        sides => sides(view).map(|sides| sides.map(|side| code(&side))),
        advice => advice.chain(remembered).collect::<Vec<_>>(),
        trace => trace(failure),
    }
}

/// The trace, unless it only repeats the message.
fn trace(failure: &Failure) -> Option<Markdown> {
    let trace = failure.shown_trace()?;
    let reported = failure.reported();
    let repeats = |line: &&str| {
        let line = line.trim();
        line.is_empty() || line.starts_with("note: run with") || reported.contains(line)
    };
    (trace.lines().filter(|line| !repeats(line)).count() > 1)
        .then(|| fence("text", &clip_lines(&trace, 24)))
}

/// What no card has: a rule's one thing to do, a person's words. A rule that holds nothing up is optional.
fn todo(fact: &FeedbackFact, view: &View) -> Option<Value> {
    let FeedbackLine {
        location,
        problem,
        action,
        ..
    } = line(fact);
    let (whence, what) = match fact {
        FeedbackFact::Failure(_) => return None,
        FeedbackFact::Rule { why, .. }
            if matches!(view.evaluation.verdict, EvaluationVerdict::Passed(_)) =>
        {
            let optional = sentence(&format!("optional: {}", reason(entry::Rule(why))));
            (Markdown::default(), short_text(&optional, 400))
        }
        FeedbackFact::Rule { .. } => (code(&location), short_text(&action, 400)),
        FeedbackFact::Settled(_) => (
            code(&location),
            short_text(&format!("{problem} {action}"), 400),
        ),
        FeedbackFact::Objection {
            by,
            of,
            words: objection,
        } => {
            let whence = Markdown::ours(format!("{} ({})", words::person(by), words::place_of(of)));
            (
                whence,
                Markdown::ours(format!("“{}”", short_text(objection, 400))),
            )
        }
    };
    Some(context! { whence, what })
}

/// Each item in words: where, what, do what, why. What is observed and what is to be done are at most `most` characters
/// each, cut at a sentence: reviewers may write a page.
pub fn feedback(items: &[FeedbackFact], most: usize) -> Vec<FeedbackLine> {
    let cut = |line: FeedbackLine| FeedbackLine {
        problem: cut_at_sentence(&line.problem, most),
        action: cut_at_sentence(&line.action, most),
        ..line
    };
    items.iter().map(|item| cut(line(item))).collect()
}

impl Subject<'_> {
    /// The feedback for the author or fixer of the head.
    pub fn feedback(&self) -> Vec<FeedbackLine> {
        feedback(
            &self.decision.view.feedback,
            self.policy.retry.feedback_max_length,
        )
    }
}

fn line(item: &FeedbackFact) -> FeedbackLine {
    let (location, problem, action, reason) = match item {
        FeedbackFact::Failure(line) => return line.clone(),
        FeedbackFact::Rule {
            id,
            description,
            why,
        } => (
            id.to_string(),
            format!("The rule “{description}” does not hold."),
            sentence(&reason(entry::Rule(why))),
            "It counts in the score that the loop asks for.",
        ),
        FeedbackFact::Settled(dispute) => (
            dispute
                .test
                .as_deref()
                .unwrap_or(dispute.check.as_str())
                .to_owned(),
            causes::settled(dispute),
            causes::to_do(dispute),
            "It was disputed, and settled by a person.",
        ),
        FeedbackFact::Objection {
            by,
            of,
            words: objection,
        } => (
            format!("@{by} ({})", words::place_of(of)),
            objection.clone(),
            "Change what is objected to and push, or answer them and ask for another look."
                .to_owned(),
            "Their objection stands until they approve or revoke it.",
        ),
    };
    FeedbackLine {
        id: None,
        location,
        problem,
        action,
        reason: reason.to_owned(),
        reproduce: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn failures_of_one_name_are_told_apart() {
        let named = |check: &str, test: &str, job: Option<&str>| {
            let mut view = fixtures::failure();
            (view.check, view.failure.test_name) = (fixtures::check(check), Some(test.to_owned()));
            view.failure.job = job.map(str::to_owned);
            view
        };
        let others = |failures: &[FailureView]| causes(failures)[0].others(str::to_owned).unwrap();
        let jobs = ["test (3.11)", "test (3.12)", "test (3.13)"]
            .map(|job| named("unit", "total", Some(job)));
        assert_eq!(
            others(&jobs),
            "2 more fail in the same way: total (test (3.12)) and total (test (3.13))"
        );
        let apart = [
            jobs[0].clone(),
            named("unit", "sums", Some("test (3.12)")),
            named("api", "total", None),
        ];
        assert_eq!(
            others(&apart),
            "2 more fail in the same way: sums and total (api)"
        );
        let unknown = [named("unit", "total", None), named("unit", "total", None)];
        assert_eq!(
            others(&unknown),
            "1 more fails in the same way: total (src/auth/token.rs:10)"
        );
    }
}
