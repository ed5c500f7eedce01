//! Comparisons 1 and 4: how many tests ran, and what the base's tests say of the head.

use super::{
    change::{Change, names},
    finding::{Comparison, Tampering, Weight},
};
use crate::evidence::{BaseTestRun, ProofEnd, is_declared};

/// Tests that ran before and do not run now, more than the tests that the change is seen to remove. It is a proof where
/// one of them failed, a file that selects tests is changed, or only a fixer changed anything since they ran; else the
/// reason may lie outside of the change.
pub(super) fn fewer_ran(change: &Change<'_>, found: &[Tampering]) -> Option<Tampering> {
    let (before, now) = change.runs.ran?;
    // As many may have another name now. What a fixer takes away is refused, so that then none has.
    let gone = found
        .iter()
        .filter(|one| one.gone.is_some() && !change.runs.follow_fix)
        .count() as u64;
    let selects = found
        .iter()
        .any(|one| one.comparison == Comparison::Selection);
    let holds = selects || change.runs.follow_fix || change.runs.lack_failed();
    let deed = format!("fewer tests run now: {before} before, {now} after");
    (before > now.saturating_add(gone)).then(|| change.finding(Comparison::Ran, holds, deed))
}

/// A changed test that passes as changed and fails as it was, unless each that fails so was settled to be wrong, or is
/// shown to go with the code that it calls.
pub(super) fn base_test(
    change: &Change<'_>,
    run: &BaseTestRun,
    found: &[Tampering],
) -> Option<Tampering> {
    let is_shown =
        |one: &&Tampering| one.weight == Weight::Ground && one.path.as_ref() == Some(&run.file);
    let gone = found
        .iter()
        .filter(is_shown)
        .filter_map(|one| one.gone.as_deref());
    let is_cleared = |test: &String| {
        names(&change.runs.wrong, test) || gone.clone().any(|gone| is_declared(test, gone))
    };
    if run.on_head != ProofEnd::Failed
        || !run.failing.is_empty() && run.failing.iter().all(is_cleared)
    {
        return None;
    }
    let fail = "the checks fail with the file as it was before";
    let failing: Vec<String> = run
        .failing
        .iter()
        .take(3)
        .map(|test| format!("“{test}”"))
        .collect();
    let deed = if failing.is_empty() {
        fail.to_owned()
    } else {
        format!("{fail}: {}", failing.join(", "))
    };
    let failed = run
        .failing
        .iter()
        .any(|test| names(&change.runs.failed, test));
    Some(
        change
            .finding(Comparison::BaseTests, failed, deed)
            .at(&run.file, &[], &[]),
    )
}
