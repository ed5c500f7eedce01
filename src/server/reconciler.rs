//! What the server calls to get the work done.

use std::future::Future;

use crate::{
    core::{Hint, InstallationId, PrNumber, RepoName, Timestamp},
    github::webhook::Target,
};

/// Looks at pull requests and makes what people see there what it should be. Level-triggered: a call says *look*,
/// and calling once too often changes nothing.
pub trait Reconciler: Send + Sync + 'static {
    /// Which open pull requests does this concern? Nobody else works on the same target meanwhile.
    fn resolve(&self, work: &Unresolved) -> impl Future<Output = Result<Vec<PullRequest>, Failed>> + Send;

    /// Observes one pull request, decides, and acts. Never called twice at once for one pull request.
    fn reconcile(&self, job: Job) -> impl Future<Output = Result<Again, Failed>> + Send;
}

/// A target that is not yet a pull request: a commit, a branch, a repository, an installation, a merge group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unresolved {
    pub installation: InstallationId,
    /// Never [`Target::PullRequest`].
    pub target: Target,
    pub hints: Vec<Hint>,
}

/// A pull request by its repository and number.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PullRequest {
    pub repository: RepoName,
    pub number: PrNumber,
}

/// One pull request to look at, with what its events told on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub installation: InstallationId,
    pub repository: RepoName,
    pub pull_request: PrNumber,
    /// Of all deliveries that this call covers, oldest first.
    pub hints: Vec<Hint>,
}

/// When to look again without being told by an event. The newest answer replaces the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// When something happens.
    OnEvent,
    /// At this time, if nothing happens before: an evidence timeout, a gate reminder. Survives a restart.
    At(Timestamp),
}

/// A call that did not end well, and will be repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Failed {
    /// GitHub asked us to stay away until then (rate limits), or is down. Speaks for the whole installation: none of
    /// its work is started before. Such a wait is nobody's fault and does not bring the work nearer to being given up.
    /// `None`: an ordinary failure; it is repeated with growing pauses, and given up after ten in a row.
    pub retry_at: Option<Timestamp>,
    /// One line for people who run the server. No tokens, no payloads.
    pub reason: String,
}
