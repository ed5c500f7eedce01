//! Messages of cargo and rustc as JSON (`--message-format=json`, `--error-format=json`): compile errors, warnings, and
//! what clippy says.

use std::collections::HashSet;

use loopgate_core::evidence::{ErrorType, Finding, FindingSeverity, SourceLocation, TestId};
use serde::{Deserialize, de::IgnoredAny};

use crate::{
    collect::{Collector, IsError},
    mark::Mark,
    text::{self, MAX_MESSAGE, MAX_TRACE},
};

pub(super) const MARK: Mark = Mark::JsonLines(|keys| keys.contains(&"reason") || keys.contains(&"$message_type"));

/// Diagnostics remembered to recognise one that comes again, for a library's tests after the library.
const MAX_SEEN: usize = 20_000;
/// How far the place of a macro's use is followed.
const MAX_EXPANSIONS: usize = 16;

/// A line of cargo's, or of rustc's own.
#[derive(Deserialize)]
pub(super) struct Line {
    /// `compiler-message`, `compiler-artifact`, `build-finished`, …
    reason: Option<String>,
    message: Option<Message>,
}

/// cargo puts the diagnostic under `message`; rustc's own lines are the diagnostic, whose `message` is its text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Message {
    Diagnostic(Diagnostic),
    Other(IgnoredAny),
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Diagnostic {
    message: String,
    level: String,
    code: Option<Code>,
    spans: Vec<Span>,
    rendered: Option<String>,
}

#[derive(Deserialize)]
struct Code {
    #[serde(default)]
    code: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Span {
    file_name: String,
    line_start: u32,
    is_primary: bool,
    expansion: Option<Box<Expansion>>,
}

#[derive(Deserialize)]
struct Expansion {
    span: Span,
}

#[derive(Default)]
pub(super) struct CargoMessages {
    seen: HashSet<TestId>,
}

impl CargoMessages {
    /// Takes a line of JSON.
    pub fn line(&mut self, line: &str, out: &mut Collector<'_>) -> Result<(), serde_json::Error> {
        let parsed: Line = serde_json::from_str(line)?;
        match (parsed.reason.as_deref(), parsed.message) {
            (Some("compiler-message"), Some(Message::Diagnostic(diagnostic))) => self.diagnostic(diagnostic, out),
            (None, Some(Message::Other(_))) => self.diagnostic(serde_json::from_str(line)?, out),
            _ => {}
        }
        Ok(())
    }

    fn diagnostic(&mut self, diagnostic: Diagnostic, out: &mut Collector<'_>) {
        let code = diagnostic.code.map(|code| code.code).unwrap_or_default();
        let is_lint = !code.is_empty() && !is_error_code(&code);
        let (severity, is_error) = match diagnostic.level.as_str() {
            // A lint that is denied is an error of the compiler's, too.
            "error" if is_lint => (FindingSeverity::High, IsError::Yes(ErrorType::LintError)),
            level if level.starts_with("error") => (FindingSeverity::High, IsError::Yes(ErrorType::CompileError)),
            "warning" => (FindingSeverity::Medium, IsError::No),
            _ => return,
        };
        // Only sums up the others: "aborting due to 2 previous errors", "3 warnings emitted".
        if diagnostic.spans.is_empty() && code.is_empty() && sums_up(&diagnostic.message) {
            return;
        }
        let location = diagnostic.spans.iter().find(|span| span.is_primary).map(own_place);
        let place = location.as_ref().map(|place| format!("{}:{:?}", place.file, place.line)).unwrap_or_default();
        let id = TestId::of(&place, &code, &diagnostic.message);
        if self.seen.len() < MAX_SEEN && !self.seen.insert(id) {
            return;
        }
        let trace = diagnostic.rendered.map(|rendered| text::clipped(rendered.trim_end(), MAX_TRACE));
        let finding = Finding {
            rule: text::name(&code),
            severity,
            message: text::clipped(&diagnostic.message, MAX_MESSAGE),
            location,
        };
        out.diagnostic(finding, is_error, trace);
    }
}

/// `E0308`, unlike `unused_variables` and `clippy::needless_return`.
fn is_error_code(code: &str) -> bool {
    code.strip_prefix('E').is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

fn sums_up(message: &str) -> bool {
    message.starts_with("aborting due to") || message.ends_with("emitted")
}

/// The place in the code that was compiled, of an error inside a macro defined elsewhere.
fn own_place(span: &Span) -> SourceLocation {
    let mut here = span;
    for _ in 0..MAX_EXPANSIONS {
        let is_foreign = here.file_name.starts_with('/') || here.file_name.starts_with('<');
        match &here.expansion {
            Some(outer) if is_foreign => here = &outer.span,
            _ => break,
        }
    }
    let line = Some(here.line_start).filter(|line| *line > 0);
    text::location(&here.file_name, line)
}
