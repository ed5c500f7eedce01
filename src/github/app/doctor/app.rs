//! The App itself: its key, its permissions and events, where it is installed, and whether its webhooks arrive.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde::Deserialize;
use serde_json::Value;

use super::{Expected, Finding, Found, Lookup, Outcome, UNKNOWN_FORM, asked};
use crate::github::{
    app::{
        deliveries::DeliveryAttempt,
        registration::{self, Access, Arrival, NEEDS, Need},
    },
    client::{
        Client, Github,
        error::{Error, OrAbsent as _, Result},
        wire::Holder,
    },
};
use loopgate_core::AppId;

type Permissions = BTreeMap<String, Access>;

type Attempts = Lookup<Vec<DeliveryAttempt>>;

/// `GET /app` (<https://docs.github.com/en/rest/apps/apps#get-the-authenticated-app>).
#[derive(Deserialize)]
pub(super) struct AppSettings {
    pub id: AppId,
    pub slug: String,
    owner: Holder,
    permissions: Permissions,
    events: Vec<String>,
    html_url: String,
}

/// An entry of `GET /app/installations`.
#[derive(Deserialize)]
pub(super) struct AppInstallation {
    /// None where GitHub does not name it.
    account: Option<Holder>,
    html_url: String,
    suspended_at: Option<String>,
    permissions: Permissions,
}

impl AppSettings {
    /// The App's own settings page, or a page below it.
    pub fn settings(&self, below: &str) -> String {
        // `html_url` is the App's public page, on the same host.
        let web = self
            .html_url
            .split_once("/apps/")
            .map_or(self.html_url.as_str(), |(web, _)| web);
        let of = match &self.owner {
            Holder::Person(_) => String::new(),
            Holder::Organisation(login) => format!("/organizations/{login}"),
            Holder::Enterprise(slug) => format!("/enterprises/{slug}"),
        };
        format!("{web}{of}/settings/apps/{}{below}", self.slug)
    }

    /// Where it is installed on further accounts.
    pub fn installation_page(&self) -> String {
        format!("{}/installations/new", self.html_url)
    }
}

impl AppInstallation {
    fn account(&self) -> String {
        match &self.account {
            Some(account) => account.to_string(),
            None => "an account that GitHub does not name".to_owned(),
        }
    }

    /// An enterprise has no repositories of its own, and grants nothing that is needed there.
    const fn has_repositories(&self) -> bool {
        !matches!(self.account, Some(Holder::Enterprise(_)))
    }
}

pub(super) fn clock(github: &Github) -> Found {
    let wrong = |problem| Finding::fault(problem, "set the clock, and let it be kept by NTP");
    github.clock_is_right().map(|()| Vec::new()).map_err(wrong)
}

pub(super) fn reached(github: &Github, app: &Result<AppSettings>) -> Found {
    let Err(error) = app else {
        return Ok(Vec::new());
    };
    let is_away = error.is_outage() || error.is_wait();
    let remedy = match error {
        Error::Unreadable { .. } => UNKNOWN_FORM,
        _ if is_away => {
            "see whether this machine reaches GitHub (a proxy, a firewall, LOOPGATE_GITHUB_API_URL), and githubstatus.com"
        }
        Error::NotFound { .. } => "LOOPGATE_APP_ID or LOOPGATE_GITHUB_API_URL names another place",
        _ => {
            "the key belongs to another App or was deleted: check LOOPGATE_APP_ID, and generate a key on the App's settings \
             page (Private keys)"
        }
    };
    let message = github
        .key_is_taken()
        .err()
        .filter(|_| !is_away)
        .unwrap_or_else(|| error.to_string());
    Err(Finding::fault(message, remedy))
}

/// The oldest version of GitHub Enterprise Server that is made for.
const OLDEST_SERVER: [u32; 2] = [3, 18];

/// The version of a GitHub Enterprise Server, by `GET /meta`
/// (<https://docs.github.com/en/enterprise-server@latest/rest/meta/meta>).
pub(super) async fn version(client: &Client) -> Found {
    let meta = asked(
        "which version it is",
        client.fetch::<Value>("/meta").await.or_absent(),
    )?
    .unwrap_or_default();
    let Some(version) = meta["installed_version"].as_str() else {
        return Ok(Vec::new());
    };
    let numbers: Vec<u32> = version
        .split('.')
        .map_while(|part| part.parse().ok())
        .take(2)
        .collect();
    let is_old = numbers.as_slice() < OLDEST_SERVER.as_slice();
    let message = format!(
        "GitHub Enterprise Server {version} is older than 3.18, and nothing is tried with that"
    );
    Ok(is_old
        .then(|| Finding::warning(message, "upgrade it to 3.18 or newer"))
        .into_iter()
        .collect())
}

/// What is granted less than needed.
fn lacking(granted: &Permissions) -> impl Iterator<Item = &'static Need> {
    NEEDS.iter().filter(|need| {
        granted
            .get(need.permission)
            .is_none_or(|access| *access < need.access)
    })
}

fn named(need: &Need) -> String {
    let access = match need.access {
        Access::Read => "read",
        Access::Write | Access::Admin => "read and write",
    };
    format!("{}: {access}", need.name)
}

