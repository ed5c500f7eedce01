//! What is left of a run whose record is gone: the loss is reported, and its attempts still count.
//!
//! An account that may push can delete the hidden ref, and an account that may write can delete or edit our comments.
//! So every trace that is left is read, and what none of them holds is not made up.

use std::collections::BTreeSet;

use super::model::Feedback;
use loopgate_core::{
    Sha, Timestamp,
    deciding::Post,
    state::{LostRecord, Trace},
};

/// Our own traces on a pull request that has no record.
#[derive(Clone, Copy, Debug)]
pub struct Traces<'a> {
    /// The body of our status comment.
    pub status_comment: Option<&'a str>,
    /// The keys of our posts ([`Post::key`]).
    pub posts: &'a BTreeSet<String>,
    /// When a `loopgate / verify` of ours ended on the head.
    pub verified: Option<Timestamp>,
    pub head: Sha,
    /// When the pull request was opened: a check run on its head that is older was another's.
    pub opened: Timestamp,
}

/// A run never has more attempts: it is blocked long before.
const MOST_LOST: u32 = 1_000;

impl Traces<'_> {
    /// The record that must have been there, if there was one. Attempts are those made on other heads than this one.
    pub fn lost_record(&self) -> Option<LostRecord> {
        let verified = self.verified.is_some_and(|at| at >= self.opened);
        let trace = match self.status_comment {
            Some(_) => Trace::StatusComment,
            None if !self.posts.is_empty() => Trace::Post,
            None if verified => Trace::CheckRun,
            None => return None,
        };
        let document = self.status_comment.and_then(Feedback::within);
        let told = document.map_or(0, |document| document.attempts_before(self.head));
        // The last attempt that a post names is this head's, where this head was judged.
        let posted = self.posts.iter().filter_map(|key| Post::attempt_failed(key)).max().unwrap_or(0);
        let posted = if verified { posted.saturating_sub(1) } else { posted };
        Some(LostRecord { attempts: told.max(posted).min(MOST_LOST), trace })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::fixtures;

    #[test]
    fn what_is_left_tells_of_what_is_gone() {
        let page = crate::render::pull_request(&fixtures::first_failure(), &fixtures::snapshot(), &fixtures::policy());
        let comment = Some(page.status_comment.as_str());
        let (same, other) = (fixtures::snapshot().pull_request.head.sha, Sha::from_bytes([9; 20]));
        let opened = fixtures::snapshot().pull_request.created_at;
        let (before, after) = (Some(opened - chrono::TimeDelta::hours(1)), Some(opened + chrono::TimeDelta::hours(1)));
        let called: &[&str] = &["escalation:same_error:3", "escalation:same_error:3:2", "gate:security:1", "fix:2"];
        let cases = [
            ("nothing of ours", None, &[][..], None, other, None),
            ("the status comment", comment, &[], None, other, Some((1, Trace::StatusComment))),
            ("… of this very head", comment, &[], None, same, Some((0, Trace::StatusComment))),
            ("… edited", Some("hello"), called, None, other, Some((3, Trace::StatusComment))),
            ("calls and requests", None, called, None, other, Some((3, Trace::Post))),
            ("… the last of this head", None, called, after, other, Some((2, Trace::Post))),
            ("a request to approve", None, &["gate:security:1"], None, other, Some((0, Trace::Post))),
            ("a call for no attempt", None, &["escalation:gate_timeout:2"], None, other, Some((1, Trace::Post))),
            ("keys that cannot be", None, &["fix:4294967295", "fix:x"], None, other, Some((1_000, Trace::Post))),
            ("a check run", None, &[], after, other, Some((0, Trace::CheckRun))),
            ("another's check run", None, &[], before, other, None),
        ];
        for (name, status_comment, posts, verified, head, expected) in cases {
            let posts = posts.iter().map(|key| (*key).to_owned()).collect();
            let lost = Traces { status_comment, posts: &posts, verified, head, opened }.lost_record();
            assert_eq!(lost.map(|lost| (lost.attempts, lost.trace)), expected, "{name}");
        }
    }
}
