//! Requests that are counted: refused ones per address, calls per person.
//!
//! An address that sends many requests that do not prove to come from GitHub is not refused: behind a load balancer all
//! requests come from one address, GitHub's among a stranger's. What the address may cost is bounded instead: its large
//! bodies share a small part of the memory, see `receive`.

use std::{
    collections::HashMap,
    hash::Hash,
    net::{IpAddr, Ipv6Addr},
};

use chrono::TimeDelta;
use parking_lot::Mutex;

use loopgate_core::Timestamp;

/// Requests that one may have at once, and earns back one by one.
const BURST: i64 = 30;
const EARNED_EVERY: TimeDelta = TimeDelta::seconds(2);

/// More than this are not remembered; then all start anew.
const REMEMBERED: usize = 10_000;

/// When each will have earned everything back; each request moves it on.
#[derive(Debug)]
pub(super) struct Limiter<K>(Mutex<HashMap<K, Timestamp>>);

impl<K> Default for Limiter<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash> Limiter<K> {
    /// Whether so many requests were counted that one has to earn the next.
    pub fn is_exhausted(&self, who: &K, now: Timestamp) -> bool {
        let records = self.0.lock();
        // Almost always empty: nothing was refused.
        records
            .get(who)
            .is_some_and(|clear_at| *clear_at - now > EARNED_EVERY * (BURST as i32 - 1))
    }

    pub fn count(&self, who: K, now: Timestamp) {
        let mut records = self.0.lock();
        if records.len() >= REMEMBERED {
            records.retain(|_, clear_at| *clear_at > now);
        }
        if records.len() >= REMEMBERED {
            records.clear();
        }
        let clear_at = records.entry(who).or_insert(now);
        *clear_at = ((*clear_at).max(now) + EARNED_EVERY).min(now + EARNED_EVERY * BURST as i32);
    }
}

/// One IPv6 customer has a whole /64.
pub(super) fn site(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX))),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_timestamp(1_800_000_000 + seconds, 0).unwrap()
    }

    #[test]
    fn failures_make_suspect_and_are_earned_back() {
        let limiter = Limiter::default();
        let address: IpAddr = "203.0.113.7".parse().unwrap();
        for n in 0..BURST {
            assert!(!limiter.is_exhausted(&address, at(0)), "failure {n}");
            limiter.count(address, at(0));
        }
        assert!(limiter.is_exhausted(&address, at(0)));
        assert!(limiter.is_exhausted(&address, at(1)));
        assert!(!limiter.is_exhausted(&address, at(2)));
        assert!(!limiter.is_exhausted(&"203.0.113.8".parse().unwrap(), at(0)));
        assert!(limiter.is_exhausted(&site("::ffff:203.0.113.7".parse().unwrap()), at(0)));
    }

    #[test]
    fn the_memory_is_bounded() {
        let limiter = Limiter::default();
        for n in 0..3 * u32::try_from(REMEMBERED).unwrap() {
            limiter.count(n, at(0));
        }
        assert!(limiter.0.lock().len() <= REMEMBERED);
    }
}
