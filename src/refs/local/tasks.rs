//! The loops of a local repository, and which of them is the active one.

use super::{LocalRepository, RefName, RefsError};
use loopgate_core::Sha;

/// The symbolic ref that names the active loop.
const CURRENT: &str = "refs/loopgate/current";
const TASKS: &str = "refs/loopgate/task/";

impl LocalRepository {
    /// The names of all loops, in order.
    ///
    /// # Errors
    /// When git does not answer.
    pub async fn tasks(&self) -> Result<Vec<String>, RefsError> {
        let listing = self.git(&["for-each-ref", "--format=%(refname)", TASKS], None).await?;
        let listing = String::from_utf8_lossy(&listing).into_owned();
        Ok(listing.lines().filter_map(|name| name.strip_prefix(TASKS)).map(str::to_owned).collect())
    }

    /// The name of the active loop.
    ///
    /// # Errors
    /// When git cannot be run.
    pub async fn current_task(&self) -> Result<Option<String>, RefsError> {
        let answer = self.run(&["symbolic-ref", "--quiet", CURRENT], None).await?;
        let name = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
        Ok(name.strip_prefix(TASKS).filter(|_| answer.status.success()).map(str::to_owned))
    }

    /// The commit that a revision names, if it names one.
    ///
    /// # Errors
    /// When git cannot be run.
    pub async fn resolve_commit(&self, revision: &str) -> Result<Option<Sha>, RefsError> {
        self.resolve(&format!("{revision}^{{commit}}")).await
    }

    /// Makes a loop the active one.
    ///
    /// # Errors
    /// When git refuses.
    pub async fn enter_task(&self, name: &RefName) -> Result<(), RefsError> {
        self.git(&["symbolic-ref", CURRENT, &name.to_string()], None).await.map(drop)
    }

    /// A loop is the active one no longer; fine if it was not.
    ///
    /// # Errors
    /// When git refuses.
    pub async fn leave_task(&self, name: &RefName) -> Result<(), RefsError> {
        let current = self.current_task().await?;
        if current.is_some_and(|current| name.to_string() == format!("{TASKS}{current}")) {
            self.git(&["symbolic-ref", "--delete", CURRENT], None).await?;
        }
        Ok(())
    }
}
