//! What a terminal obeys and a page does not show.

use std::borrow::Cow;

use crate::letters::is_invisible;

/// The text without terminal sequences, control characters but tabs and line ends, characters that are not seen or turn
/// the reading direction, and HTML comments.
pub fn without_hidden(text: &str) -> Cow<'_, str> {
    let mut visible = without_sequences(text, is_invisible);
    // A terminal sequence whose first character a tool wrote out.
    if visible.contains("^[[") {
        visible = Cow::Owned(
            pattern!(r"\^\[\[[0-9;]*m")
                .replace_all(&visible, "")
                .into_owned(),
        );
    }
    // What stands around a comment can become one.
    while visible.contains("<!--") {
        visible = Cow::Owned(
            pattern!(r"(?s)<!--.*?(?:-->|\z)")
                .replace_all(&visible, "")
                .into_owned(),
        );
    }
    visible
}

/// The text without terminal sequences, and without unwanted characters, among which are those that begin a
/// sequence, and none that is ASCII and seen, a tab or a line break. ECMA-48: a control sequence goes to its final byte, an operating system command to its end or the line's.
/// ECMA-35: intermediate bytes and a final one. Any other is taken to be two characters long.
pub fn without_sequences(text: &str, is_unwanted: impl Fn(char) -> bool + Copy) -> Cow<'_, str> {
    let sequence = pattern!(
        r"(?x)^(?:\x9B[\x20-?]*[@-~]?
        |\x1B(?:\[[\x20-?]*[@-~]?|\][^\x07\x1B\n]*(?:\x07|\x1B\\)?|[\x20-/]+[0-~]?|[^\n\r\x1B])?
        |(?s:.))"
    );
    // Most text is ASCII that is seen, in lines: to look for that alone takes a tenth of the time.
    let is_plain = |byte| matches!(byte, b' '..=b'~' | b'\t' | b'\n');
    if text.bytes().all(is_plain) || !text.contains(is_unwanted) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_unwanted) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        rest = &rest[sequence.find(rest).map_or(rest.len(), |found| found.end())..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_is_taken_out() {
        let tags: String = "do it"
            .chars()
            .filter_map(|c| char::from_u32(0xE0000 + u32::from(c)))
            .collect();
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
