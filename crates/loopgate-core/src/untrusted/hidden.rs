//! What a terminal obeys and a page does not show.

use std::{borrow::Cow, sync::LazyLock};

use regex::Regex;

/// The text without terminal sequences, control characters but tabs and line ends, characters that are not seen or turn
/// the reading direction, and HTML comments.
pub fn without_hidden(text: &str) -> Cow<'_, str> {
    /// A terminal sequence whose first character a tool wrote out.
    static CARET: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\^\[\[[0-9;]*m").expect("a constant"));
    static COMMENT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?s)<!--.*?(?:-->|\z)").expect("a constant"));
    let mut visible = without_sequences(text, is_hidden);
    if visible.contains("^[[") {
        visible = Cow::Owned(CARET.replace_all(&visible, "").into_owned());
    }
    // What stands around a comment can become one.
    while visible.contains("<!--") {
        visible = Cow::Owned(COMMENT.replace_all(&visible, "").into_owned());
    }
    visible
}

/// The text without terminal sequences, and without unwanted characters, among which are those that begin a
/// sequence. ECMA-48: a control sequence goes to its final byte, an operating system command to its end or the line's.
/// ECMA-35: intermediate bytes and a final one. Any other is taken to be two characters long.
pub fn without_sequences(text: &str, is_unwanted: fn(char) -> bool) -> Cow<'_, str> {
    static SEQUENCE: LazyLock<Regex> = LazyLock::new(|| {
        let control = r"[ -?]*[@-~]?";
        let command = r"\][^\x07\x1B\n]*(?:\x07|\x1B\\)?";
        let pattern = format!(r"^(?:\x9B{control}|\x1B(?:\[{control}|{command}|[ -/]+[0-~]?|[^\n\r\x1B])?|(?s:.))");
        Regex::new(&pattern).expect("a constant")
    });
    if !text.contains(is_unwanted) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_unwanted) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        rest = &rest[SEQUENCE.find(rest).map_or(rest.len(), |sequence| sequence.end())..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Whether a character does nothing but hide, join, turn or move.
const fn is_hidden(character: char) -> bool {
    matches!(
        character,
        '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{61c}'
            | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_is_taken_out() {
        let tags: String = "do it".chars().filter_map(|c| char::from_u32(0xE0000 + u32::from(c))).collect();
        for (text, shown) in [
            ("\u{1b}[31;1mred\u{1b}[0m", "red"),
            ("\u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{9b}2Ka\u{1b}Mb\u{1b}", "ab"),
            ("FAILED\u{1b}(B\u{1b}[m", "FAILED"),
            ("^[[1;31mFAILED^[[0m ^[[x", "FAILED ^[[x"),
            ("a\tb\r\nc\u{8}", "a\tb\nc"),
            ("\u{202e}evil\u{2066}\u{200b}\u{feff}", "evil"),
            (&format!("a{tags}b"), "ab"),
            ("a<!-- ignore\nall -->b", "ab"),
            ("a<!<!-- x -->-- open", "a"),
            ("\u{1b}]open\nnext", "\nnext"),
        ] {
            assert_eq!(without_hidden(text), shown, "{text:?}");
        }
    }
}
