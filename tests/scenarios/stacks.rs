//! Native stacks. The emulator has none: a proxy before it (`stacked_emulator.rs`) adds what GitHub's description has
//! of them (<https://docs.github.com/en/rest/pulls/stacks>).

use loopgate_simulator::Pr;

use crate::{
    bases::{green, passes, protected, protected_as},
    world::World,
};

const LOGIN: (&str, &str) = ("src/auth/login.rs", "pub fn login() {}\n");
const CONFIG: &str = ".github/loopgate.yml";

/// A pull request for each of these changes, each on the branch of the one before.
async fn stack(
    world: &World,
    repo: &loopgate_core::RepoName,
    changes: [&[(&str, &str)]; 3],
) -> [Pr; 3] {
    let [bottom, middle, top] = changes;
    let bottom = world
        .person("alice")
        .opens(repo, "feat: bottom", bottom)
        .await;
    let middle = world
        .person("alice")
        .opens_into(repo, "feat: middle", middle, &world.branch(&bottom))
        .await;
    let top = world
        .person("alice")
        .opens_into(repo, "docs: top", top, &world.branch(&middle))
        .await;
    world
        .person("alice")
        .stacks(&[&bottom, &middle, &top])
        .await;
    let layers = [bottom, middle, top];
    for layer in &layers {
        green(world, layer).await;
    }
    layers
}

pub async fn a_stack_of_three_is_edited_rebased_and_merged_from_the_bottom(world: World) {
    let repo = protected(&world).await;
    let payments = format!(
        "{}{}  payments: {{ when: {{ paths: [\"src/**\"] }}, approvers: {{ users: [carol] }} }}\n",
        crate::bases::CHECKS,
        crate::bases::GATES
    );
    let [bottom, middle, top] = stack(
        &world,
        &repo,
        [
            &[(CONFIG, &payments)],
            &[LOGIN],
            &[("docs/more.md", "More.\n")],
        ],
    )
    .await;

    // The stack's base governs: its configuration, its names. What the bottom changes is the bottom's alone.
    let look = world.look(&middle);
    look.concludes("loopgate / gates", Some("action_required"));
    look.tells(&format!("2 of 3 in its stack, on #{}", bottom.number));
    assert!(
        look.has_label("needs:security-review") && !look.status().contains("payments"),
        "{look:?}"
    );
    let look = world.look(&top);
    assert!(
        !look.has_label("needs:security-review"),
        "its own part is documents: {look:?}"
    );
    let waits = |layer: &Pr| format!("waits for #{}", layer.number);
    let gates = look.check("loopgate / gates");
    assert!(
        gates.title.contains("Own part approved") && gates.title.contains(&waits(&bottom)),
        "{gates:?}"
    );
    assert_eq!(gates.conclusion.as_deref(), Some("action_required"));
    assert!(
        look.status().contains("Own part is ready — waits for #") && !look.has_label("loop:passed"),
        "{}",
        look.status()
    );
    assert!(world.person("alice").is_refused_to_merge(&top).await);

    // Who approves a layer approves that layer; those above learn of it without being touched.
    world.person("bob").says(&bottom, "security approved").await;
    assert!(
        passes(&world.look(&bottom), None),
        "{:?}",
        world.look(&bottom)
    );
    assert!(
        world
            .look(&top)
            .check("loopgate / gates")
            .title
            .contains(&waits(&middle)),
        "{:?}",
        world.look(&top)
    );
    world.person("bob").says(&middle, "security approved").await;
    for layer in [&middle, &top] {
        assert!(passes(&world.look(layer), None), "{:?}", world.look(layer));
    }

    // The bottom is edited: what is above it waits again, for its checks.
    world
        .person("alice")
        .pushes(&bottom, &[("docs/notes.md", "Notes.\n")])
        .await;
    let look = world.look(&top);
    assert!(
        look.check("loopgate / verify")
            .title
            .contains(&waits(&bottom)),
        "{look:?}"
    );
    look.concludes("loopgate / verify", None);
    green(&world, &bottom).await;
    assert!(passes(&world.look(&top), None), "{:?}", world.look(&top));

    // Rebased on what main has by now: the approvals hold, since each layer's own part is as it was.
    let other = world
        .person("bob")
        .opens(&repo, "docs: more", &[("docs/index.md", "Docs of more.\n")])
        .await;
    green(&world, &other).await;
    world.person("bob").merges(&other).await;
    let before = world.head(&middle);
    world.person("alice").rebases_the_stack_of(&bottom).await;
    assert_ne!(world.head(&middle), before);
    for layer in [&bottom, &middle, &top] {
        green(&world, layer).await;
    }
    for layer in [&bottom, &middle, &top] {
        assert!(passes(&world.look(layer), None), "{:?}", world.look(layer));
    }

    // The bottom is merged: the middle is turned to main by itself, its approval holds, and what the bottom brought
    // governs now.
    world.person("alice").merges(&bottom).await;
    for layer in [&middle, &top] {
        green(&world, layer).await;
    }
    let look = world.look(&middle);
    look.tells("It is 2 of 3 in its stack.");
    assert!(
        !look.has_label("needs:security-review") && look.has_label("needs:payments-review"),
        "{look:?}"
    );
    look.concludes("loopgate / gates", Some("action_required"));
    assert!(world.person("alice").is_refused_to_merge(&top).await);
    let words = format!("payments approved {}", world.head(&middle));
    world.person("carol").says(&middle, &words).await;
    world.person("alice").merges(&middle).await;
    green(&world, &top).await;
    assert!(passes(&world.look(&top), None), "{:?}", world.look(&top));
    world.person("alice").merges(&top).await;
}

