//! `coverage:`, what each type of change must reach.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::{
    lower::Lowering,
    node::Node,
    wrappers::{NonEmpty, ShortOr},
};
use loopgate_core::{
    observed::CodeType,
    policy::{CoveragePolicy, CoverageTarget, RegressionProof, RequiredTest, Severity},
};

/// What each type of change must reach, in percent of the changed lines.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(in crate::config) struct CoverageSection {
    /// New code. Default: 80.
    new_function: Option<TargetOrEntry>,
    /// A fix. Default: 100.
    bug_fix: Option<TargetOrEntry>,
    /// The same behaviour in other words. Default: match, no loss against the base.
    refactor: Option<TargetOrEntry>,
    /// A new or changed endpoint. Default: 90.
    api_endpoint: Option<TargetOrEntry>,
    /// Work with another system. Default: as new_function.
    integration: Option<TargetOrEntry>,
    /// Touching one of these files makes a change an api_endpoint.
    api_paths: Vec<String>,
    /// Regular expressions over test names that tell a required sort of test. A sort without any is not judged.
    test_names: IndexMap<RequiredTest, NonEmpty<String>>,
    /// Run the tests of a bug fix on the base too, where they must fail.
    prove_regression: RegressionProof,
    /// What it is to stay below a minimum: fail stops a change that does. Default: warn.
    below_minimum: Option<Severity>,
}

/// A percentage, `match`, or both settings in full.
type TargetOrEntry = ShortOr<CoverageTarget, CoverageEntry>;

/// What one type of change must reach.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct CoverageEntry {
    /// In percent of the changed lines, or `match`: no loss against the base.
    minimum_coverage: Option<CoverageTarget>,
    /// Sorts of tests it must come with.
    required_tests: Option<Vec<RequiredTest>>,
}

impl CoverageSection {
    pub fn lower(self, node: &Node, cx: &mut Lowering) -> CoveragePolicy {
        let mut policy = CoveragePolicy::default();
        let mut required = std::mem::take(&mut policy.required_tests);
        let mut target = |code_type: CodeType, written: Option<TargetOrEntry>, default: CoverageTarget| {
            let entry = match written {
                None => return default,
                Some(ShortOr::Short(target)) => return target,
                Some(ShortOr::Long(entry)) => entry,
            };
            if let Some(tests) = entry.required_tests {
                required.insert(code_type, tests);
            }
            entry.minimum_coverage.unwrap_or(default)
        };
        policy.new_function = target(CodeType::NewFunction, self.new_function, policy.new_function);
        policy.bug_fix = target(CodeType::BugFix, self.bug_fix, policy.bug_fix);
        policy.refactor = target(CodeType::Refactor, self.refactor, policy.refactor);
        policy.api_endpoint = target(CodeType::ApiEndpoint, self.api_endpoint, policy.api_endpoint);
        // Integration uses the minimum of new_function where it has none of its own.
        policy.integration = target(CodeType::Integration, self.integration, policy.new_function);
        policy.required_tests = required;
        policy.api_paths = cx.plain_paths(&self.api_paths, node.at("api_paths"));
        let patterns = |(sort, patterns): (RequiredTest, NonEmpty<String>)| {
            (sort, cx.patterns(&patterns.0, node.at("test_names").at(sort.as_str())))
        };
        policy.test_names = self.test_names.into_iter().map(patterns).collect();
        policy.below_minimum = self.below_minimum.unwrap_or(policy.below_minimum);
        policy.regression_proof = self.prove_regression;
        policy
    }
}
