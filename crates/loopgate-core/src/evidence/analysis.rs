//! Why code fails, in one of thirteen words, and how sure Loopgate is of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::Score;

words! {
    /// Category of a failure's root cause.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum RootCauseCategory {
        NullUndefinedAccess = "null_undefined_access",
        TypeMismatch = "type_mismatch",
        MissingValidation = "missing_validation",
        LogicError = "logic_error",
        OffByOne = "off_by_one",
        RaceCondition = "race_condition",
        ResourceLeak = "resource_leak",
        MissingErrorHandling = "missing_error_handling",
        ApiMisuse = "api_misuse",
        ConfigurationError = "configuration_error",
        DependencyIssue = "dependency_issue",
        Environment = "environment",
        #[default]
        Other = "other",
    }
}

/// How sure a conclusion is, between 0 and 1.
pub type Confidence = Score;

/// Why something failed and how to mend it. The texts hold names and values from outside, as code spans.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Analysis {
    pub root_cause: String,
    pub category: RootCauseCategory,
    pub fix_strategy: String,
    pub confidence: Confidence,
    /// Names of the known messages that were found; the one that explains the failure first.
    #[serde(default, alias = "patterns_matched")]
    pub rules_matched: Vec<String>,
    /// Other failures with the same root cause, by test name or place.
    #[serde(default)]
    pub related: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_documents() {
        for category in [RootCauseCategory::NullUndefinedAccess, RootCauseCategory::OffByOne, RootCauseCategory::Other]
        {
            assert_eq!(serde_json::to_value(category).unwrap(), category.as_str());
        }
    }

    #[test]
    fn confidence_stays_between_zero_and_one() {
        assert_eq!(serde_json::to_string(&Confidence::percent(85)).unwrap(), "0.85");
        assert_eq!(serde_json::from_str::<Confidence>("0.29").unwrap(), Confidence::percent(29));
        for wrong in ["1.01", "-0.1", "\"x\"", "null"] {
            assert!(serde_json::from_str::<Confidence>(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Confidence::percent(90).shifted(20), Confidence::percent(98));
        assert_eq!(Confidence::percent(10).shifted(-20), Confidence::percent(5));
    }
}
