//! What to do about a rule that does not hold, as one clause. Names from outside stand in it as they are; who shows it
//! makes it safe.

use super::words::{self, count, plural};
use loopgate_core::verdict::{CheckFailure, RuleFailure, coverage::MissingTests};

/// The one thing to do.
pub(super) fn fix(why: &RuleFailure) -> String {
    match why {
        RuleFailure::Check { check, how } => fix_of_check(check.as_str(), how),
        RuleFailure::PassedRatio { ratio, least } => format!("{ratio} of the tests pass; make it at least {least}"),
        RuleFailure::ChangedCoverage { percent, least, uncovered } => too_little(*percent, *least, uncovered),
        RuleFailure::CoverageLost { head, base } => {
            format!("{head:.1} % of all lines are covered and {base:.1} % on the base; cover what lost its tests")
        }
        RuleFailure::RequiredTest(missing) => missing_tests(missing),
        RuleFailure::Findings { count: found, most } => {
            format!("{} at this severity or above; at most {most} are allowed", count(*found, "finding"))
        }
        RuleFailure::NoTestsAdded => "add or change a test that covers the changed code".to_owned(),
        RuleFailure::NotTogether { also } => {
            format!("change one of {} in the same pull request", quoted(also).join(", "))
        }
        RuleFailure::NotFound { pattern } => format!("add a line matching `{pattern}`"),
        RuleFailure::Found { path, line, pattern } => format!("`{path}:{line}` matches `{pattern}`; remove it"),
        RuleFailure::TooLarge { lines, files } => {
            format!("{} in {}; split the change", count(*lines, "changed line"), count(*files, "file"))
        }
    }
}

fn fix_of_check(name: &str, how: &CheckFailure) -> String {
    match how {
        CheckFailure::NoEvidence => {
            format!("no evidence of {name} arrived in time; run it again or skip it with a reason")
        }
        CheckFailure::NotStarted => format!("GitHub could not start {name}; its page says why"),
        CheckFailure::Lost { legs } => format!("{}, so {name} is not known; run it again", words::lost(legs)),
        CheckFailure::EvidenceRefused { reason } => format!("the evidence of {name} was refused: {reason}"),
        CheckFailure::TimedOut => format!("{name} ran into its timeout; find what does not end"),
        CheckFailure::NoTests => format!("{name} executed no test; fix its command"),
        CheckFailure::ResultsLost => format!(
            "{name} passed without results by test, which it had before; let its command run the tests and report them"
        ),
        CheckFailure::Failed { failures: 0 } => format!("make {name} pass"),
        CheckFailure::Failed { failures: 1 } => format!("fix the failure of {name}"),
        CheckFailure::Failed { failures } => format!("fix the {failures} failures of {name}"),
    }
}

/// Most uncovered places that are named.
const PLACES: usize = 3;

fn too_little(percent: f64, least: f64, uncovered: &[String]) -> String {
    // Rounded down, so that 99.96 % is not told as 100.0 % that are too little.
    let percent = (percent * 10.0).floor() / 10.0;
    let places = uncovered.iter().take(PLACES).cloned().collect::<Vec<_>>().join(", ");
    let places = match uncovered.len() {
        0 => String::new(),
        all if all <= PLACES => format!(": {places}"),
        all => format!(": {places} and {}", count(all - PLACES, "more place")),
    };
    format!("{percent:.1} % of the changed lines are covered; add tests until it is {least} %{places}")
}

fn missing_tests(missing: &MissingTests) -> String {
    match missing {
        MissingTests::Named { patterns } => format!("add a test whose name matches {}", quoted(patterns).join(" or ")),
        MissingTests::Proof { reason } => {
            format!("add a test that fails without the fix and passes with it: {}", reason.trim_end_matches('.'))
        }
        MissingTests::OfBase { broken, named, gone } => {
            let fail = plural(*broken, "of them fails", "of them fail");
            let broken = (*broken > 0)
                .then(|| format!("make the tests pass that pass on the base: {fail}, {}", quoted(named).join(", ")));
            let gone = (*gone > 0)
                .then(|| format!("bring back the {} that the base has and this change has not", count(*gone, "test")));
            broken.into_iter().chain(gone).collect::<Vec<_>>().join("; ")
        }
    }
}

fn quoted(texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| format!("`{text}`")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sentences that no story of `decided_tests` meets.
    #[test]
    fn what_rarely_fails() {
        let missing = |broken: &[&str], gone| {
            let named = broken.iter().map(ToString::to_string).collect();
            fix(&RuleFailure::RequiredTest(MissingTests::OfBase { broken: broken.len(), named, gone }))
        };
        assert_eq!(missing(&["a"], 0), "make the tests pass that pass on the base: 1 of them fails, `a`");
        assert_eq!(missing(&[], 1), "bring back the 1 test that the base has and this change has not");
        assert_eq!(
            missing(&["a", "b"], 2),
            "make the tests pass that pass on the base: 2 of them fail, `a`, `b`; bring back the 2 tests that the base \
             has and this change has not"
        );
        let proof = MissingTests::Proof { reason: "tests/round.rs passes on the base too.".to_owned() };
        assert_eq!(
            fix(&RuleFailure::RequiredTest(proof)),
            "add a test that fails without the fix and passes with it: tests/round.rs passes on the base too"
        );
        let uncovered = [1, 2, 3, 4].map(|line| format!("a.rs:{line}")).to_vec();
        assert_eq!(
            fix(&RuleFailure::ChangedCoverage { percent: 99.96, least: 100.0, uncovered }),
            "99.9 % of the changed lines are covered; add tests until it is 100 %: a.rs:1, a.rs:2, a.rs:3 and 1 more place"
        );
        assert_eq!(
            fix(&RuleFailure::CoverageLost { head: 80.1, base: 80.3 }),
            "80.1 % of all lines are covered and 80.3 % on the base; cover what lost its tests"
        );
    }
}
