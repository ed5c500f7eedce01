//! Stopping, dying, starting again, and a storage that does not answer.

use chrono::TimeDelta;
use futures::future::join_all;
use loopgate::server::{Running, Shutdown, StartError};
use tokio::net::TcpStream;

use crate::kit::{Kit, failed, get, opened, post, signed};

/// Runs a server in a runtime of its own and then drops that, tasks and all, as a killed process would.
fn until_killed(kit: &Kit, life: impl AsyncFnOnce(&Running)) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let server = runtime.block_on(async {
        let server = kit.start().await;
        life(&server).await;
        server
    });
    drop(runtime);
    drop(server);
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

#[test]
fn what_was_acknowledged_before_a_death_is_done_after_it_once() {
    let kit = Kit::new();
    kit.close_gate();
    until_killed(&kit, async |server| {
        join_all((1..=20).map(|number| kit.opened(server, number))).await;
        kit.notes.begun(4).await;
    });
    kit.notes.jobs.lock().unwrap().clear();
    kit.open_gate();
    let kit = kit.with_fresh_notes();
    run(async {
        let server = kit.start().await;
        server.settled().await;
        let mut numbers = kit.notes.numbers();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=20).collect::<Vec<_>>());
        assert_eq!(kit.notes.hints().len(), 20, "with what the events told");
        // Ids are remembered over a restart.
        let again = signed(
            "pull_request",
            "00000000-0000-4000-8000-000000000001",
            &opened(9001, 1),
        );
        assert_eq!(
            post(server.public_address, &again).await.body,
            "accepted before"
        );
        assert_eq!(server.shutdown().await, Shutdown { released: 0 });
    });
    // And what was done before a restart is not done again.
    kit.notes.jobs.lock().unwrap().clear();
    run(async {
        let server = kit.start().await;
        server.settled().await;
        assert!(kit.notes.numbers().is_empty());
    });
}

#[test]
fn wakeups_and_failures_survive_a_death() {
    let kit = Kit::new();
    kit.notes.answer(
        1,
        vec![Ok(Some("2026-11-20T11:00:00Z".parse().unwrap())), Ok(None)],
    );
    kit.notes.answer(2, vec![failed("no"), Ok(None)]);
    until_killed(&kit, async |server| {
        kit.opened(server, 1).await;
        server.settled().await;
        kit.opened(server, 2).await;
        while crate::kit::metric(server, "loopgate_reconciles_total{result=\"failed\"}").await < 1
            || crate::kit::metric(server, "loopgate_running").await > 0
        {
            tokio::task::yield_now().await;
        }
    });
    run(async {
        let server = kit.start().await;
        kit.clock.advance(TimeDelta::seconds(2));
        server.settled().await;
        assert_eq!(kit.notes.numbers(), [1, 2, 2]);
        kit.clock.advance(TimeDelta::hours(1));
        kit.notes.begun(4).await;
        server.settled().await;
        assert_eq!(kit.notes.numbers(), [1, 2, 2, 1]);
    });
}

#[tokio::test]
async fn a_storage_that_does_not_answer_is_the_senders_to_know() {
    let kit = Kit::new();
    let server = kit.start().await;
    let request = signed("pull_request", "d-1", &opened(9001, 12));
    let mut other = kit.database().await;
    sqlx::query("ALTER TABLE work RENAME TO away")
        .execute(&mut other)
        .await
        .unwrap();
    let answer = post(server.public_address, &request).await;
    assert_eq!(
        (answer.status, answer.body.as_str()),
        (503, "cannot store the delivery now; send it again")
    );
    assert!(answer.head.contains("retry-after: 10"), "{}", answer.head);
    let ready = get(server.admin_address, "/readyz").await;
    assert_eq!(ready.status, 503);
    assert!(ready.head.contains("retry-after: 10"), "{}", ready.head);
    assert!(ready.body.starts_with("storage: "), "{}", ready.body);
    sqlx::query("ALTER TABLE away RENAME TO work")
        .execute(&mut other)
        .await
        .unwrap();
    // The id was not remembered without its row.
    assert_eq!(post(server.public_address, &request).await.body, "accepted");
    server.settled().await;
    assert_eq!(kit.notes.numbers(), [12]);
}

