//! How the pull request should look: labels, check runs, reviewers, comments that must notify, and reactions.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;

use super::{
    action::{DecisionWord, NextAction},
    returned::Stages,
    view::View,
};
use crate::{
    concerns::{
        attempts::rerun::{self, RerunRequest},
        checks::{CheckStanding, gather::CheckView},
        fixer::fix_request::{FixTurn, Whom},
        gates::{GateReport, Reacted, ReactionKind, gate_transitions},
    },
    deciding::stages::Blocker,
    failure::Blame,
    ids::{CheckName, GateName, PrNumber, Sha, WorkflowRunId},
    observed::{Conclusion, Lifecycle, OwnCheck, Stack},
    policy::{Channel, Fixer, Trigger, WaitsFor},
    stage::Stage,
    state::{
        AnswerOutcome, Asked, Blocked, CommandRefusal, GateStatus, Reviewer, RunStatus, Ticks,
    },
};

/// How the pull request should look. `github::act` applies the difference to what was observed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surface {
    /// Labels Loopgate owns, with the colour (six hex digits without `#`) and what they mean; None is taken away if
    /// present. Others are never touched.
    pub labels: BTreeMap<String, Option<(String, LabelMeaning)>>,
    pub request: BTreeSet<Reviewer>,
    /// Only reviewers Loopgate had asked for.
    pub withdraw: BTreeSet<Reviewer>,
    /// None: nothing is written (closed unmerged).
    pub verify: Option<CheckRunPlan>,
    pub gates: Option<CheckRunPlan>,
    /// The checks that are green by the word of a person: an approval, a skip, a responsibility taken.
    pub by_word: BTreeSet<OwnCheck>,
    /// The checks whose own part passes, and the layer of the stack beneath that each waits for.
    pub waits_for: BTreeMap<OwnCheck, PrNumber>,
    /// Whether it is written.
    pub status_comment: bool,
    pub posts: Vec<Post>,
    /// Gate requests that somebody else edited: they show again what approvers have ticked.
    pub restore: Vec<(Post, Ticks)>,
    pub reactions: BTreeMap<Reacted, ReactionKind>,
    /// What channels beside the pull request also say, once each: a call for a person, a gate that opened.
    pub announce: Vec<(Channel, Post)>,
    /// What GitHub is to be asked to run again.
    pub reruns: BTreeSet<RerunRequest>,
    /// Workflow runs that GitHub holds back, and is to be asked to let run.
    pub approve_runs: BTreeSet<WorkflowRunId>,
    /// The fixer that is to be asked now; its post is among `posts`.
    pub fix: Option<FixTurn>,
    /// The head branch, once it is merged and is to go.
    pub delete_branch: Option<MergedBranch>,
}

/// A branch that was merged and is no longer needed, if it still points at what was merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedBranch {
    pub name: String,
    pub sha: Sha,
}

/// What a label that Loopgate sets says of the pull request.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LabelMeaning {
    /// Checks fail here as they do on the base.
    BaseFailsToo,
    ChecksRun,
    FixNeeded,
    HumanDecides,
    AllIsThere,
    PersonAwaited,
    /// The gate waits for its approval.
    GateWaits(GateName),
}

/// State of one of our check runs; its text is rendered from the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckRunPlan {
    InProgress,
    Completed(Conclusion),
}

impl CheckRunPlan {
    /// The one that lets less through.
    #[must_use]
    pub const fn max_by_severity(self, other: Self) -> Self {
        if other.severity() > self.severity() {
            other
        } else {
            self
        }
    }

    const fn severity(self) -> u8 {
        match self {
            Self::Completed(Conclusion::Success | Conclusion::Neutral | Conclusion::Skipped) => 0,
            Self::InProgress => 1,
            Self::Completed(Conclusion::ActionRequired) => 2,
            Self::Completed(_) => 3,
        }
    }
}

