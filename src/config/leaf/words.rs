//! Values that are written as text of a certain form.

use std::borrow::Cow;

use schemars::{Schema, json_schema};
use serde::de::Unexpected;

use super::{Written, written};
use loopgate_core::{
    GateName, Login, TeamSlug,
    policy::{Colour, Recipient},
    stage::Stage,
};

written!(WrittenColour, WrittenRecipient, Transition, Handle, EnvName);

/// A label's colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::config) struct WrittenColour(pub Colour);

impl Written for WrittenColour {
    fn expected() -> Cow<'static, str> {
        "a colour as six hexadecimal digits in quotes, such as \"1d76db\"".into()
    }

    fn read(found: Unexpected<'_>) -> Option<Self> {
        let Unexpected::Str(text) = found else { return None };
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
    fn expected() -> Cow<'static, str> {
        "a login (`alice`), a team (`acme/maintainers`) or the approvers of a gate (`gate:security`)".into()
    }

    fn read(found: Unexpected<'_>) -> Option<Self> {
        let Unexpected::Str(text) = found else { return None };
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
pub(in crate::config) struct Transition {
    pub from: Stage,
}

/// A gate blocks the way to REVIEW and SHIP and all before; merging is the platform's.
const BLOCKABLE: std::ops::RangeInclusive<Stage> = Stage::Init..=Stage::Review;

impl Written for Transition {
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
pub(in crate::config) struct EnvName(pub String);

impl Written for EnvName {
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
    fn recipients_are_people_teams_and_gates() {
        let recipient = |text| Recipient::clone(&WrittenRecipient::read(Unexpected::Str(text)).unwrap().0);
        assert_eq!(recipient("alice"), Recipient::User("alice".parse().unwrap()));
        assert_eq!(recipient("@dependabot[bot]"), Recipient::User("dependabot[bot]".parse().unwrap()));
        assert_eq!(recipient("@acme/ops"), Recipient::Team("acme/ops".parse().unwrap()));
        assert_eq!(recipient("gate: security"), Recipient::GateApprovers("security".parse().unwrap()));
        for bad in ["", "@", "al ice", "a/b/c", "team:x", "gate:", "gate:Security", "alice,bob"] {
            assert!(WrittenRecipient::read(Unexpected::Str(bad)).is_none(), "{bad}");
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
