//! Detects the format of a report by its first bytes. The name is not used: a `report.xml` can be in any format.
//!
//! Every format shows in its own file by what it is recognised ([`Mark`]). The formats are asked in the order of their
//! table.

use std::borrow::Cow;

use loopgate_core::{evidence::ReportFormat, failure};

use super::{
    HookOutput, Speakers, Unreadable,
    formats::{FORMATS, Tap, is_old_sarif},
    mark::Mark,
    outer_keys::outer_keys,
    text,
};

/// The format of a report that begins with `head`; none if it is in none that is read here.
pub(super) fn detect(head: &str) -> Option<ReportFormat> {
    match head.trim_start().chars().next()? {
        '<' => {
            let (name, tag) = root(head)?;
            first(|mark| matches!(mark, Mark::Root(is) if is(name, tag)))
        }
        '[' => {
            let keys = outer_keys(head);
            let is_array = |mark: &Mark| match mark {
                Mark::Array(is) => is(head, &keys),
                Mark::Json { array, .. } => array(&keys),
                _ => false,
            };
            first(is_array).or_else(|| by_lines(head))
        }
        '{' => {
            let keys = outer_keys(head);
            let by_keys = first(|mark| match mark {
                Mark::Object(is) => is(head, &keys),
                Mark::JsonLines(is) => is(&keys),
                Mark::Json { object, line, .. } => object(&keys) || line(&keys),
                _ => false,
            });
            by_keys.or_else(|| by_lines(head))
        }
        _ => by_lines(head),
    }
}

/// Files of known tools that are not read: what they are known by, what they are, and what to write instead.
type Unsupported = &'static [(&'static str, &'static str, &'static str)];

/// Known by the outermost element, which is any of some, and what stands in its tag.
const UNSUPPORTED_XML: Unsupported = &[
    (
        "test-results",
        "NUnit 2",
        "write NUnit 3's format, or JUnit XML",
    ),
    (
        "assembly",
        "xUnit.net v1",
        "write xUnit.net v2's format, or TRX",
    ),
    ("Site", "CTest's own XML", "run `ctest --output-junit FILE`"),
    (
        "TestRun elapsed=",
        "AUnit",
        "report by `AUnit.Reporter.JUnit`",
    ),
    ("TestRun", "CppUnit", "write JUnit XML"),
    (
        "testsuites //check.sourceforge.net/",
        "Check's own XML",
        "write TAP (`CK_TAP_LOG_FILE_NAME=FILE`)",
    ),
    (
        "TestLog|TestResult",
        "Boost.Test",
        "run with `--log_format=JUNIT`",
    ),
    ("CUNIT_TEST_RUN_REPORT", "CUnit", "write JUnit XML"),
    ("ResultsSession", "Parasoft", "write JUnit XML, or SARIF"),
    (
        "TestCase",
        "Qt Test's own XML",
        "run with `-o FILE,junitxml`",
    ),
    ("TestResults", "FPCUnit", "write JUnit XML"),
    (
        "gtester",
        "GLib's gtester",
        "run the test itself with `--tap`",
    ),
    (
        "robot",
        "Robot Framework's own XML",
        "run with `--xunit FILE`",
    ),
    (
        "testng-results",
        "TestNG's own XML",
        "read its JUnit XML (`junitreports/`)",
    ),
    ("report-result", "MbUnit", "write JUnit XML"),
    ("unittest-results", "UnitTest++", "write JUnit XML"),
    (
        "valgrindoutput",
        "Valgrind",
        "let the exit code say it (`--error-exitcode=1`)",
    ),
    ("tusar", "Tusar", "write JUnit XML"),
    ("testExecutions", "SonarQube's own XML", "write JUnit XML"),
    (
        "coverage",
        "SonarQube's own XML",
        "write Cobertura XML, or lcov",
    ),
    (
        "Catch|Catch2TestRun",
        "Catch2's own XML",
        "run with `--reporter junit`",
    ),
    ("BugCollection", "SpotBugs", "write SARIF"),
    ("pmd", "PMD", "write SARIF"),
    ("results", "Cppcheck", "write SARIF"),
    ("issues", "Android Lint", "write SARIF"),
    ("html", "a web page", "name the report itself"),
];

