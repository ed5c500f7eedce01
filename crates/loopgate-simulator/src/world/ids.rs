//! Ids that the world hands out, in order and the same for the same seed.

use std::fmt;

use serde::Serialize;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

macro_rules! numeric_id {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

numeric_id! {
    /// A repository.
    RepoId;
    /// A team.
    TeamId;
    /// A check suite.
    SuiteId;
    /// An artifact of a workflow run.
    ArtifactId;
    /// One attempt to deliver a webhook; redeliveries have their own.
    DeliveryId;
}

/// The source of every id, delivery GUID and token: a counter and a seed, no randomness.
#[derive(Clone, Debug)]
pub struct Sequence {
    seed: u64,
    last: u64,
}

impl Sequence {
    pub fn new(seed: u64) -> Self {
        // Far from the small numbers that tests write down, and from each other's kinds of id.
        Self {
            seed,
            last: 1_000_000,
        }
    }

    /// A number that was never given before.
    pub fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn unique(&mut self) -> String {
        let number = self.number();
        format!("{}/{number}", self.seed)
    }

    /// A delivery GUID.
    pub fn guid(&mut self) -> Uuid {
        Uuid::new_v5(&Uuid::NAMESPACE_OID, self.unique().as_bytes())
    }

    /// A token with GitHub's prefix (`ghs_`, `ghp_`) and 36 characters.
    pub fn token(&mut self, prefix: &str) -> String {
        let digest = Sha256::digest(self.unique());
        format!("{prefix}{}", &hex::encode(digest)[..36])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_ids() {
        let (mut one, mut same, mut other) = (Sequence::new(7), Sequence::new(7), Sequence::new(8));
        let first = one.guid();
        assert_eq!(first, same.guid());
        assert_ne!(first, other.guid());
        assert_ne!(first, one.guid());
        assert_eq!(one.token("ghs_").len(), 40);
    }
}
