//! Checks of which nothing is heard: what is said at each point in time, who is called, and what ends it.

use chrono::TimeDelta;
use loopgate_core::RepoName;
use serde_json::json;

use crate::{
    triggers::{calls, goes_on, is_called, opened, passes, pushes, version, watched},
    world::{
        Look,
        Report::{Ends, Fails, Passes},
        Work, World,
    },
};

/// Followed beside build and tests, which report.
const INTEGRATION: &str =
    "    integration: { kind: integration, from: { check: integration, app: other-ci } }\n";
const OPS: &str = "escalation: { ops: [olga] }\n";
const VERIFY: &str = "loopgate / verify";

fn is_blocked(look: &Look) -> bool {
    look.has_label("loop:blocked")
}

/// The line of the status comment that says how it stands.
fn first_line(look: &Look) -> &str {
    let lines = look.status().lines();
    let mut said = lines.filter(|line| line.starts_with('#') || line.starts_with("**"));
    said.next().unwrap_or_default()
}

fn says(look: &Look, sentence: &str) {
    let status = look.status();
    assert!(
        status.contains(sentence),
        "{sentence:?} is missing in {status}"
    );
}

pub async fn a_check_that_never_reports_calls_a_person_once(world: World) {
    let repo = watched(&world, "silent", INTEGRATION, OPS);
    let pr = opened(&world, &repo).await;
    passes(&world, &pr).await;
    let look = world.look(&pr);
    assert_eq!(first_line(&look), "### ⏳ Waiting for integration");
    says(&look, "If nothing is heard of it for 1 h, olga is asked.");
    look.concludes(VERIFY, None);

    let look = world
        .after(TimeDelta::minutes(61), &pr, "the call", is_blocked)
        .await;
    let sentences = ["**Reason**: integration did not report within 1 h", "@olga"];
    is_called(&world, &pr, "no_report", 0, &sentences).await;
    look.concludes(VERIFY, Some("action_required"));
    assert_eq!(world.state(&pr)["attempts"], json!([]), "no attempt");

    // Late, and it counts as any.
    world.ci_reports(&pr, &[Passes("integration")]).await;
    goes_on(&world, &pr);
    world.look(&pr).concludes(VERIFY, Some("success"));

    // It reported in between, so its next silence calls again.
    pushes(&world, &pr, 1).await;
    passes(&world, &pr).await;
    world
        .after(TimeDelta::minutes(61), &pr, "the call", is_blocked)
        .await;
    assert_eq!(calls(&world.look(&pr)).len(), 2);
    // Without a report in between nobody is called once more, and it is no pass.
    pushes(&world, &pr, 2).await;
    passes(&world, &pr).await;
    assert!(!world.look(&pr).status().contains("olga is asked"));
    let is_silent = |look: &Look| look.concluded(VERIFY) == Some("action_required");
    let look = world
        .after(TimeDelta::minutes(61), &pr, "the silence", is_silent)
        .await;
    assert_eq!(calls(&look).len(), 2, "{look:?}");
    says(&look, "Somebody was asked about it before");
}

/// Beside a failure of the change, the author has something to do, and the silence is not theirs.
pub async fn beside_a_failure_it_is_not_the_authors(world: World) {
    let repo = watched(&world, "silent-beside", INTEGRATION, OPS);
    let pr = opened(&world, &repo).await;
    let failure = Fails {
        check: "ci / test",
        path: "src/lib.rs",
        line: 3,
        message: "assertion failed: sum() == 1",
    };
    world
        .ci_reports(&pr, &[Passes("ci / build"), failure])
        .await;
    let is_over = |look: &Look| look.concluded(VERIFY).is_some();
    let look = world
        .after(TimeDelta::minutes(61), &pr, "the verdict", is_over)
        .await;
    look.concludes(VERIFY, Some("failure"));
    assert!(
        look.check(VERIFY).title.contains("failed: unit"),
        "{look:?}"
    );
    assert!(
        !look.check(VERIFY).title.contains("integration"),
        "{look:?}"
    );
    says(&look, "**integration** ❌ did not report");
    assert_eq!(calls(&look), [""; 0]);
}

