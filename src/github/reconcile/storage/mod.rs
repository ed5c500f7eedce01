//! Where the state of a pull request is kept: in a hidden ref, or, where the repository forbids
//! contents: write, in the status comment or in an artifact of the workflow.
//!
//! A run follows its repository's configuration: where the configured place holds nothing and another one does, the run
//! moves, with all its documents. The places differ in what they promise to two writers at once; see each.
//!
//! In the comment: GitHub edits comments without any condition. The comment is read again right before it is written,
//! so what another writer saved before that is seen, and decided on again; what two of them write within one request's
//! time of each other is not, and the later one stands. What is lost then is what the other remembered of one look:
//! attempts are counted by head commit and posts are found by their markers, so neither is made twice.
//!
//! Who has write access can edit the comment, as they can move a ref: the state in it is believed under the App's seal
//! only ([`Seal`](loopgate_refs::Seal)), and a workflow without one does not resist people with push access anyway.

mod artifact;

use std::sync::Arc;

use chrono::TimeDelta;
use http::Method;
use parking_lot::Mutex;
use serde_json::json;

use self::artifact::ArtifactSlot;
pub use self::artifact::StateArtifact;
use crate::github::{
    client::{
        Client,
        error::{OrAbsent as _, Result},
        marker::{Marker, state_apart, with_state},
        objects::GithubObjects,
        path,
        repo::Repo,
        retry::Repeat,
    },
    observe::{OwnComment, PullRequestFacts, Target, status_comments},
};
use loopgate_core::{PrNumber, RepoName, Sha, observed::AppIdentity, policy::StateBackend};
use loopgate_refs::{GitObjects, NewCommit, PackedObjects, RefName, RefsError, Slot};
use loopgate_render::Rendered;

/// How long the state of an ended run stays where it is.
pub(in crate::github) const KEPT_AFTER_THE_END: TimeDelta = TimeDelta::days(14);

/// The place of one pull request's state.
pub(in crate::github) enum Storage {
    Ref(GithubObjects),
    Comment(PackedObjects<CommentSlot>),
    Artifact(PackedObjects<ArtifactSlot>),
}

/// Does the same with whichever place it is.
macro_rules! with {
    ($storage:expr, $objects:ident => $deed:expr) => {
        match $storage {
            Storage::Ref($objects) => $deed,
            Storage::Comment($objects) => $deed,
            Storage::Artifact($objects) => $deed,
        }
    };
}

impl Storage {
    /// The status comment that was seen, or the one there will be.
    pub fn status_comment(target: Target<'_>, facts: &PullRequestFacts) -> Self {
        let Target {
            repo: Repo { client, name },
            number,
        } = target;
        Self::Comment(PackedObjects::new(CommentSlot {
            client: client.clone(),
            repository: name.clone(),
            number,
            us: facts.us.clone(),
            comment: Mutex::new(facts.status_comments().into_iter().next()),
        }))
    }

    /// The configured place. Artifacts are uploaded by workflows: without one the comment takes their place.
    pub fn of(
        target: Target<'_>,
        facts: &PullRequestFacts,
        artifact: Option<&Arc<StateArtifact>>,
    ) -> Self {
        match (facts.policy.state, artifact) {
            (StateBackend::Ref, _) => Self::Ref(target.repo.objects()),
            (StateBackend::Artifact, Some(artifact)) => {
                let Target {
                    repo: Repo { client, name },
                    number,
                } = target;
                let (artifact, client, repository) =
                    (Arc::clone(artifact), client.clone(), name.clone());
                Self::Artifact(PackedObjects::new(ArtifactSlot {
                    artifact,
                    client,
                    repository,
                    number,
                }))
            }
            (StateBackend::Artifact | StateBackend::Comment, _) => {
                Self::status_comment(target, facts)
            }
        }
    }

    pub const fn is_ref(&self) -> bool {
        matches!(self, Self::Ref(_))
    }

    pub const fn backend(&self) -> StateBackend {
        match self {
            Self::Ref(_) => StateBackend::Ref,
            Self::Comment(_) => StateBackend::Comment,
            Self::Artifact(_) => StateBackend::Artifact,
        }
    }

    /// The report that is saved with the state. Where the comment is the place, it is the report, and stays as it is
    /// when nothing more is written on the pull request.
    pub fn report(&self, is_written: bool, texts: &Rendered) -> String {
        match (self, is_written) {
            (Self::Comment(_), true) => texts.status_comment.clone(),
            (Self::Comment(objects), false) => {
                let comment = objects.slot.comment();
                comment
                    .map(|comment| state_apart(&comment.body).0.to_owned())
                    .unwrap_or_default()
            }
            (Self::Ref(_) | Self::Artifact(_), _) => texts.artifact.clone(),
        }
    }

