//! `loopgate decide`: the iteration-control contract, YAML in, YAML out.

use std::path::Path;

use super::{CliError, CommandResult, exit, output};
use loopgate_core::{
    deciding::{
        DecisionWord,
        iteration::{self, AssertedSides, OutputReading, Request},
    },
    failure::{self, Changes, ExaminedFailure, FeedbackLine},
};
use loopgate_render::iteration_answer;
use loopgate_reports::{self, ReadOptions};

pub fn run(file: &Path) -> CommandResult {
    let (name, text) = output::read_named(file)?;
    let (word, answer) =
        answer(&text).map_err(|error| CliError::bad_data(format!("{name}: {error}")))?;
    output::show_as_yaml(&answer)?;
    Ok(exit::of(word))
}

/// The decision about a document, or what is wrong with it.
fn answer(text: &str) -> Result<(DecisionWord, serde_json::Value), String> {
    let request: Request = serde_yaml::from_str(text).map_err(|error| plain(&error.to_string()))?;
    let check = &request.iteration_check;
    let earlier: Vec<OutputReading> = check
        .previous_attempts
        .iter()
        .map(|attempt| understand(&attempt.test_result.output))
        .collect();
    let now = understand(&check.test_result.output);
    let decided = iteration::decide(&request, &now, &earlier).map_err(|error| error.to_string())?;
    Ok((decided.word, iteration_answer(&decided)))
}

/// An error of the parser without the names of our types.
fn plain(error: &str) -> String {
    let words = [
        ("expected u32", "expected a whole number, 0 or more"),
        (
            "expected struct Request",
            "expected a map with `iteration_check`",
        ),
        ("expected struct Check", "expected a map"),
        ("expected struct Control", "expected a map of settings"),
        (
            "expected struct EarlierAttempt",
            "expected a map with `test_result`",
        ),
        ("expected usize", "expected a whole number, 0 or more"),
        (
            "expected struct TestResult",
            "expected a map with `status` and `output`",
        ),
        (
            "expected struct ReviewResult",
            "expected a map with `status` and `feedback`",
        ),
        (
            "deserializing from YAML containing more than one document is not supported",
            "one document at a time",
        ),
    ];
    words
        .iter()
        .fold(error.to_owned(), |error, (theirs, ours)| {
            error.replace(theirs, ours)
        })
}

