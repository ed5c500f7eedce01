//! What the runner of GitHub Actions reads in a step's log: annotations as workflow commands, and texts in which it is
//! to read none.
//!
//! The runner takes a line for a command that begins with `::`, behind any blanks, or has `##[` anywhere
//! (`ActionCommand.cs` of actions/runner), so a log of somebody's test can set outputs and forge annotations. Logs are
//! therefore printed between `::stop-commands::TOKEN` and `::TOKEN::`, short texts with the marks taken apart.

use super::{
    annotations::{self, CheckAnnotation, annotations},
    failure_card::causes,
    messages::word,
};
use loopgate_core::{
    deciding::View,
    failure::Blame,
    observed::AnnotationLevel,
    policy::ConfigError,
    verdict::{CheckStanding, FailureView},
};

/// Annotations of one level that GitHub shows of a step ("Setting up annotations": 10 errors and 10 warnings).
const MOST: usize = 10;

/// One line per annotation: errors for what fails, warnings for what the change is not to blame for and for changed
/// lines no test executes.
pub fn annotation_commands(view: &View) -> String {
    let (placed, left_out) = annotations(view);
    let (mut errors, mut warnings) = (Vec::new(), Vec::new());
    for annotation in &placed {
        match annotation.level {
            AnnotationLevel::Failure => errors.push(of_place(annotation)),
            AnnotationLevel::Warning | AnnotationLevel::Notice => warnings.push(of_place(annotation)),
        }
    }
    let nowhere = causes(&view.failures).into_iter().map(|cause| cause.first);
    for failure in nowhere.filter(|failure| failure.failure.location().is_none()) {
        if failure.blame == Blame::PrCode {
            errors.push(of_failure(failure))
        } else {
            warnings.push(of_failure(failure))
        }
    }
    for check in &view.checks {
        let CheckStanding::Done(evidence) = &check.standing else { continue };
        let is_explained = view.failures.iter().any(|failure| failure.check == check.name);
        if evidence.outcome.is_failure() && !is_explained {
            let outcome = word("outcome", evidence.outcome.as_str());
            errors.push(Said {
                properties: format!(" title={}", property(check.name.as_str())),
                message: outcome.into(),
            });
        }
    }
    // The most severe come first, so what was left out is milder than what is there.
    let (more_errors, more_warnings) = if warnings.is_empty() { (left_out, 0) } else { (0, left_out) };
    commands("error", &errors, more_errors) + &commands("warning", &warnings, more_warnings)
}

/// The same of what is wrong in a configuration, all of it: a file has few such places.
pub fn configuration_commands(errors: &[ConfigError], warnings: &[ConfigError]) -> String {
    let said = |problem: &ConfigError| Said {
        properties: format!(" file={},line={},col={}", property(&problem.file), problem.line, problem.column),
        message: problem.hint.iter().fold(problem.message.clone(), |message, hint| format!("{message}\n{hint}")),
    };
    let all = |level, problems: &[ConfigError]| -> String {
        problems.iter().map(|problem| command(level, &said(problem))).collect()
    };
    all("error", errors) + &all("warning", warnings)
}

/// One annotation of a step that could not do its work, without the end of its line.
pub fn error_command(message: &str) -> String {
    format!("::error title=Loopgate::{}", data(message))
}

struct Said {
    /// With a blank in front.
    properties: String,
    message: String,
}

fn commands(level: &str, all: &[Said], more: usize) -> String {
    let shown = if all.len() + more > MOST { MOST - 1 } else { all.len() };
    let mut lines: String = all.iter().take(shown).map(|said| command(level, said)).collect();
    let rest = all.len() + more - shown.min(all.len());
    if rest > 0 {
        lines.push_str(&format!("::{level}::{rest} more; the summary of the job lists them\n"));
    }
    lines
}

fn command(level: &str, said: &Said) -> String {
    format!("::{level}{}::{}\n", said.properties, data(&said.message))
}

fn of_place(annotation: &CheckAnnotation) -> Said {
    let CheckAnnotation { path, start_line, end_line, title, message, .. } = annotation;
    let properties = format!(" file={},line={start_line},endLine={end_line},title={}", property(path), property(title));
    Said { properties, message: message.clone() }
}

fn of_failure(view: &FailureView) -> Said {
    Said { properties: format!(" title={}", property(&annotations::title(view))), message: annotations::message(view) }
}

/// The text of a command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a command's property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// A log in which the runner reads no command. `token` must be new and unguessable: text that holds it can turn the
/// commands on again.
pub fn silenced(text: &str, token: &str) -> String {
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("::stop-commands::{token}\n{text}{end}::{token}::\n")
}

/// A short text of which no line is a command. The marks are taken apart visibly: the runner overlooks invisible
/// characters when it compares.
pub fn defused(text: &str) -> String {
    let line = |line: &str| {
        let line = line.replace("##[", "## [");
        if line.trim_start().starts_with("::") { line.replacen("::", ": :", 1) } else { line }
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::render::fixtures;

    /// Whether the runner takes the line for a command.
    fn is_command(line: &str) -> bool {
        let line = line.trim_start();
        line.contains("##[") || line.strip_prefix("::").is_some_and(|rest| rest.contains("::"))
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
        let told = configuration_commands(&[problem("100%\n::error::no", Some("yes"))], &[problem("hm", None)]);
        insta::assert_snapshot!(told, @"
        ::error file=a%2Cb%3Ac.yml,line=3,col=5::100%25%0A::error::no%0Ayes
        ::warning file=a%2Cb%3Ac.yml,line=3,col=5::hm
        ");
        assert_eq!(error_command("one\ntwo"), "::error title=Loopgate::one%0Atwo");
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
            annotation_commands(&view)
                .starts_with("::error title=unit%3A auth%3A%3Arejects_expired (01010101)::assertion")
        );
        view.failures.clear();
        assert_eq!(annotation_commands(&view), "::error title=unit::failed\n");
    }

    #[test]
    fn what_github_would_not_show_is_counted() {
        let mut view = fixtures::first_failure().view;
        view.failures = (1..=300).map(fixtures::failure_in_line).collect();
        let lines = annotation_commands(&view);
        assert_eq!(lines.lines().filter(|line| line.starts_with("::error file=")).count(), 9);
        assert!(lines.contains("\n::error::292 more; the summary of the job lists them\n"), "{lines}");
        assert_eq!(lines.lines().count(), 10);
    }

    #[test]
    fn hostile_texts_forge_nothing() {
        let mut view = fixtures::first_failure().view;
        view.failures[0].failure.test_name = Some("a,line=1::\n::set-output name=decision::proceed".into());
        view.failures[0].failure.error_message = "x\r\n::add-mask::y\n##[error]z %0A::stop-commands::q".into();
        let lines = annotation_commands(&view);
        assert_eq!(lines.lines().count(), 2, "{lines}");
        assert!(lines.lines().all(|line| line.starts_with("::error file=") || line.starts_with("::warning file=")));
        assert!(lines.contains("title=unit%3A a%2Cline=1%3A%3A %3A%3Aset-output"), "{lines}");
    }

    #[test]
    fn a_log_is_silenced() {
        assert_eq!(silenced("::error::x\nlast", "t0k3n"), "::stop-commands::t0k3n\n::error::x\nlast\n::t0k3n::\n");
    }

    proptest! {
        #[test]
        fn a_defused_text_holds_no_command(text in "(::|##\\[|[ \\na#\\[:\\]\u{2060}]){0,20}") {
            let defused = defused(&text);
            prop_assert!(!defused.split('\n').any(is_command), "{defused:?}");
        }
    }
}
