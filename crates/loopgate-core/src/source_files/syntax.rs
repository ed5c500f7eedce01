//! How a language writes comments and strings, and which lines of a text are code.
//!
//! Nothing is excused: a line is a comment only if that is certain. Every other line counts as code.

use std::{
    borrow::Cow,
    hash::{DefaultHasher, Hash, Hasher as _},
    sync::LazyLock,
};

use super::table::{LANGUAGES, Syntax};
use crate::observed::{DiffLine, LineChange};

/// A language without comments, in which white space means something: nothing is known of it.
static UNKNOWN: LazyLock<Syntax> = LazyLock::new(|| Syntax {
    space: true,
    ..Syntax::default()
});

impl Default for &Syntax {
    fn default() -> Self {
        &UNKNOWN
    }
}

impl Syntax {
    /// By the path's language or format. Of an unknown one nothing is a comment.
    pub fn of(path: &str) -> &'static Self {
        // Each row names a syntax of the file, and a test asks all.
        let row = LANGUAGES.language(path);
        row.and_then(|row| LANGUAGES.syntax.get(&row.syntax))
            .unwrap_or_default()
    }

    /// Notes the letters of ASCII by which anything begins or ends that is not plain code: all marks begin with one.
    pub(super) fn note_marks(&mut self) {
        let pairs = self.block.iter().chain(&self.strings);
        let words = pairs
            .flat_map(|(open, close)| [open, close])
            .chain(&self.line)
            .chain(&self.heredocs);
        let firsts = words.filter_map(|mark| mark.bytes().next());
        let firsts = firsts
            .chain(self.quotes.bytes())
            .chain(self.regex.then_some(b'/'));
        self.marks = vec![false; 128];
        for first in firsts.collect::<Vec<u8>>() {
            self.marks[usize::from(first)] = true;
        }
    }

    /// How much of a line is plain code, up to the first mark.
    fn plain(&self, line: &str) -> usize {
        let is_mark = |byte: u8| self.marks.get(usize::from(byte)) == Some(&true);
        line.bytes().position(is_mark).unwrap_or(line.len())
    }

    /// Whether white space at the beginning of a line may mean something: by it the end of a text or of a comment may
    /// be one no more.
    pub fn minds_space(&self) -> bool {
        self.space || self.at_start || !self.heredocs.is_empty()
    }

    /// Whether lines that begin with `*` may stand in a block comment.
    pub fn stars_comments(&self) -> bool {
        self.block.iter().any(|(open, _)| open == "/*")
    }

    /// Whether a line is nothing but a comment, wherever it stands in code: it begins with the mark of one that ends
    /// with the line, nothing in it ends the comment earlier or joins the next line to it, and no tool reads it as an
    /// order.
    pub fn is_comment(&self, line: &str) -> bool {
        let line = line.trim_start();
        self.line.iter().any(|mark| line.starts_with(mark.as_str()))
            && !self
                .block
                .iter()
                .any(|(open, _)| line.starts_with(open.as_str()))
            && !self.is_order(line)
    }

    /// Whether what begins like a comment is code, or is read by a program: it is no prose.
    fn is_order(&self, line: &str) -> bool {
        // What tools read: an annotation, a mark, a setting.
        let for_tools = pattern!(r"^(?:[+>]|@(?:\p{Uppercase}|jsx)|[\w\p{N}.-]+\s*=(?:[^=>]|$))");
        let lower = line.to_lowercase();
        let is_attribute = line.starts_with("#[") && self.line.iter().any(|mark| mark == "//");
        let marks = self
            .line
            .iter()
            .chain(self.block.iter().map(|(open, _)| open));
        let text = marks
            .filter_map(|mark| line.strip_prefix(mark.as_str()))
            .min_by_key(|text| text.len());
        let text = text
            .or_else(|| line.trim_start().strip_prefix('*'))
            .unwrap_or(line);
        is_attribute
            || self.regex && line.contains('{') && line.contains('(')
            || text.starts_with(|first: char| first.is_alphabetic()) && text.len() < line.len()
            || for_tools.is_match(text.trim_start())
            || ["\\", "??/"]
                .iter()
                .any(|end| line.trim_end().ends_with(end))
            || LANGUAGES
                .directives
                .iter()
                .any(|word| lower.contains(word.as_str()))
    }

    /// Whether a run of changed lines reaches over lines beside it: it begins or ends a comment, a string or a
    /// condition of the build that it does not end or begin.
    pub fn reaches_out(&self, run: &[DiffLine<'_>]) -> bool {
        let left_open = |change| {
            let mut lexer = Lexer::new(self);
            let lines = run
                .iter()
                .filter(|line| line.change == change)
                .map(|line| line.text);
            let item_ends = lines.clone().fold(true, |ended, line| {
                lexer.line(line);
                if self.begins_item(line) {
                    false
                } else {
                    ended || line.trim_end().ends_with(['}', ';'])
                }
            });
            (!lexer.is_tricky).then_some((lexer.open, lexer.strays, lexer.conditions, item_ends))
        };
        let [added, removed] = [LineChange::Added, LineChange::Removed].map(left_open);
        added.is_none() || added != removed
    }

    /// The lines without their comments, and without texts of several lines; and how many of them stand in or end a
    /// comment that began above them, as far as its end is among them. A comment that nothing ends is none.
    pub fn without_comments<'l>(
        &self,
        lines: impl Iterator<Item = &'l str>,
    ) -> (Vec<String>, usize) {
        let mut lexer = Lexer::new(self);
        let (mut kept, mut inside, mut ended_above): (Vec<String>, Vec<String>, _) =
            (Vec::new(), Vec::new(), None);
        for line in lines {
            let blanks = &line[..line.len() - line.trim_start().len()];
            lexer.line(line);
            kept.push([blanks, lexer.kept.trim_end()].concat());
            ended_above = ended_above.or((!lexer.strays.is_empty()).then_some(kept.len()));
            match lexer.open {
                Some(_) => inside.push(line.to_owned()),
                None => inside.clear(),
            }
        }
        kept.truncate(kept.len() - inside.len());
        kept.append(&mut inside);
        (kept, ended_above.unwrap_or(0))
    }

    fn begins_item(&self, line: &str) -> bool {
        let line = spaceless(line.trim_start());
        self.items
            .iter()
            .any(|mark| line.starts_with(mark.as_str()))
    }

    /// Which lines of a whole text are code, from the first: `None` of a line that holds nothing but blanks, comments
    /// and parts of strings of several lines, else a digest of the conditions under which it is part of the program.
    /// `None` if a mark is not understood: then no line is certain.
    pub fn lex(&self, text: &str) -> Option<Vec<Option<u64>>> {
        let mut lexer = Lexer::new(self);
        let lines: Vec<&str> = text.lines().collect();
        let mut code: Vec<Option<u64>> = lines.iter().map(|line| lexer.line(line)).collect();
        for index in (0..lines.len()).filter(|&index| self.begins_item(lines[index])) {
            let mut depth = 0_i32;
            for (line, code) in lines.iter().zip(&mut code).skip(index + 1) {
                *code = code.map(|conditions| digest(&(conditions, lines[index])));
                let count =
                    |marks: &[char]| i32::try_from(line.matches(marks).count()).unwrap_or(i32::MAX);
                depth = depth
                    .saturating_add(count(&['{', '(', '[']))
                    .saturating_sub(count(&['}', ')', ']']));
                if depth <= 0 && line.trim_end().ends_with(['}', ';', ',', ')']) {
                    break;
                }
            }
        }
        (!lexer.is_doubtful && !lexer.is_tricky && lexer.strays.is_empty()).then_some(code)
    }
}

