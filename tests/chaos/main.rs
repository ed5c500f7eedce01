//! The server in trouble: whatever goes wrong between it and GitHub, what is left in the end is what would have been
//! left without. Nothing sleeps; time is moved by the tests.
//!
//! `LOOPGATE_CHAOS=N` plays every kind of trouble, probability and story with N seeds. `LOOPGATE_CHAOS_KIND` plays one
//! kind, `LOOPGATE_CHAOS_PERCENT` one probability, and `LOOPGATE_CHAOS_SEED` one seed.
#![allow(
    clippy::disallowed_methods,
    reason = "tests start what their users would"
)]

mod stories;
mod trouble;
mod world;

use std::{
    collections::BTreeMap,
    sync::{
        LazyLock, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use chrono::TimeDelta;
use loopgate_core::Timestamp;
use loopgate_simulator::{CheckSpec, Conclusion, DeliveryFault, Harm, Mishap, Often, RequestFault};
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

/// What disturbs a play.
#[derive(Clone, Copy)]
enum Disturbance {
    None,
    /// After each deed for a while, with this probability.
    Trouble(Kind, f64),
    /// Every read is so much older than it should be.
    Lag(TimeDelta),
    /// Every read is up to ten seconds older.
    Lags,
    /// Webhooks come twice, and later than others.
    Shuffled,
    /// Nearly a third of the webhooks never come; in the end the lists are compared once.
    Lost,
}

impl Disturbance {
    /// Before each deed.
    fn begins(self, world: &World) {
        let request = |harm, often| {
            world
                .github
                .add_fault(RequestFault::on(".", harm).unwrap().often(often));
        };
        let delivery = |mishap, chance| {
            world
                .github
                .add_delivery_fault(DeliveryFault::any(mishap).often(Often::Chance(chance)));
        };
        match self {
            Self::None => {}
            Self::Trouble((_, harm), chance) => request(harm(world.now()), Often::Chance(chance)),
            Self::Lag(time) => request(Harm::Lag(time), Often::Always),
            Self::Lags => {
                for seconds in 1..=10 {
                    request(Harm::Lag(TimeDelta::seconds(seconds)), Often::Chance(0.15));
                }
            }
            Self::Shuffled => {
                delivery(Mishap::Duplicate, 0.3);
                delivery(Mishap::Late(3), 0.4);
            }
            Self::Lost => delivery(Mishap::Lose, 0.3),
        }
    }

    /// A while after each deed.
    fn ends(self, world: &World) {
        if !matches!(self, Self::Lag(_) | Self::Lags) {
            world.github.heal();
        }
    }
}

/// One play of a story: what is left after each deed, or how it went wrong.
async fn play(story: &Story, seed: u64, disturbance: Disturbance) -> Result<Vec<Value>, String> {
    let world = World::begin(seed).await;
    let github = &world.github;
    let mut seen = Vec::new();
    disturbance.begins(&world);
    let pr = story.begin(github);
    for nth in 0..=story.deeds.len() {
        if let Some(deed) = nth.checked_sub(1).map(|nth| story.deeds[nth]) {
            disturbance.begins(&world);
            deed(github, &pr);
        }
        world.passes(TROUBLE).await;
        disturbance.ends(&world);
        world.passes(HEALED).await;
        seen.push(left(github, &pr));
        let dead = world.server.dead_letters().await.unwrap();
        if !dead.is_empty() {
            return Err(format!("after deed {nth}: given up: {dead:?}"));
        }
    }
    if let Disturbance::Lost = disturbance {
        world.resync().await;
        world.passes(HEALED).await;
        let end = left(github, &pr);
        seen.fill(Value::Null);
        seen.pop();
        seen.push(end);
    }
    Ok(seen)
}

fn alone<T>(play: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(play)
}

/// What is left without any trouble.
static UNDISTURBED: LazyLock<Vec<Vec<Value>>> = LazyLock::new(|| {
    STORIES
        .iter()
        .map(|story| alone(play(story, 1, Disturbance::None)).unwrap())
        .collect()
});

/// Where what is left differs from what would have been left: the first deed after which it does, and how.
fn difference(expected: &[Value], seen: &[Value]) -> Option<String> {
    let differs = |(expected, seen): (&Value, &Value)| !seen.is_null() && expected != seen;
    let nth = expected.iter().zip(seen).position(differs)?;
    let texts = [&expected[nth], &seen[nth]].map(|it| serde_json::to_string_pretty(it).unwrap());
    let lines = |of: usize, sign: &str| {
        let others: Vec<_> = texts[1 - of].lines().collect();
        let own = texts[of].lines().filter(|line| !others.contains(line));
        own.map(|line| format!("\n  {sign} {line}"))
            .collect::<String>()
    };
    Some(format!(
        "after deed {nth}:{}{}",
        lines(0, "-"),
        lines(1, "+")
    ))
}

#[derive(Clone, Copy)]
struct Case {
    disturbance: Disturbance,
    story: usize,
    seed: u64,
}

impl Case {
    fn name(&self) -> String {
        match self.disturbance {
            Disturbance::None => "nothing".to_owned(),
            Disturbance::Trouble((kind, _), chance) => {
                format!("{kind:<18} at {:>2.0} %", chance * 100.0)
            }
            Disturbance::Lag(time) => format!("reads {:.1} s old", time.as_seconds_f64()),
            Disturbance::Lags => "reads up to 10 s old".to_owned(),
            Disturbance::Shuffled => "webhooks repeated and out of order".to_owned(),
            Disturbance::Lost => "webhooks lost".to_owned(),
        }
    }
}

/// Every case, two at a time; those that went wrong.
fn played(cases: &[Case]) -> Vec<(Case, String)> {
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let story = &STORIES[case.story];
                    let seen = alone(play(story, case.seed, case.disturbance));
                    let how = match seen {
                        Ok(seen) => difference(&UNDISTURBED[case.story], &seen),
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

/// Plays all of them, and tells which ended otherwise.
fn all_end_the_same(cases: &[Case]) {
    let wrong = played(cases);
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (case, _) in &wrong {
        *counts.entry(case.name()).or_default() += 1;
    }
    let counts: String = counts
        .iter()
        .map(|(what, wrong)| format!("\n  {what}: {wrong}"))
        .collect();
    let tell = |(case, how): &(Case, String)| {
        format!(
            "\n{}, {}, seed {}: {how}",
            case.name(),
            STORIES[case.story].name,
            case.seed
        )
    };
    let first: String = wrong.iter().take(12).map(tell).collect();
    assert!(
        wrong.is_empty(),
        "{} of {} plays went wrong: {counts}{first}",
        wrong.len(),
        cases.len()
    );
    println!("{} plays end the same", cases.len());
}

/// Every story with so many seeds.
fn stories(disturbance: Disturbance, seeds: u64) -> impl Iterator<Item = Case> {
    (0..STORIES.len()).flat_map(move |story| {
        (1..=seeds).map(move |seed| Case {
            disturbance,
            story,
            seed,
        })
    })
}

/// Plays that went wrong once: kind of trouble, its chance, story, seed.
const ONCE_WRONG: [(&str, f64, usize, u64); 9] = [
    ("403", 0.2, 0, 16),
    ("304 lies", 0.05, 3, 14),
    ("404", 0.05, 0, 7),
    ("404", 0.5, 0, 1),
    // A status comment that was written twice, a merge that was not recorded, a reaction that refused an approval.
    ("404", 0.2, 0, 5),
    ("404", 0.2, 3, 5),
    ("404", 0.2, 3, 21),
    // A base that read as absent: an older commit's rules ended an approval.
    ("404", 0.05, 3, 48),
    // Two changes of a status comment were answered with 404 while the list showed it: it was posted anew.
    ("404", 0.2, 2, 134),
];

#[test]
fn whatever_goes_wrong_the_end_is_the_same() {
    let wanted = std::env::var("LOOPGATE_CHAOS_KIND").ok();
    let kinds = KINDS
        .into_iter()
        .enumerate()
        .filter(|(_, kind)| wanted.as_ref().is_none_or(|it| it == kind.0));
    let only = number("LOOPGATE_CHAOS_SEED");
    let percent = number("LOOPGATE_CHAOS_PERCENT");
    let chances: Vec<f64> =
        percent.map_or(CHANCES.to_vec(), |percent| vec![percent as f64 / 100.0]);
    let mut cases = Vec::new();
    for (at, kind) in kinds {
        match number("LOOPGATE_CHAOS") {
            Some(seeds) => {
                let each = chances
                    .iter()
                    .map(|chance| Disturbance::Trouble(kind, *chance));
                cases.extend(each.flat_map(|disturbance| stories(disturbance, seeds)));
            }
            // Three seeds take turns, and so do chances and stories.
            None => {
                let disturbance = Disturbance::Trouble(kind, CHANCES[(at + at / 3) % 3]);
                cases.push(Case {
                    disturbance,
                    story: at % STORIES.len(),
                    seed: [1, 2, 3][at % 3],
                });
            }
        }
    }
    for (name, chance, story, seed) in ONCE_WRONG {
        let kind = KINDS
            .into_iter()
            .find(|(kind, _)| *kind == name && wanted.as_deref().is_none_or(|it| it == name));
        cases.extend(kind.map(|kind| Case {
            disturbance: Disturbance::Trouble(kind, chance),
            story,
            seed,
        }));
    }
    cases.retain(|case| only.is_none_or(|seed| case.seed == seed));
    all_end_the_same(&cases);
}

#[test]
fn reads_that_lag_behind_change_nothing_in_the_end() {
    let seeds = number("LOOPGATE_CHAOS").unwrap_or(1);
    let old = [1_500, 10_000].map(|time| Disturbance::Lag(TimeDelta::milliseconds(time)));
    let once_wrong = Case {
        disturbance: Disturbance::Lags,
        story: 2,
        seed: 9,
    };
    let cases = old
        .into_iter()
        .flat_map(|it| stories(it, 1))
        .chain(stories(Disturbance::Lags, seeds));
    all_end_the_same(&cases.chain([once_wrong]).collect::<Vec<_>>());
}

#[test]
fn webhooks_may_be_repeated_and_overtaken() {
    let seeds = number("LOOPGATE_CHAOS").unwrap_or(1);
    all_end_the_same(&stories(Disturbance::Shuffled, seeds).collect::<Vec<_>>());
}

#[test]
fn what_lost_webhooks_told_is_found_by_one_resync() {
    let seeds = number("LOOPGATE_CHAOS").map_or(1, |seeds| seeds * 5);
    // An attempt that nobody was told of before the next push is none, and what is merged is judged no
    // more: only the story that does neither.
    all_end_the_same(
        &stories(Disturbance::Lost, seeds)
            .filter(|case| case.story == 1)
            .collect::<Vec<_>>(),
    );
}

/// An outage in which a dozen things happen to one pull request. Its check reports before a person would be called for
/// its silence, which who cannot read does not see.
async fn outage(harm: Option<Harm>, length: TimeDelta) -> Value {
    let world = World::begin(1).await;
    let github = &world.github;
    let pr = STORIES[0].begin(github);
    world.passes(HEALED).await;
    if let Some(harm) = harm {
        github.add_fault(RequestFault::on(".", harm).unwrap());
    }
    for nth in 0..12 {
        match nth {
            2 => stories::fails(github, &pr),
            8 => stories::says(github, &pr, "alice", "Working on it."),
            _ => {
                let spec = CheckSpec::concluded(&format!("lint / {nth}"), Conclusion::Success);
                github
                    .ci("other-ci")
                    .check_run(&pr.repo, github.head(&pr).unwrap(), spec)
                    .unwrap();
            }
        }
        world.passes(length / 12).await;
    }
    github.heal();
    world.passes(HEALED).await;
    let dead = world.server.dead_letters().await.unwrap();
    assert!(dead.is_empty(), "given up: {dead:?}");
    left(github, &pr)
}

#[test]
fn an_outage_of_seconds_or_hours_is_over_when_it_ends() {
    let all = ["502", "dropped before", "stall"];
    // A few hours are hundreds of looks.
    let at_length = if number("LOOPGATE_CHAOS").is_some() {
        &all[..]
    } else {
        &all[..1]
    };
    for (length, names) in [
        (TimeDelta::seconds(32), &all[..]),
        (TimeDelta::hours(4), at_length),
    ] {
        let expected = alone(outage(None, length));
        for name in names {
            let (_, harm) = KINDS.into_iter().find(|(kind, _)| kind == name).unwrap();
            let seen = alone(outage(Some(harm(Timestamp::UNIX_EPOCH)), length));
            let how = difference(std::slice::from_ref(&expected), &[seen]);
            assert!(
                how.is_none(),
                "{name} for {length}: {}",
                how.unwrap_or_default()
            );
        }
    }
}
