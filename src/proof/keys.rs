//! The key that signs, and the public keys that check. Ed25519 throughout.

use std::{fmt, sync::Arc, time::Duration};

use aws_lc_rs::{
    digest::{SHA256, digest},
    signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use loopgate_core::{
    Timestamp,
    proof::{PAYLOAD_TYPE, Statement},
};

/// What stands before the 32 bytes of an Ed25519 public key in its DER form (RFC 8410, 4).
const PUBLIC_PREFIX: [u8; 12] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
];

/// Signs statements, and knows the keys that check them. Clones share the key, which is wiped with the last of them.
#[derive(Clone)]
pub struct Signer {
    /// None where only public keys are left.
    pair: Option<Arc<Ed25519KeyPair>>,
    /// The public keys, the one that signs first.
    pub keys: Keys,
}

/// The document at `/.well-known/loopgate-keys.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keys {
    pub keys: Vec<Key>,
}

/// A public key, and when it signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// SHA-256 of the public key's DER form, in hex.
    pub keyid: String,
    /// `ed25519`.
    pub keytype: String,
    /// PEM.
    pub public: String,
    /// None where its owner did not write it down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

impl Signer {
    /// Reads PEM blocks: at most one private key (PKCS #8), and public ones. A line `from: 2026-01-31T00:00:00Z` or
    /// `until: …` before a block dates its key.
    ///
    /// # Errors
    /// What is wrong with the text, without any of it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut signer = Self {
            pair: None,
            keys: Keys::default(),
        };
        let mut rest = text;
        while let Some((before, block)) = rest.split_once("-----BEGIN ") {
            let cut = || "holds a PEM block without its end".to_owned();
            let (label, body) = block.split_once("-----").ok_or_else(cut)?;
            let (body, after) = body
                .split_once(&format!("-----END {label}-----"))
                .ok_or_else(cut)?;
            let body: Zeroizing<String> = Zeroizing::new(body.split_whitespace().collect());
            let der = Zeroizing::new(decoded("a PEM block of it", &body)?);
            let public = match label {
                "PRIVATE KEY" if signer.pair.is_none() => {
                    let pair = Ed25519KeyPair::from_pkcs8(&der).map_err(
                        |_| "holds a private key that is not Ed25519; make one with openssl genpkey -algorithm ed25519",
                    )?;
                    let public = pair.public_key().as_ref().to_vec();
                    signer.pair = Some(Arc::new(pair));
                    public
                }
                "PRIVATE KEY" => {
                    return Err(
                        "holds two private keys; keep the newer, and the public key of the other"
                            .to_owned(),
                    );
                }
                "PUBLIC KEY" => der
                    .strip_prefix(&PUBLIC_PREFIX)
                    .ok_or("holds a public key that is not Ed25519")?
                    .to_vec(),
                _ => {
                    return Err(
                        "holds a PEM block that is neither PRIVATE KEY nor PUBLIC KEY".to_owned(),
                    );
                }
            };
            let [from, until] = [date(before, "from:")?, date(before, "until:")?];
            let key = Key::new(&public, from, until);
            // The key that signs stands first.
            let at = if label == "PRIVATE KEY" {
                0
            } else {
                signer.keys.keys.len()
            };
            signer.keys.keys.insert(at, key);
            rest = after;
        }
        if signer.keys.keys.is_empty() {
            return Err(
                "holds no key in PEM form; make one with openssl genpkey -algorithm ed25519"
                    .to_owned(),
            );
        }
        Ok(signer)
    }

    /// Whether there is a private key.
    pub const fn can_sign(&self) -> bool {
        self.pair.is_some()
    }

    /// A statement in its envelope, signed; none without a private key.
    pub fn sign(&self, statement: &Statement) -> Option<Envelope> {
        let pair = self.pair.as_ref()?;
        let text = serde_json::to_vec(statement).expect("a statement has only names as keys");
        let payload_type = PAYLOAD_TYPE.to_owned();
        let mut envelope = Envelope {
            payload: STANDARD.encode(text),
            payload_type,
            signatures: Vec::new(),
        };
        let sig = pair.sign(&envelope.signed_bytes().ok()?);
        let keyid = self.keys.keys.first()?.keyid.clone();
        envelope.signatures.push(EnvelopeSignature {
            keyid,
            sig: STANDARD.encode(sig),
        });
        Some(envelope)
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer")
            .field("can_sign", &self.can_sign())
            .finish_non_exhaustive()
    }
}

/// A document of keys is never larger.
const MOST_BYTES: usize = 1 << 20;

impl Keys {
    /// The keys in a file, or at a server's address.
    ///
    /// # Errors
    /// Why they cannot be read.
    pub async fn read(from: &str) -> Result<Self, String> {
        let text = match from.starts_with("https://") || from.starts_with("http://") {
            true => fetch(from, MOST_BYTES).await?.to_vec(),
            false => {
                std::fs::read(from).map_err(|error| format!("{from} cannot be read: {error}"))?
            }
        };
        serde_json::from_slice(&text)
            .map_err(|error| format!("{from} is no document of keys: {error}"))
    }

