//! What an assertion expected and what it found, as the assertion libraries of many languages print it.

use std::sync::LazyLock;

use super::{
    comparisons::{COMPARISONS, Sides},
    difference::difference,
    error_type,
    labelled::labelled,
    text, value,
};
use crate::{
    evidence::{ErrorType, Failure},
    expressions::Patterns,
};

/// What a text describes. It decides how far the words may be read as two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextKind {
    /// An assertion that failed, or nothing shows what else.
    Assertion,
    /// `Error`, `panic`: thrown for everything.
    Anything,
    /// A compiler or a linter found something.
    Finding,
    /// An exception: no assertion compared what was printed before it.
    Exception,
}

impl TextKind {
    pub fn of(class: Option<&str>, error_type: ErrorType) -> Self {
        let name = class.unwrap_or_default();
        let is_exception = ["Error", "Exception", "Fault", "Exit"]
            .iter()
            .any(|end| name.ends_with(end))
            || name.starts_with("Errno::");
        match error_type {
            ErrorType::CompileError | ErrorType::LintError => Self::Finding,
            _ if error_type::is_assertion(name) => Self::Assertion,
            _ if matches!(name, "Error" | "Exception" | "panic") => match error_type {
                ErrorType::AssertionError if name == "panic" => Self::Assertion,
                _ => Self::Anything,
            },
            _ if is_exception => Self::Exception,
            ErrorType::TypeError => Self::Finding,
            _ => Self::Assertion,
        }
    }
}

static FORMS: LazyLock<Patterns> =
    LazyLock::new(|| Patterns::new(COMPARISONS.form.iter().map(|form| &form.pattern)));

/// Whether an assertion of this operator, as Node and TAP name them, asks for the value that it expects: `match` and
/// `throws` have a pattern there, `notEqual` the value that is not wanted.
pub fn asks_equality(operator: &str) -> bool {
    let operator = operator.to_ascii_lowercase();
    let is_equality = operator.contains("equal") && !operator.starts_with("not");
    is_equality
        || matches!(
            &*operator,
            "==" | "===" | "is" | "ok" | "notok" | "same" | "strictsame"
        )
}