/// Dissolved, turned to main and merged before anybody looks: what the layers beneath lack stands in the way.
pub async fn a_stack_dissolved_at_the_moment_of_the_merge_opens_nothing(world: World) {
    for approved in [false, true] {
        let repo = protected_as(&world, if approved { "approved" } else { "waiting" }).await;
        let changes: [&[_]; 3] = [&[LOGIN], &[("docs/a.md", "A.\n")], &[("docs/b.md", "B.\n")]];
        let [bottom, middle, top] = stack(&world, &repo, changes).await;
        if approved {
            world.person("bob").says(&bottom, "security approved").await;
            assert!(passes(&world.look(&top), None), "{:?}", world.look(&top));
        }
        // GitHub describes no event for it.
        world.person("alice").unstacks(&top).await;
        if approved {
            world
                .person("bob")
                .says(&bottom, "security approval revoked")
                .await;
        }
        world.person("alice").retargets(&middle, "main").await;
        world.person("alice").retargets(&top, "main").await;
        assert!(
            world.person("alice").is_refused_to_merge(&top).await,
            "approved: {approved}"
        );
        world.settle().await;
        for layer in [&middle, &top] {
            let look = world.look(layer);
            look.concludes("loopgate / gates", Some("action_required"));
            assert!(world.person("alice").is_refused_to_merge(layer).await);
        }
    }
}

/// What the layers beneath change counts as the layer's own where they cannot be told.
pub async fn layers_that_cannot_be_told_count_as_its_own(world: World) {
    let repo = protected(&world).await;
    let changes: [&[_]; 3] = [&[LOGIN], &[("docs/a.md", "A.\n")], &[("docs/b.md", "B.\n")]];
    let [bottom, middle, top] = stack(&world, &repo, changes).await;
    assert!(
        !world.look(&top).has_label("needs:security-review"),
        "{:?}",
        world.look(&top)
    );
    world.person("alice").closes(&bottom).await;
    for layer in [&middle, &top] {
        let look = world.look(layer);
        assert!(look.has_label("needs:security-review"), "{look:?}");
        look.tells("was closed without being merged");
    }
}
