//! Evidence of the head commit: for every check of the policy, what is known of it from artifacts, check runs, commit
//! statuses and skips.

use std::{
    cell::LazyCell,
    collections::{BTreeMap, BTreeSet},
};

use indexmap::IndexMap;

use super::{external, filters::BaseWorkflows, matrix_jobs, silence};
use crate::{
    concerns::{
        checks::{CheckStanding, Silence},
        coverage::{self, TestsStanding},
        reviewers,
    },
    evidence::{
        ChangedCoverage, CheckEvidence, CheckKind, Evidence, Finding, FindingSeverity, Outcome,
        RepeatedTest, TestId, TestOutcomes, TestState, WorkflowOrigin, check_consistent,
    },
    failure::{self, Blame},
    ids::{CheckName, FailureId, Sha, Timestamp},
    observed::{ACTIONS, BaseEvidence, CheckProgress, ReceivedEvidence, Snapshot},
    policy::{CheckPolicy, CheckSource, Context, Policy, RequiredTest, Severity},
    state::{AttemptDigest, Dispute, DisputeEnd, Settlement, Skip},
};

/// Flaky new tests that are shown.
const MOST_FLAKY: usize = 10;

/// What is known of every check of the policy on the head commit, in the policy's order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeadEvidence {
    pub checks: IndexMap<CheckName, CheckView>,
    /// Of all jobs together, checked against the diff.
    pub coverage: Option<ChangedCoverage>,
    /// Why coverage that was claimed is not believed.
    pub coverage_refused: Option<String>,
    /// Coverage of all lines on the base, in percent.
    pub coverage_on_base: Option<f64>,
    /// The sorts of tests of which something is known.
    pub required_tests: BTreeMap<RequiredTest, TestsStanding>,
    /// Whether a test passes here that fails on the base: it tests the change without having come with it.
    pub mends_a_test: bool,
}

/// One check of the policy with what is known of it, as it is shown too.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckView {
    pub name: CheckName,
    pub kind: CheckKind,
    pub standing: CheckStanding,
    /// Whether its failure is held against the head.
    pub baseline: OnBase,
    /// Of a failing check.
    pub blame: Option<Blame>,
}

/// Whether a failure is held against the head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnBase {
    #[default]
    Counts,
    /// It is only shown: it exists on the base too and `loop.baseline: new` asks for new failures only, or
    /// `loop.execution_gate.require_passing_tests` is false.
    Excused,
    /// It is an opinion (`severity: warn` or `info` of a reviewer): it is shown, and neither waited for nor counted.
    Advises,
}

impl CheckView {
    /// Whether nothing more is expected of it.
    pub const fn has_ended(&self) -> bool {
        matches!(self.baseline, OnBase::Advises) || !self.is_open()
    }

    /// Whether its end is not known, be it waited for or not.
    pub const fn is_open(&self) -> bool {
        matches!(
            self.standing,
            CheckStanding::Missing
                | CheckStanding::Running { .. }
                | CheckStanding::AwaitsApproval { .. }
                | CheckStanding::AwaitsRelease { .. }
        )
    }

    /// Whether it ended and did not pass, and that is held against the head.
    pub fn has_failed(&self) -> bool {
        self.baseline == OnBase::Counts && self.ended_badly()
    }

    /// Whether it ended and did not pass.
    pub fn ended_badly(&self) -> bool {
        match &self.standing {
            // A scanner that came to its end and reports findings fails on critical and high ones only; lower ones warn.
            CheckStanding::Done(evidence)
                if self.kind == CheckKind::Security
                    && matches!(evidence.outcome, Outcome::Passed | Outcome::Failed)
                    && !evidence.findings.is_empty() =>
            {
                evidence
                    .findings
                    .iter()
                    .any(|finding| finding.severity >= FindingSeverity::High)
            }
            CheckStanding::Done(evidence) => {
                evidence.outcome.is_failure() || evidence.outcome == Outcome::Cancelled
            }
            CheckStanding::NotApplicable { .. }
            | CheckStanding::Absent { .. }
            | CheckStanding::Skipped { .. } => false,
            _ => !self.is_open(),
        }
    }

