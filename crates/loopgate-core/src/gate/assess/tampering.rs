//! Comments that counted and were changed since: they stop counting.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::{
    Tampered,
    weighing::Weighing,
    words::{Said, by_id},
};
use crate::{
    ids::CommentId,
    observed::{Actor, Comment, Hint, Snapshot},
    state::{GateState, WordSource},
};

impl Weighing<'_> {
    /// Digests of the comments that count, and of those that counted and are still there.
    pub(super) fn counted(&self) -> BTreeMap<CommentId, String> {
        let comments = by_id(self.conversation.snapshot);
        let earlier = self.remembered.map(|gate| gate.counted.clone()).unwrap_or_default();
        // Whoever edits their own comment is told to write a new one, so the old text is not kept for comparison.
        let kept = |id: &CommentId| {
            comments.get(id).is_some_and(|comment| !edited_by_writer(comment, self.conversation.snapshot))
        };
        let mut counted: BTreeMap<_, _> = earlier.into_iter().filter(|(id, _)| kept(id)).collect();
        for (approval, _) in &self.approvals {
            if let WordSource::Comment(id) = approval.source
                && let Some(comment) = comments.get(&id)
            {
                counted.entry(id).or_insert_with(|| digest(&comment.body));
            }
        }
        counted
    }

    pub(super) fn tampered(&self) -> Vec<Tampered> {
        let comments = by_id(self.conversation.snapshot);
        let counted = self.remembered.into_iter().flat_map(|gate| &gate.counted);
        let changed = counted.filter_map(|(id, then)| {
            let comment = comments.get(id).filter(|comment| digest(&comment.body) != *then)?;
            let (gate, by, url) = (self.own.name.clone(), comment.author.clone(), comment.url.clone());
            let known = || self.remembered?.tamperers.get(id).cloned();
            let told = editors(comment, self.conversation.snapshot).last().map(|editor| editor.login.clone());
            let tampered = Tampered { gate, comment: *id, by, changed_by: told.or_else(known), url };
            (!edited_by_writer(comment, self.conversation.snapshot)).then_some(tampered)
        });
        changed.collect()
    }
}

fn edited_by_writer(comment: &Comment, snapshot: &Snapshot) -> bool {
    editors(comment, snapshot).any(|by| by.id == comment.author.id)
}

/// Who edited the comment since the last look, as far as that was told.
fn editors<'s>(comment: &Comment, snapshot: &'s Snapshot) -> impl Iterator<Item = &'s Actor> {
    let edited = comment.id;
    snapshot.hints.iter().filter_map(move |hint| match hint {
        Hint::CommentEdited { comment, by, .. } if *comment == edited => Some(by),
        _ => None,
    })
}

/// `updated_at` has a granularity of seconds; the digest of a body that counted sees what it does not.
pub(super) fn changed_since_counted(word: &Said, remembered: Option<&GateState>, snapshot: &Snapshot) -> bool {
    let WordSource::Comment(id) = word.source else { return false };
    let Some(then) = remembered.and_then(|gate| gate.counted.get(&id)) else { return false };
    snapshot.comments.items.iter().any(|comment| comment.id == id && digest(&comment.body) != *then)
}

/// SHA-256 in hex.
fn digest(body: &str) -> String {
    hex::encode(Sha256::digest(body.as_bytes()))
}
