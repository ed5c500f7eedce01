//! When it is said, how much there is of it, and what others write in our name.

use loopgate_simulator::{DeliveryFault, Mishap};

use crate::{
    bases::{REQUIRED, green, protected},
    gates::{guarded_as, status},
    people::{is_accepted, is_refused},
    world::{GitHub, Work, World},
};

const LOGIN: (&str, &str) = ("src/auth/login.rs", "pub fn login() {}\n");
const STEALS: (&str, &str) = ("src/auth/login.rs", "pub fn login() {\n    steal();\n}\n");
const NOTES: (&str, &str) = ("docs/notes.md", "Notes.\n");
const GATE: &str = "  security: { approvers: { users: [bob, carol] } }\n";

pub async fn an_approval_is_bound_to_what_was_there_to_see(world: World) {
    let repo = guarded_as(&world, "widgets", GATE).await;
    let pr = world
        .person("alice")
        .opens(&repo, "docs: notes", &[NOTES])
        .await;
    // Before anything needs the gate.
    let early = world.person("bob").says(&pr, "security approved").await;
    assert_eq!(world.reactions(&pr, early), ["confused"]);
    assert!(
        world
            .look(&pr)
            .status()
            .contains("there is nothing to approve"),
        "{}",
        world.look(&pr).status()
    );
    world.person("alice").pushes(&pr, &[LOGIN]).await;
    is_refused(
        &world,
        &pr,
        early,
        "when nothing here needed this gate yet. bob is asked to look",
    );

    // A push beside it, and a rebase onto a base that moved, leave what bob has seen as it was.
    let word = world
        .person("bob")
        .says(&pr, &format!("security approved {}", world.head(&pr)))
        .await;
    is_accepted(&world, &pr, word);
    world
        .person("alice")
        .pushes(&pr, &[("README.md", "Read me.\n")])
        .await;
    is_accepted(&world, &pr, word);
    world
        .person("olga")
        .pushes_to(
            &repo,
            "main",
            &[("src/auth/other.rs", "pub fn other() {}\n")],
        )
        .await;
    let all = [LOGIN, NOTES, ("README.md", "Read me.\n")];
    let rebased = Work {
        message: "feat: sign in",
        files: &all,
        instead: true,
        ..Work::default()
    };
    world.person("alice").commits(&pr, &rebased).await;
    is_accepted(&world, &pr, word);
    let approved = world.head(&pr);

    // What lands later is later, whatever date its author gives it.
    let dated = Work {
        message: "fix",
        files: &[STEALS],
        dated: Some("2020-01-01T00:00:00Z"),
        ..Work::default()
    };
    world.person("alice").commits(&pr, &dated).await;
    let look = world.look(&pr);
    assert!(look.has_label("needs:security-review"), "{look:?}");
    look.tells("the code this gate is about has changed since");

    // Back at what was approved, it holds again.
    world.person("alice").forces_back(&pr, &approved).await;
    world.settle().await;
    assert_eq!(status(&world, &pr, "security"), "approved");
    assert_eq!(
        world.look(&pr).concluded("loopgate / gates"),
        Some("success"),
        "{:?}",
        world.look(&pr)
    );
}

pub async fn on_a_draft_words_count_and_reviewers_are_asked_when_it_is_ready(world: World) {
    let repo = guarded_as(&world, "widgets", GATE).await;
    let pr = world
        .person("alice")
        .drafts(&repo, "feat: sign in", &[LOGIN])
        .await;
    let look = world.look(&pr);
    assert!(
        look.has_label("needs:security-review") && look.requested.is_empty(),
        "{look:?}"
    );
    assert_eq!(
        look.marked("<!-- loopgate:gate:security:").len(),
        1,
        "{look:?}"
    );
    let word = world.person("bob").says(&pr, "security approved").await;
    is_accepted(&world, &pr, word);
    world
        .person("bob")
        .says(&pr, "security approval revoked")
        .await;
    world.person("alice").says_it_is_ready(&pr).await;
    let look = world.look(&pr);
    assert_eq!(look.requested, ["bob", "carol"], "{look:?}");
    assert_eq!(
        look.marked("<!-- loopgate:gate:security:1").len(),
        1,
        "asked for once: {look:?}"
    );
}

/// Anybody who may run a workflow can write a check or status of any name: it does not count, and its writer is named.
pub async fn a_check_that_bears_our_name_is_told(world: World) {
    let repo = protected(&world).await;
    let pr = world
        .person("alice")
        .opens(&repo, "feat: sign in", &[LOGIN])
        .await;
    green(&world, &pr).await;
    let head = world.head(&pr);
    match &world.github {
        GitHub::Simulated(github) => {
            let forged = loopgate_simulator::CheckSpec::concluded(
                REQUIRED[1],
                loopgate_simulator::Conclusion::Success,
            );
            let commit = head.parse().expect("a commit");
            github
                .ci("other-ci")
                .check_run(&repo, commit, forged)
                .expect("a check run");
            github
                .ci("other-ci")
                .status(
                    &repo,
                    commit,
                    REQUIRED[0],
                    loopgate_simulator::StatusState::Success,
                )
                .expect("a status");
        }
        GitHub::Emulated(github) => {
            let check =
                serde_json::json!({ "repo": repo.to_string(), "sha": head, "name": REQUIRED[1] });
            github.call("create_check", check);
            let status = serde_json::json!({ "state": "success", "context": REQUIRED[0] });
            let path = format!("/repos/{repo}/statuses/{head}");
            github.call("call", serde_json::json!({ "method": "POST", "path": path, "as_": "alice", "json": status }));
        }
    }
    world.settle().await;
    assert_eq!(status(&world, &pr, "security"), "requested");
    let look = world.look(&pr);
    let told = look.status();
    assert!(
        told.contains(
            "A check named `loopgate / gates` was written by the App `other-ci`, not by Loopgate"
        ),
        "{told}"
    );
    assert!(
        told.contains("`loopgate / verify`") && told.contains("not by Loopgate"),
        "{told}"
    );
    assert!(look.has_label("needs:security-review"), "{look:?}");
}

