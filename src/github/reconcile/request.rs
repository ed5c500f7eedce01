//! What is asked of a reconcile.

use loopgate_core::{InstallationId, PrNumber, RepoName, observed::Hint};

/// A pull request to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReconcileRequest {
    /// None where a plain token is used.
    pub installation: Option<InstallationId>,
    pub repository: RepoName,
    pub number: PrNumber,
    /// What only events state, oldest first.
    pub hints: Vec<Hint>,
}

impl ReconcileRequest {
    /// Of another pull request of the repository.
    pub(in crate::github) fn of(&self, number: PrNumber) -> Self {
        Self {
            number,
            hints: Vec::new(),
            ..self.clone()
        }
    }
}
