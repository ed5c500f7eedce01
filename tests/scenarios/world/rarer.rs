//! What people do now and then: commits in somebody's name, words beside the conversation, other names.

use loopgate_core::{PrNumber, RepoName};
use loopgate_simulator::{
    Area, CommitSpec, Harm, Level, Permissions, Pr, PullSpec, ReactionContent, RequestFault, Role,
};
use serde_json::{Value, json};

use super::{GitHub, Person, World, tree};

/// A commit as git lets everybody write it.
#[derive(Default)]
pub struct Work<'a> {
    pub message: &'a str,
    pub files: &'a [(&'a str, &'a str)],
    /// Name and address, instead of those of the account that pushes.
    pub author: Option<(&'a str, &'a str)>,
    /// In the web editor: GitHub commits it.
    pub on_the_site: bool,
    /// Its dates, instead of now.
    pub dated: Option<&'a str>,
    /// The base's tip is its second parent.
    pub merges_main: bool,
    /// It takes the place of all that the pull request had, on the base's tip.
    pub instead: bool,
}

impl Person<'_> {
    /// Pushes a commit to the pull request's branch.
    pub async fn commits(&self, pr: &Pr, work: &Work<'_>) {
        self.begin().await;
        match &self.world.github {
            GitHub::Simulated(github) => {
                let mut spec = CommitSpec::new(work.message).files(work.files);
                if let Some((name, email)) = work.author {
                    spec = spec.author(name, email);
                }
                if work.on_the_site {
                    spec = spec.on_the_site();
                }
                if let Some(date) = work.dated {
                    spec = spec.dated(date.parse().expect("a date"));
                }
                if work.merges_main {
                    spec = spec.merging("main");
                }
                let by = github.user(self.login);
                let pushed = if work.instead {
                    by.force_push(pr, spec)
                } else {
                    by.push_commit(pr, spec)
                };
                pushed.expect("a push");
            }
            GitHub::Emulated(_) => self.commits_emulated(pr, work),
        }
        self.world.settle().await;
    }

    fn commits_emulated(&self, pr: &Pr, work: &Work<'_>) {
        let GitHub::Emulated(github) = &self.world.github else {
            return;
        };
        let (repo, branch) = (pr.repo.to_string(), self.world.branch(pr));
        let tip =
            |branch: &str| github.call("branch_sha", json!({ "repo": repo, "branch": branch }));
        let ask = |method: &str, path: String, body: Value| {
            let path = format!("/repos/{repo}/git/{path}");
            github.call(
                "call",
                json!({ "method": method, "path": path, "as_": self.login, "json": body }),
            )
        };
        let first = tip(if work.instead { "main" } else { &branch });
        let args = json!({ "repo": repo, "parents": [first], "files": tree(work.files), "message": work.message,
            "as_": self.login });
        let made = github.call("make_commit", args);
        let made = ask(
            "GET",
            format!("commits/{}", made.as_str().expect("a commit")),
            Value::Null,
        );
        let signed = |(name, email): (&str, &str)| {
            let date = work
                .dated
                .map_or_else(|| made["author"]["date"].clone(), Value::from);
            json!({ "name": name, "email": email, "date": date })
        };
        let own = [&made["author"]["name"], &made["author"]["email"]]
            .map(|text| text.as_str().expect("a text"));
        let author = work.author.unwrap_or((own[0], own[1]));
        let committer = if work.on_the_site {
            ("GitHub", "noreply@github.com")
        } else {
            author
        };
        let parents = if work.merges_main {
            json!([first, tip("main")])
        } else {
            json!([first])
        };
        let commit = json!({ "message": work.message, "tree": made["tree"]["sha"], "parents": parents,
            "author": signed(author), "committer": signed(committer) });
        let sha = ask("POST", "commits".to_owned(), commit)["sha"].take();
        ask(
            "PATCH",
            format!("refs/heads/{branch}"),
            json!({ "sha": sha, "force": work.instead }),
        );
    }

    /// Opens one that is not ready yet.
    pub async fn drafts(&self, repo: &RepoName, title: &str, files: &[(&str, &str)]) -> Pr {
        let spec = files
            .iter()
            .fold(PullSpec::new(title).draft(), |spec, (path, text)| {
                spec.file(path, *text)
            });
        self.opens_as(
            repo,
            spec,
            json!({ "title": title, "files": tree(files), "draft": true }),
        )
        .await
    }

    pub async fn says_it_is_ready(&self, pr: &Pr) {
        self.begin().await;
        match &self.world.github {
            GitHub::Simulated(github) => github.user(self.login).mark_ready(pr).expect("a draft"),
            GitHub::Emulated(github) => {
                let args = json!({ "repo": pr.repo.to_string(), "number": pr.number.get(), "draft": false,
                    "as_": self.login });
                github.call("edit_pr", args);
            }
        }
        self.world.settle().await;
    }

    /// Presses an emoji on a comment.
    pub async fn reacts(&self, pr: &Pr, comment: u64, content: ReactionContent) {
        self.begin().await;
        match &self.world.github {
            GitHub::Simulated(github) => {
                github
                    .user(self.login)
                    .react(pr, comment_id(comment), content)
                    .expect("a comment");
            }
            GitHub::Emulated(github) => {
                let args = json!({ "repo": pr.repo.to_string(), "comment_id": comment, "content": content.as_str(),
                    "as_": self.login });
                github.call("react", args);
            }
        }
        self.world.settle().await;
    }

    /// Hides a comment, of which no event tells.
    pub async fn hides(&self, pr: &Pr, comment: u64) {
        self.begin().await;
        match &self.world.github {
            GitHub::Simulated(github) => {
                github
                    .user(self.login)
                    .hide_comment(pr, comment_id(comment), "SPAM")
                    .expect("a comment");
            }
            GitHub::Emulated(github) => {
                let args = json!({ "method": "POST", "path": "/_world/minimize", "json": { "id": comment } });
                github.call("call", args);
            }
        }
        self.world.settle().await;
    }

    /// Opens an issue, on which people can talk as on a pull request.
    pub async fn opens_an_issue(&self, repo: &RepoName, title: &str) -> Pr {
        self.begin().await;
        let number = match &self.world.github {
            GitHub::Simulated(github) => github
                .user(self.login)
                .open_issue(repo, title, "")
                .expect("an issue"),
            GitHub::Emulated(github) => {
                let path = format!("/repos/{repo}/issues");
                let issue = json!({ "method": "POST", "path": path, "as_": self.login, "json": { "title": title } });
                PrNumber::new(
                    github.call("call", issue)["number"]
                        .as_u64()
                        .expect("a number"),
                )
            }
        };
        Pr {
            repo: repo.clone(),
            number,
        }
    }
}

