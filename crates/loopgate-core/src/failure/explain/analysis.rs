//! The analysis of a failure: root cause, category, fix strategy. Every failure has one before a retry is asked for.

use super::{diagnosis::Touch, examined::ExaminedFailure};
use crate::{
    evidence::{Analysis, Failure, RootCauseCategory},
    failure::read::{Changes, text},
    source_files::is_test,
};

/// Most related failures that are named.
const MAX_RELATED: usize = 20;

/// Analyses the failures of an attempt, in their order.
pub fn analyse_all(failures: &[Failure], changes: &Changes) -> Vec<Analysis> {
    let examined: Vec<_> = failures
        .iter()
        .map(|failure| ExaminedFailure::new(failure, changes))
        .collect();
    examined.iter().map(|one| one.analysis(&examined)).collect()
}

impl ExaminedFailure {
    /// The analysis beside the attempt's failures, which may hold the failure itself. Related are those with the same
    /// error, the same line of code, or the same missing thing.
    pub fn analysis(&self, all: &[Self]) -> Analysis {
        let line = self
            .at
            .as_ref()
            .filter(|place| place.line.is_some() && !is_test(&place.file));
        let cause = self.common_cause();
        let shares_cause = |other: &&Self| {
            self.fingerprint == other.fingerprint
                || line.is_some() && other.at.as_ref() == line
                || cause.is_some() && other.common_cause() == cause
        };
        let others = all
            .iter()
            .filter(|other| other.name != self.name)
            .filter(shares_cause);
        let mut related: Vec<String> = others.map(|other| other.name.clone()).collect();
        related.dedup();
        related.truncate(MAX_RELATED);
        let mut root_cause = self.problem();
        if let Some(place) = &self.at {
            let file = text::one_line(&place.file, 160);
            let line = place
                .line
                .map_or_else(String::new, |line| format!(":{line}"));
            let whose = match self.touch {
                Touch::AddsLine => ", a line this change adds",
                Touch::ChangesFile => ", in a file this change touches",
                Touch::Untouched => "",
            };
            root_cause.push_str(&format!(
                " It shows at {}{whose}.",
                text::code(&format!("{file}{line}"))
            ));
        }
        Analysis {
            root_cause,
            category: self.conclusion.category,
            fix_strategy: self.conclusion.action.clone(),
            confidence: self.confidence,
            rules_matched: self.conclusion.patterns.clone(),
            related,
        }
    }

    /// What was observed: where no rule is certain, the error in the tool's own words.
    pub(in crate::failure) fn problem(&self) -> String {
        match self.conclusion.cause.as_str() {
            "" => format!("{}.", self.reported),
            cause => cause.to_owned(),
        }
    }

    /// What failures with different errors have in common: what explains them, and what they lack. Code may lack a
    /// thing in several places for several reasons; tests that stop at it, what surrounds them, and files that one
    /// command mends are one cause. A measure is nothing that is lacking: two tests may take too long, and two indices
    /// be too large, for different reasons.
    pub fn common_cause(&self) -> Option<(&str, &str)> {
        use RootCauseCategory::{ConfigurationError, DependencyIssue, Environment};
        let Self { at, conclusion, .. } = self;
        let around = matches!(
            conclusion.category,
            DependencyIssue | ConfigurationError | Environment
        );
        let in_tests = at.as_ref().is_none_or(|place| is_test(&place.file));
        let by_command = conclusion.action.starts_with("Run `");
        let thing = if conclusion.subject.is_empty() {
            &conclusion.action
        } else {
            &conclusion.subject
        };
        let is_measure = thing.starts_with(|c: char| c.is_ascii_digit());
        (!thing.is_empty() && !is_measure && (around || in_tests || by_command))
            .then_some((conclusion.patterns.first()?.as_str(), thing.as_str()))
    }
}

