//! Where it is said, and how: what people type, and the answer they read.

use chrono::TimeDelta;
use loopgate_simulator::ReactionContent;

use crate::{
    gates::{guarded_as, status},
    people::{is_accepted, is_refused},
    world::{GitHub, Work, World},
};

const LOGIN: (&str, &str) = ("src/auth/login.rs", "pub fn login() {}\n");
const GATE: &str = "  security: { approvers: { users: [bob, carol] } }\n";

/// Bob writes each of these, is answered on each, and opens nothing. Then he says it plainly.
async fn nearly_approves(world: &World, name: &str, said: &[(&str, &str)]) {
    let repo = guarded_as(world, name, GATE).await;
    let pr = world
        .person("alice")
        .opens(&repo, "feat: sign in", &[LOGIN])
        .await;
    let mut words = Vec::new();
    for (body, told) in said {
        words.push((world.person("bob").writes(&pr, body).await, told));
    }
    world.settle().await;
    for (word, told) in words {
        is_refused(world, &pr, word, told);
    }
    let plain = "<details open><summary>Review</summary>\n\nsecurity approved\n\n</details>";
    let word = world.person("bob").says(&pr, plain).await;
    is_accepted(world, &pr, word);
}

pub async fn words_count_where_they_are_plain_and_own(world: World) {
    let said = [
        ("> security approved", "it stands in a quote"),
        (
            "> > security approved\n> > \n> > and more",
            "it stands in a quote",
        ),
        ("```\nsecurity approved\n```", "it stands in code"),
        ("    security approved", "it stands in code"),
        ("Write `security approved`", "it stands in code"),
        ("# security approved", "it stands in a heading"),
        (
            "[security approved](https://example.com)",
            "it stands in a link",
        ),
    ];
    nearly_approves(&world, "first", &said).await;
    let said = [
        (
            "![security approved](x.png)",
            "it stands in an image's description",
        ),
        (
            "| a |\n|---|\n| security approved |",
            "it stands in a table",
        ),
        ("<!-- security approved -->", "it stands in an HTML comment"),
        (
            "```suggestion\nsecurity approved\n```",
            "it stands in a suggestion block",
        ),
        ("~~security approved~~", "it stands in struck-through text"),
        (
            "On 20 Nov 2026, Alice wrote:\n\nsecurity approved",
            "it stands in a quoted e-mail",
        ),
        (
            "<details>\n\nsecurity approved\n\n</details>",
            "it stands in a closed details block",
        ),
    ];
    nearly_approves(&world, "second", &said).await;
}

pub async fn sentences_about_approving_approve_nothing(world: World) {
    let said = [
        (
            "security approved once CI is green",
            "only these words count, alone on a line: `security approved`",
        ),
        (
            "security is not approved",
            "only these words count, alone on a line: `security rejected`",
        ),
        (
            "security approved?",
            "only these words count, alone on a line: `security approved`",
        ),
        (
            "security will be approved",
            "only these words count, alone on a line: `security approved`",
        ),
        (
            "secruity approved",
            "there is no gate `secruity`. Did you mean `security approved`?",
        ),
        (
            "security appr\u{200b}oved",
            "some of its letters only look like the phrase’s",
        ),
        (
            "ѕecurity approved",
            "some of its letters only look like the phrase’s",
        ),
    ];
    nearly_approves(&world, "first", &said).await;
    let said = [
        (
            "ｓｅｃｕｒｉｔｙ approved",
            "some of its letters only look like the phrase’s",
        ),
        (
            "\u{202e}security approved",
            "some of its letters only look like the phrase’s",
        ),
        ("LGTM", "agreeing is not enough"),
        (
            "security approved 👎",
            "only these words count, alone on a line: `security rejected`",
        ),
    ];
    nearly_approves(&world, "second", &said).await;
    // What is typed with other blanks and ends says the same.
    for (name, body) in [
        ("crlf", "Fine.\r\nsecurity approved  \r\n"),
        ("blank", "**Security**\u{a0}approved :tada:"),
    ] {
        let repo = guarded_as(&world, name, GATE).await;
        let pr = world
            .person("alice")
            .opens(&repo, "feat: sign in", &[LOGIN])
            .await;
        let word = world.person("bob").says(&pr, body).await;
        is_accepted(&world, &pr, word);
    }
}

