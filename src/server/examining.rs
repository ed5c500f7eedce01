//! The doctor beside the server: examines at start, every six hours and when asked. Readiness does not depend on it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::TimeDelta;
use tokio::sync::Notify;

use super::clock::Clock;
use crate::{
    github::{
        Github,
        doctor::{Expected, examine},
    },
    render::{Diagnosis, DoctorOutcome},
};

/// How old an examination becomes.
const EVERY: TimeDelta = TimeDelta::hours(6);

/// What was found last, and who finds.
pub(super) struct Doctor {
    github: Github,
    expected: Expected,
    clock: Arc<dyn Clock>,
    asked: Notify,
    last: Mutex<Diagnosis>,
}

impl Doctor {
    pub fn new(github: Github, expected: Expected, clock: Arc<dyn Clock>) -> Self {
        let last = Diagnosis { under_way: true, ..Diagnosis::new(None, &[]) };
        Self { github, expected, clock, asked: Notify::new(), last: Mutex::new(last) }
    }

    fn last(&self) -> MutexGuard<'_, Diagnosis> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Examines for ever.
    pub async fn run(self: Arc<Self>) {
        loop {
            self.last().under_way = true;
            let found = Box::pin(examine(&self.github, &self.expected, None)).await;
            let now = self.clock.now();
            *self.last() = Diagnosis::new(Some(now), &found);
            tokio::select! {
                () = self.clock.sleep_until(now + EVERY) => {}
                () = self.asked.notified() => {}
            }
        }
    }

    /// Examines as soon as the examination under way has ended; once, however often this is asked for meanwhile.
    pub fn ask(&self) {
        self.last().under_way = true;
        self.asked.notify_one();
    }

    pub fn diagnosis(&self) -> Diagnosis {
        self.last().clone()
    }

    /// What keeps Loopgate from working, in numbers.
    pub fn faults(&self) -> usize {
        self.last().lines.iter().filter(|line| line.outcome == DoctorOutcome::Fault).count()
    }
}
