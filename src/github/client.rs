//! The client: credentials, retries, cache and limits around each exchange with GitHub.
//!
//! Concurrency: reads of one installation run side by side, at most [`READS_AT_ONCE`], and so do writes, at most
//! [`WRITES_AT_ONCE`]; those of one pull request go one after the other. What may be sent at all is the business of
//! the [`Budget`]: a request waits there before it takes a place among those under way, so that what people wait for is
//! held up by nothing. A token is renewed by one caller while the others wait. Once a rate limit is met, nothing more is
//! sent for that installation until it ends: going on could get the App banned. Several processes of one App book what they
//! take of GitHub's limits in one place ([`SharedBudget`]).

mod job_log;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use chrono::TimeDelta;
use http::{Method, StatusCode, header};
use serde::{
    Deserialize, Serialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::Value;
use sha1::{Digest as _, Sha1};
use tokio::sync::Semaphore;

use super::{
    Clock, Credentials, Error, ErrorKind, MemoryCache, ResponseCache, Secret, SystemClock, Usage,
    auth::{TokenAnswer, TokenSlot},
    budget::{
        Budget, Claim, Granted, Held, Limited, Need, POINTS_ARE_USABLE, POINTS_AT_ONCE, PointsLimit, Quota, READ,
        SharedBudget, WRITE, limits, points_of,
    },
    cache::{CacheKey, CachedAnswer},
    fence,
    health::Health,
    identity::Knowledge,
    retry::{Patience, Repeat, RetryDecision, judge},
    transport::{Accept, ApiUrl, Broken, GRAPHQL, Incoming, Outgoing, Transport},
    usage::{Meter, Spending},
    work_class::{Served, WorkClass, served},
};
use loopgate_core::{CheckRunId, CommentId, InstallationId, Sha, Timestamp, observed::AppIdentity};

/// Reads of one installation under way at the same time; GitHub tolerates 100 over all of an App's processes.
const READS_AT_ONCE: usize = 20;
/// Writes of one installation under way at the same time: one for each pull request that is worked on.
const WRITES_AT_ONCE: usize = 4;
/// How often a request asks whether there are points for it.
const POINTS_PAUSE: Duration = Duration::from_millis(100);
/// How often a request asks whether other processes have left points for it.
const POINTS_OF_OTHERS_PAUSE: Duration = Duration::from_secs(1);
/// How long after it was booked GitHub may count a creation.
const CREATION_TAKES: TimeDelta = TimeDelta::seconds(2);
/// Redirects within the API followed for one request.
const MOST_HOPS: u32 = 3;
/// What is refused or absent still after so long is believed: servers that lag or are in trouble say it too.
pub(crate) const REFUSAL_IS_CONFIRMED_AFTER: TimeDelta = TimeDelta::seconds(30);
/// When what was refused is asked for again.
pub(crate) const LOOK_AGAIN_AFTER: TimeDelta = TimeDelta::seconds(31);
/// Refusals remembered at most; beyond that all are in doubt again.
const MOST_REFUSALS: usize = 10_000;
/// How long a 404 is believed that was found again.
const ABSENCE_IS_BELIEVED: TimeDelta = TimeDelta::hours(1);
/// When a post that an answer says is gone is believed to be: a server that lags behind says it of what is new.
const GONE_IS_CONFIRMED_AFTER: TimeDelta = TimeDelta::seconds(2);
/// How long a list that still shows what is gone is not believed.
const GONE_IS_REMEMBERED: TimeDelta = TimeDelta::hours(1);
/// How long GitHub's lists may not show what was just created.
const LISTS_LAG: TimeDelta = TimeDelta::minutes(2);
/// In GitHub's answers to a token of an installation that is suspended.
const SUSPENDED: &str = "installation has been suspended";
/// Bytes of a JSON answer at most: a page of 100 comments of 65,536 characters fits.
const JSON_LIMIT: usize = 32 << 20;

/// One GitHub, with the credentials to act on it. Made once per process.
#[derive(Clone)]
pub struct Github {
    hub: Arc<Hub>,
    clients: Arc<Mutex<HashMap<Option<InstallationId>, Client>>>,
    identity: Arc<Knowledge>,
}

struct Hub {
    transport: Transport,
    credentials: Credentials,
    cache: Arc<dyn ResponseCache>,
    clock: Arc<dyn Clock>,
    patience: Patience,
    meter: Meter,
    health: Health,
    points: PointsLimit,
    shared_budget: OnceLock<Arc<dyn SharedBudget>>,
}

/// What a [`Github`] is made of beside its address and credentials.
pub struct Setup {
    pub cache: Arc<dyn ResponseCache>,
    pub clock: Arc<dyn Clock>,
    pub patience: Patience,
    /// Whether a limit of points is kept that was not met yet; where GitHub is the host it always is.
    pub points: PointsLimit,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            cache: Arc::new(MemoryCache::default()),
            clock: Arc::new(SystemClock),
            patience: Patience::default(),
            points: PointsLimit::Off,
        }
    }
}

impl Github {
    /// Must be called within a tokio runtime.
    ///
    /// # Errors
    /// When no HTTP client can be set up, for example without any trusted certificates.
    pub fn new(api: ApiUrl, credentials: Credentials, setup: Setup) -> Result<Self, Error> {
        let Setup { cache, clock, patience, points } = setup;
        let transport = Transport::new(api)?;
        let points = if transport.is_hosted() { PointsLimit::On } else { points };
        let (meter, health) = (Meter::default(), Health::default());
        let shared_budget = OnceLock::new();
        let hub = Hub { transport, credentials, cache, clock, patience, meter, health, points, shared_budget };
        Ok(Self { hub: Arc::new(hub), clients: Arc::default(), identity: Arc::default() })
    }

