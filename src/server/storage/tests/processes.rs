//! Several processes on one database, and processes that die.

use std::time::{Duration, Instant};

use super::*;

on_both! {
    work_is_one_processs_until_it_ends_or_that_is_gone,
    what_no_process_survives_is_counted,
}

async fn work_is_one_processs_until_it_ends_or_that_is_gone(mut kept: Kept) {
    kept.one(delivery("a", 1, vec![])).await;
    let first = kept.begin(1).await.unwrap();
    assert!(stands(&kept, &first).await);
    let again = kept.begin(1).await.unwrap();
    assert_eq!(again.begun, 0, "what a process holds has not been its end");
    assert!(!kept.is_shared() || !stands(&kept, &first).await);

    let (mut next, mut former) = kept.next().await;
    if let Some(former) = &mut former {
        assert_eq!(next.begin(1).await, None, "another process works on it");
        assert_eq!(
            next.store.installations(Timestamp::MAX_UTC).await.unwrap(),
            []
        );
        let page = next
            .store
            .page((InstallationId::new(u64::MAX), WorkClass::Spread), None, 9)
            .await
            .unwrap();
        assert_eq!(
            page,
            Page {
                pending: vec![],
                next: None
            }
        );
        // It is stopped for longer than it has time.
        former.writer.tasks.shutdown().await;
        next.sql("UPDATE process SET alive_until = 0 WHERE id = (SELECT holder FROM work)")
            .await;
    }
    assert_eq!(
        next.store.installations(at(0)).await.unwrap(),
        [InstallationId::new(u64::MAX)]
    );
    let second = next.begin(1).await.unwrap();
    assert_eq!(second.begun, 1, "it was begun once and never ended");
    assert!(second.covered.fence > again.covered.fence, "fences rise");
    let settle = |work: &TargetWork| {
        let how = WorkEnd::Done(ReconcileOutcome {
            revisit_at: Some(at(9)),
            ..ReconcileOutcome::default()
        });
        Change::Settle {
            key: key(1),
            covered: work.covered,
            how: Box::new(how),
            now: at(0),
        }
    };
    if let Some(former) = &mut former {
        // It wakes.
        next.sql("UPDATE process SET alive_until = 9223372036854775807")
            .await;
        assert!(!stands(former, &again).await && stands(&next, &second).await);
        assert!(
            !former.store.fence(None).holds().await.unwrap()
                || !next.store.fence(None).holds().await.unwrap()
        );
    }
    let late = former.as_mut().unwrap_or(&mut next);
    assert_eq!(late.one(settle(&again)).await, ChangeOutcome::Rows(0));
    assert!(
        next.loaded(1).await.is_some(),
        "an end that comes too late changes nothing"
    );
    assert_eq!(next.store.next_wakeup().await.unwrap(), None);
    next.one(settle(&second)).await;
    assert_eq!(next.loaded(1).await, None);
    assert_eq!(next.store.next_wakeup().await.unwrap(), Some(at(9)));
}

async fn what_no_process_survives_is_counted(mut kept: Kept) {
    kept.one(delivery("a", 1, vec![])).await;
    for died in 0..4 {
        assert_eq!(kept.begin(1).await.unwrap().begun, died);
        let (mut next, former) = kept.next().await;
        if let Some(mut former) = former {
            former.writer.tasks.shutdown().await;
            next.sql("UPDATE process SET alive_until = 0 WHERE id = (SELECT holder FROM work)")
                .await;
        }
        kept = next;
    }
    // One that ends in order gives back what it holds.
    let work = kept.begin(1).await.unwrap();
    kept.one(Change::Settle {
        key: key(1),
        covered: work.covered,
        how: Box::new(WorkEnd::Failed(trouble(1))),
        now: at(0),
    })
    .await;
    assert_eq!(kept.loaded(1).await.unwrap().begun, 0);
}

/// Whether a request for this work would be sent.
async fn stands(kept: &Kept, work: &TargetWork) -> bool {
    kept.store
        .fence(Some((&key(1), work.covered)))
        .holds()
        .await
        .unwrap()
}

