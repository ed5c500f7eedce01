//! Somebody who wants to go round for ever, or to talk around the loop: whatever they do, it ends or a person is
//! called, and what stands on the pull request is true.
//!
//! Played on the simulator only: deleted refs, forced pushes onto a moved base and tokens of people are not the
//! emulator's to show (its README says what it lacks), and what is decided is the same.

use chrono::TimeDelta;
use loopgate_core::{CommentId, RepoName};
use loopgate_simulator::{CheckSpec, CommitSpec, Conclusion, PullSpec, RunSpec, Simulator};
use serde_json::json;

use crate::{
    triggers::{calls, fails, goes_on, is_called, opened, passes, pushes, version, watched},
    world::{CI, GitHub, World, archive, evidence},
};

fn simulator(world: &World) -> &Simulator {
    match &world.github {
        GitHub::Simulated(github) => github,
        GitHub::Emulated(_) => unreachable!("these are played on the simulator"),
    }
}

/// A repository whose evidence comes from a workflow.
fn tested(world: &World, name: &str) -> RepoName {
    let configuration = format!(
        "version: 1\nlabels: {{ state: true }}\nverify:\n  workflows: [{CI}]\n  checks:\n    build: {{ kind: build, run: make }}\n    \
         unit: {{ kind: test, run: make test }}\ngates: {{ security: off, architecture: off, database: off, external: off, \
         deploy: off }}\n"
    );
    world.repository(
        name,
        &[
            ("src/lib.rs", "// 0\n"),
            (".github/loopgate.yml", &configuration),
        ],
    )
}

/// A coding agent's pull request belongs to its author and to the person who asked for it. Taking an assignment back
/// changes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn who_asks_an_agent_does_not_approve_what_it_made() {
    let world = World::simulated().await;
    let configuration = "version: 1\nlabels: { state: true }\ncoding_agents: [alice]\ngates:\n  deploy: off\n  security: { approvers: { users: \
                         [bob, carol] } }\n";
    let repo = world.repository("asked", &[(".github/loopgate.yml", configuration)]);
    let pr = world
        .person("alice")
        .opens(
            &repo,
            "feat: sign in",
            &[("src/auth/login.rs", "fn login() {}\n")],
        )
        .await;
    let github = world.simulator();
    github
        .user("alice")
        .assign(&pr, "bob")
        .expect("an assignment");
    github
        .user("alice")
        .unassign(&pr, "bob")
        .expect("an assignment");
    // Whom somebody else assigns later did not ask for it.
    github
        .user("olga")
        .assign(&pr, "carol")
        .expect("an assignment");
    world.person("bob").says(&pr, "security approved").await;
    let look = world.look(&pr);
    look.concludes("loopgate / gates", Some("action_required"));
    look.tells("bob asked the coding agent for this pull request");
    world.person("carol").says(&pr, "security approved").await;
    assert_eq!(
        world.look(&pr).concluded("loopgate / gates"),
        Some("success"),
        "{:?}",
        world.look(&pr)
    );
}

/// Every attempt fails with tests that nobody has heard of: each is a different error, and the total counts them.
#[tokio::test(flavor = "multi_thread")]
async fn new_names_for_every_failure_end_at_the_total() {
    let world = World::simulated().await;
    let pr = opened(&world, &tested(&world, "renamed")).await;
    let words = [
        "comma", "brace", "record", "socket", "cursor", "ledger", "parcel", "widget", "random",
        "yellow",
    ];
    for (nth, word) in words.into_iter().enumerate() {
        assert!(
            calls(&world.look(&pr)).is_empty(),
            "called at attempt {nth}"
        );
        if nth > 0 {
            pushes(&world, &pr, nth).await;
        }
        world
            .ci_tests(&pr, &[&format!("understands_{word}")], &[])
            .await;
    }
    is_called(
        &world,
        &pr,
        "total_failures",
        10,
        &["10 failing attempts in this run"],
    )
    .await;
    assert_eq!(
        world.state(&pr)["failures"]["count"],
        json!(1),
        "a new streak each time"
    );
}

