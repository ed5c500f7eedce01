//! The state kept elsewhere than in a ref (`state.backend`): what people see is the same, and so are the documents.

use std::collections::BTreeMap;

use chrono::{TimeDelta, Utc};
use loopgate_core::{RepoName, Sha};
use loopgate_simulator::{
    Area, Clock, CommitSpec, Conclusion, Config, Level, Permissions, Pr, PullSpec, RunSpec,
    Simulator,
};
use serde_json::Value;

use crate::{
    CI, CONFIGURATION, Keeper as _,
    actions::{self, Actions, WORKFLOW},
    archive, ci_with, github,
    packed::packed,
    repository,
    server::App,
    stories::{
        Telling, a_fork_with_several_jobs, assert_same, attempts_that_never_end_well,
        from_a_failing_test_to_the_merge,
    },
    unpacked::unpacked,
};

/// The configuration with the state kept there.
fn keep_in(github: &Simulator, repo: &RepoName, backend: &str) {
    let text = format!("{CONFIGURATION}state: {{ backend: {backend} }}\n");
    let commit = CommitSpec::new("Keep the state elsewhere").file(".github/loopgate.yml", text);
    github.user("olga").push_to(repo, "main", commit).unwrap();
}

/// What is needed, without the right to write into the repository.
fn read_only() -> Permissions {
    let mut permissions = actions::permissions();
    permissions.insert(Area::Contents, Level::Read);
    permissions
}

fn hidden_refs(github: &Simulator, repo: &RepoName) -> Vec<String> {
    github
        .refs(repo)
        .unwrap()
        .into_iter()
        .filter(|name| name.starts_with("refs/loopgate/"))
        .collect()
}

/// Plays a story for a server that keeps the state in a ref, and then for one that keeps it elsewhere and may write no
/// ref, and compares what is seen after every step.
macro_rules! the_same_wherever_the_state_is {
    ($story:ident) => {{
        let ordinary = github().await;
        let repo = repository(&ordinary);
        let app = App::new(&ordinary).await;
        let mut in_refs = Telling::new(&ordinary, &repo, &app, "loopgate[bot]");
        $story(&mut in_refs).await;
        // A run, the debug memory of this week, and what it amounts to; a run that ended leaves its line, too.
        let (lines, others): (Vec<String>, Vec<String>) =
            hidden_refs(&ordinary, &repo).into_iter().partition(|name| name == "refs/loopgate/metrics");
        assert!(others.len() == 3 && lines.len() <= 1, "{others:?} {lines:?}");

        let served = github().await;
        let repo = repository(&served);
        keep_in(&served, &repo, "comment");
        let mut permissions = read_only();
        permissions.insert(Area::Members, Level::Read);
        served.admin().accept_permissions(permissions).unwrap();
        let app = App::new(&served).await;
        let mut in_comments = Telling::new(&served, &repo, &app, "loopgate[bot]");
        $story(&mut in_comments).await;
        assert_same("refs give", &in_refs.seen, "comments of a server give", &in_comments.seen);
        assert!(hidden_refs(&served, &repo).is_empty());

        for backend in ["comment", "artifact"] {
            let alone = github().await;
            let repo = repository(&alone);
            keep_in(&alone, &repo, backend);
            let actions = Actions::with(&alone, &repo, read_only());
            let mut elsewhere = Telling::new(&alone, &repo, &actions, "github-actions[bot]");
            $story(&mut elsewhere).await;
            assert_same("refs give", &in_refs.seen, &format!("workflows with the {backend} give"), &elsewhere.seen);
            assert!(hidden_refs(&alone, &repo).is_empty());
            assert_eq!(actions.uploaded.lock().unwrap().is_empty(), backend == "comment");
        }
    }};
}

#[tokio::test(flavor = "multi_thread")]
async fn from_a_failing_test_to_the_merge_is_the_same_wherever_the_state_is() {
    the_same_wherever_the_state_is!(from_a_failing_test_to_the_merge);
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_that_never_end_well_are_the_same_wherever_the_state_is() {
    the_same_wherever_the_state_is!(attempts_that_never_end_well);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_with_several_jobs_is_the_same_wherever_the_state_is() {
    the_same_wherever_the_state_is!(a_fork_with_several_jobs);
}

/// The run of the pull request in the artifact that was uploaded last: its id and how many attempts it counts.
fn run_of(actions: &Actions, pr: &Pr) -> (String, usize) {
    let documents = unpacked(&actions.kept(pr).expect("a state")).expect("that can be read");
    let state = loopgate_core::fixtures::run_document(&documents["loop-state.json"]);
    (
        state["runId"].as_str().unwrap().to_owned(),
        state["attempts"].as_array().unwrap().len(),
    )
}

/// A state that somebody would like to be believed: the run never had an attempt.
fn forged(actions: &Actions, pr: &Pr) -> Vec<u8> {
    let mut documents = unpacked(&actions.kept(pr).expect("a state")).expect("that can be read");
    let mut state = loopgate_core::fixtures::run_document(&documents["loop-state.json"]);
    state["attempts"] = Value::Array(Vec::new());
    state["runId"] = "pr-1-forged".into();
    documents.insert("loop-state.json".into(), state.to_string());
    let files = BTreeMap::from([(format!("pr-{}", pr.number), packed(&documents))]);
    archive(
        &files
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_bytes()))
            .collect::<Vec<_>>(),
    )
}

