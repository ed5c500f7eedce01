//! The text of `go test` and `go build`, and of gotestsum, which runs it. What a test logged stands below its `--- FAIL`
//! or, with `-v`, above it; the package is named when it is over, so its tests are held until then. What a build prints
//! stands below the name of its package, wherever that ends.

use std::collections::HashMap;

use loopgate_core::evidence::{TestFramework, TestState};
use regex::Captures;

use crate::formats::{
    go_package::{GoPackage, PackageEnd, RunningTest},
    go_text,
};
use crate::{Clip, Collector};

/// Tests held of one package, and bytes of what they printed.
const MAX_TESTS: usize = 20_000;
const MAX_HELD: usize = 8 * 1024 * 1024;
/// Packages whose builds failed and that have not ended.
const MAX_BUILDS: usize = 500;

patterns! {
    /// `--- FAIL: TestRates/it (0.00s)`
    RESULT = r"^--- (?P<word>FAIL|PASS|SKIP): (?P<name>\S+) \([0-9.]+s\)$";
    /// gotestsum's lists: `=== FAIL: cart TestTotal/two_items (0.00s)`.
    LISTED = r"^=== (?P<word>FAIL|SKIP): (?P<package>\S+) (?P<name>\S*) \([0-9.]+s\)$";
    /// `DONE 9 tests, 1 skipped, 6 failures in 1.627s`
    DONE = r"^DONE (?P<tests>[0-9]+) tests?(?:, (?P<skipped>[0-9]+) skipped)?(?:, (?P<failed>[0-9]+) failures?)?(?:, [0-9]+ errors?)? in [0-9.]+s$";
}

#[derive(Default)]
pub(in crate::formats) struct Go {
    /// The tests of a package have begun and not ended.
    is_open: bool,
    /// `# example.com/shop` was printed, below which the errors of its build stand.
    building: Option<String>,
    /// What the builds of packages printed that have not ended.
    builds: HashMap<String, Clip>,
    /// A package has ended, so that gotestsum's lists repeat what is known.
    has_ended: bool,
    /// gotestsum lists skipped or failed tests.
    in_list: bool,
    package: GoPackage,
    current: Option<String>,
    /// The word, `PASS` or `FAIL`, with which the tests of the package ended.
    word: Option<TestState>,
    /// The last package passed.
    has_passed: bool,
    /// A package passed whose tests ended with `FAIL`: its own `TestMain` gave another status.
    is_contradicted: bool,
    held: usize,
    /// What was printed before a test's result: assertion libraries with a report of their own print it there.
    above: Clip,
}

impl Go {
    /// Whether only go prints such a line.
    pub fn begins_with(line: &str) -> bool {
        result(line).is_some()
            || line.starts_with("=== FAIL: ") && LISTED.is_match(line)
            || line.starts_with("DONE ") && DONE.is_match(line)
            || line.starts_with("=== RUN   ")
            || package_end(line).is_some()
            || is_end_of_process(line)
    }

    /// Whether the line is go's, or a test's of it.
    pub fn line(&mut self, line: &str, out: &mut Collector) -> bool {
        /// In front of the name of the test that runs or goes on.
        const MARKS: [&str; 4] = ["RUN   ", "CONT  ", "NAME  ", "PAUSE "];
        let is_of_build = || {
            go_text::compile_error(line).is_some()
                || ["\t", "too many errors"]
                    .iter()
                    .any(|start| line.starts_with(start))
        };
        if line.starts_with("=== ")
            && let Some(listed) = LISTED.captures(line)
        {
            self.list(&listed["word"], &listed["package"], &listed["name"], out);
            return true;
        }
        if line == "=== Failed" || line == "=== Skipped" {
            self.end_listed(out);
            // The lines above told of the same tests as they ran.
            (self.package, self.current, self.is_open) = Default::default();
            self.in_list = true;
            return true;
        }
        if line.starts_with("DONE ")
            && let Some(done) = DONE.captures(line)
        {
            self.end_listed(out);
            self.done(&done, out);
            return true;
        }
        if let Some((package, end)) = package_end(line) {
            self.building = None;
            self.has_passed = end == PackageEnd::Passed;
            self.is_contradicted |= self.has_passed && self.word == Some(TestState::Failed);
            self.word = None;
            // Without `-v` no test of a package that passes is named or counted.
            if end == PackageEnd::Passed && self.package.tests.is_empty() && !line.ends_with(']') {
                out.framework = Some(TestFramework::GoTest);
                out.has_uncounted = true;
                (self.package, self.current, self.is_open) = Default::default();
                (self.held, self.above) = Default::default();
            } else if end == PackageEnd::NotBuilt {
                out.framework = Some(TestFramework::GoTest);
                out.expect_tests();
                let mut broken = GoPackage::default();
                broken.output = self.builds.remove(package).unwrap_or_default();
                broken.end(package, end, out);
            } else {
                self.end_package(package, end, out);
            }
            self.has_ended |= !self.in_list;
            return true;
        }
        if let Some((printed, name, state)) = result(line) {
            self.is_open = true;
            self.building = None;
            if !printed.trim().is_empty() {
                self.push(printed);
            }
            // A race is reported above the test that it makes fail.
            let is_reported_above = state == TestState::Failed && !line.starts_with(' ');
            let above = if is_reported_above {
                std::mem::take(&mut self.package.output)
            } else {
                Clip::default()
            };
            if let Some(test) = self.test(name) {
                test.state = Some(state);
                test.output = if test.output.held() > 0 {
                    std::mem::take(&mut test.output)
                } else {
                    above
                };
            }
        } else if let Some(name) = line
            .strip_prefix("=== ")
            .and_then(|rest| MARKS.iter().find_map(|m| rest.strip_prefix(m)))
        {
            self.is_open = true;
            self.test(name);
        } else if is_end_of_process(line) || line.starts_with("panic: ") {
            self.is_open = true;
            self.push(line);
        } else if let Some(package) = line.strip_prefix("# ").filter(|rest| is_package(rest)) {
            let package = package.split(" [").next().unwrap_or(package);
            self.building = Some(package.trim_matches(['[', ']']).to_owned());
        } else if let Some(package) = self.building.take_if(|_| is_of_build()) {
            if self.builds.len() < MAX_BUILDS || self.builds.contains_key(&package) {
                let output = self.builds.entry(package.clone()).or_default();
                output.push_line(line);
            }
            self.building = Some(package);
        } else if line == "FAIL" || line == "PASS" {
            self.current = None;
            self.word = Some(match line {
                "FAIL" => TestState::Failed,
                _ => TestState::Passed,
            });
        } else if self.is_open {
            self.push(line);
        } else {
            self.building = None;
            self.above.push_line(line);
            return false;
        }
        true
    }