/// A comment that must notify: posted once, found again by its marker.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Post {
    /// To the approvers of a gate.
    GateRequest { gate: GateName, round: u32 },
    /// To the approvers of a gate that has waited too long.
    GateReminder { gate: GateName, round: u32 },
    /// To the person who is called. `call` counts from 1: the same cause at the same attempt may go away by itself and
    /// come back.
    Escalation {
        trigger: Trigger,
        attempt: u32,
        call: u32,
    },
    /// It was merged although something stood in the way.
    MergedOverOpenGates,
    /// A fixer that works elsewhere is asked to mend this attempt.
    FixRequest { whom: Whom, attempt: u32 },
}

impl Post {
    /// The call of a person for a cause that blocks the run.
    pub const fn escalation(blocked: &Blocked) -> Self {
        Self::Escalation {
            trigger: blocked.trigger,
            attempt: blocked.attempt,
            call: blocked.call,
        }
    }

    /// The text of the hidden idempotency marker, unique per pull request and cause.
    pub fn key(&self) -> String {
        match self {
            Self::GateRequest { gate, round } => format!("gate:{gate}:{round}"),
            Self::GateReminder { gate, round } => format!("gate-reminder:{gate}:{round}"),
            Self::Escalation {
                trigger,
                attempt,
                call: 1,
            } => format!("escalation:{}:{attempt}", trigger.as_str()),
            Self::Escalation {
                trigger,
                attempt,
                call,
            } => format!("escalation:{}:{attempt}:{call}", trigger.as_str()),
            Self::MergedOverOpenGates => "bypassed".to_owned(),
            Self::FixRequest {
                whom: Whom::Fixer,
                attempt,
            } => format!("fix:{attempt}"),
            Self::FixRequest {
                whom: Whom::Senior,
                attempt,
            } => format!("fix-senior:{attempt}"),
        }
    }

    /// The newest attempt that had failed when a post with this key was made; `None` if the key names no attempt.
    pub fn attempt_failed(key: &str) -> Option<u32> {
        let mut parts = key.split(':');
        match parts.next()? {
            "escalation" => {
                let of_attempts =
                    Trigger::of_word(parts.next()?).is_none_or(Trigger::is_of_attempts);
                let attempt: u32 = parts.next()?.parse().ok()?;
                Some(if of_attempts {
                    attempt
                } else {
                    attempt.saturating_sub(1)
                })
            }
            "fix" | "fix-senior" => parts.next()?.parse().ok(),
            _ => None,
        }
    }
}

/// How long after the merge the surface is still put right: long enough for a turn that was cut short. What is shown
/// then stays, whatever happens to checks and comments later.
const HANDOFF: TimeDelta = TimeDelta::minutes(15);

/// The whole surface. On a pull request that was closed unmerged, or whose merge was handed off, nothing is written any
/// more.
pub(super) fn surface(
    stages: &Stages<'_>,
    view: &View,
    gates: gate_transitions::GateChanges,
) -> Surface {
    let handed_off = stages.next.run.stage == Stage::Complete
        && stages.inputs.now >= stages.next.run.stage_entered_at + HANDOFF;
    let pull = &stages.inputs.snapshot.pull_request;
    if pull.lifecycle == Lifecycle::Closed || handed_off {
        return Surface::default();
    }
    let open = pull.lifecycle == Lifecycle::Open;
    let is_due = |turn: &FixTurn| {
        stages.inputs.now >= turn.at
            && turn
                .whom
                .of(stages.inputs.policy)
                .is_some_and(Fixer::works_elsewhere)
    };
    let fix = view.fixing.filter(is_due);
    let judged_here = stages.inputs.snapshot.judged_on.is_none();
    let stack = stages
        .inputs
        .snapshot
        .stack
        .as_ref()
        .filter(|_| open && judged_here);
    let mut waits_for = BTreeMap::new();
    let mut verify = with_layers(
        OwnCheck::Verify,
        verify_check(stages),
        stack,
        &mut waits_for,
    );
    let gates_check = with_layers(OwnCheck::Gates, gates_check(stages), stack, &mut waits_for);
    if !open && verify == CheckRunPlan::InProgress {
        // Nothing that comes after the merge is waited for.
        verify = CheckRunPlan::Completed(Conclusion::Cancelled);
    }
    // The branch of a fork is not ours to tidy up.
    let goes = matches!(pull.lifecycle, Lifecycle::Merged { .. })
        && stages.inputs.policy.delete_branch
        && stages.inputs.snapshot.has_own_branch()
        && pull.head.branch != pull.base.branch;
    let mut surface = Surface {
        labels: labels(stages, &waits_for),
        verify: judged_here.then_some(verify),
        gates: judged_here.then_some(gates_check),
        by_word: by_word(stages),
        waits_for,
        status_comment: true,
        posts: posts(stages, fix),
        fix,
        reactions: reactions(stages),
        approve_runs: stages
            .approved_runs
            .map(|approved| approved.runs.clone())
            .unwrap_or_default(),
        delete_branch: goes.then(|| MergedBranch {
            name: pull.head.branch.clone(),
            sha: pull.head.sha,
        }),
        ..Surface::default()
    };
    if open {
        surface.request = gates.request;
        surface.withdraw = gates.withdraw;
        let altered = stages
            .inputs
            .assessment
            .gates
            .iter()
            .filter(|gate| gate.request_altered);
        let request = |gate: &GateReport| {
            let state = stages
                .next
                .concerns
                .gates
                .get(&gate.name)
                .filter(|state| state.status == GateStatus::Requested)?;
            Some((
                Post::GateRequest {
                    gate: gate.name.clone(),
                    round: state.round,
                },
                gate.ticks.clone()?,
            ))
        };
        surface.restore = altered.filter_map(request).collect();
        surface.announce = announcements(stages);
        surface.reruns = rerun::asks(stages.inputs.cx(), stages.next);
    }
    surface
}

