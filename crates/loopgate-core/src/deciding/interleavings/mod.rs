//! Random interleavings on a world in memory: pushes (forwards, back, of the same code), results (late, repeated, for
//! old heads, of every kind of failure), words (edited, deleted, a bot's), reviews, drafts, other bases, weakened
//! tests, time, closing, reopening and merging on one side, and on the other processes that look, race for the saved
//! state, and die between any two steps.
//!
//! One number reproduces a run. `LOOPGATE_INTERLEAVINGS` sets how many are tried (24: a decision costs a millisecond
//! without optimisation, and there are some hundred in each), `LOOPGATE_INTERLEAVING` plays a single one.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;

use super::decide;
use crate::{
    deciding::{Decision, NextAction, Post},
    evidence::Outcome,
    fixtures::*,
    observed::{
        Account, AccountKind, ChangedFiles, Lifecycle, ReceivedEvidence, ReviewVerdict, Snapshot,
    },
    policy::Policy,
    stage::Stage,
    state::{
        LoopState, RunStatus,
        history::{Escalated, Event, HistoryLine},
    },
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

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, usize::try_from(self.roll(last as u64 + 1)).unwrap());
        }
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::try_from(self.roll(choices.len() as u64)).unwrap()]
    }
}

/// Something that happens on GitHub, whether or not a job looks.
#[derive(Clone, Debug)]
enum Fact {
    Push {
        head: u8,
    },
    /// A new commit with the code of an older one.
    PushAgain {
        head: u8,
        code_of: u8,
    },
    /// The checks of a head end, perhaps again, perhaps of one that is long gone.
    Result {
        head: u8,
        failing: Vec<&'static str>,
        kind: Kind,
    },
    Says {
        who: &'static str,
        words: &'static str,
    },
    BotSays(&'static str),
    /// Somebody edits, or deletes, the newest comment.
    Edits,
    Deletes,
    Reviews(ReviewVerdict),
    Minutes(i64),
    Draft(bool),
    Base(&'static str),
    /// A test goes, or comes back.
    Test(Presence),
    Closes,
    Reopens,
    Merge,
}

/// Why tests fail, where some do.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Code,
    Network,
    Timeout,
    /// Nothing says what went wrong.
    Silent,
}

#[derive(Clone, Copy, Debug)]
enum Presence {
    Gone,
    There,
}

const TESTS: [&str; 3] = ["a", "b", "c"];
const WORDS: [&str; 9] = [
    "/loop retry",
    "/loop resume",
    "/loop resume --accept tampering",
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
        facts.push(match dice.roll(26) {
            0..=4 => {
                head += 1;
                Fact::Push { head }
            }
            5..=11 => {
                let old = u8::try_from(dice.roll(3)).unwrap();
                let of = if dice.roll(4) == 0 {
                    head.saturating_sub(old).max(1)
                } else {
                    head
                };
                let failing = TESTS.into_iter().filter(|_| dice.roll(3) == 0).collect();
                let kinds = [
                    Kind::Code,
                    Kind::Code,
                    Kind::Code,
                    Kind::Network,
                    Kind::Timeout,
                    Kind::Silent,
                ];
                Fact::Result {
                    head: of,
                    failing,
                    kind: dice.one_of(&kinds),
                }
            }
            12..=15 => Fact::Says {
                who: dice.one_of(&["alice", "bob", "carol"]),
                words: dice.one_of(&WORDS),
            },
            16 => Fact::Reviews(
                dice.one_of(&[ReviewVerdict::Approved, ReviewVerdict::ChangesRequested]),
            ),
            17 => Fact::Minutes(dice.one_of(&[1, 30, 61, 90, 60 * 73])),
            18 => Fact::Draft(dice.one_of(&[true, false])),
            19 => {
                let code_of = 1 + u8::try_from(dice.roll(u64::from(head))).unwrap();
                head += 1;
                Fact::PushAgain { head, code_of }
            }
            20 => Fact::Push {
                head: 1 + u8::try_from(dice.roll(u64::from(head))).unwrap(),
            },
            21 => Fact::BotSays(dice.one_of(&WORDS)),
            22 => dice.one_of(&[&Fact::Edits, &Fact::Deletes]).clone(),
            23 => Fact::Base(dice.one_of(&["main", "next"])),
            24 => Fact::Test(dice.one_of(&[Presence::Gone, Presence::There])),
            _ => dice
                .one_of(&[&Fact::Closes, &Fact::Reopens, &Fact::Reopens])
                .clone(),
        });
    }
    if dice.roll(4) == 0 {
        facts.push(Fact::Merge);
    }
    facts
}

