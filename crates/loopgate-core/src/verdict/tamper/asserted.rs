//! What a part of a test file asserts, of which values, and whether it runs. What a change brings of it may take the place
//! of what goes elsewhere.

use std::collections::BTreeSet;

use super::{
    source::{Bag, CodeLine, Part, missing},
    words,
    written::Pair,
};
use crate::source_files::TestSyntax;

/// What a part asserts, and how strictly.
pub(super) struct Asserted<'a> {
    pub(super) lines: Vec<&'a CodeLine>,
    pub(super) count: usize,
    pub(super) exact: usize,
    pub(super) values: usize,
    /// Values in rows of parameters.
    pub(super) rows: usize,
    /// Lines that catch what a test throws.
    pub(super) catches: usize,
}

impl<'a> Asserted<'a> {
    pub(super) fn of(syntax: &TestSyntax, part: &'a Part) -> Self {
        let catch = pattern!(
            r"\bexcept\b.*:|\bcatch\b\s*[({]|\.catch\(|^\s*rescue\b|\bsuppress\(|\brunCatching\b|\bpcall\s*\("
        );
        let lines: Vec<&CodeLine> = reached(part).into_iter().filter(|line| asserts(syntax, line)).collect();
        let rows = part.lines.iter().filter(|line| is_row(syntax, line));
        Self {
            count: lines.iter().map(|line| syntax.assertions(&line.text)).sum(),
            exact: lines.iter().filter(|line| syntax.exact.is_match(&line.text)).count(),
            values: lines.iter().map(|line| values(&line.text).count()).sum(),
            rows: rows.map(|line| values(&line.text).count()).sum(),
            catches: part.lines.iter().filter(|line| catch.is_match(&line.text)).count(),
            lines,
        }
    }
}

/// Whether a line asserts. What is true whatever the program does asserts nothing.
pub(super) fn asserts(syntax: &TestSyntax, line: &CodeLine) -> bool {
    let always = pattern!(r"(?i)(?:\bor|\|\|)\s+true\b|\bassert(?:true)?!?[\s(]+true\s*\)?;?$");
    syntax.assertions(&line.text) > 0 && !always.is_match(&line.text)
}

/// The lines of a test or a helper that are reached: none below one that leaves it for good, none of a function that it
/// declares and never names again, none under a condition that asks the environment, and none of a loop over nothing.
pub(super) fn reached(part: &Part) -> Vec<&CodeLine> {
    let exits = pattern!(
        r"^(?:return\b(?:[^(\[{]*;?|\s*\(\s*\)\s*;?)$|(?:sys\.|os\.|process\.|System\.|Environment\.|Kernel\.)?_?[eE]xit!?\s*\(?\s*0?\s*\)?;?$|raise\s+SystemExit|t\.Skip)"
    );
    let function = pattern!(
        r"^(?:async\s+)?(?:def|fn|fun|func|function)\s+(\w+)|(\w+)\s*:?=\s*(?:async\s*)?(?:lambda\b|\|\w*\||func\s*\(|function\b|->|(?:\([^()]*\)|\w+)\s*=>)"
    );
    let never = pattern!(
        r"^(?:\}\s*)?(?:if|elif|else\s+if|unless)\b.*(?:\bprocess\.env\b|\bimport\.meta\.env\b|\bos\.(?:environ|getenv|Getenv|LookupEnv)\b|\bENV\[|\bgetenv\(|\benv::var)|^for\b.*(?:\[:0\]|\.slice\(0,\s*0\)|\brange\(0\)|\b(?:in|of)\s*\(?(?:\[\]|\(\)))"
    );
    let is_body = |line: &&CodeLine| !part.name.is_empty() && line.number > part.line;
    let depth = part.lines.iter().filter(is_body).map(CodeLine::indent).find(|depth| *depth > 0);
    let is_named_once =
        |name: &str| part.lines.iter().flat_map(|line| words(&line.text)).filter(|word| *word == name).count() == 1;
    let (mut lines, mut idle): (Vec<&CodeLine>, _) = (Vec::new(), None);
    for line in &part.lines {
        let (text, is_body) = (line.text.trim(), is_body(&line));
        if is_body && Some(line.indent()) == depth && exits.is_match(text) {
            break;
        }
        if idle.is_some_and(|indent| line.indent() > indent) {
            continue;
        }
        // A decorator may register what stands below it.
        let is_registered = lines.last().is_some_and(|above| above.text.trim_start().starts_with('@'));
        let function = function.captures(text).filter(|_| !is_registered);
        let name = function.and_then(|found| found.iter().skip(1).flatten().next().map(|name| name.as_str()));
        let is_idle = is_body && (name.is_some_and(is_named_once) || never.is_match(text));
        idle = is_idle.then(|| line.indent());
        if !is_idle {
            lines.push(line);
        }
    }
    lines
}