/// A job that is skipped before its matrix is expanded or the workflow that it calls is read reports its own name.
pub async fn a_skipped_job_reports_its_own_name(world: World) {
    let called = "    integration: { kind: integration, from: { check: ci / integration / *, app: other-ci } }\n";
    let repo = watched(&world, "skipped", called, OPS);
    let pr = opened(&world, &repo).await;
    let skipped = Ends {
        check: "ci / integration",
        conclusion: "skipped",
    };
    world
        .ci_reports(&pr, &[Passes("ci / build"), Passes("ci / test"), skipped])
        .await;
    let look = world.look(&pr);
    look.concludes(VERIFY, Some("success"));
    says(&look, "a job was skipped by its own condition");
}

/// It was renamed, and the configuration was not.
pub async fn a_renamed_job_is_named(world: World) {
    let repo = watched(&world, "renamed", INTEGRATION, OPS);
    let pr = opened(&world, &repo).await;
    let renamed = [
        Passes("ci / build"),
        Passes("ci / test"),
        Passes("end-to-end"),
    ];
    world.ci_reports(&pr, &renamed).await;
    let look = world
        .after(TimeDelta::minutes(61), &pr, "the call", is_blocked)
        .await;
    let told = calls(&look)[0];
    let sentence = "`end-to-end` did report, and no check follows it: was it renamed?";
    assert!(told.contains(sentence), "{told}");
}

/// A repository whose tests are a job of a workflow with this filter.
fn filtered(world: &World, name: &str, filter: &str) -> RepoName {
    let workflow = format!(
        "on: {{ pull_request: {{ {filter} }} }}\njobs: {{ test: {{ steps: [{{ run: make test }}] }} }}\n"
    );
    let configuration = "version: 1\nverify:\n  workflows: [.github/workflows/ci.yml]\n  checks:\n    \
         unit: { kind: test, from: { check: test, app: github-actions } }\ngates: { deploy: off }\n\
         escalation: { ops: [olga] }\n";
    let files = [
        ("src/lib.rs", "// Widgets.\n"),
        ("docs/use.md", "Use them.\n"),
        (".github/workflows/ci.yml", workflow.as_str()),
        (".github/loopgate.yml", configuration),
    ];
    world.repository(name, &files)
}

/// `paths-ignore` keeps the tests from a change of the documentation, and not from one of the code.
pub async fn a_filter_of_paths_is_understood(world: World) {
    let repo = filtered(&world, "filtered", "paths-ignore: [docs/**]");
    let alice = world.person("alice");
    let docs = [("docs/use.md", "Use them well.\n")];
    let pr = alice.opens(&repo, "docs: a word", &docs).await;
    let look = world.look(&pr);
    assert_eq!(
        first_line(&look),
        "### ✅ Ready to merge — what ran is green, and not every check runs on this change"
    );
    says(
        &look,
        "**unit** ⏭️ does not run on this change: `paths-ignore` of ci.yml",
    );
    look.concludes(VERIFY, Some("success"));

    let code = [("src/lib.rs", "// More widgets.\n")];
    let pr = alice.opens(&repo, "feat: more", &code).await;
    let look = world.look(&pr);
    assert_eq!(first_line(&look), "### ⏳ Waiting for unit");
    let is_over = |look: &Look| look.concluded(VERIFY) == Some("action_required");
    let look = world
        .after(TimeDelta::minutes(61), &pr, "the call", is_over)
        .await;
    assert_eq!(calls(&look).len(), 1, "{look:?}");
}

/// `branches` keeps the tests from every change into another branch: that nothing ran is no pass for code, and nobody
/// is called; somebody else takes it on themselves.
pub async fn a_filter_of_branches_is_no_pass_for_code(world: World) {
    let repo = filtered(&world, "branches", "branches: [release/*]");
    let code = [("src/lib.rs", "// More widgets.\n")];
    let pr = world
        .person("alice")
        .opens(&repo, "feat: more", &code)
        .await;
    let look = world.look(&pr);
    says(
        &look,
        "test does not run on this change (`branches` of ci.yml), and nothing of its kind ran on this head",
    );
    look.concludes(VERIFY, None);
    world.wait(TimeDelta::hours(3));
    world.settle().await;
    assert_eq!(calls(&world.look(&pr)), [""; 0]);
    world
        .person("olga")
        .says(&pr, "/loop resume --accept skipped")
        .await;
    let look = world.look(&pr);
    look.concludes(VERIFY, Some("success"));
}

/// Followed jobs of GitHub Actions.
const JOBS: &str =
    "    integration: { kind: integration, from: { check: integration, app: github-actions } }\n";

