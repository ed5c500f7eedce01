//! The world as it was, for answers of replicas that lag behind.

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use tokio::sync::watch;

use crate::{
    Shared,
    faults::Faults,
    hooks::Outbox,
    requests::{RateLimits, RequestLog},
    world::World,
};
use loopgate_core::Timestamp;

/// A former world, which answers and is changed by nobody.
#[derive(Clone)]
pub struct Past(pub Arc<Shared>);

impl fmt::Debug for Past {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Past")
    }
}

impl World {
    /// The world at a time; none if that is how it is now.
    pub fn as_of(&self, at: Timestamp) -> Option<Past> {
        let (_, past) = self.past.iter().find(|(until, _)| *until > at)?;
        let shared = Shared {
            world: Mutex::new(past.replica()),
            version: watch::Sender::new(0),
        };
        Some(Past(Arc::new(shared)))
    }

    /// Before a change: keeps the world as it has been until now, if answers may lag.
    pub fn keep_past(&mut self) {
        let now = self.clock.now();
        if self.faults.may_lag() && self.past.last().is_none_or(|(until, _)| *until < now) {
            let past = self.replica();
            self.past.push((now, past));
        }
    }

    /// What answers tell of. Nothing leaves a replica, and nothing goes wrong in it.
    fn replica(&self) -> Self {
        Self {
            clock: self.clock.clone(),
            sequence: self.sequence.clone(),
            base_url: self.base_url.clone(),
            pages_url: self.pages_url.clone(),
            accounts: self.accounts.clone(),
            teams: self.teams.clone(),
            apps: self.apps.clone(),
            installations: self.installations.clone(),
            tokens: self.tokens.clone(),
            registrations: self.registrations.clone(),
            sign_ins: self.sign_ins.clone(),
            networks: self.networks.clone(),
            repos: self.repos.clone(),
            outbox: Outbox::default(),
            requests: RequestLog::default(),
            scribe: Default::default(),
            rate_limits: RateLimits::new(self.rate_limits.per_hour),
            rest: self.rest,
            remembered: Default::default(),
            past: Vec::new(),
            faults: Faults::new(0),
            journal: Vec::new(),
        }
    }
}
