//! Evidence of checks that others run: their check runs and commit statuses, and workflows that did not start.

use std::collections::BTreeMap;

use crate::{
    evidence::{CheckEvidence, CheckKind, ErrorType, Failure, Outcome, RetryClass, SourceLocation},
    ids::CheckName,
    observed::{
        AnnotationLevel, ChangedFiles, CheckProgress, Conclusion, ExternalCheck, ReceivedEvidence, Snapshot,
        WorkflowRun,
    },
    policy::{CheckSource, ExternalSource},
    verdict::{CheckStanding, skipped_jobs},
};

/// Where GitHub looks for workflows.
const WORKFLOWS: &str = ".github/workflows/";
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
    for check in checks.iter().filter(|check| source.is_of(&check.name, check.app.as_deref())) {
        match ended(check, kind) {
            None => return CheckStanding::Running { url: check.url.clone() },
            Some(Ended::NotStarted) => not_started = Some(check.url.clone()),
            Some(Ended::With(outcome, class)) => {
                let evidence = evidence_of(check, name, kind, outcome, class);
                merged = merged.into_iter().chain([evidence]).reduce(CheckEvidence::merge);
            }
        }
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
    let failed_to_start = |run: &&WorkflowRun| run.progress.conclusion() == Some(Conclusion::StartupFailure);
    let run = runs.iter().filter(|run| run.is_newest_of(runs)).find(failed_to_start)?;
    Some(without_start(run.url.clone(), files))
}

/// The newest run of each listed workflow that has ended where none of its runs brought any evidence: the step that
/// brings it was not reached, or is not in the workflow.
pub fn silent_runs(snapshot: &Snapshot) -> impl Iterator<Item = &WorkflowRun> {
    let runs = &snapshot.workflow_runs;
    let has_ended = |run: &WorkflowRun| {
        use Conclusion::{ActionRequired, Skipped, Stale, StartupFailure};
        let conclusion = run.progress.conclusion();
        conclusion.is_some_and(|one| !matches!(one, Skipped | ActionRequired | StartupFailure | Stale))
    };
    // Evidence that does not say its run may be of any.
    let of = |received: &ReceivedEvidence| match received {
        ReceivedEvidence::Accepted(evidence) => evidence.workflow.as_ref().map(|origin| origin.run_id),
        ReceivedEvidence::Refused { run, .. } => *run,
    };
    let is_silent = move |run: &WorkflowRun| {
        let mut of_workflow = runs.iter().filter(|other| other.path == run.path);
        of_workflow.all(|other| snapshot.evidence.iter().all(|one| of(one).is_some_and(|id| id != other.id)))
    };
    runs.iter().filter(move |run| has_ended(run) && run.is_newest_of(runs) && is_silent(run))
}

/// A job of each App whose jobs a followed check takes, if these are several Apps and the check names none: any App
/// that may write a check of such a name decides it. A commit status has no App.
pub fn jobs_of_several_apps(snapshot: &Snapshot, source: &CheckSource) -> Option<Vec<(String, Option<String>)>> {
    let CheckSource::External(source @ ExternalSource { app: None, .. }) = source else { return None };
    let jobs = snapshot.checks.iter().filter(|job| source.is_of(&job.name, None));
    let by_app: BTreeMap<Option<&str>, &str> = jobs.map(|job| (job.app.as_deref(), job.name.as_str())).collect();
    let named = by_app.iter().take(MOST_NAMED).map(|(app, job)| ((*job).to_owned(), app.map(str::to_owned)));
    (by_app.len() > 1).then(|| named.collect())
}

fn without_start(url: Option<String>, files: &ChangedFiles) -> CheckStanding {
    let paths = files.known().iter().map(|file| &file.path).filter(|path| path.starts_with(WORKFLOWS));
    CheckStanding::NotStarted { url, edited_workflows: paths.take(MOST_NAMED).cloned().collect() }
}

enum Ended {
    With(Outcome, Option<RetryClass>),
    /// GitHub could not start it: an invalid workflow file, permissions, billing, no runner, an incident. No code ran,
    /// and its API does not say which of these it was.
    NotStarted,
}

/// None while no end is known: still running, waiting for somebody's approval to run, or made stale by GitHub.
fn ended(check: &ExternalCheck, kind: CheckKind) -> Option<Ended> {
    Some(match check.progress.conclusion()? {
        Conclusion::Success => Ended::With(Outcome::Passed, None),
        Conclusion::Neutral if !skipped_jobs::has_to_run(kind) => Ended::With(Outcome::Passed, None),
        Conclusion::Skipped | Conclusion::Neutral => Ended::With(Outcome::Skipped, None),
        Conclusion::Failure => Ended::With(Outcome::Failed, None),
        Conclusion::TimedOut => Ended::With(Outcome::TimedOut, Some(RetryClass::Logic)),
        Conclusion::Cancelled => Ended::With(Outcome::Cancelled, Some(RetryClass::External)),
        Conclusion::StartupFailure => Ended::NotStarted,
        Conclusion::ActionRequired | Conclusion::Stale => return None,
    })
}

/// The evidence is the check run (or status) itself.
fn evidence_of(
    check: &ExternalCheck,
    name: &CheckName,
    kind: CheckKind,
    outcome: Outcome,
    retry_class: Option<RetryClass>,
) -> CheckEvidence {
    let mut evidence = CheckEvidence::bare(name.clone(), kind, outcome);
    evidence.retry_class = retry_class;
    evidence.url.clone_from(&check.url);
    evidence.started_at = check.started_at;
    if let (Some(start), CheckProgress::Completed { at: Some(end), .. }) = (check.started_at, check.progress) {
        evidence.duration_ms = u64::try_from((end - start).num_milliseconds()).unwrap_or(0);
    }
    if let Some(output) = check.output.as_ref().filter(|_| outcome.is_failure()) {
        evidence.failures = output.failures.iter().map(|failure| of_kind(failure, kind)).collect();
        evidence.failures_not_kept = output.failures_not_kept;
        evidence.findings.clone_from(&output.findings);
        evidence.excerpts = vec![output.excerpt.clone()];
    }
    if outcome.is_failure() && evidence.failures.is_empty() {
        let failing = check.annotations.iter().filter(|annotation| annotation.level == AnnotationLevel::Failure);
        evidence.failures = failing
            .map(|annotation| Failure {
                error_type: error_type_of(kind),
                error_class: annotation.title.clone(),
                error_message: annotation.message.clone(),
                test_file: Some(annotation.path.clone()),
                line_number: Some(annotation.line),
                source: Some(SourceLocation {
                    file: annotation.path.clone(),
                    line: Some(annotation.line),
                    function: None,
                }),
                ..Failure::default()
            })
            .collect();
        // A check without a message gets no failure: an invented one would hide that the cause is unknown.
        if let (true, Some(summary)) = (evidence.failures.is_empty(), &check.summary) {
            evidence.failures.push(Failure {
                error_type: error_type_of(kind),
                error_message: summary.clone(),
                ..Failure::default()
            });
        }
    }
    evidence
}

fn of_kind(failure: &Failure, kind: CheckKind) -> Failure {
    match failure.error_type {
        ErrorType::Other => Failure { error_type: error_type_of(kind), ..failure.clone() },
        _ => failure.clone(),
    }
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
