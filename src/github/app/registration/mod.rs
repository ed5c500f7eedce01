//! Registering Loopgate as a GitHub App: a manifest goes to GitHub through a browser, and a code comes back that is
//! exchanged for the App's credentials
//! (<https://docs.github.com/en/apps/sharing-github-apps/registering-a-github-app-from-a-manifest>).
//!
//! ```text
//! nothing ─► pending: a nonce on disk ─► a code, with that nonce ─► credentials on disk ─► installed
//! ```
//! Every step is on disk before the next page is shown, so a person who comes back or reloads goes on from there.

mod manifest;
mod needs;
mod stored;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tempfile::NamedTempFile;
use tokio::sync::Mutex;

pub use manifest::{AppWish, Arrival, Owner};
pub use needs::{Access, NEEDS, Need};
pub use stored::{StoredApp, make_folder};

use crate::github::client::{
    Client, Github, Setup,
    auth::{AppCredentials, AppName, Credentials},
    error::{Error, OrAbsent as _, Result},
    path,
    retry::Repeat,
    secret::Secret,
    wire::Holder,
};
use loopgate_core::{AppId, Login};

/// The file of a registration that is under way.
const PENDING: &str = "registration.json";

/// A registration that GitHub has not answered yet.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    pub wish: AppWish,
    /// Comes back with the code. Without it no other person can give us another App.
    nonce: String,
}

/// An App whose credentials are on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredApp {
    pub slug: String,
    pub id: String,
    /// Where the credentials are.
    pub file: PathBuf,
    web_url: String,
}

impl RegisteredApp {
    /// Where the App is installed.
    pub fn installation_page(&self) -> String {
        format!(
            "{}/apps/{}/installations/new",
            self.web_url.trim_end_matches('/'),
            self.slug
        )
    }
}

/// How far it is.
#[derive(Clone, PartialEq, Eq)]
pub enum Stage {
    Pending(Pending),
    Registered(RegisteredApp),
}

/// Why a code brought no App.
#[derive(Debug, thiserror::Error)]
pub enum NotRegistered {
    #[error("this answer belongs to no registration that was begun here")]
    ForeignAnswer,
    #[error("GitHub knows no such code: it was used before, or is older than an hour")]
    SpentCode,
    #[error("GitHub did not exchange the code: {0}")]
    Github(#[from] Error),
    #[error("the credentials could not be written: {0}")]
    Storage(#[from] io::Error),
}

/// The answer to the exchange.
#[derive(Deserialize)]
struct Conversion {
    id: AppId,
    slug: String,
    client_id: String,
    client_secret: Secret,
    webhook_secret: Option<Secret>,
    pem: Secret,
}

/// The registration in a data directory.
pub struct Registration {
    folder: PathBuf,
    /// One exchange at a time; the nonce of the one that went well.
    exchanged: Mutex<Option<String>>,
}

impl Registration {
    /// Takes up the registration that the directory holds.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            exchanged: Mutex::default(),
        }
    }

    /// Begins to register the App that is wanted, or goes on: a wish that changed takes the place of the one before.
    ///
    /// # Errors
    /// When the directory cannot be read or written.
    pub fn begin(&self, wish: AppWish) -> io::Result<Stage> {
        match self.stage()? {
            Some(Stage::Pending(pending)) if pending.wish == wish => Ok(Stage::Pending(pending)),
            Some(registered @ Stage::Registered(_)) => Ok(registered),
            _ => {
                let pending = Pending {
                    wish,
                    nonce: nonce(),
                };
                make_folder(&self.folder)?;
                let file = NamedTempFile::new_in(&self.folder)?;
                serde_json::to_writer(file.as_file(), &pending)?;
                file.persist(self.folder.join(PENDING))
                    .map_err(|failed| failed.error)?;
                Ok(Stage::Pending(pending))
            }
        }
    }

    /// How far it is; none where nothing was begun.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn stage(&self) -> io::Result<Option<Stage>> {
        let stored = StoredApp::read(&self.folder)?;
        if let (Some(id), Some(slug)) = (
            stored.get("LOOPGATE_APP_ID"),
            stored.get("LOOPGATE_APP_SLUG"),
        ) {
            let web_url = stored
                .get("LOOPGATE_GITHUB_WEB_URL")
                .unwrap_or("https://github.com")
                .to_owned();
            let (slug, id, file) = (
                slug.to_owned(),
                id.to_owned(),
                self.folder.join(stored::FILE),
            );
            return Ok(Some(Stage::Registered(RegisteredApp {
                slug,
                id,
                file,
                web_url,
            })));
        }
        match fs::read(self.folder.join(PENDING)) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok().map(Stage::Pending)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Exchanges the code that GitHub sent the browser back with. The credentials are on disk before this returns; a
    /// second call after that gives the same App without asking.
    ///
    /// # Errors
    /// [`NotRegistered`].
    pub async fn finish(&self, code: &str, nonce: &str) -> Result<RegisteredApp, NotRegistered> {
        let mut exchanged = self.exchanged.lock().await;
        let pending = match self.stage()? {
            Some(Stage::Registered(app)) if exchanged.as_deref() == Some(nonce) => return Ok(app),
            Some(Stage::Registered(_)) => return Err(NotRegistered::ForeignAnswer),
            Some(Stage::Pending(pending)) if is_same(&pending.nonce, nonce) => pending,
            Some(Stage::Pending(_)) | None => return Err(NotRegistered::ForeignAnswer),
        };
        let api = pending.wish.api_url()?;
        let github = Github::new(api.clone(), Credentials::Nobody(None), Setup::default())?;
        let path = format!("/app-manifests/{}/conversions", path::escape(code));
        let app = github
            .client(None)
            .post::<Conversion>(&path, &json!({}), Repeat::Never)
            .await
            .or_absent()?;
        let app = app.ok_or(NotRegistered::SpentCode)?;
        let id = app.id.to_string();
        let hook = pending.wish.arrival.variable();
        let variables = [
            ("LOOPGATE_APP_ID", id.as_str()),
            ("LOOPGATE_APP_SLUG", &app.slug),
            ("LOOPGATE_CLIENT_ID", &app.client_id),
            ("LOOPGATE_CLIENT_SECRET", app.client_secret.expose()),
            ("LOOPGATE_PRIVATE_KEY", app.pem.expose()),
            (
                "LOOPGATE_WEBHOOK_SECRET",
                app.webhook_secret.as_ref().map_or("", Secret::expose),
            ),
            ("LOOPGATE_GITHUB_API_URL", api.as_str()),
            ("LOOPGATE_GITHUB_WEB_URL", pending.wish.web_url.as_str()),
            (hook.0, &hook.1),
        ];
        let file = StoredApp::new(variables).write(&self.folder)?;
        fs::remove_file(self.folder.join(PENDING)).ok();
        *exchanged = Some(nonce.to_owned());
        Ok(RegisteredApp {
            slug: app.slug,
            id,
            file,
            web_url: pending.wish.web_url.to_string(),
        })
    }
}

