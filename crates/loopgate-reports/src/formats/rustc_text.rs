//! Compile errors as rustc prints them for people:
//!
//! ```text
//! error[E0308]: mismatched types
//!   --> src/lib.rs:3:5
//! ```

use crate::{Clip, Collector, MAX_MESSAGE, text};
use loopgate_core::evidence::{ErrorType, Failure};

/// Gathers the errors among lines given one by one.
#[derive(Default)]
pub(super) struct CompileErrors {
    /// The error that goes on, and its lines.
    pub open: Option<(Failure, Clip)>,
    has_errors: bool,
    /// What cargo said at the end, should that be all there is.
    closing: Option<String>,
}

impl CompileErrors {
    pub fn line(&mut self, line: &str, out: &mut Collector) {
        if let Some((code, message)) = error_line(line) {
            self.close(out);
            if message.ends_with("target failed:") || message.ends_with("targets failed:") {
                return;
            }
            let sums_up = |mark: &&str| message.starts_with(*mark);
            if ["could not compile", "aborting due to", "build failed"].iter().any(sums_up) {
                self.closing = Some(text::clipped(message, MAX_MESSAGE));
                return;
            }
            let mut lines = Clip::default();
            lines.push_line(line);
            let error = Failure::of(ErrorType::CompileError, text::clipped(message, MAX_MESSAGE));
            self.open = Some((Failure { error_class: code.map(text::name), ..error }, lines));
        } else if line.is_empty() || line.starts_with("warning") {
            self.close(out);
        } else if let Some((error, lines)) = &mut self.open {
            let place = || line.trim_start().strip_prefix("--> ").and_then(text::place);
            error.source = error.source.take().or_else(place);
            lines.push_line(line);
        }
    }

    /// No error goes on past this.
    pub fn end(&mut self, out: &mut Collector) {
        self.close(out);
        if let Some(message) = self.closing.take().filter(|_| !self.has_errors) {
            out.problem(|| Failure::of(ErrorType::CompileError, message));
        }
    }

    fn close(&mut self, out: &mut Collector) {
        let Some((mut error, lines)) = self.open.take() else { return };
        self.has_errors = true;
        let class = error.error_class.as_deref().unwrap_or_default();
        if out.is_new(error.source.as_ref(), class, &error.error_message) {
            error.stack_trace = Some(lines.text().trim_end().to_owned());
            out.problem(|| error);
        }
    }
}

/// `error[E0308]: mismatched types` → code and message.
fn error_line(line: &str) -> Option<(Option<&str>, &str)> {
    let rest = line.strip_prefix("error")?;
    match rest.strip_prefix('[') {
        Some(rest) => rest.split_once("]: ").map(|(code, message)| (Some(code), message)),
        None => rest.strip_prefix(": ").map(|message| (None, message)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failures(text: &str) -> Vec<Failure> {
        let options = crate::ReadOptions::default();
        let mut out = Collector::new(&options);
        let mut errors = CompileErrors::default();
        text.lines().for_each(|line| errors.line(line, &mut out));
        errors.end(&mut out);
        out.failures_mut().to_vec()
    }

    #[test]
    fn errors_with_place_and_without() {
        let text = "warning: unused\n --> src/a.rs:1:1\n\n\
                    error[E0308]: mismatched types\n  --> src/lib.rs:3:5\n   |\n3 |     \"a\"\n\n\
                    error: could not compile `shop` (lib) due to 1 previous error\n";
        let [error] = failures(text).try_into().unwrap();
        assert_eq!(error.error_class.as_deref(), Some("E0308"));
        assert_eq!(error.location(), Some(("src/lib.rs", Some(3))));
        assert_eq!(error.error_message, "mismatched types");
        assert!(error.stack_trace.unwrap().ends_with("\"a\""));
        let [error] = failures("error: could not compile `shop` (lib)\n").try_into().unwrap();
        assert_eq!((error.error_message.as_str(), error.source), ("could not compile `shop` (lib)", None));
    }
}