/// Known by a key of the outermost object.
const UNSUPPORTED_JSON: Unsupported = &[
    (
        "historyId",
        "Allure",
        "let the test runner write JUnit XML too",
    ),
    (
        "statementMap",
        "Istanbul's JSON",
        "write lcov (`--reporter=lcov`)",
    ),
    (
        "gcovr/format_version",
        "gcovr's own JSON",
        "run with `--cobertura FILE`",
    ),
    (
        "gcovr/summary_format_version",
        "gcovr's summary JSON",
        "run with `--cobertura FILE`",
    ),
    (
        "source_files",
        "Coveralls JSON",
        "write Cobertura XML, or lcov",
    ),
    ("toolInfo", "SARIF older than 2.1", "write SARIF 2.1.0"),
    (
        "exitcode",
        "pytest-json-report's JSON",
        "run pytest with `--junitxml FILE`",
    ),
    (
        "pytest_version",
        "pytest-reportlog's JSON",
        "run pytest with `--junitxml FILE`",
    ),
    (
        "meta",
        "coverage.py's JSON",
        "write Cobertura XML (`coverage xml`), or lcov",
    ),
    (
        "check_type",
        "Checkov's own JSON",
        "run with `--output sarif`",
    ),
    (
        "unlisted",
        "knip's own JSON",
        "run with `--reporter codeclimate`",
    ),
    (
        "testsuites",
        "GoogleTest's JSON",
        "run with `--gtest_output=xml:FILE`",
    ),
];

/// What a report is that is in no format that is read, as far as that is known.
pub(super) fn unsupported(head: &str) -> Unreadable {
    let by_key = |key: &str| UNSUPPORTED_JSON.iter().find(|(known, ..)| *known == key);
    let known = match head.trim_start().chars().next() {
        Some('<') => {
            let is = |(name, tag): (&str, &str), known: &str| {
                let (known, piece) = known.split_once(' ').unwrap_or((known, ""));
                known.split('|').any(|known| name == known) && tag.contains(piece)
            };
            let known = root(head)
                .and_then(|root| UNSUPPORTED_XML.iter().find(|(known, ..)| is(root, known)));
            if known.is_none()
                && ["<!ENTITY", "<!ELEMENT"]
                    .iter()
                    .any(|declaration| head.contains(declaration))
            {
                return Unreadable::OwnEntities;
            }
            known
        }
        Some('{') if is_old_sarif(head) => by_key("toolInfo"),
        Some('{') if head.contains("\"statementMap\"") => by_key("statementMap"),
        Some('{') if head.contains("\"unlisted\":[") => by_key("unlisted"),
        Some('{' | '[') => outer_keys(head).into_iter().find_map(by_key),
        _ => None,
    };
    known.map_or(Unreadable::Unrecognised, |(_, what, instead)| {
        Unreadable::Unsupported { what, instead }
    })
}

/// The first format whose mark is there.
fn first(is_there: impl Fn(&Mark) -> bool) -> Option<ReportFormat> {
    FORMATS
        .iter()
        .find(|(_, mark, _)| is_there(mark))
        .map(|(format, ..)| *format)
}

/// The outermost element's name without its prefix, and its whole tag.
fn root(head: &str) -> Option<(&str, &str)> {
    let mut rest = head;
    loop {
        rest = &rest[rest.find('<')? + 1..];
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = comment.split_once("-->")?.1;
        } else if !rest.starts_with(['?', '!']) {
            break;
        }
    }
    let name = rest
        .split(|c: char| c.is_whitespace() || matches!(c, '>' | '/'))
        .next()?;
    Some((name.rsplit(':').next()?, rest.split('>').next()?))
}

