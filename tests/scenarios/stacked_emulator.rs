//! What the emulator lacks, by a proxy between it and the server: conflicts, queued runs, and native stacks. It adds the
//! field `stack` to pull requests, in answers and in webhooks, and answers the list of stacks
//! (<https://docs.github.com/en/rest/pulls/stacks>,
//! <https://docs.github.com/en/pull-requests/reference/stacked-pull-requests-apis-and-webhooks>).
//! `threads_emulator.rs` has its review threads. Some documents of [`shown_on_github`] are answered by 404 on the
//! emulator.
//!
//! All else stays the emulator's: branches, commits, merges, rules, and who is refused what.

use std::{
    net::{SocketAddr, TcpListener},
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{DefaultBodyLimit, State},
    response::Response,
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderMap, HeaderValue, Request, StatusCode, header, request::Parts};
use http_body_util::{BodyExt as _, Full};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::threads_emulator::Threads;

const SIGNATURE: &str = "x-hub-signature-256";

/// Pull requests that stand on each other, the bottom first. Merged ones stay in it, as on GitHub.
#[derive(Clone)]
pub struct Stack {
    pub repo: String,
    pub base: String,
    pub layers: Vec<u64>,
}

/// What is between an emulator and the server, and what it keeps for the emulator.
#[derive(Clone)]
pub struct Proxy {
    pub address: SocketAddr,
    emulator: String,
    /// Of somebody who may read everything.
    token: String,
    secret: String,
    stacks: Arc<Mutex<Vec<Stack>>>,
    pub threads: Threads,
    /// Tokens that may not read check runs: the emulator's may read everything that their people may.
    without_checks: Arc<Mutex<Vec<String>>>,
    /// Repository and number of pull requests that GitHub cannot merge: the emulator merges all.
    conflicts: Arc<Mutex<Vec<(String, u64)>>>,
    /// Workflows whose runs have not begun: the emulator's are over when they are made.
    queued: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    pub fn start(here: &Value) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        listener.set_nonblocking(true).expect("a socket");
        let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
        let text = |key: &str| here[key].as_str().expect("a text").to_owned();
        let (emulator, token, secret) = (text("url"), text("token"), text("webhook_secret"));
        let proxy = Self {
            address,
            emulator,
            token,
            secret,
            stacks: Arc::default(),
            threads: Threads::default(),
            without_checks: Arc::default(),
            conflicts: Arc::default(),
            queued: Arc::default(),
        };
        let router = Router::new()
            .fallback(passed_on)
            .layer(DefaultBodyLimit::disable())
            .with_state(proxy.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        proxy
    }

    pub fn make_stack(&self, stack: Stack) {
        self.stacks.lock().expect("no panic").push(stack);
    }

    pub fn dissolve_stack(&self, repo: &str, layer: u64) {
        self.stacks
            .lock()
            .expect("no panic")
            .retain(|stack| stack.repo != repo || !stack.layers.contains(&layer));
    }

    pub fn keeps_checks_from(&self, token: &str) {
        self.without_checks
            .lock()
            .expect("no panic")
            .push(format!("Bearer {token}"));
    }

    pub fn finds_a_conflict(&self, repo: &str, number: u64) {
        let mut conflicts = self.conflicts.lock().expect("no panic");
        conflicts.push((repo.to_owned(), number));
    }

    pub fn queues(&self, workflow: &str) {
        self.queued
            .lock()
            .expect("no panic")
            .push(workflow.to_owned());
    }

    pub fn queues_none(&self) {
        self.queued.lock().expect("no panic").clear();
    }

    /// Shows runs as queued that are.
    fn hold_back(&self, runs: &mut Value) {
        let queued = self.queued.lock().expect("no panic");
        let runs = runs["workflow_runs"].as_array_mut();
        for run in runs.into_iter().flatten() {
            if queued.iter().any(|path| run["path"] == path.as_str()) {
                (run["status"], run["conclusion"]) = ("queued".into(), Value::Null);
            }
        }
    }

