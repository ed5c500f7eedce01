//! Somebody at a browser, who is known to GitHub and visits the server's public pages.

use std::{cell::RefCell, collections::BTreeMap};

use axum::body::Bytes;
use http::{HeaderMap, Method, Request, header};
use http_body_util::{BodyExt as _, Full};
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
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

async fn answer(request: http::request::Builder, body: &str) -> Answer {
    let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    let request = request.body(Full::new(Bytes::from(body.to_owned()))).expect("a request");
    let (mut parts, body) = client.request(request).await.expect("an answer").into_parts();
    parts.headers.remove(header::DATE);
    let body = body.collect().await.expect("a body").to_bytes();
    let body = String::from_utf8_lossy(&body).into_owned();
    Answer { status: parts.status.as_u16(), headers: parts.headers, body }
}

impl<'w> Browser<'w> {
    pub fn of(world: &'w World, login: &'w str) -> Self {
        Self { world, login, cookies: RefCell::default() }
    }

    async fn asks(&self, method: Method, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let path = path.strip_prefix(ADDRESS).unwrap_or(path);
        let mut request =
            Request::builder().method(method).uri(format!("http://{}{path}", self.world.servers[0].public_address()));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let cookies: Vec<_> = self.cookies.borrow().iter().map(|(name, value)| format!("{name}={value}")).collect();
        let answer = answer(request.header(header::COOKIE, cookies.join("; ")), body).await;
        for line in answer.headers.get_all(header::SET_COOKIE) {
            let line = line.to_str().expect("a text");
            let (pair, attributes) = line.split_once("; ").expect("attributes");
            let (name, value) = pair.split_once('=').expect("a value");
            assert!(name.starts_with("__Host-") && attributes.starts_with("Path=/; "), "{line}");
            assert!(attributes.ends_with("; HttpOnly; SameSite=Lax; Secure"), "{line}");
            if attributes.contains("Max-Age=0;") {
                self.cookies.borrow_mut().remove(name);
            } else {
                self.cookies.borrow_mut().insert(name.to_owned(), value.to_owned());
            }
        }
        answer
    }

    pub async fn visits(&self, path: &str) -> Answer {
        self.asks(Method::GET, path, &[], "").await
    }

    pub async fn visits_with(&self, path: &str, header: (&str, &str)) -> Answer {
        self.asks(Method::GET, path, &[header], "").await
    }

    pub async fn sends(&self, path: &str, origin: &str, form: &str) -> Answer {
        self.asks(Method::POST, path, &[("origin", origin)], form).await
    }

    /// Follows *Sign in with GitHub*, and agrees there; the address that GitHub sends the browser back to.
    pub async fn agrees(&self) -> String {
        let page = self.visits("/login").await;
        assert_eq!(page.status, 303, "{}", page.body);
        let github = page.header("location").to_owned();
        assert!(github.starts_with(&format!("{}/login/oauth/authorize?", self.world.simulator().url())), "{github}");
        let token = self.world.simulator().user(self.login).token().expect("a person");
        let asked = Request::get(&github).header("user-agent", "a browser");
        let agreed = answer(asked.header("authorization", format!("Bearer {token}")), "").await;
        assert_eq!(agreed.status, 302, "{}", agreed.body);
        let back = agreed.header("location").to_owned();
        assert!(back.starts_with(&format!("{ADDRESS}/login/callback?code=")), "{back}");
        back
    }

    pub async fn signs_in(&self) -> Answer {
        let back = self.agrees().await;
        self.visits(&back).await
    }
}
