//! What an examination goes by.

use std::{collections::BTreeMap, time::Duration};

use chrono::TimeDelta;
use serde::Deserialize;
use url::Url;

use super::{
    super::{
        CheckedConfiguration, Client, DeliveryAttempt, Error, Github, Observer, Repo, error::OrAbsent as _, path,
        registration,
    },
    Finding,
};
use crate::{
    github::{
        registration::{Access, Arrival},
        wire::{BranchRule, Repository, RequiredCheck},
    },
    proof::Signer,
};
use loopgate_core::{AppId, Login, RepoName, gate::online_facts::Fetched};

/// How long a delivery that is asked for again may take to show in the log.
const SHOWS_WITHIN: TimeDelta = TimeDelta::seconds(20);
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// This server's settings for webhooks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expected {
    /// The address that the App's webhook should have, where it is known.
    pub hook: Option<String>,
    pub arrives: Arrives,
    /// What signs statements about merges.
    pub signer: Option<Signer>,
}

impl Expected {
    /// Of the server's settings: a channel counts before an address of its own.
    pub fn new(public_url: Option<Url>, webhook_proxy: Option<Url>, arrives: Arrives) -> Self {
        let arrival = match (webhook_proxy, public_url, arrives) {
            (Some(proxy), ..) => Some(Arrival::Proxy(proxy)),
            (None, _, Arrives::ReadFromLog) => Some(Arrival::Poll),
            (None, public, Arrives::Answered) => public.map(Arrival::Public),
        };
        Self { hook: arrival.as_ref().map(Arrival::hook), arrives, signer: None }
    }

    /// Adds what signs.
    #[must_use]
    pub fn signing(self, signer: Option<Signer>) -> Self {
        Self { signer, ..self }
    }
}

/// Whether GitHub's deliveries are meant to be answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Arrives {
    #[default]
    Answered,
    /// They fail on purpose, and are read from the log.
    ReadFromLog,
}

/// What is asked first: without this the rest has nothing to go by.
pub(super) struct Reached {
    pub key: Result<(), String>,
    pub clock: Result<(), String>,
    pub app: Result<App, Error>,
}

pub(super) struct Facts {
    pub expected: Expected,
    pub app: App,
    /// The version of a GitHub Enterprise Server; none elsewhere.
    pub version: Fetched<Option<String>>,
    pub installations: Fetched<Vec<Installation>>,
    /// Who asked for an installation, and on which account.
    pub requests: Fetched<Vec<(Login, Login)>>,
    pub hook: Fetched<Hook>,
    /// The newest hundred, newest first.
    pub attempts: Fetched<Vec<DeliveryAttempt>>,
    pub redelivered: Redelivered,
}

/// GitHub's answer, or the finding that it is unknown.
pub(super) fn known<'f, T>(asked: &'f Fetched<T>, what: &str) -> Result<&'f T, Finding> {
    asked.as_ref().map_err(|reason| Finding::unknown(what, reason))
}

/// The outcome of the newest webhook's redelivery.
pub(super) enum Redelivered {
    NotAsked,
    Answered(u16),
    NotSeen,
    Refused(String),
}

pub(super) type Permissions = BTreeMap<String, Access>;

/// `GET /app` (<https://docs.github.com/en/rest/apps/apps#get-the-authenticated-app>).
#[derive(Deserialize)]
pub(super) struct App {
    pub id: AppId,
    pub slug: String,
    pub owner: Account,
    pub permissions: Permissions,
    pub events: Vec<String>,
    pub html_url: String,
}

/// `GET /meta` (<https://docs.github.com/en/enterprise-server@latest/rest/meta/meta>).
#[derive(Deserialize)]
struct Meta {
    installed_version: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Account {
    pub login: Login,
    #[serde(rename = "type")]
    pub kind: String,
}

#[derive(Deserialize)]
pub(super) struct Installation {
    pub account: Account,
    pub html_url: String,
    pub suspended_at: Option<String>,
    pub permissions: Permissions,
}

/// `GET /app/hook/config` (<https://docs.github.com/en/rest/apps/webhooks>).
#[derive(Deserialize)]
pub(super) struct Hook {
    #[serde(default)]
    pub url: String,
    #[serde(default)]
    pub content_type: String,
}

pub(super) struct RepositoryFacts {
    pub name: RepoName,
    pub app: App,
    pub configuration: Fetched<CheckedConfiguration>,
    pub required: Fetched<Vec<RequiredCheck>>,
    pub branch: String,
    /// The repository that this one is a mirror of.
    pub mirror_of: Option<String>,
    pub rulesets: Fetched<Vec<Ruleset>>,
}

/// `GET /repos/{owner}/{repo}/rulesets` (<https://docs.github.com/en/rest/repos/rules#get-all-repository-rulesets>).
#[derive(Deserialize)]
pub(super) struct Ruleset {
    pub name: String,
    pub target: Option<String>,
    pub enforcement: String,
    /// `always` and `exempt` where the rules do not concern us.
    pub current_user_can_bypass: Option<String>,
}

impl App {
    /// The App's own settings page, or a page below it.
    pub fn settings(&self, below: &str) -> String {
        // `html_url` is the App's public page, on the same host.
        let web = self.html_url.split_once("/apps/").map_or(self.html_url.as_str(), |(web, _)| web);
        match self.owner.kind.as_str() {
            "Organization" => format!("{web}/organizations/{}/settings/apps/{}{below}", self.owner.login, self.slug),
            _ => format!("{web}/settings/apps/{}{below}", self.slug),
        }
    }

