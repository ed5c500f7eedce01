//! Go's cover profile: `mode: set`, then a line for each block, `path/file.go:3.20,5.2 1 0`.
//!
//! A block covers the lines from its first to its last. Where blocks meet on a line (an `if` and its body) the line ran
//! if one of them did. Paths begin with the module's.

use std::ops::RangeInclusive;

use crate::{Collector, Mark, Unreadable, Window, each_line, numbers};

pub(super) const MARK: Mark = Mark::Line(|line| {
    matches!(
        line.trim_end(),
        "mode: set" | "mode: count" | "mode: atomic"
    )
});

/// Lines in a block at most; more is a damaged profile, not a function.
const MAX_BLOCK: u32 = 100_000;

pub(super) fn parse(window: &mut Window<'_>, out: &mut Collector) -> Result<(), Unreadable> {
    out.coverage.expected = true;
    let mut current = String::new();
    each_line(window, out, |line, out| {
        let text = line.trim();
        // Profiles are often put one behind the other, each with its mode.
        if text.is_empty() || text.starts_with("mode:") {
            return true;
        }
        let Some((path, lines, is_code, count)) = block(text) else {
            return false;
        };
        if path != current {
            out.coverage.file(path);
            current.clear();
            current.push_str(path);
        }
        if is_code {
            lines.for_each(|line| out.coverage.line(line, count));
        }
        true
    })
    .map(drop)
}

/// The path of a block, its lines, whether it has statements, and how often it ran.
fn block(text: &str) -> Option<(&str, RangeInclusive<u32>, bool, u64)> {
    let (path, rest) = text.rsplit_once(':').filter(|(path, _)| !path.is_empty())?;
    let mut fields = rest.split_whitespace();
    let (from, to) = fields.next()?.split_once(',')?;
    let line_of = |position: &str| numbers::line(position.split_once('.')?.0);
    let (first, last) = (line_of(from)?, line_of(to)?);
    let mut number = || numbers::count(fields.next()?).ok();
    let (statements, count) = (number()?, number()?);
    (first..first.saturating_add(MAX_BLOCK))
        .contains(&last)
        .then_some((path, first..=last, statements > 0, count))
}
