//! What the server calls to get the work done.

use std::{collections::BTreeMap, future::Future, sync::Arc};

pub use crate::github::PullRequest;
use crate::github::{DormantRepository, Failed, LookedHeads, ReconcileOutcome, ReconcileRequest};
use loopgate_core::{InstallationId, observed::Hint};
use loopgate_webhook::Target;

/// Looks at pull requests and makes what people see there what it should be. Level-triggered: a call asks for a look,
/// and calling once too often changes nothing.
///
/// A call that fails is repeated with growing pauses, and given up after ten failures in a row. Where GitHub asked us to
/// stay away ([`Retry::At`](loopgate_refs::Retry::At)), the whole installation waits, and it does not count as a failure
/// of the target; nor does an outage, for as long as that may last.
pub trait Reconciler: Send + Sync + 'static {
    /// Which open pull requests does this concern? No other worker has the same target meanwhile. Hints may be added
    /// for them.
    fn resolve(
        &self,
        work: &mut Unresolved,
    ) -> impl Future<Output = Result<Vec<PullRequest>, Failed>> + Send;

    /// What operators see of the work beside the queue.
    fn overview(&self) -> Overview {
        Overview::default()
    }

    /// The heads that were looked at a moment ago, if they are remembered.
    fn looked_heads(&self) -> Option<Arc<LookedHeads>> {
        None
    }

    /// Observes one pull request, decides, and acts. Never called twice at once for one pull request.
    fn reconcile(
        &self,
        job: ReconcileRequest,
    ) -> impl Future<Output = Result<ReconcileOutcome, Failed>> + Send;

    /// Shows on the pull request that it was given up because the process did not survive looking at it so many
    /// `times`.
    fn show_given_up(
        &self,
        job: ReconcileRequest,
        times: u32,
    ) -> impl Future<Output = Result<(), Failed>> + Send;
}

/// What does not stand in the queue, and is owed all the same.
#[derive(Debug, Default)]
pub struct Overview {
    /// Repositories whose configuration was not found when it was last asked for.
    pub dormant: Vec<DormantRepository>,
    /// Effects that wait for their turn to be created, by kind.
    pub effects_waiting: BTreeMap<&'static str, u64>,
}

/// A target that is not yet a pull request: a commit, a branch, a repository, an installation, a merge group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unresolved {
    pub installation: InstallationId,
    /// Never [`Target::PullRequest`].
    pub target: Target,
    pub hints: Vec<Hint>,
}
