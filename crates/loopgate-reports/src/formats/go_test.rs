//! `go test -json`: an event a line, and between them what the build prints, which is read as text.

use indexmap::IndexMap;
use loopgate_core::evidence::{Failure, TestFramework, TestState};
use serde::Deserialize;

use super::{
    console::Go,
    go_package::{GoPackage, MAX_RUNNING, PackageEnd, RunningTest},
    go_text,
};
use crate::{Case, Clip, Collector, Flaw, Mark, Unreadable, Window, each_line};

pub(super) const MARK: Mark = Mark::JsonLines(|keys| {
    keys.contains(&"Action")
        && ["Package", "ImportPath", "Time"]
            .iter()
            .any(|key| keys.contains(key))
});

pub(super) fn parse(window: &mut Window<'_>, out: &mut Collector) -> Result<(), Unreadable> {
    out.expect_tests();
    out.framework = Some(TestFramework::GoTest);
    let mut go = GoTest::default();
    each_line(window, out, |line, out| {
        if line.trim_start().starts_with('{') {
            let event = serde_json::from_str(line)
                .ok()
                .filter(|event: &GoEvent| !event.action.is_empty());
            return event.map(|event| go.event(&event, out)).is_some();
        }
        go.text.line(line, out);
        true
    })?;
    go.end(out)
}

/// Output held for all running tests together; what comes beyond is dropped.
const MAX_HELD: usize = 8 * 1024 * 1024;
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
    packages: IndexMap<String, GoPackage>,
    /// What the build of a package printed, by the package as the build names it.
    builds: IndexMap<String, Clip>,
    held: usize,
    /// What stands between the events: before Go 1.24 what the build prints.
    text: Go,
}

impl GoTest {
    fn event(&mut self, event: &GoEvent, out: &mut Collector) {
        match (event.action.as_str(), event.test.is_empty()) {
            ("build-output", _) => {
                let import_path = event.import_path.as_str();
                if self.builds.len() < MAX_BUILDS || self.builds.contains_key(import_path) {
                    self.builds
                        .entry(import_path.to_owned())
                        .or_default()
                        .push(&event.output);
                }
            }
            ("output", _) => self.output(event),
            ("pass" | "skip", true) => self.end_package(event, PackageEnd::Passed, out),
            ("fail", true) if event.failed_build.is_empty() => {
                self.end_package(event, PackageEnd::Failed, out)
            }
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
            (action, false) => out
                .notes
                .flaw(Flaw::UNKNOWN_RESULT, || format!("action {action:?}")),
        }
    }

    /// The package of that name; none if there are too many to follow.
    fn package(&mut self, name: &str) -> Option<&mut GoPackage> {
        if !self.packages.contains_key(name) && self.packages.len() < MAX_RUNNING {
            self.packages.insert(name.to_owned(), GoPackage::default());
        }
        self.packages.get_mut(name)
    }

    fn output(&mut self, event: &GoEvent) {
        if self.held > MAX_HELD
            || go_text::is_chatter(&event.output)
            || event.output.starts_with("FAIL\t")
        {
            return;
        }
        let Some(package) = self.package(&event.package) else {
            return;
        };
        let output = match event.test.as_str() {
            "" => Some(&mut package.output),
            test => package
                .tests
                .get_mut(test)
                .map(|running| &mut running.output),
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
            out.case(
                Case {
                    seconds,
                    ..Case::new(&event.package, &event.test, state)
                },
                Failure::default,
            );
            return;
        };
        let running = package
            .tests
            .swap_remove(event.test.as_str())
            .unwrap_or_default();
        let running = RunningTest {
            state: Some(state),
            ..running
        };
        package.record(&event.test, state);
        package.count(&event.package, &event.test, &running, state, seconds, out);
        self.held = self.held.saturating_sub(running.output.held());
    }

    fn end_package(&mut self, event: &GoEvent, end: PackageEnd, out: &mut Collector) {
        let mut package = self
            .packages
            .swap_remove(event.package.as_str())
            .unwrap_or_default();
        let held = package
            .tests
            .values()
            .map(|test| test.output.held())
            .sum::<usize>()
            + package.output.held();
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
            output
                .text()
                .lines()
                .filter_map(go_text::compile_error)
                .for_each(|error| out.problem(|| error));
        }
        let cut_short = self
            .packages
            .keys()
            .next()
            .map(|package| format!("package {package}"));
        // How the others ended is not known.
        for (name, package) in self
            .packages
            .into_iter()
            .filter(|(_, package)| !package.tests.is_empty())
        {
            package.end(&name, PackageEnd::Failed, out);
        }
        cut_short.map_or(Ok(()), |place| Err(Unreadable::CutShort { place }))
    }
}

#[cfg(test)]
mod tests {
    use crate::{ReadOptions, read};

    #[test]
    fn of_a_document_that_is_cut_short_only_tests_that_ran_count_as_failed() {
        let results = |end: &str| {
            let events = [
                ("run", "TestA"),
                ("pass", "TestA"),
                ("run", "TestB"),
                (end, "TestB"),
            ];
            let line = |(action, test)| {
                format!("{{\"Action\":\"{action}\",\"Package\":\"p\",\"Test\":\"{test}\"}}\n")
            };
            let report = read(
                "go",
                events.map(line).concat().as_bytes(),
                &ReadOptions::default(),
            );
            assert!(!report.is_whole);
            report
                .results
                .map(|results| (results.passed, results.failed, results.errors))
        };
        assert_eq!(results("pass"), Some((2, 0, 0)));
        assert_eq!(results("pause"), Some((1, 1, 0)));
    }
}