/// Rebased onto a base that moves, each time: other commits, other trees, the same pull request.
#[tokio::test(flavor = "multi_thread")]
async fn a_rebase_is_no_new_beginning() {
    let world = World::simulated().await;
    let repo = watched(&world, "rebased", "", "");
    let pr = opened(&world, &repo).await;
    let github = simulator(&world);
    for nth in 0..3 {
        if nth > 0 {
            world
                .person("olga")
                .pushes_to(&repo, "main", &[("NEWS.md", &version(nth))])
                .await;
            let again = CommitSpec::new("Sums, rebased").file("src/lib.rs", version(0));
            github.user("alice").force_push(&pr, again).unwrap();
            world.settle().await;
        }
        fails(&world, &pr, "expected 3, got 4").await;
    }
    is_called(&world, &pr, "same_error", 3, &["**Attempts**: 3 / 3"]).await;
}

/// Back and forth between two commits.
#[tokio::test(flavor = "multi_thread")]
async fn pushing_an_old_commit_again_is_going_in_circles() {
    let world = World::simulated().await;
    let pr = opened(&world, &watched(&world, "reset", "", "")).await;
    let github = simulator(&world);
    let first = github.head(&pr).unwrap();
    fails(&world, &pr, "expected a comma").await;
    pushes(&world, &pr, 1).await;
    fails(&world, &pr, "cannot borrow as mutable").await;
    assert!(calls(&world.look(&pr)).is_empty());
    github.user("alice").reset(&pr, first).unwrap();
    world.settle().await;
    is_called(
        &world,
        &pr,
        "circular_failure",
        3,
        &["**Reason**: the fixes go round in a circle"],
    )
    .await;
    // Nor does the fourth time around begin anything.
    pushes(&world, &pr, 1).await;
    fails(&world, &pr, "cannot borrow as mutable").await;
    assert_eq!(calls(&world.look(&pr)).len(), 1);
    assert!(world.look(&pr).has_label("loop:blocked"));
}

/// Onto a branch with rules of its own, where it passes, and back.
#[tokio::test(flavor = "multi_thread")]
async fn another_base_governs_itself_and_excuses_nothing_on_the_way_back() {
    let world = World::simulated().await;
    let repo = watched(&world, "retargeted", "", "");
    let lax = "version: 1\nlabels: { state: true }\nverify: { checks: {} }\ngates: { security: off, architecture: off, database: off, \
               external: off, deploy: off }\n";
    world
        .person("alice")
        .pushes_to(&repo, "lax", &[(".github/loopgate.yml", lax)])
        .await;
    let pr = opened(&world, &repo).await;
    for nth in 0..3 {
        if nth > 0 {
            pushes(&world, &pr, nth).await;
        }
        fails(&world, &pr, "expected 3, got 4").await;
    }
    is_called(&world, &pr, "same_error", 3, &[]).await;
    let github = simulator(&world);
    github.user("alice").retarget(&pr, "lax").unwrap();
    world.settle().await;
    github.user("alice").retarget(&pr, "main").unwrap();
    world.settle().await;
    let look = world.look(&pr);
    assert!(look.has_label("loop:blocked"), "{look:?}");
    assert_ne!(
        look.concluded("loopgate / verify"),
        Some("success"),
        "{look:?}"
    );
    assert_eq!(world.state(&pr)["failures"]["total"], json!(3));
    look.tells("the same error keeps coming back");
}

