//! Putting the parts together, and taking them apart in an order that loses nothing.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::Duration,
};

use chrono::TimeDelta;
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot, watch},
    task::{JoinHandle, JoinSet},
};
use uuid::Uuid;

use super::{
    Admin, Change, Clock, DeadLetter, DirtySet, Doctor, Inbox, Key, Limits, Live, Mailbox, Metrics, Polling, Readiness,
    ReadinessCheck, Receiver, Reconciler, Recovery, RecoveryHandle, RecoveryRequest, Rest, ServerConfig, SetupPages,
    Shared, Signatures, Store, StoreError, Visitors, Worker, Writer, channel, dashboard, inbox, listener, pages,
    recovery::Tools, storage,
};
use crate::github::{
    self, Github, LoopReader, Secret, SignIn, SystemClock,
    doctor::Expected,
    registration::{Arrival, callback},
    webhook::OwnApp,
};

/// `SIGTERM` gives what runs this long to finish.
const STOP_WITHIN: TimeDelta = TimeDelta::seconds(25);

/// How often a database that is away is asked again.
const DATABASE_PAUSE: Duration = Duration::from_secs(2);

/// Batches of new rows that may wait for the queue.
const ARRIVALS: usize = 64;

/// A server that is not running yet.
pub struct Server {
    pub config: ServerConfig,
    pub own: OwnApp,
    pub limits: Limits,
    /// How long a connection may take over the head of a request, and how long it may idle.
    pub header_timeout: Duration,
    pub clock: Arc<dyn Clock>,
    /// Makes the random part of retry pauses.
    pub rng: fastrand::Rng,
    /// Further lines of the admin's `/readyz`. Only the storage decides whether the server is ready.
    pub checks: Vec<(&'static str, ReadinessCheck)>,
    /// The GitHub that is asked at start and regularly for what no webhook stated.
    pub recovery: Option<Github>,
    /// The pages that their token opens.
    pub setup: Option<Arc<SetupPages>>,
    /// Reads loops for the dashboard's pages.
    pub loops: Option<LoopReader>,
    /// The GitHub that is examined at start and regularly for what keeps Loopgate from working.
    pub examined: Option<Github>,
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot listen on {address}: {source}")]
    Listen { address: SocketAddr, source: std::io::Error },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    SignIn(#[from] github::Error),
}

impl Server {
    pub fn new(config: ServerConfig, own: OwnApp) -> Self {
        Self {
            config,
            own,
            limits: Limits::default(),
            header_timeout: Duration::from_secs(10),
            clock: Arc::new(SystemClock),
            rng: fastrand::Rng::new(),
            checks: Vec::new(),
            recovery: None,
            setup: None,
            loops: None,
            examined: None,
        }
    }

    /// Binds both listeners, opens the inbox, and takes up what a former run left unfinished.
    ///
    /// # Errors
    /// [`StartError`] if an address is taken or the data directory cannot be used.
    pub async fn start<R: Reconciler>(self, reconciler: R) -> Result<Running, StartError> {
        let public = bind(self.config.listen).await?;
        let admin = bind(self.config.admin_listen).await?;
        let addresses = [local_address(&public)?, local_address(&admin)?];
        let (store, writer) = opened(&self.config, [&public, &admin], self.header_timeout).await?;
        let [public, admin] = [listening(public)?, listening(admin)?];
        let unfinished = store.installations(loopgate_core::Timestamp::MAX_UTC).await?;

        let metrics = Arc::new(Metrics::default());
        let (announce, arrivals) = mpsc::channel(ARRIVALS);
        let (inbox, write) = inbox::open(writer, store.clone(), announce, metrics.clone());
        for github in self.recovery.iter().chain(&self.examined).chain(self.loops.as_ref().map(LoopReader::github)) {
            github.share_budget(Arc::new(inbox.bookings()));
        }
        let (ask, asked) = mpsc::channel(1);
        let (stop_worker, stop) = oneshot::channel();
        // A process beside this one may have looked at another pull request with the same head.
        let reconciler = Arc::new(reconciler);
        let heads = if self.config.database_url.is_none() { reconciler.looked_heads() } else { None };
        let shared = Shared {
            reconciler: reconciler.clone(),
            store: store.clone(),
            inbox: inbox.clone(),
            metrics: metrics.clone(),
            clock: self.clock.clone(),
            rng: Mutex::new(self.rng),
            heads: heads.clone(),
            suspects: tokio::sync::Mutex::default(),
        };
        let worker = Worker::new(shared, DirtySet::new(self.limits), unfinished);
        let config = &self.config;
        let signatures = Signatures::new(&config.webhook_secrets());
        let own = Arc::new(RwLock::new(self.own));
        let receiver =
            Receiver::new(signatures.clone(), own.clone(), inbox.clone(), metrics.clone(), self.clock.clone());
        let receiver = Arc::new(receiver.knowing(heads));
        let channel =
            config.webhook_proxy.clone().map(|url| Task(tokio::spawn(channel::listen(url, receiver.clone()))));
        let reads_log = (config.polling == Polling::On).then(|| receiver.clone());
        let (stop_listeners, listeners_stop) = watch::channel(false);
        let mut listeners = JoinSet::new();
        let readiness = Arc::new(Readiness::new(inbox.clone(), self.clock.clone()));
        let (ask_recovery, requests) = mpsc::channel(1);
        let recovery = self.recovery.map(|github| {
            let (store, inbox, clock) = (store.clone(), inbox.clone(), self.clock.clone());
            let tools = Tools { github: github.clone(), store, inbox, metrics: metrics.clone(), clock, reads_log };
            let task = Task(tokio::spawn(Recovery::new(tools, config.resync_every).run(requests)));
            (RecoveryHandle { github, ask: ask_recovery }, task)
        });
        let (recovery, recovery_task) = recovery.unzip();
        let doctor = self.examined.map(|github| Arc::new(Doctor::new(github, expected(config), self.clock.clone())));
        let visitors = visitors(config, self.loops.as_ref(), self.clock.clone())?;
        let admin_pages = Admin {
            store: store.clone(),
            inbox: inbox.clone(),
            clock: self.clock.clone(),
            metrics,
            readiness: readiness.clone(),
            overview: Box::new(move || reconciler.overview()),
            checks: self.checks,
            recovery: recovery.clone(),
            loops: self.loops,
            doctor: doctor.clone(),
            live: Live::new(listeners_stop.clone()),
            form_token: Uuid::new_v4().simple().to_string(),
        };
        let admin_pages = Arc::new(admin_pages);
        let visitors = visitors.map(Arc::new);
        let published = visitors.as_ref().map(|visitors| dashboard::published(admin_pages.clone(), visitors));
        let keys = config.signer.as_ref().map(|signer| signer.keys().clone()).unwrap_or_default();
        let app = pages::public(receiver, readiness.clone(), self.setup, published, keys);
        listeners.spawn(listener::serve(public, app, self.header_timeout, listeners_stop.clone()));
        let app = pages::admin(admin_pages);
        listeners.spawn(listener::serve(admin, app, self.header_timeout, listeners_stop));
        Ok(Running {
            addresses,
            store,
            inbox,
            readiness,
            own,
            signatures,
            visitors,
            clock: self.clock,
            ask,
            recovery,
            recovery_task,
            channel,
            _doctor: doctor.map(|doctor| Task(tokio::spawn(doctor.run()))),
            stop_worker,
            stop_listeners,
            listeners,
            worker: Task(tokio::spawn(worker.run(Mailbox { arrivals, asked, stop }))),
            writer: Task(tokio::spawn(write)),
        })
    }
}

/// How webhooks are meant to come.
fn expected(config: &ServerConfig) -> Expected {
    let polls = config.polling == Polling::On;
    let arrival = Arrival::of(config.public_url.clone(), config.webhook_proxy.clone(), polls);
    Expected { arrival, signer: config.signer.clone() }
}

/// Those who sign in with GitHub, where that is configured.
fn visitors(
    config: &ServerConfig,
    loops: Option<&LoopReader>,
    clock: Arc<dyn Clock>,
) -> Result<Option<Visitors>, StartError> {
    let (Some(loops), Some(address), Some(secret)) = (loops, &config.public_url, &config.client_secret) else {
        return Ok(None);
    };
    if address.path() != "/" {
        tracing::warn!("the dashboard is not published: LOOPGATE_PUBLIC_URL has a path");
        return Ok(None);
    }
    let sign_in = SignIn::new(loops.github().clone(), &config.github_web_url, callback(address), secret.clone())?;
    Ok(Some(Visitors::new(sign_in, address.origin().ascii_serialization(), clock)))
}

/// The storage. While a database server is away, both listeners answer that they wait for it.
async fn opened(
    config: &ServerConfig,
    listeners: [&std::net::TcpListener; 2],
    header_timeout: Duration,
) -> Result<(Store, Writer), StartError> {
    let (stop, stopped) = watch::channel(false);
    let mut waiting = JoinSet::new();
    loop {
        match storage::open(config.database_url.as_ref(), &config.data_dir).await {
            Err(error) if config.database_url.is_some() && error.is_outage() => {
                tracing::warn!(%error, "the database is away: deliveries are refused until it is back");
                if waiting.is_empty() {
                    for listener in listeners {
                        let listener = listening(listener.try_clone().map_err(unknown_address)?)?;
                        let app = pages::while_waiting();
                        waiting.spawn(listener::serve(listener, app, header_timeout, stopped.clone()));
                    }
                }
                tokio::time::sleep(DATABASE_PAUSE).await;
            }
            opened => {
                stop.send_replace(true);
                waiting.join_all().await;
                return Ok(opened?);
            }
        }
    }
}

async fn bind(address: SocketAddr) -> Result<std::net::TcpListener, StartError> {
    let bound = async { TcpListener::bind(address).await?.into_std() };
    bound.await.map_err(|source| StartError::Listen { address, source })
}

fn listening(listener: std::net::TcpListener) -> Result<TcpListener, StartError> {
    TcpListener::from_std(listener).map_err(unknown_address)
}

fn local_address(listener: &std::net::TcpListener) -> Result<SocketAddr, StartError> {
    listener.local_addr().map_err(unknown_address)
}

fn unknown_address(source: std::io::Error) -> StartError {
    StartError::Listen { address: SocketAddr::from(([0, 0, 0, 0], 0)), source }
}

/// A task that ends with its handle.
struct Task<T>(JoinHandle<T>);

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A server at work. Dropping it without [`shutdown`](Self::shutdown) is like killing the process: nothing
/// acknowledged is lost, and the next start goes on.
pub struct Running {
    addresses: [SocketAddr; 2],
    store: Store,
    inbox: Inbox,
    readiness: Arc<Readiness>,
    own: Arc<RwLock<OwnApp>>,
    signatures: Signatures,
    visitors: Option<Arc<Visitors>>,
    clock: Arc<dyn Clock>,
    ask: mpsc::Sender<(Rest, oneshot::Sender<()>)>,
    recovery: Option<RecoveryHandle>,
    recovery_task: Option<Task<()>>,
    /// Ends with the server.
    channel: Option<Task<()>>,
    /// Ends with the server, too.
    _doctor: Option<Task<()>>,
    stop_worker: oneshot::Sender<loopgate_core::Timestamp>,
    stop_listeners: watch::Sender<bool>,
    listeners: JoinSet<()>,
    worker: Task<usize>,
    writer: Task<()>,
}

/// How a server stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped {
    /// Jobs that were not finished in time. They are taken up at the next start.
    pub released: usize,
}

impl Running {
    /// Where webhooks are received; the real port if the configured one is 0.
    pub fn public_address(&self) -> SocketAddr {
        self.addresses[0]
    }

