//! What CI systems do: another App reports, or a workflow uploads evidence.

use chrono::TimeDelta;
use loopgate_core::{
    RepoName, Sha,
    evidence::{
        CheckEvidence, CheckKind, CheckResults, EVIDENCE_SCHEMA, Failure, Outcome, OutcomesExtent,
        TestId, TestOutcome, TestOutcomes, TestState,
    },
};
use loopgate_simulator::{CheckSpec, Conclusion, JobLog, LoggedStep, Pr, RunSpec};
use serde_json::{Value, json};

use super::{GitHub, World};

/// What one of somebody's checks says about a commit.
pub enum Report<'a> {
    Passes(&'a str),
    /// With an annotation on one line.
    Fails {
        check: &'a str,
        path: &'a str,
        line: u64,
        message: &'a str,
    },
    /// Ends so and says nothing more: `failure`, `timed_out`, `cancelled`, `skipped`.
    Ends {
        check: &'a str,
        conclusion: &'a str,
    },
}

/// A failed job of a workflow that knows nothing of Loopgate.
#[derive(Clone, Copy, Default)]
pub struct Job<'a> {
    pub name: &'a str,
    /// What its last step prints.
    pub prints: &'a str,
    /// How long after its end the log is not there; on the emulator, whose time is not ours, it is there at once.
    pub late_seconds: u32,
    /// Whether the log was deleted.
    pub is_gone: bool,
}

/// The workflow whose evidence scenarios with test results believe.
pub const CI: &str = ".github/workflows/ci.yml";

