//! `llvm-cov export`'s JSON, also what cargo-llvm-cov writes: per file a list of segments, from which the lines' counts
//! follow by the same rules as in LLVM's own line coverage (`LineCoverageStats`), so that its lcov shows the same.

use crate::json::read;
use crate::{Collector, Flaw, Json, Mark, Step, Unreadable, Window};

pub(super) const MARK: Mark = Mark::Object(|head, keys| {
    keys.contains(&"data")
        && (head.contains("\"segments\"") || head.contains("llvm.coverage.json.export"))
});

/// Lines between two segments at most; more is a damaged file, not a program.
const MAX_GAP: u32 = 1_000_000;

/// Its keys stand in the order of the alphabet: a file's name comes before its segments, the files before the totals.
pub(super) fn parse(window: &mut Window<'_>, out: &mut Collector) -> Result<(), Unreadable> {
    const PATHS: &[&str] = &[
        "data[].files[].filename",
        "data[].files[].segments[]",
        "data[].files[].summary.lines",
        "data[].totals.lines",
    ];
    out.coverage.expected = true;
    let Collector {
        coverage, notes, ..
    } = out;
    let (mut has_files, mut is_named, mut lines) = (false, false, Lines::default());
    // A float's conversion is saturating, so no count is too large and none negative.
    let count = |value: &Json, key: &str| value.number(key).unwrap_or(0.0) as u64;
    read(window, PATHS, &mut |step| match step {
        Step::Value(0, name, _) => {
            (has_files, is_named) = (true, true);
            coverage.file(&name.text("").unwrap_or_default());
        }
        Step::Value(1, segment, _) if is_named => lines
            .take(Segment::of(&segment), &mut |line, count| {
                coverage.line(line, count)
            }),
        Step::Value(2, sum, _) if is_named => {
            coverage.counter(count(&sum, "covered"), count(&sum, "count"))
        }
        // Of everything, which matters where no file is listed.
        Step::Value(3, sum, _) if !has_files => {
            coverage.file("");
            coverage.counter(count(&sum, "covered"), count(&sum, "count"));
        }
        Step::End("data[].files[]") => {
            std::mem::take(&mut lines).end_line(&mut |line, count| coverage.line(line, count));
            if !std::mem::take(&mut is_named) {
                notes.flaw(Flaw::NO_LOCATION, || "segments without a filename");
            }
        }
        _ => {}
    })
}

/// `[line, column, count, has count, is region entry, is gap region]`; the last is missing in old versions.
#[derive(Clone, Copy, Debug)]
struct Segment {
    line: u32,
    count: u64,
    has_count: bool,
    is_entry: bool,
    is_gap: bool,
}

impl Segment {
    fn of(value: &Json) -> Self {
        Self {
            line: value.line("0").unwrap_or(0),
            count: value.number("2").unwrap_or(0.0) as u64,
            has_count: value.is_true("3"),
            is_entry: value.is_true("4"),
            is_gap: value.is_true("5"),
        }
    }
}

/// Turns segments, sorted by place, into lines with counts.
#[derive(Default)]
struct Lines {
    /// The last segment of an earlier line: what goes on into this one.
    wrapped: Option<Segment>,
    line: u32,
    here: Vec<Segment>,
}

impl Lines {
    fn take(&mut self, segment: Segment, emit: &mut impl FnMut(u32, u64)) {
        if segment.line == 0 || segment.line < self.line {
            return;
        }
        if segment.line > self.line {
            self.end_line(emit);
            let first = if self.line == 0 {
                segment.line
            } else {
                self.line + 1
            };
            // Lines without a segment of their own are what wraps into them.
            if let Some(wrapped) = self.wrapped.filter(|wrapped| wrapped.has_count) {
                (first..segment.line)
                    .take(MAX_GAP as usize)
                    .for_each(|line| emit(line, wrapped.count));
            }
            self.line = segment.line;
        }
        if self.here.len() < 10_000 {
            self.here.push(segment);
        }
    }

    fn end_line(&mut self, emit: &mut impl FnMut(u32, u64)) {
        let Some(last) = self.here.last().copied() else {
            return;
        };
        let starts_skipped = self
            .here
            .first()
            .is_some_and(|first| !first.has_count && first.is_entry);
        let wraps = self.wrapped.is_some_and(|wrapped| wrapped.has_count);
        let starting = || {
            self.here
                .iter()
                .filter(|segment| !segment.is_gap && segment.has_count && segment.is_entry)
        };
        let enters = self
            .here
            .iter()
            .any(|segment| segment.is_entry && segment.has_count);
        // Otherwise the line is not executable.
        if enters || (!starts_skipped && (wraps || starting().next().is_some())) {
            let started = starting().map(|segment| segment.count).max();
            // Even a wrapped segment without a count takes part with its 0.
            emit(
                self.line,
                started
                    .unwrap_or(0)
                    .max(self.wrapped.map_or(0, |wrapped| wrapped.count)),
            );
        }
        self.wrapped = Some(last);
        self.here.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_segments() {
        let segment = |line, count, has_count, is_entry, is_gap| Segment {
            line,
            count,
            has_count,
            is_entry,
            is_gap,
        };
        // A function on lines 2–8 run once, with a branch on 4–5 never taken and a gap before it.
        let segments = [
            segment(2, 1, true, true, false),
            segment(4, 0, true, true, true),
            segment(4, 0, true, true, false),
            segment(5, 1, true, false, false),
            segment(8, 0, false, false, false),
            segment(12, 0, false, true, false),
            segment(14, 0, false, false, false),
        ];
        let mut seen = Vec::new();
        let mut emit = |line, count| seen.push((line, count));
        let mut lines = Lines::default();
        segments
            .into_iter()
            .for_each(|segment| lines.take(segment, &mut emit));
        lines.end_line(&mut emit);
        assert_eq!(
            seen,
            [(2, 1), (3, 1), (4, 1), (5, 0), (6, 1), (7, 1), (8, 1)]
        );
    }
}
