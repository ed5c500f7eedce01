//! TeamCity's service messages, which runners of many languages print for their editors:
//! `##teamcity[testFailed name='adds' message='2 is not 3' details='…']`.

use std::collections::HashMap;

use loopgate_core::evidence::{Failure, TestState};

use crate::{Case, Collector, text};

/// Nested suites followed, and tests that run.
const MAX_OPEN: usize = 10_000;

#[derive(Default)]
pub(super) struct TeamCity {
    suites: Vec<String>,
    /// How the tests that have begun ended so far.
    running: HashMap<String, Option<TestState>>,
    passed: u64,
    skipped: u64,
}

impl TeamCity {
    /// Takes a line; gives the tests that failed since the last one, none if it is no message of a test.
    pub fn line(&mut self, line: &str, out: &mut Collector) -> Option<u64> {
        let message = line.trim().strip_prefix("##teamcity[")?.strip_suffix(']')?;
        let (kind, rest) = message.split_once(' ')?;
        let keys = keys(rest);
        let key = |name: &str| keys.get(name).map_or("", String::as_str);
        let name = key("name");
        match kind {
            "testSuiteStarted" if self.suites.len() < MAX_OPEN => self.suites.push(name.to_owned()),
            "testSuiteFinished" => {
                self.suites.pop();
            }
            "testStarted" if self.running.len() < MAX_OPEN => {
                self.running.insert(name.to_owned(), None);
            }
            "testIgnored" => {
                self.running
                    .insert(name.to_owned(), Some(TestState::Skipped));
            }
            "testFinished" => match self.running.remove(name).flatten() {
                None => self.passed += 1,
                Some(TestState::Skipped) => self.skipped += 1,
                Some(_) => {}
            },
            // PHPUnit says so of a test that asserts nothing, and counts it as risky.
            "testFailed"
                if key("message").starts_with("This test did not perform any assertions") =>
            {
                self.running
                    .insert(name.to_owned(), Some(TestState::Skipped));
            }
            "testFailed" => {
                self.running
                    .insert(name.to_owned(), Some(TestState::Failed));
                let suite = self.suites.last().map_or("", String::as_str);
                let details = key("details").trim();
                let whole = format!("{}\n{details}", key("message"));
                let case = Case::new(suite, name, TestState::Failed);
                out.case(case, || {
                    let known = |value: &str| (!value.is_empty()).then(|| value.to_owned());
                    let failure = Failure {
                        expected: known(key("expected")),
                        actual: known(key("actual")),
                        ..Failure::default()
                    };
                    text::failure(failure, key("message"), whole.trim())
                });
                return Some(1);
            }
            _ if kind.starts_with("test") => {}
            _ => return None,
        }
        Some(0)
    }

    /// Counts the tests that did not fail, where nothing sums the run up.
    pub fn count_rest(&self, out: &mut Collector) -> bool {
        let has_some = self.passed + self.skipped > 0;
        if has_some {
            out.anonymous_cases(TestState::Passed, self.passed);
            out.anonymous_cases(TestState::Skipped, self.skipped);
        }
        has_some
    }
}

/// `name='adds' message='it|'s|nbroken'`: a bar stands in front of what would end a value.
fn keys(text: &str) -> HashMap<&str, String> {
    let mut keys = HashMap::new();
    let mut rest = text;
    while let Some((key, behind)) = rest.split_once("='") {
        let mut value = String::new();
        let mut chars = behind.char_indices();
        let mut end = behind.len();
        while let Some((at, c)) = chars.next() {
            match c {
                '\'' => {
                    end = at + 1;
                    break;
                }
                '|' => match chars.next().map(|(_, c)| c) {
                    Some('n') => value.push('\n'),
                    Some('r') => {}
                    // `|0x2014`
                    Some('0') => {
                        let code = chars.as_str().get(1..5);
                        let code = code.and_then(|code| u32::from_str_radix(code, 16).ok());
                        value.extend(code.and_then(char::from_u32));
                        chars.nth(4);
                    }
                    Some(c) => value.push(c),
                    None => {}
                },
                c => value.push(c),
            }
        }
        keys.insert(key.trim(), value);
        rest = behind.get(end..).unwrap_or_default();
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReadOptions, read};

    #[test]
    fn values_may_hold_anything() {
        let keys = keys("name='it|'s |[a|]' message='one|ntwo|0x2014||'");
        assert_eq!(keys["name"], "it's [a]");
        assert_eq!(keys["message"], "one\ntwo—|");
    }

    #[test]
    fn tests_are_counted_as_they_end() {
        let text = "##teamcity[testSuiteStarted name='Cart']\n##teamcity[testStarted name='adds']\n\
                    ##teamcity[testFailed name='adds' message='2 is not 3' details=' /w/tests/CartTest.php:6|n ']\n\
                    ##teamcity[testFinished name='adds' duration='1']\n##teamcity[testStarted name='fine']\n\
                    ##teamcity[testFinished name='fine']\n##teamcity[testIgnored name='later' message='x']\n\
                    ##teamcity[testFinished name='later']\n";
        let report = read("log", text.as_bytes(), &ReadOptions::default());
        let results = report.results.expect("tests ran");
        assert_eq!(
            (
                results.total,
                results.passed,
                results.failed,
                results.skipped
            ),
            (3, 1, 1, 1)
        );
        let failure = &report.failures[0];
        assert_eq!(failure.test_name.as_deref(), Some("Cart.adds"));
        assert_eq!(failure.error_message, "2 is not 3");
        assert_eq!(failure.source.as_ref().and_then(|at| at.line), Some(6));
    }
}
