//! Time as the simulated GitHub sees it.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use chrono::{TimeDelta, Utc};

use loopgate_core::Timestamp;

/// A clock that tests can move. Clones show the same time.
///
/// ```
/// use chrono::TimeDelta;
/// use loopgate_simulator::Clock;
/// let clock = Clock::fixed("2026-11-20T10:00:00Z".parse()?);
/// let same = clock.clone();
/// clock.advance(TimeDelta::hours(1));
/// assert_eq!(same.now().to_rfc3339(), "2026-11-20T11:00:00+00:00");
/// # Ok::<(), chrono::ParseError>(())
/// ```
#[derive(Clone)]
pub struct Clock {
    base: Base,
    moved: Arc<Mutex<TimeDelta>>,
}

#[derive(Clone)]
enum Base {
    Fixed(Timestamp),
    Running(Arc<dyn Fn() -> Timestamp + Send + Sync>),
}

impl Clock {
    /// Stands still until it is advanced.
    pub fn fixed(at: Timestamp) -> Self {
        Self {
            base: Base::Fixed(at),
            moved: Arc::default(),
        }
    }

    /// The machine's clock; advancing it adds to the real time.
    pub fn system() -> Self {
        Self::from_fn(Utc::now)
    }

    /// Any other source of time.
    pub fn from_fn(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self {
            base: Base::Running(Arc::new(now)),
            moved: Arc::default(),
        }
    }

    pub fn now(&self) -> Timestamp {
        let moved = *self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        let base = match &self.base {
            Base::Fixed(at) => *at,
            Base::Running(now) => now(),
        };
        base + moved
    }

    /// Moves the time, backwards too if `by` is negative.
    pub fn advance(&self, by: TimeDelta) {
        *self.moved.lock().unwrap_or_else(PoisonError::into_inner) += by;
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Clock({})", self.now())
    }
}
