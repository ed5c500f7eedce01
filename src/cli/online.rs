//! GitHub, with the credentials that the environment has: for subcommands that only read. Where recorded runs are read,
//! from there or from the repository here, and how far back.

use std::{path::Path, sync::OnceLock};

use chrono::TimeDelta;

use super::CliError;
pub use crate::github::PullRequest;
use crate::{
    github::{
        ApiUrl, AppCredentials, AppName, AppSlug, Client, Credentials, Error, FeedbackReader,
        Github, GithubObjects, Pacing, Secret, Setup, registration::StoredApp,
    },
    proof::Signer,
    server::DATA_DIR,
};
use loopgate_core::{InstallationId, RepoName};
use loopgate_refs::LocalRepository;

/// GitHub, and the rights of the credentials with which it is asked.
pub struct Online {
    pub github: Github,
    pub rights: Rights,
}

/// Whose credentials they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rights {
    App,
    Token,
    /// What everybody may read.
    Nobodys,
}

impl Online {
    /// As the environment is set, which may name no credentials at all. Must be called within a runtime.
    pub fn from_environment() -> Result<Self, CliError> {
        Self::with(credentials()?.unwrap_or(Credentials::Nobody(None)))
    }

    /// As the environment is set, else with the token of `gh`, else as anybody may. Must be called within a runtime.
    pub fn as_anybody() -> Result<Self, CliError> {
        let credentials = match credentials()? {
            Some(credentials) => credentials,
            None => match token_of_gh() {
                Some(token) => Credentials::Job { token, app: app()? },
                None => Credentials::Nobody(Some(app()?)),
            },
        };
        Self::with(credentials)
    }

    fn with(credentials: Credentials) -> Result<Self, CliError> {
        let rights = match credentials {
            Credentials::App(_) => Rights::App,
            Credentials::Token(_) | Credentials::Job { .. } => Rights::Token,
            Credentials::Nobody(_) => Rights::Nobodys,
        };
        Ok(Self {
            github: github(credentials)?,
            rights,
        })
    }

    /// How often GitHub is asked.
    pub const fn pacing(&self) -> Pacing {
        match self.rights {
            Rights::App | Rights::Token => Pacing::WITH_TOKEN,
            Rights::Nobodys => Pacing::WITHOUT,
        }
    }

    /// The installation that sees a repository, where we are an App.
    pub async fn installation(
        &self,
        repository: &RepoName,
    ) -> Result<Option<InstallationId>, CliError> {
        if self.rights != Rights::App {
            return Ok(None);
        }
        let found = self.github.client(None).installation_of(repository).await?;
        found
            .map(Some)
            .ok_or_else(|| CliError::unavailable("the App is not installed there"))
    }

    /// A client for a repository.
    pub async fn client(&self, repository: &RepoName) -> Result<Client, CliError> {
        Ok(self.github.client(self.installation(repository).await?))
    }

    /// A client for a repository that GitHub shows to these credentials.
    ///
    /// # Errors
    /// Where it does not, or GitHub cannot be asked.
    pub async fn shown(&self, repository: &RepoName) -> Result<Client, CliError> {
        let client = self.client(repository).await?;
        client.repo(repository).see().await?;
        Ok(client)
    }

    /// Asks whether GitHub answers for a repository, be it shown or not.
    ///
    /// # Errors
    /// Where it does not answer, or does not take the credentials.
    pub async fn reach(&self, repository: &RepoName) -> Result<(), CliError> {
        let seen = self.client(repository).await?.repo(repository).see().await;
        Ok(seen.or_else(|error| {
            if error.is_refusal() {
                Ok(())
            } else {
                Err(error)
            }
        })?)
    }

    /// Reads the feedback on a pull request.
    pub async fn feedback_on(
        &self,
        PullRequest { repository, number }: PullRequest,
    ) -> Result<FeedbackReader, CliError> {
        let bot = named_app()?.map(|slug| format!("{}[bot]", slug.as_str()).parse());
        let mut bot = bot.transpose().map_err(CliError::bad_data)?;
        let client = self.client(&repository).await?;
        if self.rights == Rights::App && bot.is_none() {
            bot = Some(self.github.identity(&client).await?.bot);
        }
        Ok(FeedbackReader::new(client, repository, number, bot))
    }
}

/// An error of GitHub's, and what to do about it.
pub fn with_remedy(error: &Error) -> String {
    let remedy = match error {
        Error::Unauthorized { .. } => {
            "GITHUB_TOKEN is wrong or has expired: set another, or none for a public repository"
        }
        _ if error.is_wait() => {
            "60 requests an hour are allowed without a token, 5,000 with one: wait, set GITHUB_TOKEN, or run `gh auth login`"
        }
        _ if error.is_outage() => {
            "see whether this machine reaches GitHub (a proxy, LOOPGATE_GITHUB_API_URL), and githubstatus.com"
        }
        _ => {
            "see whether the name is right; what is private needs a token that may read it, in GITHUB_TOKEN or by \
             `gh auth login`"
        }
    };
    format!("{error}; {remedy}")
}

/// <https://cli.github.com/manual/gh_auth_token>
#[expect(clippy::disallowed_methods, reason = "it is asked for the token")]
fn token_of_gh() -> Option<Secret> {
    let output = std::process::Command::new("gh")
        .args(["auth", "token"])
        .output()
        .ok()?;
    let token = String::from_utf8(output.stdout)
        .ok()
        .filter(|_| output.status.success())?;
    Some(Secret::new(token.trim())).filter(|_| !token.trim().is_empty())
}