/// Reads the test output as whatever report it looks like, else as the text of one failure.
fn understand(output: &str) -> OutputReading {
    let mut failures = loopgate_reports::read(
        "test_result.output",
        output.as_bytes(),
        &ReadOptions::default(),
    )
    .failures;
    if failures.is_empty() && !output.trim().is_empty() {
        failures.push(failure::read_failure(output));
    }
    let sides = failures.iter().find_map(|failure| {
        Some(AssertedSides {
            name: failure.test_name.clone(),
            expected: failure.expected.clone()?,
            actual: failure.actual.clone()?,
        })
    });
    let changes = Changes::default();
    let items = failures.iter().map(|failure| {
        let examined = ExaminedFailure::new(failure, &changes);
        let is_nowhere = examined.at.is_none() && failure.test_name.is_none();
        let line = FeedbackLine::of(failure, &examined, None);
        // A failure without a place has only a fingerprint, which is of no use to a reader here.
        if is_nowhere {
            FeedbackLine {
                location: String::new(),
                ..line
            }
        } else {
            line
        }
    });
    let items = items.collect();
    OutputReading { items, sides }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A check with these fields in place of the usual ones.
    fn document(iteration: &str, output: &str) -> String {
        format!(
            "iteration_check:\n  task_id: task-003\n  current_iteration: {iteration}\n  max_iterations: 3\n  test_result: \
             {{ status: fail, output: {output:?} }}\n  review_result: {{ status: pending, feedback: '' }}\n"
        )
    }

    #[test]
    fn two_sides_without_a_name_are_asked_about_too() {
        let (_, response) = answer(&document("3", "AssertionError: expected 3, got 4")).unwrap();
        insta::assert_snapshot!(serde_yaml::to_string(&response).unwrap(), @r"
        decision:
          action: escalate
          task_id: task-003
          iteration: 3
          context:
            attempts_summary: |-
              Iteration 1: did not pass
              Iteration 2: did not pass
              Iteration 3: tests fail — The test expects `3` and gets `4`.
            pattern_detected: The test expects `3` and gets `4`.
          question: |-
            After 3 attempts the test still disagrees with the code. Which side is right?
            1. The test, which expects 3: change the code.
            2. The code, which gives 4: change the test.
        ");
    }

    #[test]
    fn earlier_attempts_are_told_and_compared() {
        let attempt =
            |output: &str| format!("  - test_result: {{ status: fail, output: {output:?} }}\n");
        let told = |earlier: [&str; 2], now| {
            let text =
                document("3", now) + "  previous_attempts:\n" + &earlier.map(attempt).concat();
            serde_yaml::to_string(&answer(&text).unwrap().1).unwrap()
        };
        let (undefined, missing, number) = (
            "FAIL src/login.test.ts\n  Expected: token\n  Received: undefined\n",
            "FAIL src/login.test.ts\n  TypeError: jwt.sign is not a function\n",
            "FAIL src/login.test.ts\n  Expected: 123\n  Received: \"123\"\n",
        );
        insta::assert_snapshot!(told([undefined, missing], number), @r#"
        decision:
          action: escalate
          task_id: task-003
          iteration: 3
          context:
            attempts_summary: |-
              Iteration 1: tests fail — src/login.test.ts: The test expects `token` and gets `undefined`.
              Iteration 2: tests fail — src/login.test.ts: `TypeError: jwt.sign is not a function`.
              Iteration 3: tests fail — src/login.test.ts: The test expects `123` and gets `"123"`.
            pattern_detected: 'src/login.test.ts fails each time otherwise: The test expects `token` and gets `undefined`. `TypeError: jwt.sign is not a function`. Now: The test expects `123` and gets `"123"`.'
          question: |-
            After 3 attempts the test still disagrees with the code. Which side is right?
            1. The test, which expects 123: change the code.
            2. The code, which gives "123": change the test.
        "#);
        assert!(
            told([missing, number], number).contains("The same failure in 2 attempts in a row"),
            "in a row"
        );
        assert!(
            told([number, missing], number).contains("A failure that was gone is back"),
            "back"
        );
    }

    #[test]
    fn feedback_names_a_place_or_none() {
        let (_, response) = answer(&document("1", "boom")).unwrap();
        let said = serde_yaml::to_string(&response).unwrap();
        assert!(said.contains("summary: 'The tests fail: `boom`."), "{said}");
    }

    #[test]
    fn what_is_wrong_with_a_document_is_said_in_words() {
        let two = format!("{}---\n{}", document("1", ""), document("2", ""));
        let bomb = "a: &a [x, x]\nb: &b [*a, *a]\niteration_check: *b\n";
        let table = [
            (String::new(), "missing field `iteration_check`"),
            ("iteration_check: []".into(), "expected a map"),
            (bomb.into(), "unknown field `a`, expected `iteration_check`"),
            (two, "one document at a time"),
            (
                document("'1'", ""),
                "iteration_check.current_iteration: invalid type: string \"1\", expected a whole number",
            ),
            (document("-1", ""), "expected a whole number"),
            (document("0", ""), "iterations count from 1"),
            (
                document("1", "").replace("max_iterations: 3", "max_iterations: 11"),
                "must be between 1 and 10",
            ),
            (
                document("1", "").replace("task_id: task-003", "task: x"),
                "unknown field `task`",
            ),
            (
                document("1", "").replace("fail", "Fail"),
                "unknown variant `Fail`, expected `pass` or `fail`",
            ),
            (
                document("1", "") + "iteration_control: { max: 3 }\n",
                "unknown field `max`, expected one of `max_iterations`",
            ),
            (
                document("1", "") + "  previous_attempts: [3]\n",
                "expected a map with `test_result`",
            ),
            (
                format!(
                    "iteration_check: {}{}",
                    "[".repeat(5_000),
                    "]".repeat(5_000)
                ),
                "expected a map",
            ),
        ];
        for (text, said) in table {
            let error = answer(&text).unwrap_err();
            assert!(error.contains(said), "{error}");
            assert!(
                !error.contains("struct ") && !error.contains("u32") && !error.contains("usize"),
                "{error}"
            );
        }
    }
}