/// A line that begins with `#` without the blanks behind that: `# if 0`, `#[ cfg(any())]`.
fn spaceless(line: &str) -> Cow<'_, str> {
    match line.starts_with('#') {
        true => pattern!(r"^(#\[?)[ \t]\s*").replace(line, "$1"),
        false => Cow::Borrowed(line),
    }
}

fn digest(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// Reads a text line by line.
#[derive(Default)]
pub struct Lexer<'s> {
    syntax: &'s Syntax,
    /// The mark that ends the comment or string that is open.
    open: Option<String>,
    /// The lines that began the conditions which are open.
    conditions: Vec<String>,
    /// Marks that end what was not open.
    strays: Vec<String>,
    /// Quotes that nothing ends in this line.
    unclosed: Vec<char>,
    /// A mark was not understood.
    is_doubtful: bool,
    /// A mark stands within a comment or a text, where languages read it in different ways.
    is_tricky: bool,
    /// The code of the line that is read.
    kept: String,
    /// The line above ends in a backslash.
    is_joined: bool,
}

impl<'s> Lexer<'s> {
    pub fn new(syntax: &'s Syntax) -> Self {
        Self {
            syntax,
            ..Self::default()
        }
    }

    /// Which of the next lines are certain to be comments: of one line, or of several if the comment begins and ends
    /// among them and no line of it may run. In a text of several lines the marks of a comment are text.
    pub fn comments_within(&mut self, lines: &[&str]) -> Vec<bool> {
        // A tool's order, or code in a string.
        let runs = |line: &str| pattern!("`|\"\"\"|\'\'\'|/\\*[!+]|\\{-#|<!--").is_match(line);
        let (syntax, mut comments, mut began) = (self.syntax, vec![false; lines.len()], None);
        for (index, line) in lines.iter().enumerate() {
            if self.open.is_none() {
                let start = if syntax.at_start {
                    line
                } else {
                    line.trim_start()
                };
                began = syntax
                    .block
                    .iter()
                    .any(|(open, _)| start.starts_with(open.as_str()))
                    .then_some(index);
                comments[index] = syntax.is_comment(line) && !self.is_joined;
            }
            let has_code = self.line(line).is_some();
            began = began.filter(|_| {
                !self.is_doubtful
                    && !self.is_tricky
                    && !has_code
                    && !runs(line)
                    && !syntax.is_order(line)
            });
            if let (Some(began), None) = (began, &self.open) {
                comments[began..=index].fill(true);
            }
            self.is_joined = line.trim_end().ends_with('\\');
        }
        comments
    }

