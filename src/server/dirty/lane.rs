//! One installation's part of the dirty set: what is queued there, and what of it may start.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, atomic::AtomicUsize},
};

use super::{Cursor, Limits, Seq, Served, Target, Timestamp, WorkClass};
use loopgate_core::RepoName;

/// Jobs at once, beyond the limit of an installation, for what people wait for.
const FOR_PEOPLE: usize = 2;

/// One turn of so many is the oldest entry's.
const TURNS: u32 = 8;

/// So many of the newest entries are looked through for a repository whose turn it is.
const LOOKED_THROUGH: usize = 64;

/// Repositories whose last turn is remembered at most.
const MOST_SERVED: usize = 1_000;

#[derive(Debug, Default)]
pub(super) struct Lane {
    pub entries: HashMap<Target, LaneEntry>,
    /// By [`WorkClass`].
    pub classes: [ClassQueue; CLASSES],
    /// How many other targets a person or an author waits for, queued or under way. Running work reads it.
    pub behind: Arc<AtomicUsize>,
    /// Places given out.
    pub places: u64,
    /// Turns taken by what no person waits for.
    pub turns: u32,
    /// The last turn of each repository, among what no person waits for.
    pub served: HashMap<Option<RepoName>, u32>,
    /// The lane's own last turn among all lanes, by [`LINES`].
    pub last_turn: [u64; LINES.len()],
}

/// What a lane has of one class.
#[derive(Debug, Default)]
pub(super) struct ClassQueue {
    /// Who stands in line, by the number of the place.
    pub queue: BTreeMap<u64, Target>,
    pub running: usize,
    /// Until when nothing starts.
    pub paused_until: Option<Timestamp>,
    /// Entries in memory that came with this class.
    pub held: usize,
    /// The walk over what is on disk only; none where all is in memory.
    pub on_disk: Option<Pass>,
}

pub(super) const CLASSES: usize = WorkClass::ALL.len();

#[derive(Debug)]
pub(super) struct LaneEntry {
    pub newest: Seq,
    /// The best of what has arrived since it last started.
    pub class: WorkClass,
    pub came_with: WorkClass,
    pub state: State,
}

#[derive(Debug)]
pub(super) enum State {
    /// At this place in the line of its class.
    Queued(u64),
    /// In a place of the class that it started with. What is more urgent and arrives meanwhile raises that of its
    /// requests.
    Running(WorkClass, Served),
    Waiting(Timestamp),
}

impl LaneEntry {
    /// Something of this class arrived of it. Returns the class and the place that it was queued in, if it is queued
    /// and is more urgent now.
    pub fn raise(&mut self, class: WorkClass) -> Option<(WorkClass, u64)> {
        if let State::Running(_, served) = &self.state {
            served.raise(class);
        }
        let before = self.class;
        self.class = before.min(class);
        match self.state {
            State::Queued(place) if class < before => Some((before, place)),
            _ => None,
        }
    }
}

/// A walk over a lane's targets of a class on disk.
#[derive(Debug, Default)]
pub(super) struct Pass {
    pub after: Option<Cursor>,
    /// Something arrived that this walk may not meet.
    pub missed: bool,
    /// Whether the next page is being read, or cannot be read for the moment.
    pub is_loading: bool,
}

/// The classes that take turns apart from those of the other line: what people wait for, and the rest.
pub(super) const LINES: [&[WorkClass]; 2] = [
    &[WorkClass::Person],
    &[WorkClass::Author, WorkClass::Progress, WorkClass::Spread],
];

/// The place among [`LINES`] of what people wait for.
const PEOPLE: usize = 0;

impl Lane {
    /// A lane that comes after all that have waited since then, so that lanes that come and go starve no other.
    pub fn joining(turns: u64) -> Self {
        Self {
            last_turn: [turns; LINES.len()],
            ..Self::default()
        }
    }

    /// Whether there is something of a class, and a place for it among the running.
    pub fn may_start(&self, class: WorkClass, limits: Limits) -> bool {
        let all = self
            .classes
            .iter()
            .map(|class| class.running)
            .sum::<usize>();
        let others = all - self.classes[WorkClass::Person as usize].running;
        let of_class = &self.classes[class as usize];
        let has_place = match class {
            WorkClass::Person => all < limits.per_installation + FOR_PEOPLE,
            WorkClass::Author | WorkClass::Progress => others < limits.per_installation,
            WorkClass::Spread => {
                others < limits.per_installation
                    && of_class.running < limits.per_installation.div_ceil(2)
            }
        };
        has_place && !of_class.queue.is_empty() && of_class.paused_until.is_none()
    }

