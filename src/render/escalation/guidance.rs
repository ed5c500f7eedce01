//! Who is called, what only they can do, and how the loop goes on.

use crate::render::{
    sanitize::{Markdown, code},
    steps::silent_step,
    verdict::Subject,
};
use loopgate_core::{
    Login, TeamSlug,
    escalation::EscalationView,
    policy::{GateRole, Recipient, Trigger},
};

/// How the loop goes on after a person was called.
pub fn resume_steps(subject: &Subject<'_>, cause: Trigger) -> Vec<String> {
    let branch = code(&subject.snapshot.pull_request.head.branch);
    let most = subject.decision.view.max_attempts;
    let mut steps = Vec::new();
    let resume = code("/loop resume");
    match cause {
        Trigger::Tampering => {
            steps.push(format!(
                "Intended: someone else with write access comments {}.",
                code("/loop resume --accept tampering")
            ));
            steps.push(format!("Not intended: put back on {branch} what was weakened, then {resume}."));
        }
        // The answers of the question are the ways on.
        Trigger::Disputed => {
            steps.push(
                "Only a maintainer, or a person mentioned above with write access, can settle this; authors of the change \
                 cannot. A push settles it only if the test passes unchanged."
                    .to_owned(),
            );
        }
        Trigger::SecurityIssueFound | Trigger::AmbiguousRequirement => {
            steps.push(format!("Answer in a comment, push a fix to {branch} if one is needed."));
            let gate = subject.policy.gate_with_role(GateRole::Security);
            let who = match (cause, gate) {
                (Trigger::SecurityIssueFound, Some(_)) => {
                    "an approver of the security gate or a maintainer, but not an author of the code"
                }
                _ => "a person with write access",
            };
            steps.push(format!("Then {resume} by {who}. A passing push is not enough."));
        }
        Trigger::ExternalDependencyDown => {
            let checks: Vec<_> = subject.policy.verify.checks.keys().cloned().collect();
            steps.extend(silent_step(subject, &checks));
            steps.push(format!("When it is back: {} runs the checks again.", code("/loop retry")));
        }
        Trigger::GateTimeout => {}
        Trigger::TimeoutExceeded => {
            steps.push(format!("The code hangs: push a fix to {branch}; if it passes, the block is lifted."));
            steps.push(format!("The check is slow: raise its timeout on the base branch, then {resume}."));
        }
        _ => {
            steps.push(format!("Push a fix to {branch}: if it passes, the block is lifted."));
            let (total, limit) = (subject.decision.next.total_failures(), subject.policy.retry.total_failures);
            steps.push(match total >= limit {
                true => format!(
                    "Or {resume}: one more try. With {total} failing attempts, every further one calls a person."
                ),
                false => format!("Or {resume}: a new streak of {most} attempts begins."),
            });
        }
    }
    steps.push(format!("Or give up: {}.", code("/loop stop reason")));
    steps
}

/// The only mentions Loopgate makes: people and teams the configuration names for this cause.
pub fn mentions(subject: &Subject<'_>, escalation: &EscalationView) -> Markdown {
    let mut who: Vec<String> = Vec::new();
    for recipient in &escalation.recipients {
        match recipient {
            Recipient::User(login) => who.push(format!("@{login}")),
            Recipient::Team(team) => who.push(format!("@{team}")),
            Recipient::GateApprovers(name) => {
                let eligible = subject.gate(name).map(|gate| &gate.eligible);
                let known = |(teams, people): &(Vec<_>, Vec<_>)| !(teams.is_empty() && people.is_empty());
                let eligible = eligible
                    .map(|eligible| (eligible.teams.keys().collect(), eligible.people.iter().collect()))
                    .filter(known);
                // Nobody is looked up for a gate that nothing opened: then whom the configuration names.
                let named = || {
                    let approvers = &subject.policy.gates.get(name)?.approvers;
                    Some((approvers.teams.iter().collect(), approvers.users.iter().collect()))
                };
                let Some((teams, people)) = eligible.or_else(named) else { continue };
                who.extend(teams.into_iter().map(|team: &TeamSlug| format!("@{team}")));
                who.extend(people.into_iter().map(|login: &Login| format!("@{login}")));
            }
        }
    }
    who.dedup();
    who.truncate(20);
    Markdown::ours(who.join(" "))
}
