//! Seals prove who wrote a state.
//!
//! Anyone who can push can rewrite a hidden ref, since no branch rule covers it. What such a rewrite could gain (a skip
//! that no one granted, an earlier sight of a head, attempts that were never resumed) is therefore trusted only under a
//! seal: an HMAC-SHA256 with a key derived from the webhook secret, which never leaves the server. Without a key (a
//! workflow, a terminal) nothing is sealed and nothing is asked for.
//!
//! Accepted: putting back an older sealed state. It forgets attempts, it grants nothing.

use std::{fmt, sync::Arc};

use hmac::{Hmac, KeyInit as _, Mac as _};
use parking_lot::RwLock;
use serde_json::{Map, Value};
use sha2::Sha256;

use loopgate_core::{PrNumber, RepoName};

/// The field of `loop-state.json` that holds it.
pub(super) const FIELD: &str = "seal";
const KEY_PURPOSE: &[u8] = b"loopgate.state-seal/v1";

/// Seals and checks states with keys that are derived from webhook secrets. Clones share them.
#[derive(Clone)]
pub struct Seal {
    /// The current key first, never none; others are still believed while secrets are rotated.
    keys: Arc<RwLock<Vec<Hmac<Sha256>>>>,
}

/// A seal for the state of one pull request: one that was made for another does not fit.
#[derive(Debug, Clone)]
pub struct SealOf {
    seal: Seal,
    repository: RepoName,
    number: PrNumber,
}

/// Which seal of ours a document carries.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Carried {
    /// That of this very pull request.
    This,
    /// That of the pull request of this number in a repository of another name, by which the document calls it.
    Elsewhere(RepoName),
    /// None, or one that is not ours.
    None,
}

impl Seal {
    /// None without a secret. The first secret seals, all are believed.
    pub fn derived_from<'a>(secrets: impl IntoIterator<Item = &'a [u8]>) -> Option<Self> {
        let keyed = |key: &[u8]| {
            Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length")
        };
        let derive = |secret: &'a [u8]| {
            let mut key = keyed(secret);
            key.update(KEY_PURPOSE);
            keyed(&key.finalize().into_bytes())
        };
        let keys: Vec<_> = secrets.into_iter().map(derive).collect();
        (!keys.is_empty()).then(|| Self {
            keys: Arc::new(RwLock::new(keys)),
        })
    }

    /// Goes by the keys of another seal from now on.
    pub fn replace(&self, other: &Self) {
        let keys = other.keys.read().clone();
        *self.keys.write() = keys;
    }

    pub fn of(&self, repository: &RepoName, number: PrNumber) -> SealOf {
        SealOf {
            seal: self.clone(),
            repository: repository.clone(),
            number,
        }
    }
}

impl SealOf {
    /// Puts the seal on a document, in place of one that it may carry.
    pub(super) fn put_on(&self, document: &mut Map<String, Value>) {
        document.remove(FIELD);
        let keys = self.seal.keys.read();
        let key = keys.first().expect("not empty: checked when derived");
        let seal = hex::encode(
            self.mac(key, &self.repository, document)
                .finalize()
                .into_bytes(),
        );
        document.insert(FIELD.to_owned(), seal.into());
    }

    /// Takes the seal off a document, so that it is not taken for a newer writer's field, and returns which it is. The
    /// comparison takes the same time wherever the first difference stands.
    pub(super) fn take_off(&self, document: &mut Map<String, Value>) -> Carried {
        let Some(Value::String(claimed)) = document.shift_remove(FIELD) else {
            return Carried::None;
        };
        let mut seal = [0; 32];
        if hex::decode_to_slice(&claimed, &mut seal).is_err() {
            return Carried::None;
        }
        if self.has_made(&seal, &self.repository, document) {
            return Carried::This;
        }
        let named = repository_of(document);
        let named = named.filter(|named| self.has_made(&seal, named, document));
        named.map_or(Carried::None, Carried::Elsewhere)
    }

    fn has_made(
        &self,
        seal: &[u8; 32],
        repository: &RepoName,
        document: &Map<String, Value>,
    ) -> bool {
        let keys = self.seal.keys.read();
        let mut keys = keys.iter();
        keys.any(|key| {
            self.mac(key, repository, document)
                .verify_slice(seal)
                .is_ok()
        })
    }

