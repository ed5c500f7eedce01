//! What a worker does with its work: the [`Reconciler`] that looks at pull requests of a real GitHub.

use std::sync::Arc;

use super::{Groups, Overview, PullRequest, Reconciler, Unresolved};
use crate::github::{
    Clock, Error, Failed, Github, LookedHeads, Reconcile, ReconcileOutcome, ReconcileRequest,
    ReconcileResult,
};
use loopgate_webhook::{OwnApp, Target};

/// Who we are, to distinguish our own events from others'.
///
/// # Errors
/// When GitHub does not answer, or does not know the App: a wrong id, a wrong key, or a skewed clock.
pub async fn own_app(github: &Github) -> Result<OwnApp, Error> {
    let identity = github.identity(&github.client(None)).await?;
    Ok(OwnApp {
        app_id: identity.id,
        bot: Some(identity.bot),
    })
}

/// Looks at pull requests through [`Reconcile`].
pub struct GithubReconciler {
    github: Github,
    reconcile: Reconcile,
    groups: Groups,
    clock: Arc<dyn Clock>,
}

impl GithubReconciler {
    pub fn new(github: Github, clock: Arc<dyn Clock>) -> Self {
        let reconcile = Reconcile::new(github.clone()).staying();
        Self {
            github,
            reconcile,
            groups: Groups::default(),
            clock,
        }
    }

    /// With states sealed, merges signed, or people called on more channels.
    pub fn with(self, adjusted: impl FnOnce(Reconcile) -> Reconcile) -> Self {
        Self {
            reconcile: adjusted(self.reconcile),
            ..self
        }
    }
}

impl Reconciler for GithubReconciler {
    async fn resolve(&self, work: &mut Unresolved) -> Result<Vec<PullRequest>, Failed> {
        let client = self.github.client(Some(work.installation));
        if matches!(work.target, Target::Installation | Target::Repository(_)) {
            // Members, teams, access or the organisation's defaults have changed.
            self.reconcile.observer.forget();
            client.ask_again();
        }
        let queued = self
            .groups
            .answer(&self.reconcile, work, self.clock.now())
            .await?;
        if !queued.is_empty() {
            return Ok(queued);
        }
        if let Target::Head { repository, .. } = &work.target
            && self.reconcile.observer.dormant.is_dormant(repository)
        {
            return Ok(Vec::new());
        }
        let found = client
            .pull_requests_of(&work.target)
            .await
            .map_err(Failed::from)?;
        Ok(found
            .into_iter()
            .map(|(repository, number)| PullRequest { repository, number })
            .collect())
    }

    fn overview(&self) -> Overview {
        let (
            Reconcile {
                observer, executor, ..
            },
            now,
        ) = (&self.reconcile, self.github.now());
        Overview {
            dormant: observer.dormant.all(now),
            effects_waiting: executor.waiting(now),
        }
    }

    fn looked_heads(&self) -> Option<Arc<LookedHeads>> {
        Some(self.reconcile.heads.clone())
    }

    async fn reconcile(&self, job: ReconcileRequest) -> Result<ReconcileOutcome, Failed> {
        let outcome = self.reconcile.run(&job, self.clock.now()).await?;
        match &outcome.result {
            ReconcileResult::Decided(summary) => {
                if let Some(reason) = &summary.unknown_rights {
                    tracing::warn!(
                        reason,
                        "somebody's rights could not be looked up: what depends on them waits"
                    );
                }
                tracing::info!(
                    run = summary.run_id,
                    attempt = summary.attempt,
                    decision = summary.word.as_str(),
                    saved = summary.saved.map(|sha| sha.short()),
                    effects = summary.effects,
                    problems = summary.problems.len(),
                    "{}",
                    summary.subject
                );
            }
            ReconcileResult::Dormant => {
                tracing::info!("the base branch has no .github/loopgate.yml: nothing to do")
            }
            ReconcileResult::ReadOnly => {
                tracing::info!("the repository is archived: nothing may be written there")
            }
            ReconcileResult::Nothing => {
                tracing::info!("there is nothing to loop over: the pull request is closed or gone");
            }
        }
        Ok(outcome)
    }

    async fn show_given_up(&self, job: ReconcileRequest, times: u32) -> Result<(), Failed> {
        self.reconcile.show_given_up(&job, times).await
    }
}
