//! Names of hidden refs.

use std::fmt;

use loopgate_core::{Malformed, PrNumber, memory::Week};

/// A ref under `refs/loopgate/`. It shows in no branch list, starts no workflow, and a plain clone does not fetch it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RefName(String);

impl RefName {
    /// The state of a pull request's loop.
    pub fn pull_request(number: PrNumber) -> Self {
        Self(format!("loopgate/pr/{number}"))
    }

    /// Where that goes a fortnight after its end.
    pub fn archive(number: PrNumber) -> Self {
        Self(format!("loopgate/archive/{number}"))
    }

    /// What is remembered of a week.
    pub fn memory_week(week: Week) -> Self {
        Self(format!("loopgate/memory/{week}"))
    }

    /// What all weeks amount to.
    pub fn memory_cards() -> Self {
        Self("loopgate/memory/cards".to_owned())
    }

    /// The state of a local loop.
    ///
    /// # Errors
    /// When the alias is no lowercase hyphen slug of 3–64 characters.
    pub fn task(alias: &str) -> Result<Self, Malformed> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if (3..=64).contains(&alias.len()) && alias.chars().all(plain) && !alias.starts_with('-') {
            Ok(Self(format!("loopgate/task/{alias}")))
        } else {
            Err(Malformed::new(alias, "an alias (lower-case letters, digits and hyphens, 3 to 64 of them)"))
        }
    }

    /// Whether the run in it ended a fortnight ago.
    pub fn is_archived(&self) -> bool {
        self.0.starts_with("loopgate/archive/")
    }

    /// The lines of ended runs.
    pub fn metrics() -> Self {
        Self("loopgate/metrics".to_owned())
    }

    /// Those of local loops.
    pub fn local_metrics() -> Self {
        Self("loopgate/local/metrics".to_owned())
    }

    /// A run's ref by its whole name; none for any other ref.
    pub fn of_run(name: &str) -> Option<Self> {
        let below = name.strip_prefix("refs/loopgate/")?;
        let number = |folder: &str| below.strip_prefix(folder)?.parse().ok().map(PrNumber::new);
        (number("pr/").map(Self::pull_request))
            .or_else(|| number("archive/").map(Self::archive))
            .or_else(|| Self::task(below.strip_prefix("task/")?).ok())
    }

    /// The pull request whose state it is.
    pub fn number(&self) -> Option<PrNumber> {
        let number = ["loopgate/pr/", "loopgate/archive/"].iter().find_map(|folder| self.0.strip_prefix(folder))?;
        number.parse().ok().map(PrNumber::new)
    }

    /// The name below `refs/`, as GitHub's API writes it in paths.
    pub fn short(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RefName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refs/{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_whole_refs() {
        assert_eq!(RefName::pull_request(PrNumber::new(12)).to_string(), "refs/loopgate/pr/12");
        assert_eq!(RefName::archive(PrNumber::new(12)).number(), Some(PrNumber::new(12)));
        for name in ["refs/loopgate/pr/12", "refs/loopgate/archive/12", "refs/loopgate/task/fix-login"] {
            assert_eq!(RefName::of_run(name).unwrap().to_string(), name);
        }
        assert_eq!(RefName::of_run("refs/loopgate/metrics").or(RefName::of_run("refs/heads/pr/12")), None);
        assert_eq!(RefName::task("pr-12").unwrap().number(), None);
        assert_eq!(RefName::task("fix-login").unwrap().to_string(), "refs/loopgate/task/fix-login");
        for bad in ["ab", "Fix-login", "a b c", "a/b/c", "../../heads/main", "-abc", &"a".repeat(65)] {
            assert!(RefName::task(bad).is_err(), "{bad}");
        }
    }
}
