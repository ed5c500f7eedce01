//! The time, injected: the server never asks the system for it in any other place.

use std::{future::Future, pin::Pin, time::Duration};

use chrono::Utc;

use crate::core::Timestamp;

/// Where the server takes the time from. Tests bring a clock that they move themselves.
pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Timestamp;

    /// Completes once [`now`](Self::now) is at or after `until`.
    fn sleep_until(&self, until: Timestamp) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// The system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Utc::now()
    }

    fn sleep_until(&self, until: Timestamp) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            // In steps, so that a system clock that is set forward is noticed within a minute.
            while let Ok(left) = (until - self.now()).to_std() {
                if left.is_zero() {
                    break;
                }
                tokio::time::sleep(left.min(Duration::from_secs(60))).await;
            }
        })
    }
}
