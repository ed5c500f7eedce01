//! What must not be shown or written down: the table of secrets, one example each.

use std::{borrow::Cow, sync::LazyLock};

use regex::bytes::{Captures, Regex, RegexBuilder, RegexSet, RegexSetBuilder};

/// Forms that secrets have, and what stands in their place. The tests have an example of each. Order matters: a key's
/// block holds lines that look like other secrets.
const FORMS: [(&str, &str); 15] = [
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
        r#"\b([A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASS|CREDENTIAL)[A-Z0-9_]*["']?\s*=\s*["']?)[^\s"'\[=~>][^\s"',;]*"#,
        "$1[secret]",
    ),
    (
        r#"(?i)\b([\w-]*(?:passw(?:or)?d|passphrase|secret|credentials?|(?:api|access|private|auth|secret)[_-]?key|token)["']?\s*=\s*["']?)[^\s"'&,;\[:=~>][^\s"'&,;]{5,}"#,
        "$1[secret]",
    ),
    (
        r#"\b([A-Z0-9_]*(?:[A-Z0-9]_?KEY|[A-Z0-9]_PASS|PASSW|PASSPHRASE|TOKEN|SECRET|CREDENTIAL)[A-Z0-9_]*["']?\s*:\s*["'])[^\s"'\[:][^"'\r\n]*"#,
        "$1[secret]",
    ),
    (
        r#"(?i)\b([\w-]*(?:passw(?:or)?d|passphrase|secret|credentials?|(?:api|access|private|auth|secret)[_-]?key|token)["']?:\s*["'])[^\s"'&,;\[:][^\s"'&,;]{5,}"#,
        "$1[secret]",
    ),
];

/// Forms of which the group `value` decides: a secret's name and a colon also stand before words, and so do asterisks.
const JUDGED_FORMS: [(&str, &str, Judge); 3] = [
    (
        r#"\b([A-Z0-9_]*(?:KEY|[A-Z0-9]_PASS|PASSW|PASSPHRASE|TOKEN|SECRET|CREDENTIAL)[A-Z0-9_]*["']?\s*:\s*)(?P<value>[^\s"'\[:][^\s"',;]*)"#,
        "$1[secret]",
        is_like_a_secret,
    ),
    (
        r#"(?i)\b([\w-]*(?:passw(?:or)?d|passphrase|secret|credentials?|(?:api|access|private|auth|secret)[_-]?key|token)["']?:\s*)(?P<value>[^\s"'&,;\[:][^\s"'&,;]*)"#,
        "$1[secret]",
        is_like_a_secret,
    ),
    // What GitHub masked: the rest of the value behind it is a part of a secret too.
    (r"\*{3,}(?P<value>[^\s*]\S*)", "***", is_no_word),
];

/// Whether a value is taken out.
type Judge = fn(&[u8]) -> bool;

/// Characters of a value that is a secret without a digit in it.
const LONG: usize = 24;

fn is_like_a_secret(value: &[u8]) -> bool {
    let has_both =
        value.iter().any(u8::is_ascii_digit) && value.iter().any(u8::is_ascii_alphabetic);
    value.len() >= LONG || value.len() >= 6 && has_both
}

/// A word such as `Failed`, which ctest writes behind three asterisks, is no rest of a secret.
fn is_no_word(rest: &[u8]) -> bool {
    let rest = rest.strip_suffix(b":").unwrap_or(rest);
    let is_word = rest.first().is_some_and(u8::is_ascii_uppercase)
        && rest[1..].iter().all(u8::is_ascii_lowercase);
    !is_word
}

/// A form, compiled.
struct Form {
    pattern: Regex,
    instead: &'static [u8],
    judge: Judge,
}

/// The forms in their order. They are ASCII: without the tables of Unicode they take a twentieth of the memory; each
/// class that matches the bytes of other characters repeats, so that no character is cut.
static TABLE: LazyLock<Vec<Form>> = LazyLock::new(|| {
    let always = FORMS
        .iter()
        .map(|(pattern, instead)| (*pattern, *instead, (|_| true) as Judge));
    always
        .chain(JUDGED_FORMS)
        .map(|(pattern, instead, judge)| Form {
            pattern: RegexBuilder::new(pattern)
                .unicode(false)
                .build()
                .expect("a constant"),
            instead: instead.as_bytes(),
            judge,
        })
        .collect()
});

/// Every form at once: most texts have none, which one look finds out.
static ANY: LazyLock<RegexSet> = LazyLock::new(|| {
    let forms = FORMS.iter().map(|(pattern, _)| *pattern);
    let judged = JUDGED_FORMS.iter().map(|(pattern, _, _)| *pattern);
    RegexSetBuilder::new(forms.chain(judged))
        .unicode(false)
        .build()
        .expect("a constant")
});

/// The text without what looks like a secret.
pub fn without_secrets(text: &str) -> Cow<'_, str> {
    if !ANY.is_match(text.as_bytes()) {
        return Cow::Borrowed(text);
    }
    let mut clean = Cow::Borrowed(text.as_bytes());
    for Form {
        pattern,
        instead,
        judge,
    } in TABLE.iter()
    {
        let replaced = pattern.replace_all(&clean, |found: &Captures<'_>| {
            let value = found
                .name("value")
                .map_or(&found[0], |value| value.as_bytes());
            let mut written = Vec::new();
            match judge(value) {
                true => found.expand(instead, &mut written),
                false => written.extend_from_slice(&found[0]),
            }
            written
        });
        if let Cow::Owned(changed) = replaced {
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
    const EXAMPLES: [[&str; 2]; FORMS.len() + JUDGED_FORMS.len()] = [
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
        ["DEPLOY_TOKEN=abc", "DEPLOY_TOKEN=[secret]"],
        ["password=hunter2hunter2", "password=[secret]"],
        [r#"{"DB_PASS": "two words"}"#, r#"{"DB_PASS": "[secret]"}"#],
        [r#"{"token": "abcdef"}"#, r#"{"token": "[secret]"}"#],
        [
            "AWS_SECRET_ACCESS_KEY: wJalr8",
            "AWS_SECRET_ACCESS_KEY: [secret]",
        ],
        ["password: hunter2", "password: [secret]"],
        ["url=https://***rest/x now", "url=https://*** now"],
    ];

    #[test]
    fn each_form_has_its_example() {
        for (form, [text, left]) in TABLE.iter().zip(EXAMPLES) {
            assert!(form.pattern.is_match(text.as_bytes()), "{text}");
            assert_eq!(without_secrets(text), left);
            assert_eq!(without_secrets(left), left, "again");
        }
        assert_eq!(without_secrets("***!*rest"), "***");
        assert_eq!(
            without_secrets("ENCRYPTION KEY: 9f86d081884c7d65"),
            "ENCRYPTION KEY: [secret]"
        );
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
            "--- PASS: TestAdd2 (0.00s)",
            "# PASS:  1",
            "XPASS: fixed by chance",
            "ERROR 1062: DUPLICATE KEY: 'orders_2024'",
            "UNEXPECTED_TOKEN: identifier",
            "error: invalid token: identifier",
            "password: must be given",
            "assert TOKEN == expected",
            "2/3 Test #2: bad ....***Failed    0.01 sec",
            "3/3 Test #3: crash ..***Exception: SegFault  0.02 sec",
        ] {
            assert_eq!(without_secrets(text), text);
        }
    }
}
