//! Text of tools, made small and plain before anything reads it.
//!
//! Every function that reads a failure cuts its input here first, so that a message of many megabytes costs what a
//! message of [`MAX_TEXT`] bytes costs.

use std::borrow::Cow;

use crate::{letters::is_invisible, untrusted::without_sequences};

/// Most bytes of one text that are ever looked at: two thirds from its head, one third from its tail.
pub(in crate::failure) const MAX_TEXT: usize = 48 * 1024;

/// Longest line that is looked at, in bytes; minified code and dumped values show nothing more further right.
const MAX_LINE: usize = 2_000;

/// Most lines that are looked at, divided like the bytes.
const MAX_LINES: usize = 600;

/// What stands where a text was cut.
const CUT: &str = "\n[…]\n";

/// `text` cut to [`MAX_TEXT`] and 600 lines, its lines to 2,000 bytes, and without ANSI escapes, control and invisible
/// characters.
pub(in crate::failure) fn clean(text: &str) -> String {
    let text = match text.len() {
        ..=MAX_TEXT => Cow::Borrowed(text),
        _ => {
            let head = prefix(text, MAX_TEXT / 3 * 2);
            Cow::Owned([head, CUT, suffix(text, MAX_TEXT - head.len() - CUT.len())].concat())
        }
    };
    let lines: Vec<&str> = text.lines().collect();
    let (head, tail) = if lines.len() > MAX_LINES {
        (MAX_LINES / 3 * 2, MAX_LINES / 3)
    } else {
        (lines.len(), 0)
    };
    let mut out = String::with_capacity(text.len());
    let mut is_step_heading = false;
    for line in lines[..head].iter().chain(&lines[lines.len() - tail..]) {
        let line = plain(line);
        let line = without_stamp(&line);
        // JUnit's console draws a tree in front of each line, Terraform a margin.
        const DRAWN: [char; 3] = ['│', '╷', '╵'];
        let inside = line.trim_start_matches(|c: char| DRAWN.contains(&c) || c == ' ');
        let margin = || " ".repeat(line.chars().count() - inside.chars().count());
        let drawn = line.starts_with(DRAWN).then(|| margin() + inside);
        let line = drawn.as_deref().unwrap_or(line);
        // Above what a step prints GitHub writes the step itself, and behind it how the job is cleaned up.
        is_step_heading |= line.starts_with("##[group]Run ");
        if is_step_heading {
            is_step_heading = line != "##[endgroup]";
            continue;
        }
        if line.starts_with("##[error]Process completed with exit code ") {
            break;
        }
        // The line that joining a thread prints for a panic; the panic's own message stands above.
        if line.ends_with("` value: Any { .. }") && out.matches(" panicked at ").count() > 1 {
            continue;
        }
        out.push_str(prefix(line, MAX_LINE).trim_end());
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    out
}

/// The longest beginning of `text` of at most `max` bytes that ends between characters.
pub(in crate::failure) fn prefix(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

/// The longest end of `text` of at most `max` bytes that begins between characters.
pub(in crate::failure) fn suffix(text: &str, max: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(max))..]
}

/// The line without the time that GitHub writes in front of each line of a job's log: `2026-11-20T22:14:38.8968067Z `.
pub fn without_stamp(line: &str) -> &str {
    const FORM: &[u8] = b"0000-00-00T00:00:00.0000000Z";
    let unmarked = line.trim_start_matches('\u{feff}');
    let (stamp, rest) = unmarked
        .split_at_checked(FORM.len())
        .unwrap_or(("", unmarked));
    let fits = |(byte, form): (u8, &u8)| {
        if *form == b'0' {
            byte.is_ascii_digit()
        } else {
            byte == *form
        }
    };
    if !stamp.is_empty() && stamp.bytes().zip(FORM).all(fits) {
        rest.strip_prefix(' ').unwrap_or(rest)
    } else {
        line
    }
}

/// Whether a line of a tool that is not known shows that something went wrong: by its words, and as no warning.
pub fn names_failure(line: &str) -> bool {
    let fails = pattern!(concat!(
        "abort|assert|cannot|can't|couldn't|could not|crash|denied|error|exceed|exception|expected|fail|fatal",
        "|invalid|missing|no such|no tests? (?:files? )?found|not found|not met|unable|undefined|unknown",
    ));
    // `Fail: 1 (100%)`, `0 errors`, `1 failed`
    let sum = pattern!(concat!(
        r"^(?:fail|failed|errors|failures):\s*[0-9]",
        r"|(?:^| )[0-9]+ (?:error|fail|test|pass|problem|issue|warning|violation)",
    ));
    let lower = prefix(line.trim_start(), 400).to_ascii_lowercase();
    !is_remark(line)
        && !sum.is_match(&lower)
        && !lower.ends_with(':')
        && !lower.ends_with(": 0")
        && fails.is_match(&lower)
}

