//! Checks, a line each: outcome, tests, duration, link; what tests execute of the change; what changed among them; and
//! test files that the change edits, run on the head as they were before it.

use std::collections::{BTreeMap, BTreeSet};

use minijinja::{Value, context};

use super::{
    Links, Markdown, Shown,
    annotations::parse_range,
    clip, clip_lines, code, fence,
    messages::{self, entry},
    short_text, word, words,
};
use loopgate_core::{
    concerns::{
        checks::{CheckStanding, gather::OnBase},
        tampering::Tampering,
        verdict::{FeedbackFact, evaluate::COVERAGE_RULE},
    },
    deciding::{CheckView, View},
    evidence::{
        Against, BaseTestRun, CheckEvidence, CheckResults, Compare, Outcome, ProofEnd,
        ReportQuality, TestId,
    },
    observed::{ReceivedEvidence, Snapshot},
    result::CheckState,
};

/// Whether nothing has to be shown of it but that it passes.
pub fn passes(state: CheckState, check: &CheckView) -> bool {
    let is_read = |evidence: &CheckEvidence| {
        evidence
            .reports
            .iter()
            .all(|report| report.quality != ReportQuality::Invalid)
    };
    let is_good = |evidence: &CheckEvidence| is_read(evidence) && complaints(evidence).is_none();
    state == CheckState::Passed && check.evidence().is_some_and(is_good)
}

/// What `parts/check.md` shows.
pub fn row(state: CheckState, check: &CheckView, links: &Links) -> Value {
    let evidence = check.evidence();
    let tests = match evidence {
        Some(CheckEvidence {
            results: Some(results),
            ..
        }) => tests(results),
        Some(evidence) if evidence.has_unread_tests() => "not read".to_owned(),
        _ => String::new(),
    };
    let label = word(entry::CheckLink(&state));
    context! {
        name => check.name.as_str(),
        outcome => Markdown::ours(outcome(state, check)),
        tests,
        duration => evidence.map(|evidence| evidence.duration_ms).filter(|ms| *ms > 0).map(words::duration),
        link => url(&check.standing).map(|url| links.to(label, url)),
        note => note(check),
    }
}

/// What readers must know about it beside its outcome: a broken report, a skip's reason.
pub(super) fn note(check: &CheckView) -> Option<Markdown> {
    Some(match &check.standing {
        CheckStanding::Done(evidence) => return note_on(evidence),
        CheckStanding::Skipped { by, reason } => Markdown::ours(format!(
            "{}: {}",
            words::person(by),
            short_text(reason, 200)
        )),
        CheckStanding::Absent { minutes } => {
            Markdown::ours(format!("it reported nothing for {minutes} min"))
        }
        CheckStanding::AwaitsRelease { job, cause } => {
            short_text(&words::awaited_job(job, cause), 300)
        }
        CheckStanding::NotApplicable { job } => {
            let filter = job.filter.as_ref()?;
            short_text(&words::start_filter(filter), 300)
        }
        CheckStanding::Lost { jobs } => short_text(&messages::lost_jobs(jobs), 300),
        CheckStanding::Refused { reason } => short_text(reason, 300),
        CheckStanding::NoReport { silence } => {
            short_text(&messages::reason(entry::Silence(silence)), 300)
        }
        _ => return None,
    })
}

fn note_on(evidence: &CheckEvidence) -> Option<Markdown> {
    if let Some(report) = evidence
        .reports
        .iter()
        .find(|report| report.quality == ReportQuality::Invalid)
    {
        let why = report
            .notes
            .first()
            .map_or("it is no report", String::as_str);
        let (path, why) = (code(&report.path), short_text(why, 200));
        return Some(Markdown::ours(format!(
            "the report {path} could not be read: {why}"
        )));
    }
    if let Some(because) = &evidence.skipped_because {
        return Some(short_text(because, 200));
    }
    if let Some(complaints) = complaints(evidence) {
        return Some(Markdown::ours(complaints));
    }
    let unread = evidence
        .reports
        .iter()
        .find(|report| report.format.is_none() && evidence.has_unread_tests())?;
    Some(short_text(unread.notes.first()?, 300))
}

