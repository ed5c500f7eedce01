//! The code of a changed file on both sides, without its comments, and the parts of a test file: its tests, its
//! helpers, and what stands outside; what each asserts, of which values, and whether it runs.

use std::collections::BTreeMap;

use super::lines::LINES;
use crate::{
    evidence::words,
    expressions::first_group,
    observed::{ChangedFile, DiffLine, LineChange, Patch},
    source_files::{Syntax, TestSyntax},
};

/// Bytes of a line that are read: a longer one is generated, or hostile.
const LONGEST_LINE: usize = 2_000;
/// Characters of a line that a sentence quotes.
const QUOTED: usize = 60;

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

/// What a patch shows of both sides. The heading of a hunk stands above it on both.
pub(super) fn sides_of_patch(file: &ChangedFile, patch: &Patch<'_>) -> [Vec<CodeLine>; 2] {
    let sides = [
        (file.old_path(), LineChange::Added),
        (file.path.as_str(), LineChange::Removed),
    ];
    sides.map(|(path, absent)| {
        let number = |line: &DiffLine<'_>| {
            if absent == LineChange::Added {
                line.old
            } else {
                line.new
            }
        };
        let lines = patch.hunks.iter().flat_map(|hunk| {
            let heading = hunk
                .lines
                .first()
                .map(|first| (number(first).saturating_sub(1), hunk.heading));
            let of_side = hunk.lines.iter().filter(|line| line.change != absent);
            heading
                .into_iter()
                .chain(of_side.map(|line| (number(line), line.text)))
        });
        code_lines(path, lines)
    })
}

/// The lines that hold code, without comments.
pub(super) fn code_lines<'a>(
    path: &str,
    lines: impl Iterator<Item = (u32, &'a str)> + Clone,
) -> Vec<CodeLine> {
    let texts = lines
        .clone()
        .map(|(_, text)| &text[..text.floor_char_boundary(LONGEST_LINE)]);
    let (code, _) = Syntax::of(path).without_comments(texts);
    let lines = lines
        .zip(code)
        .map(|((number, _), text)| CodeLine { number, text });
    lines.filter(|line| !line.text.trim().is_empty()).collect()
}

/// What lines say, however they are broken and whichever marks stand around their texts: without blanks outside of
/// texts, and without marks that only end something.
pub(super) fn tokens(lines: &[CodeLine]) -> String {
    let mut said = String::new();
    for line in lines {
        let mut open = None;
        let mut is_escaped = false;
        for letter in line.text.chars() {
            let is_quote = matches!(letter, '"' | '\'' | '`') && !is_escaped;
            is_escaped = letter == '\\' && !is_escaped;
            match open {
                Some(quote) if is_quote && letter == quote => open = None,
                None if is_quote => open = Some(letter),
                None if letter.is_whitespace() || letter == ';' => continue,
                None if matches!(letter, ')' | ']' | '}') => {
                    let whole = said.trim_end_matches(',').len();
                    said.truncate(whole);
                }
                _ => {}
            }
            let is_mark = is_quote && open.is_none_or(|quote| quote == letter);
            said.push(if is_mark { '"' } else { letter });
        }
        // A line may end what is returned.
        if line.text.ends_with("return") {
            said.push('\n');
        }
    }
    said
}

/// Texts, each with how often it occurs.
pub(super) type Bag = BTreeMap<String, usize>;

/// Takes these texts out of the bag if all of them are in it.
pub(super) fn take(bag: &mut Bag, texts: &[String]) -> bool {
    let lacks = |text: &String| {
        bag.get_mut(text)
            .filter(|left| **left > 0)
            .map(|left| *left -= 1)
            .is_none()
    };
    let lacking = texts.iter().position(lacks);
    if let Some(taken) = lacking {
        texts[..taken]
            .iter()
            .for_each(|text| *bag.entry(text.clone()).or_default() += 1);
    }
    lacking.is_none()
}

