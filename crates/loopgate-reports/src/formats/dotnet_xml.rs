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
    let mut open: Option<Open> = None;
    // A suite of NUnit, a collection of xUnit.net: what stands in another one is another test.
    let mut suites = vec![0];
    loop {
        match xml.next(&mut out.notes)? {
            Token::Open(tag) => match (tag.name, &mut open) {
                ("test-case" | "test", None) => open = Some(Open::begin(&tag, out)),
                ("test-suite" | "collection", None) => suites.push(out.begin_suite()),
                ("failure", Some(test)) => test.class = tag.attribute("exception-type").unwrap_or_default(),
                ("message", Some(test)) => test.inside = Inside::Message,
                ("stack-trace", Some(test)) => test.inside = Inside::Trace,
                _ => {}
            },
            Token::Text(text) => match &mut open {
                Some(Open { inside: Inside::Message, message, .. }) => message.push(&text.decode()),
                Some(Open { inside: Inside::Trace, trace, .. }) => trace.push(&text.decode()),
                _ => {}
            },
            Token::Close(place) => match place.name() {
                "test-case" | "test" => {
                    if let Some(test) = open.take() {
                        out.in_suite(suites.last().copied().unwrap_or(0));
                        test.end(out);
                    }
                }
                "test-suite" | "collection" if open.is_none() => drop(suites.pop()),
                "message" | "stack-trace" => {
                    if let Some(test) = &mut open {
                        test.inside = Inside::Other;
                    }
                }
                _ => {}
            },
            Token::End => return Ok(()),
        }
    }
}

#[derive(Clone, Copy)]
enum Inside {
    Other,
    Message,
    Trace,
}

/// The test being read.
struct Open {
    name: String,
    suite: String,
    state: TestState,
    seconds: f64,
    class: String,
    inside: Inside,
    message: Clip,
    trace: Clip,
}

impl Open {
    fn begin(tag: &Tag<'_>, out: &mut Collector<'_>) -> Self {
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
            (other, _) => {
                out.notes.flaw(Flaw::UnknownResult, || format!("result {other:?}"));
                TestState::Errored
            }
        };
        Self {
            name,
            suite: class,
            state,
            seconds: seconds.and_then(|time| numbers::seconds(&time).ok()).unwrap_or(0.0),
            class: String::new(),
            inside: Inside::Other,
            message: Clip::new(MAX_MESSAGE),
            trace: Clip::new(MAX_TRACE),
        }
    }

    fn end(self, out: &mut Collector<'_>) {
        if self.name.is_empty() {
            out.notes.flaw(Flaw::NamelessTest, || "a test");
        }
        let (class, name, state, seconds) = (&self.suite, &self.name, self.state, self.seconds);
        let case = Case { file: "", class, name, state, seconds, title: Title::NameOnly };
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
