//! Reads one pull request from the API, concurrently and conditionally, and nothing that the decision does not need.
//!
//! Reading goes in two steps. First come the [`PullRequestFacts`], which must be known before anything may be written:
//! the pull request, its head's checks and the policy. Then comes the rest, while the first check runs are already
//! being begun:
//!
//! ```text
//! 1  pull request
//! 2  base branch · configuration                                            at the base branch's head
//! 3  comparison · check runs · statuses · workflow runs · comments · reviews    of the head just seen
//! 4  rules · annotations · artifacts · …    then the rights of those whom the gates ask about
//! ```
//!
//! Of an unchanged pull request steps 1 to 3 are asked again, each answered 304; what commits determine is kept, and
//! rights are believed for five minutes. A push between two reads is noticed, and everything read again.

pub(in crate::github) mod artifacts;
mod authority;
mod base;
mod checks;
mod config;
mod contents;
mod conversation;
mod dormant;
mod events;
mod evidence;
pub(in crate::github) mod evidence_memory;
pub(in crate::github) mod looked_heads;
mod makers;
mod on_commit;
mod past;
mod pull;
pub(in crate::github) mod pull_request;
pub(in crate::github) mod resolve;
mod rest;
mod scope;
mod surface;
mod survey;
mod workflow_file;

use self::{
    authority::Registry,
    checks::Checks,
    config::{BranchRules, Organisations},
    conversation::Comments,
    evidence::HeadRun,
    pull::Changes,
    scope::StackLayers,
};
pub(super) use self::{
    conversation::comments,
    pull::{Pull, pushed_between, read as read_pull},
    surface::status_comments,
};
pub use self::{
    dormant::{Dormant, DormantRepository},
    surface::{LeftCheckRun, ObservedSurface, OwnCheckRun, OwnComment},
    survey::CheckedConfiguration,
};
use crate::github::client::{
    Github,
    error::{Error, OrAbsent as _, Result},
    repo::Repo,
    wire::{Branch, ObjectRef},
};
pub(super) use config::{FILE as CONFIGURATION, FILE_LIMIT as CONFIGURATION_LIMIT};
use loopgate_core::{
    PrNumber, Sha,
    observed::{
        AppIdentity, Hint, Lifecycle, Listing, ObservationProblem, PullRequest, Readings, Review,
        Snapshot,
    },
    policy::Policy,
    state::LoopState,
};

/// Reads pull requests. Made once per process: it remembers what it may believe for a while.
pub struct Observer {
    github: Github,
    pub(super) registry: Registry,
    rules: BranchRules,
    organisations: Organisations,
    readings: Readings,
    /// Repositories without configuration: there everything else is asked for only once one appears.
    pub(crate) dormant: Dormant,
}

/// Which pull request to read.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    pub repo: Repo<'a>,
    pub number: PrNumber,
}

/// What must be known before anything may be written.
pub struct PullRequestFacts {
    /// As whom we act here.
    pub(in crate::github) us: AppIdentity,
    pub(in crate::github) pull: Pull,
    pub(in crate::github) policy: Policy,
    pub(in crate::github) base: BaseSide,
    comments: Comments,
    reviews: Listing<Review>,
    changes: Changes,
    checks: Checks,
    runs: Vec<HeadRun>,
    problems: Vec<ObservationProblem>,
}

/// One pull request, observed.
pub struct Observation {
    pub snapshot: Snapshot,
    /// The base branch's head: where configuration and templates are read.
    pub base_head: Sha,
    pub policy: Policy,
    pub surface: ObservedSurface,
    /// The commit that it was merged as, if it is merged and GitHub returns the commit.
    pub merged_as: Option<Sha>,
    /// Whether another open pull request was seen with the same head.
    pub is_head_shared: bool,
    /// Whether the log of a failed job is not there yet.
    pub awaits_logs: bool,
    /// What the snapshot does not have of the pull request.
    pub(in crate::github) pull: Pull,
}

impl Observer {
    pub fn new(github: Github) -> Self {
        Self {
            github,
            registry: Registry::default(),
            rules: BranchRules::default(),
            organisations: Organisations::default(),
            readings: Readings::kept(),
            dormant: Dormant::default(),
        }
    }

    /// Forgets people's rights and organisations' defaults: an event announced a change of them.
    pub fn forget(&self) {
        self.registry.forget();
        self.organisations.clear();
        self.dormant.doubt_all();
    }

    /// Reads what must be known before anything may be written; `None` where Loopgate is not switched on.
    ///
    /// # Errors
    /// Every kind of [`Error`]; not found when there is no such pull request.
    pub async fn facts(
        &self,
        Target { repo, number }: Target<'_>,
    ) -> Result<Option<PullRequestFacts>> {
        let us = self.github.identity(&repo).await?;
        let mut pull = pull::read(repo, number).await?;
        let mut problems = Vec::new();
        let Some((base, policy)) = self.base_side(repo, &mut pull, &mut problems).await? else {
            let PullRequest {
                base, lifecycle, ..
            } = &pull.pull_request;
            let of = (number, *lifecycle == Lifecycle::Open);
            self.dormant
                .not_found(repo.name, &base.branch, of, repo.now());
            return Ok(None);
        };
        self.dormant
            .found(repo.name, &pull.pull_request.base.branch);
        let head = pull.pull_request.head.sha;
        let is_open = pull.pull_request.lifecycle == Lifecycle::Open;
        // The commit that the files are compared with, and whether that is the base of the stack, since not all layers
        // beneath could be read: then what those change counts as the pull request's own.
        let compared_with = match &base.layers {
            Some(StackLayers {
                problem: Some(_), ..
            }) => (base.tip, true),
            Some(_) if is_open && pull.target != pull.pull_request.base.branch => {
                let target = config::branch(repo, &pull.target).await?;
                (
                    target.map_or(pull.compared_base, |branch| branch.commit.sha),
                    false,
                )
            }
            _ => (base.tip, false),
        };
        let (changes, checks, runs, comments, reviews) = futures::join!(
            pull::changes(repo, &pull, compared_with),
            checks::read(repo, head, &us),
            evidence::runs(repo, head),
            conversation::comments(repo, number),
            conversation::reviews(repo, number),
        );
        let (changes, checks, comments, reviews) = (changes?, checks?, comments?, reviews?);
        pull.pull_request.head.tree = changes.head_tree;
        let runs = runs
            .or_noted("workflow runs", &mut problems)?
            .unwrap_or_default();
        let lists = [
            ("comments", comments.listing.is_complete),
            ("reviews", reviews.is_complete),
        ];
        problems.extend(
            lists
                .into_iter()
                .filter(|(_, is_complete)| !is_complete)
                .map(|(what, _)| checks::too_many(what)),
        );
        Ok(Some(PullRequestFacts {
            us,
            pull,
            policy,
            base,
            comments,
            reviews,
            changes,
            checks,
            runs,
            problems,
        }))
    }

