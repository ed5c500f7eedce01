//! What people do.

use std::time::Duration;

use chrono::{Timelike as _, Utc};
use loopgate_core::{CommentId, PrNumber, RepoName, ReviewId};
use loopgate_simulator::{CommitSpec, MergeMethod, Pr, PullSpec, ReviewEvent};
use serde_json::{Value, json};

use super::{GitHub, World, stacking::merged, tree};

/// Somebody who acts. Each method waits for everything that follows from it.
pub struct Person<'a> {
    pub(super) world: &'a World,
    pub(super) login: &'a str,
}

impl<'a> Person<'a> {
    pub const fn new(world: &'a World, login: &'a str) -> Self {
        Self { world, login }
    }

    /// GitHub's times are full seconds, and what came first must be seen to have come first.
    pub(super) async fn begin(&self) {
        if matches!(self.world.github, GitHub::Emulated(_)) {
            let left = 1_020_u32.saturating_sub(Utc::now().nanosecond() / 1_000_000);
            tokio::time::sleep(Duration::from_millis(left.into())).await;
        }
    }

    pub async fn opens(&self, repo: &RepoName, title: &str, files: &[(&str, &str)]) -> Pr {
        self.begin().await;
        let pr = match &self.world.github {
            GitHub::Simulated(github) => {
                let spec = files
                    .iter()
                    .fold(PullSpec::new(title), |spec, (path, text)| {
                        spec.file(path, *text)
                    });
                github
                    .user(self.login)
                    .open_pull_request(repo, spec)
                    .expect("a pull request")
            }
            GitHub::Emulated(github) => {
                let args = json!({ "repo": repo.to_string(), "title": title, "files": tree(files), "as_": self.login });
                let number = github.call("open_pr", args)["number"]
                    .as_u64()
                    .expect("a number");
                Pr {
                    repo: repo.clone(),
                    number: PrNumber::new(number),
                }
            }
        };
        self.world.settle().await;
        pr
    }

    /// Opens one from a new branch that stands on its base.
    pub async fn opens_into(
        &self,
        repo: &RepoName,
        title: &str,
        files: &[(&str, &str)],
        base: &str,
    ) -> Pr {
        let spec = files
            .iter()
            .fold(PullSpec::new(title).base(base), |spec, (path, text)| {
                spec.file(path, *text)
            });
        self.opens_as(
            repo,
            spec,
            json!({ "title": title, "files": tree(files), "base": base }),
        )
        .await
    }

    /// Opens one from a branch that is there.
    pub async fn opens_from(&self, repo: &RepoName, title: &str, branch: &str, base: &str) -> Pr {
        let spec = PullSpec::new(title).branch(branch).base(base);
        self.opens_as(
            repo,
            spec,
            json!({ "title": title, "branch": branch, "base": base }),
        )
        .await
    }

    pub(super) async fn opens_as(&self, repo: &RepoName, spec: PullSpec, mut args: Value) -> Pr {
        self.begin().await;
        let pr = match &self.world.github {
            GitHub::Simulated(github) => github
                .user(self.login)
                .open_pull_request(repo, spec)
                .expect("a pull request"),
            GitHub::Emulated(github) => {
                (args["repo"], args["as_"]) = (repo.to_string().into(), self.login.into());
                let number = github.call("open_pr", args)["number"]
                    .as_u64()
                    .expect("a number");
                Pr {
                    repo: repo.clone(),
                    number: PrNumber::new(number),
                }
            }
        };
        self.world.settle().await;
        pr
    }

    /// Opens one of the same commit from a fork.
    pub async fn copies(&self, pr: &Pr, base: &str) -> Pr {
        let branch = self.world.branch(pr);
        if let GitHub::Emulated(github) = &self.world.github {
            let path = format!("/repos/{}/forks", pr.repo);
            github.call(
                "call",
                json!({ "method": "POST", "path": path, "as_": self.login, "json": {} }),
            );
        }
        let args = json!({ "title": "A copy", "branch": format!("{}:{branch}", self.login), "base": base });
        self.opens_as(
            &pr.repo,
            PullSpec::new("A copy")
                .from_fork()
                .branch(&branch)
                .base(base),
            args,
        )
        .await
    }