    /// Whether its failure stops the walk over the stages: a slow benchmark lowers the score, a failing test stops the
    /// walk, and so does a check of which nothing is heard.
    pub const fn holds_hard(&self) -> bool {
        matches!(self.kind.severity(), Severity::Fail) || self.silence().is_some()
    }

    /// Why nothing was heard of it in the time that it has.
    pub const fn silence(&self) -> Option<&Silence> {
        match &self.standing {
            CheckStanding::NoReport { silence } => Some(silence),
            _ => None,
        }
    }

    pub fn evidence(&self) -> Option<&CheckEvidence> {
        if let CheckStanding::Done(evidence) = &self.standing {
            Some(evidence)
        } else {
            None
        }
    }
}

impl HeadEvidence {
    /// Checks without an end, in the policy's order.
    pub fn missing(&self) -> Vec<CheckName> {
        self.names(|check| !check.has_ended())
    }

    /// The checks that are wanted, in the policy's order.
    pub fn names(&self, wanted: impl Fn(&CheckView) -> bool) -> Vec<CheckName> {
        self.checks
            .iter()
            .filter(|(_, check)| wanted(check))
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// Excuses the failures of these checks: they do not count against the change.
    pub fn excuse<'a>(&mut self, names: impl IntoIterator<Item = &'a CheckName>) {
        for name in names {
            if let Some(check) = self.checks.get_mut(name) {
                check.baseline = OnBase::Excused;
            }
        }
    }

    /// What the checks that have ended brought.
    pub fn ended(&self) -> impl Iterator<Item = &CheckEvidence> + Clone {
        self.checks.values().filter_map(CheckView::evidence)
    }

    pub fn of_check(&self, name: &CheckName) -> Option<&CheckEvidence> {
        self.checks.get(name)?.evidence()
    }
}

