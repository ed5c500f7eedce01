//! A GitHub on loopback, for the demo and the tests.
//!
//! There is one [`World`] of plain structs. Everything that happens in it is an *operation*: the REST
//! handlers ([`api`]) and the actors ([`Person`], [`Ci`], [`Admin`]) call the same ones, so what a test does as a user
//! and what the server under test does through HTTP cannot differ. An operation changes the world, writes the journal
//! and queues the webhooks that GitHub would send; the [`hooks`] sender delivers them over real HTTP, signed, one at a
//! time in the order of their causes.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use loopgate_simulator::{Config, PullSpec, Simulator};
//! let sim = Simulator::start(Config::default()).await?;
//! sim.set_webhook_url("http://127.0.0.1:9/webhook");
//! let repo = sim.create_repo("acme/widgets", &[("README.md", "hello\n")])?;
//! let alice = sim.user("alice");
//! let pr = alice.open_pull_request(&repo, PullSpec::new("Add x").file("x.txt", "x\n"))?;
//! alice.push(&pr, &[("x.txt", "y\n")], "Say y")?;
//! sim.user("bob").comment(&pr, "architecture approved")?;
//! sim.settle().await;
//! assert_eq!(sim.pull_request(&pr)?.comments[0].author, "bob");
//! # Ok(()) }
//! ```
//!
//! Where GitHub's behaviour is surprising the code cites its documentation. What is simplified: merges are three-way
//! by whole files, mergeability is known at once, and there are no discussions, projects or releases; of
//! GraphQL there are the questions that Loopgate asks.
//!
//! Locking: the world stands behind one mutex that is never held across an await. Whatever waits for the world to
//! change ([`Simulator::wait_until`], the sender) watches a counter that every change raises, so no change between
//! looking and waiting is missed.

#![cfg_attr(
    not(test),
    warn(
        clippy::print_stderr,
        clippy::print_stdout,
        clippy::unwrap_used,
        clippy::use_debug
    )
)]

mod actors;
mod api;
mod clock;
mod config;
mod faults;
mod git;
mod hooks;
mod json;
mod key;
mod operations;
mod pages;
mod past;
mod refused;
mod requests;
#[cfg(test)]
mod tests;
mod transcript;
mod world;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use chrono::TimeDelta;
use tokio::{net::TcpListener, sync::watch, task::AbortHandle};

pub use self::{
    actors::{
        Admin, CheckRunView, CheckSpec, Ci, CommentView, CommitSpec, Mergeable, Person, Pr,
        PullSpec, PullState, PullView, RefView, ReviewView, RunSpec, WorkflowView,
    },
    clock::Clock,
    config::{Config, StartError},
    faults::{Alteration, DeliveryFault, Harm, Mishap, Often, RequestFault},
    hooks::{Attempt, Delivery, DeliveryCounts, DeliveryState},
    key::{AppKey, UnusableKey},
    operations::{
        merging::MergeMethod,
        queue::{MergeGroup, QueueOutcome},
    },
    pages::{Act, Change, Pages, Playbook},
    refused::Refused,
    requests::{Conditional, RequestCounts, RequestRecord, SecondaryLimits},
    transcript::Transcript,
    world::{
        DeliveryId, RepoId, RestVersion,
        account::{OrgRole, Privacy, Role},
        app::{Area, Level, Permissions},
        checks::{Annotation, AnnotationLevel, Button, Conclusion, Progress, StatusState},
        issue::{ReactionContent, ReviewEvent, ReviewState},
        journal::{Force, Happening, What},
        repo::{Creations, Protection, ProtectionSource, RequiredCheck, StaleReviews, Visibility},
        runs::{JobLog, LoggedStep},
    },
};
use self::{transcript::Scribe, world::World};
use loopgate_core::{AppId, InstallationId};

/// The world and those who wait for it to change.
struct Shared {
    world: Mutex<World>,
    version: watch::Sender<u64>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, World> {
        // A panic in a test's closure must not hide the world from the other tests' assertions.
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the world and wakes all that wait.
    fn write<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        let mut world = self.lock();
        world.keep_past();
        let result = change(&mut world);
        drop(world);
        self.version.send_modify(|version| *version += 1);
        result
    }

    /// Looks, or changes what nobody waits for.
    fn quietly<T>(&self, look: impl FnOnce(&mut World) -> T) -> T {
        look(&mut self.lock())
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }
}

/// A running GitHub. Clones are handles to the same one; it stops when the last is dropped.
#[derive(Clone)]
pub struct Simulator {
    shared: Arc<Shared>,
    key: AppKey,
    app: AppId,
    installation: InstallationId,
    webhook_secret: Arc<str>,
    pace: TimeDelta,
    _tasks: Arc<Tasks>,
}

impl std::fmt::Debug for Simulator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Simulator({})", self.url())
    }
}

/// Ends the server and the sender with the last handle.
struct Tasks(Vec<AbortHandle>);

impl Drop for Tasks {
    fn drop(&mut self) {
        for task in &self.0 {
            task.abort();
        }
    }
}

/// [`Simulator::wait_until`] waited in vain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it did not happen within {0:?}")]
pub struct TimedOut(Duration);

impl Simulator {
    /// Listens on the configured loopback address, in the running tokio runtime.
    ///
    /// # Errors
    /// When the address is taken, or the App's key cannot be used.
    pub async fn start(config: Config) -> Result<Self, StartError> {
        let listener = TcpListener::bind(config.listen).await?;
        let base_url = format!("http://{}", listener.local_addr()?);
        let key = config.key()?;
        let world = config.world(base_url, &key, Scribe::open(&config.transcript)?)?;
        let shared = Arc::new(Shared {
            world: Mutex::new(world),
            version: watch::Sender::new(0),
        });
        let router = api::router(Arc::clone(&shared));
        let serve = tokio::spawn(async move { axum::serve(listener, router).await });
        let mut tasks = vec![serve.abort_handle()];
        for _ in 0..config.delivery_lanes.max(1) {
            tasks.push(tokio::spawn(hooks::sender::run(Arc::downgrade(&shared))).abort_handle());
        }
        Ok(Self {
            shared,
            key,
            app: config.app_id,
            installation: config.installation_id,
            webhook_secret: config.webhook_secret.into(),
            pace: config.pace,
            _tasks: Arc::new(Tasks(tasks)),
        })
    }
}