/// Anybody who never lets the checks end makes no attempt: nothing is claimed, nothing grows but the list of heads.
#[tokio::test(flavor = "multi_thread")]
async fn pushing_on_while_checks_run_is_waited_out() {
    let world = World::simulated().await;
    let pr = opened(&world, &watched(&world, "restless", "", "")).await;
    for nth in 1..=12 {
        pushes(&world, &pr, nth).await;
    }
    let (look, state) = (world.look(&pr), world.state(&pr));
    assert_eq!(
        (&state["attempts"], &state["failures"]["total"]),
        (&json!([]), &json!(0))
    );
    assert!(
        look.has_label("loop:verifying") && look.comments.len() == 1,
        "{look:?}"
    );
    look.tells("Waiting for build and unit");
    // The first that is let end counts.
    fails(&world, &pr, "expected 3, got 4").await;
    assert_eq!(world.state(&pr)["failures"]["total"], json!(1));
}

/// An author who may write can resume, and the total goes on.
#[tokio::test(flavor = "multi_thread")]
async fn an_author_who_resumes_for_ever_calls_a_person_each_time() {
    let world = World::simulated().await;
    let more = "loop: { max_attempts: 1, total_failures: 3 }\n";
    let pr = opened(&world, &watched(&world, "resumed", "", more)).await;
    for nth in 0..5 {
        if nth > 0 {
            world.person("alice").says(&pr, "/loop resume").await;
            goes_on(&world, &pr);
            pushes(&world, &pr, nth).await;
        }
        fails(&world, &pr, "expected 3, got 4").await;
        assert!(
            world.look(&pr).has_label("loop:blocked"),
            "attempt {nth}: {:?}",
            world.look(&pr)
        );
        assert_eq!(
            calls(&world.look(&pr)).len(),
            nth + 1,
            "somebody is called about each"
        );
    }
    assert!(
        calls(&world.look(&pr))[4].starts_with("<!-- loopgate:escalation:total_failures:5 -->")
    );
}

/// What of ours is deleted comes back, once.
#[tokio::test(flavor = "multi_thread")]
async fn deleted_comments_come_back_once() {
    let world = World::simulated().await;
    let pr = opened(
        &world,
        &watched(&world, "deleted", "", "loop: { max_attempts: 1 }\n"),
    )
    .await;
    fails(&world, &pr, "expected 3, got 4").await;
    let github = simulator(&world);
    for comment in github.pull_request(&pr).unwrap().comments {
        github
            .user("alice")
            .delete_comment(&pr, comment.id)
            .unwrap();
    }
    world.settle().await;
    world.person("carol").says(&pr, "/loop status").await;
    is_called(
        &world,
        &pr,
        "max_attempts_reached",
        1,
        &["**Reason**: all attempts are used up"],
    )
    .await;
    assert_eq!(world.look(&pr).comments.len(), 2, "{:?}", world.look(&pr));
}

/// Anybody who may push can delete the hidden ref. What was counted is not forgotten, and it is said what happened.
#[tokio::test(flavor = "multi_thread")]
async fn deleting_the_hidden_ref_is_told_and_wins_no_attempts() {
    let world = World::simulated().await;
    let more = "loop: { total_failures: 4 }\n";
    let pr = opened(&world, &watched(&world, "forgotten", "", more)).await;
    let messages = [
        "expected a comma",
        "cannot borrow as mutable",
        "the trait is not implemented",
        "unknown field",
    ];
    for (nth, message) in messages.into_iter().enumerate() {
        if nth > 0 {
            let gone = format!("refs/loopgate/pr/{}", pr.number);
            simulator(&world)
                .user("alice")
                .delete_ref(&pr.repo, &gone)
                .unwrap();
            pushes(&world, &pr, nth).await;
            let look = world.look(&pr);
            look.tells("its ref was deleted");
        }
        fails(&world, &pr, message).await;
    }
    is_called(
        &world,
        &pr,
        "total_failures",
        4,
        &["4 failing attempts in this run"],
    )
    .await;
    assert_eq!(world.look(&pr).marked("<!-- loopgate:status -->").len(), 1);
}

