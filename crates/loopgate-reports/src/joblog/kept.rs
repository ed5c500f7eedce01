//! The end of a log in bounded memory, whatever its size.

use std::{
    collections::VecDeque,
    io::{self, Read},
};

use loopgate_core::untrusted::without_hidden;

use super::steps::{Bounds, stamp};

/// Bytes kept of the end of a log.
const KEPT: usize = 8_000_000;
/// Bytes of a line that are kept.
const LONGEST_LINE: usize = 8 * 1024;

/// Collects a log as it arrives: of each line its head without what hides, of all lines the last [`KEPT`] bytes; with
/// the bounds of a step only the lines stamped inside it.
#[derive(Debug, Default)]
pub struct LogTail {
    /// Whole lines.
    bytes: VecDeque<u8>,
    /// The line that has not ended yet.
    line: Vec<u8>,
    /// What the lines are kept within.
    pub(super) bounds: Option<Bounds>,
    is_outside: bool,
    /// Lines inside the bounds that are not kept any more.
    pub dropped_lines: u64,
}

impl LogTail {
    pub fn within(bounds: Option<Bounds>) -> Self {
        Self {
            bounds,
            ..Self::default()
        }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            self.extend(&rest[..end]);
            self.end_line();
            rest = &rest[end + 1..];
        }
        self.extend(rest);
    }

    /// Whether nothing but white space is kept.
    pub fn is_empty(&self) -> bool {
        self.bytes
            .iter()
            .chain(&self.line)
            .all(u8::is_ascii_whitespace)
    }

    /// The last line, if nothing ends it.
    pub fn open_line(&self) -> String {
        without_hidden(&String::from_utf8_lossy(&self.line)).into_owned()
    }

    /// The text that is kept.
    pub fn into_text(mut self) -> String {
        if !self.line.is_empty() {
            self.end_line();
        }
        String::from_utf8(self.bytes.into()).unwrap_or_default()
    }

    fn extend(&mut self, piece: &[u8]) {
        if self.bytes.capacity() == 0 {
            // Pages that are never written to cost nothing; a buffer that grows leaves holes in the heap.
            self.bytes.reserve_exact(KEPT + 4 * LONGEST_LINE);
        }
        let room = LONGEST_LINE - self.line.len();
        self.line.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    fn end_line(&mut self) {
        // A line without a stamp belongs to the line above it.
        if let (Some(bounds), Some(at)) = (&mut self.bounds, stamp(&self.line)) {
            self.is_outside = !bounds.contains(at);
        }
        if !self.is_outside {
            let line = String::from_utf8_lossy(&self.line);
            self.bytes.extend(without_hidden(&line).as_bytes());
            self.bytes.push_back(b'\n');
        }
        // Whole lines go from the front.
        while self.bytes.len() > KEPT {
            let (front, back) = self.bytes.as_slices();
            let end = memchr::memchr(b'\n', front)
                .or_else(|| memchr::memchr(b'\n', back).map(|at| front.len() + at));
            self.bytes
                .drain(..end.map_or(self.bytes.len(), |end| end + 1));
            self.dropped_lines += 1;
        }
        self.line.clear();
    }
}

/// Passes on what it reads, and keeps the end of it.
#[derive(Debug)]
pub struct TailReader<R> {
    pub input: R,
    pub kept: LogTail,
}

impl<R: Read> Read for TailReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(into)?;
        self.kept.push(&into[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_log_is_kept_and_the_rest_counted() {
        let mut kept = LogTail::default();
        for number in 0..300_000 {
            kept.push(
                format!("line {number:06} of a log that goes on and on and on and on and on\n")
                    .as_bytes(),
            );
        }
        assert!(
            kept.bytes.capacity() <= KEPT + 4 * LONGEST_LINE,
            "{}",
            kept.bytes.capacity()
        );
        kept.push(b"last");
        let dropped = kept.dropped_lines;
        let text = kept.into_text();
        assert!(
            text.len() <= KEPT && text.starts_with("line ") && text.ends_with("\nlast\n"),
            "{dropped}"
        );
    }

    #[test]
    fn one_endless_line_costs_its_head() {
        let mut kept = LogTail::default();
        for _ in 0..640 {
            kept.push(&[b'x'; 64 * 1024]);
        }
        kept.push(b"\nnext\n");
        let text = kept.into_text();
        assert_eq!(
            (text.len(), text.lines().last()),
            (LONGEST_LINE + 6, Some("next"))
        );
    }
}