/// Whether a text says no more than how something ended: `Failed`, `failure`, `Failure!`, `NoneType: None`, or nothing.
pub fn is_outcome(text: &str) -> bool {
    let outcome = pattern!(concat!(
        r"(?i)^\W*(?:(?:an? )?(?:(?:unexpected|uncaught|collection|test|assertion) )?",
        r"(?:fail(?:s|ed|ure)?|error(?:ed)?|exception|broken|other)(?: test)?",
        r"|none(?:type)?(?:: none)?|contains [0-9]+ failed subtests?|[0-9]+ subtests? failed|[0-9]+ assertion(?:s|\(s\))? failed",
        r"|stack ?trace|output)?\W*$",
    ));
    text.len() < 60 && outcome.is_match(text)
}

/// Whether a line only accompanies what a tool shows.
pub(in crate::failure) fn is_remark(line: &str) -> bool {
    let starts = pattern!(concat!(
        r"^(?:warn|\(node:|deprecat|note|info|using |checking |see |configuring incomplete|linting|summary|total",
        "|some errors were)",
    ));
    starts.is_match(
        &prefix(line.trim_start_matches([' ', '×', '✖', '#', '-']), 40).to_ascii_lowercase(),
    )
}

/// One line without escape sequences, with plain spaces for each tab, and nothing that cannot be seen.
fn plain(line: &str) -> Cow<'_, str> {
    // Most lines are so already: a sequence begins with ESC, or where that was lost with a bracket.
    if line
        .bytes()
        .all(|byte| matches!(byte, b' '..=b'~') && byte != b'[')
    {
        return Cow::Borrowed(line);
    }
    // XML cannot hold the escape character; reports keep the rest of the colour sequence. `[5ms]` and `[3m]` are
    // durations.
    let rest_of_sequence = pattern!(concat!(
        r"(?P<duration>\[[0-9]+m(?:\]|s[\] ,]))",
        r"|\[(?:[0-9]|[349][0-9]|2[1-9])(?:;(?:[0-9]|[349][0-9]|2[1-9]))*m",
    ));
    let visible = without_sequences(line, is_invisible);
    let visible = rest_of_sequence.replace_all(&visible, "$duration");
    Cow::Owned(visible.replace('\t', "    ").replace('\u{a0}', " "))
}

/// `text` on one line: runs of white space become one space; at most `max` characters, the cut shown as `…`.
pub(in crate::failure) fn one_line(text: &str, max: usize) -> String {
    let words: Vec<Cow<'_, str>> = prefix(text, MAX_TEXT)
        .split_whitespace()
        .map(plain)
        .collect();
    shorten(&words.join(" "), max)
}

