//! What Loopgate has put on the pull request already. [`act`](super::super::act) compares it with what should be there.

use std::collections::{BTreeMap, BTreeSet};

use super::conversation;
use crate::{
    github::{Client, Error, OwnCheck, marker::Marker},
    render::Traces,
};
use loopgate_core::{
    CheckRunId, CommentId, Login, PrNumber, RepoName, Sha, TeamSlug, Timestamp, UserId,
    gate::{Reacted, ReactionKind},
    observed::{AppIdentity, CheckProgress, Comment},
};

/// Our own traces on a pull request, and what of the pull request they are compared with.
#[derive(Debug, Clone, PartialEq)]
pub struct ObservedSurface {
    pub repository: RepoName,
    pub number: PrNumber,
    pub head: Sha,
    /// All labels, ours and others'.
    pub labels: BTreeSet<String>,
    pub requested_users: BTreeSet<Login>,
    pub requested_teams: BTreeSet<TeamSlug>,
    pub author: Login,
    /// Who gave a review: asking again would only annoy.
    pub reviewed: BTreeSet<Login>,
    /// Our status comments, oldest first; all but the first are doubles.
    pub status_comments: Vec<OwnComment>,
    /// Keys of the posts that are there already.
    pub posts: BTreeSet<String>,
    /// Our check runs on the head.
    pub check_runs: Vec<OwnCheckRun>,
    /// Our check runs on heads of before that are still in progress.
    pub superseded: Vec<CheckRunId>,
    /// How often each comment was given each reaction, by anybody.
    pub reactions: BTreeMap<Reacted, BTreeMap<String, u64>>,
    /// Our account, for telling our reactions from others'.
    pub us: Option<UserId>,
}

impl ObservedSurface {
    /// Where check runs on a commit are all that is compared.
    pub(in crate::github) fn of_check_runs(
        (repository, number): (&RepoName, PrNumber),
        head: Sha,
        author: &Login,
        us: Option<UserId>,
        check_runs: Vec<OwnCheckRun>,
    ) -> Self {
        Self {
            repository: repository.clone(),
            number,
            head,
            labels: Default::default(),
            requested_users: Default::default(),
            requested_teams: Default::default(),
            author: author.clone(),
            reviewed: Default::default(),
            status_comments: Vec::new(),
            posts: Default::default(),
            check_runs,
            superseded: Vec::new(),
            reactions: Default::default(),
            us,
        }
    }
}

/// A comment of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnComment {
    pub id: CommentId,
    pub body: String,
}

/// A check run of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnCheckRun {
    pub id: CheckRunId,
    pub check: OwnCheck,
    pub progress: CheckProgress,
    /// Digests of the text and annotations it shows, as we left them.
    pub external_id: Option<String>,
    pub annotations: u64,
}

impl ObservedSurface {
    /// How often a comment was given this reaction.
    pub fn count(&self, to: Reacted, kind: ReactionKind) -> u64 {
        self.reactions.get(&to).and_then(|given| given.get(kind.as_str())).copied().unwrap_or(0)
    }

    /// What of ours tells of a record, on a pull request opened at this time.
    pub(in crate::github) fn traces(&self, opened: Timestamp) -> Traces<'_> {
        let verified = self.check_run(OwnCheck::Verify).and_then(|run| match run.progress {
            CheckProgress::Completed { at, .. } => at,
            CheckProgress::Queued | CheckProgress::InProgress => None,
        });
        let status_comment = self.status_comments.first().map(|comment| comment.body.as_str());
        Traces { status_comment, posts: &self.posts, verified, head: self.head, opened }
    }

    /// The check run that stands for a check now: the newest.
    pub fn check_run(&self, check: OwnCheck) -> Option<&OwnCheckRun> {
        self.check_runs.iter().filter(|run| run.check == check).max_by_key(|run| run.id)
    }
}

/// Our comments among all: the status comments and the keys of the posts. A marker alone proves nothing, anybody can
/// write one.
pub(super) fn own_comments(comments: &[Comment], us: &AppIdentity) -> (Vec<OwnComment>, BTreeSet<String>) {
    let mut status = Vec::new();
    let mut posts = BTreeSet::new();
    for comment in comments.iter().filter(|comment| is_ours(comment, us)) {
        match Marker::of(&comment.body) {
            Some(Marker::Status) => status.push(OwnComment { id: comment.id, body: comment.body.clone() }),
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
/// Every kind of [`Error`].
pub(in crate::github) async fn status_comments(
    client: &Client,
    repository: &RepoName,
    number: PrNumber,
    us: &AppIdentity,
) -> Result<Vec<OwnComment>, Error> {
    Ok(own_comments(&conversation::comments(client, repository, number).await?.listing.items, us).0)
}

fn is_ours(comment: &Comment, us: &AppIdentity) -> bool {
    match us.bot_id {
        Some(id) => comment.author.id == id,
        None => comment.author.login == us.bot,
    }
}
