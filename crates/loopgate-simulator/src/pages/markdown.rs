//! Comments as GitHub shows them: its Markdown, with line breaks kept, and of HTML only the elements of a list, without
//! attributes. Of other elements the text stays.

use pulldown_cmark::{
    BlockQuoteKind, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd,
};

/// Elements that may be written in a comment; GitHub allows some more.
const ALLOWED: [&str; 22] = [
    "b",
    "blockquote",
    "code",
    "del",
    "details",
    "em",
    "i",
    "ins",
    "kbd",
    "li",
    "ol",
    "p",
    "pre",
    "s",
    "strong",
    "sub",
    "summary",
    "sup",
    "table",
    "td",
    "th",
    "ul",
];
/// Those of them that have no end.
const VOID: [&str; 2] = ["br", "hr"];

/// A text as HTML that is safe to print.
pub(super) fn html(text: &str) -> String {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_GFM;
    let mut page = Page::default();
    for event in Parser::new_ext(text, options) {
        page.take(event);
    }
    while let Some(element) = page.open.pop() {
        page.close(element);
    }
    page.out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[derive(Default)]
struct Page {
    out: String,
    /// Elements that the comment's own HTML opened.
    open: Vec<&'static str>,
    /// A block of HTML, until it is whole.
    block: Option<String>,
    /// What a cell is: the head's cells are headings.
    cell: &'static str,
}

impl Page {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(Tag::HtmlBlock) => self.block = Some(String::new()),
            Event::End(TagEnd::HtmlBlock) => {
                if let Some(block) = self.block.take() {
                    self.raw(&block);
                }
            }
            Event::Html(html) | Event::InlineHtml(html) => match &mut self.block {
                Some(block) => block.push_str(&html),
                None => self.raw(&html),
            },
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.out += &escaped(&text),
            Event::Code(code) => self.out += &format!("<code>{}</code>", escaped(&code)),
            Event::SoftBreak | Event::HardBreak => self.out += "<br>\n",
            Event::Rule => self.out += "<hr>\n",
            Event::TaskListMarker(is_done) => {
                let done = if is_done { " checked" } else { "" };
                self.out +=
                    &format!("<input type=\"checkbox\" aria-label=\"Task\" disabled{done}> ");
            }
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.out += &escaped(&text);
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        let started = match tag {
            Tag::Paragraph => "<p>".to_owned(),
            Tag::Heading { level, .. } => format!("<{}>", heading(level)),
            Tag::BlockQuote(None) => "<blockquote>".to_owned(),
            Tag::BlockQuote(Some(kind)) => {
                let kind = match kind {
                    BlockQuoteKind::Note => "Note",
                    BlockQuoteKind::Tip => "Tip",
                    BlockQuoteKind::Important => "Important",
                    BlockQuoteKind::Warning => "Warning",
                    BlockQuoteKind::Caution => "Caution",
                };
                format!("<blockquote class=\"alert\"><p><strong>{kind}</strong></p>")
            }
            Tag::CodeBlock(CodeBlockKind::Fenced(language)) if &*language == "diff" => {
                "<pre class=\"diff\" tabindex=\"0\"><code>".to_owned()
            }
            Tag::CodeBlock(_) => "<pre tabindex=\"0\"><code>".to_owned(),
            Tag::List(None) => "<ul>\n".to_owned(),
            Tag::List(Some(first)) => format!("<ol start=\"{first}\">\n"),
            Tag::Item => "<li>".to_owned(),
            Tag::Table(_) => "<div class=\"wide\" tabindex=\"0\"><table>".to_owned(),
            Tag::TableHead => {
                self.cell = "th";
                "<thead><tr>".to_owned()
            }
            Tag::TableRow => {
                self.cell = "td";
                "<tr>".to_owned()
            }
            Tag::TableCell => format!("<{}>", self.cell),
            Tag::Emphasis => "<em>".to_owned(),
            Tag::Strong => "<strong>".to_owned(),
            Tag::Strikethrough => "<del>".to_owned(),
            Tag::Link { dest_url, .. } => {
                let leads_on = ["http://", "https://", "/", "#"]
                    .iter()
                    .any(|start| dest_url.starts_with(start));
                if leads_on {
                    format!("<a href=\"{}\" rel=\"nofollow\">", escaped(&dest_url))
                } else {
                    "<a>".to_owned()
                }
            }
            // Of a picture its text is shown: the page loads nothing.
            _ => String::new(),
        };
        self.out += &started;
    }

    fn end(&mut self, tag: TagEnd) {
        let ended = match tag {
            TagEnd::Paragraph => "</p>\n",
            TagEnd::Heading(level) => return self.out += &format!("</{}>\n", heading(level)),
            TagEnd::BlockQuote(_) => "</blockquote>\n",
            TagEnd::CodeBlock => "</code></pre>\n",
            TagEnd::List(true) => "</ol>\n",
            TagEnd::List(false) => "</ul>\n",
            TagEnd::Item => "</li>\n",
            TagEnd::Table => "</tbody></table></div>\n",
            TagEnd::TableHead => "</tr></thead><tbody>\n",
            TagEnd::TableRow => "</tr>\n",
            TagEnd::TableCell => return self.close(self.cell),
            TagEnd::Emphasis => "</em>",
            TagEnd::Strong => "</strong>",
            TagEnd::Strikethrough => "</del>",
            TagEnd::Link => "</a>",
            _ => "",
        };
        self.out += ended;
    }

    fn close(&mut self, element: &str) {
        self.out += &format!("</{element}>");
    }

    /// The comment's own HTML: elements of the list, each closed after it was opened; comments are not shown.
    fn raw(&mut self, mut html: &str) {
        while let Some(at) = html.find('<') {
            self.out += &escaped(&html[..at]);
            let rest = &html[at..];
            if rest.starts_with("<!--") {
                html = rest.split_once("-->").map_or("", |(_, after)| after);
                continue;
            }
            let Some((tag, after)) = rest[1..].split_once('>') else {
                return self.out += &escaped(rest);
            };
            self.element(tag);
            html = after;
        }
        self.out += &escaped(html);
    }

    fn element(&mut self, tag: &str) {
        let (is_end, tag) = tag
            .strip_prefix('/')
            .map_or((false, tag), |tag| (true, tag));
        let length = tag
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(tag.len());
        let named = |element: &&'static str| element.eq_ignore_ascii_case(&tag[..length]);
        if let Some(element) = VOID.into_iter().find(named) {
            self.out += &format!("<{element}>");
        } else if let Some(element) = ALLOWED.into_iter().find(named) {
            if !is_end {
                self.open.push(element);
                let open = if element == "details" && tag.ends_with(" open") {
                    " open"
                } else {
                    ""
                };
                self.out += &format!("<{element}{open}>");
            } else if self.open.contains(&element) {
                while let Some(inner) = self.open.pop() {
                    self.close(inner);
                    if inner == element {
                        break;
                    }
                }
            }
        }
    }
}

