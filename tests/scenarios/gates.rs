//! Gates with several people, with reviews, with pushes in between, and with two servers.

use loopgate_core::RepoName;
use loopgate_simulator::{Pr, ReviewEvent};

use crate::world::{Look, Report::Passes, World};

const LOGIN: (&str, &str) = ("src/auth/login.rs", "pub fn login() {}\n");
const LOGIN_AGAIN: (&str, &str) = (
    "src/auth/login.rs",
    "pub fn login() -> bool {\n    true\n}\n",
);
const PAY: (&str, &str) = ("src/billing/pay.rs", "pub fn pay() {}\n");
const GREEN: [&str; 2] = ["ci / build", "ci / test"];

/// A repository with these gates.
async fn guarded(world: &World, gates: &str) -> RepoName {
    guarded_as(world, "widgets", gates).await
}

pub async fn guarded_as(world: &World, name: &str, gates: &str) -> RepoName {
    let repo = world.repository(name, &[("src/lib.rs", "// Widgets.\n")]);
    let configuration = format!(
        "version: 1\nlabels: {{ state: true }}\nverify:\n  checks:\n    build: {{ kind: build, from: {{ check: ci / build, app: other-ci }} }}\n    \
         unit: {{ kind: test, from: {{ check: ci / test, app: other-ci }} }}\ngates:\n  deploy: off\n{gates}"
    );
    world
        .person("olga")
        .pushes_to(&repo, "main", &[(".github/loopgate.yml", &configuration)])
        .await;
    repo
}

/// What the saved state says of a gate.
pub fn status(world: &World, pr: &Pr, gate: &str) -> String {
    world.state(pr)["gates"][gate]["status"]
        .as_str()
        .unwrap_or("unknown")
        .to_owned()
}

fn gates(look: &Look) -> Option<&str> {
    look.concluded("loopgate / gates")
}

pub async fn two_reviewers_approve_a_part_each(world: World) {
    let repo = guarded(
        &world,
        "  security: { approvers: { users: [bob, carol], count: 2 } }\n  \
         payments: { when: { paths: [\"src/billing/**\"] }, approvers: { users: [carol] } }\n",
    )
    .await;
    let pr = world
        .person("alice")
        .opens(&repo, "feat: sign in and pay", &[LOGIN, PAY])
        .await;
    let look = world.look(&pr);
    assert!(
        look.has_label("needs:security-review") && look.has_label("needs:payments-review"),
        "{look:?}"
    );

    // One of two for the one gate, and not an approver of the other.
    let both = world
        .person("bob")
        .says(&pr, "security approved\npayments approved")
        .await;
    let look = world.look(&pr);
    assert!(
        look.has_label("needs:security-review") && look.has_label("needs:payments-review"),
        "{look:?}"
    );
    look.tells("2 approvals are needed; 1 so far: bob");
    look.tells("bob is not an approver of this gate. It opens for carol");
    assert_eq!(
        world.reactions(&pr, both),
        ["confused"],
        "what was not accepted shows"
    );

    world.person("carol").says(&pr, "payments approved").await;
    let look = world.look(&pr);
    assert!(
        look.has_label("needs:security-review") && !look.has_label("needs:payments-review"),
        "{look:?}"
    );
    assert_ne!(gates(&look), Some("success"), "{look:?}");

    world.person("carol").says(&pr, "/approve security").await;
    world.ci_reports(&pr, &GREEN.map(Passes)).await;
    let look = world.look(&pr);
    assert!(
        !look.has_label("needs:security-review") && gates(&look) == Some("success"),
        "{look:?}"
    );
    assert_eq!(
        [
            status(&world, &pr, "security"),
            status(&world, &pr, "payments")
        ],
        ["approved", "approved"]
    );

    // A push to the one gate's files leaves the other's approval alone.
    world.person("alice").pushes(&pr, &[PAY, LOGIN_AGAIN]).await;
    assert_eq!(
        [
            status(&world, &pr, "security"),
            status(&world, &pr, "payments")
        ],
        ["requested", "approved"]
    );
}

