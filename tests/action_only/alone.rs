//! What is different without a server: lost events, several processes at once, and an App that every workflow shares.

use loopgate_simulator::{
    CheckSpec, CommitSpec, Conclusion, Pr, PullSpec, Role, RunSpec, Simulator,
};
use serde_json::{Value, json};

use crate::{
    CI, Job, Keeper as _, actions::Actions, archive, ci_with, evidence, github, repository, unit,
};

const US: &str = "github-actions[bot]";

fn change() -> PullSpec {
    PullSpec::new("feat: sign in").file("src/auth/login.rs", "fn login() {}\n")
}

fn marked(github: &Simulator, pr: &Pr, marker: &str) -> usize {
    let comments = github.pull_request(pr).unwrap().comments;
    comments
        .iter()
        .filter(|comment| comment.author == US && comment.body.starts_with(marker))
        .count()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_missed_is_healed_by_the_schedule() {
    let github = github().await;
    let repo = repository(&github);
    let actions = Actions::new(&github, &repo);
    let pulls: Vec<_> = ["one", "two", "three"]
        .map(|branch| {
            github
                .user("alice")
                .open_pull_request(&repo, change().branch(branch))
                .unwrap()
        })
        .into();
    ci_with(&github, &pulls[1], &["adds_two"]);
    actions.miss_everything().await;
    let told = actions.schedule().await;
    assert_eq!(told["pull_requests"].as_array().unwrap().len(), 3, "{told}");
    for pr in &pulls {
        assert_eq!(marked(&github, pr, "<!-- loopgate:status -->"), 1);
    }
    let labels = |pr: &Pr| github.pull_request(pr).unwrap().labels;
    assert!(
        labels(&pulls[1]).contains(&"loop:retry".to_owned()),
        "{:?}",
        labels(&pulls[1])
    );
    // What was just written is observed, and then nothing changes any more.
    actions.schedule().await;
    let again = actions.schedule().await;
    assert_eq!(
        again["api_requests"]["writes"], 0,
        "nothing has changed: {again}"
    );
    println!(
        "a resync of three unchanged pull requests: {}",
        again["api_requests"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_at_once_agree_on_one_run_and_one_surface() {
    let github = github().await;
    let repo = repository(&github);
    let actions = Actions::new(&github, &repo);
    let pr = github
        .user("alice")
        .open_pull_request(&repo, change())
        .unwrap();
    actions.miss_everything().await;
    let all = json!({ "inputs": {} });
    let run = |number| actions.process("workflow_dispatch", &all, number);
    let outputs = futures::future::join_all((1..=4).map(run)).await;
    for output in outputs {
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    actions.schedule().await;
    assert_eq!(
        marked(&github, &pr, "<!-- loopgate:status -->"),
        1,
        "doubles are taken away"
    );
    let state = github
        .state_ref(&repo, "refs/loopgate/pr/1")
        .unwrap()
        .unwrap();
    let begun = state.files["history.jsonl"]
        .matches("\"run_started\"")
        .count();
    assert_eq!(begun, 1, "{}", state.files["history.jsonl"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_button_is_shown_and_no_team_is_asked() {
    let github = github().await;
    let repo = repository(&github);
    let team = github.admin().add_team("acme/keepers", &["bob"]).unwrap();
    github
        .admin()
        .grant_team(&team, &repo, Role::Write)
        .unwrap();
    let text = crate::CONFIGURATION.replace(
        "{ users: [bob] }",
        "{ teams: [acme/keepers], users: [carol] }",
    );
    let commit = CommitSpec::new("Ask the team").file(".github/loopgate.yml", text);
    github.user("olga").push_to(&repo, "main", commit).unwrap();
    let actions = Actions::new(&github, &repo);
    let pr = github
        .user("alice")
        .open_pull_request(&repo, change())
        .unwrap();
    actions.settle().await;
    ci_with(&github, &pr, &["adds_two"]);
    actions.settle().await;
    let pull = github.pull_request(&pr).unwrap();
    assert_eq!(
        pull.check_run("loopgate / verify").unwrap().conclusion,
        Some(Conclusion::Failure)
    );
    assert!(
        pull.check_runs.iter().all(|run| run.buttons.is_empty()),
        "{:?}",
        pull.check_runs
    );
    assert_eq!(
        (
            pull.requested_reviewers.as_slice(),
            pull.requested_teams.as_slice()
        ),
        (["carol".to_owned()].as_slice(), [].as_slice())
    );
    let status = pull
        .comments
        .iter()
        .find(|comment| comment.body.starts_with("<!-- loopgate:status -->"))
        .unwrap();
    assert!(
        status.body.contains("acme/keepers") && status.body.contains("members=read"),
        "{}",
        status.body
    );
    github
        .user("bob")
        .comment(&pr, "security approved")
        .unwrap();
    actions.settle().await;
    assert!(
        github
            .pull_request(&pr)
            .unwrap()
            .labels
            .contains(&"needs:security-review".to_owned()),
        "bob may not be known"
    );
    github
        .user("carol")
        .comment(&pr, "security approved")
        .unwrap();
    actions.settle().await;
    assert!(
        !github
            .pull_request(&pr)
            .unwrap()
            .labels
            .contains(&"needs:security-review".to_owned())
    );
}

/// Two workflows, a matrix, and a second attempt that brings only what had failed in the first.
#[tokio::test(flavor = "multi_thread")]
async fn evidence_of_matrix_jobs_attempts_and_workflows_is_taken_together() {
    let github = github().await;
    let repo = repository(&github);
    let lint = ".github/workflows/lint.yml";
    let text = crate::CONFIGURATION
        .replace("[.github/workflows/ci.yml]", &format!("[{CI}, {lint}]"))
        .replace(
            "  checks:\n",
            "  checks:\n    lint: { kind: lint, run: make lint }\n",
        );
    let commit = CommitSpec::new("Lint").file(".github/loopgate.yml", text);
    github.user("olga").push_to(&repo, "main", commit).unwrap();
    let actions = Actions::new(&github, &repo);
    let pr = github
        .user("alice")
        .open_pull_request(&repo, PullSpec::new("Add one").file("src/a.rs", "1\n"))
        .unwrap();
    let head = github.head(&pr).unwrap();
    let verify = || {
        github
            .pull_request(&pr)
            .unwrap()
            .check_run("loopgate / verify")
            .unwrap()
            .conclusion
    };
    let packed = |run: u64, path: &str, attempt: u32, job: &Job<'_>| {
        let mut document = evidence(head, run, job);
        document["workflow"]["path"] = path.into();
        document["workflow"]["run_attempt"] = attempt.into();
        let name = format!(
            "loopgate-evidence-{}-{attempt}",
            job.matrix.unwrap_or("none").len()
        );
        (
            name,
            archive(&[("evidence.json", document.to_string().as_bytes())]).into(),
        )
    };
    let matrix_job = |matrix, failing: &[&str]| Job {
        name: "test",
        matrix: Some(matrix),
        checks: unit(failing),
    };
    let (linux, windows) = (r#"{"os":"linux"}"#, r#"{"os":"windows"}"#);

    let run = github
        .start_workflow(&repo, RunSpec::new(head, CI))
        .unwrap();
    let matrix_jobs = [
        matrix_job(linux, &[]),
        matrix_job(windows, &["opens_paths"]),
    ];
    let artifacts = matrix_jobs
        .iter()
        .map(|matrix_job| packed(run.get(), CI, 1, matrix_job))
        .collect();
    github
        .finish_workflow(&repo, run, Conclusion::Failure, artifacts)
        .unwrap();
    actions.settle().await;
    assert_eq!(verify(), None, "the other workflow has not begun");
    let clean = json!([{ "name": "lint", "kind": "lint", "outcome": "passed", "duration_ms": 9 }]);
    let other = github
        .start_workflow(&repo, RunSpec::new(head, lint).name("Lint"))
        .unwrap();
    let job = Job {
        name: "lint",
        matrix: None,
        checks: clean,
    };
    let artifacts = vec![packed(other.get(), lint, 1, &job)];
    github
        .finish_workflow(&repo, other, Conclusion::Success, artifacts)
        .unwrap();
    actions.settle().await;
    assert_eq!(verify(), Some(Conclusion::Failure), "one matrix job fails");

    github.user("alice").comment(&pr, "/loop retry").unwrap();
    actions.settle().await;
    let again = packed(run.get(), CI, 2, &matrix_job(windows, &[]));
    github
        .finish_workflow(&repo, run, Conclusion::Success, vec![again])
        .unwrap();
    actions.settle().await;
    assert_eq!(
        verify(),
        Some(Conclusion::Success),
        "the matrix job that passed at first still counts"
    );
    let status = github.pull_request(&pr).unwrap().comments[0].body.clone();
    assert!(status.contains("- **lint** ✅ passed"), "{status}");
    assert!(status.contains("24 passed"), "both matrix jobs: {status}");
}

/// Anybody who can run a workflow can name its job as our check run is named, and it is of the same App.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_with_the_name_of_our_check_is_not_taken_for_it() {
    let github = github().await;
    let repo = repository(&github);
    let actions = Actions::new(&github, &repo);
    let pr = github
        .user("alice")
        .open_pull_request(&repo, change())
        .unwrap();
    let head = github.head(&pr).unwrap();
    let forged = CheckSpec::concluded("loopgate / verify", Conclusion::Success);
    let forged = github
        .ci("github-actions")
        .check_run(&repo, head, forged)
        .unwrap();
    actions.settle().await;
    let pull = github.pull_request(&pr).unwrap();
    let ours = pull.check_run("loopgate / verify").unwrap();
    assert_ne!(ours.id, forged);
    assert_eq!(ours.status, "in_progress");
    let status = pull
        .comments
        .iter()
        .find(|comment| comment.body.starts_with("<!-- loopgate:status -->"))
        .unwrap();
    assert!(
        status.body.contains("`loopgate / verify`"),
        "{}",
        status.body
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn events_that_run_the_pull_requests_own_workflow_are_refused() {
    let github = github().await;
    let actions = Actions::new(&github, &repository(&github));
    for (event, way_out) in [
        ("pull_request", "workflow_run"),
        ("pull_request_review", "workflow_run"),
    ] {
        let output = actions.process(event, &json!({}), 1).await;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(65), "{said}");
        assert!(said.contains(way_out), "{said}");
    }
    assert_eq!(github.request_counts().total, 0);
}

/// The queue asks once; what the group's own checks say comes with the end of their workflow.
#[tokio::test(flavor = "multi_thread")]
async fn a_merge_queue_is_answered_on_its_commit() {
    let github = github().await;
    let repo = repository(&github);
    let actions = Actions::new(&github, &repo);
    let pr = github
        .user("alice")
        .open_pull_request(&repo, PullSpec::new("Add one").file("src/a.rs", "1\n"))
        .unwrap();
    ci_with(&github, &pr, &[]);
    actions.settle().await;

    let group = github.admin().queue(&[&pr]).unwrap();
    actions.settle().await;
    let told = async || {
        let runs = actions
            .get(&format!(
                "/repos/{repo}/commits/{}/check-runs",
                group.head_sha
            ))
            .await;
        let runs = runs["check_runs"].as_array().unwrap().clone();
        let line = |run: &Value| {
            format!(
                "{}: {}, {}",
                run["name"], run["conclusion"], run["output"]["title"]
            )
        };
        let mut lines: Vec<String> = runs
            .iter()
            .map(line)
            .map(|line| line.replace('"', ""))
            .collect();
        lines.retain(|line| line.starts_with("loopgate"));
        lines.sort();
        lines
    };
    assert_eq!(
        told().await,
        [
            "loopgate / gates: success, No gate closed: #1",
            "loopgate / verify: success, Passed: #1"
        ]
    );

    let run = github
        .start_workflow(&repo, RunSpec::new(group.head_sha, CI).event("merge_group"))
        .unwrap();
    let job = Job {
        name: "test",
        matrix: None,
        checks: unit(&["adds_two"]),
    };
    let document = evidence(group.head_sha, run.get(), &job).to_string();
    let artifact = (
        "loopgate-evidence-test-1".to_owned(),
        archive(&[("evidence.json", document.as_bytes())]).into(),
    );
    github
        .finish_workflow(&repo, run, Conclusion::Failure, vec![artifact])
        .unwrap();
    actions.settle().await;
    assert_eq!(
        told().await[1],
        "loopgate / verify: failure, Does not pass: #1"
    );
}
