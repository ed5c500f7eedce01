//! Jobs of others that were skipped: a skipped job is no pass.

use super::standing::SkipCause;
use crate::{
    evidence::{CheckKind, Outcome},
    ids::CheckName,
    observed::{Conclusion, ExternalCheck, Snapshot},
    policy::{CheckPolicy, CheckSource, Look, WhenSkipped},
    source_files::{FileKind, kind},
    verdict::CheckStanding,
};

/// Whether a skip of a check of this kind has to be explained: nothing was built, or no test ran.
pub(super) const fn has_to_run(kind: CheckKind) -> bool {
    matches!(kind, CheckKind::Build | CheckKind::Test)
}

/// Where a followed check stands of which the job was skipped. `is_released`: a person took responsibility on this head.
pub(super) fn standing(
    look: Look<'_>,
    name: &CheckName,
    job: &ExternalCheck,
    when: WhenSkipped,
    is_released: bool,
) -> CheckStanding {
    let cause = match when {
        WhenSkipped::Pass => None,
        _ if is_released => None,
        WhenSkipped::Wait => Some(SkipCause::Configured),
        WhenSkipped::Auto => failed_before(look.snapshot, job)
            .map(|failed| SkipCause::Needs { failed: failed.name.clone() })
            .or_else(|| nothing_ran(look, name).then_some(SkipCause::NothingRan)),
    };
    match cause {
        Some(cause) => CheckStanding::AwaitsRelease { job: job.name.clone(), cause, url: job.url.clone() },
        None => CheckStanding::NotApplicable { job: job.name.clone(), url: job.url.clone() },
    }
}

/// A job of the same workflow run that failed or was cancelled, so that this one was not started.
fn failed_before<'s>(snapshot: &'s Snapshot, job: &ExternalCheck) -> Option<&'s ExternalCheck> {
    let run = workflow_run(job)?;
    snapshot.checks.iter().filter(|other| workflow_run(other) == Some(run)).find(|other| {
        use Conclusion::{Cancelled, Failure, StartupFailure, TimedOut};
        matches!(other.progress.conclusion(), Some(Failure | TimedOut | Cancelled | StartupFailure))
    })
}

/// The workflow run in the address of a job, `…/actions/runs/7/job/9`.
fn workflow_run(job: &ExternalCheck) -> Option<&str> {
    let (_, rest) = job.url.as_deref()?.split_once("/actions/runs/")?;
    rest.split('/').next()
}

/// Whether code, manifests, CI or configuration change, and no check of this kind ran, although one usually does: on the
/// base, or on an earlier head of this run. Where nothing is known of that, one does.
fn nothing_ran(Look { snapshot, policy, .. }: Look<'_>, name: &CheckName) -> bool {
    let Some(own) = policy.verify.checks.get(name) else { return false };
    let matters = |path: &str| {
        matches!(kind(path), FileKind::Code | FileKind::Tests | FileKind::Manifest | FileKind::Ci | FileKind::Config)
    };
    let changes = snapshot.files.known().iter().flat_map(|file| file.paths()).any(matters);
    let of_kind = || policy.verify.checks.iter().filter(|(_, check)| check.kind == own.kind);
    let on_base = snapshot.base_evidence.as_ref().map(|base| &base.checks);
    let usually = on_base.is_none_or(|checks| {
        let known: Vec<Outcome> = of_kind().filter_map(|(name, _)| Some(checks.get(name)?.outcome)).collect();
        known.is_empty() || known.iter().any(|outcome| *outcome != Outcome::Skipped)
    });
    changes && usually && !of_kind().any(|(name, check)| ran(snapshot, name, check))
}

/// Whether anything of a check ran on the head, or still runs.
fn ran(snapshot: &Snapshot, name: &CheckName, check: &CheckPolicy) -> bool {
    match &check.source {
        CheckSource::External(source) => {
            snapshot.checks.iter().filter(|job| source.is_of(&job.name, job.app.as_deref())).any(|job| !is_skipped(job))
        }
        CheckSource::Reviewer(_) => false,
        CheckSource::Command(_) => {
            let mut done = snapshot.evidence_of_head().flat_map(|evidence| &evidence.checks);
            done.any(|done| &done.name == name && done.outcome != Outcome::Skipped)
        }
    }
}

/// GitHub's `neutral` says as little as `skipped`.
pub(super) const fn is_skipped(job: &ExternalCheck) -> bool {
    matches!(job.progress.conclusion(), Some(Conclusion::Skipped | Conclusion::Neutral))
}
