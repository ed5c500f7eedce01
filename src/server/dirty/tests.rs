//! Turns, retries, pauses and pages.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::server::storage::Pending;
use loopgate_core::PrNumber;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_timestamp(1_800_000_000 + seconds, 0).unwrap()
}

fn key(installation: u64, number: u64) -> Key {
    let target = Target::PullRequest {
        repository: "acme/widgets".parse().unwrap(),
        number: PrNumber::new(number),
    };
    Key {
        installation: InstallationId::new(installation),
        target,
    }
}

fn arrival(installation: u64, number: u64, seq: i64) -> Arrival {
    Arrival {
        key: key(installation, number),
        seq: Seq(seq),
        class: WorkClass::Author,
    }
}

fn number(start: &Start) -> (u64, u64) {
    let Target::PullRequest { number, .. } = &start.key.target else {
        panic!("{start:?}")
    };
    (start.key.installation.get(), number.get())
}

fn started(dirty: &mut DirtySet) -> Vec<(u64, u64)> {
    std::iter::from_fn(|| dirty.start())
        .map(|start| number(&start))
        .collect()
}

fn with(workers: usize, per_installation: usize, lane: usize) -> DirtySet {
    DirtySet::new(Limits {
        workers,
        per_installation,
        lane,
    })
}

#[test]
fn a_hundred_events_while_one_runs_mean_one_more_run() {
    let mut dirty = with(8, 4, 100);
    dirty.arrived(arrival(1, 12, 1));
    assert_eq!(started(&mut dirty), [(1, 12)]);
    for seq in 2..=101 {
        dirty.arrived(arrival(1, 12, seq));
    }
    assert_eq!(started(&mut dirty), [], "never two at once");
    dirty.ended(key(1, 12), JobEnd::Done(Seq(1)));
    assert_eq!(started(&mut dirty), [(1, 12)]);
    dirty.ended(key(1, 12), JobEnd::Done(Seq(101)));
    assert_eq!(started(&mut dirty), []);
    assert!(dirty.is_settled() && dirty.lanes.is_empty() && dirty.alarms.is_empty());
}

#[test]
fn installations_take_turns_within_their_limits() {
    let mut dirty = with(5, 2, 100);
    for number in 1..=50 {
        dirty.arrived(arrival(1, number, 1));
    }
    dirty.arrived(arrival(2, 1, 1));
    dirty.arrived(arrival(3, 1, 1));
    assert_eq!(started(&mut dirty), [(1, 50), (2, 1), (3, 1), (1, 49)]);
    dirty.ended(key(1, 50), JobEnd::Done(Seq(1)));
    assert_eq!(started(&mut dirty), [(1, 48)]);
    for installation in 4..=9 {
        dirty.arrived(arrival(installation, 1, 1));
    }
    assert_eq!(started(&mut dirty), [(4, 1)], "five workers in all");
}

fn of(class: WorkClass, number: u64, seq: i64) -> Arrival {
    Arrival {
        class,
        ..arrival(1, number, seq)
    }
}

/// Works everything off, one at a time.
fn order(dirty: &mut DirtySet) -> Vec<u64> {
    let mut order = Vec::new();
    while let Some(start) = dirty.start() {
        order.push(number(&start).1);
        dirty.ended(start.key, JobEnd::Done(start.newest));
    }
    order
}

#[test]
fn the_best_class_goes_first() {
    let mut dirty = with(1, 1, 100);
    for number in 1..=3 {
        dirty.arrived(of(WorkClass::Spread, number, 1));
    }
    dirty.arrived(of(WorkClass::Progress, 7, 1));
    dirty.arrived(of(WorkClass::Author, 8, 1));
    dirty.arrived(of(WorkClass::Person, 9, 1));
    // Promoted by an event of its own, and what comes after it changes nothing.
    dirty.arrived(of(WorkClass::Author, 3, 2));
    dirty.arrived(of(WorkClass::Progress, 3, 3));
    assert_eq!(order(&mut dirty), [9, 3, 8, 7, 2, 1]);
    assert!(dirty.is_settled() && dirty.lanes.is_empty());
}