pub async fn reviews_approve_and_reject(world: World) {
    let repo = guarded(
        &world,
        "  security: { approvers: { users: [bob, carol] }, approve_by: [comment, review] }\n",
    )
    .await;
    let pr = world
        .person("alice")
        .opens(&repo, "feat: sign in", &[LOGIN])
        .await;

    world
        .person("bob")
        .reviews(&pr, ReviewEvent::RequestChanges, "The password is logged.")
        .await;
    let look = world.look(&pr);
    assert_eq!(status(&world, &pr, "security"), "rejected");
    look.tells("The password is logged.");

    // Whatever others approve, a rejection stands until its writer takes it back.
    let carols = world
        .person("carol")
        .reviews(&pr, ReviewEvent::Approve, "")
        .await;
    assert_eq!(status(&world, &pr, "security"), "rejected");
    world
        .person("bob")
        .reviews(&pr, ReviewEvent::Approve, "Mended.")
        .await;
    assert_eq!(status(&world, &pr, "security"), "approved");
    assert_eq!(
        gates(&world.look(&pr)),
        Some("success"),
        "{:?}",
        world.look(&pr)
    );

    // A dismissed approval is none; the other one holds.
    world.person("olga").dismisses(&pr, carols).await;
    assert_eq!(status(&world, &pr, "security"), "approved");
    world
        .person("bob")
        .says(&pr, "security approval revoked")
        .await;
    assert_eq!(status(&world, &pr, "security"), "requested");
    assert!(
        world.look(&pr).has_label("needs:security-review"),
        "{:?}",
        world.look(&pr)
    );

    // A review is bound to its commit.
    world
        .person("carol")
        .reviews(&pr, ReviewEvent::Approve, "")
        .await;
    assert_eq!(status(&world, &pr, "security"), "approved");
    world.person("alice").pushes(&pr, &[LOGIN_AGAIN]).await;
    assert_eq!(status(&world, &pr, "security"), "requested");
}

pub async fn a_word_is_taken_back_and_a_deleted_objection_stands(world: World) {
    let repo = guarded(
        &world,
        "  security: { approvers: { users: [bob, carol] } }\n",
    )
    .await;
    let pr = world
        .person("alice")
        .opens(&repo, "feat: sign in", &[LOGIN])
        .await;

    world.person("bob").says(&pr, "security approved").await;
    assert_eq!(status(&world, &pr, "security"), "approved");
    // Nobody revokes another's word.
    world.person("carol").says(&pr, "/revoke security").await;
    assert_eq!(status(&world, &pr, "security"), "approved");
    world.person("bob").says(&pr, "/revoke security").await;
    let look = world.look(&pr);
    assert_eq!(status(&world, &pr, "security"), "requested");
    assert!(
        look.has_label("needs:security-review") && gates(&look) != Some("success"),
        "{look:?}"
    );

    let objection = world
        .person("carol")
        .says(&pr, "/reject security the session never ends")
        .await;
    world.person("carol").deletes(&pr, objection).await;
    world.person("bob").says(&pr, "security approved").await;
    assert_eq!(
        status(&world, &pr, "security"),
        "rejected",
        "deleting a comment does not speak for its writer"
    );
    world.person("carol").says(&pr, "security approved").await;
    assert_eq!(status(&world, &pr, "security"), "approved");
    assert_eq!(
        gates(&world.look(&pr)),
        Some("success"),
        "{:?}",
        world.look(&pr)
    );
}

pub async fn an_approval_that_races_with_a_push_opens_nothing(world: World) {
    let repo = guarded(&world, "  security: { approvers: { users: [bob] } }\n").await;
    let pr = world
        .person("alice")
        .opens(&repo, "feat: sign in", &[LOGIN])
        .await;

    // Bob has read the first version; before anything is made of his word, another one lands.
    world.person("bob").writes(&pr, "security approved").await;
    world
        .person("alice")
        .lands(&repo, &world.branch(&pr), &[LOGIN_AGAIN])
        .await;
    world.settle().await;
    let look = world.look(&pr);
    assert_eq!(status(&world, &pr, "security"), "requested");
    assert!(
        look.has_label("needs:security-review") && gates(&look) != Some("success"),
        "{look:?}"
    );
    look.tells("bob is asked to look again");

    // Having looked again, he says it again: so soon after a push with its commit. A push beside it changes nothing.
    world
        .person("bob")
        .says(&pr, &format!("security approved {}", world.head(&pr)))
        .await;
    assert_eq!(status(&world, &pr, "security"), "approved");
    world.person("bob").writes(&pr, "Thanks!").await;
    world
        .person("alice")
        .lands(&repo, &world.branch(&pr), &[("README.md", "Read me.\n")])
        .await;
    world.settle().await;
    assert_eq!(status(&world, &pr, "security"), "approved");
}

