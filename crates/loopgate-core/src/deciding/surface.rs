//! How the pull request should look: labels, check runs, reviewers, posts and reactions that follow from a decision.

use std::collections::BTreeMap;

use chrono::TimeDelta;

use crate::{
    attempts::rerun,
    deciding::{
        CheckRunPlan, CommandReply, LabelMeaning, LabelWish, MergedBranch, NextAction, Post, StatusCommentWish, Surface,
    },
    escalation::fix_request::{self, FixRequest, FixTurn},
    failure::{Blame, FeedbackLine},
    gate::{Assessment, GateReport, GateStanding, Reacted, ReactionKind, gate_transitions},
    ids::Timestamp,
    observed::{Conclusion, Lifecycle, Snapshot},
    policy::{Channel, LabelPolicy, LoopLabel, OnComplete, Policy, Trigger},
    stage::Stage,
    stages::{Blocker, walk::Walk},
    state::{AnswerOutcome, Asked, GateStatus, LoopState, RunStatus},
};

/// What the surface is derived from.
pub struct SurfaceInputs<'a> {
    pub snapshot: &'a Snapshot,
    pub policy: &'a Policy,
    pub next: &'a LoopState,
    pub action: &'a NextAction,
    pub evidence_walk: &'a Walk,
    pub assessment: &'a Assessment,
    pub replies: &'a [CommandReply],
    pub feedback: &'a [FeedbackLine],
    pub fixing: Option<&'a FixTurn>,
    pub now: Timestamp,
}

/// How long after the merge the surface is still put right: long enough for a turn that was cut short. What is shown
/// then stays, whatever happens to checks and comments later.
const HANDOFF: TimeDelta = TimeDelta::minutes(15);

/// The whole surface. On a pull request that was closed unmerged, or whose merge was handed off, nothing is written any
/// more.
pub fn surface(inputs: &SurfaceInputs<'_>, gatekeeping: gate_transitions::Outcome) -> Surface {
    let ended = inputs.next.stages.get(&Stage::Complete).and_then(|stage| stage.completed_at);
    let handed_off = ended.is_some_and(|ended| inputs.now >= ended + HANDOFF);
    if inputs.snapshot.pull_request.lifecycle == Lifecycle::Closed || handed_off {
        return Surface::default();
    }
    let open = inputs.snapshot.pull_request.lifecycle == Lifecycle::Open;
    let due = |turn| fix_request::request(turn, inputs.snapshot, inputs.policy, inputs.feedback, inputs.now);
    let fix = inputs.fixing.and_then(due);
    Surface {
        labels: labels(inputs),
        request: if open { gatekeeping.request } else { Default::default() },
        withdraw: if open { gatekeeping.withdraw } else { Default::default() },
        verify: Some(verify_check(inputs)),
        gates: Some(gates_check(inputs)),
        status_comment: StatusCommentWish::Upsert,
        posts: posts(inputs, fix.as_ref()),
        fix,
        reactions: reactions(inputs),
        announce: if open { announcements(inputs) } else { Default::default() },
        reruns: if open {
            rerun::asks(inputs.snapshot, inputs.policy, inputs.next, inputs.now)
        } else {
            Default::default()
        },
        delete_branch: merged_branch(inputs),
    }
}

/// The head branch, where it goes after a merge. Never a fork's: it is not ours to tidy up.
fn merged_branch(inputs: &SurfaceInputs<'_>) -> Option<MergedBranch> {
    let pull = &inputs.snapshot.pull_request;
    let is_merged = matches!(pull.lifecycle, Lifecycle::Merged { .. });
    let goes = is_merged && inputs.policy.on_complete == OnComplete::DeleteBranch;
    let is_own = pull.head.repository.as_ref() == Some(&inputs.snapshot.repository);
    (goes && is_own && pull.head.branch != pull.base.branch)
        .then(|| MergedBranch { name: pull.head.branch.clone(), sha: pull.head.sha })
}

fn labels(inputs: &SurfaceInputs<'_>) -> BTreeMap<String, LabelWish> {
    let mut wishes = BTreeMap::new();
    if let LabelPolicy::On(labels) = &inputs.policy.labels {
        for label in labels.all() {
            wishes.insert(label.name.clone(), LabelWish::Absent);
        }
        let (label, meaning) = match inputs.action {
            NextAction::WaitForEvidence { .. } if fails_as_its_base_does(inputs) => {
                (&labels.waiting, LabelMeaning::BaseFailsToo)
            }
            NextAction::WaitForEvidence { .. } => (&labels.verifying, LabelMeaning::ChecksRun),
            NextAction::Retry { .. } => (&labels.retry, LabelMeaning::FixNeeded),
            NextAction::Escalate { .. } | NextAction::WaitForHuman { .. } => {
                (&labels.blocked, LabelMeaning::HumanDecides)
            }
            NextAction::Complete | NextAction::WaitForMerge => (&labels.passed, LabelMeaning::AllIsThere),
            NextAction::Stopped
            | NextAction::WaitForApproval { .. }
            | NextAction::WaitForPush { .. }
            | NextAction::WaitForReady
            | NextAction::WaitForReview => (&labels.waiting, LabelMeaning::PersonAwaited),
        };
        wishes.insert(label.name.clone(), present(label, meaning));
    }
    for gate in &inputs.assessment.gates {
        let status = inputs.next.gates.get(&gate.name).map_or(GateStatus::Pending, |state| state.status);
        let open = inputs.snapshot.pull_request.lifecycle == Lifecycle::Open;
        let wish = if open && matches!(status, GateStatus::Requested | GateStatus::Rejected) {
            LabelWish::Present { color: GATE_COLOUR.to_owned(), meaning: LabelMeaning::GateWaits(gate.name.clone()) }
        } else {
            LabelWish::Absent
        };
        wishes.insert(gate.label.clone(), wish);
    }
    wishes
}