/// That result, failing in another way.
fn of_kind(mut received: ReceivedEvidence, kind: Kind) -> ReceivedEvidence {
    let ReceivedEvidence::Accepted(evidence) = &mut received else {
        return received;
    };
    for check in evidence
        .checks
        .iter_mut()
        .filter(|check| check.outcome == Outcome::Failed)
    {
        match kind {
            Kind::Code => {}
            Kind::Network => {
                for failure in &mut check.failures {
                    failure.error_message = "Error: connect ECONNREFUSED 10.0.0.3:5432".to_owned();
                }
            }
            Kind::Timeout => check.outcome = Outcome::TimedOut,
            Kind::Silent => check.failures.clear(),
        }
    }
    received
}

/// GitHub, and what is saved and shown there.
struct World {
    story: Story,
    saved: LoopState,
    /// Counts saves: a decision on an older version must look again.
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
        story.snapshot.authority.logins = people
            .map(|(id, name)| (login(name), Ok(person(id, name))))
            .into();
        let saved = story.state.clone();
        Self {
            story,
            saved,
            version: 0,
            history: Vec::new(),
            posted: BTreeMap::new(),
        }
    }

    fn happens(&mut self, fact: &Fact) {
        let story = &mut self.story;
        story.now += TimeDelta::minutes(1);
        match fact {
            Fact::Push { head } => story.set_head(*head),
            Fact::PushAgain { head, code_of } => {
                story.set_head(*head);
                story.snapshot.pull_request.head.tree = sha(code_of ^ 0x70);
            }
            Fact::Result {
                head,
                failing,
                kind,
            } => {
                let passing: Vec<&str> = TESTS
                    .into_iter()
                    .filter(|test| !failing.contains(test))
                    .collect();
                let result = of_kind(evidence(sha(*head), failing, &passing), *kind);
                if sha(*head) == story.snapshot.pull_request.head.sha {
                    story.snapshot.evidence = vec![result];
                } else {
                    story.snapshot.evidence.push(result);
                }
            }
            Fact::Says { who, words } => story.write(who, words),
            Fact::BotSays(words) => {
                story.write("carol", words);
                if let Some(comment) = story.snapshot.comments.items.last_mut() {
                    comment.author = Account {
                        kind: AccountKind::Bot,
                        ..person(7, "helper[bot]")
                    };
                }
            }
            Fact::Edits => {
                if let Some(comment) = story.snapshot.comments.items.last_mut() {
                    (comment.body, comment.updated_at) =
                        (format!("{} or not", comment.body), story.now);
                }
            }
            Fact::Deletes => drop(story.snapshot.comments.items.pop()),
            Fact::Base(branch) => {
                let base = &mut story.snapshot.pull_request.base;
                (base.branch, base.sha) = (
                    (*branch).to_owned(),
                    sha(if *branch == "main" { 0xba } else { 0xbb }),
                );
            }
            Fact::Test(presence) => {
                let ChangedFiles::Complete(files) = &mut story.snapshot.files else {
                    return;
                };
                files[1].patch = Some(match presence {
                    Presence::Gone => {
                        "@@ -1,4 +1,1 @@\n-#[test]\n-fn a() {\n-    assert!(true);\n-}".to_owned()
                    }
                    Presence::There => "@@ -1 +1 @@\n-old\n+new".to_owned(),
                });
            }
            Fact::Closes | Fact::Reopens
                if matches!(
                    story.snapshot.pull_request.lifecycle,
                    Lifecycle::Merged { .. }
                ) => {}
            Fact::Closes => story.snapshot.pull_request.lifecycle = Lifecycle::Closed,
            Fact::Reopens => story.snapshot.pull_request.lifecycle = Lifecycle::Open,
            Fact::Reviews(verdict) => story.give_review(*verdict, "see above"),
            Fact::Minutes(minutes) => story.now += TimeDelta::minutes(*minutes),
            Fact::Draft(is_draft) => story.snapshot.pull_request.is_draft = *is_draft,
            Fact::Merge => {
                story.snapshot.pull_request.lifecycle = Lifecycle::Merged {
                    by: Some(login("bob")),
                    at: None,
                };
            }
        }
    }

    fn observe(&self) -> Turn {
        self.observe_as(self.story.snapshot.clone())
    }

    /// What GitHub lists comes in any order.
    fn observe_in_disorder(&self, dice: &mut Dice) -> Turn {
        let mut snapshot = self.story.snapshot.clone();
        dice.shuffle(&mut snapshot.comments.items);
        dice.shuffle(&mut snapshot.reviews.items);
        dice.shuffle(&mut snapshot.evidence);
        let turn = self.observe_as(snapshot);
        assert_eq!(
            turn.decision.next,
            self.observe().decision.next,
            "the order of a list decides"
        );
        turn
    }

    fn observe_as(&self, snapshot: Snapshot) -> Turn {
        let decision = decide(&snapshot, &self.saved, &self.story.policy, self.story.now);
        Turn {
            snapshot,
            version: self.version,
            decision,
        }
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
            assert!(
                decision.next.attempts.failures.count < policy.retry.max_attempts,
                "more attempts than allowed"
            );
            assert!(
                decision.next.attempts.failures.total < policy.retry.total_failures,
                "more failures than allowed"
            );
        }
        let escalations = decision
            .surface
            .posts
            .iter()
            .filter(|post| matches!(post, Post::Escalation { .. }))
            .count();
        assert!(escalations <= 1, "two escalations at a time");
        for (number, attempt) in (1..).zip(&state.attempts.counted) {
            assert_eq!(attempt.number, number, "a gap or a double attempt");
        }
        for pair in state.attempts.counted.windows(2) {
            assert_ne!(pair[0].head_sha, pair[1].head_sha, "one head, two attempts");
        }
    }

    /// Looking once more changes nothing and writes no event.
    fn is_at_rest(&self) {
        let again = self.observe();
        assert_eq!(
            again.decision.next, self.saved,
            "looking again changes something"
        );
        assert!(
            again.decision.events.is_empty(),
            "{:?}",
            again.decision.events
        );
    }

    /// What must hold of everything that happened, once nothing moves any more.
    fn settled(&mut self) {
        let decision = self.look();
        self.holds(&decision);
        self.is_at_rest();
        if let Some(blocked) = &self.saved.people.blocked
            && self.story.snapshot.pull_request.lifecycle == Lifecycle::Open
            && self.saved.run.status != RunStatus::Stopped
        {
            let post = Post::Escalation {
                trigger: blocked.trigger,
                attempt: blocked.attempt,
                call: blocked.call,
            };
            assert!(
                self.posted.contains_key(&post.key()),
                "a lost escalation: {}",
                post.key()
            );
        }
        let count = |is_meant: fn(&Event) -> bool| {
            self.history
                .iter()
                .filter(|line| is_meant(&line.event))
                .count()
        };
        assert_eq!(count(|event| matches!(event, Event::RunStarted(_))), 1);
        assert!(count(|event| matches!(event, Event::Completed(_))) <= 1);
        // A cause is reported once until a person resumes, or a pass releases it; each report is one line.
        let mut told = BTreeSet::new();
        for line in &self.history {
            match &line.event {
                Event::Escalated(Escalated::PullRequest { blocked, .. }) => {
                    let cause = blocked
                        .as_ref()
                        .map(|blocked| (blocked.trigger, blocked.attempt));
                    assert!(told.insert(cause), "told twice: {line:?}");
                }
                Event::Resumed(_) | Event::EvaluationDone { passed: true, .. } => told.clear(),
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
                        assert!(
                            again.snapshot.pull_request.head.sha == stale
                                || world.version > turn.version
                        );
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
            for _ in 0..dice.roll(3) {
                let (one, other) = (
                    world.observe_in_disorder(&mut dice),
                    world.observe_in_disorder(&mut dice),
                );
                if dice.roll(2) == 0 {
                    world.save(&one);
                }
                if world.save(&other) && dice.roll(2) == 0 {
                    world.act(&other);
                }
            }
        }
        world.look();
        world.is_at_rest();
    }
    world.settled();
    (world.saved, world.posted.into_keys().collect())
}

fn seeds() -> std::ops::Range<u64> {
    match wished_cases("LOOPGATE_INTERLEAVING") {
        Some(one) => one..one + 1,
        None => 1..wished_cases("LOOPGATE_INTERLEAVINGS").unwrap_or(24) + 1,
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