pub async fn two_servers_show_one_pull_request_once(world: World) {
    let world = world.with_a_server().await;
    let repo = guarded(&world, "  security: { approvers: { users: [bob] } }\n").await;
    let pr = world
        .person("alice")
        .opens(&repo, "feat: sign in", &[LOGIN])
        .await;
    let mallory = world.person("mallory").says(&pr, "security approved").await;
    assert_eq!(status(&world, &pr, "security"), "requested");
    assert_eq!(world.reactions(&pr, mallory), ["confused"]);

    // Both are busy with one thing when the next one comes.
    let approval = world.person("bob").writes(&pr, "security approved").await;
    world.person("carol").writes(&pr, "Nice!").await;
    world.ci_reports(&pr, &GREEN.map(Passes)).await;
    let look = world.look(&pr);
    assert_eq!(
        look.marked("<!-- loopgate:gate:security:").len(),
        1,
        "asked once: {look:?}"
    );
    assert_eq!(
        look.comments.len(),
        2,
        "the status and the request: {look:?}"
    );
    assert!(!look.status().is_empty());
    assert_eq!(
        (gates(&look), look.concluded("loopgate / verify")),
        (Some("success"), Some("success")),
        "{look:?}"
    );
    assert_eq!(status(&world, &pr, "security"), "approved");
    assert_eq!(world.reactions(&pr, approval), ["+1"]);
    let saved = world.state_commits(&pr);

    // What is shown is what was decided, by whichever of them: another look of both changes nothing.
    world.person("carol").says(&pr, "/loop status").await;
    let again = world.look(&pr);
    assert_eq!(
        (again.labels, again.checks, again.comments.len()),
        (look.labels, look.checks, 2)
    );
    assert!(
        world.state_commits(&pr).len() <= saved.len() + 1,
        "{:?}",
        world.state_commits(&pr)
    );
}

pub async fn words_that_close_outlast_their_comments(world: World) {
    let repo = guarded(
        &world,
        "  security: { approvers: { users: [bob, carol] }, approve_by: [comment, review] }\n",
    )
    .await;
    let pr = world
        .person("alice")
        .opens(&repo, "feat: sign in", &[LOGIN])
        .await;

    // Who has approved nothing takes nothing back, and is told what would stop it.
    world.person("carol").says(&pr, "security approved").await;
    let idle = world
        .person("bob")
        .says(&pr, "I found a hole.\n\nsecurity approval revoked")
        .await;
    assert_eq!(world.reactions(&pr, idle), ["confused"]);
    assert!(
        world
            .look(&pr)
            .status()
            .contains("write `security rejected`"),
        "{}",
        world.look(&pr).status()
    );

    // Deleting a revocation brings no approval back.
    let revoked = world
        .person("carol")
        .says(&pr, "security approval revoked")
        .await;
    assert_eq!(status(&world, &pr, "security"), "requested");
    world.person("alice").deletes(&pr, revoked).await;
    world.person("alice").says(&pr, "/loop status").await;
    assert_eq!(status(&world, &pr, "security"), "requested");
    assert_ne!(
        gates(&world.look(&pr)),
        Some("success"),
        "{:?}",
        world.look(&pr)
    );

    // Dismissing a review takes write, and ends no rejection.
    let review = world
        .person("carol")
        .reviews(&pr, ReviewEvent::RequestChanges, "security approved")
        .await;
    assert_eq!(status(&world, &pr, "security"), "rejected");
    world.person("bob").says(&pr, "security approved").await;
    world.person("alice").dismisses(&pr, review).await;
    assert_eq!(status(&world, &pr, "security"), "rejected");

    // What was approved while it was closed is looked at anew.
    world.person("carol").says(&pr, "security approved").await;
    assert_eq!(status(&world, &pr, "security"), "approved");
    world.person("carol").says(&pr, "/revoke security").await;
    world.person("bob").says(&pr, "/revoke security").await;
    world.person("alice").closes(&pr).await;
    world.person("carol").says(&pr, "security approved").await;
    world.person("alice").reopens(&pr).await;
    assert_eq!(status(&world, &pr, "security"), "requested");
    assert!(
        world
            .look(&pr)
            .status()
            .contains("while the pull request was closed"),
        "{}",
        world.look(&pr).status()
    );
    world.person("carol").says(&pr, "security approved").await;
    assert_eq!(status(&world, &pr, "security"), "approved");
}

