//! One commit, several branches: what is decided for one base opens no other, and what was merged is judged no more.

use loopgate_core::RepoName;
use loopgate_simulator::{MergeMethod, Pr, RestVersion};

use crate::world::{Look, Report::Passes, Work, World};

const LOGIN: (&str, &str) = ("src/auth/login.rs", "pub fn login() {}\n");
const LOGIN_AGAIN: (&str, &str) = (
    "src/auth/login.rs",
    "pub fn login() -> bool {\n    true\n}\n",
);
const NOTES: (&str, &str) = ("docs/notes.md", "Notes.\n");
const GREEN: [&str; 2] = ["ci / build", "ci / test"];
pub const REQUIRED: [&str; 2] = ["loopgate / verify", "loopgate / gates"];
pub const CHECKS: &str = "version: 1\nlabels: { state: true }\nverify:\n  checks:\n    build: { kind: build, from: { check: ci / build, app: other-ci } }\n    \
                      unit: { kind: test, from: { check: ci / test, app: other-ci } }\n";
pub const GATES: &str = "gates:\n  deploy: off\n  security: { approvers: { users: [bob, carol] } }\n  \
                     architecture: { approvers: { users: [bob] } }\n";

/// A repository whose default branch takes nothing without both checks.
pub async fn protected(world: &World) -> RepoName {
    protected_as(world, "widgets").await
}

pub async fn protected_as(world: &World, name: &str) -> RepoName {
    let repo = configured_as(world, name).await;
    world.protects(&repo, "main", &REQUIRED);
    repo
}

async fn configured(world: &World) -> RepoName {
    configured_as(world, "widgets").await
}

async fn configured_as(world: &World, name: &str) -> RepoName {
    let repo = world.repository(
        name,
        &[
            ("src/lib.rs", "// Widgets.\n"),
            ("docs/index.md", "Docs.\n"),
        ],
    );
    let configuration = format!("{CHECKS}{GATES}");
    world
        .person("olga")
        .pushes_to(&repo, "main", &[(".github/loopgate.yml", &configuration)])
        .await;
    repo
}

pub async fn green(world: &World, pr: &Pr) {
    world.ci_reports(pr, &GREEN.map(Passes)).await;
}

pub fn passes(look: &Look, base: Option<&str>) -> bool {
    let base = base.map(|base| format!(" ({base})")).unwrap_or_default();
    REQUIRED
        .iter()
        .all(|check| look.concluded(&format!("{check}{base}")) == Some("success"))
}

pub async fn a_branch_of_ones_own_opens_no_other(world: World) {
    let repo = protected(&world).await;
    // The change is on a branch of her own already: into that, only the notes are new.
    world
        .person("alice")
        .pushes_to(&repo, "alice/own", &[LOGIN])
        .await;
    let own = world
        .person("alice")
        .opens_into(&repo, "docs: notes", &[NOTES], "alice/own")
        .await;
    green(&world, &own).await;
    let look = world.look(&own);
    assert!(passes(&look, Some("alice/own")), "{look:?}");
    assert!(
        look.checks
            .iter()
            .all(|check| check.name != "loopgate / gates"),
        "plain names are main's: {look:?}"
    );

    // Opened before.
    let main = world
        .person("alice")
        .opens_from(&repo, "feat: sign in", &world.branch(&own), "main")
        .await;
    let look = world.look(&main);
    look.concludes("loopgate / gates", Some("action_required"));
    assert!(world.person("alice").is_refused_to_merge(&main).await);

    // Opened after, with the head as it was.
    world.person("alice").closes(&own).await;
    let own = world
        .person("alice")
        .opens_from(&repo, "docs: notes again", &world.branch(&own), "alice/own")
        .await;
    assert!(
        passes(&world.look(&own), Some("alice/own")),
        "{:?}",
        world.look(&own)
    );
    world
        .look(&main)
        .concludes("loopgate / gates", Some("action_required"));
    assert!(world.person("alice").is_refused_to_merge(&main).await);

    // At the moment of the merge: green for the one branch, turned to the other, merged before anybody looks.
    world.person("alice").closes(&main).await;
    world
        .person("alice")
        .lands(&repo, &world.branch(&own), &[("docs/more.md", "More.\n")])
        .await;
    world.settle().await;
    green(&world, &own).await;
    assert!(
        passes(&world.look(&own), Some("alice/own")),
        "{:?}",
        world.look(&own)
    );
    world.person("alice").retargets(&own, "main").await;
    assert!(world.person("alice").is_refused_to_merge(&own).await);
    world.settle().await;
    assert!(world.person("alice").is_refused_to_merge(&own).await);

    // The gate's approvers open it, and nobody else had to.
    let words = format!("security approved {}", world.head(&own));
    world.person("bob").says(&own, &words).await;
    assert!(passes(&world.look(&own), None), "{:?}", world.look(&own));
    world.person("alice").merges(&own).await;
}

