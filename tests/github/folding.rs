//! Refs of ended runs: folded into the archive of a quarter, read from there, and made again.

use std::{collections::BTreeSet, time::Duration};

use chrono::TimeDelta;
use futures::stream::{self, StreamExt as _};
use http::{Method, StatusCode};
use loopgate::github::{FoldResult, GithubObjects, Reconcile, fold_ended_runs};
use loopgate_core::{PrNumber, Sha};
use loopgate_refs::{GitObjects as _, NewCommit, RefName, RefsError, Retry, StateStore, archived};
use loopgate_simulator::{Harm, Often, Pr, PullSpec, RefView, RequestFault, Simulator};
use serde_json::Value;

use crate::bench::{Bench, CONFIG, app};

const QUARTER: &str = "refs/loopgate/archive/2026Q4";

/// A process of its own, which remembers nothing.
fn process(bench: &Bench) -> GithubObjects {
    GithubObjects::new(
        app(&bench.sim, &bench.clock).client(Some(bench.installation())),
        bench.repo.clone(),
    )
}

fn name(number: u64) -> RefName {
    RefName::pull_request(PrNumber::new(number))
}

/// Saves a run twice, and returns both commits.
async fn save(objects: &GithubObjects, name: RefName) -> [Sha; 2] {
    let commit = async |parent: Option<Sha>, text: &str| {
        let files = [("history.jsonl".to_owned(), format!("{name} {text}\n"))];
        objects
            .write_commit(NewCommit {
                parent,
                files: &files,
                subject: text,
                ..NewCommit::default()
            })
            .await
            .unwrap()
    };
    let first = commit(None, "began").await;
    let last = commit(Some(first), "ended").await;
    objects.compare_and_swap(&name, None, last).await.unwrap();
    [first, last]
}

/// Runs with these numbers that were saved now, and their commits.
async fn ended(bench: &Bench, numbers: impl IntoIterator<Item = u64>) -> Vec<(PrNumber, [Sha; 2])> {
    let objects = &process(bench);
    let save = |number| async move { (PrNumber::new(number), save(objects, name(number)).await) };
    stream::iter(numbers).map(save).buffered(8).collect().await
}

async fn fold(bench: &Bench, open: &[u64]) -> Result<FoldResult, RefsError> {
    let open = open.iter().copied().map(PrNumber::new).collect();
    let client = app(&bench.sim, &bench.clock).client(Some(bench.installation()));
    fold_ended_runs(client.repo(&bench.repo), &open, 100_000, bench.now()).await
}

/// Those that `git ls-remote` would list.
fn refs(bench: &Bench, below: &str) -> Vec<String> {
    let all = bench.sim.refs(&bench.repo).unwrap();
    all.into_iter()
        .filter(|name| name.starts_with(&format!("refs/loopgate/{below}")))
        .collect()
}

fn archive(bench: &Bench) -> RefView {
    bench
        .sim
        .state_ref(&bench.repo, QUARTER)
        .unwrap()
        .expect("an archive")
}

