//! Messages without what differs between two runs or two machines: numbers, times, ids, path prefixes, quoted values.

use std::{borrow::Cow, sync::LazyLock};

use regex::{Captures, Regex};

use crate::{
    evidence::ErrorType,
    expressions::compile,
    failure::read::{Reading, paths, text},
};

/// Most bytes of a message that count.
const MAX_MESSAGE: usize = 4 * 1024;

/// The message as it is hashed: for people who wonder why two errors are, or are not, the same.
pub(in crate::failure) fn message(reading: &Reading) -> String {
    let quotes = match reading.error_type {
        // Compilers and linters are about code: what they quote are names, not values of one run.
        ErrorType::CompileError | ErrorType::LintError => Quotes::AreNames,
        _ => Quotes::ByContext,
    };
    // `left: Cart { … }`, `Expected: 3`, `but was: x`
    let labelled = pattern!(
        r"(?i)^((?:left|right|(?:expected|received|actual|got|want|found)(?: [a-z ]{1,30})?|but was|but|to be equal to|expecting actual|which is)\s*:)\s"
    );
    let mut kept = String::new();
    for line in text::prefix(&reading.message, MAX_MESSAGE).lines() {
        let line = line.trim();
        let begins_difference = line.starts_with("- Expected")
            || line == "--- Expected"
            || line == "+ expected - actual"
            || line.ends_with("(-want +got):");
        if begins_difference {
            // What follows are the compared values.
            break;
        }
        // A line of a printed difference: `- "total": 30`, `+ "total": 20`.
        let of_difference = line
            .strip_prefix(['-', '+', '?'])
            .filter(|_| !line.starts_with("+  where"));
        if of_difference.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit())) {
            continue;
        }
        kept.push_str(
            labelled
                .captures(line)
                .and_then(|c| c.get(1))
                .map_or(line, |label| label.as_str()),
        );
        kept.push('\n');
    }
    tokens(&kept, quotes)
}

/// What quotation marks stand around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::failure) enum Quotes {
    AreNames,
    /// Names behind a word that announces one (`attribute 'x'`), else values of one run.
    ByContext,
}

static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    compile(concat!(
        r"(?P<noise>(?-u:\b)[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?-u:\b)",
        // ISO 8601, RFC 2822 and JavaScript's own dates, times of day
        r"|(?-u:\b)[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?(?-u:\b)",
        r"|(?-u:\b)(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? (?:[0-9]{1,2} [A-Z][a-z]{2}|[A-Z][a-z]{2} [0-9]{1,2}) [0-9]{4} [0-9:]{8}(?: GMT| UTC)?(?:[+-][0-9]{4})?(?: \([^)]*\))?",
        r"|(?-u:\b)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?(?-u:\b)",
        r"|(?-u:\b)0[xX][0-9a-fA-F_]+|@[0-9a-f]{1,16}(?-u:\b)",
        r"|(?:expected|was|actual|got):? ?<[^>\n]*>",
        r"|[-+]?(?-u:\b)[0-9][0-9_,]*(?:\.[0-9]+)*(?:[eE][-+]?[0-9]+)? ?(?:[nuµm]?s|secs?|seconds?|m|mins?|minutes?|h|hours?|%|[KMG]i?B|bytes)?(?-u:\b))",
        r"|(?P<url>[a-z][a-z0-9+.-]*://[^\s<>()\[\]`]+)",
        r#"|(?P<quoted>"(?:[^"\\\n]|\\.)*"|“[^”\n]*”|‘[^’\n]*’|`[^`\n]*`)"#,
        r"|(?P<path>(?:[A-Za-z]:[\\/]|~?[\\/]|\.{1,2}[\\/])?[A-Za-z0-9_.@+-]+(?:[\\/][A-Za-z0-9_.@+-]+)+[\\/]?|[\\/][A-Za-z0-9_.@+-]+)",
        r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*(?:'[a-z]{1,2}(?-u:\b))?)",
        r"|(?P<single>'(?:[^'\\\n]|\\.)*')",
    ))
});

/// `text` without what differs between runs: `#` stands for numbers and the like, `"` for quoted values.
pub(in crate::failure) fn tokens(text: &str, quotes: Quotes) -> String {
    let replaced = TOKEN.replace_all(text, |captures: &Captures<'_>| {
        let Some(whole) = captures.get(0) else {
            return String::new();
        };
        let before = &text[..whole.start()];
        let found = whole.as_str();
        if captures.name("noise").is_some() {
            // `Foo@1a2b`, `expected:<x>`: the letters in front are words.
            let words: String = found
                .chars()
                .take_while(|c| c.is_ascii_lowercase() && found.contains('<'))
                .collect();
            format!("{words} # ")
        } else if captures.name("url").is_some() {
            digits(found, 1).into_owned()
        } else if captures.name("quoted").is_some() || captures.name("single").is_some() {
            quoted(before, found, &text[whole.end()..], quotes)
        } else if captures.name("path").is_some() {
            path(found)
        } else {
            word(found)
        }
    });
    // White space is dropped but for one space between two words.
    let mut compact = String::with_capacity(replaced.len());
    for word in replaced.split_whitespace() {
        if word.starts_with(char::is_alphanumeric) && compact.ends_with(char::is_alphanumeric) {
            compact.push(' ');
        }
        compact.push_str(word);
    }
    // Runs of removed values, `[#, #]`, `#:#` and `#..#`, show no more than one.
    pattern!(r"#(?:[.,:;/x_-]*#)+")
        .replace_all(&compact, "#")
        .into_owned()
}

