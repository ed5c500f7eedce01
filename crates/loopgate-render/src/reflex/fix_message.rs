//! The message of a fix's commit.

use loopgate_core::{
    CheckName, deciding::View, observed::ChangedFiles, source_files::is_test, state::LoopState,
};

use crate::{short_line, wrapped};

/// Characters of a subject.
const SUBJECT: usize = 72;
/// Columns of the body.
const COLUMNS: usize = 71;
/// Characters of a paragraph.
const PARAGRAPH: usize = 600;

/// The message of a fix's commit: `fix(<scope>): …`, then Error, Cause, Fix and Attempt. The fixer may report in one
/// line what it did, and what was the cause; `change` is as `+5/-2 in src/a.rs`.
pub fn loop_fix_message(
    view: &View,
    state: &LoopState,
    (description, cause): (Option<&str>, Option<&str>),
    change: &str,
    edits: &ChangedFiles,
) -> String {
    let first = view.failures.first();
    let error = errors(view);
    let strategy = first.map_or_else(String::new, |view| view.feedback.action.clone());
    let what = description.filter(|text| !text.trim().is_empty());
    // Without the fixer's own words: which rule it answers.
    let answer = first.map_or("answer the critique", |first| {
        first.feedback.action.as_str()
    });
    let cause = cause
        .map(str::to_owned)
        .or_else(|| first.map(|view| view.feedback.problem.clone()));
    let subject = format!(
        "fix({}): {}",
        scope_of(view, edits),
        begin_low(what.unwrap_or(answer))
    );
    let fix = match what {
        Some(what) => format!("{} ({})", short_line(what, PARAGRAPH), change),
        None if strategy.is_empty() => change.to_owned(),
        None => format!("{} ({})", short_line(&strategy, PARAGRAPH), change),
    };
    // A paragraph, its further lines set in.
    let paragraph = |text: String| wrapped(&short_line(&text, PARAGRAPH), COLUMNS, 2).join("\n");
    format!(
        "{}\n\n{}\n{}\n{}\nAttempt {}/{}\n\nLoopgate-Run: {}\n",
        headline(&short_line(&subject, PARAGRAPH)),
        paragraph(format!("Error: {error}")),
        paragraph(format!(
            "Cause: {}",
            cause.as_deref().unwrap_or("not known")
        )),
        paragraph(format!("Fix: {fix}")),
        state.run.iteration,
        state.run.max_iterations,
        state.run.id,
    )
}

/// What the fix answers: the first failure of each check that fails, else the rules that do not hold.
fn errors(view: &View) -> String {
    let mut named: Vec<&CheckName> = Vec::new();
    let mut errors: Vec<String> = Vec::new();
    for view in &view.failures {
        if named.contains(&&view.check) {
            continue;
        }
        named.push(&view.check);
        let name = match &view.failure.test_name {
            Some(name) => format!("{name} — "),
            None => String::new(),
        };
        let reported = view.failure.reported();
        let first_line = reported.lines().next().unwrap_or_default();
        errors.push(format!("{}: {name}{first_line}", view.check));
    }
    if errors.is_empty() {
        errors = view
            .evaluation
            .failed_rules()
            .iter()
            .map(ToString::to_string)
            .collect();
    }
    match errors.is_empty() {
        true => "the score is short".to_owned(),
        false => errors.join("; "),
    }
}

/// What the edits change, as the scope of a conventional commit: of several files one that a failure names, and code
/// rather than its tests.
fn scope_of(view: &View, edits: &ChangedFiles) -> String {
    let named: Vec<&str> = view
        .failures
        .iter()
        .filter_map(|view| Some(view.failure.location()?.0))
        .collect();
    let file = edits
        .known()
        .iter()
        .map(|file| file.path.as_str())
        .min_by_key(|path| (is_test(path), !named.contains(path)));
    let stem = file.and_then(|file| {
        let name = file.rsplit('/').next()?;
        Some(name.split('.').next().unwrap_or(name).to_owned())
    });
    let rule = || {
        view.evaluation
            .failed_rules()
            .first()
            .map(ToString::to_string)
    };
    let scope = stem.or_else(rule).unwrap_or_else(|| "loop".to_owned());
    let plain: String = scope
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        .take(24)
        .collect();
    if plain.is_empty() {
        "loop".to_owned()
    } else {
        plain
    }
}

fn begin_low(text: &str) -> String {
    let text = text.trim().trim_end_matches('.');
    let mut letters = text.chars();
    match (letters.next(), letters.clone().next()) {
        // Not an abbreviation or a name in capitals.
        (Some(first), second) if second.is_none_or(|letter| !letter.is_uppercase()) => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => text.to_owned(),
    }
}

