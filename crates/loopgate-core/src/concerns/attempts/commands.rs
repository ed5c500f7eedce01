//! Commands that ask for evidence again.

use std::collections::BTreeSet;

use crate::{
    commands::{Execution, Verb},
    concerns::{
        attempts::{comparison, rerun},
        checks::gather::HeadEvidence,
        verdict::blame::{self, CheckBlame},
    },
    failure::Blame,
    ids::{CheckName, Login},
    state::AnswerOutcome,
};

/// Whose fault each failing check of the head is, while commands are carried out.
pub fn blames(run: &Execution<'_>, evidence: &HeadEvidence) -> Vec<CheckBlame> {
    let snapshot = run.cx.snapshot;
    let counted = run.next.attempt_of(snapshot.pull_request.head.sha);
    blame::blames(snapshot, evidence, &comparison::flaky(counted, evidence))
}

/// Asks for evidence again: what is missing and what says nothing of the code; `retry` also for what fails.
pub fn run_again(
    run: &mut Execution<'_>,
    by: &Login,
    verb: Verb,
    evidence: &HeadEvidence,
) -> AnswerOutcome {
    let mut wanted: BTreeSet<CheckName> = evidence.missing().into_iter().collect();
    let blames = blames(run, evidence);
    let again = |blame: &&CheckBlame| {
        verb == Verb::Retry
            || matches!(
                blame.blame,
                Blame::Infrastructure | Blame::Inconclusive | Blame::Flaky
            )
    };
    wanted.extend(blames.iter().filter(again).map(|blame| blame.check.clone()));
    if wanted.is_empty() {
        return AnswerOutcome::LookedAgain;
    }
    rerun::wish(run.cx, run.next, wanted, by)
}

/// Whether what was asked for with these checks was asked for a moment ago.
pub fn was_asked_lately(run: &Execution<'_>, checks: &BTreeSet<CheckName>) -> bool {
    let reruns = run.next.concerns.checks.reruns.iter();
    let asked = reruns.filter(|rerun| !rerun.checks.is_disjoint(checks));
    asked
        .map(|rerun| rerun.at)
        .max()
        .is_some_and(|at| run.cx.now < at + rerun::WINDOW)
}
