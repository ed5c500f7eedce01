//! libtest's JSON (`cargo test -- -Z unstable-options --format json`): an event a line.

use std::borrow::Cow;

use indexmap::IndexSet;
use loopgate_core::evidence::{Failure, TestFramework, TestState};
use serde::Deserialize;

use super::cargo_failure;
use crate::{
    collect::{Case, Collector, Title},
    mark::Mark,
    notes::Flaw,
    text,
};

pub(super) const MARK: Mark = Mark::JsonLines(|keys| keys.contains(&"type") && keys.contains(&"event"));

/// Tests that may run at a time; the ends of further ones are counted all the same.
const MAX_RUNNING: usize = 200_000;

#[derive(Deserialize)]
pub(super) struct Event<'a> {
    #[serde(borrow, rename = "type")]
    what: Cow<'a, str>,
    #[serde(borrow, default)]
    event: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    stdout: Cow<'a, str>,
    #[serde(borrow, default)]
    message: Cow<'a, str>,
    exec_time: Option<f64>,
}

/// One or more runs of test binaries, one after the other.
#[derive(Default)]
pub(super) struct LibtestJson {
    /// Binaries are not named, so they are counted to tell tests of one name apart.
    binaries: u32,
    running: IndexSet<String>,
    open: bool,
}

impl LibtestJson {
    pub fn event(&mut self, event: &Event<'_>, out: &mut Collector<'_>) {
        out.expect_tests();
        out.framework = Some(TestFramework::CargoTest);
        match (event.what.as_ref(), event.event.as_ref()) {
            ("suite", "started") => {
                self.end(out);
                self.binaries += 1;
                self.open = true;
            }
            ("suite", "ok" | "failed") => {
                self.end_running(out);
                self.open = false;
            }
            ("test", "started") if self.running.len() < MAX_RUNNING => {
                self.running.insert(event.name.clone().into_owned());
            }
            ("test", "ok") | ("bench", _) => self.record(event, TestState::Passed, out),
            ("test", "failed") => self.record(event, TestState::Failed, out),
            ("test", "ignored") => self.record(event, TestState::Skipped, out),
            // `timeout` only says that a test is slow, `report` and `discovered` nothing of tests.
            ("test", "started" | "timeout" | "discovered") | ("report" | "suite", _) => {}
            (what, event) => out.notes.flaw(Flaw::UnknownResult, || format!("{what:?} {event:?}")),
        }
    }

    /// What is still running now failed.
    pub fn end(&mut self, out: &mut Collector<'_>) {
        if self.open {
            out.notes.flaw(Flaw::NoEnd, || format!("test binary #{}", self.binaries));
            self.open = false;
        }
        self.end_running(out);
    }

    fn end_running(&mut self, out: &mut Collector<'_>) {
        for name in std::mem::take(&mut self.running) {
            out.notes.flaw(Flaw::UnfinishedTest, || name.clone());
            let class = self.class();
            let case = Case::new(&class, &name, TestState::Failed);
            out.case(case, || Failure {
                test_name: Some(text::name(&name)),
                error_message: "unfinished: the test binary ended before this test did".to_owned(),
                ..Failure::default()
            });
        }
    }

    fn record(&mut self, event: &Event<'_>, state: TestState, out: &mut Collector<'_>) {
        self.running.swap_remove(event.name.as_ref());
        let seconds = event.exec_time.filter(|seconds| seconds.is_finite()).unwrap_or(0.0).clamp(0.0, 1e7);
        let class = self.class();
        out.case(Case { seconds, title: Title::NameOnly, ..Case::new(&class, &event.name, state) }, || {
            // What libtest itself has to say stands apart; as text it is a note behind the output.
            let output = match event.message.as_ref() {
                "" => event.stdout.clone(),
                message => Cow::Owned(format!("{}\nnote: {message}", event.stdout)),
            };
            cargo_failure::failure(&output, &event.name, "")
        });
    }

    fn class(&self) -> String {
        format!("#{}", self.binaries.max(1))
    }
}
