//! Registering an App from a manifest, and installing it, as people do it on GitHub's pages.
//!
//! From <https://docs.github.com/en/apps/sharing-github-apps/registering-a-github-app-from-a-manifest>. The words of a
//! refused manifest are those that GitHub's page shows.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;
use serde::Deserialize;
use url::Url;

use super::apps::NewApp;
use crate::{
    key::AppKey,
    refused::Refused,
    world::{
        World,
        app::{
            Actor, Area, InstallationRequest, Level, Permissions, Registered, Selection, Webhook,
        },
    },
};
use loopgate_core::{AppId, InstallationId, UserId};

/// The code of a registration is good for this long.
const CODE_LIFE: TimeDelta = TimeDelta::hours(1);

/// GitHub takes no longer names of Apps.
const LONGEST_NAME: usize = 34;

/// Apps registered in this world count from here.
const FIRST_APP: u64 = 1_000_001;
const FIRST_INSTALLATION: u64 = 70_001;

/// What each event takes one of
/// (<https://docs.github.com/en/webhooks/webhook-events-and-payloads>).
const NEEDED_BY_EVENT: [(&str, &[Area]); 16] = [
    ("check_run", &[Area::Checks]),
    ("check_suite", &[Area::Checks]),
    ("issue_comment", &[Area::Issues, Area::PullRequests]),
    ("member", &[Area::Members]),
    ("membership", &[Area::Members]),
    ("merge_group", &[Area::MergeQueues]),
    ("organization", &[Area::Members]),
    ("pull_request", &[Area::PullRequests]),
    ("pull_request_review", &[Area::PullRequests]),
    ("pull_request_review_comment", &[Area::PullRequests]),
    ("pull_request_review_thread", &[Area::PullRequests]),
    ("push", &[Area::Contents]),
    ("repository", &[Area::Metadata]),
    ("status", &[Area::Statuses]),
    ("team", &[Area::Members]),
    ("workflow_run", &[Area::Actions]),
];

/// What came of pressing *Install*.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installing {
    Installed(InstallationId),
    Requested,
}

