//! What an evidence document costs in memory, counted before any of it is kept.
//!
//! A few bytes of JSON can stand for hundreds of bytes in memory (`{}` is a whole failure), so the size of a document
//! does not bound what reading it costs. One pass weighs every value of it, and keeps nothing.

use std::fmt;

use serde::{
    Deserialize,
    de::{Deserializer, MapAccess, SeqAccess, Visitor},
};

/// Bytes of the largest thing that an object stands for, with the room that a growing list leaves free.
const OBJECT: usize = 768;
/// Bytes of any other value: a text's header, its place in a list, and what the allocator rounds up.
const VALUE: usize = 64;

/// Bytes that the values of a document take once it is read; 0 if it is not JSON, which its reader reports.
pub(super) fn of(document: &[u8]) -> usize {
    serde_json::from_slice::<Cost>(document).map_or(0, |cost| cost.0)
}

/// What one value costs with all that it holds.
struct Cost(usize);

impl<'de> Deserialize<'de> for Cost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Weighing)
    }
}

struct Weighing;

impl<'de> Visitor<'de> for Weighing {
    type Value = Cost;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Cost, E> {
        Ok(Cost(VALUE))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Cost, E> {
        Ok(Cost(VALUE))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Cost, E> {
        Ok(Cost(VALUE))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Cost, E> {
        Ok(Cost(VALUE))
    }

    fn visit_unit<E>(self) -> Result<Cost, E> {
        Ok(Cost(VALUE))
    }

    fn visit_str<E>(self, text: &str) -> Result<Cost, E> {
        Ok(Cost(VALUE + text.len()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Cost, A::Error> {
        let mut sum = VALUE;
        while let Some(Cost(item)) = list.next_element()? {
            sum += item;
        }
        Ok(Cost(sum))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Cost, A::Error> {
        let mut sum = OBJECT;
        while let Some((Cost(key), Cost(value))) = map.next_entry()? {
            sum += key + value;
        }
        Ok(Cost(sum))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_list_and_map_of_a_document_counts() {
        let many = |value: serde_json::Value| vec![value; 10_000];
        let files: serde_json::Map<_, _> = (0..10_000).map(|n| (n.to_string(), json!({}))).collect();
        for (document, least) in [
            (json!({ "checks": [{ "failures": many(json!({})) }] }), 10_000 * OBJECT),
            (json!({ "checks": [{ "flaky_tests": many(json!("")) }] }), 10_000 * VALUE),
            (json!({ "coverage": { "unmeasured": many(json!("ab")) } }), 10_000 * (VALUE + 2)),
            (json!({ "coverage": { "files": files } }), 10_000 * (OBJECT + VALUE)),
            (json!({ "regression_proof": { "tests": many(json!({})) } }), 10_000 * OBJECT),
            (json!({ "unknown": many(json!([1, -1, 0.5, true, null])) }), 10_000 * 6 * VALUE),
        ] {
            let cost = of(document.to_string().as_bytes());
            assert!((least..least + 60_000).contains(&cost), "{cost} against {least}");
        }
    }

    #[test]
    fn what_is_no_document_is_left_to_its_reader() {
        for text in ["", "{", "[", "nonsense", &"[".repeat(1_000_000)] {
            assert_eq!(of(text.as_bytes()), 0);
        }
    }
}
