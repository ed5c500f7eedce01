//! `escalation:`, who is called, where, and with what.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::fixer::FixerSection;
use crate::config::{node::Node, problem::Problem, sections::Lowering};
use loopgate_core::policy::{
    Channel, EscalationAction, EscalationPolicy, Recipient, ReportSection, Trigger, TriggerPolicy,
};

/// Who is called, where, and with what.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(in crate::config) struct EscalationSection {
    /// Whom to call: logins, teams (acme/maintainers), approvers of a gate (gate:security). Default: the code owners
    /// of the failing files.
    notify: Vec<Recipient>,
    /// Whom to call when something outside the code is down. Default: as notify.
    ops: Vec<Recipient>,
    /// Whom to call when it is unclear what is wanted. Default: as notify.
    product_owner: Vec<Recipient>,
    /// Where it is said.
    channels: Option<Vec<Channel>>,
    /// What the report holds. Default: all but stack_traces.
    include_in_report: Option<Vec<ReportSection>>,
    /// What each cause does, and whom it calls.
    triggers: IndexMap<Trigger, TriggerSection>,
    /// A template in the repository that replaces the built-in one if it exists.
    template: Option<String>,
    /// The second, stronger fixer of the action senior_agent. Default: none.
    senior: Option<FixerSection>,
}

/// What one cause does.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct TriggerSection {
    /// Default: human_review; flag_and_continue for coverage_threshold_unmet, no_change and unknown_error_type.
    action: Option<EscalationAction>,
    /// Whom it calls. Default: the approvers of the security gate for security_issue_found, else escalation.notify.
    to: Vec<Recipient>,
}

impl EscalationSection {
    pub fn lower(self, node: &Node, cx: &mut Lowering) -> EscalationPolicy {
        let default = EscalationPolicy::default();
        let triggers = self.triggers.into_iter().map(|(trigger, TriggerSection { action, to })| {
            let action = action.unwrap_or_else(|| trigger.default_action());
            if action == EscalationAction::SeniorAgent && self.senior.is_none() {
                let place = node.at("triggers").at(trigger.as_str()).at("action").place;
                let problem = Problem::wrong(place, "there is no senior agent to call");
                cx.refuse(problem.hint("add it as `escalation.senior`"));
            }
            (trigger, TriggerPolicy { action, to })
        });
        EscalationPolicy {
            triggers: triggers.collect(),
            notify: self.notify,
            ops: self.ops,
            product_owner: self.product_owner,
            channels: self.channels.unwrap_or(default.channels),
            include_in_report: self.include_in_report.unwrap_or(default.include_in_report),
            template: self.template.map_or(default.template, |path| cx.inside_repository(path, node.at("template"))),
            senior: self.senior.map(|senior| senior.lower_senior(node.at("senior"), cx)),
        }
    }
}
