//! Why code fails, in one of thirteen words, and how sure Loopgate is of it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de};

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

impl fmt::Display for RootCauseCategory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How sure a conclusion is, between 0 and 1, kept in hundredths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Confidence(u8);

impl Confidence {
    /// From hundredths; more than 100 is 100.
    pub const fn percent(hundredths: u8) -> Self {
        Self(if hundredths > 100 { 100 } else { hundredths })
    }

    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / 100.0
    }

    /// Raised or lowered by hundredths, but never to certainty and never below 0.05: these are rules of thumb.
    #[must_use]
    pub(crate) fn shifted(self, hundredths: i8) -> Self {
        Self(self.0.saturating_add_signed(hundredths).clamp(5, 98))
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}", self.as_f64())
    }
}
impl Serialize for Confidence {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_f64())
    }
}
impl<'de> Deserialize<'de> for Confidence {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = f64::deserialize(deserializer)?;
        if (0.0..=1.0).contains(&value) {
            // Within 0..=100 by the check above.
            Ok(Self((value * 100.0).round() as u8))
        } else {
            Err(de::Error::custom("a confidence is between 0 and 1"))
        }
    }
}

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
