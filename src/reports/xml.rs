//! XML in small pieces: tags, and text as it comes.
//!
//! The grammar inside a tag is quick-xml's; where a piece begins and ends is decided here, because its reader holds a
//! text or a tag whole, and a test may have printed a gigabyte. Text therefore comes in pieces of at most a window's
//! size, and a tag past [`MAX_PIECE`] is cut. Document types that declare anything are refused: no report needs them,
//! and entities are how a small file becomes a large one. What real tools get wrong (control characters, a bare `<`,
//! unquoted attributes, several documents in one file) is read as it was meant.

use std::borrow::Cow;

use quick_xml::{
    escape,
    events::attributes::Attributes,
    parser::{CommentParser, ElementParser, Parser, PiParser},
};

use super::{
    Unreadable,
    notes::{Flaw, Notes},
    place::Place,
    window::{MAX_PIECE, Window, whole_characters},
};

/// Deeper nesting is refused: no report comes near it, and each level costs memory.
const MAX_DEPTH: usize = 256;
/// The longest reference looked for (`&#x0010FFFF;`), so that one cut by the window's edge is put together.
const MAX_REFERENCE: usize = 16;

/// What comes next in a document. Elements without content give an [`Open`](Token::Open) and a [`Close`](Token::Close).
pub(super) enum Token<'a> {
    Open(Tag<'a>),
    Text(Text<'a>),
    /// The innermost element ends; it is still the innermost of the place.
    Close(&'a Place),
    End,
}

/// A start tag.
pub(super) struct Tag<'a> {
    /// Name without namespace prefix: elements are matched by local name.
    pub name: &'a str,
    /// From the name to the last attribute.
    body: &'a str,
    name_end: usize,
    pub place: &'a Place,
}

/// A piece of character data, of which an element may have many.
pub(super) enum Text<'a> {
    /// References are still in it.
    Escaped(&'a str),
    Cdata(&'a str),
}

/// An attribute's value as written.
pub(super) struct Value<'a>(Cow<'a, str>);

impl<'a> Tag<'a> {
    /// Attributes by local name, in order. What is no attribute is passed over.
    pub fn attributes(&self) -> impl Iterator<Item = (&'a str, Value<'a>)> + use<'a> {
        let mut attributes = Attributes::html(self.body, self.name_end);
        attributes.with_checks(false);
        attributes.filter_map(Result::ok).map(|attribute| (local(attribute.key.0), Value(attribute.value)))
    }

    /// The value of one attribute, decoded.
    pub fn attribute(&self, name: &str) -> Option<String> {
        self.attributes().find(|(key, _)| *key == name).map(|(_, value)| value.decode().into_owned())
    }
}

impl Value<'_> {
    pub fn raw(&self) -> &str {
        &self.0
    }

    pub fn decode(&self) -> Cow<'_, str> {
        decode(&self.0)
    }
}

impl<'a> Text<'a> {
    pub fn decode(&self) -> Cow<'a, str> {
        match self {
            Self::Escaped(text) => decode(text),
            Self::Cdata(text) => Cow::Borrowed(text),
        }
    }
}

fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

