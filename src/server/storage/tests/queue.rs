//! Work waits until it is done: hints, failures, dead letters, wake-ups, pages and classes.

use super::*;

on_both! {
    of_copies_the_first_is_fresh_in_one_batch_and_in_another,
    what_comes_while_a_job_runs_stays_with_its_own_hints,
    hints_are_kept_once_and_bounded,
    failures_add_up_until_something_ends_well,
    the_dead_are_listed_apart_and_live_again_with_anything_new,
    a_commit_is_replaced_by_its_pull_requests_at_once,
    wakeups_become_work_when_they_are_due,
    pages_walk_over_everything_once,
    ids_are_remembered_for_nine_days_and_the_dead_for_thirty,
    a_retry_is_due_by_time_and_events_join_it,
    names_of_repositories_are_one_whatever_their_case,
    the_oldest_work_is_as_old_as_the_first_delivery_not_dealt_with,
    what_people_wait_for_is_found_first,
}

async fn of_copies_the_first_is_fresh_in_one_batch_and_in_another(mut kept: Kept) {
    let batch: Vec<_> = ["a", "b", "a", "c"]
        .map(|id| delivery(id, 1, vec![]))
        .into();
    let fresh = |applied: Vec<ChangeOutcome>| applied.iter().map(is_fresh).collect::<Vec<_>>();
    assert_eq!(
        fresh(kept.writer.apply(&batch).await.unwrap()),
        [true, true, false, true]
    );
    let batch: Vec<_> = ["d", "a", "d"].map(|id| delivery(id, 1, vec![])).into();
    assert_eq!(
        fresh(kept.writer.apply(&batch).await.unwrap()),
        [true, false, false]
    );
    // More than the largest chunk.
    let batch: Vec<_> = (0..200)
        .map(|n| delivery(&format!("n{}", n % 190), n, vec![]))
        .collect();
    assert_eq!(
        fresh(kept.writer.apply(&batch).await.unwrap())
            .iter()
            .filter(|fresh| **fresh)
            .count(),
        190
    );
    assert_eq!(kept.counts().await, (190, 0));
}

async fn what_comes_while_a_job_runs_stays_with_its_own_hints(mut kept: Kept) {
    let batch = [
        delivery("a", 1, vec![hint("ä")]),
        delivery("b", 1, vec![hint("b"), hint("c")]),
    ];
    kept.writer.apply(&batch).await.unwrap();
    let loaded = kept.loaded(1).await.unwrap();
    assert_eq!(loaded.hints, [hint("ä"), hint("b"), hint("c")]);
    assert_eq!(loaded.origin.delivery, "b");
    kept.one(delivery("d", 1, vec![hint("d")])).await;
    kept.settle_what(1, &loaded, WorkEnd::Done(ReconcileOutcome::default()))
        .await;
    assert_eq!(kept.loaded(1).await.unwrap().hints, [hint("d")]);
    kept.settle(1, WorkEnd::Done(ReconcileOutcome::default()))
        .await;
    assert_eq!(kept.loaded(1).await, None);
    assert_eq!(kept.counts().await, (0, 0));
}

async fn hints_are_kept_once_and_bounded(mut kept: Kept) {
    for n in 0..300 {
        kept.one(delivery(&n.to_string(), 1, vec![hint(&n.to_string())]))
            .await;
        kept.one(delivery(
            &format!("{n}-again"),
            1,
            vec![hint(&n.to_string())],
        ))
        .await;
    }
    let loaded = kept.loaded(1).await.unwrap();
    assert!(loaded.covered.hints < 4500);
    let expected: Vec<_> = (0..loaded.hints.len())
        .map(|n| hint(&n.to_string()))
        .collect();
    assert!(
        expected.len() > 20 && loaded.hints == expected,
        "{:?}",
        loaded.hints
    );
}

async fn failures_add_up_until_something_ends_well(mut kept: Kept) {
    kept.one(delivery("a", 1, vec![])).await;
    kept.settle(1, WorkEnd::Failed(trouble(3))).await;
    kept.one(delivery("b", 1, vec![])).await;
    assert_eq!(
        kept.loaded(1).await.unwrap().failures,
        3,
        "an event does not make it well"
    );
    let page = kept
        .store
        .page((InstallationId::new(u64::MAX), WorkClass::Spread), None, 10)
        .await
        .unwrap();
    assert_eq!(page.pending[0].retry_at, Some(at(60)));
    let loaded = kept.loaded(1).await.unwrap();
    kept.one(delivery("c", 1, vec![])).await;
    kept.settle_what(1, &loaded, WorkEnd::Done(ReconcileOutcome::default()))
        .await;
    assert_eq!(kept.loaded(1).await.unwrap().failures, 0);
}

