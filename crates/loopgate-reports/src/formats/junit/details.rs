//! What a `failure` or `error` element shows, and what stands beside it in its case.

use loopgate_core::{
    evidence::{
        ErrorType, Failure, Finding, FindingSeverity, ReportFormat, SourceLocation, TestFramework,
    },
    failure::is_outcome,
};

use crate::formats::{cargo_failure, go_text, tool_text};
use crate::{
    Case, Clip, Collector, Json, MAX_MESSAGE, ReadOptions, Report, Tag, Window, numbers, severity,
    text,
};

/// What an element in a case shows of how its test ended.
pub(super) struct Details {
    pub rank: u8,
    pub depth: usize,
    /// Depth of an element inside whose text is not the failure's (captured output).
    pub muted: Option<usize>,
    class: String,
    message: String,
    pub trace: Clip,
}

patterns! {
    /// Where a linter's text names the place: `line 4, col 9, Warning - …`, `On line 4, column 9 in a.css`, `Location pkg/core.py:2`.
    LINE_IN_WORDS = r"(?m)^(?:On )?[Ll]ine (?P<line>[0-9]+), col(?:umn)? [0-9]+(?:, (?:(?P<level>\w+) - )?| in )|^Location (?P<file>[^\s:]+):(?P<at>[0-9]+)";
    /// Pylint's text, where the message is the rule's name.
    OF_PYLINT = r"^[A-Z][0-9]{4}:(?P<message>.+)";
    /// What Boost lists of a failure.
    LISTED = r"(?m)^- (?P<key>file|line|message)\s*: (?P<value>.+)$";
    /// golangci-lint, which writes the place where others write a class.
    PLACE = r"^(?P<file>[^\s:]+\.[A-Za-z0-9]+):(?P<line>[0-9]+)(?::[0-9]+)?$";
}

impl Details {
    pub fn begin(tag: &Tag<'_>, rank: u8) -> Self {
        Self {
            rank,
            depth: tag.place.depth,
            muted: None,
            class: text::name(class_itself(&tag.attribute("type").unwrap_or_default())),
            message: text::clipped(&tag.attribute("message").unwrap_or_default(), MAX_MESSAGE),
            trace: Clip::default(),
        }
    }

    /// Whether it shows nothing, or what another element of its case shows too.
    pub fn repeats(&self, others: &[Self]) -> bool {
        let (message, trace) = (self.message.trim(), self.trace.text());
        let says_nothing = is_outcome(message) && is_outcome(trace.trim());
        says_nothing
            || others
                .iter()
                .any(|other| other.message.trim() == message && other.trace.text() == trace)
    }

    /// The finding of a linter: its rule, its message and where it stands. `level` is how bad its case is.
    pub fn finding(
        &self,
        rule: &str,
        file: &str,
        line: Option<u32>,
        level: Option<FindingSeverity>,
    ) -> Finding {
        let trace = self.trace.text();
        let shown = LINE_IN_WORDS.captures(&trace);
        let group = |name: &str| {
            shown
                .as_ref()
                .and_then(|found| Some(found.name(name)?.as_str()))
        };
        let line = line
            .or_else(|| group("line").and_then(numbers::line))
            .or_else(|| group("at").and_then(numbers::line));
        let file = group("file").unwrap_or(file);
        let of_pylint = OF_PYLINT.captures(&trace);
        let (rule, message) = match (self.message.trim(), &of_pylint) {
            ("", _) => (rule, text::first_line(&trace)),
            (rule, Some(found)) => (rule, found.name("message").map_or("", |it| it.as_str())),
            (message, None) => (rule, message),
        };
        let location = (!file.is_empty()).then(|| text::location(file, line));
        let level = level
            .or_else(|| severity::of_word(group("level")?))
            .or_else(|| severity::of_word(self.class.trim()))
            .unwrap_or(FindingSeverity::High);
        text::finding(rule, level, message, location)
    }

    /// What the text holds, where the message only heads it: mypy writes all that it found into one element.
    pub fn held(&self, options: &ReadOptions) -> Option<Report> {
        let trace = self.trace.text();
        if trace.contains(self.message.trim()) {
            return None;
        }
        let mut out = Collector::new(options);
        let ended = tool_text::parse(false, &mut Window::new(trace.as_bytes()), &mut out);
        let report = out.finish("", Some(ReportFormat::Console), ended);
        (!report.findings.is_empty()).then_some(report)
    }
}