/// The worst of a check's own part and of the layers beneath, with which it would be merged.
fn with_layers(
    check: OwnCheck,
    own: CheckRunPlan,
    stack: Option<&Stack>,
    waits_for: &mut BTreeMap<OwnCheck, PrNumber>,
) -> CheckRunPlan {
    let Some((layer, standing)) = stack.and_then(|stack| stack.waits_for(check)) else {
        return own;
    };
    if own == CheckRunPlan::Completed(Conclusion::Success) {
        waits_for.insert(check, layer);
    }
    own.max_by_severity(match standing.conclusion() {
        None => CheckRunPlan::InProgress,
        Some(Conclusion::Failure) => CheckRunPlan::Completed(Conclusion::Failure),
        Some(_) => CheckRunPlan::Completed(Conclusion::ActionRequired),
    })
}

/// Which checks are green because a person said so. What somebody said of this head holds for no other, and for no
/// longer than they say it.
fn by_word(stages: &Stages<'_>) -> BTreeSet<OwnCheck> {
    let approved = |gate: &GateReport| gate.status == GateStatus::Approved;
    let skipped = |check: &CheckView| matches!(check.standing, CheckStanding::Skipped { .. });
    let verify = stages.verification.evidence.checks.values().any(skipped)
        || !stages.next.people.accepted.is_empty()
        || !stages.next.concerns.tampering.is_empty();
    let gates = stages.inputs.assessment.gates.iter().any(approved);
    // The check run of the layers beneath lasts no longer than the stack.
    let layered = stages
        .inputs
        .snapshot
        .stack
        .as_ref()
        .is_some_and(|stack| !stack.beneath.is_empty());
    let words = [
        (OwnCheck::Verify, verify || layered),
        (OwnCheck::Gates, gates || layered),
    ];
    words
        .into_iter()
        .filter_map(|(check, by_word)| by_word.then_some(check))
        .collect()
}