/// The events come late, twice, and not in their order: what was said counts for what could be seen.
#[tokio::test(flavor = "multi_thread")]
async fn a_comment_that_is_told_before_the_opening_counts_and_so_it_does_days_late() {
    for days in [0, 3] {
        let world = World::simulated().await;
        let repo = guarded_as(&world, "widgets", GATE).await;
        let github = world.simulator();
        // Nobody hears of the opening, or of what is said.
        let unheard: &[&str] = if days == 0 {
            &["pull_request", "push", "check_suite"]
        } else {
            &[]
        };
        for event in unheard {
            github.add_delivery_fault(DeliveryFault::on(event, Mishap::Fail));
        }
        let pr = world
            .person("alice")
            .opens(&repo, "feat: sign in", &[LOGIN])
            .await;
        if days > 0 {
            github.add_delivery_fault(DeliveryFault::on("issue_comment", Mishap::Fail));
        }
        let word = world.person("bob").says(&pr, "security approved").await;
        github.heal();
        world.wait(chrono::TimeDelta::days(days));
        for delivery in github.deliveries() {
            github.redeliver(&delivery).expect("a delivery");
        }
        if days > 0 {
            world.person("carol").says(&pr, "/loop status").await;
        }
        world.settle().await;
        is_accepted(&world, &pr, word);
        assert_eq!(world.look(&pr).marked("<!-- loopgate:status -->").len(), 1);
    }
}

/// As much as GitHub lets people write, in one comment and in many.
#[tokio::test(flavor = "multi_thread")]
async fn one_comment_of_65_kb_and_three_thousand_others_are_read() {
    let mut world = World::simulated().await;
    let repo = guarded_as(&world, "widgets", GATE).await;
    let pr = world
        .person("alice")
        .opens(&repo, "feat: sign in", &[LOGIN])
        .await;
    world.stops().await;
    let mallory = world.simulator().user("mallory").silently();
    for _ in 0..3_000 {
        mallory
            .comment(&pr, "What a nice change.")
            .expect("a comment");
    }
    world.starts().await;
    let filler = "All work and no play makes a dull review. ".repeat(1_550);
    let word = world
        .person("bob")
        .says(&pr, &format!("{filler}\n\nsecurity approved\n"))
        .await;
    is_accepted(&world, &pr, word);
}

/// Two deployments, each with an App of its own: each keeps its own page and believes nobody else's.
#[tokio::test(flavor = "multi_thread")]
async fn a_second_loopgate_is_somebody_else() {
    let world = World::simulated()
        .await
        .with_another_loopgate("loopgate-two")
        .await;
    let repo = guarded_as(&world, "widgets", GATE).await;
    let pr = world
        .person("alice")
        .opens(&repo, "feat: sign in", &[LOGIN])
        .await;
    world.person("mallory").says(&pr, "security approved").await;
    let pages = || {
        let comments = world
            .simulator()
            .pull_request(&pr)
            .expect("a pull request")
            .comments;
        let page = |by: &str| {
            let status = |body: &str| body.starts_with("<!-- loopgate:status -->");
            let mut own = comments
                .iter()
                .filter(|comment| comment.author == by && status(&comment.body));
            (own.next().expect("a page").body.clone(), own.count())
        };
        [page("loopgate[bot]"), page("loopgate-two[bot]")]
    };
    let [(ours, more), (theirs, others)] = pages();
    assert_eq!((more, others), (0, 0), "one page each");
    for (page, other) in [(&ours, "loopgate-two"), (&theirs, "loopgate")] {
        let named = format!(
            "A check named `loopgate / gates` was written by the App `{other}`, not by Loopgate"
        );
        assert!(page.contains(&named), "{page}");
        assert!(
            page.contains("🔒 **security** is not approved yet"),
            "{page}"
        );
        // The words on its page are a bot's, and nobody asks it to write them anew.
        let bots = format!("{other}\\[bot\\] is a bot, and only people approve");
        assert!(page.contains(&bots), "{page}");
        assert!(!page.contains("opens nothing"), "{page}");
    }
    world.person("bob").says(&pr, "security approved").await;
    for (page, _) in pages() {
        assert!(page.contains("✅ **security** approved by [bob]"), "{page}");
    }
    // Neither answers the other for ever: a look that finds nothing new writes nothing, and then nothing follows.
    world.person("carol").says(&pr, "/loop status").await;
    let [(_, more), (_, others)] = pages();
    assert_eq!((more, others), (0, 0));
}
