//! What one turn may not believe yet: an answer that was refused, or a thing that was found absent, for the first time.
//!
//! Whoever asks for the first time cannot know whether it stays so; it is asked for once more when it is no longer in
//! doubt (`Client::doubts`). A process of one turn has no later turn, so it believes what it reads.

use chrono::TimeDelta;

use super::{Failed, Lifetime};
use crate::{
    github::{Client, PullRequestFacts, client::LOOK_AGAIN_AFTER},
    refs::Retry,
};
use loopgate_core::{
    Timestamp,
    observed::{ChangedFiles, Lifecycle, Snapshot},
};

/// How long what has ended may wait for what was refused just then.
const DOUBTED_FOR: TimeDelta = TimeDelta::minutes(2);

/// What came into doubt since a turn began.
pub(super) struct TurnDoubts<'t> {
    client: &'t Client,
    before: u64,
    lifetime: Lifetime,
    now: Timestamp,
}

impl<'t> TurnDoubts<'t> {
    pub fn begin(client: &'t Client, lifetime: Lifetime, now: Timestamp) -> Self {
        Self { client, before: client.doubts(), lifetime, now }
    }

    fn are_there(&self) -> bool {
        self.lifetime == Lifetime::Stays && self.client.doubts() > self.before
    }

    /// When to look again at what came into doubt.
    pub fn confirmed_at(&self) -> Option<Timestamp> {
        self.are_there().then(|| self.now + LOOK_AGAIN_AFTER)
    }

    /// What was merged is judged by what it was merged as. By what was the base when it was opened, words would be answered
    /// anew.
    pub fn of_merge(&self, facts: &PullRequestFacts) -> Result<(), Failed> {
        let is_in_doubt = !facts.is_merge_followed() && self.are_there();
        self.wait_while(is_in_doubt, "GitHub does not show what it was merged as yet")
    }

    /// What has ended is judged once more, and what was refused a moment ago would be missing there for good.
    pub fn of_end(&self, snapshot: &Snapshot) -> Result<(), Failed> {
        let pull_request = &snapshot.pull_request;
        let has_just_ended = pull_request.lifecycle != Lifecycle::Open
            && self.now < pull_request.closed_at.unwrap_or(self.now) + DOUBTED_FOR;
        let is_in_doubt = has_just_ended && !snapshot.problems.is_empty() && self.are_there();
        self.wait_while(is_in_doubt, "GitHub does not show all of what was closed as yet")
    }

    /// A change whose files were refused a moment ago counts as one that touches everything, and would open every gate.
    pub fn of_files(&self, snapshot: &Snapshot) -> Result<(), Failed> {
        let is_in_doubt = matches!(snapshot.files, ChangedFiles::TooLarge { .. }) && self.are_there();
        self.wait_while(is_in_doubt, "GitHub does not show the changed files as yet")
    }

    fn wait_while(&self, is_in_doubt: bool, reason: &str) -> Result<(), Failed> {
        if is_in_doubt { Err(Failed { reason: reason.to_owned(), retry: Retry::WhenAnswered }) } else { Ok(()) }
    }
}
