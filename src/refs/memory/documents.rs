//! `cards.json`, which is all that is read, and `recurring.json`, which repeats what recurs for readers that want that alone.

use std::collections::BTreeSet;

use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::refs::{RefsError, store::unwritable};
use loopgate_core::{
    Timestamp,
    memory::{Card, Memory, Offers, Recurring, Week, redact_value},
};

pub(super) const CARDS_FILE: &str = "cards.json";
const RECURRING_FILE: &str = "recurring.json";
/// Bytes read at most; what is larger was not written by us.
pub(super) const LIMIT: usize = 16 << 20;

/// Of cards that are made only where the failing test was seen to pass and nothing was weakened. Those of documents with
/// another schema are not read: they do not show which of them come from a weakened test.
const SCHEMA: &str = "loopgate.memory-cards/v2";

/// `cards.json`. What cannot be read of it is left out: anybody with push access can write it.
#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
struct Cards {
    schema: String,
    #[serde(deserialize_with = "readable")]
    cards: Vec<Card>,
    #[serde(deserialize_with = "readable")]
    recurring: Vec<Recurring>,
    offers: Offers,
    weeks: BTreeSet<Week>,
    recent: BTreeSet<Timestamp>,
}

/// The items of a list that can be read.
fn readable<'de, T: DeserializeOwned, D: Deserializer<'de>>(list: D) -> Result<Vec<T>, D::Error> {
    let items = Vec::<Value>::deserialize(list)?;
    Ok(items.into_iter().filter_map(|item| serde_json::from_value(item).ok()).collect())
}

pub(super) fn read(cards: &[u8]) -> Memory {
    let document: Cards = serde_json::from_slice(cards).unwrap_or_default();
    let is_current = document.schema == SCHEMA;
    let cards = document.cards.into_iter().filter(|_| is_current);
    Memory {
        cards: cards.map(|card| (card.id, card)).collect(),
        recurring: document.recurring.into_iter().map(|seen| (seen.key(), seen)).collect(),
        offers: document.offers,
        weeks: document.weeks,
        recent: document.recent,
    }
}

pub(super) fn write(memory: &Memory) -> Result<Vec<(String, String)>, RefsError> {
    let cards = Cards {
        schema: SCHEMA.to_owned(),
        cards: memory.cards.values().cloned().collect(),
        recurring: memory.recurring.values().cloned().collect(),
        offers: memory.offers,
        weeks: memory.weeks.clone(),
        recent: memory.recent.clone(),
    };
    let recurring = serde_json::to_value(&cards.recurring);
    let documents = [(CARDS_FILE, serde_json::to_value(cards)), (RECURRING_FILE, recurring)];
    let written = documents.into_iter().map(|(path, value)| {
        let mut value = value?;
        redact_value(&mut value);
        Ok((path.to_owned(), format!("{value}\n")))
    });
    written.collect::<Result<_, serde_json::Error>>().map_err(unwritable)
}
