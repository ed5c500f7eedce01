//! Random interleavings on a world in memory: pushes, results (late, repeated, for old heads), words, reviews, time and
//! merges on one side, and on the other processes that look, race for the saved state, and die between any two steps.
//!
//! One number reproduces a run. `LOOPGATE_INTERLEAVINGS` sets how many are tried (80), `LOOPGATE_INTERLEAVING` plays
//! a single one.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;

use super::{
    decide,
    decision::{Decision, NextAction, Post},
    fixtures::*,
    history::{Event, HistoryLine},
    policy::Policy,
    snapshot::{Lifecycle, NamedAccount, Readiness, ReviewVerdict, Snapshot},
    stage::Stage,
    state::{LoopState, RunStatus},
};

/// SplitMix64: small, and the same everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::try_from(self.roll(choices.len() as u64)).unwrap()]
    }
}

/// Something that happens on GitHub, whoever looks.
#[derive(Clone, Debug)]
enum Fact {
    Push {
        head: u8,
    },
    /// The checks of a head end, perhaps again, perhaps of one that is long gone.
    Result {
        head: u8,
        failing: Vec<&'static str>,
    },
    Says {
        who: &'static str,
        words: &'static str,
    },
    Reviews(ReviewVerdict),
    Minutes(i64),
    Draft(Readiness),
    Merge,
}

const TESTS: [&str; 3] = ["a", "b", "c"];
const WORDS: [&str; 8] = [
    "/loop retry",
    "/loop resume",
    "/loop stop enough",
    "/loop skip unit --reason \"no\"",
    "/approve design",
    "/reject design not like this",
    "hello",
    "/loop run",
];

fn facts(dice: &mut Dice) -> Vec<Fact> {
    let mut head = 1;
    let mut facts = Vec::new();
    for _ in 0..6 + dice.roll(14) {
        facts.push(match dice.roll(20) {
            0..=4 => {
                head += 1;
                Fact::Push { head }
            }
            5..=11 => {
                let old = u8::try_from(dice.roll(3)).unwrap();
                let of = if dice.roll(4) == 0 { head.saturating_sub(old).max(1) } else { head };
                Fact::Result { head: of, failing: TESTS.into_iter().filter(|_| dice.roll(3) == 0).collect() }
            }
            12..=15 => Fact::Says { who: dice.one_of(&["alice", "bob", "carol"]), words: dice.one_of(&WORDS) },
            16 => Fact::Reviews(dice.one_of(&[ReviewVerdict::Approved, ReviewVerdict::ChangesRequested])),
            17 => Fact::Minutes(1 + i64::try_from(dice.roll(90)).unwrap()),
            18 => Fact::Draft(dice.one_of(&[Readiness::Draft, Readiness::Ready])),
            _ => Fact::Minutes(1),
        });
    }
    if dice.roll(4) == 0 {
        facts.push(Fact::Merge);
    }
    facts
}

/// GitHub, and what is saved and shown there.
struct World {
    story: Story,
    saved: LoopState,
    /// Counts saves: whoever decided on an older one must look again.
    version: u32,
    history: Vec<HistoryLine>,
    posted: BTreeMap<String, u32>,
}

/// A process on its way through a turn.
struct Turn {
    snapshot: Snapshot,
    version: u32,
    decision: Decision,
}

impl World {
    fn new() -> Self {
        let mut story = Story::opened();
        story.policy.gates = [("design".parse().unwrap(), gate(Stage::Validate))].into();
        story.snapshot.required_approvals = 1;
        let people = [(2, "bob"), (3, "carol")];
        story.snapshot.authority.logins =
            people.map(|(id, name)| (login(name), NamedAccount::Known(person(id, name)))).into();
        let saved = story.state.clone();
        Self { story, saved, version: 0, history: Vec::new(), posted: BTreeMap::new() }
    }

    fn happens(&mut self, fact: &Fact) {
        let story = &mut self.story;
        story.now += TimeDelta::minutes(1);
        match fact {
            Fact::Push { head } => story.set_head(*head),
            Fact::Result { head, failing } => {
                let passing: Vec<&str> = TESTS.into_iter().filter(|test| !failing.contains(test)).collect();
                let result = evidence(sha(*head), failing, &passing);
                if sha(*head) == story.snapshot.pull_request.head.sha {
                    story.snapshot.evidence = vec![result];
                } else {
                    story.snapshot.evidence.push(result);
                }
            }
            Fact::Says { who, words } => story.write(who, words),
            Fact::Reviews(verdict) => story.give_review(*verdict, "see above"),
            Fact::Minutes(minutes) => story.now += TimeDelta::minutes(*minutes),
            Fact::Draft(readiness) => story.snapshot.pull_request.readiness = *readiness,
            Fact::Merge => {
                story.snapshot.pull_request.lifecycle = Lifecycle::Merged { by: Some(login("bob")), at: None };
            }
        }
    }

    fn observe(&self) -> Turn {
        let snapshot = self.story.snapshot.clone();
        let decision = decide(&snapshot, &self.saved, &self.story.policy, self.story.now);
        Turn { snapshot, version: self.version, decision }
    }

    /// False when somebody else was faster.
    fn save(&mut self, turn: &Turn) -> bool {
        if turn.version != self.version {
            return false;
        }
        if turn.decision.next != self.saved || !turn.decision.events.is_empty() {
            self.saved = turn.decision.next.clone();
            self.history.extend(turn.decision.events.iter().cloned());
            self.version += 1;
        }
        true
    }

    /// Posts are looked up by their marker first.
    fn act(&mut self, turn: &Turn) {
        for post in &turn.decision.surface.posts {
            self.posted.entry(post.key()).or_insert(1);
        }
    }