impl World {
    /// Another App reports on the head, without any evidence of ours.
    pub async fn ci_reports(&self, pr: &Pr, reports: &[Report<'_>]) {
        for report in reports {
            self.ci_report(pr, report).await;
        }
        self.settle().await;
    }

    async fn ci_report(&self, pr: &Pr, report: &Report<'_>) {
        match &self.github {
            GitHub::Simulated(github) => {
                let spec = match *report {
                    Report::Passes(check) => CheckSpec::concluded(check, Conclusion::Success),
                    Report::Fails {
                        check,
                        path,
                        line,
                        message,
                    } => CheckSpec::concluded(check, Conclusion::Failure)
                        .output("1 test failed", "One of 12 tests failed.")
                        .annotation(path, line, message),
                    Report::Ends { check, conclusion } => CheckSpec::concluded(
                        check,
                        match conclusion {
                            "timed_out" => Conclusion::TimedOut,
                            "cancelled" => Conclusion::Cancelled,
                            "skipped" => Conclusion::Skipped,
                            _ => Conclusion::Failure,
                        },
                    ),
                };
                let head = github.head(pr).expect("a head");
                github
                    .ci("other-ci")
                    .check_run(&pr.repo, head, spec)
                    .expect("a check run");
            }
            GitHub::Emulated(github) => {
                let (repo, head) = (
                    pr.repo.to_string(),
                    self.emulated_pull(github, pr)["head"]["sha"].take(),
                );
                let (name, mut end) = match *report {
                    Report::Passes(check) => (check, json!({ "conclusion": "success" })),
                    Report::Fails {
                        check,
                        path,
                        line,
                        message,
                    } => {
                        let annotation = json!({ "path": path, "start_line": line, "end_line": line,
                            "annotation_level": "failure", "message": message });
                        let output = json!({ "title": "1 test failed", "summary": "One of 12 tests failed.",
                            "annotations": [annotation] });
                        (check, json!({ "conclusion": "failure", "output": output }))
                    }
                    Report::Ends { check, conclusion } => {
                        (check, json!({ "conclusion": conclusion }))
                    }
                };
                end["status"] = "completed".into();
                // Begun and ended in two steps: for a check run that is made completed, the emulator sends no
                // `completed`.
                let begin = json!({ "repo": repo, "sha": head, "name": name, "conclusion": null });
                let path = format!(
                    "/repos/{repo}/check-runs/{}",
                    github.call("create_check", begin)["id"]
                );
                let args =
                    json!({ "method": "PATCH", "path": path, "as_": "app:other-ci", "json": end });
                github.call("call", args);
            }
        }
    }

    /// A workflow runs on the head, and each of its jobs passes.
    pub async fn ci_passes(&self, pr: &Pr, workflow: &str, jobs: &[&str]) {
        match &self.github {
            GitHub::Simulated(github) => {
                let head = github.head(pr).expect("a head");
                let spec = RunSpec::new(head, workflow).jobs(jobs);
                let run = github.start_workflow(&pr.repo, spec).expect("a run");
                self.settle().await;
                github
                    .finish_workflow(&pr.repo, run, Conclusion::Success, Vec::new())
                    .expect("its end");
            }
            GitHub::Emulated(github) => {
                let head = self.emulated_pull(github, pr)["head"]["sha"].take();
                for job in jobs {
                    let args = json!({ "repo": pr.repo.to_string(), "head_sha": head, "name": job,
                        "path": workflow, "conclusion": "success" });
                    github.call("actions_job", args);
                }
            }
        }
        self.settle().await;
    }

    /// Jobs of another workflow fail on the head. Returns the ids of the jobs.
    pub async fn ci_jobs(&self, pr: &Pr, jobs: &[Job<'_>]) -> Vec<u64> {
        let ids = match &self.github {
            GitHub::Simulated(github) => {
                let names: Vec<&str> = jobs.iter().map(|job| job.name).collect();
                let spec = RunSpec::new(
                    github.head(pr).expect("a head"),
                    ".github/workflows/test.yml",
                )
                .jobs(&names);
                let run = github.start_workflow(&pr.repo, spec).expect("a run");
                let ids = jobs.iter().map(|job| {
                    let id = github.job(&pr.repo, run, job.name).expect("a job");
                    let step = LoggedStep {
                        name: "Run tests".to_owned(),
                        conclusion: Conclusion::Failure,
                        command: "pytest".to_owned(),
                        text: job.prints.to_owned(),
                    };
                    let late = TimeDelta::seconds(job.late_seconds.into());
                    let log = JobLog {
                        steps: vec![step],
                        late,
                        is_gone: job.is_gone,
                    };
                    github.print(&pr.repo, id, log).expect("a log");
                    id.get()
                });
                let ids = ids.collect();
                github
                    .finish_workflow(&pr.repo, run, Conclusion::Failure, Vec::new())
                    .expect("its end");
                ids
            }
            GitHub::Emulated(github) => {
                let head = self.emulated_pull(github, pr)["head"]["sha"].take();
                let made = jobs.iter().map(|job| {
                    let step = json!({ "name": "Run tests", "conclusion": "failure", "text": job.prints });
                    let args = json!({ "repo": pr.repo.to_string(), "head_sha": head, "name": job.name,
                        "steps": [step], "gone": job.is_gone });
                    github.call("actions_job", args)["job_id"].as_u64().expect("an id")
                });
                made.collect()
            }
        };
        self.settle().await;
        ids
    }

    /// The workflow runs the tests on the head and uploads their results as evidence.
    pub async fn ci_tests(&self, pr: &Pr, failing: &[&str], passing: &[&str]) {
        self.ci_tests_with(pr, failing, passing, &json!({})).await;
    }

    /// The same with these fields more in the evidence.
    pub async fn ci_tests_with(&self, pr: &Pr, failing: &[&str], passing: &[&str], more: &Value) {
        let head = self.head(pr);
        let on = (&pr.repo, head.as_str(), "pull_request");
        self.ci_tests_on(on, failing, passing, more).await;
    }

    /// The same on the tip of `main`, after a push.
    pub async fn ci_tests_main(&self, repo: &RepoName, failing: &[&str], passing: &[&str]) {
        let main = match &self.github {
            GitHub::Simulated(github) => github.sha(repo, "main").expect("a branch").to_string(),
            GitHub::Emulated(github) => {
                let args = json!({ "repo": repo.to_string(), "branch": "main" });
                let sha = github.call("branch_sha", args);
                sha.as_str().expect("a commit").to_owned()
            }
        };
        let on = (repo, main.as_str(), "push");
        self.ci_tests_on(on, failing, passing, &json!({})).await;
    }

    async fn ci_tests_on(
        &self,
        (repo, head, event): (&RepoName, &str, &str),
        failing: &[&str],
        passing: &[&str],
        more: &Value,
    ) {
        let head: Sha = head.parse().expect("a commit");
        let evidence = |run| {
            let mut document = evidence(repo, head, run, failing, passing);
            let fields = document.as_object_mut().expect("an object");
            fields.extend(more.as_object().cloned().expect("an object"));
            document
        };
        let conclusion = if failing.is_empty() {
            Conclusion::Success
        } else {
            Conclusion::Failure
        };
        match &self.github {
            GitHub::Simulated(github) => {
                let run = github
                    .start_workflow(repo, RunSpec::new(head, CI).event(event))
                    .expect("a run");
                let zip = archive(&evidence(run.get()));
                let artifacts = vec![("loopgate-evidence-test-1".to_owned(), zip.into())];
                github
                    .finish_workflow(repo, run, conclusion, artifacts)
                    .expect("its end");
            }
            GitHub::Emulated(github) => {
                // The emulator gives a run its number when it is over. Numbers count up: a run of another workflow
                // before it tells which one comes next.
                let other = json!({ "repo": repo, "head_sha": head, "name": "Other", "path": ".github/workflows/other.yml" });
                let run = github.call("workflow_run", other)["run_id"]
                    .as_u64()
                    .expect("a number")
                    + 1;
                let zip = archive(&evidence(run));
                let zip = json!({ "base64": base64::Engine::encode(&base64::prelude::BASE64_STANDARD, zip) });
                let args = json!({ "repo": repo, "head_sha": head, "path": CI, "conclusion": conclusion.as_str(),
                    "event": event, "artifacts": { "loopgate-evidence-test-1": zip } });
                assert_eq!(github.call("workflow_run", args)["run_id"], run);
            }
        }
        self.settle().await;
    }
}

/// An evidence document as `verify` writes it in a job.
pub fn evidence(repo: &RepoName, head: Sha, run: u64, failing: &[&str], passing: &[&str]) -> Value {
    let outcome = if failing.is_empty() {
        Outcome::Passed
    } else {
        Outcome::Failed
    };
    let mut unit = CheckEvidence::bare("unit".parse().expect("a name"), CheckKind::Test, outcome);
    let counts =
        [failing.len() + passing.len(), passing.len(), failing.len()].map(|count| count as u64);
    let [total, passed, failed] = counts;
    unit.results = Some(CheckResults {
        total,
        passed,
        failed,
        ..CheckResults::default()
    });
    let id = |test: &str| TestId::of("", "", test);
    unit.failures = failing
        .iter()
        .map(|test| Failure {
            test_name: Some((*test).to_owned()),
            error_message: format!("assertion failed in {test}"),
            test_id: Some(id(test)),
            ..Failure::default()
        })
        .collect();
    let failed = failing
        .iter()
        .map(|test| TestOutcome::new(id(test), TestState::Failed));
    let passed = passing
        .iter()
        .map(|test| TestOutcome::new(id(test), TestState::Passed));
    unit.tests = Some(TestOutcomes::new(
        failed.chain(passed).collect(),
        OutcomesExtent::Whole,
    ));
    let build = CheckEvidence::bare(
        "build".parse().expect("a name"),
        CheckKind::Build,
        Outcome::Passed,
    );
    json!({
        "schema": EVIDENCE_SCHEMA, "repository": repo, "head_sha": head, "tree_hash": "1a",
        "workflow": { "path": CI, "run_id": run, "run_attempt": 1, "job": "test", "matrix": null },
        "environment": { "os": "linux", "runtime": null, "framework": null },
        "started_at": "2026-11-20T10:15:00Z", "ended_at": "2026-11-20T10:16:00Z", "checks": [build, unit],
    })
}

pub fn archive(document: &Value) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    writer
        .start_file("evidence.json", zip::write::SimpleFileOptions::default())
        .expect("a name");
    std::io::Write::write_all(&mut writer, document.to_string().as_bytes()).expect("in memory");
    writer.finish().expect("in memory").into_inner()
}