#[test]
fn what_runs_is_as_urgent_as_the_best_that_arrived_meanwhile() {
    let mut dirty = with(1, 1, 100);
    dirty.arrived(of(WorkClass::Spread, 1, 1));
    let start = dirty.start().unwrap();
    assert_eq!(start.served.class(), WorkClass::Spread);
    dirty.arrived(of(WorkClass::Person, 1, 2));
    dirty.arrived(of(WorkClass::Progress, 1, 3));
    assert_eq!(start.served.class(), WorkClass::Person);
    dirty.ended(start.key, JobEnd::Done(Seq(1)));
    assert_eq!(
        dirty.start().unwrap().served.class(),
        WorkClass::Person,
        "and so is the look after it"
    );
}

#[test]
fn every_eighth_turn_is_the_oldests() {
    let mut dirty = with(1, 1, 100);
    dirty.arrived(of(WorkClass::Spread, 50, 1));
    dirty.arrived(of(WorkClass::Spread, 51, 1));
    for number in 1..=20 {
        dirty.arrived(of(WorkClass::Author, number, 1));
    }
    let order = order(&mut dirty);
    assert_eq!((order[7], order[15]), (50, 51), "{order:?}");
}

#[test]
fn repositories_take_turns_and_the_newest_goes_first_past_a_backlog_on_disk() {
    let mut dirty = with(1, 1, 8);
    let in_repository = |name: &str, number: u64| {
        let target = Target::PullRequest {
            repository: name.parse().unwrap(),
            number: PrNumber::new(number),
        };
        Arrival {
            key: Key {
                installation: InstallationId::new(1),
                target,
            },
            seq: Seq(1),
            class: WorkClass::Author,
        }
    };
    for number in 1..=5 {
        dirty.arrived(in_repository("acme/busy", number));
    }
    dirty.arrived(in_repository("acme/calm", 6));
    dirty.arrived(in_repository("acme/busy", 7));
    assert_eq!(order(&mut dirty), [7, 6, 5, 4, 3, 2, 1]);

    // A hundred thousand wait on disk.
    dirty.found(InstallationId::new(1));
    dirty.arrived(in_repository("acme/busy", 8));
    let eighth = dirty.start().expect("no page was read yet");
    assert_eq!(number(&eighth).1, 8);
    for number in 9..=30 {
        dirty.arrived(in_repository("acme/busy", number));
    }
    dirty.ended(eighth.key, JobEnd::Done(Seq(1)));
    assert_eq!(
        dirty.start().map(|start| number(&start).1),
        Some(30),
        "the oldest in memory made room for it"
    );
}

#[test]
fn what_a_person_waits_for_has_places_of_its_own() {
    let mut dirty = with(5, 4, 100);
    for number in 1..=500 {
        dirty.arrived(of(WorkClass::Spread, number, 1));
    }
    assert_eq!(
        started(&mut dirty),
        [(1, 500), (1, 499)],
        "what is spread leaves half of the places"
    );
    for number in 601..=609 {
        dirty.arrived(of(WorkClass::Author, number, 1));
    }
    assert_eq!(started(&mut dirty), [(1, 609), (1, 608)]);
    // 500 do not fit into memory, and nothing better waits for the disk because of them.
    for number in 701..=703 {
        dirty.arrived(of(WorkClass::Person, number, 1));
    }
    assert_eq!(started(&mut dirty), [(1, 701), (1, 702)]);
    dirty.arrived(Arrival {
        class: WorkClass::Author,
        ..arrival(2, 1, 1)
    });
    assert_eq!(started(&mut dirty), [], "the process is full");
    dirty.arrived(Arrival {
        class: WorkClass::Person,
        ..arrival(2, 2, 1)
    });
    assert_eq!(started(&mut dirty), [(2, 2)], "but not for people");
}

#[test]
fn what_runs_knows_how_many_others_wait_or_run() {
    let mut dirty = with(9, 9, 100);
    dirty.arrived(of(WorkClass::Author, 9, 1));
    let first = dirty.start().unwrap();
    for (number, class) in (1..).zip([
        WorkClass::Person,
        WorkClass::Author,
        WorkClass::Progress,
        WorkClass::Author,
    ]) {
        dirty.arrived(of(class, number, 1));
    }
    assert_eq!(
        first.served.behind.load(Ordering::Relaxed),
        3,
        "and what comes after it began"
    );
    let behind: Vec<_> = std::iter::from_fn(|| dirty.start())
        .map(|start| {
            (
                number(&start).1,
                start.served.behind.load(Ordering::Relaxed),
            )
        })
        .collect();
    assert_eq!(behind, [(1, 3), (4, 3), (2, 3), (3, 3)]);
    dirty.ended(first.key.clone(), JobEnd::Done(first.newest));
    dirty.arrived(of(WorkClass::Progress, 5, 1));
    assert_eq!(first.served.behind.load(Ordering::Relaxed), 2);
}

