//! The one reader of a diff: hunks, both sides with their line numbers, the function that each hunk stands in.
//!
//! A [`Patch`] is read from the unified hunks that GitHub gives of a file
//! (<https://docs.github.com/rest/pulls/pulls#list-pull-requests-files>, `patch`), or compared from two texts where
//! GitHub gives none. What a line means is not decided here.

use similar::{Algorithm, DiffOp, DiffTag, capture_diff, group_diff_ops};

use super::ChangedFile;

/// Lines around a change in a patch that is compared here, as in GitHub's.
const CONTEXT: usize = 3;
/// Comparing takes steps up to the product of both sides' lines. Beyond this, all lines between the first and the last
/// difference count as replaced.
const MOST_STEPS: usize = 16_000_000;

/// The changes of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch<'a> {
    pub hunks: Vec<DiffHunk<'a>>,
}

/// A part of a file in which lines change, with unchanged lines around them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffHunk<'a> {
    /// The first line at the base, from 1; 0 where the file has no line there.
    pub old_start: u32,
    /// The first line at the head, from 1; 0 where the file has no line there.
    pub new_start: u32,
    /// The function or section that git names behind the line numbers; empty if it names none.
    pub heading: &'a str,
    pub lines: Vec<DiffLine<'a>>,
}

/// One line of a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiffLine<'a> {
    pub change: LineChange,
    /// Its number at the base. Of an added line: that of the next line which the base has.
    pub old: u32,
    /// Its number at the head. Of a removed line: that of the next line which the head has.
    pub new: u32,
    /// Without the sign and the end of the line.
    pub text: &'a str,
}

/// What a patch does with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineChange {
    Unchanged,
    Added,
    Removed,
}

impl LineChange {
    /// What stands before such a line in a diff.
    pub const fn sign(self) -> char {
        match self {
            Self::Unchanged => ' ',
            Self::Added => '+',
            Self::Removed => '-',
        }
    }
}

impl DiffLine<'_> {
    /// Whether the base has it.
    pub fn is_old(&self) -> bool {
        self.change != LineChange::Added
    }

    /// Whether the head has it.
    pub fn is_new(&self) -> bool {
        self.change != LineChange::Removed
    }

    pub fn is_changed(&self) -> bool {
        self.change != LineChange::Unchanged
    }
}

impl<'a> DiffHunk<'a> {
    /// Neighbouring lines that are all changed, or all unchanged.
    pub fn runs(&self) -> impl Iterator<Item = &[DiffLine<'a>]> {
        self.lines
            .chunk_by(|one, next| one.is_changed() == next.is_changed())
    }
}

impl<'a> Patch<'a> {
    /// Reads unified hunks. `None` if a hunk's header cannot be read, or lines stand before the first: no line number
    /// would be known.
    pub fn read(text: &'a str) -> Option<Self> {
        let mut hunks: Vec<DiffHunk<'a>> = Vec::new();
        let (mut old, mut new) = (0_u32, 0_u32);
        for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
            if let Some(header) = line.strip_prefix("@@ ") {
                let (places, heading) = header.split_once("@@").unwrap_or((header, ""));
                (old, new) = (start(places, '-')?, start(places, '+')?);
                hunks.push(DiffHunk {
                    old_start: old,
                    new_start: new,
                    heading: heading.trim(),
                    lines: Vec::new(),
                });
                continue;
            }
            let change = match line.as_bytes().first() {
                Some(b'+') => LineChange::Added,
                Some(b'-') => LineChange::Removed,
                // "\ No newline at end of file"
                Some(b'\\') => continue,
                _ => LineChange::Unchanged,
            };
            let text = line.get(1..).unwrap_or_default();
            let line = DiffLine {
                change,
                old,
                new,
                text: text.strip_suffix('\r').unwrap_or(text),
            };
            old = old.saturating_add(u32::from(line.is_old()));
            new = new.saturating_add(u32::from(line.is_new()));
            hunks.last_mut()?.lines.push(line);
        }
        Some(Self { hunks })
    }

    /// Compares two texts line by line.
    pub fn between(old: &'a str, new: &'a str) -> Self {
        let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
        let same_start = old
            .iter()
            .zip(&new)
            .take_while(|(old, new)| old == new)
            .count();
        let ends = old[same_start..]
            .iter()
            .rev()
            .zip(new[same_start..].iter().rev());
        let same_end = ends.take_while(|(old, new)| old == new).count();
        let (old_middle, new_middle) = (
            same_start..old.len() - same_end,
            same_start..new.len() - same_end,
        );
        let equal = |old_index, new_index, len| {
            (len > 0).then_some(DiffOp::Equal {
                old_index,
                new_index,
                len,
            })
        };
        let mut ops: Vec<DiffOp> = equal(0, 0, same_start).into_iter().collect();
        if old_middle.len().saturating_mul(new_middle.len()) > MOST_STEPS {
            let (old_len, new_len) = (old_middle.len(), new_middle.len());
            ops.push(DiffOp::Replace {
                old_index: same_start,
                old_len,
                new_index: same_start,
                new_len,
            });
        } else {
            ops.extend(capture_diff(
                Algorithm::Myers,
                &old[..],
                old_middle.clone(),
                &new[..],
                new_middle.clone(),
            ));
        }
        ops.extend(equal(old_middle.end, new_middle.end, same_end));
        Self {
            hunks: group_diff_ops(ops, CONTEXT)
                .iter()
                .map(|ops| hunk_of(ops, &old, &new))
                .collect(),
        }
    }

    pub fn lines(&self) -> impl Iterator<Item = &DiffLine<'a>> + Clone {
        self.hunks.iter().flat_map(|hunk| &hunk.lines)
    }

    pub fn added(&self) -> impl Iterator<Item = &DiffLine<'a>> {
        self.lines().filter(|line| line.change == LineChange::Added)
    }

    pub fn removed(&self) -> impl Iterator<Item = &DiffLine<'a>> {
        self.lines()
            .filter(|line| line.change == LineChange::Removed)
    }
}

