//! How the pull request should look, and the comments that must notify.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    attempts::rerun::RerunRequest,
    escalation::fix_request::{FixTurn, Whom},
    gate::{Reacted, ReactionKind, Reviewer},
    ids::{GateName, PrNumber, Sha, WorkflowRunId},
    observed::{Conclusion, OwnCheck},
    policy::{Channel, Trigger},
    state::{Blocked, Ticks},
};

/// How the pull request should look. `github::act` applies the difference to what was observed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surface {
    /// Labels Loopgate owns: wanted, or to be taken away if present. Others are never touched.
    pub labels: BTreeMap<String, LabelWish>,
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
    pub status_comment: StatusCommentWish,
    pub posts: Vec<Post>,
    /// Gate requests that somebody else edited: they show again what approvers have ticked.
    pub restore: Vec<(Post, Ticks)>,
    pub reactions: BTreeMap<Reacted, ReactionKind>,
    /// Channels that an escalation is said on beside the comment, with the key of its post.
    pub announce: BTreeMap<Channel, String>,
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LabelWish {
    /// Colour is six hex digits without `#`.
    Present {
        color: String,
        meaning: LabelMeaning,
    },
    Absent,
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
        if other.severity() > self.severity() { other } else { self }
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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatusCommentWish {
    #[default]
    Leave,
    Upsert,
}

/// A comment that must notify: posted once, found again by its marker.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Post {
    GateRequest {
        gate: GateName,
        round: u32,
    },
    /// To the approvers of a gate that has waited too long.
    GateReminder {
        gate: GateName,
        round: u32,
    },
    Escalation {
        trigger: Trigger,
        attempt: u32,
        /// Counts from 1: the same cause at the same attempt may go away by itself and come back.
        call: u32,
    },
    MergedOverOpenGates,
    /// A fixer that works elsewhere is asked to mend this attempt.
    FixRequest {
        whom: Whom,
        attempt: u32,
    },
}

impl Post {
    /// The call of a person for a cause that blocks the run.
    pub const fn escalation(blocked: &Blocked) -> Self {
        Self::Escalation { trigger: blocked.trigger, attempt: blocked.attempt, call: blocked.call }
    }

    /// The text of the hidden idempotency marker, unique per pull request and cause.
    pub fn key(&self) -> String {
        match self {
            Self::GateRequest { gate, round } => format!("gate:{gate}:{round}"),
            Self::GateReminder { gate, round } => format!("gate-reminder:{gate}:{round}"),
            Self::Escalation { trigger, attempt, call: 1 } => format!("escalation:{}:{attempt}", trigger.as_str()),
            Self::Escalation { trigger, attempt, call } => format!("escalation:{}:{attempt}:{call}", trigger.as_str()),
            Self::MergedOverOpenGates => "bypassed".to_owned(),
            Self::FixRequest { whom: Whom::Fixer, attempt } => format!("fix:{attempt}"),
            Self::FixRequest { whom: Whom::Senior, attempt } => format!("fix-senior:{attempt}"),
        }
    }

    /// The newest attempt that had failed when a post with this key was made; `None` if the key names no attempt.
    pub fn attempt_failed(key: &str) -> Option<u32> {
        let mut parts = key.split(':');
        match parts.next()? {
            "escalation" => {
                let trigger = parts.next()?;
                let attempt: u32 = parts.next()?.parse().ok()?;
                // These two come while an attempt's evidence or approval is waited for.
                let waits = [Trigger::ExternalDependencyDown, Trigger::GateTimeout].map(Trigger::as_str);
                Some(if waits.contains(&trigger) { attempt.saturating_sub(1) } else { attempt })
            }
            "fix" | "fix-senior" => parts.next()?.parse().ok(),
            _ => None,
        }
    }
}
