//! Workflows of a stranger's pull request, which GitHub holds back until somebody with write lets them run.
//!
//! Those that are let go are played on the simulator alone: the emulator lets none go.

use chrono::TimeDelta;
use loopgate_core::{RepoName, WorkflowRunId};
use loopgate_simulator::{CommitSpec, Conclusion, Pr, PullSpec, RunSpec};

use crate::{
    triggers::calls,
    world::{CI, Look, World, archive, evidence},
};

const GATES: &str = "  security: { approvers: { users: [bob, carol] } }\n  architecture: off\n  database: off\n  external: \
                     off\n  deploy: off\n";

/// A repository whose evidence comes from a workflow.
fn tested(world: &World, name: &str, gates: &str, approve_runs: bool) -> RepoName {
    let configuration = format!(
        "version: 1\nlabels: {{ state: true }}\napprove_runs: {approve_runs}\nverify:\n  workflows: [{CI}]\n  checks:\n    unit: {{ kind: test, run: \
         make test }}\ngates:\n{gates}"
    );
    world.repository(
        name,
        &[
            ("src/lib.rs", "// 0\n"),
            (".github/loopgate.yml", &configuration),
        ],
    )
}

/// Mallory's pull request, from a fork, whose workflow GitHub holds back.
async fn opened(world: &World, repo: &RepoName, file: &str) -> (Pr, WorkflowRunId) {
    let spec = PullSpec::new("Mine")
        .from_fork()
        .file(file, "fn adds() {}\n");
    let pr = world
        .simulator()
        .user("mallory")
        .open_pull_request(repo, spec)
        .expect("a pull request");
    let run = is_held(world, &pr).await;
    (pr, run)
}

async fn is_held(world: &World, pr: &Pr) -> WorkflowRunId {
    let github = world.simulator();
    let held = RunSpec::new(github.head(pr).expect("a head"), CI).jobs(&[]);
    let run = github
        .workflow_run(&pr.repo, held, Conclusion::ActionRequired)
        .expect("a run");
    world.settle().await;
    run
}

/// How often GitHub was asked to let a run go.
fn asked(world: &World) -> usize {
    world
        .writes()
        .iter()
        .filter(|write| write.ends_with("/approve"))
        .count()
}

fn waits(look: &Look) -> bool {
    look.status().contains("presses [Approve and run]")
}

/// They wait as long as it takes, and the words say for whom.
pub async fn they_are_waited_for(world: World) {
    let repo = tested(&world, "held", "  security: off\n", false);
    let files = [("src/lib.rs", "fn adds() {}\n")];
    let mallory = world.person("mallory");
    let pr = mallory.opens_from_a_fork(&repo, "Mine", &files).await;
    world.a_run_is_held(&pr).await;
    // Longer than evidence is waited for.
    let look = world
        .after(TimeDelta::hours(30), &pr, "the wait", waits)
        .await;
    assert!(
        look.status().contains("Somebody with write") && look.has_label("loop:waiting"),
        "{}",
        look.status()
    );
    look.tells("wait_for_run_approval");
    look.concludes("loopgate / verify", None);
    assert!(calls(&look).is_empty(), "{look:?}");
    // Somebody lets it run: its time begins, and what it brings counts.
    world.ci_tests(&pr, &[], &["adds"]).await;
    let look = world.look(&pr);
    look.concludes("loopgate / verify", Some("success"));
}

