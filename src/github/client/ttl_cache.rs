//! Answers believed for a few minutes, in memory.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use parking_lot::Mutex;

use crate::github::client::{Client, LOOK_AGAIN_AFTER, error::Result};
use loopgate_core::Timestamp;

/// How long GitHub's answers about people, teams and branches are believed.
const LIFE: TimeDelta = TimeDelta::minutes(5);
/// Answers remembered at most; beyond that all are asked for again.
const MOST: usize = 10_000;

/// Remembers answers, each for [`LIFE`]; those that follow from a refusal in doubt for a moment.
#[derive(Debug)]
pub(crate) struct TtlCache<K, V>(Mutex<BTreeMap<K, CachedValue<V>>>);

#[derive(Debug)]
struct CachedValue<V> {
    value: V,
    until: Timestamp,
    is_sure: bool,
}

impl<K, V> Default for TtlCache<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Ord, V: Clone> TtlCache<K, V> {
    pub(crate) fn get(&self, key: &K, now: Timestamp) -> Option<V> {
        self.find(key, now).map(|(value, _)| value)
    }

    fn find(&self, key: &K, now: Timestamp) -> Option<(V, bool)> {
        let known = self.0.lock();
        known
            .get(key)
            .filter(|answer| now < answer.until)
            .map(|answer| (answer.value.clone(), answer.is_sure))
    }

    /// The stored value. A caller that relies on one in doubt looks again.
    pub(crate) fn recall(&self, key: &K, client: &Client) -> Option<V> {
        let (value, is_sure) = self.find(key, client.now())?;
        if !is_sure {
            client.relies_on_doubt();
        }
        Some(value)
    }

    pub(crate) fn put(&self, key: K, value: V, now: Timestamp) {
        put(
            &mut self.0.lock(),
            key,
            CachedValue {
                value,
                until: now + LIFE,
                is_sure: true,
            },
        );
    }

    /// The stored value, or what is asked now. What is no answer is asked for again.
    ///
    /// # Errors
    /// Those of `ask`.
    pub(crate) async fn recall_or_ask(
        &self,
        key: K,
        client: &Client,
        is_answer: impl Fn(&V) -> bool,
        ask: impl AsyncFnOnce() -> Result<V>,
    ) -> Result<V> {
        if let Some(known) = self.recall(&key, client) {
            return Ok(known);
        }
        let doubts = client.doubts();
        let value = ask().await?;
        if is_answer(&value) {
            self.keep(key, value.clone(), client, doubts);
        }
        Ok(value)
    }

    /// Keeps what follows from requests that began at so many [`doubts`](Client::doubts).
    pub(crate) fn keep(&self, key: K, value: V, client: &Client, doubts: u64) {
        let is_sure = client.doubts() == doubts;
        let life = if is_sure { LIFE } else { LOOK_AGAIN_AFTER };
        put(
            &mut self.0.lock(),
            key,
            CachedValue {
                value,
                until: client.now() + life,
                is_sure,
            },
        );
    }

    /// Changes what is known, or what stands for nothing known.
    pub(crate) fn change<T>(&self, key: K, now: Timestamp, change: impl FnOnce(&mut V) -> T) -> T
    where
        V: Default,
    {
        let mut known = self.0.lock();
        let answer = known.remove(&key).filter(|answer| now < answer.until);
        let mut value = answer.map(|answer| answer.value).unwrap_or_default();
        let changed = change(&mut value);
        put(
            &mut known,
            key,
            CachedValue {
                value,
                until: now + LIFE,
                is_sure: true,
            },
        );
        changed
    }

    pub(crate) fn remove(&self, key: &K) {
        self.0.lock().remove(key);
    }

    /// Forgets all answers: something happened that may have changed any of them.
    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }
}

fn put<K: Ord, V>(known: &mut BTreeMap<K, CachedValue<V>>, key: K, answer: CachedValue<V>) {
    if known.len() >= MOST {
        known.clear();
    }
    known.insert(key, answer);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_grow_old() {
        let (fresh, start) = (
            TtlCache::default(),
            Timestamp::from_timestamp(1_800_000_000, 0).unwrap(),
        );
        fresh.put("a", 1, start);
        assert_eq!(fresh.get(&"a", start + TimeDelta::seconds(299)), Some(1));
        assert_eq!(fresh.get(&"a", start + TimeDelta::minutes(5)), None);
        assert_eq!(fresh.get(&"b", start), None);
        fresh.clear();
        assert_eq!(fresh.get(&"a", start), None);
    }
}
