//! A check of a matrix is done when the newest execution of each of its jobs has reported.

use loopgate_core::WorkflowRunId;
use loopgate_simulator::{CommitSpec, Conclusion, Pr, PullSpec, RunSpec, Simulator};
use serde_json::{Value, json};

use crate::{
    CI, CONFIGURATION, Job, Keeper as _, actions::Actions, archive, evidence, github, repository,
    unit,
};

const MATRIX_JOBS: [&str; 3] = ["test (linux)", "test (macos)", "test (windows)"];

/// A pull request whose CI has a matrix of three, and a job beside it that verifies nothing.
struct Matrix {
    github: Simulator,
    actions: Actions,
    pr: Pr,
    run: WorkflowRunId,
}

impl Matrix {
    async fn new() -> Self {
        Self::under("").await
    }

    /// The same with more in its configuration.
    async fn under(more: &str) -> Self {
        let github = github().await;
        let repo = repository(&github);
        let commit =
            CommitSpec::new("More").file(".github/loopgate.yml", format!("{CONFIGURATION}{more}"));
        github.user("olga").push_to(&repo, "main", commit).unwrap();
        let actions = Actions::new(&github, &repo);
        let change = PullSpec::new("Add one").file("src/a.rs", "1\n");
        let pr = github
            .user("alice")
            .open_pull_request(&repo, change)
            .unwrap();
        let jobs = [MATRIX_JOBS[0], MATRIX_JOBS[1], MATRIX_JOBS[2], "notify"];
        let run = github
            .start_workflow(
                &repo,
                RunSpec::new(github.head(&pr).unwrap(), CI).jobs(&jobs),
            )
            .unwrap();
        Self {
            github,
            actions,
            pr,
            run,
        }
    }

    /// What a matrix job's newest execution uploads.
    fn document(&self, matrix_job: usize, attempt: u32, failing: &[&str]) -> Value {
        let job = Job {
            name: "test",
            matrix: Some(MATRIX_JOBS[matrix_job]),
            checks: unit(failing),
        };
        let mut document = evidence(self.github.head(&self.pr).unwrap(), self.run.get(), &job);
        let check_run = self
            .github
            .job(&self.pr.repo, self.run, MATRIX_JOBS[matrix_job])
            .unwrap();
        document["workflow"]["run_attempt"] = attempt.into();
        document["workflow"]["leg"] =
            json!({ "index": matrix_job, "total": 3, "check_run_id": check_run });
        document
    }

    fn end(&self, job: &str, conclusion: Conclusion) {
        self.github
            .finish_job(&self.pr.repo, self.run, job, conclusion)
            .unwrap();
    }

    fn pass_all_but_windows(&self) {
        for job in [MATRIX_JOBS[0], MATRIX_JOBS[1], "notify"] {
            self.end(job, Conclusion::Success);
        }
    }

    /// Ends the run with these documents.
    async fn ended(&self, conclusion: Conclusion, documents: &[Value]) -> Option<Conclusion> {
        let artifact = |(nth, document): (usize, &Value)| {
            let zip = archive(&[("evidence.json", document.to_string().as_bytes())]);
            (
                format!(
                    "loopgate-evidence-test-{nth}-{}",
                    document["workflow"]["run_attempt"]
                ),
                zip.into(),
            )
        };
        let artifacts = documents.iter().enumerate().map(artifact).collect();
        self.github
            .finish_workflow(&self.pr.repo, self.run, conclusion, artifacts)
            .unwrap();
        self.actions.settle().await;
        self.verify()
    }

    async fn ends_green(&self, conclusion: Conclusion, documents: &[Value]) {
        let verify = self.ended(conclusion, documents).await;
        assert_eq!(verify, Some(Conclusion::Success), "{}", self.status());
    }

    /// Ends the run, which must not pass; the text of the status comment then.
    async fn ends_not_green(&self, conclusion: Conclusion, documents: &[Value]) -> String {
        let verify = self.ended(conclusion, documents).await;
        assert_ne!(verify, Some(Conclusion::Success), "{conclusion:?}");
        self.status()
    }

    fn verify(&self) -> Option<Conclusion> {
        self.github
            .pull_request(&self.pr)
            .unwrap()
            .check_run("loopgate / verify")
            .unwrap()
            .conclusion
    }

    fn status(&self) -> String {
        let comments = self.github.pull_request(&self.pr).unwrap().comments;
        comments
            .iter()
            .find(|comment| comment.body.starts_with("<!-- loopgate:status -->"))
            .unwrap()
            .body
            .clone()
    }

