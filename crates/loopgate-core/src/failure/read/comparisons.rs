//! The forms in which assertion libraries print what was expected and what was found, and the two sides that are read.

use std::sync::LazyLock;

use serde::Deserialize;

/// Both sides of an assertion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::failure) struct Sides {
    pub expected: String,
    pub actual: String,
    /// Otherwise they are only the lines in which the compared values differ.
    pub is_whole: bool,
}

impl Sides {
    /// The sides when the source of the assertion shows that it is the other one that states the requirement.
    pub fn turned(self) -> Self {
        let listed = [("containing ", "one of "), ("not containing ", "none of ")];
        let member = listed
            .into_iter()
            .find_map(|(of, one)| Some((self.expected.strip_prefix(of)?, one)));
        match member {
            Some((member, one)) => Self {
                actual: member.to_owned(),
                expected: format!("{one}{}", self.actual),
                ..self
            },
            None => Self {
                expected: self.actual,
                actual: self.expected,
                is_whole: self.is_whole,
            },
        }
    }
}

/// How a library prints both sides: one row of the file.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, serde(deny_unknown_fields))]
pub(super) struct Form {
    /// With the groups `e` (expected) and `a` (actual).
    pub pattern: String,
    /// The relation that should hold, where it is not captured.
    #[serde(default)]
    pub relation: Option<String>,
    /// Where anyone may write so, both sides have to be values.
    #[serde(default)]
    pub of_values: bool,
    /// Text, expected, actual. Only the test of the file reads them.
    #[cfg(test)]
    pub examples: Vec<(String, String, String)>,
}

/// The whole file.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, serde(deny_unknown_fields))]
pub(super) struct Comparisons {
    /// Words above a difference, and whether its lines with a minus are the expected ones.
    pub legend: Vec<(String, bool)>,
    pub labels: Labels,
    /// Earlier forms win.
    pub form: Vec<Form>,
    #[cfg(test)]
    pub without_a_row: Vec<(String, String, String)>,
    #[cfg(test)]
    pub no_sides: Vec<String>,
}

/// First words of labels, and such that label nothing which is compared.
#[derive(Debug, Deserialize)]
pub(super) struct Labels {
    pub expected: Vec<String>,
    pub actual: Vec<String>,
    pub aside: Vec<String>,
}

/// What the file has, read once.
pub(super) static COMPARISONS: LazyLock<Comparisons> = LazyLock::new(|| data!("comparisons.toml"));
