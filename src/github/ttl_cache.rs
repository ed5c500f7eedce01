//! Answers believed for a few minutes, in memory.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use chrono::TimeDelta;

use super::Client;
use loopgate_core::Timestamp;

/// How long what GitHub says of people, teams and branches is believed.
const LIFE: TimeDelta = TimeDelta::minutes(5);
/// Answers remembered at most; beyond that all are asked for again.
const MOST: usize = 10_000;

/// Remembers answers, each for [`LIFE`].
#[derive(Debug)]
pub(crate) struct TtlCache<K, V>(Mutex<BTreeMap<K, (Timestamp, V)>>);

impl<K, V> Default for TtlCache<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Ord, V: Clone> TtlCache<K, V> {
    pub(crate) fn get(&self, key: &K, now: Timestamp) -> Option<V> {
        self.known().get(key).filter(|(until, _)| now < *until).map(|(_, value)| value.clone())
    }

    pub(crate) fn put(&self, key: K, value: V, now: Timestamp) {
        let mut known = self.known();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(key, (now + LIFE, value));
    }

    /// Keeps what follows from requests that began at so many [`doubts`](Client::doubts), unless it follows from a refusal
    /// that is not confirmed.
    pub(crate) fn keep(&self, key: K, value: V, client: &Client, doubts: u64) {
        if client.doubts() == doubts {
            self.put(key, value, client.now());
        }
    }

    /// Changes what is known, or what stands for nothing known.
    pub(crate) fn change<T>(&self, key: K, now: Timestamp, change: impl FnOnce(&mut V) -> T) -> T
    where
        V: Default,
    {
        let mut known = self.known();
        if known.len() >= MOST {
            known.clear();
        }
        let (until, value) = known.entry(key).or_default();
        if *until <= now {
            *value = V::default();
        }
        *until = now + LIFE;
        change(value)
    }

    pub(crate) fn remove(&self, key: &K) {
        self.known().remove(key);
    }

    /// Forgets all answers: something happened that may have changed any of them.
    pub(crate) fn clear(&self) {
        self.known().clear();
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<K, (Timestamp, V)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_grow_old() {
        let (fresh, start) = (TtlCache::default(), Timestamp::from_timestamp(1_800_000_000, 0).unwrap());
        fresh.put("a", 1, start);
        assert_eq!(fresh.get(&"a", start + TimeDelta::seconds(299)), Some(1));
        assert_eq!(fresh.get(&"a", start + TimeDelta::minutes(5)), None);
        assert_eq!(fresh.get(&"b", start), None);
        fresh.clear();
        assert_eq!(fresh.get(&"a", start), None);
    }
}
