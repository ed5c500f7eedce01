//! Names of hidden refs.

use std::fmt;

use chrono::Datelike as _;
use loopgate_core::{Malformed, PrNumber, Timestamp, memory::Week};

/// A ref under `refs/loopgate/`. It shows in no branch list, starts no workflow, and a plain clone does not fetch it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RefName(String);

impl RefName {
    /// The state of a pull request's loop.
    pub fn pull_request(number: PrNumber) -> Self {
        Self(format!("loopgate/pr/{number}"))
    }

    /// The archive of the quarter of a year that this moment is in.
    pub fn quarter(of: Timestamp) -> Self {
        Self(format!(
            "loopgate/archive/{}Q{}",
            of.year(),
            of.month0() / 3 + 1
        ))
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
            Err(Malformed::new(
                alias,
                "an alias (lower-case letters, digits and hyphens, 3 to 64 of them)",
            ))
        }
    }

    /// The lines of ended runs.
    pub fn metrics() -> Self {
        Self("loopgate/metrics".to_owned())
    }

    /// Those of local loops.
    pub fn local_metrics() -> Self {
        Self("loopgate/local/metrics".to_owned())
    }

    /// One of ours by its whole name; none for any other ref.
    pub fn of(name: &str) -> Option<Self> {
        let short = name.strip_prefix("refs/")?;
        short
            .starts_with("loopgate/")
            .then(|| Self(short.to_owned()))
    }

    /// Whether it holds the state of a run, of a pull request or a local one, that is not archived.
    pub fn is_run(&self) -> bool {
        let is_task = |alias| Self::task(alias).is_ok();
        self.0
            .strip_prefix("loopgate/task/")
            .map_or_else(|| self.is_of_pull_request(), is_task)
    }

    /// Whether it holds the state of a pull request's run that is not archived.
    pub fn is_of_pull_request(&self) -> bool {
        self.0.starts_with("loopgate/pr/") && self.number().is_some()
    }

    /// The pull request whose state it is.
    pub fn number(&self) -> Option<PrNumber> {
        let number = ["loopgate/pr/", "loopgate/archive/"]
            .iter()
            .find_map(|folder| self.0.strip_prefix(folder))?;
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
        assert_eq!(
            RefName::pull_request(PrNumber::new(12)).to_string(),
            "refs/loopgate/pr/12"
        );
        let twelve = Some(PrNumber::new(12));
        for (name, is_run, number) in [
            ("refs/loopgate/pr/12", true, twelve),
            ("refs/loopgate/archive/12", false, twelve),
            ("refs/loopgate/archive/2026Q4", false, None),
            ("refs/loopgate/task/fix-login", true, None),
            ("refs/loopgate/metrics", false, None),
            ("refs/loopgate/pr/twelve", false, None),
        ] {
            let read = RefName::of(name).unwrap();
            assert_eq!(
                (read.to_string().as_str(), read.is_run(), read.number()),
                (name, is_run, number)
            );
        }
        assert_eq!(RefName::of("refs/heads/pr/12"), None);
        for (moment, name) in [
            ("2026-01-01T00:00:00Z", "2026Q1"),
            ("2026-12-31T23:59:59Z", "2026Q4"),
        ] {
            assert_eq!(
                RefName::quarter(moment.parse().unwrap()).short(),
                format!("loopgate/archive/{name}")
            );
        }
        assert_eq!(RefName::task("pr-12").unwrap().number(), None);
        assert_eq!(
            RefName::task("fix-login").unwrap().to_string(),
            "refs/loopgate/task/fix-login"
        );
        for bad in [
            "ab",
            "Fix-login",
            "a b c",
            "a/b/c",
            "../../heads/main",
            "-abc",
            &"a".repeat(65),
        ] {
            assert!(RefName::task(bad).is_err(), "{bad}");
        }
    }
}