    fn refuses(&self, request: &Parts) -> bool {
        let known = self.without_checks.lock().expect("no panic");
        let of = request
            .headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok());
        request.uri.path().contains("/check-runs")
            && of.is_some_and(|of| known.iter().any(|token| token == of))
    }

    /// The stack that a pull request is a layer of, and the number of that stack.
    pub fn stack_of(&self, repo: &str, layer: u64) -> Option<(usize, Stack)> {
        let stacks = self.stacks.lock().expect("no panic");
        let place = stacks
            .iter()
            .position(|stack| stack.repo == repo && stack.layers.contains(&layer))?;
        Some((place + 1, stacks[place].clone()))
    }

    /// A webhook as GitHub would send it for a layer of a stack, signed anew.
    pub async fn webhook(&self, body: Bytes, headers: &mut HeaderMap) -> Bytes {
        let Ok(mut payload) = serde_json::from_slice::<Value>(&body) else {
            return body;
        };
        let repo = payload["repository"]["full_name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        if !self.adorn(&repo, &mut payload["pull_request"]).await {
            return body;
        }
        let body = Bytes::from(payload.to_string());
        let mut mac = Hmac::<Sha256>::new_from_slice(self.secret.as_bytes()).expect("any length");
        mac.update(&body);
        let signature = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
        headers.insert(SIGNATURE, signature.parse().expect("digits"));
        headers.remove(header::CONTENT_LENGTH);
        body
    }

    /// Says of a pull request that it has a conflict, and adds `stack` to one that is a layer of a stack. Whether it did
    /// any of the two.
    async fn adorn(&self, repo: &str, pull: &mut Value) -> bool {
        let has_conflict = {
            let conflicts = self.conflicts.lock().expect("no panic");
            let is_this = |(of, number): &(String, u64)| of == repo && pull["number"] == *number;
            conflicts.iter().any(is_this)
        };
        if has_conflict {
            pull["mergeable"] = false.into();
            pull["mergeable_state"] = "dirty".into();
        }
        self.add_stack(repo, pull).await || has_conflict
    }

    async fn add_stack(&self, repo: &str, pull: &mut Value) -> bool {
        let found = pull["number"]
            .as_u64()
            .and_then(|number| Some((number, self.stack_of(repo, number)?)));
        let Some((number, (nth, stack))) = found else {
            return false;
        };
        let tip = self
            .read(&format!("/repos/{repo}/git/ref/heads/{}", stack.base))
            .await;
        let position = stack
            .layers
            .iter()
            .position(|layer| *layer == number)
            .map(|place| place + 1);
        pull["stack"] = json!({
            "id": 7_000 + nth, "number": nth, "size": stack.layers.len(), "position": position,
            "base": { "ref": stack.base, "sha": tip["object"]["sha"] },
        });
        true
    }

    /// `GET /repos/{owner}/{repo}/stacks?pull_request=N`.
    async fn listed(&self, repo: &str, layer: u64) -> Value {
        let Some((nth, stack)) = self.stack_of(repo, layer) else {
            return json!([]);
        };
        let mut layers = Vec::new();
        for number in &stack.layers {
            let pull = self.read(&format!("/repos/{repo}/pulls/{number}")).await;
            layers.push(json!({ "number": number, "state": pull["state"], "draft": pull["draft"],
                "merged_at": pull["merged_at"], "head": { "ref": pull["head"]["ref"], "sha": pull["head"]["sha"] } }));
        }
        let open = layers.iter().any(|layer| layer["state"] == "open");
        json!([{ "id": 7_000 + nth, "number": nth, "base": { "ref": stack.base }, "open": open,
            "pull_requests": layers }])
    }

    /// What the emulator answers somebody who may read everything.
    pub async fn read(&self, path: &str) -> Value {
        let bearer = format!("Bearer {}", self.token);
        let request =
            Request::get(format!("{}{path}", self.emulator)).header(header::AUTHORIZATION, bearer);
        let answer = asked(request.body(Full::default()).expect("a request")).await;
        serde_json::from_slice(answer.body()).unwrap_or_default()
    }
}

async fn asked(request: Request<Full<Bytes>>) -> http::Response<Bytes> {
    let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    let (head, body) = client
        .request(request)
        .await
        .expect("the emulator is there")
        .into_parts();
    http::Response::from_parts(head, body.collect().await.expect("an answer").to_bytes())
}

/// What GitHub shows where the emulator answers 404, which the server does not believe within the half minute that a
/// scenario lasts: a branch without rules has an empty list of them, and the organisation has a file of defaults that
/// sets none.
fn shown_on_github(parts: &[&str]) -> Option<Value> {
    match parts {
        ["", "graphql"] => Some(
            json!({ "data": null, "errors": [{ "message": "The emulator answers no such query." }] }),
        ),
        ["", "repos", _, _, "rules", "branches", ..] => Some(json!([])),
        ["", "repos", _, ".github", "contents", "loopgate.yml"] => {
            let (text, sha) = ("version: 1\n", "b82551848c644f63b8517a7bdf8be9a992e6f4da");
            let content = BASE64_STANDARD.encode(text);
            Some(
                json!({ "type": "file", "size": text.len(), "sha": sha, "encoding": "base64", "content": content }),
            )
        }
        _ => None,
    }
}

