//! Which failures go into a packet, in which order, and what is said of a check that names none.

use std::collections::BTreeMap;

use super::{
    super::{
        feedback::{FeedbackItem, Place},
        reproduce::{CheckContext, reproduce},
    },
    entry::{Entry, EntryKind, PastFailure},
    input::{FailingCheck, PacketInput},
};
use crate::{
    Fingerprint,
    evidence::{CheckKind, Comparison, ErrorType, Failure, Outcome},
    failure::{
        classify::fingerprint,
        explain::ExaminedFailure,
        read::{
            Reading,
            text::{self, Excerpt, Trace, code},
        },
    },
};

/// Most entries of a packet; no reader works through more.
const MAX_ENTRIES: usize = 50;

/// Most tests named per entry.
const MAX_TESTS: usize = 8;

/// Bytes at the end of a log in which the error is looked for.
const MAX_LOG: usize = 24 * 1024;

/// An entry before its trace is cut to the room there is.
pub(super) struct Draft {
    entry: Entry,
    trace: Trace,
}

impl Draft {
    pub(super) fn kind(&self) -> EntryKind {
        self.entry.kind
    }

    /// The entry with at most `lines` lines of its trace.
    pub(super) fn entry(&self, lines: usize) -> Entry {
        Entry { trace: self.trace.excerpt(lines), ..self.entry.clone() }
    }
}

pub(super) struct Gathered {
    pub drafts: Vec<Draft>,
    /// All failures, those that were only counted too.
    pub total: u64,
}

pub(super) fn gather(input: &PacketInput<'_>) -> Gathered {
    let mut drafts: Vec<Draft> = Vec::new();
    let mut by_error: BTreeMap<Fingerprint, usize> = BTreeMap::new();
    let mut total = 0;
    for check in input.checks.iter().filter(|check| check.evidence.outcome.is_failure()) {
        let evidence = check.evidence;
        total += evidence.failures_not_kept;
        if evidence.failures.is_empty() {
            total += 1;
            drafts.push(of_check(check, input));
            continue;
        }
        for failure in &evidence.failures {
            total += 1;
            let reading = Reading::of(failure);
            let id = fingerprint::of_reading(failure, &reading);
            if let Some(known) = by_error.get(&id).and_then(|index| drafts.get_mut(*index)) {
                known.entry.add(failure, input.comparison);
            } else {
                by_error.insert(id, drafts.len());
                drafts.push(of_failure(
                    failure,
                    ExaminedFailure::of_reading(failure, reading, input.changes),
                    check,
                    input,
                ));
            }
        }
    }
    drafts.sort_by_key(|draft| (draft.entry.kind, draft.entry.item.priority));
    drafts.truncate(MAX_ENTRIES);
    Gathered { drafts, total }
}

impl Entry {
    fn add(&mut self, failure: &Failure, comparison: Option<&Comparison>) {
        let Some(test) = &failure.test_name else { return };
        if regressed(failure, comparison) && self.kind == EntryKind::Failure {
            self.kind = EntryKind::Regression;
        }
        if self.tests.len() < MAX_TESTS {
            self.tests.push(text::one_line(test, 160));
        } else {
            self.more_tests += 1;
        }
    }
}

fn regressed(failure: &Failure, comparison: Option<&Comparison>) -> bool {
    matches!((&failure.test_name, comparison), (Some(test), Some(comparison)) if comparison.regressed.contains(test))
}

fn context<'a>(check: &FailingCheck<'a>) -> CheckContext<'a> {
    CheckContext {
        name: &check.evidence.name,
        kind: check.evidence.kind,
        framework: check.framework,
        command: check.command,
        directory: check.directory,
    }
}

fn of_failure(
    failure: &Failure,
    examined: ExaminedFailure,
    check: &FailingCheck<'_>,
    input: &PacketInput<'_>,
) -> Draft {
    let item = FeedbackItem::of_examined(failure, &examined, Some(&context(check)));
    let does_not_build = matches!(examined.error_type, ErrorType::CompileError | ErrorType::SyntaxError);
    let kind = match check.evidence.kind {
        _ if does_not_build => EntryKind::CompileError,
        CheckKind::Build => EntryKind::CompileError,
        _ if regressed(failure, input.comparison) => EntryKind::Regression,
        _ => EntryKind::Failure,
    };
    let (expected, actual) = examined.sides.map_or((None, None), |sides| (Some(sides.expected), Some(sides.actual)));
    let trace = Trace::new(failure.stack_trace.as_deref().unwrap_or(&failure.error_message));
    let entry = Entry {
        kind,
        similar: input.past.get(&examined.fingerprint).map(PastFailure::bounded),
        item,
        tests: failure.test_name.iter().map(|test| text::one_line(test, 160)).collect(),
        more_tests: 0,
        expected,
        actual,
        trace: Excerpt::default(),
    };
    Draft { entry, trace }
}

/// The entry of a check that failed and names no failure: its outcome, or what its log says last.
fn of_check(check: &FailingCheck<'_>, input: &PacketInput<'_>) -> Draft {
    let evidence = check.evidence;
    let log = if evidence.log_tail.is_empty() { &evidence.log_head } else { &evidence.log_tail };
    let failure = Failure { error_message: text::suffix(log, MAX_LOG).to_owned(), ..Failure::default() };
    let mut draft = of_failure(&failure, ExaminedFailure::new(&failure, input.changes), check, input);
    let name = code(evidence.name.as_str());
    let item = &mut draft.entry.item;
    match evidence.outcome {
        Outcome::TimedOut => {
            item.location = Place::Check { check: evidence.name.clone() };
            let last = log.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
            item.reported = code(last.trim());
            item.problem =
                format!("The check {name} did not end within {} s and was stopped.", evidence.duration_ms / 1_000);
            "Find the loop or the wait that does not end, at the last line the check printed."
                .clone_into(&mut item.action);
            "What it printed last is the place it did not get past.".clone_into(&mut item.reason);
        }
        Outcome::NoTestsExecuted => {
            item.location = Place::Check { check: evidence.name.clone() };
            item.problem = format!("The check {name} ended without running a test.");
            "Correct the test command or its filter so that it finds the tests.".clone_into(&mut item.action);
            "A check that runs no test proves nothing, so it does not pass.".clone_into(&mut item.reason);
        }
        _ if log.trim().is_empty() => {
            let status = match (evidence.exit_code, evidence.signal) {
                (Some(exit), _) => format!("with exit status {exit}"),
                (None, Some(signal)) => format!("by signal {signal}"),
                (None, None) => "without a status".to_owned(),
            };
            item.location = Place::Check { check: evidence.name.clone() };
            item.problem = format!("The check {name} failed {status} and printed nothing.");
            "Run its command in a checkout of this commit and mend what it reports.".clone_into(&mut item.action);
            "Its outcome is all that reached Loopgate.".clone_into(&mut item.reason);
        }
        _ => {}
    }
    item.reproduce = item.reproduce.take().or_else(|| reproduce(&failure, Some(&context(check))));
    draft
}
