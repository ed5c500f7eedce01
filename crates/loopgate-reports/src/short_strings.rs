//! JSON with its long strings cut, before serde_json sees (and keeps) them.

use std::io::{self, Read};

use super::window::{MAX_PIECE, Window};

/// Deeper nesting is refused: even what is skipped costs memory by its depth.
const MAX_DEPTH: usize = 256;

/// Passes a document's bytes on, but of a string no more than [`MAX_PIECE`], and refuses nesting past [`MAX_DEPTH`].
pub(super) struct ShortStrings<'w, 'r> {
    window: &'w mut Window<'r>,
    place: Place,
    depth: usize,
    /// Bytes on their way out, and how many of them are gone.
    ready: Vec<u8>,
    gone: usize,
}

/// Where in the document the next byte stands.
#[derive(Clone, Copy)]
enum Place {
    Structure,
    /// In a string of which so many bytes were passed on.
    Text(usize),
    /// In an escape in such a string, of which so many bytes follow.
    Escape(usize, usize),
    /// In a string that was cut.
    Dropped,
    /// Behind a backslash there.
    DroppedEscape,
}

impl<'w, 'r> ShortStrings<'w, 'r> {
    pub fn new(window: &'w mut Window<'r>) -> Self {
        Self { window, place: Place::Structure, depth: 0, ready: Vec::new(), gone: 0 }
    }

    /// Takes what the window shows.
    fn take_window(&mut self) -> io::Result<()> {
        // A byte of UTF-8 that is no continuation of a character.
        let is_start_of_character = |byte: u8| byte & 0b1100_0000 != 0b1000_0000;
        let (mut place, mut cut, mut deepest) = (self.place, 0, 0);
        for &byte in self.window.bytes() {
            let (next, passed) = match (place, byte) {
                (Place::Structure, b'"') => (Place::Text(1), true),
                (Place::Structure, _) => {
                    match byte {
                        b'{' | b'[' => self.depth += 1,
                        b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                        _ => {}
                    }
                    deepest = deepest.max(self.depth);
                    (Place::Structure, true)
                }
                (Place::Text(_) | Place::Dropped, b'"') => (Place::Structure, true),
                // Two escapes may be one character, so that a string is not cut at them unless it is nothing else.
                (Place::Text(count), b'\\') if count <= 2 * MAX_PIECE => (Place::Escape(count + 1, 1), true),
                (Place::Text(count), _) if count <= MAX_PIECE || !is_start_of_character(byte) => {
                    (Place::Text(count + 1), true)
                }
                (Place::Text(_), _) => {
                    cut += 1;
                    (if byte == b'\\' { Place::DroppedEscape } else { Place::Dropped }, false)
                }
                (Place::Escape(count, 1), b'u') => (Place::Escape(count + 1, 4), true),
                (Place::Escape(count, 1), _) => (Place::Text(count + 1), true),
                (Place::Escape(count, left), _) => (Place::Escape(count + 1, left - 1), true),
                (Place::Dropped, b'\\') => (Place::DroppedEscape, false),
                (Place::Dropped | Place::DroppedEscape, _) => (Place::Dropped, false),
            };
            place = next;
            if passed {
                self.ready.push(byte);
            }
        }
        self.place = place;
        self.window.consume(self.window.bytes().len());
        self.window.cut += cut;
        if deepest > MAX_DEPTH {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is nested more than 256 deep"));
        }
        Ok(())
    }
}

impl Read for ShortStrings<'_, '_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.gone == self.ready.len() {
            if self.window.bytes().is_empty() && !self.window.fill()? {
                return Ok(0);
            }
            self.ready.clear();
            self.gone = 0;
            self.take_window()?;
        }
        let count = (&self.ready[self.gone..]).read(out)?;
        self.gone += count;
        Ok(count)
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
            (format!(r#"{{"a":"{long}yyäyyy"}}"#), MAX_PIECE + 1),
            (format!(r#"{{"a":"{long}yy\nzzz"}}"#), MAX_PIECE),
            (format!(r#"{{"a":"{long}\uD83D\uDE00zzz"}}"#), MAX_PIECE + 1),
            (format!(r#"{{"a":"{long}{long}{long}\\\"zzz"}}"#), MAX_PIECE),
            (format!(r#"{{"a":"{}"}}"#, r"\n".repeat(2 * MAX_PIECE)), MAX_PIECE),
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
