//! Merge groups, and looking without touching.

use loopgate::github::{GroupAnswer, MergeGroup, Reconcile, ReconcileRequest};
use loopgate_render as render;
use loopgate_simulator::{self, CheckSpec, Conclusion, Pr, PullSpec};
use serde_json::Value;

use crate::bench::Bench;

const CONFIG: &str = "\
version: 1
verify:
  checks:
    build: { kind: build, from: { check: build } }
    unit: { kind: test, from: { check: unit } }
gates:
  security: { approvers: { users: [bob] } }
  deploy: off
";

/// A pull request whose checks pass.
async fn green(bench: &Bench, reconcile: &Reconcile, path: &str) -> Pr {
    let pr = bench.opens(PullSpec::new(path).file(path, "x\n"));
    let head = bench.sim.head(&pr).unwrap();
    for check in ["build", "unit"] {
        let passes = CheckSpec::concluded(check, Conclusion::Success);
        bench
            .sim
            .ci("other-ci")
            .check_run(&bench.repo, head, passes)
            .unwrap();
    }
    bench.run(reconcile, &pr).await;
    pr
}

fn asked(bench: &Bench, group: &loopgate_simulator::MergeGroup) -> MergeGroup {
    MergeGroup {
        installation: Some(bench.installation()),
        repository: bench.repo.clone(),
        head: group.head_sha,
        base: group.base_sha,
        base_ref: format!("refs/heads/{}", group.base_branch),
        head_ref: Some(group.head_ref.clone()),
    }
}

/// Name, conclusion or status, title of our check runs on the group's commit.
async fn shown(bench: &Bench, group: &loopgate_simulator::MergeGroup) -> Vec<String> {
    let path = format!(
        "/repos/{}/commits/{}/check-runs",
        bench.repo, group.head_sha
    );
    let runs: Value = bench.client().get(&path).await.unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let ours = runs["check_runs"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|run| text(&run["name"]).starts_with("loopgate"));
    let line = |run: &Value| {
        let end = run["conclusion"]
            .as_str()
            .map_or_else(|| text(&run["status"]), str::to_owned);
        format!(
            "{}: {end}, {}",
            text(&run["name"]),
            text(&run["output"]["title"])
        )
    };
    let mut lines: Vec<String> = ours.map(line).collect();
    lines.sort();
    lines
}

#[tokio::test]
async fn a_queue_is_answered_on_the_groups_commit() {
    let bench = Bench::with_config(Some(CONFIG)).await;
    let reconcile = Reconcile::new(bench.github.clone());
    let (one, two) = (
        green(&bench, &reconcile, "one.rs").await,
        green(&bench, &reconcile, "two.rs").await,
    );
    let group = bench.sim.admin().queue(&[&one, &two]).unwrap();
    let asked = asked(&bench, &group);
    assert_eq!(
        reconcile
            .merge_group(&asked, bench.now())
            .await
            .unwrap()
            .answer,
        GroupAnswer::Final
    );
    let both = [
        "loopgate / gates: success, No gate closed: #1 and #2",
        "loopgate / verify: success, Passed: #1 and #2",
    ];
    assert_eq!(shown(&bench, &group).await, both);
    // Asked twice, nothing is written twice.
    bench.sim.forget_requests();
    reconcile.merge_group(&asked, bench.now()).await.unwrap();
    assert_eq!(bench.sim.request_counts().writes, 0);
}

#[tokio::test]
async fn the_groups_own_evidence_counts_before_the_pull_requests() {
    let bench = Bench::with_config(Some(CONFIG)).await;
    let reconcile = Reconcile::new(bench.github.clone());
    let one = green(&bench, &reconcile, "one.rs").await;
    let group = bench.sim.admin().queue(&[&one]).unwrap();
    let ci = bench.sim.ci("other-ci");
    ci.check_run(
        &bench.repo,
        group.head_sha,
        CheckSpec::concluded("build", Conclusion::Success),
    )
    .unwrap();
    let asked = asked(&bench, &group);
    assert_eq!(
        reconcile
            .merge_group(&asked, bench.now())
            .await
            .unwrap()
            .answer,
        GroupAnswer::Unfinished
    );
    assert_eq!(
        shown(&bench, &group).await[1],
        "loopgate / verify: in_progress, Testing #1"
    );
    ci.check_run(
        &bench.repo,
        group.head_sha,
        CheckSpec::concluded("unit", Conclusion::Failure),
    )
    .unwrap();
    assert_eq!(
        reconcile
            .merge_group(&asked, bench.now())
            .await
            .unwrap()
            .answer,
        GroupAnswer::Final
    );
    assert_eq!(
        shown(&bench, &group).await[1],
        "loopgate / verify: failure, Does not pass: #1"
    );
}

#[tokio::test]
async fn a_gate_that_is_closed_by_now_fails_the_group() {
    let bench = Bench::with_config(Some(CONFIG)).await;
    let reconcile = Reconcile::new(bench.github.clone());
    let one = green(&bench, &reconcile, "one.rs").await;
    let guarded = green(&bench, &reconcile, "src/auth/token.rs").await;
    let approval = bench
        .sim
        .user("bob")
        .comment(&guarded, "security approved")
        .unwrap();
    let group = bench.sim.admin().queue(&[&one, &guarded]).unwrap();
    let asked = asked(&bench, &group);
    reconcile.merge_group(&asked, bench.now()).await.unwrap();
    assert_eq!(
        shown(&bench, &group).await[0],
        "loopgate / gates: success, No gate closed: #1 and #2"
    );
    bench
        .sim
        .user("bob")
        .delete_comment(&guarded, approval)
        .unwrap();
    reconcile.merge_group(&asked, bench.now()).await.unwrap();
    let last = shown(&bench, &group).await;
    assert!(
        last.contains(&"loopgate / gates: failure, A gate is closed: #2".to_owned()),
        "{last:?}"
    );
}

#[tokio::test]
async fn looking_explains_and_touches_nothing() {
    let bench = Bench::with_config(Some(CONFIG)).await;
    let reconcile = Reconcile::new(bench.github.clone());
    let pr = green(&bench, &reconcile, "src/auth/token.rs").await;
    bench
        .sim
        .user("mallory")
        .comment(&pr, "security approved")
        .unwrap();
    bench.sim.forget_requests();
    let job = ReconcileRequest {
        installation: Some(bench.installation()),
        repository: bench.repo.clone(),
        number: pr.number,
        hints: Vec::new(),
    };
    let looked = reconcile
        .peek(&job, bench.now())
        .await
        .unwrap()
        .expect("it is looked after");
    assert_eq!(bench.sim.request_counts().writes, 0);
    let page = render::plain(&render::explain(&looked.subject()));
    for said in [
        "It stands at VALIDATE: the security gate is closed.",
        "What opens it: bob comments",
        "mallory’s comment does not count: mallory is not an approver of this gate. It opens for bob.",
    ] {
        assert!(page.replace("**", "").contains(said), "{said}\n{page}");
    }
    let document = render::explanation(&looked.subject());
    let document = serde_json::to_value(document).unwrap();
    assert_eq!(document["schema"], "loopgate.explain/v1");
    let gate = document["gates"]
        .as_array()
        .unwrap()
        .iter()
        .find(|gate| gate["name"] == "security")
        .unwrap();
    assert_eq!(
        (&gate["closed"], &gate["words"][0]["outcome"]),
        (&Value::Bool(true), &Value::from("refused"))
    );
}
