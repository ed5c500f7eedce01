//! The only room that calls GitHub.
//!
//! [`Github`] holds the credentials and hands out one [`Client`] per installation. [`Observer`] reads a pull request
//! into a [`Snapshot`](loopgate_core::observed::Snapshot); [`plan`] and [`Executor`] make it look as decided;
//! [`GithubObjects`] is the git database that its state is kept in, unless that is elsewhere (`storage`); [`Reconcile`]
//! is one turn of all of them.

mod act;
mod app;
mod artifacts;
mod auth;
mod budget;
mod cache;
mod client;
mod clock;
pub mod doctor;
mod error;
mod evidence_memory;
mod feedback;
mod fence;
mod group;
mod health;
mod identity;
mod looked_heads;
mod marker;
mod memory;
mod objects;
mod observe;
mod paging;
mod path;
mod pull_request;
mod reconcile;
mod recorded_loop;
pub mod registration;
mod repo;
mod request;
mod resolve;
mod retry;
mod secret;
mod storage;
mod transport;
mod ttl_cache;
mod visitor;
pub mod webhook;
mod wire;
mod work_class;

pub use act::{Effect, Execution, Executor, Problem, plan};
pub use app::{DeliveryAttempt, LoggedDelivery};
pub use auth::{AppCredentials, AppName, AppSlug, Credentials};
pub use budget::{
    BookingAnswer, BudgetClaim, BudgetUse, COUNTS_FOR, LATE, Ledger, MOST_PROMISED, Need, Promise,
    Quota, SharedBudget, Want,
};
pub use cache::MemoryCache;
pub use client::{Client, Github, Setup};
pub use clock::{Clock, SystemClock};
pub use error::{Error, Result};
pub use feedback::{FeedbackReader, FeedbackSeen, Pacing, WaitEnd};
pub use fence::{Fence, fenced};
pub use group::{AnsweredGroup, GroupAnswer, MergeGroup};
pub use health::{RequestCounts, STATUSES, Usage};
pub use looked_heads::{HeadDeliveries, LookedHeads};
pub use marker::state_apart;
pub use objects::GithubObjects;
pub use observe::{
    CheckedConfiguration, Dormant, DormantRepository, LeftCheckRun, Observation, ObservedSurface,
    Observer, OwnCheckRun, OwnComment, PullRequestFacts, Target,
};
pub use pull_request::PullRequest;
pub use reconcile::{
    Failed, FoldResult, LoopEntry, ObservedPull, Preview, Reconcile, ReconcileOutcome,
    ReconcileResult, Summary, fold_ended_runs,
};
pub use recorded_loop::LoopReader;
pub use repo::Repo;
pub use request::ReconcileRequest;
pub use resolve::ListedPull;
pub use retry::Patience;
pub use secret::Secret;
pub use storage::StateArtifact;
pub use transport::ApiUrl;
pub use visitor::{SignIn, Visitor};
pub use work_class::{Served, WorkClass, serving};
