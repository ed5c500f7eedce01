//! The time, passed in so that tests never wait for it.

use std::sync::Arc;

use chrono::Utc;

use loopgate_core::Timestamp;

/// Tells the time.
pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Utc::now()
    }
}

impl<F: Fn() -> Timestamp + Send + Sync> Clock for F {
    fn now(&self) -> Timestamp {
        self()
    }
}

impl Clock for Arc<dyn Clock> {
    fn now(&self) -> Timestamp {
        self.as_ref().now()
    }
}
