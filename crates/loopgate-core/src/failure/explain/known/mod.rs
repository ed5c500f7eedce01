//! The table of known messages: what a message means, what mends it, and whether trying again can help.
//!
//! One row per message, grouped in files by theme. Rows are tried in the order of [`tables`]; the first that matches
//! explains the failure, the others are named as matched too. To add one: write the row where it is more particular
//! than what follows, and an example of the message in its file's test.

mod access;
mod build;
mod data;
mod modules;
mod services;
mod time;
mod types;

use std::sync::LazyLock;

use crate::{
    evidence::{ErrorType, RetryClass, RootCauseCategory},
    failure::read::{patterns::Patterns, reading::Reading, text},
};

/// What kind of failure the table is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Something broke.
    Error,
    /// A test says that a condition does not hold.
    Assertion,
    /// A test compares two values: its words are mostly theirs, and tell nothing of the failure.
    Comparison,
}

/// Which failures a row speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    /// All but comparisons.
    Failures,
    /// Errors alone: in an assertion the same words are what the test is about (`status 503`).
    Errors,
    Everything,
}

impl About {
    const fn includes(self, kind: Kind) -> bool {
        match self {
            Self::Everything => true,
            Self::Failures => !matches!(kind, Kind::Comparison),
            Self::Errors => matches!(kind, Kind::Error),
        }
    }
}

/// A known message.
///
/// `cause`, `action` and `reason` are whole sentences; `{x}` stands for the pattern's group `x`, shown as code.
struct Known {
    /// Name shown among the matched patterns.
    id: &'static str,
    pattern: &'static str,
    category: RootCauseCategory,
    retry: RetryClass,
    about: About,
    /// Hundredths.
    confidence: u8,
    cause: &'static str,
    action: &'static str,
    reason: &'static str,
}

/// A known message found in a failure.
#[derive(Clone, Debug)]
pub(in crate::failure) struct Match {
    pub category: RootCauseCategory,
    pub retry: RetryClass,
    pub confidence: u8,
    pub cause: String,
    pub action: String,
    pub reason: String,
}

fn tables() -> impl Iterator<Item = &'static Known> {
    [time::TABLE, modules::TABLE, build::TABLE, access::TABLE, types::TABLE, services::TABLE, data::TABLE]
        .into_iter()
        .flatten()
}

impl Known {
    const fn new(id: &'static str, pattern: &'static str, category: RootCauseCategory, confidence: u8) -> Self {
        let (cause, action, reason) = ("", "", "");
        Self {
            id,
            pattern,
            category,
            retry: RetryClass::Code,
            about: About::Failures,
            confidence,
            cause,
            action,
            reason,
        }
    }

    const fn says(mut self, cause: &'static str, action: &'static str, reason: &'static str) -> Self {
        (self.cause, self.action, self.reason) = (cause, action, reason);
        self
    }

    const fn retry(mut self, retry: RetryClass) -> Self {
        self.retry = retry;
        self
    }

    const fn about(mut self, about: About) -> Self {
        self.about = about;
        self
    }

    /// An outage: re-run without costing an attempt, and never what an assertion speaks of.
    const fn external(self) -> Self {
        self.retry(RetryClass::External).about(About::Errors)
    }
}

struct Table {
    rows: Vec<&'static Known>,
    patterns: Patterns,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let rows: Vec<&'static Known> = tables().collect();
    Table { patterns: Patterns::new(rows.iter().map(|row| row.pattern)), rows }
});

/// Most bytes of a text that are searched; what explains a failure stands near the top of it.
const MAX_SEARCHED: usize = 12 * 1024;

/// Bytes at the end of a log that are searched: the names of tests that passed may well speak of refused connections.
const MAX_LOG: usize = 4 * 1024;

/// What the table says of a failure.
#[derive(Clone, Debug)]
pub(in crate::failure) struct Explanation {
    /// By the row that explains it.
    pub by: Option<Match>,
    /// The names of all rows that match.
    pub matched: Vec<String>,
}

/// What the table says of a failure; the files of a pull request make no difference.
pub(in crate::failure) fn explain(reading: &Reading) -> Explanation {
    let kind = match (reading.error_type, &reading.sides) {
        (ErrorType::AssertionError, Some(_)) => Kind::Comparison,
        (ErrorType::AssertionError, None) => Kind::Assertion,
        _ => Kind::Error,
    };
    // The class is part of what is known: `NullPointerException` may come without a message.
    let headline = match &reading.class {
        Some(class) => format!("{class}: {}", reading.message),
        None => reading.message.clone(),
    };
    let (found, names) = look_up(&headline, kind);
    // A row that matches the error's own words is worth more than one that matches somewhere in its trace; and around
    // a finding of a compiler or linter stand its other findings.
    let is_finding = matches!(reading.error_type, ErrorType::CompileError | ErrorType::LintError);
    let is_all = found.is_some() || is_finding || kind != Kind::Error;
    let (by, matched) = if is_all { (found, names) } else { look_up(&reading.whole, kind) };
    Explanation { by, matched }
}