#[test]
fn a_data_directory_that_was_removed_is_written_anew() {
    let kit = Kit::new();
    until_killed(&kit, async |server| {
        kit.close_gate();
        kit.opened(server, 11).await;
        kit.notes.begun(1).await;
        std::fs::remove_dir_all(&kit.directory).unwrap();
        kit.opened(server, 12).await;
        assert_eq!(get(server.admin_address, "/readyz").await.status, 200);
        kit.open_gate();
        server.settled().await;
        assert_eq!(kit.notes.numbers(), [11, 12]);
        // What was accepted before is remembered, and what is accepted from now on is there after a restart.
        let again = signed(
            "pull_request",
            "00000000-0000-4000-8000-000000000001",
            &opened(9001, 11),
        );
        assert_eq!(
            post(server.public_address, &again).await.body,
            "accepted before"
        );
        kit.close_gate();
        kit.opened(server, 13).await;
    });
    kit.open_gate();
    let kit = kit.with_fresh_notes();
    run(async {
        let server = kit.start().await;
        server.settled().await;
        assert_eq!(kit.notes.numbers(), [13]);
    });
}

#[test]
fn work_that_the_process_does_not_survive_is_given_up_and_the_rest_goes_on() {
    let mut kit = Kit::new();
    kit.close_gate();
    let mut life = |numbers: Vec<u64>, begun: usize| {
        until_killed(&kit, async |server| {
            join_all(numbers.iter().map(|number| kit.opened(server, *number))).await;
            kit.notes.begun(begun).await;
        });
        let seen = kit.notes.numbers();
        kit = std::mem::replace(&mut kit, Kit::new()).with_fresh_notes();
        seen
    };
    assert_eq!(life(vec![1], 1), [1]);
    // It is one of three that were under way when the process died again: from now on only one of those runs at a time.
    assert_eq!(life(vec![2, 3], 3).len(), 3);
    // Whichever it is, one of them has begun for the third time after these.
    for _ in 0..3 {
        assert_eq!(life(vec![], 1).len(), 1);
    }
    kit.open_gate();
    run(async {
        let server = kit.start().await;
        server.settled().await;
        let letters = server.dead_letters().await.unwrap();
        assert!(!letters.is_empty() && letters.len() < 3, "{letters:?}");
        assert!(
            letters
                .iter()
                .all(|letter| letter.reason == "the server ended 3 times while it worked on this")
        );
        assert_eq!(
            letters.len() + kit.notes.numbers().len(),
            3,
            "the others were worked on"
        );
        let told = kit.notes.given_up.lock().unwrap().clone();
        assert!(told.iter().all(|(_, crashes)| *crashes == 3), "{told:?}");
    });
}

#[tokio::test]
async fn a_stop_lets_running_work_finish_and_starts_no_more() {
    let kit = Kit::new();
    kit.close_gate();
    let server = kit.start().await;
    let most = kit.limits.per_installation;
    join_all((1..=20).map(|number| kit.opened(&server, number))).await;
    kit.notes.begun(most).await;
    let address = server.public_address;
    let opened = async {
        while TcpStream::connect(address).await.is_ok() {
            tokio::task::yield_now().await;
        }
        kit.open_gate();
    };
    let (stopped, ()) = tokio::join!(server.shutdown(), opened);
    assert_eq!(stopped, Shutdown { released: 0 });
    assert_eq!(kit.notes.numbers().len(), most);
    let server = kit.start().await;
    server.settled().await;
    assert_eq!(kit.notes.numbers().len(), 20);
}

#[tokio::test]
async fn a_stop_does_not_wait_for_ever() {
    let kit = Kit::new();
    kit.close_gate();
    let server = kit.start().await;
    kit.opened(&server, 12).await;
    kit.notes.begun(1).await;
    let stopped = tokio::join!(server.shutdown(), async {
        kit.clock.advance(TimeDelta::seconds(24));
        tokio::task::yield_now().await;
        kit.clock.advance(TimeDelta::seconds(1));
    });
    assert_eq!(stopped.0, Shutdown { released: 1 });
    kit.open_gate();
    let kit = kit.with_fresh_notes();
    let server = kit.start().await;
    server.settled().await;
    assert_eq!(kit.notes.numbers(), [12]);
}

#[tokio::test]
async fn one_data_directory_serves_one_process() {
    let kit = Kit::new();
    let server = kit.start().await;
    let second = kit.try_start().await.err().expect("refused");
    assert!(matches!(second, StartError::Store(_)));
    assert!(
        second
            .to_string()
            .contains("another process works with the data directory"),
        "{second}"
    );
    server.shutdown().await;
    kit.start().await;
}
