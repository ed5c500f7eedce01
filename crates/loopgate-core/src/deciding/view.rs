//! Everything that is shown of a decision, before it becomes text; the record of its attempt, and when it is looked at
//! again.

use std::collections::BTreeMap;

use chrono::TimeDelta;

use super::{
    action::{AttemptOrigin, AttemptRecord, DecisionWord, NextAction},
    inputs::Inputs,
    outcome::Blocking,
    verification::Counting,
};
use crate::{
    concerns::{
        attempts::{NextRerun, rerun},
        checks::{
            external,
            gather::{self, CheckView},
        },
        disputes,
        escalation::{Cause, EscalationView, cause, escalation_call},
        fixer::{
            fix_request::{self, FixTurn},
            senior_fixer,
        },
        gates::{ApprovedRuns, Considered, GateReport, waiting},
        queue::LeftQueue,
        review::{self, ReviewStanding},
        tampering::Tampering,
        verdict::{
            DistanceToSuccess, Evaluation, FailureView, FeedbackFact, Verification, blame,
            evaluate, feedback,
        },
    },
    deciding::stages::{Blocker, Walks},
    evidence::{ChangedCoverage, CheckKind, Compare, Outcome, RepeatedTest},
    ids::{CheckName, Login, PrNumber, Timestamp},
    observed::{ForgedCheck, Lifecycle, ObservationProblem, PullRequest, ReceivedEvidence},
    policy::{CheckSource, ConfigError, EscalationAction, PolicyOrigin, Trigger},
    stage::Stage,
    state::{
        CapabilityProgress, GateStatus, LoopState, LostRecord, QueueDeparture, Rejection, Rerun,
        RunStatus, Skip,
    },
};

/// Everything a reader may be shown of the loop, in the order it matters.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    pub origin: PolicyOrigin,
    /// The furthest stage, gates heeded.
    pub stage: Stage,
    /// The furthest stage, gates ignored.
    pub evidence_stage: Stage,
    /// What stops the stage walk at `stage`.
    pub held_by: Option<Blocker>,
    /// What stops the evidence walk.
    pub evidence_held_by: Option<Blocker>,
    /// The attempt the head is (counts from 1).
    pub attempt: u32,
    pub max_attempts: u32,
    pub evaluation: Evaluation,
    pub checks: Vec<CheckView>,
    pub gates: Vec<GateReport>,
    /// Where the required review stands.
    pub review: ReviewStanding,
    /// Words about approving that name no gate, while some gate waits for one.
    pub unmatched: Vec<Considered>,
    pub capabilities: CapabilityProgress,
    /// Failures of the head, the most telling first.
    pub failures: Vec<FailureView>,
    pub feedback: Vec<FeedbackFact>,
    /// The fixer elsewhere whose turn it is, if one is asked.
    pub fixing: Option<FixTurn>,
    pub compare: Option<Compare>,
    pub coverage: Option<ChangedCoverage>,
    /// The open call for a person. It outlives a close: somebody waits only while the decision is to escalate.
    pub escalation: Option<EscalationView>,
    /// Mandatory when the run stopped at its limit.
    pub distance: Option<DistanceToSuccess>,
    pub skips: Vec<Skip>,
    /// What was asked for again on this head.
    pub reruns: Vec<Rerun>,
    /// The repetition that comes by itself.
    pub next_rerun: Option<NextRerun>,
    /// Causes that are only flagged, each with what was recognised: the loop goes on.
    pub flags: BTreeMap<Trigger, Cause>,
    /// How the change weakens what checks it.
    pub tampering: Vec<Tampering>,
    pub warnings: Vec<Warning>,
    pub bypassed: Vec<String>,
}

