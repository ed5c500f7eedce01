//! Failures and uncovered lines where they stand in the diff: as annotations of the verify check, and as the workflow
//! commands that the runner of GitHub Actions reads in a step's log; and texts in which it is to read none.
//!
//! The runner takes a line for a command that begins with `::`, behind any blanks, or has `##[` anywhere
//! (`ActionCommand.cs` of actions/runner), so a log of somebody's test can set outputs and forge annotations. Logs are
//! therefore printed between `::stop-commands::TOKEN` and `::TOKEN::`, short texts with the marks taken apart.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{
    block, clip, clip_lines,
    failure_card::{ShownTexts, advice_lines, causes},
    line,
    messages::entry,
    sanitize::path_in_address,
    word,
};
use loopgate_core::{
    concerns::verdict::FailureView, deciding::View, failure::Blame, observed::AnnotationLevel,
    policy::ConfigError, result::CheckState,
};

/// At most so many are sent, in batches of 50, as many as GitHub takes at once.
const MOST: usize = 200;
/// Bytes of one message; the platform takes 64 KB.
const MESSAGE: usize = 4_000;

/// One annotation, as GitHub takes it. All texts are plain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckAnnotation {
    /// Relative to the repository's root.
    pub path: String,
    /// From 1.
    pub start_line: u32,
    pub end_line: u32,
    #[serde(rename = "annotation_level")]
    pub level: AnnotationLevel,
    pub title: String,
    pub message: String,
}

/// The most severe first, and how many were left out.
pub fn annotations(view: &View) -> (Vec<CheckAnnotation>, usize) {
    let mut places = BTreeSet::new();
    let failures = view
        .failures
        .iter()
        .filter(|one| places.insert((one.cause, one.failure.location())));
    let failures = failures.filter_map(failure);
    let uncovered = view
        .coverage
        .iter()
        .flat_map(|coverage| &coverage.uncovered)
        .filter_map(|range| uncovered(range));
    // What leaves the repository has no place on GitHub's page.
    let mut all: Vec<CheckAnnotation> = failures
        .chain(uncovered)
        .filter(|it| path_in_address(&it.path).is_some())
        .collect();
    all.sort_by_key(|annotation| std::cmp::Reverse(annotation.level));
    let left_out = all.len().saturating_sub(MOST);
    all.truncate(MOST);
    (all, left_out)
}

fn failure(view: &FailureView) -> Option<CheckAnnotation> {
    let (path, line) = view.failure.location()?;
    let (path, line) = (path.to_owned(), line.unwrap_or(1).max(1));
    let level = if view.blame == Blame::PrCode {
        AnnotationLevel::Failure
    } else {
        AnnotationLevel::Warning
    };
    let (title, message) = (title(view), message(view));
    Some(CheckAnnotation {
        path,
        start_line: line,
        end_line: line,
        level,
        title,
        message,
    })
}

/// The check, the test where there is one, and the failure's id.
fn title(view: &FailureView) -> String {
    let test = view
        .failure
        .test_name
        .as_deref()
        .filter(|name| !name.trim().is_empty());
    let test = test.map(|name| format!(": {name}")).unwrap_or_default();
    format!(
        "{} ({})",
        clip(&line(&format!("{}{test}", view.check)), 190),
        view.cause
    )
}

/// The tool's message, and our lines about it.
fn message(view: &FailureView) -> String {
    let reported = clip_lines(&block(&view.failure.reported()), 20);
    let advice: Vec<String> = advice_lines(view, &mut ShownTexts::new()).collect();
    clip(
        format!("{reported}\n\n{}", advice.join("\n")).trim(),
        MESSAGE,
    )
    .into_owned()
}

