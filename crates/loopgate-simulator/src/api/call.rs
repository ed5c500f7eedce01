//! A request as handlers see it, and their answers.

use std::{collections::HashMap, sync::Arc};

use axum::{
    body::Body,
    extract::{FromRequest, FromRequestParts as _, RawPathParams, Request},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, Uri, header};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::caller::Caller;
use crate::{
    Shared,
    past::Past,
    refused::Refused,
    world::{World, issue::Issue},
};
use loopgate_core::{PrNumber, Sha, Timestamp};

/// One request: who calls, the path's parts, query, body.
#[derive(Debug)]
pub struct Call {
    pub caller: Caller,
    params: HashMap<String, String>,
    query: HashMap<String, String>,
    accept: String,
    pub(super) token: String,
    body: Bytes,
    uri: Uri,
    /// The world that answers, if it is not the present one.
    pub past: Option<Past>,
}

impl FromRequest<Arc<Shared>> for Call {
    type Rejection = Reply;

    async fn from_request(request: Request, state: &Arc<Shared>) -> Result<Self, Reply> {
        let (mut parts, body) = request.into_parts();
        let params = RawPathParams::from_request_parts(&mut parts, state).await;
        let params = params.map_err(|_| Reply::from(Refused::not_found()))?;
        let params = params
            .iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let query = url::form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes());
        let query = query.into_owned().collect();
        let accept = parts
            .headers
            .get(header::ACCEPT)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
            .to_owned();
        let token = parts
            .headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok()?.split(' ').nth(1));
        let token = token.unwrap_or_default().to_owned();
        let caller = parts
            .extensions
            .get::<Caller>()
            .cloned()
            .unwrap_or(Caller::Anonymous);
        let past = parts.extensions.get().cloned();
        let (uri, request) = (parts.uri.clone(), Request::from_parts(parts, body));
        let too_large = |_| {
            Reply::from(Refused::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "Payload too large",
            ))
        };
        let body = Bytes::from_request(request, state)
            .await
            .map_err(too_large)?;
        Ok(Self {
            caller,
            params,
            query,
            accept,
            token,
            body,
            uri,
            past,
        })
    }
}

impl Call {
    /// A part of the path; empty if the route has no such part.
    pub fn param(&self, name: &str) -> &str {
        self.params.get(name).map_or("", String::as_str)
    }

    /// Whether the path is in a repository that is archived.
    pub fn is_about_archived(&self, world: &World) -> bool {
        world
            .find_repo(self.param("owner"), self.param("repo"))
            .is_some_and(|repo| repo.is_archived)
    }

    /// A numeric part of the path. What is no number is not found.
    pub fn id(&self, name: &str) -> Result<u64, Refused> {
        self.param(name).parse().map_err(|_| Refused::not_found())
    }

    pub fn number(&self) -> Result<PrNumber, Refused> {
        Ok(PrNumber::new(self.id("number")?))
    }

    /// An object id in the path.
    pub fn sha(&self, name: &str) -> Result<Sha, Refused> {
        self.param(name).parse().map_err(|_| Refused::not_found())
    }