/// Something people must know although it decides nothing.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Warning {
    /// No check of this kind is configured although every loop should have one.
    NoCheckOfKind(CheckKind),
    /// A test check that is not in the configuration passed without running a test.
    NoTests(CheckName),
    /// The jobs that a followed check takes come from several Apps, of which its configuration names none: a job of
    /// each App, at most 5. A commit status has no App.
    SeveralApps {
        check: CheckName,
        jobs: Vec<(String, Option<String>)>,
    },
    /// A test that the change adds passed and failed on the same code.
    FlakyNewTest(RepeatedTest),
    /// Something could not be read.
    NotObserved(ObservationProblem),
    /// The repository's file says something that the organisation has locked: it has no effect.
    Overruled(ConfigError),
    /// A check run uses our name and is not ours.
    Forged(ForgedCheck),
    /// An evidence artifact was not believed.
    EvidenceRefused { artifact: String, reason: String },
    /// There was a record before this run, and it is gone.
    RecordLost(LostRecord),
    /// This head into this base is judged on another pull request.
    JudgedOn(PrNumber),
    /// It left the merge queue without being merged.
    LeftQueue(LeftQueue),
    /// The checks bear the branch's own name, since people can make branches of the pattern it matches.
    OpenPattern { pattern: String, branch: String },
    /// A counted comment's body changed; `changed_by` is `None` if neither an event nor the API names the editor.
    TamperedComment {
        by: Login,
        changed_by: Option<Login>,
        url: String,
    },
}

impl Warning {
    /// Whether it is about the set-up, which no author can change: it is said where operators look, and not on every
    /// pull request.
    pub const fn is_of_set_up(&self) -> bool {
        matches!(
            self,
            Self::NoCheckOfKind(_) | Self::SeveralApps { .. } | Self::OpenPattern { .. }
        )
    }
}

/// How often a triggered gate is read again: hiding a comment sends no event.
const GATES_ARE_READ_AGAIN: TimeDelta = TimeDelta::minutes(15);

/// How soon GitHub has found out whether a pull request merges without a conflict, mostly.
const MERGEABILITY_IS_FOUND_OUT: TimeDelta = TimeDelta::minutes(2);

/// What the stages of a decision returned.
pub(super) struct Stages<'a> {
    pub(super) inputs: &'a Inputs<'a>,
    /// The state as it will be saved.
    pub(super) next: &'a LoopState,
    pub(super) verification: &'a Verification,
    pub(super) walks: &'a Walks,
    pub(super) counting: &'a Counting,
    pub(super) blocking: &'a Blocking,
    pub(super) approved_runs: Option<&'a ApprovedRuns>,
    pub(super) action: &'a NextAction,
}

