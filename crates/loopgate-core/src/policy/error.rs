//! The error messages of a configuration that does not validate.

use std::fmt;

use serde::Serialize;

/// What is wrong in a configuration file, and where. Lines and columns count from 1, columns in characters.
///
/// Its `Display` is a code frame for the terminal: the message, the place, the line with a mark under the offending
/// word, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConfigError {
    pub file: String,
    pub line: usize,
    pub column: usize,
    /// What is wrong, naming the key: "unknown key `aproach`".
    pub message: String,
    /// What to do: "did you mean `approve_by`?".
    pub hint: Option<String>,
    /// The offending line of the file.
    pub snippet: String,
}

impl std::error::Error for ConfigError {}

/// Characters of the offending line a frame shows; a longer line is cut around the place.
const FRAME_WIDTH: usize = 100;

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let chars: Vec<char> = self
            .snippet
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let place = self.column.saturating_sub(1).min(chars.len());
        let start = if chars.len() <= FRAME_WIDTH {
            0
        } else {
            place.saturating_sub(FRAME_WIDTH / 2)
        };
        let cut = |index: usize| {
            (index == start && start > 0)
                || (index + 1 == start + FRAME_WIDTH && index + 1 < chars.len())
        };
        let shown = chars.iter().enumerate().skip(start).take(FRAME_WIDTH);
        let shown: String = shown
            .map(|(index, c)| if cut(index) { '…' } else { *c })
            .collect();
        let room = (start + FRAME_WIDTH).saturating_sub(place);
        let marked = word_length(chars.get(place..).unwrap_or_default()).clamp(1, room.max(1));
        let gutter = " ".repeat(self.line.to_string().len());
        writeln!(f, "{}", self.message)?;
        writeln!(f, "{gutter}--> {}:{}:{}", self.file, self.line, self.column)?;
        writeln!(f, "{gutter} |")?;
        writeln!(f, "{} | {}", self.line, shown.trim_end())?;
        write!(
            f,
            "{gutter} | {}{}",
            " ".repeat(place - start),
            "^".repeat(marked)
        )?;
        self.hint
            .as_ref()
            .map_or(Ok(()), |hint| write!(f, "\n{gutter} = {hint}"))
    }
}

/// How long the word at the start is: up to the closing quote of a quoted one, else up to what ends a plain key or a
/// value of a flow collection.
fn word_length(text: &[char]) -> usize {
    match text.first() {
        Some(quote @ ('"' | '\'')) => text
            .iter()
            .skip(1)
            .position(|c| c == quote)
            .map_or(1, |closing| closing + 2),
        _ => text
            .iter()
            .take_while(|c| !matches!(c, ':' | ',' | ']' | '}') && !c.is_whitespace())
            .count(),
    }
}

/// Messages quote hostile input; they never quote all of it, nor anything a terminal obeys.
pub fn shorten(text: &str) -> String {
    let plain = |c: char| matches!(c, '\\' | '"' | '\'');
    let mut quoted = String::new();
    for c in text.chars().take(60) {
        if plain(c) {
            quoted.push(c)
        } else {
            quoted.extend(c.escape_debug())
        }
    }
    if text.chars().nth(60).is_some() {
        quoted.push('…');
    }
    quoted.replace('`', "'")
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn error(snippet: &str, line: usize, column: usize) -> ConfigError {
        ConfigError {
            file: ".github/loopgate.yml".to_owned(),
            line,
            column,
            snippet: snippet.to_owned(),
            message: "unknown key `aproach`".to_owned(),
            hint: Some("did you mean `approve_by`?".to_owned()),
        }
    }

    #[test]
    fn the_frame_marks_the_word() {
        assert_snapshot!(error("    aproach: [comment]", 12, 5), @r"
        unknown key `aproach`
          --> .github/loopgate.yml:12:5
           |
        12 |     aproach: [comment]
           |     ^^^^^^^
           = did you mean `approve_by`?
        ");
        assert_snapshot!(error("mode: \"very hybrid\" # why", 3, 7), @r#"
        unknown key `aproach`
         --> .github/loopgate.yml:3:7
          |
        3 | mode: "very hybrid" # why
          |       ^^^^^^^^^^^^^
          = did you mean `approve_by`?
        "#);
    }

    #[test]
    fn any_place_can_be_shown() {
        let long = "x".repeat(5_000);
        for (snippet, column) in [
            ("", 1),
            ("", 900),
            ("a", 0),
            ("\t\u{1b}[31m", 2),
            (&long, 1),
            (&long, 2_500),
            (&long, 6_000),
        ] {
            let frame = error(snippet, 1, column).to_string();
            assert!(
                frame.contains('^') && frame.lines().all(|line| line.chars().count() < 120),
                "{frame}"
            );
            assert!(!frame.contains('\u{1b}'), "{frame}");
        }
    }
}