/// Text by the first line that only one format has. What annotates files on GitHub may stand beside what a tool prints.
fn by_lines(head: &str) -> Option<ReportFormat> {
    let (mut one_of_pair, mut common, mut any) = (None, None, None);
    let lines: Vec<Cow<'_, str>> = head
        .lines()
        .map(|line| text::clean(failure::without_stamp(line)))
        .collect();
    let mut speakers = Speakers::default();
    speakers.learn(lines.iter().map(|line| &**line));
    let mut hook_output = HookOutput::default();
    for line in lines {
        let line = hook_output.line(&line);
        if hook_output.is_ahead() {
            common = common.or(Some(ReportFormat::Console));
        }
        let object =
            Some(line.trim_start()).filter(|line| line.starts_with('{') && line.ends_with('}'));
        let keys = object.map(outer_keys);
        let own = first(|mark| match mark {
            Mark::Line(is) | Mark::Text { own: is, .. } | Mark::Lines { own: is, .. } => is(line),
            Mark::JsonLines(is) | Mark::Json { line: is, .. } => keys.as_deref().is_some_and(is),
            _ => false,
        });
        if own.is_some() {
            // A document of TAP may stand among what tools print for people.
            let is_among = common.is_some() && Tap::begins_with(line);
            return if is_among { common } else { own };
        }
        let pair = first(|mark| matches!(mark, Mark::Lines { pair: is, .. } if is(line)));
        if pair.is_some() && pair == one_of_pair {
            return pair;
        }
        one_of_pair = one_of_pair.or(pair);
        common = common
            .or_else(|| first(|mark| matches!(mark, Mark::Text { common: is, .. } if is(line))));
        any = any.or_else(|| first(|mark| matches!(mark, Mark::AnyLine(is) if is(line))));
    }
    let of_several = speakers.are_several().then_some(ReportFormat::Console);
    common.or(one_of_pair).or(of_several).or(any)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_read_is_named() {
        let table = [
            ("<test-results name='x'>", "is NUnit 2, which"),
            ("<TestRun><FailedTests/>", "is CppUnit, which"),
            ("<TestRun elapsed='6.2E-4'>", "is AUnit, which"),
            (
                "<testsuites xmlns=\"http://check.sourceforge.net/ns\">",
                "is Check's own XML, which",
            ),
            (
                r#"{"gcovr/format_version": "0.15", "files": []}"#,
                "is gcovr's own JSON, which",
            ),
            (
                r#"{"root": ".", "gcovr/summary_format_version": "0.6"}"#,
                "is gcovr's summary JSON, which",
            ),
            (
                // So it is where pytest-xdist ran the tests; other runs have collectors too.
                r#"{"created": 1.0, "duration": 0.2, "exitcode": 1, "root": "/s", "summary": {}, "tests": []}"#,
                "is pytest-json-report's JSON, which",
            ),
            (
                r#"{"run_at": "now", "source_files": []}"#,
                "is Coveralls JSON, which",
            ),
            (
                "<!DOCTYPE r [<!ENTITY x SYSTEM 'u'>]><r>&x;</r>",
                "declares a document type of its own",
            ),
            (
                "<!ENTITY % p \"<!ENTITY x SYSTEM 'u'>\">",
                "declares a document type of its own",
            ),
            (
                r#"{"version": "1.0.0", "runs": []}"#,
                "is SARIF older than 2.1, which",
            ),
            (
                r#"{"$schema": "x/sarif-2.0.0.json", "version": "2.0.0-csd.2", "runs": []}"#,
                "is SARIF older than 2.1, which",
            ),
            (
                "<coverage version=\"1\"><file path='a'>",
                "is SonarQube's own XML, which",
            ),
            ("<TestCase name='tst'>", "is Qt Test's own XML, which"),
            (
                r#"[{"check_type": "dockerfile", "results": {"failed_checks": []}}]"#,
                "is Checkov's own JSON, which",
            ),
            (
                r#"{"issues":[{"file":"a.js","unlisted":[]}]}"#,
                "is knip's own JSON, which",
            ),
            (
                r#"{"/a.js":{"path":"/a.js","statementMap":{}}}"#,
                "is Istanbul's JSON, which",
            ),
        ];
        for (head, said) in table {
            assert_eq!(detect(head), None, "{head}");
            assert!(unsupported(head).to_string().starts_with(said), "{head}");
        }
        let unknown = ["<nobody-knows/>", "{}", r#"{"issues": []}"#];
        assert!(
            unknown
                .iter()
                .all(|head| matches!(unsupported(head), Unreadable::Unrecognised))
        );
    }

    #[test]
    fn formats_by_their_first_bytes() {
        use ReportFormat::*;
        let table = [
            (
                "<?xml version='1.0'?>\n<!-- c > --><testsuites/>",
                Some(Junit),
            ),
            ("<n:testsuite name='a'>", Some(Junit)),
            ("<testsuites xmlns='http://check.sourceforge.net/ns'>", None),
            ("<TestRun id='1' xmlns='x'>", Some(Trx)),
            ("<checkstyle version='8'>", Some(Checkstyle)),
            (
                "<!DOCTYPE report PUBLIC '-//JACOCO//DTD' 'report.dtd'><report name='x'>",
                Some(Jacoco),
            ),
            ("<coverage line-rate='0.5' version='1'>", Some(Cobertura)),
            ("<coverage generated='1' clover='4'>", Some(Clover)),
            ("<coverage generated=\"17\">", Some(Clover)),
            ("<html>", None),
            ("<", None),
            (
                r#"{"Time":"t","Action":"start","Package":"p"}"#,
                Some(GoTestJson),
            ),
            (r#"{"reason":"compiler-artifact"}"#, Some(CargoMessages)),
            (
                r#"{ "type": "suite", "event": "started", "test_count": 1 }"#,
                Some(LibtestJson),
            ),
            (r#"{"version":"2.1.0","runs":[{"tool":{"#, Some(Sarif)),
            (
                r#"{"data":[{"files":[{"filename":"a","segments":[]}]}],"type":"llvm.coverage.json.export"}"#,
                Some(LlvmCovJson),
            ),
            (r#"[{"filePath":"/a.js","messages":[]}]"#, Some(EslintJson)),
            ("[ ]", Some(EslintJson)),
            (r#"{"nested":{"runs":[]}}"#, None),
            (r#"{"a\"runs":1}"#, None),
            (
                "go: downloading x\n{\"Action\":\"run\",\"Package\":\"p\"}\n",
                Some(GoTestJson),
            ),
            ("TAP version 13\n1..2", Some(Tap)),
            ("1..2\nok 1", Some(Tap)),
            ("not ok 1 - adds", Some(Tap)),
            ("TN:\nSF:a", Some(Lcov)),
            ("mode: atomic\n", Some(GoCover)),
            ("   Compiling shop v0.1.0\n", Some(CargoTest)),
            (
                "\u{1B}[1m\u{1B}[32m   Compiling\u{1B}[0m shop v0.1.0\n",
                Some(CargoTest),
            ),
            ("noise\nrunning 3 tests\n", Some(CargoTest)),
            ("running 3 errands", None),
            (
                "hello\n::error file=a.rs,line=1::bad\n",
                Some(GithubAnnotations),
            ),
            (
                "::group::x\n   Compiling shop v0.1.0\n::error::x",
                Some(CargoTest),
            ),
            (
                "test_ok (cart.tests.CartTests.test_ok) ... ok\n",
                Some(PythonUnittest),
            ),
            (
                "..F\nFAIL: test_total (cart.tests.CartTests)\n",
                Some(PythonUnittest),
            ),
            ("Ran 2 tests in 0.001s\n", Some(PythonUnittest)),
            ("Ran 2 tests in the morning\n", None),
            ("test tests::adds (slow) ... ok", None),
            (
                r#"{"numFailedTests":1,"success":false,"testResults":[{"assertionResults":"#,
                Some(JestJson),
            ),
            (r#"{"version":"1.0.0","runs":[{"tool":{"#, None),
            ("<test-run id='2'>", Some(NunitXml)),
            ("<assemblies>", Some(XunitXml)),
            ("<TestRun>", None),
            (
                r#"[{"cell":null,"code":"F401","filename":"/a.py","location":{"column":8,"row":1}}]"#,
                Some(RuffJson),
            ),
            (r#"{"Issues":[],"Report":{}}"#, Some(GolangciJson)),
            (
                r#"{"file":"a.py","line":3,"column":4,"message":"m","hint":null,"code":"x","severity":"error"}"#,
                Some(MypyJson),
            ),
            (
                r#"{"protocolVersion":"0.1.1","runnerVersion":"1.24.9","pid":1,"type":"start","time":0}"#,
                Some(DartJson),
            ),
            (
                r#"{"config":{},"suites":[],"errors":[]}"#,
                Some(PlaywrightJson),
            ),
            (r#"{"stats":{"suites":1},"tests":[]}"#, Some(MochaJson)),
            (r#"{"version":"3.13.0","examples":[]}"#, Some(RspecJson)),
            (
                r#"{"reportFormat":"CTRF","results":{"tool":{},"summary":{}}}"#,
                Some(Ctrf),
            ),
            ("=== RUN   TestTotal\n", Some(Console)),
            (
                "============ test session starts ============\n",
                Some(Console),
            ),
            ("src/a.ts(3,4): error TS2322: Type\n", Some(Console)),
            ("ok then", None),
            ("", None),
        ];
        for (head, expected) in table {
            assert_eq!(detect(head), expected, "{head}");
        }
    }
}
