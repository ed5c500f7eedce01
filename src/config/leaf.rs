//! Single values as they are written in the file alone, each checked on its own.

use std::{borrow::Cow, fmt};

use schemars::{Schema, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{self, Unexpected, Visitor},
};

use loopgate_core::{Login, config_value, policy::ConfigValue, schema_of, stage::Stage};

config_value!([] Transition, [] Handle, [] EnvName);

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

schema_of!([] Yes, json_schema!({ "const": true }));

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

schema_of!([] Version, json_schema!({ "const": 1 }));

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

schema_of!([] EnvValue, json_schema!({ "type": ["string", "integer", "boolean"] }));

/// An account that is mentioned, with or without its `@`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Handle(pub Login);

impl ConfigValue for Handle {
    fn expected() -> Cow<'static, str> {
        "a login, such as `copilot`".into()
    }

    fn read(found: Unexpected<'_>) -> Option<Self> {
        let Unexpected::Str(text) = found else { return None };
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

impl ConfigValue for Transition {
    fn expected() -> Cow<'static, str> {
        "a transition such as `VALIDATE -> DOCUMENT`, up to `REVIEW -> SHIP`".into()
    }

    fn read(found: Unexpected<'_>) -> Option<Self> {
        let Unexpected::Str(text) = found else { return None };
        let stage = |word: &str| Stage::of_word(word.trim());
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

/// The name of an environment variable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct EnvName(pub String);

impl ConfigValue for EnvName {
    fn expected() -> Cow<'static, str> {
        "the name of an environment variable (letters, digits and _)".into()
    }

    fn read(found: Unexpected<'_>) -> Option<Self> {
        let Unexpected::Str(text) = found else { return None };
        let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let starts_well = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        (plain && starts_well).then(|| Self(text.to_owned()))
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transitions_are_named_by_both_ends_or_by_where_they_lead() {
        for (text, from) in [
            ("VALIDATE -> DOCUMENT", Some(Stage::Validate)),
            ("VALIDATE→DOCUMENT", Some(Stage::Validate)),
            ("DOCUMENT", Some(Stage::Validate)),
            ("REVIEW->SHIP", Some(Stage::Review)),
            ("INIT -> SCAFFOLD", Some(Stage::Init)),
            ("INIT", None),
            ("SHIP -> COMPLETE", None),
            ("COMPLETE", None),
            ("DOCUMENT -> VALIDATE", None),
            ("TEST -> SHIP", None),
            ("validate -> document", None),
            ("", None),
        ] {
            assert_eq!(Transition::read(Unexpected::Str(text)).map(|transition| transition.from), from, "{text}");
        }
    }

    #[test]
    fn names_of_environment_variables() {
        for (text, good) in [("PATH", true), ("_x1", true), ("1X", false), ("A-B", false), ("A=B", false), ("", false)]
        {
            assert_eq!(EnvName::read(Unexpected::Str(text)).is_some(), good, "{text}");
        }
    }
}
