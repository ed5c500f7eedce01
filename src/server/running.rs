//! Putting the parts together, and taking them apart in an order that loses nothing.

use std::{
    net::SocketAddr,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use chrono::TimeDelta;
use parking_lot::Mutex;
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot, watch},
    task::JoinSet,
};
use uuid::Uuid;

use super::{
    Admin, Change, DeadLetter, DirtySet, Doctor, Key, Limits, Live, Mailbox, Metrics, Readiness,
    Receiver, Reconciler, RecoveryRequest, Rest, ServerConfig, ServerConfigError, Services,
    SetupPages, Shared, Store, StoreError, Visitors, Worker, Writer, channel, dashboard, inbox,
    listener, pages, recovery::recover, storage,
};
use crate::github::{
    self, Clock, LoopReader, Secret, SignIn, SystemClock,
    doctor::Expected,
    registration::{Arrival, callback},
};
use loopgate_core::Timestamp;
use loopgate_webhook::OwnApp;

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
    /// The pages that their token opens.
    pub setup: Option<Arc<SetupPages>>,
    /// Reads loops for the dashboard's pages, and names the GitHub that is asked beside the work of the queue.
    pub loops: Option<LoopReader>,
    /// Whether that GitHub is asked at start and regularly for what no webhook stated.
    pub recovers: bool,
    /// Whether it is examined at start and regularly for what keeps Loopgate from working.
    pub is_examined: bool,
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot listen on {address}: {source}")]
    Listen {
        address: SocketAddr,
        source: std::io::Error,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Github(#[from] github::Error),
    #[error(transparent)]
    Config(#[from] ServerConfigError),
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
            setup: None,
            loops: None,
            recovers: false,
            is_examined: false,
        }
    }

    /// Binds both listeners, opens the inbox, and takes up what a former run left unfinished.
    ///
    /// # Errors
    /// [`StartError`] if an address is taken or the data directory cannot be used.
    pub async fn start<R: Reconciler>(self, reconciler: R) -> Result<Running, StartError> {
        let (public, public_address) = bind(self.config.listen).await?;
        let (admin, admin_address) = bind(self.config.admin_listen).await?;
        let apps = [(); 2].map(|()| watch::Sender::new(pages::while_waiting()));
        let (stop_listeners, stopped) = watch::channel(false);
        let mut listeners = JoinSet::new();
        let mut bound = Some([public, admin]);
        let mut accept = || {
            for (listener, app) in bound.take().into_iter().flatten().zip(&apps) {
                listeners.spawn(listener::serve(
                    listener,
                    app.subscribe(),
                    self.header_timeout,
                    stopped.clone(),
                ));
            }
        };
        let (store, writer) = opened(&self.config, &mut accept).await?;
        let unfinished = store.installations(Timestamp::MAX_UTC).await?;

        let metrics = Arc::new(Metrics::default());
        let (announce, arrivals) = mpsc::channel(ARRIVALS);
        let (inbox, write) = inbox::open(writer, store.clone(), announce, metrics.clone());
        let github = self.loops.as_ref().map(|loops| loops.github.clone());
        if let Some(github) = &github {
            github.share_budget(Arc::new(inbox.bookings()));
        }
        let services = Services {
            store,
            inbox,
            metrics,
            clock: self.clock.clone(),
            github,
        };
        // A process beside this one may have looked at another pull request with the same head.
        let reconciler = Arc::new(reconciler);
        let heads = if self.config.database_url.is_none() {
            reconciler.looked_heads()
        } else {
            None
        };
        let receiver = Receiver::new(
            services.clone(),
            &self.config.webhook_secrets(),
            self.own.clone(),
            heads.clone(),
        );
        let receiver = Arc::new(receiver);
        let mut background = JoinSet::new();
        let (recovery, doctor) = self.start_background(&mut background, &services, &receiver);
        let visitors =
            visitors(&self.config, self.loops.as_ref(), services.clock.clone())?.map(Arc::new);
        let readiness = Arc::new(Readiness::new(services.clone()));
        let reconciles = reconciler.clone();
        let admin = Arc::new(Admin {
            services: services.clone(),
            readiness: readiness.clone(),
            overview: Box::new(move || reconciles.overview()),
            recovery: recovery.clone(),
            loops: self.loops,
            doctor,
            live: Live::new(stopped.clone()),
            form_token: Uuid::new_v4().simple().to_string(),
        });
        let published = visitors
            .as_ref()
            .map(|visitors| dashboard::published(admin.clone(), visitors));
        let keys = self
            .config
            .signer
            .as_ref()
            .map(|signer| signer.keys.clone())
            .unwrap_or_default();
        let app = pages::public(
            receiver.clone(),
            readiness.clone(),
            self.setup,
            published,
            keys,
        );
        apps[0].send_modify(|shown| *shown = app);
        apps[1].send_modify(|shown| *shown = pages::admin(admin));
        accept();

        let (ask, asked) = mpsc::channel(1);
        let (stop_worker, stop) = oneshot::channel();
        let (rng, suspects) = (Mutex::new(self.rng), tokio::sync::Mutex::default());
        let shared = Shared {
            services: services.clone(),
            reconciler,
            rng,
            heads,
            suspects,
        };
        let (mut worker, mut writer) = (JoinSet::new(), JoinSet::new());
        worker.spawn(
            Worker::new(shared, DirtySet::new(self.limits), unfinished).run(Mailbox {
                arrivals,
                asked,
                stop,
            }),
        );
        writer.spawn(write);
        Ok(Running {
            public_address,
            admin_address,
            services,
            readiness,
            receiver,
            visitors,
            ask,
            recovery,
            background,
            stop_worker,
            stop_listeners,
            listeners,
            worker,
            writer,
        })
    }

    /// Starts what works beside the queue: the channel of webhooks, recovery, and the doctor.
    fn start_background(
        &self,
        background: &mut JoinSet<()>,
        services: &Services,
        receiver: &Arc<Receiver>,
    ) -> (Option<mpsc::Sender<RecoveryRequest>>, Option<Arc<Doctor>>) {
        let ServerConfig {
            public_url,
            webhook_proxy,
            polling,
            resync_every,
            signer,
            ..
        } = &self.config;
        if let Some(url) = webhook_proxy.clone() {
            background.spawn(channel::listen(url, receiver.clone()));
        }
        let recovery = services
            .github
            .clone()
            .filter(|_| self.recovers)
            .map(|github| {
                let (ask, requests) = mpsc::channel(1);
                let reads_log = polling.then(|| receiver.clone());
                background.spawn(recover(
                    github,
                    services.clone(),
                    reads_log,
                    *resync_every,
                    requests,
                ));
                ask
            });
        let doctor = services
            .github
            .clone()
            .filter(|_| self.is_examined)
            .map(|github| {
                let arrival = Arrival::of(public_url.clone(), webhook_proxy.clone(), *polling);
                let expected = Expected {
                    arrival,
                    signer: signer.clone(),
                };
                let doctor = Arc::new(Doctor::new(github, expected, services.clock.clone()));
                background.spawn(doctor.clone().run());
                doctor
            });
        (recovery, doctor)
    }
}

