use serde::Serialize;

use super::{CheckState, ItemId};
use crate::{
    concerns::{
        checks::gather::OnBase,
        escalation::Cause,
        gates::GateReport,
        review::ReviewStanding,
        tampering::{Tampering, Weight},
        verdict::{Evaluation, EvaluationVerdict, RuleFailure, RuleOutcome, RuleView},
    },
    deciding::{
        CheckView, Decision, Part, View, Warning,
        stages::{Blocker, held_stage},
    },
    failure::Blame,
    ids::PrNumber,
    observed::{Lifecycle, PullRequest},
    policy::{Phase, PolicyOrigin, Severity, Trigger},
    stage::Stage,
    state::{CapabilityProgress, GateStatus},
};

words! {
    /// What an item does to its pull request.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
    pub enum ItemStatus {
        /// It stands in the way.
        Holds = "holds",
        /// It is waited for, or cannot be known here.
        Unknown = "unknown",
        /// It decides nothing.
        Advises = "advises",
        Passed = "passed",
    }
}

/// One thing that was looked at, and how it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Item<'a> {
    pub id: ItemId,
    pub about: About<'a>,
    pub status: ItemStatus,
    /// The stage that it holds, or would hold; `None` if it holds none.
    pub stage: Option<Stage>,
    /// Who acts so that it no longer stands in the way.
    pub who: Option<Part>,
    /// Why it calls a person.
    pub calls: Option<Trigger>,
    /// What it consists of: the rules of a score.
    pub children: Vec<Self>,
}

