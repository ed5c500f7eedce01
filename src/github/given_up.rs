//! Shows on a pull request that Loopgate no longer looks at it. Few requests are made for that: something on the pull
//! request may be what ended the process.

use serde::Deserialize;

use super::{
    Error, Failed, ObservedSurface, Reconcile, ReconcileRequest,
    error::OrAbsent as _,
    observe::CONFIGURATION,
    path, plan,
    wire::{InStack, ObjectRef, Repository},
};
use crate::render::{self, Rendered};
use loopgate_core::{
    Sha,
    deciding::{CheckRunPlan, Surface},
    observed::{Base, CheckScope, Conclusion, OwnCheck},
};

#[derive(Deserialize)]
struct Pull {
    state: String,
    head: ObjectRef,
    base: BaseTip,
    stack: Option<InStack>,
}

#[derive(Deserialize)]
struct BaseTip {
    #[serde(rename = "ref")]
    branch: String,
    sha: Sha,
    repo: Repository,
}

impl Reconcile {
    /// Writes in `loopgate / verify` that work was given up because the process ended so many `times`. The next look
    /// that ends well replaces it.
    ///
    /// # Errors
    /// [`Failed`] when GitHub does not answer or asks to wait.
    pub async fn tell_given_up(&self, job: &ReconcileRequest, times: u32) -> Result<(), Failed> {
        let client = self.github.client(job.installation);
        let repository = path::repo(&job.repository);
        let pull = client.fetch::<Pull>(&format!("{repository}/pulls/{}", job.number)).await.or_absent()?;
        let Some(Pull { head, mut base, stack, .. }) = pull.filter(|pull| pull.state == "open") else { return Ok(()) };
        if let Some(stack) = stack {
            (base.branch, base.sha) = (stack.base.branch, stack.base.sha);
        }
        let check_runs = self.observer.own_check_runs(client.repo(&job.repository), head.sha).await?;
        let configuration = format!("{repository}/contents/{CONFIGURATION}?ref={}", base.sha);
        let scope = match base.branch == base.repo.default_branch {
            true => CheckScope::DefaultBranch,
            false => CheckScope::Branch(base.branch.clone()),
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
        let base = Base { branch: base.branch, sha: base.sha, scope, open_pattern: None };
        let nothing = ObservedSurface::of_nothing(job.repository.clone(), job.number, head.sha, base, us.bot);
        let observed = ObservedSurface { check_runs, us: us.bot_id, ..nothing };
        let failure = CheckRunPlan::Completed(Conclusion::Failure);
        let wished = Surface { verify: Some(failure), ..Surface::default() };
        let texts = Rendered::of_check_runs(render::given_up(times), render::given_up(times));
        let effects = plan(&observed, &wished, &texts);
        let executed = self.executor.execute(&client, &observed, &effects).await?;
        executed.again_at.map_or(Ok(()), |until| Err(Error::Paced { until }.into()))
    }
}