/// Those who sign in with GitHub, where that is configured.
fn visitors(
    config: &ServerConfig,
    loops: Option<&LoopReader>,
    clock: Arc<dyn Clock>,
) -> Result<Option<Visitors>, StartError> {
    let (Some(loops), Some(address), Some(secret)) =
        (loops, &config.public_url, &config.client_secret)
    else {
        return Ok(None);
    };
    if address.path() != "/" {
        tracing::warn!("the dashboard is not published: LOOPGATE_PUBLIC_URL has a path");
        return Ok(None);
    }
    let sign_in = SignIn::new(
        loops.github.clone(),
        &config.github_web_url,
        callback(address),
        secret.clone(),
    )?;
    Ok(Some(Visitors::new(
        sign_in,
        address.origin().ascii_serialization(),
        clock,
    )))
}

/// The storage. While a database server is away, `refuse` has the listeners answer that they wait for it.
async fn opened(
    config: &ServerConfig,
    mut refuse: impl FnMut(),
) -> Result<(Store, Writer), StoreError> {
    loop {
        match storage::open(config.database_url.as_ref(), &config.data_dir).await {
            Err(error) if config.database_url.is_some() && error.is_outage() => {
                tracing::warn!(%error, "the database is away: deliveries are refused until it is back");
                refuse();
                tokio::time::sleep(DATABASE_PAUSE).await;
            }
            opened => return opened,
        }
    }
}

/// A listener, and the address it has got.
async fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let bound = async {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    };
    bound
        .await
        .map_err(|source| StartError::Listen { address, source })
}

