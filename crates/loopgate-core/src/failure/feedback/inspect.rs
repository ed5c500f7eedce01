//! What Loopgate understands of a failure pasted as text: `loopgate inspect failure`.

use serde_json::{Value, json};

use super::line::FeedbackLine;
use crate::{
    evidence::Failure,
    failure::{
        classify::{fingerprint, normalise},
        explain::ExaminedFailure,
        read::{Changes, Reading},
    },
    untrusted::without_secrets,
};

/// One failure from a report or a log as it is understood, as a document: its frames, innermost first, the message as
/// the fingerprint sees it, and the feedback with its place in parts.
///
/// No text of it shows a secret. The fingerprint is that of the texts as they came, which runs have.
pub fn inspect_failure(mut failure: Failure) -> Value {
    let as_it_came = fingerprint(&failure);
    let named = [
        &mut failure.test_name,
        &mut failure.stack_trace,
        &mut failure.expected,
        &mut failure.actual,
    ];
    for text in named
        .into_iter()
        .flatten()
        .chain([&mut failure.error_message])
    {
        *text = without_secrets(text).into_owned();
    }
    let reading = Reading::of(&failure);
    let mut examined = ExaminedFailure::of_reading(&failure, reading.clone(), &Changes::default());
    examined.fingerprint = as_it_came;
    let mut feedback = json!(FeedbackLine::of(&failure, &examined, None));
    feedback["location"] = json!(examined.at);
    json!({
        "failure": failure,
        "frames": reading.frames,
        "fingerprint": as_it_came,
        "normalised_message": normalise::message(&reading),
        "retry_class": examined.retry,
        "analysis": examined.analysis(&[]),
        "feedback": feedback,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::classify::read_failure;

    fn inspect(text: &str) -> Value {
        inspect_failure(read_failure(text))
    }

    #[test]
    fn no_secret_of_a_pasted_failure_is_shown() {
        let text = "thread 'adds' panicked at src/a.rs:4:5:\nassertion `left == right` failed: DEPLOY_TOKEN=hunter2\n  \
                    left: \"ghp_0123456789abcdefABCD\"\n right: \"ok\"";
        let inspection = inspect(text);
        let shown = inspection.to_string();
        assert!(
            !shown.contains("hunter2") && !shown.contains("ghp_"),
            "{shown}"
        );
        assert!(
            shown.contains("[secret]") && shown.contains("src/a.rs"),
            "{shown}"
        );
        assert_eq!(
            inspection["fingerprint"],
            json!(read_failure(text).fingerprint)
        );
    }

    #[test]
    fn a_pasted_panic() {
        let text = "\
running 1 test
test cart::tests::total ... FAILED

thread 'cart::tests::total' (77) panicked at src/cart.rs:48:9:
assertion `left == right` failed: tax is added
  left: 20
 right: 24
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace";
        let mut inspection = inspect(text);
        inspection["failure"]["stack_trace"] = Value::Null;
        insta::assert_json_snapshot!(inspection, @r#"
        {
          "failure": {
            "test_name": "cart::tests::total",
            "test_file": null,
            "error_type": "AssertionError",
            "error_class": "panic",
            "error_message": "assertion `left == right` failed: tax is added\n  left: 20\n right: 24",
            "stack_trace": null,
            "line_number": null,
            "expected": "24",
            "actual": "20",
            "source": {
              "file": "src/cart.rs",
              "line": 48,
              "function": null
            },
            "fingerprint": "29d3fcbee6cbbc17"
          },
          "frames": [
            {
              "file": "src/cart.rs",
              "line": 48,
              "column": 9,
              "function": null,
              "origin": "repository"
            }
          ],
          "fingerprint": "29d3fcbee6cbbc17",
          "normalised_message": "assertion'left==right'failed:tax is added left:right:",
          "retry_class": "code",
          "analysis": {
            "root_cause": "`cart::tests::total` expects `24` and gets `20`. It shows at `src/cart.rs:48`.",
            "category": "logic_error",
            "fix_strategy": "Make the code that `cart::tests::total` checks give `24` in place of `20`.",
            "confidence": 0.5,
            "rules_matched": [],
            "related": []
          },
          "feedback": {
            "id": "29d3fcbe",
            "location": {
              "file": "src/cart.rs",
              "line": 48,
              "function": null
            },
            "problem": "`cart::tests::total` expects `24` and gets `20`.",
            "action": "Make the code that `cart::tests::total` checks give `24` in place of `20`.",
            "reason": "The test states the requirement; it stays as it is unless the requirement itself changed.",
            "reproduce": "cargo test cart::tests::total"
          }
        }
        "#);
    }

    #[test]
    fn huge_and_hostile_text_is_read_all_the_same() {
        let huge = "thread 'a' panicked at src/a.rs:1:1:\n".repeat(300_000);
        assert_eq!(inspect(&huge)["failure"]["test_name"], "a");
        for text in [
            "",
            "\0",
            "\u{1b}[",
            &"`".repeat(100_000),
            &"(".repeat(100_000),
            &"expected ".repeat(100_000),
        ] {
            inspect(text);
        }
    }
}
