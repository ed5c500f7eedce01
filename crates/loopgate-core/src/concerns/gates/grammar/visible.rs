//! What a reader of a comment sees as its writer's own plain words, line by line.
//!
//! Only lines of paragraphs count: at top level, in a list item, or in `<details open>`. Everything else is read too,
//! with what it stands in, because who writes an approval there is answered.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::html::{OpenElements, Piece};
use crate::concerns::gates::report::Inside;

/// GitHub's own limit is 65,536 characters of at most 4 bytes. A longer text did not come from there.
pub(super) const LONGEST_BODY: usize = 4 * 65_536;

/// One line of text as a reader sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VisibleLine {
    pub(super) text: String,
    /// Line of the source it begins on, from 1.
    pub(super) number: u32,
    /// The first stretch that does not count: where it begins in `text`, and what it stands in.
    pub(super) alien: Option<(usize, Inside)>,
    /// From its first letter to the end of the source's line, as it was written: free text is taken from here.
    pub(super) written: String,
}

impl VisibleLine {
    /// What all of the line stands in, if none of it counts.
    pub(super) fn wholly_inside(&self) -> Option<Inside> {
        let (at, inside) = self.alien?;
        self.text[..at].trim().is_empty().then_some(inside)
    }
}

/// The lines of a comment or review body, in order.
pub(super) fn lines(body: &str) -> Vec<VisibleLine> {
    // A lone carriage return ends a line too (CommonMark 2.1).
    let source = body.replace("\r\n", "\n").replace('\r', "\n");
    let mut reader = Reader {
        source: &source,
        lines: Vec::new(),
        current: None,
        containers: Vec::new(),
        elements: OpenElements::default(),
        raw: String::new(),
        starts: std::iter::once(0)
            .chain(memchr::memchr_iter(b'\n', source.as_bytes()).map(|at| at + 1))
            .collect(),
    };
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_MATH
        | Options::ENABLE_GFM;
    for (event, range) in Parser::new_ext(&source, options).into_offset_iter() {
        reader.event(event, range);
    }
    reader.flush();
    reader.lines
}

/// Follows the Markdown events and cuts the text into lines.
struct Reader<'s> {
    source: &'s str,
    lines: Vec<VisibleLine>,
    current: Option<VisibleLine>,
    /// The Markdown elements open at this point.
    containers: Vec<Container>,
    elements: OpenElements,
    /// The HTML block being read.
    raw: String,
    /// Offsets at which the lines of the source begin.
    starts: Vec<usize>,
}

struct Container {
    hides: Option<Inside>,
    is_item: bool,
    /// Raw HTML in it ends with it. The reader knows a task item only after it began, so all items are such.
    is_closed: bool,
}

