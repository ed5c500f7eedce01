//! Values that are written as text of a certain form.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{self, Unexpected, Visitor},
};

use loopgate_core::{
    GateName, Login, TeamSlug,
    policy::{Colour, Recipient},
    stage::Stage,
};

/// A type that is written as text: what it is called in messages, how it looks in the schema, how it is read.
pub(super) trait Written: Sized {
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

pub(super) use written;

written!(WrittenColour, WrittenRecipient, Transition, Handle, EnvName);

/// A label's colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::config) struct WrittenColour(pub Colour);

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
pub(in crate::config) struct WrittenRecipient(pub Recipient);

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
pub(in crate::config) struct Handle(pub Login);

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
pub(in crate::config) struct Transition {
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

/// The name of an environment variable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::config) struct EnvName(pub String);

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipients_are_people_teams_and_gates() {
        let recipient = |text| Recipient::clone(&WrittenRecipient::read(text).unwrap().0);
        assert_eq!(recipient("alice"), Recipient::User("alice".parse().unwrap()));
        assert_eq!(recipient("@dependabot[bot]"), Recipient::User("dependabot[bot]".parse().unwrap()));
        assert_eq!(recipient("@acme/ops"), Recipient::Team("acme/ops".parse().unwrap()));
        assert_eq!(recipient("gate: security"), Recipient::GateApprovers("security".parse().unwrap()));
        for bad in ["", "@", "al ice", "a/b/c", "team:x", "gate:", "gate:Security", "alice,bob"] {
            assert!(WrittenRecipient::read(bad).is_none(), "{bad}");
        }
    }

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
            assert_eq!(Transition::read(text).map(|transition| transition.from), from, "{text}");
        }
    }

    #[test]
    fn names_of_environment_variables() {
        for (text, good) in [("PATH", true), ("_x1", true), ("1X", false), ("A-B", false), ("A=B", false), ("", false)]
        {
            assert_eq!(EnvName::read(text).is_some(), good, "{text}");
        }
    }
}
