//! Numbers with a range.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{self, Unexpected, Visitor},
};

use loopgate_core::policy::CoverageTarget;

/// A whole number within bounds, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::config) struct Whole<const MIN: u32, const MAX: u32>(pub u32);

impl<'de, const MIN: u32, const MAX: u32> Deserialize<'de> for Whole<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bounded<const MIN: u32, const MAX: u32>;
        impl<const MIN: u32, const MAX: u32> Visitor<'_> for Bounded<MIN, MAX> {
            type Value = u32;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number from {MIN} to {MAX}")
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<u32, E> {
                u32::try_from(value)
                    .ok()
                    .filter(|value| (MIN..=MAX).contains(value))
                    .ok_or_else(|| E::invalid_value(Unexpected::Signed(value), &self))
            }
        }
        deserializer.deserialize_any(Bounded::<MIN, MAX>).map(Self)
    }
}

impl<const MIN: u32, const MAX: u32> JsonSchema for Whole<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Whole_{MIN}_{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
}

/// A number from 0 to `MAX`, decimals allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::config) struct UpTo<const MAX: u32>(pub f64);

impl<'de, const MAX: u32> Deserialize<'de> for UpTo<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bounded<const MAX: u32>;
        impl<const MAX: u32> Visitor<'_> for Bounded<MAX> {
            type Value = f64;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a number from 0 to {MAX}")
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<f64, E> {
                if (0.0..=f64::from(MAX)).contains(&value) {
                    Ok(value)
                } else {
                    Err(E::invalid_value(Unexpected::Float(value), &self))
                }
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<f64, E> {
                match u32::try_from(value) {
                    Ok(small) if small <= MAX => Ok(f64::from(small)),
                    _ => Err(E::invalid_value(Unexpected::Signed(value), &self)),
                }
            }
        }
        deserializer.deserialize_any(Bounded::<MAX>).map(Self)
    }
}

impl<const MAX: u32> JsonSchema for UpTo<MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("UpTo_{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0, "maximum": MAX })
    }
}

/// A coverage target: a percentage, or `match` (also written -1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::config) struct Target(pub CoverageTarget);

impl<'de> Deserialize<'de> for Target {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PercentOrMatch;
        impl Visitor<'_> for PercentOrMatch {
            type Value = CoverageTarget;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a percentage from 0 to 100, or `match`")
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<CoverageTarget, E> {
                match u8::try_from(value) {
                    _ if value == -1 => Ok(CoverageTarget::MatchBase),
                    Ok(percent) if percent <= 100 => Ok(CoverageTarget::Percent(f64::from(percent))),
                    _ => Err(E::invalid_value(Unexpected::Signed(value), &self)),
                }
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<CoverageTarget, E> {
                if (0.0..=100.0).contains(&value) {
                    Ok(CoverageTarget::Percent(value))
                } else {
                    Err(E::invalid_value(Unexpected::Float(value), &self))
                }
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<CoverageTarget, E> {
                match text {
                    "match" => Ok(CoverageTarget::MatchBase),
                    other => Err(E::invalid_value(Unexpected::Str(other), &self)),
                }
            }
        }
        deserializer.deserialize_any(PercentOrMatch).map(Self)
    }
}

impl JsonSchema for Target {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Target".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "number", "minimum": 0, "maximum": 100 }, { "enum": ["match", -1] }] })
    }
}
