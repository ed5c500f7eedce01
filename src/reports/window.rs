//! The bytes of a report as UTF-8, seen through a window of bounded size.
//!
//! Every parser reads through a [`Window`], so encodings (byte order marks, UTF-16, Latin-1, broken UTF-8) are dealt
//! with once, and no parser can be made to hold a whole file.

use std::io::{self, Read};

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
    /// `buf[start..end]` is what parsers see: always whole UTF-8 characters. What follows `end` is an unfinished one.
    buf: Vec<u8>,
    start: usize,
    end: usize,
    encoding: Encoding,
    /// Bytes not yet decoded, for the encodings that are not UTF-8.
    raw: Vec<u8>,
    ended: bool,
    repaired: u64,
}

impl<'r> Window<'r> {
    pub fn new(inner: impl Read + 'r) -> Self {
        Self {
            inner: Box::new(inner),
            buf: Vec::new(),
            start: 0,
            end: 0,
            encoding: Encoding::Unknown,
            raw: Vec::new(),
            ended: false,
            repaired: 0,
        }
    }

    /// What has been read and not consumed; ends at a character's end.
    pub fn bytes(&self) -> &[u8] {
        &self.buf[self.start..self.end]
    }

    /// The same as text.
    pub fn text(&self) -> &str {
        whole_characters(self.bytes())
    }

    pub fn consume(&mut self, count: usize) {
        self.start = (self.start + count).min(self.end);
    }

    /// How many places were not valid in the input's encoding and now hold U+FFFD.
    pub fn repaired(&self) -> u64 {
        self.repaired
    }

    /// Reads on; false at the end of the input. What [`bytes`](Self::bytes) showed stays in front of what is added.
    pub fn fill(&mut self) -> io::Result<bool> {
        if self.encoding == Encoding::Unknown {
            self.sniff()?;
        }
        if self.start > 0 {
            self.buf.drain(..self.start);
            self.end -= self.start;
            self.start = 0;
        }
        let before = self.end;
        while self.end == before && !self.ended {
            match self.encoding {
                Encoding::Utf8 | Encoding::Unknown => self.fill_utf8()?,
                Encoding::Latin1 => self.fill_latin1()?,
                Encoding::Utf16 { big_endian } => self.fill_utf16(big_endian)?,
            }
        }
        Ok(self.end > before)
    }

    /// Reads until at least `count` bytes are seen, or all there are.
    pub fn fill_to(&mut self, count: usize) -> io::Result<()> {
        while self.bytes().len() < count && self.fill()? {}
        Ok(())
    }

