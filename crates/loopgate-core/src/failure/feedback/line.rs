//! One failure as something to act on: where, what was observed, the one thing to do, and why.
//!
//! Vague feedback does not help: every item names all four, and no sentence of ours holds a word that leaves the reader
//! to guess. Names and values from outside appear as code spans that cannot be closed from within, or on lines of their
//! own; making them safe for Markdown is the business of `render`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::reproduce::{CheckContext, reproduce};
use crate::{
    FailureId,
    evidence::{Failure, SourceLocation},
    failure::{
        explain::{ExaminedFailure, Touch},
        read::text::{self, code},
    },
};

/// How soon an item is to be acted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    High,
    Medium,
    Low,
}

/// One item of feedback: where, what, do what, why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FeedbackLine {
    /// The id of the failure; `None` if the line belongs to no failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<FailureId>,
    /// `file:line`, or the check's name where no place is known.
    pub location: String,
    pub problem: String,
    /// The one thing to do; empty where no rule is certain of it.
    pub action: String,
    /// Why that fixes it; empty without an action.
    pub reason: String,
    /// The smallest command that reproduces it.
    pub reproduce: Option<String>,
}

/// The item as one line of a summary.
impl fmt::Display for FeedbackLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ended = |text: &str| {
            if text.ends_with(['.', '!', '?', '…', ':']) {
                ""
            } else {
                "."
            }
        };
        let Self {
            location,
            problem,
            action,
            reason,
            reproduce,
            ..
        } = self;
        write!(f, "{location}: {problem}{}", ended(problem))?;
        match (action.as_str(), reproduce) {
            ("", Some(command)) => write!(f, " Run: {command}"),
            ("", None) => Ok(()),
            _ => write!(
                f,
                " Fix: {action}{} Why: {reason}{}",
                ended(action),
                ended(reason)
            ),
        }
    }
}

