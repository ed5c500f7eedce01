//! Fields of a newer version's documents, kept by this one.
//!
//! What this version does not know is left out when a document is read. So it is remembered beside the state, by where
//! it stood, and put back when the state is written: several versions may work on one pull request at the same time.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// What a document held that this version does not know.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UnknownFields {
    here: Map<String, Value>,
    inside: BTreeMap<String, UnknownFields>,
    items: Vec<Item>,
}

/// An element of a list with unknown fields, and all that is known of it: lists grow and shrink in between.
#[derive(Clone, Debug, PartialEq)]
struct Item {
    known: Value,
    unknown: UnknownFields,
}

/// Fields by which an element of one of our lists is the same as before although other fields of it changed.
const IDENTITY: [&str; 11] =
    ["number", "id", "sha", "hash", "check", "attempt", "fingerprint", "iteration", "afterAttempt", "source", "at"];

impl UnknownFields {
    /// What `read` holds beyond `known`, which is the same document as this version writes it.
    pub fn of(read: &Value, known: &Value) -> Self {
        let mut unknown = Self::default();
        match (read, known) {
            (Value::Object(read), Value::Object(known)) => {
                for (name, value) in read {
                    match known.get(name) {
                        None => drop(unknown.here.insert(name.clone(), value.clone())),
                        Some(known) => {
                            let inside = Self::of(value, known);
                            if !inside.is_empty() {
                                unknown.inside.insert(name.clone(), inside);
                            }
                        }
                    }
                }
            }
            // A list that this version reads shorter tells nothing of which element is which.
            (Value::Array(read), Value::Array(known)) if read.len() == known.len() => {
                let items = read.iter().zip(known).map(|(read, known)| (known, Self::of(read, known)));
                let items = items.filter(|(_, unknown)| !unknown.is_empty());
                unknown.items = items.map(|(known, unknown)| Item { known: known.clone(), unknown }).collect();
            }
            _ => {}
        }
        unknown
    }

    pub fn is_empty(&self) -> bool {
        self.here.is_empty() && self.inside.is_empty() && self.items.is_empty()
    }

    /// Puts everything back that still has a place. What this version writes itself is never overwritten.
    pub fn put_back(&self, document: &mut Value) {
        match document {
            Value::Object(fields) => {
                for (name, value) in &self.here {
                    fields.entry(name.clone()).or_insert_with(|| value.clone());
                }
                for (name, inside) in &self.inside {
                    if let Some(value) = fields.get_mut(name) {
                        inside.put_back(value);
                    }
                }
            }
            Value::Array(elements) => {
                for item in &self.items {
                    if let Some(element) = elements.iter_mut().find(|element| is_same(&item.known, element)) {
                        item.unknown.put_back(element);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Whether an element of a list is the one that was read: by what identifies it, else by all that is known of it.
fn is_same(known: &Value, element: &Value) -> bool {
    let mut identity = IDENTITY.iter().filter_map(|name| Some((known.get(name)?, element.get(name)))).peekable();
    if identity.peek().is_none() {
        return known == element;
    }
    identity.all(|(known, now)| Some(known) == now)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn carried(read: &Value, known: &Value, mut written: Value) -> Value {
        UnknownFields::of(read, known).put_back(&mut written);
        written
    }

    #[test]
    fn unknown_fields_come_back_where_they_stood() {
        let read = json!({ "a": 1, "new": 2, "in": { "b": 3, "deep": { "c": 4, "new": [5] } } });
        let known = json!({ "a": 1, "in": { "b": 3, "deep": { "c": 4 } } });
        let written = json!({ "a": 7, "in": { "b": 8, "deep": { "c": 9 } } });
        let expected = json!({ "a": 7, "new": 2, "in": { "b": 8, "deep": { "c": 9, "new": [5] } } });
        assert_eq!(carried(&read, &known, written), expected);
        assert!(UnknownFields::of(&known, &known).is_empty());
    }

    #[test]
    fn what_is_known_wins_and_what_is_gone_stays_gone() {
        let read = json!({ "later": 1, "in": { "new": 2 }, "list": [{ "number": 1, "new": 3 }] });
        let known = json!({ "in": {}, "list": [{ "number": 1 }] });
        assert_eq!(carried(&read, &known, json!({ "later": 5, "list": [] })), json!({ "later": 5, "list": [] }));
        assert_eq!(
            carried(&read, &known, json!({ "in": null, "list": 1 })),
            json!({ "in": null, "list": 1, "later": 1 })
        );
    }

    #[test]
    fn elements_of_lists_are_known_again() {
        let read =
            json!([{ "number": 1, "s": "a", "new": 1 }, { "number": 2, "s": "b", "new": 2 }, { "x": 1, "new": 3 }]);
        let known = json!([{ "number": 1, "s": "a" }, { "number": 2, "s": "b" }, { "x": 1 }]);
        let written = json!([{ "number": 2, "s": "changed" }, { "number": 3 }, { "x": 1 }, { "x": 2 }]);
        assert_eq!(
            carried(&read, &known, written),
            json!([{ "number": 2, "s": "changed", "new": 2 }, { "number": 3 }, { "x": 1, "new": 3 }, { "x": 2 }])
        );
    }

    #[test]
    fn a_state_keeps_what_a_newer_version_wrote_anywhere_in_it() {
        use crate::{fixtures::Story, state::LoopState};
        let mut story = Story::opened();
        story.push(1, &["rounds"], &["parses"]);
        story.push(2, &["rounds", "parses"], &[]);
        let mut document = serde_json::to_value(&story.state).unwrap();
        for place in ["/codeArtifact", "/retryPolicy", "/stages/TEST", "/attempts/0", "/failures/history/1", "/stop"] {
            let fields = document.pointer_mut(place).and_then(Value::as_object_mut);
            fields.unwrap_or_else(|| panic!("{place}")).insert("later".to_owned(), json!({ "deep": [place] }));
        }
        story.state = serde_json::from_value::<LoopState>(document.clone()).unwrap();
        assert_eq!(serde_json::to_value(&story.state).unwrap(), document, "read and written, nothing is lost");
        story.push(3, &["rounds"], &["parses"]);
        let written = serde_json::to_value(&story.state).unwrap();
        for place in ["/codeArtifact", "/retryPolicy", "/stages/TEST", "/attempts/0", "/failures/history/1"] {
            let kept = written.pointer(&format!("{place}/later"));
            assert_eq!(kept, Some(&json!({ "deep": [place] })), "after deciding: {place}");
        }
        let again: LoopState = serde_json::from_str(&serde_json::to_string(&story.state).unwrap()).unwrap();
        assert_eq!(serde_json::to_value(&again).unwrap(), written);
    }
}
