//! What failed before, and what mended it, over several pull requests.

use chrono::TimeDelta;
use loopgate_simulator::Pr;

use crate::world::{
    Report::{Fails, Passes},
    World,
};

const CONFIGURATION: &str = ".github/loopgate.yml";
const CHECKS: &str = "\
version: 1
verify:
  checks:
    build: { kind: build, from: { check: ci / build, app: other-ci } }
    unit:  { kind: test, from: { check: ci / test, app: other-ci } }
gates: { security: off, deploy: off }
";

const BROKEN: &str = "// Time.\npub fn seconds(hours: u64) -> u64 {\n    let minutes = hours * 60;\n    minutes\n}\n\n\
                      pub fn days(hours: u64) -> u64 {\n    hours / 24\n}\n";

async fn fails(world: &World, pr: &Pr) {
    let failure = Fails { check: "ci / test", path: "src/lib.rs", line: 4, message: "expected 3600, got 60" };
    world.ci_reports(pr, &[Passes("ci / build"), failure]).await;
}

pub async fn what_mended_a_failure_is_told_until_its_place_is_gone(world: World) {
    let repo = world.repository("clock", &[("src/lib.rs", "// Time.\n")]);
    world.person("olga").pushes_to(&repo, "main", &[(CONFIGURATION, CHECKS)]).await;
    let alice = world.person("alice");
    let fixed = BROKEN.replace("    minutes\n", "    minutes * 60\n");

    // The first time nobody knows anything.
    let first = alice.opens(&repo, "feat: seconds", &[("src/lib.rs", BROKEN)]).await;
    fails(&world, &first).await;
    assert!(!world.look(&first).status().contains("**Before:**"), "{}", world.look(&first).status());
    alice.pushes(&first, &[("src/lib.rs", &fixed)]).await;
    world.ci_reports(&first, &[Passes("ci / build"), Passes("ci / test")]).await;
    // Written at most once a minute; then the status says so.
    let told = |look: &crate::world::Look| look.status().contains("learnings recorded");
    let look = world.after(TimeDelta::minutes(2), &first, "the learning", told).await;
    assert!(look.status().contains("1 fix remembered"), "{}", look.status());
    let mended = world.head(&first);
    world.person("olga").merges(&first).await;

    // The same failure again: who failed, what mended it, where.
    let second = alice.opens(&repo, "feat: minutes", &[("src/lib.rs", BROKEN)]).await;
    fails(&world, &second).await;
    let status = world.look(&second).status().to_owned();
    let (short, number) = (&mended[..8], first.number);
    assert!(
        status.contains(&format!("seen once before, last in #{number}; `{short}` (#{number}) mended it")),
        "{status}"
    );
    assert!(status.contains("+1/-1 at `src/lib.rs:4`"), "{status}");
    let json = status.rsplit_once("```json\n").and_then(|(_, rest)| rest.split_once("\n```")).expect("a document").0;
    let document: serde_json::Value = serde_json::from_str(json).expect("JSON");
    let memory = &document["failures"][0]["memory"][0];
    assert_eq!((memory["tier"].as_u64(), memory["commit"].as_str()), (Some(1), Some(short)), "{document}");
    assert!(memory["hunk"].as_str().is_some_and(|hunk| hunk.contains("+    minutes * 60")), "{memory}");
    world.person("bob").says(&second, "/loop memory minutes").await;
    let status = world.look(&second).status().to_owned();
    assert!(status.contains("What fits “minutes”"), "{status}");
    world.person("bob").says(&second, "/loop memory elephants").await;
    assert!(world.look(&second).status().contains("Nothing is remembered that fits “elephants”"));
    alice.closes(&second).await;

    // The file is another: advice about its past would be a guess.
    let rewritten = "pub struct Clock;\nimpl Clock {\n    pub const fn ticks() -> u64 {\n        60\n    }\n}\n";
    world.person("olga").pushes_to(&repo, "main", &[("src/lib.rs", "pub struct Clock;\n")]).await;
    let third = alice.opens(&repo, "feat: ticks", &[("src/lib.rs", rewritten)]).await;
    fails(&world, &third).await;
    let status = world.look(&third).status().to_owned();
    assert!(status.contains("stale: its place has been rewritten since"), "{status}");
    assert!(!status.contains(short) && !status.contains("minutes * 60"), "{status}");
}
