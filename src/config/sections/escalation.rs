//! `escalation:`, who is called, where, and with what.

use super::fixer::FixerSection;
use crate::config::{node::Node, problem::Problem, sections::Lowering};
use loopgate_core::policy::{EscalationAction, EscalationPolicy};

pub(super) fn lower(written: EscalationPolicy<FixerSection>, node: &Node, cx: &mut Lowering) -> EscalationPolicy {
    let EscalationPolicy { notify, ops, product_owner, channels, include_in_report, triggers, template, senior } =
        written;
    for (trigger, own) in &triggers {
        if own.action == Some(EscalationAction::SeniorAgent) && senior.is_none() {
            let place = node.at("triggers").at(trigger.as_str()).at("action").place;
            let problem = Problem::wrong(place, "there is no senior agent to call");
            cx.refuse(problem.hint("add it as `escalation.senior`"));
        }
    }
    let template = cx.inside_repository(template, node.at("template"));
    let senior = senior.map(|senior| senior.lower_senior(node.at("senior"), cx));
    EscalationPolicy { notify, ops, product_owner, channels, include_in_report, triggers, template, senior }
}
