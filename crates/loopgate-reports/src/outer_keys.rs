//! Keys of a JSON document, by which its format is known.

use std::fmt;

use serde::{
    Deserializer as _,
    de::{IgnoredAny, MapAccess, Visitor},
};

/// Keys of the first object in a text that begins with one, or with an array of them. The text may be cut anywhere.
pub(crate) fn outer_keys(head: &str) -> Vec<&str> {
    let mut keys = Vec::new();
    let start = head.find('{').unwrap_or(head.len());
    // A text that is cut ends with an error, behind the keys that it shows.
    let _ = serde_json::Deserializer::from_str(&head[start..]).deserialize_map(KeysOf(&mut keys));
    keys
}

/// Collects the keys of an object.
struct KeysOf<'k, 'h>(&'k mut Vec<&'h str>);

impl<'h> Visitor<'h> for KeysOf<'_, 'h> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'h>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key()? {
            self.0.push(key);
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}
