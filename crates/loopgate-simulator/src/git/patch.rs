//! The difference of two files in the form GitHub gives it: hunks without file headers.

use similar::{Algorithm, ChangeTag, TextDiff};

/// Additions, deletions and the hunks of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineDiff {
    pub additions: usize,
    pub deletions: usize,
    /// None for binary files, for files too large, and where no line changed.
    pub patch: Option<String>,
}

/// GitHub shows no patch above this: "20,000 lines or 1 MB of raw diff data" for one file
/// (docs.github.com, Limits for viewing content and diffs in a repository).
const MAX_PATCH_LINES: usize = 20_000;
const MAX_PATCH_BYTES: usize = 1_000_000;

/// Git's own test: a NUL among the first 8,000 bytes.
pub fn is_binary(content: &[u8]) -> bool {
    content.iter().take(8_000).any(|byte| *byte == 0)
}

impl LineDiff {
    pub fn between(old: &[u8], new: &[u8]) -> Self {
        if old == new || is_binary(old) || is_binary(new) {
            return Self::default();
        }
        let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
        let (old, new) = (lines(&old), lines(&new));
        let diff = TextDiff::configure()
            .algorithm(Algorithm::Myers)
            .diff_slices(&old, &new);
        let mut found = Self::default();
        for change in diff.iter_all_changes() {
            match change.tag() {
                ChangeTag::Insert => found.additions += 1,
                ChangeTag::Delete => found.deletions += 1,
                ChangeTag::Equal => {}
            }
        }
        let patch = render(&diff, &old);
        if patch.len() <= MAX_PATCH_BYTES && found.additions + found.deletions <= MAX_PATCH_LINES {
            found.patch = Some(patch);
        }
        found
    }
}

/// Lines as git counts them: ended by `\n` only.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn render(diff: &TextDiff<'_, '_, str>, old: &[&str]) -> String {
    let mut patch = String::new();
    for ops in diff.grouped_ops(3) {
        let (Some(first), Some(last)) = (ops.first(), ops.last()) else {
            continue;
        };
        let range = |start: usize, end: usize| match end - start {
            // An empty range names the line before it.
            0 => format!("{start},0"),
            1 => format!("{}", start + 1),
            n => format!("{},{n}", start + 1),
        };
        let (from, to) = (first.old_range().start, last.old_range().end);
        patch.push_str(&format!(
            "@@ -{} +{} @@{}\n",
            range(from, to),
            range(first.new_range().start, last.new_range().end),
            heading(&old[..from.min(old.len())])
        ));
        for change in ops.iter().flat_map(|op| diff.iter_changes(op)) {
            patch.push(match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            });
            patch.push_str(change.value());
            if !change.value().ends_with('\n') {
                patch.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    // GitHub's `patch` does not end in a newline.
    patch.pop();
    patch
}

/// What git prints after a hunk's `@@`: the nearest line above that starts like a definition.
fn heading(above: &[&str]) -> String {
    let starts =
        |line: &&&str| line.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '$');
    above
        .iter()
        .rev()
        .find(starts)
        .map(|line| format!(" {}", shorten(line.trim_end())))
        .unwrap_or_default()
}

fn shorten(line: &str) -> &str {
    let mut end = line.len().min(80);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    &line[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunks_are_written_as_git_writes_them() {
        let diff = LineDiff::between(b"one\n", b"two\n");
        assert_eq!(diff.patch.as_deref(), Some("@@ -1 +1 @@\n-one\n+two"));
        let added = LineDiff::between(b"", b"a\nb");
        assert_eq!(
            added.patch.as_deref(),
            Some("@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file")
        );
        assert_eq!((added.additions, added.deletions), (2, 0));
        let removed = LineDiff::between(b"a\n", b"");
        assert_eq!(removed.patch.as_deref(), Some("@@ -1 +0,0 @@\n-a"));
    }

    #[test]
    fn a_hunk_names_the_function_above_it() {
        let old = "fn f() {\n    1\n    2\n    3\n    4\n    5\n}\n";
        let new = old.replace("    5", "    6");
        let diff = LineDiff::between(old.as_bytes(), new.as_bytes());
        assert_eq!(
            diff.patch.as_deref(),
            Some("@@ -3,5 +3,5 @@ fn f() {\n     2\n     3\n     4\n-    5\n+    6\n }")
        );
    }

    #[test]
    fn binary_and_huge_files_have_no_patch() {
        assert_eq!(LineDiff::between(b"\0\x01", b"\0\x02"), LineDiff::default());
        let huge = LineDiff::between(b"", "x\n".repeat(20_001).as_bytes());
        assert_eq!((huge.additions, huge.patch), (20_001, None));
    }
}
