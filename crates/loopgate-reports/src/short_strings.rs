//! JSON with its long strings cut, before serde_json sees (and keeps) them.

use std::io::{self, Read};

use super::window::{MAX_PIECE, Window};

/// Deeper nesting is refused: even what is skipped costs memory by its depth.
const MAX_DEPTH: usize = 256;

/// Passes a document's bytes on, but of a string no more than [`MAX_PIECE`], and refuses nesting past [`MAX_DEPTH`].
pub(super) struct ShortStrings<'w, 'r> {
    window: &'w mut Window<'r>,
    in_string: bool,
    /// Bytes of the open string so far, and whether it was cut.
    length: usize,
    is_cut: bool,
    /// Bytes that follow of an escape.
    escape: usize,
    depth: usize,
    /// Bytes on their way out, and how many of them are gone.
    ready: Vec<u8>,
    gone: usize,
}

impl<'w, 'r> ShortStrings<'w, 'r> {
    pub fn new(window: &'w mut Window<'r>) -> Self {
        Self {
            window,
            in_string: false,
            length: 0,
            is_cut: false,
            escape: 0,
            depth: 0,
            ready: Vec::new(),
            gone: 0,
        }
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
            let (mut cut, mut deepest) = (0, 0);
            for &byte in self.window.bytes() {
                if !self.in_string {
                    match byte {
                        b'{' | b'[' => self.depth += 1,
                        b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                        b'"' => (self.in_string, self.length, self.is_cut) = (true, 0, false),
                        _ => {}
                    }
                    deepest = deepest.max(self.depth);
                } else if self.escape > 0 {
                    self.escape = if byte == b'u' { 4 } else { self.escape - 1 };
                } else {
                    self.in_string = byte != b'"';
                    self.escape = usize::from(byte == b'\\');
                    // A byte of UTF-8 that continues a character is not the first to go. Two escapes may be one
                    // character, so that a string is not cut at them unless it is nothing else.
                    let most = if self.escape > 0 {
                        2 * MAX_PIECE
                    } else {
                        MAX_PIECE
                    };
                    if self.in_string
                        && !self.is_cut
                        && self.length > most
                        && byte & 0b1100_0000 != 0b1000_0000
                    {
                        self.is_cut = true;
                        cut += 1;
                    }
                }
                self.length += 1;
                if !self.in_string || !self.is_cut {
                    self.ready.push(byte);
                }
            }
            self.window.consume(self.window.bytes().len());
            self.window.cut += cut;
            if deepest > MAX_DEPTH {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "it is nested more than 256 deep",
                ));
            }
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
        BufReader::new(ShortStrings::new(&mut window))
            .read_to_string(&mut out)
            .unwrap();
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
            (
                format!(r#"{{"a":"{}"}}"#, r"\n".repeat(2 * MAX_PIECE)),
                MAX_PIECE,
            ),
        ];
        for (text, length) in table {
            let value: serde_json::Value = serde_json::from_str(&filtered(&text)).unwrap();
            assert_eq!(
                value["a"].as_str().map(str::len),
                Some(length),
                "{}",
                &text[text.len() - 20..]
            );
        }
    }

    #[test]
    fn deep_nesting_is_refused() {
        let text = "[".repeat(10_000);
        let mut window = Window::new(text.as_bytes());
        let mut out = String::new();
        assert!(
            ShortStrings::new(&mut window)
                .read_to_string(&mut out)
                .is_err()
        );
    }

    proptest! {
        #[test]
        fn documents_pass_unchanged(strings in prop::collection::vec(any::<String>(), 0..10)) {
            let text = serde_json::to_string(&strings).unwrap();
            prop_assert_eq!(filtered(&text), text);
        }
    }
}
