//! Whether a delivery comes from GitHub.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use parking_lot::RwLock;
use sha2::Sha256;

use crate::github::Secret;

/// Checks `X-Hub-Signature-256` against the webhook secrets: the current one and, while it is being rotated, others.
pub struct Signatures {
    /// Keyed once: each delivery copies the prepared state instead of hashing the key again.
    keyed: RwLock<Vec<Hmac<Sha256>>>,
}

impl Signatures {
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        let signatures = Self {
            keyed: RwLock::default(),
        };
        signatures.replace(secrets);
        signatures
    }

    /// Goes by these secrets from now on, and by no others.
    pub fn replace<'a>(&self, secrets: impl IntoIterator<Item = &'a Secret>) {
        let keyed = secrets.into_iter().map(|secret| {
            Hmac::new_from_slice(secret.expose().as_bytes())
                .expect("HMAC takes a key of any length")
        });
        *self.keyed.write() = keyed.collect();
    }

    /// Whether `header` is `sha256=` and the HMAC of `body` under one of the secrets. The comparison takes the same
    /// time wherever the first difference stands.
    pub fn check(&self, header: &[u8], body: &[u8]) -> bool {
        let mut claimed = [0; 32];
        let digits = header.strip_prefix(b"sha256=");
        if digits.is_none_or(|digits| hex::decode_to_slice(digits, &mut claimed).is_err()) {
            return false;
        }
        self.keyed.read().iter().any(|keyed| {
            let mut mac = keyed.clone();
            mac.update(body);
            mac.verify_slice(&claimed).is_ok()
        })
    }
}

impl fmt::Debug for Signatures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signatures(…)")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // GitHub's documented example, "Validating webhook deliveries".
    const SECRET: &str = "It's a Secret to Everybody";
    const BODY: &[u8] = b"Hello, World!";
    const SIGNATURE: &str =
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

    #[test]
    fn githubs_example_is_accepted() {
        let current = Signatures::new([&Secret::new(SECRET)]);
        assert!(current.check(SIGNATURE.as_bytes(), BODY));
        let rotating = Signatures::new([&Secret::new("new"), &Secret::new(SECRET)]);
        assert!(rotating.check(SIGNATURE.as_bytes(), BODY));
        assert!(rotating.check(
            SIGNATURE.to_uppercase().replace("SHA", "sha").as_bytes(),
            BODY
        ));
    }

    #[test]
    fn everything_else_is_refused() {
        let signatures = Signatures::new([&Secret::new(SECRET)]);
        let refused = |header: &str, body: &[u8]| !signatures.check(header.as_bytes(), body);
        assert!(refused(SIGNATURE, b"Hello, World?"));
        assert!(refused(&SIGNATURE.replace('7', "8"), BODY));
        assert!(refused(&SIGNATURE[..SIGNATURE.len() - 2], BODY));
        assert!(refused(&format!("{SIGNATURE}00"), BODY));
        assert!(refused(&SIGNATURE.replace("sha256", "sha1"), BODY));
        assert!(refused("", BODY));
        assert!(refused("sha256=", BODY));
        assert!(refused("sha256=zz", BODY));
        assert!(!Signatures::new([]).check(SIGNATURE.as_bytes(), BODY));
    }

    #[test]
    fn replaced_secrets_are_in_force_at_once() {
        let signatures = Signatures::new([&Secret::new("old")]);
        signatures.replace([&Secret::new("new"), &Secret::new(SECRET)]);
        assert!(signatures.check(SIGNATURE.as_bytes(), BODY));
        signatures.replace([&Secret::new("new")]);
        assert!(!signatures.check(SIGNATURE.as_bytes(), BODY));
    }

    #[test]
    fn the_keys_are_not_printed() {
        assert_eq!(
            format!("{:?}", Signatures::new([&Secret::new("hunter2")])),
            "Signatures(…)"
        );
    }

    proptest! {
        #[test]
        fn no_header_makes_it_panic(header in prop::collection::vec(any::<u8>(), 0..80), hex in "sha256=[0-9a-fA-F]{0,70}") {
            let signatures = Signatures::new([&Secret::new(SECRET)]);
            prop_assert!(!signatures.check(&header, BODY));
            prop_assert!(!signatures.check(hex.as_bytes(), BODY));
        }
    }
}