    /// The client of an installation; every caller gets the same one. Without an installation, or with a plain token,
    /// it acts as the App itself or as the token's bearer.
    pub fn client(&self, installation: Option<InstallationId>) -> Client {
        let installation = match self.hub.credentials {
            Credentials::App(_) => installation,
            Credentials::Token(_) | Credentials::Job { .. } | Credentials::Nobody(_) => None,
        };
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.entry(installation).or_insert_with(|| Client::new(self.hub.clone(), installation)).clone()
    }

    /// Books what is taken of GitHub's limits there from now on, with other processes. The first one stays.
    pub fn share_budget(&self, budget: Arc<dyn SharedBudget>) {
        self.hub.shared_budget.set(budget).ok();
    }

    /// Who we are here; asked once, through any client of this GitHub. The bot's id is known once an installation's
    /// client was used.
    ///
    /// # Errors
    /// When GitHub does not say.
    pub async fn identity(&self, client: &Client) -> Result<AppIdentity, Error> {
        self.identity.ask(self, client, &self.hub.credentials).await
    }

    /// Whether this is the public GitHub, where some ids are known to everybody.
    pub(super) fn is_public(&self) -> bool {
        self.hub.transport.is_public()
    }

    pub fn usage(&self) -> Usage {
        self.hub.meter.usage()
    }

    /// Answers so far, by [`STATUSES`](super::STATUSES).
    pub fn answers(&self) -> [u64; super::STATUSES.len()] {
        self.hub.meter.answers()
    }

    /// What was done for whom.
    pub fn spending(&self) -> Spending {
        self.hub.meter.spending()
    }

    /// What each installation has left of its hour, as far as it was asked for anything in it.
    pub fn quotas(&self) -> Vec<(InstallationId, Quota)> {
        let clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let quota = |(installation, client): (&Option<InstallationId>, &Client)| {
            let quota = client.shared.budget().quota(self.now())?;
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
        self.hub.clock.now()
    }
}

/// Asks and tells GitHub things on behalf of one installation.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    hub: Arc<Hub>,
    installation: Option<InstallationId>,
    token: TokenSlot,
    reading: Semaphore,
    writing: Semaphore,
    budget: Mutex<Budget>,
    /// Points that this process has taken of those that all share, and until when it may use them.
    points: tokio::sync::Mutex<(u32, Timestamp)>,
    limit: Mutex<Limit>,
    /// Reliances on refusals and absences that were not confirmed.
    doubtful: AtomicU64,
    /// What was refused when it was last asked for, and since when.
    refused: Mutex<HashMap<String, Timestamp>>,
    created: Mutex<Vec<Created>>,
    /// Why GitHub takes no more requests for this installation: it was suspended, or the App was uninstalled.
    silenced: Mutex<Option<Silence>>,
    /// Posts of which GitHub said that they are gone: they win over lists, and over what we created.
    gone: Mutex<HashMap<PostId, Gone>>,
}

/// A comment or a check run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum PostId {
    Comment(CommentId),
    CheckRun(CheckRunId),
}

/// How GitHub said that a post is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToldGone {
    /// By an event: it is so.
    ByEvent,
    /// By a 404, which a server that lags behind may say of what was just created.
    ByAnswer,
}

#[derive(Debug)]
struct Gone {
    since: Timestamp,
    is_sure: bool,
}

/// GitHub gave no token for the installation, or said that it is suspended.
#[derive(Debug)]
struct Silence {
    message: String,
    since: Timestamp,
    is_sure: bool,
}

impl Silence {
    /// When a first refusal is confirmed.
    fn until(&self) -> Option<Timestamp> {
        (!self.is_sure).then(|| self.since + LOOK_AGAIN_AFTER)
    }
}

/// The rate limit met last.
#[derive(Debug, Default)]
struct Limit {
    until: Option<Timestamp>,
    /// Limits met in a row.
    strikes: u32,
}

impl Client {
    fn new(hub: Arc<Hub>, installation: Option<InstallationId>) -> Self {
        Self {
            shared: Arc::new(Shared {
                installation,
                token: TokenSlot::default(),
                reading: Semaphore::new(READS_AT_ONCE),
                writing: Semaphore::new(WRITES_AT_ONCE),
                budget: Mutex::new(Budget::new(hub.points)),
                points: tokio::sync::Mutex::new((0, Timestamp::UNIX_EPOCH)),
                hub,
                limit: Mutex::default(),
                doubtful: AtomicU64::default(),
                refused: Mutex::default(),
                created: Mutex::default(),
                silenced: Mutex::default(),
                gone: Mutex::default(),
            }),
        }
    }

    pub fn installation(&self) -> Option<InstallationId> {
        self.shared.installation
    }

    pub fn now(&self) -> Timestamp {
        self.shared.hub.clock.now()
    }