impl FeedbackLine {
    /// The line for a failure that was examined.
    pub fn of(
        failure: &Failure,
        examined: &ExaminedFailure,
        check: Option<&CheckContext<'_>>,
    ) -> Self {
        let ExaminedFailure { at, conclusion, .. } = examined;
        let file = examined
            .test_file
            .as_ref()
            .or(at.as_ref().map(|place| &place.file));
        let located = Failure {
            error_type: examined.error_type,
            error_class: examined.error_class.clone(),
            test_file: failure.test_file.clone().or_else(|| file.cloned()),
            ..failure.clone()
        };
        let location = match (at, &failure.test_name, check) {
            (
                Some(SourceLocation {
                    file,
                    line,
                    function,
                }),
                ..,
            ) => {
                let line = line.map(|line| format!(":{line}")).unwrap_or_default();
                let function = function
                    .as_ref()
                    .map(|name| format!(" in {}", code(name)))
                    .unwrap_or_default();
                format!("{}{line}{function}", text::one_line(file, 200))
            }
            (None, Some(test), _) => format!("test {}", code(&text::one_line(test, 200))),
            (None, None, Some(check)) => format!("check `{}`", check.name),
            (None, None, None) => format!("error `{}`", examined.fingerprint),
        };
        let (command, directory) = check.map_or(("", ""), |check| (check.command, check.directory));
        let mut problem = examined.problem();
        if examined.touch == Touch::AddsLine {
            problem.push_str(" This pull request adds the line.");
        }
        Self {
            id: Some(examined.fingerprint.into()),
            location,
            problem,
            action: conclusion.action.clone(),
            reason: conclusion.reason.clone(),
            reproduce: reproduce(&located, command, directory),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use regex::Regex;

    use super::*;
    use crate::{
        CheckName,
        evidence::ErrorType,
        failure::{explain, read::Changes},
    };

    /// Words that leave the reader to guess.
    const VAGUE: &str = r"(?i)\b(?:consider(?:ing)?|maybe|perhaps|possibly|probably|might|may|could|should|would|better|improve|try|try to|look into|somehow|seems?|appears?|properly|appropriate(?:ly)?|as needed|if possible|etc)\b";

    fn assert_firm(sentence: &str) {
        static PATTERN: LazyLock<Regex> = LazyLock::new(|| Regex::new(VAGUE).unwrap());
        assert!(!PATTERN.is_match(sentence), "vague: {sentence}");
    }

    /// Every string literal in front of the tests of a source file.
    fn literals(source: &str) -> Vec<String> {
        let code = source.split("#[cfg(test)]").next().unwrap();
        let code: String = code
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .collect::<Vec<_>>()
            .join("\n");
        let literal = Regex::new(r#""(?:[^"\\]|\\.)*""#).unwrap();
        literal
            .find_iter(&code)
            .map(|found| found.as_str().to_owned())
            .collect()
    }

    #[test]
    fn no_sentence_of_ours_is_vague() {
        explain::sentences().for_each(assert_firm);
        let sources = [
            include_str!("../explain/diagnosis.rs"),
            include_str!("line.rs"),
            include_str!("../explain/analysis.rs"),
        ];
        let found: Vec<String> = sources.iter().flat_map(|source| literals(source)).collect();
        assert!(
            found.len() > 25,
            "the literals are found at all: {}",
            found.len()
        );
        found.iter().for_each(|literal| assert_firm(literal));
    }

    fn changes() -> Changes {
        let file =
            |path: &str, lines: std::ops::RangeInclusive<u32>| (path.to_owned(), lines.collect());
        Changes::new([
            file("src/cart.rs", 5..=20),
            file("src/cart.ts", 5..=20),
            file("shop/cart.py", 5..=20),
        ])
    }

    fn shown(failure: &Failure, command: &str) -> String {
        let name: CheckName = "unit".parse().unwrap();
        let check = CheckContext {
            name: &name,
            command,
            directory: "",
        };
        let item = FeedbackLine::of(
            failure,
            &ExaminedFailure::new(failure, &changes()),
            Some(&check),
        );
        for sentence in [&item.problem, &item.action, &item.reason] {
            assert_firm(sentence);
        }
        let again = item.reproduce.as_deref().unwrap_or("-");
        format!(
            "{}\n  {}\n  Fix: {}\n  Why: {}\n  Again: {again}",
            item.location, item.problem, item.action, item.reason
        )
    }

    #[test]
    fn an_assertion() {
        let failure = Failure {
            test_name: Some("cart::tests::total_adds_tax".into()),
            error_message: "assertion `left == right` failed\n  left: 20\n right: 24".into(),
            stack_trace: Some("thread 'cart::tests::total_adds_tax' panicked at src/cart.rs:48:9:\nassertion `left == right` failed\n  left: 20\n right: 24".into()),
            ..Failure::default()
        };
        insta::assert_snapshot!(shown(&failure, "cargo test"), @r#"
        src/cart.rs:48
          `cart::tests::total_adds_tax` expects `24` and gets `20`.
          Fix: Make the code that `cart::tests::total_adds_tax` checks give `24` in place of `20`.
          Why: The test states the requirement; it stays as it is unless the requirement itself changed.
          Again: cargo test cart::tests::total_adds_tax
        "#);
    }

    #[test]
    fn a_null_access() {
        let failure = Failure {
            test_name: Some("cart > total of an empty cart".into()),
            test_file: Some("test/cart.test.ts".into()),
            error_message: "TypeError: Cannot read properties of undefined (reading 'price')".into(),
            stack_trace: Some(
                "TypeError: Cannot read properties of undefined (reading 'price')\n    at total (/home/runner/work/shop/shop/src/cart.ts:9:25)\n    at /home/runner/work/shop/shop/test/cart.test.ts:12:15".into(),
            ),
            ..Failure::default()
        };
        insta::assert_snapshot!(shown(&failure, "npx vitest run"), @r#"
        src/cart.ts:9 in `total`
          `TypeError: Cannot read properties of undefined (reading 'price')`. This pull request adds the line.
          Fix: 
          Why: 
          Again: npx vitest run test/cart.test.ts -t 'total of an empty cart'
        "#);
    }

    #[test]
    fn a_compile_error() {
        let failure = Failure {
            error_message: "error[E0308]: mismatched types\n  --> src/cart.rs:12:9\n   |\n12 |         tax\n   |         ^^^ expected `u64`, found `Option<u64>`".into(),
            ..Failure::default()
        };
        insta::assert_snapshot!(shown(&failure, "cargo build --locked"), @r#"
        src/cart.rs:12
          `Option<u64>` stands where `u64` is expected: `E0308: mismatched types`. This pull request adds the line.
          Fix: 
          Why: 
          Again: cargo build --locked
        "#);
    }

    #[test]
    fn a_missing_module() {
        let failure = Failure {
            test_file: Some("tests/test_cart.py".into()),
            error_message: "ModuleNotFoundError: No module named 'requests'".into(),
            stack_trace: Some("tests/test_cart.py:1: in <module>\n    from shop.cart import Cart\nshop/cart.py:3: in <module>\n    import requests\nE   ModuleNotFoundError: No module named 'requests'".into()),
            ..Failure::default()
        };
        insta::assert_snapshot!(shown(&failure, "pytest"), @r#"
        shop/cart.py:3
          `ModuleNotFoundError: No module named 'requests'`.
          Fix: 
          Why: 
          Again: pytest tests/test_cart.py -x
        "#);
    }

    #[test]
    fn a_timeout() {
        let failure = Failure {
            test_name: Some("checkout › waits for the payment".into()),
            test_file: Some("test/checkout.test.ts".into()),
            error_message: "thrown: \"Exceeded timeout of 5000 ms for a test.\nAdd a timeout value to this test to increase the timeout, if this is a long-running test.\"".into(),
            stack_trace: Some("    at Object.test (/home/runner/work/shop/shop/test/checkout.test.ts:8:3)".into()),
            ..Failure::default()
        };
        insta::assert_snapshot!(shown(&failure, "npx jest"), @r#"
        test/checkout.test.ts:8
          `thrown: "Exceeded timeout of 5000 ms for a test.`.
          Fix: 
          Why: 
          Again: npx jest test/checkout.test.ts -t 'waits for the payment'
        "#);
    }

    #[test]
    fn a_panic_in_a_dependency() {
        let failure = Failure {
            test_name: Some("cart::tests::parses_saved_carts".into()),
            error_message: "range end index 9 out of range for slice of length 4".into(),
            stack_trace: Some(
                "thread 'cart::tests::parses_saved_carts' panicked at /home/runner/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/bytes-1.6.0/src/bytes.rs:396:9:\nrange end index 9 out of range for slice of length 4\nstack backtrace:\n   0: rust_begin_unwind\n             at /rustc/59807616e/library/std/src/panicking.rs:689:5\n   1: bytes::bytes::Bytes::slice\n             at /home/runner/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/bytes-1.6.0/src/bytes.rs:396:9\n   2: shop::cart::Cart::parse\n             at ./src/cart.rs:17:20\n   3: shop::cart::tests::parses_saved_carts\n             at ./src/cart.rs:60:9".into(),
            ),
            ..Failure::default()
        };
        insta::assert_snapshot!(shown(&failure, "cargo test"), @r#"
        src/cart.rs:17 in `shop::cart::Cart::parse`
          `range end index 9 out of range for slice of length 4`. This pull request adds the line.
          Fix: 
          Why: 
          Again: cargo test cart::tests::parses_saved_carts
        "#);
    }

    #[test]
    fn a_lint_error() {
        let failure = Failure {
            error_type: ErrorType::LintError,
            error_class: Some("eqeqeq".into()),
            error_message: "Expected '===' and instead saw '=='".into(),
            source: Some(SourceLocation {
                file: "src/cart.ts".into(),
                line: Some(11),
                function: None,
            }),
            ..Failure::default()
        };
        insta::assert_snapshot!(shown(&failure, ""), @r#"
        src/cart.ts:11
          `eqeqeq: Expected '===' and instead saw '=='`. This pull request adds the line.
          Fix: 
          Why: 
          Again: npx eslint src/cart.ts
        "#);
    }
}
