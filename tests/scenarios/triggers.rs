//! What makes Loopgate call a person: each trigger of an escalation, what is said, that it is said once, and what takes
//! the loop up again. Each is played on both worlds.
//!
//! Of `ambiguous_requirement` a pull request knows nothing: it is for a fixer that works in the repository to raise
//! (`tests/loops/endings.rs`).

use chrono::TimeDelta;
use loopgate_core::RepoName;
use loopgate_simulator::Pr;
use serde_json::{Value, json};

use crate::world::{
    CI, GitHub, Look,
    Report::{Ends, Fails, Passes},
    World,
};

pub const TESTS: &str = "#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n\n#[test]\nfn takes() {\n    \
                     assert_eq!(take(3, 2), 1);\n}\n";
pub const ONE_TEST: &str = "#[test]\nfn takes() {\n    assert_eq!(take(3, 2), 1);\n}\n";
/// The presets are the business of others; the security gate tells whom a finding concerns.
const GATES: &str = "gates: { security: { approvers: { users: [bob] } }, architecture: off, database: off, \
                     external: off, deploy: off }\n";

/// A repository with these checks beside build and unit, and these further lines of configuration.
pub fn watched(world: &World, name: &str, checks: &str, more: &str) -> RepoName {
    watched_with(world, name, checks, more, &[])
}

/// The same with these further files.
pub fn watched_with(
    world: &World,
    name: &str,
    checks: &str,
    more: &str,
    beside: &[(&str, &str)],
) -> RepoName {
    let configuration = format!(
        "version: 1\nlabels: {{ state: true }}\nverify:\n  checks:\n    build: {{ kind: build, from: {{ check: ci / build, app: other-ci }} }}\n    \
         unit: {{ kind: test, from: {{ check: ci / test, app: other-ci }} }}\n{checks}{GATES}{more}"
    );
    let files = [
        ("src/lib.rs", "// Widgets.\n"),
        ("tests/sums.rs", TESTS),
        (".github/loopgate.yml", configuration.as_str()),
    ];
    world.repository(name, &[&files[..], beside].concat())
}

/// A change by alice, with a test.
pub async fn opened(world: &World, repo: &RepoName) -> Pr {
    let more_tests =
        format!("{TESTS}\n#[test]\nfn doubles() {{\n    assert_eq!(double(2), 4);\n}}\n");
    world
        .person("alice")
        .opens(
            repo,
            "feat: sums",
            &[("src/lib.rs", &version(0)), ("tests/sums.rs", &more_tests)],
        )
        .await
}

pub fn version(nth: usize) -> String {
    format!("// Version {nth}.\npub fn sum() -> u64 {{\n    {nth}\n}}\n")
}

/// Alice's next push.
pub async fn pushes(world: &World, pr: &Pr, nth: usize) {
    world
        .person("alice")
        .pushes(pr, &[("src/lib.rs", &version(nth))])
        .await;
}

/// The tests fail with this message.
pub async fn fails(world: &World, pr: &Pr, message: &str) {
    let failure = Fails {
        check: "ci / test",
        path: "src/lib.rs",
        line: 3,
        message,
    };
    world.ci_reports(pr, &[Passes("ci / build"), failure]).await;
}

pub async fn passes(world: &World, pr: &Pr) {
    world
        .ci_reports(pr, &[Passes("ci / build"), Passes("ci / test")])
        .await;
}

/// As many pushes as messages, each failing with its own.
pub async fn fails_in_turn(world: &World, pr: &Pr, messages: &[&str]) {
    for (nth, message) in (0..).zip(messages) {
        if nth > 0 {
            pushes(world, pr, nth).await;
        }
        assert!(
            !world.look(pr).has_label("loop:blocked"),
            "called before attempt {nth}"
        );
        fails(world, pr, message).await;
    }
}

