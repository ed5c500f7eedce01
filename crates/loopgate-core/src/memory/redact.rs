//! What must never be written to a memory: secrets, e-mail addresses, home directories.

use std::{borrow::Cow, sync::LazyLock};

use regex::Regex;
use serde_json::Value;

/// Each form, and what stands in its place. Order matters: a key's block holds lines that look like other secrets.
static FORMS: LazyLock<[(Regex, &str); 6]> = LazyLock::new(|| {
    let form = |pattern: &str| Regex::new(pattern).expect("a constant");
    [
        (form(r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|$)"), "[secret]"),
        (
            form(
                r"\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{20,}|xox[abeprs]-[\w-]{10,}|A[KS]IA[0-9A-Z]{16}|sk-[\w-]{20,}|sk_live_\w{10,}|AIza[\w-]{30,}|npm_\w{30,}|eyJ[\w-]{10,}\.[\w-]{10,}(?:\.[\w-]+)?)",
            ),
            "[secret]",
        ),
        (form(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{12,}"), "$1 [secret]"),
        (
            form(
                r#"(?i)\b([\w-]*(?:password|passwd|secret|api[_-]?key|access[_-]?key|private[_-]?key|token))(["']?\s*[:=]\s*["']?)[^\s"'&,;]{6,}"#,
            ),
            "$1$2[secret]",
        ),
        (form(r"\b[\w.%+-]+(?::[^\s/@]+)?@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b"), "[address]"),
        (form(r#"(?i)(?:/home/|/users/|\b[a-z]:[\\/]+users[\\/]+)[^/\\\s:"'<>|]+|/root\b"#), "~"),
    ]
});

/// The text without secrets, e-mail addresses and home directories.
///
/// ```
/// use loopgate_core::memory::redact;
///
/// assert_eq!(redact("password=hunter2hunter2 at /home/ann/a.rs"), "password=[secret] at ~/a.rs");
/// ```
pub fn redact(text: &str) -> Cow<'_, str> {
    let mut clean = Cow::Borrowed(text);
    for (form, instead) in FORMS.iter() {
        if let Cow::Owned(changed) = form.replace_all(&clean, *instead) {
            clean = Cow::Owned(changed);
        }
    }
    clean
}

/// The same for every text of a document; its keys are ours.
pub fn redact_value(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(clean) = redact(text) {
                *text = clean;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(redact_value),
        Value::Object(fields) => fields.values_mut().for_each(redact_value),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