#[test]
fn what_is_kept_for_people_holds_nobody_better() {
    let mut dirty = with(8, 1, 100);
    for (number, class) in (1..).zip([WorkClass::Progress, WorkClass::Spread, WorkClass::Progress])
    {
        dirty.arrived(of(class, number, 1));
    }
    let start = dirty.start().unwrap();
    dirty.ended(start.key, JobEnd::Pause(at(60)));
    assert_eq!(started(&mut dirty), []);
    dirty.arrived(of(WorkClass::Author, 8, 1));
    dirty.arrived(of(WorkClass::Person, 9, 1));
    assert_eq!(order(&mut dirty), [9, 8]);
    dirty.wake(at(60));
    assert_eq!(order(&mut dirty), [3, 1, 2]);
}

#[test]
fn a_retry_is_due_by_time_and_events_join_it() {
    let mut dirty = with(1, 1, 100);
    dirty.arrived(arrival(1, 1, 1));
    let start = dirty.start().unwrap();
    dirty.ended(start.key, JobEnd::Retry(at(600)));
    assert_eq!(dirty.next_alarm(), Some(at(600)));
    dirty.wake(at(599));
    assert_eq!(started(&mut dirty), []);
    assert!(!dirty.is_settled());
    dirty.arrived(arrival(1, 1, 2));
    dirty.arrived(arrival(1, 1, 3));
    assert_eq!(
        dirty.next_alarm(),
        Some(at(600)),
        "events during an outage use up no retries"
    );
    dirty.wake(at(600));
    assert_eq!(started(&mut dirty), [(1, 1)]);
}

#[test]
fn a_pause_holds_the_whole_installation_and_nobody_else() {
    let mut dirty = with(8, 4, 100);
    for number in 1..=6 {
        dirty.arrived(arrival(1, number, 1));
    }
    dirty.arrived(arrival(2, 1, 1));
    assert_eq!(started(&mut dirty).len(), 5);
    dirty.ended(key(1, 6), JobEnd::Pause(at(60)));
    dirty.ended(key(1, 5), JobEnd::Done(Seq(1)));
    dirty.arrived(arrival(2, 2, 1));
    assert_eq!(started(&mut dirty), [(2, 2)]);
    dirty.wake(at(60));
    let mut numbers = started(&mut dirty);
    numbers.sort_unstable();
    assert_eq!(numbers, [(1, 2), (1, 6)], "and 1 waits behind them");
    dirty.ended(key(1, 2), JobEnd::Done(Seq(1)));
    assert_eq!(started(&mut dirty), [(1, 1)]);
}

/// Lanes' rows as the storage has them: the newest of each, and the best class.
type Disk = BTreeMap<(u64, u64), (i64, WorkClass)>;

fn page(
    disk: &Disk,
    (installation, class): (InstallationId, WorkClass),
    after: Option<&Cursor>,
    limit: usize,
) -> Page {
    let after = after.map_or(0, |cursor| cursor.1.parse().unwrap());
    let rest = disk.range((installation.get(), after + 1)..(installation.get() + 1, 0));
    let rest: Vec<_> = rest
        .filter(|(_, (_, of))| *of == class)
        .take(limit)
        .collect();
    let pending = rest
        .iter()
        .map(|&(&(installation, number), &(seq, _))| Pending {
            target: key(installation, number).target,
            newest: Seq(seq),
            retry_at: None,
        });
    let next = rest
        .last()
        .filter(|_| rest.len() >= limit)
        .map(|&(&(_, number), _)| (String::new(), number.to_string()));
    Page {
        pending: pending.collect(),
        next,
    }
}

#[derive(Debug, Clone)]
enum Step {
    Arrive(u64, u64, WorkClass),
    Start,
    End,
    ReadPage,
    TakePage,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..3_u64, 1..30_u64, 0..4_usize)
            .prop_map(|(installation, number, class)| Step::Arrive(installation, number, WorkClass::ALL[class])),
        2 => Just(Step::Start),
        2 => Just(Step::End),
        1 => Just(Step::ReadPage),
        1 => Just(Step::TakePage),
    ]
}

