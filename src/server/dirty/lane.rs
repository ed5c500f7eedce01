//! One installation's part of the dirty set: what is queued there, and what of it may start.

use std::collections::{HashMap, VecDeque};

use super::{Behind, Cursor, Limits, Seq, Target, Timestamp, Urgency, WorkClass};
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
    pub entries: HashMap<Target, Entry>,
    /// By [`WorkClass`].
    pub classes: [ClassQueue; CLASSES],
    /// How many other targets a person or an author waits for, queued or under way. Running work reads it.
    pub behind: Behind,
    /// Places given out.
    pub places: u64,
    /// Turns taken by what no person waits for.
    pub turns: u32,
    /// The last turn of each repository, among what no person waits for.
    pub served: HashMap<Option<RepoName>, u32>,
    pub has_turn: [bool; 2],
}

/// What a lane has of one class.
#[derive(Debug, Default)]
pub(super) struct ClassQueue {
    /// Places in line, each with its number. Those that an entry has left are passed over.
    pub queue: VecDeque<(u64, Target)>,
    pub queued: usize,
    pub running: usize,
    /// Until when nothing starts.
    pub paused_until: Option<Timestamp>,
    /// Entries in memory that came with this class.
    pub held: usize,
    pub rest: Rest,
    pub asks_for_page: bool,
}

pub(super) const CLASSES: usize = WorkClass::ALL.len();

#[derive(Debug)]
pub(super) struct Entry {
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
    /// In a place of the class that it started with. What is more urgent and arrives meanwhile raises the urgency.
    Running(WorkClass, Urgency),
    Waiting(Timestamp),
}

impl Entry {
    /// Something of this class arrived of it. Returns the class that it was queued with, if it is queued and is more
    /// urgent now.
    pub fn raise(&mut self, class: WorkClass) -> Option<WorkClass> {
        if let State::Running(_, urgency) = &self.state {
            urgency.raise(class);
        }
        let before = self.class;
        self.class = before.min(class);
        (class < before && matches!(self.state, State::Queued(_))).then_some(before)
    }
}

/// Where the rest of a lane's backlog of a class is.
#[derive(Debug, Default)]
pub(super) enum Rest {
    #[default]
    InMemory,
    OnDisk(Pass),
    Loading(Pass),
}

/// A walk over a lane's targets of a class on disk.
#[derive(Debug, Default)]
pub(super) struct Pass {
    pub after: Option<Cursor>,
    /// Something arrived that this walk may not meet.
    pub missed: bool,
}

/// What takes turns apart from each other.
#[derive(Debug, Clone, Copy)]
pub(super) enum Line {
    People,
    Others,
}

impl Line {
    pub const fn classes(self) -> &'static [WorkClass] {
        match self {
            Self::People => &[WorkClass::Person],
            Self::Others => &[WorkClass::Author, WorkClass::Progress, WorkClass::Spread],
        }
    }
}

impl Lane {
    /// Whether there is something of a class, and a place for it among the running.
    pub fn may_start(&self, class: WorkClass, limits: Limits) -> bool {
        let all = self.classes.iter().map(|class| class.running).sum::<usize>();
        let others = all - self.classes[WorkClass::Person as usize].running;
        let of_class = &self.classes[class as usize];
        let has_place = match class {
            WorkClass::Person => all < limits.per_installation + FOR_PEOPLE,
            WorkClass::Author | WorkClass::Progress => others < limits.per_installation,
            WorkClass::Spread => {
                others < limits.per_installation && of_class.running < limits.per_installation.div_ceil(2)
            }
        };
        has_place && of_class.queued > 0 && of_class.paused_until.is_none()
    }

