//! `escalation:`, who is called, where, and with what.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::fixer::FixerSection;
use crate::config::{
    leaf::WrittenRecipient,
    lower::Lowering,
    problem::Problem,
    wrappers::{Located, OneOrMany},
};
use loopgate_core::policy::{
    Channel, EscalationAction, EscalationPolicy, Recipient, ReportSection, Trigger, TriggerPolicy,
};

/// Who is called, where, and with what.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(in crate::config) struct EscalationSection {
    /// Whom to call: logins, teams (acme/maintainers), approvers of a gate (gate:security). Default: the code owners
    /// of the failing files.
    notify: Option<OneOrMany<WrittenRecipient>>,
    /// Whom to call when something outside the code is down. Default: as notify.
    ops: Option<OneOrMany<WrittenRecipient>>,
    /// Whom to call when it is unclear what is wanted. Default: as notify.
    product_owner: Option<OneOrMany<WrittenRecipient>>,
    /// Where it is said.
    channels: Option<OneOrMany<Channel>>,
    /// What the report holds. Default: all but stack_traces.
    include_in_report: Option<Vec<ReportSection>>,
    /// What each cause does, and whom it calls.
    triggers: IndexMap<Trigger, TriggerSection>,
    /// A template in the repository that replaces the built-in one if it exists.
    template: Option<Located<String>>,
    /// The second, stronger fixer of the action senior_agent. Default: none.
    senior: Option<FixerSection>,
}

/// What one cause does.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct TriggerSection {
    /// Default: human_review; flag_and_continue for coverage_threshold_unmet, no_change and unknown_error_type.
    action: Option<Located<EscalationAction>>,
    /// Whom it calls. Default: the approvers of the security gate for security_issue_found, else escalation.notify.
    to: Option<OneOrMany<WrittenRecipient>>,
}

impl EscalationSection {
    pub fn lower(self, cx: &mut Lowering) -> EscalationPolicy {
        let default = EscalationPolicy::default();
        if self.senior.is_none() {
            refuse_missing_senior(&self.triggers, cx);
        }
        EscalationPolicy {
            notify: self.notify.map_or(default.notify, recipients),
            ops: self.ops.map_or(default.ops, recipients),
            product_owner: self.product_owner.map_or(default.product_owner, recipients),
            channels: self.channels.map_or(default.channels, |channels| channels.0),
            include_in_report: self.include_in_report.unwrap_or(default.include_in_report),
            triggers: triggers(self.triggers),
            template: self.template.map_or(default.template, |path| cx.inside_repository(path)),
            senior: self.senior.map(|senior| senior.lower_senior(cx)),
        }
    }
}

fn triggers(written: IndexMap<Trigger, TriggerSection>) -> BTreeMap<Trigger, TriggerPolicy> {
    written
        .into_iter()
        .map(|(trigger, section)| {
            let action = section.action.map_or_else(|| trigger.default_action(), |action| action.value);
            (trigger, TriggerPolicy { action, to: section.to.map_or_else(Vec::new, recipients) })
        })
        .collect()
}

fn recipients(written: OneOrMany<WrittenRecipient>) -> Vec<Recipient> {
    written.0.into_iter().map(|recipient| recipient.0).collect()
}

fn refuse_missing_senior(triggers: &IndexMap<Trigger, TriggerSection>, cx: &mut Lowering) {
    let actions = triggers.values().filter_map(|section| section.action.as_ref());
    for action in actions.filter(|action| action.value == EscalationAction::SeniorAgent) {
        let problem = Problem::wrong(action.place, "there is no senior agent to call");
        cx.refuse(problem.hint("add it as `escalation.senior`"));
    }
}
