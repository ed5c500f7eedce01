//! TRX, Visual Studio's and `dotnet test`'s own format.
//!
//! Results come first and name their tests by id only; classes follow in the definitions, so the failures kept are
//! completed when these arrive.

use std::collections::HashMap;

use loopgate_core::evidence::{Failure, TestId, TestState};

use crate::{
    Unreadable,
    collect::{Case, Collector, Title},
    mark::Mark,
    markup::{Tag, Token},
    notes::Flaw,
    numbers,
    text::{self, Clip, MAX_MESSAGE, MAX_TRACE},
    xml::Xml,
};

pub(super) const MARK: Mark =
    Mark::Root(|name, tag| name == "TestRun" && (tag.contains(" id=") || tag.contains("/TeamTest/")));

pub(super) fn parse(xml: &mut Xml<'_, '_>, out: &mut Collector<'_>) -> Result<(), Unreadable> {
    out.expect_tests();
    let mut trx = Trx::default();
    loop {
        match xml.next(&mut out.notes)? {
            Token::Open(tag) => trx.open(&tag, out),
            Token::Text(text) => {
                if let Some(result) = trx.results.last_mut() {
                    match trx.inside {
                        Inside::Message => result.message.push(&text.decode()),
                        Inside::StackTrace => result.trace.push(&text.decode()),
                        Inside::Other => {}
                    }
                } else if trx.in_run_info {
                    trx.run_info.push(&text.decode());
                }
            }
            Token::Close(place) => trx.close(place.name(), out),
            Token::End => {
                trx.compare_total(out);
                return Ok(());
            }
        }
    }
}

#[derive(Default)]
struct Trx {
    /// Open results; data-driven tests hold one inside the other.
    results: Vec<TestResult>,
    inside: Inside,
    /// Failures kept, by the id the report gives their test.
    by_test: HashMap<String, Vec<TestId>>,
    /// Failures of the test whose definition is open.
    defining: Vec<TestId>,
    run_info: Clip,
    in_run_info: bool,
    declared: Option<u64>,
    /// Results with and without the rows of data-driven tests, and tries of tests that passed at last.
    cases: u64,
    outermost: u64,
    reruns: u64,
}

#[derive(Clone, Copy, Default)]
enum Inside {
    #[default]
    Other,
    Message,
    StackTrace,
}

struct TestResult {
    id: String,
    name: String,
    state: TestState,
    seconds: f64,
    has_inner: bool,
    message: Clip,
    trace: Clip,
}

impl Trx {
    fn open(&mut self, tag: &Tag<'_>, out: &mut Collector<'_>) {
        match tag.name {
            "UnitTestResult" | "TestResultAggregation" | "GenericTestResult" => {
                match self.results.last_mut() {
                    Some(outer) => outer.has_inner = true,
                    None => self.outermost += 1,
                }
                self.results.push(TestResult::begin(tag, out));
            }
            "Message" => self.inside = Inside::Message,
            "StackTrace" => self.inside = Inside::StackTrace,
            "UnitTest" => {
                let known = tag.attribute("id").and_then(|id| self.by_test.remove(&id));
                self.defining = known.unwrap_or_default();
            }
            "TestMethod" => {
                let class = tag.attribute("className").unwrap_or_default();
                // Older versions write the assembly behind the class.
                let class = class.split(',').next().unwrap_or_default();
                let defined = std::mem::take(&mut self.defining);
                let is_defined = |failure: &&mut Failure| failure.test_id.is_some_and(|id| defined.contains(&id));
                out.failures_mut().iter_mut().filter(is_defined).for_each(|failure| complete(failure, class));
            }
            "Counters" => self.declared = tag.attribute("total").and_then(|total| numbers::count(&total).ok()),
            "RunInfo" if tag.attribute("outcome").as_deref() == Some("Error") => {
                self.in_run_info = true;
                self.run_info = Clip::new(MAX_MESSAGE);
            }
            _ => {}
        }
    }

    fn close(&mut self, name: &str, out: &mut Collector<'_>) {
        match name {
            "Message" | "StackTrace" => self.inside = Inside::Other,
            "UnitTestResult" | "TestResultAggregation" | "GenericTestResult" => {
                if let Some(result) = self.results.pop() {
                    self.end_result(result, out);
                }
            }
            "RunInfo" if self.in_run_info => {
                self.in_run_info = false;
                let message = self.run_info.text();
                let message = message.trim();
                // xUnit.net's adapter writes such a line for each failing test, the platform's runner one for all.
                let is_test = message.starts_with("[xUnit.net ") && message.ends_with("[FAIL]");
                if !is_test && !message.starts_with("Exit code indicates failure: '2'") {
                    out.notes.flaw(Flaw::ToolFailed, || text::first_line(message).to_owned());
                }
            }
            _ => {}
        }
    }

