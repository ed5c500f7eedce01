//! The organisation's defaults, in its `.github` repository.

use chrono::TimeDelta;
use loopgate::github::Observer;
use loopgate_core::{
    RepoName,
    observed::ObservationProblem,
    policy::{Policy, PolicyOrigin},
};
use loopgate_simulator::{CommitSpec, Conditional, Pr, PullSpec};

use crate::bench::{Bench, CONFIG};

const DEFAULTS: &str = "\
version: 1
enabled: true
loop: { max_attempts: 2, same_error: 1 }
policy: { locked: [gates.security] }
";

fn defaults(bench: &Bench, text: &str) -> RepoName {
    bench
        .sim
        .create_repo("acme/.github", &[("loopgate.yml", text)])
        .unwrap()
}

fn opened(bench: &Bench) -> Pr {
    let spec = PullSpec::new("Check tokens").file("src/auth/token.rs", "fn check() {}\n");
    bench.opens(spec)
}

async fn governed(
    bench: &Bench,
    observer: &Observer,
    pr: &Pr,
) -> Option<(Policy, Vec<ObservationProblem>)> {
    let observed = bench.observe(observer, pr).await.unwrap()?;
    Some((observed.policy, observed.snapshot.problems))
}

/// Requests for the organisation's file, and how many of them were conditional.
fn asked(bench: &Bench) -> (usize, usize) {
    let requests = bench.sim.requests();
    let ours: Vec<_> = requests
        .iter()
        .filter(|request| request.path.starts_with("/repos/acme/.github/"))
        .collect();
    (
        ours.len(),
        ours.iter()
            .filter(|request| request.conditional != Conditional::No)
            .count(),
    )
}

#[tokio::test]
async fn enabled_there_makes_a_repository_without_a_file_active() {
    let bench = Bench::with_config(None).await;
    defaults(&bench, DEFAULTS);
    let (observer, pr) = (Observer::new(bench.github.clone()), opened(&bench));
    let (policy, problems) = governed(&bench, &observer, &pr)
        .await
        .expect("it is active");
    assert_eq!((policy.retry.max_attempts, problems), (2, vec![]));
    assert!(
        matches!(policy.origin, PolicyOrigin::Base { .. }),
        "{:?}",
        policy.origin
    );
}

#[tokio::test]
async fn the_repositorys_file_lies_on_top_but_not_on_what_is_locked() {
    let bench = Bench::with_config(Some(&format!(
        "{CONFIG}loop: {{ max_attempts: 5 }}\ngates: {{ security: off }}\n"
    )))
    .await;
    defaults(&bench, DEFAULTS);
    let (observer, pr) = (Observer::new(bench.github.clone()), opened(&bench));
    let (policy, _) = governed(&bench, &observer, &pr).await.unwrap();
    assert_eq!((policy.retry.max_attempts, policy.retry.same_error), (5, 1));
    assert!(policy.gates.contains_key(&"security".parse().unwrap()));
}

#[tokio::test]
async fn a_slip_there_undoes_nothing_and_is_told() {
    let bench = Bench::with_config(Some("version: 1\ngates: { security: off }\n")).await;
    let organisation = defaults(&bench, DEFAULTS);
    let slip = CommitSpec::new("Slip").file(
        "loopgate.yml",
        "version: 1\npolicy: { locked: [gate.security] }\n",
    );
    bench
        .sim
        .user("olga")
        .push_to(&organisation, "main", slip)
        .unwrap();
    let (observer, pr) = (Observer::new(bench.github.clone()), opened(&bench));
    let (policy, problems) = governed(&bench, &observer, &pr).await.unwrap();
    assert!(
        policy.gates.contains_key(&"security".parse().unwrap()),
        "what was locked stays locked"
    );
    let [problem] = problems.as_slice() else {
        panic!("{problems:?}")
    };
    assert_eq!(problem.what, "the organisation's acme/.github/loopgate.yml");
    assert!(
        problem.reason.contains(
            "line 2, column 20: `policy.locked[0]`: there is no key `gate.security` to lock"
        ),
        "{}",
        problem.reason
    );
}

#[tokio::test]
async fn a_repositorys_broken_file_leaves_the_organisations_rules() {
    let bench = Bench::with_config(Some("version: [")).await;
    defaults(&bench, DEFAULTS);
    let (observer, pr) = (Observer::new(bench.github.clone()), opened(&bench));
    let (policy, _) = governed(&bench, &observer, &pr).await.unwrap();
    assert!(
        matches!(&policy.origin, PolicyOrigin::Presets { error, .. } if error.file == ".github/loopgate.yml")
    );
    assert_eq!(policy.retry.max_attempts, 2);
}

#[tokio::test]
async fn it_is_read_once_in_five_minutes_and_then_conditionally() {
    let bench = Bench::new().await;
    let organisation = defaults(&bench, DEFAULTS);
    let (observer, pr) = (Observer::new(bench.github.clone()), opened(&bench));
    bench.sim.forget_requests();
    for _ in 0..2 {
        governed(&bench, &observer, &pr).await.unwrap();
    }
    assert_eq!(asked(&bench), (1, 0));
    bench.clock.advance(TimeDelta::minutes(6));
    bench.sim.forget_requests();
    governed(&bench, &observer, &pr).await.unwrap();
    assert_eq!(asked(&bench), (1, 1));

    // An event about it, or about members and teams, makes us forget at once.
    let change = CommitSpec::new("Be strict").file(
        "loopgate.yml",
        DEFAULTS.replace("max_attempts: 2", "max_attempts: 1"),
    );
    bench
        .sim
        .user("olga")
        .push_to(&organisation, "main", change)
        .unwrap();
    assert_eq!(
        governed(&bench, &observer, &pr)
            .await
            .unwrap()
            .0
            .retry
            .max_attempts,
        2
    );
    observer.forget();
    assert_eq!(
        governed(&bench, &observer, &pr)
            .await
            .unwrap()
            .0
            .retry
            .max_attempts,
        1
    );
}

#[tokio::test]
async fn membership_is_believed_until_an_event_tells_that_it_changed() {
    let text = "version: 1\ngates: { security: { approvers: { teams: [acme/security] } } }\n";
    let bench = Bench::with_config(Some(text)).await;
    let team = bench
        .sim
        .admin()
        .add_team("acme/security", &["bob"])
        .unwrap();
    bench
        .sim
        .admin()
        .grant_team(&team, &bench.repo, loopgate_simulator::Role::Write)
        .unwrap();
    let (observer, pr) = (Observer::new(bench.github.clone()), opened(&bench));
    let members = async || {
        let observed = bench.observe(&observer, &pr).await.unwrap().unwrap();
        observed.snapshot.authority.teams[&team]
            .as_ref()
            .unwrap()
            .len()
    };
    assert_eq!(members().await, 1);
    bench.sim.admin().add_team_member(&team, "carol").unwrap();
    assert_eq!(members().await, 1, "believed for five minutes");
    observer.forget();
    assert_eq!(members().await, 2);
}
