//! How values are written in a configuration: what they are called in messages, how they look in the schema, how they
//! are read.

use std::borrow::Cow;

use chrono::TimeDelta;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{self, Unexpected},
};
use serde_json::Value;

/// A type that is written as one word or number.
pub trait ConfigValue: Sized {
    /// How it is written: for messages, "a period such as `30s`, `60m`, `24h` or `3d`", and as JSON Schema.
    fn form() -> (Cow<'static, str>, Schema);

    /// The value, if what stands there is one.
    fn read(found: Unexpected<'_>) -> Option<Self>;
}

/// Reads a value as it stands in a configuration.
///
/// # Errors
/// When what stands there is none.
pub fn config_value<'de, T: ConfigValue, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    let found = Value::deserialize(deserializer)?;
    let found = match &found {
        Value::Null => Unexpected::Unit,
        Value::Bool(value) => Unexpected::Bool(*value),
        Value::Number(number) => match number.as_i64() {
            Some(value) => Unexpected::Signed(value),
            None => Unexpected::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Unexpected::Str(text),
        Value::Array(_) => Unexpected::Seq,
        Value::Object(_) => Unexpected::Map,
    };
    T::read(found).ok_or_else(|| de::Error::invalid_value(found, &&*T::form().0))
}

/// Implements serde's `Deserialize` and schemars' `JsonSchema` for types that are [`ConfigValue`]. A type with `=
/// inner` gets a function that reads the inner value, for fields that hold it: `#[serde(with = "…")]`.
#[macro_export]
macro_rules! config_value {
    ($([$($bound:tt)*] $name:ty = $inner:ty),+ $(,)?) => {$(
        $crate::config_value!([$($bound)*] $name);

        impl<$($bound)*> $name {
            /// Reads the value alone.
            ///
            /// # Errors
            /// When what stands there is none.
            pub fn deserialize<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<$inner, D::Error> {
                <Self as serde::Deserialize>::deserialize(deserializer).map(|written| written.0)
            }

            /// Writes nothing: schemars asks for it where a key has a default, and the schema has its defaults from the
            /// example.
            ///
            /// # Errors
            /// Those of the serializer.
            pub fn serialize<S: serde::Serializer>(_: &$inner, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_none()
            }
        }
    )+};
    ($([$($bound:tt)*] $name:ty),+ $(,)?) => {$(
        impl<'de, $($bound)*> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::policy::config_value(deserializer)
            }
        }

        $crate::schema_of!([$($bound)*] $name, <Self as $crate::policy::ConfigValue>::form().1);
    )+};
}

/// Implements schemars' trait for a value that is described where it stands.
#[macro_export]
macro_rules! schema_of {
    ([$($bound:tt)*] $name:ty, $schema:expr) => {
        impl<$($bound)*> schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $schema
            }
        }
    };
}

config_value!(
    [const MIN: u32, const MAX: u32] Whole<MIN, MAX> = u32,
    [const MAX: u32] UpTo<MAX> = f64,
    [] Period = TimeDelta,
    [] Timeout = TimeDelta,
);

/// A whole number within bounds, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole<const MIN: u32, const MAX: u32>(pub u32);

impl<const MIN: u32, const MAX: u32> ConfigValue for Whole<MIN, MAX> {
    fn form() -> (Cow<'static, str>, Schema) {
        let range = if MIN == MAX {
            format!("`{MIN}`")
        } else {
            format!("a whole number from {MIN} to {MAX}")
        };
        (
            range.into(),
            json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX }),
        )
    }

    fn read(found: Unexpected<'_>) -> Option<Self> {
        let Unexpected::Signed(value) = found else {
            return None;
        };
        u32::try_from(value)
            .ok()
            .filter(|value| (MIN..=MAX).contains(value))
            .map(Self)
    }
}

/// A number from 0 to `MAX`, decimals allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UpTo<const MAX: u32>(pub f64);

impl<const MAX: u32> ConfigValue for UpTo<MAX> {
    fn form() -> (Cow<'static, str>, Schema) {
        let range = format!("a number from 0 to {MAX}");
        (
            range.into(),
            json_schema!({ "type": "number", "minimum": 0, "maximum": MAX }),
        )
    }

    fn read(found: Unexpected<'_>) -> Option<Self> {
        let number = match found {
            // A whole number beyond 32 bits is beyond every bound too.
            Unexpected::Signed(value) => i32::try_from(value).ok().map(f64::from)?,
            Unexpected::Float(value) => value,
            _ => return None,
        };
        (0.0..=f64::from(MAX))
            .contains(&number)
            .then_some(Self(number))
    }
}

/// A period of time with its unit. At least a second, at most a year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period(pub TimeDelta);

/// A year: longer is surely a slip.
const LONGEST_SECONDS: i64 = 366 * 86_400;

impl ConfigValue for Period {
    fn form() -> (Cow<'static, str>, Schema) {
        let examples = ["30s", "60m", "24h", "3d"];
        let schema =
            json_schema!({ "type": "string", "pattern": "^[0-9]+ ?[smhd]$", "examples": examples });
        (
            "a period such as `30s`, `60m`, `24h` or `3d` (at most 366d)".into(),
            schema,
        )
    }

    fn read(found: Unexpected<'_>) -> Option<Self> {
        let Unexpected::Str(text) = found else {
            return None;
        };
        let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
        let seconds_each = match unit.trim_start() {
            "s" => 1,
            "m" => 60,
            "h" => 3_600,
            "d" => 86_400,
            _ => return None,
        };
        let seconds = digits.parse::<i64>().ok()?.checked_mul(seconds_each)?;
        (1..=LONGEST_SECONDS)
            .contains(&seconds)
            .then(|| Self(TimeDelta::seconds(seconds)))
    }
}

/// A timeout: a [`Period`], or a plain number of seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeout(pub TimeDelta);

impl ConfigValue for Timeout {
    fn form() -> (Cow<'static, str>, Schema) {
        let schema =
            json_schema!({ "anyOf": [{ "type": "integer", "minimum": 1 }, Period::form().1] });
        (
            "a number of seconds, or a period such as `90s` or `5m`".into(),
            schema,
        )
    }

    fn read(found: Unexpected<'_>) -> Option<Self> {
        match found {
            Unexpected::Signed(seconds) if (1..=LONGEST_SECONDS).contains(&seconds) => {
                Some(Self(TimeDelta::seconds(seconds)))
            }
            found => Period::read(found).map(|period| Self(period.0)),
        }
    }
}

/// `true`, for conditions that are only ever written to be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Yes;

impl<'de> Deserialize<'de> for Yes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if bool::deserialize(deserializer)? {
            Ok(Self)
        } else {
            Err(de::Error::custom(
                "`false` is not a condition\nwrite `not: { … : true }`, or leave it out",
            ))
        }
    }
}

schema_of!([] Yes, json_schema!({ "const": true }));

/// A list that must not be empty, because an empty list would silently match nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct NonEmpty<T>(pub Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for NonEmpty<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let items = Vec::deserialize(deserializer)?;
        if items.is_empty() {
            return Err(de::Error::custom(
                "an empty list matches nothing\nwrite at least one, or leave out the key",
            ));
        }
        Ok(Self(items))
    }
}

impl<T: JsonSchema> JsonSchema for NonEmpty<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("NonEmpty_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "array", "items": generator.subschema_for::<T>(), "minItems": 1 })
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
            assert_eq!(
                Period::read(Unexpected::Str(text)).map(|period| period.0.num_seconds()),
                seconds,
                "{text}"
            );
        }
    }
}
