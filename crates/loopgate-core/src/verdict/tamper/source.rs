//! Lines of code without their comments, and the parts of a test file: its tests, its helpers, and what stands outside.

use std::collections::BTreeSet;

use crate::source_files::{Syntax, TestSyntax};

/// Characters of a line that are read: a longer one is generated, or hostile.
const LONGEST_LINE: usize = 2_000;

/// A line of code: its number in its file, and its text without comments and without blanks at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CodeLine {
    pub(super) number: u32,
    pub(super) text: String,
}

impl CodeLine {
    pub(super) fn indent(&self) -> usize {
        self.text.len() - self.text.trim_start().len()
    }

    /// Its words with one blank between them: how it is compared.
    pub(super) fn words(&self) -> String {
        self.text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// The lines that hold code, without comments.
pub(super) fn code_lines<'a>(path: &str, lines: impl Iterator<Item = (u32, &'a str)>) -> Vec<CodeLine> {
    let (numbers, texts): (Vec<u32>, Vec<String>) =
        lines.map(|(number, text)| (number, text.chars().take(LONGEST_LINE).collect::<String>())).unzip();
    let code = Syntax::of(path).without_comments(texts.iter().map(String::as_str));
    let lines = numbers.into_iter().zip(code).map(|(number, text)| CodeLine { number, text });
    lines.filter(|line| !line.text.trim().is_empty()).collect()
}

/// The lines that do not stand among the others.
pub(super) fn missing<'a>(
    lines: impl IntoIterator<Item = &'a CodeLine>,
    others: impl IntoIterator<Item = &'a CodeLine>,
) -> Vec<&'a CodeLine> {
    let had: BTreeSet<String> = others.into_iter().map(CodeLine::words).collect();
    lines.into_iter().filter(|line| !had.contains(&line.words())).collect()
}

/// A test, a helper, or, without a name, what stands outside of both.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) is_test: bool,
    /// Where it is declared.
    pub(super) line: u32,
    /// With what stands above its declaration and belongs to it: attributes, annotations, decorators.
    pub(super) lines: Vec<CodeLine>,
    indent: usize,
}

/// Splits a file into its parts by indentation: a part ends before the next line that is indented no deeper than its
/// declaration and does not close a bracket. The first part is what stands outside of all others.
pub(super) fn parts(syntax: &TestSyntax, lines: Vec<CodeLine>) -> Vec<Part> {
    let outside = Part { name: String::new(), is_test: false, line: 1, lines: Vec::new(), indent: 0 };
    let (mut parts, mut open) = (vec![outside], 0);
    let mut above: Vec<CodeLine> = Vec::new();
    let mut marked = false;
    for line in lines {
        let (text, indent) = (line.text.trim_start(), line.indent());
        let closes = text.starts_with([')', ']', '}', '{', '>']) || text == "end" || text.starts_with("end ");
        let test = syntax.test(&line.text);
        if test.is_none() && above.first().is_some_and(|first| indent > first.indent() || closes) {
            above.push(line);
            continue;
        }
        if open > 0 && indent <= parts[open].indent && !closes {
            open = 0;
        }
        let begins_rows = || syntax.row.is_match(&line.text) && text.ends_with(['[', '(', '`']);
        let is_attribute = text.starts_with(['@', '[']) || text.starts_with("#[") || begins_rows();
        let name = test.filter(|name| !name.is_empty()).or_else(|| {
            let is_nested = open > 0 && parts[open].is_test;
            (!is_nested && test.is_none()).then(|| syntax.function(&line.text)).flatten()
        });
        match name {
            Some(name) => {
                let (name, is_test) = (name.to_owned(), test.is_some() || marked);
                let number = line.number;
                let mut lines = std::mem::take(&mut above);
                lines.push(line);
                parts.push(Part { name, is_test, line: number, lines, indent });
                (open, marked) = (parts.len() - 1, false);
            }
            None if test.is_some() || is_attribute && !(open > 0 && parts[open].is_test) => {
                marked |= test.is_some();
                above.push(line);
            }
            None => {
                parts[open].lines.append(&mut above);
                parts[open].lines.push(line);
                marked = false;
            }
        }
    }
    parts[open].lines.append(&mut above);
    parts
}