/// Resolves references; one that names nothing stays as it is written.
fn decode(text: &str) -> Cow<'_, str> {
    if memchr::memchr(b'&', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    if let Ok(decoded) = escape::unescape(text) {
        return decoded;
    }
    let mut out = String::with_capacity(text.len());
    for (index, part) in text.split('&').enumerate() {
        if index == 0 {
            out.push_str(part);
            continue;
        }
        let reference = part.find(';').filter(|end| *end < MAX_REFERENCE).map(|end| &part[..=end]);
        let resolved = reference.and_then(|reference| escape::unescape(&format!("&{reference}")).ok()?.chars().next());
        match (reference, resolved) {
            (Some(reference), Some(character)) => {
                out.push(character);
                out.push_str(&part[reference.len()..]);
            }
            _ => {
                out.push('&');
                out.push_str(part);
            }
        }
    }
    Cow::Owned(out)
}

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
    place: Place,
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
    Cdata,
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

    /// Names the element opened last in the paths of messages.
    pub fn label(&mut self, label: &str) {
        self.place.label(label);
    }

    /// The next token. What is mended on the way is noted.
    pub fn next(&mut self, notes: &mut Notes) -> Result<Token<'_>, Unreadable> {
        self.window.consume(std::mem::take(&mut self.lent));
        if std::mem::take(&mut self.closed) {
            self.place.close();
        }
        loop {
            match self.inside {
                Inside::EmptyElement => {
                    self.inside = Inside::Content;
                    self.closed = true;
                    return Ok(Token::Close(&self.place));
                }
                Inside::Cdata => match self.cdata_piece()? {
                    0 => continue,
                    length => {
                        self.lent = length;
                        return Ok(Token::Text(Text::Cdata(whole_characters(&self.window.bytes()[..length]))));
                    }
                },
                Inside::Content => {}
            }
            if self.window.bytes().is_empty() && !self.window.fill()? {
                return self.end();
            }
            if self.window.bytes().first() != Some(&b'<') {
                let length = self.text_piece()?;
                self.lent = length;
                return Ok(Token::Text(Text::Escaped(whole_characters(&self.window.bytes()[..length]))));
            }
            match self.markup()? {
                Markup::Nothing => {}
                Markup::Cdata => self.inside = Inside::Cdata,
                Markup::StrayLess => {
                    notes.flaw(Flaw::StrayMarkup, || self.place.to_string());
                    self.lent = 1;
                    return Ok(Token::Text(Text::Escaped("<")));
                }
                Markup::EndTag { length } => {
                    self.check_end_tag(length)?;
                    self.lent = length;
                    self.closed = true;
                    return Ok(Token::Close(&self.place));
                }
                Markup::Tag { length, is_cut } => return self.open(length, is_cut, notes),
            }
        }
    }

    fn end(&self) -> Result<Token<'static>, Unreadable> {
        match self.place.depth() {
            0 => Ok(Token::End),
            _ => Err(Unreadable::CutShort { place: self.place.to_string() }),
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
            let unfinished = memchr::memrchr(b'&', tail).filter(|at| memchr::memchr(b';', &tail[*at..]).is_none());
            let whole = bytes.len() - unfinished.map_or(0, |at| tail.len() - at);
            if whole > 0 {
                return Ok(whole);
            }
            if !self.window.fill()? {
                return Ok(self.window.bytes().len());
            }
        }
    }

    /// Length of the next piece of a CDATA section; 0 once its end is passed.
    fn cdata_piece(&mut self) -> Result<usize, Unreadable> {
        const END: &[u8] = b"]]>";
        loop {
            let bytes = self.window.bytes();
            match memchr::memmem::find(bytes, END) {
                Some(0) => {
                    self.window.consume(END.len());
                    self.inside = Inside::Content;
                    return Ok(0);
                }
                Some(at) => return Ok(at),
                None => {}
            }
            // The last two bytes may be the beginning of the end.
            let whole = whole_characters(&bytes[..bytes.len().saturating_sub(END.len() - 1)]).len();
            if whole > 0 {
                return Ok(whole);
            }
            if !self.window.fill()? {
                return Err(Unreadable::CutShort { place: self.place.to_string() });
            }
        }
    }

    /// Finds out what begins with the `<` in front.
    fn markup(&mut self) -> Result<Markup, Unreadable> {
        self.window.fill_to(2)?;
        match self.window.bytes().get(1) {
            Some(b'/') => {
                let mut parser = ElementParser::Outside;
                match self.find(&mut parser)? {
                    Some(length) => Ok(Markup::EndTag { length }),
                    None => Err(self.malformed("an end tag without end")),
                }
            }
            Some(b'?') => self.skip(&mut PiParser::default()),
            Some(b'!') => self.bang(),
            Some(first) if first.is_ascii_alphabetic() || matches!(first, b'_' | b':' | 0x80..) => {
                let mut parser = ElementParser::Outside;
                match self.find(&mut parser)? {
                    Some(length) => Ok(Markup::Tag { length, is_cut: false }),
                    None => self.cut_tag(parser),
                }
            }
            Some(_) => Ok(Markup::StrayLess),
            None => Err(Unreadable::CutShort { place: self.place.to_string() }),
        }
    }

    fn bang(&mut self) -> Result<Markup, Unreadable> {
        const CDATA: &[u8] = b"<![CDATA[";
        self.window.fill_to(CDATA.len())?;
        let bytes = self.window.bytes();
        if bytes.starts_with(b"<!--") {
            self.window.consume(4);
            return self.skip(&mut CommentParser::default());
        }
        if bytes.starts_with(CDATA) {
            self.window.consume(CDATA.len());
            return Ok(Markup::Cdata);
        }
        if !bytes.get(..9).unwrap_or_default().eq_ignore_ascii_case(b"<!DOCTYPE") {
            return Ok(Markup::StrayLess);
        }
        let length = self.find(&mut ElementParser::Outside)?;
        let Some(doctype) = length.and_then(|length| self.window.bytes().get(..length)) else {
            return Err(self.malformed("a document type without end"));
        };
        if doctype.contains(&b'[') {
            return Err(Unreadable::OwnEntities);
        }
        let length = doctype.len();
        self.window.consume(length);
        Ok(Markup::Nothing)
    }

    /// Length up to and with what the parser looks for; none if that is further than [`MAX_PIECE`].
    fn find(&mut self, parser: &mut impl Parser) -> Result<Option<usize>, Unreadable> {
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
            if !self.window.fill()? {
                return Err(Unreadable::CutShort { place: self.place.to_string() });
            }
        }
    }

    /// Passes over everything up to what the parser looks for.
    fn skip(&mut self, parser: &mut impl Parser) -> Result<Markup, Unreadable> {
        loop {
            let bytes = self.window.bytes();
            match parser.feed(bytes) {
                Some(at) => {
                    self.window.consume(at + 1);
                    return Ok(Markup::Nothing);
                }
                None => {
                    let all = bytes.len();
                    self.window.consume(all);
                }
            }
            if !self.window.fill()? {
                return Err(Unreadable::CutShort { place: self.place.to_string() });
            }
        }
    }

    /// Keeps the start of a tag that is too large and passes over the rest of it.
    fn cut_tag(&mut self, mut parser: ElementParser) -> Result<Markup, Unreadable> {
        let head = &self.window.bytes()[..MAX_PIECE];
        let mut at_cut = ElementParser::Outside;
        at_cut.feed(head);
        self.oversized.clear();
        self.oversized.push_str(whole_characters(head));
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
            if !self.window.fill()? {
                return Err(Unreadable::CutShort { place: self.place.to_string() });
            }
            if let Some(at) = parser.feed(self.window.bytes()) {
                let last = at.checked_sub(1).and_then(|at| self.window.bytes().get(at)).copied().unwrap_or(before);
                self.oversized.push_str(if last == b'/' { "/>" } else { ">" });
                return Ok(Markup::Tag { length: at + 1, is_cut: true });
            }
        }
    }

    fn open(&mut self, length: usize, is_cut: bool, notes: &mut Notes) -> Result<Token<'_>, Unreadable> {
        if self.place.depth() >= MAX_DEPTH {
            return Err(self.malformed("elements nested more than 256 deep"));
        }
        if self.place.depth() == 0 {
            self.roots += 1;
            if self.roots > 1 {
                notes.flaw(Flaw::SecondDocument, || "after the end of the first");
            }
        }
        self.lent = length;
        let tag = if is_cut { &self.oversized } else { whole_characters(&self.window.bytes()[..length]) };
        let body = tag.strip_prefix('<').and_then(|tag| tag.strip_suffix('>')).unwrap_or_default();
        let (body, is_empty) = match body.strip_suffix('/') {
            Some(body) => (body, true),
            None => (body, false),
        };
        let name_end = body.find(|c: char| c.is_ascii_whitespace()).unwrap_or(body.len());
        let name = local(&body[..name_end]);
        self.place.open(name);
        if is_empty {
            self.inside = Inside::EmptyElement;
        }
        if is_cut {
            notes.flaw(Flaw::OversizedPart, || self.place.to_string());
        }
        Ok(Token::Open(Tag { name, body, name_end, place: &self.place }))
    }

    fn check_end_tag(&self, length: usize) -> Result<(), Unreadable> {
        let tag = whole_characters(&self.window.bytes()[..length]);
        let name = local(tag.trim_start_matches("</").trim_end_matches('>').trim());
        let name = &name[..name.floor_char_boundary(80)];
        if self.place.depth() > 0 && name == self.place.name() {
            return Ok(());
        }
        Err(self.malformed(&format!("an end tag `</{name}>` that closes nothing")))
    }

    fn malformed(&self, what: &str) -> Unreadable {
        Unreadable::Malformed { what: what.to_owned(), place: self.place.to_string() }
    }
}
