//! What a row of attempts shows: streaks, repeated errors, circles, stagnation and regressions. It is
//! computed from the fingerprints and trees of all attempts, without a policy.

use std::collections::BTreeSet;

use crate::{
    attempts::Circle,
    evidence::{TestId, TestState},
    ids::Fingerprint,
    state::{AttemptDigest, Lacking},
};

/// A number of attempts.
pub fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Failing attempts at the end of the list that each share an error with the one before. Two attempts that both do not
/// say what failed share one: their logs may differ in nothing but a time of day.
pub fn streak(attempts: &[&AttemptDigest]) -> u32 {
    let silent = |attempt: &AttemptDigest| attempt.lacking == Some(Lacking::Explanation);
    let mut length = 0;
    let mut later: Option<&AttemptDigest> = None;
    for attempt in attempts.iter().rev() {
        let goes_on = later.is_none_or(|later| {
            !later.fingerprints.is_disjoint(&attempt.fingerprints) || silent(later) && silent(attempt)
        });
        if !attempt.spent() || !goes_on {
            break;
        }
        length += 1;
        later = Some(attempt);
    }
    length
}

/// In how many attempts at the end of the list one fingerprint is, without a gap: the most of any.
pub fn longest_repeat(attempts: &[&AttemptDigest]) -> u32 {
    let run_of = |print: &Fingerprint| {
        let has = |attempt: &&&AttemptDigest| attempt.spent() && attempt.fingerprints.contains(print);
        count(attempts.iter().rev().take_while(has).count())
    };
    attempts.last().and_then(|last| last.fingerprints.iter().map(run_of).max()).unwrap_or(0)
}

/// Tests that fail in the last attempt and passed in the one before it, or on the base where that did not run them.
pub fn regressed(last: &AttemptDigest, earlier: &[&AttemptDigest]) -> BTreeSet<String> {
    let Some(before) = earlier.last() else { return BTreeSet::new() };
    let tests = before.tests.as_ref();
    let was_green =
        |id: TestId| matches!(tests.and_then(|tests| tests.state(id)), Some(TestState::Passed | TestState::Flaky));
    let failing = last.failing_tests.iter().filter(|(_, id)| id.is_some_and(was_green));
    failing.map(|(name, _)| name).chain(&last.regressed).cloned().collect()
}

/// A failure that was fixed, gave way to another, and is back; or a tree that failed before and is back.
pub fn circle(spent: &[&AttemptDigest]) -> Option<Circle> {
    let (last, earlier) = spent.split_last()?;
    let (before, older) = earlier.split_last()?;
    let returned = older.iter().rev().find(|old| {
        !old.fingerprints.is_disjoint(&last.fingerprints)
            && last.fingerprints.intersection(&old.fingerprints).any(|print| !before.fingerprints.contains(print))
    });
    if let Some(old) = returned {
        return Some(Circle::Failure { first: old.number, gone: before.number, back: last.number });
    }
    let same_tree =
        older.iter().rev().find(|old| old.tree_hash == last.tree_hash && before.tree_hash != last.tree_hash);
    same_tree.map(|old| Circle::Code { first: old.number, again: last.number })
}

/// How many of the last steps gained less than 0.02 without a fail-severity blocker.
pub fn stagnation(spent: &[&AttemptDigest]) -> u32 {
    let stands_still = |pair: &&[&AttemptDigest]| {
        let gained = i16::from(pair[1].score.hundredths()) - i16::from(pair[0].score.hundredths());
        gained < 2 && pair.iter().all(|attempt| attempt.failed_rules.is_empty())
    };
    count(spent.windows(2).rev().take_while(|pair| stands_still(pair)).count())
}

/// How many different errors the attempts have in all.
pub fn distinct(spent: &[&AttemptDigest]) -> usize {
    spent.iter().flat_map(|attempt| &attempt.fingerprints).collect::<BTreeSet<_>>().len()
}
