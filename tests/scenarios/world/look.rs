//! What can be seen of a pull request afterwards, and of what Loopgate did.

use loopgate_core::RepoName;
use loopgate_simulator::{Pr, Simulator};
use serde_json::{Value, json};

use super::{BOT, GitHub, World, list, texts};
use crate::emulator_driver::Emulator;

/// A pull request as people see it.
#[derive(Debug, PartialEq, Eq)]
pub struct Look {
    pub labels: Vec<String>,
    /// Requested reviewers, then requested teams as `@slug`.
    pub requested: Vec<String>,
    /// Loopgate's own, oldest first.
    pub comments: Vec<String>,
    /// On the head.
    pub checks: Vec<Check>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Check {
    pub name: String,
    pub status: String,
    pub conclusion: Option<String>,
    pub title: String,
    /// Summary and text.
    pub says: String,
}

impl Look {
    pub fn has_label(&self, name: &str) -> bool {
        self.labels.iter().any(|label| label == name)
    }

    /// Own comments that begin with a marker.
    pub fn marked(&self, marker: &str) -> Vec<&str> {
        self.comments
            .iter()
            .map(String::as_str)
            .filter(|body| body.starts_with(marker))
            .collect()
    }

    /// Holds that the status comment has these words.
    #[track_caller]
    pub fn tells(&self, words: &str) {
        assert!(self.status().contains(words), "{}", self.status());
    }

    /// Holds that it does not have them.
    #[track_caller]
    pub fn leaves_out(&self, words: &str) {
        assert!(!self.status().contains(words), "{}", self.status());
    }

    /// The one comment that is kept up to date.
    pub fn status(&self) -> &str {
        match *self.marked("<!-- loopgate:status -->") {
            [status] => status,
            ref others => panic!("{} status comments: {self:?}", others.len()),
        }
    }

    pub fn check(&self, name: &str) -> &Check {
        let mut named = self.checks.iter().filter(|check| check.name == name);
        match (named.next(), named.next()) {
            (Some(check), None) => check,
            _ => panic!("not one check run {name}: {self:?}"),
        }
    }

    /// Holds that a check run has this conclusion; none while it is not completed.
    #[track_caller]
    pub fn concludes(&self, name: &str, conclusion: Option<&str>) {
        assert_eq!(self.concluded(name), conclusion, "{self:?}");
    }

    pub fn concluded(&self, name: &str) -> Option<&str> {
        self.check(name).conclusion.as_deref()
    }
}

impl World {
    /// The saved state, as programs read it.
    pub fn state(&self, pr: &Pr) -> Value {
        let text = self.kept(
            &pr.repo,
            &format!("refs/loopgate/pr/{}", pr.number),
            "loop-state.json",
        );
        loopgate_core::fixtures::run_document(&text.expect("a state"))
    }

    /// A file under a hidden ref.
    pub fn kept(&self, repo: &RepoName, name: &str, path: &str) -> Option<String> {
        match &self.github {
            GitHub::Simulated(github) => github
                .state_ref(repo, name)
                .expect("a repository")?
                .files
                .get(path)
                .map(ToString::to_string),
            GitHub::Emulated(github) => {
                let args = json!({ "repo": repo.to_string(), "path": path, "ref": name });
                let packed = github.tries("read_file", args).ok()?["base64"]
                    .as_str()?
                    .to_owned();
                let bytes = base64::Engine::decode(&base64::prelude::BASE64_STANDARD, packed)
                    .expect("the driver's");
                Some(String::from_utf8(bytes).expect("text"))
            }
        }
    }

    /// What is remembered of a repository's failures, as programs read it.
    pub fn cards(&self, repo: &RepoName) -> Value {
        let cards = self
            .kept(repo, "refs/loopgate/memory/cards", "cards.json")
            .expect("a memory");
        serde_json::from_str(&cards).expect("a document")
    }

    /// The pull request's head commit.
    pub fn head(&self, pr: &Pr) -> String {
        match &self.github {
            GitHub::Simulated(github) => github.head(pr).expect("a pull request").to_string(),
            GitHub::Emulated(github) => self.emulated_pull(github, pr)["head"]["sha"]
                .as_str()
                .expect("a commit")
                .to_owned(),
        }
    }