/// A person is called for this, by one comment with these sentences; another look says nothing more. The comment.
pub async fn is_called(
    world: &World,
    pr: &Pr,
    trigger: &str,
    attempt: u32,
    sentences: &[&str],
) -> String {
    let look = world.look(pr);
    let state = world.state(pr);
    assert_eq!(state["blocked"]["trigger"], json!(trigger), "{look:?}");
    assert_eq!(
        (&state["status"], &state["blocked"]["attempt"]),
        (&json!("escalated"), &json!(attempt))
    );
    assert!(look.has_label("loop:blocked"), "{look:?}");
    let told: Vec<String> = calls(&look).into_iter().map(str::to_owned).collect();
    let newest = told
        .last()
        .unwrap_or_else(|| panic!("nobody was called: {look:?}"));
    assert!(
        newest.starts_with(&format!("<!-- loopgate:escalation:{trigger}:{attempt} -->")),
        "{newest}"
    );
    for sentence in [
        "## Execution Feedback Escalation",
        "**Human action needed**",
        "**To resume**",
    ]
    .iter()
    .chain(sentences)
    {
        assert!(
            newest.contains(sentence),
            "{sentence:?} is missing in {newest}"
        );
    }
    // Looking again tells nobody again.
    world.person("carol").says(pr, "/loop status").await;
    assert_eq!(calls(&world.look(pr)), told);
    assert_eq!(
        world.look(pr).comments.len(),
        look.comments.len(),
        "the answer is in the status comment"
    );
    newest.clone()
}

/// Comments that call a person, oldest first.
pub fn calls(look: &Look) -> Vec<&str> {
    look.marked("<!-- loopgate:escalation:")
}

/// Nobody is waited for any more, and the next attempt counts from one again.
pub fn goes_on(world: &World, pr: &Pr) {
    let (look, state) = (world.look(pr), world.state(pr));
    assert_eq!(state["blocked"], Value::Null, "{look:?}");
    assert!(!look.has_label("loop:blocked"), "{look:?}");
}

/// A push that passes lifts the block by itself.
async fn a_passing_push_lifts_it(world: &World, pr: &Pr) {
    pushes(world, pr, 90).await;
    assert!(
        world.look(pr).has_label("loop:blocked"),
        "a push alone lifts nothing"
    );
    passes(world, pr).await;
    goes_on(world, pr);
    assert_eq!(
        world.look(pr).concluded("loopgate / verify"),
        Some("success")
    );
}

async fn a_word_lifts_it(world: &World, pr: &Pr) {
    let total = world.state(pr)["failures"]["total"].clone();
    world.person("bob").says(pr, "/loop resume").await;
    goes_on(world, pr);
    let failures = &world.state(pr)["failures"];
    assert_eq!(
        (&failures["count"], &failures["total"]),
        (&json!(0), &total),
        "a new streak, the same total"
    );
}

pub async fn a_finding_of_the_scanner_takes_a_persons_word(world: World) {
    let scan = "    scan: { kind: security, from: { check: ci / scan, app: other-ci } }\n";
    let repo = watched(&world, "scanned", scan, "");
    let pr = opened(&world, &repo).await;
    let finding = Fails {
        check: "ci / scan",
        path: "src/lib.rs",
        line: 3,
        message: "SQL injection: user input in a query",
    };
    world
        .ci_reports(&pr, &[Passes("ci / build"), Passes("ci / test"), finding])
        .await;
    let reason = "**Reason**: a security problem was found";
    is_called(
        &world,
        &pr,
        "security_issue_found",
        1,
        &[reason, "@bob", "Judge the finding: is it real"],
    )
    .await;

    // A pass is not enough; a person's word is.
    pushes(&world, &pr, 1).await;
    world
        .ci_reports(
            &pr,
            &[
                Passes("ci / build"),
                Passes("ci / test"),
                Passes("ci / scan"),
            ],
        )
        .await;
    assert!(
        world.look(&pr).has_label("loop:blocked"),
        "{:?}",
        world.look(&pr)
    );
    a_word_lifts_it(&world, &pr).await;
    assert!(world.look(&pr).has_label("loop:passed"));
    assert_eq!(calls(&world.look(&pr)).len(), 1);
}

pub async fn weakened_tests_are_for_somebody_else_to_accept(world: World) {
    let repo = watched(&world, "weakened", "", "");
    let pr = world
        .person("alice")
        .opens(&repo, "feat: sums", &[("tests/sums.rs", ONE_TEST)])
        .await;
    // The diff shows it, and no person is called before the checks have ended.
    assert!(calls(&world.look(&pr)).is_empty());
    passes(&world, &pr).await;
    let sentences = [
        "**Reason**: tests or thresholds were weakened",
        "the test “adds” is removed",
    ];
    is_called(&world, &pr, "tampering", 1, &sentences).await;
    for (who, words) in [
        ("bob", "/loop resume"),
        ("alice", "/loop resume --accept tampering"),
    ] {
        world.person(who).says(&pr, words).await;
        assert!(world.look(&pr).has_label("loop:blocked"), "{who}: {words}");
    }
    world
        .person("bob")
        .says(&pr, "/loop resume --accept tampering")
        .await;
    goes_on(&world, &pr);
    assert!(
        world.look(&pr).has_label("loop:passed"),
        "{:?}",
        world.look(&pr)
    );
}

