//! From the tree to the types of the file, by serde; what does not fit is a [`Problem`] with its place.

use std::{cell::Cell, fmt, slice, sync::LazyLock};

use indexmap::map;
use serde::{
    Deserializer,
    de::{
        self, DeserializeOwned, DeserializeSeed, Error as _, IntoDeserializer, Unexpected, Visitor,
        value::{MapAccessDeserializer, MapDeserializer, StrDeserializer},
    },
    forward_to_deserialize_any,
};

use super::{
    leaf::SHORT_OR,
    node::{Entry, Kind, Map, Node},
    problem::Problem,
};

/// Makes a type of the file from a tree.
pub(super) fn from_node<T: DeserializeOwned>(
    node: &Node,
    matchers: &Matchers,
) -> Result<T, Problem> {
    T::deserialize(NodeReader { node, matchers }).map_err(|problem| problem.at(node.place))
}

/// How many globs and regular expressions were read. An expression may compile to 1 MiB; so many of them fit in a
/// server that holds many configurations.
#[derive(Debug, Default)]
pub(super) struct Matchers {
    pub globs: Cell<usize>,
    pub patterns: Cell<usize>,
}

pub(super) const MAX_GLOBS: usize = 500;
pub(super) const MAX_PATTERNS: usize = 128;

impl Matchers {
    /// Counts a type of this name, if it is one of the core's matchers.
    fn count(&self, name: &str) -> Result<(), Problem> {
        let (count, most, what, hint) = match name {
            "WrittenGlob" => (
                &self.globs,
                MAX_GLOBS,
                "globs",
                "join some of them with `{…,…}`",
            ),
            "WrittenPattern" => (
                &self.patterns,
                MAX_PATTERNS,
                "regular expressions",
                "join some of them with `|`",
            ),
            _ => return Ok(()),
        };
        count.set(count.get() + 1);
        match count.get() > most {
            true => Err(Problem::custom(format!(
                "more than {most} {what} in one configuration\n{hint}"
            ))),
            false => Ok(()),
        }
    }
}

/// Reads a node of the tree.
#[derive(Clone, Copy)]
struct NodeReader<'de> {
    node: &'de Node,
    matchers: &'de Matchers,
}

static NOTHING: LazyLock<Map> = LazyLock::new(Map::new);

impl Node {
    /// The items of a list. Every list may be written as its only item.
    fn items(&self) -> &[Self] {
        match &self.kind {
            Kind::Null => &[],
            Kind::List(items) => items,
            _ => slice::from_ref(self),
        }
    }

    fn unexpected(&self) -> Unexpected<'_> {
        match &self.kind {
            Kind::Null => Unexpected::Unit,
            Kind::Bool(value) => Unexpected::Bool(*value),
            Kind::Whole(value) => Unexpected::Signed(*value),
            Kind::Float(value) => Unexpected::Float(*value),
            Kind::Text(text) => Unexpected::Str(text),
            Kind::List(_) => Unexpected::Seq,
            Kind::Map(_) => Unexpected::Map,
        }
    }
}

impl<'de> NodeReader<'de> {
    /// The items of a list.
    fn items(self) -> Items<'de> {
        Items(self.node.items().iter(), self.matchers)
    }

    /// The entries of a map. Of the fields of a struct those with nothing after their key are left out.
    fn entries(self, fields: &'static [&'static str]) -> Result<Entries<'de>, Problem> {
        let rest = match &self.node.kind {
            Kind::Null => NOTHING.iter(),
            Kind::Map(map) => map.iter(),
            // A struct would take a list for its fields in order, which is never meant.
            _ => {
                return Err(
                    Problem::invalid_type(self.node.unexpected(), &"keys with values")
                        .at(self.node.place),
                );
            }
        };
        Ok(Entries {
            rest,
            fields,
            value: None,
            matchers: self.matchers,
        })
    }
}