pub async fn what_is_said_elsewhere_is_not_said_here(world: World) {
    let repo = guarded_as(&world, "widgets", GATE).await;
    let pr = world
        .person("alice")
        .opens(&repo, "security approved", &[LOGIN])
        .await;
    let other = world
        .person("alice")
        .opens(
            &repo,
            "feat: sign out",
            &[("src/auth/out.rs", "fn out() {}\n")],
        )
        .await;
    // On another pull request, on an issue, in a commit's message, with an emoji.
    let word = world.person("bob").says(&other, "security approved").await;
    is_accepted(&world, &other, word);
    let issue = world
        .person("bob")
        .opens_an_issue(&repo, "security approved")
        .await;
    world.person("bob").says(&issue, "security approved").await;
    let work = Work {
        message: "security approved",
        files: &[("docs/a.md", "A.\n")],
        ..Work::default()
    };
    world.person("alice").commits(&pr, &work).await;
    let (request, _) = world.comment_of_ours(&pr, "<!-- loopgate:gate:security:");
    world
        .person("bob")
        .reacts(&pr, request, ReactionContent::PlusOne)
        .await;
    if let GitHub::Emulated(github) = &world.github {
        let path = format!("/repos/{repo}/commits/{}/comments", world.head(&pr));
        let body = serde_json::json!({ "body": "security approved" });
        github.call(
            "call",
            serde_json::json!({ "method": "POST", "path": path, "as_": "bob", "json": body }),
        );
        world.settle().await;
    }
    let look = world.look(&pr);
    assert!(look.has_label("needs:security-review"), "{look:?}");
    assert_ne!(
        look.concluded("loopgate / gates"),
        Some("success"),
        "{look:?}"
    );
    assert!(
        !look.status().contains('😕'),
        "nobody said it here: {}",
        look.status()
    );

    // On a line of the diff: told where to say it.
    world
        .person("bob")
        .says_on_the_diff(&pr, (LOGIN.0, 1), "security approved")
        .await;
    let look = world.look(&pr);
    assert!(look.has_label("needs:security-review"), "{look:?}");
    look.tells("bob’s");
    look.tells("nothing is decided there");
}

pub async fn edited_deleted_and_hidden_words_open_nothing(world: World) {
    let repo = guarded_as(&world, "widgets", GATE).await;
    let pr = world
        .person("alice")
        .opens(&repo, "feat: sign in", &[LOGIN])
        .await;
    // Edited into an approval, by its writer and by somebody else.
    for (editor, told) in [
        ("bob", "it was edited, and what was edited opens nothing"),
        ("olga", "somebody else edited it, who cannot speak for bob"),
    ] {
        let word = world.person("bob").says(&pr, "Nice.").await;
        world
            .person(editor)
            .edits(&pr, word, "security approved")
            .await;
        is_refused(&world, &pr, word, told);
    }
    // Edited after it counted.
    let word = world.person("bob").says(&pr, "security approved").await;
    is_accepted(&world, &pr, word);
    world
        .person("olga")
        .edits(&pr, word, "security approved\n\nand everything else")
        .await;
    let look = world.look(&pr);
    assert_eq!(status(&world, &pr, "security"), "requested");
    look.tells("of bob that had counted was changed afterwards");

    // Deleted, and hidden, of which no event tells.
    let word = world.person("bob").says(&pr, "security approved").await;
    is_accepted(&world, &pr, word);
    world.person("bob").deletes(&pr, word).await;
    assert_eq!(status(&world, &pr, "security"), "requested");
    assert!(
        world.look(&pr).has_label("needs:security-review"),
        "{:?}",
        world.look(&pr)
    );
    let word = world.person("carol").says(&pr, "security approved").await;
    is_accepted(&world, &pr, word);
    world.person("olga").hides(&pr, word).await;
    let is_closed = |look: &crate::world::Look| look.has_label("needs:security-review");
    let look = world
        .after(TimeDelta::minutes(16), &pr, "the next look", is_closed)
        .await;
    look.tells("a moderator has hidden it");
    assert_ne!(
        look.concluded("loopgate / gates"),
        Some("success"),
        "{look:?}"
    );
}