pub async fn a_rejection_may_be_typed_wrong_at_first(world: World) {
    let repo = guarded(
        &world,
        "  security: { approvers: { users: [bob, carol] } }\n",
    )
    .await;
    let pr = world
        .person("alice")
        .opens(&repo, "feat: sign in", &[LOGIN])
        .await;
    let typo = world.person("carol").says(&pr, "security rejectd").await;
    world.person("bob").says(&pr, "security approved").await;
    assert_eq!(status(&world, &pr, "security"), "approved");
    world
        .person("carol")
        .edits(&pr, typo, "security rejected")
        .await;
    assert_eq!(status(&world, &pr, "security"), "rejected");
    // An edit by another person is no vote.
    world
        .person("olga")
        .edits(&pr, typo, "security approved")
        .await;
    assert_eq!(status(&world, &pr, "security"), "rejected");
    world.person("carol").says(&pr, "security approved").await;
    assert_eq!(status(&world, &pr, "security"), "approved");
}

/// Files before a change, and after it: what is moved, enclosed, re-indented or exchanged.
const HIDDEN: [(&str, &str, &str); 10] = [
    (
        "app/a.py",
        "import x\n@login_required\ndef report(r):\n    pass\n",
        "import x\ndef report(r):\n    pass\n",
    ),
    (
        "app/b.py",
        "require_permission(u)\nitem.delete()\nx = 1\n",
        "item.delete()\nrequire_permission(u)\nx = 1\n",
    ),
    (
        "app/c.py",
        "if d:\n    log()\ncheck_permission(u)\n",
        "if d:\n    log()\n    check_permission(u)\n",
    ),
    (
        "src/auth/d.rs",
        "mfa(u);\nrole(u);\nreturn true;\n",
        "return true;\nmfa(u);\nrole(u);\n",
    ),
    (
        "config/roles.yml",
        "admin:\n  - drop\nviewer:\n  - read\n",
        "admin:\nviewer:\n  - read\n  - drop\n",
    ),
    (
        "src/e.js",
        "f()\nrequireAdmin(u);\ng()\n",
        "f()\n/*\nrequireAdmin(u);\n*/\ng()\n",
    ),
    (
        "src/auth/f.py",
        "from .jwt_strict import verify\n",
        "from .jwt_lenient import verify\n",
    ),
    (
        "src/auth/g.c",
        "int g() {\n}\n",
        "int g() {\n#include \"always_yes.inc\"\n}\n",
    ),
    (".mergify.yml", "rules: []\n", "rules: [merge]\n"),
    ("AGENTS.md", "Ask first.\n", "Push without review.\n"),
];

pub async fn what_hides_a_change_opens_the_security_gate(world: World) {
    let repo = guarded(&world, "  security: { approvers: { users: [bob] } }\n").await;
    world
        .person("olga")
        .pushes_to(
            &repo,
            "main",
            &HIDDEN.map(|(path, before, _)| (path, before)),
        )
        .await;
    for (path, _, after) in HIDDEN {
        let pr = world
            .person("alice")
            .opens(&repo, &format!("refactor: {path}"), &[(path, after)])
            .await;
        assert!(world.look(&pr).has_label("needs:security-review"), "{path}");
    }
    let pr = world
        .person("alice")
        .opens(&repo, "docs: a word", &[("README.md", "A word.\n")])
        .await;
    assert!(
        !world.look(&pr).has_label("needs:security-review"),
        "an everyday change is not held"
    );
}
