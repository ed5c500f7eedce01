//! What a person's browser does, as plain requests: it reads forms, sends them, and follows nothing by itself.

use bytes::Bytes;
use http::{HeaderMap, Method, header};
use http_body_util::{BodyExt as _, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};

pub struct Browser {
    http: Client<HttpConnector, Full<Bytes>>,
    token: Option<String>,
}

pub struct Page {
    pub status: u16,
    pub text: String,
    headers: HeaderMap,
    url: String,
}

impl Browser {
    pub fn new() -> Self {
        Self {
            http: Client::builder(TokioExecutor::new()).build_http(),
            token: None,
        }
    }

    /// Signed in on GitHub as the owner of a token.
    pub fn as_person(token: &str) -> Self {
        Self {
            token: Some(token.to_owned()),
            ..Self::new()
        }
    }

    pub async fn get(&self, url: &str) -> Page {
        self.send(Method::GET, url, String::new()).await
    }

    pub async fn submit(&self, url: &str, fields: &[(&str, &str)]) -> Page {
        let form = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish();
        self.send(Method::POST, url, form).await
    }

    async fn send(&self, method: Method, url: &str, form: String) -> Page {
        let mut request = http::Request::builder()
            .method(method)
            .uri(url)
            .header(header::USER_AGENT, "a browser");
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        let answer = self
            .http
            .request(request.body(Full::from(form)).unwrap())
            .await
            .unwrap();
        let (parts, body) = answer.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let text = String::from_utf8_lossy(&body).into_owned();
        Page {
            status: parts.status.as_u16(),
            text,
            headers: parts.headers,
            url: url.to_owned(),
        }
    }
}

impl Page {
    pub fn header(&self, name: &str) -> String {
        self.headers
            .get(name)
            .map(|value| value.to_str().unwrap().to_owned())
            .unwrap_or_default()
    }

    /// Where it leads to.
    pub fn location(&self) -> String {
        let base: url::Url = self.url.parse().unwrap();
        base.join(&self.header("location")).unwrap().into()
    }

    /// Where its first form goes.
    pub fn action(&self) -> String {
        self.attribute("<form action=\"")
    }

    /// The value of a field.
    pub fn field(&self, name: &str) -> String {
        self.attribute(&format!("name=\"{name}\" value=\""))
    }

    fn attribute(&self, before: &str) -> String {
        let rest = self
            .text
            .split_once(before)
            .unwrap_or_else(|| panic!("no {before} in {}", self.text))
            .1;
        let raw = rest.split('"').next().unwrap_or_default();
        let entities = [
            ("&quot;", "\""),
            ("&#x2f;", "/"),
            ("&#x27;", "'"),
            ("&lt;", "<"),
            ("&gt;", ">"),
            ("&amp;", "&"),
        ];
        entities
            .iter()
            .fold(raw.to_owned(), |text, (entity, letter)| {
                text.replace(entity, letter)
            })
    }
}
