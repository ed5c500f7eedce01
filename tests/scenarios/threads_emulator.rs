//! Review threads for the emulator, which has their comments but no GraphQL, and does not know who resolved a thread:
//! the proxy keeps that, and answers what Loopgate asks for
//! (<https://docs.github.com/en/graphql/reference/objects#pullrequestreviewthread>).

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use crate::stacked_emulator::Proxy;

/// Threads of one page.
const PAGE: usize = 100;

/// Who resolved which threads. A thread has the id of the comment that begins it.
#[derive(Clone, Default)]
pub struct Threads(Arc<Mutex<BTreeMap<u64, Value>>>);

impl Threads {
    /// Resolved by an account, as REST shows it; without one the thread is open again.
    pub fn resolve(&self, thread: u64, by: Option<Value>) {
        let mut resolved = self.0.lock().expect("no panic");
        match by {
            Some(account) => drop(resolved.insert(thread, account)),
            None => drop(resolved.remove(&thread)),
        }
    }

    fn resolved_by(&self, thread: &Value) -> Option<Value> {
        self.0
            .lock()
            .expect("no panic")
            .get(&thread["id"].as_u64()?)
            .cloned()
    }
}

impl Proxy {
    /// The answer to a question for review threads: a page of the newest in front of a cursor, which is a thread's
    /// place among all. None for other questions.
    pub async fn review_threads(&self, question: &[u8]) -> Option<Value> {
        let question: Value = serde_json::from_slice(question).ok()?;
        let (query, asked) = (question["query"].as_str()?, &question["variables"]);
        if !query.contains("reviewThreads") {
            return None;
        }
        let repo = format!(
            "/repos/{}/{}",
            asked["owner"].as_str()?,
            asked["name"].as_str()?
        );
        let comments = self.review_comments(&repo, &asked["number"]).await;
        let begins: Vec<&Value> = comments
            .iter()
            .filter(|comment| comment["in_reply_to_id"].is_null())
            .collect();
        let cursor = asked["before"]
            .as_str()
            .and_then(|cursor| cursor.parse().ok());
        let end = begins.len().min(cursor.unwrap_or(usize::MAX));
        let start = end.saturating_sub(PAGE);
        let head = self
            .read(&format!("{repo}/pulls/{}", asked["number"]))
            .await["head"]["sha"]
            .take();
        let mut nodes = Vec::new();
        for begin in &begins[start..end] {
            let of_thread =
                |one: &&Value| one["id"] == begin["id"] || one["in_reply_to_id"] == begin["id"];
            let all: Vec<Value> = comments.iter().filter(of_thread).map(comment).collect();
            let by = self.threads.resolved_by(begin);
            let is_outdated = self.is_outdated(&repo, &head, begin).await;
            nodes.push(json!({
                "isResolved": by.is_some(), "isOutdated": is_outdated, "path": begin["path"],
                "line": if is_outdated { &Value::Null } else { &begin["line"] }, "originalLine": begin["line"],
                "resolvedBy": by.as_ref().map(account), "begin": { "nodes": [all[0]] },
                "end": { "nodes": all[all.len().saturating_sub(2)..] },
            }));
        }
        let page = json!({ "hasPreviousPage": start > 0, "startCursor": start.to_string() });
        let threads = json!({ "reviewThreads": { "pageInfo": page, "nodes": nodes } });
        Some(json!({ "data": { "repository": { "pullRequest": threads } } }))
    }

    /// The comments on lines of a pull request, oldest first.
    async fn review_comments(&self, repo: &str, number: &Value) -> Vec<Value> {
        let mut comments = Vec::new();
        for page in 1.. {
            let path = format!("{repo}/pulls/{number}/comments?per_page={PAGE}&page={page}");
            let Value::Array(mut more) = self.read(&path).await else {
                break;
            };
            let is_last = more.len() < PAGE;
            comments.append(&mut more);
            if is_last {
                break;
            }
        }
        comments
    }

    /// A line that the head's file has no more is outdated.
    async fn is_outdated(&self, repo: &str, head: &Value, begin: &Value) -> bool {
        let (commit, path) = (
            &begin["original_commit_id"],
            begin["path"].as_str().expect("a path"),
        );
        if commit == head {
            return false;
        }
        let mut texts = Vec::new();
        for at in [commit, head] {
            let address = format!(
                "{repo}/contents/{path}?ref={}",
                at.as_str().expect("a commit")
            );
            let file = self.read(&address).await["content"]
                .as_str()
                .unwrap_or_default()
                .replace('\n', "");
            texts.push(
                String::from_utf8(BASE64_STANDARD.decode(file).expect("base64")).expect("text"),
            );
        }
        let nth = begin["line"]
            .as_u64()
            .and_then(|line| usize::try_from(line).ok())
            .expect("a line");
        let line = texts[0].lines().nth(nth - 1);
        texts[1].lines().all(|other| Some(other) != line)
    }
}

/// A comment of a thread, as GraphQL shows what REST does.
fn comment(shown: &Value) -> Value {
    let mut author = account(&shown["user"]);
    author["__typename"] = shown["user"]["type"].clone();
    json!({ "body": shown["body"], "url": shown["html_url"], "author": author,
        "originalCommit": { "oid": shown["original_commit_id"] } })
}

/// Bots have no suffix there.
fn account(shown: &Value) -> Value {
    json!({ "login": shown["login"].as_str().map(|login| login.trim_end_matches("[bot]")), "databaseId": shown["id"] })
}
