//! Runs of workflows that say nothing of the code yet, or at all: queued, taken the place of, held back.

use loopgate_core::{PrNumber, RepoName, WorkflowRunId};
use loopgate_simulator::{Conclusion, Pr, PullSpec, RunSpec};
use serde_json::json;

use super::{CI, GitHub, Person, World, tree};

impl World {
    /// GitHub cannot merge the branch. The emulator knows no conflict, so its proxy shows this one.
    pub fn has_a_conflict(&self, pr: &Pr) {
        if let GitHub::Emulated(github) = &self.github {
            github
                .proxy
                .finds_a_conflict(&pr.repo.to_string(), pr.number.get());
        }
    }

    /// A run of the head waits for its turn; GitHub names none of its jobs yet.
    pub async fn a_run_is_queued(&self, pr: &Pr, workflow: &str) -> WorkflowRunId {
        let run = match &self.github {
            GitHub::Simulated(github) => {
                let head = github.head(pr).expect("a head");
                let spec = RunSpec::new(head, workflow).jobs(&[]);
                github.start_workflow(&pr.repo, spec).expect("a run")
            }
            GitHub::Emulated(github) => {
                github.proxy.queues(workflow);
                let args = json!({ "repo": pr.repo.to_string(), "head_sha": self.head(pr), "path": workflow });
                let run = github.call("workflow_run", args)["run_id"].as_u64();
                WorkflowRunId::new(run.expect("a run"))
            }
        };
        self.settle().await;
        run
    }

    /// It ends, and the job that is waited for was not among its jobs.
    pub async fn the_queued_run_ends(&self, pr: &Pr, run: WorkflowRunId) {
        match &self.github {
            GitHub::Simulated(github) => github
                .finish_workflow(&pr.repo, run, Conclusion::Success, Vec::new())
                .expect("its end"),
            GitHub::Emulated(github) => github.proxy.queues_none(),
        }
        self.settle().await;
    }

    /// A run is cancelled because a newer one of its workflow takes its place, which passes.
    pub async fn a_run_takes_its_place(&self, pr: &Pr, workflow: &str, job: &str) {
        match &self.github {
            GitHub::Simulated(github) => {
                let head = github.head(pr).expect("a head");
                let begin = || {
                    let spec = RunSpec::new(head, workflow).jobs(&[job]);
                    github.start_workflow(&pr.repo, spec).expect("a run")
                };
                let (first, second) = (begin(), begin());
                for (run, end) in [
                    (first, Conclusion::Cancelled),
                    (second, Conclusion::Success),
                ] {
                    let ended = github.finish_workflow(&pr.repo, run, end, Vec::new());
                    ended.expect("its end");
                    self.settle().await;
                }
            }
            GitHub::Emulated(github) => {
                for end in ["cancelled", "success"] {
                    let args = json!({ "repo": pr.repo.to_string(), "head_sha": self.head(pr), "name": job,
                        "path": workflow, "conclusion": end });
                    github.call("actions_job", args);
                    self.settle().await;
                }
            }
        }
    }

    /// GitHub holds the head's run of [`CI`] back until somebody with write access lets it run.
    pub async fn a_run_is_held(&self, pr: &Pr) {
        match &self.github {
            GitHub::Simulated(github) => {
                let held = RunSpec::new(github.head(pr).expect("a head"), CI).jobs(&[]);
                let run = github.workflow_run(&pr.repo, held, Conclusion::ActionRequired);
                run.expect("a run");
            }
            GitHub::Emulated(github) => {
                let args = json!({ "repo": pr.repo.to_string(), "head_sha": self.head(pr), "path": CI,
                    "conclusion": "action_required" });
                github.call("workflow_run", args);
            }
        }
        self.settle().await;
    }
}

impl Person<'_> {
    /// Opens one from a fork of their own.
    pub async fn opens_from_a_fork(
        &self,
        repo: &RepoName,
        title: &str,
        files: &[(&str, &str)],
    ) -> Pr {
        self.begin().await;
        let pr = match &self.world.github {
            GitHub::Simulated(github) => {
                let spec = files
                    .iter()
                    .fold(PullSpec::new(title).from_fork(), |spec, (path, text)| {
                        spec.file(path, *text)
                    });
                let opened = github.user(self.login).open_pull_request(repo, spec);
                opened.expect("a pull request")
            }
            GitHub::Emulated(github) => {
                let args = json!({ "repo": repo.to_string(), "title": title, "files": tree(files), "as_": self.login });
                let number = github.call("fork_pr", args)["number"].as_u64();
                Pr {
                    repo: repo.clone(),
                    number: PrNumber::new(number.expect("a number")),
                }
            }
        };
        self.world.settle().await;
        pr
    }
}