    /// The key that signed an envelope at this time.
    ///
    /// # Errors
    /// Why none of these keys vouches for it.
    pub fn verify(&self, envelope: &Envelope, at: Timestamp) -> Result<&Key, String> {
        let signed = envelope.signed_bytes()?;
        let mut reason = "it carries no signature".to_owned();
        for signature in &envelope.signatures {
            let Some(key) = self.keys.iter().find(|key| key.keyid == signature.keyid) else {
                reason = format!(
                    "it is signed with the key {:.12}, which is none of those given",
                    signature.keyid
                );
                continue;
            };
            let public = Signer::parse(&key.public)
                .ok()
                .and_then(|parsed| parsed.keys.keys.into_iter().next());
            let raw = public
                .filter(|parsed| parsed.keyid == key.keyid)
                .and_then(|parsed| parsed.raw());
            let Some(raw) = raw else {
                reason = format!("the public key {:.12} does not have that id", key.keyid);
                continue;
            };
            let sig = decoded("the signature", &signature.sig)?;
            reason = match UnparsedPublicKey::new(&ED25519, raw).verify(&signed, &sig) {
                Err(_) => format!(
                    "the signature of the key {:.12} does not fit: the statement was altered",
                    key.keyid
                ),
                Ok(())
                    if key.from.is_some_and(|from| at < from)
                        || key.until.is_some_and(|until| at > until) =>
                {
                    format!("the key {:.12} was not in use at {at}", key.keyid)
                }
                Ok(()) => return Ok(key),
            };
        }
        Err(reason)
    }
}

impl Key {
    fn new(public: &[u8], from: Option<Timestamp>, until: Option<Timestamp>) -> Self {
        let der = [&PUBLIC_PREFIX[..], public].concat();
        let public = format!(
            "-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n",
            STANDARD.encode(&der)
        );
        let keyid = hex::encode(digest(&SHA256, &der));
        Self {
            keyid,
            keytype: "ed25519".to_owned(),
            public,
            from,
            until,
        }
    }

    /// The 32 bytes.
    fn raw(&self) -> Option<Vec<u8>> {
        let body: String = self
            .public
            .lines()
            .filter(|line| !line.starts_with("-----"))
            .collect();
        decoded("the key", &body)
            .ok()?
            .strip_prefix(&PUBLIC_PREFIX)
            .map(<[u8]>::to_vec)
    }
}

/// The date that a line before a block gives.
fn date(before: &str, name: &str) -> Result<Option<Timestamp>, String> {
    let line = before
        .lines()
        .rev()
        .find_map(|line| line.trim_start_matches(['#', ' ']).strip_prefix(name));
    line.map(|text| {
        text.trim()
            .parse()
            .map_err(|_| format!("has a `{name}` that is no time like 2026-01-31T00:00:00Z"))
    })
    .transpose()
}

/// A server that answers at all answers within this.
const WITHIN: Duration = Duration::from_secs(20);

/// The body at an address, at most so many bytes of it.
///
/// # Errors
/// Why there is none.
async fn fetch(address: &str, most: usize) -> Result<Bytes, String> {
    let uri: http::Uri = address
        .parse()
        .map_err(|_| format!("{address} is no address"))?;
    let is_here = matches!(uri.host(), Some("localhost" | "127.0.0.1" | "[::1]"));
    if uri.scheme_str() != Some("https") && !is_here {
        return Err(format!(
            "{address} is not https: on the way anybody could put keys of their own in place"
        ));
    }
    let connector = HttpsConnectorBuilder::new()
        .with_native_roots()
        .map_err(|error| error.to_string())?;
    let client = Client::builder(TokioExecutor::new())
        .build::<_, Full<Bytes>>(connector.https_or_http().enable_http1().build());
    let read = async {
        let answer = client
            .get(uri)
            .await
            .map_err(|error| format!("{address} does not answer: {error}"))?;
        if !answer.status().is_success() {
            return Err(format!("{address} answers {}", answer.status()));
        }
        let body = Limited::new(answer.into_body(), most).collect().await;
        body.map(http_body_util::Collected::to_bytes)
            .map_err(|error| format!("{address} cannot be read: {error}"))
    };
    tokio::time::timeout(WITHIN, read)
        .await
        .unwrap_or_else(|_| Err(format!("{address} does not answer in time")))
}

/// A signed document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Envelope {
    /// The statement, in base64.
    pub payload: String,
    pub payload_type: String,
    pub signatures: Vec<EnvelopeSignature>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvelopeSignature {
    pub keyid: String,
    /// In base64.
    pub sig: String,
}

impl Envelope {
    /// The statement inside.
    ///
    /// # Errors
    /// What keeps it from being read.
    pub fn statement(&self) -> Result<Statement, String> {
        if self.payload_type != PAYLOAD_TYPE {
            return Err(format!(
                "the payload is no in-toto statement, but {}",
                self.payload_type
            ));
        }
        serde_json::from_slice(&decoded("the payload", &self.payload)?)
            .map_err(|error| format!("the payload is no statement about a merge: {error}"))
    }

    /// What is signed: type and payload, each with its length.
    ///
    /// # Errors
    /// When the payload is not base64.
    fn signed_bytes(&self) -> Result<Vec<u8>, String> {
        let body = decoded("the payload", &self.payload)?;
        let mut bytes = format!(
            "DSSEv1 {} {} {} ",
            self.payload_type.len(),
            self.payload_type,
            body.len()
        )
        .into_bytes();
        bytes.extend(body);
        Ok(bytes)
    }
}

fn decoded(what: &str, text: &str) -> Result<Vec<u8>, String> {
    STANDARD
        .decode(text)
        .map_err(|_| format!("{what} is not base64"))
}

#[cfg(test)]
mod tests;
