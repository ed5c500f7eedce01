//! Telling on a pull request that it is not looked at any more. Little is read for it: something there may be what the
//! process did not survive.

use serde::Deserialize;

use super::{
    Failed, ObservedSurface, OwnCheck, Reconcile, ReconcileRequest, error::OrAbsent as _, observe::CONFIGURATION, path,
    plan, resolve::Tip,
};
use crate::render::{self, Rendered};
use loopgate_core::{
    deciding::{CheckRunPlan, Surface},
    observed::Conclusion,
};

#[derive(Deserialize)]
struct Pull {
    state: String,
    head: Tip,
    base: Tip,
}

impl Reconcile {
    /// Says in `loopgate / verify` that work was given up because the process ended so many `times`. The next look that
    /// ends well replaces it.
    ///
    /// # Errors
    /// [`Failed`] when GitHub does not answer or asks to wait.
    pub async fn tell_given_up(&self, job: &ReconcileRequest, times: u32) -> Result<(), Failed> {
        let client = self.github.client(job.installation);
        let repository = path::repo(&job.repository);
        let pull = client.fetch::<Pull>(&format!("{repository}/pulls/{}", job.number)).await.or_absent()?;
        let Some(Pull { head, base, .. }) = pull.filter(|pull| pull.state == "open") else { return Ok(()) };
        let check_runs = self.observer.own_check_runs(&client, &job.repository, head.sha).await?;
        let configuration = format!("{repository}/contents/{CONFIGURATION}?ref={}", base.sha);
        if !check_runs.iter().any(|run| run.check == OwnCheck::Verify) && !client.exists(&configuration).await? {
            // Not switched on: nothing is written there.
            return Ok(());
        }
        let us = self.github.identity(&client).await?;
        let observed =
            ObservedSurface::of_check_runs((&job.repository, job.number), head.sha, &us.bot, us.bot_id, check_runs);
        let failure = CheckRunPlan::Completed(Conclusion::Failure);
        let wished = Surface { verify: Some(failure), ..Surface::default() };
        let texts = Rendered::of_check_runs(render::given_up(times), render::given_up(times));
        let effects = plan(&observed, &wished, &texts);
        self.executor.execute(&client, &observed, &effects).await?;
        Ok(())
    }
}