/// Where the repository wishes it, an approval of a commit's security gate lets its workflows run too. An
/// approval that a push leaves alone lets nothing run that nobody has seen.
#[tokio::test(flavor = "multi_thread")]
async fn an_approval_of_the_security_gate_lets_those_of_its_commit_run() {
    let world = World::simulated().await;
    let (pr, run) = opened(
        &world,
        &tested(&world, "let-go", GATES, true),
        "src/auth/login.rs",
    )
    .await;
    let look = world.look(&pr);
    assert!(
        waits(&look)
            && look
                .status()
                .contains("`security approved` by one of the gate's approvers"),
        "{look:?}"
    );
    let (_, request) = world.comment_of_ours(&pr, "<!-- loopgate:gate:security:");
    assert!(
        request.contains("lets the workflows run that GitHub holds back on the approved commit"),
        "{request}"
    );
    world.person("bob").says(&pr, "security approved").await;
    let look = world.look(&pr);
    assert!(asked(&world) == 1 && !waits(&look), "{}", look.status());
    let head = world.simulator().head(&pr).expect("a head");
    let zip = archive(&evidence(&pr.repo, head, run.get(), &[], &["signs in"]));
    let artifacts = vec![("loopgate-evidence-test-1".to_owned(), zip.into())];
    world
        .simulator()
        .finish_workflow(&pr.repo, run, Conclusion::Success, artifacts)
        .expect("its end");
    world.settle().await;
    let look = world.look(&pr);
    look.concludes("loopgate / verify", Some("success"));
    look.concludes("loopgate / gates", Some("success"));

    let push = CommitSpec::new("More").files(&[("src/other.rs", "fn other() {}\n")]);
    world
        .simulator()
        .user("mallory")
        .push_commit(&pr, push)
        .expect("a push");
    is_held(&world, &pr).await;
    let look = world.look(&pr);
    look.concludes("loopgate / gates", Some("success"));
    assert!(asked(&world) == 1 && waits(&look), "{}", look.status());
    look.tells("`security approved` by one of the gate's approvers");
    world.person("carol").says(&pr, "security approved").await;
    assert!(
        asked(&world) == 2 && !waits(&world.look(&pr)),
        "{}",
        world.look(&pr).status()
    );
}

/// Without the wish, of a branch of the repository's own, by a gate that does not apply, by the author, by an approval
/// of another commit and by an approval that was taken back, nothing is let go.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_else_lets_them_run() {
    let world = World::simulated().await;
    let (unwished, _) = opened(
        &world,
        &tested(&world, "unwished", GATES, false),
        "src/auth/login.rs",
    )
    .await;
    let repo = tested(&world, "elsewhere", GATES, true);
    let (quiet, _) = opened(&world, &repo, "src/other.rs").await;
    let own = world
        .person("alice")
        .opens(
            &repo,
            "feat: sign in",
            &[("src/auth/login.rs", "fn login() {}\n")],
        )
        .await;
    is_held(&world, &own).await;
    for pr in [&unwished, &quiet, &own] {
        world.person("bob").says(pr, "security approved").await;
        let look = world.look(pr);
        assert!(asked(&world) == 0 && waits(&look), "{}", look.status());
        look.leaves_out("does the same");
    }
    let (fork, _) = opened(
        &world,
        &tested(&world, "refused", GATES, true),
        "src/auth/login.rs",
    )
    .await;
    let before = world.simulator().head(&fork).expect("a head");
    let push = CommitSpec::new("More").files(&[("src/auth/login.rs", "fn login() { steal() }\n")]);
    world
        .simulator()
        .user("mallory")
        .push_commit(&fork, push)
        .expect("a push");
    is_held(&world, &fork).await;
    world
        .person("mallory")
        .says(&fork, "security approved")
        .await;
    world
        .person("bob")
        .says(&fork, &format!("security approved {before}"))
        .await;
    world.person("carol").says(&fork, "security rejected").await;
    let now = world.simulator().head(&fork).expect("a head");
    world
        .person("bob")
        .says(&fork, &format!("security approved {now}"))
        .await;
    assert!(
        asked(&world) == 0 && waits(&world.look(&fork)),
        "{}",
        world.look(&fork).status()
    );
    // Once nobody objects any more, bob's word of this commit does it.
    world.person("carol").says(&fork, "security approved").await;
    assert_eq!(asked(&world), 1, "{}", world.look(&fork).status());
}
