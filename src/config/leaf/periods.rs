//! Periods of time, with their units.

use std::{borrow::Cow, fmt};

use chrono::TimeDelta;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{self, Unexpected, Visitor},
};

use super::words::{Written, written};

written!(Period);

/// A period of time with its unit. At least a second, at most a year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::config) struct Period(pub TimeDelta);

/// A year: longer is surely a slip.
const LONGEST_SECONDS: i64 = 366 * 86_400;

impl Written for Period {
    const EXPECTED: &'static str = "a period such as `30s`, `60m`, `24h` or `3d` (at most 366d)";

    fn read(text: &str) -> Option<Self> {
        let unit = text.find(|c: char| !c.is_ascii_digit())?;
        let (digits, unit) = text.split_at(unit);
        let seconds_each = match unit.trim_start() {
            "s" => 1,
            "m" => 60,
            "h" => 3_600,
            "d" => 86_400,
            _ => return None,
        };
        let seconds = digits.parse::<i64>().ok()?.checked_mul(seconds_each)?;
        (1..=LONGEST_SECONDS).contains(&seconds).then(|| Self(TimeDelta::seconds(seconds)))
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9]+ ?[smhd]$", "examples": ["30s", "60m", "24h", "3d"] })
    }
}

/// A timeout: a [`Period`], or a plain number of seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::config) struct Timeout(pub TimeDelta);

impl<'de> Deserialize<'de> for Timeout {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SecondsOrPeriod;
        impl Visitor<'_> for SecondsOrPeriod {
            type Value = TimeDelta;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of seconds, or a period such as `90s` or `5m`")
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<TimeDelta, E> {
                if (1..=LONGEST_SECONDS).contains(&value) {
                    Ok(TimeDelta::seconds(value))
                } else {
                    Err(E::invalid_value(Unexpected::Signed(value), &self))
                }
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<TimeDelta, E> {
                Period::read(text).map(|period| period.0).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(SecondsOrPeriod).map(Self)
    }
}

impl JsonSchema for Timeout {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Timeout".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "integer", "minimum": 1 }, Period::schema()] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_have_one_number_and_one_unit() {
        for (text, seconds) in [
            ("30s", Some(30)),
            ("60m", Some(3_600)),
            ("24h", Some(86_400)),
            ("3d", Some(259_200)),
            ("3 d", Some(259_200)),
            ("366d", Some(LONGEST_SECONDS)),
            ("367d", None),
            ("0s", None),
            ("60", None),
            ("m", None),
            ("", None),
            ("1h30m", None),
            ("-1h", None),
            ("1.5h", None),
            ("1w", None),
            ("99999999999999999999d", None),
            ("9223372036854775807d", None),
        ] {
            assert_eq!(Period::read(text).map(|period| period.0.num_seconds()), seconds, "{text}");
        }
    }
}