    fn end_result(&mut self, result: TestResult, out: &mut Collector<'_>) {
        // A data-driven test sums up its rows, which are counted themselves.
        if result.has_inner {
            return;
        }
        if result.name.is_empty() {
            out.notes.flaw(Flaw::NamelessTest, || format!("testId {:?}", result.id));
        }
        let before = out.failures_mut().len();
        let (class, name, state, seconds) = (&result.id, &result.name, result.state, result.seconds);
        let case = Case { file: "", class, name, state, seconds, title: Title::NameOnly };
        self.reruns += out.case(case, || result.failure());
        self.cases += 1;
        if let Some(id) = out.failures_mut().get(before).and_then(|failure| failure.test_id) {
            self.by_test.entry(result.id).or_default().push(id);
        }
    }

    fn compare_total(&self, out: &mut Collector<'_>) {
        let there = [self.cases, self.outermost, self.cases.saturating_sub(self.reruns)];
        if let Some(declared) = self.declared.filter(|declared| !there.contains(declared)) {
            let differs = || format!("TestRun/ResultSummary/Counters/@total: {declared}, but there are {}", self.cases);
            out.notes.flaw(Flaw::WrongTotal, differs);
        }
    }
}

impl TestResult {
    fn begin(tag: &Tag<'_>, out: &mut Collector<'_>) -> Self {
        let mut result = Self {
            id: String::new(),
            name: String::new(),
            // The outcome that is not written is the first of the enumeration, `Error`.
            state: TestState::Errored,
            seconds: 0.0,
            has_inner: false,
            message: Clip::new(MAX_MESSAGE),
            trace: Clip::new(MAX_TRACE),
        };
        for (key, value) in tag.attributes() {
            match key {
                "testId" => result.id = text::name(&value.decode()),
                "testName" => result.name = value.decode().into_owned(),
                "outcome" => {
                    result.state = state_of(value.raw()).unwrap_or_else(|| {
                        out.notes.flaw(Flaw::UnknownResult, || tag.place.attribute("outcome"));
                        TestState::Errored
                    });
                }
                "duration" => {
                    result.seconds = clock_time(value.raw()).unwrap_or_else(|| {
                        out.notes.flaw(Flaw::BadNumber, || tag.place.attribute("duration"));
                        0.0
                    });
                }
                _ => {}
            }
        }
        result
    }

    fn failure(&self) -> Failure {
        let message = self.message.text();
        let trace = self.trace.text();
        let (message, trace) = (message.trim(), trace.trim());
        // Messages begin with the class of what was thrown: `System.NullReferenceException : Object …`.
        let thrown = message.split([':', ' ']).next().filter(|word| word.contains('.') && word.ends_with("Exception"));
        Failure {
            error_class: thrown.map(str::to_owned),
            error_message: text::clipped(message, MAX_MESSAGE),
            stack_trace: (!trace.is_empty()).then(|| trace.to_owned()),
            test_name: Some(text::name(&self.name)),
            ..Failure::default()
        }
    }
}

/// Puts the class in front of a name that lacks it, as MSTest's do.
fn complete(failure: &mut Failure, class: &str) {
    if let Some(name) = failure.test_name.as_mut().filter(|name| !class.is_empty() && !name.contains(class)) {
        *name = text::name(&format!("{class}.{name}"));
    }
}

/// The outcomes of the format's schema.
fn state_of(outcome: &str) -> Option<TestState> {
    Some(match outcome {
        "Passed" | "PassedButRunAborted" | "Warning" | "Completed" => TestState::Passed,
        "Failed" => TestState::Failed,
        "Error" | "Timeout" | "Aborted" | "NotRunnable" | "Disconnected" | "InProgress" => TestState::Errored,
        "NotExecuted" | "Inconclusive" | "Pending" => TestState::Skipped,
        _ => return None,
    })
}

/// `00:01:02.5000000` in seconds; days stand before a point.
fn clock_time(text: &str) -> Option<f64> {
    let mut parts = text.trim().rsplitn(3, ':');
    let seconds = numbers::seconds(parts.next()?).ok()?;
    let minutes = parts.next().map_or(Some(0), |part| numbers::count(part).ok())?;
    let hours = parts.next().unwrap_or("0");
    let (days, hours) = hours.split_once('.').unwrap_or(("0", hours));
    let (days, hours) = (numbers::count(days).ok()?, numbers::count(hours).ok()?);
    let whole = (days.min(400) * 24 + hours.min(10_000)) * 60 + minutes.min(100_000);
    Some(whole as f64 * 60.0 + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_times() {
        let table = [
            ("00:00:00.1234567", Some(0.1234567)),
            ("00:01:02.5", Some(62.5)),
            ("1.02:00:00", Some(93_600.0)),
            ("7", Some(7.0)),
            ("soon", None),
            ("aa:00:00", None),
        ];
        for (text, expected) in table {
            assert_eq!(clock_time(text), expected, "{text}");
        }
    }
}
