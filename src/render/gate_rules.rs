//! Which rules found something in a pull request, and how to turn each of them off: `loopgate explain --gate`.

use loopgate_core::{
    gate::{GateReport, MatchReason, RuleEvidence, TriggerMatch},
    policy::RuleTier,
};
use minijinja::value::Serde;
use serde::Serialize;

use super::{gate_card, links::Links, messages, plain::plain, sanitize::line};

/// `loopgate.gate_rules/v1`: what the rules and conditions of one gate found.
#[derive(Debug, Serialize)]
pub struct GateRules {
    pub schema: &'static str,
    pub gate: String,
    pub applies: bool,
    /// What was looked at.
    pub files: usize,
    pub changed_lines: usize,
    pub rules: Vec<FoundRule>,
    /// What else opens the gate, in words: conditions of the configuration, labels, findings.
    pub conditions: Vec<String>,
}

/// A place that a rule found.
#[derive(Debug, Serialize)]
pub struct FoundRule {
    pub rule: String,
    pub tier: RuleTier,
    pub says: String,
    pub file: String,
    /// At the head; at the base for a line that is removed.
    pub line: Option<u32>,
    /// The line, the dependency or the folder; empty if the path itself is meant.
    pub excerpt: String,
    /// What the configuration says to turn the rule off.
    pub turn_off: String,
    pub document: String,
}

impl GateRules {
    pub fn new(report: &GateReport, links: &Links) -> Self {
        let all = || report.matches.iter().chain(&report.suspects);
        let is_rule = |found: &&TriggerMatch| matches!(found.reason, MatchReason::Rule { .. });
        let condition = |found: &TriggerMatch| plain(gate_card::reason(found, links).as_str());
        Self {
            schema: "loopgate.gate_rules/v1",
            gate: report.name.to_string(),
            applies: !report.matches.is_empty(),
            files: report.looked_at.0,
            changed_lines: report.looked_at.1,
            rules: all().filter_map(|found| FoundRule::new(report, found)).collect(),
            conditions: all().filter(|found| !is_rule(found)).map(condition).collect(),
        }
    }

    /// For a terminal.
    pub fn text(&self) -> String {
        messages::text("gate_rules.txt", Serde(self).into())
    }
}

impl FoundRule {
    fn new(report: &GateReport, found: &TriggerMatch) -> Option<Self> {
        let MatchReason::Rule { id, says, tier, evidence, .. } = &found.reason else { return None };
        let excerpt = match evidence {
            RuleEvidence::Path => String::new(),
            RuleEvidence::AddedLine(text) => format!("+{text}"),
            RuleEvidence::RemovedLine(text) => format!("-{text}"),
            RuleEvidence::Named(text) | RuleEvidence::NewFolder(text) => text.clone(),
        };
        Some(Self {
            rule: id.to_string(),
            tier: *tier,
            says: says.clone(),
            file: line(found.file.as_deref().unwrap_or_default()),
            line: found.line,
            excerpt: line(&excerpt),
            turn_off: format!("gates: {{ {}: {{ rules: {{ {id}: off }} }} }}", report.name),
            document: format!("docs/rules.md#{id}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::fixtures::{gate, ruled, security_gate, snapshot};
    use loopgate_core::{gate::GateStanding, stage::Stage};

    #[test]
    fn each_rule_says_its_line_and_how_to_turn_it_off() {
        let links = Links::of(&snapshot());
        let open = GateRules::new(&security_gate(GateStanding::Open), &links).text();
        insta::assert_snapshot!(open, @r"
        The gate security applies. Looked at 1 file, 1 changed line.

        src/auth/token.rs
          a file about sign-in, rights, … changes
          rule auth-path (opens), docs/rules.md#auth-path
          to turn it off: gates: { security: { rules: { auth-path: off } } }

        src/auth/token.rs:10
          a password, key or token is handled: +// password reset tokens share this path
          rule credential (opens), docs/rules.md#credential
          to turn it off: gates: { security: { rules: { credential: off } } }
        ");
        let mut shut = gate("security", Stage::Validate, GateStanding::NotApplicable);
        shut.looked_at = (14, 310);
        let text = GateRules::new(&shut, &links).text();
        assert_eq!(text, "The gate security does not apply. 14 files, 310 changed lines: no rule.\n");
        shut.suspects = vec![ruled("src/a.rs", Some(3), "session", "a session is handled", RuleEvidence::Path)];
        let text = GateRules::new(&shut, &links).text();
        assert!(text.contains("one suspect alone") && text.contains("src/a.rs:3"), "{text}");
    }
}
