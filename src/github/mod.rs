//! The only room that calls GitHub.
//!
//! Its houses: `client` sends requests within GitHub's limits, `observe` reads a pull request into a [`Snapshot`](loopgate_core::observed::Snapshot), `act` makes it look as decided,
//! `app` is what only the App itself has, and `reconcile` is one turn of all of them. Which house may enter which is held
//! by a test (`tests/arrows.rs`).

mod act;
mod app;
mod client;
mod observe;
mod reconcile;

pub use act::{Effect, Execution, Executor, Problem, plan};
pub use app::deliveries::{DeliveryAttempt, LoggedDelivery};
pub use app::visitor::{SignIn, Visitor};
pub use app::{doctor, registration};
pub use client::auth::{AppCredentials, AppName, AppSlug, Credentials};
pub use client::budget::{
    BookingAnswer, BudgetClaim, BudgetUse, COUNTS_FOR, LATE, Ledger, MOST_PROMISED, Need, Promise,
    Quota, SharedBudget, Want,
};
pub use client::cache::MemoryCache;
pub use client::clock::{Clock, SystemClock};
pub use client::error::{Error, Result};
pub use client::fence::{Fence, fenced};
pub use client::health::{RequestCounts, STATUSES, Usage};
pub use client::marker::state_apart;
pub use client::objects::GithubObjects;
pub use client::repo::Repo;
pub use client::retry::Patience;
pub use client::secret::Secret;
pub use client::transport::ApiUrl;
pub use client::work_class::{Served, WorkClass, serving};
pub use client::{Client, Github, Setup};
pub use observe::looked_heads::{HeadDeliveries, LookedHeads};
pub use observe::pull_request::PullRequest;
pub use observe::resolve::ListedPull;
pub use observe::{
    CheckedConfiguration, Dormant, DormantRepository, LeftCheckRun, Observation, ObservedSurface,
    Observer, OwnCheckRun, OwnComment, PullRequestFacts, Target,
};
pub use reconcile::feedback::{FeedbackReader, FeedbackSeen, Pacing, WaitEnd};
pub use reconcile::group::{AnsweredGroup, GroupAnswer, MergeGroup};
pub use reconcile::recorded_loop::LoopReader;
pub use reconcile::request::ReconcileRequest;
pub use reconcile::storage::StateArtifact;
pub use reconcile::{
    Failed, FoldResult, LoopEntry, ObservedPull, Preview, Reconcile, ReconcileOutcome,
    ReconcileResult, Summary, fold_ended_runs,
};
