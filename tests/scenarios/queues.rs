//! Why a pull request left its merge queue: on the status comment, after each story of a queue.

use loopgate_core::{RepoName, Sha};
use loopgate_simulator::{CheckSpec, Conclusion, MergeGroup, Pr, QueueOutcome};

use crate::world::World;

const CONFIGURATION: &str = "\
version: 1
verify:
  checks:
    build: { kind: build, from: { check: build } }
    unit: { kind: test, from: { check: unit } }
gates: { architecture: off, database: off, deploy: off, external: off, security: off }
";

/// A repository with green pull requests, all into its main branch.
struct Queue<'w> {
    world: &'w World,
    repo: RepoName,
    pulls: Vec<Pr>,
}

impl<'w> Queue<'w> {
    async fn with_green(world: &'w World, count: usize) -> Self {
        let repo = world.repository("queued", &[(".github/loopgate.yml", CONFIGURATION)]);
        let mut queue = Self {
            world,
            repo,
            pulls: Vec::new(),
        };
        for nth in 0..count {
            let path = format!("src/part_{nth}.rs");
            let pr = world
                .person("alice")
                .opens(&queue.repo, &path, &[(&path, "// In.\n")])
                .await;
            let head = world.simulator().head(&pr).expect("a head");
            queue
                .reports(
                    head,
                    &[
                        ("build", Conclusion::Success),
                        ("unit", Conclusion::Success),
                    ],
                )
                .await;
            queue.pulls.push(pr);
        }
        queue
    }

    async fn reports(&self, commit: Sha, checks: &[(&str, Conclusion)]) {
        for &(name, conclusion) in checks {
            let spec = CheckSpec::concluded(name, conclusion);
            self.world
                .simulator()
                .ci("other-ci")
                .check_run(&self.repo, commit, spec)
                .expect("a check run");
        }
        self.world.settle().await;
    }

    /// The queue asks about these pull requests, by their place.
    async fn asks(&self, places: &[usize]) -> MergeGroup {
        let pulls: Vec<&Pr> = places.iter().map(|place| &self.pulls[*place]).collect();
        let group = self
            .world
            .simulator()
            .admin()
            .queue(&pulls)
            .expect("a group");
        self.world.settle().await;
        group
    }

    /// A group whose checks end so.
    async fn tests(&self, places: &[usize], unit: Conclusion) -> MergeGroup {
        let group = self.asks(places).await;
        self.reports(
            group.head_sha,
            &[("build", Conclusion::Success), ("unit", unit)],
        )
        .await;
        group
    }

    async fn throws_away(&self, group: &MergeGroup) {
        self.world
            .simulator()
            .admin()
            .finish_group(&self.repo, group, QueueOutcome::Invalidated)
            .expect("a group");
        self.world.settle().await;
    }

    async fn ejects(&self, place: usize, reason: &str) {
        self.world
            .simulator()
            .admin()
            .eject(&self.pulls[place], reason)
            .expect("a pull request");
        self.world.settle().await;
    }

    fn status(&self, place: usize) -> String {
        self.world.look(&self.pulls[place]).status().to_owned()
    }

