//! Values of which there is one, and values that are taken as they are.

use std::fmt;

use schemars::json_schema;
use serde::{
    Deserialize, Deserializer,
    de::{self, Visitor},
};

use super::schema_of;

/// `true`, for conditions that are only ever written to be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::config) struct Yes;

impl<'de> Deserialize<'de> for Yes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if bool::deserialize(deserializer)? {
            Ok(Self)
        } else {
            Err(de::Error::custom("`false` is not a condition\nwrite `not: { … : true }`, or leave it out"))
        }
    }
}

schema_of!(Yes, json_schema!({ "const": true }));

/// The version of the file's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::config) struct Version;

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

schema_of!(Version, json_schema!({ "const": 1 }));

/// The value of an environment variable: text, or what YAML takes for a number or a truth value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::config) struct EnvValue(pub String);

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

schema_of!(EnvValue, json_schema!({ "type": ["string", "integer", "boolean"] }));