/// What an item is about, with what is known of it.
#[derive(Clone, Debug, PartialEq)]
pub enum About<'a> {
    Configuration(&'a PolicyOrigin),
    Check(&'a CheckView),
    Score(&'a Evaluation),
    Rule(&'a RuleView),
    Gate(&'a GateReport),
    Capabilities(&'a CapabilityProgress),
    Draft,
    Review(&'a ReviewStanding),
    /// The layer beneath in its stack.
    Beneath(PrNumber),
    Merge,
    /// `cause` is `None` where the trigger does not hold any more and only a person lifts the call.
    Call {
        trigger: Trigger,
        cause: Option<&'a Cause>,
    },
    Tampering(&'a Tampering),
    Warning(&'a Warning),
}

/// The items of a decision about a pull request: each sort in its own order, and last what decides nothing.
pub fn tree<'a>(decision: &'a Decision, pull_request: &PullRequest) -> Vec<Item<'a>> {
    let view = &decision.view;
    let mut items = vec![configuration(&view.origin)];
    items.extend(view.checks.iter().map(|one| check(one, &view.evaluation)));
    items.push(score(view));
    items.extend(view.gates.iter().map(gate));
    items.extend(capabilities(view));
    items.push(draft(pull_request));
    items.push(review(&view.review));
    items.extend(decision.surface.waits_for.values().min().map(beneath));
    items.extend(merge(view, pull_request));
    items.extend(calls(view));
    items.extend(view.tampering.iter().map(tampering));
    items.extend(view.warnings.iter().map(note));
    if pull_request.lifecycle != Lifecycle::Open {
        items.iter_mut().for_each(Item::end);
    }
    items
}

impl<'a> Item<'a> {
    /// The check that it is about, with the state that it is in.
    pub const fn check(&self) -> Option<(CheckState, &'a CheckView)> {
        match (self.id, &self.about) {
            (ItemId::Check(state), About::Check(check)) => Some((state, check)),
            _ => None,
        }
    }

    fn new(id: ItemId, about: About<'a>, status: ItemStatus) -> Self {
        Self {
            id,
            about,
            status,
            stage: None,
            who: None,
            calls: None,
            children: Vec::new(),
        }
    }

    /// Ends the item: a merged or closed pull request has nothing that holds it and no one who acts.
    fn end(&mut self) {
        if self.status == ItemStatus::Holds {
            self.status = ItemStatus::Advises;
        }
        self.who = None;
        self.children.iter_mut().for_each(Self::end);
    }

    fn at(self, stage: Stage) -> Self {
        let stage = Some(stage);
        Self { stage, ..self }
    }

    /// Says who acts, where it is not satisfied.
    fn acts(self, who: Part) -> Self {
        let is_open = matches!(self.status, ItemStatus::Holds | ItemStatus::Unknown);
        let who = is_open.then_some(who);
        Self { who, ..self }
    }
}

fn configuration(origin: &PolicyOrigin) -> Item<'_> {
    let (id, status) = match origin {
        PolicyOrigin::Presets { .. } => (ItemId::ConfigurationUnreadable, ItemStatus::Holds),
        PolicyOrigin::LastGood { .. } => (ItemId::ConfigurationLastGood, ItemStatus::Advises),
        PolicyOrigin::Base { .. } | PolicyOrigin::WorkingTree | PolicyOrigin::Defaults => {
            (ItemId::ConfigurationRead, ItemStatus::Passed)
        }
    };
    let item = Item::new(id, About::Configuration(origin), status);
    item.at(Stage::Init).acts(Part::Author)
}

fn check<'a>(check: &'a CheckView, evaluation: &Evaluation) -> Item<'a> {
    let state = CheckState::of(check);
    let stage = held_stage(check.kind);
    // As the walk over the stages has it: a failure of these kinds stops it, and so does one whose rule must hold.
    let must_hold = |rule: &RuleView| {
        rule.severity == Severity::Fail
            && matches!(&rule.outcome, RuleOutcome::Failed(RuleFailure::Check { check: of, .. }) if *of == check.name)
    };
    let stops = stage.is_some() && check.holds_hard() || evaluation.rules.iter().any(must_hold);
    let status = match check.baseline {
        OnBase::Advises => ItemStatus::Advises,
        _ if check.is_open() || state == CheckState::NotRun => ItemStatus::Unknown,
        _ if check.has_failed() && stops => ItemStatus::Holds,
        _ if check.ended_badly() || state == CheckState::MinorFindings => ItemStatus::Advises,
        _ => ItemStatus::Passed,
    };
    let item = Item {
        stage,
        ..Item::new(ItemId::Check(state), About::Check(check), status)
    };
    match part_of(state, check) {
        Some(who) => item.acts(who),
        None => item,
    }
}

/// Who acts while a check in this state stands in the way; `None` where nothing is expected of it.
fn part_of(state: CheckState, check: &CheckView) -> Option<Part> {
    Some(match state {
        CheckState::Failed | CheckState::TimedOut => fixes(check),
        CheckState::NoTests
        | CheckState::ResultsLost
        | CheckState::CannotStart
        | CheckState::NotStarted => Part::Author,
        CheckState::Cancelled
        | CheckState::Missing
        | CheckState::Running
        | CheckState::Queued
        | CheckState::AwaitsRelease
        | CheckState::EvidenceRefused
        | CheckState::Lost => Part::Ci,
        CheckState::AwaitsApproval => Part::RunApprover,
        CheckState::NeverReported => Part::Human,
        CheckState::Passed
        | CheckState::MinorFindings
        | CheckState::NotRun
        | CheckState::NotApplicable
        | CheckState::Filtered
        | CheckState::ReviewerAbsent
        | CheckState::Skipped => return None,
    })
}

/// Who mends a failing check: by whose failure it is.
fn fixes(check: &CheckView) -> Part {
    match check.blame {
        Some(Blame::Base) => Part::Base,
        Some(Blame::Infrastructure | Blame::Inconclusive | Blame::Flaky) => Part::Ci,
        Some(Blame::PrCode) | None => Part::Author,
    }
}

/// The score of the phase, with its rules.
fn score(view: &View) -> Item<'_> {
    let evaluation = &view.evaluation;
    let (id, status) = match evaluation.verdict {
        EvaluationVerdict::Undecided => (ItemId::ScoreUnknown, ItemStatus::Unknown),
        EvaluationVerdict::Passed(_) => (ItemId::ScoreReached, ItemStatus::Passed),
        EvaluationVerdict::Failed => (ItemId::ScoreShort, ItemStatus::Holds),
    };
    let item = Item::new(id, About::Score(evaluation), status);
    let who = if status == ItemStatus::Unknown {
        Part::Ci
    } else {
        Part::Author
    };
    let stage = match evaluation.phase {
        Phase::A => Stage::Verify,
        Phase::B => Stage::Validate,
    };
    Item {
        children: evaluation.rules.iter().map(rule).collect(),
        ..item.at(stage).acts(who)
    }
}

/// A rule of severity `fail` holds, whatever the score is; any other weighs in it.
fn rule(rule: &RuleView) -> Item<'_> {
    let (id, status) = match rule.outcome {
        RuleOutcome::Passed => (ItemId::RuleMet, ItemStatus::Passed),
        RuleOutcome::Failed(_) if rule.severity == Severity::Fail => {
            (ItemId::RuleUnmet, ItemStatus::Holds)
        }
        RuleOutcome::Failed(_) => (ItemId::RuleUnmet, ItemStatus::Advises),
        RuleOutcome::Unknown => (ItemId::RuleUnknown, ItemStatus::Unknown),
    };
    Item::new(id, About::Rule(rule), status)
}

fn gate(gate: &GateReport) -> Item<'_> {
    let id = match gate.status {
        GateStatus::NotApplicable => ItemId::GateNotNeeded,
        GateStatus::Approved => ItemId::GateApproved,
        GateStatus::Rejected => ItemId::GateRejected,
        GateStatus::Pending | GateStatus::Requested => ItemId::GateWaits,
    };
    let is_open = matches!(id, ItemId::GateRejected | ItemId::GateWaits);
    let status = match is_open {
        true if gate.is_advisory => ItemStatus::Advises,
        true => ItemStatus::Holds,
        false => ItemStatus::Passed,
    };
    let who = if id == ItemId::GateRejected {
        Part::Author
    } else {
        Part::Approver
    };
    Item::new(id, About::Gate(gate), status)
        .at(gate.holds)
        .acts(who)
}

