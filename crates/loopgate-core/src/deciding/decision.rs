//! What [`decide`](crate::deciding::decide) returns: the next action, the next state, what happened, what people should
//! see, and whose turn it is.
//!
//! A decision is data. `render` turns it into text, `refs` saves its state, and
//! `github::act` makes the pull request look like its [`Surface`]; none of them decides anything.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    action::{AttemptRecord, NextAction},
    surface::{CheckRunPlan, Surface},
    view::View,
};
use crate::{
    concerns::{
        checks::{CheckStanding, Silence, gather::CheckView},
        gates::GateReport,
    },
    evidence::Outcome,
    failure::Blame,
    ids::{Login, TeamSlug, Timestamp},
    observed::{
        Conclusion, GroupFailure, GroupResult, Lifecycle, PullRequest, QueueGroup, Unfinished,
        UnfinishedCheck,
    },
    policy::{Policy, Recipient},
    state::{AuthorKind, LoopState, history::HistoryLine},
};

/// The outcome of one reconcile.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    pub action: NextAction,
    /// The state to save.
    pub next: LoopState,
    /// Lines to append to the history.
    pub events: Vec<HistoryLine>,
    /// The attempt to write to `attempts/NNN.json`, when one was counted or its evidence replaced.
    pub attempt: Option<AttemptRecord>,
    /// Everything that is shown, before it becomes text.
    pub view: View,
    /// How the pull request should look.
    pub surface: Surface,
    /// The next moment at which time alone changes the decision (a timeout, a reminder).
    pub revisit_at: Option<Timestamp>,
}

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
pub fn who_acts(
    decision: &Decision,
    pull_request: &PullRequest,
    policy: &Policy,
) -> Option<WhoActs> {
    let (state, author) = (&decision.next, &pull_request.author.login);
    let is_agents =
        || state.run.author == Some(AuthorKind::Agent) || policy.coding_agents.contains(author);
    let mut who = WhoActs {
        part: Part::Nobody,
        people: BTreeSet::new(),
        teams: BTreeSet::new(),
        since: None,
    };
    let last_attempt = || state.attempts.counted.last().map(|attempt| attempt.at);
    who.part = match &decision.action {
        NextAction::Complete => return None,
        NextAction::Stopped if pull_request.lifecycle != Lifecycle::Open => return None,
        NextAction::Stopped => Part::Nobody,
        NextAction::Retry { .. } if decision.view.fixing.is_some() => {
            who.since = last_attempt();
            Part::Fixer
        }
        action @ (NextAction::Retry { .. }
        | NextAction::WaitForPush { .. }
        | NextAction::WaitForReady) => {
            who.people.insert(author.clone());
            who.since = action.retried().and_then(|_| last_attempt());
            if is_agents() {
                Part::Agent
            } else {
                Part::Author
            }
        }
        NextAction::WaitForHuman { .. } | NextAction::Escalate { .. } => {
            who.since = state.people.blocked.as_ref().map(|call| call.since);
            for recipient in decision
                .view
                .escalation
                .iter()
                .flat_map(|call| &call.recipients)
            {
                match recipient {
                    Recipient::User(login) => who.people.extend([login.clone()]),
                    Recipient::Team(team) => who.teams.extend([team.clone()]),
                    Recipient::GateApprovers(name) => {
                        decision
                            .view
                            .gates
                            .iter()
                            .filter(|gate| gate.name == *name)
                            .for_each(|gate| who.add(gate));
                    }
                }
            }
            Part::Human
        }
        NextAction::WaitForApproval { gate } => {
            who.since = state
                .concerns
                .gates
                .get(gate)
                .and_then(|gate| gate.waiting_since);
            // The run waits for approvers of any of the closed gates.
            decision
                .view
                .gates
                .iter()
                .filter(|gate| gate.is_closed())
                .for_each(|gate| who.add(gate));
            Part::Approver
        }
        NextAction::WaitForEvidence { missing } => {
            let of_base = |check: &CheckView| {
                missing.contains(&check.name) && check.blame == Some(Blame::Base)
            };
            let is_authors = |check: &CheckView| {
                missing.contains(&check.name) && check.silence().is_some_and(Silence::is_authors)
            };
            if decision.view.checks.iter().any(is_authors) {
                who.people.insert(author.clone());
                if is_agents() {
                    Part::Agent
                } else {
                    Part::Author
                }
            } else if decision.view.checks.iter().any(of_base) {
                Part::Base
            } else {
                Part::Ci
            }
        }
        NextAction::WaitForRunApproval { .. } if decision.surface.approve_runs.is_empty() => {
            Part::RunApprover
        }
        NextAction::WaitForRunApproval { .. } => Part::Ci,
        NextAction::WaitForReview => {
            who.people.clone_from(&pull_request.requested_users);
            who.teams.clone_from(&pull_request.requested_teams);
            Part::Reviewer
        }
        NextAction::WaitForMerge if !decision.surface.waits_for.is_empty() => Part::Beneath,
        NextAction::WaitForMerge => Part::Merger,
    };
    Some(who)
}

