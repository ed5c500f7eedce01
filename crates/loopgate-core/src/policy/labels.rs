//! The `labels:` section: the `loop:…` labels. Gate labels belong to their gates.

use std::{borrow::Cow, fmt, str::FromStr};

use schemars::{Schema, json_schema};
use serde::de::Unexpected;

use super::ConfigValue;
use crate::config_value;

/// The labels of the loop's state.
///
/// They are off unless asked for: each change is a line in the timeline and a request that creates content, and the
/// status comment says the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelPolicy {
    /// Whether a pull request carries exactly one of the labels. Where it does not, those left over are removed.
    pub state: bool,
    pub labels: LoopLabels,
}

impl Default for LabelPolicy {
    fn default() -> Self {
        Self { state: false, labels: LoopLabels::with_prefix(Self::DEFAULT_PREFIX) }
    }
}

impl LabelPolicy {
    /// What the labels' names begin with unless configured.
    pub const DEFAULT_PREFIX: &'static str = "loop:";
}

/// One label for each thing the loop can be doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopLabels {
    pub verifying: LoopLabel,
    pub retry: LoopLabel,
    pub blocked: LoopLabel,
    pub passed: LoopLabel,
    pub waiting: LoopLabel,
}

impl LoopLabels {
    /// The default words and colours after a prefix.
    pub fn with_prefix(prefix: &str) -> Self {
        let label = |word: &str, colour| LoopLabel { name: format!("{prefix}{word}"), colour: Colour(colour) };
        Self {
            verifying: label("verifying", [0x1d, 0x76, 0xdb]),
            retry: label("retry", [0xfb, 0xca, 0x04]),
            blocked: label("blocked", [0xd7, 0x3a, 0x4a]),
            passed: label("passed", [0x0e, 0x8a, 0x16]),
            waiting: label("waiting", [0xc5, 0xde, 0xf5]),
        }
    }

    /// All of them, to find those that no longer hold.
    pub const fn all(&self) -> [&LoopLabel; 5] {
        [&self.verifying, &self.retry, &self.blocked, &self.passed, &self.waiting]
    }
}

/// A label as it is created when missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopLabel {
    /// The whole name, prefix included; at most 50 characters, the platform's limit.
    pub name: String,
    pub colour: Colour,
}

/// A colour as red, green and blue, written as 6 hex digits without `#`, as GitHub takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour([u8; 3]);

config_value!([] Colour);

impl ConfigValue for Colour {
    fn expected() -> Cow<'static, str> {
        "a colour as six hexadecimal digits in quotes, such as \"1d76db\"".into()
    }

    fn read(found: Unexpected<'_>) -> Option<Self> {
        let Unexpected::Str(text) = found else { return None };
        text.strip_prefix('#').unwrap_or(text).parse().ok()
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": "^#?[0-9a-fA-F]{6}$" })
    }
}

impl FromStr for Colour {
    type Err = hex::FromHexError;
    fn from_str(text: &str) -> Result<Self, hex::FromHexError> {
        let mut bytes = [0; 3];
        hex::decode_to_slice(text, &mut bytes)?;
        Ok(Self(bytes))
    }
}

impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_six_hex_digits() {
        assert_eq!("1D76db".parse::<Colour>().map(|colour| colour.to_string()), Ok("1d76db".to_owned()));
        for bad in ["", "red", "#1d76db", "1d76d", "1d76db0"] {
            assert!(bad.parse::<Colour>().is_err(), "{bad}");
        }
    }
}