impl ChangedFile {
    /// Its patch. `None` if GitHub gave none, or one that cannot be read.
    pub fn read_patch(&self) -> Option<Patch<'_>> {
        Patch::read(self.patch.as_deref()?)
    }

    /// Added lines as (line number at the head, text), from the patch; `None` when there is no patch to read.
    pub fn added_lines(&self) -> Option<Vec<(u32, &str)>> {
        let patch = self.read_patch()?;
        Some(patch.added().map(|line| (line.new, line.text)).collect())
    }
}

/// The first line of one side in the places of a header: `-1,3 +5,7 ` → 5 for `+`.
fn start(places: &str, sign: char) -> Option<u32> {
    let place = places.split(' ').find_map(|part| part.strip_prefix(sign))?;
    place.split(',').next()?.parse().ok()
}

/// Changes that stand near each other, with the lines around and between them.
fn hunk_of<'a>(ops: &[DiffOp], old: &[&'a str], new: &[&'a str]) -> DiffHunk<'a> {
    let number = |index: usize| u32::try_from(index + 1).unwrap_or(u32::MAX);
    let line = |change, at_old, at_new, text| DiffLine {
        change,
        old: number(at_old),
        new: number(at_new),
        text,
    };
    let mut lines = Vec::new();
    for op in ops {
        let (tag, olds, news) = op.as_tag_tuple();
        if tag == DiffTag::Equal {
            lines.extend(
                olds.zip(news)
                    .map(|(at, to)| line(LineChange::Unchanged, at, to, old[at])),
            );
        } else {
            lines.extend(
                olds.clone()
                    .map(|at| line(LineChange::Removed, at, news.start, old[at])),
            );
            lines.extend(news.map(|at| line(LineChange::Added, olds.end, at, new[at])));
        }
    }
    let (old_start, new_start) = lines.first().map_or((0, 0), |first| (first.old, first.new));
    DiffHunk {
        old_start,
        new_start,
        heading: "",
        lines,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(patch: &Patch<'_>) -> String {
        let line = |line: &DiffLine<'_>| {
            format!(
                "{}{}:{} {}",
                line.change.sign(),
                line.old,
                line.new,
                line.text
            )
        };
        patch.lines().map(line).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn lines_carry_their_numbers_on_both_sides() {
        let text = "@@ -1,2 +1,3 @@ fn a() {\n one\n-two\n+2\n+3\r\n\\ No newline at end of file\n@@ -9 +10 @@\n-x\n+y\n";
        let patch = Patch::read(text).unwrap();
        assert_eq!(
            shown(&patch),
            " 1:1 one|-2:2 two|+3:2 2|+3:3 3|-9:10 x|+10:10 y"
        );
        let headings: Vec<_> = patch
            .hunks
            .iter()
            .map(|hunk| (hunk.old_start, hunk.new_start, hunk.heading))
            .collect();
        assert_eq!(headings, [(1, 1, "fn a() {"), (9, 10, "")]);
        assert_eq!(
            patch.hunks[0].runs().map(<[_]>::len).collect::<Vec<_>>(),
            [1, 3]
        );
    }

    #[test]
    fn an_unreadable_header_yields_nothing_rather_than_wrong_lines() {
        for text in ["@@ nonsense @@\n+x", "+x", "@@ -1 @@\n+x"] {
            assert_eq!(Patch::read(text), None, "{text}");
        }
    }

    #[test]
    fn two_texts_compare_to_hunks_with_the_lines_around() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n";
        let new = "a\nb\nc\nd\nE\nf\ng\nh\ni\nj\nk\nl\nm\n";
        let patch = Patch::between(old, new);
        let expected = " 2:2 b| 3:3 c| 4:4 d|-5:5 e|+6:5 E| 6:6 f| 7:7 g| 8:8 h| 10:10 j| 11:11 k| 12:12 l|+13:13 m";
        assert_eq!((patch.hunks.len(), shown(&patch).as_str()), (2, expected));
        assert_eq!(shown(&Patch::between("", "x\n")), "+1:1 x");
        assert_eq!(shown(&Patch::between("x\ny\n", "")), "-1:1 x|-2:1 y");
        assert_eq!(Patch::between(old, old), Patch::default());
    }

    #[test]
    fn texts_that_differ_everywhere_count_as_replaced() {
        let text = |word: &str| {
            (0..5_000)
                .map(|line| format!("{word} {line}\n"))
                .collect::<String>()
        };
        let (old, new) = (text("old"), text("new"));
        let patch = Patch::between(&old, &new);
        assert_eq!(
            (patch.removed().count(), patch.added().count()),
            (5_000, 5_000)
        );
    }
}
