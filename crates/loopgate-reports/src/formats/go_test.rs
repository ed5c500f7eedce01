//! `go test -json`: an event a line, and between them what the build prints, which is read as text.
//!
//! A test that has subtests is not counted, nor is its `--- FAIL` a second failure, unless it failed while none of them
//! did. A test without an end failed if its package did: the process ended before it.

use std::{collections::HashMap, iter};

use indexmap::IndexMap;
use loopgate_core::evidence::{ErrorType, Failure, TestFramework, TestId, TestState};
use serde::Deserialize;

use super::{console::Go, go_text};
use crate::{Case, Clip, Collector, Flaw, Mark, Title, Unreadable, Window, each_line};

pub(super) const MARK: Mark = Mark::JsonLines(|keys| {
    keys.contains(&"Action") && ["Package", "ImportPath", "Time"].iter().any(|key| keys.contains(key))
});

pub(super) fn parse(window: &mut Window<'_>, out: &mut Collector) -> Result<(), Unreadable> {
    out.expect_tests();
    out.framework = Some(TestFramework::GoTest);
    let mut go = GoTest::default();
    each_line(window, out, |line, out| {
        if line.trim_start().starts_with('{') {
            let event = serde_json::from_str(line).ok().filter(|event: &GoEvent| !event.action.is_empty());
            return event.map(|event| go.event(&event, out)).is_some();
        }
        go.text.line(line, out);
        true
    })?;
    go.end(out)
}

/// Output held for all running tests together; what comes beyond is dropped.
const MAX_HELD: usize = 8 * 1024 * 1024;
/// Packages and tests held at a time.
const MAX_RUNNING: usize = 200_000;
/// Builds whose output is held at a time.
const MAX_BUILDS: usize = 1_000;

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct GoEvent {
    action: String,
    package: String,
    test: String,
    output: String,
    import_path: String,
    failed_build: String,
    elapsed: f64,
}

#[derive(Default)]
struct GoTest {
    packages: IndexMap<String, Package>,
    /// What the build of a package printed, by the package as the build names it.
    builds: IndexMap<String, Clip>,
    held: usize,
    /// What stands between the events: before Go 1.24 what the build prints.
    text: Go,
}

/// A package of tests that has not ended.
#[derive(Default)]
pub(super) struct Package {
    /// Tests that have begun and are not counted.
    pub tests: IndexMap<String, Running>,
    /// What stands outside of tests.
    pub output: Clip,
    a_test_failed: bool,
    parents: Parents,
}

#[derive(Default)]
pub(super) struct Running {
    /// How it ended.
    pub state: Option<TestState>,
    pub output: Clip,
}

/// How a package ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PackageEnd {
    Passed,
    Failed,
    NotBuilt,
}

impl GoTest {
    fn event(&mut self, event: &GoEvent, out: &mut Collector) {
        match (event.action.as_str(), event.test.is_empty()) {
            ("build-output", _) => {
                let import_path = event.import_path.as_str();
                if self.builds.len() < MAX_BUILDS || self.builds.contains_key(import_path) {
                    self.builds.entry(import_path.to_owned()).or_default().push(&event.output);
                }
            }
            ("output", _) => self.output(event),
            ("pass" | "skip", true) => self.end_package(event, PackageEnd::Passed, out),
            ("fail", true) if event.failed_build.is_empty() => self.end_package(event, PackageEnd::Failed, out),
            ("fail", true) => self.end_package(event, PackageEnd::NotBuilt, out),
            ("run", false) => {
                if let Some(package) = self.package(&event.package) {
                    package.test(&event.test, MAX_RUNNING);
                    package.parents.record("", &event.test, false);
                }
            }
            ("pass" | "bench", false) => self.end_test(event, TestState::Passed, out),
            ("skip", false) => self.end_test(event, TestState::Skipped, out),
            ("fail", false) => self.end_test(event, TestState::Failed, out),
            (_, true) | ("build-fail" | "pause" | "cont" | "start" | "attr" | "artifacts", _) => {}
            (action, false) => out.notes.flaw(Flaw::UNKNOWN_RESULT, || format!("action {action:?}")),
        }
    }

    /// The package of that name; none if there are too many to follow.
    fn package(&mut self, name: &str) -> Option<&mut Package> {
        if !self.packages.contains_key(name) && self.packages.len() < MAX_RUNNING {
            self.packages.insert(name.to_owned(), Package::default());
        }
        self.packages.get_mut(name)
    }

