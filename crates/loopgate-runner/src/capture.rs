//! The output of a running command in bounded memory: read by the reader of its reports, and kept with its head and its
//! tail, what was cut between them counted.

use std::{
    collections::VecDeque,
    io::{self, Read},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
};

/// Bytes of output that are kept: two thirds of them tail, since that is where tools write what went wrong.
pub const KEPT_OUTPUT: usize = 256 * 1024;
const KEPT_HEAD: usize = KEPT_OUTPUT / 3;
/// Bytes read at once, and chunks in flight to the reader of reports.
const CHUNK: usize = 64 * 1024;
const CHUNKS_IN_FLIGHT: usize = 16;

/// Collects output as it arrives.
#[derive(Debug, Default)]
struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Capture {
    fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (first, rest) = bytes.split_at(bytes.len().min(KEPT_HEAD - self.head.len()));
        self.head.extend_from_slice(first);
        // Only the last bytes can ever be shown.
        let most = KEPT_OUTPUT - KEPT_HEAD;
        let rest = &rest[rest.len().saturating_sub(most)..];
        self.tail
            .drain(..(self.tail.len() + rest.len()).saturating_sub(most));
        self.tail.extend(rest);
    }

    fn finish(mut self) -> Captured {
        let cut_bytes = self.total - (self.head.len() + self.tail.len()) as u64;
        if cut_bytes == 0 {
            self.head.extend(std::mem::take(&mut self.tail));
        }
        let [head, tail] =
            [self.head, self.tail.into()].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Captured {
            head,
            tail,
            cut_bytes,
        }
    }
}

/// The output as kept: everything in `head` when nothing was cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    pub head: String,
    pub tail: String,
    pub cut_bytes: u64,
}

/// Copies output to where it is kept and read.
#[derive(Debug)]
pub struct Tee {
    /// What is kept, and the way to the reader, until nothing more is waited for.
    state: Mutex<(Capture, Option<SyncSender<Vec<u8>>>)>,
    /// Reads of the pipe, begun and ended, counted together.
    reads: AtomicU64,
}

impl Tee {
    pub fn new() -> (Self, OutputReader) {
        let (chunks, received) = sync_channel(CHUNKS_IN_FLIGHT);
        let state = Mutex::new((Capture::default(), Some(chunks)));
        (
            Self {
                state,
                reads: AtomicU64::new(0),
            },
            OutputReader {
                received,
                chunk: io::Cursor::default(),
            },
        )
    }

    /// Copies all that comes out of the pipe, until [`finish`](Self::finish).
    pub fn pump(&self, mut output: impl Read, mut live: impl FnMut(&[u8])) {
        let mut buffer = vec![0; CHUNK];
        let mut read = |buffer: &mut [u8]| {
            self.reads.fetch_add(1, Ordering::Release);
            let read = output.read(buffer);
            self.reads.fetch_add(1, Ordering::Release);
            read
        };
        while let Ok(count @ 1..) = read(&mut buffer) {
            let chunk = &buffer[..count];
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(chunks) = state.1.clone() else {
                return;
            };
            state.0.push(chunk);
            drop(state);
            live(chunk);
            // A reader that has seen enough hangs up; the output is still captured.
            let _ = chunks.send(chunk.to_vec());
        }
    }

    /// Which read waits for something to come; none while what came is handed on.
    pub fn waits(&self) -> Option<u64> {
        Some(self.reads.load(Ordering::Acquire)).filter(|reads| reads % 2 == 1)
    }

    /// What was kept. The reader finds the end of the output after what it has not read yet.
    pub fn finish(&self) -> Captured {
        let (capture, _) =
            std::mem::take(&mut *self.state.lock().unwrap_or_else(PoisonError::into_inner));
        capture.finish()
    }
}

/// The output of a running command, as something to read from.
#[derive(Debug)]
pub struct OutputReader {
    received: Receiver<Vec<u8>>,
    chunk: io::Cursor<Vec<u8>>,
}

impl Read for OutputReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.chunk.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let Ok(chunk) = self.received.recv() else {
                return Ok(0);
            };
            self.chunk = io::Cursor::new(chunk);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(chunks: &[&[u8]]) -> Captured {
        let mut capture = Capture::default();
        chunks.iter().for_each(|chunk| capture.push(chunk));
        assert!(capture.head.capacity() + capture.tail.capacity() < 4 * KEPT_OUTPUT);
        capture.finish()
    }

    #[test]
    fn short_output_is_kept_whole() {
        let got = captured(&[b"one\n", b"two\n"]);
        assert_eq!(
            got,
            Captured {
                head: "one\ntwo\n".into(),
                tail: String::new(),
                cut_bytes: 0
            }
        );
        let got = captured(&[&[b'a'; KEPT_HEAD], &[b'b'; KEPT_OUTPUT - KEPT_HEAD]]);
        assert_eq!(
            (got.head.len(), got.tail.len(), got.cut_bytes),
            (KEPT_OUTPUT, 0, 0)
        );
    }

    #[test]
    fn long_output_keeps_both_ends_and_counts_the_rest() {
        let got = captured(&[
            &[b'a'; KEPT_OUTPUT],
            &[b'b'; KEPT_OUTPUT],
            &[b'c'; KEPT_OUTPUT],
        ]);
        assert_eq!(got.head, "a".repeat(KEPT_HEAD));
        assert_eq!(got.tail, "c".repeat(KEPT_OUTPUT - KEPT_HEAD));
        assert_eq!(got.cut_bytes, 2 * KEPT_OUTPUT as u64);
    }

    #[test]
    fn memory_is_bounded_whatever_is_printed() {
        let chunk = vec![b'x'; 9 * KEPT_OUTPUT];
        let got = captured(&[chunk.as_slice(); 20]);
        assert_eq!(got.head.len() + got.tail.len(), KEPT_OUTPUT);
        assert_eq!(got.cut_bytes, (20 * 9 - 1) * KEPT_OUTPUT as u64);
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_as_such() {
        assert_eq!(captured(&[b"a\xff\xfeb"]).head, "a\u{fffd}\u{fffd}b");
    }
}