    /// Names and conclusions of the check runs of a commit.
    pub fn checks_of(&self, repo: &RepoName, commit: &str) -> Vec<(String, Option<String>)> {
        let runs = match &self.github {
            GitHub::Simulated(github) => {
                let runs = github
                    .check_runs(repo, commit.parse().expect("a commit"))
                    .expect("a repository");
                let shown = |run: loopgate_simulator::CheckRunView| {
                    (
                        run.name,
                        run.conclusion
                            .map(|conclusion| conclusion.as_str().to_owned()),
                    )
                };
                return runs.into_iter().map(shown).collect();
            }
            GitHub::Emulated(github) => list(github.call(
                "check_runs",
                json!({ "repo": repo.to_string(), "ref": commit }),
            )),
        };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        runs.iter()
            .map(|run| {
                (
                    text(&run["name"]).unwrap_or_default(),
                    text(&run["conclusion"]),
                )
            })
            .collect()
    }

    /// The name of the pull request's branch.
    pub fn branch(&self, pr: &Pr) -> String {
        match &self.github {
            GitHub::Simulated(github) => {
                github.pull_request(pr).expect("a pull request").head_branch
            }
            GitHub::Emulated(github) => self.emulated_pull(github, pr)["head"]["ref"]
                .as_str()
                .expect("a branch")
                .to_owned(),
        }
    }

    pub(super) fn emulated_pull(&self, github: &Emulator, pr: &Pr) -> Value {
        github.call(
            "pr",
            json!({ "repo": pr.repo.to_string(), "number": pr.number.get() }),
        )
    }

    pub fn look(&self, pr: &Pr) -> Look {
        match &self.github {
            GitHub::Simulated(github) => simulated_look(github, pr),
            GitHub::Emulated(github) => self.emulated_look(github, pr),
        }
    }

    fn emulated_look(&self, github: &Emulator, pr: &Pr) -> Look {
        let pull = self.emulated_pull(github, pr);
        let on = json!({ "repo": pr.repo.to_string(), "number": pr.number.get() });
        let mut requested = texts(&pull["requested_reviewers"], "login");
        requested.extend(
            texts(&pull["requested_teams"], "slug")
                .iter()
                .map(|slug| format!("@{slug}")),
        );
        let mut by_us = on.clone();
        by_us["by"] = BOT.into();
        let runs = github.call(
            "check_runs",
            json!({ "repo": pr.repo.to_string(), "ref": pull["head"]["sha"] }),
        );
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let check = |run: &Value| Check {
            name: text(&run["name"]),
            status: text(&run["status"]),
            conclusion: run["conclusion"].as_str().map(str::to_owned),
            title: text(&run["output"]["title"]),
            says: text(&run["output"]["summary"]) + "\n" + &text(&run["output"]["text"]),
        };
        Look {
            labels: texts(&pull["labels"], "name"),
            requested,
            comments: texts(&github.call("comments", by_us), "body"),
            checks: list(runs).iter().map(check).collect(),
        }
    }

    /// What people think of a comment: `+1`, `confused`. Only Loopgate reacts in these scenarios.
    pub fn reactions(&self, pr: &Pr, comment: u64) -> Vec<String> {
        match &self.github {
            GitHub::Simulated(github) => {
                let pull = github.pull_request(pr).expect("a pull request");
                let comment = pull
                    .comments
                    .into_iter()
                    .find(|one| one.id.get() == comment)
                    .expect("the comment");
                comment
                    .reactions
                    .into_iter()
                    .map(|(_, content)| content)
                    .collect()
            }
            GitHub::Emulated(github) => {
                let args = json!({ "repo": pr.repo.to_string(), "comment_id": comment });
                texts(&github.call("reactions", args), "content")
            }
        }
    }