    fn output(&mut self, event: &GoEvent) {
        if self.held > MAX_HELD || go_text::is_chatter(&event.output) || event.output.starts_with("FAIL\t") {
            return;
        }
        let Some(package) = self.package(&event.package) else { return };
        let output = match event.test.as_str() {
            "" => Some(&mut package.output),
            test => package.tests.get_mut(test).map(|running| &mut running.output),
        };
        let Some(output) = output else { return };
        let before = output.held();
        output.push(&event.output);
        let held = output.held();
        self.held = (self.held + held).saturating_sub(before);
    }

    /// gotestsum can be set to write the ends of tests only (`--jsonfile-timing-events`).
    fn end_test(&mut self, event: &GoEvent, state: TestState, out: &mut Collector) {
        let seconds = event.elapsed;
        let Some(package) = self.package(&event.package) else {
            out.case(Case { seconds, ..Case::new(&event.package, &event.test, state) }, Failure::default);
            return;
        };
        let running = package.tests.swap_remove(event.test.as_str()).unwrap_or_default();
        let running = Running { state: Some(state), ..running };
        package.record(&event.test, state);
        package.count(&event.package, &event.test, &running, state, seconds, out);
        self.held = self.held.saturating_sub(running.output.held());
    }

    fn end_package(&mut self, event: &GoEvent, end: PackageEnd, out: &mut Collector) {
        let mut package = self.packages.swap_remove(event.package.as_str()).unwrap_or_default();
        let held = package.tests.values().map(|test| test.output.held()).sum::<usize>() + package.output.held();
        self.held = self.held.saturating_sub(held);
        if let Some(build) = self.builds.swap_remove(event.failed_build.as_str()) {
            package.output = build;
        }
        package.end(&event.package, end, out);
    }

    fn end(mut self, out: &mut Collector) -> Result<(), Unreadable> {
        self.text.end(out);
        // Compile errors whose package's failure was printed elsewhere.
        for output in self.builds.values() {
            go_text::compile_errors(&output.text()).for_each(|error| out.problem(|| error));
        }
        let cut_short = self.packages.keys().next().map(|package| format!("package {package}"));
        // How the others ended is not known.
        for (name, package) in self.packages.into_iter().filter(|(_, package)| !package.tests.is_empty()) {
            package.end(&name, PackageEnd::Failed, out);
        }
        cut_short.map_or(Ok(()), |place| Err(Unreadable::CutShort { place }))
    }
}

impl Package {
    /// A test that has begun; none if there are too many to follow.
    pub fn test(&mut self, name: &str, most: usize) -> Option<&mut Running> {
        let has_room = self.tests.len() < most || self.tests.contains_key(name);
        has_room.then(|| self.tests.entry(name.to_owned()).or_default())
    }

    fn record(&mut self, test: &str, state: TestState) {
        self.a_test_failed |= state == TestState::Failed;
        self.parents.record("", test, state == TestState::Failed);
    }

    /// Counts a test, unless it only sums its subtests up.
    fn count(&self, package: &str, test: &str, running: &Running, state: TestState, seconds: f64, out: &mut Collector) {
        let a_subtest_failed = self.parents.a_subtest_failed("", test);
        if a_subtest_failed.is_some_and(|failed| failed || state != TestState::Failed) {
            return;
        }
        let is_unfinished = running.state.is_none() && state == TestState::Failed;
        if is_unfinished {
            out.notes.flaw(Flaw::UNFINISHED_TEST, || format!("{package} {test}"));
        }
        out.case(Case { seconds, ..Case::new(package, test, state) }, || {
            let is_silent = is_unfinished && running.output.held() == 0;
            let output = if is_silent { &self.output } else { &running.output };
            let mut failure = go_text::failure(&output.text(), package);
            // A panic explains the end; anything else the test logged does not.
            if is_unfinished && failure.error_class.is_none() {
                failure.error_message = "unfinished: the process ended before this test did".to_owned();
            }
            failure
        });
    }

