//! What is said and done, and what must come of it. Each is played on both worlds.

use loopgate_core::RepoName;
use loopgate_simulator::Pr;

use crate::world::{
    Report::{Fails, Passes},
    World,
};

const CONFIGURATION: &str = ".github/loopgate.yml";
const CHECKS: &str = "\
version: 1
labels: { state: true }
verify:
  checks:
    build: { kind: build, from: { check: ci / build, app: other-ci } }
    unit:  { kind: test, from: { check: ci / test, app: other-ci } }
";

const LOGIN: (&str, &str) = ("src/auth/login.rs", "pub fn login() {}\n");
const LOGIN_AGAIN: (&str, &str) = (
    "src/auth/login.rs",
    "pub fn login() -> bool {\n    true\n}\n",
);
const BOTH: [&str; 2] = ["loopgate / verify", "loopgate / gates"];

/// A repository that Loopgate looks after, where bob may approve security; and its configuration.
async fn looked_after(world: &World) -> (RepoName, String) {
    let repo = world.repository("widgets", &[("src/lib.rs", "// Widgets.\n")]);
    let approvers = match world.team("security", &["bob"], &repo) {
        Some(team) => format!("teams: [{team}]"),
        None => "users: [bob]".to_owned(),
    };
    let configuration =
        format!("{CHECKS}gates:\n  security: {{ approvers: {{ {approvers} }} }}\n  deploy: off\n");
    world
        .person("olga")
        .pushes_to(&repo, "main", &[(CONFIGURATION, &configuration)])
        .await;
    (repo, configuration)
}

pub async fn a_pull_request_that_touches_auth_is_welcomed(world: World) {
    let (repo, _) = looked_after(&world).await;
    let pr = world
        .person("alice")
        .opens(&repo, "feat: sign in", &[LOGIN])
        .await;

    let look = world.look(&pr);
    assert!(look.has_label("needs:security-review"), "{look:?}");
    assert!(
        look.requested
            .iter()
            .any(|who| who == "@security" || who == "bob"),
        "{:?}",
        look.requested
    );
    assert_eq!(
        look.marked("<!-- loopgate:gate:security:").len(),
        1,
        "{look:?}"
    );
    look.tells("security");
    assert_eq!(look.comments.len(), 2, "{look:?}");
    for name in BOTH {
        let check = look.check(name);
        assert!(
            !check.title.is_empty() && check.conclusion.as_deref() != Some("success"),
            "{check:?}"
        );
    }
    assert!(!world.state_commits(&pr).is_empty(), "no state was saved");

    world
        .ci_reports(&pr, &[Passes("ci / build"), Passes("ci / test")])
        .await;
    let look = world.look(&pr);
    look.concludes("loopgate / verify", Some("success"));
    assert_ne!(
        look.concluded("loopgate / gates"),
        Some("success"),
        "{look:?}"
    );
}

pub async fn only_the_right_person_opens_the_gate(world: World) {
    let (repo, _) = looked_after(&world).await;
    let pr = world
        .person("alice")
        .opens(&repo, "feat: sign in", &[LOGIN])
        .await;

    let claim = world.person("mallory").says(&pr, "security approved").await;
    let look = world.look(&pr);
    assert!(look.has_label("needs:security-review"), "{look:?}");
    assert_ne!(
        look.concluded("loopgate / gates"),
        Some("success"),
        "{look:?}"
    );
    assert_eq!(world.reactions(&pr, claim), ["confused"]);
    assert!(
        look.status().contains("mallory"),
        "the answer names who asked: {}",
        look.status()
    );

    let approval = world
        .person("bob")
        .says(&pr, "Read all of it.\n\nsecurity approved")
        .await;
    let look = world.look(&pr);
    assert!(!look.has_label("needs:security-review"), "{look:?}");
    look.concludes("loopgate / gates", Some("success"));
    assert!(
        !world
            .reactions(&pr, approval)
            .contains(&"confused".to_owned())
    );

    world.person("alice").pushes(&pr, &[LOGIN_AGAIN]).await;
    let look = world.look(&pr);
    assert!(
        look.has_label("needs:security-review"),
        "an approval of other code counts no more: {look:?}"
    );
    assert_ne!(
        look.concluded("loopgate / gates"),
        Some("success"),
        "{look:?}"
    );
}

