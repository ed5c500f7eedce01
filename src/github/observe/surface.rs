//! What Loopgate has put on the pull request already. [`act`](crate::github::act) compares it with what should be there.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::conversation;
use crate::github::client::{
    error::Result,
    marker::{Digest, Marker, short_hash},
    repo::Repo,
};
use loopgate_core::{
    CheckRunId, CommentId, Login, PrNumber, RepoName, Sha, UserId,
    concerns::gates::{Reacted, ReactionKind},
    observed::{
        AppIdentity, Base, CheckProgress, CheckScope, Comment, Conclusion, OwnCheck, PullRequest,
    },
};
use loopgate_render::Traces;

/// Our own traces on a pull request, and what of the pull request they are compared with.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ObservedSurface {
    pub repository: RepoName,
    pub pull_request: PullRequest,
    /// Who gave a review: asking again would only annoy.
    pub reviewed: BTreeSet<Login>,
    /// Our status comments, oldest first; all but the first are doubles.
    pub status_comments: Vec<OwnComment>,
    /// Keys of the posts that are there already.
    pub posts: BTreeSet<String>,
    /// Our check runs on the head.
    pub check_runs: Vec<OwnCheckRun>,
    /// Our check runs whose result no longer holds.
    pub left: Vec<LeftCheckRun>,
    /// Other open pull requests with this head, into other branches.
    pub sharing: Vec<PrNumber>,
    /// How often each comment was given each reaction, by anybody.
    pub reactions: BTreeMap<Reacted, BTreeMap<String, u64>>,
    /// Our account, to distinguish our reactions from others'.
    pub us: Option<UserId>,
}

/// A comment of ours, as GitHub answers it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct OwnComment {
    pub id: CommentId,
    #[serde(default)]
    pub body: String,
}

/// A check run of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnCheckRun {
    pub id: CheckRunId,
    pub name: String,
    pub progress: CheckProgress,
    /// Digests of the text and annotations it shows, as we left them.
    pub external_id: Option<String>,
    pub annotations: u64,
}

/// A check run of ours on a head that was left, or for a base that was: it still runs, or is green by the comment of a
/// person about something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftCheckRun {
    pub id: CheckRunId,
    pub head: Sha,
    pub name: String,
}

impl OwnCheckRun {
    /// Whether its result no longer holds once its head or base was left. What was green by itself stays.
    fn ends_with_its_head(&self) -> bool {
        match self.progress {
            CheckProgress::Completed {
                conclusion: Conclusion::Success,
                ..
            } => self.digest().is_some_and(|digest| digest.by_word),
            CheckProgress::Completed { .. } => false,
            CheckProgress::Queued | CheckProgress::InProgress => true,
        }
    }

    fn digest(&self) -> Option<Digest> {
        self.external_id.as_deref().and_then(Digest::parse)
    }

    pub(super) fn left(&self, head: Sha) -> Option<LeftCheckRun> {
        self.ends_with_its_head().then(|| LeftCheckRun {
            id: self.id,
            head,
            name: self.name.clone(),
        })
    }

    /// Whether a run on the present head, under a name of another base, was left. Such a run is returned.
    pub(super) fn left_by_retargeting(
        &self,
        head: Sha,
        base: &Base,
        default_branch: &str,
    ) -> Option<LeftCheckRun> {
        if OwnCheck::ALL
            .iter()
            .any(|check| check.name(&base.scope) == self.name)
        {
            return None;
        }
        // A plain name stood for the branch that was the default branch then.
        let plain = OwnCheck::ALL
            .iter()
            .any(|check| check.name(&CheckScope::DefaultBranch) == self.name);
        // Digests of earlier versions have no base.
        let is_other =
            |digest: Digest| !digest.base.is_empty() && digest.base != short_hash(default_branch);
        let other_default = plain && self.digest().is_some_and(is_other);
        let green = matches!(
            self.progress,
            CheckProgress::Completed {
                conclusion: Conclusion::Success,
                ..
            }
        );
        let is_left = self.ends_with_its_head() || other_default && green;
        is_left.then(|| LeftCheckRun {
            id: self.id,
            head,
            name: self.name.clone(),
        })
    }
}

impl ObservedSurface {
    /// Which pull request it is.
    pub fn pull(&self) -> (RepoName, PrNumber) {
        (self.repository.clone(), self.pull_request.number)
    }

    /// How often a comment was given this reaction.
    pub fn count(&self, to: Reacted, kind: ReactionKind) -> u64 {
        self.reactions
            .get(&to)
            .and_then(|given| given.get(kind.as_str()))
            .copied()
            .unwrap_or(0)
    }

    /// Our traces of a record.
    pub(in crate::github) fn traces(&self) -> Traces<'_> {
        let verified = self
            .check_run(OwnCheck::Verify)
            .and_then(|run| match run.progress {
                CheckProgress::Completed { at, .. } => at,
                CheckProgress::Queued | CheckProgress::InProgress => None,
            });
        let status_comment = self
            .status_comments
            .first()
            .map(|comment| comment.body.as_str());
        let PullRequest {
            head, created_at, ..
        } = &self.pull_request;
        Traces {
            status_comment,
            posts: &self.posts,
            verified,
            head: head.sha,
            opened: *created_at,
        }
    }

    /// The check run that stands for a check now: the newest.
    pub fn check_run(&self, check: OwnCheck) -> Option<&OwnCheckRun> {
        let name = check.name(&self.pull_request.base.scope);
        self.check_runs
            .iter()
            .filter(|run| run.name == name)
            .max_by_key(|run| run.id)
    }
}

/// Our comments among all: the status comments and the keys of the posts. A marker alone proves nothing, anybody can
/// write one.
pub(super) fn own_comments(
    comments: &[Comment],
    us: &AppIdentity,
) -> (Vec<OwnComment>, BTreeSet<String>) {
    let mut status = Vec::new();
    let mut posts = BTreeSet::new();
    let is_ours = |comment: &&Comment| match us.bot_id {
        Some(id) => comment.author.id == id,
        None => comment.author.login == us.bot,
    };
    for comment in comments.iter().filter(is_ours) {
        match Marker::of(&comment.body) {
            Some(Marker::Status) => status.push(OwnComment {
                id: comment.id,
                body: comment.body.clone(),
            }),
            Some(Marker::Post(key)) => drop(posts.insert(key)),
            None => {}
        }
    }
    status.sort_by_key(|comment| comment.id);
    (status, posts)
}

/// Our status comments as GitHub shows them now, the oldest first.
///
/// # Errors
/// Every kind of [`Error`](crate::github::client::error::Error).
pub async fn status_comments(
    repo: Repo<'_>,
    number: PrNumber,
    us: &AppIdentity,
) -> Result<Vec<OwnComment>> {
    Ok(own_comments(
        &conversation::comments(repo, number).await?.listing.items,
        us,
    )
    .0)
}
