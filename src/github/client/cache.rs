//! What GitHub answered before: bodies with their ETags, and bodies that can never change.
//!
//! A conditional request that is answered 304 costs nothing of the rate limit
//! (<https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api>), and what is named by
//! a commit or blob id need not be asked for twice at all. The cache is only ever a saving: losing it loses nothing.

use std::sync::Arc;

use bytes::Bytes;
use hashlink::LruCache;
use parking_lot::Mutex;

use loopgate_core::InstallationId;

/// One answer is kept per installation (another one may see other things), address and media type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::github) struct CacheKey {
    pub installation: Option<InstallationId>,
    pub url: String,
    pub accept: &'static str,
}

/// A remembered answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::github) enum CachedAnswer {
    /// To be asked for again with `If-None-Match`.
    Tagged {
        etag: String,
        link: Option<String>,
        body: Bytes,
    },
    /// Named by content: true for ever.
    Immutable(Bytes),
}

impl CachedAnswer {
    fn weight(&self) -> usize {
        match self {
            Self::Tagged { etag, link, body } => {
                etag.len() + link.as_ref().map_or(0, String::len) + body.len()
            }
            Self::Immutable(body) => body.len(),
        }
    }
}

/// Answers, with the bytes that each takes.
type Answers = LruCache<CacheKey, (Arc<CachedAnswer>, usize)>;

/// Remembers the most recently used answers, up to a number of bytes over all installations.
#[derive(Debug)]
pub struct MemoryCache {
    budget: usize,
    /// The answers, and the bytes of all.
    kept: Mutex<(Answers, usize)>,
}

/// Bytes an entry costs beside its key and answer: map nodes and pointers, roughly.
const ENTRY_OVERHEAD: usize = 200;

impl MemoryCache {
    /// Bytes kept at most by default: enough for some hundred open pull requests.
    pub const DEFAULT_BUDGET: usize = 64 << 20;

    /// `budget` is in bytes. An answer of more than an eighth of it is not kept.
    pub fn new(budget: usize) -> Self {
        Self {
            budget,
            kept: Mutex::new((LruCache::new_unbounded(), 0)),
        }
    }

    pub(in crate::github) fn get(&self, key: &CacheKey) -> Option<Arc<CachedAnswer>> {
        // A panic while the lock was held leaves at worst a cache that forgets: its content is still true.
        let mut kept = self.kept.lock();
        kept.0.get(key).map(|(answer, _)| answer.clone())
    }

    pub(in crate::github) fn put(&self, key: CacheKey, answer: CachedAnswer) {
        let weight = answer.weight() + key.url.len() * 2 + ENTRY_OVERHEAD;
        let (entries, bytes) = &mut *self.kept.lock();
        *bytes -= entries.remove(&key).map_or(0, |(_, weight)| weight);
        if weight <= self.budget / 8 {
            entries.insert(key, (Arc::new(answer), weight));
            *bytes += weight;
        }
        while *bytes > self.budget
            && let Some((_, (_, weight))) = entries.remove_lru()
        {
            *bytes -= weight;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(url: &str) -> CacheKey {
        CacheKey {
            installation: Some(InstallationId::new(1)),
            url: url.into(),
            accept: "json",
        }
    }

    fn body(bytes: usize) -> CachedAnswer {
        CachedAnswer::Immutable(Bytes::from(vec![0; bytes]))
    }

    #[test]
    fn the_least_recently_used_goes_first() {
        let cache = MemoryCache::new(10_000);
        for url in ["a", "b", "c", "d", "e", "f", "g"] {
            cache.put(key(url), body(1_000));
        }
        assert!(cache.get(&key("a")).is_some());
        cache.put(key("h"), body(1_000));
        cache.put(key("i"), body(1_000));
        assert!(cache.get(&key("a")).is_some(), "used a moment ago");
        assert!(cache.get(&key("b")).is_none(), "the oldest unused");
        assert!(cache.get(&key("i")).is_some());
    }

    #[test]
    fn one_answer_never_fills_the_shelf() {
        let cache = MemoryCache::new(10_000);
        cache.put(key("small"), body(10));
        cache.put(key("large"), body(5_000));
        assert!(cache.get(&key("large")).is_none());
        assert!(cache.get(&key("small")).is_some());
    }

    #[test]
    fn replacing_an_answer_frees_its_bytes() {
        let cache = MemoryCache::new(10_000);
        for _ in 0..100 {
            cache.put(key("a"), body(1_000));
        }
        cache.put(key("b"), body(1_000));
        assert!(cache.get(&key("a")).is_some() && cache.get(&key("b")).is_some());
    }

    #[test]
    fn installations_do_not_see_each_others_answers() {
        let cache = MemoryCache::new(MemoryCache::DEFAULT_BUDGET);
        cache.put(key("a"), body(1));
        assert!(
            cache
                .get(&CacheKey {
                    installation: None,
                    ..key("a")
                })
                .is_none()
        );
    }
}