    #[track_caller]
    fn says(&self, place: usize, sentence: &str) {
        let status = self.status(place);
        let queue = &self.world.state(&self.pulls[place])["queue"];
        let shown = status.split("<details>").next().unwrap_or_default();
        assert!(status.contains(sentence), "{sentence}\n{shown}\n{queue:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_culprit_is_named_to_itself_and_to_its_bystanders() {
    let world = World::simulated().await;
    let queue = Queue::with_green(&world, 3).await;
    let (alone, pair, all) = (
        queue.asks(&[0]).await,
        queue.asks(&[0, 1]).await,
        queue.asks(&[0, 1, 2]).await,
    );
    // The queue tests them side by side; the first result comes last.
    for group in [&all, &pair, &alone] {
        queue
            .reports(
                group.head_sha,
                &[
                    ("build", Conclusion::Success),
                    ("unit", Conclusion::Failure),
                ],
            )
            .await;
    }
    for place in [2, 1, 0] {
        queue.ejects(place, "CI_FAILURE").await;
    }
    for group in [&all, &pair, &alone] {
        queue.throws_away(group).await;
    }
    queue.says(0, "it is the cause: `unit` fails only in groups with it");
    for place in [1, 2] {
        queue.says(
            place,
            "it is not the cause: `unit` fails without it too, in a group with #1",
        );
        queue.says(
            place,
            "Put it in again once #1 is fixed or out of the queue.",
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_of_a_group_is_the_cause_where_the_others_pass_without_it() {
    let world = World::simulated().await;
    let queue = Queue::with_green(&world, 2).await;
    queue.tests(&[0], Conclusion::Success).await;
    queue.tests(&[0, 1], Conclusion::Failure).await;
    queue.ejects(1, "CI_FAILURE").await;
    queue.says(1, "it is the cause: `unit` fails only in groups with it");
    queue.says(1, "and not without it");
    // A new head is another question.
    world
        .person("alice")
        .pushes(&queue.pulls[1], &[("src/part_1.rs", "// Out.\n")])
        .await;
    assert!(
        !queue.status(1).contains("merge queue"),
        "{}",
        queue.status(1)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_that_passes_on_the_same_commit_is_flaky() {
    let world = World::simulated().await;
    let queue = Queue::with_green(&world, 1).await;
    let group = queue.tests(&[0], Conclusion::Failure).await;
    queue
        .reports(group.head_sha, &[("unit", Conclusion::Success)])
        .await;
    let again = queue.tests(&[0], Conclusion::Failure).await;
    assert_ne!(again.head_sha, group.head_sha);
    queue.ejects(0, "CI_FAILURE").await;
    queue.says(
        0,
        "for a flaky test: `unit` failed, and passed on the same content",
    );
    // In the queue again there is nothing to say.
    queue.asks(&[0]).await;
    assert!(
        !queue.status(0).contains("merge queue"),
        "{}",
        queue.status(0)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_to_blame_for_what_was_cancelled_or_never_ran() {
    let world = World::simulated().await;
    let queue = Queue::with_green(&world, 3).await;
    let group = queue.tests(&[0], Conclusion::Cancelled).await;
    queue.ejects(0, "CI_TIMEOUT").await;
    queue.throws_away(&group).await;
    queue.says(0, "no check failed: `unit` was cancelled.");

    let group = queue.asks(&[1]).await;
    queue
        .reports(group.head_sha, &[("build", Conclusion::Success)])
        .await;
    queue.ejects(1, "CI_TIMEOUT").await;
    queue.throws_away(&group).await;
    queue.says(1, "no check failed: `unit` did not start.");

    queue.asks(&[2]).await;
    queue.ejects(2, "CI_TIMEOUT").await;
    queue.says(
        2,
        "when its time was up, and Loopgate saw no result of its group",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_that_fails_by_itself_is_nobodys_pull_request() {
    let world = World::simulated().await;
    let queue = Queue::with_green(&world, 2).await;
    let shared = queue.asks(&[0, 1]).await;
    queue.tests(&[0], Conclusion::Failure).await;
    queue.tests(&[1], Conclusion::Failure).await;
    queue.throws_away(&shared).await;
    queue.ejects(0, "CI_FAILURE").await;
    queue.says(0, "in groups that share no pull request");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_people_and_conflicts_did_is_said_as_it_is() {
    let world = World::simulated().await;
    let queue = Queue::with_green(&world, 3).await;
    queue.tests(&[0], Conclusion::Failure).await;
    queue.ejects(0, "MANUAL").await;
    queue.says(0, "took this pull request out of the merge queue");
    queue.ejects(1, "MERGE_CONFLICT").await;
    queue.says(
        1,
        "it conflicts with its base or with one before it in the queue",
    );
    let group = queue.tests(&[2], Conclusion::Success).await;
    world
        .simulator()
        .admin()
        .finish_group(&queue.repo, &group, QueueOutcome::Merged)
        .expect("a merge");
    world.settle().await;
    assert!(
        !queue.status(2).contains("removed this pull request"),
        "{}",
        queue.status(2)
    );
}
