//! What is known of a merge queue: how its groups ended, and that a pull request left it.
//!
//! The queue deletes a group's branch when the group ends, so its result is kept with each pull request of the group.

use serde::{Deserialize, Serialize};

use crate::{
    ids::{Login, PrNumber, Sha, Timestamp},
    text,
};

/// One commit on which a merge queue tests pull requests together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueGroup {
    pub head: Sha,
    /// The tree of `head`. Two groups with one tree test the same content.
    pub tree: Option<Sha>,
    /// The pull requests between the group's base and its head, at most 100.
    pub entries: Vec<PrNumber>,
    /// When the queue made it.
    pub made_at: Timestamp,
    pub result: GroupResult,
    /// What fails on it, at most [`MOST_FAILURES`](Self::MOST_FAILURES).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<GroupFailure>,
    /// Checks that did not reach a result, at most [`MOST_FAILURES`](Self::MOST_FAILURES).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unfinished: Vec<UnfinishedCheck>,
    /// What failed on this very commit and passed on it too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recovered: Vec<GroupFailure>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupResult {
    Running,
    Passed,
    Failed,
}

/// A failure on a group's commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupFailure {
    /// The failure's fingerprint; the check's name where the check says nothing about its failure.
    pub key: String,
    /// The test's name, else the check's: at most 60 characters.
    pub name: String,
    /// The base fails in this way too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_base: bool,
}

/// A check of a group without a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnfinishedCheck {
    /// The check's name, at most 60 characters.
    pub name: String,
    pub end: Unfinished,
}

/// Why a check of a group has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unfinished {
    Cancelled,
    NotStarted,
    Running,
    /// The network, a service or the runner failed.
    Outside,
}

impl QueueGroup {
    /// Failures and unfinished checks that are kept of a group.
    pub const MOST_FAILURES: usize = 8;
    /// Characters of a name.
    const MOST_NAME: usize = 60;

    /// A group of which no check is known yet.
    pub fn without_evidence(
        head: Sha,
        tree: Option<Sha>,
        entries: Vec<PrNumber>,
        made_at: Timestamp,
    ) -> Self {
        let (failing, unfinished, recovered) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            head,
            tree,
            entries,
            made_at,
            result: GroupResult::Running,
            failing,
            unfinished,
            recovered,
        }
    }

    /// Whether no check of it is known.
    pub fn has_no_evidence(&self) -> bool {
        self.result == GroupResult::Running && self.unfinished.is_empty() && self.failing.is_empty()
    }

    pub fn short_name(name: &str) -> String {
        text::one_line(name, Self::MOST_NAME)
    }

    pub fn fails(&self, failure: &GroupFailure) -> bool {
        self.failing.iter().any(|one| one.key == failure.key)
    }

    /// Takes over what failed on this commit before.
    pub fn follow(&mut self, earlier: &Self) {
        let failed_before = earlier.failing.iter().chain(&earlier.recovered);
        for failure in failed_before {
            let is_known = self.recovered.iter().any(|known| known.key == failure.key);
            // A check that runs again has not passed yet.
            if !is_known && !self.fails(failure) && self.result != GroupResult::Running {
                self.recovered.push(failure.clone());
            }
        }
        self.recovered.truncate(Self::MOST_FAILURES);
    }
}

/// Where a pull request stands with its merge queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueStanding {
    pub is_queued: bool,
    /// The last time it left the queue.
    pub removal: Option<QueueRemoval>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueRemoval {
    pub at: Timestamp,
    pub reason: RemovalReason,
    pub by: Option<Login>,
}

/// Why GitHub says that it removed a pull request from the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RemovalReason {
    Merged,
    /// A person removed it, or cleared the queue.
    Person,
    Conflict,
    FailedChecks,
    TimedOut,
    /// GitHub's own word, at most 60 characters.
    Other(String),
}

impl RemovalReason {
    /// Reads both spellings: the event `pull_request.dequeued` has `CI_FAILURE` and the like
    /// (<https://docs.github.com/en/webhooks/webhook-events-and-payloads#pull_request>), and GraphQL has a free text
    /// (<https://docs.github.com/en/graphql/reference/objects#removedfrommergequeueevent>).
    pub fn from_github(reason: &str) -> Self {
        let other = || Self::Other(QueueGroup::short_name(reason));
        let reason = reason.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| reason.contains(word));
        match reason.as_str() {
            "merge" | "merged" | "already_merged" => Self::Merged,
            _ if has(&["conflict"]) => Self::Conflict,
            _ if has(&["invalid", "roll", "protection"]) => other(),
            _ if has(&["manual", "clear"]) => Self::Person,
            _ if has(&["timeout", "timed", "no_response"]) => Self::TimedOut,
            _ if has(&["fail"]) => Self::FailedChecks,
            _ => other(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_read_in_both_spellings() {
        for (text, reason) in [
            ("MERGE", RemovalReason::Merged),
            ("merged", RemovalReason::Merged),
            ("ALREADY_MERGED", RemovalReason::Merged),
            ("MANUAL", RemovalReason::Person),
            ("QUEUE_CLEARED", RemovalReason::Person),
            ("MERGE_CONFLICT", RemovalReason::Conflict),
            ("CI_FAILURE", RemovalReason::FailedChecks),
            ("failed_checks", RemovalReason::FailedChecks),
            ("CI_TIMEOUT", RemovalReason::TimedOut),
            (
                "INVALID_MERGE_COMMIT",
                RemovalReason::Other("INVALID_MERGE_COMMIT".into()),
            ),
            ("ROLL_BACK", RemovalReason::Other("ROLL_BACK".into())),
            (
                "taken out of the merge queue",
                RemovalReason::Other("taken out of the merge queue".into()),
            ),
            ("", RemovalReason::Other(String::new())),
        ] {
            assert_eq!(RemovalReason::from_github(text), reason, "{text}");
        }
    }
}