/// A server at work. Dropping it without [`shutdown`](Self::shutdown) is like killing the process: nothing
/// acknowledged is lost, and the next start goes on.
pub struct Running {
    /// Where webhooks are received; the real port if the configured one is 0.
    pub public_address: SocketAddr,
    pub admin_address: SocketAddr,
    services: Services,
    readiness: Arc<Readiness>,
    receiver: Arc<Receiver>,
    visitors: Option<Arc<Visitors>>,
    ask: mpsc::Sender<(Rest, oneshot::Sender<()>)>,
    recovery: Option<mpsc::Sender<RecoveryRequest>>,
    /// What ends with the server: the channel of webhooks, recovery and the doctor.
    background: JoinSet<()>,
    stop_worker: oneshot::Sender<Timestamp>,
    stop_listeners: watch::Sender<bool>,
    listeners: JoinSet<()>,
    worker: JoinSet<usize>,
    writer: JoinSet<()>,
}

/// How a server stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shutdown {
    /// Jobs that were not finished in time. They are taken up at the next start.
    pub released: usize,
}

impl Running {
    /// Who we are, learned after the start: until then our own bot's deeds are taken for anybody's, which costs a look
    /// each.
    pub fn introduce(&self, own: OwnApp) {
        *self.receiver.own.write() = own;
    }

    /// Believes webhooks signed with one of these secrets from now on, and no others; and asks GitHub for people's
    /// tokens with the client secret, if there is one.
    pub fn replace_secrets(&self, of_webhooks: &[Secret], of_client: Option<&Secret>) {
        self.receiver.signatures.replace(of_webhooks);
        if let (Some(visitors), Some(secret)) = (&self.visitors, of_client) {
            *visitors.sign_in.secret.write() = secret.clone();
        }
    }

    /// Completes once nothing that was accepted before the call is queued, running, or waiting for a retry.
    /// Wake-ups that are not due do not count, nor do dead letters. What recovery is due to do is done before.
    pub async fn settled(&self) {
        if let Some(ask) = &self.recovery {
            let (reply, answer) = oneshot::channel();
            if ask.send(RecoveryRequest::Idle(reply)).await.is_ok() {
                answer.await.ok();
            }
        }
        self.rests(Rest::Settled).await;
    }

    /// Completes once nothing runs, and nothing begins before time goes on or something arrives. Retries that are not
    /// due do not count, unlike for [`settled`](Self::settled).
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
        self.services.store.dead_letters().await
    }

    /// Tries a dead letter again, with ten attempts as if it were new. Nothing happens if it is none (any more).
    ///
    /// Returns whether the storage took the request.
    pub async fn replay(&self, key: Key) -> bool {
        self.services.inbox.apply(Change::Replay(key)).await.is_ok()
    }

    /// Targets that something was accepted for and that are not yet done, in memory or on disk. Dead letters do not
    /// count.
    ///
    /// # Errors
    /// [`StoreError`] if the inbox cannot be read.
    pub async fn backlog(&self) -> Result<u64, StoreError> {
        Ok(self.services.store.counts().await?.waiting)
    }

    /// Stops in order: no new connections, then the requests and jobs that are under way, 25 seconds at most, then
    /// the inbox.
    pub async fn shutdown(mut self) -> Shutdown {
        let clock = self.services.clock.clone();
        let deadline = clock.now() + STOP_WITHIN;
        self.readiness.is_draining.store(true, Ordering::Relaxed);
        self.background.shutdown().await;
        self.stop_listeners.send_replace(true);
        self.stop_worker.send(deadline).ok();
        let listeners_done = async { while self.listeners.join_next().await.is_some() {} };
        tokio::select! {
            () = listeners_done => {}
            () = clock.sleep_until(deadline) => self.listeners.shutdown().await,
        }
        let released = self
            .worker
            .join_next()
            .await
            .and_then(Result::ok)
            .unwrap_or(0);
        // The writer ends with the last handle to it, after what was already handed in.
        drop((self.services, self.readiness, self.receiver));
        self.writer.join_next().await;
        Shutdown { released }
    }
}

/// A file that reaches the limit of its size fails to be written, and does not end the process: the writer heals once
/// it can.
///
/// # Errors
/// If the signal cannot be caught.
pub fn survive_file_size_limit() -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        // What is caught once stays caught.
        drop(signal(SignalKind::from_raw(
            nix::sys::signal::Signal::SIGXFSZ as i32,
        ))?);
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
