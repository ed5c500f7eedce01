//! How much a line of a failing step shows of the failure.

use std::{
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use loopgate_core::{failure::without_stamp, untrusted::cut};

use crate::speakers::without_time;

/// Lines of a green log that are remembered.
const GREEN_LINES: usize = 50_000;

/// Lines in a row with one mark that make a report.
const MARKED_LINES: usize = 4;

/// What a green log of the same job printed: a line that stands there explains no failure.
#[derive(Clone, Debug, Default)]
pub struct GreenLog(HashSet<u64>);

impl GreenLog {
    /// Remembers the lines of a text, whatever numbers stand in them.
    pub fn of(text: &str) -> Self {
        let lines = text.lines().map(|line| without_time(without_stamp(line)));
        Self(
            lines
                .map(|line| shape(cut(line)))
                .take(GREEN_LINES)
                .collect(),
        )
    }
}

/// A line's hash without its numbers, which differ from run to run.
fn shape(line: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut in_number = false;
    for byte in line.trim().bytes() {
        let is_digit = byte.is_ascii_digit();
        if !(is_digit && in_number) {
            hasher.write_u8(if is_digit { b'0' } else { byte });
        }
        in_number = is_digit;
    }
    line.len().min(1).hash(&mut hasher);
    hasher.finish()
}

/// The kinds of these lines, numbered as they first appear. A kind is a line's words without paths, numbers and what
/// stands in quotes: many of one kind show the same of many things.
pub fn kinds(lines: &[&str]) -> Vec<u32> {
    let mut numbers: HashMap<u64, u32> = HashMap::new();
    let kind = |line: &&str| shape(&VARIES.replace_all(cut(line), "0"));
    let mut number = |kind| {
        let next = numbers.len() as u32;
        *numbers.entry(kind).or_insert(next)
    };
    lines.iter().map(kind).map(&mut number).collect()
}

patterns! {
    /// What differs between lines of one kind.
    VARIES = r#"[\w.@-]*[/\\][\w./\\@:-]*|"[^"]*"|'[^']*'|`[^`]*`|\b[\w-]+\.\w+\b|\d+"#;

    /// Words that show that something went wrong, not as a part of a name, a path or an option.
    WRONG = r"(?ix)
        (?:^|[^\w./\\-])
        (?:errors?|fatal|panic(?:ked)?|exception|traceback|fail(?:ed|ures?|s|ing)?|abort(?:ed)?|crash(?:ed)?|undefined\ reference)
        (?:[^\w./\\=-]|\.\s|\.?$)
        |\b[A-Za-z]\w*(?:Error|Exception|Failure)\b
        |^\s*(?:E\ \ |✗|✘|✖|×|●|not\ ok\ )";

    /// Words that often stand in the sentence that shows why.
    WHY = r"(?ix)\b(?:cannot|can't|can\ not|could\ not|couldn't|unable|denied|forbidden|missing|invalid|not\ found|no\ such|refused|rejected|expected|unexpected|timed?\ ?out|mismatch|violations?|conflicts?|wrong|broken|unresolved|unsupported|not\ (?:allowed|accessible|supported|installed|defined|match)|no\ tests|killed|out\ of\ memory|does\ not|doesn't|did\ not|must|refusing|caused\ by|assert(?:ion)?|exit(?:ed)?\ (?:with\ )?(?:code|status))\b";

    /// Sums of nothing, and what is only a warning.
    CALM = r"(?i)\b(?:0|no) (?:errors?|failed|failures?|fail)\b|^\W*(?:npm )?warn(?:ing)?\b|\bwarning:|\b(?:PASSED|SKIPPED|XFAIL|ok)\s*(?:\[|\(|$)";

    /// A line of a file.
    pub PLACE = r#"(?:^|[\s('"`\[])(?:[\w.@+-]+[/\\])*[\w@+-][\w.@+-]*\.[A-Za-z]{1,6}(?::\d+|\(\d+|", line \d+)"#;

    /// Folders that hold what is not the repository's own.
    FOREIGN = "node_modules|site-packages|/usr/|/opt/|[.]cargo/registry|/rustc/|hostedtoolcache|node:internal";
}

/// Scores the lines of a step, of which [`kinds`] are given; the last is the runner's own line about how it ended.
pub fn scores(lines: &[&str], kinds: &[u32], green: Option<&GreenLog>) -> Vec<f32> {
    let mut counts = vec![0_u32; kinds.iter().max().map_or(0, |last| *last as usize + 1)];
    kinds.iter().for_each(|kind| counts[*kind as usize] += 1);
    let mut next_kind = 0;
    let repeated = repeated_marks(lines);
    let score = |(at, (line, kind)): (usize, (&&str, &u32))| {
        let is_first = *kind == next_kind;
        next_kind += u32::from(is_first);
        if line.trim().is_empty()
            || line.starts_with("##[endgroup]")
            || line.starts_with("##[group]")
        {
            return 0.0;
        }
        let mut score = by_words(&line[usize::from(repeated[at])..]);
        // The end of a step shows how it ended.
        score += 5.0 * 0.5_f32.powf((lines.len() - 1 - at) as f32 / 10.0);
        let again = counts[*kind as usize] as f32;
        score -= if is_first {
            again.log2() * 0.7
        } else {
            again.log2() * 1.5
        }
        .min(8.0);
        match green {
            Some(green) if green.0.contains(&shape(cut(line))) => score - 5.0,
            Some(_) => score + 3.0,
            None => score,
        }
    };
    lines.iter().zip(kinds).enumerate().map(score).collect()
}

/// Of each line the length of the mark by which its tool labels every line of a report (`npm error`, `[ERROR]`): the
/// first line of a report shows with it that something is wrong, the others repeat it.
fn repeated_marks(lines: &[&str]) -> Vec<u8> {
    // The end of the first word, or of the first two, that shows that something is wrong; 0 if none does.
    let mark = |line: &&str| {
        let line = &line[..line.floor_char_boundary(60)];
        let ends = line
            .match_indices(' ')
            .map(|(at, _)| at)
            .chain([line.len()]);
        ends.take(2)
            .find(|end| WRONG.is_match(&line[..*end]))
            .map_or(0, |end| end as u8)
    };
    let mut marks: Vec<u8> = lines.iter().map(mark).collect();
    let mut from = 0;
    while from < lines.len() {
        let mark = &lines[from][..usize::from(marks[from])];
        let is_same = |at: &usize| lines[*at][..usize::from(marks[*at])] == *mark;
        let run = (from..lines.len()).take_while(is_same).count();
        let first_repeated = if run >= MARKED_LINES {
            from + 1
        } else {
            from + run
        };
        marks[from..first_repeated].fill(0);
        from += run;
    }
    marks
}

/// Whether a line has words of its own that may show why something failed.
pub fn says_something(line: &str) -> bool {
    by_words(line) > 0.0
}

fn by_words(line: &str) -> f32 {
    let line = &line[..line.floor_char_boundary(400)];
    let points = |is_so: bool, points: f32| if is_so { points } else { 0.0 };
    let score = points(WRONG.is_match(line), 7.0)
        + points(WHY.is_match(line), 4.0)
        + points(line.starts_with("##[error]"), 4.0)
        + points(!FOREIGN.is_match(line) && PLACE.is_match(line), 3.0);
    if CALM.is_match(line) {
        score * 0.4
    } else {
        score
    }
}
