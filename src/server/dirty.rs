//! The dirty set: which targets need a look, and whose turn is next. Pure; the time is passed in.
//!
//! One entry per target, however many events concern it. An entry is queued, running, or waiting for a retry, never two
//! of these, so no target is worked on twice at once; what arrives while it runs makes it run once more.
//!
//! Every installation has a lane of its own, and lanes take turns, so that a busy one cannot starve another. A lane
//! keeps a bounded number of entries in memory; the rest of its backlog stays on disk and is paged in as entries
//! finish. So memory does not grow with the backlog.
//!
//! Races with paging: rows may be committed while a page is being read. A row whose target is in memory raises that
//! entry's `newest`; any other row that arrives while the lane is not wholly in memory marks the pass as having missed
//! something, and a pass that missed something is followed by another from the start.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap, VecDeque, hash_map};

use chrono::TimeDelta;

use super::storage::{Arrival, Cursor, Key, Page, Seq, Urgency};
use crate::github::webhook::Target;
use loopgate_core::{InstallationId, Timestamp};

/// After a page could not be read.
const PAGE_RETRY: TimeDelta = TimeDelta::seconds(5);

/// How much may run and be kept in memory at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Jobs at once in the whole process.
    pub workers: usize,
    /// Jobs at once for one installation.
    pub per_installation: usize,
    /// Targets of one installation in memory; more wait on disk.
    pub lane: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { workers: 32, per_installation: 4, lane: 256 }
    }
}

#[derive(Debug)]
pub(super) struct DirtySet {
    limits: Limits,
    lanes: HashMap<InstallationId, Lane>,
    /// Lanes that may be able to start something, in the order of their turns.
    turns: VecDeque<InstallationId>,
    /// Lanes that want a page from disk.
    installations_with_work: VecDeque<InstallationId>,
    alarms: BTreeSet<(Timestamp, Alarm)>,
    running: usize,
    entries: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Alarm {
    Retry(Key),
    Resume(InstallationId),
    Page(InstallationId),
}

#[derive(Debug, Default)]
struct Lane {
    entries: HashMap<Target, Entry>,
    direct: VecDeque<Target>,
    spread: VecDeque<Target>,
    running: usize,
    paused_until: Option<Timestamp>,
    rest: Rest,
    has_turn: bool,
    asks_for_page: bool,
}

#[derive(Debug)]
struct Entry {
    newest: Seq,
    state: State,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    Queued(Urgency),
    Running,
    Waiting(Timestamp),
}

/// Where the rest of a lane's backlog is.
#[derive(Debug, Default)]
enum Rest {
    #[default]
    InMemory,
    OnDisk(Pass),
    Loading(Pass),
}

/// A walk over a lane's targets on disk.
#[derive(Debug, Default)]
struct Pass {
    after: Option<Cursor>,
    /// Something arrived that this walk may not meet.
    missed: bool,
}

/// A target whose turn has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Start {
    pub key: Key,
    /// The newest row known of it.
    pub newest: Seq,
}

/// How a job ended, as far as the queue is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// Rows up to this one need no further look.
    Done(Seq),
    Retry(Timestamp),
    /// GitHub wants to be left alone by this installation.
    Pause(Timestamp),
}

