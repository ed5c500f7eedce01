//! The App itself: its key, its permissions and events, where it is installed.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{Expected, Finding, Found, Outcome, asked};
use crate::github::{
    Client, Error, ErrorKind, Github,
    error::OrAbsent as _,
    registration::{self, Access, NEEDS, Need},
};
use loopgate_core::{AppId, Login};

type Permissions = BTreeMap<String, Access>;

/// `GET /app` (<https://docs.github.com/en/rest/apps/apps#get-the-authenticated-app>).
#[derive(Deserialize)]
pub(super) struct App {
    pub id: AppId,
    pub slug: String,
    owner: Account,
    permissions: Permissions,
    events: Vec<String>,
    html_url: String,
}

#[derive(Deserialize)]
struct Account {
    login: Login,
    #[serde(rename = "type")]
    kind: String,
}

/// An entry of `GET /app/installations`.
#[derive(Deserialize)]
pub(super) struct Installation {
    account: Account,
    html_url: String,
    suspended_at: Option<String>,
    permissions: Permissions,
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

pub(super) fn clock(github: &Github) -> Found {
    let wrong = |said| Finding::fault(said, "set the clock, and let it be kept by NTP");
    github.clock_is_right().map(|()| Vec::new()).map_err(wrong)
}

pub(super) fn reached(github: &Github, app: &Result<App, Error>) -> Found {
    let Err(error) = app else { return Ok(Vec::new()) };
    let is_away = matches!(error.kind(), ErrorKind::Outage { .. } | ErrorKind::Wait { .. });
    let remedy = match error {
        _ if is_away => {
            "see whether this machine reaches GitHub (a proxy, a firewall, LOOPGATE_GITHUB_API_URL), and githubstatus.com"
        }
        Error::NotFound { .. } => "LOOPGATE_APP_ID or LOOPGATE_GITHUB_API_URL names another place",
        _ => {
            "the key belongs to another App or was deleted: check LOOPGATE_APP_ID, and generate a key on the App's settings \
             page (Private keys)"
        }
    };
    let message = github.key_is_taken().err().filter(|_| !is_away).unwrap_or_else(|| error.to_string());
    Err(Finding::fault(message, remedy))
}

/// The oldest version of GitHub Enterprise Server that is made for.
const OLDEST_SERVER: [u32; 2] = [3, 18];

/// The version of a GitHub Enterprise Server, by `GET /meta`
/// (<https://docs.github.com/en/enterprise-server@latest/rest/meta/meta>).
pub(super) async fn version(client: &Client) -> Found {
    let meta = asked("which version it is", client.fetch::<Value>("/meta").await.or_absent())?.unwrap_or_default();
    let Some(version) = meta["installed_version"].as_str() else { return Ok(Vec::new()) };
    let numbers: Vec<u32> = version.split('.').map_while(|part| part.parse().ok()).take(2).collect();
    let is_old = numbers.as_slice() < OLDEST_SERVER.as_slice();
    let message = format!("GitHub Enterprise Server {version} is older than 3.18, and nothing is tried with that");
    Ok(is_old.then(|| Finding::warning(message, "upgrade it to 3.18 or newer")).into_iter().collect())
}

/// What is granted less than needed.
fn lacking(granted: &Permissions) -> impl Iterator<Item = &'static Need> {
    NEEDS.iter().filter(|need| granted.get(need.permission).is_none_or(|access| *access < need.access))
}

fn named(need: &Need) -> String {
    let access = match need.access {
        Access::Read => "read",
        Access::Write | Access::Admin => "read and write",
    };
    format!("{}: {access}", need.name)
}

pub(super) fn permissions(app: &App) -> Found {
    let found = lacking(&app.permissions).map(|need| {
        let message = format!("the App does not ask for {}: {}", named(need), need.without);
        let remedy = format!("choose {} on the App's settings page", named(need));
        Finding::fault(message, remedy).at(app.settings("/permissions"))
    });
    Ok(found.collect())
}

pub(super) fn events(app: &App) -> Found {
    let needed = NEEDS.iter().flat_map(|need| need.events);
    let missing: Vec<_> = needed.copied().filter(|event| !app.events.iter().any(|known| known == event)).collect();
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    let message = format!("the App does not hear of: {}", missing.join(", "));
    let remedy = "tick these under Subscribe to events, on the App's settings page";
    Err(Finding::fault(message, remedy).at(app.settings("/permissions")))
}

pub(super) fn installations(app: &App, installations: &Result<Vec<Installation>, Finding>) -> Found {
    let installations = installations.as_ref().map_err(Clone::clone)?;
    if installations.is_empty() {
        let finding = Finding::fault("the App is installed nowhere", "install it on your repositories");
        return Err(finding.at(app.installation_page()));
    }
    let suspended = installations.iter().filter(|it| it.suspended_at.is_some());
    let found = suspended.map(|it| {
        let message = format!("the installation on {} is suspended: nothing happens there", it.account.login);
        Finding::fault(message, "end the suspension on the installation's page").at(it.html_url.as_str())
    });
    Ok(found.collect())
}

/// Permissions that the App asks for and an account has not accepted yet.
pub(super) fn accepted(app: &App, installations: &Result<Vec<Installation>, Finding>) -> Found {
    let pending = installations.iter().flatten().filter_map(|it| {
        let asked = lacking(&it.permissions).filter(|need| app.permissions.contains_key(need.permission));
        // A person has no members.
        let asked = asked.filter(|need| need.permission != "members" || it.account.kind == "Organization");
        let asked: Vec<_> = asked.map(named).collect();
        let message =
            format!("{} has not accepted what the App asks for by now: {}", it.account.login, asked.join(", "));
        let remedy = "an owner of the account accepts it there (Review request)";
        (!asked.is_empty()).then(|| Finding::fault(message, remedy).at(it.html_url.as_str()))
    });
    Ok(pending.collect())
}

pub(super) async fn requests(client: &Client) -> Found {
    let requests = asked("who asked for the App", registration::requests(client).await)?;
    let found = requests.iter().map(|(who, account)| {
        let message = format!("{who} has asked for the App on {account}, and could not install it");
        Finding::warning(message, format!("an owner of {account} accepts or declines it under Settings, GitHub Apps"))
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