    /// Turns it to another base, and waits for nothing.
    pub async fn retargets(&self, pr: &Pr, base: &str) {
        self.begin().await;
        match &self.world.github {
            GitHub::Simulated(github) => github
                .user(self.login)
                .retarget(pr, base)
                .expect("another base"),
            GitHub::Emulated(github) => {
                let args = json!({ "repo": pr.repo.to_string(), "number": pr.number.get(), "base": base,
                    "as_": self.login });
                github.call("edit_pr", args);
            }
        }
    }

    /// Puts the branch back to a commit, and waits for nothing.
    pub async fn forces_back(&self, pr: &Pr, to: &str) {
        self.begin().await;
        match &self.world.github {
            GitHub::Simulated(github) => {
                github
                    .user(self.login)
                    .reset(pr, to.parse().expect("a commit"))
                    .expect("a forced push");
            }
            GitHub::Emulated(github) => {
                let path = format!(
                    "/repos/{}/git/refs/heads/{}",
                    pr.repo,
                    self.world.branch(pr)
                );
                let args = json!({ "method": "PATCH", "path": path, "as_": self.login,
                    "json": { "sha": to, "force": true } });
                github.call("call", args);
            }
        }
    }

    /// Whether GitHub will not let them merge.
    pub async fn is_refused_to_merge(&self, pr: &Pr) -> bool {
        match &self.world.github {
            GitHub::Simulated(github) => github.user(self.login).merge(pr).is_err(),
            GitHub::Emulated(github) => {
                merged(github, self.login, pr, "merge").is_err_and(|error| error.contains("422"))
            }
        }
    }

    pub async fn pushes(&self, pr: &Pr, files: &[(&str, &str)]) {
        self.pushes_to(&pr.repo, &self.world.branch(pr), files)
            .await;
    }

    pub async fn pushes_to(&self, repo: &RepoName, branch: &str, files: &[(&str, &str)]) {
        self.lands(repo, branch, files).await;
        self.world.settle().await;
    }

    /// Pushes, and waits for nothing.
    pub async fn lands(&self, repo: &RepoName, branch: &str, files: &[(&str, &str)]) {
        self.begin().await;
        match &self.world.github {
            GitHub::Simulated(github) => {
                let commit = CommitSpec::new("Change").files(files);
                github
                    .user(self.login)
                    .push_to(repo, branch, commit)
                    .expect("a push");
            }
            GitHub::Emulated(github) => {
                let args = json!({ "repo": repo.to_string(), "branch": branch, "files": tree(files), "as_": self.login });
                github.call("push", args);
            }
        }
    }

    /// Merges `main` into the pull request's branch, with these files as the outcome.
    pub async fn merges_main(&self, pr: &Pr, files: &[(&str, &str)]) {
        self.begin().await;
        let branch = self.world.branch(pr);
        match &self.world.github {
            GitHub::Simulated(github) => {
                let commit = CommitSpec::new("Merge branch 'main'")
                    .files(files)
                    .merging("main");
                github
                    .user(self.login)
                    .push_to(&pr.repo, &branch, commit)
                    .expect("a push");
            }
            GitHub::Emulated(github) => {
                let repo = pr.repo.to_string();
                let tip = |branch: &str| {
                    github.call("branch_sha", json!({ "repo": repo, "branch": branch }))
                };
                let args = json!({ "repo": repo, "parents": [tip(&branch), tip("main")], "files": tree(files),
                    "message": "Merge branch 'main'", "as_": self.login });
                let merge = github.call("make_commit", args);
                let path = format!("/repos/{repo}/git/refs/heads/{branch}");
                let args = json!({ "method": "PATCH", "path": path, "as_": self.login, "json": { "sha": merge } });
                github.call("call", args);
            }
        }
        self.world.settle().await;
    }

    /// Comments; the answer is the comment's id.
    pub async fn says(&self, pr: &Pr, body: &str) -> u64 {
        let id = self.writes(pr, body).await;
        self.world.settle().await;
        id
    }

    /// Comments, and waits for nothing.
    pub async fn writes(&self, pr: &Pr, body: &str) -> u64 {
        self.begin().await;
        match &self.world.github {
            GitHub::Simulated(github) => github
                .user(self.login)
                .comment(pr, body)
                .expect("a comment")
                .get(),
            GitHub::Emulated(github) => {
                let args = json!({ "repo": pr.repo.to_string(), "number": pr.number.get(), "body": body,
                    "as_": self.login });
                github.call("comment", args)["id"].as_u64().expect("an id")
            }
        }
    }

