//! Everything that is shown of a decision, before it becomes text, and the record of its attempt.

use std::collections::BTreeMap;

use super::{
    action::{AttemptOrigin, AttemptRecord, DecisionWord},
    inputs::Inputs,
    returned::Stages,
    warnings::{Warning, warnings},
};
use crate::{
    concerns::{
        attempts::NextRerun,
        checks::gather::CheckView,
        disputes,
        escalation::{Cause, EscalationView, escalation_call},
        fixer::fix_request::{self, FixTurn},
        gates::{Considered, GateReport},
        review::{self, ReviewStanding},
        tampering::Tampering,
        verdict::{
            DistanceToSuccess, Evaluation, FailureView, FeedbackFact, Verification, blame,
            evaluate, feedback,
        },
    },
    deciding::stages::Blocker,
    evidence::{ChangedCoverage, Compare},
    policy::{EscalationAction, PolicyOrigin, Trigger},
    stage::Stage,
    state::{CapabilityProgress, Rejection, Rerun, RunStatus, Skip},
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
            warnings: warnings(self),
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
}
