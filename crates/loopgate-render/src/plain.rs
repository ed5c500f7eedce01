//! Our Markdown as plain text, for terminals.

use loopgate_core::untrusted::without_sequences;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// The text people read: links by their words, code between backticks, without escapes, entities and HTML.
pub fn plain(markdown: &str) -> String {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut page = PlainPage::default();
    for event in Parser::new_ext(markdown, options) {
        page.add(event);
    }
    page.text.truncate(page.text.trim_end().len());
    page.text
}

/// Markdown in which whatever is folded is its summary.
pub fn folded(markdown: &str) -> String {
    let mut pieces = markdown.split("<details>");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (inner, after) = piece.split_once("</details>").unwrap_or((piece, ""));
        let summary = inner
            .split_once("<summary>")
            .and_then(|(_, rest)| rest.split_once("</summary>"));
        if let Some((summary, _)) = summary {
            text.push_str("▸ ");
            text.push_str(summary);
            text.push('\n');
        }
        text.push_str(after);
    }
    text
}

/// A text in lines of at most `most` characters, the further ones set in by so many blanks. A longer word has its line.
pub fn wrapped(text: &str, most: usize, hang: usize) -> Vec<String> {
    let words = text.trim_start();
    let mut lines = vec![" ".repeat(text.len() - words.len())];
    for word in words.split(' ') {
        let last = lines.last_mut().expect("it begins with a line");
        let is_empty = last.trim().is_empty();
        if !is_empty && last.chars().count() + 1 + word.chars().count() > most {
            lines.push(" ".repeat(hang) + word);
        } else {
            last.push_str(if is_empty { "" } else { " " });
            last.push_str(word);
        }
    }
    lines
}

/// A text in a colour, if colours are on.
#[expect(clippy::needless_pass_by_value, reason = "as filters are called")]
pub(super) fn paint(text: String, colour: String, is_on: bool) -> String {
    let code = match colour.as_str() {
        "red" => 31,
        "green" => 32,
        "yellow" => 33,
        "dim" => 2,
        _ => 1,
    };
    if is_on {
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    } else {
        text
    }
}

/// The columns of a table, whose cells are parted by tabs, one below the other.
pub(super) fn aligned(rows: &str) -> String {
    // Colours have no width.
    let width = |cell: &str| without_sequences(cell, |c| c == '\u{1b}').chars().count();
    let mut widths: Vec<usize> = Vec::new();
    for (column, cell) in rows.lines().flat_map(|row| row.split('\t').enumerate()) {
        widths.resize(widths.len().max(column + 1), 0);
        widths[column] = widths[column].max(width(cell));
    }
    let padded = |row: &str| -> String {
        let cells = row.split('\t').zip(&widths);
        let line: String = cells
            .map(|(cell, most)| format!("{cell}{}", " ".repeat(most - width(cell) + 2)))
            .collect();
        format!("{}\n", line.trim_end())
    };
    rows.lines().map(padded).collect()
}

#[derive(Default)]
struct PlainPage {
    text: String,
    /// Where the open table begins.
    table: usize,
    /// The next number of each list that is open, the outermost first; none for one with bullets.
    lists: Vec<Option<u64>>,
    /// Inside a block of code, whose lines are indented.
    is_in_code: bool,
}

