//! Single values as they are written in the file, checked on their own: numbers with a range, periods of time,
//! recipients, transitions.

use std::{borrow::Cow, fmt};

use chrono::TimeDelta;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{self, Unexpected, Visitor},
};

use crate::core::{
    GateName, Login, TeamSlug,
    policy::{Colour, CoverageTarget, Recipient},
    stage::Stage,
};

/// A whole number within bounds, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Whole<const MIN: u32, const MAX: u32>(pub u32);

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
pub(super) struct UpTo<const MAX: u32>(pub f64);

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

/// A type that is written as text: what it is called in messages, how it looks in the schema, how it is read.
trait Written: Sized {
    /// "a period such as `30s`, `60m`, `24h` or `3d`"
    const EXPECTED: &'static str;

    fn read(text: &str) -> Option<Self>;

    fn schema() -> Schema;
}

/// Implements serde's and schemars' traits for types that are [`Written`].
macro_rules! written {
    ($($name:ident),* $(,)?) => {$(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl Visitor<'_> for Text {
                    type Value = $name;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($name::EXPECTED)
                    }

                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> {
                        $name::read(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
                    }
                }
                deserializer.deserialize_any(Text)
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $name::schema()
            }
        }
    )*};
}

written!(Period, WrittenColour, WrittenRecipient, Transition, Handle, EnvName);

/// A period of time with its unit. At least a second, at most a year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Period(pub TimeDelta);

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
pub(super) struct Timeout(pub TimeDelta);

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

/// A label's colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WrittenColour(pub Colour);

impl Written for WrittenColour {
    const EXPECTED: &'static str = "a colour as six hexadecimal digits in quotes, such as \"1d76db\"";

    fn read(text: &str) -> Option<Self> {
        text.strip_prefix('#').unwrap_or(text).parse().ok().map(Self)
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": "^#?[0-9a-fA-F]{6}$" })
    }
}

/// Somebody to call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WrittenRecipient(pub Recipient);

impl Written for WrittenRecipient {
    const EXPECTED: &'static str =
        "a login (`alice`), a team (`acme/maintainers`) or the approvers of a gate (`gate:security`)";

    fn read(text: &str) -> Option<Self> {
        let recipient = match text.split_once(':') {
            Some(("gate", gate)) => Recipient::GateApprovers(gate.trim().parse::<GateName>().ok()?),
            Some(_) => return None,
            None => {
                let name = text.strip_prefix('@').unwrap_or(text);
                match name.contains('/') {
                    true => Recipient::Team(name.parse::<TeamSlug>().ok()?),
                    false => Recipient::User(name.parse::<Login>().ok()?),
                }
            }
        };
        Some(Self(recipient))
    }

    fn schema() -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^(gate: ?[a-z0-9][a-z0-9_-]*|@?[A-Za-z0-9_-]+(\\[bot\\])?|@?[A-Za-z0-9_-]+/[A-Za-z0-9._-]+)$"
        })
    }
}

/// An account that is mentioned, with or without its `@`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Handle(pub Login);

impl Written for Handle {
    const EXPECTED: &'static str = "a login, such as `copilot`";

    fn read(text: &str) -> Option<Self> {
        text.strip_prefix('@').unwrap_or(text).parse().ok().map(Self)
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": "^@?[A-Za-z0-9_-]+(\\[bot\\])?$" })
    }
}

/// A transition a gate blocks, named by the stage it leaves. One word is the stage that is not entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Transition {
    pub from: Stage,
}

/// A gate blocks the way to REVIEW and SHIP and all before; merging is the platform's.
const BLOCKABLE: std::ops::RangeInclusive<Stage> = Stage::Init..=Stage::Review;

impl Written for Transition {
    const EXPECTED: &'static str = "a transition such as `VALIDATE -> DOCUMENT`, up to `REVIEW -> SHIP`";

    fn read(text: &str) -> Option<Self> {
        let stage = |word: &str| Stage::ALL.into_iter().find(|stage| stage.as_str() == word.trim());
        let to = match text.split_once("->").or_else(|| text.split_once('→')) {
            Some((from, to)) => stage(from)?.next().filter(|next| Some(*next) == stage(to))?,
            None => stage(text)?,
        };
        let from = Stage::ALL.into_iter().find(|from| from.next() == Some(to))?;
        BLOCKABLE.contains(&from).then_some(Self { from })
    }

    fn schema() -> Schema {
        let transitions = Stage::ALL.into_iter().filter(|from| BLOCKABLE.contains(from)).filter_map(|from| {
            let to = from.next()?;
            Some([format!("{} -> {}", from.as_str(), to.as_str()), to.as_str().to_owned()])
        });
        let words: Vec<String> = transitions.flatten().collect();
        json_schema!({ "type": "string", "examples": words })
    }
}

/// `true`, for conditions that are only ever written to be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Yes;

impl<'de> Deserialize<'de> for Yes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if bool::deserialize(deserializer)? {
            Ok(Self)
        } else {
            Err(de::Error::custom("`false` is not a condition\nwrite `not: { … : true }`, or leave it out"))
        }
    }
}

impl JsonSchema for Yes {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Yes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "const": true })
    }
}

/// The version of the file's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version;

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match i64::deserialize(deserializer)? {
            1 => Ok(Self),
            other => {
                Err(de::Error::custom(format!("version {other} is not known to this Loopgate\nwrite `version: 1`")))
            }
        }
    }
}

impl JsonSchema for Version {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Version".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "const": 1 })
    }
}

/// A coverage target: a percentage, or `match` (also written -1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Target(pub CoverageTarget);

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

/// The name of an environment variable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct EnvName(pub String);

impl Written for EnvName {
    const EXPECTED: &'static str = "the name of an environment variable (letters, digits and _)";

    fn read(text: &str) -> Option<Self> {
        let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let starts_well = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        (plain && starts_well).then(|| Self(text.to_owned()))
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" })
    }
}

/// The value of an environment variable: text, or what YAML takes for a number or a truth value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EnvValue(pub String);

impl<'de> Deserialize<'de> for EnvValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Scalar;
        impl Visitor<'_> for Scalar {
            type Value = String;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<String, E> {
                match text.contains('\0') {
                    true => Err(E::custom("an environment variable cannot hold a NUL character")),
                    false => Ok(text.to_owned()),
                }
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<String, E> {
                Ok(value.to_string())
            }

            fn visit_bool<E: de::Error>(self, value: bool) -> Result<String, E> {
                Ok(value.to_string())
            }
        }
        deserializer.deserialize_any(Scalar).map(Self)
    }
}

impl JsonSchema for EnvValue {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "EnvValue".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "integer", "boolean"] })
    }
}
