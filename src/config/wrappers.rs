//! Shapes of values that serde's data model has no word for. They ask the tree's deserializer for what they need by
//! the names of newtypes, and can be made from that tree only.

use std::{borrow::Cow, fmt, marker::PhantomData};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{self, SeqAccess, Visitor, value::SeqAccessDeserializer},
};

use super::{
    leaf::schema_of,
    place::{Layer, Place},
};

pub(super) const LOCATED: &str = "$loopgate::Located";
pub(super) const ONE_OR_MANY: &str = "$loopgate::OneOrMany";
pub(super) const SHORT_OR_LONG: &str = "$loopgate::ShortOrLong";

/// A value of the file, and where it was written: for what can only be judged beside other values.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Located<T> {
    pub value: T,
    pub place: Place,
}

/// A list that may be written as its only item.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OneOrMany<T>(pub Vec<T>);

/// [`OneOrMany`] that must not be empty, because an empty list would silently match nothing.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NonEmpty<T>(pub Vec<T>);

/// Keys with values, or a shorter way to say it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ShortOr<S, L> {
    Short(S),
    Long(L),
}

impl<S, L> ShortOr<S, L> {
    pub const fn long(&self) -> Option<&L> {
        match self {
            Self::Short(_) => None,
            Self::Long(long) => Some(long),
        }
    }
}

/// A section that can be switched off with one word.
pub(super) type OffOr<T> = ShortOr<Off, T>;

/// The word `off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Off;

impl<'de> Deserialize<'de> for Off {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Expecting::<Self>(PhantomData))
    }
}

impl Visitor<'_> for Expecting<Off> {
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

schema_of!(Off, json_schema!({ "const": "off" }));

/// Files are capped at 256 KiB, so lines and columns fit in 28 bits.
const PLACE_BITS: u32 = 28;
const PLACE_MASK: u32 = (1 << PLACE_BITS) - 1;

/// A place as the one number that can be passed through serde.
pub(super) fn pack(place: Place) -> u64 {
    let low = |n: u32| u64::from(n.min(PLACE_MASK));
    (place.layer as u64) << (2 * PLACE_BITS) | low(place.line) << PLACE_BITS | low(place.column)
}

fn unpack(packed: u64) -> Place {
    let low = |n: u64| (n & u64::from(PLACE_MASK)) as u32;
    let layer = match packed >> (2 * PLACE_BITS) {
        0 => Layer::Builtin,
        1 => Layer::Organisation,
        _ => Layer::Repository,
    };
    Place { layer, line: low(packed >> PLACE_BITS), column: low(packed) }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Located<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let parts = Parts::<(u64, T)>(PhantomData);
        deserializer
            .deserialize_newtype_struct(LOCATED, parts)
            .map(|(place, value)| Self { value, place: unpack(place) })
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(ONE_OR_MANY, Parts::<Vec<T>>(PhantomData)).map(Self)
    }
}

/// Takes what the tree's deserializer hands over for a wrapper, one part after the other.
struct Parts<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Parts<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of a configuration")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, parts: A) -> Result<T, A::Error> {
        T::deserialize(SeqAccessDeserializer::new(parts))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for NonEmpty<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let OneOrMany(items) = OneOrMany::deserialize(deserializer)?;
        if items.is_empty() {
            return Err(de::Error::custom("an empty list matches nothing\nwrite at least one, or leave out the key"));
        }
        Ok(Self(items))
    }
}

impl<'de, S: Deserialize<'de>, L: Deserialize<'de>> Deserialize<'de> for ShortOr<S, L> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(SHORT_OR_LONG, Expecting::<Self>(PhantomData))
    }
}

impl<'de, S: Deserialize<'de>, L: Deserialize<'de>> Visitor<'de> for Expecting<ShortOr<S, L>> {
    type Value = ShortOr<S, L>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value, or keys with values")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut halves: A) -> Result<ShortOr<S, L>, A::Error> {
        match half::<u64, A>(&mut halves)? {
            0 => half(&mut halves).map(ShortOr::Short),
            _ => half(&mut halves).map(ShortOr::Long),
        }
    }
}

/// The visitor of a wrapper.
struct Expecting<T>(PhantomData<T>);

fn half<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(halves: &mut A) -> Result<T, A::Error> {
    halves.next_element()?.ok_or_else(|| de::Error::custom("this value can only be read from a configuration"))
}

impl<T: JsonSchema> JsonSchema for Located<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

impl<T: JsonSchema> JsonSchema for OneOrMany<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("OneOrMany_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (one, many) = (generator.subschema_for::<T>(), generator.subschema_for::<Vec<T>>());
        json_schema!({ "anyOf": [one, many] })
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
        let item = generator.subschema_for::<T>();
        json_schema!({ "anyOf": [item, { "type": "array", "items": item, "minItems": 1 }] })
    }
}

impl<S: JsonSchema, L: JsonSchema> JsonSchema for ShortOr<S, L> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("{}_or_{}", S::schema_name(), L::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (short, long) = (generator.subschema_for::<S>(), generator.subschema_for::<L>());
        json_schema!({ "anyOf": [short, long] })
    }
}
