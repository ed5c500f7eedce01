//! The first step of reading a pull request: what must be known before anything may be written.

use super::{
    Observer, PullRequestFacts, Target, base, checks, config, conversation, evidence,
    pull::{self, Pull, Unread},
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
    observed::{AppIdentity, Completeness, Lifecycle, ObservationProblem, PullRequest},
    policy::Policy,
};

impl Observer {
    pub(super) async fn try_facts(
        &self,
        target: Target<'_>,
        us: &AppIdentity,
    ) -> Result<Option<PullRequestFacts>, Unread> {
        let Target { repo, number } = target;
        let mut pull = pull::read(repo, number).await?;
        let mut problems = Vec::new();
        let Some((base, policy)) = self.base_side(repo, &mut pull, &mut problems).await? else {
            let PullRequest { base, lifecycle, .. } = &pull.pull_request;
            let of = (number, *lifecycle == Lifecycle::Open);
            self.dormant.not_found(repo.name, &base.branch, of, repo.now());
            return Ok(None);
        };
        self.dormant.found(repo.name, &pull.pull_request.base.branch);
        let head = pull.pull_request.head.sha;
        let with = compared_with(repo, &pull, &base).await?;
        let (changes, checks, runs, comments, reviews) = futures::join!(
            pull::changes(repo, &pull, with),
            checks::read(repo, head, us),
            evidence::runs(repo, head),
            conversation::comments(repo, number),
            conversation::reviews(repo, number),
        );
        let (changes, checks, comments, reviews) = (changes?, checks?, comments?, reviews?);
        pull.pull_request.head.tree = changes.head_tree;
        let runs = runs.or_noted("workflow runs", &mut problems)?.unwrap_or_default();
        for (what, completeness) in [("comments", comments.listing.completeness), ("reviews", reviews.completeness)] {
            if completeness == Completeness::Incomplete {
                problems.push(checks::too_many(what));
            }
        }
        let us = us.clone();
        Ok(Some(PullRequestFacts { us, pull, policy, base, comments, reviews, changes, checks, runs, problems }))
    }

    /// The base branch and the policy at its head, and how its check runs are named; `None` where Loopgate is not switched
    /// on. A branch that is gone leaves the commit it was compared with.
    async fn base_side(
        &self,
        repo: Repo<'_>,
        pull: &mut Pull,
        problems: &mut Vec<ObservationProblem>,
    ) -> Result<Option<(BaseSide, Policy)>, Error> {
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
        let merged_as = if is_merged { base::merged_as(repo, pull).await? } else { None };
        let before = match merged_as {
            Some(commit) => base::before_merge(repo, pull, commit).await?,
            None => None,
        };
        // The commit that the head is compared with was on the branch before a merge too, if not its last.
        let present = branch.filter(|_| !is_merged).map(|Branch { commit: ObjectRef { sha }, .. }| sha);
        let tip = before.or(present).unwrap_or(pull.compared_base);
        let is_merge_followed = !is_merged || before.is_some();
        let (default_branch, defaults) = (pull.default_branch.as_deref(), defaults.as_deref());
        let scope = scope::of_base(repo, (base, branch), default_branch, defaults, &self.rules);
        let policy = config::policy(repo, tip, defaults);
        let (policy, scope) = futures::try_join!(policy, scope)?;
        let Some(policy) = policy else { return Ok(None) };
        (pull.pull_request.base.scope, pull.pull_request.base.open_pattern) = scope;
        if let Some((defaults, error)) = defaults.and_then(|it| Some((it, it.error.as_ref()?))) {
            let (line, column, message) = (error.line, error.column, &error.message);
            let reason = format!("line {line}, column {column}: {message}; its last good version governs");
            problems.push(ObservationProblem { what: format!("the organisation's {}", defaults.file()), reason });
        }
        if !is_merge_followed {
            let what = "the base branch as it was before the merge".to_owned();
            let reason = "the commits of the merge could not be followed back".to_owned();
            problems.push(ObservationProblem { what, reason });
        }
        problems.extend(layers.as_ref().and_then(|layers| layers.problem.clone()));
        Ok(Some((BaseSide { branch, tip, merged_as, is_merge_followed, layers }, policy)))
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
    pub(super) layers: Option<Layers>,
}

async fn compared_with(repo: Repo<'_>, pull: &Pull, base: &BaseSide) -> Result<ComparedWith, Error> {
    Ok(match &base.layers {
        Some(Layers { problem: Some(_), .. }) => ComparedWith::StackBase(base.tip),
        Some(_) if pull.pull_request.lifecycle == Lifecycle::Open && pull.target != pull.pull_request.base.branch => {
            let target = config::branch(repo, &pull.target).await?;
            ComparedWith::Target(target.map_or(pull.compared_base, |branch| branch.commit.sha))
        }
        _ => ComparedWith::Target(base.tip),
    })
}