pub(super) fn permissions(app: &AppSettings) -> Found {
    let found = lacking(&app.permissions).map(|need| {
        let message = format!("the App does not ask for {}: {}", named(need), need.without);
        let remedy = format!("choose {} on the App's settings page", named(need));
        Finding::fault(message, remedy).at(app.settings("/permissions"))
    });
    Ok(found.collect())
}

pub(super) fn events(app: &AppSettings) -> Found {
    let needed = NEEDS.iter().flat_map(|need| need.events);
    let missing: Vec<_> = needed
        .copied()
        .filter(|event| !app.events.iter().any(|known| known == event))
        .collect();
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    let message = format!("the App does not hear of: {}", missing.join(", "));
    let remedy = "tick these under Subscribe to events, on the App's settings page";
    Err(Finding::fault(message, remedy).at(app.settings("/permissions")))
}

pub(super) fn installations(
    app: &AppSettings,
    installations: &Lookup<Vec<AppInstallation>>,
) -> Found {
    let installations = installations.as_ref().map_err(Clone::clone)?;
    if !installations.iter().any(AppInstallation::has_repositories) {
        let message = if installations.is_empty() {
            "the App is installed nowhere"
        } else {
            "the App is installed on an enterprise alone, which has no repositories"
        };
        let finding = Finding::fault(message, "install it on your repositories");
        return Err(finding.at(app.installation_page()));
    }
    let suspended = installations.iter().filter(|it| it.suspended_at.is_some());
    let found = suspended.map(|it| {
        let message = format!(
            "the installation on {} is suspended: nothing happens there",
            it.account()
        );
        Finding::fault(message, "end the suspension on the installation's page")
            .at(it.html_url.as_str())
    });
    Ok(found.collect())
}

/// Permissions that the App asks for and an account has not accepted yet.
pub(super) fn accepted(app: &AppSettings, installations: &Lookup<Vec<AppInstallation>>) -> Found {
    let installations = installations.as_ref().map_err(Clone::clone)?;
    let concerned = installations.iter().filter(|it| it.has_repositories());
    Ok(concerned.filter_map(|it| not_accepted(app, it)).collect())
}

fn not_accepted(app: &AppSettings, installation: &AppInstallation) -> Option<Finding> {
    // A person has no members.
    let has_members = matches!(installation.account, Some(Holder::Organisation(_)));
    let asked = lacking(&installation.permissions)
        .filter(|need| app.permissions.contains_key(need.permission))
        .filter(|need| has_members || need.permission != "members");
    let asked: Vec<_> = asked.map(named).collect();
    let message = format!(
        "{} has not accepted what the App asks for by now: {}",
        installation.account(),
        asked.join(", ")
    );
    let remedy = "an owner of the account accepts it there (Review request)";
    let finding = Finding::fault(message, remedy).at(installation.html_url.as_str());
    (!asked.is_empty()).then_some(finding)
}

pub(super) async fn requests(client: &Client) -> Found {
    let requests = asked(
        "who asked for the App",
        registration::requests(client).await,
    )?;
    let found = requests.iter().map(|(who, account)| {
        let message = format!("{who} has asked for the App on {account}, and could not install it");
        Finding::warning(
            message,
            format!("an owner of {account} accepts or declines it under Settings, GitHub Apps"),
        )
    });
    Ok(found.collect())
}

/// Without a key nothing is wrong, but people who look for a statement must know why there is none.
pub(super) fn signing(expected: &Expected) -> Found {
    match &expected.signer {
        Some(signer) if signer.can_sign() => Ok(Vec::new()),
        Some(_) => Err(Finding::warning(
            "LOOPGATE_SIGNING_KEY holds no private key any more: nothing is signed, and old statements can be checked",
            "put the private key back, or a new one in front of the public keys",
        )),
        None => Err(Finding::new(
            Outcome::Healthy,
            "no statements about merges are signed: LOOPGATE_SIGNING_KEY is not set",
            "to have them, make a key with `openssl genpkey -algorithm ed25519`",
        )),
    }
}

/// How long a delivery that is asked for again may take to show in the log.
const SHOWS_WITHIN: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// By `GET /app/hook/config` (<https://docs.github.com/en/rest/apps/webhooks>).
pub(super) async fn address(client: &Client, expected: &Expected, app: &AppSettings) -> Found {
    let hook = asked(
        "where webhooks go",
        client.fetch::<Value>("/app/hook/config").await,
    )?;
    let (url, content_type) = (
        hook["url"].as_str().unwrap_or_default(),
        hook["content_type"].as_str().unwrap_or_default(),
    );
    let mut found = Vec::new();
    match (expected.arrival.as_ref().map(Arrival::hook), url) {
        (_, "") => found.push(Finding::fault(
            "the App has no webhook: no event reaches it",
            "set the webhook URL on the App's settings page, and tick Active",
        )),
        (Some(expected), actual) if expected != actual => found.push(Finding::fault(
            format!("webhooks go to {actual}, and this server is at {expected}"),
            format!("set the webhook URL to {expected} on the App's settings page, or correct LOOPGATE_PUBLIC_URL"),
        )),
        _ => {}
    }
    if !matches!(content_type, "json" | "") {
        found.push(Finding::fault(
            format!("webhooks are sent as `{content_type}`, which is refused"),
            "set the webhook's content type to application/json on the App's settings page",
        ));
    }
    Ok(found
        .into_iter()
        .map(|finding| finding.at(app.settings("")))
        .collect())
}

