//! The dirty set: which targets need a look, and whose turn is next. Pure; the time is passed in.
//!
//! One entry per target, however many events concern it. An entry is queued, running, or waiting for a retry, never two
//! of these, so no target is worked on twice at once; what arrives while it runs makes it run once more.
//!
//! Every installation has a lane of its own, and lanes take turns, so that a busy one cannot starve another. In a lane
//! what a person waits for has places of its own among the running. Of the rest the best [`WorkClass`] goes first.
//! Within a class repositories take turns, and the newest entry goes before the oldest: what is new concerns a head
//! that somebody looks at. Every eighth turn is the oldest entry's; and what is spread leaves half of the places to
//! others.
//!
//! A lane keeps a bounded number of entries of each class in memory; the rest of its backlog stays on disk and is paged
//! in as entries finish. So memory does not grow with the backlog, and no class waits for another's.
//!
//! Races with paging: rows may be committed while a page is being read. A row whose target is in memory raises that
//! entry's `newest`; any other row that arrives while its class is not wholly in memory marks the pass as having missed
//! something, and a pass that missed something is followed by another from the start.

mod lane;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::Ordering,
};

use chrono::TimeDelta;

use self::lane::{LINES, Lane, Pass, State};
use super::storage::{Arrival, Cursor, Key, Page, Pending, Seq};
use crate::github::{Served, WorkClass};
use loopgate_core::{InstallationId, Timestamp};
use loopgate_webhook::Target;

/// After a page could not be read.
const PAGE_RETRY: TimeDelta = TimeDelta::seconds(5);

/// Jobs at once, beyond the limit of the process, for what people wait for.
const FOR_ALL_PEOPLE: usize = 8;

/// How much may run and be kept in memory at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Jobs at once in the whole process.
    pub workers: usize,
    /// Jobs at once for one installation.
    pub per_installation: usize,
    /// Targets of one installation and class in memory; more wait on disk.
    pub lane: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            workers: 32,
            per_installation: 12,
            lane: 256,
        }
    }
}

#[derive(Debug)]
pub(super) struct DirtySet {
    limits: Limits,
    /// Targets read from disk at once: with half of a lane in memory, this leaves a quarter to what arrives meanwhile.
    page: usize,
    lanes: BTreeMap<InstallationId, Lane>,
    /// Turns that lanes have had.
    turns: u64,
    alarms: BTreeSet<(Timestamp, Alarm)>,
    /// Targets that are worked on.
    pub running: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Alarm {
    Retry(Key),
    Resume(InstallationId),
    Page(InstallationId, WorkClass),
}

/// A target whose turn has come.
#[derive(Debug, Clone)]
pub(super) struct Start {
    pub key: Key,
    /// The newest row known of it.
    pub newest: Seq,
    pub served: Served,
}

/// How a job ended, as far as the queue is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JobEnd {
    /// Rows up to this one need no further look.
    Done(Seq),
    Retry(Timestamp),
    /// GitHub wants to be left alone by this installation, or what is left is kept for better classes.
    Pause(Timestamp),
}

impl DirtySet {
    pub fn new(limits: Limits) -> Self {
        let (lanes, alarms, page) = (BTreeMap::new(), BTreeSet::new(), (limits.lane / 4).max(1));
        Self {
            limits,
            page,
            lanes,
            turns: 0,
            alarms,
            running: 0,
        }
    }

    /// There are unfinished rows of this installation on disk.
    pub fn found(&mut self, installation: InstallationId) {
        self.lanes
            .entry(installation)
            .or_insert_with(|| Lane::joining(self.turns))
            .misses(&WorkClass::ALL);
    }

