use loopgate_core::RepoName;
use loopgate_simulator::{Pr, PullSpec, ReviewEvent, Simulator};

use crate::{
    Job, Keeper,
    actions::Actions,
    ci, ci_with, github,
    look::{Look, look},
    repository,
    server::App,
    unit,
};

/// A story as it is played for somebody who looks after the pull requests, with a look after each step.
pub struct Telling<'a, K> {
    github: &'a Simulator,
    repo: &'a RepoName,
    keeper: &'a K,
    us: &'a str,
    pub seen: Seen,
}

/// What was seen after each step.
pub type Seen = Vec<(String, Look)>;

impl<'a, K: Keeper> Telling<'a, K> {
    pub const fn new(
        github: &'a Simulator,
        repo: &'a RepoName,
        keeper: &'a K,
        us: &'a str,
    ) -> Self {
        Self {
            github,
            repo,
            keeper,
            us,
            seen: Vec::new(),
        }
    }

    async fn then(&mut self, pr: &Pr, what: &str) {
        self.keeper.settle().await;
        self.seen.push((
            what.to_owned(),
            look(self.github, pr, self.us, self.keeper.kept(pr).as_deref()),
        ));
    }
}

pub async fn from_a_failing_test_to_the_merge<K: Keeper>(t: &mut Telling<'_, K>) {
    let (alice, bob, mallory) = (
        t.github.user("alice"),
        t.github.user("bob"),
        t.github.user("mallory"),
    );
    let change = PullSpec::new("feat: sign in").file("src/auth/login.rs", "fn login() {}\n");
    let pr = alice.open_pull_request(t.repo, change).unwrap();
    t.then(&pr, "opened").await;
    alice.comment(&pr, "Lovely weather today.").unwrap();
    t.then(&pr, "chat").await;
    ci_with(t.github, &pr, &["adds_two"]);
    t.then(&pr, "the tests fail").await;
    mallory.comment(&pr, "security approved").unwrap();
    t.then(&pr, "somebody without a say approves").await;
    alice
        .push(
            &pr,
            &[("src/auth/login.rs", "fn login() { two() }\n")],
            "fix: add two",
        )
        .unwrap();
    t.then(&pr, "a fix is pushed").await;
    ci_with(t.github, &pr, &[]);
    t.then(&pr, "the tests pass").await;
    // So soon after a push it takes the commit.
    let head = t.github.pull_request(&pr).unwrap().head_sha;
    bob.comment(&pr, &format!("security approved {head}"))
        .unwrap();
    t.then(&pr, "the approver approves").await;
    alice.comment(&pr, "/loop status").unwrap();
    t.then(&pr, "somebody asks for the status").await;
    bob.review(&pr, ReviewEvent::RequestChanges, "Not like this.")
        .unwrap();
    t.then(&pr, "a reviewer asks for changes").await;
    bob.review(&pr, ReviewEvent::Approve, "Fine now.").unwrap();
    t.then(&pr, "the reviewer is content").await;
    alice.merge(&pr).unwrap();
    t.then(&pr, "merged").await;
}

pub async fn attempts_that_never_end_well<K: Keeper>(t: &mut Telling<'_, K>) {
    let alice = t.github.user("alice");
    let change = PullSpec::new("Add parser")
        .branch("parser")
        .file("src/parser.rs", "fn parse() {}\n");
    let pr = alice.open_pull_request(t.repo, change).unwrap();
    for attempt in 1..=3 {
        ci_with(t.github, &pr, &["parses"]);
        t.then(&pr, "the same test fails").await;
        alice
            .push(
                &pr,
                &[("src/parser.rs", &format!("// {attempt}\n"))],
                "try again",
            )
            .unwrap();
        t.then(&pr, "another try").await;
    }
    alice.comment(&pr, "/loop resume").unwrap();
    t.then(&pr, "resumed by its author").await;
    t.github.user("olga").comment(&pr, "/loop resume").unwrap();
    t.then(&pr, "resumed").await;
}

pub async fn a_fork_with_several_jobs<K: Keeper>(t: &mut Telling<'_, K>) {
    let change = PullSpec::new("Fix typo")
        .file("docs/guide.md", "Guide\n")
        .from_fork();
    let pr = t
        .github
        .user("dave")
        .open_pull_request(t.repo, change)
        .unwrap();
    t.then(&pr, "opened from a fork").await;
    let matrix_job = |matrix, failing: &[&str]| Job {
        name: "test",
        matrix: Some(matrix),
        checks: unit(failing),
    };
    ci(
        t.github,
        &pr,
        &[
            matrix_job(r#"{"os":"linux"}"#, &[]),
            matrix_job(r#"{"os":"windows"}"#, &["opens_paths"]),
        ],
    );
    t.then(&pr, "one matrix job of the matrix fails").await;
    ci(
        t.github,
        &pr,
        &[
            matrix_job(r#"{"os":"linux"}"#, &[]),
            matrix_job(r#"{"os":"windows"}"#, &[]),
        ],
    );
    t.then(&pr, "all pass when run again").await;
    t.github.user("dave").close(&pr).unwrap();
    t.then(&pr, "closed").await;
}

/// The same was seen after every step, line by line.
pub fn assert_same(first: &str, one: &Seen, second: &str, other: &Seen) {
    assert_eq!(one.len(), other.len());
    for ((what, one), (_, other)) in one.iter().zip(other) {
        let (one, other) = (one.lines(), other.lines());
        let differ = one.iter().zip(&other).find(|(one, other)| one != other);
        assert_eq!(
            differ, None,
            "{what}: on the left what {first}, on the right what {second}"
        );
        assert_eq!(one.len(), other.len(), "{what}");
    }
}

/// Plays a story for the server and for the workflows, and compares what is seen after every step.
macro_rules! the_same_for_both {
    ($story:ident) => {{
        let served = github().await;
        let repo = repository(&served);
        let app = App::new(&served).await;
        let mut server = Telling::new(&served, &repo, &app, "loopgate[bot]");
        $story(&mut server).await;

        let alone = github().await;
        let repo = repository(&alone);
        let actions = Actions::new(&alone, &repo);
        let mut action = Telling::new(&alone, &repo, &actions, "github-actions[bot]");
        $story(&mut action).await;
        assert_same(
            "the server leaves",
            &server.seen,
            "the workflows leave",
            &action.seen,
        );
        actions
    }};
}

#[tokio::test(flavor = "multi_thread")]
async fn from_a_failing_test_to_the_merge_is_the_same_for_both() {
    let actions = the_same_for_both!(from_a_failing_test_to_the_merge);
    let requests = actions.requests();
    println!("requests: {requests:?}");
    let chat = actions
        .runs
        .lock()
        .unwrap()
        .iter()
        .find(|(_, told)| told["irrelevant"] == "chat")
        .cloned();
    assert_eq!(
        chat.unwrap().1["api_requests"]["total"],
        0,
        "chat costs nothing"
    );
    let most = requests
        .iter()
        .map(|(_, requests)| *requests)
        .max()
        .unwrap();
    assert!(
        most <= 55,
        "eighteen of the dearest events an hour stay within 1,000 requests: {requests:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_that_never_end_well_are_the_same_for_both() {
    the_same_for_both!(attempts_that_never_end_well);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_with_several_jobs_is_the_same_for_both() {
    the_same_for_both!(a_fork_with_several_jobs);
}
