//! A plain HTTP client, and a receiver of webhooks.

use std::sync::{Arc, Mutex};

use axum::{Router, body::to_bytes, extract::Request, routing::post};
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper_util::{
    client::legacy::{Client as Hyper, connect::HttpConnector},
    rt::TokioExecutor,
};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::Simulator;

pub struct Client {
    base: String,
    token: Option<String>,
    http: Hyper<HttpConnector, Full<Bytes>>,
}

#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    #[track_caller]
    pub fn is(self, status: u16) -> Self {
        assert_eq!(
            self.status.as_u16(),
            status,
            "{}",
            String::from_utf8_lossy(&self.body)
        );
        self
    }

    pub fn message(&self) -> String {
        self.json()["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

impl Client {
    pub fn with_token(sim: &Simulator, token: Option<String>) -> Self {
        Self {
            base: sim.url(),
            token,
            http: Hyper::builder(TokioExecutor::new()).build_http(),
        }
    }

    pub fn anonymous(sim: &Simulator) -> Self {
        Self::with_token(sim, None)
    }

    pub fn installation(sim: &Simulator) -> Self {
        Self::with_token(sim, Some(sim.installation_token().unwrap()))
    }

    pub fn person(sim: &Simulator, login: &str) -> Self {
        Self::with_token(sim, Some(sim.user(login).token().unwrap()))
    }

    /// With a JWT of so many seconds, made a minute ago.
    pub fn app(sim: &Simulator, lifetime: i64) -> Self {
        let now = sim.clock().now().timestamp();
        let claims =
            json!({ "iat": now - 60, "exp": now + lifetime, "iss": sim.app_id().to_string() });
        let key = EncodingKey::from_rsa_pem(sim.app_key().private_pem().as_bytes()).unwrap();
        Self::with_token(
            sim,
            Some(jsonwebtoken::encode(&Header::new(Algorithm::RS256), &claims, &key).unwrap()),
        )
    }

    pub async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
        headers: &[(&str, &str)],
    ) -> Answer {
        self.try_send(method, path, body, headers).await.unwrap()
    }

    /// An error if the connection broke.
    pub async fn try_send(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
        headers: &[(&str, &str)],
    ) -> Result<Answer, hyper_util::client::legacy::Error> {
        let url = if path.starts_with("http") {
            path.to_owned()
        } else {
            format!("{}{path}", self.base)
        };
        let mut request = http::Request::builder()
            .method(method)
            .uri(url)
            .header(header::USER_AGENT, "a test");
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        // A text is sent as it is.
        let body = body
            .map(|body| {
                body.as_str()
                    .map_or_else(|| body.to_string(), str::to_owned)
            })
            .unwrap_or_default();
        let response = self
            .http
            .request(request.body(Full::from(body)).unwrap())
            .await?;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Ok(Answer {
            status: parts.status,
            headers: parts.headers,
            body,
        })
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, None, &[]).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(Method::POST, path, Some(body), &[]).await
    }

    /// As a browser sends a form.
    pub async fn submit(&self, path: &str, field: (&str, &str)) -> Answer {
        let form = url::form_urlencoded::Serializer::new(String::new())
            .append_pair(field.0, field.1)
            .finish();
        self.post(path, form.into()).await
    }

    pub async fn patch(&self, path: &str, body: Value) -> Answer {
        self.send(Method::PATCH, path, Some(body), &[]).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Answer {
        self.send(Method::PUT, path, Some(body), &[]).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, None, &[]).await
    }
}

/// One webhook as it arrived.
#[derive(Clone, Debug)]
pub struct Hook {
    pub event: String,
    pub headers: HeaderMap,
    pub raw: Bytes,
    pub body: Value,
}

impl Hook {
    /// `pull_request.opened`, or just `push`.
    pub fn name(&self) -> String {
        match self.body["action"].as_str() {
            Some(action) => format!("{}.{action}", self.event),
            None => self.event.clone(),
        }
    }
}

/// A server that keeps what it is sent.
#[derive(Clone, Default)]
pub struct Receiver(Arc<Mutex<Vec<Hook>>>);

impl Receiver {
    /// Starts it and points the simulator's webhooks at it.
    pub async fn attach(sim: &Simulator) -> Self {
        let receiver = Self::default();
        let hooks = receiver.clone();
        let take = move |request: Request| async move {
            let (parts, body) = request.into_parts();
            let raw = to_bytes(body, usize::MAX).await.unwrap();
            let event = parts.headers["x-github-event"].to_str().unwrap().to_owned();
            let body = serde_json::from_slice(&raw).unwrap();
            hooks.0.lock().unwrap().push(Hook {
                event,
                headers: parts.headers,
                raw,
                body,
            });
            StatusCode::ACCEPTED
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        sim.set_webhook_url(&format!(
            "http://{}/webhook",
            listener.local_addr().unwrap()
        ));
        tokio::spawn(async move {
            axum::serve(listener, Router::new().route("/webhook", post(take))).await
        });
        receiver
    }

    pub fn all(&self) -> Vec<Hook> {
        self.0.lock().unwrap().clone()
    }

    pub fn names(&self) -> Vec<String> {
        self.all().iter().map(Hook::name).collect()
    }

    #[track_caller]
    pub fn last(&self, name: &str) -> Value {
        let found = self.all().into_iter().rfind(|hook| hook.name() == name);
        found
            .unwrap_or_else(|| panic!("no {name} among {:?}", self.names()))
            .body
    }
}
