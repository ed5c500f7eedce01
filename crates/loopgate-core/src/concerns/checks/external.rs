//! Evidence of checks that others run: their check runs and commit statuses, and workflows that did not start. A
//! skipped job is no pass.

use std::collections::BTreeMap;

use crate::{
    concerns::checks::{
        CheckStanding, SkipCause, SkippedJob,
        filters::{BaseWorkflows, WORKFLOWS},
    },
    evidence::{CheckEvidence, CheckKind, ErrorType, Failure, Outcome, RetryClass, SourceLocation},
    ids::CheckName,
    observed::{
        Annotation, AnnotationLevel, ChangedFiles, CheckProgress, Conclusion, ExternalCheck,
        ReceivedEvidence, Snapshot, WorkflowRun,
    },
    policy::{CheckPolicy, CheckSource, Context, ExternalSource, WhenSkipped},
    source_files::{FileKind, kind},
};

/// Changed workflow files, and Apps of one check's jobs, named at most.
const MOST_NAMED: usize = 5;
/// What is known of a check from those of a commit's check runs and statuses that it is mapped to; several must all
/// pass. `files` are the change's: where a workflow did not start, those that describe workflows may be why.
pub fn standing(
    checks: &[ExternalCheck],
    name: &CheckName,
    kind: CheckKind,
    source: &ExternalSource,
    files: &ChangedFiles,
) -> CheckStanding {
    let mut merged: Option<CheckEvidence> = None;
    let mut not_started = None;
    for check in checks.iter().filter(|check| source.takes(check)) {
        let (outcome, class) = match check.progress.conclusion() {
            Some(Conclusion::Success) => (Outcome::Passed, None),
            Some(Conclusion::Neutral) if !has_to_run(kind) => (Outcome::Passed, None),
            Some(Conclusion::Skipped | Conclusion::Neutral) => (Outcome::Skipped, None),
            Some(Conclusion::Failure) => (Outcome::Failed, None),
            Some(Conclusion::TimedOut) => (Outcome::TimedOut, Some(RetryClass::Logic)),
            Some(Conclusion::Cancelled) => (Outcome::Cancelled, Some(RetryClass::External)),
            // GitHub could not start it: an invalid workflow file, permissions, billing, no runner, an incident. No
            // code ran, and its API does not say which of these it was.
            Some(Conclusion::StartupFailure) => {
                not_started = Some(check.url.clone());
                continue;
            }
            // Still running, waiting for somebody's approval to run, or made stale by GitHub.
            None | Some(Conclusion::ActionRequired | Conclusion::Stale) => {
                return CheckStanding::Running {
                    url: check.url.clone(),
                    is_queued: check.progress == CheckProgress::Queued,
                };
            }
        };
        let bare = CheckEvidence {
            retry_class: class,
            ..CheckEvidence::bare(name.clone(), kind, outcome)
        };
        let evidence = evidence_of(check, bare);
        merged = merged
            .into_iter()
            .chain([evidence])
            .reduce(CheckEvidence::merge);
    }
    match (merged, not_started) {
        // A failure is final although something did not start. A pass is not, since part of the check is missing.
        (Some(evidence), Some(url)) if !evidence.outcome.is_failure() => without_start(url, files),
        (Some(evidence), _) => CheckStanding::Done(Box::new(evidence)),
        (None, Some(url)) => without_start(url, files),
        (None, None) => CheckStanding::Missing,
    }
}

/// The standing of a check whose evidence was to come from these workflow runs, and none has: it did not start if the
/// newest run of a workflow did not.
pub fn without_evidence(runs: &[WorkflowRun], files: &ChangedFiles) -> Option<CheckStanding> {
    let failed_to_start =
        |run: &&WorkflowRun| run.progress.conclusion() == Some(Conclusion::StartupFailure);
    let run = runs
        .iter()
        .filter(|run| run.is_newest_of(runs))
        .find(failed_to_start)?;
    Some(without_start(run.url.clone(), files))
}

/// The newest run of each listed workflow that has ended where none of its runs brought any evidence: the step that
/// brings it was not reached, or is not in the workflow.
pub fn silent_runs(snapshot: &Snapshot) -> impl Iterator<Item = &WorkflowRun> {
    let runs = &snapshot.workflow_runs;
    let has_ended = |run: &WorkflowRun| {
        use Conclusion::{ActionRequired, Skipped, Stale, StartupFailure};
        let conclusion = run.progress.conclusion();
        conclusion
            .is_some_and(|one| !matches!(one, Skipped | ActionRequired | StartupFailure | Stale))
    };
    // Evidence that does not say its run may be of any.
    let of = |received: &ReceivedEvidence| match received {
        ReceivedEvidence::Accepted(evidence) => {
            evidence.workflow.as_ref().map(|origin| origin.run_id)
        }
        ReceivedEvidence::Refused { run, .. } => *run,
    };
    let is_silent = move |run: &WorkflowRun| {
        let mut of_workflow = runs.iter().filter(|other| other.path == run.path);
        of_workflow.all(|other| {
            snapshot
                .evidence
                .iter()
                .all(|one| of(one).is_some_and(|id| id != other.id))
        })
    };
    runs.iter()
        .filter(move |run| has_ended(run) && run.is_newest_of(runs) && is_silent(run))
}