    fn mac(
        &self,
        key: &Hmac<Sha256>,
        repository: &RepoName,
        document: &Map<String, Value>,
    ) -> Hmac<Sha256> {
        let mut mac = key.clone();
        mac.update(format!("{repository}#{}", self.number).as_bytes());
        mac.update(b"\0");
        mac.update(
            serde_json::to_string(document)
                .expect("a JSON value is writable")
                .as_bytes(),
        );
        mac
    }
}

/// The repository that a state is about, by its own word: of schema 2, or of the flat one before it.
fn repository_of(document: &Map<String, Value>) -> Option<RepoName> {
    let run = document.get("run").and_then(Value::as_object);
    let named = run.unwrap_or(document).get("repository")?.as_str()?;
    named.parse().ok()
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seal(secrets: &[&str]) -> SealOf {
        let seal = Seal::derived_from(secrets.iter().map(|secret| secret.as_bytes())).unwrap();
        seal.of(&"acme/widgets".parse().unwrap(), PrNumber::new(12))
    }

    fn of(repository: &str, number: u64) -> SealOf {
        let seal = Seal::derived_from([b"now".as_slice()]).unwrap();
        seal.of(&repository.parse().unwrap(), PrNumber::new(number))
    }

    fn document() -> Map<String, Value> {
        serde_json::from_str(r#"{"z": [1.5, null], "a": {"skips": []}}"#).unwrap()
    }

    #[test]
    fn a_sealed_document_survives_being_written_and_read() {
        let mut sealed = document();
        seal(&["now"]).put_on(&mut sealed);
        let mut read: Map<String, Value> =
            serde_json::from_str(&serde_json::to_string_pretty(&sealed).unwrap()).unwrap();
        assert_eq!(seal(&["now"]).take_off(&mut read.clone()), Carried::This);
        assert_eq!(
            seal(&["next", "now"]).take_off(&mut read),
            Carried::This,
            "while the secret is rotated"
        );
        assert_eq!(read, document(), "and comes off");
    }

    #[test]
    fn nothing_else_fits() {
        let fits = |secret, document: &Map<String, Value>| {
            seal(&[secret]).take_off(&mut document.clone()) != Carried::None
        };
        let mut sealed = document();
        seal(&["now"]).put_on(&mut sealed);
        assert!(!fits("other", &sealed));
        let mut changed = sealed.clone();
        changed.insert("a".into(), serde_json::json!({"skips": ["unit"]}));
        assert!(!fits("now", &changed));
        assert!(!fits("now", &document()), "no seal at all");
        for wrong in [Value::Null, "00".into(), "zz".repeat(32).into()] {
            let mut forged = sealed.clone();
            forged.insert(FIELD.into(), wrong);
            assert!(!fits("now", &forged));
        }
        assert_eq!(
            of("acme/widgets", 13).take_off(&mut sealed.clone()),
            Carried::None
        );
        assert_eq!(
            of("acme/gadgets", 12).take_off(&mut sealed),
            Carried::None,
            "it names no repository"
        );
        assert!(Seal::derived_from([]).is_none());
    }

    #[test]
    fn a_document_that_names_its_repository_may_be_of_that_one() {
        for mut sealed in [
            serde_json::json!({ "run": { "repository": "acme/widgets" } }),
            serde_json::json!({ "repository": "acme/widgets" }),
        ] {
            let sealed = sealed.as_object_mut().unwrap();
            of("acme/widgets", 12).put_on(sealed);
            let told = |name, number| of(name, number).take_off(&mut sealed.clone());
            assert_eq!(told("acme/widgets", 12), Carried::This);
            let there = Carried::Elsewhere("acme/widgets".parse().unwrap());
            assert_eq!(told("acme/gadgets", 12), there);
            assert_eq!(told("acme/gadgets", 13), Carried::None);
        }
    }

    #[test]
    fn no_key_is_printed() {
        assert_eq!(format!("{:?}", seal(&["hunter2"]).seal), "Seal(…)");
    }
}