/// The lines that do not stand among the others, or less often there.
pub(super) fn missing<'a, 'b>(
    lines: impl IntoIterator<Item = &'a CodeLine>,
    others: impl IntoIterator<Item = &'b CodeLine>,
) -> Vec<&'a CodeLine> {
    let mut lines: Vec<&CodeLine> = lines.into_iter().collect();
    if lines.is_empty() {
        return lines;
    }
    let mut had = Bag::default();
    others
        .into_iter()
        .for_each(|line| *had.entry(line.words()).or_default() += 1);
    if !had.is_empty() {
        lines.retain(|line| !take(&mut had, &[line.words()]));
    }
    lines
}

/// A test, a helper, or, without a name, what stands outside of both.
pub(super) struct Part<'a> {
    pub(super) file: &'a ChangedFile,
    pub(super) syntax: &'static TestSyntax,
    pub(super) name: String,
    pub(super) is_test: bool,
    /// Where it is declared: nowhere, of what stands outside.
    pub(super) line: u32,
    /// With what stands above its declaration and belongs to it: attributes, annotations, decorators.
    pub(super) lines: Vec<CodeLine>,
    indent: usize,
}

/// Splits a file into its parts by indentation: a part ends before the next line that is indented no deeper than its
/// declaration and does not close a bracket. The first part is what stands outside of all others.
pub(super) fn parts<'a>(
    file: &'a ChangedFile,
    syntax: &'static TestSyntax,
    lines: Vec<CodeLine>,
) -> Vec<Part<'a>> {
    let part = |name, is_test, line, lines, indent| Part {
        file,
        syntax,
        name,
        is_test,
        line,
        lines,
        indent,
    };
    let (mut parts, mut open) = (vec![part(String::new(), false, u32::MAX, Vec::new(), 0)], 0);
    let mut above: Vec<CodeLine> = Vec::new();
    for line in lines {
        let (text, indent) = (line.text.trim_start(), line.indent());
        let closes = text.starts_with([')', ']', '}', '{', '>'])
            || text == "end"
            || text.starts_with("end ")
            || LINES.goes_on.is_match(text);
        let test = syntax.test(&line.text);
        if test.is_none()
            && above
                .first()
                .is_some_and(|first| indent > first.indent() || closes)
        {
            above.push(line);
            continue;
        }
        // A bracket that stands further out closes what the part stands in.
        let ends = |part: &Part<'_>| match closes {
            true => indent < part.indent,
            false => indent <= part.indent,
        };
        if open > 0 && ends(&parts[open]) {
            open = 0;
        }
        let begins_rows = || syntax.is_row(&line.text) && text.ends_with(['[', '(', '`']);
        let is_attribute = text.starts_with(['@', '[']) || text.starts_with("#[") || begins_rows();
        let is_nested = open > 0 && parts[open].is_test;
        let helper = || {
            syntax
                .function(&line.text)
                .filter(|_| !is_nested && test.is_none())
        };
        let name = test.filter(|name| !name.is_empty()).or_else(helper);
        if let Some(name) = name {
            let is_marked = || above.iter().any(|line| syntax.begins_test(&line.text));
            let (name, is_test, number) =
                (name.to_owned(), test.is_some() || is_marked(), line.number);
            parts.push(part(
                name,
                is_test,
                number,
                above.drain(..).chain([line]).collect(),
                indent,
            ));
            open = parts.len() - 1;
        } else if test.is_some() || is_attribute && !is_nested {
            above.push(line);
        } else {
            parts[open].lines.extend(above.drain(..).chain([line]));
        }
    }
    parts[open].lines.append(&mut above);
    parts
}

