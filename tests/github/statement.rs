//! The signed statement about a merge, as the App writes it beside the state.

use loopgate::{
    github::Reconcile,
    proof::{Envelope, Signer},
};
use loopgate_core::proof::{HEAD, MERGE, Statement};
use loopgate_simulator::{CheckSpec, Conclusion, MergeMethod, Pr, PullSpec};

use crate::bench::Bench;

const KEY: &str = include_str!("../../src/proof/testdata/not-a-secret.pem");
const CONFIG: &str = "\
version: 1
verify:
  checks:
    unit: { kind: test, from: { check: unit } }
gates:
  security: { approvers: { users: [bob] } }
  architecture: off
  database: off
  deploy: off
  external: off
";

/// A pull request under the security gate whose check passes.
async fn gated(bench: &Bench, reconcile: &Reconcile) -> Pr {
    let spec = PullSpec::new("feat: renew").file("src/auth/token.rs", "fn renew() {}\n");
    let pr = bench.opens(spec);
    bench.run(reconcile, &pr).await;
    let passes = CheckSpec::concluded("unit", Conclusion::Success);
    bench
        .sim
        .ci("other-ci")
        .check_run(&bench.repo, bench.sim.head(&pr).unwrap(), passes)
        .unwrap();
    bench.run(reconcile, &pr).await;
    pr
}

fn kept(bench: &Bench, pr: &Pr) -> Option<String> {
    let name = format!("refs/loopgate/pr/{}", pr.number);
    bench
        .sim
        .state_ref(&bench.repo, &name)
        .unwrap()
        .unwrap()
        .files
        .get("verdict.dsse.json")
        .cloned()
}

fn statement(signer: &Signer, text: &str) -> Statement {
    let envelope: Envelope = serde_json::from_str(text).unwrap();
    let statement = envelope.statement().unwrap();
    signer
        .keys
        .verify(&envelope, statement.predicate.created_on)
        .unwrap();
    statement
}

#[tokio::test]
async fn a_merge_is_signed_with_who_approved_what_and_how_checks_ended() {
    let bench = Bench::with_config(Some(CONFIG)).await;
    let signer = Signer::parse(KEY).unwrap();
    let reconcile = Reconcile::new(bench.github.clone()).signing(Some(signer.clone()));
    let pr = gated(&bench, &reconcile).await;
    bench
        .sim
        .user("bob")
        .comment(&pr, "security approved")
        .unwrap();
    bench.run(&reconcile, &pr).await;
    assert_eq!(
        kept(&bench, &pr),
        None,
        "nothing is signed before the merge"
    );
    let merged_as = bench
        .sim
        .user("olga")
        .merge_by(&pr, MergeMethod::Squash)
        .unwrap();
    bench.run(&reconcile, &pr).await;

    let text = kept(&bench, &pr).expect("the statement");
    let said = statement(&signer, &text);
    assert_eq!(
        (said.commit(MERGE), said.commit(HEAD)),
        (Some(merged_as), Some(bench.sim.head(&pr).unwrap()))
    );
    let grounds = &said.predicate.loopgate;
    let gates: Vec<_> = grounds
        .gates
        .iter()
        .map(|gate| (gate.name.as_str(), gate.approvals[0].by.as_str()))
        .collect();
    assert_eq!(gates, [("security", "bob")]);
    let checks: Vec<String> = grounds
        .checks
        .iter()
        .map(|check| format!("{} {}", check.name, check.in_words()))
        .collect();
    assert_eq!(checks, ["unit passed"]);
    assert_eq!(said.objections(), Vec::<String>::new());

    bench.sim.user("alice").comment(&pr, "Thanks!").unwrap();
    bench
        .run(
            &Reconcile::new(bench.github.clone()).signing(Some(signer)),
            &pr,
        )
        .await;
    assert_eq!(
        kept(&bench, &pr).as_deref(),
        Some(&*text),
        "the first statement stays"
    );
}

#[tokio::test]
async fn a_merge_that_nobody_approved_is_signed_with_what_speaks_against_it() {
    let bench = Bench::with_config(Some(CONFIG)).await;
    let signer = Signer::parse(KEY).unwrap();
    let reconcile = Reconcile::new(bench.github.clone()).signing(Some(signer.clone()));
    let pr = gated(&bench, &reconcile).await;
    bench.sim.user("olga").merge(&pr).unwrap();
    bench.run(&reconcile, &pr).await;
    let objections = statement(&signer, &kept(&bench, &pr).expect("the statement")).objections();
    assert!(
        objections
            .iter()
            .any(|one| one.starts_with("no one approved the gate security")),
        "{objections:?}"
    );
}

#[tokio::test]
async fn without_a_key_nothing_is_signed() {
    let bench = Bench::with_config(Some(CONFIG)).await;
    let public = Signer::parse(KEY).unwrap().keys.keys[0].public.clone();
    for signer in [None, Some(Signer::parse(&public).unwrap())] {
        let reconcile = Reconcile::new(bench.github.clone()).signing(signer);
        let pr = gated(&bench, &reconcile).await;
        bench.sim.user("olga").merge(&pr).unwrap();
        bench.run(&reconcile, &pr).await;
        assert_eq!(kept(&bench, &pr), None);
    }
}
