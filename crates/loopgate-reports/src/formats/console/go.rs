//! The text of `go test` and `go build`. What a test logged stands below its `--- FAIL` or, with `-v`, above it; the
//! package is named when it is over, so its tests are held until then.

use loopgate_core::evidence::{TestFramework, TestState};

use crate::formats::{
    go_test::{self, Package, Running},
    go_text,
};
use crate::{Case, Clip, Collector};

/// Tests held of one package, and bytes of what they printed.
const MAX_TESTS: usize = 20_000;
const MAX_HELD: usize = 8 * 1024 * 1024;

#[derive(Default)]
pub(super) struct Go {
    /// The tests of a package have begun and not ended.
    is_open: bool,
    /// `# example.com/shop` was said, below which the errors of its build stand.
    is_building: bool,
    package: Package,
    current: Option<String>,
    held: usize,
    /// What was printed before a test's result: assertion libraries with a report of their own print it there.
    above: Option<Clip>,
}

impl Go {
    /// Whether only go prints such a line.
    pub fn begins_with(line: &str) -> bool {
        result(line).is_some()
            || line.starts_with("=== RUN   ")
            || package_end(line).is_some()
            || is_end_of_process(line)
    }

    /// Whether the line is go's, or a test's of it.
    pub fn line(&mut self, line: &str, out: &mut Collector<'_>) -> bool {
        /// In front of the name of the test that runs or goes on.
        const MARKS: [&str; 4] = ["RUN   ", "CONT  ", "NAME  ", "PAUSE "];
        let is_of_build = || {
            go_text::compile_error(line).is_some()
                || ["\t", "too many errors"].iter().any(|start| line.starts_with(start))
        };
        if let Some((package, failed)) = package_end(line) {
            self.end_package(package, failed, out);
            return true;
        }
        if let Some((name, state)) = result(line) {
            self.is_open = true;
            // A race is reported above the test that it makes fail.
            let above =
                if state == TestState::Failed && !line.starts_with(' ') { self.package.output.take() } else { None };
            if let Some(test) = self.test(name) {
                test.state = Some(state);
                test.output = test.output.take().or(above);
            }
        } else if let Some(name) =
            line.strip_prefix("=== ").and_then(|rest| MARKS.iter().find_map(|m| rest.strip_prefix(m)))
        {
            self.is_open = true;
            self.test(name);
        } else if is_end_of_process(line) || line.starts_with("panic: ") {
            self.is_open = true;
            self.push(line);
        } else if line.strip_prefix("# ").is_some_and(is_package) {
            self.is_building = true;
        } else if line == "FAIL" || line == "PASS" {
            self.current = None;
        } else if self.is_open || self.is_building && is_of_build() {
            self.push(line);
        } else {
            self.is_building = false;
            self.above.get_or_insert_default().push_line(line);
            return false;
        }
        true
    }

    pub fn end(&mut self, out: &mut Collector<'_>) {
        // Any program of go panics; one whose package is never named is no test.
        let is_other = |line: &str| line.starts_with("panic: ") && !is_end_of_process(line);
        let output = self.package.output.as_ref().map(Clip::text).unwrap_or_default();
        if self.package.tests.is_empty() && output.lines().next().is_some_and(is_other) {
            return;
        }
        if self.is_open || self.package.output.is_some() {
            self.end_package("", true, out);
        }
    }

    fn test(&mut self, name: &str) -> Option<&mut Running> {
        if !self.package.tests.contains_key(name) && self.package.tests.len() >= MAX_TESTS {
            self.current = None;
            return None;
        }
        self.current = Some(name.to_owned());
        Some(self.package.tests.entry(name.to_owned()).or_default())
    }

    fn push(&mut self, line: &str) {
        self.held += line.len();
        if self.held > MAX_HELD {
            return;
        }
        let test = self.current.as_ref().and_then(|name| self.package.tests.get_mut(name));
        let output = test.map_or(&mut self.package.output, |test| &mut test.output);
        output.get_or_insert_default().push_line(line);
    }