/// `AssertionError` of `<class 'AssertionError'>`, as Python shows a class.
fn class_itself(shown: &str) -> &str {
    let own = shown.strip_prefix("<class '");
    own.and_then(|own| own.strip_suffix("'>")).unwrap_or(shown)
}

/// File and line, where a class is a place.
pub(super) fn place_of_class(class: &str) -> Option<(&str, Option<u32>)> {
    let found = class.contains(':').then(|| PLACE.captures(class))??;
    let file = found.name("file")?.as_str();
    let line = numbers::line(found.name("line")?.as_str());
    text::looks_like_path(file).then_some((file, line))
}

/// The failure, from what its element shows, and where that shows nothing, from what its test printed.
pub(super) fn describe(
    details: Option<&Details>,
    printed: &Clip,
    case: &Case<'_>,
    framework: Option<TestFramework>,
) -> Failure {
    let Some(details) = details else {
        return Failure::default();
    };
    // nextest says so of a test that was ended, and nothing else.
    if details.class.contains("timeout") && details.is_silent() {
        return Failure::of(ErrorType::TimeoutError, "the test timed out");
    }
    let trace = details.trace.text();
    // These print the same text here as on a terminal.
    match framework {
        Some(TestFramework::CargoTest) => {
            return Failure {
                test_name: None,
                ..cargo_failure::failure(&trace, case.name, "")
            };
        }
        Some(TestFramework::GoTest) => return go_text::failure(&trace, case.class),
        _ => {}
    }
    let (wrapped, trace) = unwrapped(&trace);
    let message = wrapped.as_deref().unwrap_or(&details.message).trim();
    let trace = trace.trim();
    if let Some(listed) = of_list(trace) {
        return listed;
    }
    // Beside its list Boost shows what was thrown.
    let trace = LISTED.replace_all(trace, "");
    let trace = trace.trim();
    let printed = printed.text();
    let read = match (is_outcome(message), is_outcome(trace)) {
        // pytest shows no more of a file that cannot be imported.
        (true, false) => Some(text::failure(Failure::default(), "", trace)),
        (true, true) if !printed.trim().is_empty() => {
            let read = text::failure(Failure::default(), "", printed.trim());
            return Failure {
                error_class: read.error_class.or_else(|| details.own_class()),
                ..read
            };
        }
        _ => None,
    };
    let (class, message) = match read {
        Some(read) => (read.error_class, read.error_message),
        None => (None, message.to_owned()),
    };
    Failure {
        error_class: details
            .own_class()
            .filter(|class| class != case.name)
            .or(class),
        error_message: text::clipped(&message, MAX_MESSAGE),
        stack_trace: (!trace.is_empty() && trace != message).then(|| trace.to_owned()),
        ..Failure::default()
    }
}

impl Details {
    fn is_silent(&self) -> bool {
        self.message.trim().is_empty() && self.trace.held() == 0
    }

    /// Some writers repeat the element's name as the class, or describe the outcome in words.
    fn own_class(&self) -> Option<String> {
        let class = self.class.trim();
        let is_class = !class.is_empty() && !class.contains(' ') && !is_outcome(class);
        is_class.then(|| class.to_owned())
    }
}

/// Message and trace of a text that is an error as JSON, as jest-junit writes one; else the text is the trace.
fn unwrapped(text: &str) -> (Option<String>, String) {
    let error = Some(text.trim())
        .filter(|text| text.starts_with('{') && text.ends_with('}'))
        .and_then(|text| serde_json::from_str::<Json>(text).ok());
    match error.as_ref().and_then(|error| error.text("stack")) {
        Some(stack) => {
            let message = error.as_ref().and_then(|error| error.text("message"));
            (
                Some(message.unwrap_or_default().into_owned()),
                stack.into_owned(),
            )
        }
        None => (None, text.to_owned()),
    }
}

