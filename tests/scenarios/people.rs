//! Who says it, from what GitHub shows of people to what they read about it.

use chrono::TimeDelta;
use loopgate_simulator::Pr;

use crate::{
    gates::{guarded_as, status},
    world::{GitHub, Work, World},
};

const LOGIN: (&str, &str) = ("src/auth/login.rs", "pub fn login() {}\n");

/// The gate stays closed, the comment gets 😕, and its writer reads this.
pub fn is_refused(world: &World, pr: &Pr, comment: u64, told: &str) {
    let look = world.look(pr);
    assert!(look.has_label("needs:security-review"), "{told}: {look:?}");
    assert_ne!(
        look.concluded("loopgate / gates"),
        Some("success"),
        "{told}: {look:?}"
    );
    assert!(look.status().contains(told), "{told}: {}", look.status());
    assert_eq!(world.reactions(pr, comment), ["confused"], "{told}");
}

/// The gate is open, and the comment got its 👍.
pub fn is_accepted(world: &World, pr: &Pr, comment: u64) {
    let look = world.look(pr);
    look.concludes("loopgate / gates", Some("success"));
    assert!(!look.has_label("needs:security-review"), "{look:?}");
    assert_eq!(world.reactions(pr, comment), ["+1"]);
}

pub async fn a_contributor_does_not_approve(world: World) {
    let gate = "  security: { approvers: { users: [alice, bob, carol, dave] } }\n";
    let repo = guarded_as(&world, "widgets", gate).await;
    let pr = world
        .person("alice")
        .opens(&repo, "feat: sign in", &[LOGIN])
        .await;
    let own = world.person("alice").says(&pr, "security approved").await;
    is_refused(
        &world,
        &pr,
        own,
        "alice wrote this pull request. Somebody else decides: bob, carol or dave",
    );

    // Bob mends a line, carol is named in a trailer, somebody whom GitHub does not know writes another, and one is
    // written on GitHub's own pages, which is nobody's but alice's.
    let work = |message, line| Work {
        message,
        files: line,
        ..Work::default()
    };
    world
        .person("bob")
        .commits(&pr, &work("fix: a line", &[("src/auth/a.rs", "// a\n")]))
        .await;
    let trailer = "fix: a line\n\nCo-authored-by: Carol <carol@users.noreply.github.com>";
    world
        .person("alice")
        .commits(&pr, &work(trailer, &[("src/auth/b.rs", "// b\n")]))
        .await;
    let ghost = Work {
        author: Some(("Ghost", "ghost@example.net")),
        ..work("fix: more", &[("src/auth/c.rs", "// c\n")])
    };
    world.person("alice").commits(&pr, &ghost).await;
    let ghosts = world.head(&pr)[..8].to_owned();
    let site = Work {
        on_the_site: true,
        ..work("Update d.rs", &[("src/auth/d.rs", "// d\n")])
    };
    world.person("alice").commits(&pr, &site).await;
    let (site, look) = (world.head(&pr)[..8].to_owned(), world.look(&pr));
    let unknown = format!("GitHub does not know who wrote `{ghosts}`");
    assert!(
        look.status().contains(&unknown) || look.status().contains(&format!("`{ghosts}`](")),
        "{}",
        look.status()
    );
    look.leaves_out(&format!("`{site}`. It counts"));

    for (contributor, part) in [
        ("bob", "wrote or committed part of"),
        ("carol", "is named as co-author of a commit of"),
    ] {
        let word = world
            .person(contributor)
            .says(&pr, "security approved")
            .await;
        is_refused(
            &world,
            &pr,
            word,
            &format!("{contributor} {part} this pull request"),
        );
    }
    let word = world
        .person("dave")
        .says(&pr, &format!("security approved {}", world.head(&pr)))
        .await;
    is_accepted(&world, &pr, word);
}

pub async fn only_people_approve(world: World) {
    let gate = "  security: { approvers: { users: [bob, \"other-ci[bot]\"] } }\n";
    let repo = guarded_as(&world, "widgets", gate).await;
    let pr = world
        .person("alice")
        .opens(&repo, "feat: sign in", &[LOGIN])
        .await;
    // Who is no user anywhere is asked for again before anybody is told so.
    world.wait(TimeDelta::seconds(90));
    // Our own help and request hold the very words.
    world.person("alice").says(&pr, "/loop help").await;
    let request = world.comment_of_ours(&pr, "<!-- loopgate:gate:security:").1;
    assert!(request.contains("security approved"), "{request}");
    assert_eq!(status(&world, &pr, "security"), "requested");
    let word = world.a_bot_says(&pr, "security approved").await;
    let look = world.look(&pr);
    assert_eq!(status(&world, &pr, "security"), "requested");
    look.tells("is a bot, and only people approve");
    assert!(
        world.reactions(&pr, word).is_empty(),
        "two bots might never stop"
    );
    let word = world.person("bob").says(&pr, "security approved").await;
    is_accepted(&world, &pr, word);
}

