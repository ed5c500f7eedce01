//! JSON documents in bounded memory: arrays are taken element by element, and an error shows where it stands
//! (`runs[0].results[12].level`).

use std::{borrow::Cow, fmt, io::BufReader};

use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor},
};

use crate::short_strings::ShortStrings;
use crate::text::MAX_NAME;
use crate::{Collector, Unreadable, Window, each_line};

/// What a document shows on the way through it.
pub(super) enum Step<'a> {
    /// The place of a path among those that are taken, the value, and its bytes in memory.
    Value(usize, Json, usize),
    /// An object on the way to such values is over.
    End(&'a str),
}

/// Where values stand: `runs[].results[]`; `[]` are the elements of an outermost array.
pub(super) type Paths = &'static [&'static str];

/// Reads a document, of which nothing is held but the value that is being taken. The paths show where such values
/// stand.
pub(super) fn read(
    window: &mut Window<'_>,
    paths: Paths,
    see: &mut dyn FnMut(Step<'_>),
) -> Result<(), Unreadable> {
    let mut walk = JsonWalk {
        paths,
        see,
        path: String::new(),
        place: String::new(),
    };
    let mut source = ShortStrings::new(window);
    let mut json =
        serde_json::Deserializer::from_reader(BufReader::with_capacity(16 * 1024, &mut source));
    let ended = walk.deserialize(&mut json);
    ended.map_err(|error| {
        let place = if walk.place.is_empty() {
            "the top".to_owned()
        } else {
            walk.place
        };
        match error.classify() {
            serde_json::error::Category::Io => Unreadable::Io(error.into()),
            serde_json::error::Category::Eof => Unreadable::CutShort { place },
            _ => Unreadable::Malformed {
                what: error.to_string(),
                place,
            },
        }
    })
}

/// Reads the values at these paths.
pub(super) fn read_each(
    window: &mut Window<'_>,
    paths: Paths,
    mut take: impl FnMut(Json),
) -> Result<(), Unreadable> {
    read(window, paths, &mut |step| {
        if let Step::Value(_, value, _) = step {
            take(value);
        }
    })
}

/// Reads lines, of which those that begin with `{` are a value each; gives how many lines there are.
pub(super) fn read_lines(
    window: &mut Window<'_>,
    out: &mut Collector,
    mut take: impl FnMut(Json, &mut Collector),
) -> Result<u64, Unreadable> {
    each_line(window, out, |line, out| match serde_json::from_str(line) {
        Ok(value) => {
            take(value, out);
            true
        }
        Err(_) => !line.trim_start().starts_with('{'),
    })
}

/// A value that is taken, or on the way to those that are.
struct JsonWalk<'a> {
    paths: Paths,
    see: &'a mut dyn FnMut(Step<'_>),
    path: String,
    /// The path with numbers and short keys, for messages. After an error it shows where that happened.
    place: String,
}

impl JsonWalk<'_> {
    fn leads_on(&self, next: &str) -> bool {
        let on = |path: &&str| {
            path.strip_prefix(self.path.as_str())
                .is_some_and(|rest| rest.starts_with(next))
        };
        self.paths.iter().any(on)
    }
}

impl<'de> DeserializeSeed<'de> for &mut JsonWalk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.paths.iter().position(|path| *path == self.path) {
            Some(path) => {
                let mut left = MAX_VALUE;
                let is_cucumber = self.paths == CUCUMBER;
                let value = Bounded(&mut left, is_cucumber).deserialize(deserializer)?;
                (self.see)(Step::Value(path, value, MAX_VALUE - left));
                Ok(())
            }
            None if self.path.is_empty() || self.leads_on(".") || self.leads_on("[") => {
                deserializer.deserialize_any(self)
            }
            None => IgnoredAny::deserialize(deserializer).map(drop),
        }
    }
}

