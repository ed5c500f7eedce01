//! The schemas of `loop-state.json`. Schema 2 is written, in parts. Schema 1, one flat object, is read too. What a newer
//! version wrote is no damage, and is left alone.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser::SerializeMap as _};
use serde_json::{Map, Value};

use crate::state::{Attempts, Concerns, HeadRecord, LoopState, People, Run, RunDocument, Shown};

/// `schema` of the states that are written.
pub const LOOP_STATE_SCHEMA: &str = "loopgate.loop-state/v2";

/// `schema` before its number.
const NAME: &str = "loopgate.loop-state/v";

/// The schemas that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Schema {
    Flat,
    InParts,
    Newer,
}

/// Why a document is no state to go on from.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableState {
    /// A newer version wrote it: it may be whole.
    #[error("is of schema {found}; this version reads {LOOP_STATE_SCHEMA} and older")]
    Newer { found: String },
    /// It is no state, or says nowhere of what schema it is.
    #[error("is of another schema than {LOOP_STATE_SCHEMA}")]
    Other { found: String },
    #[error("cannot be read: {0}")]
    Malformed(#[from] serde_json::Error),
}

/// The parts of a document of schema 2.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Parts {
    run: Run,
    head: HeadRecord,
    attempts: Attempts,
    people: People,
    concerns: Concerns,
    shown: Shown,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

impl Schema {
    fn of(name: &str) -> Option<Self> {
        match name.strip_prefix(NAME)?.parse::<u32>().ok()? {
            0 => None,
            1 => Some(Self::Flat),
            2 => Some(Self::InParts),
            _ => Some(Self::Newer),
        }
    }
}

impl LoopState {
    /// The state that a document holds.
    ///
    /// # Errors
    /// [`UnreadableState::Newer`] where a newer version wrote it, the others where it is damaged.
    pub fn read(mut document: Map<String, Value>) -> Result<Self, UnreadableState> {
        let named = document.get("schema").and_then(Value::as_str);
        let found = named.unwrap_or_default().to_owned();
        match Schema::of(&found) {
            Some(Schema::Flat) => {
                let flat: RunDocument = serde_json::from_value(document.into())?;
                Ok(flat.into())
            }
            Some(Schema::InParts) => {
                document.shift_remove("schema");
                let parts: Parts = serde_json::from_value(document.into())?;
                Ok(parts.into())
            }
            Some(Schema::Newer) => Err(UnreadableState::Newer { found }),
            None => Err(UnreadableState::Other { found }),
        }
    }
}

impl From<Parts> for LoopState {
    fn from(parts: Parts) -> Self {
        let Parts {
            run,
            head,
            attempts,
            people,
            concerns,
            shown,
            extra,
        } = parts;
        Self {
            run,
            head,
            attempts,
            people,
            concerns,
            shown,
            extra,
        }
    }
}

impl Serialize for LoopState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut document = serializer.serialize_map(None)?;
        document.serialize_entry("schema", LOOP_STATE_SCHEMA)?;
        document.serialize_entry("run", &self.run)?;
        document.serialize_entry("head", &self.head)?;
        document.serialize_entry("attempts", &self.attempts)?;
        document.serialize_entry("people", &self.people)?;
        document.serialize_entry("concerns", &self.concerns)?;
        document.serialize_entry("shown", &self.shown)?;
        for (name, value) in &self.extra {
            document.serialize_entry(name, value)?;
        }
        document.end()
    }
}

impl<'de> Deserialize<'de> for LoopState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(Map::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(document: Value) -> Result<LoopState, UnreadableState> {
        LoopState::read(serde_json::from_value(document).unwrap())
    }

    #[test]
    fn what_a_newer_writer_of_the_same_schema_added_survives_in_each_part() {
        let added = json!({
            "schema": LOOP_STATE_SCHEMA, "added": 1, "run": { "added": 2 }, "head": { "added": 3 },
            "attempts": { "added": 4 }, "people": { "added": 5 },
            "concerns": { "added": { "kept": 6 }, "checks": { "added": 7 } },
        });
        let again = serde_json::to_value(read(added.clone()).unwrap()).unwrap();
        assert!(crate::fixtures::keeps(&again, &added), "{again:#}");
    }

    #[test]
    fn a_newer_schema_is_told_apart_from_damage() {
        let of = |schema: &str| read(json!({ "schema": schema, "run": {} }));
        assert!(matches!(
            of("loopgate.loop-state/v3"),
            Err(UnreadableState::Newer { .. })
        ));
        for other in ["", "loopgate.loop-state/v0", "loopgate.evidence/v3", "v3"] {
            assert!(
                matches!(of(other), Err(UnreadableState::Other { .. })),
                "{other}"
            );
        }
        assert!(matches!(
            read(json!({ "schema": LOOP_STATE_SCHEMA, "run": 1 })),
            Err(UnreadableState::Malformed(_))
        ));
    }
}