/// What Boost lists in the first paragraph of a text: `- file   : bt.cc`, `- line   : 5`, `- message: …`.
fn of_list(text: &str) -> Option<Failure> {
    let first = text.split("\n\n").next()?;
    let value = |key: &str| {
        LISTED
            .captures_iter(first)
            .find(|found| &found["key"] == key)
            .map(|found| found["value"].trim().to_owned())
    };
    let location = || {
        Some(SourceLocation {
            file: text::path(&value("file")?),
            line: numbers::line(&value("line")?),
            function: None,
        })
    };
    Some(Failure {
        error_message: text::clipped(&value("message")?, MAX_MESSAGE),
        stack_trace: Some(text.to_owned()),
        source: location(),
        ..Failure::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;

    fn of(report: &str) -> Report {
        read("unit.xml", report.as_bytes(), &ReadOptions::default())
    }

    #[test]
    fn a_file_that_cannot_be_imported_says_why() {
        let report = of(
            "<testsuites><testsuite name=\"pytest\" tests=\"1\" errors=\"1\"><testcase classname=\"\" \
             name=\"tests.test_a\"><error message=\"collection failure\">tests/test_a.py:2: in &lt;module&gt;\n    \
             import a\nE   ModuleNotFoundError: No module named 'a'</error></testcase></testsuite></testsuites>",
        );
        let failure = &report.failures[0];
        assert_eq!(failure.error_message, "No module named 'a'");
        assert_eq!(failure.error_class.as_deref(), Some("ModuleNotFoundError"));
    }

    #[test]
    fn a_class_as_python_shows_it_is_the_class() {
        let report = of(
            "<testsuite><testcase classname='U' name='test_up'><error message='' type=\"&lt;class 'zope.UnexpectedSuccess'&gt;\">\n\n\
             </error></testcase></testsuite>",
        );
        let class = report.failures[0].error_class.as_deref();
        assert_eq!(class, Some("zope.UnexpectedSuccess"));
    }

    #[test]
    fn where_the_outcome_is_all_that_an_element_says_the_text_beside_it_is_read() {
        let says = "bad.c:2: total: expected 3, got 2";
        for case in [
            format!("<failure message='Failed'/><system-out>{says}</system-out>"),
            format!("<system-out>{says}</system-out><failure message='Failed'/>"),
            format!("<failure/><system-err>{says}</system-err>"),
            format!("<failure message='test failure'>{says}</failure>"),
            format!("<error message='exception' type='error'>\n  {says}\n</error>"),
        ] {
            let report = of(&format!(
                "<testsuite><testcase name='bad'>{case}</testcase></testsuite>"
            ));
            let failure = &report.failures[0];
            assert_eq!(failure.error_message, says, "{case}");
        }
    }

    #[test]
    fn each_element_of_a_case_is_told() {
        let report = of(
            "<testsuite tests='3'><testcase classname='test_sub' name='test_two' time='1'>\
             <failure message='assert 5 == 4'>a</failure><failure message='assert 5 == 4'>a</failure>\
             <failure message='assert 2 == 3'>b</failure>\
             <failure message='contains 1 failed subtest'>contains 1 failed subtest</failure>\
             </testcase></testsuite>",
        );
        let said: Vec<&str> = report
            .failures
            .iter()
            .map(|failure| failure.error_message.as_str())
            .collect();
        assert_eq!(said, ["assert 5 == 4", "assert 2 == 3"]);
        assert_eq!(report.results.map(|results| results.failed), Some(1));
        assert!(report.notes.is_empty(), "{:?}", report.notes);
    }

    #[test]
    fn what_a_linter_writes_is_no_test() {
        let report = of(
            "<testsuites name='ruff'><testsuite name='/w/pkg/bad.py' package='org.ruff'>\
             <testcase name='org.ruff.F401' classname='/w/pkg/bad' line='3' column='8'>\
             <failure message='`os` imported but unused'>line 3, col 8, `os` imported but unused</failure>\
             </testcase></testsuite></testsuites>",
        );
        assert_eq!(report.results, None);
        let finding = &report.findings[0];
        let at = finding.location.as_ref().expect("a place");
        assert_eq!(
            (finding.rule.as_str(), at.file.as_str(), at.line),
            ("F401", "/w/pkg/bad.py", Some(3))
        );
        assert_eq!(report.failures[0].test_name, None);
    }

    /// The rule, place, level and message of each finding, and `!` of those that fail.
    fn findings(report: &str) -> Vec<String> {
        let report = of(report);
        assert_eq!(report.results, None);
        let shown = |finding: &Finding| {
            let fails = report
                .failures
                .iter()
                .any(|it| it.error_message == finding.message);
            let (file, line) = finding
                .location
                .as_ref()
                .map(|at| (at.file.as_str(), at.line.unwrap_or_default()))
                .unwrap_or_default();
            let mark = if fails { "!" } else { "" };
            format!(
                "{mark}{} {file}:{line} {:?} {}",
                finding.rule, finding.severity, finding.message
            )
        };
        report.findings.iter().map(shown).collect()
    }

    #[test]
    fn what_a_linter_only_warns_of_fails_where_its_status_counts_it() {
        let ty = |rule: &str, level: &str, message: &str| {
            format!(
                "<testcase name='org.ty.{rule}' classname='/s/one' line='5'><properties><property name='severity' value='{level}'/>\
                 </properties><failure message='{message}'>line 5, col 13, {message}</failure></testcase>"
            )
        };
        let of_ty = format!(
            "<testsuites name='ty'><testsuite name='/s/one.py' package='org.ty'>{}{}</testsuite></testsuites>",
            ty("revealed-type", "info", "Revealed"),
            ty("bad-call", "error", "Bad")
        );
        assert_eq!(
            findings(&of_ty),
            [
                "revealed-type /s/one.py:5 Low Revealed",
                "!bad-call /s/one.py:5 High Bad"
            ]
        );
        let eslint = "<testsuites><testsuite package='org.eslint' name='/s/a.js'><testcase name='org.eslint.no-x' \
                      classname='/s/a'><failure message='No x.'>line 1, col 7, Warning - No x. (no-x)</failure></testcase><testcase \
                      name='org.eslint.no-y' classname='/s/a'><failure message='No y.'>line 2, col 1, Error - No y. (no-y)</failure>\
                      </testcase></testsuite></testsuites>";
        assert_eq!(
            findings(eslint),
            ["no-x /s/a.js:1 Medium No x.", "!no-y /s/a.js:2 High No y."]
        );
        let stylelint = "<testsuites package='stylelint.rules'><testsuite name='/s/a.css'><testcase name='no-x'><failure \
                         type='warning' message='No x (no-x)'>On line 1, column 21 in /s/a.css</failure></testcase></testsuite></testsuites>";
        assert_eq!(findings(stylelint), ["no-x /s/a.css:1 Medium No x (no-x)"]);
        // These end with an error for whatever they find.
        let semgrep = "<testsuites><testsuite name='semgrep results'><testcase name='no-os' classname='m.py' file='m.py' line='1'>\
                       <failure type='INFO' message='no os'>import os</failure></testcase></testsuite></testsuites>";
        assert_eq!(findings(semgrep), ["!no-os m.py:1 Low no os"]);
        let pylint = "<testsuites><testsuite name='m'><testcase name='m:3:0' classname='pylint' class='convention' file='m.py' \
                      line='3'><failure type='failure' message='missing-docstring'>C0116:Missing docstring&#10;m.py:3:0:def f(x):\
                      </failure></testcase></testsuite></testsuites>";
        assert_eq!(
            findings(pylint),
            ["!missing-docstring m.py:3 High Missing docstring"]
        );
    }

    #[test]
    fn the_findings_in_the_text_of_an_element_stand_for_its_heading() {
        let mypy = |errors: &str| {
            format!(
                "<testsuite errors='0' failures='1' name='mypy' tests='1'><testcase classname='mypy' file='mypy' line='1' \
                 name='mypy-py3_11-linux'><failure message='mypy produced messages'>b.py:3: note: Revealed type is &quot;int&quot;\n\
                 {errors}</failure></testcase></testsuite>"
            )
        };
        let errors = "b.py:4: error: Bad x  [arg-type]\na.py:5: error: Bad y  [arg-type]";
        assert_eq!(
            findings(&mypy(errors)),
            ["!arg-type b.py:4 High Bad x", "!arg-type a.py:5 High Bad y"]
        );
        // It ends with 0.
        assert_eq!(
            findings(&mypy("")),
            [" b.py:3 Note Revealed type is \"int\""]
        );
    }
}