fn uncovered(range: &str) -> Option<CheckAnnotation> {
    let (path, start_line, end_line) = parse_range(range)?;
    let what = if start_line == end_line {
        "This added line is"
    } else {
        "These added lines are"
    };
    let (title, message) = (
        "not covered by tests".to_owned(),
        format!("{what} not executed by any test."),
    );
    let (path, level) = (path.to_owned(), AnnotationLevel::Notice);
    Some(CheckAnnotation {
        path,
        start_line,
        end_line,
        level,
        title,
        message,
    })
}

/// `src/a.rs:10-12` or `src/a.rs:10`.
pub fn parse_range(range: &str) -> Option<(&str, u32, u32)> {
    let (file, lines) = range.rsplit_once(':')?;
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first >= 1 && last >= first && !file.is_empty()).then_some((file, first, last))
}

/// Annotations of one level that GitHub shows of a step ("Setting up annotations": 10 errors and 10 warnings).
const MOST_OF_STEP: usize = 10;

/// One line per annotation: errors for what fails, warnings for what the change is not to blame for and for changed
/// lines no test executes.
pub fn annotation_commands(view: &View) -> String {
    let (placed, left_out) = annotations(view);
    let placed = placed.iter().map(|one| {
        let CheckAnnotation {
            path,
            start_line,
            end_line,
            level,
            title,
            message,
        } = one;
        let (path, title) = (property(path), property(title));
        let properties = format!("file={path},line={start_line},endLine={end_line},title={title}");
        (
            *level == AnnotationLevel::Failure,
            body(&properties, message),
        )
    });
    let titled = |title: &str, message: &str| body(&format!("title={}", property(title)), message);
    let nowhere = causes(&view.failures).into_iter().map(|cause| cause.first);
    let nowhere = nowhere.filter(|view| view.failure.location().is_none());
    let nowhere = nowhere.map(|view| {
        (
            view.blame == Blame::PrCode,
            titled(&title(view), &message(view)),
        )
    });
    let unexplained = view.checks.iter().filter_map(|check| {
        check.evidence()?;
        let state = CheckState::of(check);
        let is_explained = view
            .failures
            .iter()
            .any(|failure| failure.check == check.name);
        let command = || {
            (
                true,
                titled(check.name.as_str(), word(entry::CheckWord(&state))),
            )
        };
        (state.is_failure() && !is_explained).then(command)
    });
    let all = placed.chain(nowhere).chain(unexplained);
    let (errors, warnings): (Vec<_>, Vec<_>) = all.partition(|(is_error, _)| *is_error);
    // The most severe come first, so what was left out is milder than what is there.
    let (more_errors, more_warnings) = if warnings.is_empty() {
        (left_out, 0)
    } else {
        (0, left_out)
    };
    commands("error", &errors, more_errors) + &commands("warning", &warnings, more_warnings)
}

/// Annotations of all problems of a configuration: a file has few of them.
pub fn configuration_commands(errors: &[ConfigError], warnings: &[ConfigError]) -> String {
    let all = |level: &str, problems: &[ConfigError]| -> String {
        let command = |problem: &ConfigError| {
            let ConfigError {
                file,
                line,
                column,
                message,
                hint,
                ..
            } = problem;
            let hint = hint
                .as_ref()
                .map(|hint| format!("\n{hint}"))
                .unwrap_or_default();
            let place = format!("file={},line={line},col={column}", property(file));
            format!("::{level}{}\n", body(&place, &format!("{message}{hint}")))
        };
        problems.iter().map(command).collect()
    };
    all("error", errors) + &all("warning", warnings)
}

/// One annotation of a step that could not do its work, without the end of its line.
pub fn error_command(message: &str) -> String {
    format!("::error{}", body("title=Loopgate", message))
}

/// One warning of a step, without the end of its line.
pub fn warning_command(message: &str) -> String {
    format!("::warning{}", body("title=Loopgate", message))
}