    pub fn end(&mut self, out: &mut Collector) {
        self.end_listed(out);
        if self.has_passed && !self.is_contradicted {
            let results = out.report.results.unwrap_or_default();
            out.run.close(results.passed, results.skipped);
        }
        // Of `go build` and `go vet`: what they print is about no tests.
        for (_, output) in std::mem::take(&mut self.builds) {
            let mut broken = GoPackage::default();
            broken.output = output;
            broken.end("", PackageEnd::NotBuilt, out);
        }
        // Any program of go panics; one whose package is never named is no test.
        let is_other = |line: &str| line.starts_with("panic: ") && !is_end_of_process(line);
        let output = self.package.output.text();
        if self.package.tests.is_empty() && output.lines().next().is_some_and(is_other) {
            return;
        }
        if self.is_open || !output.is_empty() {
            self.end_package("", PackageEnd::Failed, out);
        }
    }

    fn test(&mut self, name: &str) -> Option<&mut RunningTest> {
        let test = self.package.test(name, MAX_TESTS);
        self.current = test.is_some().then(|| name.to_owned());
        test
    }

    fn push(&mut self, line: &str) {
        self.held += line.len();
        if self.held > MAX_HELD {
            return;
        }
        let test = self
            .current
            .as_ref()
            .and_then(|name| self.package.tests.get_mut(name));
        let output = test.map_or(&mut self.package.output, |test| &mut test.output);
        output.push_line(line);
    }

    /// A test in one of gotestsum's lists, with what it logged below.
    fn list(&mut self, word: &str, package: &str, name: &str, out: &mut Collector) {
        if self.package.name != package {
            self.end_listed(out);
            self.package.name = package.to_owned();
        }
        self.in_list = true;
        self.is_open = true;
        if !name.is_empty()
            && let Some(test) = self.test(name)
        {
            test.state = Some(match word {
                "SKIP" => TestState::Skipped,
                _ => TestState::Failed,
            });
        }
    }

    /// The tests of one package in such a list are over.
    fn end_listed(&mut self, out: &mut Collector) {
        if !std::mem::take(&mut self.in_list) {
            return;
        }
        let package = std::mem::take(&mut self.package);
        (self.current, self.is_open) = (None, false);
        if !self.has_ended && !package.tests.is_empty() {
            out.framework = Some(TestFramework::GoTest);
            out.expect_tests();
            let name = package.name.clone();
            let has_failed = |test: &RunningTest| test.state == Some(TestState::Failed);
            let end = match package.tests.values().any(has_failed) {
                true => PackageEnd::Failed,
                false => PackageEnd::Passed,
            };
            package.end(&name, end, out);
        }
    }

    /// The tests that gotestsum counts and does not list passed. It counts tests that have subtests too.
    fn done(&mut self, done: &Captures<'_>, out: &mut Collector) {
        let number = |name: &str| {
            let number = done
                .name(name)
                .and_then(|number| number.as_str().parse().ok());
            number.unwrap_or(0_u64)
        };
        if !self.has_ended {
            let others = number("skipped").saturating_add(number("failed"));
            let passed = number("tests").min(1 << 40).saturating_sub(others);
            out.expect_tests();
            out.anonymous_cases(TestState::Passed, passed);
        }
    }