    /// Approves or asks for changes in a review of the head; the answer is the review's id.
    pub async fn reviews(&self, pr: &Pr, verdict: ReviewEvent, body: &str) -> u64 {
        self.begin().await;
        let id = match &self.world.github {
            GitHub::Simulated(github) => github
                .user(self.login)
                .review(pr, verdict, body)
                .expect("a review")
                .get(),
            GitHub::Emulated(github) => {
                let event = match verdict {
                    ReviewEvent::Approve => "APPROVE",
                    ReviewEvent::RequestChanges => "REQUEST_CHANGES",
                    ReviewEvent::Comment => "COMMENT",
                };
                let args = json!({ "repo": pr.repo.to_string(), "number": pr.number.get(), "event": event, "body": body,
                    "as_": self.login });
                github.call("review", args)["id"].as_u64().expect("an id")
            }
        };
        self.world.settle().await;
        id
    }

    /// Dismisses somebody's review.
    pub async fn dismisses(&self, pr: &Pr, review: u64) {
        self.begin().await;
        match &self.world.github {
            GitHub::Simulated(github) => {
                github
                    .user(self.login)
                    .dismiss(pr, ReviewId::new(review))
                    .expect("a review");
            }
            GitHub::Emulated(github) => {
                let args = json!({ "repo": pr.repo.to_string(), "number": pr.number.get(), "review_id": review,
                    "as_": self.login });
                github.call("dismiss_review", args);
            }
        }
        self.world.settle().await;
    }

    /// Edits a comment of any author.
    pub async fn edits(&self, pr: &Pr, comment: u64, body: &str) {
        self.begin().await;
        match &self.world.github {
            GitHub::Simulated(github) => {
                github
                    .user(self.login)
                    .edit_comment(pr, CommentId::new(comment), body)
                    .expect("a comment");
            }
            GitHub::Emulated(github) => {
                let args = json!({ "repo": pr.repo.to_string(), "comment_id": comment, "body": body,
                    "as_": self.login });
                github.call("edit_comment", args);
            }
        }
        self.world.settle().await;
    }

    /// Deletes a comment.
    pub async fn deletes(&self, pr: &Pr, comment: u64) {
        self.begin().await;
        match &self.world.github {
            GitHub::Simulated(github) => {
                github
                    .user(self.login)
                    .delete_comment(pr, CommentId::new(comment))
                    .expect("a comment");
            }
            GitHub::Emulated(github) => {
                let args = json!({ "repo": pr.repo.to_string(), "comment_id": comment, "as_": self.login });
                github.call("delete_comment", args);
            }
        }
        self.world.settle().await;
    }

    pub async fn closes(&self, pr: &Pr) {
        self.begin().await;
        match &self.world.github {
            GitHub::Simulated(github) => github
                .user(self.login)
                .close(pr)
                .expect("an open pull request"),
            GitHub::Emulated(github) => {
                let args = json!({ "repo": pr.repo.to_string(), "number": pr.number.get(), "as_": self.login });
                github.call("close_pr", args);
            }
        }
        self.world.settle().await;
    }

    pub async fn reopens(&self, pr: &Pr) {
        self.begin().await;
        match &self.world.github {
            GitHub::Simulated(github) => github
                .user(self.login)
                .reopen(pr)
                .expect("a closed pull request"),
            GitHub::Emulated(github) => {
                let args = json!({ "repo": pr.repo.to_string(), "number": pr.number.get(), "as_": self.login });
                github.call("reopen_pr", args);
            }
        }
        self.world.settle().await;
    }

    pub async fn merges(&self, pr: &Pr) {
        self.merges_by(pr, MergeMethod::Merge).await;
    }

    pub async fn merges_by(&self, pr: &Pr, method: MergeMethod) {
        self.begin().await;
        match &self.world.github {
            GitHub::Simulated(github) => drop(
                github
                    .user(self.login)
                    .merge_by(pr, method)
                    .expect("a merge"),
            ),
            GitHub::Emulated(github) => {
                let method = match method {
                    MergeMethod::Merge => "merge",
                    MergeMethod::Squash => "squash",
                    MergeMethod::Rebase => "rebase",
                };
                merged(github, self.login, pr, method).expect("a merge");
            }
        }
        self.world.settle().await;
    }
}
