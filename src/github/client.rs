//! The client of an installation: how requests are made, and the state that its parts share.
//!
//! `limits` decides what may be sent now, `exchange` sends it with credentials and repeats, `cached` keeps answers, and
//! `stale` remembers which answers are not certain yet.
//!
//! Concurrency: reads of one installation run side by side, at most [`READS_AT_ONCE`], and so do writes, at most
//! [`WRITES_AT_ONCE`]; those of one pull request go one after the other. A request waits for the [`Budget`] before it
//! takes one of these places, so that a request that waits blocks no other. One caller renews a token while the others
//! wait. After a rate limit nothing is sent for that installation until the limit ends: requests that go on could get
//! the App banned. Processes of one App share one record of what they use of GitHub's limits ([`SharedBudget`]).

pub(in crate::github) mod auth;
pub(in crate::github) mod budget;
pub(in crate::github) mod cache;
mod cached;
pub(in crate::github) mod clock;
pub(in crate::github) mod error;
mod exchange;
pub(in crate::github) mod fence;
pub(in crate::github) mod health;
pub(in crate::github) mod identity;
mod limits;
pub(in crate::github) mod marker;
pub(in crate::github) mod objects;
pub(in crate::github) mod paging;
pub(in crate::github) mod path;
pub(in crate::github) mod repo;
pub(in crate::github) mod retry;
pub(in crate::github) mod secret;
mod stale;
pub(in crate::github) mod transport;
pub(in crate::github) mod ttl_cache;
pub(in crate::github) mod wire;
pub(in crate::github) mod work_class;

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use http::{Method, StatusCode};
use parking_lot::Mutex;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};
use tokio::sync::{Notify, OnceCell, Semaphore};

#[cfg(test)]
pub(super) use self::cached::blob_id;
pub(super) use self::{
    cached::Contents,
    exchange::LONGEST_LOG,
    stale::{LOOK_AGAIN_AFTER, next_look},
};
use self::{limits::Limit, stale::StaleReads};
use crate::github::client::{
    auth::{Credentials, TokenSlot},
    budget::{Budget, BudgetClaim, BudgetUse, Quota, SharedBudget},
    cache::MemoryCache,
    clock::{Clock, SystemClock},
    error::{Error, OrAbsent as _, Result},
    health::{Health, RequestCounts},
    retry::{Patience, Repeat},
    secret::Secret,
    transport::{Accept, ApiUrl, GRAPHQL, Incoming, Outgoing, Transport},
};
use loopgate_core::{InstallationId, Timestamp, UserId, observed::AppIdentity};

/// Reads of one installation under way at the same time; GitHub tolerates 100 over all of an App's processes.
const READS_AT_ONCE: usize = 20;
/// Writes of one installation under way at the same time: one for each pull request that is worked on.
const WRITES_AT_ONCE: usize = 4;
/// Bytes of a JSON answer at most: a page of 100 comments of 65,536 characters fits.
const JSON_LIMIT: usize = 32 << 20;

/// One GitHub, with the credentials to act on it. Made once per process.
#[derive(Clone)]
pub struct Github {
    pub(super) hub: Arc<Hub>,
    clients: Arc<Mutex<HashMap<Option<InstallationId>, Client>>>,
}

pub(super) struct Hub {
    pub(super) transport: Transport,
    pub(super) credentials: Credentials,
    setup: Setup,
    health: Health,
    shared_budget: OnceLock<Arc<dyn SharedBudget>>,
    /// As whom we act, the bot's id perhaps still unknown.
    pub(super) actor: OnceCell<AppIdentity>,
    pub(super) bot_id: OnceCell<UserId>,
}

/// What a [`Github`] is made of beside its address and credentials.
pub struct Setup {
    pub cache: Arc<MemoryCache>,
    pub clock: Arc<dyn Clock>,
    pub patience: Patience,
    /// Whether a limit of points is kept that was not met yet; where GitHub is the host it always is.
    pub has_points_limit: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            cache: Arc::new(MemoryCache::new(MemoryCache::DEFAULT_BUDGET)),
            clock: Arc::new(SystemClock),
            patience: Patience::default(),
            has_points_limit: false,
        }
    }
}

impl Github {
    /// Must be called within a tokio runtime.
    ///
    /// # Errors
    /// When no HTTP client can be set up, for example without any trusted certificates.
    pub fn new(api: ApiUrl, credentials: Credentials, mut setup: Setup) -> Result<Self> {
        let transport = Transport::new(api)?;
        setup.has_points_limit |= transport.is_hosted();
        Ok(Self::over(transport, credentials, setup))
    }

