//! JSON documents in bounded memory: arrays are taken element by element, and an error says where it stands
//! (`runs[0].results[12].level`).

use std::{cell::RefCell, fmt, io::BufReader, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use super::{Unreadable, short_strings::ShortStrings, window::Window};

/// Takes the members of an object as they come.
pub(super) trait Keys {
    /// An object begins.
    fn begin(&mut self) {}
    /// A member; what is not taken is skipped.
    fn key<'de, A: MapAccess<'de>>(&mut self, key: &str, member: Member<'_, A>) -> Result<(), A::Error>;
    /// The object is over.
    fn end(&mut self) {}
}

/// The value of an object's member, not read yet.
pub(super) struct Member<'a, A> {
    map: &'a mut A,
    path: &'a Path,
}

impl<'de, A: MapAccess<'de>> Member<'_, A> {
    pub fn get<T: Deserialize<'de>>(self) -> Result<T, A::Error> {
        self.map.next_value()
    }

    pub fn skip(self) -> Result<(), A::Error> {
        self.map.next_value::<IgnoredAny>().map(drop)
    }

    pub fn object(self, keys: &mut impl Keys) -> Result<(), A::Error> {
        self.map.next_value_seed(Any(Object { keys, path: self.path }))
    }

    /// An array of objects.
    pub fn objects(self, keys: &mut impl Keys) -> Result<(), A::Error> {
        self.map.next_value_seed(Any(Objects { keys, path: self.path }))
    }

    /// An array, element by element.
    pub fn each<T: Deserialize<'de>>(self, take: impl FnMut(T)) -> Result<(), A::Error> {
        self.map.next_value_seed(Any(Each { take, path: self.path, element: PhantomData }))
    }
}

/// Reads a document that is an object.
pub(super) fn read_object(window: &mut Window<'_>, keys: &mut impl Keys) -> Result<(), Unreadable> {
    let path = Path::default();
    read(window, &path, Object { keys, path: &path })
}

/// Reads a document that is an array of objects.
pub(super) fn read_objects(window: &mut Window<'_>, keys: &mut impl Keys) -> Result<(), Unreadable> {
    let path = Path::default();
    read(window, &path, Objects { keys, path: &path })
}

/// Reads a document that is an array, element by element.
pub(super) fn read_each<T: for<'de> Deserialize<'de>>(
    window: &mut Window<'_>,
    take: impl FnMut(T),
) -> Result<(), Unreadable> {
    let path = Path::default();
    read(window, &path, Each { take, path: &path, element: PhantomData })
}

fn read(
    window: &mut Window<'_>,
    path: &Path,
    document: impl for<'de> Visitor<'de, Value = ()>,
) -> Result<(), Unreadable> {
    let mut source = ShortStrings::new(window);
    let mut json = serde_json::Deserializer::from_reader(BufReader::with_capacity(16 * 1024, &mut source));
    json.deserialize_any(document).map_err(|error| unreadable(error, path))
}

/// Whatever stands there, taken by a visitor.
struct Any<V>(V);

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Any<V> {
    type Value = V::Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        deserializer.deserialize_any(self.0)
    }
}

fn unreadable(error: serde_json::Error, path: &Path) -> Unreadable {
    match error.classify() {
        serde_json::error::Category::Io => Unreadable::Io(error.into()),
        serde_json::error::Category::Eof => Unreadable::CutShort { place: path.to_string() },
        _ => Unreadable::Malformed { what: error.to_string(), place: path.to_string() },
    }
}

/// Where in a document the reading is.
#[derive(Default)]
pub(super) struct Path(RefCell<Vec<Step>>);

enum Step {
    Key(String),
    Index(usize),
}

impl Path {
    fn enter(&self, step: Step) {
        self.0.borrow_mut().push(step);
    }

    /// Only on success: after an error the path is to show where it happened.
    fn leave(&self) {
        self.0.borrow_mut().pop();
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps = self.0.borrow();
        if steps.is_empty() {
            return f.write_str("the top");
        }
        for (depth, step) in steps.iter().enumerate() {
            match step {
                Step::Key(key) => {
                    let key = &key[..key.floor_char_boundary(80)];
                    write!(f, "{}{key}", if depth == 0 { "" } else { "." })?;
                }
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

struct Object<'a, K> {
    keys: &'a mut K,
    path: &'a Path,
}

impl<'de, K: Keys> Visitor<'de> for Object<'_, K> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.keys.begin();
        while let Some(key) = map.next_key::<String>()? {
            self.path.enter(Step::Key(key.clone()));
            self.keys.key(&key, Member { map: &mut map, path: self.path })?;
            self.path.leave();
        }
        self.keys.end();
        Ok(())
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        Ok(())
    }
}

struct Objects<'a, K> {
    keys: &'a mut K,
    path: &'a Path,
}

impl<'de, K: Keys> Visitor<'de> for Objects<'_, K> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        for index in 0.. {
            self.path.enter(Step::Index(index));
            if seq.next_element_seed(Any(Object { keys: self.keys, path: self.path }))?.is_none() {
                break;
            }
            self.path.leave();
        }
        self.path.leave();
        Ok(())
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        Ok(())
    }
}

struct Each<'a, T, F> {
    take: F,
    path: &'a Path,
    element: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>, F: FnMut(T)> Visitor<'de> for Each<'_, T, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        for index in 0.. {
            self.path.enter(Step::Index(index));
            match seq.next_element()? {
                Some(element) => (self.take)(element),
                None => break,
            }
            self.path.leave();
        }
        self.path.leave();
        Ok(())
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
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

/// The first elements of an array, so many at most; the others are skipped, however many there are.
#[derive(Debug)]
pub(super) struct Few<T, const MOST: usize>(pub Vec<T>);

impl<T, const MOST: usize> Default for Few<T, MOST> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for Few<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FewVisitor<T, const MOST: usize>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for FewVisitor<T, MOST> {
            type Value = Few<T, MOST>;
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
                while seq.next_element::<IgnoredAny>()?.is_some() {}
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

    #[derive(Default)]
    struct Names(Vec<String>);

    impl Keys for Names {
        fn key<'de, A: MapAccess<'de>>(&mut self, key: &str, member: Member<'_, A>) -> Result<(), A::Error> {
            match key {
                "name" => member.get::<Text>().map(|name| self.0.extend(name.0)),
                "inner" => member.objects(self),
                _ => member.skip(),
            }
        }
    }

    #[test]
    fn errors_tell_their_place() {
        let read = |text: &str| {
            let mut names = Names::default();
            let ended = read_object(&mut Window::new(text.as_bytes()), &mut names);
            (names.0, ended.map_err(|error| error.to_string()).err())
        };
        let of = |names: &[&str]| -> Vec<String> { names.iter().map(|name| (*name).to_owned()).collect() };
        assert_eq!(
            read(r#"{"name":"a","x":[1,{"y":2}],"inner":[{"name":7},{"inner":null}]}"#),
            (of(&["a", "7"]), None)
        );
        let (names, error) = read(r#"{"name":"a","inner":[{"name":"b"},{"name":"c"#);
        assert_eq!(names, of(&["a", "b"]));
        assert_eq!(error.as_deref(), Some("ends inside inner[1].name: cut short"));
        let (_, error) = read(r#"{"inner":[{"inner":5}]}"#);
        assert!(error.unwrap().ends_with("at inner[0].inner"));
    }
}