async fn the_dead_are_listed_apart_and_live_again_with_anything_new(mut kept: Kept) {
    let dead = || {
        WorkEnd::Dead(Trouble {
            retry_at: at(9),
            ..trouble(10)
        })
    };
    let revivals: [fn() -> Change; 3] = [
        || delivery("a", 1, vec![]),
        || delivery("new", 1, vec![]),
        || Change::Replay(key(1)),
    ];
    for revival in revivals {
        kept.one(delivery("a", 1, vec![])).await;
        kept.settle(1, dead()).await;
        assert_eq!(kept.loaded(1).await, None);
        assert_eq!(kept.counts().await, (0, 1));
        assert!(
            kept.store
                .installations(Timestamp::MAX_UTC)
                .await
                .unwrap()
                .is_empty()
        );
        let letters = kept.store.dead_letters().await.unwrap();
        assert_eq!(
            letters,
            [DeadLetter {
                key: key(1),
                failures: 10,
                reason: "no".into(),
                died_at: at(9)
            }]
        );
        assert!(is_fresh(&kept.one(revival()).await));
        assert_eq!(kept.loaded(1).await.unwrap().failures, 0);
        kept.settle(1, WorkEnd::Done(ReconcileOutcome::default()))
            .await;
        assert!(
            !is_fresh(&kept.one(Change::Replay(key(1))).await),
            "there is nothing to replay"
        );
        kept.sql("DELETE FROM seen").await;
    }
    // Something came during the tenth attempt: that has ten of its own.
    kept.one(delivery("x", 1, vec![])).await;
    let covered = kept.loaded(1).await.unwrap().covered;
    kept.one(delivery("y", 1, vec![])).await;
    kept.one(Change::Settle {
        key: key(1),
        covered,
        how: Box::new(dead()),
        now: at(0),
    })
    .await;
    assert_eq!(kept.loaded(1).await.unwrap().failures, 0);
    assert!(kept.store.dead_letters().await.unwrap().is_empty());
}

async fn a_commit_is_replaced_by_its_pull_requests_at_once(mut kept: Kept) {
    kept.one(delivery("a", 1, vec![])).await;
    let origin = WorkOrigin {
        delivery: "a".into(),
        event: "status".into(),
        received_at: at(0),
    };
    let pressed = Hint::ButtonPressed {
        check_run: CheckRunId::new(1),
        identifier: "x".into(),
        by: loopgate_core::observed::Actor {
            id: loopgate_core::UserId::new(7),
            login: "alice".parse().unwrap(),
        },
    };
    let hints = vec![pressed];
    let into = vec![key(2), key(3)];
    kept.settle(
        1,
        WorkEnd::Resolved {
            into,
            origin: origin.clone(),
            hints: hints.clone(),
            class: WorkClass::Spread,
        },
    )
    .await;
    assert_eq!(kept.loaded(1).await, None);
    for number in [2, 3] {
        let loaded = kept.loaded(number).await.unwrap();
        assert_eq!(
            (loaded.origin, loaded.hints),
            (origin.clone(), hints.clone())
        );
    }
}

async fn wakeups_become_work_when_they_are_due(mut kept: Kept) {
    for number in [1, 2] {
        kept.one(delivery(&number.to_string(), number, vec![]))
            .await;
        kept.settle(
            number,
            WorkEnd::Done(ReconcileOutcome {
                revisit_at: Some(at(60 * number as i64)),
                ..ReconcileOutcome::default()
            }),
        )
        .await;
    }
    assert_eq!(kept.store.next_wakeup().await.unwrap(), Some(at(60)));
    assert!(is_fresh(&kept.one(Change::Wake(at(60))).await));
    assert_eq!(kept.store.next_wakeup().await.unwrap(), Some(at(120)));
    assert_eq!(kept.loaded(1).await.unwrap().origin.event, "wakeup");
    assert_eq!(kept.loaded(2).await, None);
    // An answer without a time takes an older one back.
    kept.one(delivery("x", 2, vec![])).await;
    kept.settle(2, WorkEnd::Done(ReconcileOutcome::default()))
        .await;
    assert_eq!(kept.store.next_wakeup().await.unwrap(), None);
}

