//! How often agents were held in a working tree: a file of its git folder, written by one hook at a time.

use std::{
    fs::{self, File, TryLockError},
    path::PathBuf,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

use super::{
    Standing,
    turn::{Question, TurnEnd},
};
use loopgate_core::{Sha, Timestamp};
use loopgate_runner::Worktree;

/// How often an agent is held on one head.
const MOST_ON_HEAD: u32 = 3;
/// How often it is held in a row, on whatever heads. Claude Code and Copilot CLI end a turn themselves at the ninth block in a
/// row, and the answer is lost with it (<https://code.claude.com/docs/en/hooks>, Stop).
pub(super) const MOST_IN_A_ROW: u32 = 8;

/// How long between two looks for the lock.
const LOOKS_EVERY: Duration = Duration::from_millis(50);

/// What is remembered between the ends of turns.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Record {
    head: Option<Sha>,
    on_head: u32,
    in_a_row: u32,
    /// The working tree, not verified, that an agent was held on: that is once for each.
    unverified: Option<Sha>,
    /// An agent was held once more since the results of tests were lost.
    lost: bool,
    last: Option<TurnEnd>,
}

/// The record, and the right to write it.
pub struct Holds {
    path: PathBuf,
    record: Record,
    /// Goes with the process.
    _lock: File,
}

impl Holds {
    /// Waits until no other hook is at work in this working tree; none where that does not end in time, or nothing can
    /// be written there: what cannot be counted cannot be bounded.
    pub async fn take(worktree: &Worktree, until: Instant) -> Option<Self> {
        let path = worktree.private_dir.with_file_name("loopgate-agent-stop");
        let lock = File::create(path.with_extension("lock")).ok()?;
        while let Err(error) = lock.try_lock() {
            let is_held = matches!(error, TryLockError::WouldBlock);
            if !is_held || Instant::now() >= until {
                return None;
            }
            sleep(LOOKS_EVERY).await;
        }
        let there = fs::read(&path).unwrap_or_default();
        Some(Self {
            record: serde_json::from_slice(&there).unwrap_or_default(),
            path,
            _lock: lock,
        })
    }

    /// The answer that another hook got for the same end of a turn.
    pub fn answered(&mut self, question: &Question) -> Option<Option<String>> {
        let end = self.record.last.take_if(|end| end.is_of(question))?;
        let answer = end.answer.clone();
        self.record.last = Some(end.asked_too(question));
        self.write()?;
        Some(answer)
    }

    /// Answers a question, and remembers that.
    pub fn answer(
        mut self,
        question: &Question,
        head: Sha,
        standing: Standing,
        now: Timestamp,
    ) -> Option<String> {
        let reason = self.record.held(head, standing);
        self.record.last = Some(TurnEnd::new(question, reason.clone(), now));
        self.write()?;
        reason
    }

    fn write(&self) -> Option<()> {
        fs::write(&self.path, serde_json::to_string(&self.record).ok()?).ok()
    }
}

impl Record {
    /// Why an agent is held, within the limits, and counts it.
    fn held(&mut self, head: Sha, standing: Standing) -> Option<String> {
        let mut is_once_more = false;
        let reason = match standing {
            Standing::MayStop => {
                // The next failure begins a row of its own.
                *self = Self::default();
                return None;
            }
            Standing::Unverified { tree, .. } if self.unverified == Some(tree) => return None,
            Standing::Unverified { tree, reason } => {
                self.unverified = Some(tree);
                reason
            }
            Standing::Fails { reason, lost } => {
                is_once_more = lost && !self.lost;
                self.lost |= lost;
                reason
            }
        };
        if self.head != Some(head) {
            self.head = Some(head);
            self.on_head = 0;
        }
        let is_spent = self.on_head >= MOST_ON_HEAD && !is_once_more;
        if is_spent || self.in_a_row >= MOST_IN_A_ROW {
            return None;
        }
        self.on_head += 1;
        self.in_a_row += 1;
        Some(reason)
    }
}
