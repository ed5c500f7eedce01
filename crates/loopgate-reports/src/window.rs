//! The bytes of a report as UTF-8, seen through a window of bounded size.
//!
//! Every parser reads through a [`Window`], so encodings (byte order marks, UTF-16, Latin-1, broken UTF-8) are dealt
//! with once, and no parser can be made to hold a whole file.

use std::io::{self, Read};

use loopgate_core::failure;

/// Bytes read at a time.
const CHUNK: usize = 64 * 1024;
/// The longest line, tag or JSON string that is looked at as a whole; of longer ones the rest is passed over.
pub(super) const MAX_PIECE: usize = 1024 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Unknown,
    Utf8,
    Utf16 { big_endian: bool },
    Latin1,
}

/// A view on the part of the input that has been read and not yet consumed.
pub(super) struct Window<'r> {
    inner: Box<dyn Read + 'r>,
    encoding: Encoding,
    /// Bytes not decoded yet: at most a chunk, and after decoding at most an unfinished character.
    raw: Vec<u8>,
    /// What is decoded; parsers see it from `start` on.
    text: String,
    start: usize,
    ended: bool,
    /// The line given last goes on.
    in_cut_line: bool,
    /// How many places were not valid in the input's encoding and now hold U+FFFD.
    pub repaired: u64,
    /// How many lines and strings were longer than [`MAX_PIECE`] and cut there.
    pub cut: u64,
}

impl<'r> Window<'r> {
    pub fn new(inner: impl Read + 'r) -> Self {
        Self {
            inner: Box::new(inner),
            encoding: Encoding::Unknown,
            raw: Vec::new(),
            text: String::new(),
            start: 0,
            ended: false,
            in_cut_line: false,
            repaired: 0,
            cut: 0,
        }
    }

    /// What has been read and not consumed.
    pub fn text(&self) -> &str {
        &self.text[self.start..]
    }

    /// That text as bytes.
    pub fn bytes(&self) -> &[u8] {
        self.text().as_bytes()
    }

    /// Passes over that many bytes, which must end at a character's end.
    pub fn consume(&mut self, count: usize) {
        self.start = self.text.ceil_char_boundary(self.start + count);
    }

    /// Reads on; false at the end of the input. What [`text`](Self::text) showed stays in front of what is added.
    pub fn fill(&mut self) -> io::Result<bool> {
        self.text.drain(..self.start);
        self.start = 0;
        let before = self.text.len();
        while self.text.len() == before && !self.ended {
            self.read_chunk()?;
            // The first bytes decide the encoding; the byte order mark is no text.
            if self.encoding == Encoding::Unknown {
                while self.raw.len() < 4 && !self.ended {
                    self.read_chunk()?;
                }
                let (encoding, mark) = match self.raw.as_slice() {
                    [0xEF, 0xBB, 0xBF, ..] => (Encoding::Utf8, 3),
                    [0xFF, 0xFE, ..] => (Encoding::Utf16 { big_endian: false }, 2),
                    [0xFE, 0xFF, ..] => (Encoding::Utf16 { big_endian: true }, 2),
                    [b'<' | b'{' | b'[', 0, ..] => (Encoding::Utf16 { big_endian: false }, 0),
                    [0, b'<' | b'{' | b'[', ..] => (Encoding::Utf16 { big_endian: true }, 0),
                    bytes if declares_latin1(bytes) => (Encoding::Latin1, 0),
                    _ => (Encoding::Utf8, 0),
                };
                self.raw.drain(..mark);
                self.encoding = encoding;
            }
            match self.encoding {
                Encoding::Unknown | Encoding::Utf8 => self.decode_utf8(),
                Encoding::Latin1 => self.text.extend(self.raw.drain(..).map(char::from)),
                Encoding::Utf16 { big_endian } => self.decode_utf16(big_endian),
            }
        }
        Ok(self.text.len() > before)
    }

    /// Reads until at least `count` bytes are seen, or all there are.
    pub fn fill_to(&mut self, count: usize) -> io::Result<()> {
        while self.text().len() < count && self.fill()? {}
        Ok(())
    }

