//! The JSON of linters, type checkers and scanners. They agree on what a finding has, a file, a line, a rule, a message
//! and how bad it is, and on no name for any of these: [`FILE`] and its like list the names in use. A finding stands in
//! an array, below the file that it is about (ESLint, RuboCop, stylelint) or with the file in itself or in a place
//! inside it (ruff, pyright, GitLab's code quality, rdjson).

use std::borrow::Cow;

use loopgate_core::evidence::{ErrorType, FindingSeverity};

use crate::{
    Collector, Flaw, Json, Keys, Mark, Unreadable, Window,
    json::{Paths, read_each, read_lines},
    outer_keys::outer_keys,
    severity, text,
};

pub(super) const ESLINT: Mark = Mark::Array(|head, keys| {
    (keys.contains(&"filePath") && keys.contains(&"messages"))
        || head.split_whitespace().collect::<String>() == "[]"
});
pub(super) const GOLANGCI: Mark = Mark::Object(|_, keys| keys.contains(&"Issues"));
pub(super) const RUFF: Mark = Mark::Array(|_, keys| {
    keys.contains(&"filename") && keys.contains(&"location") && keys.contains(&"code")
});
pub(super) const MYPY: Mark = Mark::JsonLines(|keys| {
    ["file", "line", "severity", "message", "code"]
        .iter()
        .all(|key| keys.contains(key))
});
/// Any other: an array of what looks like findings, one a line, or a document with a list that only a linter has.
pub(super) const ANY: Mark = Mark::Json {
    array: is_finding,
    object: is_document,
    line: is_finding,
};

/// Where lists of findings stand in a document.
const LISTS: Paths = &[
    "generalDiagnostics[]",
    "diagnostics[]",
    "comments[]",
    "messages[]",
    "results[]",
    "issues[]",
    "errors[]",
    "files",
];

const FILE: &str = "file|filename|fileName|filePath|filepath|file_path|file_name|path|Filename";
/// The file, where no other key has it; else, a name of a rule.
const SOURCE: &str = "source";
const LINE: &str = "line|row|Line|line_number|lineNumber|line_from|line_no|start_line_no|startLine\
                    |start_line|beginLine|begin";
const MESSAGE: &str = "message|description|Text|text|reason|issue_text|details|Message|Failure|ruleDescription|warning";
const RULE: &str = "code|symbol|check_name|check_id|cop_name|ruleId|rule_id|rule|test_id|FromLinter\
                    |RuleName|Check|type_id|shortcode|ruleNames|kind";
const SEVERITY: &str = "severity|level|Severity|issue_severity|type";
/// What a place is called inside a finding, or inside another place.
const PLACES: &[&str] = &[
    "location",
    "Pos",
    "Position",
    "range",
    "positions",
    "lines",
    "start",
    "Start",
    "begin",
    "labels/0",
    "span",
    "extra",
    "primary",
];
/// Lists of findings below the file that they are about.
const BELOW_FILE: &[&str] = &[
    "messages",
    "offenses",
    "warnings",
    "violations",
    "errors",
    "diagnostics",
];
/// Values inside values that are followed.
const DEPTH: usize = 4;

/// Whether an object with these keys looks like a finding, or like a file with its findings.
fn is_finding(keys: &Keys<'_>) -> bool {
    let has_any = |known: &str| known.split('|').any(|key| keys.contains(&key));
    let is_below = BELOW_FILE.iter().any(|list| keys.contains(list));
    let is_placed = has_any(FILE)
        || keys.contains(&SOURCE)
        || keys.contains(&"location")
        || keys.contains(&"range");
    let is_told = has_any(MESSAGE) && (has_any(SEVERITY) || has_any(RULE));
    is_placed && (is_told || is_below)
}

fn is_document(keys: &Keys<'_>) -> bool {
    let has = |key: &str| keys.contains(&key);
    let is_of_tests = has("suites") || has("stats") || has("testResults") || has("meta");
    has("generalDiagnostics")
        || has("diagnostics")
        || has("comments")
        || has("messages") && has("statistics")
        || has("files") && (has("metadata") || has("totals")) && !is_of_tests
        || (has("results") || has("issues")) && has("errors")
        || has("errors") && keys.len() <= 2 && !is_of_tests
}

/// Findings in any of these forms.
pub(super) fn parse_any(window: &mut Window<'_>, out: &mut Collector) -> Result<(), Unreadable> {
    let head = window.text().trim_start();
    match head.starts_with('[') {
        true => parse(&["[]"], window, out),
        false if is_document(&outer_keys(head)) => parse(LISTS, window, out),
        false => parse(&[], window, out),
    }
}

