//! `evaluate:`, rules, weights and thresholds.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::{
    leaf::{UpTo, Whole, Yes},
    lower::Lowering,
    place::Place,
    problem::Problem,
    suggest,
    wrappers::{Located, NonEmpty, OneOrMany},
};
use loopgate_core::{
    CheckName, RuleId, Score,
    evidence::FindingSeverity,
    policy::{EvaluatePolicy, Phase, PhaseThresholds, Rule, RuleCheck, Severity, VerifyPolicy},
};

/// Rules, weights and thresholds.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(in crate::config) struct EvaluateSection {
    /// The score each phase must reach, from 0 to 1.
    phases: PhasesSection,
    /// Phases in which it is enough that no rule of severity fail failed.
    no_major_issues: Option<Vec<Phase>>,
    /// Rules beside those that each check brings.
    rules: Option<Vec<RuleSection>>,
}

/// The score each phase must reach.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct PhasesSection {
    /// Default: 0.8.
    #[serde(rename = "A")]
    a: Option<UpTo<1>>,
    /// Default: 0.9.
    #[serde(rename = "B")]
    b: Option<UpTo<1>>,
}

/// A rule of the evaluation.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RuleSection {
    /// A short name, used once.
    id: Located<RuleId>,
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
    Passed(Located<CheckName>),
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
    changed: NonEmpty<Located<String>>,
    /// … one of these is touched too.
    also: NonEmpty<Located<String>>,
}

/// A pattern over added lines.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AddedPattern {
    /// A regular expression.
    pattern: Located<String>,
    /// Only in files that match. Default: all.
    paths: Option<OneOrMany<Located<String>>>,
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
    pub fn lower(self, verify: &VerifyPolicy, cx: &mut Lowering) -> EvaluatePolicy {
        let default = EvaluatePolicy::default();
        let rules = self.rules.unwrap_or_default();
        if !cx.at_most(MOST_RULES, rules.get(MOST_RULES).map(|rule| rule.id.place), "rules") {
            return default;
        }
        let threshold =
            |written: Option<UpTo<1>>, default| written.map_or(default, |share| Score::from_ratio(share.0, 1.0));
        let mut ids = HashMap::new();
        EvaluatePolicy {
            thresholds: PhaseThresholds {
                a: threshold(self.phases.a, default.thresholds.a),
                b: threshold(self.phases.b, default.thresholds.b),
            },
            no_major_issues: self.no_major_issues.unwrap_or(default.no_major_issues),
            rules: rules
                .into_iter()
                .filter_map(|rule| {
                    refuse_repeated_id(&rule.id, &mut ids, cx);
                    rule.lower(verify, cx)
                })
                .collect(),
        }
    }
}

fn refuse_repeated_id(id: &Located<RuleId>, seen: &mut HashMap<RuleId, Place>, cx: &mut Lowering) {
    if let Some(first) = seen.insert(id.value.clone(), id.place) {
        let problem = Problem::wrong(id.place, format!("two rules are called `{}`", id.value));
        cx.refuse(problem.hint(format!("the first is on line {}", first.line)));
    }
}

impl RuleSection {
    fn lower(self, verify: &VerifyPolicy, cx: &mut Lowering) -> Option<Rule> {
        Some(Rule {
            description: self.description.unwrap_or_else(|| self.id.value.to_string()),
            severity: self.severity,
            weight: self.weight.map_or(self.severity.default_weight(), |weight| weight.0),
            phase: self.phase.unwrap_or_default(),
            check: self.check.lower(self.id.place, verify, cx)?,
            id: self.id.value,
        })
    }
}

impl WrittenCheck {
    fn lower(self, rule: Place, verify: &VerifyPolicy, cx: &mut Lowering) -> Option<RuleCheck> {
        Some(match self {
            Self::Passed(check) => RuleCheck::Check(known_check(check, verify, cx)?),
            Self::PassedRatio(share) => RuleCheck::PassedRatio(Score::from_ratio(share.0, 1.0)),
            Self::ChangedCoverage(percent) => RuleCheck::ChangedCoverage(percent.0),
            Self::Findings(FindingsSection { severity, most }) => {
                RuleCheck::Findings { severity, most: most.map_or(0, |most| u64::from(most.0)) }
            }
            Self::TestsAdded(Yes) => RuleCheck::TestsAdded,
            Self::ChangeTogether(ChangeTogetherSection { changed, also }) => {
                RuleCheck::ChangeTogether { changed: cx.plain_paths(&changed.0), also: cx.plain_paths(&also.0) }
            }
            Self::MustAppear(added) => {
                RuleCheck::MustAppear { pattern: cx.pattern(&added.pattern)?, paths: added.paths(cx) }
            }
            Self::MustNotAppear(added) => {
                RuleCheck::MustNotAppear { pattern: cx.pattern(&added.pattern)?, paths: added.paths(cx) }
            }
            Self::Size(SizeSection { max_lines: None, max_files: None }) => {
                let problem = Problem::wrong(rule, "the rule's `size` names no limit");
                cx.refuse(problem.hint("add `max_lines` or `max_files`"));
                return None;
            }
            Self::Size(SizeSection { max_lines, max_files }) => RuleCheck::Size {
                max_lines: max_lines.map(|lines| u64::from(lines.0)),
                max_files: max_files.map(|files| u64::from(files.0)),
            },
        })
    }
}

impl AddedPattern {
    fn paths(self, cx: &mut Lowering) -> Vec<loopgate_core::policy::NameGlob> {
        self.paths.map_or_else(Vec::new, |paths| cx.plain_paths(&paths.0))
    }
}

fn known_check(check: Located<CheckName>, verify: &VerifyPolicy, cx: &mut Lowering) -> Option<CheckName> {
    if verify.checks.contains_key(&check.value) {
        return Some(check.value);
    }
    let names: Vec<&str> = verify.checks.keys().map(CheckName::as_str).collect();
    let problem = Problem::wrong(check.place, format!("there is no check `{}`", check.value));
    cx.refuse(problem.hint(suggest::among(check.value.as_str(), &names)));
    None
}