    /// A digest of the conditions that a line of code stands under; `None` if it holds no code.
    fn line(&mut self, line: &str) -> Option<u64> {
        self.unclosed.clear();
        self.kept.clear();
        if self.open.is_none() && self.is_condition(line.trim()) {
            self.kept.push_str(line.trim());
            return Some(digest(&self.conditions));
        }
        self.has_code(line.trim_start())
            .then(|| digest(&self.conditions))
    }

    /// Whether a line begins, changes or ends a condition of the build.
    fn is_condition(&mut self, line: &str) -> bool {
        let line = &*spaceless(line);
        for (open, close) in &self.syntax.conditions {
            let begins = line.starts_with(open.as_str());
            let alternative = line
                .strip_prefix(&open[..1])
                .is_some_and(|rest| rest.to_lowercase().starts_with("el"));
            let ends =
                !begins && !close.is_empty() && (alternative || line.starts_with(close.as_str()));
            if ends && self.conditions.pop().is_none() {
                self.strays.push(line.to_owned());
            }
            if begins || ends && alternative {
                self.conditions.push(line.to_owned());
            }
            if begins || ends {
                return true;
            }
        }
        false
    }

    fn has_code(&mut self, mut rest: &str) -> bool {
        let (mut has_code, mut last) = (false, None);
        let syntax = self.syntax;
        let is_line_comment = |rest: &str, last: Option<char>| {
            let apart = last.is_none_or(|last| last.is_whitespace() || ";){},".contains(last));
            // An attribute of PHP.
            let is_attribute =
                rest.starts_with("#[") && syntax.line.iter().any(|mark| mark == "//");
            let is_mark =
                |mark: &String| rest.starts_with(mark.as_str()) && (apart || mark == "//");
            !is_attribute && syntax.line.iter().any(is_mark)
        };
        loop {
            if self.open.is_none() {
                let (plain, marked) = rest.split_at(syntax.plain(rest));
                let is_code = !plain.trim_start().is_empty();
                has_code |= is_code;
                self.kept.push_str(plain);
                (rest, last) = (
                    marked,
                    plain
                        .chars()
                        .next_back()
                        .filter(|_| is_code || last.is_some())
                        .or(last),
                );
            }
            if let Some(end) = &self.open {
                // The word that ends a text stands alone.
                let is_word = end.starts_with(char::is_alphanumeric) || end.starts_with('_');
                let stands_alone =
                    || (rest.trim_end_matches([';', ')', ',']).trim() == end).then_some(rest.len());
                let closes = if is_word {
                    stands_alone()
                } else {
                    rest.find(end.as_str()).map(|at| at + end.len())
                };
                let within = &rest[..closes.unwrap_or(rest.len())];
                let is_block = |(open, close): &&(String, String)| close == end && open != close;
                let opens_again = self
                    .syntax
                    .block
                    .iter()
                    .find(is_block)
                    .is_some_and(|(open, _)| within.contains(open.as_str()));
                // Some languages nest comments, and some texts may hold their end.
                self.is_tricky |= opens_again || within.contains(&format!("\\{end}"));
                let Some(at) = closes else { return has_code };
                rest = &rest[at..];
                (self.open, last) = (None, Some(' '));
            } else if let Some((length, end)) = self.opener(rest, last.is_none()) {
                // A text that ends in its line is a value, unless the line begins with it: then it documents.
                let whole = rest[length..].find(&end).map(|at| length + at + end.len());
                let is_text = self
                    .syntax
                    .strings
                    .iter()
                    .any(|(open, _)| rest.starts_with(open.as_str()));
                if let Some(whole) = whole.filter(|_| is_text && last.is_some()) {
                    self.kept.push_str(&rest[..whole]);
                }
                self.open = Some(end);
                (rest, last) = (&rest[length..], Some(' '));
            } else if is_line_comment(rest, last) {
                return has_code;
            } else if let Some((_, end)) = self
                .syntax
                .block
                .iter()
                .find(|(_, close)| rest.starts_with(close.as_str()))
            {
                // A mark that ends a comment where none is open.
                self.strays.push(end.to_owned());
                (rest, last) = (&rest[end.len()..], Some(' '));
            } else if let Some(first) = rest.chars().next() {
                let length = self.token(rest, first, last);
                let (token, behind) = rest.split_at(length);
                has_code |= !first.is_whitespace();
                self.kept.push_str(token);
                last = if first.is_whitespace() {
                    last.map(|_| first)
                } else {
                    token.chars().next_back()
                };
                rest = behind;
            } else {
                return has_code;
            }
        }
    }

