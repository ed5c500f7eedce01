//! The files of the memory. `cards.json` is all that is read at a look-up; `recurring.json` repeats what recurs for readers
//! that want that alone. The lines of a run are `failures/pr-12-20261120-101500.jsonl`, then `….2.jsonl`, each at most 256 KB.

use std::collections::BTreeSet;

use loopgate_core::{
    Sha, Timestamp,
    memory::{Card, Folder, Memory, MemoryLine, Offers, Recurring, Week, redact_value},
};
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::refs::{GitObjects, ListObjects, RefsError, store::unwritable};

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

/// Bytes of a file at most.
pub(super) const MOST_BYTES: usize = 256 << 10;
/// A file with less room than this may be followed by another: no line is longer.
const NEARLY_FULL: usize = MOST_BYTES - (32 << 10);
/// Files of a run at most: more than ten attempts a file.
const MOST_FILES: usize = 64;

/// A run's name as a file's: runs are named by states, which others can write.
fn file_name(run: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    run.chars().take(100).map(plain).collect()
}

fn path(folder: Folder, run: &str, nth: usize) -> String {
    let nth = if nth == 0 { String::new() } else { format!(".{}", nth + 1) };
    format!("{}/{}{nth}.jsonl", folder.as_str(), file_name(run))
}

/// The lines of a run in a commit.
pub(super) async fn read_run<G: GitObjects>(
    objects: &G,
    tip: Option<Sha>,
    folder: Folder,
    run: &str,
) -> Result<Vec<MemoryLine>, RefsError> {
    let mut lines = Vec::new();
    let Some(tip) = tip else { return Ok(lines) };
    for nth in 0..MOST_FILES {
        let Some(bytes) = objects.read_file(tip, &path(folder, run, nth), 2 * MOST_BYTES).await? else { break };
        lines.extend(MemoryLine::read_all(&String::from_utf8_lossy(&bytes)));
        if bytes.len() < NEARLY_FULL {
            break;
        }
    }
    Ok(lines)
}

/// The runs that have files in a folder.
pub(super) async fn runs<G: ListObjects>(objects: &G, tip: Sha, folder: Folder) -> Result<Vec<String>, RefsError> {
    let names = objects.list_folder(tip, folder.as_str()).await?;
    let first = |name: String| name.strip_suffix(".jsonl").filter(|run| !run.contains('.')).map(str::to_owned);
    Ok(names.into_iter().filter_map(first).collect())
}

/// The lines of a run as the files of a folder.
pub(super) fn files(folder: Folder, run: &str, lines: &[&MemoryLine]) -> Result<Vec<(String, String)>, RefsError> {
    let mut files: Vec<(String, String)> = vec![(path(folder, run, 0), String::new())];
    for line in lines {
        let text = line.to_json().map_err(unwritable)?;
        let is_full = files.last().is_some_and(|(_, file)| file.len() + text.len() >= MOST_BYTES);
        if is_full && files.len() < MOST_FILES {
            files.push((path(folder, run, files.len()), String::new()));
        }
        if let Some((_, file)) = files.last_mut().filter(|(_, file)| file.len() + text.len() < MOST_BYTES) {
            file.push_str(&text);
            file.push('\n');
        }
    }
    Ok(files)
}
