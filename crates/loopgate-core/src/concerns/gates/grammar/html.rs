//! Raw HTML inside a comment: which elements are open at a point of the text.
//!
//! Markdown lets HTML pass through, so a paragraph may stand inside `<details>` or `<del>` without Markdown knowing. An
//! element hides all that follows until its own end tag, in the same quote, item or cell, follows the end tags of all
//! that it holds; `<details open>` hides nothing. A browser repairs broken markup; here it leaves more text uncounted.

use crate::concerns::gates::report::Inside;

/// The raw HTML elements open at a point of a comment.
#[derive(Debug, Default)]
pub(super) struct OpenElements {
    /// The name of each, the depth it was opened at, and why what stands in it does not count; `None` for
    /// `<details open>`.
    open: Vec<(String, usize, Option<Inside>)>,
    /// How many Markdown containers are open: quotes, list items, table cells, headings. A closing tag in one closes
    /// nothing outside: a browser might, or ignore it. Elements that were opened inside and not closed outlast it.
    pub(super) depth: usize,
    /// What a piece of raw HTML began and did not end: a comment, or a tag that is not written as it should be, after
    /// which nothing can be trusted to be text. A browser reads on through the paragraphs that follow.
    unfinished: Option<Inside>,
}

/// A piece of text found between tags, and what it stands in.
pub(super) type Piece<'a> = (&'a str, Inside);

impl OpenElements {
    /// Why text at this point does not count, if it does not.
    pub(super) fn hides(&self) -> Option<Inside> {
        self.unfinished
            .or_else(|| self.open.iter().find_map(|(_, _, hides)| *hides))
    }

    /// Reads a piece of raw HTML, and returns the text that stands in it: it never counts, and
    /// who writes an approval there is answered.
    pub(super) fn read<'a>(&mut self, html: &'a str) -> Vec<Piece<'a>> {
        // `<!-->` and `<!--->` are whole comments; `--!>` ends one too (HTML standard, 13.2.5). Declarations, CDATA and
        // processing instructions are comments up to the next `>` for browsers.
        let markup = pattern!(
            r#"(?xs) <!-- (?: -?> | (?<comment>.*?) (?: --!?> | (?<unended>\z) ) )
            | < (?<end>/)? (?<name>[A-Za-z][^\s/>]*)
                (?<attributes> (?: [\s/] | [^\s/>="']+ | = \s* (?: "[^"]*" | '[^']*' | [^\s"'>]+ ) )* ) >
            | < /? (?<broken>[A-Za-z]) .*
            | < [/!?] [^>]* (?: > | \z )"#
        );
        let (mut pieces, mut rest) = (Vec::new(), html);
        if let Some(inside) = self.unfinished {
            let end = pattern!("--!?>")
                .find(html)
                .filter(|_| inside == Inside::HtmlComment);
            pieces.push((&html[..end.map_or(html.len(), |end| end.start())], inside));
            let Some(end) = end else { return pieces };
            self.unfinished = None;
            rest = &html[end.end()..];
        }
        let mut at = 0;
        for found in markup.captures_iter(rest) {
            let whole = found.get_match();
            pieces.push((
                &rest[at..whole.start()],
                self.hides().unwrap_or(Inside::Html),
            ));
            at = whole.end();
            if let Some(comment) = found.name("comment") {
                pieces.push((comment.as_str(), Inside::HtmlComment));
                self.unfinished = found.name("unended").map(|_| Inside::HtmlComment);
            } else if found.name("broken").is_some() {
                self.unfinished = Some(Inside::Html);
            } else if let Some(name) = found.name("name") {
                self.tag(
                    name.as_str().to_ascii_lowercase(),
                    found.name("end").is_some(),
                    &found["attributes"],
                );
            }
        }
        pieces.push((&rest[at..], self.hides().unwrap_or(Inside::Html)));
        pieces
    }

    /// A closing tag closes the innermost element if it is of that name and in this container. Any other is ignored.
    fn tag(&mut self, name: String, is_end: bool, attributes: &str) {
        let here = self.depth;
        if is_end {
            self.open
                .pop_if(|(innermost, depth, _)| *innermost == name && *depth == here);
            return;
        }
        let hides = match name.as_str() {
            // Written otherwise it is taken for closed.
            "details"
                if ["open", "open=\"\""]
                    .iter()
                    .any(|open| attributes.trim().eq_ignore_ascii_case(open)) =>
            {
                None
            }
            "details" => Some(Inside::ClosedDetails),
            name if HIDING.split_whitespace().any(|known| known == name) => Some(Inside::Html),
            // It holds no text (`<br>`), only changes its looks, or is no HTML at all: `Vec<String>` in prose.
            _ => return,
        };
        self.open.push((name, here, hides));
    }
}

/// Elements in which no paragraph counts.
const HIDING: &str = "a address applet article aside audio bdi bdo blockquote body button canvas caption center code \
    colgroup dd del dialog dir div dl dt fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 h7 h8 head \
    header hgroup html iframe kbd legend li listing main map marquee math menu nav noembed noframes noscript object ol \
    optgroup option p picture plaintext pre q rp rt ruby s samp script section select strike style summary svg table tbody \
    td template textarea tfoot th thead title tr tt ul var video xmp";

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
            (&["<details class=x open>"], Some(ClosedDetails)),
            // A quote that nothing ends.
            (&["<b title=\"x>", "y"], Some(Html)),
            (&["<b title=x'y>"], Some(Html)),
            (&["<details>", "</details>"], None),
            (&["<details><details open>"], Some(ClosedDetails)),
            (&["<details open><details>", "</details>"], None),
            // A paragraph that nothing ends.
            (&["<details><p>", "</details>"], Some(ClosedDetails)),
            (&["<details open><p>", "</details>"], Some(Html)),
            // In a table a browser ignores this closing tag.
            (
                &["<details><table>", "</details>", "</table>"],
                Some(ClosedDetails),
            ),
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
        assert_eq!(
            after("<details>", "</details>"),
            Some(Inside::ClosedDetails)
        );
        assert_eq!(after("<details open>", "<del></del>"), None);
        assert_eq!(after("", "<s>"), Some(Inside::Html));
        assert_eq!(after("", "<!--"), Some(Inside::HtmlComment));
    }

    #[test]
    fn text_between_tags_is_told() {
        let mut elements = OpenElements::default();
        let told = elements.read("<div>a<!--b--><del>c</del></div>");
        let told: Vec<_> = told
            .into_iter()
            .filter(|(text, _)| !text.is_empty())
            .collect();
        assert_eq!(
            told,
            [
                ("a", Inside::Html),
                ("b", Inside::HtmlComment),
                ("c", Inside::Html)
            ]
        );
    }
}
