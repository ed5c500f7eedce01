//! A configuration as a tree in which every key and value knows where it was written: what `serde_yaml` read, put
//! on the skeleton of [`places`](super::places). Layers are merged, and types are made, from this tree.

use std::rc::Rc;

use indexmap::IndexMap;
use serde_yaml::Value;

use super::{
    places::{Inside, KeyPlace, Places},
    problem::{Problem, shorten},
    source::{Layer, Place, Source},
};

/// A value, and where it was written.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub place: Place,
    pub kind: Kind,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// A key with nothing after it, or `null`: as if the key were not there.
    Null,
    Bool(bool),
    Whole(i64),
    /// Too large for [`Kind::Whole`].
    Huge(u64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Map),
}

pub(super) type Map = IndexMap<String, Entry>;

/// A key's value, and where the key was written.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub key: Place,
    pub node: Node,
}

impl Node {
    /// Reads a text of a layer.
    pub fn read(source: Source<'_>, layer: Layer) -> Result<Self, Problem> {
        let start = Place::start(layer);
        let text = source.checked(layer)?;
        let Some(places) = Places::of(text, layer)? else {
            return Ok(Self::empty(start));
        };
        let value: Value = serde_yaml::from_str(text).map_err(|error| {
            let place = error.location().map_or(start, |at| Place::at(layer, at.line(), at.column()));
            refused_value(place, &error.to_string())
        })?;
        let node = Self::build(value, &places)?;
        match node.kind {
            Kind::Map(_) | Kind::Null => Ok(node),
            _ => {
                Err(Problem::unreadable(node.place, "a configuration is keys with values")
                    .hint("begin with `version: 1`"))
            }
        }
    }

    /// A configuration in which nothing is written.
    pub fn empty(place: Place) -> Self {
        Self { place, kind: Kind::Map(Map::new()) }
    }

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

    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.as_map()?.get(key)
    }

    /// Takes the entry at a dotted path out of the tree, or the word that stands where the path would go on: `off`
    /// says something about all that it replaces.
    pub fn take(&mut self, path: &str) -> Option<Entry> {
        let Kind::Map(map) = &mut self.kind else { return None };
        let Some((key, rest)) = path.split_once('.') else { return map.shift_remove(path) };
        match map.get_mut(key)?.node.kind {
            Kind::Map(_) => map.get_mut(key)?.node.take(rest),
            Kind::Null => None,
            _ => map.shift_remove(key),
        }
    }

    /// Puts a value on its place. Both parsers read the same text, so both see the same shape; should they ever
    /// disagree, the text is refused.
    fn build(value: Value, places: &Rc<Places>) -> Result<Self, Problem> {
        let place = places.at;
        let kind = match (value, &places.inside) {
            (Value::Null, Inside::Scalar) => Kind::Null,
            (Value::Bool(value), Inside::Scalar) => Kind::Bool(value),
            (Value::String(text), Inside::Scalar) => Kind::Text(text),
            (Value::Number(number), Inside::Scalar) => number_kind(&number),
            (Value::Sequence(values), Inside::List(items)) if values.len() == items.len() => {
                let items = values.into_iter().zip(items).map(|(value, places)| Self::build(value, places));
                Kind::List(items.collect::<Result<_, _>>()?)
            }
            (Value::Mapping(values), Inside::Map(keys)) if values.len() == keys.len() => {
                let mut map = Map::with_capacity(values.len());
                for ((_, value), KeyPlace { key, at, value: places }) in values.into_iter().zip(keys) {
                    map.insert(key.clone(), Entry { key: *at, node: Self::build(value, places)? });
                }
                Kind::Map(with_merge_key(map)?)
            }
            _ => {
                return Err(
                    Problem::unreadable(place, "this YAML can be read in two ways").hint("write it more plainly")
                );
            }
        };
        Ok(Self { place, kind })
    }

    /// The dotted path of a place as people would say it, `gates.security.label`: of the value that stands there, or
    /// of the map that holds the key that stands there.
    pub fn path_of(&self, place: Place) -> Option<String> {
        let mut path = Path::default();
        self.find(place, &mut path).then_some(path.0)
    }

    fn find(&self, place: Place, path: &mut Path) -> bool {
        if self.place == place {
            return true;
        }
        match &self.kind {
            Kind::List(items) => items
                .iter()
                .enumerate()
                .any(|(index, item)| path.inside(&format!("[{index}]"), |path| item.find(place, path))),
            Kind::Map(map) => map
                .iter()
                .any(|(key, entry)| entry.key == place || path.inside(key, |path| entry.node.find(place, path))),
            _ => false,
        }
    }
}

/// A path that grows while something is looked for, and shrinks where it was not found.
#[derive(Default)]
struct Path(String);

impl Path {
    fn inside(&mut self, segment: &str, look: impl FnOnce(&mut Self) -> bool) -> bool {
        let before = self.0.len();
        if before > 0 && !segment.starts_with('[') {
            self.0.push('.');
        }
        self.0.push_str(&shorten(segment));
        let found = look(self);
        if !found {
            self.0.truncate(before);
        }
        found
    }
}

/// What is well-formed for the one parser and not for the other: in practice, numbers of 65 bits and more.
fn refused_value(place: Place, error: &str) -> Problem {
    let error = error.split(" at line ").next().unwrap_or_default();
    match error {
        _ if error.contains("128") => Problem::unreadable(place, "this number is too large"),
        _ if error.contains("repetition") => Problem::unreadable(place, "the aliases in here unfold to too much"),
        _ => Problem::unreadable(place, format!("this cannot be read: {}", shorten(error))),
    }
}

fn number_kind(number: &serde_yaml::Number) -> Kind {
    match (number.as_i64(), number.as_u64()) {
        (Some(whole), _) => Kind::Whole(whole),
        (None, Some(huge)) => Kind::Huge(huge),
        (None, None) => Kind::Float(number.as_f64().unwrap_or(f64::NAN)),
    }
}

/// `<<: *anchor` and `<<: [*a, *b]`: their keys stand in for those that are not written here.
fn with_merge_key(mut map: Map) -> Result<Map, Problem> {
    let Some(merged) = map.shift_remove("<<") else { return Ok(map) };
    let refused = |place| Problem::unreadable(place, "`<<` takes an alias of a map, or a list of them");
    let parts = match merged.node {
        Node { kind: Kind::List(items), .. } => items,
        node => vec![node],
    };
    for part in parts {
        let Kind::Map(entries) = part.kind else { return Err(refused(part.place)) };
        for (key, entry) in entries {
            map.entry(key).or_insert(entry);
        }
    }
    Ok(map)
}