    /// A row was committed.
    pub fn arrived(&mut self, arrival: Arrival) {
        let Arrival {
            key: Key {
                installation,
                target,
            },
            seq,
            class,
        } = arrival;
        let lane = self
            .lanes
            .entry(installation)
            .or_insert_with(|| Lane::joining(self.turns));
        if let Some(entry) = lane.entries.get_mut(&target) {
            entry.newest = entry.newest.max(seq);
            // A retry is due by time: what arrives meanwhile is looked at with it.
            if let Some((before, place)) = entry.raise(class) {
                lane.classes[before as usize].queue.remove(&place);
                lane.enqueue(target);
            }
        } else {
            // A page that is under way has room beside what arrives meanwhile.
            let of_class = &lane.classes[class as usize];
            let page = if of_class.on_disk.is_some() {
                self.page
            } else {
                0
            };
            let has_room = of_class.held + page < self.limits.lane;
            if !has_room {
                lane.misses(&[class]);
            }
            // Without room, a new target takes the place in memory of the oldest one, which a later walk over the disk
            // finds again. Where people wait, the first to come goes first.
            let takes_place =
                !has_room && class != WorkClass::Person && lane.leaves_oldest_on_disk(class);
            if has_room || takes_place {
                lane.admit(target, seq, class);
            }
        }
        self.changed(installation);
    }

    /// The next target to work on, which is running from now on.
    pub fn start(&mut self) -> Option<Start> {
        let most = [self.limits.workers + FOR_ALL_PEOPLE, self.limits.workers];
        for (line, most) in most.into_iter().enumerate() {
            let is_ready = |lane: &Lane| {
                LINES[line]
                    .iter()
                    .any(|class| lane.may_start(*class, self.limits))
            };
            let ready = self
                .lanes
                .iter_mut()
                .filter(|(_, lane)| self.running < most && is_ready(lane));
            let Some((installation, lane)) = ready.min_by_key(|(_, lane)| lane.last_turn[line])
            else {
                continue;
            };
            let (target, newest, served) = lane.take(line, self.limits)?;
            self.turns += 1;
            lane.last_turn[line] = self.turns;
            self.running += 1;
            let key = Key {
                installation: *installation,
                target,
            };
            return Some(Start {
                key,
                newest,
                served,
            });
        }
        None
    }

    /// A job that was started has ended.
    pub fn ended(&mut self, key: Key, ended: JobEnd) {
        let Key {
            installation,
            target,
        } = key;
        let lane = self
            .lanes
            .get_mut(&installation)
            .expect("a lane with a running entry stays");
        let entry = lane
            .entries
            .get_mut(&target)
            .expect("a running entry stays");
        let State::Running(class, _) = entry.state else {
            unreachable!("what has ended was running")
        };
        lane.classes[class as usize].running -= 1;
        self.running -= 1;
        match ended {
            JobEnd::Done(up_to) if entry.newest <= up_to => {
                lane.classes[entry.came_with as usize].held -= 1;
                lane.entries.remove(&target);
            }
            JobEnd::Done(_) => lane.enqueue(target),
            JobEnd::Retry(until) => {
                entry.class = entry.class.min(class);
                entry.state = State::Waiting(until);
                self.alarms.insert((
                    until,
                    Alarm::Retry(Key {
                        installation,
                        target,
                    }),
                ));
            }
            JobEnd::Pause(until) => {
                entry.class = entry.class.min(class);
                lane.enqueue(target);
                for of_class in &mut lane.classes[class as usize..] {
                    if of_class.paused_until.is_none_or(|before| before < until) {
                        of_class.paused_until = Some(until);
                        self.alarms.insert((until, Alarm::Resume(installation)));
                    }
                }
            }
        }
        self.changed(installation);
    }

    /// The lanes that have room for a page of a class from disk, where each page starts, and how many targets it has.
    pub fn wants_pages(&mut self) -> Vec<(InstallationId, WorkClass, Option<Cursor>, usize)> {
        let mut wanted = Vec::new();
        for (installation, lane) in &mut self.lanes {
            for (class, of_class) in WorkClass::ALL.into_iter().zip(&mut lane.classes) {
                if of_class.held <= self.limits.lane / 2
                    && let Some(pass) = of_class.on_disk.as_mut().filter(|pass| !pass.is_loading)
                {
                    pass.is_loading = true;
                    wanted.push((*installation, class, pass.after.clone(), self.page));
                }
            }
        }
        wanted
    }

