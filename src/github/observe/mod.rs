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

mod authority;
mod base;
mod checks;
mod config;
mod contents;
mod conversation;
mod dormant;
mod edits;
mod events;
mod evidence;
mod facts;
mod job_logs;
mod makers;
mod on_commit;
mod past;
mod pull;
mod queue;
mod rest;
mod review_threads;
mod scope;
mod stack;
mod surface;
mod survey;
mod switched_off;
mod update_merges;
mod workflow_file;

use self::{
    authority::Registry,
    checks::Checks,
    config::{BranchRules, Organisations},
    conversation::Comments,
    evidence::HeadRun,
    facts::BaseSide,
    pull::{Changes, Unread},
};
pub use self::{
    dormant::{Dormant, DormantRepository},
    past::PastState,
    surface::{LeftCheckRun, ObservedSurface, OwnCheckRun, OwnComment},
    survey::CheckedConfiguration,
};
pub(super) use self::{
    pull::{Pull, pushed_between, read as read_pull},
    surface::status_comments,
};
use super::{Error, Github, Repo};
pub(super) use config::{FILE as CONFIGURATION, FILE_LIMIT as CONFIGURATION_LIMIT};
use loopgate_core::{
    PrNumber, Sha,
    observed::{AppIdentity, Listing, ObservationProblem, Review, Snapshot},
    policy::Policy,
};

/// Reads pull requests. Made once per process: it remembers what it may believe for a while.
pub struct Observer {
    github: Github,
    registry: Registry,
    rules: BranchRules,
    organisations: Organisations,
    /// Repositories without configuration: there everything else is asked for only once one appears.
    pub(super) dormant: Dormant,
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
}

/// How often reading starts over because of pushes meanwhile.
const MOST_RESTARTS: usize = 3;

impl Observer {
    pub fn new(github: Github) -> Self {
        Self {
            github,
            registry: Registry::default(),
            rules: BranchRules::default(),
            organisations: Organisations::default(),
            dormant: Dormant::default(),
        }
    }

    /// The process looks again later, so a first absence in doubt is not believed at once.
    pub const fn asking_again(mut self) -> Self {
        self.registry.asks_again = true;
        self
    }

    /// Forgets people's rights and organisations' defaults: an event announced a change of them.
    pub fn forget(&self) {
        self.registry.forget();
        self.organisations.forget();
        self.dormant.doubt_all();
    }

    /// Reads what must be known before anything may be written; `None` where Loopgate is not switched on.
    ///
    /// # Errors
    /// Every kind of [`Error`]; not found when there is no such pull request.
    pub async fn facts(&self, target: Target<'_>) -> Result<Option<PullRequestFacts>, Error> {
        let us = self.github.identity(&target.repo).await?;
        for _ in 0..MOST_RESTARTS {
            match self.try_facts(target, &us).await {
                Err(Unread::HeadMoved) => {}
                Err(Unread::Failed(error)) => return Err(error),
                Ok(facts) => return Ok(facts),
            }
        }
        let path = target.repo.path(format!("pulls/{}", target.number));
        Err(Error::Unavailable { path, message: "the head moved while it was read".into(), retry_at: None })
    }
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