    /// Counts what is left of a package that is over. Its name is empty where it is not known.
    pub fn end(mut self, name: &str, end: PackageEnd, out: &mut Collector) {
        let unfinished = if end == PackageEnd::Passed { TestState::Passed } else { TestState::Failed };
        let tests = std::mem::take(&mut self.tests);
        let tests = || tests.iter().map(|(test, running)| (test, running, running.state.unwrap_or(unfinished)));
        tests().for_each(|(test, _, state)| self.record(test, state));
        tests().for_each(|(test, running, state)| self.count(name, test, running, state, 0.0, out));
        if end == PackageEnd::Passed || self.a_test_failed {
            return;
        }
        let output = self.output.text();
        let mut errors = go_text::compile_errors(&output);
        let package = Case { title: Title::Hidden, ..Case::new(name, "(the package)", TestState::Errored) };
        if let Some(test) = output.strip_prefix("panic: ").and_then(go_text::test_in_trace) {
            out.case(Case::new(name, test, TestState::Failed), || go_text::failure(&output, name));
        } else if let Some(error) = errors.next() {
            // What `go build` prints is about no tests.
            match name {
                "" => out.problem(|| error),
                _ => drop(out.case(package, || error)),
            }
        } else {
            out.case(Case { title: Title::WithClass, ..package }, || package_failure(name, end, &output));
        }
        errors.for_each(|error| out.problem(|| error));
    }
}

/// Tests that have subtests, and whether one of these failed.
#[derive(Default)]
pub(super) struct Parents(HashMap<TestId, bool>);

impl Parents {
    /// Records on the tests above this one that they have subtests, and whether this one failed.
    pub fn record(&mut self, class: &str, test: &str, failed: bool) {
        for parent in ancestors(test).map(|parent| TestId::of("", class, parent)) {
            if self.0.len() < MAX_RUNNING || self.0.contains_key(&parent) {
                *self.0.entry(parent).or_default() |= failed;
            }
        }
    }

    /// Whether a subtest of this test failed; none if it has no subtests.
    pub fn a_subtest_failed(&self, class: &str, test: &str) -> Option<bool> {
        self.0.get(&TestId::of("", class, test)).copied()
    }
}

/// Levels of tests above a test that are looked at: each costs as much as its name is long.
const MOST_LEVELS: usize = 20;

/// `TestA/b/c` has the ancestors `TestA/b` and `TestA`.
fn ancestors(test: &str) -> impl Iterator<Item = &str> {
    iter::successors(Some(test), |name| Some(name.rsplit_once('/')?.0)).skip(1).take(MOST_LEVELS)
}

/// Why a package failed without a failing test.
fn package_failure(package: &str, end: PackageEnd, output: &str) -> Failure {
    let mut failure = go_text::failure(output, package);
    failure.stack_trace = Some(output.trim().to_owned()).filter(|output| !output.is_empty());
    let (error_type, message) = match end {
        PackageEnd::NotBuilt => (ErrorType::CompileError, "the package did not build"),
        _ => (ErrorType::RuntimeError, "the package failed outside of its tests"),
    };
    if failure.error_message.is_empty() {
        failure.error_message = message.to_owned();
    }
    if failure.error_type == ErrorType::Other {
        failure.error_type = error_type;
    }
    Failure { test_file: None, ..failure }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReadOptions, read};

    #[test]
    fn of_a_document_that_is_cut_short_only_tests_that_ran_count_as_failed() {
        let results = |end: &str| {
            let events = [("run", "TestA"), ("pass", "TestA"), ("run", "TestB"), (end, "TestB")];
            let line = |(action, test)| format!("{{\"Action\":\"{action}\",\"Package\":\"p\",\"Test\":\"{test}\"}}\n");
            let report = read("go", events.map(line).concat().as_bytes(), &ReadOptions::default());
            assert!(!report.is_whole);
            report.results.map(|results| (results.passed, results.failed, results.errors))
        };
        assert_eq!(results("pass"), Some((2, 0, 0)));
        assert_eq!(results("pause"), Some((1, 1, 0)));
    }

    #[test]
    fn only_so_many_ancestors_are_looked_at() {
        let all = |test: &'static str| ancestors(test).collect::<Vec<_>>();
        assert_eq!(all("TestA/b/c"), ["TestA/b", "TestA"]);
        assert_eq!(all("TestA"), [""; 0]);
        // Each ancestor of a long name is hashed: all of them would take the square of its length.
        assert_eq!(ancestors(&"/".repeat(1_000_000)).count(), MOST_LEVELS);
    }
}
