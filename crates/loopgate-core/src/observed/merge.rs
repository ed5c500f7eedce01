//! The three-way merge, as git makes it: what two sides make of their common base.

use similar::TextMerge;

/// Bytes and lines of a text that is merged. What is larger counts as a conflict.
const LARGEST_TEXT: usize = 512 << 10;
const MOST_LINES: usize = 20_000;

/// What the side has that changed it, or both sides alike; `None` if they changed it differently.
pub fn merge_whole<T: PartialEq>(base: T, ours: T, theirs: T) -> Option<T> {
    if ours == theirs || theirs == base {
        Some(ours)
    } else if ours == base {
        Some(theirs)
    } else {
        None
    }
}

/// The merge of the lines of three texts; `None` if they conflict, or are too large to be merged.
pub fn merge_lines(base: &str, ours: &str, theirs: &str) -> Option<String> {
    let is_small = |text: &&str| text.len() <= LARGEST_TEXT && text.lines().count() <= MOST_LINES;
    if ![base, ours, theirs].iter().all(is_small) {
        return None;
    }
    let merge = TextMerge::from_lines(base, ours, theirs);
    (!merge.is_conflicted()).then(|| merge.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_side_that_changed_it_wins() {
        for (base, ours, theirs, merged) in
            [(1, 2, 1, Some(2)), (1, 1, 2, Some(2)), (1, 2, 2, Some(2)), (1, 2, 3, None)]
        {
            assert_eq!(merge_whole(base, ours, theirs), merged);
        }
    }

    #[test]
    fn lines_of_both_sides_are_merged_unless_they_conflict() {
        let base = "a\nb\nc\nd\ne\n";
        let merged = merge_lines(base, "A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n");
        assert_eq!(merged.as_deref(), Some("A\nb\nc\nd\nE\n"));
        assert_eq!(merge_lines(base, "a\nb\nX\nd\ne\n", "a\nb\nY\nd\ne\n"), None);
    }
}