impl DirtySet {
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            lanes: HashMap::new(),
            turns: VecDeque::new(),
            installations_with_work: VecDeque::new(),
            alarms: BTreeSet::new(),
            running: 0,
            entries: 0,
        }
    }

    /// There are unfinished rows of this installation on disk.
    pub fn found(&mut self, installation: InstallationId) {
        match &mut self.lanes.entry(installation).or_default().rest {
            rest @ Rest::InMemory => *rest = Rest::OnDisk(Pass::default()),
            Rest::OnDisk(pass) | Rest::Loading(pass) => pass.missed = true,
        }
        self.feed(installation);
    }

    /// A row was committed.
    pub fn arrived(&mut self, arrival: Arrival) {
        let Arrival { key: Key { installation, target }, seq, urgency } = arrival;
        let lane = self.lanes.entry(installation).or_default();
        if let Some(entry) = lane.entries.get_mut(&target) {
            entry.newest = entry.newest.max(seq);
            match entry.state {
                State::Queued(queued) if queued >= urgency => {}
                State::Queued(_) => {
                    entry.state = State::Queued(urgency);
                    lane.queue(urgency).push_back(target);
                }
                // A retry is due by time: what arrives meanwhile is looked at with it.
                State::Running | State::Waiting(_) => {}
            }
            return;
        }
        let room = lane.entries.len() < self.limits.lane;
        match &mut lane.rest {
            Rest::InMemory if room => {
                lane.queue(urgency).push_back(target.clone());
                lane.entries.insert(target, Entry { newest: seq, state: State::Queued(urgency) });
                self.entries += 1;
                self.give_turn(installation);
            }
            Rest::InMemory => lane.rest = Rest::OnDisk(Pass::default()),
            Rest::OnDisk(pass) | Rest::Loading(pass) => pass.missed = true,
        }
    }

    /// The next target to work on, which is running from now on.
    pub fn start(&mut self) -> Option<Start> {
        if self.running >= self.limits.workers {
            return None;
        }
        while let Some(installation) = self.turns.pop_front() {
            let Some(lane) = self.lanes.get_mut(&installation) else { continue };
            lane.has_turn = false;
            if lane.paused_until.is_some() || lane.running >= self.limits.per_installation {
                continue;
            }
            let Some((target, newest)) = lane.take() else { continue };
            lane.running += 1;
            self.running += 1;
            self.give_turn(installation);
            return Some(Start { key: Key { installation, target }, newest });
        }
        None
    }

    /// A job that was started has ended.
    pub fn ended(&mut self, key: Key, ended: Ended) {
        let Key { installation, target } = key;
        let lane = self.lanes.get_mut(&installation).expect("a lane with a running entry stays");
        lane.running -= 1;
        self.running -= 1;
        let entry = lane.entries.get_mut(&target).expect("a running entry stays");
        match ended {
            Ended::Done(up_to) if entry.newest <= up_to => {
                lane.entries.remove(&target);
                self.entries -= 1;
            }
            Ended::Done(_) => lane.requeue(target),
            Ended::Retry(until) => {
                entry.state = State::Waiting(until);
                self.alarms.insert((until, Alarm::Retry(Key { installation, target })));
            }
            Ended::Pause(until) => {
                lane.requeue(target);
                if lane.paused_until.is_none_or(|before| before < until) {
                    lane.paused_until = Some(until);
                    self.alarms.insert((until, Alarm::Resume(installation)));
                }
            }
        }
        self.give_turn(installation);
        self.feed(installation);
        self.tidy(installation);
    }

    /// A lane that has room for a page from disk, and where the page starts.
    pub fn wants_page(&mut self) -> Option<(InstallationId, Option<Cursor>, usize)> {
        while let Some(installation) = self.installations_with_work.pop_front() {
            let Some(lane) = self.lanes.get_mut(&installation) else { continue };
            lane.asks_for_page = false;
            if let Rest::OnDisk(pass) = &mut lane.rest {
                let pass = std::mem::take(pass);
                let after = pass.after.clone();
                lane.rest = Rest::Loading(pass);
                return Some((installation, after, (self.limits.lane / 2).max(1)));
            }
        }
        None
    }

    /// The page that [`wants_page`](Self::wants_page) asked for; `None` if it could not be read.
    pub fn paged(&mut self, installation: InstallationId, page: Option<Page>, now: Timestamp) {
        let Some(lane) = self.lanes.get_mut(&installation) else { return };
        let Rest::Loading(pass) = &mut lane.rest else { return };
        let mut pass = std::mem::take(pass);
        let Some(page) = page else {
            lane.rest = Rest::OnDisk(pass);
            self.alarms.insert((now + PAGE_RETRY, Alarm::Page(installation)));
            return;
        };
        lane.rest = match page.next {
            Some(_) => {
                pass.after = page.next;
                Rest::OnDisk(pass)
            }
            None if pass.missed => Rest::OnDisk(Pass::default()),
            None => Rest::InMemory,
        };
        for pending in page.pending {
            match lane.entries.entry(pending.target) {
                hash_map::Entry::Occupied(mut known) => {
                    let newest = known.get().newest.max(pending.newest);
                    known.get_mut().newest = newest;
                }
                hash_map::Entry::Vacant(vacant) => {
                    let target = vacant.key().clone();
                    let state = match pending.retry_at.filter(|&at| at > now) {
                        Some(at) => {
                            self.alarms.insert((at, Alarm::Retry(Key { installation, target })));
                            State::Waiting(at)
                        }
                        None => {
                            lane.direct.push_back(target);
                            State::Queued(Urgency::Direct)
                        }
                    };
                    vacant.insert(Entry { newest: pending.newest, state });
                    self.entries += 1;
                }
            }
        }
        self.give_turn(installation);
        self.feed(installation);
        self.tidy(installation);
    }

    /// Retries and pauses that are over by now.
    pub fn wake(&mut self, now: Timestamp) {
        while self.alarms.first().is_some_and(|(at, _)| *at <= now) {
            let Some((_, alarm)) = self.alarms.pop_first() else { return };
            match alarm {
                Alarm::Retry(Key { installation, target }) => {
                    let Some(lane) = self.lanes.get_mut(&installation) else { continue };
                    let entry = lane.entries.get(&target);
                    if entry.is_some_and(|entry| matches!(entry.state, State::Waiting(until) if until <= now)) {
                        lane.requeue(target);
                        self.give_turn(installation);
                    }
                }
                Alarm::Resume(installation) => {
                    let Some(lane) = self.lanes.get_mut(&installation) else { continue };
                    if lane.paused_until.is_some_and(|until| until <= now) {
                        lane.paused_until = None;
                        self.give_turn(installation);
                        self.tidy(installation);
                    }
                }
                Alarm::Page(installation) => self.feed(installation),
            }
        }
    }

    /// When [`wake`](Self::wake) has something to do next.
    pub fn next_alarm(&self) -> Option<Timestamp> {
        self.alarms.first().map(|(at, _)| *at)
    }

    /// Nothing is queued, running, waiting for a retry or still on disk.
    pub fn is_settled(&self) -> bool {
        self.entries == 0 && self.lanes.values().all(|lane| matches!(lane.rest, Rest::InMemory))
    }

    /// Targets in memory that are not running.
    pub fn queued(&self) -> usize {
        self.entries - self.running
    }

    pub fn running(&self) -> usize {
        self.running
    }

    fn give_turn(&mut self, installation: InstallationId) {
        let Some(lane) = self.lanes.get_mut(&installation) else { return };
        let may_start = lane.running < self.limits.per_installation && lane.paused_until.is_none();
        let has_work = !lane.direct.is_empty() || !lane.spread.is_empty();
        if may_start && has_work && !lane.has_turn {
            lane.has_turn = true;
            self.turns.push_back(installation);
        }
    }

    fn feed(&mut self, installation: InstallationId) {
        let Some(lane) = self.lanes.get_mut(&installation) else { return };
        let has_room = lane.entries.len() <= self.limits.lane / 2;
        if matches!(lane.rest, Rest::OnDisk(_)) && has_room && !lane.asks_for_page {
            lane.asks_for_page = true;
            self.installations_with_work.push_back(installation);
        }
    }

    /// Forgets a lane that has nothing left.
    fn tidy(&mut self, installation: InstallationId) {
        let Some(lane) = self.lanes.get(&installation) else { return };
        if lane.entries.is_empty() && matches!(lane.rest, Rest::InMemory) && lane.paused_until.is_none() {
            self.lanes.remove(&installation);
        }
    }
}

impl Lane {
    fn queue(&mut self, urgency: Urgency) -> &mut VecDeque<Target> {
        match urgency {
            Urgency::Direct => &mut self.direct,
            Urgency::Spread => &mut self.spread,
        }
    }

    /// Takes the next queued target and marks it as running. A target that became more urgent stands in both queues;
    /// its older place is passed over.
    fn take(&mut self) -> Option<(Target, Seq)> {
        for urgency in [Urgency::Direct, Urgency::Spread] {
            while let Some(target) = self.queue(urgency).pop_front() {
                if let Some(entry) = self.entries.get_mut(&target)
                    && entry.state == State::Queued(urgency)
                {
                    entry.state = State::Running;
                    return Some((target, entry.newest));
                }
            }
        }
        None
    }

    fn requeue(&mut self, target: Target) {
        if let Some(entry) = self.entries.get_mut(&target) {
            entry.state = State::Queued(Urgency::Direct);
            self.direct.push_back(target);
        }
    }
}
