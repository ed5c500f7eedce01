//! The server in trouble: whatever goes wrong between it and GitHub, what is left in the end is what would have been
//! left without. Nothing sleeps; time is moved by the tests.
//!
//! `LOOPGATE_CHAOS=N` plays every kind of trouble, probability and story with N seeds.

mod stories;
mod trouble;
mod world;

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use chrono::TimeDelta;
use loopgate_simulator::{Often, RequestFault};
use serde_json::Value;

use self::{
    stories::{STORIES, Story, left},
    trouble::{KINDS, Kind},
    world::World,
};

const CHANCES: [f64; 3] = [0.05, 0.2, 0.5];
/// How long there is trouble after each deed.
const TROUBLE: TimeDelta = TimeDelta::seconds(30);
/// How soon after its end everything is right.
const HEALED: TimeDelta = TimeDelta::seconds(60);

/// One play of a story: what is left after each deed, or how it went wrong.
async fn play(story: &Story, seed: u64, trouble: Option<(Kind, f64)>) -> Result<Vec<Value>, String> {
    let world = World::begin(seed).await;
    let github = &world.github;
    let begin_trouble = || {
        if let Some(((_, harm), chance)) = trouble {
            github.add_fault(RequestFault::on(".", harm(world.now())).unwrap().often(Often::Chance(chance)));
        }
    };
    let mut seen = Vec::new();
    begin_trouble();
    let pr = story.begin(github);
    for nth in 0..=story.deeds.len() {
        if let Some(deed) = nth.checked_sub(1).map(|nth| story.deeds[nth]) {
            begin_trouble();
            deed(github, &pr);
        }
        world.passes(TROUBLE).await;
        github.heal();
        world.passes(HEALED).await;
        seen.push(left(github, &pr));
        let dead = world.server.dead_letters().await.unwrap();
        if !dead.is_empty() {
            return Err(format!("after deed {nth}: given up: {dead:?}"));
        }
    }
    Ok(seen)
}

fn alone<T>(play: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(play)
}

/// What is left without any trouble.
fn undisturbed() -> Vec<Vec<Value>> {
    STORIES.iter().map(|story| alone(play(story, 1, None)).unwrap()).collect()
}

/// Where what is left differs from what would have been left: the first deed after which it does, and how.
fn difference(expected: &[Value], seen: &[Value]) -> Option<String> {
    let nth = expected.iter().zip(seen).position(|(expected, seen)| expected != seen)?;
    let texts = [&expected[nth], &seen[nth]].map(|it| serde_json::to_string_pretty(it).unwrap());
    let lines = |of: usize, sign: &str| {
        let others: Vec<_> = texts[1 - of].lines().collect();
        let own = texts[of].lines().filter(|line| !others.contains(line));
        own.map(|line| format!("\n  {sign} {line}")).collect::<String>()
    };
    Some(format!("after deed {nth}:{}{}", lines(0, "-"), lines(1, "+")))
}

#[derive(Clone, Copy)]
struct Case {
    kind: Kind,
    chance: f64,
    story: usize,
    seed: u64,
}

impl Case {
    fn name(&self) -> String {
        format!("{} {:>2.0} %, {}, seed {}", self.kind.0, self.chance * 100.0, STORIES[self.story].name, self.seed)
    }
}

/// Every case, two at a time; those that went wrong.
fn played(cases: &[Case], undisturbed: &[Vec<Value>]) -> Vec<(Case, String)> {
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let story = &STORIES[case.story];
                    let seen = alone(play(story, case.seed, Some((case.kind, case.chance))));
                    let how = match seen {
                        Ok(seen) => difference(&undisturbed[case.story], &seen),
                        Err(how) => Some(how),
                    };
                    if let Some(how) = how {
                        wrong.lock().unwrap().push((*case, how));
                    }
                }
            });
        }
    });
    wrong.into_inner().unwrap()
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn whatever_goes_wrong_the_end_is_the_same() {
    let wanted = std::env::var("LOOPGATE_CHAOS_KIND").ok();
    let mut cases = Vec::new();
    for (at, kind) in KINDS.into_iter().enumerate().filter(|(_, kind)| wanted.as_ref().is_none_or(|it| it == kind.0)) {
        match number("LOOPGATE_CHAOS") {
            Some(seeds) => {
                for (story, chance) in (0..STORIES.len()).flat_map(|story| CHANCES.map(|chance| (story, chance))) {
                    cases.extend((1..=seeds).map(|seed| Case { kind, chance, story, seed }));
                }
            }
            None => cases.extend((1..=3).map(|seed: u64| {
                let nth = at + usize::try_from(seed).unwrap();
                Case { kind, chance: CHANCES[nth % 3], story: nth % STORIES.len(), seed }
            })),
        }
    }
    let undisturbed = undisturbed();
    let wrong = played(&cases, &undisturbed);
    let mut counts: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    for (case, _) in &wrong {
        let at = CHANCES.iter().position(|chance| *chance == case.chance).unwrap();
        counts.entry(case.kind.0).or_default()[at] += 1;
    }
    let counts: String = counts.iter().map(|(kind, wrong)| format!("\n{kind}: {wrong:?}")).collect();
    let first: String = wrong.iter().take(6).map(|(case, how)| format!("\n{}: {how}", case.name())).collect();
    println!("{} plays; wrong at {CHANCES:?}: {counts}", cases.len());
    assert!(wrong.is_empty(), "{} of {} plays went wrong{first}", wrong.len(), cases.len());
}
