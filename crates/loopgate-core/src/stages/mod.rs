//! The stages of a run: which one the evidence and the gates let it reach, and what holds it there.
//!
//! The stage walk says how far along the stages the evidence on the head commit carries a pull request. It is computed afresh
//! at every reconcile, twice: heeding gates, and ignoring them.

pub mod capability;

use crate::{
    evidence::CheckKind,
    gate::{GateReport, GateStanding},
    ids::{CheckName, GateName, Login},
    observed::{Lifecycle, Snapshot},
    policy::{CapabilityMode, Phase, Policy, PolicyOrigin, Severity},
    stage::Stage,
    state::CapabilityProgress,
    verdict::{Verification, gather::HeadEvidence, review::ReviewStanding},
};

/// Everything a walk looks at.
pub struct StageInputs<'a> {
    pub snapshot: &'a Snapshot,
    pub policy: &'a Policy,
    pub verification: &'a Verification,
    pub gates: &'a [GateReport],
    pub capabilities: &'a CapabilityProgress,
}

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
    pub fn over(inputs: &StageInputs<'_>) -> Self {
        Self { evidence: walk(inputs, &[]), stage: walk(inputs, inputs.gates) }
    }
}

/// Walks from INIT until something holds. What the head lacks comes before the approvals it lacks.
fn walk(inputs: &StageInputs<'_>, gates: &[GateReport]) -> Walk {
    let mut stage = Stage::Init;
    loop {
        if let Some(hold) = lacking(inputs, stage) {
            let reached = if matches!(hold, Blocker::Capability(_)) { Stage::Implement } else { stage };
            return Walk { reached, held_by: Some(hold) };
        }
        if let Some(gate) = gates.iter().find(|gate| gate.holds == stage && gate.is_closed()) {
            let is_rejected = matches!(gate.standing, GateStanding::Rejected { .. });
            let reached = if is_rejected { stage.min(Stage::Implement) } else { stage };
            return Walk { reached, held_by: Some(Blocker::Gate(gate.name.clone())) };
        }
        match stage.next() {
            Some(next) => stage = next,
            None => return Walk { reached: stage, held_by: None },
        }
    }
}

/// What the transition out of `stage` asks for and the head does not have.
fn lacking(inputs: &StageInputs<'_>, stage: Stage) -> Option<Blocker> {
    use CheckKind as K;
    let needs = |kinds: &[CheckKind]| lacking_evidence(&inputs.verification.evidence, kinds);
    match stage {
        Stage::Init => matches!(inputs.policy.origin, PolicyOrigin::Presets { .. }).then_some(Blocker::Configuration),
        Stage::Scaffold | Stage::Implement => needs(&[K::Build]),
        Stage::Test => needs(&[K::Build, K::Test]),
        Stage::Verify => needs(&[K::Build, K::Test, K::Lint, K::Types])
            .or_else(|| evaluation_of(inputs, Phase::A))
            .or_else(|| capability(inputs)),
        Stage::Validate => needs(&[K::Build, K::Test, K::Security, K::Performance, K::Integration, K::Coverage])
            .or_else(|| evaluation_of(inputs, Phase::B)),
        Stage::Document => needs(&[K::Build, K::Test, K::Docs])
            .or_else(|| (inputs.snapshot.pull_request.is_draft).then_some(Blocker::Draft)),
        Stage::Review => needs(&[K::Build, K::Test]).or_else(|| review(&inputs.verification.review)),
        Stage::Ship => {
            (!matches!(inputs.snapshot.pull_request.lifecycle, Lifecycle::Merged { .. })).then_some(Blocker::Merge)
        }
        Stage::Complete => None,
    }
}

/// Checks of these kinds must have ended, and must not have failed where their kind is one that holds hard: a slow
/// benchmark lowers the score, a failing test stops the walk.
fn lacking_evidence(evidence: &HeadEvidence, kinds: &[CheckKind]) -> Option<Blocker> {
    let required = || evidence.checks.iter().filter(|(_, check)| kinds.contains(&check.kind));
    let failing: Vec<_> = required()
        .filter(|(_, check)| check.has_failed() && check.kind.severity() == Severity::Fail)
        .map(|(name, _)| name.clone())
        .collect();
    if !failing.is_empty() {
        return Some(Blocker::Failing(failing));
    }
    let missing: Vec<_> = required().filter(|(_, check)| !check.has_ended()).map(|(name, _)| name.clone()).collect();
    (!missing.is_empty()).then_some(Blocker::MissingEvidence(missing))
}

/// The evaluation is in phase B once A has passed, so only a failed evaluation of this very phase holds.
fn evaluation_of(inputs: &StageInputs<'_>, phase: Phase) -> Option<Blocker> {
    let Verification { evidence, evaluation, .. } = inputs.verification;
    if evaluation.phase != phase || evaluation.passed() {
        return None;
    }
    let waiting = evidence.missing();
    Some(if waiting.is_empty() { Blocker::Evaluation(phase) } else { Blocker::MissingEvidence(waiting) })
}

fn capability(inputs: &StageInputs<'_>) -> Option<Blocker> {
    match (inputs.policy.retry.capabilities, &inputs.capabilities.current) {
        (CapabilityMode::Hold, Some(current)) => Some(Blocker::Capability(current.clone())),
        _ => None,
    }
}

fn review(standing: &ReviewStanding) -> Option<Blocker> {
    match standing {
        ReviewStanding::NotRequired | ReviewStanding::Approved => None,
        ReviewStanding::Pending { have, need } => Some(Blocker::Review { have: *have, need: *need }),
        ReviewStanding::Rejected { rejection, .. } => Some(Blocker::ChangesRequested(rejection.by.clone())),
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
