//! Every fixture in `tests/fixtures/reports/<format>/` is read as the JSON beside it says, whatever the pieces it comes
//! in; and no damage done to any of them makes a parser panic, hang or keep more than it may.
//!
//! `INSTA_UPDATE=always cargo test -p loopgate-reports` writes the expected results anew; read the difference before
//! keeping it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use loopgate_core::evidence::{ReportFormat, TestId, TestState};
use loopgate_reports::{Pattern, ReadOptions, Report, read};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/reports");

/// The expression that the plain-text fixtures are read with.
const PATTERN: &str = r"^(?P<file>[^:\s]+):(?P<line>\d+): (?P<severity>error|warning): (?P<message>.+?)(?: \[(?P<rule>.+)\])?$";

/// Every fixture, with its format's folder and its bytes.
fn fixtures() -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for folder in fs::read_dir(FIXTURES).unwrap() {
        for file in fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if !path.to_string_lossy().ends_with(".expected.json") {
                let bytes = fs::read(&path).unwrap();
                found.push((path, bytes));
            }
        }
    }
    found.sort();
    assert!(!found.is_empty());
    found
}

fn options_for(path: &Path) -> ReadOptions {
    let is_regex = path
        .parent()
        .is_some_and(|folder| folder.ends_with("regex"));
    ReadOptions {
        pattern: is_regex.then(|| Pattern::new(PATTERN).unwrap()),
        ..ReadOptions::default()
    }
}

/// The report without what is absent, so that expected results stay short.
fn normalised(report: &Report) -> Value {
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| {
        if !value.is_null() && value != json!([]) && value != json!(0) {
            out.insert(key.to_owned(), value);
        }
    };
    put("format", json!(report.format));
    put("framework", json!(report.framework));
    put("quality", json!(report.quality));
    put("notes", json!(report.notes));
    put(
        "is_whole",
        if report.is_whole {
            Value::Null
        } else {
            json!(false)
        },
    );
    put("results", json!(report.results));
    put(
        "failures",
        report
            .failures
            .iter()
            .map(|failure| without_nulls(json!(failure)))
            .collect(),
    );
    put("failures_not_kept", json!(report.failures_not_kept));
    put(
        "findings",
        report
            .findings
            .iter()
            .map(|finding| without_nulls(json!(finding)))
            .collect(),
    );
    put("findings_not_kept", json!(report.findings_not_kept));
    put("flaky_tests", json!(report.flaky_tests));
    if let Some(coverage) = &report.coverage {
        put("lines_covered", json!(coverage.lines_covered));
        put("lines_total", json!(coverage.lines_total));
        let line = |(line, hits): (&u32, &u64)| format!("{line}:{hits}");
        let file = |file: &loopgate_core::evidence::FileCoverage| {
            (
                file.path.clone(),
                json!(file.lines.iter().map(line).collect::<Vec<_>>().join(" ")),
            )
        };
        put(
            "coverage",
            Value::Object(coverage.files.iter().map(file).collect()),
        );
    }
    Value::Object(out)
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => map
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(k, v)| (k, without_nulls(v)))
            .collect(),
        other => other,
    }
}

fn expected_path(fixture: &Path) -> PathBuf {
    let mut name = fixture.file_name().unwrap().to_owned();
    name.push(".expected.json");
    fixture.with_file_name(name)
}

fn shown(fixture: &Path) -> String {
    fixture
        .strip_prefix(FIXTURES)
        .unwrap()
        .to_string_lossy()
        .into_owned()
}