    /// One process that looks until it has saved, and acts.
    fn look(&mut self) -> Decision {
        loop {
            let turn = self.observe();
            if self.save(&turn) {
                self.act(&turn);
                return turn.decision;
            }
        }
    }

    fn holds(&self, decision: &Decision) {
        let policy: &Policy = &self.story.policy;
        let state = &self.saved;
        if matches!(decision.action, NextAction::Retry { .. }) {
            assert!(decision.next.failures.count < policy.retry.max_attempts, "more attempts than allowed");
            assert!(decision.next.failures.total < policy.retry.total_failures, "more failures than allowed");
        }
        let escalations = decision.surface.posts.iter().filter(|post| matches!(post, Post::Escalation { .. })).count();
        assert!(escalations <= 1, "two escalations at a time");
        for (number, attempt) in (1..).zip(&state.attempts) {
            assert_eq!(attempt.number, number, "a gap or a double attempt");
        }
        for pair in state.attempts.windows(2) {
            assert_ne!(pair[0].head_sha, pair[1].head_sha, "one head, two attempts");
        }
    }

    /// What must hold of everything that happened, once nothing moves any more.
    fn settled(&mut self) {
        let decision = self.look();
        self.holds(&decision);
        let again = self.observe();
        assert_eq!(again.decision.next, self.saved, "looking again changes something");
        assert!(again.decision.events.is_empty(), "{:?}", again.decision.events);
        if let Some(blocked) = &self.saved.blocked
            && self.story.snapshot.pull_request.lifecycle == Lifecycle::Open
            && self.saved.status != RunStatus::Stopped
        {
            let post = Post::Escalation { trigger: blocked.trigger, attempt: blocked.attempt };
            assert!(self.posted.contains_key(&post.key()), "a lost escalation: {}", post.key());
        }
        let count = |event| self.history.iter().filter(|line| line.event == event).count();
        assert_eq!(count(Event::RunStarted), 1);
        assert!(count(Event::Completed) <= 1);
        // A cause is told once until somebody resumes, or a pass releases it; each telling is one line.
        let mut told = BTreeSet::new();
        for line in &self.history {
            match line.event {
                Event::Escalated => {
                    let cause = (
                        line.payload["blocked"]["trigger"].to_string(),
                        line.payload["blocked"]["attempt"].to_string(),
                    );
                    assert!(told.insert(cause), "told twice: {line:?}");
                }
                Event::Resumed => told.clear(),
                Event::EvaluationDone if line.payload["passed"] == true => told.clear(),
                _ => {}
            }
        }
    }
}

/// Several processes at any point of their turns, each of which may die at any moment.
fn race(seed: u64) {
    let mut dice = Dice(seed);
    let mut world = World::new();
    let mut turns: Vec<Turn> = Vec::new();
    for fact in facts(&mut dice) {
        world.happens(&fact);
        for _ in 0..dice.roll(6) {
            match dice.roll(4) {
                0 | 1 => turns.push(world.observe()),
                _ if turns.is_empty() => {}
                2 => {
                    // Dies with what it decided.
                    let at = usize::try_from(dice.roll(turns.len() as u64)).unwrap();
                    turns.swap_remove(at);
                }
                _ => {
                    let at = usize::try_from(dice.roll(turns.len() as u64)).unwrap();
                    let turn = turns.swap_remove(at);
                    let saved = world.save(&turn);
                    if saved && dice.roll(3) > 0 {
                        world.act(&turn);
                    }
                    if saved {
                        world.holds(&turn.decision);
                    } else {
                        // Somebody was faster: what it saw may be old as well, so it looks again.
                        let stale = turn.snapshot.pull_request.head.sha;
                        let again = world.observe();
                        assert!(again.snapshot.pull_request.head.sha == stale || world.version > turn.version);
                        turns.push(again);
                    }
                }
            }
        }
    }
    world.settled();
}

/// The same facts looked at once each, and looked at often, by several at once, with deaths between saving and acting:
/// the end is the same.
fn end(seed: u64, unrest: u64) -> (LoopState, BTreeSet<String>) {
    let facts = facts(&mut Dice(seed));
    let (mut world, mut dice) = (World::new(), Dice(unrest));
    for fact in &facts {
        world.happens(fact);
        if unrest > 0 {
            world.story.snapshot.comments.items.reverse();
            for _ in 0..dice.roll(3) {
                let (one, other) = (world.observe(), world.observe());
                if dice.roll(2) == 0 {
                    world.save(&one);
                }
                if world.save(&other) && dice.roll(2) == 0 {
                    world.act(&other);
                }
            }
        }
        world.look();
        if unrest > 0 {
            world.story.snapshot.comments.items.sort_by_key(|comment| comment.id);
        }
    }
    world.settled();
    (world.saved, world.posted.into_keys().collect())
}

fn seeds() -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match number("LOOPGATE_INTERLEAVING") {
        Some(one) => one..one + 1,
        None => 1..number("LOOPGATE_INTERLEAVINGS").unwrap_or(80) + 1,
    }
}

/// Runs one and names it where it fails.
fn each(name: &str, run: impl Fn(u64) + std::panic::RefUnwindSafe) {
    for seed in seeds() {
        if std::panic::catch_unwind(|| run(seed)).is_err() {
            panic!("{name}: LOOPGATE_INTERLEAVING={seed} fails");
        }
    }
    println!("{name}: {:?} interleavings", seeds());
}

#[test]
fn whatever_interleaves_nothing_is_counted_told_or_lost_twice() {
    each("race", race);
}

#[test]
fn however_often_and_by_however_many_it_is_looked_at_the_end_is_the_same() {
    each("end", |seed| {
        let calm = end(seed, 0);
        for unrest in 1..=3 {
            assert_eq!(end(seed, seed.wrapping_mul(31) + unrest), calm);
        }
    });
}
