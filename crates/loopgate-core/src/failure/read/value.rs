//! What a value looks like when a tool prints it, and what is only a sentence about one.

use super::text;

/// Longest value kept, in characters.
const MAX_VALUE: usize = 400;

/// Words that are values in some language.
const CONSTANTS: [&str; 8] = [
    "true",
    "false",
    "nil",
    "null",
    "none",
    "undefined",
    "nan",
    "nothing",
];

/// What words behind a number begin with that name nothing that was compared.
const NO_THINGS: [&str; 5] = ["arg", "operand", "param", "positional", "instead"];

/// Where a sentence goes on behind a value.
const ENDS: [&str; 13] = [
    " : ", ": ", "; ", " (", ". ", " within ", " at ", " for ", " in ", " on ", " instead", " //",
    ", ",
];

/// What stands in a sentence in front of a value.
const LEADS: [&str; 4] = [": ", " that ", "--- ", "] "];

/// A value on one line, without the marks that its tool puts around it.
pub(super) fn tidy(printed: &str) -> String {
    let printed = untyped(printed);
    let unwrapped = [('`', '`'), ('`', '\''), ('<', '>')]
        .iter()
        .find_map(|(open, close)| printed.strip_prefix(*open)?.strip_suffix(*close))
        .filter(|inner| !inner.is_empty() && *inner != "nil" && !inner.contains("> "));
    unwrapped.unwrap_or(&printed).to_owned()
}

/// A value on one line without what tools write before and behind it.
pub(super) fn untyped(printed: &str) -> String {
    // uvu marks blanks.
    let unmarked = on_line(&printed.replace('·', " "));
    let printed = closed(unmarked.trim().trim_end_matches(','));
    // The end of a sentence; Gomega and luassert write the type in front.
    let printed = printed
        .strip_suffix('.')
        .filter(|rest| !rest.ends_with('.'))
        .unwrap_or(printed);
    let of_type = |open, close| printed.strip_prefix(open)?.split_once(close);
    let is_type = |(name, _): &(&str, &str)| {
        name.chars()
            .all(|c| c.is_alphanumeric() || "*[]. :".contains(c))
    };
    let typed = of_type("<", ">: ")
        .or_else(|| of_type("(", ") "))
        .filter(is_type)
        .map(|(_, rest)| rest);
    let printed = typed.unwrap_or(printed);
    // proptest goes on with its message and the place.
    let quoted = printed
        .strip_prefix('`')
        .and_then(|rest| Some(1 + rest.find("` at ").or_else(|| rest.find("`: "))?));
    quoted.map_or(printed, |end| &printed[..=end]).to_owned()
}

/// A value on one line; the blanks in it are kept where it was on one line.
pub(super) fn on_line(printed: &str) -> String {
    let printed = printed.trim();
    let is_short = !printed.contains(['\n', '\t']) && printed.len() <= MAX_VALUE;
    if is_short {
        printed.to_owned()
    } else {
        text::one_line(printed, MAX_VALUE)
    }
}

/// The value with which a sentence begins.
pub(super) fn first_in(sentence: &str) -> Option<String> {
    let sentence = sentence.trim();
    let ends = ENDS
        .iter()
        .flat_map(|end| sentence.match_indices(end))
        .map(|(at, _)| at);
    // A list without brackets is no single value.
    let goes_on = |at: &usize| {
        !sentence[*at..].starts_with(", ") || sentence[*at + 2..].starts_with(char::is_alphabetic)
    };
    let mut ends: Vec<usize> = ends
        .filter(goes_on)
        .take(20)
        .chain([sentence.len()])
        .collect();
    ends.sort_unstable_by(|one, two| two.cmp(one));
    ends.into_iter().find_map(|end| whole(&sentence[..end]))
}

/// The value with which a sentence ends.
pub(super) fn last_in(sentence: &str) -> Option<String> {
    let is_apart = |at: &usize| {
        "([{".chars().zip(")]}".chars()).all(|(open, close)| {
            sentence[..*at].matches(open).count() <= sentence[..*at].matches(close).count()
        })
    };
    let behind = |lead: &'static str| {
        sentence
            .match_indices(lead)
            .map(move |(at, _)| at + lead.len())
    };
    let starts = LEADS.into_iter().flat_map(behind).filter(is_apart);
    // `subject "45"`
    let quoted = sentence
        .find(['"', '\''])
        .filter(|at| sentence[..*at].ends_with(' '));
    std::iter::once(0)
        .chain(starts.take(20))
        .chain(quoted)
        .find_map(|start| whole(&sentence[start..]))
}

/// The text, if it is a value or a number of things.
fn whole(text: &str) -> Option<String> {
    let text = closed(text.trim().trim_end_matches([',', ';', '!']));
    let tidied = tidy(text);
    // `3 rows`
    let is_count = |(_, noun): (&str, &str)| !NO_THINGS.iter().any(|start| noun.starts_with(start));
    (is_literal(text) || is_literal(&tidied) || count(&tidied).is_some_and(is_count))
        .then_some(tidied)
}