#[test]
fn every_fixture_is_read_as_expected() {
    let writes = loopgate_written::is_writing();
    let mut wrong = Vec::new();
    for (path, bytes) in fixtures() {
        let got = normalised(&read(&shown(&path), bytes.as_slice(), &options_for(&path)));
        let expected = expected_path(&path);
        if writes {
            fs::write(
                &expected,
                serde_json::to_string_pretty(&got).unwrap() + "\n",
            )
            .unwrap();
            continue;
        }
        let wanted: Value = match fs::read_to_string(&expected) {
            Ok(text) => serde_json::from_str(&text).unwrap(),
            Err(error) => panic!("{}: {error}", shown(&expected)),
        };
        if got != wanted {
            let texts = [&wanted, &got].map(|value| serde_json::to_string_pretty(value).unwrap());
            let difference = similar::TextDiff::from_lines(&texts[0], &texts[1])
                .unified_diff()
                .to_string();
            wrong.push(format!("{}\n{difference}", shown(&path)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A check may run several tools: what each says is read as if it spoke alone.
#[test]
fn one_text_of_two_tools_tells_what_each_does() {
    let text = |folder: &str, name: &str| {
        let path = Path::new(FIXTURES).join(folder).join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let texts = [
        text("cargo_test", "several_binaries.txt"),
        text("cargo_test", "nextest.txt"),
        text("python_unittest", "verbose.txt"),
        text("python_unittest", "quiet.txt"),
        text("console", "go.txt"),
        text("console", "phpunit.txt"),
        text("../console/several/out", "pytest.txt"),
        text("../console/several/out", "mocha.txt"),
        text("../console/several/out", "vitest.txt"),
    ];
    let told = |text: &str| {
        let report = read("check.log", text.as_bytes(), &ReadOptions::default());
        let of = |failure: &loopgate_core::evidence::Failure| {
            let source = failure
                .source
                .as_ref()
                .map(|source| (source.file.clone(), source.line));
            (
                failure.test_name.clone(),
                failure.error_message.clone(),
                failure.expected.clone(),
                source,
            )
        };
        let results = report
            .results
            .map(|results| (results.total, results.failed + results.errors));
        (
            report.failures.iter().map(of).collect::<BTreeSet<_>>(),
            results.unwrap_or_default(),
        )
    };
    for (one, first) in texts.iter().enumerate() {
        for (two, second) in texts.iter().enumerate().filter(|(two, _)| *two != one) {
            let (mut apart, (tests, failed)) = told(first);
            let (of_second, (more, more_failed)) = told(second);
            apart.extend(of_second);
            let both = told(&format!(
                "{first}\nmake: *** [Makefile:2: test] Error 1\n{second}"
            ));
            let differ: Vec<_> = both.0.symmetric_difference(&apart).collect();
            assert!(differ.is_empty(), "{one} and {two}: {differ:#?}");
            assert_eq!(
                both.1,
                (tests + more, failed + more_failed),
                "{one} and {two}"
            );
        }
    }
}

/// Gives bytes a few at a time, as a pipe may.
struct Trickle<'a> {
    bytes: &'a [u8],
    step: usize,
}

impl Read for Trickle<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = self.step.min(into.len()).min(self.bytes.len());
        into[..count].copy_from_slice(&self.bytes[..count]);
        self.bytes = &self.bytes[count..];
        Ok(count)
    }
}

#[test]
fn pieces_do_not_matter() {
    for (path, bytes) in fixtures() {
        let options = options_for(&path);
        let whole = read("r", bytes.as_slice(), &options);
        for step in [1, 7, 4096] {
            assert_eq!(
                read(
                    "r",
                    Trickle {
                        bytes: &bytes,
                        step
                    },
                    &options
                ),
                whole,
                "{} by {step}",
                shown(&path)
            );
        }
    }
}

/// One C program, measured by clang: `llvm-cov export` as JSON and as lcov, the latter turned into Cobertura.
#[test]
fn one_program_s_coverage_is_the_same_in_three_formats() {
    let lines = |name: &str| {
        let report =
            loopgate_reports::read_file(&Path::new(FIXTURES).join(name), &ReadOptions::default());
        let [file] = report.coverage.unwrap().files.try_into().unwrap();
        assert!(file.path.ends_with("src/cart.c"), "{}", file.path);
        file.lines
    };
    let lcov = lines("lcov/same_program.info");
    assert_eq!(lines("llvm_cov_json/same_program.json"), lcov);
    assert_eq!(lines("cobertura/same_program.xml"), lcov);
    assert_eq!(
        (lcov.values().filter(|hits| **hits > 0).count(), lcov.len()),
        (19, 35)
    );
}

/// A generated test: which class and name of a few, and how it ended.
fn generated_tests() -> impl Strategy<Value = Vec<(u8, String, u8)>> {
    prop::collection::vec((0..4_u8, "[ -~é\n\t<&\"']{1,12}", 0..5_u8), 0..40)
}

fn escaped(text: &str) -> String {
    let pairs = [
        ("&", "&amp;"),
        ("<", "&lt;"),
        ("\"", "&quot;"),
        ("\n", "&#10;"),
        ("\t", "&#x9;"),
    ];
    pairs.iter().fold(text.to_owned(), |text, (plain, entity)| {
        text.replace(plain, entity)
    })
}

/// Writes the tests as JUnit, each as one of the ways the format has for it.
fn junit_of(tests: &[(u8, String, u8)]) -> String {
    let mut xml =
        String::from("<?xml version=\"1.0\"?>\n<testsuites><testsuite name=\"generated\">\n");
    for (class, name, ended) in tests {
        let children = match ended {
            0 => "",
            1 => "<failure message=\"m\"><![CDATA[trace ]] > <&>]]></failure>",
            2 => "<system-out>x</system-out><error type=\"E\"/>",
            3 => "<skipped/>",
            _ => "<flakyFailure/>",
        };
        let name = escaped(name);
        xml += &format!(
            "<testcase classname=\"c{class}\" name=\"{name}\" time=\"0.001\">{children}</testcase>\n"
        );
    }
    xml + "</testsuite></testsuites>\n"
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// What was written comes back: the list of outcomes holds every test with its state, and the counts agree with it.
    #[test]
    fn generated_junit_round_trips(tests in generated_tests()) {
        // What stands for each name, the failures that a pass may turn out to be a rerun of, and the tests counted.
        let mut wanted: BTreeMap<TestId, TestState> = BTreeMap::new();
        let mut tries: BTreeMap<TestId, Vec<TestState>> = BTreeMap::new();
        let mut counted = Vec::new();
        for (class, name, ended) in &tests {
            let state = match ended {
                0 => TestState::Passed,
                1 => TestState::Failed,
                2 => TestState::Errored,
                3 => TestState::Skipped,
                _ => TestState::Flaky,
            };
            let id = TestId::of("", &format!("c{class}"), name);
            let tries = tries.entry(id).or_default();
            if matches!(state, TestState::Passed | TestState::Flaky) && !tries.is_empty() {
                for failed in tries.drain(..) {
                    let at = counted.iter().rposition(|state| *state == failed).unwrap();
                    counted.remove(at);
                }
                counted.push(TestState::Flaky);
                wanted.insert(id, TestState::Flaky);
            } else {
                counted.push(state);
                tries.extend(state.is_failure().then_some(state));
                let known = wanted.entry(id).or_insert(state);
                *known = state.max(*known);
            }
        }
        let options = ReadOptions { test_outcomes: true, ..ReadOptions::default() };
        let report = read("generated.xml", junit_of(&tests).as_bytes(), &options);
        let outcomes = report.test_outcomes.unwrap();
        let held: BTreeMap<_, _> = outcomes.iter().map(|test| (test.id(), test.state())).collect();
        prop_assert_eq!(&held, &wanted);
        let results = report.results.unwrap();
        let count = |is: TestState| counted.iter().filter(|state| **state == is).count() as u64;
        prop_assert_eq!(results.total, counted.len() as u64);
        prop_assert_eq!(results.failed, count(TestState::Failed));
        prop_assert_eq!(results.errors, count(TestState::Errored));
        prop_assert_eq!(results.skipped, count(TestState::Skipped));
        prop_assert_eq!(results.flaky, count(TestState::Flaky));
        // Every failure can be found in the list of outcomes.
        let failing: BTreeSet<_> = wanted.iter().filter(|(_, state)| state.is_failure()).map(|(id, _)| *id).collect();
        prop_assert_eq!(report.failures.iter().filter_map(|failure| failure.test_id).collect::<BTreeSet<_>>(), failing);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), format in formats()) {
        let options = ReadOptions { format, ..ReadOptions::default() };
        assert_sane(&read("bytes", bytes.as_slice(), &options), "bytes");
    }
}

fn formats() -> impl Strategy<Value = Option<ReportFormat>> {
    prop::option::of(prop::sample::select(ReportFormat::ALL.to_vec()))
}

/// Failures past the limit are counted, and taken back when a rerun passes.
#[test]
fn what_is_not_kept_is_counted() {
    let case = |n: usize, child: &str| {
        format!("<testcase classname='C' name='t{n}' time='0'>{child}</testcase>")
    };
    let failing: String = (0..500)
        .map(|n| case(n, "<failure message='m'/>"))
        .collect();
    let passing: String = (0..10).chain(490..500).map(|n| case(n, "")).collect();
    let xml = format!("<testsuite name='x'>{failing}{passing}</testsuite>");
    let report = read(
        "x.xml",
        xml.as_bytes(),
        &ReadOptions {
            keep: 50,
            ..ReadOptions::default()
        },
    );
    let results = report.results.unwrap();
    assert_eq!(
        (results.total, results.failed, results.passed, results.flaky),
        (500, 480, 20, 20)
    );
    assert_eq!((report.failures.len(), report.failures_not_kept), (40, 440));
}

/// Of thousands of findings the worst are kept, wherever they stand.
#[test]
fn the_worst_findings_are_kept() {
    let error = |n: usize, severity: &str| {
        format!("<error line='{n}' severity='{severity}' message='m{n}' source='r'/>")
    };
    let notes: String = (1..1000)
        .map(|n| error(n, if n == 900 { "critical" } else { "info" }))
        .collect();
    let xml = format!("<checkstyle><file name='a.c'>{notes}</file></checkstyle>");
    let report = read(
        "x.xml",
        xml.as_bytes(),
        &ReadOptions {
            keep: 10,
            ..ReadOptions::default()
        },
    );
    assert_eq!((report.findings.len(), report.findings_not_kept), (10, 989));
    assert!(
        report
            .findings
            .iter()
            .any(|finding| finding.message == "m900")
    );
}

/// A gigabyte of output in one test is nobody's memory; here it is a few megabytes in pieces.
#[test]
fn huge_parts_are_cut_not_kept() {
    let huge = "x".repeat(3 << 20);
    let in_text = format!(
        "<testsuite><testcase name='a' classname='C' time='1'><failure>{huge}</failure></testcase></testsuite>"
    );
    let report = read("x.xml", in_text.as_bytes(), &ReadOptions::default());
    let trace = report.failures[0].stack_trace.as_deref().unwrap();
    assert!(
        trace.len() < 40_000 && trace.contains("bytes cut"),
        "{}",
        trace.len()
    );
    let in_attribute = format!(
        "<testsuite><testcase name='a' time='1' classname='C'><failure message='{huge}'/></testcase>\
         <testcase name='b' classname='C' time='1'/></testsuite>"
    );
    let report = read("x.xml", in_attribute.as_bytes(), &ReadOptions::default());
    assert_eq!(
        report
            .results
            .map(|results| (results.total, results.failed)),
        Some((2, 1))
    );
    assert_eq!(
        report.notes,
        ["1 part is larger than 1 MiB and was cut: testsuite/testcase[0]/failure[0]"]
    );
}

/// What holds of every report, of whatever bytes.
fn assert_sane(report: &Report, what: &str) {
    if let Some(results) = report.results {
        let parts = results.passed + results.failed + results.errors + results.skipped;
        assert_eq!(results.total, parts, "{what}");
        assert!(results.flaky <= results.passed, "{what}");
    }
    assert!(
        report.failures.len() <= 200 && report.findings.len() <= 200,
        "{what}"
    );
    let results_or_notes = report.format.is_some() || !report.notes.is_empty();
    assert!(results_or_notes, "{what}: unread without a reason");
}

#[test]
fn truncation_never_panics_and_hardly_adds_tests() {
    for (path, bytes) in fixtures() {
        let options = options_for(&path);
        let whole = read("r", bytes.as_slice(), &options)
            .results
            .map_or(0, |results| results.total);
        let step = (bytes.len() / 80).max(1);
        for length in (0..bytes.len()).step_by(step) {
            let what = format!("{} cut at {length}", shown(&path));
            let report = read("r", &bytes[..length], &options);
            assert_sane(&report, &what);
            let total = report.results.map_or(0, |results| results.total);
            // A name cut in half and a crash that was none, at most.
            assert!(total <= whole + 2, "{what}: {total} tests of {whole}");
        }
    }
}

/// A small deterministic generator: a failing case is reproduced by its fixture's name and round.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit.max(1)
    }
}