/// Each run is where it was saved last, and all that was saved of it can be reached.
async fn assert_nothing_lost(bench: &Bench, runs: &[(PrNumber, [Sha; 2])]) {
    let mut reached = BTreeSet::new();
    for name in refs(bench, "") {
        reached.extend(
            bench
                .sim
                .state_ref(&bench.repo, &name)
                .unwrap()
                .unwrap()
                .commits
                .into_iter()
                .map(|it| it.0),
        );
    }
    let objects = process(bench);
    for (number, commits) in runs {
        assert!(
            commits.iter().all(|commit| reached.contains(commit)),
            "#{number}"
        );
        let tip = StateStore::new(&objects, RefName::pull_request(*number))
            .tip()
            .await
            .unwrap();
        assert_eq!(tip, Some(commits[1]), "#{number}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_ended_runs_leave_a_ref_for_a_quarter() {
    let bench = Bench::new().await;
    let mut runs = ended(&bench, 1..=500).await;
    // For the hour's quota.
    bench.clock.advance(TimeDelta::hours(1));
    runs.extend(ended(&bench, 501..=1000).await);
    bench.clock.advance(TimeDelta::days(14));
    runs.extend(ended(&bench, 1001..=1020).await);
    let open = [7, 500, 1003];
    bench.sim.forget_requests();
    let folded = fold(&bench, &open).await.unwrap();
    let requests = bench.sim.requests().len();
    assert_eq!((folded.runs, folded.is_complete), (998, true));
    // One for each commit whose age is to be known, and a few for each batch of a hundred.
    assert!(
        requests <= 1018 + 30 + 10 * 6 && folded.requests.abs_diff(requests) < 30,
        "{requests}, {folded:?}"
    );
    let left = refs(&bench, "");
    assert_eq!(
        left.len(),
        2 + 20 + 1,
        "open ones, those of the last fortnight, and the archive: {left:?}"
    );
    println!(
        "1,020 runs, 3 open, 20 of the last fortnight: {} refs after {requests} requests",
        left.len()
    );
    assert_nothing_lost(&bench, &runs).await;
    assert_eq!(archive(&bench).files.len(), 998);

    bench.sim.forget_requests();
    assert_eq!(fold(&bench, &open).await.unwrap().runs, 0);
    let written = bench
        .sim
        .requests()
        .into_iter()
        .filter(|request| request.method != Method::GET);
    assert_eq!(
        written
            .filter(|request| !request.path.contains("access_tokens"))
            .count(),
        0,
        "nothing is due"
    );

    // The next quarter has a ref of its own, and the newest says where a run is.
    bench.clock.advance(TimeDelta::days(60));
    fold(&bench, &[]).await.unwrap();
    assert_eq!(refs(&bench, ""), [QUARTER, "refs/loopgate/archive/2027Q1"]);
    assert_nothing_lost(&bench, &runs).await;
}

#[tokio::test]
async fn what_earlier_versions_moved_is_read_and_folded() {
    let bench = Bench::new().await;
    let objects = process(&bench);
    let moved = RefName::of("refs/loopgate/archive/12").unwrap();
    let runs = [(PrNumber::new(12), save(&objects, moved.clone()).await)];
    assert_nothing_lost(&bench, &runs).await;
    assert_eq!(archived(&objects, PrNumber::new(1)).await.unwrap(), None);
    // A process that died while it moved the run left both refs.
    objects
        .compare_and_swap(&name(12), None, runs[0].1[1])
        .await
        .unwrap();
    bench.clock.advance(TimeDelta::days(14));
    assert_eq!(fold(&bench, &[]).await.unwrap().runs, 2);
    assert_eq!(refs(&bench, ""), [QUARTER]);
    assert_nothing_lost(&bench, &runs).await;
}

/// GitHub takes updates of such refs at once, or does not.
fn refuses_at_once(bench: &Bench) {
    bench
        .sim
        .add_fault(RequestFault::on("/graphql", Harm::status(StatusCode::NOT_FOUND)).unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_death_at_any_request_of_a_fold_loses_nothing() {
    for at_once in [true, false] {
        let mut deaths = 0;
        for (nth, harm) in (0..).flat_map(|nth| [(nth, Harm::Drop), (nth, Harm::DropAnswer)]) {
            let bench = Bench::new().await;
            let runs = ended(&bench, 1..=3).await;
            bench.clock.advance(TimeDelta::days(14));
            let spare = |harm: Harm| RequestFault::on("/repos/|/graphql", harm).unwrap();
            match harm {
                // Nothing is carried out any more, as where the process died before it.
                Harm::Drop => bench
                    .sim
                    .add_fault(spare(Harm::Drop).often(Often::After(nth))),
                // The answer is lost, and the request is repeated.
                _ => {
                    bench
                        .sim
                        .add_fault(spare(Harm::Delay(Duration::ZERO)).often(Often::Times(nth)));
                    bench
                        .sim
                        .add_fault(spare(harm.clone()).often(Often::Times(1)));
                }
            }
            if !at_once {
                refuses_at_once(&bench);
            }
            let ended_well = fold(&bench, &[]).await.is_ok();
            bench.sim.heal();
            assert_nothing_lost(&bench, &runs).await;
            if !at_once {
                refuses_at_once(&bench);
            }
            fold(&bench, &[]).await.unwrap();
            assert_eq!(refs(&bench, ""), [QUARTER], "{harm:?} at {nth}");
            assert_nothing_lost(&bench, &runs).await;
            assert_eq!(archive(&bench).files.len(), 3, "{harm:?} at {nth}");
            deaths += 1;
            if ended_well && matches!(harm, Harm::Drop) {
                break;
            }
        }
        println!("at once {at_once}: ended at {deaths} places");
        assert!(deaths > if at_once { 20 } else { 30 }, "{deaths}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_that_fold_at_once_one_wins_and_the_other_tries_again() {
    for others in [[].as_slice(), &[1, 3, 5, 7, 9]] {
        let bench = Bench::new().await;
        let runs = ended(&bench, 1..=10).await;
        bench.clock.advance(TimeDelta::days(14));
        let evens = if others.is_empty() {
            [].as_slice()
        } else {
            &[2, 4, 6, 8, 10]
        };
        // Both are held when they would move the refs.
        bench
            .sim
            .add_fault(RequestFault::on("/graphql", Harm::Hold).unwrap());
        let healed = async {
            let wait = |sim: &Simulator| sim.hanging() == 2;
            bench
                .sim
                .wait_until(wait, Duration::from_secs(30))
                .await
                .unwrap();
            bench.sim.heal();
        };
        let (one, two, ()) = futures::join!(fold(&bench, others), fold(&bench, evens), healed);
        // Of the same runs both made the same commit.
        let (folded, folds) = if others.is_empty() { (20, 1) } else { (10, 2) };
        assert_eq!(one.unwrap().runs + two.unwrap().runs, folded);
        assert_eq!(
            archive(&bench).commits.len(),
            20 + folds,
            "each is folded once"
        );
        assert_eq!(refs(&bench, ""), [QUARTER]);
        assert_eq!(archive(&bench).files.len(), 10);
        assert_nothing_lost(&bench, &runs).await;
    }
}

fn change() -> PullSpec {
    PullSpec::new("Add one").file("src/lib.rs", "fn one() {}\nfn two() {}\n")
}

/// A pull request that has failed once, whose check `unit` was skipped, and that was closed.
async fn closed(bench: &Bench, reconcile: &Reconcile) -> Pr {
    let pr = bench.opens(change());
    bench.decided(reconcile, &pr).await;
    bench.checked(&pr, "failed");
    bench.decided(reconcile, &pr).await;
    bench
        .sim
        .user("olga")
        .comment(&pr, "/loop skip unit --reason \"it is broken on main\"")
        .unwrap();
    bench.decided(reconcile, &pr).await;
    bench.sim.user("alice").close(&pr).unwrap();
    bench.run(reconcile, &pr).await;
    pr
}

fn kept(state: &Value) -> [&Value; 4] {
    ["run_id", "attempts", "skips", "failures"].map(|part| &state[part])
}

#[tokio::test]
async fn a_run_goes_on_with_all_it_had_when_it_is_reopened() {
    let bench = Bench::with_config(Some(&format!(
        "{CONFIG}loop: {{ execution_gate: {{ allow_skip: true }} }}
"
    )))
    .await;
    let reconcile = Reconcile::new(bench.github.clone());
    let pr = closed(&bench, &reconcile).await;
    let before = bench.state(&pr).files;
    let state = loopgate_core::fixtures::run_document(&before["loop-state.json"]);
    assert!(
        state["attempts"].as_array().is_some_and(|it| it.len() == 1),
        "{state:#}"
    );
    assert!(
        state["skips"].as_array().is_some_and(|it| it.len() == 1),
        "{state:#}"
    );
    bench.clock.advance(TimeDelta::days(20));
    assert_eq!(fold(&bench, &[]).await.unwrap().runs, 1);
    assert_eq!(refs(&bench, "pr/"), [""; 0]);
    bench
        .run(&Reconcile::new(app(&bench.sim, &bench.clock)), &pr)
        .await;
    assert_eq!(refs(&bench, "pr/"), [""; 0], "what is closed stays folded");

    bench.sim.user("alice").reopen(&pr).unwrap();
    bench
        .decided(&Reconcile::new(app(&bench.sim, &bench.clock)), &pr)
        .await;
    let after = bench.state(&pr).files;
    let again = loopgate_core::fixtures::run_document(&after["loop-state.json"]);
    assert_eq!(kept(&again), kept(&state));
    assert_eq!(after["attempts/001.json"], before["attempts/001.json"]);
    assert!(
        after["history.jsonl"].starts_with(&before["history.jsonl"]),
        "{}",
        after["history.jsonl"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reopened_run_that_is_folded_while_it_saves_goes_on() {
    let bench = Bench::new().await;
    let pr = closed(&bench, &Reconcile::new(bench.github.clone())).await;
    let before = bench.state(&pr).files;
    bench.clock.advance(TimeDelta::days(20));
    bench.sim.user("alice").reopen(&pr).unwrap();
    // The turn is held where it saves; the fold does not know yet that it is open.
    bench.sim.add_fault(
        RequestFault::on("/git/refs/loopgate/pr/", Harm::Hold)
            .unwrap()
            .method(Method::PATCH),
    );
    let turn = Reconcile::new(app(&bench.sim, &bench.clock));
    let folds = async {
        let waits = |sim: &Simulator| sim.hanging() == 1;
        bench
            .sim
            .wait_until(waits, Duration::from_secs(30))
            .await
            .unwrap();
        assert_eq!(fold(&bench, &[]).await.unwrap().runs, 1);
        bench.sim.heal();
    };
    let (_, ()) = futures::join!(bench.decided(&turn, &pr), folds);
    let after = bench.state(&pr).files;
    assert_eq!(after["attempts/001.json"], before["attempts/001.json"]);
    assert!(
        after["history.jsonl"].starts_with(&before["history.jsonl"]),
        "{}",
        after["history.jsonl"]
    );
}

#[tokio::test]
async fn a_rate_limit_ends_a_fold_with_the_time_to_come_back() {
    let bench = Bench::new().await;
    ended(&bench, 1..=2).await;
    bench.clock.advance(TimeDelta::days(14));
    bench
        .sim
        .add_fault(RequestFault::on("/graphql", Harm::secondary_limit(90)).unwrap());
    let at = bench.now() + TimeDelta::seconds(90);
    assert!(
        matches!(fold(&bench, &[]).await, Err(RefsError::Fault { retry: Retry::At(until), .. }) if until == at)
    );
}