    fn over(transport: Transport, credentials: Credentials, setup: Setup) -> Self {
        let hub = Hub {
            transport,
            credentials,
            setup,
            health: Health::default(),
            shared_budget: OnceLock::new(),
            actor: OnceCell::new(),
            bot_id: OnceCell::new(),
        };
        Self {
            hub: Arc::new(hub),
            clients: Arc::default(),
        }
    }

    /// A client that acts for the bearer of another token. It keeps no answer, and repeats no request.
    pub(super) fn bearing(&self, token: Secret) -> Client {
        let setup = Setup {
            cache: Arc::new(MemoryCache::new(0)),
            clock: self.hub.setup.clock.clone(),
            patience: Patience {
                retries: 0,
                ..Patience::default()
            },
            has_points_limit: false,
        };
        Self::over(self.hub.transport.clone(), Credentials::Token(token), setup).client(None)
    }

    /// The client of an installation; every caller gets the same one. Without an installation, or with a plain token,
    /// it acts as the App itself or as the token's bearer.
    pub fn client(&self, installation: Option<InstallationId>) -> Client {
        let installation = match self.hub.credentials {
            Credentials::App(_) => installation,
            Credentials::Token(_) | Credentials::Job { .. } | Credentials::Nobody(_) => None,
        };
        let mut clients = self.clients.lock();
        let app = clients
            .entry(None)
            .or_insert_with(|| Client::new(self.hub.clone(), None))
            .clone();
        let Some(id) = installation else { return app };
        clients
            .entry(installation)
            .or_insert_with(|| Client::new(self.hub.clone(), Some((id, app))))
            .clone()
    }

    /// Books what is taken of GitHub's limits there from now on, with other processes. The first one stays.
    pub fn share_budget(&self, budget: Arc<dyn SharedBudget>) {
        self.hub.shared_budget.set(budget).ok();
    }

    /// Requests and their answers so far.
    pub fn counts(&self) -> RequestCounts {
        *self.hub.health.counts.lock()
    }

    /// What each installation has left of its hour, as far as it was asked for anything in it.
    pub fn quotas(&self) -> Vec<(InstallationId, Quota)> {
        let clients = self.clients.lock();
        let quota = |(installation, client): (&Option<InstallationId>, &Client)| {
            let quota = client.shared.budget.lock().quota(self.now())?;
            Some(((*installation)?, quota))
        };
        clients.iter().filter_map(quota).collect()
    }

    /// Whether GitHub took our key when it was last used.
    ///
    /// # Errors
    /// What is wrong, in one line.
    pub fn key_is_taken(&self) -> Result<(), String> {
        self.hub.health.key()
    }

    /// Whether our clock was right when GitHub last answered.
    ///
    /// # Errors
    /// What is wrong, in one line.
    pub fn clock_is_right(&self) -> Result<(), String> {
        self.hub.health.clock()
    }

    pub fn now(&self) -> Timestamp {
        self.hub.setup.clock.now()
    }
}

/// Sends requests to GitHub on behalf of one installation.
#[derive(Clone)]
pub struct Client {
    shared: Arc<ClientShared>,
}

struct ClientShared {
    hub: Arc<Hub>,
    installation: Option<InstallationId>,
    /// Asks for the installation's tokens.
    app: Option<Client>,
    token: TokenSlot,
    reading: Semaphore,
    writing: Semaphore,
    budget: Mutex<Budget>,
    /// A request got the points that it waited for, or gave up: the next one asks.
    place_left: Notify,
    limit: Mutex<Limit>,
    stale: Mutex<StaleReads>,
}

impl Client {
    fn new(hub: Arc<Hub>, installation: Option<(InstallationId, Self)>) -> Self {
        let (installation, app) = installation.unzip();
        Self {
            shared: Arc::new(ClientShared {
                installation,
                app,
                token: TokenSlot::default(),
                reading: Semaphore::new(READS_AT_ONCE),
                writing: Semaphore::new(WRITES_AT_ONCE),
                budget: Mutex::new(Budget::new(hub.setup.has_points_limit)),
                place_left: Notify::new(),
                hub,
                limit: Mutex::default(),
                stale: Mutex::default(),
            }),
        }
    }

    pub fn installation(&self) -> Option<InstallationId> {
        self.shared.installation
    }

    pub fn now(&self) -> Timestamp {
        self.shared.hub.setup.clock.now()
    }

