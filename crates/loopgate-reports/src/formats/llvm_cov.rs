//! `llvm-cov export`'s JSON, also what cargo-llvm-cov writes: per file a list of segments, from which the lines' counts
//! follow by the same rules as in LLVM's own line coverage (`LineCoverageStats`), so that its lcov says the same.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{self, IgnoredAny, SeqAccess, Visitor},
};

use crate::{
    Unreadable,
    collect::Collector,
    json::{Elements, Few, Number, Text, read},
    mark::Mark,
    notes::Flaw,
    window::Window,
};

pub(super) const MARK: Mark = Mark::Object(|head, keys| {
    keys.contains(&"data") && (head.contains("\"segments\"") || head.contains("llvm.coverage.json.export"))
});

/// Lines between two segments at most; more is a damaged file, not a program.
const MAX_GAP: u32 = 1_000_000;

pub(super) fn parse(window: &mut Window<'_>, out: &mut Collector<'_>) -> Result<(), Unreadable> {
    out.coverage.expect();
    read(window, &mut Exports { out, has_files: false })
}

/// Segments of one file; more is a damaged file, not a program.
const MOST_SEGMENTS: usize = 1_000_000;

struct Exports<'c, 'o> {
    out: &'c mut Collector<'o>,
    has_files: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct File {
    filename: Text,
    segments: Few<Segment, MOST_SEGMENTS, true>,
    summary: Summary,
}

/// What a file's lines, or all, amount to.
#[derive(Default, Deserialize)]
struct Summary {
    #[serde(default)]
    lines: LineCount,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LineCount {
    count: Number,
    covered: Number,
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

impl<'de> Deserialize<'de> for Segment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(SegmentVisitor)
    }
}

struct SegmentVisitor;

impl<'de> Visitor<'de> for SegmentVisitor {
    type Value = Segment;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a segment: [line, column, count, has count, is region entry, is gap region]")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Segment, A::Error> {
        let missing = |index| de::Error::invalid_length(index, &self);
        let line = seq.next_element()?.ok_or_else(|| missing(0))?;
        seq.next_element::<IgnoredAny>()?;
        let count = seq.next_element::<Number>()?.ok_or_else(|| missing(2))?;
        let has_count = seq.next_element()?.ok_or_else(|| missing(3))?;
        let is_entry = seq.next_element()?.ok_or_else(|| missing(4))?;
        let is_gap = seq.next_element()?.unwrap_or(false);
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        // A float's conversion is saturating, so no count is too large and none negative.
        Ok(Segment { line, count: count.0.unwrap_or(0.0) as u64, has_count, is_entry, is_gap })
    }
}

impl Segment {
    fn starts_region(&self) -> bool {
        !self.is_gap && self.has_count && self.is_entry
    }
}

impl Elements for Exports<'_, '_> {
    fn paths(&self) -> &'static [&'static str] {
        &["data[].files[]", "data[].totals"]
    }

    fn take<'de, D: Deserializer<'de>>(&mut self, path: usize, value: D) -> Result<(), D::Error> {
        let coverage = &mut self.out.coverage;
        let sum = if path == 0 {
            let file = File::deserialize(value)?;
            if file.filename.0.is_none() {
                self.out.notes.flaw(Flaw::NoLocation, || "segments without a filename");
                return Ok(());
            }
            self.has_files = true;
            coverage.file(&file.filename.0.unwrap_or_default());
            let mut lines = Lines::default();
            let segments = file.segments.0.into_iter();
            segments.for_each(|segment| lines.take(segment, &mut |line, count| coverage.line(line, count)));
            lines.end_line(&mut |line, count| coverage.line(line, count));
            file.summary.lines
        } else {
            let totals = Summary::deserialize(value)?;
            // Of everything, which matters where no file is listed.
            if self.has_files {
                return Ok(());
            }
            coverage.file("");
            totals.lines
        };
        // A float's conversion is saturating.
        coverage.counter(sum.covered.0.unwrap_or(0.0) as u64, sum.count.0.unwrap_or(0.0) as u64);
        Ok(())
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
            let first = if self.line == 0 { segment.line } else { self.line + 1 };
            // Lines without a segment of their own are what wraps into them.
            if let Some(wrapped) = self.wrapped.filter(|wrapped| wrapped.has_count) {
                (first..segment.line).take(MAX_GAP as usize).for_each(|line| emit(line, wrapped.count));
            }
            self.line = segment.line;
        }
        if self.here.len() < 10_000 {
            self.here.push(segment);
        }
    }

    fn end_line(&mut self, emit: &mut impl FnMut(u32, u64)) {
        let Some(last) = self.here.last().copied() else { return };
        if let Some(count) = self.count() {
            emit(self.line, count);
        }
        self.wrapped = Some(last);
        self.here.clear();
    }

    /// The line's count; none if it is not executable.
    fn count(&self) -> Option<u64> {
        let starts_skipped = self.here.first().is_some_and(|first| !first.has_count && first.is_entry);
        let wraps = self.wrapped.is_some_and(|wrapped| wrapped.has_count);
        let starts = self.here.iter().any(Segment::starts_region);
        let enters = self.here.iter().any(|segment| segment.is_entry && segment.has_count);
        if !(enters || (!starts_skipped && (wraps || starts))) {
            return None;
        }
        let started = self.here.iter().filter(|segment| segment.starts_region()).map(|segment| segment.count).max();
        // Even a wrapped segment without a count takes part with its 0.
        Some(started.unwrap_or(0).max(self.wrapped.map_or(0, |wrapped| wrapped.count)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_segments() {
        let segment = |line, count, has_count, is_entry, is_gap| Segment { line, count, has_count, is_entry, is_gap };
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
        segments.into_iter().for_each(|segment| lines.take(segment, &mut emit));
        lines.end_line(&mut emit);
        assert_eq!(seen, [(2, 1), (3, 1), (4, 1), (5, 0), (6, 1), (7, 1), (8, 1)]);
    }
}