fn commands(level: &str, all: &[(bool, String)], more: usize) -> String {
    let shown = if all.len() + more > MOST_OF_STEP {
        MOST_OF_STEP - 1
    } else {
        all.len()
    };
    let mut lines: String = all
        .iter()
        .take(shown)
        .map(|(_, body)| format!("::{level}{body}\n"))
        .collect();
    let rest = all.len() + more - shown.min(all.len());
    if rest > 0 {
        lines.push_str(&format!(
            "::{level}::{rest} more; the summary of the job lists them\n"
        ));
    }
    lines
}

/// What follows the level of a command: its properties and its text.
fn body(properties: &str, text: &str) -> String {
    format!(" {properties}::{}", data(text))
}

/// The text of a command.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// The value of a command's property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// A log in which the runner reads no command. `token` must be new and unguessable: text that holds it can turn the
/// commands on again.
pub fn silenced(text: &str, token: &str) -> String {
    let end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("::stop-commands::{token}\n{text}{end}::{token}::\n")
}

/// A short text of which no line is a command. The marks are taken apart visibly: the runner overlooks invisible
/// characters when it compares.
pub fn defused(text: &str) -> String {
    let line = |line: &str| {
        let line = line.replace("##[", "## [");
        if line.trim_start().starts_with("::") {
            line.replacen("::", ": :", 1)
        } else {
            line
        }
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use loopgate_core::evidence::SourceLocation;

    #[test]
    fn failures_come_before_uncovered_lines() {
        let (all, left_out) = annotations(&fixtures::first_failure().view);
        let shown: Vec<_> = all
            .iter()
            .map(|a| (a.path.as_str(), a.start_line, a.end_line, a.level))
            .collect();
        assert_eq!(
            shown,
            [
                ("src/auth/token.rs", 10, 10, AnnotationLevel::Failure),
                ("src/auth/token.rs", 10, 11, AnnotationLevel::Notice)
            ]
        );
        assert_eq!(left_out, 0);
        insta::assert_snapshot!(format!("{}\n{}", all[0].title, all[0].message), @r"
        unit: auth::rejects_expired (01010101)
        assertion `left == right` failed
          left: Ok(())
         right: Err(Expired)

        Do: Compare with `expiry <= now` and reject
        Why: A token is invalid from the second it expires
        Cause: `is_valid` accepts a token in the second it expires
        Reproduce: cargo test auth::rejects_expired
        ");
    }

    #[test]
    fn at_most_two_hundred_and_the_rest_is_counted() {
        let mut view = fixtures::first_failure().view;
        view.failures = (1..=300).map(fixtures::failure_in_line).collect();
        let (all, left_out) = annotations(&view);
        assert_eq!((all.len(), left_out), (200, 101));
        assert!(
            all.iter()
                .all(|annotation| annotation.level == AnnotationLevel::Failure)
        );
    }

    #[test]
    fn places_outside_the_repository_are_not_annotated() {
        let mut view = fixtures::view();
        for file in ["/usr/lib/x.rs", "../x.rs", ""] {
            let mut failure = fixtures::failure();
            failure.failure.test_file = None;
            failure.failure.source = Some(SourceLocation {
                file: file.into(),
                line: Some(1),
                function: None,
            });
            view.failures.push(failure);
        }
        assert_eq!(annotations(&view).0, []);
    }

    #[test]
    fn ranges() {
        assert_eq!(parse_range("src/a.rs:10-12"), Some(("src/a.rs", 10, 12)));
        assert_eq!(parse_range("src/a.rs:10"), Some(("src/a.rs", 10, 10)));
        for wrong in ["src/a.rs", "a:0-1", "a:3-2", ":1", "a:x", "a:99999999999"] {
            assert_eq!(parse_range(wrong), None, "{wrong}");
        }
    }
}

#[cfg(test)]
mod workflow_tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fixtures;

    /// Whether the runner takes the line for a command.
    fn is_command(line: &str) -> bool {
        let line = line.trim_start();
        line.contains("##[")
            || line
                .strip_prefix("::")
                .is_some_and(|rest| rest.contains("::"))
    }

    #[test]
    fn what_is_wrong_in_a_configuration_stands_at_its_place() {
        let problem = |message: &str, hint: Option<&str>| ConfigError {
            file: "a,b:c.yml".into(),
            line: 3,
            column: 5,
            message: message.into(),
            hint: hint.map(str::to_owned),
            snippet: String::new(),
        };
        let told = configuration_commands(
            &[problem("100%\n::error::no", Some("yes"))],
            &[problem("hm", None)],
        );
        insta::assert_snapshot!(told, @"
        ::error file=a%2Cb%3Ac.yml,line=3,col=5::100%25%0A::error::no%0Ayes
        ::warning file=a%2Cb%3Ac.yml,line=3,col=5::hm
        ");
        assert_eq!(
            error_command("one\ntwo"),
            "::error title=Loopgate::one%0Atwo"
        );
    }

    #[test]
    fn annotations_of_a_failing_run() {
        insta::assert_snapshot!(annotation_commands(&fixtures::first_failure().view), @"
        ::error file=src/auth/token.rs,line=10,endLine=10,title=unit%3A auth%3A%3Arejects_expired (01010101)::assertion `left == right` failed%0A  left: Ok(())%0A right: Err(Expired)%0A%0ADo: Compare with `expiry <= now` and reject%0AWhy: A token is invalid from the second it expires%0ACause: `is_valid` accepts a token in the second it expires%0AReproduce: cargo test auth::rejects_expired
        ::warning file=src/auth/token.rs,line=10,endLine=11,title=not covered by tests::These added lines are not executed by any test.
        ");
    }

    #[test]
    fn a_failure_without_place_and_a_check_without_failure_are_told_too() {
        let mut view = fixtures::first_failure().view;
        view.coverage = None;
        view.failures[0].failure.source = None;
        view.failures[0].failure.test_file = None;
        assert!(
            annotation_commands(&view).starts_with(
                "::error title=unit%3A auth%3A%3Arejects_expired (01010101)::assertion"
            )
        );
        view.failures.clear();
        assert_eq!(annotation_commands(&view), "::error title=unit::failed\n");
    }

    #[test]
    fn what_github_would_not_show_is_counted() {
        let mut view = fixtures::first_failure().view;
        view.failures = (1..=300).map(fixtures::failure_in_line).collect();
        let lines = annotation_commands(&view);
        assert_eq!(
            lines
                .lines()
                .filter(|line| line.starts_with("::error file="))
                .count(),
            9
        );
        assert!(
            lines.contains("\n::error::292 more; the summary of the job lists them\n"),
            "{lines}"
        );
        assert_eq!(lines.lines().count(), 10);
    }

    #[test]
    fn hostile_texts_forge_nothing() {
        let mut view = fixtures::first_failure().view;
        view.failures[0].failure.test_name =
            Some("a,line=1::\n::set-output name=decision::proceed".into());
        view.failures[0].failure.error_message =
            "x\r\n::add-mask::y\n##[error]z %0A::stop-commands::q".into();
        let lines = annotation_commands(&view);
        assert_eq!(lines.lines().count(), 2, "{lines}");
        assert!(
            lines.lines().all(
                |line| line.starts_with("::error file=") || line.starts_with("::warning file=")
            )
        );
        assert!(
            lines.contains("title=unit%3A a%2Cline=1%3A%3A %3A%3Aset-output"),
            "{lines}"
        );
    }

    #[test]
    fn a_log_is_silenced() {
        assert_eq!(
            silenced("::error::x\nlast", "t0k3n"),
            "::stop-commands::t0k3n\n::error::x\nlast\n::t0k3n::\n"
        );
    }

    proptest! {
        #[test]
        fn a_defused_text_holds_no_command(text in "(::|##\\[|[ \\na#\\[:\\]\u{2060}]){0,20}") {
            let defused = defused(&text);
            prop_assert!(!defused.split('\n').any(is_command), "{defused:?}");
        }
    }
}
