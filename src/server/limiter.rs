//! Refused requests per address.
//!
//! Whoever sends requests that are refused before they prove to come from GitHub may do so a few times a minute; then
//! further ones are turned away unread. An address that proved itself is not limited for a while: behind a load
//! balancer all requests come from one address, GitHub's among a stranger's.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Mutex, PoisonError},
};

use chrono::TimeDelta;

use loopgate_core::Timestamp;

/// Failures that an address may have at once, and that it earns back one by one.
const BURST: i64 = 30;
const EARNED_EVERY: TimeDelta = TimeDelta::seconds(2);

/// How long an address is not limited after a good signature.
const TRUSTED_FOR: TimeDelta = TimeDelta::minutes(10);

/// More addresses than this are not remembered; then all start anew.
const ADDRESSES: usize = 10_000;

#[derive(Debug, Default)]
pub(super) struct Limiter(Mutex<HashMap<IpAddr, Record>>);

#[derive(Debug, Clone, Copy)]
struct Record {
    /// When the address will have earned everything back; each failure moves it on.
    clear_at: Timestamp,
    trusted_until: Timestamp,
}

impl Limiter {
    /// Whether requests from this address are read at all.
    pub fn admits(&self, address: IpAddr, now: Timestamp) -> bool {
        let records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Almost always empty: nothing was refused.
        records.get(&site(address)).is_none_or(|record| {
            record.trusted_until > now || record.clear_at - now <= EARNED_EVERY * (BURST as i32 - 1)
        })
    }

    pub fn failed(&self, address: IpAddr, now: Timestamp) {
        let mut records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if records.len() >= ADDRESSES {
            records.retain(|_, record| record.clear_at > now || record.trusted_until > now);
        }
        if records.len() >= ADDRESSES {
            records.clear();
        }
        let record = records.entry(site(address)).or_insert(Record { clear_at: now, trusted_until: now });
        record.clear_at = (record.clear_at.max(now) + EARNED_EVERY).min(now + EARNED_EVERY * BURST as i32);
    }

    /// A good signature came from this address. Only remembered for an address that also failed: others are not
    /// limited.
    pub fn proved(&self, address: IpAddr, now: Timestamp) {
        let mut records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(record) = records.get_mut(&site(address)) {
            record.trusted_until = now + TRUSTED_FOR;
        }
    }
}

/// One IPv6 customer has a whole /64.
fn site(address: IpAddr) -> IpAddr {
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
    fn failures_are_limited_and_earned_back() {
        let limiter = Limiter::default();
        let address: IpAddr = "203.0.113.7".parse().unwrap();
        for n in 0..BURST {
            assert!(limiter.admits(address, at(0)), "failure {n}");
            limiter.failed(address, at(0));
        }
        assert!(!limiter.admits(address, at(0)));
        assert!(!limiter.admits(address, at(1)));
        assert!(limiter.admits(address, at(2)));
        assert!(limiter.admits("203.0.113.8".parse().unwrap(), at(0)));
        assert!(!limiter.admits("::ffff:203.0.113.7".parse().unwrap(), at(0)));
    }

    #[test]
    fn an_address_that_proved_itself_is_not_limited_for_a_while() {
        let limiter = Limiter::default();
        let address: IpAddr = "2001:db8::1".parse().unwrap();
        let neighbour: IpAddr = "2001:db8::2".parse().unwrap();
        limiter.failed(neighbour, at(0));
        limiter.proved(address, at(0));
        for _ in 0..2 * BURST {
            limiter.failed(neighbour, at(1));
        }
        assert!(limiter.admits(address, at(1)));
        assert!(limiter.admits(address, at(599)));
        for _ in 0..2 * BURST {
            limiter.failed(neighbour, at(600));
        }
        assert!(!limiter.admits(address, at(601)));
    }

    #[test]
    fn the_memory_is_bounded() {
        let limiter = Limiter::default();
        for n in 0..3 * u32::try_from(ADDRESSES).unwrap() {
            limiter.failed(IpAddr::from(n.to_be_bytes()), at(0));
        }
        assert!(limiter.0.lock().unwrap().len() <= ADDRESSES);
    }
}