impl Analysis {
    /// Whether its fix is one thing to do: advice that leaves it open is of no help to its reader.
    pub fn says_what_to_do(&self) -> bool {
        let advice = self.fix_strategy.trim();
        !advice.is_empty() && text::without_advice(advice) == advice
    }

    /// An answer of an analyzer command, cut to what Loopgate keeps: it is text from outside.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        let short = |names: Vec<String>| {
            names
                .iter()
                .take(MAX_RELATED)
                .map(|name| text::one_line(name, 200))
                .collect()
        };
        self.root_cause = text::one_line(&self.root_cause, 1_000);
        self.fix_strategy = text::one_line(&self.fix_strategy, 1_000);
        self.rules_matched = short(self.rules_matched);
        self.related = short(self.related);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(test: &str, message: &str, trace: &str) -> Failure {
        let mut failure = Failure {
            test_name: Some(test.to_owned()),
            error_message: message.to_owned(),
            stack_trace: Some(trace.to_owned()),
            ..Failure::default()
        };
        crate::failure::complete(&mut failure);
        failure
    }

    #[test]
    fn the_document_has_the_contract_s_keys() {
        let failure = failure(
            "totals",
            "TypeError: Cannot read properties of undefined (reading 'price')",
            "    at total (/home/runner/work/w/w/src/cart.ts:9:5)",
        );
        let [analysis] = analyse_all(&[failure], &Changes::default())
            .try_into()
            .expect("one");
        insta::assert_json_snapshot!(analysis, @r#"
        {
          "root_cause": "`TypeError: Cannot read properties of undefined (reading 'price')`. It shows at `src/cart.ts:9`.",
          "category": "null_undefined_access",
          "fix_strategy": "",
          "confidence": 0.9,
          "rules_matched": [
            "js_property_of_nothing"
          ],
          "related": []
        }
        "#);
    }

    #[test]
    fn failures_with_one_root_cause_are_related() {
        let at = |line: u32| format!("    at total (/home/runner/work/w/w/src/cart.ts:{line}:5)");
        let failures = [
            failure("one", "TypeError: x is not a function", &at(9)),
            failure("two", "RangeError: too long", &at(9)),
            failure(
                "three",
                "Error: Cannot find module 'zod' from 'src/a.ts'",
                "",
            ),
            failure(
                "four",
                "Error: Cannot find module 'zod' from 'src/b.ts'",
                "    at x (/home/runner/work/w/w/src/b.ts:1:1)",
            ),
            failure(
                "five",
                "AssertionError: expected 1 to be 3",
                "    at x (/home/runner/work/w/w/test/b.test.ts:1:1)",
            ),
            failure(
                "six",
                "AssertionError: expected 2 to be 3",
                "    at y (/home/runner/work/w/w/test/c.test.ts:1:1)",
            ),
            failure(
                "seven",
                "Error: Test timed out in 5000ms.",
                "    at /home/runner/work/w/w/test/d.test.ts:1:1",
            ),
            failure(
                "eight",
                "Error: Test timed out in 5000ms.",
                "    at /home/runner/work/w/w/test/e.test.ts:1:1",
            ),
        ];
        let related: Vec<Vec<String>> = analyse_all(&failures, &Changes::default())
            .into_iter()
            .map(|a| a.related)
            .collect();
        let expected: [&[&str]; 8] = [
            &["two"],
            &["one"],
            &["four"],
            &["three"],
            &[],
            &[],
            &[],
            &[],
        ];
        assert_eq!(related, expected);
    }

    #[test]
    fn an_analyzer_s_answer_is_cut() {
        let json = serde_json::json!({
            "root_cause": "a\n".repeat(5_000), "category": "logic_error", "fix_strategy": "", "confidence": 0.5,
            "patterns_matched": [], "related": vec!["x"; 500],
        });
        let analysis = serde_json::from_value::<Analysis>(json).unwrap().bounded();
        assert!(
            analysis.root_cause.chars().count() <= 1_000 && analysis.related.len() == MAX_RELATED
        );
    }
}