/// That the tool told errors of a run which it calls a success.
pub(super) fn complaints(evidence: &CheckEvidence) -> Option<String> {
    let errors = evidence.reconciled.complaints;
    let is_silent = errors > 0 && evidence.outcome == Outcome::Passed;
    is_silent.then(|| messages::plain(entry::CheckNote::Complaints, context! { errors }))
}

/// How it stands or ended, with a sign.
pub fn outcome(state: CheckState, check: &CheckView) -> String {
    let evidence = check.evidence().filter(|_| state.is_failure());
    if let Some(evidence) = evidence.filter(|_| check.baseline == OnBase::Advises) {
        let open = evidence.failures.len()
            + usize::try_from(evidence.failures_not_kept).unwrap_or(usize::MAX);
        return format!("⚠️ {}", words::count(open, "open finding"));
    }
    let has_blame = evidence.is_some() || state == CheckState::Cancelled;
    let blame = check.blame.filter(|_| has_blame).and_then(words::blame);
    let blame = blame.map(|blame| format!(" ({blame})")).unwrap_or_default();
    let (sign, word) = (
        word(entry::CheckSign(&state)),
        word(entry::CheckWord(&state)),
    );
    format!("{sign} {word}{blame}")
}

/// The page of its job or run, or of the one that it waits for.
fn url(standing: &CheckStanding) -> Option<&str> {
    match standing {
        CheckStanding::Done(evidence) => evidence.url.as_deref(),
        CheckStanding::Running { url, .. }
        | CheckStanding::AwaitsApproval { url }
        | CheckStanding::NotStarted { url, .. } => url.as_deref(),
        CheckStanding::AwaitsRelease { job, .. } | CheckStanding::NotApplicable { job } => {
            job.url.as_deref()
        }
        CheckStanding::Lost { jobs } => jobs.iter().find_map(|job| job.url.as_deref()),
        _ => None,
    }
}

/// `8 of 10 passed, 1 flaky, 1 skipped`. Where none passed that is known: some tools name none of those, and a run that
/// broke off counts none.
pub fn tests(results: &CheckResults) -> String {
    if results.total == 0 {
        return "0".to_owned();
    }
    if let Some(text) = all_skipped(results) {
        return text;
    }
    let failing = results.failed + results.errors;
    let mut text = match results.passed {
        0 if failing > 0 => format!("{failing} failed"),
        passed if failing == 0 && results.skipped == 0 => format!("{passed} passed"),
        passed => format!("{passed} of {} passed", results.total),
    };
    for (n, word) in [(results.skipped, "skipped"), (results.flaky, "flaky")] {
        if n > 0 {
            text.push_str(&format!(", {n} {word}"));
        }
    }
    text
}

/// `all skipped (3)`, where a selection leaves no test to run.
pub fn all_skipped(results: &CheckResults) -> Option<String> {
    let is_so = results.total > 0 && results.skipped == results.total;
    is_so.then(|| format!("all skipped ({})", results.skipped))
}

/// Names shown of each sort.
const MOST: usize = 5;

/// The line; none while nothing is known and nothing is asked, or where it is among what is to be done.
pub fn coverage_line(view: &View, links: &Links) -> Option<Markdown> {
    let is_to_do = |fact: &FeedbackFact| matches!(fact, FeedbackFact::Rule { id, .. } if id.as_str() == COVERAGE_RULE);
    let coverage = view
        .coverage
        .as_ref()
        .filter(|_| !view.feedback.iter().any(is_to_do))?;
    // `file:first-last`, linked.
    let uncovered = coverage
        .uncovered
        .iter()
        .map(|range| match parse_range(range) {
            Some((file, first, last)) => links.lines(file, first, last),
            None => code(range),
        });
    let beside = context! {
        // Rounded down: 100 % means all of it.
        percent => coverage.changed_percent().map(|percent| format!("{:.0}", percent.floor())),
        covered => coverage.changed_covered,
        total => coverage.changed_total,
        uncovered => uncovered.collect::<Vec<_>>(),
        unmeasured => coverage.unmeasured.clone(),
    };
    Some(messages::markdown(entry::Coverage::Line, beside))
}