    /// Reads a JSON document, conditionally when it was read before.
    ///
    /// # Errors
    /// Every kind of [`Error`].
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        Ok(self.get_page(path).await?.content)
    }

    /// Reads a JSON document without keeping it.
    ///
    /// # Errors
    /// Every kind of [`Error`].
    pub(crate) async fn fetch<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        Ok(self.fetch_page(path).await?.content)
    }

    /// One page of a list, without keeping it.
    pub(super) async fn fetch_page<T: DeserializeOwned>(&self, path: &str) -> Result<Page<T>, Error> {
        let request = Outgoing::read(path, Accept::Json, JSON_LIMIT);
        let answer = self.read(&request).await?.or_redirected(path)?;
        let links = answer.headers.get(header::LINK).and_then(|links| links.to_str().ok()).map(str::to_owned);
        Ok(Page { links, content: parse(path, &answer.body)? })
    }

    /// The bytes of a file at a commit, or `None` where there is none; `path` is one of `…/contents/…?ref=COMMIT`. Asked
    /// once, since neither can change.
    ///
    /// The file is asked for as JSON, which names the blob: what does not have its id was cut off on the way, and is
    /// never kept.
    ///
    /// # Errors
    /// Every kind of [`Error`] but not found; [`Error::TooLarge`] above `limit` bytes.
    pub(crate) async fn get_file(&self, path: &str, limit: usize) -> Result<Option<Bytes>, Error> {
        self.once_or_absent(path, Accept::Raw, async || {
            // Base64, broken into lines, and the other fields.
            let request = Outgoing::read(path, Accept::Json, limit / 2 * 3 + (64 << 10));
            let answer = self.read(&request).await?.or_redirected(path)?;
            let file = match parse::<Contents>(path, &answer.body)? {
                Contents::File(file) if file.size > limit => {
                    return Err(Error::TooLarge { path: path.to_owned(), limit });
                }
                Contents::File(file) => file,
                // A folder, a submodule.
                Contents::Other(_) => return Ok(None),
            };
            let bytes = match file.inline() {
                Some(bytes) => bytes,
                // Above 1 MB the content is left out
                // (<https://docs.github.com/en/rest/repos/contents#get-repository-content>).
                None => {
                    let repository = path.split_once("/contents/").map_or(path, |(repository, _)| repository);
                    let path = format!("{repository}/git/blobs/{}", file.sha);
                    self.read(&Outgoing::read(&path, Accept::Raw, limit)).await?.or_redirected(&path)?.body
                }
            };
            if blob_id(&bytes) != file.sha {
                return Err(unreadable(path, "the content is not that of the blob it names"));
            }
            Ok(Some(bytes))
        })
        .await
    }

    /// The bytes of a blob; `None` where there is none. Asked once.
    ///
    /// # Errors
    /// Every kind of [`Error`] but not found; [`Error::TooLarge`] above `limit` bytes.
    pub(crate) async fn get_blob(&self, repository: &str, blob: Sha, limit: usize) -> Result<Option<Bytes>, Error> {
        let path = format!("{repository}/git/blobs/{blob}");
        self.once_or_absent(&path, Accept::Raw, async || {
            let body = self.read(&Outgoing::read(&path, Accept::Raw, limit)).await?.or_redirected(&path)?.body;
            match blob_id(&body) == blob {
                true => Ok(Some(body)),
                false => Err(unreadable(&path, "the content is not that of the blob it names")),
            }
        })
        .await
    }

    /// A JSON document that the path names by its content (a commit, an id), or `None` where there is none. Asked once,
    /// since neither can change.
    ///
    /// # Errors
    /// Every kind of [`Error`] but not found.
    pub(crate) async fn get_immutable_json<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, Error> {
        let read = async || {
            let body = self.read(&Outgoing::read(path, Accept::Json, JSON_LIMIT)).await?.or_redirected(path)?.body;
            parse::<T>(path, &body).map(|_| Some(body))
        };
        let body = self.once_or_absent(path, Accept::Json, read).await?;
        body.map(|body| parse(path, &body)).transpose()
    }

    /// What was read before, or is read now. That something is absent is believed for a moment only, until it was found
    /// so a second time: a server that lags behind a push says it too.
    async fn once_or_absent(
        &self,
        path: &str,
        accept: Accept,
        read: impl AsyncFnOnce() -> Result<Option<Bytes>, Error>,
    ) -> Result<Option<Bytes>, Error> {
        let (key, now) = (self.key(path, accept)?, self.now());
        let known = self.shared.hub.cache.get(&key);
        let absent_since = match known.as_deref() {
            Some(CachedAnswer::Immutable(body)) => return Ok(Some(body.clone())),
            Some(CachedAnswer::Absent { since, until }) if now < *until => {
                if *until - *since <= REFUSAL_IS_CONFIRMED_AFTER {
                    self.relies_on_doubt();
                }
                return Ok(None);
            }
            Some(CachedAnswer::Absent { since, .. }) => Some(*since),
            Some(CachedAnswer::Tagged { .. }) | None => None,
        };
        let body = match read().await {
            Ok(body) => body,
            Err(Error::NotFound { .. }) => None,
            Err(error) => return Err(error),
        };
        let answer = match &body {
            Some(body) => CachedAnswer::Immutable(body.clone()),
            None => {
                let is_sure = absent_since.is_some_and(|since| now - since >= REFUSAL_IS_CONFIRMED_AFTER);
                let until = now + if is_sure { ABSENCE_IS_BELIEVED } else { REFUSAL_IS_CONFIRMED_AFTER };
                CachedAnswer::Absent { since: absent_since.unwrap_or(now), until }
            }
        };
        self.shared.hub.cache.put(key, answer);
        Ok(body)
    }

    /// A file that was found absent is asked for again when it is next read.
    ///
    /// # Errors
    /// A path that makes no address.
    pub(crate) fn doubt_absence(&self, path: &str) -> Result<(), Error> {
        let key = self.key(path, Accept::Raw)?;
        if let Some(CachedAnswer::Absent { .. }) = self.shared.hub.cache.get(&key).as_deref() {
            let now = self.now();
            self.shared.hub.cache.put(key, CachedAnswer::Absent { since: now, until: now });
        }
        Ok(())
    }

    /// How often a refusal or absence was relied on that is not confirmed yet: whoever does looks again after
    /// [`REFUSAL_IS_CONFIRMED_AFTER`], and keeps nothing of it. Each look counts, since a newer look's wish replaces that of
    /// the one before.
    pub(crate) fn doubts(&self) -> u64 {
        self.shared.doubtful.load(Ordering::Relaxed)
    }

    pub(crate) fn relies_on_doubt(&self) {
        self.shared.doubtful.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes whether a request was refused. That a ref of ours is absent is no matter of doubt: it is made then, or is there
    /// after all.
    fn note(&self, request: &Outgoing<'_>, answer: Result<(), &Error>) {
        let mut refused = self.shared.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let name = || format!("{} {}", request.method, request.target);
        match answer {
            Ok(()) if refused.is_empty() => {}
            Ok(()) => drop(refused.remove(&name())),
            Err(error) if error.kind() == ErrorKind::Refusal && !request.target.contains("/git/ref/loopgate/") => {
                if refused.len() >= MOST_REFUSALS {
                    refused.clear();
                }
                let now = self.now();
                if now - *refused.entry(name()).or_insert(now) < REFUSAL_IS_CONFIRMED_AFTER {
                    self.relies_on_doubt();
                }
            }
            Err(_) => {}
        }
    }

    /// Remembers what we created in a list, for as long as the list may lag behind.
    pub(crate) fn created(&self, list: &str, id: u64, item: Value) {
        let mut created = self.shared.created.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.now();
        created.retain(|item| now - item.at < LISTS_LAG);
        created.push(Created { list: list.to_owned(), id, at: now, item });
    }

    /// Forgets what we created, since GitHub says that it is gone, or we have removed it. A second answer that says so at
    /// least [`GONE_IS_CONFIRMED_AFTER`] later wins over lists that still show it. Returns when to look again.
    pub(crate) fn gone(&self, post: PostId, told: ToldGone) -> Timestamp {
        let (list, id) = post.list_and_id();
        let mut created = self.shared.created.lock().unwrap_or_else(PoisonError::into_inner);
        created.retain(|item| item.id != id || !item.list.ends_with(list));
        let (mut gone, now) = (self.shared.gone.lock().unwrap_or_else(PoisonError::into_inner), self.now());
        gone.retain(|_, gone| now - gone.since < GONE_IS_REMEMBERED);
        if gone.len() >= MOST_REFUSALS {
            gone.clear();
        }
        let known = gone.entry(post).or_insert(Gone { since: now, is_sure: false });
        known.is_sure |= told == ToldGone::ByEvent || now - known.since >= GONE_IS_CONFIRMED_AFTER;
        now + GONE_IS_CONFIRMED_AFTER
    }

    /// Whether a list shows what is gone.
    pub(crate) fn is_gone(&self, list: &str, id: u64) -> bool {
        let gone = self.shared.gone.lock().unwrap_or_else(PoisonError::into_inner);
        let post = PostId::in_list(list, id);
        post.and_then(|post| gone.get(&post)).is_some_and(|gone| gone.is_sure)
    }

    /// What we created in a list a moment ago, and is not among these ids.
    pub(crate) fn unlisted<T: DeserializeOwned>(&self, list: &str, is_listed: impl Fn(u64) -> bool) -> Vec<T> {
        let (created, now) = (self.shared.created.lock().unwrap_or_else(PoisonError::into_inner), self.now());
        let missing =
            created.iter().filter(|item| item.list == list && now - item.at < LISTS_LAG && !is_listed(item.id));
        missing.filter_map(|item| serde_json::from_value(item.item.clone()).ok()).collect()
    }

    /// Remembers what a path that names its content will answer, because we have just written it.
    pub(crate) fn remember(&self, path: &str, accept: Accept, body: Bytes) {
        if let Ok(key) = self.key(path, accept) {
            self.shared.hub.cache.put(key, CachedAnswer::Immutable(body));
        }
    }

    /// What [`remember`](Self::remember) was told of a path, or an earlier read found there.
    pub(crate) fn recall(&self, path: &str, accept: Accept) -> Option<Bytes> {
        match self.shared.hub.cache.get(&self.key(path, accept).ok()?).as_deref() {
            Some(CachedAnswer::Immutable(body)) => Some(body.clone()),
            _ => None,
        }
    }

    /// Whether something is there: 2xx or 404.
    ///
    /// # Errors
    /// Every kind of [`Error`] but not found.
    pub(crate) async fn exists(&self, path: &str) -> Result<bool, Error> {
        let request = Outgoing::read(path, Accept::Json, JSON_LIMIT);
        match self.read(&request).await {
            Ok(answer) => answer.or_redirected(path).map(|_| true),
            Err(Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Reads something once that the key names by its content, whatever requests it takes. The key is a path below the
    /// API that GitHub does not have. What cannot be written as JSON, or follows from a refusal in doubt, is not kept.
    ///
    /// # Errors
    /// Those of `read`.
    pub(crate) async fn once<T: Serialize + DeserializeOwned>(
        &self,
        key: &str,
        read: impl AsyncFnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        if let Some(known) = self.recall(key, Accept::Json).and_then(|known| serde_json::from_slice(&known).ok()) {
            return Ok(known);
        }
        let doubts = self.doubts();
        let found = read().await?;
        if doubts == self.doubts()
            && let Ok(bytes) = serde_json::to_vec(&found)
        {
            self.remember(key, Accept::Json, bytes.into());
        }
        Ok(found)
    }

    /// One document, or page of a list, with its paging links; conditionally when it was read before. Only what could be
    /// read is kept.
    pub(super) async fn get_page<T: DeserializeOwned>(&self, path: &str) -> Result<Page<T>, Error> {
        let key = self.key(path, Accept::Json)?;
        let known = self.shared.hub.cache.get(&key);
        let (etag, known) = match known.as_deref() {
            Some(CachedAnswer::Tagged { etag, link, body }) => (Some(etag.as_str()), Some((link, body))),
            _ => (None, None),
        };
        let request = Outgoing { etag, ..Outgoing::read(path, Accept::Json, JSON_LIMIT) };
        let answer = self.read(&request).await?.or_redirected(path)?;
        let text = |name| answer.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let link = text(header::LINK);
        if let (304, Some((known_link, body))) = (answer.status.as_u16(), known) {
            self.shared.hub.meter.not_modified();
            return Ok(Page { links: link.or_else(|| known_link.clone()), content: parse(path, body)? });
        }
        let content = parse(path, &answer.body)?;
        if let Some(etag) = text(header::ETAG) {
            let answer = CachedAnswer::Tagged { etag, link: link.clone(), body: answer.body };
            self.shared.hub.cache.put(key, answer);
        }
        Ok(Page { links: link, content })
    }

    /// Where a download redirects to, followed without our token (archives: the address is signed and lives a minute).
    ///
    /// # Errors
    /// Every kind of [`Error`]; [`Error::TooLarge`] above `limit` bytes.
    pub(crate) async fn download(&self, path: &str, limit: usize) -> Result<Bytes, Error> {
        let request = Outgoing::read(path, Accept::Json, limit);
        let answer = self.read(&request).await?;
        let Some(location) = answer.location().filter(|_| answer.is_redirect()) else {
            return Ok(answer.body);
        };
        self.shared.hub.meter.read();
        match self.shared.hub.transport.fetch_elsewhere(location, limit).await {
            Ok(answer) if answer.status.is_success() => Ok(answer.body),
            Ok(answer) => Err(unavailable(path, &format!("the download answered {}", answer.status.as_u16()))),
            Err(broken) => Err(error_of(broken, path, limit)),
        }
    }

    /// Sends a change.
    ///
    /// # Errors
    /// Every kind of [`Error`]. A change that must not be made twice and got no clear answer is
    /// [`Error::Unavailable`]: it may have been made.
    pub(crate) async fn write<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
        repeat: Repeat,
    ) -> Result<T, Error> {
        let answer = self.send_write(method, path, Some(body), repeat).await?;
        parse(path, &answer.body)
    }

    /// Books the creation of what the pull request with this head needs, for as long as the request takes.
    ///
    /// # Errors
    /// [`Error::Paced`] when it may not go yet.
    pub(crate) async fn book(&self, need: Need, head: Sha) -> Result<Booked<'_>, Error> {
        let Served { urgency, behind } = served();
        let book = || {
            self.shared.budget().creates.book(need, head, behind.count(), self.now()).map_err(|until| {
                self.shared.hub.meter.deferred(urgency.class());
                Error::Paced { until }
            })
        };
        book()?;
        match self.take(Limited::Creations, 1, limits(need), CREATION_TAKES).await {
            None => Ok(Booked { shared: &self.shared, what: Booking::Creation }),
            Some(Granted { is_granted, taken }) => {
                self.shared.budget().creates.booked_with_others(&taken);
                match is_granted {
                    true => Ok(Booked { shared: &self.shared, what: Booking::WithOthers }),
                    // With what others have taken it is known when there is room.
                    false => book().and(Err(Error::Paced { until: self.now() + CREATION_TAKES })),
                }
            }
        }
    }

    /// Books a creation that waits for nothing.
    pub(crate) async fn book_at_once(&self) -> Booked<'_> {
        self.shared.budget().creates.begin();
        self.take(Limited::Creations, 1, Vec::new(), CREATION_TAKES).await;
        Booked { shared: &self.shared, what: Booking::Creation }
    }

    /// Takes something of what all processes share; `None` where none does, or it cannot be booked.
    async fn take(
        &self,
        what: Limited,
        amount: u32,
        limits: Vec<(TimeDelta, usize)>,
        usable_for: TimeDelta,
    ) -> Option<Granted> {
        let (budget, installation) = (self.shared.hub.shared_budget.get()?, self.shared.installation?);
        let claim = Claim { installation, what, amount, limits, now: self.now(), usable_for };
        budget.take(claim).await
    }

    /// Whether there are points for a request among those that all processes share.
    async fn has_points(&self, class: WorkClass, points: u32) -> bool {
        if self.shared.budget().points == PointsLimit::Off || self.shared.hub.shared_budget.get().is_none() {
            return true;
        }
        let mut held = self.shared.points.lock().await;
        if held.0 < points || held.1 <= self.now() {
            let limits = vec![(TimeDelta::minutes(1), points_of(class) as usize)];
            match self.take(Limited::Points, POINTS_AT_ONCE, limits, POINTS_ARE_USABLE).await {
                Some(Granted { is_granted: true, .. }) => *held = (POINTS_AT_ONCE, self.now() + POINTS_ARE_USABLE),
                Some(_) => return false,
                None => return true,
            }
        }
        held.0 -= points;
        true
    }

    /// Asks GraphQL. A question changes nothing, so it may be repeated.
    ///
    /// # Errors
    /// Every kind of [`Error`]; what GraphQL itself refuses comes as an answer without data.
    pub(crate) async fn graphql<T: DeserializeOwned>(&self, question: &impl Serialize) -> Result<T, Error> {
        self.write(Method::POST, GRAPHQL, question, Repeat::Safe).await
    }

    /// [`write`](Self::write) where only the success matters.
    ///
    /// # Errors
    /// As there.
    pub(crate) async fn tell(
        &self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
        repeat: Repeat,
    ) -> Result<(), Error> {
        self.send_write(method, path, body, repeat).await.map(drop)
    }

    async fn send_write(
        &self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
        repeat: Repeat,
    ) -> Result<Incoming, Error> {
        let body = match body.map(serde_json::to_vec) {
            Some(Ok(bytes)) => Some(Bytes::from(bytes)),
            None => None,
            Some(Err(error)) => return Err(unreadable(path, &format!("our own request: {error}"))),
        };
        let request = Outgoing { method, target: path, accept: Accept::Json, etag: None, body, limit: JSON_LIMIT };
        let _booked = self.admit(&request).await?;
        let _permit = self.shared.writing.acquire().await.ok();
        let answer = Box::pin(self.exchange(&request, repeat)).await?.or_redirected(path)?;
        // What stands between us and GitHub may answer in its place: then nothing was changed, or nobody knows.
        let is_githubs = if answer.body.is_empty() {
            answer.status != StatusCode::OK
        } else {
            serde_json::from_slice::<IgnoredAny>(&answer.body).is_ok()
        };
        if is_githubs { Ok(answer) } else { Err(unreadable(path, "a success without what GitHub says of it")) }
    }

    async fn read(&self, request: &Outgoing<'_>) -> Result<Incoming, Error> {
        let _booked = self.admit(request).await?;
        // The semaphore is never closed; without a permit the limit is merely not kept.
        let _permit = self.shared.reading.acquire().await.ok();
        // On the heap: an exchange under way is large, and an observation holds dozens side by side.
        Box::pin(self.exchange(request, Repeat::Safe)).await
    }

    /// Waits until the budget has room for a request.
    async fn admit(&self, request: &Outgoing<'_>) -> Result<Booked<'_>, Error> {
        let urgency = served().urgency;
        let points = points(request);
        let mut waiting: Option<Waiting<'_>> = None;
        loop {
            let class = urgency.class();
            let asked = {
                let mut budget = self.shared.budget();
                budget.ask(class, points, self.now())
            };
            match asked {
                Ok(()) => {
                    let booked = Booked { shared: &self.shared, what: Booking::Points(points) };
                    if self.has_points(class, points).await {
                        return Ok(booked);
                    }
                    booked.give_back();
                    tokio::time::sleep(POINTS_OF_OTHERS_PAUSE).await;
                }
                Err(Held::ForPeople { until }) => {
                    self.shared.hub.meter.deferred(class);
                    return Err(Error::KeptForPeople { until });
                }
                Err(Held::Points) => {
                    if waiting.as_ref().is_none_or(|waiting| waiting.class != class) {
                        waiting = Some(Waiting::begin(&self.shared, class));
                    }
                    tokio::time::sleep(POINTS_PAUSE).await;
                }
            }
        }
    }

    async fn exchange(&self, request: &Outgoing<'_>, repeat: Repeat) -> Result<Incoming, Error> {
        let answer = self.asked(request, repeat).await;
        self.note(request, answer.as_ref().map(drop));
        answer
    }

    /// Sends a request until it is answered for good.
    async fn asked(&self, request: &Outgoing<'_>, repeat: Repeat) -> Result<Incoming, Error> {
        let (hub, path) = (&self.shared.hub, request.target);
        let mut address = hub.transport.address(path)?;
        let (mut refused, mut retries, mut hops, mut keys_refused) = (None, 0, 0, 0);
        loop {
            self.respect_limit()?;
            self.respect_silence()?;
            let token = self.token(refused.as_ref()).await?;
            if request.method != Method::GET {
                fence::check(path).await?;
            }
            self.count(request);
            let outcome = hub.transport.send(&address, request, token.as_ref()).await;
            if let Ok(answer) = &outcome {
                self.shared.budget().told(&answer.headers);
            }
            let failed = match outcome {
                Ok(answer) if answer.is_redirect() => match answer.location().map(|to| hub.transport.address(to)) {
                    // A renamed repository answers with its address by id, which takes the same request.
                    Some(Ok(moved)) if hops < MOST_HOPS => {
                        address = moved;
                        hops += 1;
                        continue;
                    }
                    Some(_) => return Ok(answer),
                    None => return Err(unreadable(path, "a redirect to nowhere")),
                },
                Ok(answer) => match self.judge(path, &answer) {
                    RetryDecision::Success | RetryDecision::NotModified => return Ok(answer),
                    RetryDecision::RenewToken(_) if refused.is_none() && self.renews() => {
                        refused = token;
                        continue;
                    }
                    RetryDecision::RenewToken(_) if self.turns_key(&mut keys_refused) => continue,
                    RetryDecision::Failed(Error::Forbidden { message, .. })
                        if self.renews() && message.contains(SUSPENDED) =>
                    {
                        return Err(self.silence(message, true));
                    }
                    RetryDecision::Again(error) if repeat == Repeat::Safe => error,
                    RetryDecision::RenewToken(error) | RetryDecision::Again(error) | RetryDecision::Failed(error) => {
                        return Err(error);
                    }
                },
                Err(Broken::Unclear(message)) if repeat == Repeat::Never => return Err(unavailable(path, &message)),
                Err(Broken::TooLarge) => return Err(error_of(Broken::TooLarge, path, request.limit)),
                Err(broken) => error_of(broken, path, request.limit),
            };
            if retries == hub.patience.retries {
                return Err(failed);
            }
            tracing::debug!(path, error = %failed, "asking again");
            self.shared.budget().repeats(points(request), self.now());
            tokio::time::sleep(hub.patience.pause_before(retries)).await;
            retries += 1;
        }
    }

    fn judge(&self, path: &str, answer: &Incoming) -> RetryDecision {
        self.shared.hub.health.answered(&answer.headers, self.now());
        self.shared.hub.meter.answered(served().urgency.class(), answer.status);
        let mut limit = self.shared.limit.lock().unwrap_or_else(PoisonError::into_inner);
        let verdict = judge(path, answer.status, &answer.headers, &answer.body, limit.strikes, self.now());
        match &verdict {
            RetryDecision::Failed(Error::RateLimited { until }) => {
                *limit = Limit { until: Some(*until), strikes: limit.strikes + 1 };
                // The hour's requests are not used up: it was a secondary limit, so those are kept here.
                let mut budget = self.shared.budget();
                if budget.quota(self.now()).is_none_or(|quota| quota.remaining > 0) {
                    budget.points = PointsLimit::On;
                }
                tracing::warn!(path, %until, "rate limited");
            }
            RetryDecision::Success | RetryDecision::NotModified => *limit = Limit::default(),
            _ => {}
        }
        verdict
    }

    fn respect_limit(&self) -> Result<(), Error> {
        let limit = self.shared.limit.lock().unwrap_or_else(PoisonError::into_inner);
        match limit.until {
            Some(until) if self.now() < until => Err(Error::RateLimited { until }),
            _ => Ok(()),
        }
    }

    fn respect_silence(&self) -> Result<(), Error> {
        let silenced = self.shared.silenced.lock().unwrap_or_else(PoisonError::into_inner);
        match silenced.as_ref().map(|it| (it, it.until())) {
            Some((_, Some(until))) if self.now() >= until => Ok(()),
            Some((Silence { message, .. }, until)) => Err(Error::NotInstalled { message: message.clone(), until }),
            None => Ok(()),
        }
    }

    /// Nothing is asked any more, until [`ask_again`](Self::ask_again): at once where GitHub says that the installation is
    /// suspended, else when a token is refused for the second time.
    fn silence(&self, message: String, is_said: bool) -> Error {
        let mut silenced = self.shared.silenced.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.now();
        let since = silenced.as_ref().map_or(now, |it| it.since);
        let is_sure = is_said || now - since >= REFUSAL_IS_CONFIRMED_AFTER;
        let silence = silenced.insert(Silence { message: message.clone(), since, is_sure });
        Error::NotInstalled { message, until: silence.until() }
    }

    /// Something happened there: GitHub sends no events of installations that are gone or suspended. One more refusal is
    /// enough to be sure again.
    pub fn ask_once_more(&self) {
        let mut silenced = self.shared.silenced.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(silence) = silenced.as_mut() {
            silence.is_sure = false;
        }
    }

    /// An event, or a list of installations, says that the App may ask here.
    pub fn ask_again(&self) {
        self.shared.silenced.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    fn count(&self, request: &Outgoing<'_>) {
        if request.method == Method::GET {
            self.shared.hub.meter.read();
        } else {
            self.shared.hub.meter.write();
        }
    }

    fn renews(&self) -> bool {
        self.shared.installation.is_some()
    }

    /// Signs with the App's next key, where this client signs by itself and there is one that was not refused.
    fn turns_key(&self, refused: &mut usize) -> bool {
        *refused += 1;
        matches!((&self.shared.hub.credentials, self.shared.installation),
            (Credentials::App(app), None) if app.turn() > *refused)
    }

    async fn token(&self, refused: Option<&Secret>) -> Result<Option<Secret>, Error> {
        let now = self.now();
        let app = match (&self.shared.hub.credentials, self.shared.installation) {
            (Credentials::Nobody(_), _) => return Ok(None),
            (Credentials::Token(token) | Credentials::Job { token, .. }, _) => return Ok(Some(token.clone())),
            (Credentials::App(app), None) => return app.jwt(now).map(Some),
            (Credentials::App(app), Some(_)) => app,
        };
        let renew = async || {
            let mut refused = 1;
            loop {
                match self.ask_for_token(&app.jwt(now)?).await {
                    Err(Error::Unauthorized { .. }) if app.turn() > refused => refused += 1,
                    answer => return answer,
                }
            }
        };
        self.shared.token.current(now, refused, renew).await.map(Some)
    }

    async fn ask_for_token(&self, jwt: &Secret) -> Result<super::auth::InstallationToken, Error> {
        let (hub, id) = (&self.shared.hub, self.shared.installation.map_or(0, InstallationId::get));
        let path = format!("/app/installations/{id}/access_tokens");
        let address = hub.transport.address(&path)?;
        let request = Outgoing {
            method: Method::POST,
            target: &path,
            accept: Accept::Json,
            etag: None,
            body: Some(Bytes::from_static(b"{}")),
            limit: 1 << 20,
        };
        let mut retries = 0;
        loop {
            // A second token does no harm, so this may be repeated whatever happened to the first request.
            hub.meter.read();
            let failed = match hub.transport.send(&address, &request, Some(jwt)).await {
                Ok(answer) => match self.judge(&path, &answer) {
                    RetryDecision::Success => {
                        hub.health.signed(Ok(()));
                        self.ask_again();
                        return parse::<TokenAnswer>(&path, &answer.body).map(Into::into);
                    }
                    RetryDecision::RenewToken(error) => {
                        hub.health.signed(Err(error.to_string()));
                        return Err(error);
                    }
                    RetryDecision::Again(error) => error,
                    RetryDecision::NotModified => return Err(unreadable(&path, "304")),
                    // Only an installation that is gone or suspended gets no token.
                    RetryDecision::Failed(error @ (Error::NotFound { .. } | Error::Forbidden { .. })) => {
                        let is_said = error.to_string().contains(SUSPENDED);
                        return Err(self.silence(error.to_string(), is_said));
                    }
                    RetryDecision::Failed(error) => return Err(error),
                },
                Err(broken) => error_of(broken, &path, request.limit),
            };
            if retries == hub.patience.retries {
                return Err(failed);
            }
            tokio::time::sleep(hub.patience.pause_before(retries)).await;
            retries += 1;
        }
    }

    fn key(&self, path: &str, accept: Accept) -> Result<CacheKey, Error> {
        let url = self.shared.hub.transport.address(path)?;
        Ok(CacheKey { installation: self.shared.installation, url, accept: accept.as_str() })
    }
}

impl Shared {
    fn budget(&self) -> MutexGuard<'_, Budget> {
        self.budget.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was booked, until it is answered or given up.
pub(crate) struct Booked<'c> {
    shared: &'c Shared,
    what: Booking,
}

enum Booking {
    Points(u32),
    Creation,
    /// Counted with what other processes take.
    WithOthers,
    /// Not used after all.
    Unused(u32),
}

impl Booked<'_> {
    fn give_back(mut self) {
        if let Booking::Points(points) = self.what {
            self.what = Booking::Unused(points);
        }
    }
}

impl Drop for Booked<'_> {
    fn drop(&mut self) {
        let (mut budget, now) = (self.shared.budget(), self.shared.hub.clock.now());
        match self.what {
            Booking::Points(points) => budget.answered(points, now),
            Booking::Creation => budget.creates.answered(now),
            Booking::WithOthers => {}
            Booking::Unused(points) => budget.given_back(points),
        }
    }
}