/// Orange: somebody else's turn.
const GATE_COLOUR: &str = "d93f0b";

fn present(label: &LoopLabel, meaning: LabelMeaning) -> LabelWish {
    LabelWish::Present { color: label.colour.to_string(), meaning }
}

/// `loopgate / verify` follows the evidence walk alone: it is green when that reaches DOCUMENT.
fn verify_check(inputs: &SurfaceInputs<'_>) -> CheckRunPlan {
    use CheckRunPlan::{Completed, InProgress};
    if inputs.policy.origin.error().is_some() {
        return Completed(Conclusion::ActionRequired);
    }
    match inputs.next.status {
        RunStatus::Stopped => return Completed(Conclusion::ActionRequired),
        RunStatus::Failed | RunStatus::Aborted => return Completed(Conclusion::Failure),
        _ => {}
    }
    match inputs.action {
        // A gate nobody decides says nothing about the evidence.
        NextAction::Escalate { cause: Trigger::GateTimeout }
        | NextAction::WaitForHuman { cause: Trigger::GateTimeout } => {}
        NextAction::Escalate { .. } | NextAction::WaitForHuman { .. } => return Completed(Conclusion::ActionRequired),
        _ => {}
    }
    if inputs.evidence_walk.reached >= Stage::Document {
        return Completed(Conclusion::Success);
    }
    match inputs.evidence_walk.held_by {
        Some(Blocker::MissingEvidence(_) | Blocker::Capability(_)) | None => InProgress,
        Some(Blocker::Failing(_))
            if matches!(inputs.action, NextAction::WaitForEvidence { .. }) && !fails_as_its_base_does(inputs) =>
        {
            InProgress
        }
        Some(_) => Completed(Conclusion::Failure),
    }
}

/// Whether the head's verification has ended, and it fails by what its base fails by.
fn fails_as_its_base_does(inputs: &SurfaceInputs<'_>) -> bool {
    inputs.next.attempt_of(inputs.next.head_sha).is_some_and(|head| head.blame == Some(Blame::Base))
}

/// `loopgate / gates` is green when no gate that holds is closed.
fn gates_check(inputs: &SurfaceInputs<'_>) -> CheckRunPlan {
    if inputs.policy.origin.error().is_some() && inputs.policy.gates.is_empty() {
        return CheckRunPlan::Completed(Conclusion::ActionRequired);
    }
    let closed: Vec<&GateReport> = inputs.assessment.gates.iter().filter(|gate| gate.is_closed()).collect();
    let rejected = closed.iter().any(|gate| matches!(gate.standing, GateStanding::Rejected { .. }));
    CheckRunPlan::Completed(match closed.as_slice() {
        [] => Conclusion::Success,
        _ if rejected => Conclusion::Failure,
        _ => Conclusion::ActionRequired,
    })
}

fn posts(inputs: &SurfaceInputs<'_>, fix: Option<&FixRequest>) -> Vec<Post> {
    let mut posts = Vec::new();
    if inputs.snapshot.pull_request.lifecycle == Lifecycle::Open {
        for (gate, state) in &inputs.next.gates {
            if state.status == GateStatus::Requested {
                posts.push(Post::GateRequest { gate: gate.clone(), round: state.round });
                if state.reminded_at.is_some() {
                    posts.push(Post::GateReminder { gate: gate.clone(), round: state.round });
                }
            }
        }
        let on_the_page = inputs.policy.escalation.channels.contains(&Channel::IssueComment);
        if let Some(blocked) = inputs.next.blocked.as_ref().filter(|_| on_the_page) {
            posts.push(Post::Escalation { trigger: blocked.trigger, attempt: blocked.attempt, call: blocked.call });
        }
        posts.extend(fix.map(|fix| Post::FixRequest { whom: fix.whom, attempt: fix.attempt }));
    } else if !inputs.next.bypassed.is_empty() {
        posts.push(Post::MergedOverOpenGates);
    }
    posts
}

/// The escalation on the channels that notify by themselves, for as long as it is fresh: whoever carries it out
/// remembers what was sent.
fn announcements(inputs: &SurfaceInputs<'_>) -> BTreeMap<Channel, String> {
    let fresh = inputs.next.blocked.as_ref().filter(|blocked| inputs.now < blocked.since + rerun::WINDOW);
    let Some(blocked) = fresh else { return BTreeMap::new() };
    let key = Post::Escalation { trigger: blocked.trigger, attempt: blocked.attempt, call: blocked.call }.key();
    let channels = inputs.policy.escalation.channels.iter();
    let beside = channels.filter(|channel| matches!(channel, Channel::Slack | Channel::Email));
    beside.map(|channel| (*channel, key.clone())).collect()
}

/// One reaction per comment: a refusal is shown before a success, so that nobody overlooks it.
fn reactions(inputs: &SurfaceInputs<'_>) -> BTreeMap<Reacted, ReactionKind> {
    let mut reactions = inputs.assessment.reactions();
    for reply in inputs.replies {
        let Asked::InWords(source) = reply.source else { continue };
        let Some(place) = Reacted::at(source) else { continue };
        let kind = match reply.answer.outcome {
            AnswerOutcome::Refused(_) | AnswerOutcome::NothingToRun { .. } => ReactionKind::NotAccepted,
            _ => ReactionKind::Done,
        };
        let shown = reactions.entry(place).or_insert(kind);
        *shown = (*shown).max(kind);
    }
    reactions
}
