//! The stages of a run: which one the evidence and the gates let it reach, and what holds it there.
//!
//! The stage walk says how far along the stages the evidence on the head commit carries a pull request. It is computed
//! afresh at every reconcile, twice: heeding gates, and ignoring them.

use crate::{
    concerns::{
        checks::gather::HeadEvidence, gates::GateReport, review::ReviewStanding,
        verdict::Verification,
    },
    evidence::CheckKind,
    ids::{CheckName, GateName, Login},
    observed::Lifecycle,
    policy::{CapabilityMode, Context, Phase, PolicyOrigin},
    stage::Stage,
    state::GateStatus,
};

/// How far a walk got, and what stopped it. Nothing stops it only at COMPLETE.
#[derive(Clone, Debug, PartialEq)]
pub struct Walk {
    pub reached: Stage,
    pub held_by: Option<Blocker>,
}

/// Both walks over the same inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Walks {
    /// Without gates: what `loopgate / verify` says.
    pub evidence: Walk,
    /// With gates: what happens next.
    pub stage: Walk,
}

impl Walks {
    /// The walks of a head of which this capability is the first that is open.
    pub fn over(
        cx: Context<'_>,
        verification: &Verification,
        gates: &[GateReport],
        open: Option<&String>,
    ) -> Self {
        let lacking = |stage| lacking(cx, verification, open, stage);
        Self {
            evidence: walk(lacking, &[]),
            stage: walk(lacking, gates),
        }
    }
}

/// Walks from INIT until something holds. What the head lacks comes before the approvals it lacks.
fn walk(lacking: impl Fn(Stage) -> Option<Blocker>, gates: &[GateReport]) -> Walk {
    let mut stage = Stage::Init;
    loop {
        if let Some(hold) = lacking(stage) {
            let reached = if matches!(hold, Blocker::Capability(_)) {
                Stage::Implement
            } else {
                stage
            };
            return Walk {
                reached,
                held_by: Some(hold),
            };
        }
        if let Some(gate) = gates
            .iter()
            .find(|gate| gate.holds == stage && gate.is_closed())
        {
            let is_rejected = gate.status == GateStatus::Rejected;
            let reached = if is_rejected {
                stage.min(Stage::Implement)
            } else {
                stage
            };
            return Walk {
                reached,
                held_by: Some(Blocker::Gate(gate.name.clone())),
            };
        }
        match stage.next() {
            Some(next) => stage = next,
            None => {
                return Walk {
                    reached: stage,
                    held_by: None,
                };
            }
        }
    }
}

/// What the transition out of `stage` asks for and the head does not have.
fn lacking(
    Context {
        snapshot, policy, ..
    }: Context<'_>,
    verification: &Verification,
    open: Option<&String>,
    stage: Stage,
) -> Option<Blocker> {
    let needs = || lacking_evidence(&verification.evidence, needed_kinds(stage));
    let held = open.filter(|_| policy.retry.capabilities == CapabilityMode::Hold);
    match stage {
        Stage::Init => {
            matches!(policy.origin, PolicyOrigin::Presets { .. }).then_some(Blocker::Configuration)
        }
        Stage::Scaffold | Stage::Implement | Stage::Test => needs(),
        Stage::Verify => needs()
            .or_else(|| evaluation_of(verification, Phase::A))
            .or_else(|| held.cloned().map(Blocker::Capability)),
        Stage::Validate => needs().or_else(|| evaluation_of(verification, Phase::B)),
        Stage::Document => {
            needs().or_else(|| snapshot.pull_request.is_draft.then_some(Blocker::Draft))
        }
        Stage::Review => needs().or_else(|| review(&verification.review)),
        Stage::Ship => (!matches!(snapshot.pull_request.lifecycle, Lifecycle::Merged { .. }))
            .then_some(Blocker::Merge),
        Stage::Complete => None,
    }
}

/// The kinds whose checks the transition out of a stage needs.
const fn needed_kinds(stage: Stage) -> &'static [CheckKind] {
    use CheckKind::{Build, Coverage, Docs, Integration, Lint, Performance, Security, Test, Types};
    match stage {
        Stage::Scaffold | Stage::Implement => &[Build],
        Stage::Test | Stage::Review => &[Build, Test],
        Stage::Verify => &[Build, Test, Lint, Types],
        Stage::Validate => &[Build, Test, Security, Performance, Integration, Coverage],
        Stage::Document => &[Build, Test, Docs],
        Stage::Init | Stage::Ship | Stage::Complete => &[],
    }
}

/// The first stage that checks of this kind hold; `None` if they only count in the score.
pub fn held_stage(kind: CheckKind) -> Option<Stage> {
    let mut stages = Stage::ALL.into_iter();
    stages.find(|stage| needed_kinds(*stage).contains(&kind))
}

/// Checks of these kinds must have ended, and must not have failed where they [hold hard](crate::concerns::checks::gather::CheckView::holds_hard).
fn lacking_evidence(evidence: &HeadEvidence, kinds: &[CheckKind]) -> Option<Blocker> {
    let required = || {
        evidence
            .checks
            .iter()
            .filter(|(_, check)| kinds.contains(&check.kind))
    };
    let failing: Vec<_> = required()
        .filter(|(_, check)| check.has_failed() && check.holds_hard())
        .map(|(name, _)| name.clone())
        .collect();
    if !failing.is_empty() {
        return Some(Blocker::Failing(failing));
    }
    let missing: Vec<_> = required()
        .filter(|(_, check)| !check.has_ended())
        .map(|(name, _)| name.clone())
        .collect();
    (!missing.is_empty()).then_some(Blocker::MissingEvidence(missing))
}

/// The evaluation is in phase B once A has passed, so only a failed evaluation of this very phase holds.
fn evaluation_of(
    Verification {
        evidence,
        evaluation,
        ..
    }: &Verification,
    phase: Phase,
) -> Option<Blocker> {
    if evaluation.phase != phase || evaluation.passed() {
        return None;
    }
    let waiting = evidence.missing();
    Some(if waiting.is_empty() {
        Blocker::Evaluation(phase)
    } else {
        Blocker::MissingEvidence(waiting)
    })
}

fn review(standing: &ReviewStanding) -> Option<Blocker> {
    match standing {
        ReviewStanding::NotRequired | ReviewStanding::Approved => None,
        ReviewStanding::Pending { have, need } => Some(Blocker::Review {
            have: *have,
            need: *need,
        }),
        ReviewStanding::Rejected { rejection, .. } => {
            Some(Blocker::ChangesRequested(rejection.by.clone()))
        }
    }
}

/// What a walk stops at.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Blocker {
    /// These checks have no evidence yet.
    MissingEvidence(Vec<CheckName>),
    /// These checks fail.
    Failing(Vec<CheckName>),
    /// The evaluation of this phase has not passed.
    Evaluation(Phase),
    /// This gate is closed.
    Gate(GateName),
    /// This capability is not done.
    Capability(String),
    /// The author does not call it ready.
    Draft,
    /// Required reviews are missing.
    Review { have: u32, need: u32 },
    /// Somebody asked for changes.
    ChangesRequested(Login),
    /// It is not merged.
    Merge,
    /// The configuration could not be read at all.
    Configuration,
}
