//! `evaluate:`, rules, weights and thresholds.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::{node::Node, problem::Problem, sections::Lowering, suggest};
use loopgate_core::{
    CheckName, RuleId,
    policy::{EvaluatePolicy, Phase, PhaseThresholds, Rule, RuleCheck, Severity, UpTo, VerifyPolicy},
};

/// Rules, weights and thresholds.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(in crate::config) struct EvaluateSection {
    /// The score each phase must reach, from 0 to 1.
    phases: PhaseThresholds,
    /// Phases in which it is enough that no rule of severity fail failed.
    no_major_issues: Option<Vec<Phase>>,
    /// Rules beside those that each check brings.
    rules: Vec<RuleSection>,
}

/// A rule of the evaluation.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RuleSection {
    /// A short name, used once.
    id: RuleId,
    /// What it asks for, in a sentence. Default: its id.
    description: Option<String>,
    /// fail stops the pull request, warn costs score, info is shown.
    severity: Severity,
    /// Share in the score. Default: 2, 1 or 0 by severity.
    weight: Option<UpTo<1000>>,
    /// The phase that activates it. Default: A.
    phase: Option<Phase>,
    /// What it looks at.
    check: RuleCheck,
}

const MOST_RULES: usize = 200;

impl EvaluateSection {
    pub fn lower(self, verify: &VerifyPolicy, node: &Node, cx: &mut Lowering) -> EvaluatePolicy {
        let default = EvaluatePolicy::default();
        let node = node.at("rules");
        if !cx.at_most(MOST_RULES, node, "rules") {
            return default;
        }
        let mut lines = HashMap::new();
        let rules = node.each(self.rules).map(|(rule, node)| {
            let place = node.at("id").place;
            if let Some(first) = lines.insert(rule.id.clone(), place.line) {
                let problem = Problem::wrong(place, format!("two rules are called `{}`", rule.id));
                cx.refuse(problem.hint(format!("the first is on line {first}")));
            }
            rule.lower(verify, node, cx)
        });
        EvaluatePolicy {
            rules: rules.collect(),
            thresholds: self.phases,
            no_major_issues: self.no_major_issues.unwrap_or(default.no_major_issues),
        }
    }
}

impl RuleSection {
    fn lower(self, verify: &VerifyPolicy, node: &Node, cx: &mut Lowering) -> Rule {
        match &self.check {
            RuleCheck::Check(check) if !verify.checks.contains_key(check) => {
                let names: Vec<&str> = verify.checks.keys().map(CheckName::as_str).collect();
                let place = node.at("check").at("passed").place;
                let problem = Problem::wrong(place, format!("there is no check `{check}`"));
                cx.refuse(problem.hint(suggest::among(check.as_str(), &names)));
            }
            RuleCheck::Size { max_lines: None, max_files: None } => {
                let problem = Problem::wrong(node.at("id").place, "the rule's `size` names no limit");
                cx.refuse(problem.hint("add `max_lines` or `max_files`"));
            }
            _ => {}
        }
        Rule {
            description: self.description.unwrap_or_else(|| self.id.to_string()),
            severity: self.severity,
            weight: self.weight.map_or(self.severity.default_weight(), |weight| weight.0),
            phase: self.phase.unwrap_or_default(),
            check: self.check,
            id: self.id,
        }
    }
}
