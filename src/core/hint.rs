//! What only an event tells, and the API will not say later. Hints are remembered with the delivery that brought
//! them until the reconcile that used them has ended well.

use serde::{Deserialize, Serialize};

use super::ids::{CheckRunId, CommentId, Login, Sha, Timestamp, UserId};

/// One fact taken from an event's payload. A hint can make Loopgate more careful, never less.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "hint", rename_all = "snake_case")]
pub enum Hint {
    /// The head branch pointed at this commit when the delivery was received.
    HeadSeen {
        sha: Sha,
        at: Timestamp,
    },
    /// Somebody edited a comment. The API does not say who.
    CommentEdited {
        comment: CommentId,
        editor: UserId,
        editor_login: Login,
        at: Timestamp,
    },
    CommentDeleted {
        comment: CommentId,
    },
    /// A button of one of our check runs was pressed.
    ButtonPressed {
        check_run: CheckRunId,
        identifier: String,
        by: UserId,
        by_login: Login,
        at: Timestamp,
    },
    /// Somebody asked for one of our check runs to run again.
    RerunRequested {
        by: UserId,
        by_login: Login,
        at: Timestamp,
    },
}
