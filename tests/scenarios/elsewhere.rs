//! The state in the status comment, where a repository lets no ref be written: on both worlds.

use std::collections::BTreeMap;

use loopgate::github::state_apart;

use crate::{
    triggers::{fails, opened, passes, pushes, watched},
    unpacked::unpacked,
    world::{Look, World},
};

/// What is packed into the status comment.
fn kept(look: &Look) -> BTreeMap<String, String> {
    unpacked(
        state_apart(look.status())
            .1
            .expect("a state in the status comment"),
    )
    .expect("documents")
}

pub async fn the_status_comment_remembers_the_whole_run(world: World) {
    let repo = watched(&world, "kept", "", "state: { backend: comment }\n");
    let pr = opened(&world, &repo).await;
    fails(&world, &pr, "expected 3, got 0").await;
    for nth in [1, 2] {
        pushes(&world, &pr, nth).await;
        fails(&world, &pr, "expected 3, got 0").await;
    }
    let look = world.look(&pr);
    assert!(look.has_label("loop:blocked"), "{look:?}");
    assert_eq!(
        look.marked("<!-- loopgate:escalation:").len(),
        1,
        "{look:?}"
    );
    let blocked = kept(&look);
    let state = loopgate_core::fixtures::run_document(&blocked["loop-state.json"]);
    assert_eq!(
        (
            state["status"].as_str(),
            state["failures"]["total"].as_u64()
        ),
        (Some("escalated"), Some(3))
    );

    world
        .person("bob")
        .says(&pr, "Three it is.\n\n/loop resume")
        .await;
    pushes(&world, &pr, 3).await;
    passes(&world, &pr).await;
    let look = world.look(&pr);
    assert!(look.has_label("loop:passed"), "{look:?}");
    assert_eq!(
        look.marked("<!-- loopgate:escalation:").len(),
        1,
        "{look:?}"
    );
    let passed = kept(&look);
    assert!(
        passed["history.jsonl"].starts_with(&blocked["history.jsonl"]),
        "the history is only ever appended to"
    );
    let attempts: Vec<_> = passed
        .keys()
        .filter(|path| path.starts_with("attempts/"))
        .collect();
    assert_eq!(attempts.len(), 4, "{attempts:?}");

    world.person("olga").merges(&pr).await;
    let look = world.look(&pr);
    let state = loopgate_core::fixtures::run_document(&kept(&look)["loop-state.json"]);
    assert_eq!(state["status"], "completed");
    assert!(world.state_commits(&pr).is_empty(), "no ref was made");
}