impl Stages<'_> {
    /// Everything a reader may be shown.
    pub(super) fn view(&self) -> View {
        let Self {
            inputs,
            next,
            verification,
            walks,
            counting,
            blocking,
            ..
        } = *self;
        let Inputs {
            policy, assessment, ..
        } = *inputs;
        let Verification {
            evidence,
            evaluation,
            ..
        } = verification;
        let has_stopped_short = !evaluation.passed()
            && matches!(
                next.run.status,
                RunStatus::Escalated | RunStatus::Failed | RunStatus::Aborted
            )
            && next
                .people
                .blocked
                .as_ref()
                .is_none_or(|call| call.trigger.is_of_attempts());
        let settled = disputes::settled_of(next, &counting.failures);
        let settled = settled.map(|dispute| FeedbackFact::Settled(Box::new(dispute.clone())));
        let objection = |(Rejection { by, of, .. }, words): (_, &str)| FeedbackFact::Objection {
            by,
            of,
            words: words.to_owned(),
        };
        let objections = review::rejections(&assessment.gates, &verification.review).map(objection);
        let describe = |blocked| {
            escalation_call::describe(
                inputs.cx(),
                blocked,
                &blocking.causes,
                next,
                &counting.failures,
            )
        };
        let is_flagged = |(trigger, _): &(&Trigger, _)| {
            policy.escalation.action_of(**trigger) == EscalationAction::FlagAndContinue
        };
        let flags = blocking
            .causes
            .iter()
            .filter(is_flagged)
            .map(|(trigger, cause)| (*trigger, cause.clone()));
        View {
            origin: policy.origin.clone(),
            stage: next.run.stage,
            evidence_stage: walks.evidence.reached,
            held_by: walks.stage.held_by.clone(),
            evidence_held_by: walks.evidence.held_by.clone(),
            attempt: next.run.iteration,
            max_attempts: policy.retry.max_attempts,
            distance: has_stopped_short.then(|| evaluate::distance(evaluation)),
            escalation: next.people.blocked.as_ref().map(describe),
            checks: evidence.checks.values().cloned().collect(),
            capabilities: next.concerns.capabilities.clone(),
            compare: counting
                .counted
                .as_ref()
                .map(|counted| counted.compare.clone()),
            coverage: evidence.coverage.clone(),
            skips: next.people.skips.clone(),
            reruns: next.concerns.checks.reruns.clone(),
            next_rerun: blocking.next_rerun.clone(),
            flags: flags.collect(),
            tampering: inputs.tampering.to_vec(),
            warnings: self.warnings(),
            review: verification.review.clone(),
            unmatched: assessment.unmatched.clone(),
            bypassed: next.run.bypassed.clone(),
            feedback: feedback::feedback(
                &counting.failures,
                self.verification,
                settled.chain(objections).collect(),
            ),
            fixing: fix_request::turn(inputs.cx(), next, self.action.retried()),
            evaluation: evaluation.clone(),
            failures: counting.failures.clone(),
            gates: assessment.gates.clone(),
        }
    }

    /// The attempt to write down, where one was counted or its evidence replaced.
    pub(super) fn record(&self, view: &View) -> Option<AttemptRecord> {
        let counted = self
            .counting
            .counted
            .as_ref()
            .filter(|counted| counted.is_news)?;
        let Verification {
            evidence, blames, ..
        } = self.verification;
        Some(AttemptRecord {
            // Gates and people may still be waited for, but it passed or it did not.
            decision: match self.action.word() {
                _ if counted.digest.passes() => DecisionWord::Proceed,
                DecisionWord::Escalate => DecisionWord::Escalate,
                _ => DecisionWord::Retry,
            },
            digest: counted.digest.clone(),
            provenance: AttemptOrigin::of(self.inputs.snapshot, self.next.run.pull_request),
            checks: blame::recorded(evidence, blames),
            coverage: evidence.coverage.clone(),
            compare: counted.compare.clone(),
            analysis: view.failures.clone(),
            fix_applied: None,
        })
    }

    fn warnings(&self) -> Vec<Warning> {
        let Inputs {
            snapshot, policy, ..
        } = *self.inputs;
        let configured = |kind: CheckKind| {
            policy
                .verify
                .checks
                .values()
                .any(|check| check.kind == kind)
        };
        let missing = [CheckKind::Build, CheckKind::Test]
            .into_iter()
            .filter(|kind| !configured(*kind));
        let mut warnings: Vec<Warning> = missing.map(Warning::NoCheckOfKind).collect();
        let detected = policy
            .verify
            .checks
            .iter()
            .filter(|(_, check)| check.is_detected);
        let is_empty = |name: &CheckName| {
            let passed = self
                .verification
                .evidence
                .of_check(name)
                .filter(|check| check.outcome == Outcome::Passed);
            let passed = passed.filter(|check| check.kind.is_of_tests());
            passed
                .and_then(|check| check.results)
                .is_some_and(|results| results.total == 0)
        };
        warnings.extend(
            detected
                .map(|(name, _)| name)
                .filter(|name| is_empty(name))
                .cloned()
                .map(Warning::NoTests),
        );
        warnings.extend(policy.verify.checks.iter().filter_map(|(name, check)| {
            let jobs = external::jobs_of_several_apps(snapshot, &check.source)?;
            Some(Warning::SeveralApps {
                check: name.clone(),
                jobs,
            })
        }));
        warnings.extend(
            gather::flaky_new_tests(snapshot)
                .into_iter()
                .cloned()
                .map(Warning::FlakyNewTest),
        );
        warnings.extend(snapshot.judged_on.map(Warning::JudgedOn));
        let PullRequest {
            number,
            head,
            lifecycle,
            ..
        } = &snapshot.pull_request;
        // The last departure, while this head is out of the queue.
        let is_out = |left: &&QueueDeparture| {
            !left.is_over && left.head == head.sha && *lifecycle == Lifecycle::Open
        };
        let departure = self.next.concerns.queue.departures.last().filter(is_out);
        let left = departure.and_then(|left| {
            LeftQueue::explain(*number, &self.next.concerns.queue.groups, &left.removal)
        });
        warnings.extend(left.map(Warning::LeftQueue));
        let base = &snapshot.pull_request.base;
        let open = |pattern| Warning::OpenPattern {
            pattern,
            branch: base.branch.clone(),
        };
        warnings.extend(base.open_pattern.clone().map(open));
        warnings.extend(self.next.attempts.lost_record().map(Warning::RecordLost));
        warnings.extend(snapshot.problems.iter().cloned().map(Warning::NotObserved));
        warnings.extend(policy.overruled.iter().cloned().map(Warning::Overruled));
        warnings.extend(
            self.verification
                .evidence
                .coverage_refused
                .iter()
                .map(|reason| {
                    let (what, reason) = ("coverage in the evidence".to_owned(), reason.clone());
                    Warning::NotObserved(ObservationProblem { what, reason })
                }),
        );
        warnings.extend(self.inputs.assessment.tampered.iter().map(|tampered| {
            Warning::TamperedComment {
                by: tampered.by.login.clone(),
                changed_by: tampered.changed_by.clone(),
                url: tampered.url.clone(),
            }
        }));
        warnings.extend(snapshot.forged_checks.iter().cloned().map(Warning::Forged));
        warnings.extend(
            snapshot
                .evidence
                .iter()
                .filter_map(|received| match received {
                    ReceivedEvidence::Refused {
                        artifact, reason, ..
                    } => Some(Warning::EvidenceRefused {
                        artifact: artifact.clone(),
                        reason: reason.clone(),
                    }),
                    ReceivedEvidence::Accepted(_) => None,
                }),
        );
        warnings
    }

    /// When time alone changes the decision next: evidence becomes overdue, an outside failure escalates, a retry or a
    /// fixer's turn is due, an open gate is read again (GitHub sends no event when a comment is hidden).
    pub(super) fn revisit_at(&self, view: &View) -> Option<Timestamp> {
        let Self { inputs, next, .. } = *self;
        if !inputs.is_open() {
            return None;
        }
        let asks_again = inputs.now + GATES_ARE_READ_AGAIN;
        let overdue = |check: &CheckName| {
            let timeout = match &inputs.policy.verify.checks.get(check)?.source {
                CheckSource::Reviewer(reviewer) => reviewer.timeout,
                CheckSource::Command(_) | CheckSource::External(_) => {
                    inputs.policy.retry.evidence_timeout
                }
            };
            let due = rerun::waiting_since(inputs.cx(), next, check) + timeout;
            // A run that outlasts it brings the check or ends without, and then no event names the check.
            Some(if due > inputs.now { due } else { asks_again })
        };
        // No event tells of it either, and a conflict keeps every check from starting.
        let pull_request = &inputs.snapshot.pull_request;
        let mergeable =
            pull_request.is_mergeable.is_none() && !self.verification.evidence.missing().is_empty();
        let mergeable = mergeable.then_some(inputs.now + MERGEABILITY_IS_FOUND_OUT);
        let open = self.verification.evidence.names(CheckView::is_open);
        let external = cause::external_deadline(next);
        let gates = &self.inputs.assessment.gates;
        let triggered = gates
            .iter()
            .any(|gate| !gate.is_advisory && gate.status != GateStatus::NotApplicable);
        // No event arrives when the verdict of another pull request ends, or when a stack is dissolved.
        let depends = inputs.snapshot.judged_on.is_some() || inputs.snapshot.stack.is_some();
        let again = (triggered || depends).then_some(asks_again);
        let waits = waiting::next(inputs.cx(), next);
        let due = [
            view.next_rerun.as_ref().map(|next| next.at),
            view.fixing.as_ref().map(|turn| turn.at),
        ];
        // Then waiting for the senior fixer ends by itself.
        let senior = next
            .concerns
            .fixer
            .as_ref()
            .filter(|call| call.head_sha == next.head.sha);
        let senior = senior.map(|call| senior_fixer::deadline(call, inputs.policy));
        let moments = [external, again, waits, senior, mergeable]
            .into_iter()
            .chain(due)
            .flatten();
        moments
            .chain(open.iter().filter_map(overdue))
            .filter(|at| *at > inputs.now)
            .min()
    }
}