/// A subject that fits: cut between two words, if there are some.
fn headline(text: &str) -> String {
    let Some((end, _)) = text
        .char_indices()
        .nth(SUBJECT - 1)
        .filter(|_| text.chars().count() > SUBJECT)
    else {
        return text.to_owned();
    };
    let at = text[..end]
        .rfind(' ')
        .filter(|at| *at >= SUBJECT / 2)
        .unwrap_or(end);
    format!("{}…", &text[..at])
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopgate_core::{deciding::decide, fixtures, observed::ChangedFile};

    #[test]
    fn a_fix_is_named_after_what_it_changes_and_answers_each_failing_check() {
        let mut snapshot = fixtures::snapshot();
        snapshot.evidence = vec![fixtures::evidence(fixtures::sha(1), &["rounds_up"], &[])];
        let policy = fixtures::policy();
        let state = LoopState::begin(&snapshot, &policy, fixtures::start());
        let mut view = decide(&snapshot, &state, &policy, fixtures::start()).view;
        let mut lint = view.failures[0].clone();
        lint.check = "lint".parse().unwrap();
        lint.failure.test_name = None;
        lint.failure.error_message = "F401 unused import".into();
        view.failures.insert(0, lint.clone());
        view.failures.push(lint);
        let ChangedFiles::Complete(files) = snapshot.files else {
            panic!("complete")
        };
        let file = |path: &str| ChangedFile {
            path: path.to_owned(),
            ..files[0].clone()
        };
        let edits = ChangedFiles::Complete(vec![file("test_m.py"), file("m.py")]);
        let reported = (Some("Divide whole"), Some("true division"));
        let message = loop_fix_message(&view, &state, reported, "+1/-1", &edits);
        assert!(message.starts_with("fix(m): divide whole\n"), "{message}");
        let errors = message.split("Cause: ").next().unwrap_or_default();
        assert!(
            errors.contains("unit: rounds_up") && errors.matches("F401").count() == 1,
            "{message}"
        );
    }

    #[test]
    fn a_commit_tells_error_cause_fix_and_attempt() {
        let mut snapshot = fixtures::snapshot();
        snapshot.evidence = vec![fixtures::evidence(fixtures::sha(1), &["rounds_up"], &[])];
        let policy = fixtures::policy();
        let mut state = LoopState::begin(&snapshot, &policy, fixtures::start());
        state.run.max_iterations = 4;
        state.run.id = "round-20261120-100000".to_owned();
        let view = decide(&snapshot, &state, &policy, fixtures::start()).view;
        let edits = ChangedFiles::Complete(Vec::new());
        let written = |description| {
            loop_fix_message(
                &view,
                &state,
                (description, None),
                "+1/-1 in src/lib.rs",
                &edits,
            )
        };
        let message = written(Some("Round half away from zero.\nAs the tests ask for"));
        let lines: Vec<&str> = message.lines().collect();
        assert_eq!(
            lines[0],
            "fix(unit): round half away from zero. As the tests ask for"
        );
        assert_eq!(
            lines[2],
            "Error: unit: rounds_up — assertion failed in rounds_up"
        );
        assert!(lines[3].starts_with("Cause: "), "{message}");
        let end = [
            "Fix: Round half away from zero. As the tests ask for (+1/-1 in",
            "  src/lib.rs)",
            "Attempt 1/4",
            "",
            "Loopgate-Run: round-20261120-100000",
        ];
        assert!(message.trim_end().ends_with(&end.join("\n")), "{message}");
        assert!(
            written(None)
                .lines()
                .next()
                .is_some_and(|subject| subject.chars().count() <= 72)
        );
    }

    #[test]
    fn a_long_subject_is_cut_between_words() {
        let many = "word ".repeat(30);
        let table = [
            ("fix(a): short", "fix(a): short"),
            (
                "fix(sums): handle a zero divisor before this line, and decide there what the result is",
                "fix(sums): handle a zero divisor before this line, and decide there…",
            ),
            (
                "fix(a): one, two or more words that nobody has put a comma into for all their length",
                "fix(a): one, two or more words that nobody has put a comma into for…",
            ),
        ];
        for (long, cut) in table {
            assert_eq!(headline(long), cut);
        }
        for text in [many.trim(), &"x".repeat(200), &"é".repeat(200)] {
            assert!(headline(text).chars().count() <= SUBJECT, "{text}");
        }
    }
}
