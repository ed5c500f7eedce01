//! Values as they are written in the file alone, each checked on its own, and shapes that serde's data model has no
//! word for.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, json_schema};
use serde::{Deserialize, de::Unexpected};

use loopgate_core::{Login, config_value, policy::ConfigValue, stage::Stage};

config_value!([] Transition, [] Handle, [] EnvName, [] EnvValue, [] Off);

/// The value of an environment variable: text, or what YAML takes for a number or a truth value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EnvValue(pub String);

impl ConfigValue for EnvValue {
    fn form() -> (Cow<'static, str>, Schema) {
        (
            "text".into(),
            json_schema!({ "type": ["string", "integer", "boolean"] }),
        )
    }

    fn read(found: Unexpected<'_>) -> Option<Self> {
        Some(Self(match found {
            Unexpected::Str(text) if !text.contains('\0') => text.to_owned(),
            Unexpected::Signed(value) => value.to_string(),
            Unexpected::Bool(value) => value.to_string(),
            _ => return None,
        }))
    }
}

/// The word `off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Off;

impl ConfigValue for Off {
    fn form() -> (Cow<'static, str>, Schema) {
        (
            "`off` or keys with values".into(),
            json_schema!({ "const": "off" }),
        )
    }

    fn read(found: Unexpected<'_>) -> Option<Self> {
        (found == Unexpected::Str("off")).then_some(Self)
    }
}

/// An account that is mentioned, with or without its `@`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Handle(pub Login);

impl ConfigValue for Handle {
    fn form() -> (Cow<'static, str>, Schema) {
        let schema =
            json_schema!({ "type": "string", "pattern": "^@?[A-Za-z0-9_-]+(\\[bot\\])?$" });
        ("a login, such as `copilot`".into(), schema)
    }

    fn read(found: Unexpected<'_>) -> Option<Self> {
        let Unexpected::Str(text) = found else {
            return None;
        };
        text.strip_prefix('@')
            .unwrap_or(text)
            .parse()
            .ok()
            .map(Self)
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
    fn read(found: Unexpected<'_>) -> Option<Self> {
        let Unexpected::Str(text) = found else {
            return None;
        };
        let stage = |word: &str| Stage::of_word(word.trim());
        let to = match text.split_once("->").or_else(|| text.split_once('→')) {
            Some((from, to)) => stage(from)?
                .next()
                .filter(|next| Some(*next) == stage(to))?,
            None => stage(text)?,
        };
        let from = Stage::ALL
            .into_iter()
            .find(|from| from.next() == Some(to))?;
        BLOCKABLE.contains(&from).then_some(Self { from })
    }

    fn form() -> (Cow<'static, str>, Schema) {
        let transitions = Stage::ALL
            .into_iter()
            .filter(|from| BLOCKABLE.contains(from))
            .filter_map(|from| {
                let to = from.next()?;
                Some([
                    format!("{} -> {}", from.as_str(), to.as_str()),
                    to.as_str().to_owned(),
                ])
            });
        let words: Vec<String> = transitions.flatten().collect();
        let schema = json_schema!({ "type": "string", "examples": words });
        (
            "a transition such as `VALIDATE -> DOCUMENT`, up to `REVIEW -> SHIP`".into(),
            schema,
        )
    }
}

/// The name of an environment variable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct EnvName(pub String);

impl ConfigValue for EnvName {
    fn form() -> (Cow<'static, str>, Schema) {
        let schema = json_schema!({ "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" });
        (
            "the name of an environment variable (letters, digits and _)".into(),
            schema,
        )
    }

    fn read(found: Unexpected<'_>) -> Option<Self> {
        let Unexpected::Str(text) = found else {
            return None;
        };
        let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let starts_well = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        (plain && starts_well).then(|| Self(text.to_owned()))
    }
}

/// The name by which the tree's deserializer knows [`ShortOr`]: it decides which of both stands there.
pub(super) const SHORT_OR: &str = "ShortOr";

// Keys with values, or a shorter way to write them. A doc comment would become the description of each such key.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[schemars(untagged, inline)]
pub(super) enum ShortOr<S, L> {
    Short(S),
    Long(L),
}

/// A section that can be switched off with one word.
pub(super) type OffOr<T> = ShortOr<Off, T>;

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
            assert_eq!(
                Transition::read(Unexpected::Str(text)).map(|transition| transition.from),
                from,
                "{text}"
            );
        }
    }

    #[test]
    fn names_of_environment_variables() {
        for (text, good) in [
            ("PATH", true),
            ("_x1", true),
            ("1X", false),
            ("A-B", false),
            ("A=B", false),
            ("", false),
        ] {
            assert_eq!(
                EnvName::read(Unexpected::Str(text)).is_some(),
                good,
                "{text}"
            );
        }
    }
}