/// Findings that stand at these paths; without paths, one a line.
pub(super) fn parse(
    paths: Paths,
    window: &mut Window<'_>,
    out: &mut Collector,
) -> Result<(), Unreadable> {
    match paths {
        [] => read_lines(window, out, |item, out| report(&item, None, DEPTH, out)).map(drop),
        _ => read_each(window, paths, |item| report(&item, None, DEPTH, out)),
    }
}

/// A finding, or a file with its findings, or a map from files to theirs.
fn report(item: &Json, of_file: Option<&str>, depth: usize, out: &mut Collector) {
    if depth == 0 {
        return;
    }
    if !item.list().is_empty() {
        return item
            .list()
            .iter()
            .for_each(|inner| report(inner, of_file, depth - 1, out));
    }
    let file = deep(item, DEPTH, &|value| {
        value.text(FILE).map(|file| file.into_owned())
    });
    let source = item
        .text(SOURCE)
        .filter(|_| file.is_none() && of_file.is_none());
    let file = file.as_deref().or(of_file).or(source.as_deref());
    let below: Vec<&Json> = BELOW_FILE
        .iter()
        .map(|list| item.get(list))
        .filter(|list| !list.list().is_empty())
        .collect();
    if !below.is_empty() {
        return below
            .into_iter()
            .for_each(|list| report(list, file, depth - 1, out));
    }
    let message = deep(item, DEPTH, &|value| {
        value.text(MESSAGE).map(|message| message.into_owned())
    });
    let Some(message) = message else {
        // `{"src/cart.php": {"messages": […]}}`
        let of_files = item
            .entries()
            .iter()
            .filter(|(key, inner)| key.contains('.') && !inner.entries().is_empty());
        return of_files.for_each(|(key, inner)| report(inner, Some(key), depth - 1, out));
    };
    finding(item, file, &message, out);
}

/// The first key of those for severities whose value is a word for one, else whatever the first holds: PHP_CodeSniffer
/// has a number beside the word.
fn level_word(item: &Json) -> Option<String> {
    let values = || SEVERITY.split('|').filter_map(|key| item.text(key));
    let word = values().find(|value| severity::of_word(value).is_some());
    word.or_else(|| values().next())
        .map(|value| value.into_owned())
}

/// The first key of those for rules whose value may name one: bandit's `code` is the source around the finding, pyrefly's
/// is -2 for each.
fn rule(item: &Json) -> Option<Cow<'_, str>> {
    let named = |key: &str| match item.get(key) {
        value @ Json::Object(_) => value.text("value|name|id"),
        value @ Json::List(_) => value.text("0"),
        _ => item.text(key),
    };
    RULE.split('|')
        .chain([SOURCE, "name"])
        .filter_map(named)
        .find(|rule| !rule.contains('\n') && !rule.starts_with('-'))
}

fn finding(item: &Json, file: Option<&str>, message: &str, out: &mut Collector) {
    if file.is_none() {
        out.notes.flaw(Flaw::NO_LOCATION, || "a finding");
    }
    // ESLint's levels are numbers.
    let word = deep(item, DEPTH, &level_word);
    let (level, is_error) = match word.as_deref() {
        Some("0") => return,
        Some("1") => (FindingSeverity::Medium, false),
        // They end with an error for whatever they list without a severity.
        word => {
            let known = word.and_then(|word| Some((severity::of_word(word)?, word)));
            known.map_or((FindingSeverity::High, true), |(level, word)| {
                (level, severity::fails(word))
            })
        }
    };
    let location = file.map(|file| text::location(file, line(item, DEPTH)));
    let finding = text::finding(&rule(item).unwrap_or_default(), level, message, location);
    match item.is_true("fatal") {
        // A file that cannot be parsed is no finding of a rule.
        true => out.diagnostic(finding, Some(ErrorType::SyntaxError), None),
        false => out.diagnostic(finding, is_error.then_some(ErrorType::LintError), None),
    }
}

/// The line of a place. Where a character stands beside it, both begin at 0, as editors count.
fn line(value: &Json, depth: usize) -> Option<u32> {
    let own = match value.number("character|start_character") {
        Some(_) => value
            .number("line")
            .filter(|line| (0.0..f64::from(u32::MAX)).contains(line))
            .map(|line| line as u32 + 1),
        None => value.line(LINE),
    };
    own.or_else(|| places(value, depth).find_map(|place| line(place, depth - 1)))
}