/// What a request costs.
fn points(request: &Outgoing<'_>) -> u32 {
    // GraphQL is only asked.
    if request.method == Method::GET || request.target == GRAPHQL { READ } else { WRITE }
}

/// A request that waits for points; requests of lower classes wait behind it for as long as it does.
struct Waiting<'c> {
    shared: &'c Shared,
    class: WorkClass,
}

impl<'c> Waiting<'c> {
    fn begin(shared: &'c Shared, class: WorkClass) -> Self {
        shared.budget().waits(class);
        Self { shared, class }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.shared.budget().waits_no_more(self.class);
    }
}

/// One page of an answer and its `Link` header.
pub(super) struct Page<T> {
    pub links: Option<String>,
    pub content: T,
}

impl PostId {
    /// What the path of its list ends with.
    const fn list_and_id(self) -> (&'static str, u64) {
        match self {
            Self::Comment(id) => (COMMENTS, id.get()),
            Self::CheckRun(id) => (CHECK_RUNS, id.get()),
        }
    }

    fn in_list(list: &str, id: u64) -> Option<Self> {
        if list.ends_with(COMMENTS) {
            Some(Self::Comment(CommentId::new(id)))
        } else {
            list.ends_with(CHECK_RUNS).then(|| Self::CheckRun(CheckRunId::new(id)))
        }
    }
}

