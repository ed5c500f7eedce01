//! People who sign in with GitHub, and which repositories GitHub shows to each of them
//! (<https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-user-access-token-for-a-github-app>).
//!
//! Signing in costs two requests. Whenever rights are asked for, that is one, and one for each hundred repositories of
//! each installation. A person's token is used for nothing else.

use std::collections::BTreeSet;

use bytes::Bytes;
use chrono::TimeDelta;
use http::{Method, StatusCode};
use parking_lot::RwLock;
use serde::Deserialize;
use tokio::sync::OnceCell;
use url::Url;

use crate::github::{
    app::deliveries::Installation,
    client::{
        Github,
        error::{Error, OrAbsent as _, Result},
        parse,
        secret::Secret,
        transport::{Accept, ApiUrl, Outgoing, Transport},
        wire::SideRepository,
    },
};
use loopgate_core::{Login, RepoName, UserId, observed::Actor};

/// Requests for repositories whenever rights are asked for; what lies beyond is not shown.
const MOST_PAGES: usize = 30;
/// Bytes of the answer to a code at most.
const LIMIT: usize = 1 << 20;
/// How long a token lives at most, also where the App's tokens never end.
const LONGEST: TimeDelta = TimeDelta::hours(8);

/// The App as people sign in with it.
pub struct SignIn {
    github: Github,
    web: Transport,
    web_url: ApiUrl,
    /// Where GitHub sends the browser back to.
    callback: String,
    /// The App's client secret.
    pub secret: RwLock<Secret>,
    client_id: OnceCell<String>,
}

/// Somebody who signed in.
pub struct Visitor {
    pub id: UserId,
    pub login: Login,
    pub token: Secret,
    /// How long the token is good for.
    pub lives: TimeDelta,
}

#[derive(Deserialize)]
struct SignInApp {
    client_id: String,
}

/// GitHub refuses a code with status 200 and without a token.
#[derive(Deserialize)]
struct TokenAnswer {
    access_token: Option<Secret>,
    expires_in: Option<i64>,
}

impl SignIn {
    /// Must be called within a tokio runtime.
    ///
    /// # Errors
    /// [`Error::Setup`] where the address is none, or no HTTP client can be set up.
    pub fn new(github: Github, web: &Url, callback: String, secret: Secret) -> Result<Self> {
        let web_url = ApiUrl::parse(web.as_str())?;
        let web = Transport::new(web_url.clone())?;
        Ok(Self {
            github,
            web,
            web_url,
            callback,
            secret: RwLock::new(secret),
            client_id: OnceCell::new(),
        })
    }

    /// Asked once.
    async fn client_id(&self) -> Result<&str> {
        let ask = async || {
            Ok::<_, Error>(
                self.github
                    .client(None)
                    .fetch::<SignInApp>("/app")
                    .await?
                    .client_id,
            )
        };
        self.client_id
            .get_or_try_init(ask)
            .await
            .map(String::as_str)
    }

    /// GitHub's page on which a person agrees. `challenge` is the SHA-256 of what is shown with the code.
    ///
    /// # Errors
    /// When GitHub does not return the App's client id.
    pub async fn page(&self, state: &str, challenge: &str) -> Result<String> {
        let client_id = self.client_id().await?;
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.extend_pairs([("client_id", client_id), ("redirect_uri", &self.callback)]);
        query.extend_pairs([
            ("state", state),
            ("code_challenge", challenge),
            ("code_challenge_method", "S256"),
        ]);
        Ok(format!(
            "{}/login/oauth/authorize?{}",
            self.web_url.as_str(),
            query.finish()
        ))
    }

    /// Who agreed; none where GitHub does not take the code.
    ///
    /// # Errors
    /// When GitHub does not answer.
    pub async fn visitor(&self, code: &str, verifier: &str) -> Result<Option<Visitor>> {
        let client_id = self.client_id().await?;
        let secret = self.secret.read().clone();
        let asked = serde_json::json!({
            "client_id": client_id, "client_secret": secret.expose(), "code": code,
            "redirect_uri": self.callback, "code_verifier": verifier,
        });
        let path = "/login/oauth/access_token";
        let request = Outgoing {
            method: Method::POST,
            body: Some(Bytes::from(asked.to_string())),
            ..Outgoing::read(path, Accept::Plain, LIMIT)
        };
        // Once: a person waiting at a browser can reload the page.
        let answer = self
            .web
            .send(&self.web.address(path)?, &request, None)
            .await?;
        if answer.status != StatusCode::OK {
            let (path, status, message) = (path.to_owned(), answer.status.as_u16(), String::new());
            return Err(Error::Rejected {
                path,
                status,
                message,
            });
        }
        let TokenAnswer {
            access_token,
            expires_in,
        } = parse(path, &answer.body)?;
        let Some(token) = access_token else {
            return Ok(None);
        };
        let Actor { id, login } = self.github.bearing(token.clone()).fetch("/user").await?;
        let lives = expires_in
            .and_then(TimeDelta::try_seconds)
            .unwrap_or(LONGEST)
            .min(LONGEST);
        Ok(Some(Visitor {
            id,
            login,
            token,
            lives,
        }))
    }

    /// The repositories where Loopgate is installed, and to which the bearer of the token was given access. What is
    /// public is not among them by itself
    /// (<https://docs.github.com/en/rest/apps/installations#list-repositories-accessible-to-the-user-access-token>).
    ///
    /// # Errors
    /// [`Error::Unauthorized`] where the token is not taken any more; others when GitHub does not answer.
    pub async fn repositories(&self, token: &Secret) -> Result<BTreeSet<RepoName>> {
        let client = self.github.bearing(token.clone());
        let installations = client
            .list::<Installation>("/user/installations", 1)
            .await?
            .items;
        let (mut seen, mut pages) = (BTreeSet::new(), 0);
        for installation in installations.iter().filter(|it| it.suspended_at.is_none()) {
            if pages >= MOST_PAGES {
                break;
            }
            let path = format!("/user/installations/{}/repositories", installation.id);
            // It is gone, or its organisation wants another sign-in first
            // (<https://docs.github.com/en/rest/authentication/authenticating-to-the-rest-api#authenticating-with-a-personal-access-token>).
            let Some(listed) = client
                .list::<SideRepository>(&path, MOST_PAGES - pages)
                .await
                .or_refused()?
            else {
                continue;
            };
            pages += listed.items.len() / 100 + 1;
            seen.extend(
                listed
                    .items
                    .into_iter()
                    .filter_map(|repository| repository.full_name),
            );
        }
        Ok(seen)
    }
}