    fn end_package(&mut self, package: &str, end: PackageEnd, out: &mut Collector) {
        out.framework = Some(TestFramework::GoTest);
        out.expect_tests();
        let (mut ended, above) = (
            std::mem::take(&mut self.package),
            std::mem::take(&mut self.above),
        );
        (self.current, self.is_open, self.held) = Default::default();
        let mut failed = ended
            .tests
            .values_mut()
            .filter(|test| test.state == Some(TestState::Failed));
        if let (Some(only), None) = (failed.next(), failed.next())
            && only.output.held() == 0
        {
            only.output = above;
        }
        ended.end(package, end, out);
    }
}

/// What stands in front of a test's result, its name, and how it ended.
fn result(line: &str) -> Option<(&str, &str, TestState)> {
    // What a test prints without an end of line stands in front of it.
    let (printed, found) = line
        .match_indices("--- ")
        .find_map(|(at, _)| Some((&line[..at], RESULT.captures(&line[at..])?)))?;
    let state = match &found["word"] {
        "FAIL" => TestState::Failed,
        "PASS" => TestState::Passed,
        _ => TestState::Skipped,
    };
    let name = found.name("name")?.as_str();
    // Another program may print such words too.
    let is_go = printed.trim().is_empty()
        || ["Test", "Fuzz", "Example", "Benchmark"]
            .iter()
            .any(|kind| name.starts_with(kind));
    is_go.then_some((printed, name, state))
}

/// `FAIL\texample.com/shop/cart\t0.004s`, `ok  \texample.com/shop/cart\t0.01s`, `FAIL\tx [build failed]`.
fn package_end(line: &str) -> Option<(&str, PackageEnd)> {
    let (word, rest) = line.split_once('\t')?;
    let end = match word {
        "FAIL" if rest.ends_with("[build failed]") || rest.ends_with("[setup failed]") => {
            PackageEnd::NotBuilt
        }
        "FAIL" => PackageEnd::Failed,
        "ok  " | "?   " => PackageEnd::Passed,
        _ => return None,
    };
    let package = rest.split(['\t', ' ']).next()?;
    // A module may have a plain name.
    let is_timed = rest
        .rsplit_once('\t')
        .is_some_and(|(_, time)| time.ends_with('s') && time.starts_with("0."));
    (is_package(package) || is_timed && !package.is_empty()).then_some((package, end))
}

fn is_package(text: &str) -> bool {
    let name = text.split(" [").next().unwrap_or(text);
    !name.is_empty() && !name.contains(char::is_whitespace) && name.contains(['/', '.'])
        || name == "command-line-arguments"
}

fn is_end_of_process(line: &str) -> bool {
    line.starts_with("panic: test timed out after ") || line == "WARNING: DATA RACE"
}

#[cfg(test)]
mod tests {
    use crate::{ReadOptions, read};

    #[test]
    fn a_package_that_passes_counts_no_test_and_one_without_tests_counts_none() {
        let total = |text: &str| {
            read("go", text.as_bytes(), &ReadOptions::default())
                .results
                .map(|it| it.total)
        };
        assert_eq!(total("ok  \texample.com/shop\t0.002s\n"), None);
        assert_eq!(
            total(
                "ok  \texample.com/shop\t(cached)\n?   \texample.com/shop/cmd\t[no test files]\n"
            ),
            None
        );
        assert_eq!(
            total("?   \texample.com/shop/cmd\t[no test files]\n"),
            Some(0)
        );
        assert_eq!(
            total("ok  \texample.com/shop\t0.002s [no tests to run]\n"),
            Some(0)
        );
        assert_eq!(
            total(
                "=== RUN   TestA\n--- PASS: TestA (0.00s)\nPASS\nok  \texample.com/shop\t0.002s\n"
            ),
            Some(1)
        );
    }

    #[test]
    fn what_a_library_printed_above_the_end_of_the_only_failing_test_is_of_that_test() {
        let text = "\nFAIL: cart_test.go:17: S.TestSums\n\ncart_test.go:18:\n    c.Assert(Total(45, 2), Equals, 90)\n\
                    ... obtained int = 45\n... expected int = 90\n\n--- FAIL: Test (0.01s)\nFAIL\nFAIL\tshop\t0.008s\n";
        let failures = read("go", text.as_bytes(), &ReadOptions::default()).failures;
        let [only] = failures.as_slice() else {
            panic!("{failures:?}")
        };
        assert_eq!(
            only.source
                .as_ref()
                .map(|source| (source.file.as_str(), source.line)),
            Some(("shop/cart_test.go", Some(18)))
        );
        let both = text.replace("FAIL\nFAIL", "--- FAIL: TestOther (0.01s)\nFAIL\nFAIL");
        let failures = read("go", both.as_bytes(), &ReadOptions::default()).failures;
        assert!(
            failures.len() == 2 && failures.iter().all(|failure| failure.source.is_none()),
            "{failures:?}"
        );
    }
}
