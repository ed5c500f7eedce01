//! How much an evidence document holds, counted before any of it is kept.
//!
//! A few bytes of JSON can stand for hundreds of bytes in memory (`{}` is a whole failure), so the size of a document
//! says little about what reading it costs. One pass counts what its lists hold, and keeps nothing.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize,
    de::{Deserializer, Error as _, IgnoredAny, SeqAccess, Visitor},
};

/// Checks in one document at most.
const MOST_CHECKS: usize = 200;
/// Failures, findings, notes and uncovered places of one document at most. `verify` keeps 200 failures of a check.
const MOST_ITEMS: usize = 20_000;

/// Refuses a document that holds too much. The error is a sentence for people.
pub(super) fn check(document: &[u8]) -> Result<(), String> {
    match serde_json::from_slice::<Document>(document) {
        Ok(Document { checks, coverage }) => {
            let items = checks.items + coverage.map_or(0, |coverage| coverage.uncovered.items);
            if items > MOST_ITEMS { Err(too_many(MOST_ITEMS)) } else { Ok(()) }
        }
        Err(error) => {
            let said = error.to_string();
            // What is wrong with it otherwise is said by whoever reads it.
            if said.starts_with(TOO_MANY) {
                Err(said.split(" at line ").next().unwrap_or(TOO_MANY).to_owned())
            } else {
                Ok(())
            }
        }
    }
}

const TOO_MANY: &str = "it holds more than";

fn too_many(most: usize) -> String {
    format!("{TOO_MANY} {most} items in its lists")
}

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    checks: Few<Check, MOST_CHECKS>,
    coverage: Option<Coverage>,
}

#[derive(Deserialize)]
struct Coverage {
    #[serde(default)]
    uncovered: Few<IgnoredAny, MOST_ITEMS>,
}

#[derive(Deserialize)]
struct Check {
    #[serde(default)]
    failures: Few<IgnoredAny, MOST_ITEMS>,
    #[serde(default)]
    findings: Few<IgnoredAny, MOST_ITEMS>,
    #[serde(default)]
    reports: Few<Report, MOST_ITEMS>,
}

#[derive(Deserialize)]
struct Report {
    #[serde(default)]
    notes: Few<IgnoredAny, MOST_ITEMS>,
}

/// Something that holds lists of its own.
trait Holds {
    fn items(&self) -> usize;
}

impl Holds for IgnoredAny {
    fn items(&self) -> usize {
        0
    }
}

impl Holds for Report {
    fn items(&self) -> usize {
        self.notes.items
    }
}

impl Holds for Check {
    fn items(&self) -> usize {
        self.failures.items + self.findings.items + self.reports.items
    }
}

/// A list of at most `MOST`, of which only the number is kept: that of its items and of all that these hold.
struct Few<T, const MOST: usize> {
    items: usize,
    of: PhantomData<T>,
}

impl<T, const MOST: usize> Default for Few<T, MOST> {
    fn default() -> Self {
        Self { items: 0, of: PhantomData }
    }
}

impl<'de, T: Deserialize<'de> + Holds, const MOST: usize> Deserialize<'de> for Few<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Counting::<T, MOST>(PhantomData))
    }
}

struct Counting<T, const MOST: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de> + Holds, const MOST: usize> Visitor<'de> for Counting<T, MOST> {
    type Value = Few<T, MOST>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let (mut few, mut length) = (Few::default(), 0);
        while let Some(item) = list.next_element::<T>()? {
            length += 1;
            few.items += 1 + item.items();
            if length > MOST || few.items > MOST_ITEMS {
                return Err(A::Error::custom(too_many(if length > MOST { MOST } else { MOST_ITEMS })));
            }
        }
        Ok(few)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_lists_hold_is_counted_over_the_whole_document() {
        let checks = |count: usize, failures: usize| json!({ "checks": vec![json!({ "failures": vec![json!({}); failures] }); count] });
        for (document, holds) in [
            (checks(1, 19_999), None),
            (checks(1, 20_001), Some("20000")),
            (checks(199, 99), None),
            (checks(200, 101), Some("20000")),
            (checks(201, 0), Some("200 ")),
            (json!({ "checks": [{ "reports": [{ "notes": vec!["x"; 30_000] }] }] }), Some("20000")),
            (json!({ "coverage": { "uncovered": vec!["x"; 30_000] } }), Some("20000")),
            (json!({ "checks": 1, "somewhere else": vec![0; 50_000] }), None),
        ] {
            let said = check(document.to_string().as_bytes()).err();
            assert_eq!(said.is_some(), holds.is_some(), "{said:?}");
            assert!(said.unwrap_or_default().contains(holds.unwrap_or_default()));
        }
        assert_eq!(check(b"no JSON"), Ok(()), "whoever reads it says so");
    }
}