fn upload(
    github: &Simulator,
    repo: &RepoName,
    (head, path, event): (Sha, &str, &str),
    zip: Vec<u8>,
) {
    let run = github
        .start_workflow(repo, RunSpec::new(head, path).event(event))
        .unwrap();
    let artifacts = vec![("loopgate-state".to_owned(), zip.into())];
    github
        .finish_workflow(repo, run, Conclusion::Success, artifacts)
        .unwrap();
}

/// The workflow of anybody who opens a pull request or pushes a branch can upload an artifact of that name.
#[tokio::test(flavor = "multi_thread")]
async fn states_that_others_upload_are_not_believed() {
    let github = github().await;
    let repo = repository(&github);
    keep_in(&github, &repo, "artifact");
    let actions = Actions::with(&github, &repo, read_only());
    let change = PullSpec::new("Improve")
        .file("src/lib.rs", "fn one() {}\n")
        .from_fork();
    let pr = github
        .user("dave")
        .open_pull_request(&repo, change)
        .unwrap();
    ci_with(&github, &pr, &["adds_two"]);
    actions.settle().await;
    let honest = run_of(&actions, &pr);
    assert_eq!(honest.1, 1);

    let side = CommitSpec::new("A branch of somebody's own").file("side.txt", "1\n");
    let side = github.user("carol").push_to(&repo, "side", side).unwrap();
    let (head, main) = (
        github.head(&pr).unwrap(),
        github.sha(&repo, "main").unwrap(),
    );
    for (whose, run) in [
        ("the pull request's CI", (head, CI, "pull_request")),
        (
            "its own copy of our workflow file",
            (head, WORKFLOW, "pull_request"),
        ),
        (
            "that, as a review's",
            (head, WORKFLOW, "pull_request_review"),
        ),
        ("a pushed branch's copy", (side, WORKFLOW, "push")),
        (
            "a branch's copy, started by hand",
            (side, WORKFLOW, "workflow_dispatch"),
        ),
        (
            "another workflow of the default branch",
            (main, CI, "schedule"),
        ),
    ] {
        upload(&github, &repo, run, forged(&actions, &pr));
        actions.schedule().await;
        let told = actions.schedule().await;
        assert_eq!(told["pull_requests"][0]["attempt"], 1, "{whose}: {told}");
        actions
            .run("workflow_dispatch", &serde_json::json!({ "inputs": {} }))
            .await;
        assert_eq!(run_of(&actions, &pr), honest, "{whose}");
    }

    // What our own workflow uploaded and cannot be read is passed over for the one before.
    upload(
        &github,
        &repo,
        (main, WORKFLOW, "schedule"),
        b"no archive".to_vec(),
    );
    ci_with(&github, &pr, &[]);
    actions.settle().await;
    assert_eq!(
        run_of(&actions, &pr),
        honest,
        "the same run, whose attempt is seen again"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_artifact_is_uploaded_again_before_it_expires() {
    let clock = Clock::fixed(Utc::now() - TimeDelta::days(30));
    let config = Config {
        clock: clock.clone(),
        pace: TimeDelta::seconds(20),
        ..Config::default()
    };
    let github = Simulator::start(config).await.unwrap();
    let repo = repository(&github);
    keep_in(&github, &repo, "artifact");
    let actions = Actions::with(&github, &repo, read_only());
    let change = PullSpec::new("Improve").file("src/lib.rs", "fn one() {}\n");
    let pr = github
        .user("alice")
        .open_pull_request(&repo, change)
        .unwrap();
    actions.settle().await;
    actions.schedule().await;
    let before = run_of(&actions, &pr);

    clock.advance(TimeDelta::days(29));
    // Another token: the first lived an hour.
    let later = Actions::with(&github, &repo, read_only());
    let told = later.schedule().await;
    assert!(told["state_folder"].is_string(), "{told}");
    assert_eq!(run_of(&later, &pr), before);
    later.schedule().await;
    later.uploaded.lock().unwrap().clear();
    let told = later.schedule().await;
    assert!(
        told["state_folder"].is_null() && later.uploaded.lock().unwrap().is_empty(),
        "it is young again: {told}"
    );
}
