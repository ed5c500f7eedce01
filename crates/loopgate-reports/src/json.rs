//! JSON documents in bounded memory: arrays are taken element by element, and an error says where it stands
//! (`runs[0].results[12].level`).

use std::{fmt, io::BufReader, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor},
};

use super::{Unreadable, short_strings::ShortStrings, window::Window};

/// What is taken of a document, value by value; the rest is skipped.
pub(super) trait Elements {
    /// Where the values stand that are taken: `runs[].results[]`; `[]` are the elements of an outermost array.
    fn paths(&self) -> &'static [&'static str];

    /// A value, and the place of its path among [`paths`](Self::paths).
    fn take<'de, D: Deserializer<'de>>(&mut self, path: usize, value: D) -> Result<(), D::Error>;

    /// An object on the way to such values is over.
    fn leave(&mut self, _path: &str) {}
}

/// Reads a document, of which nothing is held but the value that is being taken.
pub(super) fn read(window: &mut Window<'_>, elements: &mut impl Elements) -> Result<(), Unreadable> {
    let (mut path, mut place) = (String::new(), String::new());
    let mut source = ShortStrings::new(window);
    let mut json = serde_json::Deserializer::from_reader(BufReader::with_capacity(16 * 1024, &mut source));
    let ended = Walk { elements, path: &mut path, place: &mut place }.deserialize(&mut json);
    ended.map_err(|error| {
        let place = if place.is_empty() { "the top".to_owned() } else { place };
        match error.classify() {
            serde_json::error::Category::Io => Unreadable::Io(error.into()),
            serde_json::error::Category::Eof => Unreadable::CutShort { place },
            _ => Unreadable::Malformed { what: error.to_string(), place },
        }
    })
}

/// Reads the values at these paths, all of one type.
pub(super) fn read_each<T: for<'de> Deserialize<'de>>(
    window: &mut Window<'_>,
    paths: &'static [&'static str],
    take: impl FnMut(T),
) -> Result<(), Unreadable> {
    read(window, &mut Each { paths, take, element: PhantomData })
}

struct Each<T, F> {
    paths: &'static [&'static str],
    take: F,
    element: PhantomData<T>,
}

impl<T: for<'de> Deserialize<'de>, F: FnMut(T)> Elements for Each<T, F> {
    fn paths(&self) -> &'static [&'static str] {
        self.paths
    }

    fn take<'de, D: Deserializer<'de>>(&mut self, _path: usize, value: D) -> Result<(), D::Error> {
        T::deserialize(value).map(&mut self.take)
    }
}

/// A value that is taken, or on the way to those that are.
struct Walk<'a, E> {
    elements: &'a mut E,
    path: &'a mut String,
    /// The same with numbers and short keys, for messages. After an error it shows where that happened.
    place: &'a mut String,
}

impl<E: Elements> Walk<'_, E> {
    fn leads_on(&self, next: &str) -> bool {
        let on = |path: &&str| path.strip_prefix(self.path.as_str()).is_some_and(|rest| rest.starts_with(next));
        self.elements.paths().iter().any(on)
    }

    fn inner(&mut self) -> Walk<'_, E> {
        Walk { elements: self.elements, path: self.path, place: self.place }
    }
}

impl<'de, E: Elements> DeserializeSeed<'de> for Walk<'_, E> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.elements.paths().iter().position(|path| *path == *self.path) {
            Some(path) => self.elements.take(path, deserializer),
            None if self.path.is_empty() || self.leads_on(".") || self.leads_on("[") => {
                deserializer.deserialize_any(self)
            }
            None => IgnoredAny::deserialize(deserializer).map(drop),
        }
    }
}

impl<'de, E: Elements> Visitor<'de> for Walk<'_, E> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.leads_on("[") { "an array" } else { "an object" })
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        if self.leads_on("[") {
            return Err(de::Error::invalid_type(Unexpected::Map, &self));
        }
        let (path, place) = (self.path.len(), self.place.len());
        let dot = if path == 0 { "" } else { "." };
        while let Some(key) = map.next_key::<String>()? {
            self.path.extend([dot, &key]);
            self.place.extend([dot, &key[..key.floor_char_boundary(80)]]);
            map.next_value_seed(self.inner())?;
            self.path.truncate(path);
            self.place.truncate(place);
        }
        self.elements.leave(self.path);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        if !self.leads_on("[") {
            return Err(de::Error::invalid_type(Unexpected::Seq, &self));
        }
        let (path, place) = (self.path.len(), self.place.len());
        self.path.push_str("[]");
        for index in 0.. {
            self.place.push_str(&format!("[{index}]"));
            if seq.next_element_seed(self.inner())?.is_none() {
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

/// A string, or whatever else stands where one should: a number is taken as its digits, the rest as nothing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Text(pub Option<String>);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LenientVisitor).map(|scalar| match scalar {
            Scalar::Text(text) => Self(Some(text)),
            Scalar::Number(number) => Self(Some(number.to_string())),
            Scalar::Other => Self(None),
        })
    }
}