proptest! {
    /// However arrivals, jobs and pages interleave: the memory stays bounded, no target runs twice at once, and in
    /// the end every row was covered by a job that started after it was there.
    #[test]
    fn nothing_is_forgotten_and_memory_is_bounded(steps in prop::collection::vec(step(), 0..200)) {
        let mut dirty = with(3, 2, 4);
        let mut disk = Disk::new();
        let mut running: Vec<(Start, i64)> = Vec::new();
        let mut reading: Vec<(InstallationId, WorkClass, Page)> = Vec::new();
        let drain = (0..400).flat_map(|_| [Step::Start, Step::End, Step::ReadPage, Step::TakePage]);
        for (seq, step) in (1..).zip(steps.into_iter().chain(drain)) {
            match step {
                Step::Arrive(installation, number, class) => {
                    let row = disk.entry((installation, number)).or_insert((seq, class));
                    *row = (seq, row.1.min(class));
                    dirty.arrived(Arrival { class, ..arrival(installation, number, seq) });
                }
                Step::Start => {
                    if let Some(start) = dirty.start() {
                        prop_assert!(running.iter().all(|(other, _)| other.key != start.key));
                        // The job reads what is on disk now; nothing, if an earlier one covered it.
                        let up_to = disk.get(&number(&start)).map_or(start.newest.0, |&(seq, _)| seq);
                        running.push((start, up_to));
                    }
                }
                Step::End if !running.is_empty() => {
                    let (start, up_to) = running.remove(0);
                    if disk.get(&number(&start)).is_some_and(|&(seq, _)| seq <= up_to) {
                        disk.remove(&number(&start));
                    }
                    dirty.ended(start.key, JobEnd::Done(Seq(up_to)));
                }
                Step::ReadPage => {
                    for (installation, class, after, limit) in dirty.wants_pages() {
                        reading.push((installation, class, page(&disk, (installation, class), after.as_ref(), limit)));
                    }
                }
                Step::TakePage if !reading.is_empty() => {
                    let (installation, class, page) = reading.remove(0);
                    dirty.paged(installation, class, Some(page), at(0));
                }
                Step::End | Step::TakePage => {}
            }
            prop_assert!(dirty.lanes.values().all(|lane| lane.classes.iter().all(|class| class.held <= 4)), "{dirty:?}");
        }
        prop_assert!(disk.is_empty(), "left behind: {disk:?} {dirty:?}");
        prop_assert!(dirty.is_settled() && dirty.lanes.is_empty(), "{dirty:?}");
    }
}

#[test]
fn a_row_less_urgent_than_the_stale_page_that_admitted_its_target_is_met_by_a_walk() {
    let mut dirty = with(1, 1, 4);
    let installation = InstallationId::new(1);
    dirty.found(installation);
    dirty.wants_pages();
    let stale = Page {
        pending: vec![Pending {
            target: key(1, 1).target,
            newest: Seq(1),
            retry_at: None,
        }],
        next: None,
    };
    dirty.paged(installation, WorkClass::Author, Some(stale), at(0));
    dirty.arrived(of(WorkClass::Progress, 1, 2));
    for class in WorkClass::ALL {
        dirty.paged(
            installation,
            class,
            Some(Page {
                pending: Vec::new(),
                next: None,
            }),
            at(0),
        );
    }
    for number in 2..=5 {
        dirty.arrived(of(WorkClass::Author, number, 3));
    }
    assert!(
        dirty
            .wants_pages()
            .iter()
            .any(|(_, class, ..)| *class == WorkClass::Progress)
    );
}

#[test]
fn a_page_that_cannot_be_read_is_asked_for_again() {
    let mut dirty = with(1, 1, 4);
    dirty.found(InstallationId::new(1));
    let wanted = dirty.wants_pages();
    assert_eq!(
        wanted[0],
        (InstallationId::new(1), WorkClass::Person, None, 1)
    );
    assert!(
        wanted
            .iter()
            .map(|(_, class, ..)| *class)
            .eq(WorkClass::ALL)
    );
    dirty.paged(InstallationId::new(1), WorkClass::Person, None, at(0));
    assert_eq!(dirty.wants_pages(), []);
    dirty.wake(at(5));
    assert_eq!(dirty.wants_pages(), wanted[..1]);
}