/// `None` where the pull request lists no capabilities.
fn capabilities(view: &View) -> Option<Item<'_>> {
    let progress = &view.capabilities;
    if progress.total == 0 {
        return None;
    }
    let holds = matches!(&view.evidence_held_by, Some(Blocker::Capability(_)));
    let (id, status) = match (&progress.current, holds) {
        (None, _) => (ItemId::CapabilityDone, ItemStatus::Passed),
        (Some(_), true) => (ItemId::CapabilityOpen, ItemStatus::Holds),
        (Some(_), false) => (ItemId::CapabilityOpen, ItemStatus::Advises),
    };
    let item = Item::new(id, About::Capabilities(progress), status);
    Some(item.at(Stage::Verify).acts(Part::Author))
}

fn draft(pull_request: &PullRequest) -> Item<'static> {
    let (id, status) = if pull_request.is_draft {
        (ItemId::DraftNotReady, ItemStatus::Holds)
    } else {
        (ItemId::DraftReady, ItemStatus::Passed)
    };
    Item::new(id, About::Draft, status)
        .at(Stage::Document)
        .acts(Part::Author)
}

fn review(standing: &ReviewStanding) -> Item<'_> {
    let (id, status, who) = match standing {
        ReviewStanding::NotRequired => (
            ItemId::ReviewNotRequired,
            ItemStatus::Passed,
            Part::Reviewer,
        ),
        ReviewStanding::Approved => (ItemId::ReviewApproved, ItemStatus::Passed, Part::Reviewer),
        ReviewStanding::Pending { .. } => {
            (ItemId::ReviewMissing, ItemStatus::Holds, Part::Reviewer)
        }
        ReviewStanding::Rejected { .. } => (
            ItemId::ReviewChangesRequested,
            ItemStatus::Holds,
            Part::Author,
        ),
    };
    Item::new(id, About::Review(standing), status)
        .at(Stage::Review)
        .acts(who)
}

fn beneath(layer: &PrNumber) -> Item<'static> {
    Item::new(
        ItemId::StackBeneath,
        About::Beneath(*layer),
        ItemStatus::Holds,
    )
    .at(Stage::Ship)
    .acts(Part::Beneath)
}

/// `None` while something comes before the merge.
fn merge(view: &View, pull_request: &PullRequest) -> Option<Item<'static>> {
    let (id, status) = match (&pull_request.lifecycle, &view.held_by) {
        (Lifecycle::Merged { .. }, _) => (ItemId::MergeDone, ItemStatus::Passed),
        (_, Some(Blocker::Merge)) => (ItemId::MergeOpen, ItemStatus::Holds),
        _ => return None,
    };
    let item = Item::new(id, About::Merge, status);
    Some(item.at(Stage::Ship).acts(Part::Merger))
}

/// The open call for a person, and the causes that are only flagged.
fn calls(view: &View) -> impl Iterator<Item = Item<'_>> {
    let call = |id, status, trigger, cause| {
        let item = Item::new(id, About::Call { trigger, cause }, status);
        Item {
            calls: Some(trigger),
            ..item.acts(Part::Human)
        }
    };
    let open = view.escalation.iter().map(move |open| {
        call(
            ItemId::CallOpen,
            ItemStatus::Holds,
            open.trigger,
            open.cause.as_ref(),
        )
    });
    let flagged = view.flags.iter().map(move |(trigger, cause)| {
        call(
            ItemId::CallFlagged,
            ItemStatus::Advises,
            *trigger,
            Some(cause),
        )
    });
    open.chain(flagged)
}

/// A finding advises; the call that it causes holds.
fn tampering(found: &Tampering) -> Item<'_> {
    let item = Item::new(
        ItemId::TamperingFound,
        About::Tampering(found),
        ItemStatus::Advises,
    );
    let calls = (found.weight == Weight::Proof).then_some(Trigger::Tampering);
    Item { calls, ..item }
}

fn note(warning: &Warning) -> Item<'_> {
    Item::new(ItemId::Note, About::Warning(warning), ItemStatus::Advises)
}
