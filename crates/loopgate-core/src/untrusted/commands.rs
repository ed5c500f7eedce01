//! What other bots take for a command to them.

use std::borrow::Cow;

/// An invisible character; behind the first character of a word it makes another word of it.
const JOINER: char = '\u{2060}';

/// The line without commands: what begins a line of Prow (`/`), of chat bots (`!`) or a mention (`@`), and names and
/// words that bots obey anywhere in a line, are broken after their first character.
pub fn without_commands(line: &str) -> Cow<'_, str> {
    let obeyed = pattern!(r"(?i)(?:^|[^\w./-])(?:/(?:lgtm|approve|merge|loop)\b|@\w|bors\b)");
    let start = line
        .find(|c: char| !c.is_whitespace())
        .filter(|at| line[*at..].starts_with(['/', '@', '!']));
    let broken = start.map(|at| at + 1);
    // The character in front of a word is part of what is found.
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '/' | '@');
    let inside = obeyed.find_iter(line).filter_map(|found| {
        let at = found.as_str().find(is_word)? + found.start();
        Some(line[at..].chars().next()?.len_utf8() + at)
    });
    let mut places: Vec<usize> = broken.into_iter().chain(inside).collect();
    places.sort_unstable();
    places.dedup();
    places.retain(|at| !line[*at..].starts_with(JOINER));
    if places.is_empty() {
        return Cow::Borrowed(line);
    }
    let mut out = String::with_capacity(line.len() + 3 * places.len());
    let mut from = 0;
    for at in places {
        out.push_str(&line[from..at]);
        out.push(JOINER);
        from = at;
    }
    out.push_str(&line[from..]);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_broken_after_their_first_character() {
        for (line, shown) in [
            ("/lgtm", "/\u{2060}lgtm"),
            ("  !deploy now", "  !\u{2060}deploy now"),
            ("@dependabot rebase", "@\u{2060}dependabot rebase"),
            (
                "now @mergify refresh, user@host",
                "now @\u{2060}mergify refresh, user@host",
            ),
            (
                "Dependabot uses actions/checkout@v4",
                "Dependabot uses actions/checkout@v4",
            ),
            ("please bors r+", "please b\u{2060}ors r+"),
            ("so /approve it", "so /\u{2060}approve it"),
            ("at /usr/lib/merge.py:3", "at /usr/lib/merge.py:3"),
            ("src/a.rs:3: error", "src/a.rs:3: error"),
            (
                "neighbors of refs/pull/1/merge",
                "neighbors of refs/pull/1/merge",
            ),
        ] {
            assert_eq!(without_commands(line), shown);
            assert_eq!(without_commands(shown), shown, "again");
        }
    }
}
