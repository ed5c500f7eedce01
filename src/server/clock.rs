//! The time, injected: the server never asks the system for it in any other place.

use std::{future::Future, pin::Pin, time::Duration};

use crate::github::{self, SystemClock};
use loopgate_core::Timestamp;

/// A clock that can be waited for. Tests bring one that they move themselves.
pub trait Clock: github::Clock + 'static {
    /// Completes once [`now`](github::Clock::now) is at or after `until`.
    fn sleep_until(&self, until: Timestamp) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

impl Clock for SystemClock {
    fn sleep_until(&self, until: Timestamp) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        use github::Clock as _;
        Box::pin(async move {
            // In steps, so that a clock that was set is noticed within a minute.
            while let Ok(left) = (until - self.now()).to_std() {
                if left.is_zero() {
                    break;
                }
                tokio::time::sleep(left.min(Duration::from_secs(60))).await;
            }
        })
    }
}