    /// Takes the next queued target of a line and marks it as running.
    pub fn take(&mut self, line: usize, limits: Limits) -> Option<(Target, Seq, Served)> {
        let first = |class: WorkClass| {
            self.classes[class as usize]
                .queue
                .first_key_value()
                .map(|(place, _)| *place)
        };
        let mut may_start = LINES[line]
            .iter()
            .copied()
            .filter(|class| self.may_start(*class, limits));
        let is_the_oldests = line != PEOPLE && self.turns % TURNS == TURNS - 1;
        let class = if is_the_oldests {
            may_start.min_by_key(|class| first(*class))
        } else {
            may_start.next()
        }?;
        let is_first = is_the_oldests || line == PEOPLE;
        let place = if is_first {
            first(class)?
        } else {
            // The newest, of the repository that has had no turn for longest.
            let newest = self.classes[class as usize]
                .queue
                .iter()
                .rev()
                .take(LOOKED_THROUGH);
            *newest
                .min_by_key(|(_, target)| self.served.get(&target.repository().cloned()))?
                .0
        };
        let target = self.classes[class as usize].queue.remove(&place)?;
        if line != PEOPLE {
            self.turns = self.turns.wrapping_add(1);
            if self.served.len() >= MOST_SERVED {
                self.served.clear();
            }
            self.served.insert(target.repository().cloned(), self.turns);
        }
        let entry = self.entries.get_mut(&target)?;
        let served = Served::new(class, self.behind.clone());
        entry.state = State::Running(class, served.clone());
        entry.class = WorkClass::Spread;
        self.classes[class as usize].running += 1;
        Some((target, entry.newest, served))
    }

    pub fn is_in_memory(&self) -> bool {
        self.classes.iter().all(|class| class.on_disk.is_none())
    }

    /// A target that was not in memory.
    pub fn admit(&mut self, target: Target, newest: Seq, class: WorkClass) {
        self.classes[class as usize].held += 1;
        self.entries.insert(
            target.clone(),
            LaneEntry {
                newest,
                class,
                came_with: class,
                state: State::Queued(0),
            },
        );
        self.enqueue(target);
    }

    /// There is something on disk of these classes that a walk which has begun may not meet.
    pub fn misses(&mut self, classes: &[WorkClass]) {
        for class in classes {
            match &mut self.classes[*class as usize].on_disk {
                Some(pass) => pass.missed = true,
                none => *none = Some(Pass::default()),
            }
        }
    }

    /// Forgets the first in line of a class, if it came with this class: a walk over the disk meets it. Returns whether
    /// there was one.
    pub fn leaves_oldest_on_disk(&mut self, class: WorkClass) -> bool {
        let of_class = &mut self.classes[class as usize];
        let came_with = |target: &Target| {
            self.entries
                .get(target)
                .is_some_and(|entry| entry.came_with == class)
        };
        let Some((&place, _)) = of_class.queue.iter().find(|(_, target)| came_with(target)) else {
            return false;
        };
        if let Some(target) = of_class.queue.remove(&place) {
            self.entries.remove(&target);
            of_class.held -= 1;
            // Its row may be of any class: of a better one that arrived since, or, where the entry is of a page that
            // was read before its row was done, of a worse one.
            self.misses(&WorkClass::ALL);
        }
        true
    }

    /// Puts an entry at the end of the line of its class.
    pub fn enqueue(&mut self, target: Target) {
        self.places += 1;
        if let Some(entry) = self.entries.get_mut(&target) {
            entry.state = State::Queued(self.places);
            self.classes[entry.class as usize]
                .queue
                .insert(self.places, target);
        }
    }

    /// Takes an entry that is queued out of its line until then.
    pub fn wait(&mut self, target: &Target, until: Timestamp) {
        let Some(entry) = self.entries.get_mut(target) else {
            return;
        };
        if let State::Queued(place) = entry.state {
            self.classes[entry.class as usize].queue.remove(&place);
        }
        entry.state = State::Waiting(until);
    }
}
