//! Known messages: what a message means, what mends it, and whether trying again can help.
//!
//! The rows are data, and `data/known_messages.toml` shows how to add one. Rows are tried in the order of the file; the
//! first that matches explains the failure, the others are named as matched too.

use std::sync::LazyLock;

use regex::Captures;
use serde::Deserialize;

use super::diagnosis::Conclusion;
use crate::{
    evidence::{CheckEvidence, Confidence, ErrorType, Failure, RetryClass, RootCauseCategory},
    expressions::Patterns,
    failure::read::{Reading, is_source_excerpt, text},
};

/// What kind of failure the table is asked about, and up to which kind a row is about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
enum Kind {
    /// Something broke. In an assertion the same words are what the test is about (`status 503`).
    #[serde(rename = "errors")]
    Error,
    /// A test shows that a condition does not hold.
    #[default]
    #[serde(rename = "failures")]
    Assertion,
    /// A test compares two values: its words are mostly theirs, and show nothing of the failure.
    #[serde(rename = "everything")]
    Comparison,
}

/// A known message: one row of the file.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, serde(deny_unknown_fields))]
struct Known {
    /// Shown among the matched patterns.
    name: String,
    /// One of them matches.
    patterns: Vec<String>,
    category: RootCauseCategory,
    #[serde(default)]
    retry: RetryClass,
    /// A program is not installed: no later run of the check finds it.
    #[serde(default)]
    missing_program: bool,
    #[serde(default)]
    about: Kind,
    confidence: Confidence,
    /// A whole sentence, as `action` and `reason` are; `{x}` stands for the pattern's group `x`, shown as code. All
    /// three are empty where only the category is certain.
    #[serde(default)]
    cause: String,
    #[serde(default)]
    action: String,
    #[serde(default)]
    reason: String,
    /// Only the test of the file reads them.
    #[cfg(test)]
    examples: Vec<tests::Example>,
}

/// The whole file.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, serde(deny_unknown_fields))]
struct Rows {
    message: Vec<Known>,
}

struct Table {
    rows: Vec<Known>,
    /// The patterns of all rows, in the order of the rows.
    patterns: Patterns,
    /// The row of each pattern.
    row_of: Vec<usize>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let Rows { message: rows } = data!("known_messages.toml");
    let patterns = Patterns::new(rows.iter().flat_map(|row| &row.patterns));
    let row_of = rows
        .iter()
        .enumerate()
        .flat_map(|(at, row)| row.patterns.iter().map(move |_| at))
        .collect();
    Table {
        rows,
        patterns,
        row_of,
    }
});

/// Most bytes of a text that are searched; what explains a failure stands near the top of it.
const MAX_SEARCHED: usize = 12 * 1024;

/// Bytes at the end of a log that are searched: the names of tests that passed may well name refused connections.
const MAX_LOG: usize = 4 * 1024;

/// What the table shows of a failure; the files of a pull request make no difference.
pub(super) fn explain(reading: &Reading) -> Option<Conclusion> {
    // A reviewer writes about errors, and names none that happened.
    if reading.class.as_deref() == Some(Failure::OF_REVIEWER) {
        return None;
    }
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
    let of_headline = look_up(&headline, kind, |_| true);
    // A registry that is not reached has nothing of what it is asked for.
    if of_headline
        .as_ref()
        .is_some_and(|known| known.patterns[0] == "package_not_in_registry")
    {
        let of_outage = look_up(&reading.whole, kind, |row| {
            row.retry == RetryClass::External
        });
        if of_outage.is_some() {
            return of_outage;
        }
    }
    // A row that matches the error's own words is worth more than one that matches somewhere in its trace; and around
    // a finding of a compiler or linter stand its other findings.
    let is_finding = matches!(
        reading.error_type,
        ErrorType::CompileError | ErrorType::LintError
    );
    if of_headline.is_some() || is_finding || kind != Kind::Error {
        return of_headline;
    }
    // Quoted source shows what the lines around the error are about, not what went wrong.
    let lines = reading
        .whole
        .lines()
        .filter(|line| !is_source_excerpt(line.trim_start()));
    look_up(&lines.collect::<Vec<_>>().join("\n"), kind, |_| true)
}

/// How a check that reports no failure may be retried, by the row that explains the end of its log.
pub(super) fn retry_class_of_log(check: &CheckEvidence) -> Option<RetryClass> {
    if !check.failures.is_empty() || !check.findings.is_empty() {
        return None;
    }
    let log = if check.log_tail.is_empty() {
        &check.log_head
    } else {
        &check.log_tail
    };
    look_up(
        &text::clean(text::suffix(log, MAX_LOG)),
        Kind::Error,
        |_| true,
    )
    .map(|found| found.retry)
}

