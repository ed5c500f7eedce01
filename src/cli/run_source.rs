//! Where recorded runs are read, from GitHub or from the repository here, and how far back.

use chrono::TimeDelta;

use super::{
    CliError,
    online::{self, Online},
};
use crate::{github::GithubObjects, refs::LocalRepository};
use loopgate_core::RepoName;

/// Longest time one can ask for, in days.
const MOST_DAYS: i64 = 366;

/// A whole number with its unit, which is one of these and has so many seconds; `longest` at most.
pub(super) fn time(text: &str, units: &[(char, i64)], longest: TimeDelta) -> Option<TimeDelta> {
    let (number, seconds) = units.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(*unit)?, seconds)))?;
    let time = TimeDelta::try_seconds(i64::from(number.parse::<u32>().ok()?).checked_mul(*seconds)?)?;
    (time <= longest).then_some(time)
}

/// A time up to now: `30d`, `2w`.
pub(super) fn since(text: &str) -> Result<TimeDelta, String> {
    let time = time(text, &[('d', 86_400), ('w', 7 * 86_400)], TimeDelta::days(MOST_DAYS));
    let malformed = || format!("write a number of days or weeks, such as 30d or 2w, {MOST_DAYS}d at most");
    time.filter(|time| !time.is_zero()).ok_or_else(malformed)
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
        let days = |text: &str| since(text).map(|since| since.num_days()).ok();
        assert_eq!([days("30d"), days("2w"), days("366d")], [Some(30), Some(14), Some(366)]);
        for wrong in ["", "30", "d", "0d", "367d", "-3d", "99999999999w", "1h"] {
            assert_eq!(days(wrong), None, "{wrong}");
        }
    }
}
