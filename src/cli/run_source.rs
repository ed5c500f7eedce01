//! Where recorded runs are read, from GitHub or from the repository here, and how far back.

use std::str::FromStr;

use chrono::TimeDelta;

use super::{
    CliError,
    online::{self, Online},
};
use crate::{github::GithubObjects, refs::LocalRepository};
use loopgate_core::RepoName;

/// Longest time one can ask for, in days.
const MOST_DAYS: u32 = 366;

/// A time up to now: `30d`, `2w`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Since(pub TimeDelta);

impl FromStr for Since {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let malformed = || format!("write a number of days or weeks, such as 30d or 2w, {MOST_DAYS}d at most");
        let (number, each) = match (text.strip_suffix('d'), text.strip_suffix('w')) {
            (Some(days), _) => (days, 1),
            (_, Some(weeks)) => (weeks, 7),
            _ => return Err(malformed()),
        };
        let days = number.parse::<u32>().ok().and_then(|number| number.checked_mul(each)).ok_or_else(malformed)?;
        if (1..=MOST_DAYS).contains(&days) { Ok(Self(TimeDelta::days(days.into()))) } else { Err(malformed()) }
    }
}

/// Where recorded runs are.
pub(super) enum RunSource {
    OnGithub(GithubObjects),
    Here(LocalRepository),
}

impl RunSource {
    /// The repository on GitHub, or else the one around the current directory.
    pub(super) async fn open(repository: Option<&RepoName>) -> Result<Self, CliError> {
        if let Some(repository) = repository {
            let Online { github, installation } = online::connect_as_anybody(repository).await?;
            return Ok(Self::OnGithub(GithubObjects::new(github.client(installation), repository.clone())));
        }
        let here = std::env::current_dir()?;
        LocalRepository::open(&here).await.map(Self::Here).map_err(CliError::bad_data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_in_days_or_weeks() {
        let days = |text: &str| text.parse::<Since>().map(|since| since.0.num_days()).ok();
        assert_eq!([days("30d"), days("2w"), days("366d")], [Some(30), Some(14), Some(366)]);
        for wrong in ["", "30", "d", "0d", "367d", "-3d", "99999999999w", "1h"] {
            assert_eq!(days(wrong), None, "{wrong}");
        }
    }
}