fn labels(
    stages: &Stages<'_>,
    waits_for: &BTreeMap<OwnCheck, PrNumber>,
) -> BTreeMap<String, Option<(String, LabelMeaning)>> {
    let labels = &stages.inputs.policy.labels;
    let mut wishes: BTreeMap<_, _> = labels
        .all()
        .into_iter()
        .map(|(_, name, _)| (name, None))
        .collect();
    if labels.state {
        let (current, meaning) = state_label(stages, waits_for);
        let current = labels.all().into_iter().find(|(key, ..)| *key == current);
        wishes.extend(current.map(|(_, name, colour)| (name, Some((colour, meaning)))));
    }
    let open = stages.inputs.snapshot.pull_request.lifecycle == Lifecycle::Open;
    wishes.extend(stages.inputs.assessment.gates.iter().map(|gate| {
        let status = stages
            .next
            .concerns
            .gates
            .get(&gate.name)
            .map_or(GateStatus::Pending, |state| state.status);
        let waits = open && matches!(status, GateStatus::Requested | GateStatus::Rejected);
        let wish = waits.then(|| {
            (
                GATE_COLOUR.to_owned(),
                LabelMeaning::GateWaits(gate.name.clone()),
            )
        });
        (gate.label.clone(), wish)
    }));
    wishes
}

/// The key of the one label that stands for what is waited for, and what it means.
fn state_label(
    stages: &Stages<'_>,
    waits_for: &BTreeMap<OwnCheck, PrNumber>,
) -> (&'static str, LabelMeaning) {
    match (stages.action.word(), stages.action) {
        (_, NextAction::WaitForEvidence { .. }) if fails_as_its_base_does(stages) => {
            ("waiting", LabelMeaning::BaseFailsToo)
        }
        (_, NextAction::WaitForEvidence { missing })
            if missing.iter().all(|name| is_silent(stages, name)) =>
        {
            ("waiting", LabelMeaning::PersonAwaited)
        }
        (_, NextAction::WaitForEvidence { .. }) => ("verifying", LabelMeaning::ChecksRun),
        (DecisionWord::Retry, _) => ("retry", LabelMeaning::FixNeeded),
        (DecisionWord::Escalate, _) => ("blocked", LabelMeaning::HumanDecides),
        (DecisionWord::Proceed, NextAction::Complete) => ("passed", LabelMeaning::AllIsThere),
        (DecisionWord::Proceed, _) if waits_for.is_empty() => ("passed", LabelMeaning::AllIsThere),
        (DecisionWord::Proceed | DecisionWord::Wait, _) => ("waiting", LabelMeaning::PersonAwaited),
    }
}

/// Orange: somebody else has to act.
const GATE_COLOUR: &str = "d93f0b";

/// `loopgate / verify` follows the evidence walk alone: it is green when that reaches DOCUMENT.
fn verify_check(stages: &Stages<'_>) -> CheckRunPlan {
    use CheckRunPlan::{Completed, InProgress};
    if stages.inputs.policy.origin.error().is_some() {
        return Completed(Conclusion::ActionRequired);
    }
    match stages.next.run.status {
        RunStatus::Stopped => return Completed(Conclusion::ActionRequired),
        RunStatus::Failed | RunStatus::Aborted => return Completed(Conclusion::Failure),
        _ => {}
    }
    match stages.action {
        // An approval that does not come in time is no finding about the evidence.
        NextAction::Escalate { cause } | NextAction::WaitForHuman { cause }
            if cause.waits_for() != Some(WaitsFor::Approval) =>
        {
            return Completed(Conclusion::ActionRequired);
        }
        _ => {}
    }
    if stages.walks.evidence.reached >= Stage::Document {
        return Completed(Conclusion::Success);
    }
    match &stages.walks.evidence.held_by {
        Some(Blocker::MissingEvidence(_) | Blocker::Capability(_)) | None => InProgress,
        // Nothing more comes by itself.
        Some(Blocker::Failing(failing)) if failing.iter().all(|name| is_silent(stages, name)) => {
            Completed(Conclusion::ActionRequired)
        }
        Some(Blocker::Failing(_))
            if stages.action.awaits_evidence() && !fails_as_its_base_does(stages) =>
        {
            InProgress
        }
        Some(_) => Completed(Conclusion::Failure),
    }
}

/// Whether nothing was heard of this check in the time that it has.
fn is_silent(stages: &Stages<'_>, name: &CheckName) -> bool {
    stages.verification.evidence.checks[name]
        .silence()
        .is_some()
}

/// Whether the head's verification has ended, and it fails by what its base fails by.
fn fails_as_its_base_does(stages: &Stages<'_>) -> bool {
    stages
        .next
        .attempt_of(stages.next.head.sha)
        .is_some_and(|head| head.blame == Some(Blame::Base))
}

