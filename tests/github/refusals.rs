//! GitHub refuses for a moment what it grants a moment later, and refuses other things for good.

use chrono::TimeDelta;
use http::{Method, StatusCode};
use loopgate::github::Reconcile;
use loopgate_refs::Retry;
use loopgate_simulator::{Harm, RequestFault};

use crate::{
    bench::Bench,
    reconcile::{change, security_team, settled},
};

/// What people see in the end if these requests are refused, until the second look or for ever.
async fn looked_at(refused: Option<(Method, &str, StatusCode)>, for_ever: bool) -> String {
    let bench = Bench::new().await;
    security_team(&bench.sim, &bench);
    let pr = bench.opens(change());
    let reconcile = Reconcile::new(bench.github.clone()).staying();
    if let Some((method, path, status)) = refused {
        bench.sim.add_fault(
            RequestFault::on(path, Harm::status(status))
                .unwrap()
                .method(method),
        );
    }
    let begun = bench.now();
    loop {
        let now = bench.now();
        assert!(
            now < begun + TimeDelta::minutes(3),
            "it is looked at for ever"
        );
        let again = match reconcile.run(&bench.job(&pr), now).await {
            Ok(outcome) => outcome
                .revisit_at
                .filter(|at| *at <= now + TimeDelta::minutes(1)),
            Err(failed) => {
                assert_eq!(failed.retry, Retry::WhenAnswered);
                Some(now + TimeDelta::seconds(20))
            }
        };
        let Some(again) = again else {
            return settled(&bench, &pr);
        };
        bench.clock.advance(again - now);
        if !for_ever {
            bench.sim.heal();
        }
    }
}

#[tokio::test]
async fn a_refusal_is_believed_when_it_is_heard_again() {
    let whole = looked_at(None, false).await;
    let all = [
        StatusCode::FORBIDDEN,
        StatusCode::NOT_FOUND,
        StatusCode::UNPROCESSABLE_ENTITY,
    ];
    for (method, path, statuses) in [
        // The pull request seems gone; what its checks say may not be read.
        (Method::GET, r"/pulls/\d+$", &all[1..2]),
        (Method::GET, "/check-runs", &all[..2]),
        // What people are to see, and the saved state.
        (Method::POST, "/requested_reviewers", &all),
        (Method::POST, r"/issues/\d+/labels", &all),
        (Method::POST, "/git/trees", &all),
    ] {
        for status in statuses {
            let refused = Some((method.clone(), path, *status));
            assert_eq!(
                looked_at(refused.clone(), false).await,
                whole,
                "{method} {path} {status}"
            );
            // One that lasts ends too.
            looked_at(refused, true).await;
        }
    }
}
