//! What a `failure` or `error` element shows, and what stands beside it in its case.

use loopgate_core::{
    evidence::{ErrorType, Failure, FindingSeverity, SourceLocation, TestFramework},
    failure::is_outcome,
};

use crate::formats::{cargo_failure, go_text};
use crate::{Case, Clip, Json, MAX_MESSAGE, Tag, numbers, severity, text};

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
    /// Where a linter's text names the place: `line 4, col 9, …`, `Location pkg/core.py:2`.
    LINE_IN_WORDS = r"(?m)^line (?P<line>[0-9]+), col(?:umn)? [0-9]+, |^Location (?P<file>[^\s:]+):(?P<at>[0-9]+)";
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

    /// The finding of a linter: its rule, its message and where it stands.
    pub fn finding(
        &self,
        rule: &str,
        file: &str,
        line: Option<u32>,
    ) -> (loopgate_core::evidence::Finding, Option<ErrorType>) {
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
        let message = match self.message.trim() {
            "" => text::first_line(&trace),
            message => message,
        };
        let location = (!file.is_empty()).then(|| text::location(file, line));
        let level = severity::of_word(self.class.trim()).unwrap_or(FindingSeverity::High);
        // Whatever a linter calls a failure of a case, it ends with an error for.
        let finding = text::finding(rule, level, message, location);
        (finding, Some(ErrorType::LintError))
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
    use crate::{ReadOptions, Report, read};

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
}
