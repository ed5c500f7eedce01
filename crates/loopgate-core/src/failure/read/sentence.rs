//! Both sides of an assertion where somebody states them in plain English: `expected 3 rows, but the list has 2`,
//! `the total is 4 when it should be 5`, `4 returned but 5 was expected`.
//!
//! Words such as *expected* and *got* begin a part of the sentence, and so do the breaks between its clauses. The value of
//! a part stands in it; where the word has nothing behind it, in the part before it. What no word tells of is the actual
//! value if it is the only other one.

use std::sync::LazyLock;

use regex::Regex;

use super::value::{self, Look};

/// Longest line that is taken for a sentence, in bytes.
const MAX_LINE: usize = 400;
/// Most lines that are tried.
const MAX_LINES: usize = 8;
/// Most words in which the value of a part is looked for.
const MAX_WORDS: usize = 12;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Expected,
    Actual,
    /// `, not 5`: the other one of the part before it.
    Opposite,
    Untold,
}

struct Part<'t> {
    kind: Kind,
    text: &'t str,
}

/// A remark in brackets: a clause like others.
static REMARK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i) \((?P<remark>(?:expect|want|got|was|should|must|instead|actual|found|received)[^()]*)\)")
        .expect("a constant")
});

/// What is not compared for being equal.
static RELATION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:to|should|must) (?:not |be (?:greater|less|more|at|one|in|a|an) |contain|include|match|start|end|throw|raise|satisfy)")
        .expect("a constant")
});

/// What begins a part. Of alternatives that begin alike the longer one stands first.
static MARK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)(?P<expected>\b(?:(?:was|were|is|are) (?:expected|wanted)|expected|expects?|expecting|want(?:s|ed)?|should(?: have(?: been)?)?",
        r"|must|supposed to|ought to|needs|instead of|rather than|differs? from|(?:does not|doesn't|do not|don't|is not|isn't|not) ",
        r"(?:equal|match)(?: to)?)(?: to)?(?: be| equal| have| return)?\b[:=]?|≠|!=)",
        r"|(?P<actual>\b(?:got|was|were|is|are|has|have|had|found|received|returned|returns|gave|gives|answered|actual|actually|holds?",
        r"|held|contains?|contained|saw|showed|shows|produced|yielded|measured|counted|lasted|came out(?: as| at)?|turned out)\b[:=]?)",
        r"|(?P<opposite>, (?:and )?not )",
        r"|(?P<break>, |; |: |\. |\bbut\b|\byet\b|\bwhen\b|\bwhile\b|\balthough\b|\bwhereas\b)",
    ))
    .expect("a constant")
});

/// Both sides, expected first, of the first line that states them.
pub(super) fn stated(message: &str) -> Option<(String, String)> {
    let lines = message.lines().map(str::trim).filter(|line| !line.is_empty() && line.len() <= MAX_LINE);
    // `failed with 1 message: 'left: 4 (should be: 6)'`
    let quoted = |line: &'_ str| line.strip_suffix('\'')?.split_once(": '").and_then(|(_, said)| in_line(said));
    lines.take(MAX_LINES).find_map(|line| in_line(line).or_else(|| quoted(line)))
}

fn in_line(line: &str) -> Option<(String, String)> {
    if RELATION.is_match(line) {
        return None;
    }
    let line = REMARK.replace_all(line, "; ${remark}");
    let parts = parts(&line);
    // What no word tells of counts only where it stands before what is expected.
    let (mut expected, mut actual, mut untold) = (Vec::new(), Vec::new(), Vec::new());
    let mut before: Option<(Kind, Option<String>)> = None;
    for part in &parts {
        let at_once = part.kind == Kind::Opposite;
        let found = value_of(part.text, at_once);
        // `5 expected`, `4 was returned`, `4 are left`
        let is_word = part.text.chars().all(|c| c.is_ascii_lowercase() || c == '.');
        let is_postfix = part.kind != Kind::Untold && found.is_none() && is_word;
        let kind = match (part.kind, &before) {
            (Kind::Opposite, Some((Kind::Expected, _))) => Kind::Actual,
            (Kind::Opposite, Some((Kind::Actual, _))) => Kind::Expected,
            (Kind::Opposite, _) => Kind::Untold,
            (kind, _) => kind,
        };
        let value = match &before {
            Some((Kind::Untold, value)) if is_postfix => {
                untold.pop();
                value.clone()
            }
            _ => found,
        };
        before = Some((kind, value.clone()));
        match kind {
            Kind::Expected => expected.extend(value),
            Kind::Actual => actual.extend(value),
            Kind::Untold | Kind::Opposite if expected.is_empty() => untold.extend(value),
            Kind::Untold | Kind::Opposite => {}
        }
    }
    let actual = if actual.is_empty() { untold } else { actual };
    match (expected.as_slice(), actual.as_slice()) {
        ([expected], [actual]) if expected != actual => Some(value::counted(expected.clone(), actual.clone())),
        _ => None,
    }
}

/// The parts of a line; marks within quotes and brackets are none.
fn parts(line: &str) -> Vec<Part<'_>> {
    let mut parts = vec![Part { kind: Kind::Untold, text: "" }];
    let mut start = 0;
    for found in MARK.captures_iter(line) {
        let (Some(whole), is) = (found.get(0), |name| found.name(name).is_some()) else { continue };
        let is_infinitive = is("actual") && line[..whole.start()].ends_with("to ");
        if is_infinitive || value::is_within(line, whole.start()) {
            continue;
        }
        let kind = match () {
            () if is("expected") => Kind::Expected,
            () if is("actual") => Kind::Actual,
            () if is("opposite") => Kind::Opposite,
            () => Kind::Untold,
        };
        let text = line[start..whole.start()].trim();
        start = whole.end();
        if let Some(last) = parts.last_mut() {
            last.text = text;
            // `it should have`, `5 was expected`: of words side by side the one of what is expected tells.
            if text.is_empty() && last.kind != Kind::Untold && kind != Kind::Untold {
                if kind == Kind::Expected {
                    last.kind = kind;
                }
                continue;
            }
        }
        parts.push(Part { kind, text: "" });
    }
    if let Some(last) = parts.last_mut() {
        last.text = line[start..].trim();
    }
    parts
}

/// The value that stands in a part, whatever noun is before it: `a density of 0.25`, `error "no path"`.
fn value_of(text: &str, at_once: bool) -> Option<String> {
    let text = text.trim_end_matches(['.', '!']);
    let starts = text.match_indices(' ').map(|(at, _)| at + 1).filter(|at| !value::is_within(text, *at));
    let most = if at_once { 0 } else { MAX_WORDS };
    std::iter::once(0).chain(starts.take(most)).find_map(|start| {
        let found = value::first_in(&text[start..], Look::Count).filter(|found| !value::is_token(found))?;
        // `60 + 1`
        let is_operand = text[..start].trim_end().ends_with(['+', '-', '*', '/', '<', '>']);
        (!is_operand && !value::is_call(&found) && found != "nothing").then_some(found)
    })
}
