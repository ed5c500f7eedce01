//! Raw HTML inside a comment: which elements are open at a point of the text.
//!
//! Markdown lets HTML pass through, so a paragraph may stand inside `<details>` or `<del>` without Markdown knowing. An
//! element hides all that follows until its own end tag, in the same quote, item or cell, follows the end tags of all
//! that it holds; `<details open>` hides nothing. A browser repairs broken markup; here it leaves more text uncounted.

use crate::gate::report::Inside;

/// The raw HTML elements open at a point of a comment.
#[derive(Debug, Default)]
pub(super) struct OpenElements {
    open: Vec<Element>,
    /// How many Markdown containers are open: quotes, list items, table cells, headings. A closing tag in one closes nothing
    /// outside: a browser might, or ignore it. Elements that were opened inside and not closed outlast it.
    pub(super) depth: usize,
    /// What a piece of raw HTML began and did not end: a comment, or a tag without its `>`, after which nothing can be
    /// trusted to be text. A browser reads on through the paragraphs that follow.
    unfinished: Option<Inside>,
}

#[derive(Debug)]
struct Element {
    name: String,
    depth: usize,
    /// What stands in it does not count; none for `<details open>`.
    hides: Option<Inside>,
}

/// A piece of text found between tags, and what it stands in.
pub(super) type Piece<'a> = (&'a str, Inside);

impl OpenElements {
    /// Why text at this point does not count, if it does not.
    pub(super) fn hides(&self) -> Option<Inside> {
        self.unfinished.or_else(|| self.open.iter().find_map(|element| element.hides))
    }

    /// Reads a piece of raw HTML, and returns the text that stands in it: it never counts, and
    /// who writes an approval there is answered.
    pub(super) fn read<'a>(&mut self, html: &'a str) -> Vec<Piece<'a>> {
        let mut pieces = Vec::new();
        let mut rest = html;
        while !rest.is_empty() {
            rest = match self.unfinished {
                Some(Inside::HtmlComment) => self.comment(rest, &mut pieces),
                Some(inside) => {
                    pieces.push((rest, inside));
                    ""
                }
                None => self.markup(rest, &mut pieces),
            };
        }
        pieces
    }

    /// Reads up to the end of the comment; an unfinished one stays open.
    fn comment<'a>(&mut self, rest: &'a str, pieces: &mut Vec<Piece<'a>>) -> &'a str {
        // `<!-->` and `<!--->` are whole comments; `--!>` ends one too (HTML standard, 13.2.5).
        let end = ["-->", "--!>"].iter().filter_map(|end| Some((rest.find(end)?, end.len()))).min();
        let Some((at, length)) = end else {
            pieces.push((rest, Inside::HtmlComment));
            return "";
        };
        self.unfinished = None;
        pieces.push((&rest[..at], Inside::HtmlComment));
        &rest[at + length..]
    }

    /// Reads text up to a tag, and the tag.
    fn markup<'a>(&mut self, rest: &'a str, pieces: &mut Vec<Piece<'a>>) -> &'a str {
        let Some(at) = rest.find('<') else {
            pieces.push((rest, self.hides().unwrap_or(Inside::Html)));
            return "";
        };
        pieces.push((&rest[..at], self.hides().unwrap_or(Inside::Html)));
        let after = &rest[at + 1..];
        if let Some(comment) = after.strip_prefix("!--") {
            if let Some(whole) = comment.strip_prefix('>').or_else(|| comment.strip_prefix("->")) {
                return whole;
            }
            self.unfinished = Some(Inside::HtmlComment);
            return comment;
        }
        let (is_end, name_on) = after.strip_prefix('/').map_or((false, after), |name| (true, name));
        if name_on.starts_with(|c: char| c.is_ascii_alphabetic()) {
            let Some((tag, rest)) = HtmlTag::read(name_on) else {
                self.unfinished = Some(Inside::Html);
                return "";
            };
            if is_end {
                self.closed(&tag.name);
            } else {
                self.opened(tag);
            }
            rest
        } else if is_end || after.starts_with(['!', '?']) {
            // Declarations, CDATA and processing instructions: browsers read them as comments up to the next `>`.
            after.split_once('>').map_or("", |(_, rest)| rest)
        } else {
            after
        }
    }

    fn opened(&mut self, tag: HtmlTag) {
        let hides = match tag.name.as_str() {
            "details" if tag.open => None,
            "details" => Some(Inside::ClosedDetails),
            name if HIDING.split_whitespace().any(|known| known == name) => Some(Inside::Html),
            // It holds no text (`<br>`), only changes its looks, or is no HTML at all: `Vec<String>` in prose.
            _ => return,
        };
        self.open.push(Element { name: tag.name, depth: self.depth, hides });
    }

    /// A closing tag closes the innermost element if it is of that name and in this container. Any other is ignored.
    fn closed(&mut self, name: &str) {
        self.open.pop_if(|innermost| innermost.name == name && innermost.depth == self.depth);
    }
}

