//! The doctor beside the server: examines at start, every six hours and when asked. Readiness does not depend on it.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

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
    is_under_way: AtomicBool,
    last: Mutex<Diagnosis>,
}

impl Doctor {
    pub fn new(github: Github, expected: Expected, clock: Arc<dyn Clock>) -> Self {
        let (asked, last) = (Notify::new(), Mutex::new(Diagnosis::new(None, &[])));
        Self { github, expected, clock, asked, is_under_way: AtomicBool::new(true), last }
    }

    /// Examines for ever.
    pub async fn run(self: Arc<Self>) {
        loop {
            self.is_under_way.store(true, Ordering::Relaxed);
            let found = Box::pin(examine(&self.github, &self.expected, None)).await;
            let now = self.clock.now();
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Diagnosis::new(Some(now), &found);
            self.is_under_way.store(false, Ordering::Relaxed);
            tokio::select! {
                () = self.clock.sleep_until(now + EVERY) => {}
                () = self.asked.notified() => {}
            }
        }
    }

    /// Examines as soon as the examination under way has ended; once, however often this is asked for meanwhile.
    pub fn ask(&self) {
        self.is_under_way.store(true, Ordering::Relaxed);
        self.asked.notify_one();
    }

    pub fn diagnosis(&self) -> Diagnosis {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Diagnosis { under_way: self.is_under_way.load(Ordering::Relaxed), ..last }
    }

    /// What keeps Loopgate from working, in numbers.
    pub fn faults(&self) -> usize {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.lines.iter().filter(|line| line.outcome == DoctorOutcome::Fault).count()
    }
}
