//! What an assertion expected and what it found, as the assertion libraries of many languages print it.

use std::sync::LazyLock;

use regex::Regex;

use super::{
    difference::difference,
    error_type,
    labelled::labelled,
    patterns::Patterns,
    text,
    value::{
        self,
        Look::{self, Count, Literal, Word},
    },
};
use crate::evidence::{ErrorType, Failure};

/// Both sides of an assertion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::failure) struct Sides {
    pub expected: String,
    pub actual: String,
    pub extent: Extent,
}

/// How much of the compared values the sides are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::failure) enum Extent {
    Whole,
    /// Only the lines in which they differ.
    Differences,
}

/// What a text tells of: how far its words may be read as two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// An assertion that failed, or nothing says what else.
    Assertion,
    /// `Error`, `panic`: thrown for everything.
    Anything,
    /// A compiler or a linter found something.
    Finding,
    /// An exception: what was printed before it was compared by nobody.
    Exception,
}

impl Told {
    pub fn of(class: Option<&str>, error_type: ErrorType) -> Self {
        let name = class.unwrap_or_default();
        let is_exception = ["Error", "Exception", "Fault", "Exit"].iter().any(|end| name.ends_with(end))
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

/// How the values of a form are told from other words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Says {
    /// Only one library writes so, and has nothing but values there.
    Values,
    /// Anyone may write so: both sides have to look like values.
    Sentence(Look),
}

struct Form {
    says: Says,
    pattern: &'static str,
}

const fn values(pattern: &'static str) -> Form {
    Form { says: Says::Values, pattern }
}

const fn sentence(look: Look, pattern: &'static str) -> Form {
    Form { says: Says::Sentence(look), pattern }
}

/// Patterns with the groups `e` (expected) and `a` (actual); earlier ones win.
///
/// Where a library only knows a left and a right side (`assert_eq!`, pytest), the left one is taken for the actual
/// value, as most people write it.
const FORMS: &[Form] = &[
    // Exceptions that did not come
    values(
        r"(?i)expected:? (?P<e>[A-Za-z_$][A-Za-z0-9_.:$\\]*) (?:to be (?:thrown|raised), )?but (?P<a>nothing was (?:thrown|raised))",
    ),
    // JUnit, Kotest, MSTest, TestNG, kotlin.test
    values(r"(?i)expected(?: [a-z]+)?:? ?<(?P<e>[^\n]*?)>[.,]? ?(?:but was|actual):? ?<(?P<a>[^\n]*?)>"),
    // test-unit, OCaml, Zig, Jasmine's arguments, markdownlint
    values(r"<(?P<e>[^\n]+)> expected but was\n?\s*<(?P<a>[^\n]+)>"),
    values(r"has type\s+(?P<a>[^\n]+?)\s+but an expression was expected of type\s+(?P<e>[^\n]+)"),
    values(r"[Tt]ype '(?P<a>[^'\n]+)' is not assignable to (?:parameter of )?type '(?P<e>[^'\n]+)'"),
    values(r"expected type '(?P<e>[^'\n]+)', found (?:type )?'(?P<a>[^'\n]+)'"),
    values(r"Expected \$\S+ = (?P<a>[^\n]+?) to equal (?P<e>[^\n]+?)\.(?:\n|$)"),
    values(r"\[Expected: (?P<e>[^;\]\n]+); Actual: (?P<a>[^\]\n]+)\]"),
    values(r"expected \[(?P<e>[^\n]*?)\] but found \[(?P<a>[^\n]*?)\]"),
    // EUnit, karate, uvu, Julia, tcltest
    values(r"\{expected,\s*(?P<e>[^\n]+?)\},\s*\{value,\s*(?P<a>[^\n]+?)\}\]"),
    values(r"not equal \([A-Z]+:[A-Z]+\)\n\s*(?P<a>[^\n]+)\n\s*(?P<e>[^\n]+)"),
    values(r"(?m)^\s*\+\+(?P<e>[^\n]+?)\s+\(Expected\)\n\s*--(?P<a>[^\n]+?)\s+\(Actual\)$"),
    values(r"Result was:\n(?P<a>[^\n]+)\n-* ?Result should have been[^\n]*:\n(?P<e>[^\n]+)"),
    values(r"(?m)^\s*Evaluated: (?P<a>[^\n]+?) ==+ (?P<e>[^\n]+)$"),
    // Node's assert
    values(r"did not match the regular expression (?P<e>/[^\n]+/[a-z]*)\. Input:\s+(?P<a>[^\n]+)"),
    // PHPUnit
    values(
        r"Failed asserting that (?:actual [a-z]+ )?(?P<a>[^\n]+?) (?:matches expected(?: size| count)?|is identical to|equals|is equal to) (?P<e>[^\n]+?)\.?(?:\n|$)",
    ),
    values(r"Failed asserting that exception message (?P<a>'[^\n]*?') contains (?P<e>'[^\n]*')"),
    values(r#"Failed asserting that (?P<a>'[^\n]*') matches PCRE pattern (?P<e>"[^\n]*")"#),
    // RSpec's `raise_error` with a message
    values(
        r#"expected \S+ with (?P<e>"[^\n]*"), got #<[^:\n]+(?:::[^:\n]+)*: (?P<a>[^\n]*?)>(?: with backtrace)?:?(?:\n|$)"#,
    ),
    // AssertJ
    values(r"Expecting(?: actual)?:?\s+<?(?P<a>[^\n<>]+)>?\s+to be close to:?\s+<?(?P<e>[^\n<>]+?)>?\s"),
    values(r"Expecting(?: actual)?:?\s+(?P<a>[^\n]+)\n\s*to contain exactly[^\n]*:\s+(?P<e>[^\n]+)"),
    // RSpec's `include` of a hash
    values(r"expected (?P<a>\{[^\n]*\}) to include (?P<e>\{[^\n]*\})"),
    // testify's `InDelta`, `ErrorContains` and `ErrorIs`
    values(r"Max difference between (?P<e>\S+) and (?P<a>\S+) allowed"),
    values(r#"(?m)(?:^|Error )(?P<a>"[^\n]*") does not contain (?P<e>"[^\n]*")$"#),
    values(r#"expected: (?P<e>"[^\n]*")\n\s*in chain: (?P<a>"[^\n]*")"#),
    // Swift
    values(r#"XCTAssertEqual failed: \("(?P<a>[^\n]*?)"\) is not equal to \("(?P<e>[^\n]*?)"\)"#),
    values(r"Expectation failed: \([^\n]* → (?P<a>[^\n]+?)\) == (?P<e>[^\n]+)"),
    // GoogleTest, Catch2, doctest
    values(
        r"Expected equality of these values:\n\s+[^\n]+\n\s+Which is: (?P<a>[^\n]+)\n\s+[^\n]+\n\s+Which is: (?P<e>[^\n]+)",
    ),
    values(r"Expected equality of these values:\n\s+[^\n]+\n\s+Which is: (?P<a>[^\n]+)\n\s+(?P<e>[^\n]+)"),
    values(r"Expected equality of these values:\n\s+(?P<e>[^\n]+)\n\s+[^\n]+\n\s+Which is: (?P<a>[^\n]+)"),
    values(r#"with expansion:\n\s+(?P<a>"[^\n]*") equals: (?P<e>"[^\n]*")"#),
    values(r"(?m)failed: [^\n]+? for: (?P<a>[^\n]+?) == (?P<e>[^\n]+?)(?: with [0-9]+ messages?:[^\n]*)?$"),
    values(r"(?m)(?:with expansion:\n\s+|values: [A-Z_]+\( )(?P<a>[^\n]+?) == (?P<e>[^\n]+?)(?: \))?$"),
    // libtest's `should_panic`
    values(r#"panic message: (?P<a>["`][^\n]*["`]),?\n\s*expected substring: (?P<e>["`][^\n]*["`])"#),
    // Sinon, unittest.mock
    values(
        r"to (?:have been|be) called (?P<e>once|twice|thrice|[0-9]+)(?: times)?(?:\. Called| but was called) (?P<a>once|twice|thrice|[0-9]+)",
    ),
    // Minitest, Chai, unittest, pytest
    values(r"(?m)^\s*(?P<e>[A-Z][A-Za-z0-9_:]*) expected but (?P<a>nothing was raised)"),
    values(r"Expected (?P<e>/[^\n]+/[a-z]*) to match (?P<a>[^\n]+)\.(?:\n|$)"),
    values(r"(?P<a>DID NOT RAISE) (?:any of )?(?P<e>[^\n]+)"),
    values(r"Regex didn't match: (?P<e>[^\n]+) not found in (?P<a>[^\n]+)"),
    values(r"Expected \|(?P<e>[^|\n]+?) - (?P<a>[^|\n]+?)\| \("),
    values(r"expected (?P<a>\S+) to be close to (?P<e>[^\s,]+)"),
    values(r"(?m)^\s*(?:E\s+)?Regex: (?P<e>[^\n]+)\n\s*(?:E\s+)?Input: (?P<a>[^\n]+)"),
    values(r"exceeds [^\n]+, where\n[^\n]+ evaluates to (?P<a>[^\n]+),\n[^\n]+ evaluates to (?P<e>[^\n]+), and\n"),
    values(
        r"Expected: [^\n]+ throws an exception of type (?P<e>[^\n]+?)\.\n\s*Actual: it throws (?P<a>[^\n]+?)(?: with description [^\n]*)?\.?(?:\n|$)",
    ),
    // mypy; rustc, whose parser speaks in the same words of tokens
    values(r#"\(got "(?P<a>[^"\n]+)", expected "(?P<e>[^"\n]+)"\)"#),
    values(r"expected `(?P<e>[^`\n]*\w[^`\n]*)`, found `(?P<a>[^`\n]*\w[^`\n]*)`"),
    values(
        r"(?s:mismatched types.*?)expected (?P<e>[a-z]+(?: [a-z]+)?|`[^`\n]+`), found (?P<a>`[^`\n]+`|[a-z]+(?: [a-z]+)?)",
    ),
    // Boost, Check
    values(r"\[(?P<a>[^\[\]\n]+?) != (?P<e>[^\[\]\n]+?)\]"),
    values(r"(?m)failed: [^\n]+? == (?P<a>[^\n]+?), [^\n]+? == (?P<e>[^\n]+)$"),
    values(r"(?P<e>\S+) \(expected\) != (?P<a>\S+) \(actual\)"),
    // pytest, unittest and whoever compares in so many signs
    sentence(Literal, r"(?m)^(?:E\s+)?(?:AssertionError: )?assert (?P<a>[^\n]+?) (?:==|is) (?P<e>[^\n]+?)$"),
    sentence(
        Literal,
        r#"(?m)^(?:E\s+)?(?:[A-Za-z]+(?: \[[A-Z_]+\])?: )?(?:check )?(?P<a>[-0-9"'\[{][^\n]*?) ={2,3} (?P<e>[^\n]+?)$"#,
    ),
    sentence(Literal, r"(?m)\((?P<a>[^()\n]+) == (?P<e>[^()\n]+)\)$"),
    sentence(Literal, r"(?m)^(?:E\s+)?(?P<a>[^\n]+?) (?:!==?|is not(?: equal to)?|does not equal) (?P<e>[^\n]+?)$"),
    sentence(Word, r"(?m)\b(?:match|mismatch|differ|equal)[^:\n]*: (?P<a>[^\s,:]+) != (?P<e>[^\s,:]+)$"),
    values(r"First differing element [^\n]+:\n(?P<a>[^\n]+)\n(?P<e>[^\n]+)"),
    // Plain English, and what is close to it
    sentence(
        Count,
        r"(?i)\b(?:should|to|must)(?: (?:be|equal|have|been|return|(?:an? )?(?:length|size|count)|of|called|exactly))+ (?P<e>[^\n]+?),? (?:but|and) (?:it )?(?:is|was|got|were|has|had|found|received|gave|returned):? (?P<a>[^\n]+)",
    ),
    sentence(
        Literal,
        r"(?im)^(?:[^\n]*?\bexpect(?:ed|ing)(?: actual)?:?\s+)?(?P<a>[^\n]+?) (?:to|should|must|is) (?:be |strictly |deeply |loosely |deep |identical |equivalent )*(?:be|equal|eql|exactly)(?: to| specified value)?:? (?P<e>[^\n]+?)(?:,? but was not\.)?$",
    ),
    sentence(
        Word,
        r"(?i)\b(?:got|have)(?:=| =|:)? *(?P<a>[^\n]+?)[,;]? (?:but )?\(?(?:want(?:ed)?|expected)(?::? +|=)(?P<e>[^\n]+)",
    ),
    sentence(Word, r"\bwant(?:ed)?:? (?P<e>[^\n]+?)[,;]? (?:but )?got:? (?P<a>[^\n]+)"),
    sentence(Word, r"(?m) = (?P<a>[^\n]+?)[,;]? \(?(?:want(?:ed)?|expected):? (?P<e>[^\n]+)$"),
    sentence(Word, r"(?m): (?P<a>[^\n:]+?)(?:[,;]| \() ?(?:want(?:ed)?|expected):? (?P<e>[^\n]+)$"),
    sentence(
        Word,
        r"(?im)\bexpected:? (?P<e>[^\s,]+),? (?:but )?(?:got|received|was):? (?P<a>[^\s,]+?)(?: instead)?\.?$",
    ),
    sentence(
        Count,
        r"(?i)\b(?:want(?:ed)?|expect(?:ed|ing)?):? (?:(?:status|exit|value|length|size|count|total|result)(?: code)? )?(?P<e>[^\n]+?)[,;.]? (?:but |and )?(?:got|received|found|was|were|actual|returned):? (?P<a>[^\n]+)",
    ),
];

static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| Patterns::new(FORMS.iter().map(|form| form.pattern)));

/// A verb on a line of its own between two values: AssertJ, Gomega, Shouldly, gleeunit.
static VERB: LazyLock<Regex> = LazyLock::new(|| {
    let verbs = "be|been|have|was|is|got|deeply|identical|equivalent|equal|to";
    Regex::new(&format!(r"\n[ \t]*(?P<verb>(?:to|should|but|must)(?: (?:{verbs}))+):?[ \t]*\n[ \t]*"))
        .expect("a constant")
});

static POINTER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\(0x[0-9a-f]+\)").expect("a constant"));

/// Both sides of the assertion that a cleaned text tells of.
pub(super) fn sides_in(cleaned: &str, told: Told) -> Option<Sides> {
    let head = without_printed(text::prefix(cleaned, 12 * 1024));
    if is_unequal(head) {
        return None;
    }
    // ExUnit: a pattern stands on the left.
    let is_match = head.contains("match (=) failed");
    let lines: Vec<&str> = head.lines().collect();
    let of_labels = labelled(&lines).filter(|_| told != Told::Finding).map(|(expected, actual)| {
        let (expected, actual) = if is_match { (actual, expected) } else { (expected, actual) };
        Sides { expected: value::tidy(&expected), actual: value::tidy(&actual), extent: Extent::Whole }
    });
    let joined = VERB.replace_all(head, " $verb ");
    let of_forms =
        || PATTERNS.matching(&joined).into_iter().filter_map(|row| in_form(row, &joined, told)).find(is_whole);
    let difference = || difference(head).filter(|_| told != Told::Finding);
    of_labels.filter(is_whole).or_else(of_forms).or_else(difference)
}

/// The sides of a form that matches.
fn in_form(row: usize, text: &str, told: Told) -> Option<Sides> {
    let captures = PATTERNS.captures(row, text)?;
    let (expected, actual) = match (FORMS.get(row)?.says, told) {
        (Says::Values, _) => (value::tidy(&captures["e"]), value::tidy(&captures["a"])),
        (Says::Sentence(_), Told::Finding | Told::Exception) => return None,
        (Says::Sentence(look), _) => {
            let expected = value::first_in(&captures["e"], look)?;
            let actual = value::last_in(&captures["a"], look).or_else(|| value::first_in(&captures["a"], look))?;
            // Whoever throws for everything says such words of anything.
            if told == Told::Anything && ![&expected, &actual].iter().any(|side| value::is_literal(side)) {
                return None;
            }
            value::counted(expected, actual)
        }
    };
    Some(Sides { expected, actual, extent: Extent::Whole })
}

/// Whether both values are there, and not cut off: then the difference below them says more.
fn is_whole(sides: &Sides) -> bool {
    let is_cut = |side: &String| ["…", "...", " chars]"].iter().any(|cut| side.contains(cut));
    let Sides { expected, actual, .. } = sides;
    // What is quoted and should be true is an expression.
    let is_truth = ["true", "false", "null"].contains(&expected.to_ascii_lowercase().as_str());
    // Go prints where a pointer leads to; what stands there is told below.
    let unpointed = |side: &str| POINTER.replace_all(side, "").into_owned();
    // syrupy shows both sides below.
    expected != actual
        && unpointed(expected) != unpointed(actual)
        && !(is_truth && actual.starts_with(['\'', '"', '`']))
        && expected != "[- snapshot]"
        && [expected, actual].iter().all(|side| !side.is_empty() && !is_cut(side))
}

/// Whether an assertion did not ask whether two sides are equal: neither is what was expected.
fn is_unequal(head: &str) -> bool {
    let asks =
        |words: &str| head.split_once(words).map(|(_, rest)| !rest.starts_with("== ") && !rest.starts_with("=== "));
    ["assertion `left != right` failed", "Refute with "].iter().any(|words| head.contains(words))
        || asks("Assertion with ").unwrap_or_default()
}

/// What a test printed is quoted below what went wrong, and is no part of it.
fn without_printed(head: &str) -> &str {
    let quoted = head
        .match_indices(" Captured ")
        .find(|(at, _)| head[..*at].rsplit('\n').next().is_some_and(|line| line.starts_with("--")));
    quoted.map_or(head, |(at, _)| &head[..at])
}

/// What an assertion expected and what it found: as the report gives them, else as the message tells them.
pub fn sides(failure: &Failure) -> Option<(String, String)> {
    if let (Some(expected), Some(actual)) = (&failure.expected, &failure.actual) {
        return Some((expected.clone(), actual.clone()));
    }
    let told = Told::of(failure.error_class.as_deref(), failure.error_type);
    sides_in(&text::clean(&failure.error_message), told).map(|sides| (sides.expected, sides.actual))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_of_many_libraries() {
        let cases = [
            ("assertion `left == right` failed: total\n  left: 20\n right: 30", "30", "20"),
            ("assertion failed: `(left == right)`\n  left: `20`,\n right: `30`", "30", "20"),
            ("expect(received).toBe(expected) // Object.is equality\n\nExpected: 30\nReceived: 20", "30", "20"),
            ("Expected: token to contain userId\nReceived: undefined", "token to contain userId", "undefined"),
            (
                "expect(received).toHaveLength(expected)\n\nExpected length: 3\nReceived length: 2\nReceived array:  [1, 2]",
                "3",
                "2",
            ),
            (
                "expect(jest.fn()).toHaveBeenCalledTimes(expected)\n\nExpected number of calls: 1\nReceived number of calls: 0",
                "1",
                "0",
            ),
            (
                "- Expected  - 1\n+ Received  + 1\n\n  Object {\n-   \"total\": 30,\n+   \"total\": 20,\n  }",
                "\"total\": 30",
                "\"total\": 20",
            ),
            ("AssertionError: expected 20 to be 30 // Object.is equality", "30", "20"),
            ("AssertionError: expected { a: 1 } to deeply equal { a: 2 }", "{ a: 2 }", "{ a: 1 }"),
            (
                "AssertionError: expected 'a' to equal 'b'\n      + expected - actual\n\n      -a\n      +b\n",
                "'b'",
                "'a'",
            ),
            ("      + expected - actual\n\n      -a\n      +b\n", "b", "a"),
            ("Expected values to be strictly equal:\n\n20 !== 30\n", "30", "20"),
            ("E       assert 20 == 30\nE        +  where 20 = total()", "30", "20"),
            ("AssertionError: 20 != 30 : total of the cart", "30", "20"),
            ("Total() = 20, want 30", "30", "20"),
            ("got 20, want 30", "30", "20"),
            ("Total: want 30, got 20", "30", "20"),
            ("Error:      \tNot equal: \n\texpected: 30\n\tactual  : 20", "30", "20"),
            ("Cart mismatch (-want +got):\n  Cart{\n-  Total: 30,\n+  Total: 20,\n  }", "Total: 30", "Total: 20"),
            ("expected: <30> but was: <20>", "30", "20"),
            ("expected:<[3]0> but was:<[2]0>", "[3]0", "[2]0"),
            ("Expected: is <30>\n     but: was <20>", "30", "20"),
            ("expected [30] but found [20]", "30", "20"),
            ("\nExpecting actual:\n  20\nto be equal to:\n  30\n", "30", "20"),
            ("Assert.AreEqual failed. Expected:<30>. Actual:<20>.", "30", "20"),
            ("Assert.Equal() Failure: Values differ\nExpected: 30\nActual:   20", "30", "20"),
            ("  Expected: 30\n  But was:  20", "30", "20"),
            ("expected: 30\n     got: 20\n\n(compared using ==)", "30", "20"),
            ("Expected: 30\n  Actual: 20", "30", "20"),
            ("Failed asserting that 20 matches expected 30.", "30", "20"),
            (
                "Failed asserting that two strings are identical.\n--- Expected\n+++ Actual\n@@ @@\n-'a'\n+'b'",
                "'a'",
                "'b'",
            ),
            ("XCTAssertEqual failed: (\"20\") is not equal to (\"30\")", "30", "20"),
            ("Expectation failed: (cart.total → 20) == 30", "30", "20"),
            ("Expected equality of these values:\n  cart.total()\n    Which is: 20\n  30", "30", "20"),
            ("REQUIRE( total == 30 )\nwith expansion:\n  20 == 30", "30", "20"),
            ("Incompatible return value type (got \"str\", expected \"int\")", "int", "str"),
            ("expected `u32`, found `&str`", "u32", "&str"),
            ("Expected 30 but got 20", "30", "20"),
            ("Expecting:\n <\"shop\">\nto be equal to:\n <\"chop\">\nbut was not.", "\"chop\"", "\"shop\""),
            ("expected [ 1, 2 ] to have a length of 3 but got 2", "3", "2"),
            ("AssertionError: Lists differ: [1, 2] != [1, 3]", "[1, 3]", "[1, 2]"),
            (
                "Expected values to be strictly deep-equal:\n+ actual - expected\n\n  {\n+   a: 1\n-   a: 2\n  }\n      + expected - actual\n\n      -  \"a\": 1",
                "a: 2",
                "a: 1",
            ),
            ("Expected a.B to be thrown, but nothing was thrown.", "a.B", "nothing was thrown"),
            ("Expected equality of these values:\n  30\n  total()\n    Which is: 20", "30", "20"),
            ("Assertion with == failed\ncode:  assert a == 4\nleft:  3\nright: 4", "4", "3"),
            (
                "match (=) failed\ncode:  assert {:ok, _} = x\nleft:  {:ok, _}\nright: {:error, :gone}",
                "{:ok, _}",
                "{:error, :gone}",
            ),
            ("#   Failed test 'sums'\n#          got: '3'\n#     expected: '4'", "'4'", "'3'"),
            ("<\"4.50\"> expected but was\n<\"4.00\">", "\"4.50\"", "\"4.00\""),
            ("Expected:\n    'a-b'\nGot:\n    'a--b'", "'a-b'", "'a--b'"),
            ("status code = 500; want 400 (body {\"error\":1}", "400", "500"),
            ("AssertionError: 11.88 != 11.9 within 2 places (0.02 difference) : gross", "11.9", "11.88"),
            ("     expected: 9\n     actual:   8\n     at: f (a.js:1:2)", "9", "8"),
            ("{\n  actual: 8,\n  expected: 9,\n  operator: 'strictEqual'\n}", "9", "8"),
            (
                "  actual  : {\n    \"count\": 1\n  }\n  expected: {\n    \"count\": 2\n  }",
                "{ \"count\": 2 }",
                "{ \"count\": 1 }",
            ),
            ("#  $got->{count} = '1'\n#     $expected->{count} = '2'", "'2'", "'1'"),
            (" ACTUAL: array([1, 2])\n DESIRED: array([1, 3])", "array([1, 3])", "array([1, 2])"),
            ("[left]:  [1, 2]\n[right]: [1, 3]", "[1, 3]", "[1, 2]"),
            ("Expected\n    <int>: 8\nto equal\n    <int>: 9", "9", "8"),
            ("Expected <8> to be equal to <9>, but was not.", "9", "8"),
            ("8 != 9", "9", "8"),
            ("AssertionError: False is not True", "True", "False"),
            ("total is off: 14 != 15", "15", "14"),
            ("[  ERROR   ] --- 0x8 != 0x9", "0x9", "0x8"),
            ("Lists differ: [1, [20 chars] != [1, [21 chars]\n\nFirst differing element 1:\n5\n6", "6", "5"),
            ("Expected count to be 2, but got 1", "2", "1"),
            ("expected spy to be called 2 times, but got 1 times", "2", "1"),
            ("cart.Total\n    should be\n4\n    but was\n3", "4", "3"),
            ("\n3\nshould equal\n4", "4", "3"),
            ("match failed: EQUALS\n  $ | not equal (NUMBER:NUMBER)\n  3\n  4", "4", "3"),
            ("{assertEqual,[{line,4},\n {expected,62},\n {value,61}]}", "62", "61"),
            ("    ++44    (Expected)\n    --33    (Actual)", "44", "33"),
            ("---- Result was:\n8\n---- Result should have been (exact matching):\n9", "9", "8"),
            ("  Expression: total() == 4\n   Evaluated: 3 == 4", "4", "3"),
            ("  values: CHECK( 8 == 9 )", "9", "8"),
            ("━━━ Failed (- lhs) (+ rhs) ━━━\n      ┃   │ - 61\n      ┃   │ + 62", "62", "61"),
            ("assertion failed: `(left == right)`\n  left: `1`,\n right: `0`: sums at src/lib.rs:9", "0", "1"),
            ("Fatal error: exception Failure(\"expected 5, got 4\")", "5", "4"),
            ("Expected length: 4\nActual length:   5\nExpected: 'kiwi'\nBut was:  'plums'", "'kiwi'", "'plums'"),
            ("cart_test.go:8: got  {A:1}\n        want {A:2}", "{A:2}", "{A:1}"),
            (
                "Expected: iterable containing [<1>]\n     but: item 0: was <2>",
                "iterable containing [<1>]",
                "item 0: was <2>",
            ),
            ("AssertionError: <b>\n8\n</b> != <b>\n9\n</b>\n  <b>\n- 8\n+ 9\n  </b>", "9", "8"),
            ("total should be 9 but is 8", "9", "8"),
            ("Diff < left / right > :\n<8\n>9", "9", "8"),
            (
                "assert {'a': 1...} == {'a': 1...}\nFull diff:\n  {\n-  'b': 2,\n?  ^\n+  'b': 3,\n  }",
                "'b': 2",
                "'b': 3",
            ),
            ("error: expected type 'u8', found '*const [4:0]u8'", "u8", "*const [4:0]u8"),
            ("Difference (- actual, + expected):\n\n  - 'a b'\n  + 'a-b'", "'a-b'", "'a b'"),
            (
                "Error: This expression has type string but an expression was expected of type\n         int",
                "int",
                "string",
            ),
            ("ERROR:t.c:4:test_sums: assertion failed (total(45, 2) == 90): (45 == 90)", "90", "45"),
            ("AssertionError: 45 == 90", "90", "45"),
            ("AssertionError [ERR_ASSERTION]: 45 == 90\n    at cart.test.js:5:10", "90", "45"),
            ("1) AssertionError: 45 != 90", "90", "45"),
            ("shop.ShouldNotSatisfied: 45 is not equal to 90", "90", "45"),
            ("got:\n19.99 EUR\n0.5 EUR\nwant:\n19.99 EUR\n0.05 EUR", "19.99 EUR 0.05 EUR", "19.99 EUR 0.5 EUR"),
            (
                "Expected: has 2 elements where\nelement #0 is equal to 3\n  Actual: { 4 }",
                "has 2 elements where element #0 is equal to 3",
                "{ 4 }",
            ),
            (
                "Expected: close() throws an exception of type std::out_of_range.\n  Actual: it throws \
                 std::logic_error with description \"closed\".",
                "std::out_of_range",
                "std::logic_error",
            ),
            ("Type 'number' is not assignable to type 'string'.", "string", "number"),
            ("expected plum, received kiwi instead", "plum", "kiwi"),
            ("len: got=4 want=3", "3", "4"),
            ("Max difference between 33.33 and 33 allowed is 0.01, but difference was 0.33", "33.33", "33"),
            ("Error \"no path\" does not contain \"unknown\"", "\"unknown\"", "\"no path\""),
            ("Expecting:\n <[\"a\"]>\nto contain exactly (and in same order):\n <[\"A\"]>\nbut", "[\"A\"]", "[\"a\"]"),
            ("expected {:n => 1, :s => 29} to include {:s => 3}", "{:s => 3}", "{:n => 1, :s => 29}"),
            ("Expected constructor: RangeError\nReceived constructor: TypeError", "RangeError", "TypeError"),
            (
                "Expected: \"a\", {\"s\": 2}\nReceived\n->     2\n    \"a\",\n-   \"s\": 2,\n+   \"s\": 1,",
                "\"s\": 2",
                "\"s\": 1",
            ),
            ("AssertionError: 'D[18 chars]in' != 'D[18 chars]on'\n  Dear\n- in\n? ^\n+ on\n? ^", "on", "in"),
            ("Expected 'post' to be called once. Called 3 times.", "once", "3"),
            ("Failed: DID NOT RAISE ValueError", "ValueError", "DID NOT RAISE"),
            ("Failed asserting that exception message 'of 120 %' contains 'at most'.", "'at most'", "'of 120 %'"),
            (
                "expected Overlap with \"both on 3\", got #<Almanac::Overlap: Mart overlaps> with backtrace:",
                "\"both on 3\"",
                "Mart overlaps",
            ),
            ("Expecting:\n  <3.0>\nto be close to:\n  <3.5>\nby less than <0.01>", "3.5", "3.0"),
            ("Target error should be in err chain:\n expected: \"a\"\n in chain: \"b: c\"", "\"a\"", "\"b: c\""),
            ("header does not match: text/plain != application/json", "application/json", "text/plain"),
            (
                "expected: R{H:(*H)(0xc00)}\nactual  : R{H:(*H)(0xc01)}\n\n--- Expected\n+++ Actual\n@@ -1 +1 @@\n-To: 24\n\
                 +To: 23",
                "To: 24",
                "To: 23",
            ),
            ("load on car \"Süd 2\": have 82 kg, expected 143 kg", "143", "82"),
            ("\"[a b a]\" should have 2 item(s), but has 3", "2", "3"),
            ("panic message: \"no value\"\n expected substring: \"not counted\"", "\"not counted\"", "\"no value\""),
            ("expected fake to be called once but was called 0 times", "once", "0"),
            ("a.cc:25: failed: f() == 16 for: 12 == 16 with 1 message: 'g() := 8'", "16", "12"),
            ("E   assert <S.A: 'a'> is <S.B: 'b'>", "S.B: 'b'", "S.A: 'a'"),
            ("E  assert 121.1 == 95.0 ± 1.0e-02", "95.0 ± 1.0e-02", "121.1"),
            ("Isobar::NoData expected but nothing was raised.", "Isobar::NoData", "nothing was raised"),
            ("Regex didn't match: '^0x+$' not found in '555'", "'^0x+$'", "'555'"),
            (
                "- Expected\n+ Received\n\n  [\n+   3,\n    1,\n    2,\n-   3,\n  ]\n\n  9 | x",
                "[ 1, 2, 3, ]",
                "[ 3, 1, 2, ]",
            ),
            ("expected: \"a  b\"\n     got: \"a b\"", "\"a  b\"", "\"a b\""),
            ("E  assert \"b of 'v... x\" == 'e b'\nE  \nE  - e b\nE  + b of 'v 17' x", "e b", "b of 'v 17' x"),
            ("status of an unknown ship: 400, expected 404", "404", "400"),
            ("Expected |0.25 - 0.3| (0.05) to be <= 0.01.", "0.25", "0.3"),
            ("expected 0.9 to be close to 1, received difference is 0.1, but expected 0.005", "1", "0.9"),
            ("Regex pattern did not match.\n Regex: 'no total'\n Input: 'total of 3'", "'no total'", "'total of 3'"),
            ("expect(received).toMatchSnapshot()\n\n- Snapshot  - 1\n+ Received  + 1\n\n- a\n+ b", "a", "b"),
            ("expected \"spy\" to be called\n\n  1st spy call:\n\n  [\n-   2,\n+   1,\n  ]", "2", "1"),
            ("E  assert 'In...1' == 'In...1'\nE    - TOTAL\nE    ?  ^^\nE    + Total\nE    ?  ^^", "TOTAL", "Total"),
            (
                "The difference between f() and 5.0 is 2, which exceeds 1e-9, where\nf() evaluates to 7,\n5.0 \
                 evaluates to 5, and\n1e-9 evaluates to 1e-09.",
                "5",
                "7",
            ),
            (
                "Expected: is a numeric value within <0.5> of <1000.0>\n     but: <986.3> differed by <13.6>",
                "a numeric value within <0.5> of <1000.0>",
                "<986.3> differed by <13.6>",
            ),
            ("FAILURE: check 45 == 90: quantity counts", "90", "45"),
            ("... obtained []int = []int{1, 2}\n... expected []int = []int{1, 3}", "[]int{1, 3}", "[]int{1, 2}"),
            ("    subject \"45\" should be equal to 90", "90", "\"45\""),
            ("--- expected.txt\n+++ got.txt\n@@ -1,2 +1,2 @@\n kiwi 3\n-plum 2\n+plum 1", "plum 2", "plum 1"),
        ];
        for (text, expected, actual) in cases {
            let found = sides_in(&text::clean(text), Told::Assertion).map(|sides| (sides.expected, sides.actual));
            assert_eq!(found, Some((expected.to_owned(), actual.to_owned())), "{text}");
        }
        for text in [
            "connection refused",
            "We expected the binary to be installed here: /x/Cypress",
            "undefined function lins/0 (expected Cart to be imported, but none are available) but got nothing to call)",
            "expected \"spy\" to be called with arguments: [ 'b' ]",
            "expected null not to be null",
            "expected `[1].empty?` to be truthy, got false",
            "Expected \"]\" but found \";\"",
            "Expected path: \"a.b\"\nReceived path: \"a\"",
            "expected [ 'a' ] to include 'c'",
            "expected function to throw an error, but it didn't",
            "Refute with < failed\ncode:  refute 1 < 2\nleft:  1\nright: 2",
            "assertion `left != right` failed\n  left: 3\n right: 3",
            "Assertion with in failed\ncode:  assert 5 in [1, 2]\nleft:  5\nright: [1, 2]",
            "expected ';', found '}'",
            "error: expected identifier, found keyword `fn`\n  | ^^ expected identifier, found keyword",
            "expected 2 arguments but got 3",
            "the server expected more data but got a reset",
            "expected: value != 4\n     got: 4",
            "         got: '4'\n    expected: anything else",
            "expected: ['kiwi'] to contain 'plum'\n     but: item equal 'plum' not found",
            "expected 3 to not equal 3",
            "count must be positive but got -1",
            "Expected: (n) != (5), actual: 5 vs 5",
            "assert total() == 62",
            "'total(45, 2) > 80' should be TRUE",
            "MismatchError: len(['a', 'b']) != 3",
            "--- cart.py:before\n+++ cart.py:after\n@@ -1 +1 @@\n-import sys\n+import os",
            "  Left alloca redzone:     ca\n  Right alloca redzone:    cb",
            "FAIL\n-- Captured stdout call --\nexpected: 3\nactual: 4",
        ] {
            assert_eq!(sides_in(text, Told::Assertion), None, "{text}");
        }
        for (told, text) in [
            (Told::Exception, "not enough values to unpack (expected 3, got 2)"),
            (Told::Finding, "Expected 2 spaces, but found 4"),
            (Told::Anything, "got plum, want kiwi"),
        ] {
            assert_eq!(sides_in(text, told), None, "{text}");
        }
    }
}
