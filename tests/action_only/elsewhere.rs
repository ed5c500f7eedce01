//! The state kept elsewhere than in a ref (`state.backend`): what people see is the same, and so are the documents.

use loopgate::{
    core::RepoName,
    simulator::{Area, CommitSpec, Level, Permissions, Simulator},
};

use crate::{
    CONFIGURATION,
    actions::{self, Actions},
    github, repository,
    server::App,
    stories::{
        Telling, a_fork_with_several_jobs, assert_same, attempts_that_never_end_well, from_a_failing_test_to_the_merge,
    },
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
    github.refs(repo).unwrap().into_iter().filter(|name| name.starts_with("refs/loopgate/")).collect()
}

/// Plays a story for a server that keeps the state in a ref, and then for whoever keeps it elsewhere and may write no
/// ref, and compares what is seen after every step.
macro_rules! the_same_wherever_the_state_is {
    ($story:ident) => {{
        let ordinary = github().await;
        let repo = repository(&ordinary);
        let app = App::new(&ordinary).await;
        let mut in_refs = Telling::new(&ordinary, &repo, &app, "loopgate[bot]");
        $story(&mut in_refs).await;
        assert_eq!(hidden_refs(&ordinary, &repo).len(), 1);

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
