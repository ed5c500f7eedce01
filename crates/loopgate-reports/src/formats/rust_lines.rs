//! The two kinds of JSON that cargo prints, an object a line: what the compiler reports, and libtest's events.

use indexmap::IndexSet;
use loopgate_core::evidence::{ErrorType, Failure, FindingSeverity, TestFramework, TestState};
use serde::Deserialize;

use super::cargo_failure;
use crate::{Case, Collector, Flaw, Json, MAX_TRACE, Mark, Title, text};

/// Messages of cargo and rustc as JSON (`--message-format=json`, `--error-format=json`): compile errors, warnings, and
/// what clippy reports.
pub(super) const MESSAGES: Mark =
    Mark::JsonLines(|keys| keys.contains(&"reason") || keys.contains(&"$message_type"));
/// libtest's JSON (`cargo test -- -Z unstable-options --format json`): an event a line.
pub(super) const LIBTEST: Mark =
    Mark::JsonLines(|keys| keys.contains(&"type") && keys.contains(&"event"));

/// How far the place of a macro's use is followed.
const MAX_EXPANSIONS: usize = 16;

/// Takes a message of cargo's, which has the diagnostic under `message`, or of rustc's own, which is one.
pub(super) fn message(message: &Json, out: &mut Collector) {
    let diagnostic = match message.text("reason").as_deref() {
        Some("compiler-message") => message.at("message"),
        None => message,
        Some(_) => return,
    };
    let code = diagnostic.text("code/code").unwrap_or_default();
    let message = diagnostic.text("message").unwrap_or_default();
    let spans = diagnostic.at("spans").list();
    let number = code
        .strip_prefix('E')
        .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    let is_lint = !code.is_empty() && number.is_none_or(str::is_empty);
    let (severity, error_type) = match diagnostic.text("level").unwrap_or_default().as_ref() {
        "error" if is_lint => (FindingSeverity::High, Some(ErrorType::LintError)),
        level if level.starts_with("error") => {
            (FindingSeverity::High, Some(ErrorType::CompileError))
        }
        "warning" => (FindingSeverity::Medium, None),
        _ => return,
    };
    // They sum up: `aborting due to 2 previous errors`, `3 warnings emitted`.
    let sums_up = message.starts_with("aborting due to") || message.ends_with("emitted");
    if spans.is_empty() && code.is_empty() && sums_up {
        return;
    }
    let location = spans
        .iter()
        .find(|span| span.is_true("is_primary"))
        .map(|span| {
            // Where a macro of the repository is used, rather than where another crate defines it.
            let mut here = span;
            for _ in 0..MAX_EXPANSIONS {
                let file = here.text("file_name").unwrap_or_default();
                match here.at("expansion/span") {
                    outer @ Json::Object(_) if file.starts_with(['/', '<']) => here = outer,
                    _ => break,
                }
            }
            text::location(
                &here.text("file_name").unwrap_or_default(),
                here.line("line_start"),
            )
        });
    if !out.is_new(location.as_ref(), &code, &message) {
        return;
    }
    let trace = diagnostic
        .text("rendered")
        .map(|rendered| text::clipped(rendered.trim_end(), MAX_TRACE));
    out.diagnostic(
        text::finding(&code, severity, &message, location),
        error_type,
        trace,
    );
}

/// Tests that may run at a time; the ends of further ones are counted all the same.
const MAX_RUNNING: usize = 200_000;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct LibtestEvent {
    #[serde(rename = "type")]
    what: String,
    event: String,
    name: String,
    stdout: String,
    message: String,
    exec_time: f64,
}

/// One or more runs of test binaries, one after the other.
#[derive(Default)]
pub(super) struct LibtestJson {
    /// Binaries are not named, so they are counted to keep tests of one name apart.
    binaries: u32,
    running: IndexSet<String>,
    open: bool,
}

impl LibtestJson {
    pub fn event(&mut self, event: &LibtestEvent, out: &mut Collector) {
        out.expect_tests();
        out.framework = Some(TestFramework::CargoTest);
        match (event.what.as_str(), event.event.as_str()) {
            ("suite", "started") => {
                self.end(false, out);
                self.binaries += 1;
                self.open = true;
            }
            ("suite", "ok" | "failed") => self.end(true, out),
            ("test", "started") if self.running.len() < MAX_RUNNING => {
                self.running.insert(event.name.clone());
            }
            ("test", "ok") | ("bench", _) => self.record(event, TestState::Passed, out),
            ("test", "failed") => self.record(event, TestState::Failed, out),
            ("test", "ignored") => self.record(event, TestState::Skipped, out),
            // `timeout` only shows that a test is slow, `report` and `discovered` nothing of tests.
            ("test", "started" | "timeout" | "discovered") | ("report" | "suite", _) => {}
            (what, event) => out
                .notes
                .flaw(Flaw::UNKNOWN_RESULT, || format!("{what:?} {event:?}")),
        }
    }

    /// A binary is over, or the text is. What is still running now failed.
    pub fn end(&mut self, is_announced: bool, out: &mut Collector) {
        if std::mem::take(&mut self.open) && !is_announced {
            out.notes
                .flaw(Flaw::NO_END, || format!("test binary #{}", self.binaries));
        }
        for name in std::mem::take(&mut self.running) {
            out.notes.flaw(Flaw::UNFINISHED_TEST, || name.clone());
            let class = self.class();
            let case = Case::new(&class, &name, TestState::Failed);
            let why = "unfinished: the test binary ended before this test did";
            out.case(case, || Failure {
                test_name: Some(text::name(&name)),
                ..Failure::of(ErrorType::Other, why)
            });
        }
    }

    fn record(&mut self, event: &LibtestEvent, state: TestState, out: &mut Collector) {
        self.running.swap_remove(event.name.as_str());
        let seconds = if event.exec_time.is_finite() {
            event.exec_time.clamp(0.0, 1e7)
        } else {
            0.0
        };
        let class = self.class();
        out.case(
            Case {
                seconds,
                title: Title::NameOnly,
                ..Case::new(&class, &event.name, state)
            },
            || {
                // What libtest itself reports stands apart; as text it is a note behind the output.
                let output = match event.message.as_str() {
                    "" => event.stdout.clone(),
                    message => format!("{}\nnote: {message}", event.stdout),
                };
                cargo_failure::failure(&output, &event.name, "")
            },
        );
    }

    fn class(&self) -> String {
        format!("#{}", self.binaries.max(1))
    }
}
