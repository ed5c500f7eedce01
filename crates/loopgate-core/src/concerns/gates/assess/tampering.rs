//! Comments that counted and were changed since: they stop counting.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use super::{
    TamperedComment,
    messages::{Vote, editors},
    weighing::{OneGate, Weighing},
};
use crate::{ids::CommentId, observed::Comment, state::WordSource};

impl Weighing<'_> {
    /// Digests of the comments that count, and of those that counted and are still there. A writer who edits their own
    /// comment is asked to write a new one, so its old digest is not kept.
    pub(super) fn counted(&self) -> BTreeMap<CommentId, String> {
        let approved = self
            .approvals
            .iter()
            .filter_map(|(approval, _)| match approval.source {
                WordSource::Comment(id) => Some((id, digest(&self.gate.comment(id)?.body))),
                _ => None,
            });
        let earlier = self.gate.remembered.counted.clone();
        let is_kept = |id: &CommentId| {
            self.gate
                .comment(*id)
                .is_some_and(|comment| !self.gate.is_edited_by_writer(comment))
        };
        approved
            .chain(earlier.into_iter().filter(|(id, _)| is_kept(id)))
            .collect()
    }

    pub(super) fn tampered(&self) -> Vec<TamperedComment> {
        let remembered = self.gate.remembered;
        let changed = remembered.counted.iter().filter_map(|(id, then)| {
            let comment = self
                .gate
                .comment(*id)
                .filter(|comment| digest(&comment.body) != *then)?;
            let (gate, by, url) = (
                self.gate.name.clone(),
                comment.author.clone(),
                comment.url.clone(),
            );
            let editor = editors(*id, self.gate.snapshot)
                .last()
                .map(|editor| editor.login.clone());
            let changed_by = editor.or_else(|| remembered.tamperers.get(id).cloned());
            let is_own = self.gate.is_edited_by_writer(comment);
            (!is_own).then_some(TamperedComment {
                gate,
                comment: *id,
                by,
                changed_by,
                url,
            })
        });
        changed.collect()
    }
}

impl OneGate<'_> {
    fn comment(&self, id: CommentId) -> Option<&Comment> {
        self.snapshot
            .comments
            .items
            .iter()
            .find(|comment| comment.id == id)
    }

    /// `updated_at` has a granularity of seconds; the digest of a body that counted sees what it does not.
    pub(super) fn is_changed_since_counted(&self, vote: &Vote) -> bool {
        let WordSource::Comment(id) = vote.source else {
            return false;
        };
        let then = self.remembered.counted.get(&id);
        then.zip(self.comment(id))
            .is_some_and(|(then, comment)| digest(&comment.body) != *then)
    }

    fn is_edited_by_writer(&self, comment: &Comment) -> bool {
        editors(comment.id, self.snapshot).any(|by| by.id == comment.author.id)
    }
}

/// SHA-256 in hex.
fn digest(body: &str) -> String {
    hex::encode(Sha256::digest(body.as_bytes()))
}