pub async fn a_stack_that_is_dissolved_is_judged_by_its_new_base(world: World) {
    let repo = protected(&world).await;
    let bottom = world
        .person("alice")
        .opens(&repo, "feat: sign in", &[LOGIN])
        .await;
    let layer = world.branch(&bottom);
    let top = world
        .person("alice")
        .opens_into(&repo, "docs: notes", &[NOTES], &layer)
        .await;
    green(&world, &top).await;
    assert!(
        passes(&world.look(&top), Some(&layer)),
        "{:?}",
        world.look(&top)
    );
    world.person("alice").retargets(&top, "main").await;
    assert!(world.person("alice").is_refused_to_merge(&top).await);
    world.settle().await;
    assert_eq!(
        world.look(&top).concluded("loopgate / gates"),
        Some("action_required"),
        "{:?}",
        world.look(&top)
    );
    assert!(world.person("alice").is_refused_to_merge(&top).await);
}

pub async fn a_head_that_was_left_keeps_no_word(world: World) {
    let repo = protected(&world).await;
    let pr = world
        .person("alice")
        .opens(&repo, "feat: sign in", &[LOGIN])
        .await;
    world.person("bob").says(&pr, "security approved").await;
    green(&world, &pr).await;
    let approved = world.head(&pr);
    assert!(passes(&world.look(&pr), None), "{:?}", world.look(&pr));

    world.person("alice").pushes(&pr, &[LOGIN_AGAIN]).await;
    let left = world.checks_of(&repo, &approved);
    assert!(
        left.contains(&("loopgate / gates".to_owned(), Some("cancelled".to_owned()))),
        "{left:?}"
    );
    // What was green by itself stays.
    assert!(
        left.contains(&("loopgate / verify".to_owned(), Some("success".to_owned()))),
        "{left:?}"
    );
    world
        .person("bob")
        .says(&pr, "security approval revoked")
        .await;

    // Back at the approved commit, merged before anybody looks.
    world.person("alice").forces_back(&pr, &approved).await;
    assert!(world.person("alice").is_refused_to_merge(&pr).await);
    world.settle().await;
    assert!(world.person("alice").is_refused_to_merge(&pr).await);
    assert_ne!(
        world.look(&pr).concluded("loopgate / gates"),
        Some("success"),
        "{:?}",
        world.look(&pr)
    );
    world
        .person("bob")
        .says(&pr, &format!("security approved {approved}"))
        .await;
    assert!(passes(&world.look(&pr), None), "{:?}", world.look(&pr));
}

pub async fn a_base_that_was_left_keeps_no_word(world: World) {
    let repo = protected(&world).await;
    let pr = world
        .person("alice")
        .opens(&repo, "feat: sign in", &[LOGIN])
        .await;
    world.person("bob").says(&pr, "security approved").await;
    green(&world, &pr).await;
    assert!(passes(&world.look(&pr), None), "{:?}", world.look(&pr));
    // A branch of her own, without any configuration: nothing of ours is written there.
    world
        .person("alice")
        .lands(&repo, "alice/own", &[("docs/index.md", "Own.\n")])
        .await;
    world.removes(&repo, "alice/own", ".github/loopgate.yml");
    world.person("alice").retargets(&pr, "alice/own").await;
    world.settle().await;
    world
        .person("bob")
        .says(&pr, "security approval revoked")
        .await;
    world.person("alice").retargets(&pr, "main").await;
    assert!(world.person("alice").is_refused_to_merge(&pr).await);
    world.settle().await;
    assert!(world.person("alice").is_refused_to_merge(&pr).await);
    assert_eq!(
        world.look(&pr).concluded("loopgate / gates"),
        Some("action_required"),
        "{:?}",
        world.look(&pr)
    );
}

