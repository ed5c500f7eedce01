//! XML in small pieces: tags, and text as it comes.
//!
//! The grammar inside a tag is quick-xml's; where a piece begins and ends is decided here, because its reader holds a
//! text or a tag whole, and a test may have printed a gigabyte. Text therefore comes in pieces of at most a window's
//! size, and a tag past [`MAX_PIECE`] is cut. Document types that declare anything are refused: no report needs them,
//! and entities are how a small file becomes a large one. What real tools get wrong (control characters, a bare `<`,
//! unquoted attributes, several documents in one file) is read as it was meant.

use std::borrow::Cow;

use quick_xml::parser::{ElementParser, Parser as _};

use crate::markup::{MAX_REFERENCE, decode, local};
use crate::window::{MAX_PIECE, head};
use crate::{Flaw, Notes, Place, Tag, Token, Unreadable, Window};

/// Deeper nesting is refused: no report comes near it, and each level costs memory.
const MAX_DEPTH: usize = 256;
/// What the reader is in the middle of.
enum Inside {
    Content,
    Cdata,
    /// An element without content was opened and must be closed.
    EmptyElement,
}

/// A document, token by token.
pub(super) struct Xml<'w, 'r> {
    window: &'w mut Window<'r>,
    inside: Inside,
    /// Bytes of the token lent last, to be consumed before the next.
    lent: usize,
    pub place: Place,
    /// The innermost element was closed by the token lent last.
    closed: bool,
    roots: u32,
    /// The start of a tag too large for the window.
    oversized: String,
}

enum Markup {
    Nothing,
    Tag { length: usize, is_cut: bool },
    EndTag { length: usize },
    StrayLess,
}

impl<'w, 'r> Xml<'w, 'r> {
    pub fn new(window: &'w mut Window<'r>) -> Self {
        Self {
            window,
            inside: Inside::Content,
            lent: 0,
            place: Place::default(),
            closed: false,
            roots: 0,
            oversized: String::new(),
        }
    }

