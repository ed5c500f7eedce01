//! Answers believed for a few minutes, in memory.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use chrono::TimeDelta;

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
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(key).filter(|(read_at, _)| now - *read_at < LIFE).map(|(_, value)| value.clone())
    }

    /// [`put`](Self::put), if there is no doubt about it.
    pub(crate) fn put_if(&self, is_sure: bool, key: K, value: V, now: Timestamp) {
        if is_sure {
            self.put(key, value, now);
        }
    }

    pub(crate) fn put(&self, key: K, value: V, now: Timestamp) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(key, (now, value));
    }

    /// Forgets all answers: something happened that may have changed any of them.
    pub(crate) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
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