/// By the first row that matches, with the names of all.
fn look_up(haystack: &str, kind: Kind, counts: impl Fn(&Known) -> bool) -> Option<Conclusion> {
    let Table {
        rows,
        patterns,
        row_of,
    } = &*TABLE;
    let haystack = text::prefix(haystack, MAX_SEARCHED);
    let mut matching = patterns.matching(haystack);
    matching
        .retain(|pattern| kind <= rows[row_of[*pattern]].about && counts(&rows[row_of[*pattern]]));
    let mut matched: Vec<usize> = matching.iter().map(|pattern| row_of[*pattern]).collect();
    matched.dedup();
    let first = *matched.first()?;
    let row = &rows[first];
    // Of several patterns of the row the one that begins first counts.
    let of_row = matching.iter().filter(|pattern| row_of[**pattern] == first);
    let found = of_row.filter_map(|pattern| patterns.captures(*pattern, haystack));
    let captures = found.min_by_key(|captures| captures.get_match().start())?;
    let as_code = |group: &Captures<'_>| {
        text::code(captures.name(&group[1]).map_or("", |found| found.as_str()))
    };
    let fill = |template: &str| {
        pattern!(r"\{(\w+)\}")
            .replace_all(template, as_code)
            .into_owned()
    };
    let subject: Vec<&str> = captures
        .iter()
        .skip(1)
        .flatten()
        .map(|found| found.as_str())
        .collect();
    Some(Conclusion {
        category: row.category,
        retry: row.retry,
        missing_program: row.missing_program,
        certainty: row.confidence,
        cause: fill(&row.cause),
        action: fill(&row.action),
        reason: fill(&row.reason),
        subject: subject.join(" "),
        patterns: matched
            .into_iter()
            .map(|row| rows[row].name.clone())
            .collect(),
        repeats_sides: false,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use regex::Regex;

    use super::*;
    use crate::expressions::compile;

    /// The names between braces in a template.
    fn placeholders(template: &str) -> impl Iterator<Item = &str> {
        template
            .split('{')
            .skip(1)
            .filter_map(|rest| rest.split_once('}'))
            .map(|(name, _)| name)
    }

    /// A message as a tool prints it.
    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Example {
        text: String,
        /// What each group captures.
        #[serde(default)]
        captures: BTreeMap<String, String>,
    }

    /// Every sentence of the data that people read, for the test that no vague word is among them.
    pub fn sentences() -> impl Iterator<Item = &'static str> {
        TABLE
            .rows
            .iter()
            .flat_map(Known::sentences)
            .filter(|sentence| !sentence.is_empty())
    }

    impl Known {
        fn sentences(&self) -> [&str; 3] {
            [&self.cause, &self.action, &self.reason]
        }

        fn placeholders(&self) -> impl Iterator<Item = &str> {
            self.sentences().into_iter().flat_map(placeholders)
        }
    }

    #[test]
    fn rows_are_well_formed() {
        let mut names = BTreeSet::new();
        for row in &TABLE.rows {
            let name = &row.name;
            assert!(names.insert(name), "{name} twice");
            let confidence = row.confidence;
            assert!(
                (Confidence::percent(10)..=Confidence::percent(95)).contains(&confidence),
                "{name}: {confidence}"
            );
            assert!(
                row.retry != RetryClass::External || row.about == Kind::Error,
                "{name} takes words for an outage"
            );
            let silent = row
                .sentences()
                .into_iter()
                .filter(|sentence| sentence.is_empty())
                .count();
            assert!(matches!(silent, 0 | 3), "{name} has some of its sentences");
            for sentence in row
                .sentences()
                .into_iter()
                .filter(|sentence| !sentence.is_empty())
            {
                let begins = |c: char| c.is_uppercase() || c.is_numeric() || "`{".contains(c);
                assert!(
                    sentence.ends_with('.') && sentence.starts_with(begins),
                    "{name}: {sentence}"
                );
            }
            let used: BTreeSet<&str> = row.placeholders().collect();
            assert!(!row.patterns.is_empty(), "{name} has no pattern");
            for pattern in &row.patterns {
                let compiled =
                    Regex::new(pattern).unwrap_or_else(|error| panic!("{name}: {error}"));
                let groups: BTreeSet<&str> = compiled.capture_names().flatten().collect();
                assert!(
                    silent == 3 || groups == used,
                    "{name}: groups of {pattern} and braces in its sentences"
                );
            }
        }
    }

    #[test]
    fn the_row_of_each_example_explains_it() {
        for row in &TABLE.rows {
            assert!(!row.examples.is_empty(), "{} has no example", row.name);
            for Example { text, captures } in &row.examples {
                let by = look_up(text, Kind::Error, |_| true).expect("the row matches");
                assert_eq!(
                    by.patterns.first(),
                    Some(&row.name),
                    "{text}\nmatched {:?}",
                    by.patterns
                );
                let found = row
                    .patterns
                    .iter()
                    .filter_map(|pattern| compile(pattern).captures(text));
                let groups = found
                    .min_by_key(|captures| captures.get_match().start())
                    .expect("the row matches");
                let captured: BTreeMap<String, String> = captures
                    .keys()
                    .filter_map(|name| Some((name.clone(), groups.name(name)?.as_str().to_owned())))
                    .collect();
                assert_eq!(&captured, captures, "{text}");
                let told = [by.cause, by.action, by.reason].join(" ");
                assert!(!told.contains("(empty)"), "{}: {told}", row.name);
            }
        }
    }

    #[test]
    fn values_that_a_test_compares_are_no_outage() {
        let outage = "status 503 Service Unavailable";
        assert!(
            look_up(outage, Kind::Error, |_| true)
                .is_some_and(|found| found.retry == RetryClass::External)
        );
        assert!(look_up(outage, Kind::Assertion, |_| true).is_none());
        let null = "expected 'x' to be \"Cannot read properties of undefined (reading 'y')\"";
        assert!(
            look_up(null, Kind::Assertion, |_| true).is_some()
                && look_up(null, Kind::Comparison, |_| true).is_none()
        );
    }
}