#[tokio::test]
async fn four_processes_share_the_work_and_wait_for_nobody() {
    let Some(address) = postgres::schema().await else {
        return;
    };
    let mut all = Vec::new();
    for _ in 0..4 {
        all.push(Kept::at(Some(Secret::new(&address))).await);
    }
    // Each process stores work on each target, in an order of its own; then each takes what it gets.
    let rounds = all
        .iter_mut()
        .enumerate()
        .map(|(process, kept)| async move {
            let mut numbers: Vec<u64> = (0..200).collect();
            numbers.rotate_left(process * 50);
            if process % 2 == 1 {
                numbers.reverse();
            }
            let mut taken = Vec::new();
            for round in 0..3 {
                let id = |number: u64| format!("{process}-{round}-{number}");
                let batch: Vec<_> = numbers
                    .iter()
                    .map(|&number| delivery(&id(number), number, vec![]))
                    .collect();
                assert!(
                    kept.writer
                        .apply(&batch)
                        .await
                        .unwrap()
                        .iter()
                        .all(is_fresh)
                );
            }
            let batch: Vec<_> = numbers
                .iter()
                .map(|&number| Change::Begin(key(number), at(0)))
                .collect();
            for (number, applied) in numbers.iter().zip(kept.writer.apply(&batch).await.unwrap()) {
                if let ChangeOutcome::Begun(Some(_)) = applied {
                    taken.push(*number);
                }
            }
            taken
        });
    let mut taken = futures::future::join_all(rounds).await.concat();
    taken.sort_unstable();
    assert_eq!(
        taken,
        (0..200).collect::<Vec<_>>(),
        "each target is one process's"
    );
}

#[tokio::test]
async fn a_session_that_was_ended_is_replaced_and_a_newer_version_may_have_been_here() {
    let Some(address) = postgres::schema().await else {
        return;
    };
    let mut kept = Kept::at(Some(Secret::new(&address))).await;
    let session = kept.sql("SELECT pg_backend_pid()::BIGINT").await[0];
    let mut other = Kept::at(Some(Secret::new(&address))).await;
    let end = Query::new("SELECT pg_terminate_backend($1::INTEGER)").bind(session);
    end.execute(other.connection()).await.unwrap();
    assert!(
        is_fresh(&kept.one(delivery("a", 1, vec![])).await),
        "nobody is told to send it again"
    );
    // The same where others gave up their places long ago.
    other
        .sql(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
               SELECT MAX(version) + 2, 'later', TRUE, '', 0 FROM _sqlx_migrations",
        )
        .await;
    assert!(
        Kept::at(Some(Secret::new(&address)))
            .await
            .loaded(1)
            .await
            .is_some()
    );
    other
        .sql("UPDATE _sqlx_migrations SET version = version + 1 WHERE description = 'later'")
        .await;
    let error = open(Some(&Secret::new(&address)), other.directory.path())
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::TooNew { .. }), "{error}");
}

#[tokio::test]
async fn a_delivery_that_another_process_accepts_at_this_moment_is_a_repetition() {
    let Some(address) = postgres::schema().await else {
        return;
    };
    let mut kept = Kept::at(Some(Secret::new(&address))).await;
    kept.one(delivery("a", 1, vec![])).await;
    let session = kept.sql("SELECT pg_backend_pid()::BIGINT").await[0];
    let mut other = postgres::connect(&address).await;
    for sql in [
        "CREATE TEMPORARY TABLE ids AS TABLE seen; DELETE FROM seen",
        "BEGIN; INSERT INTO seen TABLE ids",
    ] {
        sqlx::raw_sql(sql).execute(&mut other).await.unwrap();
    }
    let mut watch = Kept::at(Some(Secret::new(&address))).await;
    watch.one(Change::Probe(at(0))).await;
    let commit = async {
        let blocking = "SELECT CAST(cardinality(pg_blocking_pids(CAST($1 AS INTEGER))) AS BIGINT)";
        while Query::new(blocking)
            .bind(session)
            .fetch::<(i64,)>(watch.connection())
            .await
            .unwrap()
            == [(0,)]
        {}
        sqlx::raw_sql("COMMIT").execute(&mut other).await.unwrap();
    };
    let deliveries = [delivery("a", 1, vec![]), delivery("b", 2, vec![])];
    let both = futures::future::join(kept.writer.apply(&deliveries), commit);
    let applied = tokio::time::timeout(Duration::from_secs(20), both)
        .await
        .expect("it waits for the other")
        .0
        .unwrap();
    assert_eq!(applied[0], ChangeOutcome::Duplicate);
    assert!(
        is_fresh(&applied[1]),
        "the rest of the batch is not lost: {applied:?}"
    );
}