/// A job of each App whose jobs a followed check takes, if these are several Apps and the check names none: any App
/// that may write a check of such a name decides it. A commit status has no App.
pub fn jobs_of_several_apps(
    snapshot: &Snapshot,
    source: &CheckSource,
) -> Option<Vec<(String, Option<String>)>> {
    let CheckSource::External(source @ ExternalSource { app: None, .. }) = source else {
        return None;
    };
    let jobs = snapshot.checks.iter().filter(|job| source.takes(job));
    let by_app: BTreeMap<Option<&str>, &str> = jobs
        .map(|job| (job.app.as_deref(), job.name.as_str()))
        .collect();
    let named = by_app
        .iter()
        .take(MOST_NAMED)
        .map(|(app, job)| ((*job).to_owned(), app.map(str::to_owned)));
    (by_app.len() > 1).then(|| named.collect())
}

fn without_start(url: Option<String>, files: &ChangedFiles) -> CheckStanding {
    let paths = files
        .known()
        .iter()
        .map(|file| &file.path)
        .filter(|path| path.starts_with(WORKFLOWS));
    CheckStanding::NotStarted {
        url,
        edited_workflows: paths.take(MOST_NAMED).cloned().collect(),
    }
}

/// The evidence is the check run (or status) itself.
fn evidence_of(check: &ExternalCheck, mut evidence: CheckEvidence) -> CheckEvidence {
    let (kind, outcome) = (evidence.kind, evidence.outcome);
    evidence.url.clone_from(&check.url);
    evidence.started_at = check.started_at;
    if let (Some(start), CheckProgress::Completed { at: Some(end), .. }) =
        (check.started_at, check.progress)
    {
        evidence.duration_ms = u64::try_from((end - start).num_milliseconds()).unwrap_or(0);
    }
    if let Some(output) = check.output.as_ref().filter(|_| outcome.is_failure()) {
        evidence.failures.clone_from(&output.failures);
        for failure in evidence
            .failures
            .iter_mut()
            .filter(|failure| failure.error_type == ErrorType::Other)
        {
            failure.error_type = error_type_of(kind);
        }
        evidence.failures_not_kept = output.failures_not_kept;
        evidence.findings.clone_from(&output.findings);
        evidence.excerpts = vec![output.excerpt.clone()];
    }
    if outcome.is_failure() && evidence.failures.is_empty() {
        // The runner's own annotation of a step that failed names no error, and is the same for two.
        let is_of_runner = |found: &Annotation| {
            found.path == ".github"
                && found
                    .message
                    .starts_with("Process completed with exit code ")
        };
        let failing = check.annotations.iter();
        let failing =
            failing.filter(|found| found.level == AnnotationLevel::Failure && !is_of_runner(found));
        let failures = failing.map(|annotation| {
            let (file, line) = (annotation.path.clone(), Some(annotation.line));
            Failure {
                error_class: annotation.title.clone(),
                test_file: Some(file.clone()),
                line_number: line,
                source: Some(SourceLocation {
                    file,
                    line,
                    function: None,
                }),
                ..Failure::of(error_type_of(kind), &annotation.message)
            }
        });
        evidence.failures = failures.collect();
        // A check without a message gets no failure: an invented one would hide that the cause is unknown.
        if let (true, Some(summary)) = (evidence.failures.is_empty(), &check.summary) {
            evidence
                .failures
                .push(Failure::of(error_type_of(kind), summary));
        }
    }
    evidence
}

/// What an annotation of a check of this kind most probably is.
const fn error_type_of(kind: CheckKind) -> ErrorType {
    match kind {
        CheckKind::Build => ErrorType::CompileError,
        CheckKind::Lint => ErrorType::LintError,
        CheckKind::Types => ErrorType::TypeError,
        _ => ErrorType::Other,
    }
}

/// Whether a skip of a check of this kind has to be explained: nothing was built, or no test ran.
const fn has_to_run(kind: CheckKind) -> bool {
    matches!(kind, CheckKind::Build | CheckKind::Test)
}