/// The status comment is deleted with it: what else of ours is left tells of the run.
#[tokio::test(flavor = "multi_thread")]
async fn deleting_the_status_comment_too_wins_no_attempts() {
    let world = World::simulated().await;
    let pr = opened(
        &world,
        &watched(&world, "erased", "", "loop: { max_attempts: 2 }\n"),
    )
    .await;
    fails(&world, &pr, "expected 3, got 4").await;
    pushes(&world, &pr, 1).await;
    fails(&world, &pr, "expected 3, got 4").await;
    is_called(&world, &pr, "max_attempts_reached", 2, &[]).await;
    let github = simulator(&world);
    let (alice, gone) = (
        github.user("alice"),
        format!("refs/loopgate/pr/{}", pr.number),
    );
    alice.delete_ref(&pr.repo, &gone).unwrap();
    let status = |body: &str| body.starts_with("<!-- loopgate:status -->");
    let comments = github.pull_request(&pr).unwrap().comments;
    alice
        .delete_comment(
            &pr,
            comments
                .iter()
                .find(|comment| status(&comment.body))
                .unwrap()
                .id,
        )
        .unwrap();
    pushes(&world, &pr, 2).await;
    let told = world.look(&pr).status().to_owned();
    assert!(
        told.contains("its ref was deleted") && told.contains("Attempts 1 to 2 count as failed"),
        "{told}"
    );
    fails(&world, &pr, "expected 3, got 4").await;
    assert!(
        world.look(&pr).status().contains("\"attempt\": 3"),
        "{}",
        world.look(&pr).status()
    );
}

/// One branch, two pull requests: each has its own run, and the evidence of the head counts for both.
#[tokio::test(flavor = "multi_thread")]
async fn two_pull_requests_of_one_head_both_end() {
    let world = World::simulated().await;
    let repo = watched(&world, "twins", "", "loop: { max_attempts: 2 }\n");
    let github = simulator(&world);
    let configuration = github
        .state_ref(&repo, "refs/heads/main")
        .unwrap()
        .unwrap()
        .files[".github/loopgate.yml"]
        .clone();
    world
        .person("olga")
        .pushes_to(
            &repo,
            "next",
            &[
                ("NEWS.md", "Next.\n"),
                (".github/loopgate.yml", &configuration),
            ],
        )
        .await;
    let one = opened(&world, &repo).await;
    let branch = github.pull_request(&one).unwrap().head_branch;
    let spec = PullSpec::new("feat: sums").base("next").branch(&branch);
    let other = github.user("alice").open_pull_request(&repo, spec).unwrap();
    world.settle().await;
    for nth in 0..2 {
        if nth > 0 {
            pushes(&world, &one, nth).await;
        }
        fails(&world, &one, "expected 3, got 4").await;
    }
    for pr in [&one, &other] {
        is_called(
            &world,
            pr,
            "max_attempts_reached",
            2,
            &["**Attempts**: 2 / 2"],
        )
        .await;
        assert_eq!(calls(&world.look(pr)).len(), 1);
    }
    pushes(&world, &one, 5).await;
    passes(&world, &one).await;
    for pr in [&one, &other] {
        goes_on(&world, pr);
    }
}

/// Draft, ready, draft: no attempt, no second comment, and each state is said as it is.
#[tokio::test(flavor = "multi_thread")]
async fn toggling_a_draft_changes_what_is_said_and_nothing_else() {
    let world = World::simulated().await;
    let pr = opened(&world, &watched(&world, "toggled", "", "")).await;
    passes(&world, &pr).await;
    let (github, attempts) = (simulator(&world), world.state(&pr)["attempts"].clone());
    for _ in 0..4 {
        github.user("alice").mark_draft(&pr).unwrap();
        world.settle().await;
        assert!(
            world
                .look(&pr)
                .status()
                .contains("Checks pass on this draft"),
            "{}",
            world.look(&pr).status()
        );
        github.user("alice").mark_ready(&pr).unwrap();
        world.settle().await;
        assert!(
            world
                .look(&pr)
                .status()
                .contains("All green — ready to merge"),
            "{}",
            world.look(&pr).status()
        );
    }
    assert_eq!(world.state(&pr)["attempts"], attempts);
    assert_eq!(world.look(&pr).comments.len(), 1);
}

