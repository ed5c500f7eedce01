//! Which rules found something in a pull request, and how to turn each of them off: `loopgate explain --gate`.

use loopgate_core::gate::{GateReport, MatchReason, RuleEvidence, TriggerMatch};
use minijinja::value::Serde;
use serde_json::{Value, json};

use super::{gate_card, links::Links, messages, plain::plain, sanitize::line};

/// `loopgate.gate_rules/v1`: what the rules and conditions of one gate found.
pub(super) fn document(report: &GateReport, links: &Links) -> Value {
    let all = || report.matches.iter().chain(&report.suspects);
    let is_rule = |found: &&TriggerMatch| matches!(found.reason, MatchReason::Rule { .. });
    let condition = |found: &TriggerMatch| plain(gate_card::reason(found, links).as_str());
    json!({
        "schema": "loopgate.gate_rules/v1",
        "gate": report.name,
        "applies": !report.matches.is_empty(),
        // What was looked at.
        "files": report.looked_at.0,
        "changed_lines": report.looked_at.1,
        "rules": all().filter_map(|found| rule(report, found)).collect::<Vec<_>>(),
        // What else opens the gate, in words: conditions of the configuration, labels, findings.
        "conditions": all().filter(|found| !is_rule(found)).map(condition).collect::<Vec<_>>(),
    })
}

/// A place that a rule found.
fn rule(report: &GateReport, found: &TriggerMatch) -> Option<Value> {
    let MatchReason::Rule { id, says, tier, evidence, .. } = &found.reason else { return None };
    let excerpt = match evidence {
        RuleEvidence::Path => String::new(),
        RuleEvidence::AddedLine(text) => format!("+{text}"),
        RuleEvidence::RemovedLine(text) => format!("-{text}"),
        RuleEvidence::Named(text) | RuleEvidence::NewFolder(text) => text.clone(),
    };
    Some(json!({
        "rule": id,
        "tier": tier,
        "says": says,
        "file": line(found.file.as_deref().unwrap_or_default()),
        // At the head; at the base for a line that is removed.
        "line": found.line,
        // The line, the dependency or the folder; empty if the path itself is meant.
        "excerpt": line(&excerpt),
        // What the configuration says to turn the rule off.
        "turn_off": format!("gates: {{ {}: {{ rules: {{ {id}: off }} }} }}", report.name),
        "document": format!("docs/rules.md#{id}"),
    }))
}

/// The document for a terminal.
pub fn gate_rules_text(document: &Value) -> String {
    messages::text("gate_rules.txt", Serde(document).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::fixtures::{gate, ruled, security_gate, snapshot};
    use loopgate_core::{gate::GateStanding, stage::Stage};

    #[test]
    fn each_rule_says_its_line_and_how_to_turn_it_off() {
        let links = Links::of(&snapshot());
        let open = gate_rules_text(&document(&security_gate(GateStanding::Open), &links));
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
        let text = gate_rules_text(&document(&shut, &links));
        assert_eq!(text, "The gate security does not apply. 14 files, 310 changed lines: no rule.\n");
        shut.suspects = vec![ruled("src/a.rs", Some(3), "session", "a session is handled", RuleEvidence::Path)];
        let text = gate_rules_text(&document(&shut, &links));
        assert!(text.contains("one suspect alone") && text.contains("src/a.rs:3"), "{text}");
    }
}