/// Where a followed check stands on the head, and what a skipped job of it means, or one that the filter of its
/// workflow keeps away. `is_released` is whether a person took responsibility for its skipped jobs on this head.
pub(super) fn on_head(
    cx: Context<'_>,
    name: &CheckName,
    kind: CheckKind,
    source: &ExternalSource,
    is_released: bool,
    workflows: &BaseWorkflows,
) -> CheckStanding {
    let checks = &cx.snapshot.checks;
    let found = standing(checks, name, kind, source, &cx.snapshot.files);
    let mut failed = None;
    let skipped = match &found {
        CheckStanding::Done(done) if has_to_run(kind) && !done.outcome.is_failure() => {
            let mut jobs = checks.iter().filter(|job| source.takes(job));
            jobs.find(|job| is_skipped(job)).map(|job| {
                failed = failed_beside(checks, job);
                SkippedJob {
                    name: job.name.clone(),
                    url: job.url.clone(),
                    filter: None,
                }
            })
        }
        CheckStanding::Missing => workflows.keep_out(source),
        _ => None,
    };
    let Some(job) = skipped else {
        return found;
    };
    let cause = match source.when_skipped {
        _ if is_released => None,
        WhenSkipped::Pass => None,
        WhenSkipped::Wait => Some(SkipCause::Configured),
        WhenSkipped::Auto => failed
            .map(|failed| SkipCause::Needs { failed })
            .or_else(|| nothing_ran(cx, name).then_some(SkipCause::NothingRan)),
    };
    match cause {
        Some(cause) => CheckStanding::AwaitsRelease { job, cause },
        // Others of its jobs passed, and nothing is missing.
        None if matches!(&found, CheckStanding::Done(done) if done.outcome != Outcome::Skipped) => {
            found
        }
        None => CheckStanding::NotApplicable { job },
    }
}

/// Where a check stands whose evidence workflows bring, if filters keep all of these from the pull request.
pub(super) fn kept_out(
    cx: Context<'_>,
    name: &CheckName,
    is_released: bool,
    workflows: &BaseWorkflows,
) -> Option<CheckStanding> {
    let job = workflows.keep_out_all()?;
    Some(if !is_released && nothing_ran(cx, name) {
        CheckStanding::AwaitsRelease {
            job,
            cause: SkipCause::NothingRan,
        }
    } else {
        CheckStanding::NotApplicable { job }
    })
}

/// A job of the same workflow run that failed or was cancelled, so that this one was not started.
fn failed_beside(checks: &[ExternalCheck], job: &ExternalCheck) -> Option<String> {
    use Conclusion::{Cancelled, Failure, StartupFailure, TimedOut};
    let run = job.workflow_run()?;
    let mut of_run = checks
        .iter()
        .filter(|other| other.workflow_run() == Some(run));
    let failed = of_run.find(|other| {
        matches!(
            other.progress.conclusion(),
            Some(Failure | TimedOut | Cancelled | StartupFailure)
        )
    });
    failed.map(|failed| failed.name.clone())
}

/// Whether a build or tests had to run: code, manifests, CI or configuration change, and no check of this kind ran,
/// although one usually does: on the base, or on an earlier head of this run. Where nothing is known of that, one does.
fn nothing_ran(
    Context {
        snapshot, policy, ..
    }: Context<'_>,
    name: &CheckName,
) -> bool {
    let Some(own) = policy.verify.checks.get(name) else {
        return false;
    };
    if !has_to_run(own.kind) {
        return false;
    }
    let matters = |path: &str| {
        matches!(
            kind(path),
            FileKind::Code | FileKind::Tests | FileKind::Manifest | FileKind::Ci | FileKind::Config
        )
    };
    let changes = snapshot
        .files
        .known()
        .iter()
        .flat_map(|file| file.paths())
        .any(matters);
    let of_kind = || {
        policy
            .verify
            .checks
            .iter()
            .filter(|(_, check)| check.kind == own.kind)
    };
    let on_base = snapshot.base_evidence.as_ref().map(|base| &base.checks);
    let usually = on_base.is_none_or(|checks| {
        let known: Vec<Outcome> = of_kind()
            .filter_map(|(name, _)| Some(checks.get(name)?.outcome))
            .collect();
        known.is_empty() || known.iter().any(|outcome| *outcome != Outcome::Skipped)
    });
    // Whether anything of a check ran on the head, or still runs.
    let ran = |(name, check): (&CheckName, &CheckPolicy)| match &check.source {
        CheckSource::External(source) => snapshot
            .checks
            .iter()
            .filter(|job| source.takes(job))
            .any(|job| !is_skipped(job)),
        CheckSource::Reviewer(_) => false,
        CheckSource::Command(_) => {
            let mut done = snapshot
                .evidence_of_head()
                .flat_map(|evidence| &evidence.checks);
            done.any(|done| &done.name == name && done.outcome != Outcome::Skipped)
        }
    };
    changes && usually && !of_kind().any(ran)
}

/// GitHub's `neutral` says as little as `skipped`.
const fn is_skipped(job: &ExternalCheck) -> bool {
    matches!(
        job.progress.conclusion(),
        Some(Conclusion::Skipped | Conclusion::Neutral)
    )
}
