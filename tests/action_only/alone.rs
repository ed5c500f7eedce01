//! What is different without a server: lost events, several processes at once, and an App that every workflow shares.

use loopgate::simulator::{CheckSpec, Conclusion, Pr, PullSpec, Role, Simulator};
use serde_json::json;

use crate::{Keeper as _, actions::Actions, ci_with, github, repository};

const US: &str = "github-actions[bot]";

fn change() -> PullSpec {
    PullSpec::new("feat: sign in").file("src/auth/login.rs", "fn login() {}\n")
}

fn marked(github: &Simulator, pr: &Pr, marker: &str) -> usize {
    let comments = github.pull_request(pr).unwrap().comments;
    comments.iter().filter(|comment| comment.author == US && comment.body.starts_with(marker)).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_missed_is_healed_by_the_schedule() {
    let github = github().await;
    let repo = repository(&github);
    let actions = Actions::new(&github, &repo);
    let pulls: Vec<_> = ["one", "two", "three"]
        .map(|branch| github.user("alice").open_pull_request(&repo, change().branch(branch)).unwrap())
        .into();
    ci_with(&github, &pulls[1], &["adds_two"]);
    actions.miss_everything().await;
    let told = actions.schedule().await;
    assert_eq!(told["pull_requests"].as_array().unwrap().len(), 3, "{told}");
    for pr in &pulls {
        assert_eq!(marked(&github, pr, "<!-- loopgate:status -->"), 1);
    }
    let labels = |pr: &Pr| github.pull_request(pr).unwrap().labels;
    assert!(labels(&pulls[1]).contains(&"loop:retry".to_owned()), "{:?}", labels(&pulls[1]));
    // What was just written is observed, and then nothing changes any more.
    actions.schedule().await;
    let again = actions.schedule().await;
    assert_eq!(again["api_requests"]["writes"], 0, "nothing has changed: {again}");
    println!("a resync of three unchanged pull requests: {}", again["api_requests"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_at_once_agree_on_one_run_and_one_surface() {
    let github = github().await;
    let repo = repository(&github);
    let actions = Actions::new(&github, &repo);
    let pr = github.user("alice").open_pull_request(&repo, change()).unwrap();
    actions.miss_everything().await;
    let all = json!({ "inputs": {} });
    let run = |number| actions.process("workflow_dispatch", &all, number);
    let outputs = futures::future::join_all((1..=4).map(run)).await;
    for output in outputs {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    actions.schedule().await;
    assert_eq!(marked(&github, &pr, "<!-- loopgate:status -->"), 1, "doubles are taken away");
    let state = github.state_ref(&repo, "refs/loopgate/pr/1").unwrap().unwrap();
    let begun = state.files["history.jsonl"].matches("\"run_started\"").count();
    assert_eq!(begun, 1, "{}", state.files["history.jsonl"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_button_is_shown_and_no_team_is_asked() {
    let github = github().await;
    let repo = repository(&github);
    let team = github.admin().add_team("acme/keepers", &["bob"]).unwrap();
    github.admin().grant_team(&team, &repo, Role::Write).unwrap();
    let text = crate::CONFIGURATION.replace("{ users: [bob] }", "{ teams: [acme/keepers], users: [carol] }");
    let commit = loopgate::simulator::CommitSpec::new("Ask the team").file(".github/loopgate.yml", text);
    github.user("olga").push_to(&repo, "main", commit).unwrap();
    let actions = Actions::new(&github, &repo);
    let pr = github.user("alice").open_pull_request(&repo, change()).unwrap();
    actions.settle().await;
    ci_with(&github, &pr, &["adds_two"]);
    actions.settle().await;
    let pull = github.pull_request(&pr).unwrap();
    assert_eq!(pull.check_run("loopgate / verify").unwrap().conclusion, Some(Conclusion::Failure));
    assert!(pull.check_runs.iter().all(|run| run.buttons.is_empty()), "{:?}", pull.check_runs);
    assert_eq!(
        (pull.requested_reviewers.as_slice(), pull.requested_teams.as_slice()),
        (["carol".to_owned()].as_slice(), [].as_slice())
    );
    let status = pull.comments.iter().find(|comment| comment.body.starts_with("<!-- loopgate:status -->")).unwrap();
    assert!(status.body.contains("acme/keepers") && status.body.contains("members=read"), "{}", status.body);
    github.user("bob").comment(&pr, "security approved").unwrap();
    actions.settle().await;
    assert!(
        github.pull_request(&pr).unwrap().labels.contains(&"needs:security-review".to_owned()),
        "bob may not be known"
    );
    github.user("carol").comment(&pr, "security approved").unwrap();
    actions.settle().await;
    assert!(!github.pull_request(&pr).unwrap().labels.contains(&"needs:security-review".to_owned()));
}

/// Anybody who can run a workflow can name its job as our check run is named, and it is of the same App.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_with_the_name_of_our_check_is_not_taken_for_it() {
    let github = github().await;
    let repo = repository(&github);
    let actions = Actions::new(&github, &repo);
    let pr = github.user("alice").open_pull_request(&repo, change()).unwrap();
    let head = github.head(&pr).unwrap();
    let forged = CheckSpec::concluded("loopgate / verify", Conclusion::Success);
    let forged = github.ci("github-actions").check_run(&repo, head, forged).unwrap();
    actions.settle().await;
    let pull = github.pull_request(&pr).unwrap();
    let ours = pull.check_run("loopgate / verify").unwrap();
    assert_ne!(ours.id, forged);
    assert_eq!(ours.status, "in_progress");
    let status = pull.comments.iter().find(|comment| comment.body.starts_with("<!-- loopgate:status -->")).unwrap();
    assert!(status.body.contains("`loopgate / verify`"), "{}", status.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn events_that_run_the_pull_requests_own_workflow_are_refused() {
    let github = github().await;
    let actions = Actions::new(&github, &repository(&github));
    for (event, way_out) in [("pull_request", "pull_request_target"), ("pull_request_review", "workflow_run")] {
        let output = actions.process(event, &json!({}), 1).await;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(65), "{said}");
        assert!(said.contains(way_out), "{said}");
    }
    assert_eq!(github.request_counts().total, 0);
}
