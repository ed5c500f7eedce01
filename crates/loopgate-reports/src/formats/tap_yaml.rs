//! The YAML block below a TAP test point, which shows why it failed.

use crate::{Clip, MAX_MESSAGE, numbers, text};
use loopgate_core::{
    evidence::{ErrorType, Failure, SourceLocation},
    failure::complete,
};

/// The YAML below a test point, of which only plain keys and block texts are read.
pub(super) struct Yaml {
    /// Indentation of its dashes, and of its keys.
    pub dashes: usize,
    indent: usize,
    pub is_open: bool,
    /// Keys in order, lower case.
    entries: Vec<(String, Clip)>,
}

/// Keys read; no producer writes as many.
const MAX_KEYS: usize = 64;

impl Yaml {
    pub fn new(indent: usize) -> Self {
        Self {
            dashes: indent,
            indent,
            is_open: true,
            entries: Vec::new(),
        }
    }

    /// Takes a line of the block.
    pub fn line(&mut self, line: &str) {
        let content = line.trim_start();
        let indent = line.len() - content.len();
        if content.trim_end() == "..." && indent <= self.indent {
            self.is_open = false;
            return;
        }
        // Some indent the keys below the dashes.
        if self.entries.is_empty() {
            self.indent = indent;
        }
        // A value may go on further left than its key.
        let is_left = indent < self.indent;
        let inner = if is_left {
            content
        } else {
            line.get(self.indent..).unwrap_or_default()
        };
        let key = inner
            .split_once(':')
            .map(|(key, value)| (key.trim_end(), value))
            .filter(|(key, _)| {
                let plain =
                    |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '\'' | '"');
                !is_left && !key.is_empty() && key.chars().all(plain)
            });
        match key {
            Some((key, value)) if self.entries.len() < MAX_KEYS => {
                let mut text = Clip::default();
                let value = value.trim();
                // A block follows.
                if !matches!(value, "|" | "|-" | "|+" | ">" | ">-" | ">+") {
                    text.push(unquoted(value));
                }
                self.entries
                    .push((key.trim_matches(['\'', '"']).to_ascii_lowercase(), text));
            }
            _ => {
                if let Some((_, text)) = self.entries.last_mut() {
                    text.push_line("");
                    text.push(inner.strip_prefix("  ").unwrap_or(inner));
                }
            }
        }
    }

    fn get(&self, keys: &[&str]) -> Option<String> {
        let found = keys
            .iter()
            .find_map(|key| self.entries.iter().find(|(known, _)| known == key));
        let text = found?.1.text();
        let text = text.trim_matches('\n');
        (!text.trim().is_empty()).then(|| text.to_owned())
    }

    pub fn seconds(&self) -> Option<f64> {
        let millis = self
            .get(&["duration_ms"])
            .and_then(|text| numbers::seconds(&text).ok())?;
        Some(millis / 1000.0)
    }

    pub fn failure(&self, description: &str) -> Failure {
        let message = self
            .get(&["error", "message"])
            .unwrap_or_else(|| description.to_owned());
        // Vitest puts name and message below `error`.
        let nested = message
            .lines()
            .find_map(|line| line.trim().strip_prefix("message: "))
            .map(unquoted);
        let message = nested
            .filter(|_| message.trim_start().starts_with("name: "))
            .map_or(message.clone(), str::to_owned);
        let class = self
            .get(&["name", "type", "failuretype"])
            .filter(|class| !class.contains('\n'));
        let place = self
            .get(&["location", "at", "file"])
            .and_then(|text| self.place(&text));
        let place = place.filter(|place| !place.file.contains("/node_modules/"));
        let mut trace = self.get(&["stack"]);
        // Node's `location` is where the test begins; where it failed stands in the stack alone, without `at`.
        let is_node = self.get(&["location"]).is_some();
        if let Some(stack) = trace.as_mut().filter(|_| is_node) {
            *stack = stack
                .lines()
                .map(|line| format!("    at {line}"))
                .collect::<Vec<_>>()
                .join("\n");
        }
        let fails_at = place.as_ref().filter(|_| !is_node);
        let short = |text: String| text::clipped(text.trim(), MAX_MESSAGE);
        let mut failure = Failure {
            error_type: match self.get(&["failuretype"]).as_deref() {
                Some("testTimeoutFailure") => ErrorType::TimeoutError,
                _ => ErrorType::Other,
            },
            error_class: class.map(|class| text::name(&class)),
            error_message: short(message),
            line_number: fails_at.and_then(|place| place.line),
            test_file: place.as_ref().map(|place| place.file.clone()),
            // tap shows in a difference alone what the sides are.
            stack_trace: self
                .get(&["diff"])
                .into_iter()
                .chain(trace)
                .reduce(|diff, trace| format!("{diff}\n{trace}")),
            expected: self.get(&["expected", "wanted", "want"]).map(short),
            actual: self.get(&["actual", "found", "got"]).map(short),
            source: fails_at.cloned(),
            ..Failure::default()
        };
        complete(&mut failure);
        failure.line_number = failure
            .line_number
            .or(place.as_ref().and_then(|place| place.line));
        failure.source = failure.source.or(place);
        failure
    }

    /// `/repo/cart.js:3:5`, `Test.<anonymous> (/repo/cart.js:3:5)`, or a file whose line stands beside or below it.
    fn place(&self, text: &str) -> Option<SourceLocation> {
        let nested = |key: &str| {
            text.lines().find_map(|line| {
                line.trim()
                    .strip_prefix(key)?
                    .strip_prefix(':')
                    .map(|value| value.trim())
            })
        };
        if let Some(file) = nested("file").or_else(|| nested("fileName")) {
            let line = nested("line")
                .or_else(|| nested("lineNumber"))
                .and_then(numbers::line);
            return Some(text::location(unquoted(file), line));
        }
        let text = text.replace('\n', " ");
        let text = text.trim().trim_end_matches(')');
        let place = text.rsplit_once('(').map_or(text, |(_, place)| place);
        let place = place.strip_prefix("file://").unwrap_or(place);
        let line = || {
            self.get(&["line", "lineno"])
                .and_then(|line| numbers::line(&line))
        };
        text::place(place).or_else(|| (!place.is_empty()).then(|| text::location(place, line())))
    }
}

fn unquoted(value: &str) -> &str {
    let inner = |quote: char| {
        value
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote))
    };
    inner('\'').or_else(|| inner('"')).unwrap_or(value)
}
