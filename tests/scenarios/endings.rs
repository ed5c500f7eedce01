//! How loops over pull requests end: each reason to stop, and what is said and kept. Each is played on both worlds.
//!
//! `phase_error` ends local loops only, since on a pull request no phase is executed that could break its contract
//! (`tests/loops/endings.rs`).

use serde_json::json;

use crate::{
    triggers::{
        calls, fails, fails_in_turn, goes_on, is_called, opened, passes, pushes, version, watched,
    },
    world::{Report::Passes, World},
};

/// Status of the run and why it stopped.
fn ended(world: &World, pr: &loopgate_simulator::Pr) -> (String, String) {
    let state = world.state(pr);
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    (text(&state["status"]), text(&state["stop"]["reason"]))
}

fn as_words(status: &str, reason: &str) -> (String, String) {
    (status.to_owned(), reason.to_owned())
}

pub async fn every_threshold_is_reached_and_it_is_merged(world: World) {
    let repo = watched(&world, "reached", "", "");
    let pr = opened(&world, &repo).await;
    fails(&world, &pr, "expected 3, got 4").await;
    pushes(&world, &pr, 1).await;
    passes(&world, &pr).await;
    assert_eq!(ended(&world, &pr), as_words("passed", "threshold_reached"));
    assert!(world.look(&pr).has_label("loop:passed"));
    world.person("olga").merges(&pr).await;
    assert_eq!(
        ended(&world, &pr),
        as_words("completed", "threshold_reached")
    );
    let look = world.look(&pr);
    look.tells("Merged by olga after 2 attempts");
    assert_eq!(world.state(&pr)["state"], json!("COMPLETE"));
}

/// The score is short, and nothing that fails is major.
pub async fn what_is_left_may_be_minor(world: World) {
    let style = "    style: { kind: custom, from: { check: ci / style, app: other-ci } }\n";
    let repo = watched(&world, "minor", style, "");
    let pr = opened(&world, &repo).await;
    let short = crate::world::Report::Fails {
        check: "ci / style",
        path: "src/lib.rs",
        line: 1,
        message: "a long line",
    };
    world
        .ci_reports(&pr, &[Passes("ci / build"), Passes("ci / test"), short])
        .await;
    assert_eq!(ended(&world, &pr), as_words("passed", "no_major_issues"));
    let look = world.look(&pr);
    look.concludes("loopgate / verify", Some("success"));
    assert!(
        look.status().contains("0.83"),
        "the score is shown as it is: {}",
        look.status()
    );
}

pub async fn the_limit_says_how_far_it_is_to_success(world: World) {
    let repo = watched(&world, "limit", "", "loop: { max_attempts: 2 }\n");
    let pr = opened(&world, &repo).await;
    fails_in_turn(&world, &pr, &["expected 3, got 4"; 2]).await;
    is_called(&world, &pr, "max_attempts_reached", 2, &[]).await;
    assert_eq!(ended(&world, &pr), as_words("escalated", "iteration_limit"));
    let look = world.look(&pr);
    // Both for people and for programs.
    look.tells("\"distance_to_success\"");
    for key in [
        "threshold",
        "score",
        "gap",
        "failed_fail_rules",
        "blocking_rule_ids",
        "passed_rules",
        "total_rules",
    ] {
        assert!(
            look.status().contains(&format!("\"{key}\"")),
            "{key}: {}",
            look.status()
        );
    }
}

pub async fn at_the_limit_nobody_is_called_where_nobody_is_wanted(world: World) {
    let repo = watched(
        &world,
        "quiet",
        "",
        "loop: { max_attempts: 2, escalation_on_max: false }\n",
    );
    let pr = opened(&world, &repo).await;
    fails_in_turn(&world, &pr, &["expected 3, got 4"; 2]).await;
    assert_eq!(ended(&world, &pr), as_words("failed", "iteration_limit"));
    let look = world.look(&pr);
    assert!(calls(&look).is_empty(), "{look:?}");
    look.tells("Failed: all 2 attempts are used up");
    look.tells("Nobody is called, since `escalation_on_max` is off");
    look.tells("\"distance_to_success\"");
    look.concludes("loopgate / verify", Some("failure"));
    // What the comment promises.
    world.person("bob").says(&pr, "/loop resume").await;
    pushes(&world, &pr, 5).await;
    fails(&world, &pr, "expected 3, got 4").await;
    assert!(
        world.look(&pr).has_label("loop:retry"),
        "{:?}",
        world.look(&pr)
    );
    pushes(&world, &pr, 6).await;
    passes(&world, &pr).await;
    assert_eq!(ended(&world, &pr), as_words("passed", "threshold_reached"));
}