pub async fn breaking_a_test_that_passed_stops_the_loop(world: World) {
    let configuration = format!(
        "version: 1\nlabels: {{ state: true }}\nverify:\n  workflows: [{CI}]\n  checks:\n    build: {{ kind: build, run: make }}\n    \
         unit: {{ kind: test, run: make test }}\n{GATES}"
    );
    let repo = world.repository(
        "regressing",
        &[
            ("src/lib.rs", "// 0\n"),
            (".github/loopgate.yml", &configuration),
        ],
    );
    let pr = opened(&world, &repo).await;
    world.ci_tests(&pr, &["adds"], &["takes"]).await;
    assert!(calls(&world.look(&pr)).is_empty());
    pushes(&world, &pr, 1).await;
    world.ci_tests(&pr, &["takes"], &["adds"]).await;
    let sentences = ["**Reason**: tests that passed before fail now", "- `takes`"];
    is_called(&world, &pr, "regression_detected", 2, &sentences).await;
    pushes(&world, &pr, 2).await;
    world.ci_tests(&pr, &[], &["adds", "takes"]).await;
    goes_on(&world, &pr);
    assert!(world.look(&pr).has_label("loop:passed"));
}

const ERRORS: [&str; 4] = [
    "expected a comma",
    "cannot borrow as mutable",
    "the trait is not implemented",
    "unknown field of a record",
];

pub async fn a_failure_that_comes_back_is_a_circle(world: World) {
    let repo = watched(&world, "circling", "", "");
    let pr = opened(&world, &repo).await;
    fails_in_turn(&world, &pr, &[ERRORS[0], ERRORS[1], ERRORS[0]]).await;
    let sentences = [
        "**Reason**: the fixes go round in a circle",
        "the failure of attempt 1 was gone in attempt 2 and is back in attempt 3",
    ];
    is_called(&world, &pr, "circular_failure", 3, &sentences).await;
    a_word_lifts_it(&world, &pr).await;
}

pub async fn the_same_error_three_times_calls_a_person(world: World) {
    let repo = watched(&world, "repeating", "", "");
    let pr = opened(&world, &repo).await;
    fails_in_turn(&world, &pr, &[ERRORS[0]; 3]).await;
    let sentences = [
        "**Reason**: the same error keeps coming back (also: all attempts are used up)",
        "**Attempts**: 3 / 3",
        "Look at the cause: what was tried does not touch it.",
    ];
    is_called(&world, &pr, "same_error", 3, &sentences).await;
    a_passing_push_lifts_it(&world, &pr).await;
}

pub async fn the_total_is_never_reset(world: World) {
    let repo = watched(
        &world,
        "wandering",
        "",
        "loop: { total_failures: 3, max_attempts: 10 }\n",
    );
    let pr = opened(&world, &repo).await;
    fails_in_turn(&world, &pr, &ERRORS[..3]).await;
    let sentences = [
        "**Reason**: too many attempts of this pull request have failed",
        "3 failing attempts in this run",
    ];
    is_called(&world, &pr, "total_failures", 3, &sentences).await;
    a_word_lifts_it(&world, &pr).await;
    // One more failure is one too many again, and that is a new call.
    pushes(&world, &pr, 9).await;
    fails(&world, &pr, ERRORS[3]).await;
    is_called(
        &world,
        &pr,
        "total_failures",
        4,
        &["4 failing attempts in this run"],
    )
    .await;
    assert_eq!(calls(&world.look(&pr)).len(), 2);
}

