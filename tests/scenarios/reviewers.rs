//! AI reviewers: what they find on lines, what is answered, and who ends it. Each is played on both worlds.

use chrono::TimeDelta;
use loopgate_simulator::{Pr, ReviewEvent};

use crate::{
    triggers::{is_called, opened, passes, pushes, version, watched},
    world::{Look, Person, REVIEWER, Work, World},
};

const FINDING: &str = "_⚠️ Potential issue_ | _🟠 Major_\n\n**Compare the tokens in constant time, as an attacker measures it.**\n\n\
                       A plain comparison ends early. @alice /approve\n";
/// A line that every push changes.
const PLACE: (&str, u64) = ("src/lib.rs", 3);

/// A pull request of alice's in a repository with a reviewer.
async fn reviewed(world: &World, severity: &str) -> Pr {
    world.installs(REVIEWER);
    let reviewers =
        format!("reviewers: [{{ app: coderabbitai, severity: {severity}, timeout: 2h }}]\n");
    opened(world, &watched(world, "reviewed", "", &reviewers)).await
}

fn reviewer(world: &World) -> Person<'_> {
    world.person(REVIEWER)
}

#[track_caller]
fn is_verified(world: &World, pr: &Pr, conclusion: Option<&str>, when: &str) {
    let look = world.look(pr);
    assert_eq!(
        look.concluded("loopgate / verify"),
        conclusion,
        "{when}: {look:?}"
    );
}

pub async fn a_reviewer_and_a_fixer_that_go_round_call_a_person_with_both_sides_on_one_page(
    world: World,
) {
    let pr = reviewed(&world, "fail").await;
    for round in 1..=3 {
        passes(&world, &pr).await;
        is_verified(&world, &pr, None, "the reviewer has not looked yet");
        let thread = reviewer(&world).says_on_the_diff(&pr, PLACE, FINDING).await;
        if round < 3 {
            assert!(
                world.look(&pr).has_label("loop:retry"),
                "{:?}",
                world.look(&pr)
            );
            let answer = format!("Done in round {round}. @bob `/loop settle`");
            world
                .person("alice")
                .replies_on_the_diff(&pr, PLACE, thread, &answer)
                .await;
            let (message, text) = (format!("try {round}"), version(round));
            let work = Work {
                message: &message,
                files: &[(PLACE.0, &text)],
                ..Work::default()
            };
            world.person("alice").commits(&pr, &work).await;
        }
    }
    let sides = [
        "Compare the tokens in constant time",
        "Done in round 2.",
        "try 1",
        "try 2",
    ];
    let page = is_called(&world, &pr, "same_error", 3, &sides).await;
    assert!(
        !page.contains("@bob `/loop settle`") && !page.contains("@alice /approve"),
        "{page}"
    );
}

pub async fn an_advising_reviewer_is_shown_and_holds_nothing(world: World) {
    let pr = reviewed(&world, "warn").await;
    passes(&world, &pr).await;
    is_verified(&world, &pr, Some("success"), "nobody waits for it");
    reviewer(&world).says_on_the_diff(&pr, PLACE, FINDING).await;
    is_verified(&world, &pr, Some("success"), "it advises");
    let look = world.look(&pr);
    look.tells("1 open finding");
}

pub async fn who_resolves_a_thread_decides_whether_it_is_done(world: World) {
    let pr = reviewed(&world, "fail").await;
    passes(&world, &pr).await;
    let thread = reviewer(&world).says_on_the_diff(&pr, PLACE, FINDING).await;
    is_verified(&world, &pr, Some("failure"), "it is open");
    for (login, conclusion) in [
        ("alice", "failure"),
        ("bob", "success"),
        (REVIEWER, "success"),
    ] {
        world.person(login).resolves(&pr, thread).await;
        is_verified(&world, &pr, Some(conclusion), login);
        world.person("alice").unresolves(&pr, thread).await;
        is_verified(&world, &pr, Some("failure"), "it is open again");
    }
}

pub async fn an_outdated_thread_is_done_when_the_reviewer_looks_again(world: World) {
    let pr = reviewed(&world, "fail").await;
    passes(&world, &pr).await;
    reviewer(&world).says_on_the_diff(&pr, PLACE, FINDING).await;
    pushes(&world, &pr, 1).await;
    passes(&world, &pr).await;
    is_verified(&world, &pr, None, "the reviewer has not looked yet");
    reviewer(&world)
        .reviews(
            &pr,
            ReviewEvent::Comment,
            "**Actionable comments posted: 0**",
        )
        .await;
    is_verified(&world, &pr, Some("success"), "it has looked");
}

pub async fn a_reviewer_that_dies_after_a_placeholder_is_absent(world: World) {
    let pr = reviewed(&world, "fail").await;
    passes(&world, &pr).await;
    let head = world.head(&pr);
    let placeholder = format!(
        "> [!NOTE]\n> Currently processing new changes in this PR. This may take a few minutes ({head})."
    );
    reviewer(&world).says(&pr, &placeholder).await;
    is_verified(&world, &pr, None, "it may still look");
    let is_over = |look: &Look| look.concluded("loopgate / verify") == Some("success");
    let look = world
        .after(TimeDelta::hours(2), &pr, "the end of the wait", is_over)
        .await;
    look.tells("absent");
    look.tells("it reported nothing for 120 min");
}

pub async fn two_hundred_threads_are_one_page_that_fits(world: World) {
    let pr = reviewed(&world, "fail").await;
    passes(&world, &pr).await;
    let finding = |nth: usize| {
        format!(
            "**The name `{}` says nothing about what it holds.**",
            "x".repeat(nth)
        )
    };
    let findings: Vec<String> = (1..=200).map(finding).collect();
    let findings: Vec<&str> = findings.iter().map(String::as_str).collect();
    reviewer(&world).begins_threads(&pr, PLACE, &findings).await;
    is_verified(&world, &pr, Some("failure"), "they are open");
    let look = world.look(&pr);
    let status = look.status();
    assert!(
        status.len() < 65_000 && status.contains("and 180 more failures"),
        "{} bytes: {status}",
        status.len()
    );
    assert!(
        !status.contains("Reproduce"),
        "no command shows what a reviewer finds: {status}"
    );
    let is_empty = |below: &str| below.trim_start().starts_with("</details>");
    assert!(
        !status.split("</summary>").skip(1).any(is_empty),
        "a fold without content: {status}"
    );
}