#[derive(Deserialize)]
struct Manifest {
    name: Option<String>,
    url: Option<String>,
    hook_attributes: Option<Hook>,
    redirect_url: Option<String>,
    #[serde(default)]
    public: bool,
    #[serde(default)]
    default_events: BTreeSet<String>,
    #[serde(default)]
    default_permissions: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Hook {
    url: Option<String>,
    #[serde(default = "yes")]
    active: bool,
}

const fn yes() -> bool {
    true
}

/// A manifest that GitHub takes.
struct Accepted {
    name: String,
    redirect: Url,
    webhook: Option<String>,
    is_public: bool,
    permissions: Permissions,
    events: BTreeSet<String>,
}

fn invalid(error: impl Into<String>) -> Refused {
    Refused::unprocessable("The configuration does not appear to be a valid GitHub App manifest.")
        .error(error.into())
}

impl Manifest {
    fn check(self) -> Result<Accepted, Refused> {
        let missing = || invalid("\"url\" wasn't supplied.");
        let is_url = |text: &str| {
            text.parse::<Url>()
                .is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
        };
        self.url.filter(|url| is_url(url)).ok_or_else(missing)?;
        // Also where the hook is not active.
        let hook = self
            .hook_attributes
            .map(|hook| hook.url.map(|url| (url, hook.active)).ok_or_else(missing));
        let hook = hook.transpose()?;
        if let Some((url, _)) = &hook {
            let host = url
                .parse::<Url>()
                .ok()
                .and_then(|url| url.host_str().map(str::to_owned));
            match host.as_deref() {
                None => return Err(invalid("Hook url must be a valid URL")),
                // The simulator itself is on 127.0.0.1, so what is there counts as reachable.
                Some("localhost") => {
                    let error = "Hook url is not supported because it isn't reachable over the public Internet";
                    return Err(invalid(format!("{error} (localhost)")));
                }
                Some(_) => {}
            }
        }
        let redirect = self.redirect_url.and_then(|url| url.parse().ok());
        let permissions = self.default_permissions.iter().map(|(area, level)| {
            let known = Area::parse(area).zip(Level::parse(level));
            known.ok_or_else(|| {
                invalid(format!(
                    "Default permission records resource is not included in the list: {area}"
                ))
            })
        });
        let permissions = permissions.collect::<Result<Permissions, _>>()?;
        check_events(&self.default_events, &permissions)?;
        Ok(Accepted {
            name: self.name.unwrap_or_default(),
            redirect: redirect.ok_or_else(|| invalid("\"redirect_url\" must be a valid URL"))?,
            webhook: hook.filter(|(_, active)| *active).map(|(url, _)| url),
            is_public: self.public,
            permissions,
            events: self.default_events,
        })
    }
}

fn check_events(events: &BTreeSet<String>, permissions: &Permissions) -> Result<(), Refused> {
    let named = |events: Vec<&str>| events.join(" and ");
    let areas = |event: &str| {
        NEEDED_BY_EVENT
            .iter()
            .find(|(known, _)| *known == event)
            .map(|(_, areas)| *areas)
    };
    // These reach every App without being asked for.
    let unsupported: Vec<_> = events
        .iter()
        .map(String::as_str)
        .filter(|event| areas(event).is_none())
        .collect();
    if !unsupported.is_empty() {
        return Err(invalid(format!(
            "Default events unsupported: {}",
            named(unsupported)
        )));
    }
    let granted = |area: &Area| *area == Area::Metadata || permissions.contains_key(area);
    let lacking = events
        .iter()
        .map(String::as_str)
        .filter(|event| !areas(event).into_iter().flatten().any(granted));
    let lacking: Vec<_> = lacking.collect();
    if lacking.is_empty() {
        return Ok(());
    }
    Err(invalid(format!(
        "Default events are not supported by permissions: {}",
        named(lacking)
    )))
}

impl World {
    /// Takes a manifest on the page of an account, and tells where the browser goes then: back, with a code.
    pub fn register_from_manifest(
        &mut self,
        person: UserId,
        owner: UserId,
        manifest: &str,
        state: Option<&str>,
    ) -> Result<String, Refused> {
        if owner != person && !self.is_org_owner(person, owner) {
            return Err(Refused::not_found());
        }
        let manifest: Manifest =
            serde_json::from_str(manifest).map_err(|error| invalid(error.to_string()))?;
        let Accepted {
            name,
            redirect,
            webhook,
            is_public,
            permissions,
            events,
        } = manifest.check()?;
        if name.chars().count() > LONGEST_NAME {
            return Err(invalid(format!(
                "Name is too long (maximum is {LONGEST_NAME} characters)"
            )));
        }
        let slug = name
            .to_lowercase()
            .replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
        if name.is_empty() || self.apps.values().any(|app| app.slug == slug) {
            return Err(invalid("Name has already been taken"));
        }
        let key = AppKey::generate().map_err(|error| invalid(error.to_string()))?;
        let next = self
            .apps
            .keys()
            .map(|id| id.get() + 1)
            .max()
            .unwrap_or_default()
            .max(FIRST_APP);
        let public_key = Some(key.public_der().clone());
        let app = self.register_app(NewApp {
            id: AppId::new(next),
            slug,
            name,
            owner,
            permissions,
            events,
            public_key,
        })?;
        let webhook_secret = self.sequence.token("");
        if let Some(app) = self.apps.get_mut(&app) {
            app.is_public = is_public;
            app.webhook = webhook.map(|url| Webhook {
                url,
                secret: webhook_secret.clone(),
            });
        }
        let code = self.sequence.token("");
        let (at, pem) = (self.now(), key.private_pem().to_owned());
        let registered = Registered {
            app,
            pem,
            webhook_secret,
            at,
        };
        self.registrations.codes.insert(code.clone(), registered);
        // GitHub tells a new hook that it is there.
        self.ping(app);
        let mut back = redirect;
        back.query_pairs_mut()
            .append_pair("code", &code)
            .extend_pairs(state.map(|state| ("state", state)));
        Ok(back.into())
    }

    /// The credentials behind a code: once, and within the hour.
    pub fn convert(&mut self, code: &str) -> Result<Registered, Refused> {
        let now = self.now();
        let found = self
            .registrations
            .codes
            .remove(code)
            .filter(|registered| now - registered.at < CODE_LIFE);
        found.ok_or_else(Refused::not_found)
    }

    /// Somebody presses *Install* for an account. A private App is installed where it is registered only, and a member
    /// who is no owner can but ask for it
    /// (<https://docs.github.com/en/apps/using-github-apps/requesting-a-github-app-from-your-organization-owner>).
    pub fn install_by(
        &mut self,
        person: UserId,
        slug: &str,
        account: UserId,
    ) -> Result<Installing, Refused> {
        let app = self.app_by_slug(slug)?;
        let (app, is_allowed) = (app.id, app.is_public || app.owner == account);
        let is_owner = person == account || self.is_org_owner(person, account);
        if !is_allowed || !(is_owner || self.is_member(person, account)) {
            return Err(Refused::not_found());
        }
        if !is_owner {
            let request = InstallationRequest {
                app,
                account,
                requester: person,
                at: self.now(),
            };
            self.registrations.requests.push(request);
            return Ok(Installing::Requested);
        }
        self.registrations
            .requests
            .retain(|request| (request.app, request.account) != (app, account));
        let next = self
            .installations
            .keys()
            .map(|id| id.get() + 1)
            .max()
            .unwrap_or_default()
            .max(FIRST_INSTALLATION);
        let id = InstallationId::new(next);
        self.install(Actor::Person(person), app, (id, account), Selection::All)?;
        Ok(Installing::Installed(id))
    }
}