    /// A page that [`wants_pages`](Self::wants_pages) asked for; `None` if it could not be read.
    pub fn paged(
        &mut self,
        installation: InstallationId,
        class: WorkClass,
        page: Option<Page>,
        now: Timestamp,
    ) {
        let Some(lane) = self.lanes.get_mut(&installation) else {
            return;
        };
        let on_disk = &mut lane.classes[class as usize].on_disk;
        let (Some(page), Some(pass)) = (page, on_disk.as_ref()) else {
            self.alarms
                .insert((now + PAGE_RETRY, Alarm::Page(installation, class)));
            return;
        };
        *on_disk = match page.next {
            Some(after) => Some(Pass {
                after: Some(after),
                missed: pass.missed,
                is_loading: false,
            }),
            None => pass.missed.then(Pass::default),
        };
        for Pending {
            target,
            newest,
            retry_at,
        } in page.pending
        {
            if let Some(known) = lane.entries.get_mut(&target) {
                known.newest = known.newest.max(newest);
                if !matches!(known.state, State::Queued(_)) {
                    known.raise(class);
                }
                continue;
            }
            lane.admit(target.clone(), newest, class);
            if let Some(at) = retry_at.filter(|&at| at > now) {
                lane.wait(&target, at);
                self.alarms.insert((
                    at,
                    Alarm::Retry(Key {
                        installation,
                        target,
                    }),
                ));
            }
        }
        self.changed(installation);
    }

    /// Retries and pauses that are over by now.
    pub fn wake(&mut self, now: Timestamp) {
        while self.alarms.first().is_some_and(|(at, _)| *at <= now) {
            let Some((_, alarm)) = self.alarms.pop_first() else {
                return;
            };
            let (Alarm::Retry(Key { installation, .. })
            | Alarm::Resume(installation)
            | Alarm::Page(installation, _)) = alarm;
            let Some(lane) = self.lanes.get_mut(&installation) else {
                continue;
            };
            match alarm {
                Alarm::Retry(Key { target, .. }) => {
                    let entry = lane.entries.get(&target);
                    if entry.is_some_and(
                        |entry| matches!(entry.state, State::Waiting(until) if until <= now),
                    ) {
                        lane.enqueue(target);
                    }
                }
                Alarm::Resume(_) => {
                    for of_class in &mut lane.classes {
                        of_class.paused_until.take_if(|until| *until <= now);
                    }
                }
                Alarm::Page(_, class) => {
                    lane.classes[class as usize]
                        .on_disk
                        .iter_mut()
                        .for_each(|pass| pass.is_loading = false);
                }
            }
            self.changed(installation);
        }
    }

    /// When [`wake`](Self::wake) has something to do next.
    pub fn next_alarm(&self) -> Option<Timestamp> {
        self.alarms.first().map(|(at, _)| *at)
    }

    /// Nothing is queued, running, waiting for a retry or still on disk.
    pub fn is_settled(&self) -> bool {
        self.lanes
            .values()
            .all(|lane| lane.entries.is_empty() && lane.is_in_memory())
    }

    /// Targets in memory that are not running.
    pub fn queued(&self) -> usize {
        self.lanes
            .values()
            .map(|lane| lane.entries.len())
            .sum::<usize>()
            - self.running
    }

    /// After a lane was changed: updates what its running jobs read, and forgets a lane that has nothing left.
    fn changed(&mut self, installation: InstallationId) {
        let Some(lane) = self.lanes.get(&installation) else {
            return;
        };
        let waiting =
            [WorkClass::Person, WorkClass::Author].map(|class| &lane.classes[class as usize]);
        let others = waiting
            .iter()
            .map(|of_class| of_class.queue.len() + of_class.running)
            .sum::<usize>();
        lane.behind
            .store(others.saturating_sub(1), Ordering::Relaxed);
        let is_paused = lane
            .classes
            .iter()
            .any(|class| class.paused_until.is_some());
        if lane.entries.is_empty() && lane.is_in_memory() && !is_paused {
            self.lanes.remove(&installation);
        }
    }
}