pub async fn a_conflict_is_said_at_once_and_is_the_authors(world: World) {
    let repo = watched(&world, "conflicting", JOBS, OPS);
    let pr = opened(&world, &repo).await;
    world
        .person("olga")
        .lands(&repo, "main", &[("src/lib.rs", "// Other widgets.\n")])
        .await;
    world.has_a_conflict(&pr);
    pushes(&world, &pr, 1).await;
    passes(&world, &pr).await;
    let look = world.look(&pr);
    assert_eq!(
        first_line(&look),
        "### ⏳ integration cannot start: conflict with main — alice, please resolve it"
    );
    look.concludes(VERIFY, Some("action_required"));
    says(&look, "\"login\": \"alice\"");
    world.wait(TimeDelta::hours(3));
    world.settle().await;
    assert_eq!(calls(&world.look(&pr)), [""; 0]);
}

pub async fn a_word_that_skips_ci_is_said(world: World) {
    let repo = watched(&world, "skipping", JOBS, OPS);
    let pr = opened(&world, &repo).await;
    let work = Work {
        message: "docs: a word [skip ci]",
        files: &[("src/lib.rs", &version(7))],
        ..Work::default()
    };
    world.person("alice").commits(&pr, &work).await;
    passes(&world, &pr).await;
    let look = world.look(&pr);
    says(&look, "a commit whose message does not say `[skip ci]`");
    look.concludes(VERIFY, Some("action_required"));
}

/// GitHub ends a run by itself at its limit, and names a job only when it begins.
pub async fn a_run_that_is_queued_for_two_hours_is_waited_for(world: World) {
    let repo = watched(&world, "queued", JOBS, OPS);
    let pr = opened(&world, &repo).await;
    passes(&world, &pr).await;
    let run = world
        .a_run_is_queued(&pr, ".github/workflows/e2e.yml")
        .await;
    world.wait(TimeDelta::hours(2));
    let is_queued = |look: &Look| first_line(look).contains("Queued: integration");
    let look = world
        .after(TimeDelta::minutes(1), &pr, "the run", is_queued)
        .await;
    says(
        &look,
        "of `.github/workflows/e2e.yml` that may bring it has waited for a runner or its turn since",
    );
    assert_eq!(calls(&look), [""; 0]);
    look.concludes(VERIFY, None);
    // It ends without the job.
    world.the_queued_run_ends(&pr, run).await;
    world
        .after(TimeDelta::minutes(16), &pr, "the call", is_blocked)
        .await;
}

/// Its cancelled jobs count as no failure, and what takes its place decides.
pub async fn a_run_whose_place_another_takes_fails_nobody(world: World) {
    let repo = watched(&world, "superseded", JOBS, OPS);
    let pr = opened(&world, &repo).await;
    passes(&world, &pr).await;
    world
        .a_run_takes_its_place(&pr, ".github/workflows/e2e.yml", "integration")
        .await;
    let look = world.look(&pr);
    look.concludes(VERIFY, Some("success"));
    look.leaves_out("cancelled");
    assert_eq!(calls(&look), [""; 0]);
    let attempts = world.state(&pr)["attempts"].take();
    assert_eq!(attempts.as_array().map(Vec::len), Some(1), "{attempts}");
}

/// Who may write checks chooses their names.
#[tokio::test(flavor = "multi_thread")]
async fn a_name_beside_it_calls_nobody() {
    let world = World::simulated().await;
    let repo = watched(&world, "named", INTEGRATION, OPS);
    let pr = opened(&world, &repo).await;
    let hostile = "@carol <!-- loopgate:status --> ` [approve](https://example.org) /loop resume";
    world
        .ci_reports(
            &pr,
            &[Passes("ci / build"), Passes("ci / test"), Passes(hostile)],
        )
        .await;
    let look = world
        .after(TimeDelta::minutes(61), &pr, "the call", is_blocked)
        .await;
    // As code, in which nothing means anything; in prose, with all its marks escaped.
    let code =
        "``@carol <!\u{2060}-- loopgate:status --> ` [approve](https://example.org) /loop resume``";
    assert!(calls(&look)[0].contains(code), "{}", calls(&look)[0]);
    let prose = "; @\u{2060}carol &lt;!\u{2060}-- loopgate:status --> \\` \\[approve\\](https:";
    says(&look, code);
    says(&look, prose);
    assert_eq!(look.status().matches("<!-- loopgate:status -->").count(), 1);
}
