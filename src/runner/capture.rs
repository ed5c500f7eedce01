//! Output of a command in bounded memory: its head and its tail, with what was cut counted.

use std::collections::VecDeque;

/// Bytes kept of each end while a command runs: together the 1 MiB a stream may take.
const END_LIMIT: usize = 512 * 1024;

/// Collects output as it arrives.
#[derive(Debug, Default)]
pub struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Capture {
    pub fn push(&mut self, mut bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = END_LIMIT - self.head.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        bytes = rest;
        // Only the last END_LIMIT bytes can ever be shown.
        bytes = &bytes[bytes.len().saturating_sub(END_LIMIT)..];
        let overflow = (self.tail.len() + bytes.len()).saturating_sub(END_LIMIT);
        self.tail.drain(..overflow);
        self.tail.extend(bytes);
    }

    /// What is kept, shortened to `limit` bytes of text: two thirds of it tail, since that is where tools say what
    /// went wrong.
    pub fn finish(self, limit: usize) -> Captured {
        let tail = Vec::from(self.tail);
        let in_full = self.total <= (self.head.len() + tail.len()) as u64;
        if in_full && self.head.len() + tail.len() <= limit {
            let whole = [self.head, tail].concat();
            return Captured { head: text(&whole), tail: String::new(), cut_bytes: 0 };
        }
        let (head_limit, tail_limit) = (limit / 3, limit - limit / 3);
        let end: Vec<u8> = if tail.len() >= tail_limit || !in_full {
            tail[tail.len().saturating_sub(tail_limit)..].to_vec()
        } else {
            let joined = [self.head.as_slice(), tail.as_slice()].concat();
            joined[joined.len().saturating_sub(tail_limit)..].to_vec()
        };
        let start = &self.head[..self.head.len().min(head_limit)];
        let cut_bytes = self.total - (start.len() + end.len()) as u64;
        Captured { head: text(start), tail: text(&end), cut_bytes }
    }
}

/// The output as kept: everything in `head` when nothing was cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    pub head: String,
    pub tail: String,
    pub cut_bytes: u64,
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(chunks: &[&[u8]], limit: usize) -> Captured {
        let mut capture = Capture::default();
        for chunk in chunks {
            capture.push(chunk);
        }
        capture.finish(limit)
    }

    #[test]
    fn short_output_is_kept_whole() {
        let got = captured(&[b"one\n", b"two\n"], 100);
        assert_eq!(got, Captured { head: "one\ntwo\n".into(), tail: String::new(), cut_bytes: 0 });
    }

    #[test]
    fn long_output_keeps_both_ends_and_counts_the_rest() {
        let got = captured(&[b"aaaaaaaaaa", b"bbbbbbbbbb", b"cccccccccc"], 9);
        assert_eq!(got, Captured { head: "aaa".into(), tail: "cccccc".into(), cut_bytes: 21 });
    }

    #[test]
    fn memory_is_bounded_whatever_is_printed() {
        let mut capture = Capture::default();
        let chunk = vec![b'x'; 3 * END_LIMIT];
        for _ in 0..20 {
            capture.push(&chunk);
        }
        assert!(capture.head.capacity() + capture.tail.capacity() < 8 * END_LIMIT);
        let got = capture.finish(300);
        assert_eq!((got.head.len(), got.tail.len()), (100, 200));
        assert_eq!(got.cut_bytes, 20 * 3 * END_LIMIT as u64 - 300);
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_as_such() {
        assert_eq!(captured(&[b"a\xff\xfeb"], 100).head, "a\u{fffd}\u{fffd}b");
    }
}
