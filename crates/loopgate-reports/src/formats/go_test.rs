//! `go test -json`: an event a line, and between them what the build prints.
//!
//! A test that has subtests is not counted, nor is its `--- FAIL` a second failure, unless it failed while none of them
//! did. A test without an end event failed: the process ended before it.

use std::{borrow::Cow, collections::HashMap};

use indexmap::IndexMap;
use loopgate_core::evidence::{ErrorType, Failure, TestFramework, TestId, TestState};
use serde::Deserialize;

use super::go_text;
use crate::{Case, Clip, Collector, Flaw, Mark, Unreadable, Window};

pub(super) const MARK: Mark = Mark::JsonLines(|keys| {
    keys.contains(&"Action") && ["Package", "ImportPath", "Time"].iter().any(|key| keys.contains(key))
});

pub(super) fn parse(window: &mut Window<'_>, out: &mut Collector<'_>) -> Result<(), Unreadable> {
    out.expect_tests();
    out.framework = Some(TestFramework::GoTest);
    let mut go = GoTest::default();
    let mut number = 0_u64;
    while let Some(line) = window.line()? {
        number += 1;
        if line.trim_start().starts_with('{') {
            match serde_json::from_str::<Event<'_>>(line) {
                Ok(event) => go.event(&event, out),
                Err(_) => out.notes.flaw(Flaw::BadLine, || format!("line {number}")),
            }
        } else {
            go.text_line(line, out);
        }
    }
    go.end(out)
}

/// Output held for all running tests together; what comes beyond is dropped.
const MAX_HELD: usize = 8 * 1024 * 1024;
/// Packages and tests held at a time.
const MAX_RUNNING: usize = 200_000;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event<'a> {
    #[serde(borrow)]
    action: Cow<'a, str>,
    #[serde(borrow, default)]
    package: Cow<'a, str>,
    #[serde(borrow, default)]
    test: Cow<'a, str>,
    #[serde(borrow, default)]
    output: Cow<'a, str>,
    #[serde(borrow, default)]
    import_path: Cow<'a, str>,
    #[serde(borrow, default)]
    failed_build: Cow<'a, str>,
    elapsed: Option<f64>,
}

#[derive(Default)]
struct GoTest {
    packages: IndexMap<String, Package>,
    /// What the build of a package printed, by the package as the build names it.
    builds: IndexMap<String, Clip>,
    held: usize,
}

#[derive(Default)]
pub(super) struct Package {
    /// Tests that have begun and not ended; where only the text is known, all of them.
    pub tests: IndexMap<String, Running>,
    /// What stands outside of tests.
    pub output: Option<Clip>,
    pub a_test_failed: bool,
    /// Tests above others whose start was not reported, and whether one of those others failed.
    unseen: HashMap<TestId, bool>,
}

#[derive(Default)]
pub(super) struct Running {
    /// Known only where a test is held beyond its end.
    pub state: Option<TestState>,
    pub output: Option<Clip>,
    has_subtests: bool,
    a_subtest_failed: bool,
}

impl GoTest {
    fn event(&mut self, event: &Event<'_>, out: &mut Collector<'_>) {
        match event.action.as_ref() {
            "build-output" => self.build_output(&event.import_path, &event.output),
            "build-fail" => {}
            action if event.test.is_empty() => self.package_event(action, event, out),
            "run" => self.run(&event.package, &event.test),
            "output" => self.test_output(event),
            "pass" | "bench" => self.end_test(event, TestState::Passed, out),
            "skip" => self.end_test(event, TestState::Skipped, out),
            "fail" => self.end_test(event, TestState::Failed, out),
            "pause" | "cont" | "start" | "attr" | "artifacts" => {}
            action => out.notes.flaw(Flaw::UnknownResult, || format!("action {action:?}")),
        }
    }

    /// The package of that name; none if there are too many to follow.
    fn package(&mut self, name: &str) -> Option<&mut Package> {
        if !self.packages.contains_key(name) && self.packages.len() < MAX_RUNNING {
            self.packages.insert(name.to_owned(), Package::default());
        }
        self.packages.get_mut(name)
    }

    fn run(&mut self, package: &str, test: &str) {
        let Some(package) = self.package(package) else { return };
        if package.tests.len() < MAX_RUNNING {
            package.tests.entry(test.to_owned()).or_default();
        }
        package.mark_ancestors(test, false);
    }

