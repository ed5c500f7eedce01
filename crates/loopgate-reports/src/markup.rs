//! What an XML document is made of, as the reader hands it out: tags with their attributes, and pieces of text.

use std::borrow::Cow;

use quick_xml::escape;
use regex::Captures;

use super::place::Place;

/// The longest reference looked for (`&#x0010FFFF;`), so that one cut by the window's edge is put together.
pub(super) const MAX_REFERENCE: usize = 16;

/// What comes next in a document. Elements without content give an [`Open`](Token::Open) and a [`Close`](Token::Close).
pub(super) enum Token<'a> {
    Open(Tag<'a>),
    /// A piece of character data, of which an element may have many.
    Text(Cow<'a, str>),
    /// The innermost element ends; it is still the innermost of the place.
    Close(&'a Place),
    End,
}

/// A start tag.
pub(super) struct Tag<'a> {
    /// Name without namespace prefix: elements are matched by local name.
    pub name: &'a str,
    /// As they are written.
    pub(super) attributes: &'a str,
    pub place: &'a Place,
}

/// The attributes of a tag by local name, in order. Their values are as written, with references in them ([`decode`]).
/// Values may lack quotes, and attributes values, as in HTML.
fn attributes(mut left: &str) -> impl Iterator<Item = (&str, &str)> {
    std::iter::from_fn(move || {
        let rest = left.trim_ascii_start();
        let name_end = rest
            .bytes()
            .position(|byte| byte == b'=' || byte.is_ascii_whitespace())
            .unwrap_or(rest.len());
        let (name, after) = rest.split_at(name_end);
        let after = after.trim_ascii_start();
        let Some(value) = after.strip_prefix('=').map(str::trim_ascii_start) else {
            left = after;
            return (!name.is_empty()).then_some((local(name), ""));
        };
        let quoted = match value.as_bytes().first() {
            Some(quote @ (b'"' | b'\'')) => {
                let inner = &value[1..];
                let end = memchr::memchr(*quote, inner.as_bytes()).unwrap_or(inner.len());
                Some((&inner[..end], inner.get(end + 1..).unwrap_or_default()))
            }
            _ => None,
        };
        let (value, rest) = quoted.unwrap_or_else(|| {
            let end = value
                .bytes()
                .position(|byte| byte.is_ascii_whitespace())
                .unwrap_or(value.len());
            value.split_at(end)
        });
        left = rest;
        Some((local(name), value))
    })
}

impl<'a> Tag<'a> {
    /// Attributes by local name, in order.
    pub fn attributes(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        attributes(self.attributes)
    }

    /// The value of one attribute, decoded.
    pub fn attribute(&self, name: &str) -> Option<String> {
        self.attributes()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| decode(value).into_owned())
    }
}

pub(super) fn local(name: &str) -> &str {
    // Names are short: a loop over their bytes beats a search.
    name.bytes()
        .rposition(|byte| byte == b':')
        .map_or(name, |colon| &name[colon + 1..])
}

patterns! {
    /// A reference of at most [`MAX_REFERENCE`] bytes behind its `&`.
    REFERENCE = r"&[^;&]{1,15};";
}

/// Resolves references; one that names nothing stays as it is written.
pub(super) fn decode(text: &str) -> Cow<'_, str> {
    if memchr::memchr(b'&', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    if let Ok(decoded) = escape::unescape(text) {
        return decoded;
    }
    let plain = |found: &Captures<'_>| match escape::unescape(&found[0]) {
        Ok(plain) => plain.into_owned(),
        Err(_) => found[0].to_owned(),
    };
    REFERENCE.replace_all(text, plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_as_they_come() {
        let seen = |body: &'static str| -> Vec<(&str, &str)> { attributes(body).collect() };
        let table: [(&str, &[(&str, &str)]); 9] = [
            ("", &[]),
            (" a=\"1\" b='2'", &[("a", "1"), ("b", "2")]),
            (" n:a = \"x > 'y'\"\n\tb=''", &[("a", "x > 'y'"), ("b", "")]),
            ("a=1 b=2", &[("a", "1"), ("b", "2")]),
            ("a b='2' c", &[("a", ""), ("b", "2"), ("c", "")]),
            ("a='1'b='2'", &[("a", "1"), ("b", "2")]),
            ("a='open", &[("a", "open")]),
            ("a=", &[("a", "")]),
            ("='x' b='y'", &[("", "x"), ("b", "y")]),
        ];
        for (body, expected) in table {
            assert_eq!(seen(body), expected, "{body}");
        }
    }

    #[test]
    fn references_that_name_nothing_stay() {
        let table = [
            ("a &amp; b", "a & b"),
            ("&nbsp;&lt;&#x41;&#0;&", "&nbsp;<A&#0;&"),
            (
                "&a very long run of text; with &gt;",
                "&a very long run of text; with >",
            ),
        ];
        for (text, expected) in table {
            assert_eq!(decode(text), expected);
        }
    }
}