/// Elements in which no paragraph counts.
const HIDING: &str = "a address applet article aside audio bdi bdo blockquote body button canvas caption center code \
    colgroup dd del dialog dir div dl dt fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 h7 h8 head \
    header hgroup html iframe kbd legend li listing main map marquee math menu nav noembed noframes noscript object ol \
    optgroup option p picture plaintext pre q rp rt ruby s samp script section select strike style summary svg table tbody \
    td template textarea tfoot th thead title tr tt ul var video xmp";

/// A tag's name, and whether it has the attribute `open`.
struct HtmlTag {
    name: String,
    open: bool,
}

impl HtmlTag {
    /// Reads from a tag's name past its `>`. None when the `>` is missing.
    fn read(text: &str) -> Option<(Self, &str)> {
        let name_end = text.find(|c: char| c.is_ascii_whitespace() || c == '/' || c == '>')?;
        let mut tag = Self { name: text[..name_end].to_ascii_lowercase(), open: false };
        let mut rest = &text[name_end..];
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
            if let Some(after) = rest.strip_prefix('>') {
                return Some((tag, after));
            }
            // A stray `=` belongs to the attribute's name (HTML standard, 13.2.5.32).
            let first = rest.chars().next()?.len_utf8();
            let delimiter = |c: char| c.is_ascii_whitespace() || matches!(c, '=' | '>' | '/');
            let end = first + rest[first..].find(delimiter)?;
            tag.open |= rest[..end].eq_ignore_ascii_case("open");
            rest = rest[end..].trim_start_matches(|c: char| c.is_ascii_whitespace());
            if let Some(value) = rest.strip_prefix('=') {
                rest = after_value(value.trim_start_matches(|c: char| c.is_ascii_whitespace()))?;
            }
        }
    }
}

fn after_value(text: &str) -> Option<&str> {
    for quote in ['"', '\''] {
        if let Some(quoted) = text.strip_prefix(quote) {
            return quoted.split_once(quote).map(|(_, rest)| rest);
        }
    }
    text.find(|c: char| c.is_ascii_whitespace() || c == '>').map(|end| &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(html: &[&str]) -> Option<Inside> {
        let mut elements = OpenElements::default();
        for piece in html {
            elements.read(piece);
        }
        elements.hides()
    }

    #[test]
    fn what_is_open_after_markup() {
        use Inside::*;
        for (html, hides) in [
            (&["<details>"][..], Some(ClosedDetails)),
            (&["<DETAILS OPEN><Summary>x</Summary>"], None),
            (&["<details open=\"\">"], None),
            (&["<details data-open>"], Some(ClosedDetails)),
            (&["<details =open>"], Some(ClosedDetails)),
            (&["<details x=open>"], Some(ClosedDetails)),
            (&["<details class=\"a > open\">"], Some(ClosedDetails)),
            (&["<details>", "</details>"], None),
            (&["<details><details open>"], Some(ClosedDetails)),
            (&["<details open><details>", "</details>"], None),
            // A paragraph that nothing ends.
            (&["<details><p>", "</details>"], Some(ClosedDetails)),
            (&["<details open><p>", "</details>"], Some(Html)),
            // In a table a browser ignores this closing tag.
            (&["<details><table>", "</details>", "</table>"], Some(ClosedDetails)),
            (&["<del>"], Some(Html)),
            (&["<b>", "Vec<String>"], None),
            (&["a < b and c > d"], None),
            (&["<br><img src=x><hr/>"], None),
            (&["<!-- <details> -->"], None),
            (&["<!-- ", "</x>"], Some(HtmlComment)),
            (&["<!-- ", "--> "], None),
            (&["<!-->", "<!--->"], None),
            (&["<!-- --!><del>"], Some(Html)),
            (&["<div title=\"", "</div>\">"], Some(Html)),
            (&["<details"], Some(Html)),
            (&["<?php <details> ?>"], None),
            (&["</details>"], None),
        ] {
            assert_eq!(after(html), hides, "{html:?}");
        }
    }

    #[test]
    fn elements_end_in_their_container() {
        let after = |outside: &str, inside: &str| {
            let mut elements = OpenElements::default();
            elements.read(outside);
            elements.depth += 1;
            elements.read(inside);
            elements.depth -= 1;
            elements.hides()
        };
        assert_eq!(after("", "<details>"), Some(Inside::ClosedDetails));
        assert_eq!(after("<details>", "</details>"), Some(Inside::ClosedDetails));
        assert_eq!(after("<details open>", "<del></del>"), None);
        assert_eq!(after("", "<s>"), Some(Inside::Html));
        assert_eq!(after("", "<!--"), Some(Inside::HtmlComment));
    }

    #[test]
    fn text_between_tags_is_told() {
        let mut elements = OpenElements::default();
        let told = elements.read("<div>a<!--b--><del>c</del></div>");
        let told: Vec<_> = told.into_iter().filter(|(text, _)| !text.is_empty()).collect();
        assert_eq!(told, [("a", Inside::Html), ("b", Inside::HtmlComment), ("c", Inside::Html)]);
    }
}
