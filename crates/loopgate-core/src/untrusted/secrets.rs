//! What must not be shown or written down: the table of secrets, one example each.

use std::{borrow::Cow, sync::LazyLock};

use regex::bytes::{Regex, RegexBuilder};

/// Forms that secrets have, and what stands in their place. The tests have an example of each. Order matters: a key's
/// block holds lines that look like other secrets.
const FORMS: [(&str, &str); 14] = [
    (
        r"-----BEGIN [A-Z0-9 ]+-----(?s:.*?)(?:-----END [A-Z0-9 ]+-----|\z)",
        "[secret]",
    ),
    (r"(?m)^[A-Za-z0-9+/]{60,}={0,2}$", "[secret]"),
    (
        r"\b(?:gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,})",
        "[secret]",
    ),
    (r"\bA[KS]IA[0-9A-Z]{16}[\w/+=]*", "[secret]"),
    (
        r"\b(?:xox[a-z]-[\w-]{10,}|sk-[\w-]{16,}|sk_live_\w{10,}|AIza[\w-]{30,})",
        "[secret]",
    ),
    (r"\b(?:npm_\w{16,}|pypi-[\w-]{16,})", "[secret]"),
    (r"\beyJ[\w-]{10,}\.[\w-]{10,}(?:\.[\w-]+)?", "[secret]"),
    (
        r#"(?i)\b((?:proxy-)?authorization|(?:set-)?cookie)(["']?\s*[:=]\s*["']?)[^\s"'\[][^\r\n"']*"#,
        "$1$2[secret]",
    ),
    (r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{12,}", "$1 [secret]"),
    (r"\b([a-z][a-z0-9+.-]*://)[^\s/@\[]+@", "$1[secret]@"),
    (
        r#"(?i)([?&](?:sig|signature|[\w-]*token|[\w-]*key|x-(?:amz|goog)-[\w-]+|code|sv|se)=)[^&\s"'\[]+"#,
        "$1[secret]",
    ),
    (
        r#"\b([A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASS|CREDENTIAL)[A-Z0-9_]*)(["']?\s*[=:]\s*["']?)[^\s"'\[:][^\s"',;]*"#,
        "$1$2[secret]",
    ),
    (
        r#"(?i)\b([\w-]*(?:passw(?:or)?d|passphrase|secret|credentials?|(?:api|access|private|auth|secret)[_-]?key|token))(["']?\s*=\s*["']?|["']?:\s*["']?)[^\s"'&,;\[:][^\s"'&,;]{5,}"#,
        "$1$2[secret]",
    ),
    // What GitHub masked: the rest of the value behind it is a part of a secret too.
    (r"\*{3,}[^\s*]\S*", "***"),
];

/// The forms, compiled. They are ASCII: without the tables of Unicode they take a twentieth of the memory; each class
/// that matches the bytes of other characters repeats, so that no character is cut.
static TABLE: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let compiled = |pattern| {
        RegexBuilder::new(pattern)
            .unicode(false)
            .build()
            .expect("a constant")
    };
    FORMS
        .iter()
        .map(|(pattern, instead)| (compiled(pattern), *instead))
        .collect()
});

/// The text without what looks like a secret.
pub fn without_secrets(text: &str) -> Cow<'_, str> {
    let mut clean = Cow::Borrowed(text.as_bytes());
    for (form, instead) in TABLE.iter() {
        if let Cow::Owned(changed) = form.replace_all(&clean, instead.as_bytes()) {
            clean = Cow::Owned(changed);
        }
    }
    match clean {
        Cow::Borrowed(_) => Cow::Borrowed(text),
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For each form a text, and what is left of it.
    const EXAMPLES: [[&str; 2]; FORMS.len()] = [
        [
            "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----",
            "[secret]",
        ],
        [
            "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj",
            "[secret]",
        ],
        ["ghp_0123456789abcdefABCD is used", "[secret] is used"],
        ["ASIAIOSFODNN7EXAMPLE", "[secret]"],
        ["xoxb-0123456789-abc", "[secret]"],
        ["pypi-AgEIcHlwaS5vcmcCJGZm", "[secret]"],
        ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2ln", "[secret]"],
        ["> Cookie: session=1; other=2", "> Cookie: [secret]"],
        ["Bearer 0123456789abcdef", "Bearer [secret]"],
        [
            "https://ann:pw@example.com/a",
            "https://[secret]@example.com/a",
        ],
        [
            "https://x.example/a?se=1&sig=a%2Fb",
            "https://x.example/a?se=[secret]&sig=[secret]",
        ],
        ["DEPLOY_TOKEN: abc", "DEPLOY_TOKEN: [secret]"],
        ["password=hunter2hunter2", "password=[secret]"],
        ["url=https://***rest/x now", "url=https://*** now"],
    ];

    #[test]
    fn each_form_has_its_example() {
        for ((form, _), [text, left]) in TABLE.iter().zip(EXAMPLES) {
            assert!(form.is_match(text.as_bytes()), "{text}");
            assert_eq!(without_secrets(text), left);
            assert_eq!(without_secrets(left), left, "again");
        }
        assert_eq!(without_secrets("***!*rest"), "***");
        assert_eq!(
            without_secrets("größe password=größe-und-mehr, ß"),
            "größe password=[secret], ß"
        );
    }

    #[test]
    fn what_tools_say_of_keys_and_tokens_stays() {
        for text in [
            "KeyError: 'price'",
            "SyntaxError: unexpected token: }",
            "12 passed, 3 failed",
            "error: primary key is missing",
            "FAILED tests/test_token.py::test_secret - assert 1 == 2",
            "Pass: 3, fail: 1",
        ] {
            assert_eq!(without_secrets(text), text);
        }
    }
}
