//! Facts that only an event has, and that GitHub's API does not return later.
//!
//! An event says *look at PR 12*, never *what to do*; the truth is read from the API. A few facts cannot be read
//! there any more once the event has passed: who edited a comment, which button was pressed, when a head commit was
//! first seen. Those travel beside the event as hints. A hint that is lost or repeated may cost a person a second
//! try, never a wrong decision: nothing may be *granted* on the word of a hint alone. Other hints name what the API
//! must show by now: an answer without it is older than the event.

use serde::{Deserialize, Serialize};

use super::QueueGroup;
use crate::{CheckRunId, CommentId, Login, PrNumber, ReviewId, Sha, Timestamp, UserId};

/// An account as an event names it. Compare ids; the login is for people to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    pub id: UserId,
    pub login: Login,
}

/// A push to the head branch, as its event describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnnouncedPush {
    /// The previous head.
    pub before: Sha,
    pub after: Sha,
    pub by: Actor,
}

/// One fact that an event carried. Small (well under 500 bytes written as JSON), since it waits in the inbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "hint", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Hint {
    /// The pull request's head was this commit when the delivery was received, or a little before: never later. It
    /// binds approvals to the head that people saw.
    HeadSeen { sha: Sha, at: Timestamp },
    /// Somebody pushed to the head branch.
    Pushed(AnnouncedPush),
    /// The pull request was opened with this head, into this branch: by GitHub's own clock, however late the event
    /// came.
    Opened {
        sha: Sha,
        base: String,
        at: Timestamp,
    },
    /// Somebody wrote a comment. What is read shows it, or is older than the event; the same holds for the hints that
    /// follow.
    CommentWritten { comment: CommentId },
    /// Somebody submitted a review.
    ReviewWritten { review: ReviewId },
    /// Somebody resolved a review thread, or opened it again.
    ThreadChanged,
    /// A check run on this commit ended.
    CheckRunCompleted { check_run: CheckRunId, head: Sha },
    /// The base branch moved on from this commit.
    BaseMoved { from: Sha },
    /// The pull request was closed, merged or not.
    Closed,
    /// The pull request was opened again.
    Reopened,
    /// A comment was edited; the REST API shows that, but not by whom.
    CommentEdited {
        comment: CommentId,
        by: Actor,
        at: Timestamp,
    },
    /// Somebody deleted a comment; the API merely stops listing it.
    CommentDeleted { comment: CommentId, by: Actor },
    /// Somebody edited the body of a review.
    ReviewEdited { review: ReviewId, by: Actor },
    /// Somebody pressed a button of one of our check runs. `identifier` is the one we gave the button, ≤ 20 characters.
    ButtonPressed {
        check_run: CheckRunId,
        identifier: String,
        by: Actor,
    },
    /// Somebody asked for one of our check runs again.
    CheckRunRerequested { check_run: CheckRunId, by: Actor },
    /// Somebody asked for all of our check runs on this commit again.
    CheckSuiteRerequested { sha: Sha, by: Actor },
    /// A merge queue waits for our answer on this commit, for every pull request between `base` and `head`.
    /// `head_ref` is the queue's own branch, which names the last of them.
    MergeGroup {
        head: Sha,
        base: Sha,
        base_ref: String,
        #[serde(default)]
        head_ref: Option<String>,
    },
    /// A merge queue's group was answered, or was thrown away. Loopgate adds it itself, for the pull requests of the
    /// group and those that were in a group with one of them. Up to 1,600 bytes.
    QueueGroup(Box<QueueGroup>),
    /// The pull request left its merge queue, by GitHub's clock at the earliest then.
    Dequeued { at: Timestamp },
    /// The pull request came into its merge queue.
    Enqueued,
    /// Pull requests that the event named for its commit. Empty for forks and no proof otherwise: a place to look
    /// first, nothing more.
    NamedPulls { pulls: Vec<PrNumber> },
}

impl Hint {
    /// The person who pressed a button or *Re-run*.
    pub const fn pressed_by(&self) -> Option<&Actor> {
        match self {
            Self::ButtonPressed { by, .. }
            | Self::CheckRunRerequested { by, .. }
            | Self::CheckSuiteRerequested { by, .. } => Some(by),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_kept_as_small_json() {
        let by = Actor {
            id: UserId::new(7),
            login: "alice".parse().unwrap(),
        };
        let sha: Sha = "0123456789abcdef0123456789abcdef01234567".parse().unwrap();
        let at: Timestamp = "2026-11-20T10:15:00Z".parse().unwrap();
        let hints = vec![
            Hint::HeadSeen { sha, at },
            Hint::CommentEdited {
                comment: CommentId::new(1),
                by: by.clone(),
                at,
            },
            Hint::ButtonPressed {
                check_run: CheckRunId::new(2),
                identifier: "retry".into(),
                by,
            },
            Hint::NamedPulls {
                pulls: vec![PrNumber::new(12)],
            },
        ];
        let text = serde_json::to_string(&hints).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Hint>>(&text).unwrap(), hints);
        insta::assert_snapshot!(text, @r#"[{"hint":"head_seen","sha":"0123456789abcdef0123456789abcdef01234567","at":"2026-11-20T10:15:00Z"},{"hint":"comment_edited","comment":1,"by":{"id":7,"login":"alice"},"at":"2026-11-20T10:15:00Z"},{"hint":"button_pressed","check_run":2,"identifier":"retry","by":{"id":7,"login":"alice"}},{"hint":"named_pulls","pulls":[12]}]"#);
    }
}