/// Whether a text cannot be anything but a value.
pub(super) fn is_literal(text: &str) -> bool {
    let starts_as_number = |word: &str| {
        word.trim_start_matches(['-', '+', '.', '$', '€'])
            .starts_with(|c: char| c.is_ascii_digit())
            && !word.contains(['(', ')', '"', '\''])
            && !word.ends_with(',')
    };
    let is_moment = |word: &str| {
        starts_as_number(word) || word.len() <= 4 && word.chars().all(char::is_uppercase)
    };
    let mut words = text.split(' ').filter(|word| *word != "±");
    let is_regex = text.len() > 2
        && text.starts_with('/')
        && text.rsplit_once('/').is_some_and(|(body, flags)| {
            !body.is_empty() && flags.chars().all(char::is_alphabetic)
        });
    CONSTANTS.contains(&text.to_ascii_lowercase().as_str())
        || words.next().is_some_and(starts_as_number) && words.all(is_moment)
        || is_regex
        || is_enclosed(text)
}

/// Whether a quote or bracket encloses the whole text, but for the name of a type in front of it.
fn is_enclosed(text: &str) -> bool {
    let body = text
        .strip_prefix("[]")
        .filter(|rest| !rest.is_empty())
        .unwrap_or(text);
    let Some(open) = body.find(['"', '\'', '`', '(', '[', '{', '<', '“', '‘']) else {
        return false;
    };
    let (name, group) = body.split_at(open);
    let is_part = |c: char| c.is_alphanumeric() || "_.:&*#%@$~\\".contains(c);
    // `attributes {…}` shows what the value is of.
    let is_noun = name.ends_with(' ') && name.starts_with(|c: char| c.is_lowercase());
    let name = name.trim_end();
    let is_name = name.chars().all(is_part) && !name.ends_with(':') && !is_noun;
    // `total()` is what was computed, not its result.
    let is_call = group == "()" && name.starts_with(|c: char| c.is_lowercase()) && name != "set"
        || matches!(name, "len" | "length" | "size" | "count" | "type" | "sum");
    // `(6 * 7)` was not computed either.
    let is_formula =
        name.is_empty() && group.starts_with('(') && !group.contains(',') && group != "()";
    let end = depths(group)
        .find(|(_, _, depth)| *depth == 0)
        .map(|(at, last, _)| at + last.len_utf8());
    is_name && !is_call && !is_formula && !group.starts_with("</") && end == Some(group.len())
}

/// The characters of a text that stand in no quote, and the marks around those that do: each with how many quotes and
/// brackets are open behind it. A bracket that closes none ends the text.
pub(super) fn depths(text: &str) -> impl Iterator<Item = (usize, char, usize)> {
    let (mut open, mut before, mut is_escaped) = (Vec::new(), ' ', false);
    let steps = text.char_indices().map_while(move |(at, c)| {
        let is_quoted = open.last().is_some_and(|close| "\"'`”’".contains(*close));
        if is_quoted && (is_escaped || c == '\\') {
            is_escaped = !is_escaped;
            return Some(None);
        }
        let close = match c {
            _ if open.last() == Some(&c) || c == '\'' && open.last() == Some(&'`') => {
                open.pop();
                None
            }
            _ if is_quoted => return Some(None),
            '(' => Some(')'),
            '[' => Some(']'),
            '{' => Some('}'),
            '<' if at == 0 => Some('>'),
            '“' => Some('”'),
            '‘' => Some('’'),
            '"' | '`' => Some(c),
            '\'' if !before.is_alphanumeric() => Some(c),
            ')' | ']' | '}' => return None,
            _ => None,
        };
        open.extend(close);
        before = c;
        Some(Some((at, c, open.len())))
    });
    steps.flatten()
}

/// The text without quotes and brackets at its end that it does not open: `4")` of `Failure("expected 5, got 4")`.
fn closed(text: &str) -> &str {
    let mut text = text;
    while let Some(last) = text.chars().last() {
        let is_open = match last {
            ')' => text.matches('(').count() < text.matches(')').count(),
            ']' => text.matches('[').count() < text.matches(']').count(),
            '}' => text.matches('{').count() < text.matches('}').count(),
            '"' => text.matches('"').count() % 2 == 1,
            '\'' => text.matches('\'').count() % 2 == 1 && !text.starts_with('`'),
            _ => false,
        };
        if !is_open || text.len() == last.len_utf8() {
            break;
        }
        text = text[..text.len() - last.len_utf8()].trim_end();
    }
    text
}

/// `total(cart)`, `cart.total()`: the name of what makes a value begins with a capital, or is a known one.
pub(super) fn is_call(side: &str) -> bool {
    let Some((name, _)) = side.split_once('(') else {
        return false;
    };
    let last = name.rsplit(['.', ':']).next().unwrap_or(name);
    let makes = pattern!(
        "^(?:approx|(?:frozen)?set|(?:default)?dict|list|tuple|bytes|array|date(?:time)?|timedelta|deque|range|call)$"
    );
    let is_part = |c: char| c.is_alphanumeric() || "_.:$".contains(c);
    name.chars().all(is_part)
        && last.starts_with(|c: char| c.is_lowercase() || c == '_')
        && !makes.is_match(last)
}

