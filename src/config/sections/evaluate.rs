//! `evaluate:`, rules, weights and thresholds.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::{
    leaf::{NonEmpty, Yes},
    lower::Lowering,
    node::Node,
    problem::Problem,
    suggest,
};
use loopgate_core::{
    CheckName, RuleId, Score,
    evidence::FindingSeverity,
    policy::{
        EvaluatePolicy, NameGlob, Pattern, Phase, PhaseThresholds, Rule, RuleCheck, Severity, UpTo, VerifyPolicy, Whole,
    },
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
    check: WrittenCheck,
}

/// What a rule looks at: exactly one of these.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum WrittenCheck {
    /// This check passed.
    Passed(CheckName),
    /// At least this share of all tests passed, from 0 to 1.
    PassedRatio(UpTo<1>),
    /// At least this percentage of the changed lines is covered.
    ChangedCoverage(UpTo<100>),
    /// Findings of linters and scanners.
    Findings(FindingsSection),
    /// When code changed, a test was added or changed.
    TestsAdded(Yes),
    /// Paths that change together.
    ChangeTogether(ChangeTogetherSection),
    /// A pattern that an added line must match.
    MustAppear(AddedPattern),
    /// A pattern that no added line may match.
    MustNotAppear(AddedPattern),
    /// The size of the change.
    Size(SizeSection),
}

/// Findings of linters and scanners.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FindingsSection {
    /// Counted from this severity up.
    severity: FindingSeverity,
    /// How many are tolerated. Default: 0.
    most: Option<Whole<0, 1_000_000>>,
}

/// Paths that change together.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ChangeTogetherSection {
    /// When one of these is touched …
    changed: NonEmpty<String>,
    /// … one of these is touched too.
    also: NonEmpty<String>,
}

/// A pattern over added lines.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AddedPattern {
    /// A regular expression.
    pattern: String,
    /// Only in files that match. Default: all.
    #[serde(default)]
    paths: Vec<String>,
}

/// The size of the change.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SizeSection {
    /// At most so many changed lines.
    max_lines: Option<Whole<1, 10_000_000>>,
    /// At most so many changed files.
    max_files: Option<Whole<1, 1_000_000>>,
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
        let rules = node.each(self.rules).filter_map(|(rule, node)| {
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
    fn lower(self, verify: &VerifyPolicy, node: &Node, cx: &mut Lowering) -> Option<Rule> {
        Some(Rule {
            description: self.description.unwrap_or_else(|| self.id.to_string()),
            severity: self.severity,
            weight: self.weight.map_or(self.severity.default_weight(), |weight| weight.0),
            phase: self.phase.unwrap_or_default(),
            check: self.check.lower(verify, node, cx)?,
            id: self.id,
        })
    }
}

impl WrittenCheck {
    fn lower(self, verify: &VerifyPolicy, rule: &Node, cx: &mut Lowering) -> Option<RuleCheck> {
        let node = rule.at("check");
        Some(match self {
            Self::Passed(check) => RuleCheck::Check(known_check(check, verify, node.at("passed"), cx)?),
            Self::PassedRatio(share) => RuleCheck::PassedRatio(Score::from_ratio(share.0, 1.0)),
            Self::ChangedCoverage(percent) => RuleCheck::ChangedCoverage(percent.0),
            Self::Findings(FindingsSection { severity, most }) => {
                RuleCheck::Findings { severity, most: most.map_or(0, |most| u64::from(most.0)) }
            }
            Self::TestsAdded(Yes) => RuleCheck::TestsAdded,
            Self::ChangeTogether(ChangeTogetherSection { changed, also }) => {
                let node = node.at("change_together");
                RuleCheck::ChangeTogether {
                    changed: cx.plain_paths(&changed.0, node.at("changed")),
                    also: cx.plain_paths(&also.0, node.at("also")),
                }
            }
            Self::MustAppear(added) => {
                let (pattern, paths) = added.lower(node.at("must_appear"), cx)?;
                RuleCheck::MustAppear { pattern, paths }
            }
            Self::MustNotAppear(added) => {
                let (pattern, paths) = added.lower(node.at("must_not_appear"), cx)?;
                RuleCheck::MustNotAppear { pattern, paths }
            }
            Self::Size(SizeSection { max_lines: None, max_files: None }) => {
                let problem = Problem::wrong(rule.at("id").place, "the rule's `size` names no limit");
                return cx.refused(problem.hint("add `max_lines` or `max_files`"));
            }
            Self::Size(SizeSection { max_lines, max_files }) => RuleCheck::Size {
                max_lines: max_lines.map(|lines| u64::from(lines.0)),
                max_files: max_files.map(|files| u64::from(files.0)),
            },
        })
    }
}

impl AddedPattern {
    fn lower(self, node: &Node, cx: &mut Lowering) -> Option<(Pattern, Vec<NameGlob>)> {
        let pattern = cx.pattern(&self.pattern, node.at("pattern"))?;
        Some((pattern, cx.plain_paths(&self.paths, node.at("paths"))))
    }
}

fn known_check(check: CheckName, verify: &VerifyPolicy, node: &Node, cx: &mut Lowering) -> Option<CheckName> {
    if verify.checks.contains_key(&check) {
        return Some(check);
    }
    let names: Vec<&str> = verify.checks.keys().map(CheckName::as_str).collect();
    let problem = Problem::wrong(node.place, format!("there is no check `{check}`"));
    cx.refused(problem.hint(suggest::among(check.as_str(), &names)))
}