impl Part<'_> {
    /// The lines that are reached and assert.
    pub(super) fn asserting(&self) -> impl Iterator<Item = &CodeLine> {
        self.reached().into_iter().filter(|line| self.asserts(line))
    }

    /// Whether a line asserts. What is true whatever the program does asserts nothing.
    pub(super) fn asserts(&self, line: &CodeLine) -> bool {
        self.syntax.assertions(&line.text) > 0 && !LINES.always_true.is_match(&line.text)
    }

    /// The lines of a test or a helper that are reached: none below one that leaves it for good, none of a function
    /// that it declares and never names again, none under a condition that asks the environment, and none of a loop
    /// over nothing.
    pub(super) fn reached(&self) -> Vec<&CodeLine> {
        let depth = self.below().map(CodeLine::indent).find(|depth| *depth > 0);
        let is_named_once = |name: &str| self.words().filter(|word| *word == name).count() == 1;
        let (mut lines, mut idle): (Vec<&CodeLine>, _) = (Vec::new(), None);
        for line in &self.lines {
            let (text, is_body) = (line.text.trim(), line.number > self.line);
            if is_body && Some(line.indent()) == depth && LINES.leaves.is_match(text) {
                break;
            }
            if idle.is_some_and(|indent| line.indent() > indent) {
                continue;
            }
            // A decorator may register what stands below it.
            let is_registered = lines
                .last()
                .is_some_and(|above| above.text.trim_start().starts_with('@'));
            let function = LINES.declares.captures(text).filter(|_| !is_registered);
            let name = function.and_then(|found| first_group(&found));
            let is_idle =
                is_body && (name.is_some_and(is_named_once) || LINES.never_enters.is_match(text));
            idle = is_idle.then(|| line.indent());
            if !is_idle {
                lines.push(line);
            }
        }
        lines
    }

    /// Whether the line holds rows of parameters: the language marks it, it holds data only, or a loop goes over them.
    pub(super) fn is_row(&self, line: &CodeLine) -> bool {
        let text = line.text.trim();
        let is_data = text.starts_with(['[', '(', '{', '|', '"', '\'', '-'])
            && text.ends_with([',', ']', ')', '}', '|', '"', '\''])
            && !text.contains("=> {");
        let is_loop =
            text.starts_with("for ") && text.contains(['[', '{']) && values(text).nth(1).is_some();
        // Outside of all functions such a line may be one of a list of imports.
        let is_import = self.name.is_empty() && LINES.imports.is_match(text);
        self.syntax.is_row(&line.text)
            || (is_data || is_loop) && !is_import && self.syntax.assertions(text) == 0
    }

    /// A mark that keeps the part from running and was not among its old lines: its line and its words.
    pub(super) fn skip_more(&self, old: &[CodeLine]) -> Option<(&CodeLine, String)> {
        let is_mark = |line: &&CodeLine| self.syntax.skip(&line.text).is_some();
        let are_more =
            self.lines.iter().filter(is_mark).count() > old.iter().filter(is_mark).count();
        let line = missing(&self.lines, old)
            .into_iter()
            .filter(|_| are_more)
            .find(is_mark)?;
        Some((
            line,
            self.syntax.skip(&line.text)?.chars().take(QUOTED).collect(),
        ))
    }

    /// The lines below its declaration.
    pub(super) fn below(&self) -> impl Iterator<Item = &CodeLine> {
        self.lines.iter().filter(|line| line.number > self.line)
    }

    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().flat_map(|line| words(&line.text))
    }
}

/// Whether an assertion is weaker than equality: it compares an order, a part, or an inequality.
pub(super) fn is_loose(line: &CodeLine) -> bool {
    LINES.loose.is_match(&line.text)
}

/// Texts and numbers of a line, with their quotes, and errors by name.
pub(super) fn values(line: &str) -> impl Iterator<Item = &str> {
    let value = pattern!(
        r#""[^"]*"|'[^']*'|`[^`]*`|\b[A-Z]\w*(?:Error|Exception)\b|(?:^|[^\w.])(-?\d[\w.]*)"#
    );
    value.captures_iter(line).filter_map(|found| {
        found
            .get(1)
            .or_else(|| found.get(0))
            .map(|value| value.as_str())
    })
}

/// A value without its quotes; a number without its suffix and the zeros behind its point.
pub(super) fn plain(value: &str) -> String {
    let digits = value.replace('_', "");
    match digits.trim_end_matches(char::is_alphabetic).parse::<f64>() {
        Ok(number) => number.to_string(),
        Err(_) => value.trim_matches(['"', '\'', '`']).to_owned(),
    }
}

/// A line as a sentence quotes it.
pub(super) fn quoted(text: &str) -> String {
    text.trim().replace('`', "'").chars().take(QUOTED).collect()
}