pub async fn failures_come_back_as_feedback_and_the_third_calls_a_person(world: World) {
    let (repo, _) = looked_after(&world).await;
    let pr = world
        .person("alice")
        .opens(&repo, "feat: count", &[("src/lib.rs", &version(0))])
        .await;
    fails(&world, &pr).await;
    let look = world.look(&pr);
    assert!(look.has_label("loop:retry"), "{look:?}");
    look.tells("src/lib.rs:3");
    look.concludes("loopgate / verify", Some("failure"));

    for nth in [1, 2] {
        let before = world.look(&pr);
        assert!(
            before.marked("<!-- loopgate:escalation:").is_empty(),
            "called too early: {before:?}"
        );
        world
            .person("alice")
            .pushes(&pr, &[("src/lib.rs", &version(nth))])
            .await;
        fails(&world, &pr).await;
    }
    let look = world.look(&pr);
    assert!(
        look.has_label("loop:blocked") && !look.has_label("loop:retry"),
        "{look:?}"
    );
    assert_eq!(
        look.marked("<!-- loopgate:escalation:").len(),
        1,
        "{look:?}"
    );

    world
        .person("bob")
        .says(&pr, "An hour has 3600 seconds.\n\n/loop resume")
        .await;
    assert!(
        !world.look(&pr).has_label("loop:blocked"),
        "{:?}",
        world.look(&pr)
    );
    world
        .person("alice")
        .pushes(&pr, &[("src/lib.rs", &version(3))])
        .await;
    world
        .ci_reports(&pr, &[Passes("ci / build"), Passes("ci / test")])
        .await;
    let look = world.look(&pr);
    assert!(look.has_label("loop:passed"), "{look:?}");
    look.concludes("loopgate / verify", Some("success"));
    assert_eq!(
        look.marked("<!-- loopgate:escalation:").len(),
        1,
        "{look:?}"
    );

    world.person("olga").merges(&pr).await;
    let newest = world
        .state_commits(&pr)
        .into_iter()
        .next()
        .unwrap_or_default();
    assert!(
        world.look(&pr).status().contains("Attempts"),
        "the handoff names the attempts; saved: {newest}"
    );
}

pub async fn a_wrong_configuration_is_named_and_the_last_good_one_governs(world: World) {
    let (repo, good) = looked_after(&world).await;
    let pr = world
        .person("alice")
        .opens(&repo, "feat: sign in", &[LOGIN])
        .await;
    assert!(world.look(&pr).has_label("needs:security-review"));

    let wrong = good.replace("approvers", "aprovers");
    world
        .person("olga")
        .pushes_to(&repo, "main", &[(CONFIGURATION, &wrong)])
        .await;
    let look = world.look(&pr);
    let verify = look.check("loopgate / verify");
    assert!(
        verify.says.contains(".github/loopgate.yml:8:15"),
        "{}",
        verify.says
    );
    assert!(
        verify.says.contains("did you mean `approvers`?"),
        "{}",
        verify.says
    );

    // The team of the last good configuration approves as if nothing had happened.
    world.person("bob").says(&pr, "security approved").await;
    let look = world.look(&pr);
    assert!(!look.has_label("needs:security-review"), "{look:?}");
    look.concludes("loopgate / gates", Some("success"));

    world
        .person("olga")
        .pushes_to(&repo, "main", &[(CONFIGURATION, &good)])
        .await;
    let look = world.look(&pr);
    assert!(
        !look
            .check("loopgate / verify")
            .says
            .contains("did you mean"),
        "{look:?}"
    );
}

pub async fn a_repository_that_did_not_ask_is_left_alone(world: World) {
    let repo = world.repository("quiet", &[("src/lib.rs", "// Quiet.\n")]);
    let pr = world
        .person("alice")
        .opens(&repo, "feat: sign in", &[LOGIN])
        .await;
    world
        .person("mallory")
        .says(&pr, "security approved\n\n/loop status")
        .await;
    world.ci_reports(&pr, &[Passes("ci / build")]).await;
    world.person("alice").pushes(&pr, &[LOGIN_AGAIN]).await;

    assert!(
        world.looked_at(&repo),
        "nothing was left alone, since nothing was seen"
    );
    assert_eq!(world.writes(), Vec::<String>::new());
    let look = world.look(&pr);
    assert!(
        look.comments.is_empty() && look.labels.is_empty() && look.requested.is_empty(),
        "{look:?}"
    );
    assert!(
        look.checks
            .iter()
            .all(|check| !check.name.starts_with("loopgate")),
        "{look:?}"
    );
    assert!(world.state_commits(&pr).is_empty());
}

async fn fails(world: &World, pr: &Pr) {
    let failure = Fails {
        check: "ci / test",
        path: "src/lib.rs",
        line: 3,
        message: "expected 3600, got 60",
    };
    world.ci_reports(pr, &[Passes("ci / build"), failure]).await;
}

fn version(nth: u32) -> String {
    format!("// Version {nth}.\npub fn seconds() -> u64 {{\n    {nth}\n}}\n")
}