/// The tests that were seen to fail and to pass, by their names where a tool tells them; none where none were.
pub fn flaky_line(view: &View) -> Option<Markdown> {
    let names = view.compare.as_ref();
    let names = names.and_then(|compare| named(&compare.flaky));
    let results = view.checks.iter();
    let results = results.filter_map(|check| check.evidence()?.results);
    let count: u64 = results.map(|results| results.flaky).sum();
    let tests = names.or_else(|| (count > 0).then(|| words::count(count, "test")))?;
    let tests = Markdown::ours(tests);
    Some(messages::markdown(
        entry::Compare::Flaky,
        context! { tests },
    ))
}

/// The sentence, without its stop; none when nothing changed.
pub fn compare_line(compare: &Compare) -> Option<Markdown> {
    let sorts = [
        ("fixed", &compare.fixed),
        ("tests removed", &compare.removed),
    ];
    // What fails now has a card of its own.
    let new = compare.new.len();
    let counted = (new > 0).then(|| words::plural(new, "more fails now", "more fail now"));
    let named = sorts
        .iter()
        .filter_map(|(what, names)| Some(format!("{what}: {}", named(names)?)));
    let parts: Vec<String> = counted.into_iter().chain(named).collect();
    let against = match compare.against {
        Against::AttemptBefore => "Compared with the attempt before",
        Against::Base => "Compared with the base",
    };
    (!parts.is_empty()).then(|| Markdown::ours(format!("{against} — {}", parts.join("; "))))
}

/// Of tests that pass only their identity is kept: those are counted, not named.
fn named(tests: &BTreeSet<String>) -> Option<String> {
    let (unnamed, names): (Vec<&String>, Vec<&String>) = tests
        .iter()
        .partition(|name| name.parse::<TestId>().is_ok());
    let mut shown: Vec<String> = names.iter().map(|name| code(name).into_string()).collect();
    if shown.len() > MOST {
        return Some(format!(
            "{} and {} more",
            shown[..MOST].join(", "),
            shown.len() - MOST + unnamed.len()
        ));
    }
    if !unnamed.is_empty() {
        let more = if shown.is_empty() { "" } else { "more " };
        shown.push(format!("{} {more}that passed", unnamed.len()));
    }
    (!shown.is_empty()).then(|| words::and(&shown))
}

/// Lines of an edited test file's diff that are shown.
const DIFF_LINES: usize = 24;

/// "2 of the 3 test files that are edited here fail as they were:"
pub fn base_tests_head(snapshot: &Snapshot) -> Option<String> {
    let runs = base_runs(snapshot);
    let count = runs
        .values()
        .filter(|run| run.on_head == ProofEnd::Failed)
        .count();
    (count > 0)
        .then(|| messages::plain(entry::BaseTest::Head, context! { count, of => runs.len() }))
}

/// What each of these files shows.
pub fn base_tests(snapshot: &Snapshot) -> Shown<Markdown> {
    let failing = base_runs(snapshot)
        .into_values()
        .filter(|run| run.on_head == ProofEnd::Failed);
    Shown::first(10, failing, |run| base_test(run, snapshot))
}

/// How a change weakens what checks it, and whether the base's version of that file passes on the head. A person who is
/// asked to accept the change needs both.
pub fn weakened(found: &Tampering, snapshot: &Snapshot) -> Markdown {
    let of_file = |run: &&&BaseTestRun| {
        let file = snapshot
            .files
            .known()
            .iter()
            .find(|file| file.paths().any(|path| path == run.file));
        found
            .path
            .as_deref()
            .is_some_and(|path| path == run.file || file.is_some_and(|file| file.path == path))
    };
    let as_it_was = match base_runs(snapshot)
        .values()
        .find(of_file)
        .map(|run| run.on_head)
    {
        Some(ProofEnd::Failed) => " As it was before, it fails here.",
        Some(ProofEnd::Passed) => " As it was before, it passes here too.",
        Some(ProofEnd::Broken) | None => "",
    };
    short_text(&format!("{found}.{as_it_was}"), 340)
}

