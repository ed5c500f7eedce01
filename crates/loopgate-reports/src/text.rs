//! What is done to every text that is kept: bounded, and free of what would garble a page or a terminal.

use std::borrow::Cow;

use loopgate_core::{
    evidence::{Failure, Finding, FindingSeverity, SourceLocation},
    failure::read_block,
    source_files::language_of,
    untrusted::without_sequences,
};

use super::numbers;

/// Most bytes of a message, of an expected and of an actual value.
pub(super) const MAX_MESSAGE: usize = 8 * 1024;
/// Most bytes of a stack trace.
pub(super) const MAX_TRACE: usize = 32 * 1024;
/// Most bytes of a name, a path, a class, a rule.
pub(super) const MAX_NAME: usize = 2 * 1024;

/// Collects a text that comes in pieces, keeping its head and its tail; of a stack trace unless it is given another
/// limit.
#[derive(Clone, Debug)]
pub(super) struct Clip {
    head: String,
    tail: String,
    /// Bytes dropped between head and tail.
    dropped: usize,
    limit: usize,
}

impl Default for Clip {
    fn default() -> Self {
        Self::new(MAX_TRACE)
    }
}

impl Clip {
    pub const fn new(limit: usize) -> Self {
        Self {
            head: String::new(),
            tail: String::new(),
            dropped: 0,
            limit,
        }
    }

    pub fn push(&mut self, piece: &str) {
        let head_limit = self.limit / 4 * 3;
        let room = head_limit.saturating_sub(self.head.len());
        // Once the tail has begun the head is closed, even if a wide character left a byte of room.
        let (into_head, rest) = if self.tail.is_empty() && self.dropped == 0 {
            split(piece, room)
        } else {
            ("", piece)
        };
        self.head.push_str(into_head);
        if rest.is_empty() {
            return;
        }
        self.tail.push_str(rest);
        let tail_limit = self.limit - head_limit;
        if self.tail.len() > 2 * tail_limit {
            let (cut, _) = split(&self.tail, self.tail.len() - tail_limit);
            let cut = cut.len();
            self.dropped += cut;
            self.tail.drain(..cut);
        }
    }

    /// Bytes held, at most a little more than the limit.
    pub fn held(&self) -> usize {
        self.head.len() + self.tail.len()
    }

    pub fn push_line(&mut self, line: &str) {
        self.push(line);
        self.push("\n");
    }

    /// The text, cleaned, with a note in the place of what was cut.
    pub fn text(&self) -> String {
        if self.dropped == 0 && self.head.len() + self.tail.len() <= self.limit {
            return clean(&(self.head.clone() + &self.tail)).into_owned();
        }
        let tail_limit = self.limit - self.limit / 4 * 3;
        let (cut, tail) = split(&self.tail, self.tail.len().saturating_sub(tail_limit));
        let dropped = self.dropped + cut.len();
        format!(
            "{}\n[… {dropped} bytes cut …]\n{}",
            clean(&self.head),
            clean(tail)
        )
    }
}

/// Splits at `at` or, inside a character, before it.
fn split(text: &str, at: usize) -> (&str, &str) {
    text.split_at(text.floor_char_boundary(at))
}

/// The text cleaned and, if longer than `limit` bytes, with its middle cut out.
pub(super) fn clipped(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return clean(text).into_owned();
    }
    let mut clip = Clip::new(limit);
    clip.push(text);
    clip.text()
}

/// A name or path: cleaned, and cut off at [`MAX_NAME`] with an ellipsis.
pub(super) fn name(text: &str) -> String {
    let (head, rest) = split(text, MAX_NAME);
    let mut cleaned = clean(head).into_owned();
    if !rest.is_empty() {
        cleaned.push('…');
    }
    cleaned
}

/// A path as reports write it: cleaned, without a leading `./`.
pub(super) fn path(text: &str) -> String {
    name(
        text.strip_prefix("./")
            .or_else(|| text.strip_prefix(".\\"))
            .unwrap_or(text),
    )
}

/// `src/lib.rs:5:8` as a location. Paths may hold colons, as Windows' do.
pub(super) fn place(text: &str) -> Option<SourceLocation> {
    let mut parts = text.trim().rsplitn(3, ':');
    let (column, line, file) = (parts.next()?, numbers::line(parts.next()?)?, parts.next()?);
    column
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| location(file, Some(line)))
}

/// `FILE:LINE`, which is all of a text.
pub(super) fn line_of_file(text: &str) -> Option<SourceLocation> {
    let (file, line) = text.trim().rsplit_once(':')?;
    Some(location(file, Some(numbers::line(line)?)))
}

