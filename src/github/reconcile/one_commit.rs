//! What is done beside a turn's own surface: one commit may be the head of several pull requests, whose check runs must
//! not speak for one another; a base may have no configuration any more; and work may be given up.

use super::{Failed, Observation, Preview, Reconcile, Result, Turn};
use crate::github::reconcile::request::ReconcileRequest;
use crate::github::{
    act::plan,
    client::error::{Error, OrAbsent as _},
    observe::{CONFIGURATION, LeftCheckRun, ObservedSurface, Pull, read_pull},
    reconcile::storage::Storage,
};
use loopgate_core::{
    Sha,
    deciding::{CheckRunPlan, Surface},
    observed::{CheckScope, Conclusion, Lifecycle, OwnCheck},
};
use loopgate_refs::{RefsError, Save};
use loopgate_render::{self as render, Rendered};

/// Other pull requests on one commit that are looked at.
const MOST_OTHERS: usize = 10;

impl Turn<'_> {
    /// Where pull requests of different branches share the names of their checks, each shows the worst of all pull
    /// requests that have this commit.
    pub async fn share(
        &self,
        observation: &Observation,
        surface: &mut Surface,
        texts: &mut Rendered,
    ) -> Result<()> {
        let base = &observation.snapshot.pull_request.base;
        let mut others = Vec::new();
        for number in observation.surface.sharing.iter().take(MOST_OTHERS) {
            let Some(looked) = self.peek(&self.job.of(*number), self.now).await? else {
                continue;
            };
            let other = &looked.snapshot.pull_request;
            if other.base.scope == base.scope
                && other.head.sha == observation.surface.pull_request.head.sha
            {
                others.push((*number, other.base.branch.clone(), looked.decision.surface));
            }
        }
        for (check, own, text) in [
            (OwnCheck::Verify, &mut surface.verify, &mut texts.verify),
            (OwnCheck::Gates, &mut surface.gates, &mut texts.gates),
        ] {
            let Some(plan) = own.as_mut() else { continue };
            for (number, branch, theirs) in &others {
                let Some(theirs) = shown(theirs, check) else {
                    continue;
                };
                *plan = (*plan).max_by_severity(theirs);
                render::add_shared(text, *number, branch, theirs);
            }
        }
        Ok(())
    }

    /// Leaves alone the runs on what was left that another open pull request is judged green by.
    pub(super) async fn keep_judged_elsewhere(&self, surface: &mut ObservedSurface) -> Result<()> {
        let job = self.job;
        let heads: Vec<Sha> = surface.left.iter().map(|run| run.head).collect();
        for head in heads {
            if surface.left.iter().all(|run| run.head != head) {
                continue;
            }
            let others = self
                .target()
                .repo
                .pull_requests_with_head(head)
                .await
                .or_refused()?;
            for number in others
                .into_iter()
                .flatten()
                .filter(|number| *number != job.number)
                .take(MOST_OTHERS)
            {
                let Some(looked) = self.peek(&job.of(number), self.now).await? else {
                    continue;
                };
                surface
                    .left
                    .retain(|run| run.head != head || !is_judged_by(&looked, run));
            }
        }
        Ok(())
    }

    /// Where a commit took the configuration away, takes back what was requested, and shows that in the status comment.
    async fn take_back(&self) -> Result<()> {
        let target = self.target();
        let hidden_ref = Storage::Ref(target.repo.objects());
        let store = self.store(self.job, &hidden_ref);
        let loaded = store.load().await?;
        let (Some(tip), Some(state)) = (loaded.tip, loaded.intact()) else {
            return Ok(());
        };
        let Some((left, labels, commit)) = self.observer.switched_off(target).await? else {
            return Ok(());
        };
        let asked = state
            .concerns
            .gates
            .values()
            .flat_map(|gate| &gate.reviewers);
        let wished = Surface {
            labels: labels.into_iter().map(|label| (label, None)).collect(),
            withdraw: asked.cloned().collect(),
            status_comment: true,
            ..Surface::default()
        };
        let status_comment = render::switched_off(&left.pull_request.base.branch, commit);
        let texts = Rendered {
            status_comment,
            ..Rendered::default()
        };
        let effects = plan(&left, &wished, &texts);
        self.executor.execute(&self.client, &left, &effects).await?;
        // A reviewer that it names as asked is not asked again.
        let mut next = state.clone();
        next.concerns
            .gates
            .values_mut()
            .for_each(|gate| gate.reviewers.clear());
        let (report, subject) = (store.report(tip).await?, "the configuration was taken away");
        let save = Save {
            state: &next,
            lines: &[],
            attempt: None,
            artifact: &report,
            subject,
            statement: None,
        };
        match store.save(&loaded, &save).await {
            Ok(_) | Err(RefsError::RefMoved { .. } | RefsError::Refused(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// A pull request whose base has no configuration is left alone, but for what it carries from another base: a green
    /// check of the commit would open that one again, whatever was decided since.
    pub(super) async fn leave(&self) -> Result<()> {
        let target = self.target();
        if !self.observer.dormant.is_dormant(&self.job.repository) {
            self.take_back().await?;
        }
        let left = self
            .observer
            .left_for_nothing(target)
            .await
            .or_absent()?
            .flatten();
        let Some(mut surface) = left else {
            return Ok(());
        };
        self.keep_judged_elsewhere(&mut surface).await?;
        let effects = plan(&surface, &Surface::default(), &Rendered::default());
        self.executor
            .execute(&self.client, &surface, &effects)
            .await
            .map_err(Failed::from)?;
        Ok(())
    }
}

impl Reconcile {
    /// Writes in `loopgate / verify` that work was given up because the process ended so many `times`. The next look
    /// that ends well replaces it.
    ///
    /// # Errors
    /// [`Failed`] when GitHub does not answer or asks to wait.
    pub async fn show_given_up(&self, job: &ReconcileRequest, times: u32) -> Result<()> {
        let client = self.github.client(job.installation);
        let repo = client.repo(&job.repository);
        let Some(Pull {
            mut pull_request,
            stack,
            default_branch,
            ..
        }) = read_pull(repo, job.number)
            .await
            .or_absent()?
            .filter(|pull| pull.pull_request.lifecycle == Lifecycle::Open)
        else {
            return Ok(());
        };
        let check_runs = self
            .observer
            .own_check_runs(repo, pull_request.head.sha)
            .await?;
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
        let observed = ObservedSurface {
            repository,
            pull_request,
            check_runs,
            us: us.bot_id,
            ..ObservedSurface::default()
        };
        let failure = CheckRunPlan::Completed(Conclusion::Failure);
        let wished = Surface {
            verify: Some(failure),
            ..Surface::default()
        };
        let texts = Rendered {
            verify: render::given_up(times),
            ..Rendered::default()
        };
        let effects = plan(&observed, &wished, &texts);
        let executed = self.executor.execute(&client, &observed, &effects).await?;
        executed
            .again_at
            .map_or(Ok(()), |until| Err(Error::Paced { until }.into()))
    }
}

const fn shown(surface: &Surface, check: OwnCheck) -> Option<CheckRunPlan> {
    match check {
        OwnCheck::Verify => surface.verify,
        OwnCheck::Gates => surface.gates,
    }
}

/// Whether the result of a run also holds for another pull request.
fn is_judged_by(looked: &Preview, run: &LeftCheckRun) -> bool {
    let pull_request = &looked.snapshot.pull_request;
    let check = OwnCheck::ALL
        .into_iter()
        .find(|check| check.name(&pull_request.base.scope) == run.name);
    pull_request.head.sha == run.head
        && check.is_some_and(|check| {
            let plan = shown(&looked.decision.surface, check);
            matches!(
                plan,
                Some(CheckRunPlan::InProgress | CheckRunPlan::Completed(Conclusion::Success))
            )
        })
}
