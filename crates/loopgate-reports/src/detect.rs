//! Which format a report is in, by its first bytes; its name tells nothing (a `report.xml` can be anything).

use loopgate_core::evidence::ReportFormat;

use super::{formats::python_unittest, text};

/// The format of a report that begins with `head`; none if it is in none that is read here.
pub(super) fn detect(head: &str) -> Option<ReportFormat> {
    match head.trim_start().chars().next()? {
        '<' => by_root(head),
        '{' | '[' => by_keys(head).or_else(|| by_lines(head)),
        _ => by_lines(head),
    }
}

/// XML by the name of its outermost element.
fn by_root(head: &str) -> Option<ReportFormat> {
    let mut rest = head;
    loop {
        rest = &rest[rest.find('<')? + 1..];
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = comment.split_once("-->")?.1;
        } else if !rest.starts_with(['?', '!']) {
            break;
        }
    }
    let name = rest.split(|c: char| c.is_whitespace() || matches!(c, '>' | '/')).next()?;
    let tag = rest.split('>').next()?;
    match name.rsplit(':').next()? {
        "testsuites" | "testsuite" | "testcase" => Some(ReportFormat::Junit),
        "TestRun" => Some(ReportFormat::Trx),
        "checkstyle" => Some(ReportFormat::Checkstyle),
        "report" => Some(ReportFormat::Jacoco),
        "coverage" if tag.contains(" clover=") || (tag.contains(" generated=") && !tag.contains("-rate=")) => {
            Some(ReportFormat::Clover)
        }
        "coverage" => Some(ReportFormat::Cobertura),
        _ => None,
    }
}

/// JSON by the keys of its outermost object, or of the first object in its outermost array.
fn by_keys(head: &str) -> Option<ReportFormat> {
    let keys = outer_keys(head);
    let has = |key: &str| keys.contains(&key);
    if head.trim_start().starts_with('[') {
        let is_eslint = (has("filePath") && has("messages")) || head.split_whitespace().collect::<String>() == "[]";
        return is_eslint.then_some(ReportFormat::EslintJson);
    }
    if has("Action") && (has("Package") || has("ImportPath") || has("Time")) {
        Some(ReportFormat::GoTestJson)
    } else if has("reason") || has("$message_type") {
        Some(ReportFormat::CargoMessages)
    } else if has("type") && has("event") {
        Some(ReportFormat::LibtestJson)
    } else if has("runs") || (has("$schema") && head.contains("sarif")) {
        Some(ReportFormat::Sarif)
    } else if has("data") && (head.contains("\"segments\"") || head.contains("llvm.coverage.json.export")) {
        Some(ReportFormat::LlvmCovJson)
    } else if has("testResults") || (has("numTotalTests") && has("success")) {
        Some(ReportFormat::JestJson)
    } else {
        None
    }
}

/// Keys of the first object in a text that begins with one, or with an array of them. The text may be cut anywhere.
fn outer_keys(head: &str) -> Vec<&str> {
    let mut keys = Vec::new();
    let start = head.find('{').unwrap_or(head.len());
    let bytes = head.as_bytes();
    let (mut depth, mut at) = (0_u32, start);
    let mut key_may_follow = false;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                key_may_follow = depth == 1;
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    break;
                }
            }
            b',' => key_may_follow = depth == 1,
            b'"' => {
                let Some(length) = string_length(&bytes[at + 1..]) else { break };
                if key_may_follow {
                    keys.push(&head[at + 1..at + 1 + length]);
                    key_may_follow = false;
                }
                at += length + 1;
            }
            _ => {}
        }
        at += 1;
    }
    keys
}

/// Bytes up to the quote that ends a JSON string.
fn string_length(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// Text by the first line that only one format has.
fn by_lines(head: &str) -> Option<ReportFormat> {
    let mut annotations = None;
    for line in head.lines() {
        let line = text::clean(line);
        if let Some(format) = by_line(&line) {
            return Some(format);
        }
        if is_annotation(&line) {
            annotations = Some(ReportFormat::GithubAnnotations);
        }
    }
    annotations
}

fn by_line(line: &str) -> Option<ReportFormat> {
    let starts = |mark: &str| line.starts_with(mark);
    let trimmed = line.trim_start();
    if starts("TAP version ") || is_tap_plan(line) || is_tap_point(line) {
        Some(ReportFormat::Tap)
    } else if starts("TN:") || starts("SF:") {
        Some(ReportFormat::Lcov)
    } else if matches!(line.trim_end(), "mode: set" | "mode: count" | "mode: atomic") {
        Some(ReportFormat::GoCover)
    } else if trimmed.starts_with('{') && trimmed.ends_with('}') {
        by_keys(trimmed).filter(|format| {
            use ReportFormat::{CargoMessages, GoTestJson, LibtestJson};
            matches!(format, GoTestJson | CargoMessages | LibtestJson)
        })
    } else if is_cargo_line(line) {
        Some(ReportFormat::CargoTest)
    } else if python_unittest::is_line(line) {
        Some(ReportFormat::PythonUnittest)
    } else {
        None
    }
}

fn is_tap_plan(line: &str) -> bool {
    let count = line.strip_prefix("1..").and_then(|rest| rest.split_whitespace().next());
    count.is_some_and(|count| count.bytes().all(|b| b.is_ascii_digit()))
}

fn is_tap_point(line: &str) -> bool {
    let point = line.strip_prefix("not ").unwrap_or(line).strip_prefix("ok ");
    point.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()) || rest.starts_with("- "))
}

