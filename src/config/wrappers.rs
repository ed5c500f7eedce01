//! Shapes of values that serde's data model has no word for.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{self, Visitor},
};

use loopgate_core::schema_of;

/// A list that must not be empty, because an empty list would silently match nothing.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NonEmpty<T>(pub Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for NonEmpty<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let items = Vec::deserialize(deserializer)?;
        if items.is_empty() {
            return Err(de::Error::custom("an empty list matches nothing\nwrite at least one, or leave out the key"));
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

/// The name by which the tree's deserializer knows [`ShortOr`]: it says which of both stands there.
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

/// The word `off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Off;

impl<'de> Deserialize<'de> for Off {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OffVisitor)
    }
}

struct OffVisitor;

impl Visitor<'_> for OffVisitor {
    type Value = Off;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`off` or keys with values")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Off, E> {
        match text {
            "off" => Ok(Off),
            other => Err(E::invalid_value(de::Unexpected::Str(other), &self)),
        }
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Off, E> {
        let hint = if value { "leave it out to keep the defaults" } else { "write `off`" };
        Err(E::custom(format_args!("expected `off` or keys with values, found `{value}`\n{hint}")))
    }
}

schema_of!([] Off, json_schema!({ "const": "off" }));
