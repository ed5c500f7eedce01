//! Periods of time, with their units.

use std::borrow::Cow;

use chrono::TimeDelta;
use schemars::{Schema, json_schema};
use serde::de::Unexpected;

use super::{Written, written};

written!(Period, Timeout);

/// A period of time with its unit. At least a second, at most a year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::config) struct Period(pub TimeDelta);

/// A year: longer is surely a slip.
const LONGEST_SECONDS: i64 = 366 * 86_400;

impl Written for Period {
    fn expected() -> Cow<'static, str> {
        "a period such as `30s`, `60m`, `24h` or `3d` (at most 366d)".into()
    }

    fn read(found: Unexpected<'_>) -> Option<Self> {
        let Unexpected::Str(text) = found else { return None };
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

impl Written for Timeout {
    fn expected() -> Cow<'static, str> {
        "a number of seconds, or a period such as `90s` or `5m`".into()
    }

    fn read(found: Unexpected<'_>) -> Option<Self> {
        match found {
            Unexpected::Signed(seconds) if (1..=LONGEST_SECONDS).contains(&seconds) => {
                Some(Self(TimeDelta::seconds(seconds)))
            }
            found => Period::read(found).map(|period| Self(period.0)),
        }
    }

    fn schema() -> Schema {
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
            assert_eq!(Period::read(Unexpected::Str(text)).map(|period| period.0.num_seconds()), seconds, "{text}");
        }
    }
}
