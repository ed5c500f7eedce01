//! The texts that make up a configuration.

use super::problem::{Layer, Place, Problem};
use loopgate_core::policy::ConfigError;

/// A larger file of somebody is refused unread.
const MAX_BYTES: usize = 256 * 1024;

/// A configuration file: its name, as it is shown, and its text.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    pub file: &'a str,
    pub text: &'a str,
}

impl<'a> Source<'a> {
    pub const fn new(file: &'a str, text: &'a str) -> Self {
        Self { file, text }
    }

    /// A file as it comes from a repository.
    ///
    /// # Errors
    /// When it is not UTF-8, with the place of the first byte that is not.
    pub fn from_bytes(file: &'a str, bytes: &'a [u8]) -> Result<Self, ConfigError> {
        let error = match std::str::from_utf8(bytes) {
            Ok(text) => return Ok(Self { file, text }),
            Err(error) => error,
        };
        let readable = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let before = Self {
            file,
            text: std::str::from_utf8(readable).unwrap_or_default(),
        };
        let (line, column) = (
            before.lines().count().max(1),
            before.lines().last().map_or(0, |l| l.chars().count()) + 1,
        );
        let hint = "save the file as UTF-8".to_owned();
        Err(before.error(
            line,
            column,
            "this is not UTF-8 text".to_owned(),
            Some(hint),
        ))
    }

    /// The text to parse: without byte order mark, not larger than the cap if it is not the program's own.
    pub(super) fn checked(self, layer: Layer) -> Result<&'a str, Problem> {
        if layer != Layer::Builtin && self.text.len() > MAX_BYTES {
            let message = format!(
                "the file has {} bytes; at most {MAX_BYTES} are read",
                self.text.len()
            );
            return Err(Problem::unreadable(Place::start(layer), message));
        }
        for (index, line) in self.lines().enumerate() {
            // What may stand in a line of YAML.
            let is_printable = |c: char| {
                matches!(c, '\t' | '\u{85}')
                    || !(c.is_control() || matches!(c, '\u{feff}' | '\u{fffe}' | '\u{ffff}'))
            };
            if let Some((column, bad)) = line.chars().enumerate().find(|(_, c)| !is_printable(*c)) {
                let message = format!(
                    "a character that YAML does not allow (U+{:04X})",
                    u32::from(bad)
                );
                return Err(
                    Problem::unreadable(Place::at(layer, index + 1, column + 1), message)
                        .hint("remove it"),
                );
            }
        }
        Ok(self.body())
    }

    fn body(self) -> &'a str {
        self.text.strip_prefix('\u{feff}').unwrap_or(self.text)
    }

    /// Lines end with LF, CRLF or CR, as in YAML.
    fn lines(self) -> impl Iterator<Item = &'a str> {
        let mut rest = self.body();
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let (line, ending) = rest.split_at(rest.find(['\n', '\r']).unwrap_or(rest.len()));
            rest = ending
                .strip_prefix("\r\n")
                .or_else(|| ending.strip_prefix(['\n', '\r']))
                .unwrap_or_default();
            Some(line)
        })
    }

    /// An error at a place, which is moved inside the file if it is not.
    pub(super) fn error(
        self,
        line: usize,
        column: usize,
        message: String,
        hint: Option<String>,
    ) -> ConfigError {
        let last = self.lines().count().max(1);
        let (line, column) = if line > last {
            (last, usize::MAX)
        } else {
            (line.max(1), column.max(1))
        };
        let snippet = self.lines().nth(line - 1).unwrap_or_default();
        let column = column.min(snippet.chars().count() + 1);
        ConfigError {
            file: self.file.to_owned(),
            line,
            column,
            snippet: snippet.to_owned(),
            message,
            hint,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_as_yaml_says() {
        let lines = |text| Source::new("f", text).lines().collect::<Vec<_>>();
        assert_eq!(lines("a\nb\r\nc\rd"), ["a", "b", "c", "d"]);
        assert_eq!(lines("\n\n\r\n\r\nx\n"), ["", "", "", "", "x"]);
        assert_eq!(lines(""), [""; 0]);
        assert_eq!(lines("\u{feff}a"), ["a"]);
    }

    #[test]
    fn places_are_moved_inside_the_file() {
        let at = |text, line, column| {
            let error = Source::new("f", text).error(line, column, String::new(), None);
            (error.line, error.column, error.snippet)
        };
        assert_eq!(at("ab\ncd\n", 2, 1), (2, 1, "cd".to_owned()));
        assert_eq!(at("ab\ncd\n", 2, 9), (2, 3, "cd".to_owned()));
        assert_eq!(at("ab\ncd\n", 3, 1), (2, 3, "cd".to_owned()));
        assert_eq!(at("", 7, 7), (1, 1, String::new()));
        assert_eq!(at("ab", 0, 0), (1, 1, "ab".to_owned()));
    }

    #[test]
    fn bytes_that_are_no_text_have_a_place() {
        let error = Source::from_bytes("f", b"mode: hybrid\nl\xffbels: off\n").unwrap_err();
        assert_eq!((error.line, error.column), (2, 2));
        assert!(Source::from_bytes("f", "mode: hybrid # ü\n".as_bytes()).is_ok());
    }
}