pub async fn the_attempts_of_a_streak_are_limited(world: World) {
    let repo = watched(&world, "limited", "", "loop: { max_attempts: 2 }\n");
    let pr = opened(&world, &repo).await;
    fails_in_turn(&world, &pr, &[ERRORS[0]; 2]).await;
    let sentences = [
        "**Reason**: all attempts are used up",
        "**Attempts**: 2 / 2",
        "2 failing attempts in a row",
    ];
    is_called(&world, &pr, "max_attempts_reached", 2, &sentences).await;
    a_word_lifts_it(&world, &pr).await;
    pushes(&world, &pr, 5).await;
    fails(&world, &pr, ERRORS[1]).await;
    assert!(
        world.look(&pr).has_label("loop:retry"),
        "the first of a new streak: {:?}",
        world.look(&pr)
    );
}

pub async fn a_check_that_does_not_end_is_not_tried_again(world: World) {
    let repo = watched(&world, "hanging", "", "");
    let pr = opened(&world, &repo).await;
    world
        .ci_reports(
            &pr,
            &[
                Passes("ci / build"),
                Ends {
                    check: "ci / test",
                    conclusion: "timed_out",
                },
            ],
        )
        .await;
    let sentences = [
        "**Reason**: a check did not come to its end",
        "Find out whether it hangs or is only slow",
    ];
    is_called(&world, &pr, "timeout_exceeded", 1, &sentences).await;
    a_passing_push_lifts_it(&world, &pr).await;
}

pub async fn trouble_outside_is_told_after_an_hour(world: World) {
    let repo = watched(&world, "offline", "", "escalation: { ops: [olga] }\n");
    let pr = opened(&world, &repo).await;
    fails(&world, &pr, "Error: connect ECONNREFUSED 10.0.0.3:5432").await;
    assert_eq!(
        world.state(&pr)["attempts"],
        json!([]),
        "it says nothing of the code"
    );
    assert!(
        world.look(&pr).has_label("loop:verifying"),
        "{:?}",
        world.look(&pr)
    );
    let is_blocked = |look: &Look| look.has_label("loop:blocked");
    world
        .after(TimeDelta::minutes(61), &pr, "the call", is_blocked)
        .await;
    let sentences = [
        "**Reason**: something outside the code that the checks need is down",
        "@olga",
        "Bring the service back",
    ];
    is_called(&world, &pr, "external_dependency_down", 0, &sentences).await;
    // It is back, on the same head.
    passes(&world, &pr).await;
    goes_on(&world, &pr);
    assert_eq!(
        world.state(&pr)["failures"]["total"],
        json!(0),
        "it cost no attempt"
    );
}

pub async fn a_fixer_has_a_budget(world: World) {
    let fixer = "fixer: { kind: mention, mention: carol, budget: { attempts: 1 } }\nloop: { max_attempts: 5 }\n";
    let repo = watched(&world, "mended", "", fixer);
    let pr = opened(&world, &repo).await;
    fails(&world, &pr, ERRORS[0]).await;
    assert_eq!(
        world.look(&pr).marked("<!-- loopgate:fix:1 -->").len(),
        1,
        "{:?}",
        world.look(&pr)
    );
    pushes(&world, &pr, 1).await;
    fails(&world, &pr, ERRORS[1]).await;
    let reason = "**Reason**: the budget for automatic fixes is used up";
    is_called(
        &world,
        &pr,
        "budget_exhausted",
        2,
        &[reason, "Decide whether to spend more"],
    )
    .await;
    assert_eq!(
        world.look(&pr).marked("<!-- loopgate:fix:").len(),
        1,
        "nobody is asked any more"
    );
    a_passing_push_lifts_it(&world, &pr).await;
}

/// The times of the emulator's comments are the machine's, so what is said after a jump is said before it there: the
/// approval counts, since the head was seen before both.
pub async fn a_gate_that_nobody_decides_calls_its_approvers(world: World) {
    let repo = watched(&world, "gated", "", "");
    let pr = world
        .person("alice")
        .opens(
            &repo,
            "feat: sign in",
            &[("src/auth/login.rs", "pub fn login() {}\n")],
        )
        .await;
    passes(&world, &pr).await;
    let look = world.look(&pr);
    assert!(
        look.has_label("needs:security-review") && calls(&look).is_empty(),
        "{look:?}"
    );
    let reminded = |look: &Look| look.marked("<!-- loopgate:gate-reminder:security:").len() == 1;
    world
        .after(TimeDelta::hours(24), &pr, "the reminder", reminded)
        .await;
    world
        .after(TimeDelta::hours(48), &pr, "the call", |look: &Look| {
            look.has_label("loop:blocked")
        })
        .await;
    let sentences = [
        "**Reason**: a gate has waited too long for its approvers",
        "@bob",
        "the security gate has waited",
    ];
    is_called(&world, &pr, "gate_timeout", 1, &sentences).await;
    assert_eq!(
        world.look(&pr).concluded("loopgate / verify"),
        Some("success"),
        "nothing is wrong with the evidence"
    );
    pushes(&world, &pr, 1).await;
    passes(&world, &pr).await;
    assert!(
        world.look(&pr).has_label("loop:blocked"),
        "a push decides no gate"
    );
    if let GitHub::Simulated(_) = world.github {
        world.person("bob").says(&pr, "security approved").await;
        goes_on(&world, &pr);
        assert!(
            world.look(&pr).has_label("loop:passed"),
            "{:?}",
            world.look(&pr)
        );
    }
}