    fn test_output(&mut self, event: &Event<'_>) {
        if self.held > MAX_HELD || go_text::is_chatter(&event.output) {
            return;
        }
        let package = self.packages.get_mut(event.package.as_ref());
        if let Some(running) = package.and_then(|package| package.tests.get_mut(event.test.as_ref())) {
            let output = running.output.get_or_insert_default();
            self.held = self.held.saturating_sub(output.held());
            output.push(&event.output);
            self.held += output.held();
        }
    }

    fn build_output(&mut self, package: &str, output: &str) {
        if self.builds.len() < 1_000 || self.builds.contains_key(package) {
            self.builds.entry(package.to_owned()).or_default().push(output);
        }
    }

    fn end_test(&mut self, event: &Event<'_>, state: TestState, out: &mut Collector<'_>) {
        let running = match self.package(&event.package) {
            Some(package) => package.end_test(&event.test, state == TestState::Failed),
            None => Running::default(),
        };
        self.held = self.held.saturating_sub(running.output.as_ref().map_or(0, Clip::held));
        running.report(&event.package, &event.test, state, event.elapsed, out);
    }

    fn package_event(&mut self, action: &str, event: &Event<'_>, out: &mut Collector<'_>) {
        match action {
            "output" if !go_text::is_chatter(&event.output) && !event.output.starts_with("FAIL\t") => {
                let package = self.package(&event.package);
                if let Some(package) = package {
                    package.output.get_or_insert_default().push(&event.output);
                }
            }
            "pass" | "skip" | "fail" => {
                let mut package = self.packages.swap_remove(event.package.as_ref()).unwrap_or_default();
                package.end_running(&event.package, &mut self.held, out);
                if action == "fail" && !package.a_test_failed {
                    let build = self.builds.swap_remove(event.failed_build.as_ref());
                    let did_not_build = !event.failed_build.is_empty();
                    let cause = if did_not_build { Cause::Build } else { Cause::Process };
                    package_failure(&event.package, cause, build.or(package.output), out);
                }
            }
            _ => {}
        }
    }

    /// What the build prints in front of the events, before it came as events itself (Go 1.24).
    fn text_line(&mut self, line: &str, out: &mut Collector<'_>) {
        if let Some(rest) = line.strip_prefix("FAIL\t") {
            let (package, reason) = rest.split_once([' ', '\t']).unwrap_or((rest, ""));
            if reason.contains("failed]") {
                let build = self.builds.iter().position(|(name, _)| name.split(' ').next() == Some(package));
                let build = build.and_then(|at| self.builds.swap_remove_index(at)).map(|(_, output)| output);
                package_failure(package, Cause::Build, build, out);
            }
        } else if let Some(package) = line.strip_prefix("# ") {
            self.build_output(package.split(' ').next().unwrap_or_default(), "");
        } else if go_text::compile_error(line).is_some() {
            let package = self.builds.last().map(|(name, _)| name.clone()).unwrap_or_default();
            self.build_output(&package, line);
            self.build_output(&package, "\n");
        }
    }

    fn end(&mut self, out: &mut Collector<'_>) -> Result<(), Unreadable> {
        let mut cut_short = None;
        for (name, mut package) in std::mem::take(&mut self.packages) {
            package.end_running(&name, &mut self.held, out);
            cut_short.get_or_insert(name);
        }
        // Compile errors whose package's failure was printed elsewhere.
        for (_, output) in std::mem::take(&mut self.builds) {
            for error in output.text().lines().filter_map(go_text::compile_error) {
                out.problem(|| error);
            }
        }
        match cut_short {
            Some(package) => Err(Unreadable::CutShort { place: format!("package {package}") }),
            None => Ok(()),
        }
    }
}

impl Package {
    /// gotestsum can be set to write the ends of tests only (`--jsonfile-timing-events`).
    fn end_test(&mut self, test: &str, failed: bool) -> Running {
        self.a_test_failed |= failed;
        let seen = self.tests.swap_remove(test);
        for unseen in self.mark_ancestors(test, failed) {
            if self.unseen.len() < MAX_RUNNING {
                *self.unseen.entry(unseen).or_default() |= failed;
            }
        }
        seen.unwrap_or_else(|| {
            let subtests = self.unseen.remove(&TestId::of("", "", test));
            let (has_subtests, a_subtest_failed) = (subtests.is_some(), subtests == Some(true));
            Running { has_subtests, a_subtest_failed, ..Running::default() }
        })
    }

