//! The `labels:` section: the `loop:…` labels. Gate labels belong to their gates.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, json_schema};
use serde::{Deserialize, de::Unexpected};

use super::ConfigValue;
use crate::config_value;

// They are off unless asked for: each change is a line in the timeline and a request that creates content, and the
// status comment says the same. Where they are off, those left over are removed.
/// The labels of the loop's state. Labels of gates belong to their gates.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "LabelsSection")]
pub struct LabelPolicy {
    /// Whether a pull request carries exactly one of them.
    pub state: bool,
    /// What each name begins with.
    pub prefix: Option<String>,
    /// Checks are running.
    pub verifying: LoopLabel,
    /// A check failed; another attempt is expected.
    pub retry: LoopLabel,
    /// A person was called.
    pub blocked: LoopLabel,
    /// Everything passed.
    pub passed: LoopLabel,
    /// An approval, a review or a push is awaited.
    pub waiting: LoopLabel,
}

/// One label.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "LabelSection")]
pub struct LoopLabel {
    /// What follows the prefix. Default: the key's own name.
    pub name: Option<String>,
    /// Six hexadecimal digits, in quotes.
    pub color: Option<Colour>,
}

impl LabelPolicy {
    /// Each label by its key: the whole name, and the colour as GitHub takes it.
    pub fn all(&self) -> [(&'static str, String, String); 5] {
        let prefix = self.prefix.as_deref().unwrap_or("loop:");
        let labels = [
            ("verifying", &self.verifying, "1d76db"),
            ("retry", &self.retry, "fbca04"),
            ("blocked", &self.blocked, "d73a4a"),
            ("passed", &self.passed, "0e8a16"),
            ("waiting", &self.waiting, "c5def5"),
        ];
        labels.map(|(key, LoopLabel { name, color }, usual)| {
            let name = format!("{prefix}{}", name.as_deref().unwrap_or(key));
            (
                key,
                name,
                color.as_ref().map_or(usual, |color| &color.0).to_owned(),
            )
        })
    }
}

/// By what they come to, whether or not it is written.
impl PartialEq for LabelPolicy {
    fn eq(&self, other: &Self) -> bool {
        self.state == other.state && self.all() == other.all()
    }
}

/// Red, green and blue as 6 hex digits without `#`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Colour(String);

config_value!([] Colour);

impl ConfigValue for Colour {
    fn form() -> (Cow<'static, str>, Schema) {
        let expected = "a colour as six hexadecimal digits in quotes, such as \"1d76db\"";
        (
            expected.into(),
            json_schema!({ "type": "string", "pattern": "^#?[0-9a-fA-F]{6}$" }),
        )
    }

    fn read(found: Unexpected<'_>) -> Option<Self> {
        let Unexpected::Str(text) = found else {
            return None;
        };
        let digits = text.strip_prefix('#').unwrap_or(text).to_ascii_lowercase();
        (digits.len() == 6 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .then_some(Self(digits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_six_hex_digits() {
        let read = |text: &str| Colour::read(Unexpected::Str(text)).map(|colour| colour.0);
        assert_eq!(read("1D76db").as_deref(), Some("1d76db"));
        assert_eq!(read("#1d76db").as_deref(), Some("1d76db"));
        for bad in ["", "red", "##1d76db", "1d76d", "1d76db0", "1d76dé"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