/// One of each file, where several jobs have run it.
fn base_runs(snapshot: &Snapshot) -> BTreeMap<&str, &BaseTestRun> {
    let runs = snapshot
        .evidence
        .iter()
        .flat_map(|received| match received {
            ReceivedEvidence::Accepted(evidence) => evidence.base_tests.as_slice(),
            ReceivedEvidence::Refused { .. } => &[],
        });
    runs.map(|run| (run.file.as_str(), run)).collect()
}

fn base_test(run: &BaseTestRun, snapshot: &Snapshot) -> Markdown {
    // The texts come from the writer of the evidence.
    let short = |text: &str| code(&clip(text, 200));
    let edited = snapshot
        .files
        .known()
        .iter()
        .find(|file| file.paths().any(|path| path == run.file));
    let diff = edited
        .and_then(|file| file.patch.as_deref())
        .map(|patch| fence("diff", &clip_lines(patch, DIFF_LINES)));
    let failing = run.failing.iter().map(|name| Value::from(short(name)));
    let model = context! {
        file => short(&run.file),
        command => short(&run.command),
        failing => failing.collect::<Vec<_>>(),
        named => MOST,
        diff,
    };
    messages::markdown(entry::BaseTest::Run, model)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use loopgate_core::evidence::ChangedCoverage;

    #[test]
    fn tests_that_a_selection_leaves_out_are_not_counted_as_failing_ones() {
        let of = |passed, skipped| {
            tests(&CheckResults {
                total: passed + skipped,
                passed,
                skipped,
                ..CheckResults::default()
            })
        };
        assert_eq!(of(0, 3), "all skipped (3)");
        assert_eq!(of(1, 2), "1 of 3 passed, 2 skipped");
        assert_eq!(of(2, 0), "2 passed");
    }

    #[test]
    fn what_is_said_of_coverage() {
        let links = Links::of(&fixtures::snapshot());
        let mut view = fixtures::view();
        let said = |view: &View| coverage_line(view, &links).map(Markdown::into_string);
        assert_eq!(said(&view), None);
        view.coverage = Some(ChangedCoverage {
            lines_covered: 1,
            lines_total: 2,
            ..ChangedCoverage::default()
        });
        assert_eq!(
            said(&view).as_deref(),
            Some("No changed line is one that tests can cover.")
        );
        view.coverage = Some(ChangedCoverage {
            changed_covered: 999,
            changed_total: 1000,
            unmeasured: vec!["src/new.rs".to_owned()],
            ..ChangedCoverage::default()
        });
        assert_eq!(
            said(&view).as_deref(),
            Some(
                "99 % of the changed lines are covered by tests (999 of 1000); in no coverage report: `src/new.rs`."
            )
        );
    }

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn what_is_said_of_changes() {
        let id = |name: &str| TestId::of("", "", name).to_string();
        let table = [
            (Compare::default(), None),
            (
                Compare {
                    new: set(&["a", "b"]),
                    still: set(&["c"]),
                    ..Compare::default()
                },
                Some("Compared with the attempt before — 2 more fail now"),
            ),
            (
                Compare {
                    removed: set(&[&id("a"), &id("b")]),
                    against: Against::Base,
                    ..Compare::default()
                },
                Some("Compared with the base — tests removed: 2 that passed"),
            ),
            (
                Compare {
                    removed: set(&[&id("a"), "b"]),
                    ..Compare::default()
                },
                Some(
                    "Compared with the attempt before — tests removed: `b` and 1 more that passed",
                ),
            ),
            (
                Compare {
                    fixed: set(&["a", "b", "c", "d", "e", "f"]),
                    ..Compare::default()
                },
                Some(
                    "Compared with the attempt before — fixed: `a`, `b`, `c`, `d`, `e` and 1 more",
                ),
            ),
        ];
        for (compare, expected) in table {
            assert_eq!(
                compare_line(&compare).map(Markdown::into_string).as_deref(),
                expected
            );
        }
    }
}
