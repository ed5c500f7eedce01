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
    let target = Target::PullRequest { repository: "acme/widgets".parse().unwrap(), number: PrNumber::new(number) };
    Key { installation: InstallationId::new(installation), target }
}

fn arrival(installation: u64, number: u64, seq: i64) -> Arrival {
    Arrival { key: key(installation, number), seq: Seq(seq), class: WorkClass::Author }
}

fn number(start: &Start) -> (u64, u64) {
    let Target::PullRequest { number, .. } = &start.key.target else { panic!("{start:?}") };
    (start.key.installation.get(), number.get())
}

fn started(dirty: &mut DirtySet) -> Vec<(u64, u64)> {
    std::iter::from_fn(|| dirty.start()).map(|start| number(&start)).collect()
}

fn with(workers: usize, per_installation: usize, lane: usize) -> DirtySet {
    DirtySet::new(Limits { workers, per_installation, lane })
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
    dirty.ended(key(1, 12), Ended::Done(Seq(1)));
    assert_eq!(started(&mut dirty), [(1, 12)]);
    dirty.ended(key(1, 12), Ended::Done(Seq(101)));
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
    assert_eq!(started(&mut dirty), [(1, 1), (2, 1), (3, 1), (1, 2)]);
    dirty.ended(key(1, 1), Ended::Done(Seq(1)));
    assert_eq!(started(&mut dirty), [(1, 3)]);
    for installation in 4..=9 {
        dirty.arrived(arrival(installation, 1, 1));
    }
    assert_eq!(started(&mut dirty), [(4, 1)], "five workers in all");
}

#[test]
fn what_somebody_does_goes_before_what_a_configuration_change_spreads() {
    let mut dirty = with(1, 1, 100);
    for number in 1..=3 {
        dirty.arrived(Arrival { class: WorkClass::Spread, ..arrival(1, number, 1) });
    }
    dirty.arrived(arrival(1, 9, 1));
    // Promoted by an event of its own.
    dirty.arrived(arrival(1, 3, 2));
    let mut order = Vec::new();
    while let Some(start) = dirty.start() {
        order.push(number(&start).1);
        dirty.ended(start.key, Ended::Done(start.newest));
    }
    assert_eq!(order, [9, 3, 1, 2]);
}

#[test]
fn a_retry_is_due_by_time_and_events_join_it() {
    let mut dirty = with(1, 1, 100);
    dirty.arrived(arrival(1, 1, 1));
    let start = dirty.start().unwrap();
    dirty.ended(start.key, Ended::Retry(at(600)));
    assert_eq!(dirty.next_alarm(), Some(at(600)));
    dirty.wake(at(599));
    assert_eq!(started(&mut dirty), []);
    assert!(!dirty.is_settled());
    dirty.arrived(arrival(1, 1, 2));
    dirty.arrived(arrival(1, 1, 3));
    assert_eq!(dirty.next_alarm(), Some(at(600)), "events during an outage use up no retries");
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
    dirty.ended(key(1, 1), Ended::Pause(at(60)));
    dirty.ended(key(1, 2), Ended::Done(Seq(1)));
    dirty.arrived(arrival(2, 2, 1));
    assert_eq!(started(&mut dirty), [(2, 2)]);
    dirty.wake(at(60));
    let mut numbers = started(&mut dirty);
    numbers.sort_unstable();
    assert_eq!(numbers, [(1, 5), (1, 6)], "and 1 waits behind them");
    dirty.ended(key(1, 5), Ended::Done(Seq(1)));
    assert_eq!(started(&mut dirty), [(1, 1)]);
}

/// A lane's rows as the storage has them.
type Disk = BTreeMap<(u64, u64), i64>;

fn page(disk: &Disk, installation: InstallationId, after: Option<&Cursor>, limit: usize) -> Page {
    let after = after.map_or(0, |cursor| cursor.what.parse().unwrap());
    let rest = disk.range((installation.get(), after + 1)..(installation.get() + 1, 0));
    let pending: Vec<_> = rest
        .take(limit)
        .map(|(&(installation, number), &seq)| Pending {
            target: key(installation, number).target,
            newest: Seq(seq),
            class: WorkClass::Author,
            retry_at: None,
        })
        .collect();
    let last = disk.range((installation.get(), after + 1)..(installation.get() + 1, 0)).take(limit).last();
    let next = last
        .filter(|_| pending.len() >= limit)
        .map(|(&(_, number), _)| Cursor { class: WorkClass::Author, repository: String::new(), what: number.to_string() });
    Page { pending, next }
}

#[derive(Debug, Clone)]
enum Step {
    Arrive(u64, u64),
    Start,
    End,
    ReadPage,
    TakePage,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..3_u64, 1..30_u64).prop_map(|(installation, number)| Step::Arrive(installation, number)),
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
        let mut reading: Vec<(InstallationId, Page)> = Vec::new();
        let drain = (0..400).flat_map(|_| [Step::Start, Step::End, Step::ReadPage, Step::TakePage]);
        for (seq, step) in (1..).zip(steps.into_iter().chain(drain)) {
            match step {
                Step::Arrive(installation, number) => {
                    disk.insert((installation, number), seq);
                    dirty.arrived(arrival(installation, number, seq));
                }
                Step::Start => {
                    if let Some(start) = dirty.start() {
                        prop_assert!(running.iter().all(|(other, _)| other.key != start.key));
                        // The job reads what is on disk now; nothing, if an earlier one covered it.
                        let up_to = disk.get(&number(&start)).map_or(start.newest.0, |&seq| seq);
                        running.push((start, up_to));
                    }
                }
                Step::End if !running.is_empty() => {
                    let (start, up_to) = running.remove(0);
                    if disk.get(&number(&start)).is_some_and(|&seq| seq <= up_to) {
                        disk.remove(&number(&start));
                    }
                    dirty.ended(start.key, Ended::Done(Seq(up_to)));
                }
                Step::ReadPage => {
                    if let Some((installation, after, limit)) = dirty.wants_page() {
                        reading.push((installation, page(&disk, installation, after.as_ref(), limit)));
                    }
                }
                Step::TakePage if !reading.is_empty() => {
                    let (installation, page) = reading.remove(0);
                    dirty.paged(installation, Some(page), at(0));
                }
                Step::End | Step::TakePage => {}
            }
            prop_assert!(dirty.lanes.values().all(|lane| lane.entries.len() <= 4), "{dirty:?}");
        }
        prop_assert!(disk.is_empty(), "left behind: {disk:?} {dirty:?}");
        prop_assert!(dirty.is_settled() && dirty.lanes.is_empty(), "{dirty:?}");
    }
}

#[test]
fn a_page_that_cannot_be_read_is_asked_for_again() {
    let mut dirty = with(1, 1, 4);
    dirty.found(InstallationId::new(1));
    let (installation, after, limit) = dirty.wants_page().unwrap();
    assert_eq!((installation.get(), after, limit), (1, None, 2));
    assert_eq!(dirty.wants_page(), None);
    dirty.paged(installation, None, at(0));
    assert_eq!(dirty.wants_page(), None);
    dirty.wake(at(5));
    assert!(dirty.wants_page().is_some());
}