    /// The next line without its end; none at the end of the input. Lines longer than [`MAX_PIECE`] are cut there.
    pub fn line(&mut self) -> io::Result<Option<&str>> {
        // The rest of a line that was cut is passed over.
        while std::mem::take(&mut self.in_cut_line) {
            match memchr::memchr(b'\n', self.bytes()) {
                Some(at) => self.consume(at + 1),
                None => {
                    self.consume(self.text().len());
                    self.in_cut_line = self.fill()?;
                }
            }
        }
        let mut searched = 0;
        let (length, end) = loop {
            let bytes = self.bytes();
            match memchr::memchr(b'\n', &bytes[searched..]) {
                Some(at) => break (searched + at, searched + at + 1),
                None => searched = bytes.len(),
            }
            if searched > MAX_PIECE {
                self.in_cut_line = true;
                break (searched, searched);
            }
            if !self.fill()? {
                match searched {
                    0 => return Ok(None),
                    all => break (all, all),
                }
            }
        };
        let from = self.start;
        self.consume(end);
        self.cut += u64::from(length > MAX_PIECE);
        let line = head(&self.text[from..from + length], MAX_PIECE);
        Ok(Some(failure::without_stamp(
            line.strip_suffix('\r').unwrap_or(line),
        )))
    }

    fn read_chunk(&mut self) -> io::Result<()> {
        // A little more than is read, so that `read_to_end` does not grow the buffer to look for an end.
        self.raw.reserve(CHUNK + 64);
        self.ended |= (&mut self.inner)
            .take(CHUNK as u64)
            .read_to_end(&mut self.raw)?
            == 0;
        Ok(())
    }

    fn replace(&mut self) {
        self.repaired += 1;
        self.text.push('\u{FFFD}');
    }

    fn decode_utf8(&mut self) {
        let raw = std::mem::take(&mut self.raw);
        let (mut decoded, mut tail) = (0, 0);
        // Nearly all of it is valid, which is found out faster than where each part ends.
        if let Ok(text) = std::str::from_utf8(&raw) {
            self.text.push_str(text);
            return self.raw = keep_tail(raw, 0);
        }
        for chunk in raw.utf8_chunks() {
            self.text.push_str(chunk.valid());
            decoded += chunk.valid().len() + chunk.invalid().len();
            if decoded == raw.len() && !self.ended {
                // An unfinished character waits for the rest of it.
                tail = chunk.invalid().len();
            } else if !chunk.invalid().is_empty() {
                self.replace();
            }
        }
        self.raw = keep_tail(raw, tail);
    }

    fn decode_utf16(&mut self, big_endian: bool) {
        let raw = std::mem::take(&mut self.raw);
        let (pairs, odd) = raw.as_chunks::<2>();
        let unit = |pair: &[u8; 2]| {
            if big_endian {
                u16::from_be_bytes(*pair)
            } else {
                u16::from_le_bytes(*pair)
            }
        };
        // A high surrogate at the end waits for its other half.
        let waits = |pair: &[u8; 2]| (0xD800..0xDC00).contains(&unit(pair));
        let whole = match pairs.split_last() {
            Some((last, before)) if waits(last) && !self.ended => before,
            _ => pairs,
        };
        for decoded in char::decode_utf16(whole.iter().map(unit)) {
            match decoded {
                Ok(character) => self.text.push(character),
                Err(_) => self.replace(),
            }
        }
        if self.ended && !odd.is_empty() {
            self.replace();
        }
        let tail = if self.ended {
            0
        } else {
            raw.len() - whole.len() * 2
        };
        self.raw = keep_tail(raw, tail);
    }
}

/// The last bytes of a buffer, in that buffer.
fn keep_tail(mut buffer: Vec<u8>, tail: usize) -> Vec<u8> {
    buffer.drain(..buffer.len() - tail);
    buffer
}