    /// The status comments as they are now, and the text that the comment is to have: with the state, where it is kept
    /// there.
    pub fn put_in(&self, status_comments: &mut Vec<OwnComment>, text: &mut String) {
        let Self::Comment(objects) = self else { return };
        let Some(comment) = objects.slot.comment() else {
            return;
        };
        if let (_, Some(packed)) = state_apart(&comment.body) {
            *text = with_state(text, packed);
        }
        match status_comments
            .iter_mut()
            .find(|known| known.id == comment.id)
        {
            Some(known) => *known = comment,
            None => status_comments.insert(0, comment),
        }
    }
}

impl GitObjects for Storage {
    async fn read_ref(&self, name: &RefName) -> Result<Option<Sha>, RefsError> {
        with!(self, objects => objects.read_ref(name).await)
    }

    async fn read_file(
        &self,
        commit: Sha,
        path: &str,
        limit: usize,
    ) -> Result<Option<Vec<u8>>, RefsError> {
        with!(self, objects => objects.read_file(commit, path, limit).await)
    }

    async fn parent(&self, commit: Sha) -> Result<Option<Sha>, RefsError> {
        with!(self, objects => objects.parent(commit).await)
    }

    async fn write_commit(&self, commit: NewCommit<'_>) -> Result<Sha, RefsError> {
        with!(self, objects => objects.write_commit(commit).await)
    }

    async fn compare_and_swap(
        &self,
        name: &RefName,
        old: Option<Sha>,
        new: Sha,
    ) -> Result<(), RefsError> {
        with!(self, objects => objects.compare_and_swap(name, old, new).await)
    }

    async fn was_called(&self, name: &RepoName) -> Result<bool, RefsError> {
        with!(self, objects => objects.was_called(name).await)
    }

    async fn delete_ref(&self, name: &RefName) -> Result<(), RefsError> {
        with!(self, objects => objects.delete_ref(name).await)
    }

    async fn refs(&self, below: &str) -> Result<Vec<(RefName, Sha)>, RefsError> {
        with!(self, objects => objects.refs(below).await)
    }
}

/// The status comment of one pull request.
pub(in crate::github) struct CommentSlot {
    client: Client,
    repository: RepoName,
    number: PrNumber,
    us: AppIdentity,
    /// As it was last read or written.
    comment: Mutex<Option<OwnComment>>,
}

impl CommentSlot {
    fn comment(&self) -> Option<OwnComment> {
        self.comment.lock().clone()
    }
}

impl Slot for CommentSlot {
    const ROOM: usize = StateBackend::ROOM_IN_COMMENT;

    async fn was_called(&self, name: &RepoName) -> Result<bool, RefsError> {
        Ok(self.client.repo(&self.repository).was_called(name).await?)
    }

    async fn read(&self) -> Result<Option<String>, RefsError> {
        let comment = self.comment();
        Ok(comment.and_then(|comment| state_apart(&comment.body).1.map(str::to_owned)))
    }

    async fn replace(
        &self,
        name: &RefName,
        old: Option<&str>,
        new: &str,
        report: &str,
    ) -> Result<(), RefsError> {
        // As it stands on GitHub.
        let there = match self.comment() {
            Some(OwnComment { id, .. }) => {
                let path = format!("{}/issues/comments/{id}", path::repo(&self.repository));
                self.client.get::<OwnComment>(&path).await.or_absent()?
            }
            None => {
                let comments =
                    status_comments(self.client.repo(&self.repository), self.number, &self.us)
                        .await?;
                comments.into_iter().next()
            }
        };
        let standing = there
            .as_ref()
            .and_then(|comment| state_apart(&comment.body).1);
        if standing != old {
            *self.comment.lock() = there;
            return Err(RefsError::RefMoved { name: name.clone() });
        }
        let body = with_state(&Marker::Status.on(report), new);
        let (repository, json) = (path::repo(&self.repository), json!({ "body": body }));
        let written = match there {
            Some(OwnComment { id, .. }) => {
                let path = format!("{repository}/issues/comments/{id}");
                self.client
                    .send(Method::PATCH, &path, Some(&json), Repeat::Safe)
                    .await
                    .map(|()| id)
            }
            None => {
                let path = format!("{repository}/issues/{}/comments", self.number);
                let _booked = self.client.booked(None).await;
                self.client
                    .post::<OwnComment>(&path, &json, Repeat::Never)
                    .await
                    .map(|created| created.id)
            }
        };
        *self.comment.lock() = Some(OwnComment { id: written?, body });
        Ok(())
    }
}