/// Bytes that mean something to some format.
const SPICES: [&[u8]; 20] = [
    b"<",
    b">",
    b"\"",
    b"&#0;",
    b"]]>",
    b"<![CDATA[",
    b"</testcase>",
    b"<testcase>",
    b"{",
    b"}",
    b"\\",
    b"\n",
    b"\0",
    b"\xFF\xFE",
    b"\xEF\xBB\xBF",
    b"-1",
    b"99999999999999999999",
    b"NaN",
    b"not ok 1\n",
    b"end_of_record\n",
];

fn mutate(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut out = bytes.to_vec();
    for _ in 0..=dice.below(4) {
        let at = dice.below(out.len());
        let end = (at + dice.below(60)).min(out.len());
        match dice.below(5) {
            0 => drop(out.drain(at..end)),
            1 => {
                let piece = out[at..end].to_vec();
                let to = dice.below(out.len());
                out.splice(to..to, piece);
            }
            2 => drop(out.splice(at..at, SPICES[dice.below(SPICES.len())].iter().copied())),
            3 => drop(out.splice(at..end, SPICES[dice.below(SPICES.len())].iter().copied())),
            _ => {
                if let Some(byte) = out.get_mut(at) {
                    *byte = u8::try_from(dice.below(256)).unwrap();
                }
            }
        }
    }
    out
}

#[test]
fn mutations_never_panic() {
    for (index, (path, bytes)) in fixtures().into_iter().enumerate() {
        let format = read("r", bytes.as_slice(), &options_for(&path)).format;
        for round in 0..50_u64 {
            let mut dice = Dice(round * 1_000 + index as u64);
            let mutated = mutate(&bytes, &mut dice);
            // Half of them are kept to their parser, whatever they look like now.
            let forced = format.filter(|_| round % 2 == 0);
            let options = ReadOptions {
                format: forced,
                test_outcomes: true,
                ..options_for(&path)
            };
            assert_sane(
                &read("r", mutated.as_slice(), &options),
                &format!("{} round {round}", shown(&path)),
            );
        }
    }
}