    /// The next line without its end; none at the end of the input. Lines longer than [`MAX_PIECE`] are cut there.
    pub fn line(&mut self) -> io::Result<Option<Line<'_>>> {
        let mut searched = 0;
        let length = loop {
            match memchr::memchr(b'\n', &self.bytes()[searched..]) {
                Some(at) => break Some(searched + at),
                None if self.bytes().len() > MAX_PIECE => return self.cut_line().map(Some),
                None => searched = self.bytes().len(),
            }
            if !self.fill()? {
                break None;
            }
        };
        let (length, end) = match length {
            Some(length) => (length, length + 1),
            None if self.bytes().is_empty() => return Ok(None),
            None => (self.bytes().len(), self.bytes().len()),
        };
        let from = self.start;
        self.start += end;
        let line = whole_characters(&self.buf[from..from + length.min(MAX_PIECE)]);
        Ok(Some(Line { text: line.strip_suffix('\r').unwrap_or(line), cut: length > MAX_PIECE }))
    }

    /// The head of a line that is too long. The rest is read past, so the next line is a line again.
    fn cut_line(&mut self) -> io::Result<Line<'_>> {
        let head = whole_characters(&self.bytes()[..MAX_PIECE]).to_owned();
        loop {
            match memchr::memchr(b'\n', self.bytes()) {
                Some(at) => {
                    self.consume(at + 1);
                    break;
                }
                None => self.consume(self.bytes().len()),
            }
            if !self.fill()? {
                break;
            }
        }
        // Put where the window can lend it: in front of what is still to be read.
        let rest = self.buf.split_off(self.start);
        self.buf.clear();
        self.buf.extend_from_slice(head.as_bytes());
        self.end = self.end - self.start + head.len();
        self.start = head.len();
        self.buf.extend_from_slice(&rest);
        Ok(Line { text: whole_characters(&self.buf[..self.start]), cut: true })
    }

    /// Decides the encoding from the first bytes and takes the byte order mark away.
    fn sniff(&mut self) -> io::Result<()> {
        self.raw.clear();
        self.read_raw()?;
        while self.raw.len() < 4 && !self.ended {
            self.read_raw()?;
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
        match encoding {
            Encoding::Utf8 | Encoding::Unknown => {
                self.buf = std::mem::take(&mut self.raw);
                self.accept_utf8();
            }
            Encoding::Latin1 => self.accept_latin1(),
            Encoding::Utf16 { big_endian } => self.accept_utf16(big_endian),
        }
        Ok(())
    }

    fn read_raw(&mut self) -> io::Result<()> {
        self.ended |= read_chunk(&mut self.inner, &mut self.raw)? == 0;
        Ok(())
    }

    fn fill_utf8(&mut self) -> io::Result<()> {
        self.ended |= read_chunk(&mut self.inner, &mut self.buf)? == 0;
        self.accept_utf8();
        Ok(())
    }

    /// Moves `end` over the bytes that are UTF-8, replacing what is not.
    fn accept_utf8(&mut self) {
        let Err(error) = std::str::from_utf8(&self.buf[self.end..]) else {
            self.end = self.buf.len();
            return;
        };
        self.end += error.valid_up_to();
        if error.error_len().is_none() && !self.ended {
            return;
        }
        let tail = self.buf.split_off(self.end);
        let mut rest = tail.as_slice();
        while !rest.is_empty() {
            match std::str::from_utf8(rest) {
                Ok(_) => {
                    self.buf.extend_from_slice(rest);
                    rest = &[];
                }
                Err(error) => {
                    let (valid, after) = rest.split_at(error.valid_up_to());
                    self.buf.extend_from_slice(valid);
                    let skip = match error.error_len() {
                        Some(length) => length,
                        None if self.ended => after.len(),
                        None => {
                            self.end = self.buf.len();
                            self.buf.extend_from_slice(after);
                            return;
                        }
                    };
                    self.replace();
                    rest = &after[skip..];
                }
            }
        }
        self.end = self.buf.len();
    }

    fn replace(&mut self) {
        self.repaired += 1;
        self.buf.extend_from_slice("\u{FFFD}".as_bytes());
    }

    fn fill_latin1(&mut self) -> io::Result<()> {
        self.read_raw()?;
        self.accept_latin1();
        Ok(())
    }

    fn accept_latin1(&mut self) {
        let text: String = self.raw.drain(..).map(char::from).collect();
        self.buf.extend_from_slice(text.as_bytes());
        self.end = self.buf.len();
    }

    fn fill_utf16(&mut self, big_endian: bool) -> io::Result<()> {
        self.read_raw()?;
        self.accept_utf16(big_endian);
        Ok(())
    }

    fn accept_utf16(&mut self, big_endian: bool) {
        let raw = std::mem::take(&mut self.raw);
        let (pairs, odd) = raw.as_chunks::<2>();
        let unit = |pair: &[u8; 2]| if big_endian { u16::from_be_bytes(*pair) } else { u16::from_le_bytes(*pair) };
        // A high surrogate at the end waits for its other half.
        let waits = |pair: &[u8; 2]| (0xD800..0xDC00).contains(&unit(pair));
        let whole = match pairs.split_last() {
            Some((last, before)) if waits(last) && !self.ended => before,
            _ => pairs,
        };
        for decoded in char::decode_utf16(whole.iter().map(unit)) {
            match decoded {
                Ok(character) => self.buf.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
                Err(_) => self.replace(),
            }
        }
        self.raw.extend_from_slice(pairs[whole.len()..].as_flattened());
        if self.ended && !odd.is_empty() {
            self.replace();
        } else {
            self.raw.extend_from_slice(odd);
        }
        self.end = self.buf.len();
    }
}