/// What a value holds, or a place inside it.
fn deep<T>(value: &Json, depth: usize, find: &dyn Fn(&Json) -> Option<T>) -> Option<T> {
    find(value).or_else(|| places(value, depth).find_map(|place| deep(place, depth - 1, find)))
}

/// The places inside a value that are there, as far down as they are followed.
fn places(value: &Json, depth: usize) -> impl Iterator<Item = &Json> {
    let names = if depth > 0 { PLACES } else { &[] };
    let places = names.iter().map(|name| value.at(name));
    places.filter(|place| !matches!(place, Json::Null))
}

#[cfg(test)]
mod tests {
    use crate::{ReadOptions, read};

    /// Rule, file, line and whether it fails, of each finding.
    fn found(text: &str) -> Vec<(String, String, Option<u32>)> {
        let report = read("lint.json", text.as_bytes(), &ReadOptions::default());
        assert!(report.is_whole, "{:?}", report.notes);
        let failure = |failure: loopgate_core::evidence::Failure| {
            let at = failure.source.expect("a place");
            (failure.error_class.unwrap_or_default(), at.file, at.line)
        };
        report.failures.into_iter().map(failure).collect()
    }

    #[test]
    fn each_tool_names_its_keys() {
        let cases = [
            // pyright counts lines from 0.
            r#"{"version":"1","generalDiagnostics":[{"file":"a.py","severity":"error","message":"m","range":{"start":{"line":6,"character":1}},"rule":"R"},{"file":"a.py","severity":"warning","message":"m","range":{"start":{"line":1,"character":1}}}]}"#,
            r#"{"messages":[{"type":"error","symbol":"R","message":"m","line":7,"path":"a.py"},{"type":"convention","symbol":"c","message":"m","line":1,"path":"a.py"}],"statistics":{"fatal":0}}"#,
            r#"{"diagnostics":[{"message":"m","code":"R","severity":"error","filename":"a.py","labels":[{"span":{"line":7,"column":1}}]}]}"#,
            r#"[{"check_name":"R","description":"m","severity":"major","fingerprint":"f","location":{"path":"a.py","positions":{"begin":{"line":7}}}}]"#,
            r#"[{"check_name":"R","description":"m","severity":"blocker","fingerprint":"f","location":{"path":"a.py","lines":{"begin":7}}}]"#,
            r#"{"source":{"name":"t"},"diagnostics":[{"message":"m","location":{"path":"a.py","range":{"start":{"line":7,"column":1}}},"severity":"ERROR","code":{"value":"R"}}]}"#,
            r#"{"metadata":{},"files":[{"path":"a.py","offenses":[{"severity":"error","message":"m","cop_name":"R","location":{"start_line":7,"line":7}}]}],"summary":{}}"#,
            r#"{"errors":[{"line":7,"path":"a.py","code":-2,"name":"R","description":"m","severity":"error"}]}"#,
            r#"{"comments":[{"file":"a.py","line":7,"level":"error","code":"R","message":"m"},{"file":"a.py","line":1,"level":"style","code":"s","message":"m"}]}"#,
            r#"[{"source":"a.py","errored":true,"warnings":[{"line":7,"rule":"R","severity":"error","text":"m"}]}]"#,
            r#"{"errors":[],"generated_at":"now","metrics":{},"results":[{"code":"7 x\n8 y\n","filename":"a.py","issue_severity":"LOW","issue_text":"m","line_number":7,"test_id":"R"}]}"#,
            r#"{"errors":[],"results":[{"check_id":"R","path":"a.py","start":{"line":7},"extra":{"message":"m","severity":"ERROR"}}],"paths":{}}"#,
            r#"{"totals":{"file_errors":1},"files":{"a.py":{"errors":1,"messages":[{"message":"m","line":7,"identifier":"x","code":"R"}]}},"errors":[]}"#,
            r#"[{"filepath":"a.py","violations":[{"start_line_no":7,"code":"R","description":"m"}]}]"#,
            r#"{"totals":{"errors":1},"files":{"a.py":{"messages":[{"message":"m","source":"R","severity":5,"type":"ERROR","line":7},{"message":"m","source":"w","severity":5,"type":"WARNING","line":7}]}}}"#,
            "{\"message\":\"m\",\"location\":{\"path\":\"a.py\",\"range\":{\"start\":{\"line\":7}}},\"severity\":\"ERROR\",\"code\":{\"value\":\"R\"}}\n",
        ];
        for text in cases {
            let expected = ("R".to_owned(), "a.py".to_owned(), Some(7));
            assert_eq!(found(text), [expected], "{text}");
        }
    }
}