/// A key with nothing after it, whose lines are perhaps commented out, is as if it were not there: an absent option,
/// an empty list or map.
impl<'de> Deserializer<'de> for NodeReader<'de> {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        let result = match &self.node.kind {
            Kind::Null => visitor.visit_unit(),
            Kind::Bool(value) => visitor.visit_bool(*value),
            Kind::Whole(value) => visitor.visit_i64(*value),
            Kind::Float(value) => visitor.visit_f64(*value),
            Kind::Text(text) => visitor.visit_borrowed_str(text),
            Kind::List(_) => visitor.visit_seq(self.items()),
            Kind::Map(_) => visitor.visit_map(self.entries(&[])?),
        };
        result.map_err(|problem| problem.at(self.node.place))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.node.kind {
            Kind::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor
            .visit_seq(self.items())
            .map_err(|problem| problem.at(self.node.place))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor
            .visit_map(self.entries(&[])?)
            .map_err(|problem| problem.at(self.node.place))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        visitor
            .visit_map(self.entries(fields)?)
            .map_err(|problem| problem.at(self.node.place))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        let counted = self
            .matchers
            .count(name)
            .and_then(|()| visitor.visit_newtype_struct(self));
        counted.map_err(|problem| problem.at(self.node.place))
    }

    /// A word, or one key for the variant with a value for what it holds.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        let result = match &self.node.kind {
            kind if name == SHORT_OR => {
                let variant = if matches!(kind, Kind::Map(_) | Kind::Null) {
                    "Long"
                } else {
                    "Short"
                };
                let alone = MapDeserializer::new(std::iter::once((variant, self)));
                visitor.visit_enum(MapAccessDeserializer::new(alone))
            }
            Kind::Text(word) => {
                let word: StrDeserializer<'_, Problem> = word.as_str().into_deserializer();
                visitor.visit_enum(word)
            }
            Kind::Map(map) => match (map.first(), map.get_index(1)) {
                (Some(_), None) => {
                    visitor.visit_enum(MapAccessDeserializer::new(self.entries(&[])?))
                }
                (Some(first), Some(second)) => Err(two_at_once(first, second, variants)),
                (None, _) => Err(Problem::invalid_type(
                    self.node.unexpected(),
                    &OneOf(variants),
                )),
            },
            _ => Err(Problem::invalid_type(
                self.node.unexpected(),
                &OneOf(variants),
            )),
        };
        result.map_err(|problem| match &self.node.kind {
            Kind::Text(word) if name != SHORT_OR && variants.contains(&word.as_str()) => {
                Problem::wrong(self.node.place, format!("`{word}` needs a value"))
                    .hint(format!("write it as a key: `{word}: …`"))
            }
            _ => problem.at(self.node.place),
        })
    }

    /// Only a word of an enumeration that stands as a key asks for nothing.
    fn deserialize_unit<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Problem> {
        Err(Problem::custom("this word takes no value; write it alone").at(self.node.place))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit_struct tuple tuple_struct
        identifier ignored_any
    }
}

fn two_at_once(
    first: (&String, &Entry),
    second: (&String, &Entry),
    variants: &'static [&'static str],
) -> Problem {
    for (key, entry) in [first, second] {
        if !variants.contains(&key.as_str()) {
            return Problem::unknown_field(key, variants).at(entry.key);
        }
    }
    let ((first, _), (second, entry)) = (first, second);
    let message = format!("`{first}` and `{second}` stand side by side; one of them is expected");
    let problem = Problem::wrong(entry.key, message);
    if variants.contains(&"any") && variants.contains(&"all") {
        problem.hint("put them in a list under `any:` or `all:`, to say whether one is enough")
    } else {
        problem
    }
}

/// What an enumeration takes, in words.
struct OneOf(&'static [&'static str]);

impl de::Expected for OneOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one of ")?;
        for (index, variant) in self.0.iter().enumerate() {
            write!(f, "{}`{variant}`", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// The items of a list. The error of a type that is parsed from its text has no place; it gets the place of its item.
struct Items<'de>(slice::Iter<'de, Node>, &'de Matchers);

impl<'de> de::SeqAccess<'de> for Items<'de> {
    type Error = Problem;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Problem> {
        let Some(node) = self.0.next() else {
            return Ok(None);
        };
        let item = seed.deserialize(NodeReader {
            node,
            matchers: self.1,
        });
        item.map(Some).map_err(|problem| problem.at(node.place))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

struct Entries<'de> {
    rest: map::Iter<'de, String, Entry>,
    fields: &'static [&'static str],
    value: Option<&'de Node>,
    matchers: &'de Matchers,
}

impl<'de> de::MapAccess<'de> for Entries<'de> {
    type Error = Problem;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Problem> {
        let is_absent =
            |key: &str, entry: &Entry| entry.node.kind == Kind::Null && self.fields.contains(&key);
        let Some((key, entry)) = self.rest.find(|(key, entry)| !is_absent(key, entry)) else {
            return Ok(None);
        };
        self.value = Some(&entry.node);
        let key: StrDeserializer<'_, Problem> = key.as_str().into_deserializer();
        seed.deserialize(key)
            .map(Some)
            .map_err(|problem| problem.about_key().at(entry.key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Problem> {
        let node = self
            .value
            .take()
            .ok_or_else(|| Problem::custom("a value was asked for before its key"))?;
        seed.deserialize(NodeReader {
            node,
            matchers: self.matchers,
        })
        .map_err(|problem| problem.at(node.place))
    }
}

impl<'de> IntoDeserializer<'de, Problem> for NodeReader<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}