/// GitHub as the App: for what is asked of it, not of a repository. Must be called within a runtime.
pub fn as_app() -> Result<Github, CliError> {
    let app = app_credentials()?.ok_or_else(|| {
        CliError::bad_data(
            "no App is known here: register one with `loopgate setup`, or set LOOPGATE_APP_ID",
        )
    })?;
    github(Credentials::App(app))
}

fn github(credentials: Credentials) -> Result<Github, CliError> {
    let url = variable("LOOPGATE_GITHUB_API_URL").or_else(|| variable("GITHUB_API_URL"));
    let api = ApiUrl::parse(url.as_deref().unwrap_or("https://api.github.com"))
        .map_err(CliError::bad_data)?;
    Github::new(api, credentials, Setup::default()).map_err(CliError::unavailable)
}

/// What signs statements on the server, as far as the environment here names it.
pub fn signer() -> Option<Signer> {
    let in_file = || std::fs::read_to_string(variable("LOOPGATE_SIGNING_KEY_FILE")?).ok();
    Signer::parse(&variable("LOOPGATE_SIGNING_KEY").or_else(in_file)?).ok()
}

/// What the environment names, if anything.
fn credentials() -> Result<Option<Credentials>, CliError> {
    let token = variable("GITHUB_TOKEN").or_else(|| variable("GH_TOKEN"));
    match token.filter(|_| set_here("LOOPGATE_APP_ID").is_none()) {
        Some(token) => Ok(Some(Credentials::Job {
            token: Secret::new(token.trim()),
            app: app()?,
        })),
        None => Ok(app_credentials()?.map(Credentials::App)),
    }
}

/// The App that looks after the repository.
fn app() -> Result<AppSlug, CliError> {
    match (named_app()?, variable("GITHUB_ACTIONS")) {
        (Some(slug), _) => Ok(slug),
        (None, Some(_)) => Ok(AppSlug::actions()),
        (None, None) => "loopgate".parse().map_err(CliError::bad_data),
    }
}

fn named_app() -> Result<Option<AppSlug>, CliError> {
    let named = variable("LOOPGATE_APP_SLUG")
        .map(|slug| slug.parse())
        .transpose();
    named.map_err(|error| CliError::bad_data(format!("LOOPGATE_APP_SLUG: {error}")))
}

/// The App that the environment names, or that is stored.
fn app_credentials() -> Result<Option<AppCredentials>, CliError> {
    let Some(id) = variable("LOOPGATE_APP_ID") else {
        return Ok(None);
    };
    let id: AppName = id
        .trim()
        .parse()
        .map_err(|why| CliError::bad_data(format!("LOOPGATE_APP_ID {why}")))?;
    let key = match (
        variable("LOOPGATE_PRIVATE_KEY"),
        variable("LOOPGATE_PRIVATE_KEY_FILE"),
    ) {
        (Some(key), _) => key,
        (None, Some(path)) => std::fs::read_to_string(&path).map_err(|error| {
            CliError::bad_data(format!(
                "LOOPGATE_PRIVATE_KEY_FILE: {path} cannot be read: {error}"
            ))
        })?,
        (None, None) => {
            return Err(CliError::bad_data(
                "LOOPGATE_APP_ID is set, and LOOPGATE_PRIVATE_KEY is not",
            ));
        }
    };
    AppCredentials::new(id, &Secret::new(&key))
        .map(Some)
        .map_err(CliError::bad_data)
}

/// A variable of the environment, and beneath it the App that `loopgate setup` has stored.
pub fn variable(name: &str) -> Option<String> {
    static STORED: OnceLock<StoredApp> = OnceLock::new();
    let folder = || set_here("LOOPGATE_DATA_DIR").unwrap_or_else(|| DATA_DIR.to_owned());
    // The code that needs the file reports that it cannot be read.
    let stored = STORED.get_or_init(|| StoredApp::read(Path::new(&folder())).unwrap_or_default());
    stored.beneath(set_here)(name)
}

/// A variable of the environment; none where it is blank.
pub fn set_here(name: &str) -> Option<String> {
    std::env::var(name)
        .ok()
        .filter(|value| !value.trim().is_empty())
}

/// Longest time one can ask for, in days.
const MOST_DAYS: i64 = 366;

/// A whole number with its unit, which is one of these and has so many seconds; `longest` at most.
pub(super) fn time(text: &str, units: &[(char, i64)], longest: TimeDelta) -> Option<TimeDelta> {
    let (number, seconds) = units
        .iter()
        .find_map(|(unit, seconds)| Some((text.strip_suffix(*unit)?, seconds)))?;
    let time =
        TimeDelta::try_seconds(i64::from(number.parse::<u32>().ok()?).checked_mul(*seconds)?)?;
    (time <= longest).then_some(time)
}

/// A time up to now: `30d`, `2w`.
pub(super) fn since(text: &str) -> Result<TimeDelta, String> {
    let time = time(
        text,
        &[('d', 86_400), ('w', 7 * 86_400)],
        TimeDelta::days(MOST_DAYS),
    );
    let malformed =
        || format!("write a number of days or weeks, such as 30d or 2w, {MOST_DAYS}d at most");
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
            let client = Online::as_anybody()?.shown(repository).await?;
            return Ok(Self::OnGithub(GithubObjects::new(
                client,
                repository.clone(),
            )));
        }
        LocalRepository::open(Path::new("."))
            .map(Self::Here)
            .map_err(CliError::bad_data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_in_days_or_weeks() {
        let days = |text: &str| since(text).map(|since| since.num_days()).ok();
        assert_eq!(
            [days("30d"), days("2w"), days("366d")],
            [Some(30), Some(14), Some(366)]
        );
        for wrong in ["", "30", "d", "0d", "367d", "-3d", "99999999999w", "1h"] {
            assert_eq!(days(wrong), None, "{wrong}");
        }
    }
}