fn heading(level: HeadingLevel) -> String {
    // A comment stands below the page's own headings.
    format!("h{}", (level as usize).clamp(3, 6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_is_shown_as_github_shows_it() {
        let comment = "<!-- mark -->\n### 🔁 `unit`\n\na\nb [1](https://x.test/?a=1&b) ~~c~~\n\n| a | b |\n|:--|--:|\n| 1 | **2** |\n\n\
                       > [!WARNING]\n> d\n\n<details><summary>More</summary>\n\n```diff\n-<b>\n+c\n```\n</details>\n\n- [x] e\n";
        insta::assert_snapshot!(html(comment), @r#"
        <h3>🔁 <code>unit</code></h3>
        <p>a<br>
        b <a href="https://x.test/?a=1&amp;b" rel="nofollow">1</a> <del>c</del></p>
        <div class="wide" tabindex="0"><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody>
        <tr><td>1</td><td><strong>2</strong></td></tr>
        </tbody></table></div>
        <blockquote class="alert"><p><strong>Warning</strong></p><p>d</p>
        </blockquote>
        <details><summary>More</summary>
        <pre class="diff" tabindex="0"><code>-&lt;b&gt;
        +c
        </code></pre>
        </details>
        <ul>
        <li><input type="checkbox" aria-label="Task" disabled checked> e</li>
        </ul>
        "#);
    }

    #[test]
    fn nothing_hostile_gets_through() {
        for (written, shown) in [
            ("<script>alert(1)</script>", "alert(1)"),
            ("a <img src=x onerror=alert(1)> b", "<p>a  b</p>\n"),
            (
                "<details onclick=\"x\" open><summary>a",
                "<details open><summary>a</summary></details>",
            ),
            ("</div></section></details>x", "x"),
            (
                "[a](javascript:alert(1)) ![b](https://x.test/p.png)",
                "<p><a>a</a> b</p>\n",
            ),
            (
                "[a](https://x.test/\"onclick=)",
                "<p><a href=\"https://x.test/&quot;onclick=\" rel=\"nofollow\">a</a></p>\n",
            ),
            ("<b>unclosed", "<p><b>unclosed</p>\n</b>"),
            (
                "`<b>` &lt;i&gt;",
                "<p><code>&lt;b&gt;</code> &lt;i&gt;</p>\n",
            ),
            ("<!-- never ends", ""),
            ("<style>*{}</style> <form action=x>", "*{} "),
        ] {
            assert_eq!(html(written).trim_end(), shown.trim_end(), "{written}");
        }
    }
}
