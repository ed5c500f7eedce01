//! What looking at a pull request costs that many gates, teams and people are concerned with.

use loopgate::github::Reconcile;
use loopgate_simulator::{PullSpec, Role};

use crate::bench::Bench;

const CONFIG: &str = "\
version: 1
gates:
  architecture: { approvers: { teams: [acme/tech-leads] } }
  security: { approvers: { teams: [acme/security] } }
  database: { approvers: { teams: [acme/dba] } }
  external: { approvers: { teams: [acme/tech-leads] } }
  deploy: { approvers: { teams: [acme/tech-leads] } }
";

/// Comments of one page.
const PAGE: usize = 100;

#[tokio::test]
async fn five_gates_three_teams_and_500_comments_cost_ten_reads_and_one_for_each_further_page() {
    let bench = Bench::with_config(Some(CONFIG)).await;
    for (team, members) in [
        ("acme/tech-leads", ["bob"]),
        ("acme/security", ["carol"]),
        ("acme/dba", ["olga"]),
    ] {
        let team = bench.sim.admin().add_team(team, &members).unwrap();
        bench
            .sim
            .admin()
            .grant_team(&team, &bench.repo, Role::Write)
            .unwrap();
    }
    let change = PullSpec::new("Everything at once")
        .file(
            "src/auth/token.rs",
            "let response = reqwest::get(\"https://pay.example.com\");\n",
        )
        .file(
            "migrations/1_create.sql",
            "CREATE TABLE accounts (id INT);\n",
        )
        .file("Dockerfile", "FROM scratch\n");
    let pr = bench.opens(change);
    let reconcile = Reconcile::new(bench.github.clone());
    bench.run(&reconcile, &pr).await;
    for number in 0..500 {
        let (who, says) = match number % 25 {
            0 => ("mallory", "security approved"),
            1 => ("bob", "architecture approved?"),
            2 => ("carol", "> security approved"),
            3 => ("bob", "external approved"),
            _ => ("dave", "All work and no play makes a dull review."),
        };
        bench.sim.user(who).comment(&pr, says).unwrap();
    }
    for _ in 0..3 {
        bench.run(&reconcile, &pr).await;
    }
    bench.sim.forget_requests();
    let summary = bench.decided(&reconcile, &pr).await;
    assert_eq!((summary.saved, summary.effects), (None, 0));
    let comments = bench.sim.pull_request(&pr).unwrap().comments.len();
    let further = comments.div_ceil(PAGE) - 1;
    let counts = bench.sim.request_counts();
    let paths: Vec<_> = bench
        .sim
        .requests()
        .iter()
        .map(|request| format!("{} {}", request.method, request.path))
        .collect();
    println!(
        "{comments} comments, five gates, three teams: {} requests, {} of them 304",
        counts.total, counts.not_modified
    );
    assert!(counts.total <= 10 + further, "{paths:#?}");
    assert_eq!(
        (counts.not_modified, counts.writes),
        (counts.total, 0),
        "{paths:#?}"
    );
}
