//! Somebody at a browser, who is known to GitHub and visits the server's public pages.

use std::{cell::RefCell, collections::BTreeMap, time::Duration};

use axum::body::Bytes;
use http::{HeaderMap, Method, Request, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::{client::legacy::Client, rt::TokioExecutor};

use super::World;

/// Where the server is, as browsers name it.
pub const ADDRESS: &str = "https://loopgate.example.com";

pub struct Browser<'w> {
    world: &'w World,
    /// Whom GitHub knows.
    login: &'w str,
    pub cookies: RefCell<BTreeMap<String, String>>,
}

/// All of an answer.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    /// Without the time of day.
    pub headers: HeaderMap,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }
}

async fn answer(request: http::request::Builder, body: &str) -> Answer {
    let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    let request = request
        .body(Full::new(Bytes::from(body.to_owned())))
        .expect("a request");
    let (mut parts, body) = client
        .request(request)
        .await
        .expect("an answer")
        .into_parts();
    parts.headers.remove(header::DATE);
    let body = body.collect().await.expect("a body").to_bytes();
    let body = String::from_utf8_lossy(&body).into_owned();
    Answer {
        status: parts.status.as_u16(),
        headers: parts.headers,
        body,
    }
}

/// Somebody who listens for events of the server.
pub struct Ear {
    pub kind: String,
    body: Incoming,
    /// All that was heard.
    pub text: String,
    told: usize,
}

impl Ear {
    pub async fn of(address: &str, headers: &[(&str, &str)]) -> Self {
        let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
        let asked = headers
            .iter()
            .fold(Request::get(address), |asked, (name, value)| {
                asked.header(*name, *value)
            });
        let answer = client
            .request(asked.body(Full::default()).expect("a request"))
            .await
            .expect("an answer");
        assert_eq!(answer.status(), 200, "{address}");
        let kind = answer.headers()[header::CONTENT_TYPE]
            .to_str()
            .expect("a text")
            .to_owned();
        Self {
            kind,
            body: answer.into_body(),
            text: String::new(),
            told: 0,
        }
    }

    /// Completes with what else is said.
    pub async fn more(&mut self) {
        let frame = self
            .body
            .frame()
            .await
            .expect("the server still speaks")
            .expect("a frame");
        self.text += &String::from_utf8_lossy(frame.data_ref().expect("text"));
    }

    /// Completes once something changed that was not heard of before, within half a minute.
    pub async fn hears(&mut self) {
        let changed = async {
            while self.text.matches("data: changed").count() == self.told {
                self.more().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), changed)
            .await
            .expect("something is heard");
        self.told = self.text.matches("data: changed").count();
    }
}

/// Asks any address.
pub async fn fetched(method: &str, address: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let asked = Request::builder().method(method).uri(address);
    answer(
        headers
            .iter()
            .fold(asked, |asked, (name, value)| asked.header(*name, *value)),
        body,
    )
    .await
}

impl<'w> Browser<'w> {
    pub fn of(world: &'w World, login: &'w str) -> Self {
        Self {
            world,
            login,
            cookies: RefCell::default(),
        }
    }

    pub async fn asks(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let path = path.strip_prefix(ADDRESS).unwrap_or(path);
        let mut request = Request::builder().method(method).uri(format!(
            "http://{}{path}",
            self.world.servers[0].public_address
        ));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let cookies: Vec<_> = self
            .cookies
            .borrow()
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let answer = answer(request.header(header::COOKIE, cookies.join("; ")), body).await;
        for line in answer.headers.get_all(header::SET_COOKIE) {
            let line = line.to_str().expect("a text");
            let (pair, attributes) = line.split_once("; ").expect("attributes");
            let (name, value) = pair.split_once('=').expect("a value");
            assert!(
                name.starts_with("__Host-") && attributes.starts_with("Path=/; "),
                "{line}"
            );
            assert!(
                attributes.ends_with("; HttpOnly; SameSite=Lax; Secure"),
                "{line}"
            );
            if attributes.contains("Max-Age=0;") {
                self.cookies.borrow_mut().remove(name);
            } else {
                self.cookies
                    .borrow_mut()
                    .insert(name.to_owned(), value.to_owned());
            }
        }
        answer
    }

    pub async fn visits(&self, path: &str) -> Answer {
        self.asks(Method::GET, path, &[], "").await
    }

    /// Listens with this browser's session.
    pub async fn listens(&self, path: &str) -> Ear {
        let cookies: Vec<_> = self
            .cookies
            .borrow()
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let address = format!("http://{}{path}", self.world.servers[0].public_address);
        Ear::of(&address, &[("cookie", &cookies.join("; "))]).await
    }

    pub async fn visits_with(&self, path: &str, header: (&str, &str)) -> Answer {
        self.asks(Method::GET, path, &[header], "").await
    }

    /// The form token of a page.
    pub async fn form_token(&self, path: &str) -> String {
        let page = self.visits(path).await.body;
        let token = page
            .split_once("name=\"token\" value=\"")
            .and_then(|(_, rest)| rest.split_once('"'));
        token.expect("a form").0.to_owned()
    }

    /// Makes a token for a program.
    pub async fn makes_a_token(&self, name: &str) -> String {
        let form = format!("token={}&name={name}", self.form_token("/tokens").await);
        let page = self.sends("/tokens", ADDRESS, &form).await;
        assert_eq!(
            (page.status, page.header("cache-control")),
            (200, "no-store"),
            "{}",
            page.body
        );
        let token = page
            .body
            .split_once("<pre id=\"token\">")
            .and_then(|(_, rest)| rest.split_once('<'));
        token.expect("a token").0.to_owned()
    }

    /// A message to `/mcp`, with these headers beside those that a client sends.
    pub async fn posts(&self, message: &str, headers: &[(&str, &str)]) -> Answer {
        let of_client = [
            ("host", "loopgate.example.com"),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        let of_client = of_client
            .into_iter()
            .filter(|(name, _)| headers.iter().all(|(given, _)| given != name));
        let headers: Vec<_> = of_client.chain(headers.iter().copied()).collect();
        self.asks(Method::POST, "/mcp", &headers, message).await
    }

    pub async fn sends(&self, path: &str, origin: &str, form: &str) -> Answer {
        self.asks(Method::POST, path, &[("origin", origin)], form)
            .await
    }

    /// Follows *Sign in with GitHub*, and agrees there; the address that GitHub sends the browser back to.
    pub async fn agrees(&self) -> String {
        let page = self.visits("/login").await;
        assert_eq!(page.status, 303, "{}", page.body);
        let github = page.header("location").to_owned();
        assert!(
            github.starts_with(&format!(
                "{}/login/oauth/authorize?",
                self.world.simulator().url()
            )),
            "{github}"
        );
        let token = self
            .world
            .simulator()
            .user(self.login)
            .token()
            .expect("a person");
        let asked = Request::get(&github).header("user-agent", "a browser");
        let agreed = answer(asked.header("authorization", format!("Bearer {token}")), "").await;
        assert_eq!(agreed.status, 302, "{}", agreed.body);
        let back = agreed.header("location").to_owned();
        assert!(
            back.starts_with(&format!("{ADDRESS}/login/callback?code=")),
            "{back}"
        );
        back
    }

    pub async fn signs_in(&self) -> Answer {
        let back = self.agrees().await;
        self.visits(&back).await
    }
}