impl PlainPage {
    fn add(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.open(&tag),
            Event::End(tag) => self.close(tag),
            Event::Text(text) if self.is_in_code => {
                for line in text.lines() {
                    self.write("    ");
                    self.write(line);
                    self.text.push('\n');
                }
            }
            Event::Text(text) => self.write(&text),
            Event::Code(code) => {
                self.text.push('`');
                self.write(&code);
                self.text.push('`');
            }
            Event::InlineHtml(tag) | Event::Html(tag) => match tag.trim() {
                "<code>" | "</code>" => self.text.push('`'),
                "<br>" => self.line_ends(),
                _ => {}
            },
            Event::SoftBreak | Event::HardBreak => {
                self.line_ends();
                let indent = "  ".repeat(self.lists.len());
                self.text.push_str(&indent);
            }
            Event::TaskListMarker(done) => self.text.push_str(if done { "[x] " } else { "[ ] " }),
            Event::Rule => self.block_ends(),
            Event::FootnoteReference(_) | Event::InlineMath(_) | Event::DisplayMath(_) => {}
        }
    }

    fn open(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.block_ends();
                } else {
                    self.line_ends();
                }
                self.lists.push(*first);
            }
            Tag::Item => {
                self.line_ends();
                let indent = "  ".repeat(self.lists.len().saturating_sub(1));
                self.text.push_str(&indent);
                match self.lists.last_mut() {
                    Some(Some(number)) => {
                        self.text.push_str(&format!("{number}. "));
                        *number += 1;
                    }
                    _ => self.text.push_str("- "),
                }
            }
            Tag::CodeBlock(CodeBlockKind::Fenced(_) | CodeBlockKind::Indented) => {
                self.block_ends();
                self.is_in_code = true;
            }
            Tag::Paragraph if self.lists.is_empty() => self.block_ends(),
            Tag::Heading { .. } | Tag::BlockQuote(_) | Tag::HtmlBlock => self.block_ends(),
            Tag::Table(_) => {
                self.block_ends();
                self.table = self.text.len();
            }
            _ => {}
        }
    }

    fn close(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::List(_) => {
                self.lists.pop();
                if self.lists.is_empty() {
                    self.block_ends();
                }
            }
            TagEnd::CodeBlock => {
                self.is_in_code = false;
                self.block_ends();
            }
            TagEnd::TableCell => self.text.push('\t'),
            TagEnd::Table => {
                let rows = self.text.split_off(self.table);
                self.text.push_str(&aligned(&rows));
                self.block_ends();
            }
            TagEnd::TableRow | TagEnd::TableHead | TagEnd::Item => self.line_ends(),
            TagEnd::Paragraph if !self.lists.is_empty() => self.line_ends(),
            TagEnd::Heading(_) | TagEnd::Paragraph | TagEnd::BlockQuote(_) => self.block_ends(),
            _ => {}
        }
    }

    /// Without the invisible characters that keep texts from becoming mentions and links.
    fn write(&mut self, text: &str) {
        self.text.extend(
            text.chars()
                .filter(|letter| !matches!(letter, '\u{2060}' | '\u{200b}')),
        );
    }

    fn line_ends(&mut self) {
        let written = self.text.trim_end_matches([' ', '\t', '\n']).len();
        let ended = self.text[written..].contains('\n');
        if written > 0 && !ended {
            self.text.truncate(written);
            self.text.push('\n');
        }
    }

    fn block_ends(&mut self) {
        let written = self.text.trim_end_matches([' ', '\n']).len();
        self.text.truncate(written);
        if written > 0 {
            self.text.push_str("\n\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sanitize;

    #[test]
    fn a_colour_has_no_width_in_a_table() {
        let rows = |is_on| {
            let failed = paint("failed".to_owned(), "red".to_owned(), is_on);
            let quiet = paint("none".to_owned(), "dim".to_owned(), is_on);
            aligned(&format!(
                "check\tstate\ttests\nunit\t{failed}\t3\nlint\t{quiet}\t0\n"
            ))
        };
        let seen = without_sequences(&rows(true), |c| c == '\u{1b}').into_owned();
        assert_eq!(seen, rows(false));
    }

    #[test]
    fn what_people_read_is_what_was_written() {
        let text = format!(
            "### Title\n\n**Bold** [words](https://example.test/a_(b)) and \\*stars\\*\nthe next line\n\n- one `a\\.b`\n  \
             goes on\n- two\n  1. deep\n\n| A | B |\n|:--|--:|\n| {} | 2 |\n\n```text\n  kept  \n```\n<details>\n\n<!-- x -->\nEnd.",
            sanitize::code("(?i)a|b")
        );
        insta::assert_snapshot!(plain(&text), @r"
        Title

        Bold words and *stars*
        the next line

        - one `a\.b`
          goes on
        - two
          1. deep

        A          B
        `(?i)a|b`  2

              kept

        End.
        ");
    }

    #[test]
    fn links_and_escapes_are_taken_out() {
        for (markdown, shown) in [
            ("[`a.rs:1`](https://x.y/a) adds `b`", "`a.rs:1` adds `b`"),
            (
                "helper\\[bot\\]’s [comment](https://x.y)",
                "helper[bot]’s comment",
            ),
            ("@\u{2060}alice \\*not\\* `a\\b`", "@alice *not* `a\\b`"),
            ("an [open", "an [open"),
            ("x](y", "x](y"),
            (
                "matches <code>&#92;s&#40;a&#124;b&#41;&#42;</code>.",
                "matches `\\s(a|b)*`.",
            ),
            ("#12 is open, `**/a`", "#12 is open, `**/a`"),
        ] {
            assert_eq!(plain(markdown), shown);
        }
    }
}