impl Reader<'_> {
    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        let at = range.start;
        match event {
            Event::Start(tag) => self.start(&tag, at),
            Event::End(tag) => self.end(tag, at),
            Event::Text(text) => self.text(&text, at, self.hides()),
            Event::Code(text) => self.text(&text, at, Some(self.hides().unwrap_or(Inside::Code))),
            Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.text(&text, at, Some(Inside::Code))
            }
            Event::InlineHtml(html) => self.inline_html(&html, at),
            Event::Html(html) => self.raw.push_str(&html),
            Event::FootnoteReference(_) => self.append("", at, Some(Inside::Footnote)),
            // What hides words goes on behind a line break: a link may begin on one line and end on the next, before
            // the words that seem to stand alone there.
            Event::SoftBreak | Event::HardBreak => {
                self.flush();
                if let Some(inside) = self.hides() {
                    self.append("", range.end, Some(inside));
                }
            }
            Event::Rule => self.flush(),
            Event::TaskListMarker(_) => {
                if let Some(item) = self
                    .containers
                    .iter_mut()
                    .rev()
                    .find(|container| container.is_item)
                {
                    item.hides = Some(Inside::TaskItem);
                }
            }
        }
    }

    fn start(&mut self, tag: &Tag<'_>, at: usize) {
        let inline = is_inline(&tag.to_end());
        if !inline {
            self.flush();
        }
        let hides = match tag {
            Tag::BlockQuote(_) => Some(Inside::Quote),
            Tag::CodeBlock(CodeBlockKind::Fenced(info))
                if info.trim_start().starts_with("suggestion") =>
            {
                Some(Inside::Suggestion)
            }
            Tag::CodeBlock(_) | Tag::MetadataBlock(_) => Some(Inside::Code),
            Tag::Heading { .. } => Some(Inside::Heading),
            Tag::Table(_) | Tag::TableHead | Tag::TableRow | Tag::TableCell => Some(Inside::Table),
            Tag::FootnoteDefinition(_) => Some(Inside::Footnote),
            Tag::Strikethrough => Some(Inside::Strikethrough),
            Tag::Link { .. } => Some(Inside::Link),
            Tag::Image { .. } => Some(Inside::Image),
            Tag::HtmlBlock => Some(Inside::Html),
            Tag::Paragraph | Tag::List(_) | Tag::Item | Tag::Emphasis | Tag::Strong => None,
            // Extensions that are not switched on.
            _ => Some(Inside::Html),
        };
        // An empty link or a picture without words is on its line all the same.
        if inline && hides.is_some() {
            self.append("", at, hides);
        }
        let is_item = matches!(tag, Tag::Item);
        let is_closed = hides.is_some() || is_item;
        self.elements.depth += usize::from(is_closed);
        self.containers.push(Container {
            hides,
            is_item,
            is_closed,
        });
    }

    fn end(&mut self, tag: TagEnd, at: usize) {
        let is_closed = self
            .containers
            .pop()
            .is_some_and(|container| container.is_closed);
        self.elements.depth -= usize::from(is_closed);
        if tag == TagEnd::HtmlBlock {
            let html = std::mem::take(&mut self.raw);
            let pieces = self.elements.read(&html);
            self.pieces(pieces, at);
        }
        if !is_inline(&tag) {
            self.flush();
        }
    }

    fn inline_html(&mut self, html: &str, at: usize) {
        self.append("", at, Some(Inside::Html));
        let pieces = self.elements.read(html);
        let comments = pieces
            .into_iter()
            .filter(|(_, inside)| *inside == Inside::HtmlComment)
            .collect();
        // What a comment says is a line of its own: it is no part of the sentence around it.
        let sentence = self.current.take();
        self.pieces(comments, at);
        self.flush();
        self.current = sentence;
    }

    fn pieces(&mut self, pieces: Vec<Piece<'_>>, at: usize) {
        for (text, inside) in pieces {
            self.text(text, at, self.container().or(Some(inside)));
            self.flush();
        }
    }

    fn container(&self) -> Option<Inside> {
        self.containers.iter().find_map(|container| container.hides)
    }

    fn hides(&self) -> Option<Inside> {
        self.container().or_else(|| self.elements.hides())
    }

    /// Text of code and HTML blocks holds line ends; text of paragraphs does not.
    fn text(&mut self, text: &str, at: usize, inside: Option<Inside>) {
        let mut from = at;
        for (index, part) in text.split('\n').enumerate() {
            if index > 0 {
                self.flush();
            }
            self.append(part, from, inside);
            from += part.len() + 1;
        }
    }

    fn append(&mut self, text: &str, at: usize, inside: Option<Inside>) {
        let number = self.starts.partition_point(|&start| start <= at);
        let new = || {
            let written = self
                .source
                .get(at..)
                .and_then(|rest| rest.lines().next())
                .unwrap_or_default()
                .to_owned();
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            VisibleLine {
                text: String::new(),
                number,
                alien: None,
                written,
            }
        };
        let line = self.current.get_or_insert_with(new);
        if let (None, Some(inside)) = (line.alien, inside) {
            line.alien = Some((line.text.len(), inside));
        }
        line.text.push_str(text);
    }

    fn flush(&mut self) {
        self.lines.extend(
            self.current
                .take()
                .filter(|line| !line.text.trim().is_empty()),
        );
    }
}

