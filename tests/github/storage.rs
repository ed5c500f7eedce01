//! The state in the status comment: who may write what, who writes first, and how a run moves when
//! the configuration does.

use std::collections::{BTreeMap, BTreeSet};

use loopgate::github::{Reconcile, fold_ended_runs, state_apart};
use loopgate_refs::Seal;
use loopgate_simulator::{CommentView, CommitSpec, Harm, Often, Pr, PullSpec, RequestFault};
use serde_json::Value;

use crate::{
    bench::{Bench, CONFIG, app},
    packed::packed,
    reconcile::{change, ours, security_team, settled},
    unpacked::unpacked,
};

const IN_COMMENT: &str = "state: { backend: comment }\n";

fn in_comment() -> String {
    format!("{CONFIG}{IN_COMMENT}")
}

/// A process that seals, as a server does.
fn server(bench: &Bench) -> Reconcile {
    let seal = Seal::derived_from([b"the webhook secret".as_slice()]);
    Reconcile::new(app(&bench.sim, &bench.clock)).sealing(seal)
}

fn status(bench: &Bench, pr: &Pr) -> CommentView {
    let comments = bench.view(pr).comments;
    comments
        .into_iter()
        .find(|comment| comment.body.starts_with("<!-- loopgate:status -->"))
        .expect("a status comment")
}

/// The documents in the comment.
fn documents(bench: &Bench, pr: &Pr) -> BTreeMap<String, String> {
    unpacked(state_apart(&status(bench, pr).body).1.expect("a state")).expect("documents")
}

fn state(bench: &Bench, pr: &Pr) -> Value {
    loopgate_core::fixtures::run_document(&documents(bench, pr)["loop-state.json"])
}

/// A comment with this state in place of the one in it.
fn with_state(body: &str, documents: &BTreeMap<String, String>) -> String {
    format!(
        "{}\n\n<!-- loopgate-state:{} -->\n",
        state_apart(body).0,
        packed(documents)
    )
}

/// A pull request that has failed once, and the id of its run.
async fn failed_once(bench: &Bench, reconcile: &Reconcile) -> (Pr, String) {
    let pr = bench.opens(change());
    let run = bench.decided(reconcile, &pr).await.run_id;
    bench.checked(&pr, "failed");
    bench.run(reconcile, &pr).await;
    (pr, run)
}

fn configure(bench: &Bench, text: String) {
    let commit = CommitSpec::new("Configure").file(".github/loopgate.yml", text);
    bench
        .sim
        .user("olga")
        .push_to(&bench.repo, "main", commit)
        .unwrap();
}

#[tokio::test]
async fn a_run_is_kept_in_the_comment_and_no_ref_is_made() {
    let bench = Bench::with_config(Some(&in_comment())).await;
    let pr = bench.opens(change());
    let reconcile = server(&bench);
    let first = bench.decided(&reconcile, &pr).await;
    bench.checked(&pr, "failed");
    let second = bench.decided(&reconcile, &pr).await;
    assert_eq!((second.run_id, second.attempt), (first.run_id, 1));
    let files: Vec<_> = documents(&bench, &pr).into_keys().collect();
    assert_eq!(
        files,
        ["attempts/001.json", "history.jsonl", "loop-state.json"],
        "the comment itself is the report"
    );
    assert!(
        bench
            .sim
            .refs(&bench.repo)
            .unwrap()
            .iter()
            .all(|name| !name.contains("loopgate"))
    );
    let body = status(&bench, &pr).body;
    assert!(
        state_apart(&body)
            .0
            .contains("state in the status comment, hidden"),
        "{body}"
    );
    // Another process goes on from it, and finds nothing to change.
    let third = bench.decided(&server(&bench), &pr).await;
    assert_eq!((third.saved, third.effects), (None, 0));
}

#[tokio::test]
async fn an_unchanged_pull_request_costs_free_reads_alone() {
    let bench = Bench::with_config(Some(&in_comment())).await;
    security_team(&bench.sim, &bench);
    let pr = bench.opens(change());
    bench.checked(&pr, "failed");
    let reconcile = server(&bench);
    for _ in 0..3 {
        bench.run(&reconcile, &pr).await;
    }
    bench.sim.forget_requests();
    bench.run(&reconcile, &pr).await;
    let counts = bench.sim.request_counts();
    assert!(counts.total <= 10, "{:#?}", bench.sim.requests());
    // That there is no ref is asked each time, and 404 is an answer of its own.
    assert_eq!(
        (counts.total - counts.not_modified, counts.writes),
        (1, 0),
        "{:#?}",
        bench.sim.requests()
    );
}