    fn end_package(&mut self, package: &str, failed: bool, out: &mut Collector<'_>) {
        out.framework = Some(TestFramework::GoTest);
        out.expect_tests();
        let mut ended = std::mem::take(&mut self.package);
        let above = self.above.take();
        let mut silent = ended.tests.values_mut().filter(|test| test.state == Some(TestState::Failed));
        if let (Some(only), None) = (silent.next(), silent.next()) {
            only.output = only.output.take().or(above);
        }
        (self.current, self.held) = (None, 0);
        (self.is_open, self.is_building) = (false, false);
        // A test without an end was running when the process ended.
        let unfinished = if failed { TestState::Failed } else { TestState::Passed };
        let states = ended.tests.iter().map(|(name, test)| (name.clone(), test.state.unwrap_or(unfinished)));
        for (name, state) in states.collect::<Vec<_>>() {
            ended.a_test_failed |= state == TestState::Failed;
            ended.mark_ancestors(&name, state == TestState::Failed);
        }
        for (name, test) in &ended.tests {
            test.report(package, name, test.state.unwrap_or(unfinished), None, out);
        }
        let output = ended.output;
        if failed && !ended.a_test_failed {
            let text = output.as_ref().map(Clip::text).unwrap_or_default();
            let errors: Vec<_> = text.lines().filter_map(go_text::compile_error).collect();
            if let Some(test) = text.strip_prefix("panic: ").and_then(test_in_trace) {
                out.case(Case::new(package, test, TestState::Failed), || go_text::failure(&text, package));
            } else if errors.is_empty() {
                go_test::package_failure(package, go_test::Cause::Process, output, out);
            }
            errors.into_iter().for_each(|error| out.problem(|| error));
        }
    }
}

/// The test in whose goroutine, or in whose function, the process panicked: `example.com/shop.TestTotal.func1(0x0)`.
fn test_in_trace(trace: &str) -> Option<&str> {
    trace.lines().filter(|line| !line.starts_with('\t')).find_map(|line| {
        let (_, from) = line.rsplit_once('/').unwrap_or(("", line)).1.split_once(".Test")?;
        let end = from.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(from.len());
        let start = line.len() - from.len() - "Test".len();
        Some(&line[start..start + "Test".len() + end])
    })
}

/// `    --- FAIL: TestRates/it (0.00s)`
fn result(line: &str) -> Option<(&str, TestState)> {
    let (word, rest) = line.trim_start_matches(' ').strip_prefix("--- ")?.split_once(": ")?;
    let state = match word {
        "FAIL" => TestState::Failed,
        "PASS" => TestState::Passed,
        "SKIP" => TestState::Skipped,
        _ => return None,
    };
    let (name, time) = rest.rsplit_once(" (")?;
    time.ends_with("s)").then_some((name, state))
}

/// `FAIL\texample.com/shop/cart\t0.004s`, `ok  \texample.com/shop/cart\t0.01s`, `FAIL\tx [build failed]`.
fn package_end(line: &str) -> Option<(&str, bool)> {
    let (word, rest) = line.split_once('\t')?;
    let failed = match word {
        "FAIL" => true,
        "ok  " | "?   " => false,
        _ => return None,
    };
    let package = rest.split(['\t', ' ']).next()?;
    // A module may have a plain name.
    let is_timed = rest.rsplit_once('\t').is_some_and(|(_, time)| time.ends_with('s') && time.starts_with("0."));
    (is_package(package) || is_timed && !package.is_empty()).then_some((package, failed))
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
    fn what_a_library_printed_above_the_end_of_the_only_failing_test_is_of_that_test() {
        let text = "\nFAIL: cart_test.go:17: S.TestSums\n\ncart_test.go:18:\n    c.Assert(Total(45, 2), Equals, 90)\n\
                    ... obtained int = 45\n... expected int = 90\n\n--- FAIL: Test (0.01s)\nFAIL\nFAIL\tshop\t0.008s\n";
        let failures = read("go", text.as_bytes(), &ReadOptions::default()).failures;
        let [only] = failures.as_slice() else { panic!("{failures:?}") };
        assert_eq!(
            only.source.as_ref().map(|source| (source.file.as_str(), source.line)),
            Some(("shop/cart_test.go", Some(18)))
        );
        let both = text.replace("FAIL\nFAIL", "--- FAIL: TestOther (0.01s)\nFAIL\nFAIL");
        let failures = read("go", both.as_bytes(), &ReadOptions::default()).failures;
        assert!(failures.len() == 2 && failures.iter().all(|failure| failure.source.is_none()), "{failures:?}");
    }
}
