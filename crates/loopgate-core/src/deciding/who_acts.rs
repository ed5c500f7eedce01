//! Whose turn it is.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Decision, NextAction};
use crate::{
    failure::Blame,
    gate::GateReport,
    ids::{Login, TeamSlug, Timestamp},
    observed::{Lifecycle, PullRequest},
    policy::{Policy, Recipient},
    state::AuthorKind,
};

words! {
    /// The part that somebody plays; in the order in which an overview lists them, the most urgent first.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum Part {
        /// No one acts, though it is open: a person stopped it, or it was given up.
        Nobody = "nobody",
        /// A person was called.
        Human = "human",
        Approver = "approver",
        Reviewer = "reviewer",
        /// A person who may let workflows run.
        RunApprover = "run_approver",
        /// A person who may merge.
        Merger = "merger",
        Author = "author",
        Agent = "agent",
        /// The fixer that works elsewhere.
        Fixer = "fixer",
        Ci = "ci",
        /// A person who mends the base, where the same fails.
        Base = "base",
        /// The layer beneath it in its stack.
        Beneath = "beneath",
    }
}

/// Who acts next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhoActs {
    pub part: Part,
    /// Those who are known by name.
    pub people: BTreeSet<Login>,
    pub teams: BTreeSet<TeamSlug>,
    /// Since when it is their turn, where that is known.
    pub since: Option<Timestamp>,
}

impl WhoActs {
    /// Adds those who can open a gate.
    fn add(&mut self, gate: &GateReport) {
        self.people.extend(gate.eligible.people.iter().cloned());
        self.teams.extend(gate.eligible.teams.keys().cloned());
    }
}

/// Who acts next on a pull request; none once it is over.
pub fn who_acts(decision: &Decision, pull_request: &PullRequest, policy: &Policy) -> Option<WhoActs> {
    let state = &decision.next;
    let is_agents = || state.author == Some(AuthorKind::Agent) || policy.coding_agents.contains(author(pull_request));
    let authors = || if is_agents() { Part::Agent } else { Part::Author };
    let part = match &decision.action {
        NextAction::Complete => return None,
        NextAction::Stopped if pull_request.lifecycle != Lifecycle::Open => return None,
        NextAction::Stopped => Part::Nobody,
        NextAction::Retry { .. } if decision.view.fixing.is_some() => Part::Fixer,
        NextAction::Retry { .. } | NextAction::WaitForPush { .. } | NextAction::WaitForReady => authors(),
        NextAction::WaitForHuman { .. } | NextAction::Escalate { .. } => Part::Human,
        NextAction::WaitForApproval { .. } => Part::Approver,
        NextAction::WaitForEvidence { missing } => {
            let of_base = |check: &super::CheckView| missing.contains(&check.name) && check.blame == Some(Blame::Base);
            if decision.view.checks.iter().any(of_base) { Part::Base } else { Part::Ci }
        }
        NextAction::WaitForRunApproval { .. } if decision.surface.approve_runs.is_empty() => Part::RunApprover,
        NextAction::WaitForRunApproval { .. } => Part::Ci,
        NextAction::WaitForReview => Part::Reviewer,
        NextAction::WaitForMerge if !decision.surface.waits_for.is_empty() => Part::Beneath,
        NextAction::WaitForMerge => Part::Merger,
    };
    let mut who = WhoActs { part, people: BTreeSet::new(), teams: BTreeSet::new(), since: None };
    match (part, &decision.action) {
        (Part::Author | Part::Agent, action) => {
            who.people.insert(author(pull_request).clone());
            who.since = action.retried().and_then(|_| state.attempts.last()).map(|attempt| attempt.at);
        }
        (Part::Fixer, _) => who.since = state.attempts.last().map(|attempt| attempt.at),
        (Part::Human, _) => {
            who.since = state.blocked.as_ref().map(|call| call.since);
            for recipient in decision.view.escalation.iter().flat_map(|call| &call.recipients) {
                match recipient {
                    Recipient::User(login) => who.people.extend([login.clone()]),
                    Recipient::Team(team) => who.teams.extend([team.clone()]),
                    Recipient::GateApprovers(name) => {
                        decision.view.gates.iter().filter(|gate| gate.name == *name).for_each(|gate| who.add(gate));
                    }
                }
            }
        }
        (Part::Approver, NextAction::WaitForApproval { gate }) => {
            who.since = state.gates.get(gate).and_then(|gate| gate.waiting_since);
            // The run waits for approvers of any of the closed gates.
            decision.view.gates.iter().filter(|gate| gate.is_closed()).for_each(|gate| who.add(gate));
        }
        (Part::Reviewer, _) => {
            who.people.clone_from(&pull_request.requested_users);
            who.teams.clone_from(&pull_request.requested_teams);
        }
        _ => {}
    }
    Some(who)
}

const fn author(pull_request: &PullRequest) -> &Login {
    &pull_request.author.login
}
