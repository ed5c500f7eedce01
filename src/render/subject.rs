//! What every text of one pull request is made from.

use std::cell::OnceCell;

use super::{Feedback, Markdown, texts::Parts};
use loopgate_core::{
    CheckName, GateName, Login,
    deciding::{CheckView, Decision},
    gate::GateReport,
    observed::Snapshot,
    policy::{ApproveBy, GateRole, Policy},
    stages::Blocker,
    state::{GateStatus, StopReason},
    verdict::DistanceToSuccess,
};

/// What the texts of one reconcile are made from.
pub struct Subject<'a> {
    pub decision: &'a Decision,
    pub snapshot: &'a Snapshot,
    pub policy: &'a Policy,
    /// What several texts show, each at several lengths, and the document for programs.
    pub(super) parts: OnceCell<Parts>,
    pub(super) document: OnceCell<(Feedback, Markdown)>,
}

impl<'a> Subject<'a> {
    /// Whether scores are shown: where the configuration asks for one.
    pub(super) fn shows_scores(&self) -> bool {
        self.policy.evaluate.sets_thresholds()
    }

    /// How far it is from success by its score, where that is shown, or is what holds it.
    pub(super) fn distance(&self) -> Option<&'a DistanceToSuccess> {
        let view = &self.decision.view;
        let held_by_score = matches!(view.evidence_held_by, Some(Blocker::Evaluation(_)))
            && view.evaluation.failed_rules().is_empty();
        let is_shown = self.shows_scores() || held_by_score;
        view.distance.as_ref().filter(|_| is_shown)
    }

    pub const fn new(decision: &'a Decision, snapshot: &'a Snapshot, policy: &'a Policy) -> Self {
        Self {
            decision,
            snapshot,
            policy,
            parts: OnceCell::new(),
            document: OnceCell::new(),
        }
    }
}

impl Subject<'_> {
    /// The author of the pull request, by login.
    pub(super) fn author(&self) -> String {
        self.snapshot.pull_request.author.login.to_string()
    }

    /// Whether an approval of this gate also lets the workflows of a fork run.
    pub(super) fn lets_runs_go(&self, gate: &GateReport) -> bool {
        self.policy.approve_runs
            && self.snapshot.is_from_fork()
            && gate.status != GateStatus::NotApplicable
            && self
                .policy
                .gates
                .get(&gate.name)
                .is_some_and(|gate| gate.has_role(GateRole::Security))
    }

    /// "Attempt 1 of 3" in the first streak; "Attempt 5" later, or when it did not fail.
    pub fn attempt(&self) -> String {
        let failed = self.decision.next.attempts.failures.count;
        let attempt = self.decision.view.attempt;
        let most = self.decision.view.max_attempts;
        let resumed = !self.decision.next.people.resumes.is_empty();
        if attempt <= most && (attempt == failed || failed == 0 && !resumed) {
            format!("Attempt {attempt} of {most}")
        } else {
            format!("Attempt {attempt}")
        }
    }

    /// " (2 tries left)", where the attempt's number does not show it.
    pub(super) fn tries_left(&self) -> String {
        let (failed, most) = (
            self.decision.next.attempts.failures.count,
            self.decision.view.max_attempts,
        );
        let left = most.saturating_sub(failed);
        if failed == 0 || left == 0 || self.decision.view.attempt == failed {
            return String::new();
        }
        format!(" ({left} {} left)", if left == 1 { "try" } else { "tries" })
    }

    /// Whether this is `verify`, which keeps no state and looks at no gate: it has no other attempt and names no person
    /// who acts.
    pub fn is_single(&self) -> bool {
        let next = &self.decision.next;
        next.run.pull_request.is_none() && next.run.alias.is_empty()
    }

    /// How approvals of a gate are given, by the policy in force.
    pub(super) fn approve_by(&self, gate: &GateName) -> ApproveBy {
        self.policy
            .gates
            .get(gate)
            .map_or(ApproveBy::Comment, |gate| gate.approve_by)
    }

    pub fn gate(&self, name: &GateName) -> Option<&GateReport> {
        self.decision
            .view
            .gates
            .iter()
            .find(|gate| gate.name == *name)
    }

    /// A closed gate that was turned down, and by whom.
    pub(super) fn rejection(&self) -> Option<(&GateReport, &Login)> {
        let closed = self
            .decision
            .view
            .gates
            .iter()
            .filter(|gate| gate.is_closed());
        closed
            .filter_map(|gate| Some((gate, &gate.rejection()?.by)))
            .next()
    }

    pub(super) fn check(&self, name: &CheckName) -> Option<&CheckView> {
        self.decision
            .view
            .checks
            .iter()
            .find(|check| check.name == *name)
    }

    pub(super) fn stopped_by_a_person(&self) -> bool {
        self.decision.next.run.stop.reason == Some(StopReason::UserStop)
    }
}