/// What the path of a list of comments, or of check runs, ends with.
const COMMENTS: &str = "/comments";
const CHECK_RUNS: &str = "/check-runs";

/// Something that we created in a list.
struct Created {
    list: String,
    id: u64,
    at: Timestamp,
    item: Value,
}

/// `GET …/contents/{path}`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Contents {
    File(FileContents),
    Other(IgnoredAny),
}

#[derive(Deserialize)]
struct FileContents {
    size: usize,
    sha: Sha,
    content: String,
    encoding: String,
}

impl FileContents {
    /// The bytes, where they came along.
    fn inline(&self) -> Option<Bytes> {
        let packed: String = self.content.split_ascii_whitespace().collect();
        let bytes = (self.encoding == "base64").then(|| BASE64_STANDARD.decode(packed).ok())??;
        Some(bytes.into())
    }
}

/// The id that git gives to a file's content.
pub(super) fn blob_id(bytes: &[u8]) -> Sha {
    let header = format!("blob {}\0", bytes.len());
    let digest = Sha1::new().chain_update(header).chain_update(bytes).finalize();
    hex::encode(digest).parse().expect("a SHA-1 in hexadecimal is a commit or blob id")
}

impl Incoming {
    fn is_redirect(&self) -> bool {
        matches!(self.status.as_u16(), 301 | 302 | 303 | 307 | 308)
    }

    fn location(&self) -> Option<&str> {
        self.headers.get(header::LOCATION)?.to_str().ok()
    }

    /// An answer that sends elsewhere is none, but for downloads.
    fn or_redirected(self, path: &str) -> Result<Self, Error> {
        if self.is_redirect() { Err(unreadable(path, "a redirect away from the API")) } else { Ok(self) }
    }
}

pub(super) fn parse<T: DeserializeOwned>(path: &str, body: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(body).map_err(|error| unreadable(path, &error.to_string()))
}

fn unreadable(path: &str, message: &str) -> Error {
    Error::Unreadable { path: path.to_owned(), message: message.to_owned() }
}

fn unavailable(path: &str, message: &str) -> Error {
    Error::Unavailable { path: path.to_owned(), message: message.to_owned(), retry_at: None }
}

fn error_of(broken: Broken, path: &str, limit: usize) -> Error {
    match broken {
        Broken::NeverSent(message) | Broken::Unclear(message) => unavailable(path, &message),
        Broken::TooLarge => Error::TooLarge { path: path.to_owned(), limit },
    }
}

#[cfg(test)]
mod tests;
