//! Comparison 1: which tests ran before and do not run now.

use super::{Change, Comparison, Deed, Tampering, Weight};
use crate::evidence::{OutcomesExtent, TestId, TestOutcomes, TestState};

/// Tests that ran before and do not run now, more than the tests that the change is seen to remove. It is a proof where a
/// file that selects tests is changed; else the reason may lie outside of the change.
pub(super) fn compare(change: &Change<'_>, found: &[Tampering]) -> Option<Tampering> {
    let now = change.ran_now.as_ref()?;
    let before = change.ran_before.iter().max_by_key(|before| before.len())?;
    let is_whole = [before, now].iter().all(|tests| tests.extent() == OutcomesExtent::Whole);
    let runs = |tests: &TestOutcomes, id: TestId| tests.state(id).is_some_and(|state| state != TestState::Skipped);
    let ran = |tests: &TestOutcomes| tests.iter().filter(|test| test.state() != TestState::Skipped).count();
    let (were, are) = (ran(before), ran(now));
    let gone = before.iter().filter(|test| runs(before, test.id()) && !runs(now, test.id())).count();
    let removed = found.iter().filter(|one| one.deed.gone().is_some()).count();
    // As many may have another name now.
    let fewer = were.saturating_sub(are);
    if !is_whole || fewer == 0 || fewer <= removed {
        return None;
    }
    let selects = found.iter().any(|one| one.deed.comparison() == Comparison::Selection);
    let deed = Deed::RanFewer { before: were, after: are, gone };
    let weight = if selects { Weight::Proof } else { change.ground(false) };
    Some(Tampering { deed, weight, path: None, line: 0, hunk: Vec::new() })
}
