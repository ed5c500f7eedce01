//! `loopgate try OWNER/REPO`: what Loopgate would have done on pull requests that ended without it. Only reads.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

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
};
use loopgate_core::{
    RepoName, Timestamp, observed::ExternalCheck, policy::Policy, replay::PastHead,
};
use loopgate_render::{self as render, JudgedBy, Tried};

/// Changes with what is kept, so that nothing of another version is read.
const FORM: &str = "6";

#[derive(Debug, Args)]
pub struct TryArguments {
    /// The repository on GitHub
    #[arg(value_name = "OWNER/REPO")]
    repository: RepoName,
    /// How many pull requests, the most lately changed that are merged or closed
    #[arg(long, default_value_t = 30, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=100))]
    last: u8,
    /// A configuration to judge by [default: that of the base branch, else the presets with the checks that ran]
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
    let given = match &arguments.config {
        Some(file) => Some(Arc::new(Configuration::of_file(file)?)),
        None => None,
    };
    let (tried, left_out, stopped) = read(arguments, given).await?;
    let trial = render::trial(&arguments.repository, &tried, &left_out);
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

/// A configuration that pull requests are judged by.
struct Configuration {
    judged_by: JudgedBy,
    policy: Policy,
    /// What it is made of.
    text: String,
}

impl Configuration {
    fn of_file(file: &Path) -> Result<Self, CliError> {
        let (name, text) = output::read_named(file)?;
        Ok(Self {
            judged_by: JudgedBy::File,
            policy: config::parse(&name, &text).map_err(CliError::bad_data)?,
            text,
        })
    }

    /// The configuration that a repository has for a pull request, else the presets.
    fn of_repository(own: Option<(Policy, String)>) -> Self {
        match own {
            Some((policy, text)) => Self {
                judged_by: JudgedBy::Repository,
                policy,
                text,
            },
            None => Self {
                judged_by: JudgedBy::Presets,
                policy: config::presets(),
                text: String::new(),
            },
        }
    }

    /// Its policy for a head: with those of its checks that ran there, else with all that ran.
    fn at(&self, head: &PastHead) -> Policy {
        let known = head.with_known_checks(&self.policy);
        if known.verify.checks.is_empty() {
            known.with_checks_of(&head.checks)
        } else {
            known
        }
    }
}

/// What was tried, what was left out, and why it ended early.
async fn read(
    arguments: &TryArguments,
    given: Option<Arc<Configuration>>,
) -> Result<(Vec<Tried>, Vec<String>, Option<String>), CliError> {
    let repository = &arguments.repository;
    let (client, observer, rights, listed) =
        changed_last(repository, "closed", arguments.last.into()).await?;
    let kept = TryCache::of(repository, arguments.logs, rights);
    let mut of_branches: BTreeMap<String, Arc<Configuration>> = BTreeMap::new();
    Ok(read_each(&listed, async |one| {
        let known = given
            .as_ref()
            .or_else(|| of_branches.get(one.governed_by()));
        let configuration = match known {
            Some(known) => Arc::clone(known),
            None => {
                let own = observer.configuration_of(&client, repository, one).await?;
                let read = Arc::new(Configuration::of_repository(own));
                of_branches.insert(one.governed_by().to_owned(), Arc::clone(&read));
                read
            }
        };
        if let Some(known) = kept.read(one, &configuration) {
            return Ok(known);
        }
        let asked = |checks: &[ExternalCheck]| configuration.policy.clone().with_checks_of(checks);
        let past = observer
            .past(
                client.repo(repository),
                one.number,
                Vec::new(),
                arguments.logs,
                asked,
            )
            .await?;
        let judged = past.judge(|head| configuration.at(head));
        let tried = render::tried(&past, &judged, configuration.judged_by);
        kept.write(one, &configuration, &tried);
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
    let listed = listed?;
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
                stopped = Some(online::with_remedy(&error));
                break;
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    (all, left_out, stopped)
}

/// What earlier runs made of pull requests, in a folder of the user's cache; nowhere without one. What was not known
/// then is asked for again with a token.
struct TryCache {
    /// Of the repository.
    folder: Option<PathBuf>,
    /// What else the entries depend on.
    surroundings: String,
    has_token: bool,
}

#[derive(Serialize, Deserialize)]
struct CachedPull {
    updated_at: Timestamp,
    tried: Tried,
}

impl TryCache {
    fn of(repository: &RepoName, reads_logs: bool, rights: Rights) -> Self {
        let variable = |name: &str| {
            std::env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let cache =
            variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")));
        let api = online::variable("LOOPGATE_GITHUB_API_URL")
            .or_else(|| online::variable("GITHUB_API_URL"));
        Self {
            folder: cache.map(|cache| cache.join(format!("loopgate/try/{repository}"))),
            surroundings: format!(
                "{FORM}\n{}\n{api:?}\n{reads_logs}",
                env!("CARGO_PKG_VERSION")
            ),
            has_token: rights != Rights::Nobodys,
        }
    }

    fn file(&self, one: &ListedPull, configuration: &Configuration) -> Option<PathBuf> {
        let Configuration {
            judged_by, text, ..
        } = configuration;
        let digest = Sha256::digest(format!("{}\n{judged_by:?}\n{text}", self.surroundings));
        let folder = self.folder.as_ref()?.join(hex::encode(&digest[..8]));
        Some(folder.join(format!("{}.json", one.number)))
    }

    fn read(&self, one: &ListedPull, configuration: &Configuration) -> Option<Tried> {
        let text = fs::read_to_string(self.file(one, configuration)?).ok()?;
        let entry: CachedPull = serde_json::from_str(&text).ok()?;
        let is_whole = entry.tried.unknown.is_empty() || !self.has_token;
        (entry.updated_at == one.updated_at && is_whole).then_some(entry.tried)
    }

    /// What cannot be kept is asked for again.
    fn write(&self, one: &ListedPull, configuration: &Configuration, tried: &Tried) {
        let Some(file) = self.file(one, configuration) else {
            return;
        };
        let entry = CachedPull {
            updated_at: one.updated_at,
            tried: tried.clone(),
        };
        if let (Some(folder), Ok(text)) = (file.parent(), serde_json::to_string(&entry)) {
            let _ = fs::create_dir_all(folder).and_then(|()| fs::write(&file, text));
        }
    }
}