/// Anybody who has write access can edit the comment as they can move a ref: what it would gain them is not believed.
#[tokio::test]
async fn what_somebody_wrote_into_the_state_gains_nothing() {
    let bench = Bench::with_config(Some(&in_comment())).await;
    let pr = bench.opens(change());
    let other = bench.opens(change().branch("other"));
    let reconcile = server(&bench);
    for pr in [&pr, &other] {
        bench.checked(pr, "failed");
        bench.run(&reconcile, pr).await;
        bench.run(&reconcile, pr).await;
    }
    let honest = status(&bench, &pr);
    let skip = serde_json::json!([{ "check": "unit", "reason": "trust me", "by": "olga", "at": "2026-11-20T10:00:00Z" }]);
    let mut forged = documents(&bench, &pr);
    let mut skipping = state(&bench, &pr);
    skipping["skips"] = skip;
    forged.insert("loop-state.json".into(), skipping.to_string());
    let of_the_other = format!(
        "{}\n\n<!-- loopgate-state:{} -->\n",
        state_apart(&honest.body).0,
        state_apart(&status(&bench, &other).body).1.unwrap()
    );
    for (edited, told) in [
        (
            with_state(&honest.body, &forged),
            "does not carry this App's seal",
        ),
        (of_the_other, "is that of another pull request"),
        (
            with_state(&honest.body, &BTreeMap::new()),
            "loop-state.json is missing",
        ),
        (
            honest
                .body
                .replace("loopgate-state:v1.", "loopgate-state:v1.AAAA"),
            "loop-state.json is missing",
        ),
    ] {
        bench
            .sim
            .user("olga")
            .silently()
            .edit_comment(&pr, honest.id, &edited)
            .unwrap();
        let summary = bench.decided(&reconcile, &pr).await;
        assert_eq!(summary.attempt, 1, "{told}");
        let now = state(&bench, &pr);
        assert_eq!(now["skips"], serde_json::json!([]));
        let body = status(&bench, &pr).body;
        assert!(body.contains(told), "{body}");
        assert!(
            documents(&bench, &pr)["history.jsonl"].contains("\"recovered\""),
            "{told}"
        );
        bench.run(&reconcile, &pr).await;
    }
}

#[tokio::test]
async fn the_comment_is_read_again_before_it_is_written() {
    let bench = Bench::with_config(Some(&in_comment())).await;
    let pr = bench.opens(change());
    let [slow, quick] = [(); 2].map(|()| server(&bench));
    bench.decided(&quick, &pr).await;
    bench.checked(&pr, "failed");
    // The slow one has read everything, and is about to look whether the comment still is what it saw.
    let look = RequestFault::on("/issues/comments/", Harm::Hold)
        .unwrap()
        .often(Often::Times(1));
    bench.sim.add_fault(look.method(http::Method::GET));
    let (job, now) = (bench.job(&pr), bench.now());
    let meanwhile = async {
        bench
            .sim
            .wait_until(|sim| sim.hanging() == 1, std::time::Duration::from_secs(30))
            .await
            .unwrap();
        bench
            .sim
            .user("bob")
            .comment(&pr, "/loop stop for now")
            .unwrap();
        let summary = bench.decided(&quick, &pr).await;
        bench.sim.heal();
        summary
    };
    let (late, quick) = futures::join!(slow.run(&job, now), meanwhile);
    late.unwrap();
    let state = state(&bench, &pr);
    assert_eq!(
        (state["status"].as_str(), state["stop"]["reason"].as_str()),
        (Some("stopped"), Some("user_stop"))
    );
    assert_eq!(state["attempts"].as_array().unwrap().len(), 1, "{quick:?}");
    let stopped = documents(&bench, &pr)["history.jsonl"]
        .matches("\"command\":\"stop\"")
        .count();
    assert_eq!(stopped, 1, "nothing was lost, and nothing done twice");
}