    /// The messages of the commits under the pull request's state ref, newest first.
    pub fn state_commits(&self, pr: &Pr) -> Vec<String> {
        let name = format!("refs/loopgate/pr/{}", pr.number);
        match &self.github {
            GitHub::Simulated(github) => {
                let saved = github.state_ref(&pr.repo, &name).expect("a repository");
                saved
                    .into_iter()
                    .flat_map(|saved| saved.commits)
                    .map(|(_, message)| message)
                    .collect()
            }
            GitHub::Emulated(github) => {
                let repo = pr.repo.to_string();
                let refs = github.call("refs", json!({ "repo": repo, "prefix": "loopgate/" }));
                let mut next = refs[&name].as_str().map(str::to_owned);
                let mut messages = Vec::new();
                while let Some(sha) = next {
                    let path = format!("/repos/{repo}/git/commits/{sha}");
                    let commit = github.call("call", json!({ "method": "GET", "path": path }));
                    messages.extend(commit["message"].as_str().map(str::to_owned));
                    next = commit["parents"][0]["sha"].as_str().map(str::to_owned);
                }
                messages
            }
        }
    }

    /// Loopgate's requests that change something in a repository, as `METHOD path`.
    pub fn writes(&self) -> Vec<String> {
        match &self.github {
            GitHub::Simulated(github) => {
                let requests = github
                    .requests()
                    .into_iter()
                    .filter(|request| request.is_write());
                let texts = requests.map(|request| format!("{} {}", request.method, request.path));
                texts.filter(|text| text.contains(" /repos/")).collect()
            }
            GitHub::Emulated(github) => list(github.call("request_log", json!({})))
                .iter()
                .filter(|request| {
                    request["actor"]
                        .as_str()
                        .is_some_and(|actor| actor.contains("loopgate"))
                })
                .map(|request| {
                    format!("{} {}", request["method"], request["path"]).replace('"', "")
                })
                .filter(|text| !text.starts_with("GET ") && text.contains(" /repos/"))
                .collect(),
        }
    }

    /// Everybody's requests, as `METHOD path`.
    pub fn requests(&self) -> Vec<String> {
        match &self.github {
            GitHub::Simulated(github) => github
                .requests()
                .iter()
                .map(|request| format!("{} {}", request.method, request.path))
                .collect(),
            GitHub::Emulated(github) => {
                let log = list(github.call("request_log", json!({})));
                log.iter()
                    .map(|request| {
                        format!("{} {}", request["method"], request["path"]).replace('"', "")
                    })
                    .collect()
            }
        }
    }

    /// Whether Loopgate asked anything about a repository: a check that it was there to leave something alone.
    pub fn looked_at(&self, repo: &RepoName) -> bool {
        let prefix = format!("/repos/{repo}/");
        match &self.github {
            GitHub::Simulated(github) => github
                .requests()
                .iter()
                .any(|request| request.path.starts_with(&prefix)),
            GitHub::Emulated(github) => {
                list(github.call("request_log", json!({})))
                    .iter()
                    .any(|request| {
                        request["actor"]
                            .as_str()
                            .is_some_and(|actor| actor.contains("loopgate"))
                            && request["path"]
                                .as_str()
                                .is_some_and(|path| path.starts_with(&prefix))
                    })
            }
        }
    }
}

fn simulated_look(github: &Simulator, pr: &Pr) -> Look {
    let pull = github.pull_request(pr).expect("a pull request");
    let mut requested = pull.requested_reviewers;
    requested.extend(pull.requested_teams.iter().map(|slug| format!("@{slug}")));
    let checks = pull.check_runs.into_iter().map(|run| Check {
        name: run.name,
        status: run.status.to_owned(),
        conclusion: run
            .conclusion
            .map(|conclusion| conclusion.as_str().to_owned()),
        title: run.title.unwrap_or_default(),
        says: run.summary.unwrap_or_default() + "\n" + &run.text.unwrap_or_default(),
    });
    let ours = pull
        .comments
        .into_iter()
        .filter(|comment| comment.author == BOT);
    Look {
        labels: pull.labels,
        requested,
        comments: ours.map(|comment| comment.body).collect(),
        checks: checks.collect(),
    }
}