/// The button can be pressed as often as anybody likes: each press that is minutes after the last has the checks run
/// again, which neither costs nor wins an attempt.
#[tokio::test(flavor = "multi_thread")]
async fn pressing_retry_for_ever_costs_and_wins_nothing() {
    let world = World::simulated().await;
    let pr = opened(&world, &watched(&world, "pressed", "", "")).await;
    fails(&world, &pr, "expected 3, got 4").await;
    let github = simulator(&world);
    let reruns = || {
        let asked = github
            .requests()
            .into_iter()
            .filter(|request| request.path.ends_with("/rerequest"));
        asked.count()
    };
    for nth in 1..=3 {
        let run = github
            .pull_request(&pr)
            .unwrap()
            .check_run("loopgate / verify")
            .unwrap()
            .clone();
        let button = run
            .buttons
            .iter()
            .find(|button| button.identifier == "retry")
            .expect("a button");
        github
            .user("alice")
            .press_button(&pr, run.id, &button.identifier)
            .unwrap();
        world.settle().await;
        assert_eq!(reruns(), nth, "press {nth} is heard");
        fails(&world, &pr, "expected 3, got 4").await;
    }
    let state = world.state(&pr);
    assert_eq!(
        (
            state["attempts"].as_array().map(Vec::len),
            &state["failures"]["total"]
        ),
        (Some(1), &json!(1))
    );
    assert!(world.look(&pr).has_label("loop:retry") && world.look(&pr).comments.len() == 1);
}

/// A failure that claims to be the network's, in every push: it costs no attempt, and after an hour somebody is called.
#[tokio::test(flavor = "multi_thread")]
async fn blaming_the_network_for_ever_calls_a_person() {
    let world = World::simulated().await;
    let pr = opened(&world, &watched(&world, "blaming", "", "")).await;
    for nth in 0..5 {
        if nth > 0 {
            pushes(&world, &pr, nth).await;
        }
        fails(&world, &pr, "Error: connect ECONNREFUSED 10.0.0.3:5432").await;
        simulator(&world).clock().advance(TimeDelta::minutes(15));
    }
    is_called(
        &world,
        &pr,
        "external_dependency_down",
        0,
        &["something outside the code"],
    )
    .await;
}

/// What fails on the base fails whatever is pushed: nobody is asked to mend it here, and no attempt is spent.
#[tokio::test(flavor = "multi_thread")]
async fn a_broken_base_is_not_the_authors_to_mend() {
    let world = World::simulated().await;
    let repo = tested(&world, "broken");
    let github = simulator(&world);
    let main = github.sha(&repo, "main").unwrap();
    let run = github
        .start_workflow(&repo, RunSpec::new(main, CI).event("push"))
        .unwrap();
    let zip = archive(&evidence(&repo, main, run.get(), &["takes"], &["adds"]));
    let artifacts = vec![("loopgate-evidence-test-1".to_owned(), zip.into())];
    github
        .finish_workflow(&repo, run, Conclusion::Failure, artifacts)
        .unwrap();
    let pr = opened(&world, &repo).await;
    for nth in 0..4 {
        if nth > 0 {
            pushes(&world, &pr, nth).await;
        }
        world.ci_tests(&pr, &["takes"], &["adds"]).await;
    }
    let (look, state) = (world.look(&pr), world.state(&pr));
    assert_eq!(state["failures"]["total"], json!(0));
    println!("{}", look.status());
    look.leaves_out("alice fixes it");
}