    /// How long a mark is that opens something here, and what ends that.
    fn opener(&self, rest: &str, at_start: bool) -> Option<(usize, String)> {
        let syntax = self.syntax;
        let blocks = syntax.block.iter().filter(|_| at_start || !syntax.at_start);
        let opens = blocks
            .chain(&syntax.strings)
            .filter(|(open, _)| rest.starts_with(open.as_str()));
        if let Some((open, close)) = opens.max_by_key(|(open, _)| open.len()) {
            return Some((open.len(), close.clone()));
        }
        let mark = syntax
            .heredocs
            .iter()
            .find(|mark| rest.starts_with(mark.as_str()))?;
        let behind = rest[mark.len()..].trim_start_matches(['~', '-', '"', '\'', ' ', '\\']);
        let word: String = behind
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect();
        // `1<<2` shifts. A text begins below its line.
        word.starts_with(|c: char| c.is_alphabetic() || c == '_')
            .then_some((rest.len(), word))
    }

    /// The length of what begins here and is neither comment nor mark: a string of one line, an expression, a
    /// character.
    fn token(&mut self, rest: &str, first: char, last: Option<char>) -> usize {
        let one = first.len_utf8();
        let is_quote = self.syntax.quotes.contains(first);
        let begins_regex = self.syntax.regex
            && first == '/'
            && last
                .is_none_or(|last| last.is_whitespace() || "(,=:[!&|?{};+-*%~^<>".contains(last));
        if !is_quote && !begins_regex || self.unclosed.contains(&first) {
            return one;
        }
        let mut escaped = false;
        let end = rest.char_indices().skip(1).find(|&(_, c)| {
            let ends = c == first && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let Some((end, _)) = end else {
            // A string of several lines, an apostrophe, a division.
            self.is_doubtful |= !begins_regex;
            self.unclosed.push(first);
            return one;
        };
        self.is_doubtful |= begins_regex && rest[..end].contains(['`', '"', '\'', '*']);
        end + one
    }
}
