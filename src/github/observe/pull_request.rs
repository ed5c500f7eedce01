//! A pull request as people name it.

use std::{fmt, str::FromStr};

use serde::Deserialize;

use loopgate_core::{PrNumber, RepoName};

/// `owner/name#12`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct PullRequest {
    pub repository: RepoName,
    pub number: PrNumber,
}

impl fmt::Display for PullRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.repository, self.number)
    }
}

impl FromStr for PullRequest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let malformed = || "write it as OWNER/REPO#N, such as acme/widgets#12".to_owned();
        let (repository, number) = text.rsplit_once('#').ok_or_else(malformed)?;
        let number: u64 = number.parse().map_err(|_| malformed())?;
        Ok(Self {
            repository: repository.parse().map_err(|_| malformed())?,
            number: PrNumber::new(number),
        })
    }
}

impl TryFrom<String> for PullRequest {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pull_request_is_written_as_github_writes_it() {
        let parsed: PullRequest = "acme/widgets#12".parse().unwrap();
        assert_eq!(
            (parsed.repository.to_string().as_str(), parsed.number),
            ("acme/widgets", PrNumber::new(12))
        );
        for wrong in [
            "acme/widgets",
            "acme#12",
            "acme/widgets#x",
            "#12",
            "acme/widgets#",
        ] {
            assert!(wrong.parse::<PullRequest>().is_err(), "{wrong}");
        }
    }
}
