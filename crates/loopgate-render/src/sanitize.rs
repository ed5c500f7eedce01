//! Text from outside, made safe to show on GitHub.
//!
//! Test names, messages, branch names, titles: the author of a pull request chooses them. Shown as they are, they could
//! mention people, close our code fences, forge our hidden markers, draw links, or hide words from the reader.
//! Everything passes through here on its way into a [`Markdown`].
//!
//! GitHub looks for mentions, issue numbers and bare addresses in the *rendered* text, where a backslash or an entity
//! no longer shows; only code spans and an invisible joiner inside the token keep it from finding them. So names and
//! places that people copy are shown as code, unchanged, and prose gets the joiner.

use std::{
    borrow::Cow,
    fmt::{self, Write as _},
};

use loopgate_core::untrusted::{without_commands, without_sequences};
use minijinja::value::{Value, serializing_for_value};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::plain::plain;

/// Invisible, no line break, and not part of any token GitHub looks for.
const JOINER: char = '\u{2060}';

/// Markdown that is safe to put on a pull request as it stands: our own words, or text that was made safe.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(inline)]
pub struct Markdown(String);

impl Markdown {
    /// Our own words, and texts put together from safe parts. Never for anything that came from outside.
    pub(super) fn ours(words: impl Into<String>) -> Self {
        Self(words.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn into_string(self) -> String {
        self.0
    }

    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Markdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Templates escape every string except those that arrive marked as safe, and this is the only type that does. A
/// document for programs holds the plain text.
impl Serialize for Markdown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializing_for_value() {
            return Value::from_safe_string(self.0.clone()).serialize(serializer);
        }
        plain(&self.0).serialize(serializer)
    }
}

/// One line of prose. What stands between single backticks stays a code span.
pub fn text(raw: &str) -> Markdown {
    prose(&line(raw))
}

/// One line of prose of at most `most` characters before escaping.
pub fn short_text(raw: &str, most: usize) -> Markdown {
    prose(&short_line(raw, most))
}

/// One plain line of at most `most` characters. Of a huge text only the beginning is looked at.
pub fn short_line(raw: &str, most: usize) -> String {
    let looked_at = raw
        .get(..raw.floor_char_boundary(most.saturating_mul(8)))
        .unwrap_or(raw);
    let line = line(looked_at);
    if looked_at.len() < raw.len() && line.chars().count() < most {
        format!("{line}…")
    } else {
        clip(&line, most).into_owned()
    }
}

fn prose(line: &str) -> Markdown {
    let pieces: Vec<&str> = line.split('`').collect();
    let spans = || pieces.iter().skip(1).step_by(2);
    if pieces.len().is_multiple_of(2) || spans().any(|span| span.trim().is_empty()) {
        return Markdown(escape_prose(line));
    }
    let shown = pieces.iter().enumerate().map(|(i, piece)| match i % 2 {
        0 => escape_names(piece),
        _ => code(piece).into_string(),
    });
    Markdown(shown.collect())
}

/// Prose in which `paths::of::tests` become code spans: people copy them, and to GitHub `:tests:` may be an emoji.
fn escape_names(prose: &str) -> String {
    let mut out = String::with_capacity(prose.len());
    let mut plain = String::new();
    for word in prose.split_inclusive(' ') {
        let name = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
        match name.contains("::").then(|| word.split_once(name)).flatten() {
            Some((before, after)) => {
                plain.push_str(before);
                out.push_str(&escape_prose(&std::mem::take(&mut plain)));
                out.push_str(code(name).as_str());
                plain.push_str(after);
            }
            None => plain.push_str(word),
        }
    }
    out.push_str(&escape_prose(&plain));
    out
}

/// A code span: for names, places, everything people copy.
pub fn code(raw: &str) -> Markdown {
    span(&short_line(raw, 300))
}

/// A command as plain text of one line: whole, and with all of its blanks.
pub fn command(raw: &str) -> String {
    block(raw).replace('\n', " ")
}

/// The same as a code span.
pub fn command_code(raw: &str) -> Markdown {
    span(&command(raw))
}

fn span(content: &str) -> Markdown {
    if content.is_empty() {
        return Markdown("(empty)".to_owned());
    }
    if content.contains('|') {
        // Inside a table a bar ends the cell even within a code span. Every ASCII punctuation character as an entity is
        // inert in Markdown, HTML and tables alike.
        let entity = |c: char| {
            if c.is_ascii_punctuation() {
                format!("&#{};", u32::from(c))
            } else {
                c.to_string()
            }
        };
        return Markdown(format!(
            "<code>{}</code>",
            content.chars().map(entity).collect::<String>()
        ));
    }
    let ticks = "`".repeat(longest_run(content, '`') + 1);
    let pad = if content.starts_with('`') || content.ends_with('`') {
        " "
    } else {
        ""
    };
    Markdown(format!("{ticks}{pad}{content}{pad}{ticks}"))
}

/// Code for the `<summary>` line of a collapsed section, where no Markdown is read.
pub fn summary_code(raw: &str) -> Markdown {
    Markdown(format!(
        "<code>{}</code>",
        escape_html(&short_line(raw, 160))
    ))
}

/// A fenced block. The fence is longer than any run of backticks inside.
pub fn fence(language: &'static str, raw: &str) -> Markdown {
    let mut content = block(raw);
    if language == "text" {
        // What programs print: other bots read it as well.
        content = content
            .lines()
            .map(without_commands)
            .collect::<Vec<_>>()
            .join("\n");
    }
    let ticks = "`".repeat(longest_run(&content, '`').max(2) + 1);
    Markdown(format!(
        "{ticks}{language}\n{}\n{ticks}",
        content.trim_end()
    ))
}

/// One plain line without control characters or invisible ones, for places that read no Markdown: titles, terminals.
pub fn line(raw: &str) -> String {
    break_markers(clean(raw).split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Plain text with its lines kept.
pub fn block(raw: &str) -> String {
    break_markers(clean(raw).into_owned())
}

/// A plain text with its blanks, at most `most` characters: they may be what differs between two values. Its lines
/// stand behind each other.
pub fn exact(raw: &str, between: &str, most: usize) -> String {
    let text = block(raw).replace('\t', "\\t");
    let lines: Vec<&str> = text
        .lines()
        .map(|line| if between == " " { line.trim() } else { line })
        .collect();
    clip(&lines.join(between), most).into_owned()
}

/// At most `most` characters, the cut shown.
pub fn clip(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most || text.char_indices().nth(most).is_none() {
        return Cow::Borrowed(text);
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    Cow::Owned(format!("{}…", kept.trim_end()))
}

/// Head and tail of a long text, at most `most` lines of at most 400 characters, the cut counted.
pub fn clip_lines(text: &str, most: usize) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let shown = |line| clip(line, 400);
    if lines.len() <= most {
        return lines.into_iter().map(shown).collect::<Vec<_>>().join("\n");
    }
    let head = most.saturating_sub(most / 3);
    let tail = most - head;
    let cut = lines.len() - head - tail;
    let mut kept: Vec<Cow<'_, str>> = lines.iter().copied().take(head).map(shown).collect();
    kept.push(Cow::Owned(format!("… {cut} lines cut …")));
    kept.extend(lines.iter().copied().skip(head + cut).map(shown));
    kept.join("\n")
}

/// An address that may be linked: `http` or `https`, with every character escaped that could end a Markdown link.
pub fn address(raw: &str) -> Option<String> {
    let url = url::Url::parse(raw.trim()).ok()?;
    if !matches!(url.scheme(), "https" | "http")
        || url.host_str().is_none()
        || !url.username().is_empty()
    {
        return None;
    }
    let escaped = percent_encoded(url.as_str(), "-._~:/?#@!$&+,;=%");
    (escaped.len() <= 1000).then_some(escaped)
}

/// Percent-encodes a path's segments; none for a path that leaves the repository.
pub fn path_in_address(path: &str) -> Option<String> {
    let leaves =
        path.starts_with('/') || path.contains('\\') || path.split('/').any(|part| part == "..");
    if leaves || path.is_empty() || path.len() > 500 || path.chars().any(char::is_control) {
        return None;
    }
    Some(percent_encoded(path, "-._/"))
}

/// Letters, digits and these marks as they are, every other byte by its number.
pub fn percent_encoded(text: &str, marks: &str) -> String {
    let is_kept = |c: char| c.is_ascii_alphanumeric() || marks.contains(c);
    let shown = |c: char| {
        if is_kept(c) {
            c.to_string()
        } else {
            format!("%{:02X}", u32::from(c))
        }
    };
    text.bytes().map(|byte| shown(char::from(byte))).collect()
}

/// Removes what a reader cannot see: colour codes, control characters, direction overrides, invisible letters.
/// Line breaks and tabs stay.
fn clean(raw: &str) -> Cow<'_, str> {
    const BREAKS: [char; 4] = ['\r', '\u{85}', '\u{2028}', '\u{2029}'];
    let may_break = raw.contains('\r') || !raw.is_ascii();
    if may_break && raw.contains(BREAKS) {
        return Cow::Owned(clean(&raw.replace("\r\n", "\n").replace(BREAKS, "\n")).into_owned());
    }
    without_sequences(raw, |c| {
        c.is_control() && c != '\n' && c != '\t' || is_invisible(c)
    })
}

/// Characters that show nothing and so can only deceive: direction marks and overrides, zero-width spaces, soft
/// hyphens, the tag block. The joiners U+200C and U+200D stay: scripts and emoji are written with them.
const fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Our hidden markers are found by their text, in code blocks too, so text that is not ours must not hold the beginning
/// of one.
fn break_markers(text: String) -> String {
    if text.contains("<!--") {
        text.replace("<!--", &format!("<!{JOINER}--"))
    } else {
        text
    }
}

/// Prose of one line → Markdown that shows exactly it and does nothing.
fn escape_prose(line: &str) -> String {
    let chars: Vec<char> = line.chars().collect();
    let mut out = String::with_capacity(line.len() + line.len() / 8);
    // Where the number of an ordered-list mark at the very beginning ends: `12.`, `3)`.
    let list_mark =
        Some(chars.iter().take_while(|c| c.is_ascii_digit()).count()).filter(|digits| *digits > 0);
    let hashes = hash_breaks(&chars);
    for (i, &c) in chars.iter().enumerate() {
        let (before, from) = chars.split_at(i);
        let after = from.get(1..).unwrap_or_default();
        let (previous, next) = (before.last().copied(), after.first().copied());
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let ends_with = |end: &str| {
            i >= end.len()
                && before
                    .iter()
                    .rev()
                    .zip(end.chars().rev())
                    .all(|(a, b)| a.eq_ignore_ascii_case(&b))
        };
        match c {
            '\\' | '`' | '*' | '[' | ']' | '|' | '~' => out.extend(['\\', c]),
            '_' if is_word(previous) && is_word(next) => out.push('_'),
            '_' => out.push_str("\\_"),
            '<' => out.push_str("&lt;"),
            '>' if i == 0 => out.push_str("&gt;"),
            '&' if next.is_some_and(|c| c == '#' || c.is_ascii_alphanumeric()) => {
                out.push_str("&amp;")
            }
            // Dollars delimit mathematics.
            '$' => out.push_str("&#36;"),
            '@' => out.extend(['@', JOINER]),
            '#' if next.is_some_and(|c| c.is_ascii_digit()) => {
                out.push_str(if i == 0 { "\\#" } else { "#" });
                out.push(JOINER);
            }
            '#' | '-' | '+' | '=' if i == 0 => out.extend(['\\', c]),
            '-' if next.is_some_and(|c| c.is_ascii_digit()) && ends_with("gh") => {
                out.extend(['-', JOINER]);
            }
            ':' if next == Some('/') || starts_shortcode(after) => out.extend([':', JOINER]),
            '.' if ends_with("www") => out.extend([JOINER, '.']),
            '.' | ')' if list_mark == Some(i) && next.is_none_or(|c| c == ' ') => {
                out.extend(['\\', c])
            }
            _ => out.push(c),
        }
        if hashes.contains(&i) {
            out.push(JOINER);
        }
    }
    out
}

/// Whether what follows a colon makes it an emoji shortcode: `rocket:`.
fn starts_shortcode(after: &[char]) -> bool {
    let length = after
        .iter()
        .take_while(|c| c.is_ascii_alphanumeric() || "_+-".contains(**c))
        .count();
    let name: String = after.iter().take(length).collect();
    // Few names have no letter, so that most places in files (`a.rs:10:5`) can stay as they are.
    let is_name = name.contains(|c: char| c.is_ascii_alphabetic())
        || ["100", "1234", "+1", "-1"].contains(&&*name);
    // At the end of the text, the closing colon may be ours.
    is_name && after.get(length).is_none_or(|c| *c == ':')
}

/// After which characters to put a joiner so that no 7 to 40 hexadecimal digits in a row are taken for a commit.
fn hash_breaks(chars: &[char]) -> Vec<usize> {
    let mut breaks = Vec::new();
    let mut start = 0;
    for word in chars.split(|c| !c.is_alphanumeric() && *c != '_') {
        let hexadecimal =
            word.iter().all(char::is_ascii_hexdigit) && word.iter().any(char::is_ascii_digit);
        if (7..=40).contains(&word.len()) && hexadecimal {
            breaks.extend((start + 5..start + word.len()).step_by(6));
        }
        start += word.len() + 1;
    }
    breaks
}

/// Text as it may stand between the tags of HTML.
pub fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// The lines, each with what shows that it is quoted in front of it.
pub fn quoted(text: &str) -> String {
    text.lines().fold(
        String::with_capacity(text.len() + 64),
        |mut quoted, line| {
            let _ = writeln!(quoted, "│ {line}");
            quoted
        },
    )
}

/// A cell of CSV with a name from outside: quoted, and never the beginning of a formula, which spreadsheets would
/// execute.
pub fn cell(raw: &str) -> String {
    let text = line(raw).replace('"', "\"\"");
    let text = if text.starts_with(['=', '+', '-', '@']) {
        format!("'{text}")
    } else {
        text
    };
    format!("\"{text}\"")
}

fn longest_run(text: &str, wanted: char) -> usize {
    let runs = text.chars().scan(0, |run, c| {
        *run = if c == wanted { *run + 1 } else { 0 };
        Some(*run)
    });
    runs.max().unwrap_or(0)
}

#[cfg(test)]
#[path = "sanitize_tests.rs"]
pub(super) mod tests;