/// The row that explains the end of the log of a check without known failures.
pub(in crate::failure) fn explain_log(log: &str) -> Option<Match> {
    look_up(&text::clean(text::suffix(log, MAX_LOG)), Kind::Error).0
}

fn look_up(haystack: &str, kind: Kind) -> (Option<Match>, Vec<String>) {
    let haystack = text::prefix(haystack, MAX_SEARCHED);
    let mut rows = TABLE.patterns.matching(haystack);
    rows.retain(|row| TABLE.rows[*row].about.includes(kind));
    let names = rows.iter().map(|row| TABLE.rows[*row].id.to_owned()).collect();
    let found = rows.first().and_then(|row| {
        let known = TABLE.rows[*row];
        let captures = TABLE.patterns.captures(*row, haystack)?;
        // The same name can stand in several branches of a pattern, numbered from the second on.
        let captured = |name: &str| {
            let named = |suffix: &str| captures.name(&format!("{name}{suffix}"));
            named("").or_else(|| named("2")).or_else(|| named("3")).map(|found| found.as_str())
        };
        let fill = |template: &str| fill(template, captured);
        Some(Match {
            category: known.category,
            retry: known.retry,
            confidence: known.confidence,
            cause: fill(known.cause),
            action: fill(known.action),
            reason: fill(known.reason),
        })
    });
    (found, names)
}

/// `template` with each `{name}` replaced by the captured text as a code span.
fn fill<'t>(template: &str, captured: impl Fn(&str) -> Option<&'t str>) -> String {
    let mut out = String::with_capacity(template.len() + 32);
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let Some((name, after)) = after.split_once('}') else { break };
        out.push_str(&text::code(captured(name).unwrap_or_default()));
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Every sentence that people read, for the test that no vague word is among them.
#[cfg(test)]
pub(in crate::failure) fn sentences() -> impl Iterator<Item = &'static str> {
    tables().flat_map(|row| [row.cause, row.action, row.reason])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Each example's first match is its row, its templates fill, and every row of the table has an example.
    pub(in crate::failure) fn check(table: &[Known], examples: &[(&str, &str)]) {
        for (id, message) in examples {
            let (found, names) = look_up(message, Kind::Error);
            assert_eq!(names.first().map(String::as_str), Some(*id), "{message}\nmatched {names:?}");
            let found = found.expect("it matched");
            for sentence in [&found.cause, &found.action, &found.reason] {
                assert!(!sentence.contains("(empty)"), "{id}: {sentence}");
            }
        }
        let shown: BTreeSet<&str> = examples.iter().map(|(id, _)| *id).collect();
        for row in table {
            assert!(shown.contains(row.id), "no example for {}", row.id);
        }
    }

    #[test]
    fn rows_are_well_formed() {
        let mut ids = BTreeSet::new();
        for row in tables() {
            assert!(ids.insert(row.id), "{} twice", row.id);
            assert!((10..=95).contains(&row.confidence), "{}", row.id);
            let pattern = regex::Regex::new(row.pattern).unwrap();
            let groups: BTreeSet<&str> = pattern.capture_names().flatten().collect();
            for sentence in [row.cause, row.action, row.reason] {
                assert!(
                    sentence.ends_with('.')
                        && sentence.starts_with(|c: char| c.is_uppercase() || c.is_numeric() || "`{".contains(c)),
                    "{}: {sentence}",
                    row.id
                );
                for placeholder in sentence.split('{').skip(1).filter_map(|rest| rest.split_once('}')) {
                    assert!(groups.contains(placeholder.0), "{}: {{{}}} is no group", row.id, placeholder.0);
                }
            }
        }
    }

    #[test]
    fn values_that_a_test_compares_are_no_outage() {
        let outage = "status 503 Service Unavailable";
        assert!(look_up(outage, Kind::Error).0.is_some_and(|found| found.retry == RetryClass::External));
        assert!(look_up(outage, Kind::Assertion).0.is_none());
        let null = "expected 'x' to be \"Cannot read properties of undefined (reading 'y')\"";
        assert!(look_up(null, Kind::Assertion).0.is_some() && look_up(null, Kind::Comparison).0.is_none());
    }
}