/// An hour's work, ten deliveries a second (`LOOPGATE_LOAD=36000`; else a tenth of it), while somebody's forgotten
/// transaction keeps every old row from being vacuumed.
#[tokio::test]
async fn beside_a_forgotten_transaction_an_hour_of_work_leaves_little_behind() {
    let Some(address) = postgres::schema().await else {
        return;
    };
    let mut kept = Kept::at(Some(Secret::new(&address))).await;
    let load: u64 = std::env::var("LOOPGATE_LOAD")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(3_600);
    let mut other = postgres::connect(&address).await;
    sqlx::raw_sql("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT txid_current()")
        .execute(&mut other)
        .await
        .unwrap();
    let mut sizes = Vec::new();
    for hour in 0..2 {
        let mut times = Vec::new();
        for minute in 0..load / 60 {
            let begun = Instant::now();
            let numbers: Vec<u64> = (0..60).map(|nth| (minute * 60 + nth) % 300).collect();
            let id = |number: u64| format!("{hour}-{minute}-{number}");
            let batch: Vec<_> = numbers
                .iter()
                .map(|&number| delivery(&id(number), number, vec![]))
                .collect();
            kept.writer.apply(&batch).await.unwrap();
            let begin = |number: &u64| Change::Begin(key(*number), at(0));
            let begun_work = kept
                .writer
                .apply(&numbers.iter().map(begin).collect::<Vec<_>>())
                .await
                .unwrap();
            let settle = |(number, applied): (&u64, ChangeOutcome)| {
                let ChangeOutcome::Begun(Some(work)) = applied else {
                    panic!("nobody else is there")
                };
                let how = WorkEnd::Done(ReconcileOutcome::default());
                Change::Settle {
                    key: key(*number),
                    covered: work.covered,
                    how: Box::new(how),
                    now: at(0),
                }
            };
            kept.writer
                .apply(
                    &numbers
                        .iter()
                        .zip(begun_work)
                        .map(settle)
                        .collect::<Vec<_>>(),
                )
                .await
                .unwrap();
            times.push(begun.elapsed());
        }
        let part = times.len() / 10;
        let of = |times: &[Duration]| times.iter().sum::<Duration>() * 60 / times.len() as u32 / 60;
        let sql = "SELECT pg_total_relation_size('work')";
        let used = kept.sql(sql).await[0];
        println!(
            "{load} deliveries: 60 take {:.1?} at first, {:.1?} at last; {} kB before a vacuum",
            of(&times[..part]),
            of(&times[times.len() - part..]),
            used / 1024
        );
        if hour == 0 {
            sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
        }
        // Transactions of other tests keep old rows as well, while they last.
        let others = "SELECT COUNT(*) FROM pg_stat_activity
                      WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid() AND datname = current_database()";
        while kept.sql(others).await[0] > 0 {}
        sqlx::raw_sql("VACUUM work")
            .execute(&mut other)
            .await
            .unwrap();
        sizes.push(used);
    }
    assert_eq!(kept.counts().await, (0, 0));
    // But for pages that a transaction of another test kept meanwhile. Were none used again, it would be twice as much.
    assert!(
        sizes[1] <= sizes[0] + sizes[0] / 2,
        "what was vacuumed is used again: {sizes:?}"
    );
    // Ids leave nothing at all.
    let ids = "SELECT SUM(pg_relation_size(inhrelid::regclass))::BIGINT FROM pg_inherits
               WHERE inhparent = 'seen'::regclass";
    assert!(kept.sql(ids).await[0] > 0);
    kept.one(Change::Prune(at(0) + TimeDelta::days(10))).await;
    assert_eq!(kept.sql(ids).await[0], 0);
}

#[tokio::test]
async fn others_are_told_of_new_work() {
    let Some(address) = postgres::schema().await else {
        return;
    };
    let kept = Kept::at(Some(Secret::new(&address))).await;
    let other = Kept::at(Some(Secret::new(&address))).await;
    // A notification is lost until the other listens.
    let mut notified = std::pin::pin!(other.store.notified());
    loop {
        kept.store.notify_others();
        if tokio::time::timeout(Duration::from_millis(100), &mut notified)
            .await
            .is_ok()
        {
            break;
        }
    }
}