impl<'de> Visitor<'de> for &mut JsonWalk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.leads_on("[") {
            "an array"
        } else {
            "an object"
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        if self.leads_on("[") {
            return Err(de::Error::invalid_type(Unexpected::Map, &self));
        }
        let (path, place) = (self.path.len(), self.place.len());
        let dot = if path == 0 { "" } else { "." };
        while let Some(key) = map.next_key::<String>()? {
            self.path.extend([dot, &key]);
            self.place
                .extend([dot, &key[..key.floor_char_boundary(80)]]);
            map.next_value_seed(&mut *self)?;
            self.path.truncate(path);
            self.place.truncate(place);
        }
        (self.see)(Step::End(&self.path));
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        if !self.leads_on("[") {
            return Err(de::Error::invalid_type(Unexpected::Seq, &self));
        }
        let (path, place) = (self.path.len(), self.place.len());
        self.path.push_str("[]");
        for index in 0.. {
            self.place.push_str(&format!("[{index}]"));
            if seq.next_element_seed(&mut *self)?.is_none() {
                break;
            }
            self.place.truncate(place);
        }
        self.path.truncate(path);
        self.place.truncate(place);
        Ok(())
    }

    fn visit_unit<R: de::Error>(self) -> Result<(), R> {
        Ok(())
    }
}

/// Bytes that one value may take in memory.
const MAX_VALUE: usize = 16 * 1024 * 1024;

/// Keys of what may be large and shows nothing of a result: what was attached or printed, and advice.
const PASSED_OVER: [&str; 8] = [
    "attachments",
    "stdout",
    "stderr",
    "steps",
    "codeFlows",
    "fixes",
    "help",
    "fullDescription",
];

/// A value all of which is in memory, where it takes no more room than it needs. Numbers and texts stand for each
/// other, as tools write both.
#[derive(Debug, Default)]
pub(super) enum Json {
    #[default]
    Null,
    Bool(bool),
    Number(f64),
    Text(Box<str>),
    List(Box<[Self]>),
    Object(Box<[(Box<str>, Self)]>),
}

impl Json {
    /// The value behind these keys and places, `locations/0/level`, where `a|b` is the first of two keys that is there;
    /// null where there is none.
    pub fn at(&self, path: &str) -> &Self {
        path.split('/')
            .filter(|step| !step.is_empty())
            .fold(self, |value, step| match value {
                Self::List(list) => step
                    .parse()
                    .ok()
                    .and_then(|at: usize| list.get(at))
                    .unwrap_or(&Self::Null),
                _ => step
                    .split('|')
                    .map(|key| value.get(key))
                    .find(|value| !matches!(value, Self::Null))
                    .unwrap_or(&Self::Null),
            })
    }

    /// The value of a key, whatever the key holds.
    pub fn get(&self, key: &str) -> &Self {
        self.entries()
            .iter()
            .find(|(known, _)| &**known == key)
            .map_or(&Self::Null, |(_, value)| value)
    }

    pub fn list(&self) -> &[Self] {
        if let Self::List(list) = self {
            list
        } else {
            &[]
        }
    }

    pub fn entries(&self) -> &[(Box<str>, Self)] {
        if let Self::Object(entries) = self {
            entries
        } else {
            &[]
        }
    }

    /// The text at a path; of a number its digits.
    pub fn text(&self, path: &str) -> Option<Cow<'_, str>> {
        match self.at(path) {
            Self::Text(text) => Some(Cow::Borrowed(text)),
            Self::Number(number) => Some(Cow::Owned(number.to_string())),
            _ => None,
        }
    }

    /// The number at a path, also one written as a text.
    pub fn number(&self, path: &str) -> Option<f64> {
        match self.at(path) {
            Self::Number(number) => Some(*number),
            Self::Text(text) => text
                .trim()
                .parse()
                .ok()
                .filter(|value: &f64| value.is_finite()),
            _ => None,
        }
    }

    /// The number at a path as the place of something in an array.
    pub fn index(&self, path: &str) -> Option<usize> {
        self.number(path)
            .filter(|value| *value >= 0.0)
            .map(|value| value as usize)
    }

    /// The number at a path as a line, from 1.
    pub fn line(&self, path: &str) -> Option<u32> {
        self.number(path)
            .filter(|value| *value >= 1.0 && *value <= f64::from(u32::MAX))
            .map(|value| value as u32)
    }

    pub fn is_true(&self, path: &str) -> bool {
        matches!(self.at(path), Self::Bool(true))
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut left = MAX_VALUE;
        Bounded(&mut left, false).deserialize(deserializer)
    }
}

