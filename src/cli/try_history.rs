//! `loopgate try OWNER/REPO`: what Loopgate would have done on pull requests that ended without it. Only reads.

use std::{fs, path::PathBuf};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{
    CliError, CommandResult, exit,
    online::{self, Online, Rights},
    output,
};
use crate::{
    config,
    github::{Client, Error, ListedPull, Observer},
    render::{self, Tried},
};
use loopgate_core::{RepoName, Timestamp, observed::ExternalCheck, policy::Policy};

/// Changes with what is kept, so that nothing of another version is read.
const FORM: &str = "5";

#[derive(Debug, Args)]
pub struct TryArguments {
    /// The repository on GitHub
    #[arg(value_name = "OWNER/REPO")]
    repository: RepoName,
    /// How many pull requests, the most lately changed that are merged or closed
    #[arg(long, default_value_t = 30, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=100))]
    last: u8,
    /// A configuration to judge by [default: the presets, with the checks that ran]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Read the logs of failed jobs too, which name their errors; it takes a token that may read Actions
    #[arg(long)]
    logs: bool,
    /// Write a page with charts
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

pub async fn run(arguments: &TryArguments) -> CommandResult {
    let (name, text) = match &arguments.config {
        Some(file) => output::read_named(file)?,
        None => ("presets".to_owned(), "version: 1\n".to_owned()),
    };
    let policy = config::parse(&name, &text).map_err(CliError::bad_data)?;
    let by_own_checks = arguments.config.is_none();
    let policy = |checks: &[ExternalCheck]| match by_own_checks {
        true => policy.clone().with_checks_of(checks),
        false => policy.clone(),
    };
    let (tried, left_out, stopped) = read(arguments, policy, &text).await?;
    let trial = render::trial(&arguments.repository, &tried, &left_out, by_own_checks);
    if let Some(file) = &arguments.html {
        output::write(file, &render::trial_page(&trial, &tried))?;
    }
    output::show(&trial, || render::trial_text(&trial))?;
    if let Some(why) = stopped {
        return Err(CliError::unavailable(format!(
            "pull requests read: {}. Then reading ended: {why}. Run it again to go on from there",
            tried.len()
        )));
    }
    Ok(exit::OK)
}

/// What was tried, what was left out, and why it ended early.
async fn read(
    arguments: &TryArguments,
    policy: impl Fn(&[ExternalCheck]) -> Policy,
    configuration: &str,
) -> Result<(Vec<Tried>, Vec<String>, Option<String>), CliError> {
    let repository = &arguments.repository;
    let (client, observer, rights, listed) =
        changed_last(repository, "closed", arguments.last.into()).await?;
    let kept = TryCache::of(
        repository,
        &format!("{configuration}{}", arguments.logs),
        rights,
    );
    Ok(read_each(&listed, async |one| {
        if let Some(known) = kept.read(one) {
            return Ok(known);
        }
        let past = observer
            .past(
                client.repo(repository),
                one.number,
                Vec::new(),
                arguments.logs,
                &policy,
            )
            .await?;
        let tried = render::tried(&past, &past.judge(|head| policy(&head.checks)));
        kept.write(one, &tried);
        Ok(tried)
    })
    .await)
}

/// The pull requests of a repository that changed last, with what reads more of them.
pub(super) async fn changed_last(
    repository: &RepoName,
    state: &str,
    most: usize,
) -> Result<(Client, Observer, Rights, Vec<ListedPull>), CliError> {
    let online = Online::as_anybody()?;
    let rights = online.rights;
    let client = online.client(repository).await?;
    let observer = Observer::new(online.github);
    let listed = observer
        .changed_last(client.repo(repository), state, most)
        .await;
    let listed = listed.map_err(|error| CliError::unavailable(with_remedy(&error)))?;
    Ok((client, observer, rights, listed))
}

/// Reads pull requests one after another, beside a progress bar; with those that GitHub does not show, and with what
/// ended it early and what to do about that.
pub(super) async fn read_each<T>(
    listed: &[ListedPull],
    mut read: impl AsyncFnMut(&ListedPull) -> Result<T, Error>,
) -> (Vec<T>, Vec<String>, Option<String>) {
    let style = ProgressStyle::with_template("{bar:30} {pos} of {len} pull requests {msg}");
    let bar = ProgressBar::new(listed.len() as u64)
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let (mut all, mut left_out, mut stopped) = (Vec::with_capacity(listed.len()), Vec::new(), None);
    for one in listed {
        bar.set_message(format!("#{}", one.number));
        match read(one).await {
            Ok(one) => all.push(one),
            Err(error) if error.is_refusal() => left_out.push(format!("#{} ({error})", one.number)),
            Err(error) => {
                stopped = Some(with_remedy(&error));
                break;
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    (all, left_out, stopped)
}

/// An error of GitHub's, and what to do about it.
fn with_remedy(error: &Error) -> String {
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

/// What earlier runs made of pull requests, in a folder of the user's cache; nowhere without one. What was not known
/// then is asked for again with a token.
struct TryCache {
    folder: Option<PathBuf>,
    has_token: bool,
}

#[derive(Serialize, Deserialize)]
struct CachedPull {
    updated_at: Timestamp,
    tried: Tried,
}

impl TryCache {
    /// For a repository under a configuration.
    fn of(repository: &RepoName, configuration: &str, rights: Rights) -> Self {
        let variable = |name: &str| {
            std::env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let cache =
            variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")));
        let api = online::variable("LOOPGATE_GITHUB_API_URL")
            .or_else(|| online::variable("GITHUB_API_URL"));
        let digest = Sha256::digest(format!(
            "{FORM}\n{}\n{api:?}\n{configuration}",
            env!("CARGO_PKG_VERSION")
        ));
        let below = format!("loopgate/try/{repository}/{}", hex::encode(&digest[..8]));
        Self {
            folder: cache.map(|cache| cache.join(below)),
            has_token: rights != Rights::Nobodys,
        }
    }

    fn file(&self, one: &ListedPull) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(format!("{}.json", one.number)))
    }

    fn read(&self, one: &ListedPull) -> Option<Tried> {
        let entry: CachedPull =
            serde_json::from_str(&fs::read_to_string(self.file(one)?).ok()?).ok()?;
        let is_whole = entry.tried.unknown.is_empty() || !self.has_token;
        (entry.updated_at == one.updated_at && is_whole).then_some(entry.tried)
    }

    /// What cannot be kept is asked for again.
    fn write(&self, one: &ListedPull, tried: &Tried) {
        let (Some(folder), Some(file)) = (&self.folder, self.file(one)) else {
            return;
        };
        let entry = CachedPull {
            updated_at: one.updated_at,
            tried: tried.clone(),
        };
        if let Ok(text) = serde_json::to_string(&entry) {
            let _ = fs::create_dir_all(folder).and_then(|()| fs::write(file, text));
        }
    }
}