/// What a parser waits for, or stumbles on: `';'`, `` `}` ``, `)`.
pub(super) fn is_token(text: &str) -> bool {
    let inner = text.trim_matches(['"', '\'', '`', '‘', '’']);
    let is_punctuation =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_punctuation());
    is_punctuation(inner) && !(inner == text && matches!(text, "[]" | "{}" | "()"))
}

fn count(text: &str) -> Option<(&str, &str)> {
    let (number, noun) = text.split_once(' ')?;
    (number.parse::<f64>().is_ok()
        && noun
            .trim_end_matches("(s)")
            .chars()
            .all(|c| c.is_ascii_lowercase()))
    .then_some((number, noun))
}

/// A text of which JUnit marks what differs, `ba[z]`, without the marks.
pub(super) fn unmarked(text: &str) -> String {
    let parts = text.split_once('[').and_then(|(before, rest)| {
        let (marked, behind) = rest.rsplit_once(']')?;
        Some([before, marked, behind].concat())
    });
    parts.unwrap_or_else(|| text.to_owned())
}

/// Of `5 rows` and `4`, or `4 rows`, the numbers.
pub(super) fn counted(expected: String, actual: String) -> (String, String) {
    let noun = |text: &str| {
        count(text).map(|(_, noun)| {
            noun.trim_end_matches("(s)")
                .trim_end_matches('s')
                .to_owned()
        })
    };
    let number = |text: &str| count(text).map_or(text, |(number, _)| number).to_owned();
    let is_plain = |text: &str| text.parse::<f64>().is_ok();
    match (noun(&expected), noun(&actual)) {
        (Some(one), Some(two)) if one == two => (number(&expected), number(&actual)),
        (Some(_), None) if is_plain(&actual) => (number(&expected), actual),
        (None, Some(_)) if is_plain(&expected) => (expected, number(&actual)),
        _ => (expected, actual),
    }
}

/// Whether the words behind a label describe a value instead of being one: what it is not, what it contains.
pub(super) fn is_description(text: &str) -> bool {
    const NEGATIONS: [&str; 7] = [
        "not ",
        "value != ",
        "!= ",
        "anything ",
        "no ",
        "it ",
        "a value ",
    ];
    // The end of a remark in brackets.
    let is_remark = text.ends_with(')') && !text.contains('(') && text.contains(' ');
    NEGATIONS.iter().any(|start| text.starts_with(start)) || is_remark || is_relation(text)
}

/// Whether words show what a value is to be like.
pub(super) fn is_relation(text: &str) -> bool {
    let verbs = [
        " to be ",
        " to have ",
        " to contain ",
        " to equal ",
        " to include ",
        " to match ",
        " to not ",
    ];
    !is_literal(text) && verbs.iter().any(|words| text.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_what_only_tells_of_them() {
        for text in [
            "3",
            "-4.5",
            "0x9",
            "1m30s",
            "2026-01-02 15:04:05 UTC",
            "'a b'",
            "\"it's\"",
            "[1, (2)]",
            "{ a: 1 }",
            "[]",
            "Decimal('2.00')",
            "Object { n: 1 }",
            "&shop.Cart{A:1}",
            "[]int{1}",
            "map[a:1]",
            "#<Cart 1>",
            "<nil>",
            "nil",
            "/x/i",
            ":ok{1}",
        ] {
            assert!(whole(text).is_some(), "{text}");
        }
        for text in [
            "an error",
            "more data",
            "2 arguments",
            "';'",
            "`}`",
            ")",
            "(n) != (5)",
            "total()",
            "rejected",
            "the 3",
            "'a' or 'b'",
            "[1",
            "3 (4",
            "at least 3",
            "EOF",
        ] {
            assert_eq!(whole(text).filter(|value| !is_token(value)), None, "{text}");
        }
        for (text, value) in [
            ("plum", None),
            ("3 rows", Some("3 rows")),
            ("2 arguments", None),
            ("error", None),
        ] {
            assert_eq!(whole(text).as_deref(), value, "{text}");
        }
        for (sentence, value) in [
            ("503 for /a", "503"),
            ("4\")", "4"),
            ("'a, b', in all", "'a, b'"),
            ("31 : total", "31"),
            ("3 instead", "3"),
        ] {
            assert_eq!(first_in(sentence).as_deref(), Some(value), "{sentence}");
        }
        assert_eq!(first_in("1, 2"), None);
        assert_eq!(last_in("total is off: 14").as_deref(), Some("14"));
        assert_eq!(
            counted("5 rows".to_owned(), "4".to_owned()),
            ("5".to_owned(), "4".to_owned())
        );
        assert_eq!(
            counted("2 times".to_owned(), "1 time".to_owned()),
            ("2".to_owned(), "1".to_owned())
        );
    }
}