/// At most `max` characters of `text`, the cut shown as `…`.
pub(in crate::failure) fn shorten(text: &str, max: usize) -> String {
    if text.chars().nth(max).is_none() {
        return text.to_owned();
    }
    let kept: String = text.chars().take(max.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// `text` as a code span of one line; the blanks in it are kept where it was on one line. Back-ticks inside become
/// apostrophes, so the span cannot be closed from within.
pub(in crate::failure) fn code(text: &str) -> String {
    let (text, is_on_line) = (text.trim(), !text.trim().contains(['\n', '\t']));
    let inner = if is_on_line {
        shorten(&plain(prefix(text, MAX_TEXT)), 160)
    } else {
        one_line(text, 160)
    };
    let inner = inner.replace('`', "'");
    if inner.is_empty() {
        "(empty)".to_owned()
    } else {
        format!("`{inner}`")
    }
}

/// A tool's line without the clauses in which it muses about what one might do; feedback shows what to do.
pub(in crate::failure) fn without_advice(line: &str) -> &str {
    const MUSING: [&str; 6] = [
        "consider",
        "maybe",
        "perhaps",
        "might ",
        "could be ",
        "you may ",
    ];
    let lower = line.to_ascii_lowercase();
    let Some(start) = MUSING.iter().filter_map(|word| lower.find(word)).min() else {
        return line;
    };
    // ASCII lower-casing keeps every offset.
    let before = &line[..start];
    let end = before.rfind(['.', ';', ',', ':', '(', '?']).unwrap_or(0);
    line[..end].trim_end()
}

/// Head and tail of a trace, and what was cut out between them.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Excerpt {
    pub head: String,
    /// Lines left out between head and tail.
    pub cut_lines: usize,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tail: String,
}

impl Excerpt {
    /// At most `lines` lines of a trace (two thirds of them from the head), cleaned, each of at most 240 bytes.
    pub fn of(trace: &str, lines: usize) -> Self {
        let cleaned = clean(trace);
        let all: Vec<&str> = cleaned.lines().map(|line| prefix(line, 240)).collect();
        let total = trace.lines().count().max(all.len());
        if all.len() <= lines && total == all.len() {
            return Self {
                head: all.join("\n"),
                cut_lines: 0,
                tail: String::new(),
            };
        }
        let head = (lines * 2).div_ceil(3).min(all.len());
        let tail = lines.saturating_sub(head).min(all.len() - head);
        Self {
            head: all[..head].join("\n"),
            cut_lines: total.saturating_sub(head + tail),
            tail: all[all.len() - tail..].join("\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_invisible_characters_go() {
        let cases = [
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}[1;38;5;196mred\u{1b}[39m", "red"),
            ("\u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{1b}\\", "link"),
            ("[31mexpected[39m [2mgrey[22m", "expected grey"),
            ("array[3] took [5ms]", "array[3] took [5ms]"),
            ("a\u{202e}b\u{200b}c\u{0}d\r", "abcd"),
            ("FAILED\u{1b}(B\u{1b}[m", "FAILED"),
            ("unfinished \u{1b}[", "unfinished"),
        ];
        for (text, expected) in cases {
            assert_eq!(clean(text), expected, "{text:?}");
        }
    }

    #[test]
    fn ten_megabytes_become_forty_eight_kibibytes() {
        let text = format!("first\n{}\nlast", "ä".repeat(5_000_000));
        let cleaned = clean(&text);
        assert!(cleaned.len() <= MAX_TEXT);
        assert!(
            cleaned.starts_with("first\n") && cleaned.ends_with("[…]") | cleaned.ends_with("last")
        );
    }

    #[test]
    fn a_code_span_cannot_be_closed_from_within() {
        assert_eq!(code("a `b`\n``` c"), "`a 'b' ''' c`");
        assert_eq!(code(" \n"), "(empty)");
        assert_eq!(code(&"x".repeat(500)).chars().count(), 162);
    }

    #[test]
    fn one_line_counts_characters() {
        assert_eq!(one_line("  a\n\n b\tc ", 80), "a b c");
        assert_eq!(one_line("éééééé", 4), "ééé…");
        assert_eq!(one_line("ab  cd", 5), "ab cd");
        assert_eq!(one_line("ab cde", 5), "ab c…");
    }

    #[test]
    fn the_cut_of_an_excerpt_is_counted() {
        let text = (1..=10)
            .map(|n| n.to_string())
            .collect::<Vec<_>>()
            .join("\n");
        let excerpt = Excerpt::of(&text, 3);
        assert_eq!(
            (
                excerpt.head.as_str(),
                excerpt.cut_lines,
                excerpt.tail.as_str()
            ),
            ("1\n2", 7, "10")
        );
        let whole = Excerpt::of(&text, 10);
        assert_eq!((whole.head.lines().count(), whole.cut_lines), (10, 0));
        assert_eq!(Excerpt::of(&text, 0).cut_lines, 10);
    }

    #[test]
    fn the_lines_of_a_job_are_what_its_step_printed() {
        let log = "\u{feff}2026-11-20T22:14:50.0071381Z ##[group]Run go test ./...\n\
                   2026-11-20T22:14:50.0144308Z shell: /usr/bin/bash -e {0}\n\
                   2026-11-20T22:14:50.0313985Z ##[endgroup]\n\
                   2026-11-20T22:14:50.4313985Z   indented\n\
                   2026-11-20T22:14:50.4313985Z \n\
                   2026-11-20T22:14:50.7680466Z ##[error]Process completed with exit code 1.\n\
                   2026-11-20T22:14:51.0014785Z git version 2.51.0";
        assert_eq!(clean(log), "  indented");
        assert_eq!(
            without_stamp("2026-11-20T22:14:50Z started"),
            "2026-11-20T22:14:50Z started"
        );
    }

    #[test]
    fn failures_are_told_by_their_words() {
        for line in [
            "unable to prepare context: lstat Dockerfile",
            "ASSERT FAILED: total is 3",
            "Cannot find x",
            "No test files found, exiting with code 1",
        ] {
            assert!(names_failure(line), "{line}");
        }
        for line in [
            "warning: x failed",
            "DEPRECATED: missing",
            "0 errors, 1 warning",
            "1 scenario passed, 1 failed",
            "ok",
        ] {
            assert!(!names_failure(line), "{line}");
        }
    }

    #[test]
    fn a_tool_s_advice_is_not_repeated() {
        let cases = [
            ("unused import; consider removing it", "unused import"),
            ("cannot find `x`; maybe a typo?", "cannot find `x`"),
            ("this loop could be written as a `for` loop", ""),
            ("consider using `?`", ""),
        ];
        for (line, kept) in cases {
            assert_eq!(without_advice(line), kept);
        }
    }
}
