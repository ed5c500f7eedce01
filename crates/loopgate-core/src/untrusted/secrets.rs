//! What must not be shown or written down: the table of secrets, one example each.

use std::{borrow::Cow, sync::LazyLock};

use regex::bytes::{Regex, RegexBuilder};

/// A form that secrets have: its pattern, what stands in its place, and an example with what is left of it.
struct Mask {
    pattern: &'static str,
    instead: &'static str,
    #[cfg_attr(not(test), expect(dead_code, reason = "the table's test reads it"))]
    example: [&'static str; 2],
}

/// Order matters: a key's block holds lines that look like other secrets.
const FORMS: [Mask; 13] = [
    Mask {
        pattern: r"-----BEGIN [A-Z0-9 ]+-----(?s:.*?)(?:-----END [A-Z0-9 ]+-----|\z)",
        instead: "[secret]",
        example: ["-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----", "[secret]"],
    },
    Mask {
        pattern: r"(?m)^[A-Za-z0-9+/]{60,}={0,2}$",
        instead: "[secret]",
        example: ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj", "[secret]"],
    },
    Mask {
        pattern: r"\b(?:gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,})",
        instead: "[secret]",
        example: ["ghp_0123456789abcdefABCD is used", "[secret] is used"],
    },
    Mask { pattern: r"\bA[KS]IA[0-9A-Z]{16}", instead: "[secret]", example: ["ASIAIOSFODNN7EXAMPLE", "[secret]"] },
    Mask {
        pattern: r"\b(?:xox[a-z]-[\w-]{10,}|sk-[\w-]{16,}|sk_live_\w{10,}|AIza[\w-]{30,})",
        instead: "[secret]",
        example: ["xoxb-0123456789-abc", "[secret]"],
    },
    Mask {
        pattern: r"\b(?:npm_\w{16,}|pypi-[\w-]{16,})",
        instead: "[secret]",
        example: ["pypi-AgEIcHlwaS5vcmcCJGZm", "[secret]"],
    },
    Mask {
        pattern: r"\beyJ[\w-]{10,}\.[\w-]{10,}(?:\.[\w-]+)?",
        instead: "[secret]",
        example: ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2ln", "[secret]"],
    },
    Mask {
        pattern: r#"(?i)\b((?:proxy-)?authorization|(?:set-)?cookie)(["']?\s*[:=]\s*["']?)[^\s"'\[][^\r\n"']*"#,
        instead: "$1$2[secret]",
        example: ["> Cookie: session=1; other=2", "> Cookie: [secret]"],
    },
    Mask {
        pattern: r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{12,}",
        instead: "$1 [secret]",
        example: ["Bearer 0123456789abcdef", "Bearer [secret]"],
    },
    Mask {
        pattern: r"\b([a-z][a-z0-9+.-]*://)[^\s/@\[]+@",
        instead: "$1[secret]@",
        example: ["https://ann:pw@example.com/a", "https://[secret]@example.com/a"],
    },
    Mask {
        pattern: r#"(?i)([?&](?:sig|signature|[\w-]*token|[\w-]*key|x-(?:amz|goog)-[\w-]+|code|sv|se)=)[^&\s"'\[]+"#,
        instead: "$1[secret]",
        example: ["https://x.example/a?se=1&sig=a%2Fb", "https://x.example/a?se=[secret]&sig=[secret]"],
    },
    Mask {
        pattern: r#"\b([A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASS|CREDENTIAL)[A-Z0-9_]*)(["']?\s*[=:]\s*["']?)[^\s"'\[:][^\s"',;]*"#,
        instead: "$1$2[secret]",
        example: ["DEPLOY_TOKEN: abc", "DEPLOY_TOKEN: [secret]"],
    },
    Mask {
        pattern: r#"(?i)\b([\w-]*(?:passw(?:or)?d|passphrase|secret|credentials?|(?:api|access|private|auth|secret)[_-]?key|token))(["']?\s*=\s*["']?|["']?:\s*["']?)[^\s"'&,;\[:][^\s"'&,;]{5,}"#,
        instead: "$1$2[secret]",
        example: ["password=hunter2hunter2", "password=[secret]"],
    },
];

/// What GitHub masked: the rest of the value behind it is a part of a secret too.
const MASKED: (&str, &str) = (r"\*{3,}[^\s*]\S*", "***");

/// The text without what looks like a secret.
pub fn without_secrets(text: &str) -> Cow<'_, str> {
    static TABLE: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        let forms = FORMS.iter().map(|form| (form.pattern, form.instead)).chain([MASKED]);
        forms.map(|(pattern, instead)| (expression(pattern), instead)).collect()
    });
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

/// The forms are ASCII. Without the tables of Unicode they take a twentieth of the memory; each class that matches the
/// bytes of other characters repeats, so that no character is cut.
fn expression(pattern: &str) -> Regex {
    RegexBuilder::new(pattern).unicode(false).build().expect("a constant")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_has_its_example() {
        for Mask { pattern, example: [text, left], .. } in &FORMS {
            assert!(expression(pattern).is_match(text.as_bytes()), "{text}");
            assert_eq!(without_secrets(text), *left);
            assert_eq!(without_secrets(left), *left, "again");
        }
        assert_eq!(without_secrets("url=https://***rest/x now"), "url=https://*** now");
        assert_eq!(without_secrets("***!*rest"), "***");
        assert_eq!(without_secrets("größe password=größe-und-mehr, ß"), "größe password=[secret], ß");
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