    /// The next token. What is mended on the way is noted.
    pub fn next(&mut self, notes: &mut Notes) -> Result<Token<'_>, Unreadable> {
        self.window.consume(std::mem::take(&mut self.lent));
        if std::mem::take(&mut self.closed) {
            self.place.depth = self.place.depth.saturating_sub(1);
        }
        loop {
            match self.inside {
                Inside::EmptyElement => {
                    self.inside = Inside::Content;
                    self.closed = true;
                    return Ok(Token::Close(&self.place));
                }
                Inside::Cdata => match self.up_to(b"]]>")? {
                    None => self.inside = Inside::Content,
                    Some(length) => {
                        self.lent = length;
                        return Ok(Token::Text(Cow::Borrowed(&self.window.text()[..length])));
                    }
                },
                Inside::Content => {}
            }
            if self.window.bytes().is_empty() && !self.window.fill()? {
                return if self.place.depth == 0 {
                    Ok(Token::End)
                } else {
                    Err(self.cut_short())
                };
            }
            if self.window.bytes().first() != Some(&b'<') {
                let length = self.text_piece()?;
                self.lent = length;
                return Ok(Token::Text(decode(&self.window.text()[..length])));
            }
            match self.markup()? {
                Markup::Nothing => {}
                Markup::StrayLess => {
                    notes.flaw(Flaw::STRAY_MARKUP, || self.place.to_string());
                    self.lent = 1;
                    return Ok(Token::Text(Cow::Borrowed("<")));
                }
                Markup::EndTag { length } => {
                    let name = &self.window.text()[..length];
                    let name = local(name.trim_start_matches("</").trim_end_matches('>').trim());
                    let name = &name[..name.floor_char_boundary(80)];
                    if self.place.depth == 0 || name != self.place.name() {
                        return Err(
                            self.malformed(&format!("an end tag `</{name}>` that closes nothing"))
                        );
                    }
                    self.lent = length;
                    self.closed = true;
                    return Ok(Token::Close(&self.place));
                }
                Markup::Tag { length, is_cut } => return self.open(length, is_cut, notes),
            }
        }
    }

    /// Length of the next piece of text: up to a `<`, or what there is short of a reference that is not whole.
    fn text_piece(&mut self) -> Result<usize, Unreadable> {
        loop {
            let bytes = self.window.bytes();
            if let Some(at) = memchr::memchr(b'<', bytes) {
                return Ok(at);
            }
            let tail = &bytes[bytes.len().saturating_sub(MAX_REFERENCE)..];
            let unfinished = memchr::memrchr(b'&', tail)
                .filter(|at| memchr::memchr(b';', &tail[*at..]).is_none());
            let whole = bytes.len() - unfinished.map_or(0, |at| tail.len() - at);
            if whole > 0 {
                return Ok(whole);
            }
            if !self.window.fill()? {
                return Ok(self.window.bytes().len());
            }
        }
    }

    /// Length of what stands in front of a mark, as far as it is seen; none where the mark is next, and passed over.
    fn up_to(&mut self, mark: &[u8]) -> Result<Option<usize>, Unreadable> {
        loop {
            let bytes = self.window.bytes();
            let length = match memchr::memmem::find(bytes, mark) {
                Some(0) => {
                    self.window.consume(mark.len());
                    return Ok(None);
                }
                Some(at) => at,
                // The last bytes may be the beginning of the mark.
                None => head(
                    self.window.text(),
                    bytes.len().saturating_sub(mark.len() - 1),
                )
                .len(),
            };
            if length > 0 {
                return Ok(Some(length));
            }
            self.more()?;
        }
    }

    /// Reads on, where more must follow.
    fn more(&mut self) -> Result<(), Unreadable> {
        if self.window.fill()? {
            Ok(())
        } else {
            Err(self.cut_short())
        }
    }

    fn cut_short(&self) -> Unreadable {
        Unreadable::CutShort {
            place: self.place.to_string(),
        }
    }

    /// Finds out what begins with the `<` in front.
    fn markup(&mut self) -> Result<Markup, Unreadable> {
        self.window.fill_to(2)?;
        match self.window.bytes().get(1) {
            Some(b'/') => match self.find(&mut ElementParser::Outside)? {
                Some(length) => Ok(Markup::EndTag { length }),
                None => Err(self.malformed("an end tag without end")),
            },
            Some(b'?') => self.skip_past(b"?>"),
            Some(b'!') => {
                const CDATA: &[u8] = b"<![CDATA[";
                self.window.fill_to(CDATA.len())?;
                let bytes = self.window.bytes();
                if bytes.starts_with(b"<!--") {
                    self.window.consume(4);
                    return self.skip_past(b"-->");
                }
                if bytes.starts_with(CDATA) {
                    self.window.consume(CDATA.len());
                    self.inside = Inside::Cdata;
                    return Ok(Markup::Nothing);
                }
                if !bytes
                    .get(..9)
                    .unwrap_or_default()
                    .eq_ignore_ascii_case(b"<!DOCTYPE")
                {
                    return Ok(Markup::StrayLess);
                }
                let Some(length) = self.find(&mut ElementParser::Outside)? else {
                    return Err(self.malformed("a document type without end"));
                };
                let mut subset = self.window.bytes()[..length]
                    .split(|byte| *byte == b'[')
                    .skip(1);
                if subset.any(|rest| !rest.trim_ascii_start().starts_with(b"]")) {
                    return Err(Unreadable::OwnEntities);
                }
                self.window.consume(length);
                Ok(Markup::Nothing)
            }
            Some(first) if first.is_ascii_alphabetic() || matches!(first, b'_' | b':' | 0x80..) => {
                let mut parser = ElementParser::Outside;
                match self.find(&mut parser)? {
                    Some(length) => Ok(Markup::Tag {
                        length,
                        is_cut: false,
                    }),
                    None => self.cut_tag(parser),
                }
            }
            Some(_) => Ok(Markup::StrayLess),
            None => Err(self.cut_short()),
        }
    }

    /// Length of the tag up to and with its `>`; none if that is further than [`MAX_PIECE`].
    fn find(&mut self, parser: &mut ElementParser) -> Result<Option<usize>, Unreadable> {
        // The first `>` ends nearly every tag: with an even number of double quotes before it and no single one, it
        // stands in none. Several times as fast as following the quotes one by one.
        let bytes = self.window.bytes();
        let first = memchr::memchr2(b'>', b'\'', bytes).filter(|end| bytes[*end] == b'>');
        if let Some(end) = first
            && memchr::memchr_iter(b'"', &bytes[..end])
                .count()
                .is_multiple_of(2)
        {
            return Ok(Some(end + 1));
        }
        let mut searched = 0;
        loop {
            let bytes = self.window.bytes();
            if let Some(at) = parser.feed(&bytes[searched..]) {
                return Ok(Some(searched + at + 1));
            }
            searched = bytes.len();
            if searched > MAX_PIECE {
                return Ok(None);
            }
            self.more()?;
        }
    }

    /// Passes over everything up to and with the mark.
    fn skip_past(&mut self, mark: &[u8]) -> Result<Markup, Unreadable> {
        while let Some(length) = self.up_to(mark)? {
            self.window.consume(length);
        }
        Ok(Markup::Nothing)
    }

    /// Keeps the start of a tag that is too large and passes over the rest of it.
    fn cut_tag(&mut self, mut parser: ElementParser) -> Result<Markup, Unreadable> {
        let head = head(self.window.text(), MAX_PIECE);
        let mut at_cut = ElementParser::Outside;
        at_cut.feed(head.as_bytes());
        self.oversized.clear();
        self.oversized.push_str(head);
        // Quotes may be open: the attribute that was cut ends here.
        self.oversized.push_str(match at_cut {
            ElementParser::Outside => "",
            ElementParser::SingleQ => "'",
            ElementParser::DoubleQ => "\"",
        });
        let mut before = b' ';
        loop {
            let all = self.window.bytes().len();
            before = self.window.bytes().last().copied().unwrap_or(before);
            self.window.consume(all);
            self.more()?;
            if let Some(at) = parser.feed(self.window.bytes()) {
                let last = at
                    .checked_sub(1)
                    .and_then(|at| self.window.bytes().get(at))
                    .copied()
                    .unwrap_or(before);
                self.oversized
                    .push_str(if last == b'/' { "/>" } else { ">" });
                return Ok(Markup::Tag {
                    length: at + 1,
                    is_cut: true,
                });
            }
        }
    }

    fn open(
        &mut self,
        length: usize,
        is_cut: bool,
        notes: &mut Notes,
    ) -> Result<Token<'_>, Unreadable> {
        if self.place.depth >= MAX_DEPTH {
            return Err(self.malformed("elements nested more than 256 deep"));
        }
        if self.place.depth == 0 {
            self.roots += 1;
            if self.roots > 1 {
                notes.flaw(Flaw::SECOND_DOCUMENT, || "after the end of the first");
            }
        }
        self.lent = length;
        let tag = if is_cut {
            &self.oversized
        } else {
            &self.window.text()[..length]
        };
        let body = tag
            .strip_prefix('<')
            .and_then(|tag| tag.strip_suffix('>'))
            .unwrap_or_default();
        let is_empty = body.ends_with('/');
        let body = body.strip_suffix('/').unwrap_or(body);
        let name_end = body
            .bytes()
            .position(|byte| byte.is_ascii_whitespace())
            .unwrap_or(body.len());
        let (name, attributes) = body.split_at(name_end);
        let name = local(name);
        self.place.open(name);
        if is_empty {
            self.inside = Inside::EmptyElement;
        }
        if is_cut {
            notes.flaw(Flaw::OVERSIZED_PART, || self.place.to_string());
        }
        Ok(Token::Open(Tag {
            name,
            attributes,
            place: &self.place,
        }))
    }

    fn malformed(&self, what: &str) -> Unreadable {
        Unreadable::Malformed {
            what: what.to_owned(),
            place: self.place.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use quick_xml::{Reader, escape, events::Event};

    use super::*;

    /// Tokens of a document as text, pieces of text put together.
    fn tokens(document: &[u8]) -> (Vec<String>, Result<(), String>) {
        let mut window = Window::new(document);
        let mut xml = Xml::new(&mut window);
        let mut seen: Vec<String> = Vec::new();
        let ended = loop {
            match xml.next(&mut Notes::default()) {
                Ok(Token::Open(tag)) => {
                    let attributes = tag
                        .attributes()
                        .map(|(key, value)| format!(" {key}={:?}", decode(value)));
                    seen.push(format!("<{}{}", tag.name, attributes.collect::<String>()));
                }
                Ok(Token::Close(place)) => seen.push(format!(">{}", place.name())),
                Ok(Token::Text(text)) => match seen.last_mut().filter(|last| last.starts_with('='))
                {
                    Some(last) => last.push_str(&text),
                    None => seen.push(format!("={text}")),
                },
                Ok(Token::End) => break Ok(()),
                Err(error) => break Err(error.to_string()),
            }
        };
        (seen, ended)
    }

    /// The same from quick-xml's own reader.
    fn by_quick_xml(document: &str) -> Vec<String> {
        let mut reader = Reader::from_str(document);
        let mut seen: Vec<String> = Vec::new();
        let text = |seen: &mut Vec<String>, piece: &str| match seen
            .last_mut()
            .filter(|last| last.starts_with('='))
        {
            Some(last) => last.push_str(piece),
            None => seen.push(format!("={piece}")),
        };
        let open = |start: &quick_xml::events::BytesStart<'_>| {
            let attributes = start.attributes().map(|attribute| {
                let attribute = attribute.unwrap();
                format!(
                    " {}={:?}",
                    attribute.key.0,
                    escape::unescape(&attribute.value).unwrap()
                )
            });
            format!("<{}{}", start.name().0, attributes.collect::<String>())
        };
        loop {
            match reader.read_event().unwrap() {
                Event::Start(start) => seen.push(open(&start)),
                Event::Empty(start) => seen.extend([open(&start), format!(">{}", start.name().0)]),
                Event::End(end) => seen.push(format!(">{}", end.name().0)),
                Event::Text(piece) => text(&mut seen, &piece.into_inner()),
                Event::CData(piece) => text(&mut seen, &piece.into_inner()),
                Event::GeneralRef(name) => text(
                    &mut seen,
                    &escape::unescape(&format!("&{};", &*name)).unwrap(),
                ),
                Event::Eof => return seen,
                _ => {}
            }
        }
    }

    fn element() -> impl Strategy<Value = String> {
        let text = "[a-z é😀\n]{0,8}(&amp;|&#65;|&lt;|<!-- c -->|<!\\[CDATA\\[a]] <b>&]]>|<\\?pi x\\?>)?[a-z]{0,3}";
        let leaf = (0..3_u8, text).prop_map(|(name, text)| match text.as_str() {
            "" => format!("<n{name} a=\"1\"/>"),
            text => format!("<n{name} a='x &gt; > y' b = \"it's\">{text}</n{name} >"),
        });
        leaf.prop_recursive(4, 40, 5, |inner| {
            (0..3_u8, prop::collection::vec(inner, 0..5))
                .prop_map(|(name, children)| format!("<e{name}>{}</e{name}>", children.concat()))
        })
    }

    proptest! {
        #[test]
        fn reads_what_quick_xml_reads(root in element()) {
            let document = format!("<?xml version=\"1.0\"?>{root}");
            prop_assert_eq!(tokens(document.as_bytes()), (by_quick_xml(&document), Ok(())));
        }
    }

    #[test]
    fn what_cannot_be_read_says_where() {
        let deep = "<a>".repeat(300);
        let table = [
            ("<a><b name='x'>", "ends inside a/b[0]: cut short"),
            ("<a><!-- never", "ends inside a: cut short"),
            ("<a><![CDATA[never", "ends inside a: cut short"),
            (
                "<a><b></a>",
                "an end tag `</a>` that closes nothing, at a/b[0]",
            ),
            ("</a>", "an end tag `</a>` that closes nothing, at the top"),
            (
                "<!DOCTYPE a [<!ENTITY b 'c'>]><a/>",
                "declares a document type of its own, which is refused: \
              reports need none, attacks do",
            ),
        ];
        for (document, reason) in table {
            assert_eq!(
                tokens(document.as_bytes()).1,
                Err(reason.to_owned()),
                "{document}"
            );
        }
        assert!(
            tokens(deep.as_bytes())
                .1
                .unwrap_err()
                .starts_with("elements nested more than 256 deep")
        );
    }
}