    pub fn admin_address(&self) -> SocketAddr {
        self.addresses[1]
    }

    /// Who we are, learned after the start: until then our own bot's deeds are taken for anybody's, which costs a look
    /// each.
    pub fn introduce(&self, own: OwnApp) {
        *self.own.write().unwrap_or_else(PoisonError::into_inner) = own;
    }

    /// Believes webhooks signed with one of these secrets from now on, and no others.
    pub fn replace_secrets(&self, secrets: &[Secret]) {
        self.signatures.replace(secrets);
    }

    /// Asks GitHub for people's tokens with this secret from now on; without one nothing changes.
    pub fn replace_client_secret(&self, secret: Option<&Secret>) {
        if let (Some(visitors), Some(secret)) = (&self.visitors, secret) {
            visitors.replace_secret(secret.clone());
        }
    }

    /// Completes once nothing that was accepted before the call is queued, running, or waiting for a retry.
    /// Wake-ups that are not due do not count, nor do dead letters. What recovery is due to do is done before.
    pub async fn settled(&self) {
        if let Some(RecoveryHandle { ask, .. }) = &self.recovery {
            let (reply, answer) = oneshot::channel();
            if ask.send(RecoveryRequest::Idle(reply)).await.is_ok() {
                answer.await.ok();
            }
        }
        self.rests(Rest::Settled).await;
    }