impl Decision {
    /// How a group stands, where this decision was made on the group's own evidence.
    pub fn queue_group(&self, group: QueueGroup) -> QueueGroup {
        let result = match self.surface.verify {
            Some(CheckRunPlan::Completed(Conclusion::Success)) => GroupResult::Passed,
            Some(CheckRunPlan::Completed(_)) => GroupResult::Failed,
            Some(CheckRunPlan::InProgress) | None => GroupResult::Running,
        };
        let mut group = QueueGroup { result, ..group };
        for view in &self.view.failures {
            let test = view
                .failure
                .test_name
                .as_deref()
                .unwrap_or(view.check.as_str());
            let key = view
                .failure
                .fingerprint
                .map_or_else(|| view.check.to_string(), |error| error.to_string());
            let failure = GroupFailure {
                key,
                name: QueueGroup::short_name(test),
                on_base: view.blame == Blame::Base,
            };
            match view.blame {
                Blame::Flaky => group.recovered.push(failure),
                Blame::Infrastructure | Blame::Inconclusive => {}
                Blame::PrCode | Blame::Base if group.fails(&failure) => {}
                Blame::PrCode | Blame::Base => group.failing.push(failure),
            }
        }
        for check in &self.view.checks {
            let name = QueueGroup::short_name(check.name.as_str());
            let end = match &check.standing {
                CheckStanding::Done(evidence) if evidence.outcome == Outcome::Cancelled => {
                    Unfinished::Cancelled
                }
                CheckStanding::Done(evidence) if evidence.outcome.is_failure() => match check.blame
                {
                    Some(Blame::Infrastructure | Blame::Inconclusive) => Unfinished::Outside,
                    _ => {
                        if self
                            .view
                            .failures
                            .iter()
                            .all(|view| view.check != check.name)
                        {
                            let on_base = check.blame == Some(Blame::Base);
                            group.failing.push(GroupFailure {
                                key: check.name.to_string(),
                                name,
                                on_base,
                            });
                        }
                        continue;
                    }
                },
                CheckStanding::Lost { .. } => Unfinished::Cancelled,
                CheckStanding::Running { .. } => Unfinished::Running,
                CheckStanding::Missing
                | CheckStanding::NoReport { .. }
                | CheckStanding::NotStarted { .. }
                | CheckStanding::AwaitsApproval { .. }
                | CheckStanding::AwaitsRelease { .. } => Unfinished::NotStarted,
                _ => continue,
            };
            group.unfinished.push(UnfinishedCheck { name, end });
        }
        group.failing.truncate(QueueGroup::MOST_FAILURES);
        group.recovered.truncate(QueueGroup::MOST_FAILURES);
        group.unfinished.truncate(QueueGroup::MOST_FAILURES);
        group
    }
}