/// A number, also one written as a string.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Number(pub Option<f64>);

impl Number {
    /// As the place of something in an array.
    pub fn index(&self) -> Option<usize> {
        self.0.filter(|value| *value >= 0.0).map(|value| value as usize)
    }

    /// As a line, from 1.
    pub fn line(&self) -> Option<u32> {
        self.0.filter(|value| *value >= 1.0 && *value <= f64::from(u32::MAX)).map(|value| value as u32)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LenientVisitor).map(|scalar| match scalar {
            Scalar::Text(text) => Self(text.trim().parse().ok().filter(|value: &f64| value.is_finite())),
            Scalar::Number(number) => Self(Some(number)),
            Scalar::Other => Self(None),
        })
    }
}

/// The first elements of an array, so many at most; the others are skipped, however many there are, or if `ALL` are
/// needed are an error.
#[derive(Debug)]
pub(super) struct Few<T, const MOST: usize, const ALL: bool = false>(pub Vec<T>);

impl<T, const MOST: usize, const ALL: bool> Default for Few<T, MOST, ALL> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>, const MOST: usize, const ALL: bool> Deserialize<'de> for Few<T, MOST, ALL> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FewVisitor<T, const MOST: usize, const ALL: bool>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>, const MOST: usize, const ALL: bool> Visitor<'de> for FewVisitor<T, MOST, ALL> {
            type Value = Few<T, MOST, ALL>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut few = Vec::with_capacity(usize::from(MOST == 1));
                while few.len() < MOST
                    && let Some(element) = seq.next_element()?
                {
                    few.push(element);
                }
                while seq.next_element::<IgnoredAny>()?.is_some() {
                    if ALL {
                        return Err(de::Error::custom(format_args!("an array of more than {MOST} elements")));
                    }
                }
                Ok(Few(few))
            }
            fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
                Ok(Few::default())
            }
        }
        deserializer.deserialize_any(FewVisitor(PhantomData))
    }
}

enum Scalar {
    Text(String),
    Number(f64),
    Other,
}

struct LenientVisitor;

impl<'de> Visitor<'de> for LenientVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar::Text(text.to_owned()))
    }
    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Scalar, E> {
        Ok(Scalar::Number(number as f64))
    }
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Scalar, E> {
        Ok(Scalar::Number(number as f64))
    }
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Scalar, E> {
        Ok(Scalar::Number(number))
    }
    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Scalar, E> {
        Ok(Scalar::Other)
    }
    fn visit_unit<E: de::Error>(self) -> Result<Scalar, E> {
        Ok(Scalar::Other)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scalar, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Scalar, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_tell_their_place() {
        let read = |text: &str| {
            let mut names = Vec::new();
            let take = |name: Text| names.extend(name.0);
            let ended =
                read_each(&mut Window::new(text.as_bytes()), &["name", "inner[].name", "inner[].inner[]"], take);
            (names, ended.map_err(|error| error.to_string()).err())
        };
        let of = |names: &[&str]| -> Vec<String> { names.iter().map(|name| (*name).to_owned()).collect() };
        assert_eq!(
            read(r#"{"name":"a","x":[1,{"y":2}],"inner":[{"name":7},{"inner":null}]}"#),
            (of(&["a", "7"]), None)
        );
        let (names, error) = read(r#"{"name":"a","inner":[{"name":"b"},{"name":"c"#);
        assert_eq!(names, of(&["a", "b"]));
        assert_eq!(error.as_deref(), Some("ends inside inner[1].name: cut short"));
        for (text, place) in [(r#"{"inner":[{"inner":5}]}"#, "at inner[0].inner"), (r#"{"inner":{}}"#, "at inner")] {
            assert!(read(text).1.is_some_and(|error| error.ends_with(place)), "{text}");
        }
        assert!(read("[]").1.is_some_and(|error| error.ends_with("at the top")));
    }
}