    pub fn query(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str)
    }

    /// A time in the query; what is none counts as not given.
    pub fn time(&self, name: &str) -> Option<Timestamp> {
        self.query(name)?.parse().ok()
    }

    /// Whether `state` (`open` if it is not given) asks for issues like this.
    pub fn wants(&self, issue: &Issue) -> bool {
        match self.query("state").unwrap_or("open") {
            "all" => true,
            "closed" => !issue.is_open(),
            _ => issue.is_open(),
        }
    }

    /// The body; an empty one counts as `{}`.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Refused> {
        let text: &[u8] = if self.body.is_empty() {
            b"{}"
        } else {
            &self.body
        };
        let value: Value = serde_json::from_slice(text)
            .map_err(|_| Refused::new(StatusCode::BAD_REQUEST, "Problems parsing JSON"))?;
        serde_json::from_value(value)
            .map_err(|error| Refused::unprocessable(format!("Invalid request.\n\n{error}.")))
    }

    /// A field of a form in the body.
    pub fn field(&self, name: &str) -> Option<String> {
        let mut fields = url::form_urlencoded::parse(&self.body);
        fields
            .find(|(field, _)| field == name)
            .map(|(_, value)| value.into_owned())
    }

    /// The bearer token itself.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Whether a media type's word, `raw` or `object`, was asked for.
    pub fn accepts(&self, word: &str) -> bool {
        self.accept
            .split(',')
            .any(|media| media.split(['.', '+', ';']).any(|part| part.trim() == word))
    }

    /// `per_page` of at most 100, 30 by default.
    pub fn per_page(&self) -> usize {
        self.query("per_page")
            .and_then(|n| n.parse().ok())
            .unwrap_or(30)
            .clamp(1, 100)
    }

    /// What follows `/repos/owner/name`, with the query.
    pub fn path_after_repo(&self) -> String {
        let target = self
            .uri
            .path_and_query()
            .map_or("/", |target| target.as_str());
        target
            .splitn(5, '/')
            .nth(4)
            .map(|rest| format!("/{rest}"))
            .unwrap_or_default()
    }

    /// One page of `items`, and the `Link` header to the others if there are any.
    pub fn page<T>(&self, items: Vec<T>) -> (Vec<T>, Vec<(&'static str, String)>) {
        let (per_page, total) = (self.per_page(), items.len());
        let page = self
            .query("page")
            .and_then(|n| n.parse().ok())
            .unwrap_or(1)
            .max(1);
        let last = total.div_ceil(per_page).max(1);
        let mut links = Vec::new();
        let mut link = |page: usize, relation: &str| {
            links.push(self.link(&[("page", page.to_string())], relation))
        };
        if page > 1 {
            link(page - 1, "prev");
        }
        if page < last {
            link(page + 1, "next");
            link(last, "last");
        }
        if page > 1 {
            link(1, "first");
        }
        let items = items
            .into_iter()
            .skip((page - 1).saturating_mul(per_page))
            .take(per_page)
            .collect();
        let headers = if links.is_empty() {
            Vec::new()
        } else {
            vec![("link", links.join(", "))]
        };
        (items, headers)
    }

    /// One page of `items` as a JSON array.
    pub fn list<T>(&self, items: Vec<T>, object: impl FnMut(T) -> Value) -> Reply {
        let (items, headers) = self.page(items);
        Reply {
            headers,
            ..Reply::ok(items.into_iter().map(object).collect::<Value>())
        }
    }

    /// One page of `items` in an object that also holds `total_count`.
    pub fn counted_list<T>(
        &self,
        key: &str,
        items: Vec<T>,
        object: impl FnMut(T) -> Value,
    ) -> Reply {
        let total = items.len();
        let (items, headers) = self.page(items);
        let items = items.into_iter().map(object).collect::<Value>();
        Reply {
            headers,
            ..Reply::ok(serde_json::json!({ "total_count": total, key: items }))
        }
    }

    /// This URL with other query parameters, as an entry of a `Link` header.
    pub fn link(&self, changes: &[(&str, String)], relation: &str) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        let given = url::form_urlencoded::parse(self.uri.query().unwrap_or_default().as_bytes());
        query.extend_pairs(
            given.filter(|(name, _)| changes.iter().all(|(changed, _)| changed != name)),
        );
        query.extend_pairs(changes);
        let origin = match (self.uri.scheme_str(), self.uri.authority()) {
            (Some(scheme), Some(authority)) => format!("{scheme}://{authority}"),
            _ => String::new(),
        };
        format!(
            "<{origin}{}?{}>; rel=\"{relation}\"",
            self.uri.path(),
            query.finish()
        )
    }
}

/// An answer before it becomes HTTP.
#[derive(Debug)]
pub struct Reply {
    status: StatusCode,
    content: Content,
    headers: Vec<(&'static str, String)>,
}

#[derive(Debug)]
enum Content {
    Json(Value),
    Raw {
        media_type: &'static str,
        bytes: Bytes,
    },
    Nothing,
}

impl Reply {
    pub fn ok(body: impl Into<Value>) -> Self {
        Self {
            status: StatusCode::OK,
            content: Content::Json(body.into()),
            headers: Vec::new(),
        }
    }

    pub fn created(body: impl Into<Value>) -> Self {
        Self::ok(body).status(StatusCode::CREATED)
    }

    pub fn no_content() -> Self {
        Self {
            status: StatusCode::NO_CONTENT,
            content: Content::Nothing,
            headers: Vec::new(),
        }
    }

    pub fn raw(media_type: &'static str, bytes: Bytes) -> Self {
        Self {
            status: StatusCode::OK,
            content: Content::Raw { media_type, bytes },
            headers: Vec::new(),
        }
    }

    /// 302 to another place.
    pub fn found(location: String) -> Self {
        Self {
            status: StatusCode::FOUND,
            content: Content::Nothing,
            headers: vec![("location", location)],
        }
    }

    #[must_use]
    pub fn status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    #[must_use]
    pub fn header(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }
}

impl From<Refused> for Reply {
    fn from(refused: Refused) -> Self {
        let mut reply = Self::ok(refused.body()).status(refused.status);
        reply.headers = refused.headers;
        reply
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        let (media_type, body) = match self.content {
            Content::Json(value) => (
                Some("application/json; charset=utf-8"),
                Body::from(value.to_string()),
            ),
            Content::Raw { media_type, bytes } => (Some(media_type), Body::from(bytes)),
            Content::Nothing => (None, Body::empty()),
        };
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        let headers = self
            .headers
            .iter()
            .map(|(name, value)| (*name, value.as_str()));
        for (name, value) in
            headers.chain(media_type.map(|media_type| ("content-type", media_type)))
        {
            // A value that is no header value (a path with a newline, say) is left out.
            if let Ok(value) = HeaderValue::from_str(value) {
                response.headers_mut().insert(name, value);
            }
        }
        response
    }
}