#[tokio::test]
async fn two_processes_at_once_agree_on_one_comment_in_the_end() {
    let bench = Bench::with_config(Some(&in_comment())).await;
    let pr = bench.opens(change());
    let [one, two] = [(); 2].map(|()| server(&bench));
    futures::join!(bench.run(&one, &pr), bench.run(&two, &pr));
    bench.checked(&pr, "failed");
    futures::join!(bench.run(&one, &pr), bench.run(&two, &pr));
    bench.run(&one, &pr).await;
    bench.run(&two, &pr).await;
    let view = bench.view(&pr);
    let held = ours(&view)
        .into_iter()
        .filter(|body| state_apart(body).1.is_some())
        .count();
    assert_eq!(held, 1, "{:#?}", ours(&view));
    assert_eq!(state(&bench, &pr)["attempts"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_turn_that_broke_off_anywhere_is_healed_by_the_next() {
    let whole = {
        let bench = Bench::with_config(Some(&in_comment())).await;
        security_team(&bench.sim, &bench);
        let pr = bench.opens(change());
        bench.run(&server(&bench), &pr).await;
        settled(&bench, &pr)
    };
    for nth in 0..8 {
        for harm in [Harm::Drop, Harm::DropAnswer] {
            let bench = Bench::with_config(Some(&in_comment())).await;
            security_team(&bench.sim, &bench);
            let pr = bench.opens(change());
            let spare =
                RequestFault::on("/repos/", Harm::Delay(std::time::Duration::ZERO)).unwrap();
            bench
                .sim
                .add_fault(spare.method(http::Method::POST).often(Often::Times(nth)));
            let lost = RequestFault::on("/repos/", harm.clone())
                .unwrap()
                .method(http::Method::POST);
            bench.sim.add_fault(lost.often(Often::Times(1)));
            let first = server(&bench).run(&bench.job(&pr), bench.now()).await;
            bench.sim.heal();
            let next = server(&bench);
            bench.run(&next, &pr).await;
            bench.run(&next, &pr).await;
            assert_eq!(
                settled(&bench, &pr),
                whole,
                "{harm:?} of write {nth}: {first:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_run_moves_with_the_configuration_and_keeps_all_its_documents() {
    let bench = Bench::new().await;
    let reconcile = server(&bench);
    let (pr, run) = failed_once(&bench, &reconcile).await;
    let in_ref = bench.state(&pr).files;
    let name = format!("refs/loopgate/pr/{}", pr.number);

    configure(&bench, in_comment());
    assert_eq!(bench.decided(&reconcile, &pr).await.run_id, run);
    assert!(
        !bench.sim.refs(&bench.repo).unwrap().contains(&name),
        "it has moved"
    );
    let moved = documents(&bench, &pr);
    assert_eq!(moved["attempts/001.json"], in_ref["attempts/001.json"]);
    assert!(
        moved["history.jsonl"].starts_with(&in_ref["history.jsonl"]),
        "{}",
        moved["history.jsonl"]
    );

    configure(&bench, CONFIG.to_owned());
    assert_eq!(bench.decided(&reconcile, &pr).await.run_id, run);
    let back = bench.state(&pr).files;
    assert_eq!(back["attempts/001.json"], in_ref["attempts/001.json"]);
    assert!(back["history.jsonl"].starts_with(&moved["history.jsonl"]));
    assert_eq!(
        state_apart(&status(&bench, &pr).body).1,
        None,
        "and nothing is left behind"
    );
}

#[tokio::test]
async fn a_run_that_may_not_move_stays_and_people_are_told() {
    let bench = Bench::with_config(Some(&in_comment())).await;
    let reconcile = server(&bench);
    let (pr, run) = failed_once(&bench, &reconcile).await;
    configure(&bench, CONFIG.to_owned());
    let forbidden = RequestFault::on("/git/", Harm::status(http::StatusCode::FORBIDDEN)).unwrap();
    bench.sim.add_fault(forbidden.method(http::Method::POST));
    let summary = bench.decided(&reconcile, &pr).await;
    assert_eq!((summary.run_id, summary.attempt), (run, 1));
    let body = status(&bench, &pr).body;
    assert!(
        state_apart(&body).1.is_some() && body.contains("move the saved state"),
        "{body}"
    );
}

#[tokio::test]
async fn what_was_archived_comes_back_into_the_comment() {
    let bench = Bench::new().await;
    let alice = bench.sim.user("alice");
    let reconcile = server(&bench);
    let (pr, run) = failed_once(&bench, &reconcile).await;
    alice.close(&pr).unwrap();
    bench.run(&reconcile, &pr).await;
    let comments = bench.view(&pr).comments.len();
    configure(&bench, in_comment());
    bench.run(&reconcile, &pr).await;
    assert_eq!(
        bench.view(&pr).comments.len(),
        comments,
        "an ended run does not move"
    );
    bench.clock.advance(chrono::TimeDelta::days(15));
    let folded = fold_ended_runs(
        bench.client().repo(&bench.repo),
        &BTreeSet::new(),
        100,
        bench.now(),
    )
    .await
    .unwrap();
    assert_eq!(folded.runs, 1);
    alice.reopen(&pr).unwrap();
    let summary = bench.decided(&reconcile, &pr).await;
    assert_eq!((summary.run_id, summary.attempt), (run, 1));
    assert_eq!(state(&bench, &pr)["attempts"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn what_ended_is_left_where_it_is_and_goes_on_when_reopened() {
    let bench = Bench::with_config(Some(&in_comment())).await;
    let alice = bench.sim.user("alice");
    let reconcile = server(&bench);
    let (pr, run) = failed_once(&bench, &reconcile).await;
    let visible = state_apart(&status(&bench, &pr).body).0.to_owned();
    alice.close(&pr).unwrap();
    bench.decided(&reconcile, &pr).await;
    assert_eq!(state(&bench, &pr)["status"], "stopped");
    assert_eq!(
        state_apart(&status(&bench, &pr).body).0,
        visible,
        "nothing more is said on a closed pull request"
    );
    bench.clock.advance(chrono::TimeDelta::days(30));
    bench.decided(&reconcile, &pr).await;
    alice.reopen(&pr).unwrap();
    let summary = bench.decided(&reconcile, &pr).await;
    assert_eq!((summary.run_id, summary.attempt), (run, 1));
}

/// Ten failing attempts fit many times over; what would not fit says so and names the way out.
#[tokio::test(flavor = "multi_thread")]
async fn ten_attempts_take_a_fraction_of_the_comment() {
    let bench = Bench::with_config(Some(&in_comment())).await;
    let alice = bench.sim.user("alice");
    let pr = alice
        .open_pull_request(
            &bench.repo,
            PullSpec::new("Add one").file("src/lib.rs", "1\n"),
        )
        .unwrap();
    let reconcile = server(&bench);
    bench.decided(&reconcile, &pr).await;
    for nth in 1..=10 {
        if nth > 1 {
            alice
                .push(
                    &pr,
                    &[("src/lib.rs", &format!("fn number_{nth}() {{}}\n"))],
                    "Try again",
                )
                .unwrap();
            bench.decided(&reconcile, &pr).await;
        }
        bench.checked(&pr, "failed");
        bench.decided(&reconcile, &pr).await;
    }
    let body = status(&bench, &pr).body;
    let packed = state_apart(&body).1.unwrap().len();
    let unpacked: usize = documents(&bench, &pr).values().map(String::len).sum();
    println!(
        "ten attempts: {unpacked} bytes packed into {packed}, of a comment of {}",
        body.len()
    );
    assert_eq!(
        documents(&bench, &pr)
            .keys()
            .filter(|path| path.starts_with("attempts/"))
            .count(),
        10
    );
    assert!(
        packed <= 15_000 && body.len() <= 65_000,
        "{packed} of {}",
        body.len()
    );
}

#[tokio::test]
async fn where_no_ref_may_be_written_people_are_told_of_the_comment() {
    let bench = Bench::new().await;
    let pr = bench.opens(change());
    let forbidden = RequestFault::on("/git/", Harm::status(http::StatusCode::FORBIDDEN)).unwrap();
    bench.sim.add_fault(forbidden.method(http::Method::POST));
    bench.decided(&server(&bench), &pr).await;
    let body = status(&bench, &pr).body;
    assert!(
        body.contains("save the state") && body.contains("backend: comment"),
        "{body}"
    );
}