pub async fn a_team_and_a_login_change_hands(mut world: World) {
    let repo = world.repository("widgets", &[("src/lib.rs", "// Widgets.\n")]);
    let Some(team) = world.team("sec", &["bob"], &repo) else {
        return;
    };
    let configuration = format!(
        "version: 1\nlabels: {{ state: true }}\ngates:\n  deploy: off\n  security: {{ approvers: {{ teams: [{team}] }} }}\n  payments: {{ when: {{ \
         paths: [\"src/auth/**\"] }}, approvers: {{ users: [carol] }} }}\n"
    );
    world
        .person("olga")
        .pushes_to(&repo, "main", &[(".github/loopgate.yml", &configuration)])
        .await;
    let pr = world
        .person("alice")
        .opens(&repo, "feat: sign in", &[LOGIN])
        .await;
    world.person("bob").says(&pr, "security approved").await;
    world.person("carol").says(&pr, "payments approved").await;
    assert_eq!(
        [
            status(&world, &pr, "security"),
            status(&world, &pr, "payments")
        ],
        ["approved", "approved"]
    );

    // Nobody hears of either.
    world.stops().await;
    world.leaves("sec", "bob").await;
    world.loses_the_login("carol", "carol-new").await;
    world.starts().await;
    let look = world
        .after(TimeDelta::minutes(16), &pr, "the next look", |look| {
            look.has_label("needs:security-review") && look.has_label("needs:payments-review")
        })
        .await;
    assert_ne!(
        look.concluded("loopgate / gates"),
        Some("success"),
        "{look:?}"
    );
    look.tells("bob is not an approver of this gate");
    look.tells("carol-new is not an approver of this gate");
}

pub async fn write_access_is_enough_where_the_gate_says_so(world: World) {
    let gate = "  security: { approvers: { permission: write } }\n";
    let repo = guarded_as(&world, "widgets", gate).await;
    world.lets_write(&repo, "dave").await;
    let pr = world
        .person("alice")
        .opens(&repo, "feat: sign in", &[LOGIN])
        .await;
    let word = world.person("mallory").says(&pr, "security approved").await;
    is_refused(
        &world,
        &pr,
        word,
        "mallory is not an approver of this gate. It opens for anyone with write access",
    );

    // Whom GitHub says nothing about approves nothing; told so, and asked again by itself.
    world.fails_at("/collaborators/dave/permission");
    let word = world.person("dave").says(&pr, "security approved").await;
    let look = world.look(&pr);
    assert_ne!(
        look.concluded("loopgate / gates"),
        Some("success"),
        "{look:?}"
    );
    look.tells("GitHub did not say whether dave may approve");
    assert_eq!(
        world.reactions(&pr, word),
        ["eyes"],
        "seen, and not decided"
    );
    world.heals();
    let is_green =
        |look: &crate::world::Look| look.concluded("loopgate / gates") == Some("success");
    world
        .after(TimeDelta::minutes(6), &pr, "the next question", is_green)
        .await;
    let reactions = world.reactions(&pr, word);
    assert!(
        reactions.contains(&"+1".to_owned()),
        "an outside collaborator approves: {reactions:?}"
    );
}

pub async fn a_maintainer_ends_a_rejection(world: World) {
    let repo = guarded_as(
        &world,
        "widgets",
        "  security: { approvers: { users: [bob, carol] } }\n",
    )
    .await;
    let pr = world
        .person("alice")
        .opens(&repo, "feat: sign in", &[LOGIN])
        .await;
    // The last line of a comment is its writer's word.
    world
        .person("carol")
        .says(&pr, "security rejected\n\nOh, I see.\n\nsecurity approved")
        .await;
    assert_eq!(status(&world, &pr, "security"), "approved");
    world
        .person("bob")
        .says(
            &pr,
            "security approved\n\nNo, wait: the token is logged.\n\nsecurity rejected",
        )
        .await;
    let look = world.look(&pr);
    look.concludes("loopgate / gates", Some("failure"));
    assert!(
        look.status().contains("rejected by [bob]")
            && look.status().contains("the token is logged"),
        "{look:?}"
    );

    let word = world
        .person("carol")
        .says(&pr, "/dismiss security @bob nonsense")
        .await;
    is_refused(
        &world,
        &pr,
        word,
        "ending somebody else’s rejection takes maintain access, which carol has not",
    );
    let word = world
        .person("olga")
        .says(&pr, "/dismiss security @bob settled by phone")
        .await;
    is_accepted(&world, &pr, word);
}

pub async fn an_author_ticks_no_box(world: World) {
    let gate = "  security: { approvers: { users: [bob] }, checklist: required }\n";
    let repo = guarded_as(&world, "widgets", gate).await;
    let pr = world
        .person("alice")
        .opens(&repo, "feat: sign in", &[LOGIN])
        .await;
    let word = world.person("bob").says(&pr, "security approved").await;
    is_refused(
        &world,
        &pr,
        word,
        "boxes of the gate’s checklist are still open",
    );

    let request = || world.comment_of_ours(&pr, "<!-- loopgate:gate:security:");
    let (id, asked) = request();
    assert!(asked.contains("- [ ]"), "{asked}");
    let without: String = asked
        .lines()
        .filter(|line| !line.contains("- [ ]"))
        .map(|line| format!("{line}\n"))
        .collect();
    for forged in [asked.replace("- [ ]", "- [x]"), without] {
        world.person("alice").edits(&pr, id, &forged).await;
        is_refused(
            &world,
            &pr,
            word,
            "boxes of the gate’s checklist are still open",
        );
        assert_eq!(request().1, asked, "what somebody else edits is put back");
    }
    // One box of his own, and nothing that was ticked for him.
    world
        .person("bob")
        .edits(&pr, id, &asked.replacen("- [ ]", "- [x]", 1))
        .await;
    is_refused(
        &world,
        &pr,
        word,
        "3 boxes of the gate’s checklist are still open",
    );
    assert_eq!(request().1.matches("- [x]").count(), 1, "{}", request().1);
    world
        .person("bob")
        .edits(&pr, id, &asked.replace("- [ ]", "- [x]"))
        .await;
    let look = world.look(&pr);
    look.concludes("loopgate / gates", Some("success"));
    assert!(
        matches!(world.github, GitHub::Emulated(_))
            || world.reactions(&pr, word).contains(&"+1".to_owned())
    );
}
