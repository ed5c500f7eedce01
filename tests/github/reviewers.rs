//! How often GitHub is asked for the threads of AI reviewers. `tests/scenarios/reviewers.rs` has what they decide.

use loopgate::github::Reconcile;
use loopgate_core::{AppId, InstallationId};
use loopgate_simulator::Pr;

use crate::{
    bench::{Bench, CONFIG},
    reconcile::change,
};

/// A pull request of alice's with a configured reviewer.
async fn reviewed(severity: &str) -> (Bench, Pr) {
    let reviewers =
        format!("reviewers: [{{ app: coderabbitai, severity: {severity}, timeout: 15m }}]\n");
    let bench = Bench::with_config(Some(&format!("{CONFIG}{reviewers}"))).await;
    bench
        .sim
        .install_another("coderabbitai", AppId::new(347_564), InstallationId::new(77))
        .unwrap();
    let pr = bench.opens(change());
    (bench, pr)
}

fn questions(bench: &Bench) -> usize {
    bench
        .sim
        .requests()
        .iter()
        .filter(|request| request.path == "/graphql")
        .count()
}

#[tokio::test]
async fn two_hundred_threads_are_two_questions() {
    let (bench, pr) = reviewed("fail").await;
    for _ in 0..200 {
        bench
            .sim
            .user("coderabbitai[bot]")
            .comment_inline(&pr, "src/auth/token.rs", 1, "**Rename it.**")
            .unwrap();
    }
    bench.sim.forget_requests();
    bench
        .decided(&Reconcile::new(bench.github.clone()), &pr)
        .await;
    assert_eq!(questions(&bench), 2);
}

#[tokio::test]
async fn threads_are_asked_for_where_a_reviewer_is_configured() {
    let (bench, pr) = reviewed("warn").await;
    let reconcile = Reconcile::new(bench.github.clone());
    bench.decided(&reconcile, &pr).await;
    bench.sim.forget_requests();
    bench.decided(&reconcile, &pr).await;
    assert_eq!(questions(&bench), 1);
    let bench = Bench::new().await;
    let pr = bench.opens(change());
    bench
        .decided(&Reconcile::new(bench.github.clone()), &pr)
        .await;
    assert_eq!(questions(&bench), 0, "without a reviewer");
}
