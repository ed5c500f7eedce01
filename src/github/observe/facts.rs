//! The first step of reading a pull request: what must be known before anything may be written.

use super::{
    Observer, PullRequestFacts, Target, before_merge,
    checks::{self, Checks},
    config, conversation,
    evidence::{self, HeadRun},
    pull::{self, Changes, Pull, Unread},
    scope,
    stack::{self, ComparedWith, Layers},
};
use crate::github::{
    Error, Repo,
    error::OrAbsent as _,
    wire::{Branch, ObjectRef},
};
use loopgate_core::{
    Sha,
    observed::{AppIdentity, Completeness, Lifecycle, ObservationProblem},
    policy::Policy,
};

impl Observer {
    pub(super) async fn try_facts(
        &self,
        target: Target<'_>,
        us: &AppIdentity,
    ) -> Result<Option<PullRequestFacts>, Unread> {
        let Target { repo, number } = target;
        let read_pull = pull::read(repo, number);
        let talk = async || {
            let comments = conversation::comments(repo, number);
            let reviews = conversation::reviews(repo, number);
            Ok::<_, Unread>(futures::try_join!(comments, reviews)?)
        };
        let (mut pull, mut base, head, talk) = if self.dormant.is_dormant(repo.name) {
            let pull = read_pull.await?;
            let base = self.base_side(repo, &pull).await?;
            if base.policy.is_none() {
                self.note_absence(repo, &pull);
                return Ok(None);
            }
            let (head, talk) = futures::try_join!(head_side(repo, &pull, &base, us), talk())?;
            (pull, base, head, talk)
        } else {
            let sides = async {
                let pull = read_pull.await?;
                let base = self.base_side(repo, &pull).await?;
                let head = head_side(repo, &pull, &base, us).await?;
                Ok::<_, Unread>((pull, base, head))
            };
            let ((pull, base, head), talk) = futures::try_join!(sides, talk())?;
            (pull, base, head, talk)
        };
        let Some(policy) = base.policy.take() else {
            self.note_absence(repo, &pull);
            return Ok(None);
        };
        self.dormant.found(repo.name, &pull.pull_request.base.branch);
        let HeadSide { changes, checks, runs, mut problems } = head;
        pull.pull_request.head.tree = changes.head_tree;
        pull.pull_request.base.scope = base.scope.scope.clone();
        pull.pull_request.base.open_pattern = base.scope.open_pattern.take();
        problems.append(&mut base.problems);
        let (comments, reviews) = talk;
        for (what, completeness) in [("comments", comments.listing.completeness), ("reviews", reviews.completeness)] {
            if completeness == Completeness::Incomplete {
                problems.push(checks::too_many(what));
            }
        }
        let us = us.clone();
        Ok(Some(PullRequestFacts { us, pull, policy, base, comments, reviews, changes, checks, runs, problems }))
    }

    fn note_absence(&self, repo: Repo<'_>, pull: &Pull) {
        let Pull { pull_request, .. } = pull;
        let is_open = pull_request.lifecycle == Lifecycle::Open;
        let of = (pull_request.number, is_open);
        self.dormant.not_found(repo.name, &pull_request.base.branch, of, repo.now());
    }

    /// The base branch and the policy at its head. A branch that is gone leaves the commit it was compared with.
    async fn base_side(&self, repo: Repo<'_>, pull: &Pull) -> Result<BaseSide, Error> {
        let base = &pull.pull_request.base.branch;
        let (branch, doubts) = (config::branch(repo, base), repo.doubts());
        let layers = stack::layers(repo, pull);
        let defaults = self.organisations.of(&repo, repo.name.owner());
        let (branch, defaults, layers) = futures::try_join!(branch, defaults, layers)?;
        let lifecycle = &pull.pull_request.lifecycle;
        if branch.is_none() && *lifecycle == Lifecycle::Open && self.registry.asks_again && repo.doubts() > doubts {
            // An older commit's rules would govern: approvals would end, and others would be asked.
            return Err(Error::NotFound { path: repo.path(format!("branches/{base}")) });
        }
        let is_merged = matches!(lifecycle, Lifecycle::Merged { .. });
        let merged_as = if is_merged { before_merge::merged_as(repo, pull).await? } else { None };
        let before = match merged_as {
            Some(commit) => before_merge::base(repo, pull, commit).await?,
            None => None,
        };
        // The commit that the head is compared with was on the branch before a merge too, if not its last.
        let present = branch.filter(|_| !is_merged).map(|Branch { commit: ObjectRef { sha }, .. }| sha);
        let tip = before.or(present).unwrap_or(pull.compared_base);
        let is_merge_followed = !is_merged || before.is_some();
        let not_followed = (!is_merge_followed).then(|| ObservationProblem {
            what: "the base branch as it was before the merge".to_owned(),
            reason: "the commits of the merge could not be followed back".to_owned(),
        });
        let default_branch = pull.default_branch.as_deref();
        let scope = scope::of_base(repo, (base, default_branch), defaults.as_deref(), &self.rules);
        let is_doubted = self.dormant.is_doubted(repo.name, base);
        let policy = config::policy(repo, tip, defaults.as_deref(), is_doubted);
        let (policy, scope) = futures::try_join!(policy, scope)?;
        let of_defaults = defaults.and_then(|defaults| {
            let error = defaults.error.as_ref()?;
            let reason = format!(
                "line {}, column {}: {}; its last good version governs",
                error.line, error.column, error.message
            );
            Some(ObservationProblem { what: format!("the organisation's {}", defaults.file()), reason })
        });
        let of_layers = layers.as_ref().and_then(|layers| layers.problem.clone());
        let problems = [of_defaults, not_followed, of_layers].into_iter().flatten().collect();
        Ok(BaseSide { branch, tip, merged_as, is_merge_followed, policy, scope, layers, problems })
    }
}

/// What the base branch determines.
pub(in crate::github) struct BaseSide {
    pub(super) branch: Option<Branch>,
    pub(super) tip: Sha,
    /// The commit that it was merged as, where it is merged and GitHub returns the commit.
    pub(super) merged_as: Option<Sha>,
    /// Whether the commits of a merge are shown.
    pub is_merge_followed: bool,
    /// Until it is among the facts of the pull request.
    policy: Option<Policy>,
    scope: scope::Scope,
    pub(super) layers: Option<Layers>,
    problems: Vec<ObservationProblem>,
}

/// What the head commit determines, and its checks.
struct HeadSide {
    changes: Changes,
    checks: Checks,
    runs: Vec<HeadRun>,
    problems: Vec<ObservationProblem>,
}

async fn head_side(repo: Repo<'_>, pull: &Pull, base: &BaseSide, us: &AppIdentity) -> Result<HeadSide, Unread> {
    let head = pull.pull_request.head.sha;
    let with = match &base.layers {
        Some(Layers { problem: Some(_), .. }) => ComparedWith::StackBase(base.tip),
        Some(_) if pull.pull_request.lifecycle == Lifecycle::Open && pull.target != pull.pull_request.base.branch => {
            let target = config::branch(repo, &pull.target).await?;
            ComparedWith::Target(target.map_or(pull.compared_base, |branch| branch.commit.sha))
        }
        _ => ComparedWith::Target(base.tip),
    };
    let (changes, checks, runs) =
        futures::join!(pull::changes(repo, pull, with), checks::read(repo, head, us), evidence::runs(repo, head),);
    let changes = changes?;
    let mut problems = Vec::new();
    let runs = runs.or_noted("workflow runs", &mut problems)?.unwrap_or_default();
    Ok(HeadSide { changes, checks: checks?, runs, problems })
}
