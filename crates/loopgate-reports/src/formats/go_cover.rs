//! Go's cover profile: `mode: set`, then a line for each block, `path/file.go:3.20,5.2 1 0`.
//!
//! A block covers the lines from its first to its last. Where blocks meet on a line (an `if` and its body) the line ran
//! if one of them did. Paths begin with the module's.

use crate::{Collector, Mark, Unreadable, Window, each_line, numbers};

pub(super) const MARK: Mark =
    Mark::Line(|line| matches!(line.trim_end(), "mode: set" | "mode: count" | "mode: atomic"));

/// Lines in a block at most; more is a damaged profile, not a function.
const MAX_BLOCK: u32 = 100_000;

pub(super) fn parse(window: &mut Window<'_>, out: &mut Collector<'_>) -> Result<(), Unreadable> {
    out.coverage.expected = true;
    let mut current = String::new();
    each_line(window, out, |line, out| {
        let text = line.trim();
        // Profiles are often put one behind the other, each with its mode.
        if text.is_empty() || text.starts_with("mode:") {
            return true;
        }
        let Some(block) = Block::of(text) else { return false };
        if block.path != current {
            out.coverage.file(block.path);
            current.clear();
            current.push_str(block.path);
        }
        if block.statements > 0 {
            (block.first..=block.last).for_each(|line| out.coverage.line(line, block.count));
        }
        true
    })
    .map(drop)
}

struct Block<'a> {
    path: &'a str,
    first: u32,
    last: u32,
    statements: u64,
    count: u64,
}

impl<'a> Block<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let (path, rest) = line.rsplit_once(':')?;
        let mut fields = rest.split_whitespace();
        let (from, to) = fields.next()?.split_once(',')?;
        let line_of = |position: &str| numbers::line(position.split_once('.')?.0);
        let block = Self {
            path,
            first: line_of(from)?,
            last: line_of(to)?,
            statements: numbers::count(fields.next()?).ok()?,
            count: numbers::count(fields.next()?).ok()?,
        };
        (!path.is_empty() && (block.first..block.first.saturating_add(MAX_BLOCK)).contains(&block.last))
            .then_some(block)
    }
}
