//! The `coverage:` section: what each type of change must reach.

use crate::observed::CodeType;
use std::{borrow::Cow, collections::BTreeMap};

use schemars::{JsonSchema, Schema, json_schema};
use serde::{Deserialize, Serialize, de::Unexpected};

use super::{ConfigValue, FileGlob, Pattern, Severity, UpTo};
use crate::config_value;

/// The `coverage:` section: what each type of change must reach.
#[derive(Clone, Debug, PartialEq)]
pub struct CoveragePolicy {
    pub by_type: BTreeMap<CodeType, TypeCoverage>,
    /// Touching one of these files makes the change an `api_endpoint`.
    pub api_paths: Vec<FileGlob<false>>,
    /// How tests of a required sort are recognised by their names; a sort that is not listed stays unknown, which
    /// never fails.
    pub test_names: BTreeMap<RequiredTest, Vec<Pattern>>,
    /// `coverage.prove_regression`: a bug fix must show a test that fails on the base and passes on the head, so the
    /// tests the pull request adds or changes are run on both.
    pub prove_regression: bool,
    /// What it is to stay below a minimum.
    pub below_minimum: Severity,
}

impl Default for CoveragePolicy {
    fn default() -> Self {
        use CoverageTarget::Percent;
        use RequiredTest as T;
        let row = |code_type: CodeType, target: CoverageTarget, required_tests: &[T]| {
            (
                code_type,
                TypeCoverage {
                    target,
                    required_tests: required_tests.to_vec(),
                },
            )
        };
        let endpoint_tests = [
            T::HappyPath,
            T::ErrorCases,
            T::IntegrationTest,
            T::ValidationTest,
        ];
        Self {
            by_type: BTreeMap::from([
                row(
                    CodeType::NewFunction,
                    Percent(80.0),
                    &[T::HappyPath, T::EdgeCases, T::ErrorHandling],
                ),
                row(CodeType::BugFix, Percent(100.0), &[T::RegressionTest]),
                row(
                    CodeType::Refactor,
                    CoverageTarget::MatchBase,
                    &[T::ExistingTestsPass],
                ),
                row(CodeType::ApiEndpoint, Percent(90.0), &endpoint_tests),
                row(CodeType::Integration, Percent(80.0), &[T::IntegrationTest]),
            ]),
            api_paths: Vec::new(),
            test_names: BTreeMap::new(),
            prove_regression: false,
            below_minimum: Severity::Warn,
        }
    }
}

impl CoveragePolicy {
    /// The sorts of tests a type of change must come with, of which something can be known: those judged by a proof or
    /// by comparison, and those with a pattern of names. The others stay unknown and are no rule.
    pub fn judged_tests(&self, code_type: CodeType) -> impl Iterator<Item = RequiredTest> + '_ {
        let required = self
            .by_type
            .get(&code_type)
            .into_iter()
            .flat_map(|row| &row.required_tests);
        required.copied().filter(|sort| match sort {
            RequiredTest::RegressionTest | RequiredTest::OriginalBugReproduction => {
                self.prove_regression || self.test_names.contains_key(sort)
            }
            RequiredTest::ExistingTestsPass => true,
            _ => self.test_names.contains_key(sort),
        })
    }

    pub fn target(&self, code_type: CodeType) -> CoverageTarget {
        self.by_type
            .get(&code_type)
            .map(|row| row.target)
            .unwrap_or_default()
    }
}

/// What one type of change must reach.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TypeCoverage {
    pub target: CoverageTarget,
    /// Sorts of tests that it must come with.
    pub required_tests: Vec<RequiredTest>,
}

/// Coverage a type of change must reach.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum CoverageTarget {
    /// Of the changed lines, 0–100.
    Percent(f64),
    /// No loss of more than 0.1 point against the base.
    #[default]
    MatchBase,
}

config_value!([] CoverageTarget);

impl ConfigValue for CoverageTarget {
    fn form() -> (Cow<'static, str>, Schema) {
        let percent = json_schema!({ "type": "number", "minimum": 0, "maximum": 100 });
        let schema = json_schema!({ "anyOf": [percent, { "enum": ["match", -1] }] });
        ("a percentage from 0 to 100, or `match`".into(), schema)
    }

    fn read(found: Unexpected<'_>) -> Option<Self> {
        match found {
            Unexpected::Str("match") | Unexpected::Signed(-1) => Some(Self::MatchBase),
            found => UpTo::<100>::read(found).map(|percent| Self::Percent(percent.0)),
        }
    }
}

words! {
    /// Tests that a type of change must come with.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum RequiredTest {
        HappyPath = "happy_path",
        EdgeCases = "edge_cases",
        ErrorHandling = "error_handling",
        RegressionTest = "regression_test",
        OriginalBugReproduction = "original_bug_reproduction",
        ExistingTestsPass = "existing_tests_pass",
        ErrorCases = "error_cases",
        IntegrationTest = "integration_test",
        ValidationTest = "validation_test",
    }
}

impl RequiredTest {
    /// The sort as a sentence about a change.
    pub const fn description(self) -> &'static str {
        match self {
            Self::HappyPath => "a test of the ordinary case comes with the change",
            Self::EdgeCases => "a test of the edge cases comes with the change",
            Self::ErrorHandling => "a test of the error handling comes with the change",
            Self::RegressionTest => "a test fails without the fix and passes with it",
            Self::OriginalBugReproduction => "a test reproduces the bug without the fix",
            Self::ExistingTestsPass => "the tests of the base pass, and none is gone",
            Self::ErrorCases => "a test of the error cases comes with the change",
            Self::IntegrationTest => "an integration test comes with the change",
            Self::ValidationTest => "a test of the validation comes with the change",
        }
    }
}
