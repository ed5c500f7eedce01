//! Text that the code under test wrote, made fit to be quoted where people and agents read it.
//!
//! [`quote`] takes out what hides, what is secret and what commands other programs. It is idempotent, so a text that
//! came back from an artifact is quoted once more and stays as it is.

mod commands;
mod hidden;
mod secrets;

use std::borrow::Cow;

pub use commands::without_commands;
pub use hidden::{without_hidden, without_sequences};
pub use secrets::without_secrets;

/// Lines of a quotation at most, those that count cut lines included.
pub const MOST_LINES: usize = 40;
/// Bytes of a quotation at most.
pub const MOST_BYTES: usize = 3 * 1024;
/// Characters of a line at most.
pub const LONGEST_LINE: usize = 400;

/// From so many lines `NAME=value` in a row on, none of them is quoted.
const ENVIRONMENT: usize = 5;

/// The text as it may be quoted: at most [`MOST_LINES`] lines of [`LONGEST_LINE`] characters and [`MOST_BYTES`] bytes
/// in all, without terminal sequences, invisible characters, HTML comments and secrets, and without words that another
/// bot obeys.
///
/// ```
/// use loopgate_core::untrusted::quote;
///
/// assert_eq!(quote("\u{1b}[31mFAIL\u{1b}[0m a.py\nTOKEN=abc\n"), "FAIL a.py\nTOKEN=[secret]");
/// ```
pub fn quote(text: &str) -> String {
    let visible = without_hidden(text);
    let harmless = without_secrets(&visible);
    let plain = without_environment(&harmless);
    let mut quoted = String::with_capacity(plain.len().min(MOST_BYTES));
    for line in plain.lines().take(MOST_LINES) {
        let line = without_commands(cut(line));
        if quoted.len() + line.len() + 1 > MOST_BYTES {
            break;
        }
        quoted.push_str(line.trim_end());
        quoted.push('\n');
    }
    quoted.truncate(quoted.trim_end().len());
    quoted
}

/// The text without secrets, and without words that another bot obeys: of a text that somebody else bounds.
pub fn harmless(text: &str) -> Cow<'_, str> {
    let clean = without_secrets(text);
    let lines: Vec<Cow<'_, str>> = clean.split('\n').map(without_commands).collect();
    Cow::Owned(lines.join("\n"))
}

/// The line up to [`LONGEST_LINE`] characters.
pub fn cut(line: &str) -> &str {
    line.char_indices()
        .nth(LONGEST_LINE)
        .map_or(line, |(end, _)| &line[..end])
}

/// The text in which a listing of an environment is one line that counts its lines.
fn without_environment(text: &str) -> Cow<'_, str> {
    let variable = pattern!(r"^\s*(?:[+>]\s*)?(?:export |declare -x )?[A-Za-z_][A-Za-z0-9_]*=");
    let lines: Vec<&str> = text.lines().collect();
    let mut kept: Vec<Cow<'_, str>> = Vec::with_capacity(lines.len());
    for run in lines.chunk_by(|one, next| variable.is_match(one) == variable.is_match(next)) {
        match run
            .first()
            .is_some_and(|first| run.len() >= ENVIRONMENT && variable.is_match(first))
        {
            true => kept.push(format!("[{} lines NAME=value]", run.len()).into()),
            false => kept.extend(run.iter().copied().map(Cow::Borrowed)),
        }
    }
    if kept.len() == lines.len() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(kept.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_listing_of_an_environment_is_counted_and_never_quoted() {
        let listing = |count: usize| (0..count).map(|n| format!("V{n}=x\n")).collect::<String>();
        assert_eq!(
            quote(&format!("before\n{}after", listing(5))),
            "before\n[5 lines NAME=value]\nafter"
        );
        assert_eq!(quote(&listing(4)), listing(4).trim_end());
    }

    #[test]
    fn a_quotation_is_small() {
        assert_eq!(quote(&"a\n".repeat(100)).lines().count(), MOST_LINES);
        assert!(quote(&format!("{}\n", "é".repeat(5_000)).repeat(30)).len() <= MOST_BYTES);
        assert_eq!(quote(&"x y".repeat(1_000)).len(), LONGEST_LINE);
    }

    proptest! {
        #[test]
        fn quoting_twice_changes_nothing(text in "(?s)[ -~\n@/!*\u{1b}\u{202e}\u{e0041}]{0,300}") {
            let once = quote(&text);
            prop_assert_eq!(quote(&once), once);
        }
    }
}