impl World {
    /// A bot comments: another App, or any workflow.
    pub async fn a_bot_says(&self, pr: &Pr, body: &str) -> u64 {
        let id = match &self.github {
            GitHub::Simulated(github) => {
                let token = github
                    .actions_token(
                        &pr.repo,
                        Some(Permissions::from(
                            [Area::Issues, Area::PullRequests].map(|area| (area, Level::Write)),
                        )),
                    )
                    .expect("a token");
                let address = format!(
                    "{}/repos/{}/issues/{}/comments",
                    github.url(),
                    pr.repo,
                    pr.number
                );
                let request = http::Request::post(address)
                    .header("user-agent", "a-workflow")
                    .header("authorization", format!("Bearer {token}"));
                let text = json!({ "body": body }).to_string();
                let request =
                    request.body(http_body_util::Full::new(axum::body::Bytes::from(text)));
                let client = hyper_util::client::legacy::Client::builder(
                    hyper_util::rt::TokioExecutor::new(),
                );
                let answer = client
                    .build_http()
                    .request(request.expect("a request"))
                    .await
                    .expect("an answer");
                let answer = http_body_util::BodyExt::collect(answer.into_body())
                    .await
                    .expect("an answer")
                    .to_bytes();
                let answer: Value = serde_json::from_slice(&answer).expect("a comment");
                assert!(answer["id"].is_u64(), "{answer}");
                answer["id"].as_u64()
            }
            GitHub::Emulated(github) => {
                let args = json!({ "repo": pr.repo.to_string(), "number": pr.number.get(), "body": body,
                    "as_": "app:other-ci" });
                github.call("comment", args)["id"].as_u64()
            }
        };
        self.settle().await;
        id.expect("an id")
    }

