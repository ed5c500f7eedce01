//! Everything that went over the wire, for checks against GitHub's own descriptions.

use std::{fs::File, io::Write as _, path::PathBuf};

use bytes::Bytes;
use http::{Method, StatusCode};
use serde_json::{Value, json};

/// Whether requests, answers and deliveries are written down in full.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Transcript {
    #[default]
    Off,
    /// Appended to this file, one JSON object on each line: `{"method", "target", "sent", "status", "received"}` for
    /// a request, `{"event", "payload"}` for a delivery. Bodies are JSON, or text where they are none.
    Appended(PathBuf),
}

/// An open transcript.
#[derive(Debug, Default)]
pub struct Scribe(Option<File>);

impl Scribe {
    pub fn open(transcript: &Transcript) -> std::io::Result<Self> {
        match transcript {
            Transcript::Off => Ok(Self(None)),
            Transcript::Appended(path) => Ok(Self(Some(
                File::options().create(true).append(true).open(path)?,
            ))),
        }
    }

    pub const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    pub fn exchange(
        &mut self,
        (method, target): (&Method, &str),
        sent: &Bytes,
        status: StatusCode,
        received: &Bytes,
    ) {
        self.write(&json!({
            "method": method.as_str(), "target": target, "sent": body(sent), "status": status.as_u16(),
            "received": body(received),
        }));
    }

    pub fn delivery(&mut self, event: &str, payload: &Bytes) {
        if self.is_on() {
            self.write(&json!({ "event": event, "payload": body(payload) }));
        }
    }

    fn write(&mut self, line: &Value) {
        let Some(file) = &mut self.0 else { return };
        // One write for each line, so that several simulators can share a file.
        if let Err(error) = file.write_all(format!("{line}\n").as_bytes()) {
            tracing::warn!(%error, "the transcript could not be written");
        }
    }
}

fn body(bytes: &Bytes) -> Value {
    serde_json::from_slice(bytes).unwrap_or_else(|_| String::from_utf8_lossy(bytes).into())
}
