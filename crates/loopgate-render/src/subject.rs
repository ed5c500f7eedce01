//! What every text of one pull request is made from.

use std::cell::OnceCell;

use super::{Feedback, Markdown, texts::Parts};
use loopgate_core::{
    CheckName, GateName, Login,
    concerns::{
        checks::gather::OnBase,
        gates::GateReport,
        tampering::Tampering,
        verdict::{DistanceToSuccess, RuleView},
    },
    deciding::{CheckView, Decision, Warning, stages::Blocker},
    observed::Snapshot,
    policy::{ApproveBy, GateRole, Policy},
    result::{self, About, CheckState, Item},
    state::{GateStatus, StopReason},
};

/// What the texts of one reconcile are made from.
pub struct Subject<'a> {
    pub decision: &'a Decision,
    pub snapshot: &'a Snapshot,
    pub policy: &'a Policy,
    items: OnceCell<Vec<Item<'a>>>,
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

    /// What was looked at, and how it stands: every surface reads the decision by these.
    pub(super) fn items(&self) -> &[Item<'a>] {
        self.items
            .get_or_init(|| result::tree(self.decision, &self.snapshot.pull_request))
    }

    /// The checks, in the order of the policy, each with its state.
    pub(super) fn checks(&self) -> impl Iterator<Item = (CheckState, &'a CheckView)> {
        self.items().iter().filter_map(Item::check)
    }

    /// Names of the checks that failed on the head and count, in their order.
    pub(super) fn failing(&self) -> Vec<CheckName> {
        self.checks()
            .filter(|(state, check)| state.is_failure() && check.baseline != OnBase::Advises)
            .map(|(_, check)| check.name.clone())
            .collect()
    }

    /// The rules of the score.
    pub(super) fn rules(&self) -> impl Iterator<Item = &'a RuleView> {
        let rules = self.items().iter().flat_map(|item| &item.children);
        rules.filter_map(|item| match item.about {
            About::Rule(rule) => Some(rule),
            _ => None,
        })
    }

    /// The gates, applicable or not.
    pub(super) fn gates(&self) -> impl Iterator<Item = &'a GateReport> {
        self.items().iter().filter_map(|item| match item.about {
            About::Gate(gate) => Some(gate),
            _ => None,
        })
    }

    /// How the change weakens what checks it.
    pub(super) fn tampering(&self) -> impl Iterator<Item = &'a Tampering> {
        self.items().iter().filter_map(|item| match item.about {
            About::Tampering(found) => Some(found),
            _ => None,
        })
    }

    /// What must be known although it decides nothing.
    pub(super) fn warnings(&self) -> impl Iterator<Item = &'a Warning> {
        self.items().iter().filter_map(|item| match item.about {
            About::Warning(warning) => Some(warning),
            _ => None,
        })
    }

    pub const fn new(decision: &'a Decision, snapshot: &'a Snapshot, policy: &'a Policy) -> Self {
        Self {
            decision,
            snapshot,
            policy,
            items: OnceCell::new(),
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
        self.gates().find(|gate| gate.name == *name)
    }

    /// A closed gate that was turned down, and by whom.
    pub(super) fn rejection(&self) -> Option<(&GateReport, &Login)> {
        let closed = self.gates().filter(|gate| gate.is_closed());
        closed
            .filter_map(|gate| Some((gate, &gate.rejection()?.by)))
            .next()
    }

    pub(super) fn check(&self, name: &CheckName) -> Option<&CheckView> {
        let mut checks = self.checks();
        checks.find_map(|(_, check)| (check.name == *name).then_some(check))
    }

    /// How this check stands; `None` if there is no such check.
    pub(super) fn state_of(&self, name: &CheckName) -> Option<CheckState> {
        let mut checks = self.checks();
        checks.find_map(|(state, check)| (check.name == *name).then_some(state))
    }

    pub(super) fn stopped_by_a_person(&self) -> bool {
        self.decision.next.run.stop.reason == Some(StopReason::UserStop)
    }
}
