//! `coverage:`, what each type of change must reach.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::leaf::ShortOr;
use loopgate_core::{
    observed::CodeType,
    policy::{CoveragePolicy, CoverageTarget, FileGlob, NonEmpty, Pattern, RequiredTest, Severity},
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
    api_paths: Vec<FileGlob<false>>,
    /// Regular expressions over test names that tell a required sort of test. A sort without any is not judged.
    test_names: IndexMap<RequiredTest, NonEmpty<Pattern>>,
    /// Run the tests of a bug fix on the base too, where they must fail.
    prove_regression: bool,
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
    pub fn lower(self) -> CoveragePolicy {
        let mut policy = CoveragePolicy::default();
        let written = [
            (CodeType::NewFunction, self.new_function),
            (CodeType::BugFix, self.bug_fix),
            (CodeType::Refactor, self.refactor),
            (CodeType::ApiEndpoint, self.api_endpoint),
            (CodeType::Integration, self.integration),
        ];
        for (code_type, written) in written {
            // Integration uses the minimum of new_function where it has none of its own.
            let usual = if code_type == CodeType::Integration {
                CodeType::NewFunction
            } else {
                code_type
            };
            let default = policy.target(usual);
            let entry = match written {
                Some(ShortOr::Short(target)) => CoverageEntry {
                    minimum_coverage: Some(target),
                    required_tests: None,
                },
                Some(ShortOr::Long(entry)) => entry,
                None => CoverageEntry::default(),
            };
            let row = policy.by_type.entry(code_type).or_default();
            row.target = entry.minimum_coverage.unwrap_or(default);
            row.required_tests = entry
                .required_tests
                .unwrap_or_else(|| std::mem::take(&mut row.required_tests));
        }
        policy.api_paths = self.api_paths;
        policy.test_names = self
            .test_names
            .into_iter()
            .map(|(sort, patterns)| (sort, patterns.0))
            .collect();
        policy.below_minimum = self.below_minimum.unwrap_or(policy.below_minimum);
        policy.prove_regression = self.prove_regression;
        policy
    }
}