/// A request of the server, as the emulator answers it, and what it lacks.
async fn passed_on(State(proxy): State<Proxy>, mut head: Parts, body: Bytes) -> Response {
    if proxy.refuses(&head) {
        let refused = json!({ "message": "Resource not accessible by personal access token", "status": "403" });
        let answer = Response::builder()
            .status(StatusCode::FORBIDDEN)
            .header(header::CONTENT_TYPE, "application/json");
        return answer
            .body(Body::from(refused.to_string()))
            .expect("an answer");
    }
    if head.uri.path() == "/graphql"
        && let Some(answer) = proxy.review_threads(&body).await
    {
        return tagged(answer.to_string().into(), HeaderMap::new(), None);
    }
    let path = head.uri.path().to_owned();
    let parts: Vec<&str> = path.split('/').collect();
    let repo = parts.get(2..4).unwrap_or_default().join("/");
    let layer = head.uri.query().and_then(|query| {
        query
            .split('&')
            .find_map(|it| it.strip_prefix("pull_request="))
    });
    let is_read = head.method == http::Method::GET;
    let shows_pulls = is_read
        && matches!(
            parts[..],
            ["", "repos", _, _, "pulls"]
                | ["", "repos", _, _, "pulls", _]
                | ["", "repos", _, _, "commits", _, "pulls"]
        );
    if let (["", "repos", _, _, "stacks"], Some(layer)) = (&parts[..], layer) {
        let list = proxy.listed(&repo, layer.parse().expect("a number")).await;
        return tagged(
            list.to_string().into(),
            HeaderMap::new(),
            head.headers.get(header::IF_NONE_MATCH),
        );
    }
    let shows_runs = is_read && matches!(parts[..], ["", "repos", _, _, "actions", "runs"]);
    let seen = if shows_pulls || shows_runs {
        head.headers.remove(header::IF_NONE_MATCH)
    } else {
        None
    };
    let address = format!(
        "{}{}",
        proxy.emulator,
        head.uri.path_and_query().map_or("/", |path| path.as_str())
    );
    head.headers.remove(header::HOST);
    let mut request = Request::new(Full::new(body));
    (*request.method_mut(), *request.headers_mut()) = (head.method, head.headers);
    *request.uri_mut() = address.parse().expect("an address");
    let (mut head, body) = asked(request).await.into_parts();
    // Pages are asked for where the first was.
    if let Some(link) = head
        .headers
        .get(header::LINK)
        .and_then(|link| link.to_str().ok())
    {
        let here = link.replace(&proxy.emulator, &format!("http://{}", proxy.address));
        head.headers
            .insert(header::LINK, here.parse().expect("addresses"));
    }
    for gone in [header::TRANSFER_ENCODING, header::CONNECTION] {
        head.headers.remove(gone);
    }
    if head.status == StatusCode::NOT_FOUND
        && (is_read || path == "/graphql")
        && let Some(document) = shown_on_github(&parts)
    {
        return tagged(document.to_string().into(), HeaderMap::new(), None);
    }
    if !(shows_pulls || shows_runs) || head.status != StatusCode::OK {
        return Response::from_parts(head, Body::from(body));
    }
    let mut shown: Value = serde_json::from_slice(&body).expect("a document");
    match &mut shown {
        runs if shows_runs => proxy.hold_back(runs),
        Value::Array(pulls) => {
            for pull in pulls {
                proxy.adorn(&repo, pull).await;
            }
        }
        pull => drop(proxy.adorn(&repo, pull).await),
    }
    tagged(shown.to_string().into(), head.headers, seen.as_ref())
}

/// An answer with the tag of what is in it, or without it where the client has seen that tag.
fn tagged(body: Bytes, mut headers: HeaderMap, seen: Option<&HeaderValue>) -> Response {
    let tag: HeaderValue = format!("\"{}\"", hex::encode(Sha256::digest(&body)))
        .parse()
        .expect("digits");
    let is_seen = seen == Some(&tag);
    headers.insert(header::ETAG, tag);
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json; charset=utf-8"),
    );
    headers.remove(header::CONTENT_LENGTH);
    let mut answer = Response::new(if is_seen {
        Body::empty()
    } else {
        Body::from(body)
    });
    *answer.headers_mut() = headers;
    if is_seen {
        *answer.status_mut() = StatusCode::NOT_MODIFIED;
    }
    answer
}
