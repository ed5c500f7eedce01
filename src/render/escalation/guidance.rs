//! Who is called, what only they can do, and how the loop goes on.

use minijinja::context;

use crate::render::{
    sanitize::Markdown,
    steps::{silent_step, step},
    verdict::Subject,
};
use loopgate_core::{
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
                let known = subject.gate(name).map(|gate| &gate.eligible);
                let known = known.filter(|eligible| !eligible.teams.is_empty() || !eligible.people.is_empty());
                if let Some(eligible) = known {
                    who.extend(eligible.teams.keys().map(|team| format!("@{team}")));
                    who.extend(eligible.people.iter().map(|login| format!("@{login}")));
                } else if let Some(gate) = subject.policy.gates.get(name) {
                    // Approvers are not looked up for a gate that is not open: then the configuration's names stand.
                    who.extend(gate.approvers.teams.iter().map(|team| format!("@{team}")));
                    who.extend(gate.approvers.users.iter().map(|login| format!("@{login}")));
                }
            }
        }
    }
    who.dedup();
    who.truncate(20);
    Markdown::ours(who.join(" "))
}