/// Looks up every check of the policy in what was observed.
///
/// `released` names checks whose skipped jobs a person released on this head. `since` is when a check began to be
/// waited for: one of which nothing is heard [`evidence_timeout`](crate::policy::LoopPolicy::evidence_timeout) later
/// did not report.
pub fn gather(
    cx: Context<'_>,
    skips: &[Skip],
    released: &BTreeSet<CheckName>,
    since: impl Fn(&CheckName) -> Timestamp,
) -> HeadEvidence {
    let Context {
        snapshot,
        policy,
        now,
    } = cx;
    let workflows = LazyCell::new(|| BaseWorkflows::of(snapshot, policy));
    let standing = |name: &CheckName, check: &CheckPolicy| {
        if let Some(skip) = skips.iter().find(|skip| &skip.check == name) {
            return CheckStanding::Skipped {
                by: skip.by.clone(),
                reason: skip.reason.clone(),
            };
        }
        let found = match &check.source {
            CheckSource::Command(command) => {
                let may_be_empty =
                    !check.kind.is_of_tests() || command.allow_empty || check.is_detected;
                match from_artifacts(snapshot, name, check.kind, may_be_empty) {
                    CheckStanding::Missing => {
                        external::kept_out(cx, name, released.contains(name), &workflows)
                            .unwrap_or(CheckStanding::Missing)
                    }
                    found => found,
                }
            }
            CheckSource::Reviewer(source) => {
                let is_overdue = now - since(name) >= source.timeout;
                return reviewers::standing(snapshot, name, source, is_overdue).into();
            }
            CheckSource::External(source) => {
                let is_released = released.contains(name);
                external::on_head(cx, name, check.kind, source, is_released, &workflows)
            }
        };
        let of_another_app = |app: &str| app != ACTIONS;
        // Its result comes from no workflow of the repository.
        let is_apart = matches!(&check.source, CheckSource::External(source) if source.app.as_deref().is_some_and(of_another_app));
        match (found, snapshot.held_runs.first()) {
            (
                CheckStanding::Missing
                | CheckStanding::Running { .. }
                | CheckStanding::NotStarted { .. }
                | CheckStanding::Lost { .. },
                Some(held),
            ) if !is_apart => CheckStanding::AwaitsApproval {
                url: held.url.clone(),
            },
            (CheckStanding::Missing, _) => {
                let is_overdue = now - since(name) >= policy.retry.evidence_timeout;
                unheard(snapshot, policy, check, is_overdue)
            }
            (found, _) => found,
        }
    };
    let gathered = |(name, check): (&CheckName, &CheckPolicy)| {
        let (kind, standing) = (check.kind, standing(name, check));
        let baseline = if check.is_opinion() {
            OnBase::Advises
        } else {
            OnBase::Counts
        };
        (
            name.clone(),
            CheckView {
                name: name.clone(),
                kind,
                standing,
                baseline,
                blame: None,
            },
        )
    };
    let checks: IndexMap<CheckName, CheckView> =
        policy.verify.checks.iter().map(gathered).collect();
    let base = snapshot.base_evidence.as_ref();
    // A test, known by its identity on both sides, that fails on the base and passes here.
    let mends = |check: &CheckEvidence| {
        let before = base.and_then(|base| base.checks.get(&check.name)?.tests.as_ref());
        let (Some(before), Some(now)) = (before, &check.tests) else {
            return false;
        };
        let mut failed = before.iter().filter(|entry| entry.state().is_failure());
        failed.any(|entry| now.state(entry.id()) == Some(TestState::Passed))
    };
    let mends_a_test = checks.values().filter_map(CheckView::evidence).any(mends);
    // What the jobs measured, as far as it can be true of this diff.
    let claims = snapshot
        .evidence_of_head()
        .filter_map(|evidence| evidence.coverage.as_ref());
    let believed: Result<Vec<_>, _> = claims
        .map(|claim| coverage::believe(claim, &snapshot.files))
        .collect();
    let ended = checks.values().filter_map(CheckView::evidence);
    HeadEvidence {
        required_tests: coverage::standings(&policy.coverage, snapshot, ended),
        mends_a_test,
        checks,
        coverage: believed
            .as_ref()
            .ok()
            .and_then(|jobs| coverage::combine(jobs)),
        coverage_refused: believed.err(),
        coverage_on_base: base
            .and_then(|base| base.coverage.as_ref())
            .and_then(ChangedCoverage::percent),
    }
}

/// How a check stands of which nothing is on the head.
fn unheard(
    snapshot: &Snapshot,
    policy: &Policy,
    check: &CheckPolicy,
    is_overdue: bool,
) -> CheckStanding {
    match silence::awaited_run(snapshot, check).filter(|_| is_overdue) {
        Some(run) => CheckStanding::Running {
            url: run.url.clone(),
            is_queued: run.progress == CheckProgress::Queued,
        },
        None => silence::of_check(snapshot, policy, check, is_overdue)
            .map_or(CheckStanding::Missing, |silence| CheckStanding::NoReport {
                silence,
            }),
    }
}

/// The tests that the change adds and that passed and failed on the head, each once however many jobs have run it.
pub fn flaky_new_tests(snapshot: &Snapshot) -> Vec<&RepeatedTest> {
    let flaky = snapshot
        .evidence_of_head()
        .flat_map(|evidence| &evidence.burn_in)
        .filter(|test| test.is_flaky());
    let each: BTreeMap<(&str, &str), &RepeatedTest> = flaky
        .map(|test| ((test.file.as_str(), test.test.as_str()), test))
        .collect();
    each.into_values().take(MOST_FLAKY).collect()
}