    /// Where it is installed on further accounts.
    pub fn installation_page(&self) -> String {
        format!("{}/installations/new", self.html_url)
    }
}

impl Reached {
    pub async fn of(github: &Github) -> Self {
        let app = github.client(None).fetch("/app").await;
        Self { key: github.key_is_taken(), clock: github.clock_is_right(), app }
    }
}

impl Facts {
    pub async fn of(github: &Github, expected: &Expected, app: App) -> Self {
        let client = github.client(None);
        let (version, installations, requests, hook, attempts) = futures::join!(
            client.fetch::<Meta>("/meta"),
            client.fetch("/app/installations?per_page=100"),
            registration::requests(&client),
            client.fetch("/app/hook/config"),
            client.fetch::<Vec<DeliveryAttempt>>("/app/hook/deliveries?per_page=100"),
        );
        let redelivered = match attempts.as_deref() {
            Ok([newest, ..]) if expected.arrives == Arrives::Answered => redeliver(&client, newest).await,
            _ => Redelivered::NotAsked,
        };
        Self {
            expected: expected.clone(),
            app,
            version: said(version.or_absent()).map(|meta| meta?.installed_version),
            installations: said(installations),
            requests: said(requests),
            hook: said(hook),
            attempts: said(attempts),
            redelivered,
        }
    }
}

fn said<T>(answer: Result<T, Error>) -> Fetched<T> {
    answer.map_err(|error| error.to_string())
}

/// An attempt, and whether it has ended.
#[derive(Deserialize)]
struct Shown {
    #[serde(flatten)]
    attempt: DeliveryAttempt,
    status: String,
}

/// Asks for the newest delivery again, which changes nothing where it had arrived, and looks how that is answered.
async fn redeliver(client: &Client, newest: &DeliveryAttempt) -> Redelivered {
    if let Err(error) = client.redeliver(newest.id).await {
        return Redelivered::Refused(error.to_string());
    }
    let until = tokio::time::Instant::now() + SHOWS_WITHIN.to_std().unwrap_or_default();
    loop {
        let log = client.fetch::<Vec<Shown>>("/app/hook/deliveries?per_page=30").await.unwrap_or_default();
        let is_again =
            |it: &&Shown| it.attempt.guid == newest.guid && it.attempt.id > newest.id && it.status != "pending";
        if let Some(again) = log.iter().find(is_again) {
            return Redelivered::Answered(again.attempt.status_code);
        }
        if tokio::time::Instant::now() > until {
            return Redelivered::NotSeen;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

impl RepositoryFacts {
    /// # Errors
    /// Why the App does not see the repository.
    pub async fn of(github: &Github, name: &RepoName, app: App) -> Result<Self, Finding> {
        let installation = said(github.client(None).installation_of(name).await);
        let Some(id) = *known(&installation, "whether the App sees the repository")? else {
            let message = format!("the App does not see {name}");
            let remedy = "install it on the account, or add the repository to those that the installation may see";
            return Err(Finding::fault(message, remedy).at(app.installation_page()));
        };
        let client = github.client(Some(id));
        let repo = client.repo(name);
        let configuration = said(Observer::new(github.clone()).check_configuration(repo, None).await);
        let (branch, mirror_of, required) = match said(required(repo).await) {
            Ok((Repository { default_branch, mirror_url, .. }, required)) => (default_branch, mirror_url, Ok(required)),
            Err(reason) => (String::new(), None, Err(reason)),
        };
        let rulesets = said(repo.fetch(&repo.path("rulesets?per_page=100")).await);
        Ok(Self { name: name.clone(), app, configuration, required, branch, mirror_of, rulesets })
    }
}

#[derive(Deserialize)]
struct Branch {
    protection: Option<Protection>,
}

#[derive(Deserialize)]
struct Protection {
    required_status_checks: Option<Classic>,
}

#[derive(Deserialize)]
struct Classic {
    #[serde(default)]
    checks: Vec<RequiredCheck>,
}

/// The repository, and the checks that its default branch requires: by rulesets, and by classic protection, which the branch itself
/// contains (<https://docs.github.com/en/rest/branches/branches#get-a-branch>).
async fn required(repo: Repo<'_>) -> Result<(Repository, Vec<RequiredCheck>), Error> {
    let repository = repo.get::<Repository>(&repo.root()).await?;
    let escaped = path::escape_path(&repository.default_branch);
    let rules = repo.fetch::<Vec<BranchRule>>(&repo.path(format!("rules/branches/{escaped}?per_page=100"))).await?;
    let by_rules = rules.into_iter().filter(|rule| rule.kind == "required_status_checks");
    let mut required: Vec<_> = by_rules.flat_map(|rule| rule.parameters.required_status_checks).collect();
    let branch_itself = repo.fetch::<Branch>(&repo.path(format!("branches/{escaped}"))).await.or_absent()?;
    let classic = branch_itself.and_then(|branch| branch.protection?.required_status_checks);
    required.extend(classic.into_iter().flat_map(|classic| classic.checks));
    Ok((repository, required))
}
