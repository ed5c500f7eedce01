//! JSON with its long strings cut, before serde_json sees (and keeps) them.

use std::{
    collections::VecDeque,
    io::{self, Read},
};

use super::window::{MAX_PIECE, Window, head};

/// Deeper nesting is refused: even what is skipped costs memory by its depth.
const MAX_DEPTH: usize = 256;

/// Passes a document's bytes on, but of a string no more than [`MAX_PIECE`], and refuses nesting past [`MAX_DEPTH`].
pub(super) struct ShortStrings<'w, 'r> {
    window: &'w mut Window<'r>,
    /// Bytes of the open string passed on so far; none outside strings.
    string: Option<usize>,
    depth: usize,
    /// An escape or quote on its way out.
    pending: VecDeque<u8>,
}

impl<'w, 'r> ShortStrings<'w, 'r> {
    pub fn new(window: &'w mut Window<'r>) -> Self {
        Self { window, string: None, depth: 0, pending: VecDeque::new() }
    }

    /// Passes on what stands outside strings, up to and with the quote that opens one.
    fn structure(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let Some(bytes) = self.fitting(self.window.text().len(), out.len()) else { return Ok(0) };
        let mut count = 0;
        for (byte, place) in self.window.bytes()[..bytes].iter().zip(out) {
            *place = *byte;
            count += 1;
            match byte {
                b'"' => {
                    self.string = Some(0);
                    break;
                }
                b'{' | b'[' => {
                    self.depth += 1;
                    if self.depth > MAX_DEPTH {
                        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is nested more than 256 deep"));
                    }
                }
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
        self.window.consume(count);
        Ok(count)
    }

    /// Passes on a piece of a string, or drops it if there has been enough; 0 if nothing was passed on.
    fn string_piece(&mut self, passed: usize, out: &mut [u8]) -> io::Result<usize> {
        let bytes = self.window.bytes();
        let run = memchr::memchr2(b'"', b'\\', bytes).unwrap_or(bytes.len());
        if run == 0 {
            return self.special(passed).map(|()| 0);
        }
        let room = MAX_PIECE.saturating_sub(passed);
        let kept = if run > room { head(self.window.text(), room).len() } else { run };
        if kept == 0 {
            self.drop_piece(passed, run);
            return Ok(0);
        }
        let Some(count) = self.fitting(kept, out.len()) else { return Ok(0) };
        out[..count].copy_from_slice(&self.window.bytes()[..count]);
        // What does not fit any more is dropped, and so is what follows it.
        self.string = Some(if kept < run && count == kept { MAX_PIECE } else { passed + count });
        self.window.consume(count);
        Ok(count)
    }

    /// How much of the next `length` bytes fits into `room`, by whole characters. If not even one does, it is put on
    /// its way: none.
    fn fitting(&mut self, length: usize, room: usize) -> Option<usize> {
        let fits = head(self.window.text(), length.min(room)).len();
        if fits > 0 {
            return Some(fits);
        }
        let character = self.window.text().chars().next().map_or(0, char::len_utf8);
        self.pending.extend(&self.window.bytes()[..character]);
        self.string = self.string.map(|passed| passed + character);
        self.window.consume(character);
        None
    }

    /// Deals with the quote or escape in front: passed on whole, or dropped whole.
    fn special(&mut self, passed: usize) -> io::Result<()> {
        let length = self.special_length()?;
        let bytes = &self.window.bytes()[..length];
        let ends = bytes == b"\"";
        if !ends && passed + length > MAX_PIECE {
            self.drop_piece(passed, length);
            return Ok(());
        }
        self.pending.extend(bytes);
        self.string = (!ends).then_some(passed + length);
        self.window.consume(length);
        Ok(())
    }

    fn drop_piece(&mut self, passed: usize, length: usize) {
        if passed <= MAX_PIECE {
            self.window.count_cut();
        }
        self.string = Some(MAX_PIECE + 1);
        self.window.consume(length);
    }

    /// Length of the quote or escape in front. Two escapes that make one character are one.
    fn special_length(&mut self) -> io::Result<usize> {
        self.window.fill_to(12)?;
        let bytes = self.window.bytes();
        let length = match (bytes.first(), bytes.get(1)) {
            (Some(b'\\'), Some(b'u')) => {
                let is_high = bytes.get(2).is_some_and(|b| b.eq_ignore_ascii_case(&b'd'))
                    && bytes.get(3).is_some_and(|b| matches!(b, b'8' | b'9' | b'a' | b'b' | b'A' | b'B'));
                if is_high { 12 } else { 6 }
            }
            (Some(b'\\'), _) => 2,
            _ => 1,
        };
        Ok(length.min(bytes.len()))
    }
}

impl Read for ShortStrings<'_, '_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut written = 0;
        while written < out.len() {
            if !self.pending.is_empty() {
                written += self.pending.read(&mut out[written..])?;
                continue;
            }
            if self.window.bytes().is_empty() && !self.window.fill()? {
                break;
            }
            let rest = &mut out[written..];
            written += match self.string {
                None => self.structure(rest)?,
                Some(passed) => self.string_piece(passed, rest)?,
            };
        }
        Ok(written)
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use proptest::prelude::*;

    use super::*;

    fn filtered(text: &str) -> String {
        let mut window = Window::new(text.as_bytes());
        let mut out = String::new();
        BufReader::new(ShortStrings::new(&mut window)).read_to_string(&mut out).unwrap();
        out
    }

    #[test]
    fn long_strings_are_cut_and_stay_strings() {
        let long = "x".repeat(MAX_PIECE - 3);
        let table = [
            (format!(r#"{{"a":"{long}"}}"#), MAX_PIECE - 3),
            (format!(r#"{{"a":"{long}yyyyyy"}}"#), MAX_PIECE),
            (format!(r#"{{"a":"{long}yyäyyy"}}"#), MAX_PIECE - 1),
            (format!(r#"{{"a":"{long}yy\nzzz"}}"#), MAX_PIECE - 1),
            (format!(r#"{{"a":"{long}\uD83D\uDE00zzz"}}"#), MAX_PIECE - 3),
            (format!(r#"{{"a":"{long}{long}{long}\\\"zzz"}}"#), MAX_PIECE),
        ];
        for (text, length) in table {
            let value: serde_json::Value = serde_json::from_str(&filtered(&text)).unwrap();
            assert_eq!(value["a"].as_str().map(str::len), Some(length), "{}", &text[text.len() - 20..]);
        }
    }

    #[test]
    fn deep_nesting_is_refused() {
        let text = "[".repeat(10_000);
        let mut window = Window::new(text.as_bytes());
        let mut out = String::new();
        assert!(ShortStrings::new(&mut window).read_to_string(&mut out).is_err());
    }

    proptest! {
        #[test]
        fn documents_pass_unchanged(strings in prop::collection::vec(any::<String>(), 0..10)) {
            let text = serde_json::to_string(&strings).unwrap();
            prop_assert_eq!(filtered(&text), text);
        }
    }
}
