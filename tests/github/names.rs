//! The names of the check runs, and which branches they speak for.

use loopgate::github::{GroupAnswer, MergeGroup, Reconcile};
use loopgate_core::Sha;
use loopgate_simulator::{Creations, Pr, Protection, PullSpec};

use crate::bench::Bench;

const CONFIG: &str = "\
version: 1
branches: [\"release/*\"]
verify: { checks: {} }
gates: { security: { approvers: { users: [bob] } }, architecture: off, database: off, external: off, deploy: off }
";

/// Names and conclusions of our check runs on a commit.
fn shown(bench: &Bench, commit: Sha) -> Vec<(String, &'static str)> {
    let runs = bench.sim.check_runs(&bench.repo, commit).unwrap();
    let mut shown: Vec<_> = runs
        .into_iter()
        .map(|run| {
            (
                run.name,
                run.conclusion.map_or("running", |end| end.as_str()),
            )
        })
        .collect();
    shown.sort();
    shown
}

/// The gates alone: nothing is configured that verifies.
fn gates(bench: &Bench, commit: Sha) -> Vec<(String, &'static str)> {
    shown(bench, commit)
        .into_iter()
        .filter(|(name, _)| name.contains("gates"))
        .collect()
}

fn named(name: &str, end: &'static str) -> (String, &'static str) {
    (name.to_owned(), end)
}

/// One branch of releases, which only administrators make and which takes pull requests only.
fn release(bench: &Bench, name: &str, creations: Creations) {
    let alice = bench.sim.user("alice");
    alice
        .push_to(
            &bench.repo,
            name,
            loopgate_simulator::CommitSpec::new("Cut").file("VERSION", name),
        )
        .unwrap();
    let rules = Protection {
        required_approvals: 1,
        creations,
        ..Protection::default()
    };
    bench.sim.admin().protect(&bench.repo, name, rules).unwrap();
}

fn opened(bench: &Bench, branch: &str, base: &str, file: Option<&str>) -> Pr {
    let spec = PullSpec::new("A change").branch(branch).base(base);
    let spec = file.map_or(spec.clone(), |file| {
        spec.file(file, "fn check_token() {}\n")
    });
    bench.opens(spec)
}

#[tokio::test]
async fn branches_that_people_cannot_make_share_a_name_and_the_worst_shows() {
    let bench = Bench::with_config(Some(CONFIG)).await;
    let reconcile = Reconcile::new(bench.github.clone());
    release(&bench, "release/1", Creations::Restricted);
    release(&bench, "release/2", Creations::Restricted);
    // Into the second the change is there already, but for a note.
    let alice = bench.sim.user("alice");
    let auth = loopgate_simulator::CommitSpec::new("Auth")
        .file("src/auth/token.rs", "fn check_token() {}\n");
    alice.push_to(&bench.repo, "release/2", auth).unwrap();
    let two = opened(&bench, "fix", "release/2", Some("notes.md"));
    bench.run(&reconcile, &two).await;
    let head = bench.sim.head(&two).unwrap();
    assert_eq!(
        gates(&bench, head),
        [named("loopgate / gates (release/*)", "success")]
    );
    let one = opened(&bench, "fix", "release/1", None);
    for pr in [&one, &two, &one] {
        bench.run(&reconcile, pr).await;
        assert_eq!(
            gates(&bench, head),
            [named("loopgate / gates (release/*)", "action_required")],
            "{pr:?}"
        );
    }
    let runs = bench.sim.check_runs(&bench.repo, head).unwrap();
    let said = runs
        .into_iter()
        .find(|run| run.name.contains("gates"))
        .unwrap()
        .summary
        .unwrap();
    assert!(
        said.contains(&format!("#{} into `release/2` ✅ passes", two.number)),
        "{said}"
    );
}

#[tokio::test]
async fn a_branch_that_people_can_make_keeps_its_own_name() {
    let bench = Bench::with_config(Some(CONFIG)).await;
    let reconcile = Reconcile::new(bench.github.clone());
    release(&bench, "release/mine", Creations::Free);
    let pr = opened(&bench, "fix", "release/mine", Some("notes.md"));
    bench.run(&reconcile, &pr).await;
    let head = bench.sim.head(&pr).unwrap();
    assert_eq!(
        gates(&bench, head),
        [named("loopgate / gates (release/mine)", "success")]
    );
    let runs = bench.sim.check_runs(&bench.repo, head).unwrap();
    let mut said = runs.iter().filter_map(|run| run.summary.as_deref());
    let told = "The checks are called `loopgate / gates (release/mine)` here";
    assert!(said.any(|summary| summary.contains(told)), "{runs:?}");
}

#[tokio::test]
async fn patterns_are_the_default_branchs_word() {
    let bench = Bench::with_config(Some(
        CONFIG.replace("branches: [\"release/*\"]\n", "").as_str(),
    ))
    .await;
    let reconcile = Reconcile::new(bench.github.clone());
    release(&bench, "release/1", Creations::Restricted);
    let own = loopgate_simulator::CommitSpec::new("Own").file(".github/loopgate.yml", CONFIG);
    bench
        .sim
        .user("alice")
        .push_to(&bench.repo, "release/1", own)
        .unwrap();
    let pr = opened(&bench, "fix", "release/1", Some("notes.md"));
    bench.run(&reconcile, &pr).await;
    let head = bench.sim.head(&pr).unwrap();
    assert_eq!(
        gates(&bench, head),
        [named("loopgate / gates (release/1)", "success")]
    );
}

#[tokio::test]
async fn a_new_default_branch_takes_the_plain_names() {
    let bench = Bench::with_config(Some(CONFIG)).await;
    let reconcile = Reconcile::new(bench.github.clone());
    let alice = bench.sim.user("alice");
    alice
        .push_to(
            &bench.repo,
            "next",
            loopgate_simulator::CommitSpec::new("Next").file("NEXT", "1\n"),
        )
        .unwrap();
    let (old, new) = (
        opened(&bench, "a", "main", Some("a.md")),
        opened(&bench, "b", "next", Some("b.md")),
    );
    let heads = [bench.sim.head(&old).unwrap(), bench.sim.head(&new).unwrap()];
    for pr in [&old, &new] {
        bench.run(&reconcile, pr).await;
    }
    assert_eq!(
        gates(&bench, heads[0]),
        [named("loopgate / gates", "success")]
    );
    assert_eq!(
        gates(&bench, heads[1]),
        [named("loopgate / gates (next)", "success")]
    );
    bench
        .sim
        .admin()
        .set_default_branch(&bench.repo, "next")
        .unwrap();
    for pr in [&old, &new] {
        bench.run(&reconcile, pr).await;
    }
    // What was judged against the old one does not speak for the new one.
    let left = [
        named("loopgate / gates", "cancelled"),
        named("loopgate / gates (main)", "success"),
    ];
    assert_eq!(gates(&bench, heads[0]), left);
    assert!(
        gates(&bench, heads[1]).contains(&named("loopgate / gates", "success")),
        "{:?}",
        gates(&bench, heads[1])
    );
}

#[tokio::test]
async fn a_merge_group_bears_the_name_of_its_base() {
    let bench = Bench::with_config(Some(CONFIG)).await;
    let reconcile = Reconcile::new(bench.github.clone());
    let alice = bench.sim.user("alice");
    alice
        .push_to(
            &bench.repo,
            "next",
            loopgate_simulator::CommitSpec::new("Next").file("NEXT", "1\n"),
        )
        .unwrap();
    let pr = opened(&bench, "b", "next", Some("b.md"));
    bench.run(&reconcile, &pr).await;
    let group = bench.sim.admin().queue(&[&pr]).unwrap();
    let asked = MergeGroup {
        installation: Some(bench.installation()),
        repository: bench.repo.clone(),
        head: group.head_sha,
        base: group.base_sha,
        base_ref: format!("refs/heads/{}", group.base_branch),
        head_ref: Some(group.head_ref.clone()),
    };
    assert_eq!(
        reconcile
            .merge_group(&asked, bench.now())
            .await
            .unwrap()
            .answer,
        GroupAnswer::Final
    );
    assert_eq!(
        gates(&bench, group.head_sha),
        [named("loopgate / gates (next)", "success")]
    );
}