fn is_cargo_line(line: &str) -> bool {
    let starts = |mark: &str| line.starts_with(mark);
    let runs_tests = || {
        let rest = line.strip_prefix("running ").and_then(|rest| rest.split_once(' '));
        rest.is_some_and(|(count, what)| count.parse::<u64>().is_ok() && (what == "test" || what == "tests"))
    };
    let announces = || {
        let right_aligned =
            ["   Compiling ", "    Checking ", "    Finished ", "     Running ", "   Doc-tests ", "    Blocking "];
        right_aligned.iter().any(|mark| line.starts_with(mark))
    };
    starts("error[E") || starts("test result: ") || starts("error: could not compile") || runs_tests() || announces()
}

/// `::error file=a.rs,line=1::message`, or as the runner rewrites it, `##[error]message`.
pub(super) fn is_annotation(line: &str) -> bool {
    let line = line.trim_start();
    ["error", "warning", "notice"].iter().any(|level| {
        let command = line.strip_prefix("::").and_then(|rest| rest.strip_prefix(level));
        let log = line.strip_prefix("##[").and_then(|rest| rest.strip_prefix(level));
        command.is_some_and(|rest| rest.starts_with("::") || (rest.starts_with(' ') && rest.contains("::")))
            || log.is_some_and(|rest| rest.starts_with(']'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_by_their_first_bytes() {
        use ReportFormat::*;
        let table = [
            ("<?xml version='1.0'?>\n<!-- c > --><testsuites/>", Some(Junit)),
            ("<n:testsuite name='a'>", Some(Junit)),
            ("<TestRun id='1' xmlns='x'>", Some(Trx)),
            ("<checkstyle version='8'>", Some(Checkstyle)),
            ("<!DOCTYPE report PUBLIC '-//JACOCO//DTD' 'report.dtd'><report name='x'>", Some(Jacoco)),
            ("<coverage line-rate='0.5' version='1'>", Some(Cobertura)),
            ("<coverage generated='1' clover='4'>", Some(Clover)),
            ("<coverage generated=\"17\">", Some(Clover)),
            ("<html>", None),
            ("<", None),
            (r#"{"Time":"t","Action":"start","Package":"p"}"#, Some(GoTestJson)),
            (r#"{"reason":"compiler-artifact"}"#, Some(CargoMessages)),
            (r#"{ "type": "suite", "event": "started", "test_count": 1 }"#, Some(LibtestJson)),
            (r#"{"version":"2.1.0","runs":[{"tool":{"#, Some(Sarif)),
            (
                r#"{"data":[{"files":[{"filename":"a","segments":[]}]}],"type":"llvm.coverage.json.export"}"#,
                Some(LlvmCovJson),
            ),
            (r#"[{"filePath":"/a.js","messages":[]}]"#, Some(EslintJson)),
            ("[ ]", Some(EslintJson)),
            (r#"{"nested":{"runs":[]}}"#, None),
            (r#"{"a\"runs":1}"#, None),
            ("go: downloading x\n{\"Action\":\"run\",\"Package\":\"p\"}\n", Some(GoTestJson)),
            ("TAP version 13\n1..2", Some(Tap)),
            ("1..2\nok 1", Some(Tap)),
            ("not ok 1 - adds", Some(Tap)),
            ("TN:\nSF:a", Some(Lcov)),
            ("mode: atomic\n", Some(GoCover)),
            ("   Compiling shop v0.1.0\n", Some(CargoTest)),
            ("\u{1B}[1m\u{1B}[32m   Compiling\u{1B}[0m shop v0.1.0\n", Some(CargoTest)),
            ("noise\nrunning 3 tests\n", Some(CargoTest)),
            ("running 3 errands", None),
            ("hello\n::error file=a.rs,line=1::bad\n", Some(GithubAnnotations)),
            ("::group::x\n   Compiling shop v0.1.0\n::error::x", Some(CargoTest)),
            ("test_ok (cart.tests.CartTests.test_ok) ... ok\n", Some(PythonUnittest)),
            ("..F\nFAIL: test_total (cart.tests.CartTests)\n", Some(PythonUnittest)),
            ("Ran 2 tests in 0.001s\n", Some(PythonUnittest)),
            ("Ran 2 tests in the morning\n", None),
            ("test tests::adds (slow) ... ok", None),
            (r#"{"numFailedTests":1,"success":false,"testResults":[{"assertionResults":"#, Some(JestJson)),
            ("ok then", None),
            ("", None),
        ];
        for (head, expected) in table {
            assert_eq!(detect(head), expected, "{head}");
        }
    }
}
