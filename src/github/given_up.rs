//! Shows on a pull request that Loopgate no longer looks at it. Few requests are made for that: something on the pull
//! request may be what ended the process.

use super::{
    Error, Failed, ObservedSurface, Reconcile, ReconcileRequest,
    error::OrAbsent as _,
    observe::{CONFIGURATION, Pull, read_pull},
    plan,
};
use crate::render::{self, Rendered};
use loopgate_core::{
    deciding::{CheckRunPlan, Surface},
    observed::{CheckScope, Conclusion, Lifecycle, OwnCheck},
};

impl Reconcile {
    /// Writes in `loopgate / verify` that work was given up because the process ended so many `times`. The next look
    /// that ends well replaces it.
    ///
    /// # Errors
    /// [`Failed`] when GitHub does not answer or asks to wait.
    pub async fn tell_given_up(&self, job: &ReconcileRequest, times: u32) -> Result<(), Failed> {
        let client = self.github.client(job.installation);
        let repo = client.repo(&job.repository);
        let Some(Pull { mut pull_request, stack, default_branch, .. }) = read_pull(repo, job.number)
            .await
            .or_absent()?
            .filter(|pull| pull.pull_request.lifecycle == Lifecycle::Open)
        else {
            return Ok(());
        };
        let check_runs = self.observer.own_check_runs(repo, pull_request.head.sha).await?;
        let tip = stack.map_or(pull_request.base.sha, |stack| stack.base.sha);
        let configuration = repo.path(format!("contents/{CONFIGURATION}?ref={tip}"));
        let branch = &pull_request.base.branch;
        let scope = match default_branch.as_ref() == Some(branch) {
            true => CheckScope::DefaultBranch,
            false => CheckScope::Branch(branch.clone()),
        };
        let name = OwnCheck::Verify.name(&scope);
        if !check_runs.iter().any(|run| run.name == name) {
            // Where Loopgate is not switched on nothing is written. Only the configuration names the checks of
            // other branches.
            if scope != CheckScope::DefaultBranch || !client.exists(&configuration).await? {
                return Ok(());
            }
        }
        let us = self.github.identity(&client).await?;
        pull_request.base.scope = scope;
        let repository = job.repository.clone();
        let observed =
            ObservedSurface { repository, pull_request, check_runs, us: us.bot_id, ..ObservedSurface::default() };
        let failure = CheckRunPlan::Completed(Conclusion::Failure);
        let wished = Surface { verify: Some(failure), ..Surface::default() };
        let texts = Rendered::of_check_runs(render::given_up(times), render::given_up(times));
        let effects = plan(&observed, &wished, &texts);
        let executed = self.executor.execute(&client, &observed, &effects).await?;
        executed.again_at.map_or(Ok(()), |until| Err(Error::Paced { until }.into()))
    }
}
