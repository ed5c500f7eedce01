//! Why the simulated GitHub said no, in the form of its JSON errors.

use http::StatusCode;
use serde_json::{Value, json};

/// A request or operation that GitHub would refuse: status code, message and details as GitHub words them.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{} {message}{}", status.as_u16(), details(errors))]
pub struct Refused {
    pub status: StatusCode,
    pub message: String,
    /// The entries of the body's `errors`: objects or plain texts.
    pub errors: Vec<Value>,
    /// Further response headers.
    pub headers: Vec<(&'static str, String)>,
}

fn details(errors: &[Value]) -> String {
    if errors.is_empty() {
        String::new()
    } else {
        format!(" {}", Value::from(errors.to_vec()))
    }
}

impl Refused {
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            errors: Vec::new(),
            headers: Vec::new(),
        }
    }

    pub fn bad_credentials() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Bad credentials")
    }

    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, message)
    }

    /// Also for what is there but must not be known to be.
    pub fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "Not Found")
    }

    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, message)
    }

    /// 422 with a message of its own.
    pub fn unprocessable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, message)
    }

    /// 422 "Validation Failed" with one coded error: `missing`, `missing_field`, `invalid`, `already_exists`, …
    pub fn invalid(resource: &str, field: &str, code: &str) -> Self {
        Self::unprocessable("Validation Failed")
            .error(json!({ "resource": resource, "code": code, "field": field }))
    }

    /// 422 "Validation Failed" in words.
    pub fn custom(resource: &str, field: &str, message: &str) -> Self {
        Self::unprocessable("Validation Failed").error(
            json!({ "resource": resource, "code": "custom", "field": field, "message": message }),
        )
    }

    #[must_use]
    pub fn error(mut self, error: impl Into<Value>) -> Self {
        self.errors.push(error.into());
        self
    }

    #[must_use]
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The body of the response.
    pub fn body(&self) -> Value {
        let mut body = json!({ "message": self.message });
        if !self.errors.is_empty() {
            body["errors"] = self.errors.clone().into();
        }
        body["documentation_url"] = "https://docs.github.com/rest".into();
        body["status"] = self.status.as_str().into();
        body
    }
}
