//! What people, and the bots of reviewers, write on lines of the diff.

use loopgate_core::{AppId, CommentId, InstallationId};
use loopgate_simulator::Pr;
use serde_json::{Value, json};

use super::{GitHub, Person, World};
use crate::emulator_driver::Emulator;

/// The bot of an App that reviews.
pub const REVIEWER: &str = "coderabbitai[bot]";
/// The bot of an App that updates dependencies.
pub const UPDATER: &str = "renovate[bot]";

/// Where somebody writes: a path, and a line of that file at the head.
pub type Place<'a> = (&'a str, u64);

impl World {
    /// Installs the App of a bot. The emulator has it from the start.
    pub fn installs(&self, bot: &str) {
        if let GitHub::Simulated(github) = &self.github {
            let (id, installation) = match bot {
                REVIEWER => (347_564, 9_004),
                _ => (2_740, 9_005),
            };
            let slug = bot.trim_end_matches("[bot]");
            github
                .install_another(slug, AppId::new(id), InstallationId::new(installation))
                .expect("an App");
        }
    }
}

impl Person<'_> {
    /// Comments on a line of the diff. Returns the id of the thread that it begins.
    pub async fn says_on_the_diff(&self, pr: &Pr, at: Place<'_>, body: &str) -> u64 {
        self.begins_threads(pr, at, &[body]).await[0]
    }

    /// Comments on a line of the diff, each time in a new thread. Returns the threads' ids.
    pub async fn begins_threads(
        &self,
        pr: &Pr,
        (path, line): Place<'_>,
        bodies: &[&str],
    ) -> Vec<u64> {
        self.begin().await;
        let threads = match &self.world.github {
            GitHub::Simulated(github) => {
                let by = github.user(self.login);
                let begun = bodies.iter().map(|body| {
                    by.comment_inline(pr, path, line, body)
                        .expect("a comment")
                        .get()
                });
                begun.collect()
            }
            GitHub::Emulated(github) => {
                let place = json!({ "path": path, "line": line, "side": "RIGHT" });
                self.reviews_emulated(github, pr, &place, bodies)
            }
        };
        self.world.settle().await;
        threads
    }

    /// Comments in a thread on a line of the diff.
    pub async fn replies_on_the_diff(&self, pr: &Pr, at: Place<'_>, thread: u64, body: &str) {
        self.begin().await;
        match &self.world.github {
            GitHub::Simulated(github) => {
                github
                    .user(self.login)
                    .reply_inline(pr, at, CommentId::new(thread), body)
                    .expect("a comment");
            }
            GitHub::Emulated(github) => {
                let place = json!({ "path": at.0, "line": at.1, "side": "RIGHT", "in_reply_to_id": thread });
                self.reviews_emulated(github, pr, &place, &[body]);
            }
        }
        self.world.settle().await;
    }

    /// Comments, and the review that GitHub makes of them.
    fn reviews_emulated(
        &self,
        github: &Emulator,
        pr: &Pr,
        place: &Value,
        bodies: &[&str],
    ) -> Vec<u64> {
        let write = |body: &&str| {
            let mut comment = place.clone();
            comment["body"] = (*body).into();
            let path = format!("/repos/{}/pulls/{}/comments", pr.repo, pr.number);
            let order =
                json!({ "method": "POST", "path": path, "as_": self.login, "json": comment });
            github.call("call", order)["id"].as_u64().expect("an id")
        };
        let ids = bodies.iter().map(write).collect();
        let (repo, number) = (pr.repo.to_string(), pr.number.get());
        github.call(
            "review",
            json!({ "repo": repo, "number": number, "event": "COMMENT", "as_": self.login }),
        );
        ids
    }

    pub async fn resolves(&self, pr: &Pr, thread: u64) {
        self.changes_thread(pr, thread, "resolved").await;
    }

    /// Opens a resolved thread again.
    pub async fn unresolves(&self, pr: &Pr, thread: u64) {
        self.changes_thread(pr, thread, "unresolved").await;
    }

    async fn changes_thread(&self, pr: &Pr, thread: u64, action: &str) {
        self.begin().await;
        match &self.world.github {
            GitHub::Simulated(github) => {
                let (by, begin) = (github.user(self.login), CommentId::new(thread));
                let changed = match action {
                    "resolved" => by.resolve_thread(pr, begin),
                    _ => by.unresolve_thread(pr, begin),
                };
                changed.expect("a thread");
            }
            GitHub::Emulated(github) => self.changes_thread_emulated(github, pr, thread, action),
        }
        self.world.settle().await;
    }

    fn changes_thread_emulated(&self, github: &Emulator, pr: &Pr, thread: u64, action: &str) {
        let get = |path: String| github.call("call", json!({ "method": "GET", "path": path }));
        let by = get(format!("/users/{}", self.login));
        github
            .proxy
            .threads
            .resolve(thread, (action == "resolved").then_some(by));
        let comments = get(format!(
            "/repos/{}/pulls/{}/comments?per_page=100",
            pr.repo, pr.number
        ));
        let of_thread = |one: &&Value| one["id"] == thread || one["in_reply_to_id"] == thread;
        let comments: Vec<&Value> = comments
            .as_array()
            .into_iter()
            .flatten()
            .filter(of_thread)
            .collect();
        let thread = json!({ "node_id": format!("PRRT_{thread}"), "comments": comments });
        let payload =
            json!({ "thread": thread, "pull_request": self.world.emulated_pull(github, pr) });
        let (event, repo) = ("pull_request_review_thread", pr.repo.to_string());
        let args = json!({ "event": event, "action": action, "payload": payload, "repo": repo, "as_": self.login });
        github.call("emit", args);
    }
}