/// Elements within a line of text, as opposed to blocks.
const fn is_inline(tag: &TagEnd) -> bool {
    use TagEnd::{Emphasis, Image, Link, Strikethrough, Strong};
    matches!(tag, Emphasis | Strong | Strikethrough | Link | Image)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each line as `number: text`, and what it stands in behind a bar.
    fn read(body: &str) -> Vec<String> {
        let show = |line: VisibleLine| match line.alien {
            None => format!("{}: {}", line.number, line.text),
            Some((0, inside)) => format!("{}: {} | {}", line.number, line.text, inside.as_str()),
            Some((at, inside)) => format!(
                "{}: {} | {} from {at}",
                line.number,
                line.text,
                inside.as_str()
            ),
        };
        lines(body).into_iter().map(show).collect()
    }

    #[test]
    fn paragraphs_are_cut_at_soft_and_hard_breaks() {
        assert_eq!(
            read("a\nb  \nc\\\nd\r\ne\rf"),
            ["1: a", "2: b", "3: c", "4: d", "5: e", "6: f"]
        );
    }

    #[test]
    fn emphasis_is_ignored_and_escapes_are_read() {
        assert_eq!(
            read("**archi***tecture* __ap__\\_x &amp; y"),
            ["1: architecture ap_x & y"]
        );
    }

    #[test]
    fn list_items_count_and_task_items_do_not() {
        let body = "- a\n- b\n  - c\n\n1. d\n\n   e\n\n- [ ] f\n- [x] g\n\n  h";
        let expected = [
            "1: a",
            "2: b",
            "3: c",
            "5: d",
            "7: e",
            "9: f | a task-list item",
            "10: g | a task-list item",
            "12: h | a task-list item",
        ];
        assert_eq!(read(body), expected);
    }

    #[test]
    fn what_stands_elsewhere_is_told() {
        for (body, expected) in [
            ("> a", "1: a | a quote"),
            ("> > a", "1: a | a quote"),
            ("> [!NOTE]\n> a", "2: a | a quote"),
            ("- > a", "1: a | a quote"),
            ("```\na\n```", "2: a | code"),
            ("~~~suggestion\na\n~~~", "2: a | a suggestion block"),
            ("    a", "1: a | code"),
            ("`a`", "1: a | code"),
            ("# a", "1: a | a heading"),
            ("a\n---", "1: a | a heading"),
            ("~~a~~", "1: a | struck-through text"),
            ("~a~", "1: a | struck-through text"),
            ("[a](https://x.y)", "1: a | a link"),
            ("<https://x.y>", "1: https://x.y | a link"),
            ("![a](x.png)", "1: a | an image's description"),
            ("<!-- a -->", "1:  a  | an HTML comment"),
            ("<div>a</div>", "1: a | HTML"),
            (
                "<details>\n\na\n\n</details>",
                "3: a | a closed details block",
            ),
            ("x <!-- a", "1: x <!-- a"),
            ("$$\na\n$$", "1: a | code"),
            ("$a$", "1: a | code"),
            ("a ![](x.png)", "1: a  | an image's description from 2"),
            ("a[](x)", "1: a | a link from 1"),
            ("b `c` d", "1: b c d | code from 2"),
            ("a <b>c</b>", "1: a c | HTML from 2"),
        ] {
            assert_eq!(read(body), [expected], "{body:?}");
        }
    }

    #[test]
    fn what_begins_on_one_line_still_hides_where_it_ends_on_the_next() {
        for (body, expected) in [
            ("[\n](x)a", "2: a | a link"),
            ("[b\n](x)a", "2: a | a link"),
            ("[\\\n](x)a", "2: a | a link"),
            ("[b  \n](x)a", "2: a | a link"),
            ("![\n](x.png)a", "2: a | an image's description"),
            ("x <del>\n</del>a", "2: a | HTML"),
            ("*\n*a", "2: *a"),
            ("**b\nc** [d\n](x) a", "3:  a | a link"),
        ] {
            assert_eq!(
                read(body).last().map(String::as_str),
                Some(expected),
                "{body:?}"
            );
        }
    }

    #[test]
    fn lazy_continuation_belongs_to_the_quote() {
        assert_eq!(
            read("> a\nb\n\nc"),
            ["1: a | a quote", "2: b | a quote", "4: c"]
        );
    }

    #[test]
    fn tables_are_read_cell_by_cell() {
        assert_eq!(read("|a|b|\n|-|-|\n|c|d|").len(), 4);
        assert!(
            read("|a|b|\n|-|-|\n|c|d|")
                .iter()
                .all(|line| line.ends_with("| a table"))
        );
    }

    #[test]
    fn paragraphs_in_open_details_count() {
        let body = "<details open>\n<summary>s</summary>\n\na\n\n- b\n\n</details>\n\nc";
        assert_eq!(read(body), ["1: s | HTML", "4: a", "6: b", "10: c"]);
    }

    #[test]
    fn html_that_stays_open_hides_what_follows() {
        assert_eq!(read("x <del>\n\na"), ["1: x  | HTML from 2", "3: a | HTML"]);
        assert_eq!(read("<div><!--\n\na")[0], "3: a | an HTML comment");
        assert_eq!(read("Vec<String>\n\na"), ["1: Vec | HTML from 3", "3: a"]);
    }

    #[test]
    fn a_closing_tag_in_a_cell_closes_nothing_outside() {
        let body = "<details>\n\n|x|\n|-|\n|</details>|\n\na";
        assert_eq!(
            read(body).last().map(String::as_str),
            Some("7: a | a closed details block")
        );
    }

    #[test]
    fn html_that_a_quote_does_not_close_hides_what_follows() {
        let body =
            "> <details>\n> <summary>s</summary>\n>\n> a\n>\n> </details>\n\nb\n\n> <details>\n\nc";
        assert_eq!(
            read(body),
            [
                "1: s | a quote",
                "4: a | a quote",
                "8: b",
                "12: c | a closed details block"
            ]
        );
    }

    #[test]
    fn footnotes_do_not_count() {
        assert_eq!(
            read("a[^1]\n\n[^1]: b"),
            ["1: a | a footnote from 1", "3: b | a footnote"]
        );
    }
}
