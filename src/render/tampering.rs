//! How a change weakens what checks it, as one clause. Names from outside stand in it as they are; who shows it makes it
//! safe.

use loopgate_core::verdict::tamper::Tampering;

pub(super) fn tampering(found: &Tampering) -> String {
    match (&found.path, found.line) {
        (Some(path), 0) => format!("{path}: {}", found.deed),
        (Some(path), line) => format!("{path}:{line}: {}", found.deed),
        (None, _) => found.deed.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopgate_core::verdict::tamper::{Deed, Weight};

    /// The sentences that no story of `decided_tests` meets.
    #[test]
    fn what_is_rarely_found() {
        let test = || "a".to_owned();
        let words = || "true".to_owned();
        let table = [
            (
                Deed::TestRemoved { test: test(), with_subject: true },
                "the test “a” is removed with the code that it calls",
            ),
            (Deed::TestMarked { test: String::new(), mark: "@skip".into() }, "`@skip` keeps the file from running"),
            (Deed::FewerAssertions { test: test(), before: 2, after: 1 }, "“a” asserts less: 2 before, 1 after"),
            (Deed::WeakerMatcher { test: test() }, "“a” accepts values that it refused before"),
            (Deed::ValueComputed { test: test() }, "“a” computes a value that it stated before"),
            (Deed::ValueChanged { test: test() }, "“a” expects another value, and no program code changes"),
            (Deed::FewerRows { test: test() }, "“a” loses rows of parameters"),
            (Deed::SwallowsErrors { test: test() }, "“a” catches errors that made it fail before"),
            (Deed::FailingTestEdited { test: test(), helper: None }, "“a” failed before, and is edited"),
            (
                Deed::FailingTestEdited { test: test(), helper: Some("b".into()) },
                "“a” failed before, and `b`, which it uses, is edited",
            ),
            (Deed::SnapshotChanged, "recorded output is replaced"),
            (Deed::Unreadable, "its tests cannot be read"),
            (Deed::CommandGone { command: words() }, "the test command `true` is gone"),
            (Deed::CommandNarrowed { words: words() }, "the test command selects other tests: `true`"),
            (Deed::FailuresIgnored { words: words() }, "failures are ignored: `true`"),
            (Deed::SelectionChanged { words: words() }, "a setting selects or retries tests: `true`"),
            (Deed::ThresholdLowered { from: "90".into(), to: "70".into() }, "a threshold falls from 90 to 70"),
            (Deed::FindingSuppressed { words: words() }, "a finding that failed before is suppressed: `true`"),
            (Deed::AsksForTests { words: words() }, "the program asks whether it is tested: `true`"),
            (Deed::EndsTheRun { words: words() }, "the test run is ended with success: `true`"),
            (Deed::FailsAsItWas { tests: vec![test(), test()] }, "“a”, “a” fails as it was before"),
        ];
        for (deed, words) in table {
            let found =
                Tampering { deed, weight: Weight::Ground, path: Some("t.py".into()), line: 3, hunk: Vec::new() };
            assert_eq!(tampering(&found), format!("t.py:3: {words}"));
        }
        let deed = Deed::RanFewer { before: 9, after: 7, gone: 2 };
        let found = Tampering { deed, weight: Weight::Proof, path: None, line: 0, hunk: Vec::new() };
        assert_eq!(tampering(&found), "2 tests that ran before do not run now (9 before, 7 after)");
    }
}
