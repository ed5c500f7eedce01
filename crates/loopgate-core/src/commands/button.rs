//! Buttons under our check runs. A press says no more than a command would, and needs the same rights.

use crate::{commands::Verb, ids::CheckName};

/// What a button stands for, by its identifier, as it comes back in the `requested_action` event: `retry`, `explain`,
/// or `skip:<check>`, which says how to give the reason that skipping takes. None for an identifier we never gave out.
pub fn pressed(identifier: &str) -> Option<(Verb, Option<CheckName>)> {
    match identifier.split_once(':') {
        None => [Verb::Retry, Verb::Explain]
            .into_iter()
            .find(|verb| verb.as_str() == identifier)
            .map(|verb| (verb, None)),
        Some(("skip", check)) => Some((Verb::Skip, Some(check.parse().ok()?))),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_read_as_they_are_written() {
        assert_eq!(pressed("retry"), Some((Verb::Retry, None)));
        assert_eq!(pressed("explain"), Some((Verb::Explain, None)));
        assert_eq!(
            pressed("skip:lint"),
            Some((Verb::Skip, Some("lint".parse().unwrap())))
        );
        for forged in [
            "",
            "Retry",
            "skip",
            "skip:",
            "skip:not a name",
            "retry:x",
            "stop",
        ] {
            assert_eq!(pressed(forged), None, "{forged}");
        }
    }
}