fn quoted(before: &str, found: &str, after: &str, quotes: Quotes) -> String {
    let announced = before
        .trim_end()
        .rsplit(|c: char| !c.is_ascii_alphabetic())
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    // Words that announce a name, and words in front of a value in back-ticks, which otherwise hold code.
    let names = pattern!(concat!(
        "^(?:argument|attribute|class|column|command|component|constant|constraint|crate|element|enum|feature|field",
        "|function|gem|hook|identifier|import|key|label|lifetime|macro|member|method|module|named?|package|parameter",
        "|property|reading|relation|rule|struct|symbol|table|trait|type|variable)$",
    ));
    let values = pattern!(
        "^(?:actual|be|equal|expected|found|got|input|is|received|string|to|value|was|with)$"
    );
    let is_name = match quotes {
        Quotes::AreNames => true,
        Quotes::ByContext if found.starts_with('`') => !values.is_match(&announced),
        // Python names the type first: `'str' object has no attribute 'x'`.
        Quotes::ByContext => names.is_match(&announced) || after.starts_with(" object "),
    };
    if !is_name {
        return " \" ".to_owned();
    }
    let inner = found.trim_matches(['"', '\'', '`', '“', '”', '‘', '’']);
    // One level deep: the inside of a name holds no quotation that could nest further.
    let plain: String = inner
        .chars()
        .filter(|c| !matches!(c, '"' | '\'' | '`'))
        .collect();
    format!("'{}'", tokens(&plain, Quotes::AreNames))
}

fn path(found: &str) -> String {
    let separators = found.matches(['/', '\\']).count();
    let has_extension = paths::file_name(found)
        .trim_start_matches('.')
        .contains('.');
    if separators == 1 && !has_extension && !found.starts_with(['/', '\\', '.', '~']) {
        // `and/or`, `12/30`
        return digits(found, 1).into_owned();
    }
    let tidy = paths::tidy(found);
    let name = paths::file_name(&tidy);
    let temporary = ["/tmp/", "/var/folders/", "/Temp/", "/pytest-of-"]
        .iter()
        .any(|mark| format!("/{tidy}/").contains(mark));
    if temporary && (!name.contains('.') || name.contains(|c: char| c.is_ascii_digit())) {
        "#".to_owned()
    } else {
        word(name)
    }
}

/// A word; long numbers inside it, and words that are hexadecimal numbers, are ids of one run.
fn word(found: &str) -> String {
    let is_hex = found.len() >= 7
        && found
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        && found.bytes().any(|b| b.is_ascii_digit());
    if is_hex {
        " # ".to_owned()
    } else {
        digits(found, 5).into_owned()
    }
}

/// `found` with each run of at least `min` digits replaced.
fn digits(found: &str, min: usize) -> Cow<'_, str> {
    let shown = |run: &Captures<'_>| {
        if run[0].len() >= min {
            "#".to_owned()
        } else {
            run[0].to_owned()
        }
    };
    pattern!("[0-9]+").replace_all(found, shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Failure;

    fn said(message: &str) -> String {
        {
            let failure = Failure {
                error_class: Some("Error".into()),
                error_message: message.to_owned(),
                ..Failure::default()
            };
            super::message(&Reading::of(&failure))
        }
    }

    #[test]
    fn messages_without_their_noise() {
        let cases = [
            ("took 5123ms, limit 5 s", "took#,limit#"),
            (
                "user 6f9619ff-8b86-d011-b42d-00cf4fc964ff at 0x7f3a is gone",
                "user#at#is gone",
            ),
            ("at 2026-11-20T03:14:15.123Z: late", "at#:late"),
            ("expected 'alice' to equal 'bob'", "expected\"to equal\""),
            ("expected `alice`, got `bob`", "expected\",got\""),
            ("name 'total' is not defined", "name'total'is not defined"),
            (
                "'NoneType' object has no attribute 'price'",
                "'NoneType'object has no attribute'price'",
            ),
            (
                "called `Option::unwrap()` on a `None` value",
                "called'Option::unwrap()'on a'None'value",
            ),
            (
                "no such file: /home/runner/work/w/w/data/prices.csv:12:5",
                "no such file:prices.csv:#",
            ),
            (
                r"no such file: C:\w\data\prices.csv",
                "no such file:prices.csv",
            ),
            ("cannot open /tmp/tmpx81ja2/out", "cannot open#"),
            (
                "GET http://127.0.0.1:43121/api/carts/42 failed",
                "GET http://#/api/carts/#failed",
            ),
            (
                "Cart@1a2b3c lost worker_48213 of u32",
                "Cart#lost worker_#of u32",
            ),
            ("expected:<3> but was:<4>", "expected#but was#"),
            ("sums [1, 2, 3] and/or don't", "sums[#]and/or don't"),
            (
                "assertion `left == right` failed: total\n  left: Cart { id: 3 }\n right: Cart { id: 4 }",
                "assertion'left==right'failed:total left:right:",
            ),
            ("\u{1b}[31mexpected\u{1b}[0m   3\n", "expected#"),
        ];
        for (message, normal) in cases {
            assert_eq!(said(message), normal, "{message}");
        }
    }
}
