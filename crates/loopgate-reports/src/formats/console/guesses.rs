//! Lines that look like findings, of which no row of a tool knows whose they are.

use loopgate_core::evidence::{Finding, FindingSeverity, SourceLocation};

use super::MAX_ANNOTATIONS;
use crate::{numbers, severity, text};

patterns! {
    /// `pkg/core.py:7: unused variable 'n'`
    FINDING = r"^(?P<file>(?:[\w.@+-]+/)*[\w.@+-]+\.[A-Za-z]\w{0,9}):(?P<line>[0-9]+)(?::[0-9]+)?: (?P<message>\S.*)$";
}

/// Where a line stands that is a place and what is wrong there, and that; a sentence of a log names a place elsewhere.
pub(super) fn place_and_message(line: &str) -> Option<(SourceLocation, &str)> {
    let colon = memchr::memchr(b':', line.as_bytes())?;
    line.as_bytes()
        .get(colon + 1)
        .filter(|byte| byte.is_ascii_digit())?;
    let found = FINDING.captures(line)?;
    let place = text::location(&found["file"], numbers::line(&found["line"]));
    Some((place, found.name("message")?.as_str()))
}

/// Lines that look like findings of a tool that is not known, where nothing else is found.
#[derive(Default)]
pub(super) struct Guesses {
    findings: Vec<Finding>,
    lines: u64,
    lines_with_text: u64,
}

impl Guesses {
    pub fn line(&mut self, line: &str) {
        self.lines_with_text += u64::from(!line.trim().is_empty());
        let Some((place, message)) = place_and_message(line) else {
            return;
        };
        self.lines += 1;
        if self.findings.len() < MAX_ANNOTATIONS {
            let (level, message) = severity::told(message);
            let level = level.unwrap_or(FindingSeverity::High);
            self.findings
                .push(text::finding("", level, message, Some(place)));
        }
    }

    /// The findings, if most lines are some.
    pub fn into_findings(self) -> Vec<Finding> {
        match self.lines * 2 >= self.lines_with_text {
            true => self.findings,
            false => Vec::new(),
        }
    }
}