impl HeadEvidence {
    /// Takes away the findings of AI reviewers that a person settled for the code.
    pub fn overrule_reviewers(&mut self, policy: &Policy, disputes: &[Dispute]) {
        let is_code = |dispute: &&Dispute| {
            matches!(
                dispute.end,
                Some(DisputeEnd::Settled {
                    outcome: Settlement::Code,
                    ..
                })
            )
        };
        let settled: BTreeSet<FailureId> = disputes
            .iter()
            .filter(is_code)
            .map(|dispute| dispute.failure)
            .collect();
        for (name, _) in policy.verify.reviewers().filter(|_| !settled.is_empty()) {
            if let Some(CheckView {
                standing: CheckStanding::Done(found),
                ..
            }) = self.checks.get_mut(name)
                && !found.failures.is_empty()
            {
                found
                    .failures
                    .retain(|one| !settled.contains(&failure::fingerprint(one).into()));
                if found.failures.is_empty() && found.failures_not_kept == 0 {
                    found.outcome = Outcome::Passed;
                }
            }
        }
    }

    /// Counts a test as mended that failed in an earlier iteration of a local loop and passes here. One that the loop
    /// itself had broken since, or that is flaky, is none.
    pub fn compare_with_iterations(&mut self, attempts: &[AttemptDigest]) {
        let now = CheckEvidence::all_tests(self.ended());
        let mends = |attempt: &AttemptDigest| {
            let ran_again = |check: &CheckName| self.of_check(check).is_some();
            let mut failed = attempt.failing_tests.iter().filter(|(name, _)| {
                !attempt.regressed.contains(*name) && !attempt.flaky.contains(*name)
            });
            attempt.failed_checks.iter().all(ran_again)
                && failed
                    .any(|(name, id)| self.sees_pass(now.as_ref(), attempt.total_tests, name, *id))
        };
        let mends_a_test = attempts.iter().any(mends);
        self.mends_a_test |= mends_a_test;
    }

    /// Whether a test that failed before passes: it is named as passed, or, where no passed tests are named, every
    /// check ran, as many tests as before, and none of its name failed. `now` is how each of the head's tests ended.
    pub fn sees_pass(
        &self,
        now: Option<&TestOutcomes>,
        total_before: Option<u64>,
        name: &str,
        id: Option<TestId>,
    ) -> bool {
        if let (Some(id), Some(tests)) = (id, now)
            && (tests.is_whole() || tests.state(id).is_some())
        {
            return tests.is_green(id);
        }
        let ran = |check: &CheckView| {
            check
                .evidence()
                .is_none_or(|check| matches!(check.outcome, Outcome::Passed | Outcome::Failed))
        };
        let total = CheckEvidence::sum(self.ended(), |results| results.total);
        let ran_all = total_before.is_none_or(|before| total.is_some_and(|now| now >= before));
        let mut failures = self.ended().flat_map(|check| &check.failures);
        ran_all
            && self.checks.values().all(ran)
            && !failures.any(|failure| failure.test_name.as_deref() == Some(name))
    }
}

/// The base's own evidence, all its documents together. They come from runs on a commit that is in the base
/// branch; figures that cannot be are left out all the same.
pub fn base(sha: Sha, documents: Vec<Evidence>) -> BaseEvidence {
    let claims = documents
        .iter()
        .filter_map(|document| document.coverage.clone());
    let coverage: Vec<_> = claims
        .filter(|claim| coverage::validate(claim).is_ok())
        .collect();
    let mut checks: BTreeMap<CheckName, CheckEvidence> = BTreeMap::new();
    for check in documents.into_iter().flat_map(|document| document.checks) {
        let before = checks.remove(&check.name);
        checks.insert(
            check.name.clone(),
            before
                .into_iter()
                .fold(check, |check, before| before.merge(check)),
        );
    }
    BaseEvidence {
        sha,
        checks,
        coverage: coverage::combine(&coverage),
    }
}

/// Findings in the head's evidence, whatever check they are of.
pub fn findings(snapshot: &Snapshot) -> Vec<Finding> {
    let checks = snapshot
        .evidence_of_head()
        .flat_map(|evidence| &evidence.checks);
    checks
        .flat_map(|check| check.findings.iter().cloned())
        .collect()
}

