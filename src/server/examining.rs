//! The doctor beside the server: examines at start, every six hours and when asked. Readiness does not depend on it.

use std::sync::Arc;

use chrono::TimeDelta;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::github::{
    Clock, Github,
    doctor::{Expected, examine},
};
use loopgate_render::Diagnosis;

/// How old an examination becomes.
const EVERY: TimeDelta = TimeDelta::hours(6);

/// What was found last, and who finds.
pub(super) struct Doctor {
    github: Github,
    expected: Expected,
    clock: Arc<dyn Clock>,
    asked: Notify,
    pub last: Mutex<Diagnosis>,
}

impl Doctor {
    pub fn new(github: Github, expected: Expected, clock: Arc<dyn Clock>) -> Self {
        let last = Diagnosis {
            under_way: true,
            ..Diagnosis::new(None, &[])
        };
        Self {
            github,
            expected,
            clock,
            asked: Notify::new(),
            last: Mutex::new(last),
        }
    }

    /// Examines for ever.
    pub async fn run(self: Arc<Self>) {
        loop {
            self.last.lock().under_way = true;
            let found = Box::pin(examine(&self.github, &self.expected, None)).await;
            let now = self.clock.now();
            *self.last.lock() = Diagnosis::new(Some(now), &found);
            tokio::select! {
                () = self.clock.sleep_until(now + EVERY) => {}
                () = self.asked.notified() => {}
            }
        }
    }

    /// Examines as soon as the examination under way has ended; once, however often this is asked for meanwhile.
    pub fn ask(&self) {
        self.last.lock().under_way = true;
        self.asked.notify_one();
    }
}
