//! What a fixer is told.

use super::drive::Session;
use crate::{cli::CliError, render};
use loopgate_core::policy::Policy;

impl Session<'_> {
    /// The feedback document, with the critique and the task beside it.
    pub(super) async fn feedback(&mut self, policy: &Policy) -> Result<String, CliError> {
        let (task, critique) = (self.state.task.clone(), self.state.critique.clone().unwrap_or_default());
        let report = format!("git show refs/loopgate/task/{}:attempts/{:03}.json", self.alias, self.state.iteration);
        let judged = self.judged().await?;
        let task = render::FixTask { task: &task, critique: &critique, report };
        Ok(render::fixer_feedback(&judged.decision, &judged.snapshot, policy, &task))
    }
}
