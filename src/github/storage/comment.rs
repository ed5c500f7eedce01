//! The state in the status comment's last, hidden line.
//!
//! Races: GitHub edits comments without any condition. The comment is read again right before it is written, so what
//! another writer saved before that is seen, and decided on again; what two of them write within one request's time of
//! each other is not, and the later one stands. What is lost then is what the other remembered of one look: attempts
//! are counted by head commit and posts are found by their markers, so neither is made twice.
//!
//! Who has write access can edit the comment, as they can move a ref: the state in it is believed under the App's seal
//! only ([`Seal`](crate::refs::Seal)), and a workflow without one does not resist people with push access anyway.

use http::Method;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::json;

use super::told;
use crate::{
    github::{
        Client, Error, OwnComment,
        error::OrAbsent as _,
        marker::{Marker, state_apart, with_state},
        observe::status_comments,
        path,
        retry::Repeat,
    },
    refs::{RefName, RefsError, Slot},
};
use loopgate_core::{CommentId, PrNumber, RepoName, observed::AppIdentity, policy::StateBackend};

/// The status comment of one pull request.
pub struct CommentSlot {
    pub(super) client: Client,
    pub(super) repository: RepoName,
    pub(super) number: PrNumber,
    pub(super) us: AppIdentity,
    /// As it was last read or written.
    pub(super) comment: Mutex<Option<OwnComment>>,
}

#[derive(Deserialize)]
struct Written {
    id: CommentId,
    body: Option<String>,
}

impl CommentSlot {
    pub(super) fn comment(&self) -> Option<OwnComment> {
        self.comment.lock().clone()
    }

    /// The comment as it stands on GitHub.
    async fn look_again(&self) -> Result<Option<OwnComment>, Error> {
        let Some(OwnComment { id, .. }) = self.comment() else {
            return Ok(status_comments(self.client.repo(&self.repository), self.number, &self.us)
                .await?
                .into_iter()
                .next());
        };
        let path = format!("{}/issues/comments/{id}", path::repo(&self.repository));
        let found = self.client.get::<Written>(&path).await.or_absent()?;
        Ok(found.map(|Written { id, body }| OwnComment { id, body: body.unwrap_or_default() }))
    }

    async fn write(&self, over: Option<CommentId>, body: String) -> Result<OwnComment, Error> {
        let repository = path::repo(&self.repository);
        let json = json!({ "body": body });
        let id = match over {
            Some(id) => {
                let path = format!("{repository}/issues/comments/{id}");
                self.client.tell(Method::PATCH, &path, Some(&json), Repeat::Safe).await?;
                id
            }
            None => {
                let path = format!("{repository}/issues/{}/comments", self.number);
                let _booked = self.client.book_at_once().await;
                self.client.write::<Written>(Method::POST, &path, &json, Repeat::Never).await?.id
            }
        };
        Ok(OwnComment { id, body })
    }
}

impl Slot for CommentSlot {
    fn room(&self) -> usize {
        StateBackend::ROOM_IN_COMMENT
    }

    async fn read(&self) -> Result<Option<String>, RefsError> {
        let comment = self.comment();
        Ok(comment.and_then(|comment| state_apart(&comment.body).1.map(str::to_owned)))
    }

    async fn replace(&self, name: &RefName, old: Option<&str>, new: &str, report: &str) -> Result<(), RefsError> {
        let there = self.look_again().await.map_err(told)?;
        let standing = there.as_ref().and_then(|comment| state_apart(&comment.body).1);
        if standing != old {
            *self.comment.lock() = there;
            return Err(RefsError::RefMoved { name: name.clone() });
        }
        let body = with_state(&Marker::Status.on(report), new);
        let written = self.write(there.map(|comment| comment.id), body).await.map_err(told)?;
        *self.comment.lock() = Some(written);
        Ok(())
    }
}