/// Nothing of severity fail fails, the score is short, and it does not move.
pub async fn a_score_that_stands_still_ends_the_loop(world: World) {
    let rule = "evaluate:\n  rules:\n    - { id: finished, severity: warn, weight: 6, phase: A, \
                check: { must_not_appear: { pattern: Version } } }\n";
    let repo = watched(&world, "standing", "", rule);
    let pr = opened(&world, &repo).await;
    for nth in 0..3 {
        if nth > 0 {
            pushes(&world, &pr, nth).await;
        }
        assert!(
            calls(&world.look(&pr)).is_empty(),
            "called at attempt {nth}"
        );
        passes(&world, &pr).await;
    }
    let sentences = [
        "**Reason**: the score no longer improves",
        "the score gained less than 0.02, twice in a row",
    ];
    is_called(&world, &pr, "stagnation", 3, &sentences).await;
    assert_eq!(ended(&world, &pr), as_words("escalated", "stagnation"));
    assert!(world.look(&pr).status().contains("\"distance_to_success\""));
    // Doing what is asked for is all it takes.
    world
        .person("alice")
        .pushes(&pr, &[("src/lib.rs", "pub fn sum() -> u64 {\n    3\n}\n")])
        .await;
    passes(&world, &pr).await;
    goes_on(&world, &pr);
    assert_eq!(ended(&world, &pr), as_words("passed", "threshold_reached"));
}

pub async fn a_person_stops_it_and_takes_it_up_again(world: World) {
    let repo = watched(&world, "stopped", "", "");
    let pr = opened(&world, &repo).await;
    fails(&world, &pr, "expected 3, got 4").await;
    world
        .person("mallory")
        .says(&pr, "/loop stop I say so")
        .await;
    assert_eq!(
        world.state(&pr)["status"],
        json!("in_progress"),
        "who may not write may not stop"
    );
    world
        .person("bob")
        .says(&pr, "/loop stop not this quarter")
        .await;
    assert_eq!(ended(&world, &pr), as_words("stopped", "user_stop"));
    let look = world.look(&pr);
    look.tells("The loop was stopped by bob");
    look.tells("not this quarter");
    // Nothing that happens goes round the loop any more.
    for nth in 1..3 {
        pushes(&world, &pr, nth).await;
        fails(&world, &pr, "expected 3, got 4").await;
    }
    assert_eq!(ended(&world, &pr), as_words("stopped", "user_stop"));
    assert!(
        calls(&world.look(&pr)).is_empty(),
        "nobody is called about what was stopped"
    );
    world.person("bob").says(&pr, "/loop resume").await;
    assert_eq!(
        world.state(&pr)["status"],
        json!("in_progress"),
        "{:?}",
        world.look(&pr)
    );
    pushes(&world, &pr, 5).await;
    passes(&world, &pr).await;
    assert_eq!(ended(&world, &pr), as_words("passed", "threshold_reached"));
}

pub async fn closed_nothing_is_written_and_reopened_it_goes_on(world: World) {
    let repo = watched(&world, "closed", "", "");
    let pr = opened(&world, &repo).await;
    fails_in_turn(&world, &pr, &["expected 3, got 4"; 2]).await;
    world.person("alice").closes(&pr).await;
    assert_eq!(ended(&world, &pr).0, "stopped");
    let closed = world.look(&pr);
    world
        .person("bob")
        .says(&pr, "/loop retry\n\n/loop resume")
        .await;
    assert_eq!(
        world.look(&pr),
        closed,
        "nothing is written on what is closed"
    );
    world.person("alice").reopens(&pr).await;
    assert_eq!(world.state(&pr)["status"], json!("in_progress"));
    // The attempts before count: closing and opening again is no new start.
    world
        .person("alice")
        .pushes(&pr, &[("src/lib.rs", &version(7))])
        .await;
    fails(&world, &pr, "expected 3, got 4").await;
    is_called(&world, &pr, "same_error", 3, &["**Attempts**: 3 / 3"]).await;
}

pub async fn merged_over_a_closed_gate_is_told_once(world: World) {
    let repo = watched(&world, "bypassed", "", "");
    let pr = world
        .person("alice")
        .opens(
            &repo,
            "feat: sign in",
            &[("src/auth/login.rs", "pub fn login() {}\n")],
        )
        .await;
    fails(&world, &pr, "expected 3, got 4").await;
    world.person("olga").merges(&pr).await;
    let state = world.state(&pr);
    assert_eq!(
        (&state["status"], &state["bypassed"]),
        (&json!("completed"), &json!(["security gate", "unit rule"]))
    );
    world.person("carol").says(&pr, "/loop status").await;
    let look = world.look(&pr);
    let told = look.marked("<!-- loopgate:bypassed -->");
    assert_eq!(told.len(), 1, "{look:?}");
    assert!(
        told[0].contains("olga") && told[0].contains("security"),
        "{}",
        told[0]
    );
}