    /// Completes once nothing runs, and nothing begins before time goes on or something arrives. Retries that are not due
    /// do not count, unlike for [`settled`](Self::settled).
    pub async fn idle(&self) {
        self.rests(Rest::Idle).await;
    }

    async fn rests(&self, rest: Rest) {
        let (reply, answer) = oneshot::channel();
        if self.ask.send((rest, reply)).await.is_ok() {
            answer.await.ok();
        }
    }

    /// The newest thousand targets that were given up.
    ///
    /// # Errors
    /// [`StoreError`] if the inbox cannot be read.
    pub async fn dead_letters(&self) -> Result<Vec<DeadLetter>, StoreError> {
        self.store.dead_letters().await
    }

    /// Tries a dead letter again, with ten attempts as if it were new. Nothing happens if it is none (any more).
    ///
    /// Returns whether the storage took the request.
    pub async fn replay(&self, key: Key) -> bool {
        self.inbox.apply(Change::Replay(key)).await.is_ok()
    }

    /// Targets that something was accepted for and that are not yet done, in memory or on disk. Dead letters do not
    /// count.
    ///
    /// # Errors
    /// [`StoreError`] if the inbox cannot be read.
    pub async fn backlog(&self) -> Result<u64, StoreError> {
        Ok(self.store.counts().await?.waiting)
    }

