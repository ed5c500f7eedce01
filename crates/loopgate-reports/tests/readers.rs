//! `docs/readers.md`: each reader of a report or of a console, and what may be expected of it. What is read is taken from
//! the expected results of the fixtures, and from the samples in `data/console/`; the rest is written down here.
//!
//! `INSTA_UPDATE=always cargo test -p loopgate-reports --test readers` writes it anew.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use loopgate_core::evidence::ReportFormat;
use loopgate_reports::{ReadOptions, read};
use serde::Deserialize;
use serde_json::{Value, json};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

const HEAD: &str = "\
# What is read of each tool

Loopgate recognises a report by its content and a console by its lines. This is each reader, what it takes from the outputs
that it is tested with, and what the tool itself does not write there, so that no reader can tell it.

*Samples of* names the versions of the tools where they are known; a dash stands where a sample tells no version. A newer
version mostly reads the same. *Place* is the file and line of a test or a finding; *sides* are the expected and the actual
value, where the tool states both.

*Own word* names what the tool says of the whole run and is held against its tests: failures that it counts and does not
name are told (\"2 more failed, by the tool's own count\"), and so is a run that it calls failed while no test did.

";

/// What is written down of a reader: its versions, what the tool says of the run as a whole, what it leaves
/// out, and where that is written or seen.
struct Reader {
    of: &'static str,
    samples: &'static str,
    own_word: &'static str,
    left_out: &'static str,
    source: &'static str,
}

const fn reader(
    of: &'static str,
    samples: &'static str,
    own_word: &'static str,
    left_out: &'static str,
    source: &'static str,
) -> Reader {
    Reader {
        of,
        samples,
        own_word,
        left_out,
        source,
    }
}

/// By the names of `report_format`.
const REPORTS: &[Reader] = &[
    reader(
        "junit",
        "pytest 9.2, vitest 5.1, jest-junit 17, mocha 12, node 26, Boost 1.74, CTest 4.4, doctest 2.4.9, VUnit 4.7, nose2 0.16, \
         busted 2.1, TestNG 6.9, ruff 0.17, oxlint 1.94, tap 21.8",
        "count",
        "node: a failing hook; pytest: a try before the last; jest-junit: an error outside of tests, unless \
         `reportTestSuiteErrors` is on; CTest: whether a program is missing or was skipped",
        "[node](../findings/node-hook-junit.sh), [pytest](../findings/pytest-reruns-junit.sh), \
         [jest-junit](https://github.com/jest-community/jest-junit#readme), [CTest](../findings/ctest-junit-not-run.sh)",
    ),
    reader(
        "trx",
        "MSTest and xUnit under VSTest",
        "failed or not",
        "",
        "[schema](https://github.com/microsoft/vstest)",
    ),
    reader(
        "nunit_xml",
        "NUnit 3",
        "",
        "",
        "[description](https://docs.nunit.org/articles/nunit/technical-notes/usage/Test-Result-XML-Format.html)",
    ),
    reader(
        "xunit_xml",
        "xUnit.net v2",
        "",
        "",
        "[description](https://xunit.net/docs/format-xml-v2)",
    ),
    reader(
        "go_test_json",
        "Go 1.27",
        "",
        "sides: a test writes them as it likes",
        "[test2json](https://pkg.go.dev/cmd/test2json)",
    ),
    reader(
        "cargo_test",
        "cargo 1.95, nextest",
        "",
        "the names of the tests that passed, with `--quiet`",
        "[libtest](https://doc.rust-lang.org/rustc/tests/index.html)",
    ),
    reader(
        "libtest_json",
        "nightly libtest",
        "",
        "",
        "[libtest](https://doc.rust-lang.org/rustc/tests/index.html)",
    ),
    reader(
        "cargo_messages",
        "cargo 1.95",
        "",
        "",
        "[cargo](https://doc.rust-lang.org/cargo/reference/external-tools.html#json-messages)",
    ),
    reader(
        "tap",
        "ava 7.0, node 26, vitest 5.1, Check 0.15, Criterion 2.4, cmocka 1.1.5, bats",
        "plan",
        "mocha: a number of its own for a failed hook",
        "[TAP 14](https://testanything.org/tap-version-14-specification.html), [mocha](../findings/mocha-tap-hook-number.sh)",
    ),
    reader(
        "jest_json",
        "jest 30.5, vitest 5.1",
        "",
        "vitest: why a file failed outside of its tests, which its junit reporter has; jest: that an obsolete snapshot \
         failed the run",
        "[jest](../findings/jest-success-and-exit-code.sh), [snapshots](../findings/obsolete-snapshot.sh)",
    ),
    reader(
        "playwright_json",
        "Playwright 1.65",
        "errors",
        "",
        "[reporters](https://playwright.dev/docs/test-reporters#json-reporter)",
    ),
    reader(
        "mocha_json",
        "mocha 12",
        "",
        "all of it, where a test ends the process",
        "[mocha](../findings/exit-in-a-test.sh)",
    ),
    reader(
        "rspec_json",
        "RSpec 3.12 and 3.13",
        "count",
        "",
        "[formatters](https://rspec.info/features/3-13/rspec-core/formatters/json-formatter/)",
    ),
    reader(
        "dart_json",
        "Flutter",
        "failed or not",
        "",
        "[protocol](https://github.com/dart-lang/test/blob/master/pkgs/test/doc/json_reporter.md)",
    ),
    reader(
        "ctrf",
        "CTRF of jest and Playwright",
        "count",
        "jest: a file that does not load; Playwright: a pass that was not expected",
        "[schema](https://ctrf.io/docs/specification/overview), [jest](../findings/jest-ctrf-lost-suite.sh), \
         [Playwright](../findings/playwright-ctrf-unexpected-pass.sh)",
    ),
    reader(
        "cucumber_json",
        "cucumber-js 13.3",
        "",
        "",
        "[formatters](https://github.com/cucumber/cucumber-js/blob/main/docs/formatters.md)",
    ),
    reader(
        "python_unittest",
        "unittest, Django",
        "",
        "the names of the tests that passed, without `-v`",
        "[unittest](https://docs.python.org/3/library/unittest.html#command-line-options)",
    ),
    reader(
        "eslint_json",
        "ESLint 10.15",
        "",
        "",
        "[formatters](https://eslint.org/docs/latest/use/formatters/#json)",
    ),
    reader(
        "golangci_json",
        "-",
        "",
        "",
        "[output](https://golangci-lint.run/docs/configuration/file/#output-configuration)",
    ),
    reader(
        "ruff_json",
        "ruff 0.17",
        "",
        "",
        "[ruff](https://docs.astral.sh/ruff/settings/#output-format)",
    ),
    reader(
        "mypy_json",
        "-",
        "",
        "",
        "[mypy](https://mypy.readthedocs.io/en/stable/command_line.html#cmdoption-mypy-output)",
    ),
    reader(
        "linter_json",
        "oxlint 1.94, bandit 1.9.4, pyright 1.1.414, pylint 4.1.4, ruff 0.17 (GitLab)",
        "",
        "",
        "the keys that these tools share",
    ),
    reader(
        "sarif",
        "ESLint, ruff 0.17, cppcheck 2.22",
        "failed or not",
        "",
        "[SARIF 2.1.0](https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html)",
    ),
    reader(
        "checkstyle",
        "-",
        "",
        "",
        "[Checkstyle](https://checkstyle.org/)",
    ),
    reader(
        "github_annotations",
        "Playwright 1.65, sqlfluff 4.5",
        "",
        "vitest: a failed test that an error outside of it hides",
        "[commands](https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands), \
         [vitest](../findings/vitest-annotations-miss-a-failure.sh)",
    ),
    reader(
        "lcov",
        "Istanbul",
        "",
        "",
        "[geninfo](https://man.archlinux.org/man/geninfo.1)",
    ),
    reader(
        "cobertura",
        "coverage.py, Istanbul",
        "",
        "",
        "[Cobertura](https://github.com/cobertura/cobertura)",
    ),
    reader(
        "jacoco",
        "JaCoCo",
        "",
        "",
        "[report.dtd](https://www.jacoco.org/jacoco/trunk/coverage/report.dtd)",
    ),
    reader(
        "clover",
        "PHPUnit, Istanbul",
        "",
        "",
        "[PHPUnit](https://docs.phpunit.de/en/12.0/code-coverage.html)",
    ),
    reader(
        "llvm_cov_json",
        "llvm-cov",
        "",
        "",
        "[llvm-cov](https://llvm.org/docs/CommandGuide/llvm-cov.html#llvm-cov-export)",
    ),
    reader(
        "go_cover",
        "Go",
        "",
        "",
        "[cover](https://pkg.go.dev/cmd/cover)",
    ),
    reader("regex", "your own `report_pattern`", "", "", ""),
];

/// By the files in `data/console/`, which show by themselves whether the tool sums up its tests.
const CONSOLES: &[Reader] = &[
    reader("ava", "ava 7", "", "", ""),
    reader(
        "behave",
        "behave 1.3.3",
        "",
        "a `before_all` that fails",
        "[behave](../findings/behave-before-all-junit.sh)",
    ),
    reader("bun", "bun 1.4.5", "", "", ""),
    reader("busted", "busted 2.1", "", "", ""),
    reader("catch2", "-", "", "", ""),
    reader("cocotb", "cocotb 2.1", "", "", ""),
    reader(
        "ctest",
        "CTest 4.4.5",
        "",
        "what a test printed, without `--output-on-failure`",
        "[ctest](https://cmake.org/cmake/help/latest/manual/ctest.1.html)",
    ),
    reader("cucumber", "cucumber-js 13.3", "", "", ""),
    reader("deno", "deno 2.9", "", "", ""),
    reader("doctest", "doctest 2.4.9", "", "", ""),
    reader("dotnet", "-", "", "", ""),
    reader("eunit", "rebar3 3.19", "", "", ""),
    reader("exunit", "-", "", "", ""),
    reader(
        "gradle",
        "-",
        "",
        "the message, without `testLogging { exceptionFormat \"full\" }`",
        "[Gradle](https://docs.gradle.org/current/dsl/org.gradle.api.tasks.testing.logging.TestLogging.html)",
    ),
    reader("gtest", "cmocka 1.1.5", "", "", ""),
    reader("japa", "Japa 5.3", "", "", ""),
    reader("jasmine", "jasmine 7.0", "", "", ""),
    reader(
        "jest",
        "jest 30.5",
        "",
        "an exit within a test: its status and its report are those of a run that passed",
        "[jest](../findings/exit-in-a-test.sh)",
    ),
    reader("junit_console", "JUnit 5", "", "", ""),
    reader(
        "knip",
        "knip 6.44",
        "",
        "",
        "[reporters](https://knip.dev/features/reporters)",
    ),
    reader(
        "linters",
        "eslint 10.15, biome 2.6, tsc, mypy, ruff 0.17, ty, pyright, gcc, clang, javac, svelte-check 4.7, dependency-cruiser 17.4, zizmor 1.32, Sphinx 9.0, mkdocs 1.6, cfn-lint 1.58, remark 12 and more",
        "",
        "",
        "",
    ),
    reader("meson", "meson 1.12", "", "", ""),
    reader("minitest", "-", "", "", ""),
    reader("mocha", "mocha 12", "", "", ""),
    reader(
        "node_test",
        "node 26.10",
        "",
        "what passed, of a file that a test left by an exit",
        "[node](../findings/node-exit-in-a-test.sh)",
    ),
    reader("phpunit", "PHPUnit 9.6", "", "", ""),
    reader("playwright", "Playwright 1.65", "", "", ""),
    reader("poku", "poku 4.5", "", "", ""),
    reader("pre_commit", "pre-commit 4.7, prek 0.5", "", "", ""),
    reader("prove", "prove of Perl 5.36", "", "", ""),
    reader(
        "pytest",
        "pytest 9.2, pytest-timeout 2.4",
        "",
        "the whole of a long value, outside of CI",
        "",
    ),
    reader("robot", "Robot Framework 7.5", "", "", ""),
    reader("rspec", "RSpec 3.13", "", "", ""),
    reader(
        "starters",
        "npm, pnpm, yarn, make, tox and others that start a tool",
        "",
        "",
        "",
    ),
    reader("surefire", "-", "", "", ""),
    reader("syncpack", "syncpack 15.3", "", "", ""),
    reader("test_unit", "test-unit 3.5.7", "", "", ""),
    reader("testthat", "-", "", "", ""),
    reader(
        "trial",
        "Twisted 26.10",
        "",
        "that a failure was expected, in its own TestCase",
        "[marks](../findings/trial-expected-failure.sh)",
    ),
    reader(
        "unittest",
        "-",
        "",
        "the names of the tests that passed, without `-v`",
        "",
    ),
    reader("uvu", "uvu 0.5.6", "", "", ""),
    reader("vitest", "vitest 5.1", "", "", ""),
    reader("zig", "zig 0.17", "", "", ""),
    reader(
        "zope",
        "zope.testrunner 8.3",
        "",
        "how many tests passed, where some failed",
        "[layers](../findings/zope-testrunner-junit.sh)",
    ),
];

/// What the expected results of fixtures tell.
#[derive(Default)]
struct Read {
    parts: BTreeSet<&'static str>,
}

impl Read {
    fn add(&mut self, parts: &[(&'static str, bool)]) {
        let there = parts.iter().filter(|(_, is_there)| *is_there);
        self.parts.extend(there.map(|(part, _)| *part));
    }

    fn of_expected(&mut self, expected: &Value) {
        let results = &expected["results"];
        let has = |key: &str| results[key].as_u64().is_some_and(|count| count > 0);
        self.add(&[
            ("1 tests", results.is_object()),
            ("6 skipped", has("skipped")),
            ("7 flaky", has("flaky")),
            ("8 duration", has("duration_ms")),
            ("9 findings", expected["findings"].get(0).is_some()),
            ("9 lines covered", expected["lines_total"].is_number()),
        ]);
        for failure in expected["failures"].as_array().into_iter().flatten() {
            self.add(&[
                ("2 names", failure["test_name"].is_string()),
                (
                    "3 place",
                    failure["line_number"].is_number() || failure["source"]["line"].is_number(),
                ),
                ("4 messages", failure["error_message"].is_string()),
                ("5 sides", failure["expected"].is_string()),
            ]);
        }
    }

    /// In an order that people expect, which the digit gives.
    fn told(&self) -> String {
        let parts: Vec<&str> = self.parts.iter().map(|part| &part[2..]).collect();
        parts.join(", ")
    }
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn of_report(format: &str) -> Read {
    let mut found = Read::default();
    let folder = Path::new(ROOT).join("tests/fixtures/reports").join(format);
    for path in sorted(&folder) {
        if path.to_string_lossy().ends_with(".expected.json") {
            found.of_expected(&serde_json::from_slice(&fs::read(path).unwrap()).unwrap());
        }
    }
    found
}

#[derive(Deserialize)]
struct Console {
    #[serde(default)]
    row: Vec<Row>,
    sample: Vec<Sample>,
}

#[derive(Deserialize)]
struct Row {
    means: Option<String>,
}

#[derive(Deserialize)]
struct Sample {
    text: String,
}

/// What is read, and whether the tool sums up its tests.
fn of_console(file: &str) -> (Read, &'static str) {
    let path = Path::new(ROOT).join(format!("data/console/{file}.toml"));
    let console: Console = toml::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let options = ReadOptions {
        format: Some(ReportFormat::Console),
        ..ReadOptions::default()
    };
    let mut found = Read::default();
    for sample in &console.sample {
        let report = read("log", sample.text.as_bytes(), &options);
        found.of_expected(&json!({
            "results": report.results,
            "failures": report.failures,
            "findings": report.findings,
        }));
    }
    let sums_up = console
        .row
        .iter()
        .any(|row| row.means.as_deref() == Some("counts"));
    (found, if sums_up { "count" } else { "" })
}

fn table(first: &str, rows: Vec<[String; 6]>) -> String {
    let mut text = format!(
        "| {first} | Samples of | What is read | Own word | Left out by the tool | Source |\n|:--|:--|:--|:--|:--|:--|\n"
    );
    for row in rows {
        let cells = row.map(|cell| match cell.as_str() {
            "" => " ".to_owned(),
            cell => format!(" {cell} "),
        });
        text += &format!("|{}|\n", cells.join("|"));
    }
    text
}

fn row(reader: &Reader, read: &Read, own_word: &str) -> [String; 6] {
    [
        format!("`{}`", reader.of),
        reader.samples.to_owned(),
        read.told(),
        own_word.to_owned(),
        reader.left_out.to_owned(),
        reader.source.to_owned(),
    ]
}

#[test]
fn the_document_has_each_reader() {
    let mut formats: Vec<&str> = REPORTS.iter().map(|reader| reader.of).collect();
    formats.sort_unstable();
    let mut all: Vec<&str> = ReportFormat::ALL
        .iter()
        .filter(|format| **format != ReportFormat::Console)
        .map(|format| format.as_str())
        .collect();
    all.sort_unstable();
    assert_eq!(formats, all, "a row for each format");
    let files: Vec<String> = sorted(&Path::new(ROOT).join("data/console"))
        .iter()
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    let consoles: Vec<&str> = CONSOLES.iter().map(|reader| reader.of).collect();
    assert_eq!(
        consoles, files,
        "a row for each console, in the order of the files"
    );

    let reports = REPORTS
        .iter()
        .map(|reader| row(reader, &of_report(reader.of), reader.own_word));
    let consoles = CONSOLES.iter().map(|reader| {
        let (read, own_word) = of_console(reader.of);
        row(reader, &read, own_word)
    });
    let made = format!(
        "<!-- Written by `INSTA_UPDATE=always cargo test -p loopgate-reports --test readers`. -->\n{HEAD}\
         ## Reports\n\n{}\n## Consoles\n\n{}",
        table("Format", reports.collect()),
        table("Tool", consoles.collect()),
    );
    loopgate_written::assert_written(Path::new(ROOT).join("../../docs/readers.md"), &made);
}