/// `loopgate / gates` is green when no gate that holds is closed.
fn gates_check(stages: &Stages<'_>) -> CheckRunPlan {
    if stages.inputs.policy.origin.error().is_some() && stages.inputs.policy.gates.is_empty() {
        return CheckRunPlan::Completed(Conclusion::ActionRequired);
    }
    let closed: Vec<&GateReport> = stages
        .inputs
        .assessment
        .gates
        .iter()
        .filter(|gate| gate.is_closed())
        .collect();
    let rejected = closed
        .iter()
        .any(|gate| gate.status == GateStatus::Rejected);
    CheckRunPlan::Completed(match closed.as_slice() {
        [] => Conclusion::Success,
        _ if rejected => Conclusion::Failure,
        _ => Conclusion::ActionRequired,
    })
}

fn posts(stages: &Stages<'_>, fix: Option<FixTurn>) -> Vec<Post> {
    let mut posts = Vec::new();
    if stages.inputs.snapshot.pull_request.lifecycle == Lifecycle::Open {
        for (gate, state) in &stages.next.concerns.gates {
            if state.status == GateStatus::Requested {
                posts.push(Post::GateRequest {
                    gate: gate.clone(),
                    round: state.round,
                });
                if state.reminded_at.is_some() {
                    posts.push(Post::GateReminder {
                        gate: gate.clone(),
                        round: state.round,
                    });
                }
            }
        }
        let on_the_page = stages
            .inputs
            .policy
            .escalation
            .channels
            .contains(&Channel::IssueComment);
        if let Some(blocked) = stages.next.people.blocked.as_ref().filter(|_| on_the_page) {
            posts.push(Post::escalation(blocked));
        }
        posts.extend(fix.map(|fix| Post::FixRequest {
            whom: fix.whom,
            attempt: fix.attempt,
        }));
    } else if !stages.next.run.bypassed.is_empty() {
        posts.push(Post::MergedOverOpenGates);
    }
    posts
}

/// What Slack and e-mail are to say, while it is younger than [`rerun::WINDOW`]: the escalation, and the request of each
/// gate since its approvers can decide. The code that sends it records what was sent.
fn announcements(stages: &Stages<'_>) -> Vec<(Channel, Post)> {
    let is_fresh = |since| stages.inputs.now < since + rerun::WINDOW;
    let blocked = stages.next.people.blocked.as_ref();
    let escalation = blocked
        .filter(|blocked| is_fresh(blocked.since))
        .map(Post::escalation);
    let opened = stages.next.concerns.gates.iter().filter(|(_, gate)| {
        gate.status == GateStatus::Requested && gate.waiting_since.is_some_and(is_fresh)
    });
    let requests = opened.map(|(gate, state)| Post::GateRequest {
        gate: gate.clone(),
        round: state.round,
    });
    let posts: Vec<Post> = escalation.into_iter().chain(requests).collect();
    let channels = stages.inputs.policy.escalation.channels.iter();
    channels
        .filter(|channel| matches!(channel, Channel::Slack | Channel::Email))
        .flat_map(|channel| posts.iter().map(|post| (*channel, post.clone())))
        .collect()
}

/// One reaction per comment: a refusal is shown before a success, so that it is not overlooked.
fn reactions(stages: &Stages<'_>) -> BTreeMap<Reacted, ReactionKind> {
    let mut reactions = stages.inputs.assessment.reactions();
    for (asked, answer) in stages.next.replies() {
        let Asked::InWords(source) = *asked else {
            continue;
        };
        let Some(place) = Reacted::at(source) else {
            continue;
        };
        let kind = match answer.outcome {
            AnswerOutcome::Refused(CommandRefusal::RightsUnknown) => ReactionKind::Seen,
            AnswerOutcome::Refused(_) | AnswerOutcome::NothingToRun { .. } => {
                ReactionKind::NotAccepted
            }
            _ => ReactionKind::Done,
        };
        let shown = reactions.entry(place).or_insert(kind);
        *shown = (*shown).max(kind);
    }
    reactions
}