/// A command check's evidence comes in the artifacts of workflow runs; matrix jobs and several workflows merge.
fn from_artifacts(
    snapshot: &Snapshot,
    name: &CheckName,
    kind: CheckKind,
    may_be_empty: bool,
) -> CheckStanding {
    // Evidence of a run that runs again is about to be replaced.
    let is_replaced = |origin: &WorkflowOrigin| {
        let mut again = snapshot
            .workflow_runs
            .iter()
            .filter(|run| run.id == origin.run_id);
        again.any(|run| run.attempt > origin.run_attempt && run.progress.conclusion().is_none())
    };
    let documents = snapshot
        .evidence_of_head()
        .filter(|evidence| !evidence.workflow.as_ref().is_some_and(is_replaced));
    let documents: Vec<_> = documents.collect();
    if let Some(reason) = matrix_jobs::contradiction(&documents, name) {
        return CheckStanding::Refused { reason };
    }
    let of_check = || {
        documents
            .iter()
            .flat_map(|document| &document.checks)
            .filter(|check| &check.name == name)
    };
    let is_empty = |check: &CheckEvidence| {
        check.outcome == Outcome::Passed && check.results.is_some_and(|results| results.total == 0)
    };
    let contradiction = of_check().find_map(|check| check_consistent(check, kind).err());
    let is_without = !may_be_empty && of_check().any(is_empty);
    let without = || is_without.then(|| format!("it says that {name} passed without a test"));
    if let Some(reason) = contradiction.or_else(without) {
        return CheckStanding::Refused { reason };
    }
    let (runs, received) = (&snapshot.workflow_runs, &snapshot.evidence);
    let running = runs.iter().find(|run| run.progress.conclusion().is_none());
    let merged = |documents: &[&Evidence]| {
        let found = documents
            .iter()
            .flat_map(|evidence| evidence.checks.iter().map(move |check| (evidence, check)));
        let found = found
            .filter(|(_, check)| &check.name == name)
            .map(|(evidence, check)| {
                let mut check = check.clone();
                let job = evidence.workflow.as_ref().map(WorkflowOrigin::job_name);
                check
                    .failures
                    .iter_mut()
                    .for_each(|failure| failure.job.clone_from(&job));
                check
            });
        found
            .reduce(CheckEvidence::merge)
            .map(|check| CheckEvidence { kind, ..check })
    };
    if let Some(run) = running {
        return match merged(&documents) {
            // A job that is still running can only make a merged result worse, never better.
            Some(merged) if merged.outcome.is_failure() => CheckStanding::Done(Box::new(merged)),
            _ => CheckStanding::Running {
                url: run.url.clone(),
                is_queued: run.progress == CheckProgress::Queued,
            },
        };
    }
    let (reporting, lost) = matrix_jobs::reporting(runs, received, &documents, name);
    let refusal = |received: &ReceivedEvidence| {
        if let ReceivedEvidence::Refused { reason, .. } = received {
            Some(reason.clone())
        } else {
            None
        }
    };
    let refusal = || {
        received
            .iter()
            .find_map(refusal)
            .map(|reason| CheckStanding::Refused { reason })
    };
    let not_started = || external::without_evidence(runs, &snapshot.files);
    let refused = matrix_jobs::refused_since(received, &documents, name, !lost.is_empty());
    match (merged(&reporting), lost) {
        // A failure is final although other jobs brought no evidence.
        (Some(merged), _) if merged.outcome.is_failure() => CheckStanding::Done(Box::new(merged)),
        (Some(merged), jobs) if jobs.is_empty() => {
            refused.unwrap_or_else(|| CheckStanding::Done(Box::new(merged)))
        }
        (None, jobs) if jobs.is_empty() => refusal()
            .or_else(not_started)
            .unwrap_or(CheckStanding::Missing),
        (_, jobs) => refused.unwrap_or(CheckStanding::Lost { jobs }),
    }
}