/// A place in a file, whose function is not known.
pub(super) fn location(file: &str, line: Option<u32>) -> SourceLocation {
    SourceLocation {
        file: path(file),
        line,
        function: None,
    }
}

/// A finding with its texts bounded.
pub(super) fn finding(
    rule: &str,
    severity: FindingSeverity,
    message: &str,
    at: Option<SourceLocation>,
) -> Finding {
    Finding {
        rule: name(rule),
        severity,
        message: clipped(message, MAX_MESSAGE),
        location: at,
    }
}

/// Whether the text is the path of a source file and not, for instance, `com.acme.CartTest` or `src/cart`.
pub(super) fn looks_like_path(text: &str) -> bool {
    text.rfind('.').is_some_and(|at| at > 0) && !text.contains('\n') && language_of(text).is_some()
}

/// Whether XML 1.0 forbids the character, or it does nothing but move a cursor.
fn is_unwanted(character: char) -> bool {
    matches!(character, '\0'..='\u{8}' | '\u{B}'..='\u{1F}' | '\u{7F}'..='\u{9F}' | '\u{FFFE}' | '\u{FFFF}')
}

/// Takes out terminal escape sequences and control characters, and makes every line end `\n`.
pub(super) fn clean(text: &str) -> Cow<'_, str> {
    if !text.contains('\r') {
        return without_sequences(text, is_unwanted);
    }
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    Cow::Owned(without_sequences(&text, is_unwanted).into_owned())
}

/// What a tool's text shows of a failure of which this much is known. Without a message of its own the whole text is
/// read for it.
pub(super) fn failure(known: Failure, message: &str, text: &str) -> Failure {
    let (message, text) = (message.trim_matches('\n'), text.trim_matches('\n'));
    let error_message = clipped(if message.is_empty() { text } else { message }, MAX_TRACE);
    let stack_trace = (!text.is_empty()).then(|| clipped(text, MAX_TRACE));
    read_block(Failure {
        error_message,
        stack_trace,
        ..known
    })
}

patterns! {
    /// Robot Framework lets a skip win over a failure before and behind it, which only the reason still tells of.
    FAILURE_OF_SKIPPED = r"(?m)^(?:Also (?:failures? occurred|(?:\w+ )*teardown failed):$|Earlier message:\n(?:\w+ )*[Ss]etup failed:$)";
}

/// Whether the reason of a skip tells of a failure of the test.
pub(super) fn tells_of_failure(reason: &str) -> bool {
    FAILURE_OF_SKIPPED.is_match(reason)
}

/// The first line with text, trimmed.
pub(super) fn first_line(text: &str) -> &str {
    text.lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn cleaning() {
        let table = [
            ("plain\n\ttext é", "plain\n\ttext é"),
            ("\u{1B}[31mred\u{1B}[0m", "red"),
            ("\u{1B}[38;5;1mred\u{1B}[39m\u{1B}[K", "red"),
            (
                "\u{1B}]8;;https://a.example\u{7}link\u{1B}]8;;\u{1B}\\",
                "link",
            ),
            ("\u{1B}]unended\nnext", "\nnext"),
            ("\u{1B}[unended", "nended"),
            ("\u{1B}[12\nnext", "\nnext"),
            ("\u{1B}", ""),
            ("FAILED\u{1B}(B\u{1B}[m", "FAILED"),
            ("nul\0 bell\u{7} c1\u{9C} ffff\u{FFFF}", "nul bell c1 ffff"),
            ("dos\r\nmac\runix\n", "dos\nmac\nunix\n"),
        ];
        for (text, expected) in table {
            assert_eq!(clean(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_clip_keeps_head_and_tail() {
        let mut clip = Clip::new(16);
        for piece in ["0123456789", "abcdefghij", "éé", "KLMNOPQRST"] {
            clip.push(piece);
        }
        assert_eq!(clip.text(), "0123456789ab\n[… 18 bytes cut …]\nQRST");
        let mut clip = Clip::new(16);
        clip.push("short");
        assert_eq!(clip.text(), "short");
    }

    proptest! {
        #[test]
        fn cleaned_text_is_clean_and_stays(text in any::<String>()) {
            let once = clean(&text).into_owned();
            prop_assert!(!once.contains(is_unwanted));
            prop_assert_eq!(clean(&once), once.as_str());
        }

        #[test]
        fn clips_are_bounded(pieces in prop::collection::vec(any::<String>(), 0..20)) {
            let mut clip = Clip::new(64);
            pieces.iter().for_each(|piece| clip.push(piece));
            prop_assert!(clip.text().len() <= 64 + 40, "{}", clip.text().len());
            if pieces.concat().len() <= 64 {
                prop_assert_eq!(clip.text(), clean(&pieces.concat()).into_owned());
            }
        }
    }
}
