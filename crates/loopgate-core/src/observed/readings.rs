//! What was read of snapshots, kept by content: what did not change between two looks at a pull request is not read
//! again.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    fmt,
    hash::{Hash, Hasher},
    sync::{Arc, Mutex, PoisonError},
};

use sha2::{Digest as _, Sha256};

/// Bytes of one generation of readings; two are kept.
const MOST: usize = 4 << 20;

/// What was read, for everything that shares this: at most 8 MiB. A reading is kept under the SHA-256 of all that it was
/// made of, so that nothing but the time depends on what is here. By default nothing is kept.
#[derive(Clone, Default)]
pub struct Readings(Option<Arc<Mutex<Generations>>>);

/// Something that can be kept.
pub trait Recallable: Any + Send + Sync {
    /// How much memory it takes, about, in bytes.
    fn size(&self) -> usize;
}

impl Readings {
    /// Keeps what is read with it and its clones.
    pub fn kept() -> Self {
        Self(Some(Arc::default()))
    }

    /// What `read` makes of a content: kept from an earlier call, or made now. It may depend on nothing else.
    pub fn recall<R: Recallable>(&self, content: &impl Hash, read: impl FnOnce() -> R) -> Arc<R> {
        let Some(kept) = &self.0 else {
            return Arc::new(read());
        };
        let kept = || kept.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (TypeId::of::<R>(), ContentDigest::of(content));
        let known = kept().get(&key);
        if let Some(known) = known.and_then(|known| known.downcast().ok()) {
            return known;
        }
        let new = Arc::new(read());
        kept().put(key, new.clone(), new.size());
        new
    }
}

/// Two snapshots are the same whatever was read before.
impl PartialEq for Readings {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Readings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Readings")
    }
}

type Key = (TypeId, ContentDigest);
type Shared = Arc<dyn Any + Send + Sync>;

/// Once the young ones take all the memory of a generation, the old ones go and the young ones are the old.
#[derive(Default)]
struct Generations {
    young: HashMap<Key, Shared>,
    old: HashMap<Key, Shared>,
    /// Bytes of the young ones.
    size: usize,
}

impl Generations {
    fn get(&mut self, key: &Key) -> Option<Shared> {
        self.young.get(key).or_else(|| self.old.get(key)).cloned()
    }

    fn put(&mut self, key: Key, value: Shared, size: usize) {
        if size > MOST {
            return;
        }
        if self.size + size > MOST {
            self.old = std::mem::take(&mut self.young);
            self.size = 0;
        }
        self.size += size;
        self.young.insert(key, value);
    }
}

/// The SHA-256 of a content. It stands for the content where several readings are made of the same one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContentDigest([u8; 32]);

impl ContentDigest {
    pub fn of(content: &impl Hash) -> Self {
        let mut hasher = ContentHasher(Sha256::new());
        content.hash(&mut hasher);
        Self(hasher.0.finalize().into())
    }
}

/// Takes everything that is hashed into a digest that cannot be met by chance or on purpose.
struct ContentHasher(Sha256);

impl Hasher for ContentHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let digest: [u8; 32] = self.0.clone().finalize().into();
        let mut first = [0; 8];
        first.copy_from_slice(&digest[..8]);
        u64::from_be_bytes(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Recallable for Vec<u8> {
        fn size(&self) -> usize {
            self.len()
        }
    }

    fn is_read(readings: &Readings, content: &str, size: usize) -> bool {
        let mut is_read = false;
        let read = || {
            is_read = true;
            vec![0_u8; size]
        };
        assert_eq!(readings.recall(&content, read).len(), size);
        is_read
    }

    #[test]
    fn the_same_content_is_read_once_by_all_that_share_the_readings() {
        let readings = Readings::kept();
        assert!(is_read(&readings, "one", 1));
        assert!(!is_read(&readings.clone(), "one", 1));
        assert!(is_read(&readings, "other", 1));
        assert!(is_read(&Readings::kept(), "one", 1));
        let none = Readings::default();
        assert!(is_read(&none, "one", 1) && is_read(&none, "one", 1));
    }

    #[test]
    fn what_was_not_asked_for_again_goes_first() {
        let readings = Readings::kept();
        let half = MOST / 2;
        for content in ["a", "b", "c"] {
            assert!(is_read(&readings, content, half));
        }
        assert!(
            !is_read(&readings, "a", half),
            "it is of the old generation"
        );
        for content in ["d", "e"] {
            assert!(is_read(&readings, content, half));
        }
        assert!(is_read(&readings, "a", half));
        assert!(is_read(&readings, "large", MOST + 1) && is_read(&readings, "large", MOST + 1));
    }
}