pub async fn what_was_merged_is_judged_no_more(world: World) {
    let methods = [MergeMethod::Merge, MergeMethod::Squash, MergeMethod::Rebase];
    for (nth, method) in methods.into_iter().enumerate() {
        let repo = world.repository(
            &format!("merged-{nth}"),
            &[
                ("src/lib.rs", "// Widgets.\n"),
                (".github/loopgate.yml", &format!("{CHECKS}{GATES}")),
            ],
        );
        let more = format!(
            "{CHECKS}    types: {{ kind: types, from: {{ check: ci / types, app: other-ci }} }}\n{GATES}  \
             payments: {{ when: {{ paths: [\"**\"] }}, approvers: {{ users: [carol] }} }}\n"
        );
        let change = [
            ("services/pay/Dockerfile", "FROM scratch\n"),
            ("tools/gauge.rs", "// A gauge.\n"),
            (".github/loopgate.yml", more.as_str()),
        ];
        let pr = world
            .person("alice")
            .opens(&repo, "feat: a service", &change)
            .await;
        world
            .person("alice")
            .pushes(&pr, &[("services/pay/main.rs", "// Pays.\n")])
            .await;
        green(&world, &pr).await;
        let head = world.head(&pr);
        let words = format!("security approved {head}\narchitecture approved {head}");
        world.person("bob").says(&pr, &words).await;
        let before = world.look(&pr);
        assert!(passes(&before, None), "{before:?}");

        world.person("olga").merges_by(&pr, method).await;
        let after = world.look(&pr);
        assert_eq!(after.checks, before.checks, "{method:?}");
        assert!(
            !after
                .comments
                .iter()
                .any(|body| body.contains("Merged over")),
            "{after:?}"
        );
        assert!(
            after.status().contains("architecture"),
            "the story stays: {}",
            after.status()
        );
        assert!(!after.status().contains("payments"), "{}", after.status());
        assert!(
            !after.status().contains("before the merge"),
            "{}",
            after.status()
        );
        let state = world.state(&pr);
        assert_eq!(
            (&state["status"], &state["bypassed"]),
            (&"completed".into(), &serde_json::json!([]))
        );
    }
}

/// Version 2026-03-10 has no `merge_commit_sha`: GraphQL says what a pull request was merged as.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_merged_is_judged_no_more_by_the_newer_rest_version() {
    let world = World::simulated().await;
    world.simulator().speaks(RestVersion::V2026);
    what_was_merged_is_judged_no_more(world).await;
}

pub async fn what_the_base_brought_is_nobodys_work(world: World) {
    let repo = configured(&world).await;
    let pr = world
        .person("alice")
        .opens(&repo, "docs: notes", &[NOTES])
        .await;
    let gated = world
        .person("alice")
        .opens(&repo, "feat: sign in", &[LOGIN])
        .await;
    world.person("bob").says(&gated, "security approved").await;
    assert_eq!(
        world.look(&gated).concluded("loopgate / gates"),
        Some("success"),
        "{:?}",
        world.look(&gated)
    );

    // Meanwhile main moves, by the hand of an approver, and touches what is gated.
    let other = ("src/auth/other.rs", "pub fn other() {}\n");
    world.person("bob").pushes_to(&repo, "main", &[other]).await;
    for pr in [&pr, &gated] {
        world.person("bob").merges_main(pr, &[other]).await;
    }
    let look = world.look(&pr);
    assert_eq!(
        look.concluded("loopgate / gates"),
        Some("success"),
        "the notes touch nothing gated: {look:?}"
    );
    assert!(!look.has_label("needs:security-review"), "{look:?}");
    // The approval stands, and its giver has written nothing.
    let look = world.look(&gated);
    look.concludes("loopgate / gates", Some("success"));

    // A merge that decides something is somebody's work, also where GitHub commits for them: its web editor does.
    world
        .person("bob")
        .pushes_to(
            &repo,
            "main",
            &[("src/auth/third.rs", "pub fn third() {}\n")],
        )
        .await;
    let resolved = [("src/auth/third.rs", "pub fn third() { open(); }\n")];
    let work = Work {
        message: "Merge branch 'main'",
        files: &resolved,
        on_the_site: true,
        merges_main: true,
        ..Work::default()
    };
    world.person("bob").commits(&gated, &work).await;
    let words = format!("security approved {}", world.head(&gated));
    world.person("bob").says(&gated, &words).await;
    let look = world.look(&gated);
    look.concludes("loopgate / gates", Some("action_required"));
    look.tells("bob wrote or committed part of this pull request");
    world.person("carol").says(&gated, &words).await;
    assert_eq!(
        world.look(&gated).concluded("loopgate / gates"),
        Some("success"),
        "{:?}",
        world.look(&gated)
    );
}

