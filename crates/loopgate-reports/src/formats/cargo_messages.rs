//! Messages of cargo and rustc as JSON (`--message-format=json`, `--error-format=json`): compile errors, warnings, and
//! what clippy says.

use std::collections::HashSet;

use loopgate_core::evidence::{ErrorType, Finding, FindingSeverity, SourceLocation, TestId};

use crate::{
    collect::{Collector, IsError},
    json::Json,
    mark::Mark,
    text::{self, MAX_MESSAGE, MAX_TRACE},
};

pub(super) const MARK: Mark = Mark::JsonLines(|keys| keys.contains(&"reason") || keys.contains(&"$message_type"));

/// Diagnostics remembered to recognise one that comes again, for a library's tests after the library.
const MAX_SEEN: usize = 20_000;
/// How far the place of a macro's use is followed.
const MAX_EXPANSIONS: usize = 16;

#[derive(Default)]
pub(super) struct CargoMessages {
    seen: HashSet<TestId>,
}

impl CargoMessages {
    /// Takes a line of cargo's JSON, which has the diagnostic under `message`, or of rustc's own, which is one.
    pub fn line(&mut self, line: &str, out: &mut Collector<'_>) -> Result<(), serde_json::Error> {
        let line: Json = serde_json::from_str(line)?;
        match line.text("reason").as_deref() {
            Some("compiler-message") => self.diagnostic(line.at("message"), out),
            None => self.diagnostic(&line, out),
            Some(_) => {}
        }
        Ok(())
    }

    fn diagnostic(&mut self, diagnostic: &Json, out: &mut Collector<'_>) {
        let code = diagnostic.text("code/code").unwrap_or_default();
        let message = diagnostic.text("message").unwrap_or_default();
        let spans = diagnostic.at("spans").list();
        let number = code.strip_prefix('E').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        let is_lint = !code.is_empty() && number.is_none_or(str::is_empty);
        let (severity, is_error) = match diagnostic.text("level").unwrap_or_default().as_ref() {
            "error" if is_lint => (FindingSeverity::High, IsError::Yes(ErrorType::LintError)),
            level if level.starts_with("error") => (FindingSeverity::High, IsError::Yes(ErrorType::CompileError)),
            "warning" => (FindingSeverity::Medium, IsError::No),
            _ => return,
        };
        // They sum up: `aborting due to 2 previous errors`, `3 warnings emitted`.
        let sums_up = message.starts_with("aborting due to") || message.ends_with("emitted");
        if spans.is_empty() && code.is_empty() && sums_up {
            return;
        }
        let location = spans.iter().find(|span| span.is_true("is_primary")).map(own_place);
        let place = location.as_ref().map(|place| format!("{}:{:?}", place.file, place.line)).unwrap_or_default();
        let id = TestId::of(&place, &code, &message);
        if self.seen.len() < MAX_SEEN && !self.seen.insert(id) {
            return;
        }
        let trace = diagnostic.text("rendered").map(|rendered| text::clipped(rendered.trim_end(), MAX_TRACE));
        let (rule, message) = (text::name(&code), text::clipped(&message, MAX_MESSAGE));
        out.diagnostic(Finding { rule, severity, message, location }, is_error, trace);
    }
}

/// Where a macro of the repository is used, rather than where another crate defines it.
fn own_place(span: &Json) -> SourceLocation {
    let mut here = span;
    for _ in 0..MAX_EXPANSIONS {
        let file = here.text("file_name").unwrap_or_default();
        match here.at("expansion/span") {
            outer @ Json::Object(_) if file.starts_with(['/', '<']) => here = outer,
            _ => break,
        }
    }
    text::location(&here.text("file_name").unwrap_or_default(), here.line("line_start"))
}
