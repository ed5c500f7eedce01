//! What must never be written to a memory: secrets, e-mail addresses, home directories.

use std::borrow::Cow;

use serde_json::Value;

use crate::untrusted::without_secrets;

/// The text without secrets, e-mail addresses and home directories.
///
/// ```
/// use loopgate_core::memory::redact;
///
/// assert_eq!(redact("password=hunter2hunter2 at /home/ann/a.rs"), "password=[secret] at ~/a.rs");
/// ```
pub fn redact(text: &str) -> Cow<'_, str> {
    let forms = [
        (pattern!(r"\b[\w.%+-]+(?::[^\s/@]+)?@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b"), "[address]"),
        (pattern!(r#"(?i)(?:/home/|/users/|\b[a-z]:[\\/]+users[\\/]+)[^/\\\s:"'<>|]+|/root\b"#), "~"),
    ];
    let mut clean = without_secrets(text);
    for (form, instead) in forms {
        if let Cow::Owned(changed) = form.replace_all(&clean, instead) {
            clean = Cow::Owned(changed);
        }
    }
    clean
}

/// Redacts every text of a document; its keys are ours.
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
