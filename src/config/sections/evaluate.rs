//! `evaluate:`, rules, weights and thresholds.

use std::collections::HashMap;

use crate::config::{node::Node, problem::Problem, sections::Lowering, suggest};
use loopgate_core::{
    CheckName,
    policy::{EvaluatePolicy, RuleCheck, VerifyPolicy},
};

const MOST_RULES: usize = 200;

/// Checks the rules, and gives each without a description its id as one.
pub(super) fn lower(
    mut written: EvaluatePolicy,
    verify: &VerifyPolicy,
    node: &Node,
    cx: &mut Lowering,
) -> EvaluatePolicy {
    let node = node.at("rules");
    if !cx.at_most(MOST_RULES, node, "rules") {
        return EvaluatePolicy::default();
    }
    let mut lines = HashMap::new();
    for (rule, node) in node.each(&mut written.rules) {
        let place = node.at("id").place;
        if let Some(first) = lines.insert(rule.id.clone(), place.line) {
            let problem = Problem::wrong(place, format!("two rules are called `{}`", rule.id));
            cx.refuse(problem.hint(format!("the first is on line {first}")));
        }
        match &rule.check {
            RuleCheck::Check(check) if !verify.checks.contains_key(check) => {
                let names: Vec<&str> = verify.checks.keys().map(CheckName::as_str).collect();
                let place = node.at("check").at("passed").place;
                let problem = Problem::wrong(place, format!("there is no check `{check}`"));
                cx.refuse(problem.hint(suggest::among(check.as_str(), &names)));
            }
            RuleCheck::Size {
                max_lines: None,
                max_files: None,
            } => {
                let problem = Problem::wrong(place, "the rule's `size` names no limit");
                cx.refuse(problem.hint("add `max_lines` or `max_files`"));
            }
            _ => {}
        }
        if rule.description.is_empty() {
            rule.description = rule.id.to_string();
        }
    }
    written
}