/// The text up to `limit` bytes, or to the end of the character before that.
pub(super) fn head(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// Whether an XML declaration declares the bytes as Latin-1 or its Windows cousin (whose few other characters do not
/// matter to what is read here).
fn declares_latin1(bytes: &[u8]) -> bool {
    let head = bytes
        .get(..bytes.len().min(200))
        .unwrap_or_default()
        .to_ascii_lowercase();
    let Some(declaration) = head
        .strip_prefix(b"<?xml")
        .and_then(|rest| rest.split(|b| *b == b'>').next())
    else {
        return false;
    };
    [
        &b"iso-8859-1\""[..],
        b"iso-8859-1'",
        b"iso-8859-15",
        b"windows-1252",
        b"latin1",
        b"latin-1",
    ]
    .iter()
    .any(|name| memchr::memmem::find(declaration, name).is_some())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Gives the bytes in pieces of the given sizes, as pipes and archives do.
    struct Pieces<'a> {
        bytes: &'a [u8],
        size: usize,
    }

    impl Read for Pieces<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = self.size.min(into.len()).min(self.bytes.len());
            let (now, later) = self.bytes.split_at(count);
            into[..count].copy_from_slice(now);
            self.bytes = later;
            Ok(count)
        }
    }

    fn decoded(bytes: &[u8], size: usize) -> (String, u64) {
        let mut window = Window::new(Pieces { bytes, size });
        while window.fill().unwrap() {}
        (window.text().to_owned(), window.repaired)
    }

    #[test]
    fn encodings() {
        let utf16 = |text: &str, big: bool| -> Vec<u8> {
            let units = text.encode_utf16();
            units
                .flat_map(|unit| {
                    if big {
                        unit.to_be_bytes()
                    } else {
                        unit.to_le_bytes()
                    }
                })
                .collect()
        };
        let with_mark = |mark: &[u8], bytes: Vec<u8>| [mark, &bytes].concat();
        let table: Vec<(&str, Vec<u8>, &str, u64)> = vec![
            ("empty", vec![], "", 0),
            ("plain", b"<a/>".to_vec(), "<a/>", 0),
            (
                "utf-8 mark",
                with_mark(b"\xEF\xBB\xBF", "<é/>".into()),
                "<é/>",
                0,
            ),
            (
                "utf-16 le mark",
                with_mark(b"\xFF\xFE", utf16("<a>😀</a>", false)),
                "<a>😀</a>",
                0,
            ),
            (
                "utf-16 be mark",
                with_mark(b"\xFE\xFF", utf16("<a>😀</a>", true)),
                "<a>😀</a>",
                0,
            ),
            ("utf-16 le bare", utf16("<a/>", false), "<a/>", 0),
            ("utf-16 be bare", utf16("{}", true), "{}", 0),
            (
                "utf-16 half a pair",
                with_mark(b"\xFF\xFE", vec![0x3D, 0xD8]),
                "\u{FFFD}",
                1,
            ),
            (
                "utf-16 odd length",
                with_mark(b"\xFF\xFE", vec![0x41, 0, 0x42]),
                "A\u{FFFD}",
                1,
            ),
            (
                "latin-1",
                b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xE9</a>".to_vec(),
                "<?xml version='1.0' encoding='ISO-8859-1'?><a>é</a>",
                0,
            ),
            (
                "broken utf-8",
                b"a\xFFb\xC3".to_vec(),
                "a\u{FFFD}b\u{FFFD}",
                2,
            ),
        ];
        for (name, bytes, text, repaired) in table {
            assert_eq!(decoded(&bytes, 7), (text.to_owned(), repaired), "{name}");
        }
    }

    #[test]
    fn lines() {
        let long = "x".repeat(MAX_PIECE + 10);
        let longer = "y".repeat(3 * MAX_PIECE);
        let text = format!("one\r\n\n{long}\n{longer}\nlast");
        let mut window = Window::new(text.as_bytes());
        let mut lines = Vec::new();
        while let Some(line) = window.line().unwrap() {
            lines.push(line.to_owned());
        }
        let lengths: Vec<_> = lines.iter().map(String::len).collect();
        assert_eq!(lengths, [3, 0, MAX_PIECE, MAX_PIECE, 4]);
        assert_eq!(
            (lines.last().map(String::as_str), window.cut),
            (Some("last"), 2)
        );
    }

    proptest! {
        #[test]
        fn pieces_decode_as_the_whole_does(bytes in prop::collection::vec(any::<u8>(), 0..300), size in 1usize..9) {
            prop_assert_eq!(decoded(&bytes, size), decoded(&bytes, bytes.len().max(1)));
        }

        #[test]
        fn utf8_passes_unchanged(text in "\\PC{0,200}", size in 1usize..9) {
            prop_assume!(!text.starts_with(['\u{FEFF}', '\0']));
            prop_assert_eq!(decoded(text.as_bytes(), size), (text.clone(), 0));
        }
    }
}