/// What matches a pattern and may be made by people keeps a name of its own, and it is said why. The emulator knows no
/// rulesets, so nothing keeps anybody from it there either.
pub async fn what_people_may_make_keeps_its_own_name(world: World) {
    let repo = world.repository(
        "widgets",
        &[
            ("src/lib.rs", "// Widgets.\n"),
            ("docs/index.md", "Docs.\n"),
        ],
    );
    let configuration = format!("{CHECKS}branches: [\"release/*\"]\n{GATES}");
    world
        .person("olga")
        .pushes_to(&repo, "main", &[(".github/loopgate.yml", &configuration)])
        .await;
    world
        .person("alice")
        .pushes_to(&repo, "release/mine", &[LOGIN])
        .await;
    let pr = world
        .person("alice")
        .opens_into(&repo, "docs: notes", &[NOTES], "release/mine")
        .await;
    green(&world, &pr).await;
    let look = world.look(&pr);
    assert!(passes(&look, Some("release/mine")), "{look:?}");
    let names: Vec<_> = look
        .checks
        .iter()
        .map(|check| check.name.as_str())
        .collect();
    assert!(
        !names.contains(&"loopgate / gates (release/*)") && !names.contains(&"loopgate / gates"),
        "{names:?}"
    );
    let told = "are called `loopgate / gates (release/mine)` here and not `loopgate / gates (release/*)`, since no \
                ruleset keeps people from creating";
    let said = &look.check("loopgate / verify (release/mine)").says;
    assert!(said.contains(told), "{said}");
    assert!(!look.status().contains(told), "no author can change it");
}

/// An outsider's copy of an approved commit is judged where the commit was first, and blocks nobody.
pub async fn a_copy_from_a_fork_blocks_nobody(world: World) {
    let repo = protected(&world).await;
    let pr = world
        .person("alice")
        .opens(&repo, "feat: sign in", &[LOGIN])
        .await;
    world.person("bob").says(&pr, "security approved").await;
    green(&world, &pr).await;
    assert!(passes(&world.look(&pr), None), "{:?}", world.look(&pr));
    let copy = world.person("mallory").copies(&pr, "main").await;
    assert_eq!(world.head(&copy), world.head(&pr));
    let look = world.look(&pr);
    assert!(passes(&look, None), "{look:?}");
    let told = world.look(&copy);
    assert!(
        told.status().contains(&format!("#{}", pr.number)),
        "{}",
        told.status()
    );
    world.person("mallory").says(&copy, "/loop stop").await;
    world.person("mallory").closes(&copy).await;
    assert!(passes(&world.look(&pr), None), "{:?}", world.look(&pr));
    world.person("alice").merges(&pr).await;
}

/// *Update branch* where both sides changed a file, each in its own lines, is nobody's work; a conflict that somebody
/// resolves is theirs.
#[tokio::test(flavor = "multi_thread")]
async fn lines_that_merge_by_themselves_are_nobodys_work() {
    const FILE: &str = "src/auth/session.rs";
    let text = |first: &str, last: &str| {
        let middle: String = (0..12).map(|line| format!("    line({line});\n")).collect();
        format!("fn {first}() {{\n{middle}}} // {last}\n")
    };
    let ways = [
        (None, false),
        (Some(text("opened", "seen")), false),
        (Some(text("opened", "seen by bob")), true),
    ];
    for (resolved, is_work) in ways {
        let world = World::simulated().await;
        let repo = configured(&world).await;
        world
            .person("olga")
            .pushes_to(&repo, "main", &[(FILE, &text("open", "end"))])
            .await;
        let pr = world
            .person("alice")
            .opens(&repo, "feat: opened", &[(FILE, &text("opened", "end"))])
            .await;
        world.person("carol").says(&pr, "security approved").await;
        assert_eq!(
            world.look(&pr).concluded("loopgate / gates"),
            Some("success"),
            "{:?}",
            world.look(&pr)
        );
        // The simulator's button merges no lines.
        let seen = text("open", "seen");
        let on_main = if resolved.is_some() {
            (FILE, seen.as_str())
        } else {
            ("src/auth/other.rs", "fn other() {}\n")
        };
        world
            .person("bob")
            .pushes_to(&repo, "main", &[on_main])
            .await;
        match &resolved {
            Some(resolved) => {
                world
                    .person("bob")
                    .merges_main(&pr, &[(FILE, resolved)])
                    .await
            }
            None => {
                world
                    .simulator()
                    .user("bob")
                    .update_branch(&pr)
                    .expect("the button");
                world.settle().await;
            }
        }
        world
            .person("carol")
            .says(&pr, "security approval revoked")
            .await;
        world.person("bob").says(&pr, "security approved").await;
        let look = world.look(&pr);
        let expected = if is_work {
            "action_required"
        } else {
            "success"
        };
        assert_eq!(
            look.concluded("loopgate / gates"),
            Some(expected),
            "{look:?}"
        );
        assert_eq!(
            look.status().contains("bob wrote or committed part"),
            is_work,
            "{}",
            look.status()
        );
    }
}
