//! A failure of which somebody says that it is not theirs to mend, and who settles it.

use loopgate_simulator::Pr;
use serde_json::Value;

use crate::{
    triggers::{calls, fails, goes_on, is_called, opened, passes, pushes, watched},
    world::World,
};

const MESSAGE: &str = "assertion failed: expected 3, got 2";

/// The id of the first failure that the status comment tells of.
fn failure(world: &World, pr: &Pr) -> String {
    let status = world.look(pr).status().to_owned();
    let (_, rest) = status.rsplit_once("```json\n").expect("a document");
    let (document, _) = rest.split_once("\n```").expect("its end");
    let document: Value = serde_json::from_str(document).expect("JSON");
    document["failures"][0]["id"].as_str().expect("an id").to_owned()
}

/// The author says why, a person is called with both sides, and one word of somebody else lets the loop go on.
pub async fn one_word_settles_it(world: World) {
    let pr = opened(&world, &watched(&world, "disputed", "", "")).await;
    fails(&world, &pr, MESSAGE).await;
    let id = failure(&world, &pr);
    world.person("alice").says(&pr, &format!("/loop dispute {id} sums are rounded down, as agreed")).await;
    let [test, code, neither] = ["test", "code", "neither"].map(|word| format!("`/loop settle {id} {word}`"));
    let told = ["sums are rounded down, as agreed", "Who is right?", &test, &code, &neither];
    is_called(&world, &pr, "disputed", 1, &told).await;
    assert_eq!(world.look(&pr).concluded("loopgate / verify"), Some("action_required"));
    // It costs no attempt, however often the same fails; and its author does not settle it.
    for nth in 1..=4 {
        pushes(&world, &pr, nth).await;
        fails(&world, &pr, MESSAGE).await;
    }
    world.person("alice").says(&pr, "/loop settle code").await;
    let look = world.look(&pr);
    assert!(look.status().contains("for a maintainer or an owner of the test to settle"), "{}", look.status());
    world.person("alice").says(&pr, "/loop resume").await;
    assert!(world.look(&pr).status().contains(&format!("write {test}")), "{}", world.look(&pr).status());
    assert_eq!((world.state(&pr)["failures"]["total"].as_u64(), calls(&world.look(&pr)).len()), (Some(0), 1));
    world.person("olga").says(&pr, "/loop settle test").await;
    goes_on(&world, &pr);
    let look = world.look(&pr);
    assert!(look.has_label("loop:retry"), "{look:?}");
    assert!(look.status().contains("olga settled it: the test is right."), "{}", look.status());
    // The same is answered from memory.
    world.person("alice").says(&pr, &format!("/loop dispute {id} but really")).await;
    let look = world.look(&pr);
    assert!(look.status().contains("was settled before: olga said that the test is right"), "{}", look.status());
    pushes(&world, &pr, 5).await;
    passes(&world, &pr).await;
    assert_eq!(world.look(&pr).concluded("loopgate / verify"), Some("success"));
}

/// Mending the failure without touching its test ends it, and so does nothing else by itself.
pub async fn a_mended_failure_ends_it(world: World) {
    let pr = opened(&world, &watched(&world, "mended", "", "")).await;
    fails(&world, &pr, MESSAGE).await;
    let id = failure(&world, &pr);
    world.person("alice").says(&pr, &format!("/loop dispute {id} requirement_unclear which way?")).await;
    let looser = "#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 2);\n}\n";
    world.person("alice").pushes(&pr, &[("tests/sums.rs", looser)]).await;
    passes(&world, &pr).await;
    let look = world.look(&pr);
    assert_eq!(look.concluded("loopgate / verify"), Some("action_required"), "the test was changed: {look:?}");
    assert!(look.has_label("loop:blocked"), "{look:?}");
}