async fn pages_walk_over_everything_once(mut kept: Kept) {
    for number in 1..=25 {
        kept.one(delivery(&number.to_string(), number, vec![]))
            .await;
    }
    kept.settle(
        7,
        WorkEnd::Dead(Trouble {
            retry_at: at(0),
            ..trouble(10)
        }),
    )
    .await;
    let (mut after, mut met) = (None, Vec::new());
    loop {
        let page = kept
            .store
            .page(
                (InstallationId::new(u64::MAX), WorkClass::Spread),
                after.as_ref(),
                10,
            )
            .await
            .unwrap();
        met.extend(page.pending.into_iter().map(|pending| pending.target));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    met.sort();
    assert_eq!(
        met,
        (1..=25)
            .filter(|number| *number != 7)
            .map(target)
            .collect::<Vec<_>>()
    );
    let nobody = kept
        .store
        .page((InstallationId::new(1), WorkClass::Spread), None, 10)
        .await
        .unwrap();
    assert_eq!(
        nobody,
        Page {
            pending: vec![],
            next: None
        }
    );
}

async fn ids_are_remembered_for_nine_days_and_the_dead_for_thirty(mut kept: Kept) {
    kept.one(delivery("a", 1, vec![])).await;
    kept.one(delivery("b", 2, vec![])).await;
    kept.settle(
        2,
        WorkEnd::Dead(Trouble {
            retry_at: at(0),
            ..trouble(10)
        }),
    )
    .await;
    let after = |days: i64| Change::Prune(at(0) + TimeDelta::days(days));
    for days in 0..=9 {
        kept.one(after(days)).await;
        assert_eq!(
            kept.one(delivery("a", 1, vec![])).await,
            ChangeOutcome::Duplicate,
            "after {days} days"
        );
    }
    kept.one(after(10)).await;
    assert!(is_fresh(&kept.one(delivery("a", 1, vec![])).await));
    kept.one(after(30)).await;
    assert_eq!(kept.store.dead_letters().await.unwrap().len(), 1);
    kept.one(Change::Prune(at(1) + TimeDelta::days(30))).await;
    assert_eq!(kept.store.dead_letters().await.unwrap().len(), 0);
}

async fn a_retry_is_due_by_time_and_events_join_it(mut kept: Kept) {
    kept.one(delivery("a", 1, vec![hint("a")])).await;
    kept.settle(1, WorkEnd::Failed(trouble(1))).await;
    kept.one(delivery("b", 1, vec![hint("b")])).await;
    assert_eq!(kept.store.installations(at(59)).await.unwrap(), []);
    assert_eq!(kept.store.installations(at(60)).await.unwrap().len(), 1);
    let page = kept
        .store
        .page((InstallationId::new(u64::MAX), WorkClass::Spread), None, 9)
        .await
        .unwrap();
    assert_eq!(page.pending[0].retry_at, Some(at(60)));
    let ChangeOutcome::Begun(Some(work)) = kept.one(Change::Begin(key(1), at(60))).await else {
        panic!("due")
    };
    assert_eq!((work.hints, work.failures), (vec![hint("a"), hint("b")], 1));
}

async fn names_of_repositories_are_one_whatever_their_case(mut kept: Kept) {
    kept.one(delivery("a", 1, vec![])).await;
    let repository = "ACME/Widgets".parse().unwrap();
    let shouted = Key {
        installation: InstallationId::new(u64::MAX),
        target: Target::PullRequest {
            repository,
            number: PrNumber::new(1),
        },
    };
    assert!(kept.store.load(&shouted).await.unwrap().is_some());
}

#[test]
fn ids_that_arrive_together_are_indexed_together() {
    let id = |text: &str| ordered(&text.parse().unwrap());
    // GitHub's own examples, years apart, and one a little later than the first.
    let old = id("72d3162e-cc78-11e3-81ab-4c9367dc0958");
    let little_later = id("02d3162e-cc79-11e3-81ab-4c9367dc0958");
    let new = id("d159ef00-247f-11ea-8d08-0862e7465cb1");
    assert!(old < little_later && little_later < new);
    let random = Uuid::from_u128(0x1234_5678_9abc_4ef0_8234_5678_9abc_def0);
    assert_eq!(id(&random.to_string()), random.as_bytes());
    assert_ne!(
        id("0123456789abcdef"),
        id("30313233-3435-3637-3839-616263646566")
    );
}

async fn the_oldest_work_is_as_old_as_the_first_delivery_not_dealt_with(mut kept: Kept) {
    let delivery = |id, seconds| {
        let work = Work {
            installation: InstallationId::new(u64::MAX),
            targets: vec![target(1)],
            hints: vec![],
        };
        Change::Accept(Delivery {
            id: str::parse(id).unwrap(),
            event: "push".into(),
            received_at: at(seconds),
            work,
        })
    };
    let oldest = async |kept: &Kept| {
        kept.store
            .counts()
            .await
            .unwrap()
            .oldest
            .into_iter()
            .flatten()
            .min()
    };
    assert_eq!(oldest(&kept).await, None);
    kept.one(delivery("a", 1)).await;
    kept.one(delivery("b", 2)).await;
    assert_eq!(oldest(&kept).await, Some(at(1)));
    let covered = kept.loaded(1).await.unwrap().covered;
    kept.one(delivery("c", 3)).await;
    let how = WorkEnd::Done(ReconcileOutcome::default());
    kept.one(Change::Settle {
        key: key(1),
        covered,
        how: Box::new(how),
        now: at(4),
    })
    .await;
    assert_eq!(
        oldest(&kept).await,
        Some(at(3)),
        "what came meanwhile waits since then"
    );
    kept.settle(
        1,
        WorkEnd::Dead(Trouble {
            retry_at: at(5),
            ..trouble(10)
        }),
    )
    .await;
    assert_eq!(oldest(&kept).await, None, "a dead letter waits for nothing");
    kept.one(delivery("d", 6)).await;
    assert_eq!(oldest(&kept).await, Some(at(6)));
}

/// However many rows wait: SQLite's plan names the columns that it seeks by.
#[tokio::test]
async fn a_claim_and_a_page_seek_by_all_that_they_know() {
    let mut kept = Kept::new().await;
    kept.one(Change::Probe(at(0))).await;
    for (sql, sought_by) in [
        (write::CLAIM, "(installation=? AND repository=? AND what=?)"),
        (
            read::PAGE,
            "(installation=? AND (class,repository,what)>(?,?,?) AND class<?)",
        ),
    ] {
        let plan = Query::new(format!("EXPLAIN QUERY PLAN {sql}"));
        let steps: Vec<(i64, i64, i64, String)> = plan.fetch(kept.connection()).await.unwrap();
        let of_work: Vec<_> = steps
            .iter()
            .filter(|(.., step)| step.contains(" work "))
            .collect();
        assert!(
            !of_work.is_empty() && of_work.iter().all(|(.., step)| step.ends_with(sought_by)),
            "{steps:?}"
        );
    }
}

fn event(id: &str, event: &str, number: u64) -> Change {
    let Change::Accept(delivery) = delivery(id, number, vec![]) else {
        unreachable!("it is a delivery")
    };
    Change::Accept(Delivery {
        event: event.to_owned(),
        ..delivery
    })
}

async fn what_people_wait_for_is_found_first(mut kept: Kept) {
    let events = [
        "check_run",
        "pull_request",
        "issue_comment",
        "push",
        "pull_request",
        "check_run",
    ];
    let deliveries: Vec<_> = (1..)
        .zip(events)
        .map(|(number, name)| event(&format!("first-{number}"), name, number))
        .collect();
    kept.writer.apply(&deliveries).await.unwrap();
    // Somebody comments where a check went on, and a check goes on where somebody has commented.
    kept.writer
        .apply(&[
            event("more-6", "issue_comment", 6),
            event("more-3", "check_run", 3),
        ])
        .await
        .unwrap();
    let page = async |kept: &Kept, class| {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = kept
                .store
                .page((InstallationId::new(u64::MAX), class), after.as_ref(), 1)
                .await
                .unwrap();
            found.extend(
                page.pending
                    .into_iter()
                    .map(|pending| match pending.target {
                        Target::PullRequest { number, .. } => number.get(),
                        other => panic!("{other:?}"),
                    }),
            );
            after = page.next;
            if after.is_none() {
                return found;
            }
        }
    };
    let expected = [vec![3, 6], vec![2, 5], vec![1], vec![4]];
    for (class, expected) in WorkClass::ALL.into_iter().zip(expected) {
        assert_eq!(page(&kept, class).await, expected, "{class:?}");
    }
    let oldest = kept.store.counts().await.unwrap().oldest;
    assert_eq!(oldest, [Some(at(0)); WorkClass::ALL.len()]);
    // What is dealt with starts anew, and the version before this one writes no class.
    kept.settle(3, WorkEnd::Done(ReconcileOutcome::default()))
        .await;
    kept.one(event("again-3", "status", 3)).await;
    kept.sql(
        "INSERT INTO work (installation, repository, what, newest, delivery, event, received_at)
         SELECT installation, repository, 'pr:7', newest, delivery, event, received_at FROM work WHERE what = 'pr:1'",
    )
    .await;
    assert_eq!(page(&kept, WorkClass::Person).await, [6]);
    assert_eq!(page(&kept, WorkClass::Progress).await, [1, 3]);
    assert_eq!(page(&kept, WorkClass::Author).await, [2, 5, 7]);
}
