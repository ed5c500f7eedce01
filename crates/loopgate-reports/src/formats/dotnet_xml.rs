//! NUnit 3 and xUnit.net v2: elements of a test with its result, and in them a `failure` with message and trace.

use loopgate_core::evidence::{Failure, TestState};

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

/// A whole run, or the part of one assembly.
pub(super) const NUNIT: Mark =
    Mark::Root(|name, tag| name == "test-run" || (name == "test-suite" && tag.contains(" testcasecount=")));
pub(super) const XUNIT: Mark = Mark::Root(|name, _| name == "assemblies");

pub(super) fn parse(xml: &mut Xml<'_, '_>, out: &mut Collector<'_>) -> Result<(), Unreadable> {
    out.expect_tests();
    // The open suites, and in them the test.
    let mut open: Vec<Open> = Vec::new();
    loop {
        match xml.next(&mut out.notes)? {
            Token::Open(tag) => match (tag.name, open.last_mut()) {
                ("test-case" | "test", _) => open.push(Open::begin(&tag, Kind::Test, out)),
                ("error", _) => open.push(Open::begin(&tag, Kind::Error, out)),
                ("test-run" | "test-suite" | "assembly" | "collection", _) => {
                    open.push(Open::begin(&tag, Kind::Suite { number: out.begin_suite() }, out));
                }
                ("failure" | "reason", Some(open)) => {
                    open.inside = Inside::Failure;
                    open.class = tag.attribute("exception-type").unwrap_or_default();
                }
                // An assertion of NUnit's has its own, and the failure tells all of them.
                ("message", Some(open)) if open.inside == Inside::Failure => open.inside = Inside::Message,
                ("stack-trace", Some(open)) if open.inside == Inside::Failure => open.inside = Inside::Trace,
                _ => {}
            },
            Token::Text(text) => match open.last_mut() {
                Some(Open { inside: Inside::Message, message, .. }) => message.push(&text.decode()),
                Some(Open { inside: Inside::Trace, trace, .. }) => trace.push(&text.decode()),
                _ => {}
            },
            Token::Close(place) => {
                if let Some(ended) = open.pop_if(|open| open.depth == place.depth()) {
                    ended.end(open.last_mut(), || place.to_string(), out);
                    continue;
                }
                let Some(open) = open.last_mut() else { continue };
                open.inside = match (place.name(), open.inside) {
                    ("failure" | "reason", _) => Inside::Other,
                    ("message" | "stack-trace", Inside::Message | Inside::Trace) => Inside::Failure,
                    (_, inside) => inside,
                };
            }
            Token::End => return Ok(()),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Other,
    Failure,
    Message,
    Trace,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Test,
    /// Of xUnit.net: a clean-up that broke.
    Error,
    /// Of NUnit, or a collection of xUnit.net: what stands in another one is another test.
    Suite {
        number: u32,
    },
}

/// What is being read.
struct Open {
    kind: Kind,
    depth: usize,
    name: String,
    suite: String,
    state: TestState,
    seconds: f64,
    class: String,
    inside: Inside,
    message: Clip,
    trace: Clip,
    declared: Option<u64>,
    /// Where a suite failed.
    site: String,
    cases: u64,
    a_case_failed: bool,
}

impl Open {
    fn begin(tag: &Tag<'_>, kind: Kind, out: &mut Collector<'_>) -> Self {
        let attribute = |name: &str| tag.attribute(name).unwrap_or_default();
        let seconds = [attribute("duration"), attribute("time")].into_iter().find(|time| !time.is_empty());
        let full = attribute("fullname");
        let class = if full.is_empty() { attribute("type") } else { attribute("classname") };
        let name = if full.is_empty() { attribute("name") } else { full };
        let state = match (attribute("result").as_str(), attribute("label").as_str()) {
            ("Failed" | "Fail", "Error") => TestState::Errored,
            ("Failed" | "Fail", _) => TestState::Failed,
            ("Passed" | "Pass" | "Warning", _) => TestState::Passed,
            ("Skipped" | "Skip" | "Inconclusive" | "NotRun", _) => TestState::Skipped,
            _ if kind == Kind::Error => TestState::Errored,
            _ if kind != Kind::Test => TestState::Passed,
            (other, _) => {
                out.notes.flaw(Flaw::UnknownResult, || format!("result {other:?}"));
                TestState::Errored
            }
        };
        Self {
            kind,
            depth: tag.place.depth(),
            name,
            suite: class,
            state,
            seconds: seconds.and_then(|time| numbers::seconds(&time).ok()).unwrap_or(0.0),
            class: String::new(),
            inside: Inside::Other,
            message: Clip::new(MAX_MESSAGE),
            trace: Clip::new(MAX_TRACE),
            declared: tag.attribute("total").and_then(|total| numbers::count(&total).ok()),
            site: attribute("site"),
            cases: 0,
            a_case_failed: false,
        }
    }

    fn end(self, outer: Option<&mut Open>, place: impl Fn() -> String, out: &mut Collector<'_>) {
        let (is_suite, failed) = (matches!(self.kind, Kind::Suite { .. }), self.state.is_failure());
        // The failure of a suite mostly says that a test in it failed, or is what these say.
        let is_told = match self.site.as_str() {
            _ if !is_suite => true,
            "TearDown" => failed,
            "Parent" => false,
            _ => failed && !self.a_case_failed,
        };
        let cases = self.cases + u64::from(self.kind == Kind::Test);
        if let Some(declared) = self.declared.filter(|declared| is_suite && *declared != cases) {
            out.notes.flaw(Flaw::WrongTotal, || format!("{}/@total: {declared}, but there are {cases}", place()));
        }
        if let Kind::Suite { number } = outer.as_ref().map_or(self.kind, |outer| outer.kind) {
            out.in_suite(number);
        }
        if let Some(outer) = outer {
            outer.cases += cases;
            outer.a_case_failed |= self.a_case_failed || is_told && failed;
        }
        if !is_told {
            return;
        }
        if self.name.is_empty() && self.kind == Kind::Test {
            out.notes.flaw(Flaw::NamelessTest, || "a test");
        }
        let error = format!("({} error)", self.suite);
        let (class, name, title) = match self.kind {
            Kind::Test => (&*self.suite, &*self.name, Title::NameOnly),
            Kind::Error => (&*self.name, &*error, Title::WithClass),
            Kind::Suite { .. } => (&*self.name, "(the suite itself)", Title::WithClass),
        };
        let seconds = if self.kind == Kind::Test { self.seconds } else { 0.0 };
        let case = Case { file: "", class, name, state: self.state, seconds, title };
        out.case(case, || {
            let (message, trace) = (self.message.text(), self.trace.text());
            Failure {
                error_class: Some(text::name(self.class.trim())).filter(|class| !class.is_empty()),
                error_message: message.trim().to_owned(),
                stack_trace: Some(trace.trim_end().to_owned()).filter(|trace| !trace.is_empty()),
                ..Failure::default()
            }
        });
    }
}
