//! The lines that are shown of a failing step.

use std::collections::BTreeSet;

use loopgate_core::untrusted::{MOST_BYTES, MOST_LINES, cut, quote};

use super::salience::{self, GreenLog};

/// Lines shown around each that was chosen.
const AROUND: usize = 2;
/// Bytes of the line that counts what is left out.
const GAP: usize = 24;
/// A line that scores less says nothing of the failure.
const LEAST: f32 = 1.0;
/// What a line loses for each one of its kind that was chosen before.
const SEEN: f32 = 2.5;

/// The text of an excerpt, the lines that it leaves out, and which line says most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    pub text: String,
    pub cut_lines: u64,
    pub best: Option<usize>,
}

/// Chooses the lines that say most, each with those around it, in their order.
pub fn choose(lines: &[&str], green: Option<&GreenLog>) -> Chosen {
    let kinds = salience::kinds(lines);
    let mut scores = salience::scores(lines, &kinds, green);
    let best =
        (0..lines.len()).filter(|at| !lines[*at].starts_with("##[")).max_by(|a, b| scores[*a].total_cmp(&scores[*b]));
    let best = best.filter(|at| scores[*at] >= LEAST);
    let candidates: Vec<usize> = (0..lines.len()).filter(|at| scores[*at] >= LEAST).collect();
    let mut kept = Kept { lines, shown: BTreeSet::new(), bytes: 0, picked: 0 };
    loop {
        let left = candidates.iter().copied().filter(|at| scores[*at] >= LEAST);
        let leading = left.max_by(|a, b| scores[*a].total_cmp(&scores[*b]).then(b.cmp(a)));
        let Some(at) = leading.filter(|at| kept.take(*at)) else { break };
        candidates.iter().filter(|other| kinds[**other] == kinds[at]).for_each(|other| scores[*other] -= SEEN);
        scores[at] = f32::MIN;
    }
    let shown = kept.shown.len();
    Chosen { text: quote(&kept.text()), cut_lines: (lines.len() - shown) as u64, best }
}

struct Kept<'t> {
    lines: &'t [&'t str],
    shown: BTreeSet<usize>,
    bytes: usize,
    /// Lines that were chosen; each may stand behind a gap.
    picked: usize,
}

impl Kept<'_> {
    /// Takes a line and those around it, as far as there is room; false if there is none for the line.
    fn take(&mut self, at: usize) -> bool {
        if self.shown.contains(&at) {
            return true;
        }
        if !self.fits(at, GAP) {
            return false;
        }
        self.bytes += GAP;
        self.picked += 1;
        self.show(at);
        let around = (1..=AROUND).flat_map(|far| [at.checked_sub(far), at.checked_add(far)]);
        for near in around.flatten().filter(|near| *near < self.lines.len()) {
            if !self.shown.contains(&near) && !self.lines[near].trim().is_empty() && self.fits(near, 0) {
                self.show(near);
            }
        }
        true
    }

    fn fits(&self, at: usize, more: usize) -> bool {
        self.shown.len() + self.picked + 1 < MOST_LINES
            && self.bytes + cut(self.lines[at]).len() + 1 + more <= MOST_BYTES
    }

    fn show(&mut self, at: usize) {
        self.bytes += cut(self.lines[at]).len() + 1;
        self.shown.insert(at);
    }

    /// The lines in their order, with the number of lines between them.
    fn text(&self) -> String {
        let mut text = String::with_capacity(self.bytes);
        let mut next = 0;
        for &at in &self.shown {
            match self.lines[next..at].iter().filter(|line| !line.trim().is_empty()).count() {
                0 => {}
                gap => text.push_str(&format!("[… {gap} lines]\n")),
            }
            text.push_str(cut(self.lines[at]));
            text.push('\n');
            next = at + 1;
        }
        text
    }
}
