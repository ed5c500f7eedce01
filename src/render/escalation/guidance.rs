//! Who is called, what only they can do, and how the loop goes on.

use minijinja::context;

use crate::render::{
    sanitize::Markdown,
    steps::{silent_step, step},
    verdict::Subject,
};
use loopgate_core::{
    Login, TeamSlug,
    escalation::EscalationView,
    policy::{GateRole, Recipient, Trigger},
};

/// How the loop goes on after a person was called.
pub fn resume_steps(subject: &Subject<'_>, cause: Trigger) -> Vec<String> {
    let branch = subject.snapshot.pull_request.head.branch.as_str();
    let say = |name: &str| step(name, context! { branch });
    let mut steps = match cause {
        Trigger::Tampering => vec![say("tampering_meant"), say("tampering_not_meant")],
        // The answers of the question are the ways on.
        Trigger::Disputed => vec![say("disputed")],
        Trigger::SecurityIssueFound | Trigger::AmbiguousRequirement => {
            let is_gated =
                cause == Trigger::SecurityIssueFound && subject.policy.gate_with_role(GateRole::Security).is_some();
            vec![say("answer"), step("resume_by", context! { is_gated })]
        }
        Trigger::ExternalDependencyDown => {
            let checks: Vec<_> = subject.policy.verify.checks.keys().cloned().collect();
            silent_step(subject, &checks).into_iter().chain([say("service_is_back")]).collect()
        }
        Trigger::GateTimeout => Vec::new(),
        Trigger::TimeoutExceeded => vec![say("code_hangs"), say("check_is_slow")],
        _ => {
            let (total, limit) = (subject.decision.next.failures.total, subject.policy.retry.total_failures);
            let most = subject.decision.view.max_attempts;
            vec![say("push_a_fix"), step("resume", context! { total, most, is_last => total >= limit })]
        }
    };
    steps.push(say("give_up"));
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
                // Approvers are not looked up for a gate that is not open: then the configuration's names stand.
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
