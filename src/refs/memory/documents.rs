//! `cards.json`, which is all that is read, and `recurring.json`, which repeats what recurs for readers that want that alone.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
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
    cards: Vec<Value>,
    recurring: Vec<Value>,
    offers: Offers,
    weeks: BTreeSet<Week>,
    recent: BTreeSet<Timestamp>,
}

pub(super) fn read(cards: &[u8]) -> Memory {
    let document: Cards = serde_json::from_slice(cards).unwrap_or_default();
    let is_current = document.schema == SCHEMA;
    let cards = document.cards.into_iter().filter(|_| is_current);
    let cards = cards.filter_map(|card| serde_json::from_value::<Card>(card).ok());
    let seen = document.recurring.into_iter().filter_map(|seen| serde_json::from_value::<Recurring>(seen).ok());
    Memory {
        cards: cards.map(|card| (card.id, card)).collect(),
        recurring: seen.map(|seen| (seen.key(), seen)).collect(),
        offers: document.offers,
        weeks: document.weeks,
        recent: document.recent,
    }
}

pub(super) fn write(memory: &Memory) -> Result<Vec<(String, String)>, RefsError> {
    let cards = memory.cards.values().map(serde_json::to_value).collect::<Result<_, _>>().map_err(unwritable)?;
    let (weeks, recent) = (memory.weeks.clone(), memory.recent.clone());
    let recurring =
        memory.recurring.values().map(serde_json::to_value).collect::<Result<Vec<_>, _>>().map_err(unwritable)?;
    let offers = memory.offers;
    let cards = Cards { schema: SCHEMA.to_owned(), cards, recurring: recurring.clone(), offers, weeks, recent };
    let documents = [(CARDS_FILE, serde_json::to_value(cards)), (RECURRING_FILE, serde_json::to_value(recurring))];
    let written = documents.into_iter().map(|(path, value)| {
        let mut value = value?;
        redact_value(&mut value);
        Ok((path.to_owned(), format!("{value}\n")))
    });
    written.collect::<Result<_, serde_json::Error>>().map_err(unwritable)
}
