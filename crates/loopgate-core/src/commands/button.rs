//! Buttons under our check runs. A press says no more than a command would, and needs the same rights.

use std::fmt;

use crate::{commands::Verb, ids::CheckName};

/// A button, as its identifier comes back in the `requested_action` event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Button {
    Retry,
    /// Skipping takes a reason, so this one says how to give it.
    Skip(CheckName),
    Explain,
}

impl Button {
    /// None for an identifier we never gave out.
    pub fn read(identifier: &str) -> Option<Self> {
        match identifier.split_once(':') {
            None if identifier == "retry" => Some(Self::Retry),
            None if identifier == "explain" => Some(Self::Explain),
            Some(("skip", check)) => check.parse().ok().map(Self::Skip),
            _ => None,
        }
    }

    /// The command that does the same.
    pub const fn verb(&self) -> Verb {
        match self {
            Self::Retry => Verb::Retry,
            Self::Skip(_) => Verb::Skip,
            Self::Explain => Verb::Explain,
        }
    }
}

impl fmt::Display for Button {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Retry => f.write_str("retry"),
            Self::Skip(check) => write!(f, "skip:{check}"),
            Self::Explain => f.write_str("explain"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_read_as_they_are_written() {
        for button in [Button::Retry, Button::Explain, Button::Skip("lint".parse().unwrap())] {
            assert_eq!(Button::read(&button.to_string()), Some(button));
        }
        for forged in ["", "Retry", "skip", "skip:", "skip:not a name", "retry:x"] {
            assert_eq!(Button::read(forged), None, "{forged}");
        }
    }
}
