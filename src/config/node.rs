//! A configuration as a tree in which every key and value knows where it was written. Layers are merged, and types are
//! made, from this tree.

use indexmap::IndexMap;
use serde_json::{Value, json};

use super::problem::{Place, shorten};

/// A value, and where it was written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub place: Place,
    pub kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// A key with nothing after it, or `null`: as if the key were not there.
    Null,
    Bool(bool),
    Whole(i64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Map),
}

pub(super) type Map = IndexMap<String, Entry>;

/// A key's value, and where the key was written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub key: Place,
    pub node: Node,
}

impl Node {
    pub fn as_map(&self) -> Option<&Map> {
        match &self.kind {
            Kind::Map(map) => Some(map),
            _ => None,
        }
    }

    pub fn as_text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(value) => json!(value),
            Kind::Whole(value) => json!(value),
            Kind::Float(value) => json!(value),
            Kind::Text(text) => json!(text),
            Kind::List(items) => items.iter().map(Self::to_json).collect(),
            Kind::Map(map) => map
                .iter()
                .map(|(key, entry)| (key.clone(), entry.node.to_json()))
                .collect(),
        }
    }

    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.as_map()?.get(key)
    }

    /// The value of a key; this value where the key is not written.
    pub fn at(&self, key: &str) -> &Self {
        self.get(key).map_or(self, |entry| &entry.node)
    }

    /// Where the value of a key is written, if it has one.
    pub fn written(&self, key: &str) -> Option<Place> {
        self.get(key)
            .filter(|entry| !matches!(entry.node.kind, Kind::Null))
            .map(|entry| entry.node.place)
    }

    /// An item of a list; this value where it is written as the only item.
    pub fn item(&self, index: usize) -> &Self {
        match &self.kind {
            Kind::List(items) => items.get(index).unwrap_or(self),
            _ => self,
        }
    }

    /// Each of what was made of a list, with the item that it was made of.
    pub fn each<T>(&self, made: impl IntoIterator<Item = T>) -> impl Iterator<Item = (T, &Self)> {
        made.into_iter()
            .enumerate()
            .map(|(index, one)| (one, self.item(index)))
    }

    /// The first place in it of a text that is wanted.
    pub fn find_text(&self, is_wanted: &impl Fn(&str) -> bool) -> Option<Place> {
        match &self.kind {
            Kind::Text(text) => is_wanted(text).then_some(self.place),
            Kind::List(items) => items.iter().find_map(|item| item.find_text(is_wanted)),
            Kind::Map(map) => map
                .values()
                .find_map(|entry| entry.node.find_text(is_wanted)),
            _ => None,
        }
    }

    /// Takes the entry at a dotted path out of the tree, or the word that stands where the path would go on: `off`
    /// holds for all that it replaces.
    pub fn take(&mut self, path: &str) -> Option<Entry> {
        let Kind::Map(map) = &mut self.kind else {
            return None;
        };
        let Some((key, rest)) = path.split_once('.') else {
            return map.shift_remove(path);
        };
        match map.get_mut(key)?.node.kind {
            Kind::Map(_) => map.get_mut(key)?.node.take(rest),
            Kind::Null => None,
            _ => map.shift_remove(key),
        }
    }

    /// The dotted path of a place as people would say it, `gates.security.label`: of the value that stands there, or
    /// of the map that holds the key that stands there.
    pub fn path_of(&self, place: Place) -> Option<String> {
        let join = |segment: &str, rest: String| match rest.is_empty() || rest.starts_with('[') {
            true => format!("{segment}{rest}"),
            false => format!("{segment}.{rest}"),
        };
        match &self.kind {
            _ if self.place == place => Some(String::new()),
            Kind::List(items) => {
                let mut items = items.iter().enumerate();
                items.find_map(|(index, item)| {
                    Some(join(&format!("[{index}]"), item.path_of(place)?))
                })
            }
            Kind::Map(map) => map
                .iter()
                .find_map(|(key, entry)| match entry.key == place {
                    true => Some(String::new()),
                    false => Some(join(&shorten(key), entry.node.path_of(place)?)),
                }),
            _ => None,
        }
    }
}