    /// Somebody leaves a team.
    pub async fn leaves(&self, team: &str, login: &str) {
        match &self.github {
            GitHub::Simulated(github) => {
                let team = format!("acme/{team}").parse().expect("a team");
                github
                    .admin()
                    .remove_team_member(&team, login)
                    .expect("a member");
            }
            GitHub::Emulated(github) => {
                let path = format!("/orgs/acme/teams/{team}/memberships/{login}");
                github.call("call", json!({ "method": "DELETE", "path": path }));
            }
        }
        self.settle().await;
    }

    /// Somebody goes by another login, and a stranger takes the old one.
    pub async fn loses_the_login(&self, login: &str, to: &str) {
        match &self.github {
            GitHub::Simulated(github) => {
                github
                    .admin()
                    .rename_account(login, to)
                    .expect("an account");
                github.admin().add_user(login).expect("a free login");
            }
            GitHub::Emulated(github) => {
                for (path, what) in [
                    ("/_world/rename", json!({ "from": login, "to": to })),
                    (
                        "/_world/newuser",
                        json!({ "login": login, "like": "mallory" }),
                    ),
                ] {
                    github.call(
                        "call",
                        json!({ "method": "POST", "path": path, "json": what }),
                    );
                }
            }
        }
        self.settle().await;
    }

    /// Somebody may write to the repository.
    pub async fn lets_write(&self, repo: &RepoName, login: &str) {
        self.grants(repo, login, Role::Write, "push").await;
    }

    /// Somebody owns the repository, beside others.
    pub async fn lets_own(&self, repo: &RepoName, login: &str) {
        self.grants(repo, login, Role::Admin, "admin").await;
    }

    async fn grants(&self, repo: &RepoName, login: &str, role: Role, permission: &str) {
        match &self.github {
            GitHub::Simulated(github) => {
                github
                    .admin()
                    .add_collaborator(repo, login, role)
                    .expect("an account");
            }
            GitHub::Emulated(github) => {
                let args =
                    json!({ "repo": repo.to_string(), "login": login, "permission": permission });
                github.call("add_collaborator", args);
            }
        }
        self.settle().await;
    }

    /// GitHub answers nothing whose path holds this.
    pub fn fails_at(&self, path: &str) {
        match &self.github {
            GitHub::Simulated(github) => {
                let fault = RequestFault::on(path, Harm::status(http::StatusCode::BAD_GATEWAY))
                    .expect("a path");
                github.add_fault(fault);
            }
            GitHub::Emulated(github) => drop(github.call("fail", json!({ "path": path }))),
        }
    }

    pub fn heals(&self) {
        match &self.github {
            GitHub::Simulated(github) => github.heal(),
            GitHub::Emulated(github) => drop(github.call("heal", json!({}))),
        }
    }

    /// The newest of Loopgate's comments that begins with a marker: its id and text.
    pub fn comment_of_ours(&self, pr: &Pr, marker: &str) -> (u64, String) {
        let found: Vec<(u64, String)> = match &self.github {
            GitHub::Simulated(github) => {
                let comments = github.pull_request(pr).expect("a pull request").comments;
                comments
                    .into_iter()
                    .map(|comment| (comment.id.get(), comment.body))
                    .collect()
            }
            GitHub::Emulated(github) => {
                let args = json!({ "repo": pr.repo.to_string(), "number": pr.number.get() });
                let comments = super::list(github.call("comments", args));
                let text =
                    |comment: &Value| comment["body"].as_str().unwrap_or_default().to_owned();
                comments
                    .iter()
                    .map(|comment| (comment["id"].as_u64().unwrap_or_default(), text(comment)))
                    .collect()
            }
        };
        found
            .into_iter()
            .rfind(|(_, body)| body.starts_with(marker))
            .expect("a comment of ours")
    }
}

fn comment_id(comment: u64) -> loopgate_core::CommentId {
    loopgate_core::CommentId::new(comment)
}