    /// How often GitHub was asked to repeat the jobs that failed.
    fn reruns(&self) -> usize {
        self.github
            .requests()
            .iter()
            .filter(|request| request.path.ends_with("/rerun-failed-jobs"))
            .count()
    }

    async fn retry(&self) {
        self.github
            .user("alice")
            .comment(&self.pr, "/loop retry")
            .unwrap();
        self.actions.settle().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_matrix_job_that_dies_is_named_and_never_green() {
    // However it ended: killed or out of time, by its own limit, or before the step.
    for end in [
        Conclusion::Cancelled,
        Conclusion::TimedOut,
        Conclusion::Failure,
    ] {
        let matrix = Matrix::new().await;
        matrix.pass_all_but_windows();
        matrix.end(MATRIX_JOBS[2], end);
        let documents = [matrix.document(0, 1, &[]), matrix.document(1, 1, &[])];
        matrix.ends_not_green(end, &documents).await;
        let status = matrix.status();
        assert!(
            status.contains("❌ lost") && status.contains("test (windows)"),
            "{end:?}: {status}"
        );
        assert!(
            !status.contains("test (linux)") && !status.contains("notify"),
            "{end:?}: {status}"
        );
    }
}

/// GitHub gives up a job whose runner is gone: the job is named, it is nobody's code, and it alone is repeated.
#[tokio::test(flavor = "multi_thread")]
async fn a_matrix_job_whose_runner_is_lost_is_named_and_repeated_alone() {
    let matrix = Matrix::under(
        "loop: { external_retry: { workflows: { first_wait: 6h, longest_wait: 6h } } }\n",
    )
    .await;
    matrix.pass_all_but_windows();
    let documents = [matrix.document(0, 1, &[]), matrix.document(1, 1, &[])];
    // It dies, and dies once more when it is repeated.
    for brought in [documents.as_slice(), &[]] {
        matrix
            .github
            .lose_runner(&matrix.pr.repo, matrix.run, MATRIX_JOBS[2])
            .unwrap();
        let status = matrix.ends_not_green(Conclusion::Failure, brought).await;
        assert!(
            status.contains("the job test (windows) lost its runner without evidence"),
            "{status}"
        );
        let labels = matrix.github.pull_request(&matrix.pr).unwrap().labels;
        assert!(
            !labels.contains(&"loop:retry".to_owned()),
            "nothing is asked of the author: {labels:?}"
        );
        matrix.retry().await;
    }
    assert_eq!(matrix.reruns(), 2);
    matrix
        .ends_green(Conclusion::Success, &[matrix.document(2, 3, &[])])
        .await;
}

/// A lost runner is trouble outside the code: after a minute the matrix job is repeated without anybody asking.
#[tokio::test(flavor = "multi_thread")]
async fn a_matrix_job_whose_runner_is_lost_is_repeated_by_itself() {
    let matrix = Matrix::new().await;
    matrix.pass_all_but_windows();
    let documents = [matrix.document(0, 1, &[]), matrix.document(1, 1, &[])];
    matrix
        .github
        .lose_runner(&matrix.pr.repo, matrix.run, MATRIX_JOBS[2])
        .unwrap();
    matrix.ends_not_green(Conclusion::Failure, &documents).await;
    matrix.actions.schedule().await;
    matrix.actions.settle().await;
    assert_eq!(matrix.reruns(), 1);
    matrix
        .ends_green(Conclusion::Success, &[matrix.document(2, 2, &[])])
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_matrix_job_that_is_repeated_counts_by_its_newest_execution() {
    let matrix = Matrix::new().await;
    matrix.pass_all_but_windows();
    let documents = [matrix.document(0, 1, &[]), matrix.document(1, 1, &[])];
    matrix.ends_not_green(Conclusion::Failure, &documents).await;
    matrix.retry().await;
    matrix.ends_not_green(Conclusion::Failure, &[]).await;
    assert!(
        matrix.status().contains("test (windows)"),
        "{}",
        matrix.status()
    );
    matrix.retry().await;
    matrix
        .ends_green(Conclusion::Success, &[matrix.document(2, 3, &[])])
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_matrix_job_that_failed_and_dies_when_it_is_repeated_is_lost() {
    let matrix = Matrix::new().await;
    matrix.pass_all_but_windows();
    let documents =
        [0, 1, 2].map(|nth| matrix.document(nth, 1, if nth == 2 { &["opens_paths"] } else { &[] }));
    assert_eq!(
        matrix.ended(Conclusion::Failure, &documents).await,
        Some(Conclusion::Failure)
    );
    matrix.retry().await;
    let status = matrix.ends_not_green(Conclusion::Failure, &[]).await;
    assert!(
        status.contains("❌ lost") && status.contains("test (windows)"),
        "its older word is no word: {status}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_that_are_no_matrix_jobs_do_not_matter() {
    let matrix = Matrix::new().await;
    matrix.end("notify", Conclusion::Failure);
    let documents = [0, 1, 2].map(|nth| matrix.document(nth, 1, &[]));
    for matrix_job in MATRIX_JOBS {
        matrix.end(matrix_job, Conclusion::Success);
    }
    matrix.ends_green(Conclusion::Failure, &documents).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn evidence_that_contradicts_other_evidence_is_refused() {
    let matrix = Matrix::new().await;
    let mut documents = [0, 1, 2].map(|nth| matrix.document(nth, 1, &[])).to_vec();
    documents.push(matrix.document(1, 1, &["opens_paths"]));
    let status = matrix.ends_not_green(Conclusion::Success, &documents).await;
    assert!(
        status.contains("contradict each other: one says"),
        "{status}"
    );
}

/// An older Action does not say the matrix job: its evidence counts where the run succeeded, or fails as the run did.
#[tokio::test(flavor = "multi_thread")]
async fn evidence_of_an_older_action_counts_where_its_run_succeeded() {
    for (end, is_green) in [
        (Conclusion::Success, true),
        (Conclusion::Failure, false),
        (Conclusion::Cancelled, false),
    ] {
        let matrix = Matrix::new().await;
        let mut document = matrix.document(0, 1, &[]);
        document["workflow"].as_object_mut().unwrap().remove("leg");
        let verify = matrix.ended(end, &[document]).await;
        assert_eq!(
            verify == Some(Conclusion::Success),
            is_green,
            "{end:?}: {}",
            matrix.status()
        );
    }
}

/// A matrix job that was interrupted tells so: its own evidence does not make it green, nor do the others.
#[tokio::test(flavor = "multi_thread")]
async fn a_matrix_job_that_was_interrupted_is_named_and_never_green() {
    let matrix = Matrix::new().await;
    matrix.pass_all_but_windows();
    matrix.end(MATRIX_JOBS[2], Conclusion::Cancelled);
    let mut documents = [0, 1, 2].map(|nth| matrix.document(nth, 1, &[]));
    documents[2]["extent"] = "interrupted".into();
    for check in documents[2]["checks"].as_array_mut().unwrap() {
        check["outcome"] = "cancelled".into();
        check["results"] = Value::Null;
    }
    let status = matrix
        .ends_not_green(Conclusion::Cancelled, &documents)
        .await;
    assert!(
        status.contains("❌ lost") && status.contains("test (windows) was interrupted"),
        "{status}"
    );
    // Only the lost matrix job is repeated.
    matrix.retry().await;
    matrix
        .ends_green(Conclusion::Success, &[matrix.document(2, 2, &[])])
        .await;
}

/// A job is cancelled, and a step with `if: always()` still uploads evidence that says that all passed.
#[tokio::test(flavor = "multi_thread")]
async fn evidence_of_a_cancelled_job_is_never_green() {
    let matrix = Matrix::new().await;
    matrix.pass_all_but_windows();
    matrix.end(MATRIX_JOBS[2], Conclusion::Cancelled);
    let documents = [0, 1, 2].map(|nth| matrix.document(nth, 1, &[]));
    let status = matrix
        .ends_not_green(Conclusion::Cancelled, &documents)
        .await;
    assert!(
        status.contains("❌ lost") && status.contains("test (windows) was interrupted"),
        "{status}"
    );
    matrix.retry().await;
    matrix
        .ends_green(Conclusion::Success, &[matrix.document(2, 2, &[])])
        .await;
}

/// A test check that passed without a test is refused, by that sentence.
#[tokio::test(flavor = "multi_thread")]
async fn a_test_check_that_passed_without_a_test_is_refused() {
    let matrix = Matrix::new().await;
    let mut documents = [0, 1, 2].map(|nth| matrix.document(nth, 1, &[]));
    for check in documents[1]["checks"].as_array_mut().unwrap() {
        check["results"] = json!({ "total": 0, "passed": 0, "failed": 0, "errors": 0, "skipped": 0, "flaky": 0,
            "duration_ms": 0, "coverage_percent": null });
    }
    let status = matrix.ends_not_green(Conclusion::Success, &documents).await;
    assert!(
        status.contains("it says that unit passed without a test"),
        "{status}"
    );
}