    /// The base branch and the policy at its head, and how its check runs are named; `None` where Loopgate is not
    /// switched on. A branch that is gone leaves the commit it was compared with.
    async fn base_side(
        &self,
        repo: Repo<'_>,
        pull: &mut Pull,
        problems: &mut Vec<ObservationProblem>,
    ) -> Result<Option<(BaseSide, Policy)>> {
        let base = &pull.pull_request.base.branch;
        let (branch, doubts) = (config::branch(repo, base), repo.doubts());
        let layers = scope::layers(repo, pull);
        let defaults = self.organisations.of(&repo, repo.name.owner());
        let (branch, defaults, layers) = futures::try_join!(branch, defaults, layers)?;
        let lifecycle = &pull.pull_request.lifecycle;
        if branch.is_none()
            && *lifecycle == Lifecycle::Open
            && self.registry.asks_again
            && repo.doubts() > doubts
        {
            // An older commit's rules would govern: approvals would end, and others would be asked.
            return Err(Error::NotFound {
                path: repo.path(format!("branches/{base}")),
            });
        }
        let is_merged = matches!(lifecycle, Lifecycle::Merged { .. });
        let merged_as = if is_merged {
            base::merged_as(repo, pull).await?
        } else {
            None
        };
        let before = match merged_as {
            Some(commit) => base::before_merge(repo, pull, commit).await?,
            None => None,
        };
        // The commit that the head is compared with was on the branch before a merge too, if not its last.
        let present = branch.filter(|_| !is_merged).map(
            |Branch {
                 commit: ObjectRef { sha },
                 ..
             }| sha,
        );
        let tip = before.or(present).unwrap_or(pull.compared_base);
        let is_merge_followed = !is_merged || before.is_some();
        let (default_branch, defaults) = (pull.default_branch.as_deref(), defaults.as_deref());
        let scope = scope::of_base(repo, (base, branch), default_branch, defaults, &self.rules);
        let policy = config::policy(repo, tip, defaults);
        let (policy, scope) = futures::try_join!(policy, scope)?;
        let Some(policy) = policy else {
            return Ok(None);
        };
        (
            pull.pull_request.base.scope,
            pull.pull_request.base.open_pattern,
        ) = scope;
        if let Some((defaults, error)) = defaults.and_then(|it| Some((it, it.error.as_ref()?))) {
            let (line, column, message) = (error.line, error.column, &error.message);
            let reason =
                format!("line {line}, column {column}: {message}; its last good version governs");
            problems.push(ObservationProblem {
                what: format!("the organisation's {}", defaults.file),
                reason,
            });
        }
        if !is_merge_followed {
            let what = "the base branch as it was before the merge".to_owned();
            let reason = "the commits of the merge could not be followed back".to_owned();
            problems.push(ObservationProblem { what, reason });
        }
        problems.extend(layers.as_ref().and_then(|layers| layers.problem.clone()));
        Ok(Some((
            BaseSide {
                branch,
                tip,
                merged_as,
                is_merge_followed,
                layers,
            },
            policy,
        )))
    }
}

/// What the reads of the second step go by.
struct PullReading<'a> {
    observer: &'a Observer,
    repo: Repo<'a>,
    facts: &'a PullRequestFacts,
    policy: &'a Policy,
    hints: &'a [Hint],
    previous: Option<&'a LoopState>,
}

/// What the base branch determines.
pub(in crate::github) struct BaseSide {
    pub(super) branch: Option<Branch>,
    pub(super) tip: Sha,
    /// The commit that it was merged as, where it is merged and GitHub returns the commit.
    pub(super) merged_as: Option<Sha>,
    /// Whether the commits of a merge are shown.
    pub is_merge_followed: bool,
    layers: Option<StackLayers>,
}

impl PullRequestFacts {
    /// Our status comments, the oldest first.
    pub fn status_comments(&self) -> Vec<OwnComment> {
        surface::own_comments(&self.comments.listing.items, &self.us).0
    }

    /// Our check runs on the head, as far as there are any.
    pub fn check_runs(&self) -> &[OwnCheckRun] {
        &self.checks.own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_send<T: Send>(future: T) -> T {
        future
    }

    #[test]
    fn reading_can_move_between_threads() {
        let _ = |observer: &Observer, target: Target<'_>, facts: PullRequestFacts| {
            drop(is_send(observer.facts(target)));
            drop(is_send(observer.complete(target, facts, Vec::new(), None)));
        };
    }
}
