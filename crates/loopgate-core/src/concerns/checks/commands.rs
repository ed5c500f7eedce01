//! Commands about checks: what a person skips, and what they let go.

use std::collections::BTreeSet;

use crate::{
    commands::{Acceptable, CarriedOut, Execution},
    concerns::{
        checks::{
            CheckStanding,
            gather::{CheckView, HeadEvidence},
        },
        gates::{self, CommandLine},
    },
    evidence::{CheckKind, Outcome},
    ids::CheckName,
    state::{AnswerOutcome, CommandRefusal, Release, Skip, history::Event},
};

/// Skips a check for a reason: not one that builds or tests unless the policy allows it, and not one of the own work.
///
/// # Errors
/// When there is no such check, or this account may not skip it.
pub fn skip(
    run: &mut Execution<'_>,
    line: &CommandLine,
    check: &CheckName,
    reason: &str,
) -> CarriedOut {
    let Some(configured) = run.cx.policy.verify.checks.get(check) else {
        let names = run.cx.policy.verify.checks.keys();
        let nearest = names
            .min_by_key(|name| strsim::osa_distance(check.as_str(), name.as_str()))
            .cloned();
        return Err(CommandRefusal::UnknownCheck {
            check: check.clone(),
            nearest,
        });
    };
    if gates::wrote(run.cx.snapshot, &line.by) {
        return Err(CommandRefusal::OwnWork);
    }
    let is_execution = matches!(configured.kind, CheckKind::Build | CheckKind::Test);
    if is_execution && !run.cx.policy.retry.execution_gate.allow_skip {
        return Err(CommandRefusal::NeverSkipped {
            check: check.clone(),
        });
    }
    if run
        .next
        .people
        .skips
        .iter()
        .all(|skip| &skip.check != check)
    {
        let skip = Skip {
            check: check.clone(),
            reason: reason.to_owned(),
            by: line.by.login.clone(),
            at: line.at,
        };
        run.events.push(Event::CheckSkipped(skip.clone()));
        run.next.people.skips.push(skip);
    }
    Ok(AnswerOutcome::Skipped {
        check: check.clone(),
    })
}

/// Lets go what no evidence shows: a check's results by test for the run, or jobs that were skipped on this head.
///
/// # Errors
/// When nothing of the kind waits, or this account may not release it.
pub fn release(
    run: &mut Execution<'_>,
    line: &CommandLine,
    what: Acceptable,
    evidence: &HeadEvidence,
) -> Result<(), CommandRefusal> {
    let is_meant = |check: &CheckView| match what {
        Acceptable::Skipped => matches!(check.standing, CheckStanding::AwaitsRelease { .. }),
        _ => check
            .evidence()
            .is_some_and(|found| found.outcome == Outcome::ResultsLost),
    };
    let checks = evidence
        .checks
        .iter()
        .filter(|(_, check)| is_meant(check))
        .map(|(name, _)| name.clone());
    let checks: BTreeSet<CheckName> = checks.collect();
    if checks.is_empty() {
        return Err(CommandRefusal::NothingToResume);
    }
    if !gates::may_accept(run.cx.snapshot, run.next, &line.by) {
        return Err(CommandRefusal::OwnWork);
    }
    let (by, head) = (line.by.login.clone(), run.next.head.sha);
    run.next.people.releases.retain(|known| {
        known.what != what.as_str() || known.head == head || what != Acceptable::Skipped
    });
    run.next.people.releases.push(Release {
        what: what.as_str().to_owned(),
        checks,
        head,
        by,
        at: line.at,
    });
    Ok(())
}