impl Pending {
    /// What the browser sends to GitHub: where to, and the manifest.
    pub fn form(&self, redirect: &str) -> (String, String) {
        (
            self.wish.form_address(&self.nonce),
            self.wish.manifest(redirect).to_string(),
        )
    }
}

/// Where GitHub sends the browser back to once somebody signed in at the server of this address.
pub fn callback(public_url: &url::Url) -> String {
    format!(
        "{}/login/callback",
        public_url.as_str().trim_end_matches('/')
    )
}

/// Compares two secrets in a time that does not depend on how much was right.
pub fn is_same(secret: &str, given: &str) -> bool {
    let differing = secret
        .bytes()
        .zip(given.bytes())
        .fold(0, |all, (a, b)| all | (a ^ b));
    secret.len() == given.len() && differing == 0
}

/// 122 random bits.
pub fn nonce() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

/// Where an App has come to after its registration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstallationProgress {
    /// The accounts it is installed on. An installation on an enterprise brings no repositories, and counts for none.
    pub installed_on: Vec<Login>,
    /// Who could only ask an owner to install it, and on which account or enterprise.
    pub asked_by: Vec<(Login, String)>,
    /// The HTTP status that answered the newest delivery; 0 if no answer came.
    pub newest_delivery: Option<u16>,
}

/// The login of an account of an answer.
fn login(account: &Value) -> Option<Login> {
    account["login"].as_str()?.parse().ok()
}

impl InstallationProgress {
    /// Asks GitHub with the stored credentials.
    ///
    /// # Errors
    /// Every kind of [`Error`].
    pub async fn of(client: &Client) -> Result<Self> {
        let installed = client
            .fetch::<Vec<Value>>("/app/installations?per_page=100")
            .await?;
        let asked_by = requests(client).await?;
        let attempts = client
            .fetch::<Vec<crate::github::app::deliveries::DeliveryAttempt>>(
                "/app/hook/deliveries?per_page=1",
            )
            .await?;
        Ok(Self {
            installed_on: installed
                .iter()
                .filter_map(|it| login(&it["account"]))
                .collect(),
            asked_by,
            newest_delivery: attempts.first().map(|attempt| attempt.status_code),
        })
    }
}

/// Who asked for an installation, and on which account or enterprise
/// (<https://docs.github.com/en/rest/apps/apps#list-installation-requests-for-the-authenticated-app>).
pub(in crate::github) async fn requests(client: &Client) -> Result<Vec<(Login, String)>> {
    let asked = client
        .fetch::<Vec<Value>>("/app/installation-requests?per_page=100")
        .await?;
    let account = |it: &Value| Holder::deserialize(&it["account"]).ok();
    Ok(asked
        .iter()
        .filter_map(|it| Some((login(&it["requester"])?, account(it)?.to_string())))
        .collect())
}

/// A GitHub with the credentials that are stored in a data directory; none where there are none.
///
/// # Errors
/// What is wrong with them.
pub fn stored_github(folder: &Path) -> Result<Option<Github>> {
    let unreadable = |error: io::Error| Error::Setup(error.to_string());
    let stored = StoredApp::read(folder).map_err(unreadable)?;
    let (Some(id), Some(key)) = (
        stored.get("LOOPGATE_APP_ID"),
        stored.get("LOOPGATE_PRIVATE_KEY"),
    ) else {
        return Ok(None);
    };
    let id: AppName = id
        .parse()
        .map_err(|why| Error::Setup(format!("LOOPGATE_APP_ID {why}")))?;
    let credentials = AppCredentials::new(id, &Secret::new(key))?;
    let api = crate::github::client::transport::ApiUrl::parse(
        stored
            .get("LOOPGATE_GITHUB_API_URL")
            .unwrap_or("https://api.github.com"),
    )?;
    Github::new(api, Credentials::App(credentials), Setup::default()).map(Some)
}
