//! The App's RSA key.

use std::sync::OnceLock;

use aws_lc_rs::{
    encoding::{AsDer as _, Pkcs8V1Der},
    rsa::{KeyPair, KeySize},
    signature::KeyPair as _,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;

/// A private key that an App signs its JWTs with, and the public half that the simulator checks them with.
#[derive(Clone)]
pub struct AppKey {
    private_pem: String,
    public_der: Bytes,
}

/// A key that could not be made or read.
#[derive(Debug, thiserror::Error)]
#[error("the App's private key cannot be used: {0}")]
pub struct UnusableKey(&'static str);

impl AppKey {
    /// A new 2,048-bit key.
    pub fn generate() -> Result<Self, UnusableKey> {
        let pair = KeyPair::generate(KeySize::Rsa2048)
            .map_err(|_| UnusableKey("it could not be generated"))?;
        Self::from_pair(&pair)
    }

    /// One key for the whole process: making one takes longer than most tests.
    pub fn shared() -> Result<Self, UnusableKey> {
        static KEY: OnceLock<AppKey> = OnceLock::new();
        if let Some(key) = KEY.get() {
            return Ok(key.clone());
        }
        let made = Self::generate()?;
        Ok(KEY.get_or_init(|| made).clone())
    }

    /// From a PEM file, PKCS#8 (`BEGIN PRIVATE KEY`) or, as GitHub gives it, PKCS#1 (`BEGIN RSA PRIVATE KEY`).
    pub fn from_pem(pem: &str) -> Result<Self, UnusableKey> {
        let body: String = pem
            .lines()
            .filter(|line| !line.starts_with("-----"))
            .map(str::trim)
            .collect();
        let der = STANDARD
            .decode(body)
            .map_err(|_| UnusableKey("it is not PEM"))?;
        let pair = KeyPair::from_pkcs8(&der).or_else(|_| KeyPair::from_der(&der));
        Self::from_pair(&pair.map_err(|_| UnusableKey("it is not an RSA key"))?)
    }

    fn from_pair(pair: &KeyPair) -> Result<Self, UnusableKey> {
        let der: Pkcs8V1Der<'_> = pair
            .as_der()
            .map_err(|_| UnusableKey("it could not be encoded"))?;
        let text = STANDARD.encode(der.as_ref());
        // Base64 is ASCII, so every 64 bytes are text.
        let lines: Vec<_> = text
            .as_bytes()
            .chunks(64)
            .map(String::from_utf8_lossy)
            .collect();
        let private_pem = format!(
            "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
            lines.join("\n")
        );
        Ok(Self {
            private_pem,
            public_der: Bytes::copy_from_slice(pair.public_key().as_ref()),
        })
    }

    pub fn private_pem(&self) -> &str {
        &self.private_pem
    }

    /// PKCS#1 DER.
    pub fn public_der(&self) -> &Bytes {
        &self.public_der
    }
}

impl std::fmt::Debug for AppKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AppKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_round_trip_through_pem() {
        let key = AppKey::shared().unwrap();
        let again = AppKey::from_pem(key.private_pem()).unwrap();
        assert_eq!(key.public_der(), again.public_der());
        assert!(
            AppKey::from_pem("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----")
                .is_err()
        );
    }
}