pub async fn coverage_alone_calls_a_person_where_it_is_asked_to(world: World) {
    let cover = "    cover: { kind: coverage, from: { check: ci / cover, app: other-ci } }\n";
    let strict = "evaluate: { no_major_issues: [] }\n";
    let asked = format!(
        "{strict}escalation: {{ triggers: {{ coverage_threshold_unmet: {{ action: human_review }} }} }}\n"
    );
    for (name, more) in [("covered", strict), ("covered-or-told", &asked)] {
        let repo = watched(&world, name, cover, more);
        let pr = opened(&world, &repo).await;
        for nth in 0..2 {
            if nth > 0 {
                pushes(&world, &pr, nth).await;
            }
            let short = Fails {
                check: "ci / cover",
                path: "src/lib.rs",
                line: 3,
                message: "not covered by any test",
            };
            world
                .ci_reports(&pr, &[Passes("ci / build"), Passes("ci / test"), short])
                .await;
        }
        if more == strict {
            // By default it is only said.
            let look = world.look(&pr);
            assert!(
                calls(&look).is_empty() && look.has_label("loop:retry"),
                "{look:?}"
            );
            look.tells("too few of the changed lines are covered by tests");
            continue;
        }
        let sentences = [
            "**Reason**: too few of the changed lines are covered by tests",
            "Ask for more tests",
        ];
        is_called(&world, &pr, "coverage_threshold_unmet", 2, &sentences).await;
        a_word_lifts_it(&world, &pr).await;
    }
}

pub async fn the_same_code_again_is_flagged_or_told(world: World) {
    let asked = "escalation: { triggers: { no_change: { action: human_review } } }\n";
    for (name, more) in [("unchanged", ""), ("unchanged-or-told", asked)] {
        let repo = watched(&world, name, "", more);
        let pr = opened(&world, &repo).await;
        fails(&world, &pr, ERRORS[0]).await;
        // A new commit, and nothing new in it.
        pushes(&world, &pr, 0).await;
        fails(&world, &pr, ERRORS[1]).await;
        let look = world.look(&pr);
        if more.is_empty() {
            assert!(
                calls(&look).is_empty() && look.has_label("loop:retry"),
                "{look:?}"
            );
            look.tells("the last attempt changed nothing");
            continue;
        }
        let sentences = [
            "**Reason**: the last attempt changed nothing",
            "Find out why the last attempt changed nothing",
        ];
        is_called(&world, &pr, "no_change", 2, &sentences).await;
        a_passing_push_lifts_it(&world, &pr).await;
    }
}

pub async fn failures_without_a_word_are_shown_to_a_person(world: World) {
    let shown = "escalation: { triggers: { unknown_error_type: { action: human_review } } }\n";
    let repo = watched(&world, "silent", "", shown);
    let pr = opened(&world, &repo).await;
    for nth in 0..2 {
        if nth > 0 {
            pushes(&world, &pr, nth).await;
        }
        world
            .ci_reports(
                &pr,
                &[
                    Passes("ci / build"),
                    Ends {
                        check: "ci / test",
                        conclusion: "failure",
                    },
                ],
            )
            .await;
    }
    let sentences = [
        "**Reason**: the failure is of a kind Loopgate does not know",
        "two attempts in a row failed without saying how",
        "Read the failure: Loopgate cannot place it.",
    ];
    is_called(&world, &pr, "unknown_error_type", 2, &sentences).await;
    a_word_lifts_it(&world, &pr).await;
}
