//! The short name a local loop is called by.

use std::{fmt, str::FromStr};

use crate::Malformed;

/// A lower-case hyphen slug of 3 to 64 characters.
///
/// ```
/// use loopgate_core::reflex::Alias;
/// assert_eq!(Alias::of_task("Fix the login, please!").to_string(), "fix-the-login-please");
/// assert!("Fix".parse::<Alias>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Alias(String);

/// Characters of an alias made from a task: longer ones are a nuisance to type.
const COMFORTABLE: usize = 32;

impl Alias {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// An alias made of the first words of a task.
    pub fn of_task(task: &str) -> Self {
        let lower = task.to_lowercase();
        let words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        let mut slug = String::new();
        for word in words {
            let word: String = word.chars().take(COMFORTABLE).collect();
            if !slug.is_empty() && slug.len() + 1 + word.len() > COMFORTABLE {
                break;
            }
            if !slug.is_empty() {
                slug.push('-');
            }
            slug.push_str(&word);
        }
        match slug.len() {
            0 => Self("task".to_owned()),
            1 | 2 => Self(format!("task-{slug}")),
            _ => Self(slug),
        }
    }

    /// The same alias with a number, for when it is taken.
    #[must_use]
    pub fn numbered(&self, number: u32) -> Self {
        Self(format!("{}-{number}", self.0.chars().take(54).collect::<String>().trim_end_matches('-')))
    }
}

impl FromStr for Alias {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let framed = text.starts_with('-') || text.ends_with('-') || text.contains("--");
        if (3..=64).contains(&text.len()) && text.chars().all(plain) && !framed {
            Ok(Self(text.to_owned()))
        } else {
            Err(Malformed::new(text, "an alias (lower-case words joined by hyphens, 3 to 64 characters)"))
        }
    }
}

impl fmt::Display for Alias {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tasks_become_aliases() {
        for (task, alias) in [
            ("Fix the login, please!", "fix-the-login-please"),
            ("  a  ", "task-a"),
            ("Überall größer", "berall-gr-er"),
            ("日本語", "task"),
            ("make the parser of numbers accept exponents too", "make-the-parser-of-numbers"),
        ] {
            assert_eq!(Alias::of_task(task).as_str(), alias, "{task}");
        }
        assert_eq!(Alias::of_task("fix it").numbered(2).as_str(), "fix-it-2");
    }

    #[test]
    fn what_is_no_alias() {
        for bad in ["", "ab", "Fix", "a b c", "a/b", "-abc", "abc-", "a--b", "ä-b", &"a".repeat(65)] {
            assert!(bad.parse::<Alias>().is_err(), "{bad}");
        }
        assert!("a-1".parse::<Alias>().is_ok());
    }

    proptest! {
        #[test]
        fn whatever_the_task_its_alias_is_one(task in ".{0,200}", number in 2u32..10_000) {
            let alias = Alias::of_task(&task);
            prop_assert!(alias.as_str().parse::<Alias>().is_ok());
            prop_assert!(alias.numbered(number).as_str().parse::<Alias>().is_ok());
        }
    }
}
