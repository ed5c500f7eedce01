//! What an App is registered as: the document that GitHub's page takes
//! (<https://docs.github.com/en/apps/sharing-github-apps/registering-a-github-app-from-a-manifest>).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use url::Url;

use super::needs::NEEDS;
use crate::github::client::{error::Result, transport::ApiUrl};
use loopgate_core::Login;

/// GitHub takes no longer names of Apps.
const LONGEST_NAME: usize = 34;

/// Where webhooks go that are read from the log of deliveries. Nothing is ever there (RFC 6761), and the hook is
/// active, since only then is anything logged.
const NOWHERE: &str = "https://loopgate.invalid/webhook";

/// Who will own the App. A private App can be installed on its owner's account only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// The person who presses the button.
    Person,
    Organization(Login),
}

/// How webhooks reach the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrival {
    /// At this address, `/webhook` below it.
    Public(Url),
    /// Through a channel that the server listens to.
    Proxy(Url),
    /// Not at all: the server reads GitHub's log of failed deliveries.
    Poll,
}

impl Arrival {
    /// By a server's settings: a channel counts before the log, and that before an address of its own.
    pub fn of(public_url: Option<Url>, webhook_proxy: Option<Url>, polls: bool) -> Option<Self> {
        match (webhook_proxy, polls) {
            (Some(proxy), _) => Some(Self::Proxy(proxy)),
            (None, true) => Some(Self::Poll),
            (None, false) => public_url.map(Self::Public),
        }
    }

    /// The variable of `loopgate serve` for it, and its value.
    pub(super) fn variable(&self) -> (&'static str, String) {
        match self {
            Self::Public(url) => ("LOOPGATE_PUBLIC_URL", url.to_string()),
            Self::Proxy(url) => ("LOOPGATE_WEBHOOK_PROXY", url.to_string()),
            Self::Poll => ("LOOPGATE_POLL", "on".to_owned()),
        }
    }

    /// The address that the App's webhook has.
    pub fn hook(&self) -> String {
        match self {
            Self::Public(url) => format!("{}/webhook", url.as_str().trim_end_matches('/')),
            Self::Proxy(url) => url.to_string(),
            Self::Poll => NOWHERE.to_owned(),
        }
    }
}

/// The App that is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppWish {
    pub name: String,
    pub owner: Owner,
    /// `https://github.com`, or a GitHub Enterprise Server.
    pub web_url: Url,
    pub arrival: Arrival,
}

impl AppWish {
    /// # Errors
    /// What GitHub would refuse, in a sentence.
    pub fn checked(self) -> Result<Self, String> {
        if self.name.is_empty() || self.name.chars().count() > LONGEST_NAME {
            return Err(format!("the App's name has 1 to {LONGEST_NAME} characters"));
        }
        match &self.arrival {
            Arrival::Public(url) | Arrival::Proxy(url) if url.host_str() == Some("localhost") => {
                Err("GitHub delivers no webhooks to localhost: give an address it can reach, or --poll".to_owned())
            }
            _ => Ok(self),
        }
    }

    /// Where GitHub's API is, by where its pages are
    /// (<https://docs.github.com/en/enterprise-cloud@latest/rest/using-the-rest-api/getting-started-with-the-rest-api>).
    ///
    /// # Errors
    /// [`Error::Setup`](crate::github::client::error::Error::Setup) where the address has no host.
    pub fn api_url(&self) -> Result<ApiUrl> {
        let web = self.web_url.as_str().trim_end_matches('/');
        match self.web_url.host_str() {
            Some("github.com") => Ok(ApiUrl::default()),
            Some(host) if host.ends_with(".ghe.com") => {
                ApiUrl::parse(&format!("https://api.{host}"))
            }
            _ => ApiUrl::parse(&format!("{web}/api/v3")),
        }
    }

    /// Where the form with the manifest is sent to.
    pub fn form_address(&self, state: &str) -> String {
        let page = match &self.owner {
            Owner::Person => "settings/apps/new".to_owned(),
            Owner::Organization(login) => format!("organizations/{login}/settings/apps/new"),
        };
        format!(
            "{}/{page}?state={state}",
            self.web_url.as_str().trim_end_matches('/')
        )
    }

    /// The manifest; GitHub sends the browser back to `redirect`.
    pub fn manifest(&self, redirect: &str) -> Value {
        let permissions: Map<_, _> = NEEDS
            .iter()
            .map(|need| (need.permission.to_owned(), need.access.as_str().into()))
            .collect();
        let events: Vec<_> = NEEDS.iter().flat_map(|need| need.events).collect();
        let home = match &self.arrival {
            Arrival::Public(url) => url,
            Arrival::Proxy(_) | Arrival::Poll => &self.web_url,
        };
        // People sign in with GitHub where they reach the server.
        let callbacks: Vec<_> = match &self.arrival {
            Arrival::Public(url) => vec![super::callback(url)],
            Arrival::Proxy(_) | Arrival::Poll => Vec::new(),
        };
        json!({
            "callback_urls": callbacks,
            "name": self.name, "url": home, "redirect_url": redirect, "public": false,
            "description": "Closes the loop on pull requests: proceed, retry with feedback, or escalate to a human.",
            "hook_attributes": { "url": self.arrival.hook(), "active": true },
            "default_permissions": permissions, "default_events": events,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(web_url: &str, owner: Owner, arrival: Arrival) -> AppWish {
        AppWish {
            name: "Loopgate acme".into(),
            owner,
            web_url: web_url.parse().unwrap(),
            arrival,
        }
    }

    #[test]
    fn pages_and_api_belong_together() {
        let acme = || Owner::Organization("acme".parse().unwrap());
        for (web, owner, page, api) in [
            (
                "https://github.com",
                Owner::Person,
                "https://github.com/settings/apps/new?state=s",
                "https://api.github.com",
            ),
            (
                "https://github.acme.test/",
                acme(),
                "https://github.acme.test/organizations/acme/settings/apps/new?state=s",
                "https://github.acme.test/api/v3",
            ),
            (
                "https://acme.ghe.com",
                acme(),
                "https://acme.ghe.com/organizations/acme/settings/apps/new?state=s",
                "https://api.acme.ghe.com",
            ),
        ] {
            let wish = wish(web, owner, Arrival::Poll);
            assert_eq!(
                (
                    wish.form_address("s").as_str(),
                    wish.api_url().unwrap().as_str()
                ),
                (page, api)
            );
        }
    }

    #[test]
    fn what_github_would_refuse_is_told_before() {
        let public = |url: &str| Arrival::Public(url.parse().unwrap());
        let checked = |wish: AppWish| wish.checked().map(|it| it.arrival.hook());
        let github = "https://github.com";
        assert_eq!(
            checked(wish(github, Owner::Person, public("https://x.test/gate/"))),
            Ok("https://x.test/gate/webhook".into())
        );
        assert!(
            checked(wish(github, Owner::Person, public("http://localhost:8080")))
                .unwrap_err()
                .contains("--poll")
        );
        let long = AppWish {
            name: "x".repeat(35),
            ..wish(github, Owner::Person, Arrival::Poll)
        };
        assert!(checked(long).unwrap_err().contains("34"));
    }
}