/// A line of text, without its line end.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub text: &'a str,
    /// The line went on past [`MAX_PIECE`].
    pub cut: bool,
}

/// Whether an XML declaration says the bytes are Latin-1 or its Windows cousin (whose few other characters do not
/// matter to what is read here).
fn declares_latin1(bytes: &[u8]) -> bool {
    let head = bytes.get(..bytes.len().min(200)).unwrap_or_default().to_ascii_lowercase();
    let Some(declaration) = head.strip_prefix(b"<?xml").and_then(|rest| rest.split(|b| *b == b'>').next()) else {
        return false;
    };
    [&b"iso-8859-1\""[..], b"iso-8859-1'", b"iso-8859-15", b"windows-1252", b"latin1", b"latin-1"]
        .iter()
        .any(|name| memchr::memmem::find(declaration, name).is_some())
}

fn read_chunk(inner: &mut dyn Read, into: &mut Vec<u8>) -> io::Result<usize> {
    // A little more than is read, so that `read_to_end` does not grow the buffer to look for an end.
    into.reserve(CHUNK + 64);
    inner.take(CHUNK as u64).read_to_end(into)
}

/// The bytes as text, up to the first that is not part of a whole character.
pub(super) fn whole_characters(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    }
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
        (window.text().to_owned(), window.repaired())
    }

    #[test]
    fn encodings() {
        let utf16 = |text: &str, big: bool| -> Vec<u8> {
            let units = text.encode_utf16();
            units.flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
        };
        let with_mark = |mark: &[u8], bytes: Vec<u8>| [mark, &bytes].concat();
        let table: Vec<(&str, Vec<u8>, &str, u64)> = vec![
            ("empty", vec![], "", 0),
            ("plain", b"<a/>".to_vec(), "<a/>", 0),
            ("utf-8 mark", with_mark(b"\xEF\xBB\xBF", "<é/>".into()), "<é/>", 0),
            ("utf-16 le mark", with_mark(b"\xFF\xFE", utf16("<a>😀</a>", false)), "<a>😀</a>", 0),
            ("utf-16 be mark", with_mark(b"\xFE\xFF", utf16("<a>😀</a>", true)), "<a>😀</a>", 0),
            ("utf-16 le bare", utf16("<a/>", false), "<a/>", 0),
            ("utf-16 be bare", utf16("{}", true), "{}", 0),
            ("utf-16 half a pair", with_mark(b"\xFF\xFE", vec![0x3D, 0xD8]), "\u{FFFD}", 1),
            ("utf-16 odd length", with_mark(b"\xFF\xFE", vec![0x41, 0, 0x42]), "A\u{FFFD}", 1),
            (
                "latin-1",
                b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xE9</a>".to_vec(),
                "<?xml version='1.0' encoding='ISO-8859-1'?><a>é</a>",
                0,
            ),
            ("broken utf-8", b"a\xFFb\xC3".to_vec(), "a\u{FFFD}b\u{FFFD}", 2),
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
            lines.push((line.text.to_owned(), line.cut));
        }
        let shape: Vec<_> = lines.iter().map(|(text, cut)| (text.len(), *cut)).collect();
        assert_eq!(shape, [(3, false), (0, false), (MAX_PIECE, true), (MAX_PIECE, true), (4, false)]);
        assert_eq!(lines.last().map(|(text, _)| text.as_str()), Some("last"));
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
