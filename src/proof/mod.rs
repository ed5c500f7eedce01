//! Signed statements about merges: the keys, the envelope, and what a check of one finds.
//!
//! ```text
//! core/proof/mod.rs: Statement ──► Signer::sign ──► Envelope (DSSE) ──► verdict.dsse.json in the run's state commit
//! LOOPGATE_SIGNING_KEY ──► Signer::parse ──► Keys ──► /.well-known/loopgate-keys.json ──► Keys::verify
//! ```
//!
//! The text of `LOOPGATE_SIGNING_KEY` holds one private key, which signs, and the public keys of those that signed
//! before it, so that old merges stay verifiable. No key is ever made here: where the private key is lost, nothing is
//! signed until the operator gives another.

mod keys;

pub use keys::{Envelope, Key, Keys, Signer};