    /// Reads a JSON document, conditionally when it was read before.
    ///
    /// # Errors
    /// Every kind of [`Error`].
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        Ok(self.get_page(path, parse).await?.content)
    }

    /// Reads a JSON document without keeping it.
    ///
    /// # Errors
    /// Every kind of [`Error`].
    pub(crate) async fn fetch<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        Ok(self.fetch_page(path, parse).await?.content)
    }

    /// One page of a list, without keeping it.
    pub(super) async fn fetch_page<T>(&self, path: &str, parse: Parse<T>) -> Result<Page<T>> {
        let request = Outgoing::read(path, Accept::Json, JSON_LIMIT);
        let answer = self.read(&request).await?.or_redirected(path)?;
        let links = answer.header("link").map(str::to_owned);
        Ok(Page {
            links,
            content: parse(path, &answer.body)?,
        })
    }

    /// Whether something is there: 2xx or 404.
    ///
    /// # Errors
    /// Every kind of [`Error`] but not found.
    pub(crate) async fn exists(&self, path: &str) -> Result<bool> {
        let answer = self
            .read(&Outgoing::read(path, Accept::Json, JSON_LIMIT))
            .await
            .or_absent()?;
        answer
            .map(|answer| answer.or_redirected(path))
            .transpose()
            .map(|answer| answer.is_some())
    }

    /// Sends a change whose answer is read.
    ///
    /// # Errors
    /// Every kind of [`Error`]. A change that must not be made twice and got no clear answer is
    /// [`Error::Unavailable`]: it may have been made.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &Value,
        repeat: Repeat,
    ) -> Result<T> {
        let answer = self
            .send_write(Method::POST, path, Some(body), repeat)
            .await?;
        parse(path, &answer.body)
    }

    /// Sends a change that must not be made twice, and that GitHub answers with what was made or with nothing at all:
    /// null then.
    ///
    /// # Errors
    /// As [`post`](Self::post).
    pub(crate) async fn post_or_empty(&self, path: &str, body: &Value) -> Result<Value> {
        let answer = self
            .send_write(Method::POST, path, Some(body), Repeat::Never)
            .await?;
        if answer.body.is_empty() {
            return Ok(Value::Null);
        }
        parse(path, &answer.body)
    }

    /// Asks GraphQL. A question changes nothing, so it may be repeated.
    ///
    /// # Errors
    /// Every kind of [`Error`]; what GraphQL itself refuses comes as an answer without data.
    pub(crate) async fn graphql(&self, query: &str, variables: Value) -> Result<Value> {
        self.post(
            GRAPHQL,
            &json!({ "query": query, "variables": variables }),
            Repeat::Safe,
        )
        .await
    }

    /// Sends a change of which only the success matters.
    ///
    /// # Errors
    /// As [`post`](Self::post).
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        repeat: Repeat,
    ) -> Result<()> {
        self.send_write(method, path, body, repeat).await.map(drop)
    }

    async fn send_write(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        repeat: Repeat,
    ) -> Result<Incoming> {
        let body = body.map(|body| Bytes::from(body.to_string()));
        let request = Outgoing {
            method,
            body,
            ..Outgoing::read(path, Accept::Json, JSON_LIMIT)
        };
        let _booked = self.admit(&request).await?;
        let _permit = self.shared.writing.acquire().await.ok();
        let answer = Box::pin(self.exchange(&request, repeat))
            .await?
            .or_redirected(path)?;
        // A proxy between us and GitHub may answer in its place: then the request may not have reached GitHub.
        let is_githubs = if answer.body.is_empty() {
            answer.status != StatusCode::OK
        } else {
            serde_json::from_slice::<IgnoredAny>(&answer.body).is_ok()
        };
        if is_githubs {
            Ok(answer)
        } else {
            Err(unreadable(path, "a success without what GitHub says of it"))
        }
    }

    async fn read(&self, request: &Outgoing<'_>) -> Result<Incoming> {
        let _booked = self.admit(request).await?;
        // The semaphore is never closed; without a permit the limit is merely not kept.
        let _permit = self.shared.reading.acquire().await.ok();
        // On the heap: an exchange under way is large, and an observation holds dozens side by side.
        Box::pin(self.exchange(request, Repeat::Safe)).await
    }
}

impl ClientShared {
    /// Where all processes book what they take of the same limits, and what this one books there.
    fn claim(&self, what: BudgetUse) -> Option<(&dyn SharedBudget, BudgetClaim)> {
        let claim = BudgetClaim {
            installation: self.installation?,
            now: self.hub.setup.clock.now(),
            what,
        };
        Some((&**self.hub.shared_budget.get()?, claim))
    }
}

/// Reads what the body of an answer holds.
pub(super) type Parse<T> = fn(&str, &[u8]) -> Result<T>;

/// One page of an answer and its `Link` header.
pub(super) struct Page<T> {
    pub links: Option<String>,
    pub content: T,
}

pub(super) fn parse<T: DeserializeOwned>(path: &str, body: &[u8]) -> Result<T> {
    serde_json::from_slice(body).map_err(|error| unreadable(path, &error.to_string()))
}

fn unreadable(path: &str, message: &str) -> Error {
    Error::Unreadable {
        path: path.to_owned(),
        message: message.to_owned(),
    }
}

#[cfg(test)]
mod tests;