/// What stands before a value of an assertion that lets pass others.
const LOOSE: &str = "\0";

/// Whether an assertion compares by an order, by a part, or by what is not.
fn is_loose(line: &CodeLine) -> bool {
    pattern!(
        r"[<>]=|!=|\s[<>]\s|\bin\b|_(?:GE|GT|LE|LT|NE)\(|_ne!|(?i)greater|less|not_?(?:equal|null|none|nil)|contain"
    )
    .is_match(&line.text)
}

/// Texts and numbers of a line, with their quotes, and errors by name.
pub(super) fn values(line: &str) -> impl Iterator<Item = &str> {
    let value = pattern!(r#""[^"]*"|'[^']*'|`[^`]*`|\b[A-Z]\w*(?:Error|Exception)\b|(?:^|[^\w.])(-?\d[\w.]*)"#);
    value.captures_iter(line).filter_map(|found| found.get(1).or_else(|| found.get(0)).map(|value| value.as_str()))
}

/// A value without its quotes; a number without its suffix and the zeros behind its point.
pub(super) fn plain(value: &str) -> String {
    let digits = value.replace('_', "");
    match digits.trim_end_matches(char::is_alphabetic).parse::<f64>() {
        Ok(number) => number.to_string(),
        Err(_) => value.trim_matches(['"', '\'', '`']).to_owned(),
    }
}

/// Whether the line holds rows of parameters: the language marks it, it holds data only, or a loop goes over them.
pub(super) fn is_row(syntax: &TestSyntax, line: &CodeLine) -> bool {
    let text = line.text.trim();
    let is_data = text.starts_with(['[', '(', '{', '|', '"', '\'', '-'])
        && text.ends_with([',', ']', ')', '}', '|', '"', '\''])
        && !text.contains("=> {");
    let is_loop = text.starts_with("for ") && text.contains(['[', '{']) && values(text).nth(1).is_some();
    syntax.is_row(&line.text) || (is_data || is_loop) && syntax.assertions(text) == 0
}

/// The lines of a test below its declaration.
pub(super) fn body(part: &Part) -> Vec<String> {
    reached(part).into_iter().filter(|line| line.number > part.line).map(CodeLine::words).collect()
}

/// A mark that keeps the part from running and was not there: its line, its words, and whether it always holds.
pub(super) fn skip_more(syntax: &TestSyntax, old: &Part, new: &Part) -> Option<(u32, String, bool)> {
    let conditional = pattern!(
        r"(?i)(?:skip|run|xfail|disabled|enabled|ignore)_?(?:if|unless|on|when|for)(?:\b|[A-Z])|\bassum|\s(?:if|unless)\s"
    );
    let marks = |part: &Part| part.lines.iter().filter(|line| syntax.skip(&line.text).is_some()).count();
    if marks(new) <= marks(old) {
        return None;
    }
    let line = missing(&new.lines, &old.lines).into_iter().find(|line| syntax.skip(&line.text).is_some())?;
    let mark = syntax.skip(&line.text)?.chars().take(60).collect();
    let above = new.lines.iter().take_while(|other| other.number < line.number).last();
    let asks = pattern!(r"^\s*(?:if|unless|\} else)");
    let is_asked = above.is_some_and(|above| above.indent() < line.indent() && asks.is_match(&above.text));
    let is_conditional = is_asked || conditional.is_match(&line.text) && !line.text.contains("(True");
    Some((line.number, mark, !is_conditional))
}

/// Lines that a change brings, and the values that they state, each of which may take the place of one that goes; and what
/// else clears a test that goes.
pub(super) struct Arrivals {
    /// In tests that run, and in helpers that such a test names.
    pub(super) of_tests: Bag,
    pub(super) elsewhere: Bag,
    /// Each test of the new side, by its lines.
    pub(super) bodies: BTreeSet<Vec<String>>,
    /// Names of the program's code that goes.
    pub(super) gone: BTreeSet<String>,
}

impl Arrivals {
    pub(super) fn of(pairs: &[Pair<'_>], gone: BTreeSet<String>) -> Self {
        // A test that is new and does not run brings nothing.
        let runs = |pair: &Pair<'_>, new: &Part| {
            let is_marked = |line: &CodeLine| pair.file.syntax.skip(&line.text).is_some();
            pair.old.is_some() || !new.is_test || !new.lines.iter().any(is_marked)
        };
        let news = pairs.iter().filter_map(|pair| Some((pair, pair.new.filter(|new| runs(pair, new))?)));
        let (tests, helpers): (Vec<_>, Vec<_>) = news.partition(|(_, new)| new.is_test);
        let lines = tests.iter().flat_map(|(_, test)| &test.lines);
        let named: BTreeSet<&str> = lines.flat_map(|line| words(&line.text)).collect();
        let (used, others): (Vec<_>, Vec<_>) =
            helpers.into_iter().partition(|(_, helper)| named.contains(helper.name.as_str()));
        let asserting = used.iter().filter(|(pair, helper)| Asserted::of(pair.file.syntax, helper).count > 0);
        let asserting: BTreeSet<&str> = asserting.map(|(_, helper)| helper.name.as_str()).collect();
        let bodies = tests.iter().map(|(_, test)| body(test)).collect();
        let of_tests = brought(&[tests, used].concat(), &asserting);
        Self { of_tests, elsewhere: brought(&others, &asserting), bodies, gone }
    }
}

/// The lines that come to these parts. A call of a helper that asserts states values as an assertion does.
fn brought(parts: &[(&Pair<'_>, &Part)], asserting: &BTreeSet<&str>) -> Bag {
    let mut bag = Bag::default();
    for (pair, new) in parts {
        let syntax = pair.file.syntax;
        for line in missing(reached(new), pair.old.iter().flat_map(|old| &old.lines)) {
            bag.add(line.words());
            let calls = || words(&line.text).any(|word| asserting.contains(word));
            let is_assertion = asserts(syntax, line);
            if is_assertion || is_row(syntax, line) || calls() {
                let mark = if is_assertion && is_loose(line) { LOOSE } else { "" };
                values(&line.text).for_each(|value| bag.add(format!("{mark}{}", plain(value))));
            }
        }
    }
    bag
}

impl Bag {
    /// Takes out a line that goes: it stands in a new place, or all its values do; those of an exact assertion in none that
    /// lets pass others.
    pub(super) fn take_line(&mut self, syntax: &TestSyntax, line: &CodeLine) -> bool {
        let values: Vec<String> = values(&line.text).map(plain).collect();
        let loose: Vec<String> = values.iter().map(|value| format!("{LOOSE}{value}")).collect();
        let is_exact = syntax.exact.is_match(&line.text) && !is_loose(line);
        self.take(&[line.words()]) || !values.is_empty() && (self.take(&values) || !is_exact && self.take(&loose))
    }
}