    /// Stops in order: no new connections, then the requests and jobs that are under way, 25 seconds at most, then
    /// the inbox.
    pub async fn shutdown(mut self) -> Stopped {
        let deadline = self.clock.now() + STOP_WITHIN;
        self.readiness.drain();
        drop(self.recovery_task.take());
        drop(self.channel.take());
        self.stop_listeners.send_replace(true);
        self.stop_worker.send(deadline).ok();
        let listeners_done = async { while self.listeners.join_next().await.is_some() {} };
        tokio::select! {
            () = listeners_done => {}
            () = self.clock.sleep_until(deadline) => self.listeners.shutdown().await,
        }
        let released = (&mut self.worker.0).await.unwrap_or(0);
        // The writer ends with the last handle to it, after what was already handed in.
        drop(self.readiness);
        drop(self.inbox);
        (&mut self.writer.0).await.ok();
        Stopped { released }
    }
}

/// A file that reaches the limit of its size fails to be written, and does not end the process: the writer heals once it
/// can.
///
/// # Errors
/// If the signal cannot be caught.
pub fn survive_file_size_limit() -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        // What is caught once stays caught.
        drop(signal(SignalKind::from_raw(nix::sys::signal::Signal::SIGXFSZ as i32))?);
    }
    Ok(())
}

/// Completes when the process is asked to stop: `SIGTERM`, or Ctrl-C.
///
/// # Errors
/// If signals cannot be listened for.
pub async fn stop_signal() -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            _ = terminate.recv() => Ok(()),
            pressed = tokio::signal::ctrl_c() => pressed,
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await
}
