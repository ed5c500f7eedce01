//! Where the state of a pull request is kept: in a hidden ref, or, where the repository forbids
//! contents: write, in the status comment or in an artifact of the workflow.
//!
//! A run follows its repository's configuration: where the configured place holds nothing and another one does, the run
//! moves, with all its documents. The places differ in what they promise to two writers at once; see each.

mod artifact;
mod comment;

use std::sync::Arc;

use chrono::TimeDelta;
use parking_lot::Mutex;

pub use self::artifact::StateArtifact;
use self::{artifact::ArtifactSlot, comment::CommentSlot};
use super::{GithubObjects, OwnComment, PullRequestFacts, Repo, Target, marker, objects::told};
use crate::{
    refs::{GitObjects, NewCommit, PackedObjects, RefName, RefsError},
    render::Rendered,
};
use loopgate_core::{Sha, deciding::StatusCommentWish, policy::StateBackend};

/// How long the state of an ended run stays where it is.
pub(super) const KEPT_AFTER_THE_END: TimeDelta = TimeDelta::days(14);

/// The place of one pull request's state.
pub(super) enum Storage {
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
        let Target { repo: Repo { client, name }, number } = target;
        let (client, repository, us) = (client.clone(), name.clone(), facts.us.clone());
        let comment = Mutex::new(facts.status_comments().into_iter().next());
        Self::Comment(PackedObjects::new(CommentSlot { client, repository, number, us, comment }))
    }

    /// The configured place. Artifacts are uploaded by workflows: without one the comment takes their place.
    pub fn of(
        backend: StateBackend,
        target: Target<'_>,
        facts: &PullRequestFacts,
        artifact: Option<&Arc<StateArtifact>>,
    ) -> Self {
        match (backend, artifact) {
            (StateBackend::Ref, _) => Self::Ref(target.repo.objects()),
            (StateBackend::Artifact, Some(artifact)) => {
                let Target { repo: Repo { client, name }, number } = target;
                let (artifact, client, repository) = (Arc::clone(artifact), client.clone(), name.clone());
                Self::Artifact(PackedObjects::new(ArtifactSlot { artifact, client, repository, number }))
            }
            (StateBackend::Artifact | StateBackend::Comment, _) => Self::status_comment(target, facts),
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
    pub fn report(&self, wish: StatusCommentWish, texts: &Rendered) -> String {
        match (self, wish) {
            (Self::Comment(_), StatusCommentWish::Upsert) => texts.status_comment.clone(),
            (Self::Comment(objects), StatusCommentWish::Leave) => {
                objects.slot().comment().map(|it| marker::state_apart(&it.body).0.to_owned()).unwrap_or_default()
            }
            (Self::Ref(_) | Self::Artifact(_), _) => texts.artifact.clone(),
        }
    }

    /// The status comments as they are now, and the text that the comment is to have: with the state, where it is kept
    /// there.
    pub fn put_in(&self, status_comments: &mut Vec<OwnComment>, text: &mut String) {
        let Self::Comment(objects) = self else { return };
        let Some(comment) = objects.slot().comment() else { return };
        if let (_, Some(packed)) = marker::state_apart(&comment.body) {
            *text = marker::with_state(text, packed);
        }
        match status_comments.iter_mut().find(|known| known.id == comment.id) {
            Some(known) => *known = comment,
            None => status_comments.insert(0, comment),
        }
    }
}

impl GitObjects for Storage {
    async fn read_ref(&self, name: &RefName) -> Result<Option<Sha>, RefsError> {
        with!(self, objects => objects.read_ref(name).await)
    }

    async fn read_file(&self, commit: Sha, path: &str, limit: usize) -> Result<Option<Vec<u8>>, RefsError> {
        with!(self, objects => objects.read_file(commit, path, limit).await)
    }

    async fn parent(&self, commit: Sha) -> Result<Option<Sha>, RefsError> {
        with!(self, objects => objects.parent(commit).await)
    }

    async fn write_commit(&self, commit: NewCommit<'_>) -> Result<Sha, RefsError> {
        with!(self, objects => objects.write_commit(commit).await)
    }

    async fn compare_and_swap(&self, name: &RefName, old: Option<Sha>, new: Sha) -> Result<(), RefsError> {
        with!(self, objects => objects.compare_and_swap(name, old, new).await)
    }

    async fn delete_ref(&self, name: &RefName) -> Result<(), RefsError> {
        with!(self, objects => objects.delete_ref(name).await)
    }

    async fn refs(&self, below: &str) -> Result<Vec<(RefName, Sha)>, RefsError> {
        with!(self, objects => objects.refs(below).await)
    }
}
