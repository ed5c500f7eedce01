//! The time, passed in so that tests never wait for it.

use std::time::{Duration, Instant};

use chrono::{TimeDelta, Utc};
use futures::future::BoxFuture;
use parking_lot::Mutex;

use loopgate_core::Timestamp;

/// Returns the current time, and can be waited for. Tests bring one that they move themselves.
pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Timestamp;

    /// Completes once [`now`](Self::now) is at or after `until`.
    fn sleep_until(&self, until: Timestamp) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // In steps, so that a clock that was set is noticed within a minute.
            while let Ok(left) = (until - self.now()).to_std()
                && !left.is_zero()
            {
                tokio::time::sleep(left.min(Duration::from_secs(60))).await;
            }
        })
    }
}

/// The machine's clock without its leaps: the time is counted on until the machine has shown another one for
/// [`BELIEVED_AFTER`]. So a clock that is wrong for a moment, in either direction, neither puts off what is due nor
/// spoils a signature. All values of a process share one clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        static COUNTED: Mutex<Option<CountedTime>> = Mutex::new(None);
        let mut counted = COUNTED.lock();
        // Asked for under the lock, so that no thread's older answer looks like a step back.
        let (shown, at) = (Utc::now(), Instant::now());
        counted
            .get_or_insert_with(|| CountedTime::from(shown, at))
            .at_instant(shown, at)
    }
}

/// A step of the machine's clock up to this is followed at once: setting it right in small steps is no leap.
const LEAP: TimeDelta = TimeDelta::seconds(2);

/// How long the machine must show another time before it is believed.
const BELIEVED_AFTER: Duration = Duration::from_secs(15);

/// The time, and how it goes on.
#[derive(Debug)]
struct CountedTime {
    /// The time that was right at an instant.
    from: (Timestamp, Instant),
    /// By how much the machine's time differs, and since when.
    leap: Option<(TimeDelta, Instant)>,
}

impl CountedTime {
    fn from(shown: Timestamp, at: Instant) -> Self {
        Self {
            from: (shown, at),
            leap: None,
        }
    }

    /// The time to use when the machine shows `shown`.
    fn at_instant(&mut self, shown: Timestamp, at: Instant) -> Timestamp {
        let (right, since) = self.from;
        let counted = right + at.saturating_duration_since(since);
        let by = shown - counted;
        if by.abs() <= LEAP {
            *self = Self::from(shown, at);
            return shown;
        }
        let first = match self.leap {
            Some((before, first)) if (by - before).abs() <= LEAP => first,
            _ => at,
        };
        if at.saturating_duration_since(first) >= BELIEVED_AFTER {
            tracing::warn!(seconds = by.num_seconds(), "the machine's clock was set");
            *self = Self::from(shown, at);
            return shown;
        }
        self.leap = Some((by, first));
        counted
    }
}

impl<F: Fn() -> Timestamp + Send + Sync + 'static> Clock for F {
    fn now(&self) -> Timestamp {
        self()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with a clock that can be set.
    struct Machine {
        counted: CountedTime,
        begin: (Timestamp, Instant),
        passed: u32,
    }

    impl Machine {
        fn new() -> Self {
            let begin = (Timestamp::UNIX_EPOCH, Instant::now());
            Self {
                counted: CountedTime::from(begin.0, begin.1),
                begin,
                passed: 0,
            }
        }

        /// The Unix time in use one second later, on a machine whose clock is `off` by so many seconds.
        fn second(&mut self, off: i64) -> i64 {
            self.passed += 1;
            let shown = self.begin.0 + TimeDelta::seconds(i64::from(self.passed) + off);
            self.counted
                .at_instant(
                    shown,
                    self.begin.1 + Duration::from_secs(self.passed.into()),
                )
                .timestamp()
        }
    }

    #[test]
    fn a_clock_that_leaps_for_a_moment_is_not_followed() {
        let mut machine = Machine::new();
        let offs = [
            0, 0, 7_200, 7_200, -3_600, 0, 86_400, -86_400, 86_400, -86_400,
        ];
        for off in offs.into_iter().cycle().take(100) {
            let shown = machine.second(off);
            assert_eq!(shown, i64::from(machine.passed), "{off} s off");
        }
    }

    #[test]
    fn a_clock_that_was_set_is_followed_once_it_stays_so() {
        for set in [7_200, -7_200] {
            let mut machine = Machine::new();
            let shown: Vec<i64> = (0..17).map(|_| machine.second(set)).collect();
            let counted: Vec<i64> = (1..16).chain([16 + set, 17 + set]).collect();
            assert_eq!(shown, counted);
        }
    }

    #[test]
    fn small_steps_are_followed_at_once() {
        let mut machine = Machine::new();
        let shown: Vec<i64> = [1, 2, 1, -1, 0]
            .into_iter()
            .map(|off| machine.second(off))
            .collect();
        assert_eq!(shown, [2, 4, 4, 3, 5]);
    }
}
