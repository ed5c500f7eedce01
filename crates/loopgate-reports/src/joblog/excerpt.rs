//! The lines that are shown of a failing step.

use std::collections::BTreeSet;

use loopgate_core::untrusted::{MOST_BYTES, MOST_LINES, cut, quote};

use super::salience::{self, GreenLog};

/// Lines shown around each that was chosen.
const AROUND: usize = 2;
/// Bytes of the line that counts what is left out.
const GAP: usize = 24;
/// A line that scores less shows nothing of the failure.
const LEAST: f32 = 1.0;
/// What a line loses for each one of its kind that was chosen before.
const REPEATED: f32 = 2.5;

/// The text of an excerpt, the lines that it leaves out, and which line shows most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownLines {
    pub text: String,
    pub cut_lines: u64,
    pub best: Option<usize>,
}

/// Chooses the lines that show most, each with those around it, in their order.
pub fn choose(lines: &[&str], green: Option<&GreenLog>) -> ShownLines {
    let kinds = salience::kinds(lines);
    let mut scores = salience::scores(lines, &kinds, green);
    let best = (0..lines.len())
        .filter(|at| !lines[*at].starts_with("##["))
        .max_by(|a, b| scores[*a].total_cmp(&scores[*b]));
    // How late a line stands does not yet show anything.
    let best = best.filter(|at| scores[*at] >= LEAST && salience::says_something(lines[*at]));
    let candidates: Vec<usize> = (0..lines.len()).filter(|at| scores[*at] >= LEAST).collect();
    let cost = |at: usize| cut(lines[at]).len() + 1;
    let (mut shown, mut bytes) = (BTreeSet::new(), 0);
    // Each line that is chosen may stand behind a gap, which is a line too.
    let mut gaps = 0;
    loop {
        let left = candidates.iter().copied().filter(|at| scores[*at] >= LEAST);
        let Some(at) = left.max_by(|a, b| scores[*a].total_cmp(&scores[*b]).then(b.cmp(a))) else {
            break;
        };
        if !shown.contains(&at) {
            if shown.len() + gaps + 1 >= MOST_LINES || bytes + cost(at) + GAP > MOST_BYTES {
                break;
            }
            (gaps, bytes) = (gaps + 1, bytes + cost(at) + GAP);
            shown.insert(at);
            let around = (1..=AROUND)
                .flat_map(|far| [at.checked_sub(far), at.checked_add(far)])
                .flatten();
            for near in
                around.filter(|near| lines.get(*near).is_some_and(|line| !line.trim().is_empty()))
            {
                let fits = shown.len() + gaps + 1 < MOST_LINES && bytes + cost(near) <= MOST_BYTES;
                if fits && shown.insert(near) {
                    bytes += cost(near);
                }
            }
        }
        candidates
            .iter()
            .filter(|other| kinds[**other] == kinds[at])
            .for_each(|other| scores[*other] -= REPEATED);
        scores[at] = f32::MIN;
    }
    // The lines in their order, with the number of lines between them.
    let (mut text, mut next) = (String::with_capacity(bytes), 0);
    for &at in &shown {
        match lines[next..at]
            .iter()
            .filter(|line| !line.trim().is_empty())
            .count()
        {
            0 => {}
            gap => text.push_str(&format!("[… {gap} lines]\n")),
        }
        text.push_str(cut(lines[at]));
        text.push('\n');
        next = at + 1;
    }
    ShownLines {
        text: quote(&text),
        cut_lines: (lines.len() - shown.len()) as u64,
        best,
    }
}
