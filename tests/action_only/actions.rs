//! GitHub Actions: starts the workflows of `action/README.md`, Action-only, for the events they listen to. Each runs
//! `loopgate reconcile` as a process of its own.

use std::{
    collections::BTreeMap,
    fs::DirEntry,
    path::Path,
    process::Output,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use loopgate::github::{ApiUrl, AppSlug, Credentials, Github, Secret, Setup};
use loopgate_core::{RepoName, Sha};
use loopgate_simulator::{Area, Conclusion, Delivery, Level, Permissions, Pr, RunSpec, Simulator};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::{Keeper, archive};

pub const WORKFLOW: &str = ".github/workflows/loopgate.yml";
const RELAY: &str = ".github/workflows/loopgate-relay.yml";

pub struct Actions {
    github: Simulator,
    repo: RepoName,
    token: String,
    /// Deliveries that were seen: they are the events, told to nobody else.
    seen: AtomicUsize,
    /// Files of the artifact of states that was uploaded last.
    pub uploaded: Mutex<BTreeMap<String, String>>,
    /// What each process printed, with the event it was started for.
    pub runs: Mutex<Vec<(String, Value)>>,
}

impl Actions {
    pub fn new(github: &Simulator, repo: &RepoName) -> Self {
        Self::with(github, repo, permissions())
    }

    /// The workflow's token may do this.
    pub fn with(github: &Simulator, repo: &RepoName, permissions: Permissions) -> Self {
        // Nobody listens there: the events are kept, and that is all that is wanted of them.
        github.set_webhook_url("http://127.0.0.1:9/webhook");
        Self {
            github: github.clone(),
            repo: repo.clone(),
            token: github
                .actions_token(repo, Some(permissions))
                .expect("a token"),
            seen: AtomicUsize::new(github.deliveries().len()),
            uploaded: Mutex::default(),
            runs: Mutex::default(),
        }
    }

    /// Runs the workflow for an event, with a workflow run that GitHub knows.
    pub async fn run(&self, event: &str, payload: &Value) -> Value {
        let main = self.github.sha(&self.repo, "main").expect("a branch");
        let spec = RunSpec::new(main, WORKFLOW)
            .name("Loopgate")
            .event(event)
            .jobs(&["reconcile"]);
        let run = self.github.start_workflow(&self.repo, spec).expect("a run");
        let folder = tempfile::tempdir().expect("a directory");
        let output = self
            .process_in(folder.path(), event, payload, run.get())
            .await;
        let artifacts = self.upload(&folder.path().join("state"));
        self.github
            .finish_workflow(&self.repo, run, Conclusion::Success, artifacts)
            .expect("its end");
        let (text, errors) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        assert!(output.status.success(), "{event}: {text}{errors}");
        let told: Value =
            serde_json::from_str(&text).unwrap_or_else(|_| panic!("{event}: {text}{errors}"));
        assert_eq!(
            told["state_folder"].is_string(),
            folder.path().join("state").is_dir(),
            "{told}"
        );
        self.runs
            .lock()
            .expect("no panic")
            .push((event.to_owned(), told.clone()));
        told
    }

    /// The Action's last step: all of the folder in one artifact, if there is one.
    fn upload(&self, folder: &Path) -> Vec<(String, Bytes)> {
        let Ok(entries) = std::fs::read_dir(folder) else {
            return Vec::new();
        };
        let read = |entry: DirEntry| {
            let name = entry.file_name().into_string().expect("a plain name");
            (name, std::fs::read_to_string(entry.path()).expect("text"))
        };
        let files: BTreeMap<_, _> = entries
            .map(|entry| read(entry.expect("an entry")))
            .collect();
        let packed: Vec<_> = files
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_bytes()))
            .collect();
        let zip = archive(&packed).into();
        *self.uploaded.lock().expect("no panic") = files;
        vec![("loopgate-state".to_owned(), zip)]
    }

    pub async fn process(&self, event: &str, payload: &Value, run: u64) -> Output {
        let folder = tempfile::tempdir().expect("a directory");
        self.process_in(folder.path(), event, payload, run).await
    }

    async fn process_in(&self, folder: &Path, event: &str, payload: &Value, run: u64) -> Output {
        let file = folder.join("event.json");
        std::fs::write(&file, payload.to_string()).expect("a file");
        // Whatever is uploaded, a process has to do with this much memory (in KB), thread stacks included.
        let limited = "ulimit -d 131072 && exec \"$0\" \"$@\"";
        let mut command = Command::new("sh");
        command
            .args([
                "-c",
                limited,
                env!("CARGO_BIN_EXE_loopgate"),
                "reconcile",
                "--format",
                "json",
            ])
            .env_clear()
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_EVENT_NAME", event)
            .env("GITHUB_EVENT_PATH", &file)
            .env("GITHUB_REPOSITORY", self.repo.to_string())
            .env("GITHUB_API_URL", self.github.url())
            .env("GITHUB_RUN_ID", run.to_string())
            .env(
                "GITHUB_WORKFLOW_REF",
                format!("{}/{WORKFLOW}@refs/heads/main", self.repo),
            )
            .env("LOOPGATE_STATE_FOLDER", folder.join("state"))
            .env("GITHUB_TOKEN", &self.token);
        command.output().await.expect("a process")
    }

    /// What the event starts, as the workflows of the README listen.
    async fn hear(&self, delivery: &Delivery) {
        let mut payload: Value = serde_json::from_slice(&delivery.payload).expect("JSON");
        // "Events triggered by the GITHUB_TOKEN will not create a new workflow run"
        // (docs.github.com, Triggering a workflow).
        if payload["sender"]["login"] == "github-actions[bot]" {
            return;
        }
        payload
            .as_object_mut()
            .expect("an object")
            .remove("installation");
        let action = delivery.action.as_deref().unwrap_or_default();
        match (delivery.event.as_str(), action) {
            ("pull_request", "review_requested" | "review_request_removed") => {}
            ("issue_comment", _) => drop(self.run("issue_comment", &payload).await),
            ("merge_group", "checks_requested") => drop(self.run("merge_group", &payload).await),
            ("workflow_run", "completed") if payload["workflow_run"]["path"] != WORKFLOW => {
                drop(self.run("workflow_run", &payload).await);
            }
            ("pull_request" | "pull_request_review", _) => {
                let head: Sha = payload["pull_request"]["head"]["sha"]
                    .as_str()
                    .and_then(|sha| sha.parse().ok())
                    .unwrap();
                let spec = RunSpec::new(head, RELAY)
                    .name("Loopgate relay")
                    .event(&delivery.event)
                    .jobs(&["relay"]);
                self.github
                    .workflow_run(&self.repo, spec, Conclusion::Success)
                    .expect("a run");
            }
            _ => {}
        }
    }

    /// What the API shows.
    pub async fn get(&self, path: &str) -> Value {
        let credentials = Credentials::Job {
            token: Secret::new(&*self.token),
            app: AppSlug::actions(),
        };
        let api = ApiUrl::parse(&self.github.url()).expect("an address");
        let client = Github::new(api, credentials, Setup::default())
            .expect("a client")
            .client(None);
        client.get(path).await.expect("an answer")
    }

    /// `on: schedule`.
    pub async fn schedule(&self) -> Value {
        self.run("schedule", &json!({ "schedule": "17 * * * *" }))
            .await
    }

    /// Events that start no workflow, as when GitHub Actions is down.
    pub async fn miss_everything(&self) {
        self.github.settle().await;
        self.seen
            .store(self.github.deliveries().len(), Ordering::SeqCst);
    }

    /// Requests of each process that asked for anything.
    pub fn requests(&self) -> Vec<(String, u64)> {
        let runs = self.runs.lock().expect("no panic");
        runs.iter()
            .map(|(event, told)| {
                (
                    event.clone(),
                    told["api_requests"]["total"].as_u64().unwrap(),
                )
            })
            .collect()
    }
}

impl Keeper for Actions {
    async fn settle(&self) {
        loop {
            self.github.settle().await;
            let all = self.github.deliveries();
            let from = self.seen.swap(all.len(), Ordering::SeqCst);
            if from == all.len() {
                return;
            }
            for delivery in &all[from..] {
                self.hear(delivery).await;
            }
        }
    }

    fn kept(&self, pr: &Pr) -> Option<String> {
        self.uploaded
            .lock()
            .expect("no panic")
            .get(&format!("pr-{}", pr.number))
            .cloned()
    }
}

/// Those of the README's workflow.
pub fn permissions() -> Permissions {
    use Area::{Actions, Checks, Contents, Issues, Metadata, PullRequests, Statuses};
    let write = [Actions, Checks, Contents, Issues, PullRequests].map(|area| (area, Level::Write));
    let read = [Metadata, Statuses].map(|area| (area, Level::Read));
    write.into_iter().chain(read).collect()
}
