//! The `escalation:` section: who is called, where, and with what.

use std::{borrow::Cow, collections::BTreeMap};

use schemars::{JsonSchema, Schema, json_schema};
use serde::{Deserialize, Serialize, de::Unexpected};

use super::{Called, ConfigValue, Fixer, Trigger};
use crate::{
    config_value,
    ids::{GateName, Login, TeamSlug},
};

// `F` is a fixer: in a file it is another type.
/// Who is called, where, and with what.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "EscalationSection")]
pub struct EscalationPolicy<F = Fixer> {
    /// Whom to call: logins, teams (acme/maintainers), approvers of a gate (gate:security). Default: the code owners
    /// of the failing files.
    pub notify: Vec<Recipient>,
    /// Whom to call when something outside the code is down, or a check does not report. Default: as notify.
    pub ops: Vec<Recipient>,
    /// Whom to call when it is unclear what is wanted. Default: as notify.
    pub product_owner: Vec<Recipient>,
    /// Where it is posted.
    pub channels: Vec<Channel>,
    /// What the report holds. Default: all but stack_traces.
    pub include_in_report: Vec<ReportSection>,
    /// What each cause does, and whom it calls.
    pub triggers: BTreeMap<Trigger, TriggerPolicy>,
    /// A template in the repository that replaces the built-in one if it exists.
    pub template: String,
    /// The second, stronger fixer of the action senior_agent. Default: none.
    pub senior: Option<F>,
}

impl<F> Default for EscalationPolicy<F> {
    fn default() -> Self {
        use ReportSection as S;
        Self {
            notify: Vec::new(),
            ops: Vec::new(),
            product_owner: Vec::new(),
            channels: vec![Channel::IssueComment],
            include_in_report: vec![
                S::OriginalCode,
                S::AllTestResults,
                S::FailureAnalyses,
                S::FixAttempts,
                S::DebugMemorySummary,
            ],
            triggers: BTreeMap::new(),
            template: ".github/loopgate/escalation.md".to_owned(),
            senior: None,
        }
    }
}

impl<F> EscalationPolicy<F> {
    /// What a trigger does.
    pub fn action_of(&self, trigger: Trigger) -> EscalationAction {
        let own = self.triggers.get(&trigger).and_then(|own| own.action);
        own.unwrap_or(trigger.default_action())
    }

    /// Those who are called for a trigger that names nobody itself; empty where the configuration names nobody.
    pub fn called_for(&self, trigger: Trigger) -> &[Recipient] {
        let own = match trigger.calls() {
            Called::Ops => &self.ops,
            Called::ProductOwner => &self.product_owner,
            Called::Notify => &self.notify,
        };
        if own.is_empty() { &self.notify } else { own }
    }
}

/// What one cause does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "TriggerSection")]
pub struct TriggerPolicy {
    /// Default: human_review; flag_and_continue for coverage_threshold_unmet, no_change and unknown_error_type.
    pub action: Option<EscalationAction>,
    /// Whom it calls. Default: the approvers of the security gate for security_issue_found, else escalation.notify.
    pub to: Vec<Recipient>,
}

/// Somebody to call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Recipient {
    User(Login),
    Team(TeamSlug),
    GateApprovers(GateName),
}

config_value!([] Recipient);

impl ConfigValue for Recipient {
    fn form() -> (Cow<'static, str>, Schema) {
        let expected = "a login (`alice`), a team (`acme/maintainers`) or the approvers of a gate (`gate:security`)";
        let pattern = "^(gate: ?[a-z0-9][a-z0-9_-]*|@?[A-Za-z0-9_-]+(\\[bot\\])?|@?[A-Za-z0-9_-]+/[A-Za-z0-9._-]+)$";
        (
            expected.into(),
            json_schema!({ "type": "string", "pattern": pattern }),
        )
    }

    fn read(found: Unexpected<'_>) -> Option<Self> {
        let Unexpected::Str(text) = found else {
            return None;
        };
        let name = text.strip_prefix('@').unwrap_or(text);
        match text.split_once(':') {
            Some(("gate", gate)) => Some(Self::GateApprovers(gate.trim().parse().ok()?)),
            Some(_) => None,
            None if name.contains('/') => Some(Self::Team(name.parse().ok()?)),
            None => Some(Self::User(name.parse().ok()?)),
        }
    }
}

words! {
    /// Where an escalation is posted.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
    pub enum Channel {
        IssueComment = "issue_comment",
        Cli = "cli",
        Slack = "slack",
        Email = "email",
    }
}

/// Sections of an escalation report that can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReportSection {
    OriginalCode,
    AllTestResults,
    FailureAnalyses,
    FixAttempts,
    DebugMemorySummary,
    StackTraces,
}

/// What an escalation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EscalationAction {
    HumanReview,
    /// A second, stronger fixer once, then a human.
    SeniorAgent,
    /// The run ends as `aborted`.
    AbortWithReport,
    /// Said in the status comment; the loop goes on.
    FlagAndContinue,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipients_are_people_teams_and_gates() {
        for (text, recipient) in [
            ("alice", Recipient::User("alice".parse().unwrap())),
            (
                "@dependabot[bot]",
                Recipient::User("dependabot[bot]".parse().unwrap()),
            ),
            ("@acme/ops", Recipient::Team("acme/ops".parse().unwrap())),
            (
                "gate: security",
                Recipient::GateApprovers("security".parse().unwrap()),
            ),
        ] {
            assert_eq!(Recipient::read(Unexpected::Str(text)), Some(recipient));
        }
        for bad in [
            "",
            "@",
            "al ice",
            "a/b/c",
            "team:x",
            "gate:",
            "gate:Security",
            "alice,bob",
        ] {
            assert_eq!(Recipient::read(Unexpected::Str(bad)), None, "{bad}");
        }
    }
}
