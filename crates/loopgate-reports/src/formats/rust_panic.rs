//! What a Rust panic prints, in the layout before and since 1.73:
//!
//! ```text
//! thread 'a' panicked at 'assertion failed: …', src/a.rs:1:2
//! thread 'a' (42) panicked at src/a.rs:1:2:
//! assertion failed: …
//! ```

use crate::text::{self, MAX_MESSAGE};
use loopgate_core::evidence::{ErrorType, Failure, SourceLocation};

/// One panic.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Panic<'a> {
    pub file: &'a str,
    pub line: u32,
    pub message: &'a str,
}

const MARK: &str = " panicked at ";

/// The panic of the thread of that name (libtest names threads after tests), else the first in the text.
pub(super) fn find<'a>(text: &'a str, thread: Option<&str>) -> Option<Panic<'a>> {
    let mut first = None;
    for (at, _) in text.match_indices(MARK) {
        let line_start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let Some(panic) = at_mark(&text[at + MARK.len()..]) else { continue };
        let head = &text[line_start..at];
        let is_own = thread.is_some_and(|name| head.contains(&format!("thread '{name}'")));
        // `Any { .. }` is all that joining a thread tells of the panic that ended it.
        if is_own && !panic.message.contains("Any { .. }") {
            return Some(panic);
        }
        first = first.or(Some(panic));
    }
    first
}

/// What stands behind the mark, in either layout.
fn at_mark(rest: &str) -> Option<Panic<'_>> {
    if let Some(quoted) = rest.strip_prefix('\'') {
        return old_layout(quoted);
    }
    let (place, message) = rest.split_once('\n').unwrap_or((rest, ""));
    let (file, line) = split_place(place.trim_end().trim_end_matches(':'))?;
    Some(Panic { file, line, message: end_of_message(message) })
}

fn old_layout(quoted: &str) -> Option<Panic<'_>> {
    for (at, _) in quoted.match_indices("', ") {
        let place = quoted[at + 3..].lines().next().unwrap_or_default();
        // A message may hold `', ` itself; a path holds no quote.
        if let Some((file, line)) = split_place(place.trim_end()).filter(|(file, _)| !file.contains('\'')) {
            return Some(Panic { file, line, message: &quoted[..at] });
        }
    }
    None
}

/// `src/a.rs:10:5` → (`src/a.rs`, 10). Paths may hold colons, as Windows' do.
fn split_place(place: &str) -> Option<(&str, u32)> {
    let (rest, column) = place.rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    column.parse::<u32>().ok()?;
    let line = line.parse().ok().filter(|line| *line > 0)?;
    (!file.is_empty()).then_some((file, line))
}

/// The message goes on to the note about backtraces, the backtrace, or the next panic.
fn end_of_message(text: &str) -> &str {
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        let starts = |mark: &str| line.starts_with(mark);
        if starts("note: ") || starts("stack backtrace:") || starts("thread '") || starts("Backtrace [") {
            break;
        }
        end += line.len();
    }
    text[..end].trim_end()
}

impl Panic<'_> {
    /// One side of what pretty_assertions draws, whole.
    fn side(&self, diff_mark: char) -> Option<String> {
        let diff = self.message.split_once("Diff < left / right > :")?.1;
        let of_side = |line: &str| match line.chars().next() {
            Some(mark) if mark == diff_mark || mark == ' ' => Some(line[1..].to_owned()),
            _ => None,
        };
        let side: Vec<String> = diff.lines().filter_map(|line| of_side(&text::clean(line))).collect();
        (!side.is_empty()).then(|| text::clipped(&side.join("\n"), MAX_MESSAGE))
    }

    /// Tells the failure what the panic says. By the custom of `assert_eq!(got, wanted)`, left is the actual value.
    pub fn fill(&self, failure: &mut Failure) {
        let is_assertion = ["assertion failed", "snapshot assertion"].iter().any(|words| self.message.contains(words))
            || self.message.starts_with("assertion");
        failure.error_type = if is_assertion { ErrorType::AssertionError } else { ErrorType::RuntimeError };
        failure.error_class = Some("panic".to_owned());
        if !self.message.is_empty() {
            failure.error_message = text::clipped(self.message, MAX_MESSAGE);
        }
        (failure.expected, failure.actual) = (self.side('>'), self.side('<'));
        let file = text::path(self.file);
        failure.source = Some(SourceLocation { file, line: Some(self.line), function: None });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts() {
        let table = [
            (
                "thread 'a' panicked at src/a.rs:10:5:\nassertion `left == right` failed\n  left: 1\n right: 2\n\
                 note: run with",
                Some(("src/a.rs", 10, "assertion `left == right` failed\n  left: 1\n right: 2")),
            ),
            ("thread 'a' (77) panicked at src/a.rs:10:5:\nboom", Some(("src/a.rs", 10, "boom"))),
            ("thread 'a' panicked at 'boom', src/a.rs:3:9\nnote: run", Some(("src/a.rs", 3, "boom"))),
            (
                "thread 'a' panicked at 'assertion failed: `(left == right)`\n  left: `\"x', \"`,\n right: `2`', \
                 src/a.rs:3:9",
                Some(("src/a.rs", 3, "assertion failed: `(left == right)`\n  left: `\"x', \"`,\n right: `2`")),
            ),
            ("thread 'a' panicked at C:\\r\\a.rs:1:2:\nb", Some(("C:\\r\\a.rs", 1, "b"))),
            ("it panicked at noon", None),
            ("thread 'a' panicked at src/a.rs:0:0:\nx", None),
        ];
        for (text, expected) in table {
            let found = find(text, None);
            assert_eq!(found.as_ref().map(|panic| (panic.file, panic.line, panic.message)), expected, "{text}");
        }
    }

    #[test]
    fn the_test_s_own_thread_is_preferred() {
        let text = "thread '<unnamed>' panicked at src/pool.rs:1:1:\ninner\n\
                    thread 'tests::a' panicked at src/a.rs:2:2:\nouter";
        assert_eq!(find(text, Some("tests::a")).unwrap().message, "outer");
        assert_eq!(find(text, None).unwrap().message, "inner");
    }

    #[test]
    fn sides() {
        let sides = |text: &str| {
            let mut failure = Failure::default();
            find(text, None).unwrap().fill(&mut failure);
            loopgate_core::failure::complete(&mut failure, &loopgate_core::failure::Changes::default());
            (failure.expected, failure.actual)
        };
        let both = |expected: &str, actual: &str| (Some(expected.to_owned()), Some(actual.to_owned()));
        assert_eq!(
            sides("x panicked at a.rs:1:1:\nassertion `left == right` failed\n  left: 4\n right: 5"),
            both("5", "4")
        );
        assert_eq!(sides("x panicked at 'assertion failed\n  left: `4`,\n right: `5`: why', a.rs:1:1"), both("5", "4"));
        let proptest = "x panicked at a.rs:3:1:\nTest failed: assertion failed: `(left == right)` \n  left: `2`,\n right: `-2` at a.rs:7.";
        assert_eq!(sides(proptest), both("-2", "2"));
        let pretty = "x panicked at a.rs:1:1:\nassertion failed: `(left == right)`\n\n\
                      \u{1B}[1mDiff\u{1B}[0m < left / right > :\n {\n\u{1B}[31m<  4\u{1B}[0m\n>  5\n }\n";
        let pretty = text::clean(pretty);
        assert_eq!(sides(&pretty), both("{\n  5\n}", "{\n  4\n}"));
        assert_eq!(sides("x panicked at a.rs:1:1:\nboom"), (None, None));
    }
}