/// Another system's check that says no more on the head than on the base: nothing tells the two failures apart.
#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_fails_alike_on_the_base_is_not_the_authors_to_mend() {
    let world = World::simulated().await;
    let exits = "Process completed with exit code 1.";
    let red = || CheckSpec::concluded("ci / test", Conclusion::Failure);
    let ways = [
        ("silent", red()),
        (
            "summed",
            red().output("Tests failed", "2 of 40 tests failed."),
        ),
        ("exits", red().annotation(".github", 17, exits)),
        (
            "placed",
            red().annotation("src/lib.rs", 3, "expected 3, got 4"),
        ),
    ];
    for (name, red) in ways {
        let repo = watched(&world, name, "", "");
        let github = simulator(&world);
        let main = github.sha(&repo, "main").unwrap();
        let ci = github.ci("other-ci");
        ci.check_run(&repo, main, red.clone()).unwrap();
        let pr = opened(&world, &repo).await;
        let head = github.head(&pr).unwrap();
        ci.check_run(
            &repo,
            head,
            CheckSpec::concluded("ci / build", Conclusion::Success),
        )
        .unwrap();
        ci.check_run(&repo, head, red).unwrap();
        world.settle().await;
        let (look, state) = (world.look(&pr), world.state(&pr));
        assert_eq!(
            state["failures"]["total"],
            json!(0),
            "{name}: {}",
            look.status()
        );
        assert!(
            look.status().contains("fails on main too"),
            "{name}: {}",
            look.status()
        );
    }
}

/// A run that ended before Loopgate's step, or has none: it is named, with what to look at, instead of only waited for.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_without_evidence_is_named() {
    let world = World::simulated().await;
    let github = simulator(&world);
    let repo = tested(&world, "silent");
    let pr = opened(&world, &repo).await;
    assert!(
        !world.look(&pr).status().contains("uploaded no evidence"),
        "{}",
        world.look(&pr).status()
    );
    let head = github.head(&pr).unwrap();
    let run = github
        .workflow_run(&repo, RunSpec::new(head, CI), Conclusion::Failure)
        .unwrap();
    world.settle().await;
    let look = world.look(&pr);
    let named = format!("/actions/runs/{run}) ended and uploaded no evidence");
    assert!(
        look.status().contains(&named) && look.status().contains("Loopgate's step"),
        "{}",
        look.status()
    );
    assert_eq!(
        look.concluded("loopgate / verify"),
        None,
        "it may be run again: {look:?}"
    );
    let verify = look
        .checks
        .iter()
        .find(|check| format!("{check:?}").contains("loopgate / verify"))
        .unwrap();
    assert!(
        format!("{verify:?}").contains("No evidence of"),
        "{verify:?}"
    );
    // What a later run brings counts.
    world.ci_tests(&pr, &[], &["adds"]).await;
    let look = world.look(&pr);
    look.concludes("loopgate / verify", Some("success"));
    look.leaves_out("uploaded no evidence");
}

/// Edits whose events were lost: GitHub is asked who made them. What closes a gate counts from its writer only.
#[tokio::test(flavor = "multi_thread")]
async fn whose_edit_it_was_is_asked_where_no_event_told() {
    let configuration = "version: 1\nlabels: { state: true }\ngates:\n  deploy: off\n  security: { approvers: { users: [bob, carol] } }\n";
    for (editor, gates) in [("bob", "failure"), ("olga", "success")] {
        let world = World::simulated().await;
        let repo = world.repository("edited", &[(".github/loopgate.yml", configuration)]);
        let pr = world
            .person("alice")
            .opens(
                &repo,
                "feat: sign in",
                &[("src/auth/login.rs", "fn login() {}\n")],
            )
            .await;
        let thanks = world.person("bob").says(&pr, "Thanks, I look at it.").await;
        world.person("carol").says(&pr, "security approved").await;
        let lost = simulator(&world).user(editor).silently();
        lost.edit_comment(&pr, CommentId::new(thanks), "security rejected")
            .expect("a comment");
        world.person("alice").says(&pr, "/loop status").await;
        let look = world.look(&pr);
        assert_eq!(
            look.concluded("loopgate / gates"),
            Some(gates),
            "{editor}: {look:?}"
        );
    }
}