    /// Records on the tests above this one that they have subtests, and whether this one failed. Returns those whose
    /// start was not reported.
    pub fn mark_ancestors(&mut self, test: &str, failed: bool) -> Vec<TestId> {
        let mut unseen = Vec::new();
        ancestors(test, |ancestor| match self.tests.get_mut(ancestor) {
            Some(parent) => {
                parent.has_subtests = true;
                parent.a_subtest_failed |= failed;
            }
            None => unseen.push(TestId::of("", "", ancestor)),
        });
        unseen
    }

    /// Tests whose end never came.
    fn end_running(&mut self, name: &str, held: &mut usize, out: &mut Collector<'_>) {
        for (test, running) in std::mem::take(&mut self.tests) {
            *held = held.saturating_sub(running.output.as_ref().map_or(0, Clip::held));
            if running.has_subtests {
                continue;
            }
            self.a_test_failed = true;
            out.notes.flaw(Flaw::UnfinishedTest, || format!("{name} {test}"));
            let case = Case::new(name, &test, TestState::Failed);
            out.case(case, || {
                let output = running.output.as_ref().map(Clip::text).unwrap_or_default();
                let mut failure = go_text::failure(&output, name);
                // A panic explains the end; anything else the test logged does not.
                if failure.error_class.is_none() {
                    failure.error_message = "unfinished: the process ended before this test did".to_owned();
                }
                failure
            });
        }
    }
}

/// Levels of tests above a test that are looked at: each costs as much as its name is long.
const MOST_LEVELS: usize = 20;

/// `TestA/b/c` has the ancestors `TestA/b` and `TestA`.
fn ancestors<'t>(test: &'t str, see: impl FnMut(&'t str)) {
    let above = |name: &&'t str| name.rsplit_once('/').map(|(above, _)| above);
    std::iter::successors(above(&test), above).take(MOST_LEVELS).for_each(see);
}

impl Running {
    /// Counts a test, unless it only sums its subtests up.
    pub fn report(&self, package: &str, test: &str, state: TestState, elapsed: Option<f64>, out: &mut Collector<'_>) {
        if self.has_subtests && (state != TestState::Failed || self.a_subtest_failed) {
            return;
        }
        let seconds = elapsed.filter(|seconds| seconds.is_finite()).unwrap_or(0.0).clamp(0.0, 1e7);
        let case = Case { seconds, ..Case::new(package, test, state) };
        out.case(case, || go_text::failure(&self.output.as_ref().map(Clip::text).unwrap_or_default(), package));
    }
}

/// Why a package failed without a failing test.
#[derive(Clone, Copy)]
pub(super) enum Cause {
    Build,
    /// Its process ended badly outside of tests.
    Process,
}

pub(super) fn package_failure(package: &str, cause: Cause, output: Option<Clip>, out: &mut Collector<'_>) {
    let case = Case::new(package, "(the package)", TestState::Errored);
    out.case(case, || {
        let output = output.as_ref().map(Clip::text).unwrap_or_default();
        let compile_error = output.lines().find_map(go_text::compile_error);
        let mut failure = compile_error.unwrap_or_else(|| go_text::failure(&output, package));
        failure.stack_trace = Some(output.trim().to_owned()).filter(|output| !output.is_empty());
        let (error_type, message) = match cause {
            Cause::Build => (ErrorType::CompileError, "the package did not build"),
            Cause::Process => (ErrorType::RuntimeError, "the package failed outside of its tests"),
        };
        if failure.error_message.is_empty() {
            failure.error_message = message.to_owned();
        }
        if failure.error_type == ErrorType::Other {
            failure.error_type = error_type;
        }
        Failure { test_file: None, ..failure }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_ancestors_are_looked_at() {
        let all = |test: &str| {
            let mut seen = Vec::new();
            ancestors(test, |ancestor| seen.push(ancestor.to_owned()));
            seen
        };
        assert_eq!(all("TestA/b/c"), ["TestA/b", "TestA"]);
        assert_eq!(all("TestA"), [""; 0]);
        // Each ancestor of a long name is hashed: all of them would take the square of its length.
        assert_eq!(all(&"/".repeat(1_000_000)).len(), MOST_LEVELS);
    }
}
