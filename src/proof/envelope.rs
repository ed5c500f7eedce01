//! The Dead Simple Signing Envelope (<https://github.com/secure-systems-lab/dsse/blob/master/protocol.md>): the bytes of a
//! statement, and who signed them.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};

use loopgate_core::proof::{PAYLOAD_TYPE, Statement};

/// A signed document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Envelope {
    /// The statement, in base64.
    pub payload: String,
    pub payload_type: String,
    pub signatures: Vec<Signature>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    pub keyid: String,
    /// In base64.
    pub sig: String,
}

impl Envelope {
    /// An envelope around a statement, without a signature.
    pub(super) fn around(statement: &Statement) -> Self {
        let text = serde_json::to_vec(statement).expect("a statement has only names as keys");
        Self { payload: STANDARD.encode(text), payload_type: PAYLOAD_TYPE.to_owned(), signatures: Vec::new() }
    }

    /// The statement inside.
    ///
    /// # Errors
    /// What keeps it from being read.
    pub fn statement(&self) -> Result<Statement, String> {
        if self.payload_type != PAYLOAD_TYPE {
            return Err(format!("the payload is no in-toto statement, but {}", self.payload_type));
        }
        serde_json::from_slice(&decoded("the payload", &self.payload)?)
            .map_err(|error| format!("the payload is no statement about a merge: {error}"))
    }

    /// What is signed: type and payload, each with its length.
    ///
    /// # Errors
    /// When the payload is not base64.
    pub(super) fn signed_bytes(&self) -> Result<Vec<u8>, String> {
        let body = decoded("the payload", &self.payload)?;
        let mut bytes =
            format!("DSSEv1 {} {} {} ", self.payload_type.len(), self.payload_type, body.len()).into_bytes();
        bytes.extend(body);
        Ok(bytes)
    }
}

pub(super) fn decoded(what: &str, text: &str) -> Result<Vec<u8>, String> {
    STANDARD.decode(text).map_err(|_| format!("{what} is not base64"))
}