/// Both sides of the assertion in a cleaned text.
pub(super) fn sides_in(cleaned: &str, kind: TextKind) -> Option<Sides> {
    let head = text::prefix(cleaned, 12 * 1024);
    // What a test printed is quoted below what went wrong, and is no part of it.
    let is_quoted = |at: &usize| {
        head[..*at]
            .rsplit('\n')
            .next()
            .is_some_and(|line| line.starts_with("--"))
    };
    let head = head
        .split_once("\nstack backtrace:")
        .map_or(head, |(above, _)| above);
    let quoted = head
        .match_indices(" Captured ")
        .map(|(at, _)| at)
        .find(is_quoted);
    let head = &head[..quoted.unwrap_or(head.len())];
    // An assertion that did not ask whether two sides are equal: neither is what was expected.
    let is_of_equality =
        |(_, rest): (&str, &str)| rest.starts_with("== ") || rest.starts_with("=== ");
    if ["assertion `left != right` failed", "Refute with "]
        .iter()
        .any(|words| head.contains(words))
        || head
            .split_once("Assertion with ")
            .is_some_and(|asked| !is_of_equality(asked))
        || pattern!(r#"(?m)^[ \t]*operator: ['"]?(?P<operator>[\w=!]+)"#)
            .captures(head)
            .is_some_and(|found| !asks_equality(&found["operator"]))
    {
        return None;
    }
    // ExUnit: a pattern stands on the left.
    let is_match = head.contains("match (=) failed");
    let lines: Vec<&str> = head.lines().collect();
    let of_labels = || {
        labelled(&lines)
            .filter(|_| kind != TextKind::Finding)
            .map(|(expected, actual)| {
                let (expected, actual) = if is_match {
                    (actual, expected)
                } else {
                    (expected, actual)
                };
                Sides {
                    expected: value::tidy(&expected),
                    actual: value::tidy(&actual),
                    is_whole: true,
                }
            })
    };
    // AssertJ, Gomega, Shouldly and gleeunit write a verb on a line of its own between two values.
    let verb = pattern!(
        r"\n[ \t]*(?P<verb>(?:to|should|but|must)(?: (?:be|been|have|was|is|got|deeply|identical|equivalent|equal|to))+):?[ \t]*\n[ \t]*"
    );
    let joined = verb.replace_all(head, " $verb ");
    // GoogleTest writes bytes outside ASCII as such, and below them as text.
    let joined = pattern!(r"Which is: [^\n]+\n[ \t]*As Text: ").replace_all(&joined, "Which is: ");
    let of_forms = || {
        FORMS
            .matching(&joined)
            .into_iter()
            .filter_map(|row| in_form(row, &joined, kind))
            .find(is_whole)
    };
    let difference = || difference(head).filter(|_| kind != TextKind::Finding);
    let of_labels = of_labels();
    let whole = of_labels
        .clone()
        .filter(is_whole)
        .or_else(of_forms)
        .or_else(difference);
    // A value that ends in an ellipsis is all of it, where nothing shows more.
    whole.or_else(|| of_labels.filter(differ))
}

/// The sides of a form that matches.
fn in_form(row: usize, text: &str, kind: TextKind) -> Option<Sides> {
    let captures = FORMS.captures(row, text)?;
    let form = COMPARISONS.form.get(row)?;
    let (expected, actual) = match (form.of_values, kind) {
        (false, _) => (value::tidy(&captures["e"]), value::tidy(&captures["a"])),
        (true, TextKind::Finding | TextKind::Exception) => return None,
        (true, _) => {
            let expected = value::first_in(&captures["e"])?;
            let actual =
                value::last_in(&captures["a"]).or_else(|| value::first_in(&captures["a"]))?;
            // unittest: `False is not true : no such book`, whose words mean more than both values.
            let is_remarked = captures["e"]
                .split_once(" : ")
                .is_some_and(|(value, _)| ["true", "false"].contains(&value));
            // Two punctuation marks are tokens of a grammar; so is one, but where values are compared.
            let tokens = [&expected, &actual]
                .into_iter()
                .filter(|side| value::is_token(side))
                .count();
            if tokens > usize::from(kind == TextKind::Assertion) {
                return None;
            }
            // A call is not its result.
            if is_remarked || value::is_call(&expected) || value::is_call(&actual) {
                return None;
            }
            // A test that throws for every failure has such words in all of them.
            if kind == TextKind::Anything
                && ![&expected, &actual]
                    .iter()
                    .any(|side| value::is_literal(side))
            {
                return None;
            }
            value::counted(expected, actual)
        }
    };
    let relation = captures
        .name("r")
        .map(|relation| relation.as_str())
        .or(form.relation.as_deref());
    let expected = relation
        .map(|relation| format!("{relation} {expected}"))
        .unwrap_or(expected);
    Some(Sides {
        expected,
        actual,
        is_whole: true,
    })
}

/// Whether both values are there, and not cut off: then the difference below them shows more.
fn is_whole(sides: &Sides) -> bool {
    let is_cut = |side: &String| ["…", "...", " chars]"].iter().any(|cut| side.contains(cut));
    differ(sides) && ![&sides.expected, &sides.actual].into_iter().any(is_cut)
}

/// Whether both values are there, and what is shown of them differs.
fn differ(
    Sides {
        expected, actual, ..
    }: &Sides,
) -> bool {
    // What is quoted and should be true is an expression.
    let is_truth = ["true", "false", "null"].contains(&expected.to_ascii_lowercase().as_str());
    // Go prints where a pointer leads to; the value at that address is printed below.
    let unpointed = |side: &str| {
        pattern!(r"\(0x[0-9a-f]+\)")
            .replace_all(side, "")
            .into_owned()
    };
    // syrupy shows both sides below.
    expected != actual
        && unpointed(expected) != unpointed(actual)
        && !(is_truth && actual.starts_with(['\'', '"', '`']))
        && expected != "[- snapshot]"
        && [expected, actual].iter().all(|side| !side.is_empty())
}

/// What an assertion expected and what it found: from the report's fields if it has both, otherwise from the message.
pub fn sides(failure: &Failure) -> Option<(String, String)> {
    if let (Some(expected), Some(actual)) = (&failure.expected, &failure.actual) {
        return Some((expected.clone(), actual.clone()));
    }
    let kind = TextKind::of(failure.error_class.as_deref(), failure.error_type);
    let message = text::clean(&failure.error_message);
    sides_in(&message, kind).map(|sides| (sides.expected, sides.actual))
}

#[cfg(test)]
mod tests {
    use super::{super::comparisons::Comparisons, *};

    fn both(found: Option<Sides>) -> Option<(String, String)> {
        found.map(|sides| (sides.expected, sides.actual))
    }

    #[test]
    fn comparisons_of_many_libraries() {
        let Comparisons {
            form: forms,
            without_a_row,
            no_sides,
            ..
        } = &*COMPARISONS;
        for form in forms {
            assert!(
                !form.examples.is_empty(),
                "{} wants an example",
                form.pattern
            );
        }
        for (text, expected, actual) in forms
            .iter()
            .flat_map(|form| &form.examples)
            .chain(without_a_row)
        {
            let sides = both(sides_in(&text::clean(text), TextKind::Assertion));
            assert_eq!(sides, Some((expected.clone(), actual.clone())), "{text}");
        }
        for text in no_sides {
            assert_eq!(sides_in(text, TextKind::Assertion), None, "{text}");
        }
    }

    #[test]
    fn the_source_of_an_assertion_does_not_turn_labels_round() {
        let sides = |error: &str| {
            let error_message = format!(
                ">       assert expected == actual\n{error}\n\ntests/test_a.py:5: AssertionError"
            );
            let failure = Failure {
                error_message,
                ..Failure::default()
            };
            both(super::super::Reading::of(&failure).sides)
        };
        let both = Some(("200".to_owned(), "503".to_owned()));
        assert_eq!(sides("E       assert 200 == 503"), both);
        assert_eq!(
            sides(
                "E       AssertionError: Expected: 200\nE         Actual: 503\nE       assert 200 == 503"
            ),
            both
        );
    }

    #[test]
    fn the_source_of_an_assertion_tells_whether_the_list_states_the_requirement() {
        let sides = |source: &str, error: &str| {
            let error_message = format!(
                "n = 2, want = 21\n\n>       {source}\nE       {error}\n\ntests/test_a.py:5: AssertionError"
            );
            both(
                super::super::Reading::of(&Failure {
                    error_message,
                    ..Failure::default()
                })
                .sides,
            )
        };
        let both = |expected: &str, actual: &str| Some((expected.to_owned(), actual.to_owned()));
        let cases = [
            (
                "assert 'a' in names(n)",
                "assert 'a' in ['b', 'c']",
                both("containing 'a'", "['b', 'c']"),
            ),
            (
                "assert status(n) in (200, 201)",
                "assert 404 in (200, 201)",
                both("one of (200, 201)", "404"),
            ),
            (
                "assert code(n) not in ['x', 'y']",
                "assert 'x' not in ['x', 'y']",
                both("none of ['x', 'y']", "'x'"),
            ),
            ("assert n * 10 == want", "assert (2 * 10) == 21", None),
        ];
        for (source, error, wanted) in cases {
            assert_eq!(sides(source, error), wanted, "{source}");
        }
    }

    #[test]
    fn the_operator_of_an_assertion_tells_whether_it_asks_for_a_value() {
        let table = [
            ("strictEqual", true),
            ("deepStrictEqual", true),
            ("equal", true),
            ("==", true),
            ("ok", true),
            ("match", false),
            ("doesNotMatch", false),
            ("throws", false),
            ("notStrictEqual", false),
            ("fail", false),
        ];
        for (operator, asks) in table {
            assert_eq!(asks_equality(operator), asks, "{operator}");
            let text = format!(
                "AssertionError [ERR_ASSERTION]: it failed\n    code: 'ERR_ASSERTION',\n    actual: 'x',\n    \
                 expected: 'y',\n    operator: '{operator}',\n"
            );
            let sides = sides_in(&text, TextKind::Assertion);
            assert_eq!(sides.is_some(), asks, "{operator}");
        }
    }

    #[test]
    fn who_tells_decides_what_words_may_say() {
        for (kind, text) in [
            (
                TextKind::Exception,
                "not enough values to unpack (expected 3, got 2)",
            ),
            (TextKind::Finding, "Expected 2 spaces, but found 4"),
            (TextKind::Anything, "got plum, want kiwi"),
        ] {
            assert_eq!(sides_in(text, kind), None, "{text}");
        }
    }
}