    /// Takes the next queued target of a line and marks it as running.
    pub fn take(&mut self, line: Line, limits: Limits) -> Option<(Target, Seq, Urgency)> {
        let may_start: Vec<WorkClass> =
            line.classes().iter().copied().filter(|class| self.may_start(*class, limits)).collect();
        for class in &may_start {
            let is_left = |(place, target): &mut (u64, Target)| {
                self.entries.get(target).is_none_or(|entry| !matches!(entry.state, State::Queued(at) if at == *place))
            };
            let queue = &mut self.classes[*class as usize].queue;
            while queue.pop_front_if(is_left).is_some() {}
            while queue.pop_back_if(is_left).is_some() {}
        }
        let is_the_oldests = matches!(line, Line::Others) && self.turns % TURNS == TURNS - 1;
        let class = if is_the_oldests {
            let place = |class: &WorkClass| self.classes[*class as usize].queue.front().map(|(place, _)| *place);
            may_start.into_iter().min_by_key(place)?
        } else {
            *may_start.first()?
        };
        let place = if is_the_oldests || matches!(line, Line::People) { 0 } else { self.newest_in_turn(class) };
        let (_, target) = self.classes[class as usize].queue.remove(place)?;
        if matches!(line, Line::Others) {
            self.turns = self.turns.wrapping_add(1);
            if self.served.len() >= MOST_SERVED {
                self.served.clear();
            }
            self.served.insert(target.repository().cloned(), self.turns);
        }
        let entry = self.entries.get_mut(&target)?;
        let urgency = Urgency::from(class);
        entry.state = State::Running(class, urgency.clone());
        entry.class = WorkClass::Spread;
        let of_class = &mut self.classes[class as usize];
        of_class.queued -= 1;
        of_class.running += 1;
        Some((target, entry.newest, urgency))
    }

    /// Where the newest entry of a class stands in line, of the repository that has had no turn for longest.
    fn newest_in_turn(&self, class: WorkClass) -> usize {
        let queue = &self.classes[class as usize].queue;
        let is_queued = |(place, target): &(u64, Target)| {
            self.entries.get(target).is_some_and(|entry| matches!(entry.state, State::Queued(at) if at == *place))
        };
        let newest = (0..queue.len()).rev().filter(|at| is_queued(&queue[*at])).take(LOOKED_THROUGH);
        newest.min_by_key(|at| self.served.get(&queue[*at].1.repository().cloned())).unwrap_or(0)
    }

    pub fn is_in_memory(&self) -> bool {
        self.classes.iter().all(|class| matches!(class.rest, Rest::InMemory))
    }

    /// A target that was not in memory.
    pub fn admit(&mut self, target: Target, newest: Seq, class: WorkClass) {
        self.classes[class as usize].held += 1;
        self.entries.insert(target.clone(), Entry { newest, class, came_with: class, state: State::Queued(0) });
        self.enqueue(target);
    }

    /// There is something on disk of these classes that a walk which has begun may not meet.
    pub fn misses(&mut self, classes: &[WorkClass]) {
        for class in classes {
            match &mut self.classes[*class as usize].rest {
                rest @ Rest::InMemory => *rest = Rest::OnDisk(Pass::default()),
                Rest::OnDisk(pass) | Rest::Loading(pass) => pass.missed = true,
            }
        }
    }

    /// Forgets the first in line of a class, if it came with this class: a walk over the disk meets it. Returns whether
    /// there was one.
    pub fn leaves_oldest_on_disk(&mut self, class: WorkClass) -> bool {
        let of_class = &mut self.classes[class as usize];
        let is_queued = |place: u64, target: &Target| {
            let entry = self.entries.get(target);
            entry.is_some_and(|it| it.came_with == class && matches!(it.state, State::Queued(at) if at == place))
        };
        let Some(oldest) = of_class.queue.iter().position(|(place, target)| is_queued(*place, target)) else {
            return false;
        };
        if let Some((_, target)) = of_class.queue.remove(oldest) {
            self.entries.remove(&target);
            of_class.queued -= 1;
            of_class.held -= 1;
            // Its row has the best class of all that arrived.
            self.misses(&WorkClass::ALL[..=class as usize]);
        }
        true
    }

    /// Puts an entry at the end of the line of its class.
    pub fn enqueue(&mut self, target: Target) {
        self.places += 1;
        if let Some(entry) = self.entries.get_mut(&target) {
            entry.state = State::Queued(self.places);
            let of_class = &mut self.classes[entry.class as usize];
            of_class.queued += 1;
            of_class.queue.push_back((self.places, target));
        }
    }

    /// Takes an entry that is queued out of its line until then.
    pub fn wait(&mut self, target: &Target, until: Timestamp) {
        if let Some(entry) = self.entries.get_mut(target) {
            entry.state = State::Waiting(until);
            self.classes[entry.class as usize].queued -= 1;
        }
    }
}
