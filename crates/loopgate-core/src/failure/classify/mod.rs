//! Classifying: what makes two failures the same one.

pub(super) mod fingerprint;
pub(super) mod normalise;
pub(super) mod test_key;

pub use fingerprint::fingerprint;