/// Where Cucumber's features stand, whose steps are what is read.
pub(super) const CUCUMBER: Paths = &["[]"];

/// A value that may take so many bytes more, and whether its steps are read.
struct Bounded<'b>(&'b mut usize, bool);

impl Bounded<'_> {
    /// Takes the bytes of a value, of its key and of a text. Each text is a block of its own, which an allocator rounds
    /// up.
    fn take<E: de::Error>(&mut self, text: &str) -> Result<(), E> {
        let block = if text.is_empty() {
            0
        } else {
            (text.len() + 8).next_multiple_of(16).max(32)
        };
        let left = self.0.checked_sub(block + size_of::<Json>());
        *self.0 = left.ok_or_else(|| E::custom("a value takes more than 16 MiB"))?;
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Bounded<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(mut self, deserializer: D) -> Result<Json, D::Error> {
        self.take("")?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Bounded<'_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E: de::Error>(self, is_so: bool) -> Result<Json, E> {
        Ok(Json::Bool(is_so))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Json, E> {
        Ok(Json::Number(number as f64))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Json, E> {
        Ok(Json::Number(number as f64))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Json, E> {
        Ok(Json::Number(number))
    }

    fn visit_str<E: de::Error>(mut self, text: &str) -> Result<Json, E> {
        self.take(text)?;
        Ok(Json::Text(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = seq.next_element_seed(Bounded(self.0, self.1))? {
            list.push(value);
        }
        Ok(Json::List(list.into()))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Json, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            if PASSED_OVER.contains(&key.as_str()) && !(self.1 && key == "steps") {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            self.take(&key)?;
            let left = *self.0;
            let value = map.next_value_seed(Bounded(self.0, self.1))?;
            // A file's name; where it is a whole file, that shows nothing of a result.
            if key == "source" && matches!(&value, Json::Text(text) if text.len() > MAX_NAME) {
                *self.0 = left;
                continue;
            }
            entries.push((key.into(), value));
        }
        Ok(Json::Object(entries.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_tell_their_place() {
        let read = |text: &str| {
            let mut names = Vec::new();
            let take = |name: Json| names.extend(name.text("").map(Cow::into_owned));
            let ended = read_each(
                &mut Window::new(text.as_bytes()),
                &["name", "inner[].name", "inner[].inner[]"],
                take,
            );
            (names, ended.map_err(|error| error.to_string()).err())
        };
        let of = |names: &[&str]| -> Vec<String> {
            names.iter().map(|name| (*name).to_owned()).collect()
        };
        assert_eq!(
            read(r#"{"name":"a","x":[1,{"y":2}],"inner":[{"name":7},{"inner":null}]}"#),
            (of(&["a", "7"]), None)
        );
        let (names, error) = read(r#"{"name":"a","inner":[{"name":"b"},{"name":"c"#);
        assert_eq!(names, of(&["a", "b"]));
        assert_eq!(
            error.as_deref(),
            Some("ends inside inner[1].name: cut short")
        );
        for (text, place) in [
            (r#"{"inner":[{"inner":5}]}"#, "at inner[0].inner"),
            (r#"{"inner":{}}"#, "at inner"),
        ] {
            assert!(
                read(text).1.is_some_and(|error| error.ends_with(place)),
                "{text}"
            );
        }
        assert!(
            read("[]")
                .1
                .is_some_and(|error| error.ends_with("at the top"))
        );
    }

    #[test]
    fn values_are_found_by_their_keys_and_are_bounded() {
        let value: Json =
            serde_json::from_str(r#"{"a":[{"b":" 7 "},8],"c":true,"stdout":"long"}"#).unwrap();
        assert_eq!(
            (
                value.text("a/1").as_deref(),
                value.line("a/0/b"),
                value.index("x|a/1")
            ),
            (Some("8"), Some(7), Some(8))
        );
        assert!(value.is_true("c") && !value.is_true("a") && value.text("stdout").is_none());
        assert!(value.at("a/2/b").list().is_empty() && value.text("c").is_none());
        let text = format!("[{}]", vec![r#"{"":0}"#; 300_000].join(","));
        let error = serde_json::from_str::<Json>(&text).unwrap_err().to_string();
        assert!(
            error.starts_with("a value takes more than 16 MiB"),
            "{error}"
        );
    }
}