/// What an answer other than "accepted" comes of.
fn remedy(status: u16) -> &'static str {
    match status {
        0 => {
            "nothing answers there: start `loopgate serve`, let TLS and the firewall pass it on, and open the address from \
             outside"
        }
        401 | 403 => {
            "the signature is refused: set the webhook's secret on the App's settings page to that of \
             LOOPGATE_WEBHOOK_SECRET"
        }
        404 | 405 => {
            "somebody else answers there, or the path is not /webhook: correct the address, or what stands before it"
        }
        408 | 413 | 415 => {
            "what stands before the server changes or cuts requests: it passes on bodies of 25 MB, unchanged"
        }
        300..=399 => {
            "the address redirects, and GitHub follows no redirect: set the webhook URL to where it leads"
        }
        _ => {
            "the server cannot store what comes, or what stands before it is in trouble: see /readyz on its admin address"
        }
    }
}

fn answered(status: u16) -> String {
    if status == 0 {
        "not answered at all".to_owned()
    } else {
        format!("answered with {status}")
    }
}

pub(super) fn deliveries(attempts: &Attempts, expected: &Expected, app: &AppSettings) -> Found {
    let attempts = attempts.as_ref().map_err(Clone::clone)?;
    let Some(newest) = attempts.first() else {
        let remedy =
            "open a pull request, or deliver the ping again on the App's settings page, Advanced";
        return Err(Finding::new(
            Outcome::Unknown,
            "nothing was delivered in the last three days",
            remedy,
        ));
    };
    if expected.arrival == Some(Arrival::Poll) {
        return Err(read_from_log());
    }
    // What failed first and arrived then is no loss.
    let arrived: BTreeSet<&str> = attempts
        .iter()
        .filter(|it| it.is_accepted())
        .map(|it| it.guid.as_str())
        .collect();
    let failed: Vec<_> = attempts
        .iter()
        .filter(|attempt| !arrived.contains(attempt.guid.as_str()))
        .collect();
    let (failures, all) = (failed.len(), attempts.len());
    match failed.first() {
        None => Ok(Vec::new()),
        Some(failure) if newest.is_accepted() => {
            let message = format!(
                "{failures} of the last {all} deliveries failed, the newest of them {}; later ones arrived",
                answered(failure.status_code)
            );
            let remedy = format!(
                "the server asks for them again by itself. If it goes on: {}",
                remedy(failure.status_code)
            );
            Err(Finding::warning(message, remedy))
        }
        Some(failure) => {
            let message = format!(
                "{failures} of the last {all} deliveries failed: the newest was {}",
                answered(failure.status_code)
            );
            Err(Finding::fault(message, remedy(failure.status_code)).at(app.settings("")))
        }
    }
}

fn read_from_log() -> Finding {
    Finding::new(
        Outcome::Healthy,
        "no webhook is meant to arrive: GitHub's log of them is read",
        "",
    )
}

/// Asks for the newest delivery again, which changes nothing where it had arrived, and looks how that is answered.
pub(super) async fn redelivery(
    client: &Client,
    attempts: &Attempts,
    expected: &Expected,
    app: &AppSettings,
) -> Found {
    let unknown = |message, remedy| Err(Finding::new(Outcome::Unknown, message, remedy));
    if expected.arrival == Some(Arrival::Poll) {
        return Err(read_from_log());
    }
    let Ok([newest, ..]) = attempts.as_deref() else {
        return unknown("there is nothing that could be delivered again", "");
    };
    asked(
        "whether a delivery arrives",
        client.redeliver(newest.id).await,
    )?;
    let until = tokio::time::Instant::now() + SHOWS_WITHIN;
    loop {
        let log = client
            .fetch::<Vec<Value>>("/app/hook/deliveries?per_page=30")
            .await
            .unwrap_or_default();
        let ended = log.into_iter().filter(|it| it["status"] != "pending");
        let mut ended = ended.filter_map(|it| DeliveryAttempt::deserialize(it).ok());
        match ended.find(|it| it.guid == newest.guid && it.id > newest.id) {
            Some(again) if again.is_accepted() => return Ok(Vec::new()),
            Some(DeliveryAttempt {
                status_code: status,
                ..
            }) => {
                let message = format!(
                    "the newest delivery was sent again, and was {}",
                    answered(status)
                );
                return Err(Finding::fault(message, remedy(status)).at(app.settings("")));
            }
            None if tokio::time::Instant::now() > until => {
                let message =
                    "the newest delivery was asked for again, and its log shows nothing yet";
                return unknown(message, "look again in some minutes");
            }
            None => tokio::time::sleep(LOOK_EVERY).await,
        }
    }
}
