//! What an assertion expected and what it found, as the assertion libraries of many languages print it.

use std::sync::LazyLock;

use super::{labelled::labelled, patterns::Patterns, text};
use crate::evidence::Failure;

/// Longest value kept, in characters.
const MAX_VALUE: usize = 400;

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

/// Patterns with the groups `e` (expected) and `a` (actual); earlier ones win.
///
/// Where a library only knows a left and a right side (`assert_eq!`, pytest), the left one is taken for the actual
/// value, as most people write it.
const FORMS: &[&str] = &[
    // AssertJ, Gomega: a value, a verb and a value, each on lines of their own
    r"(?m)^\s*(?i:expected|expecting)(?: actual)?:?\n\s+(?P<a>.+)\n\s*to (?:be )?(?:deeply |identical |equal |equivalent )+(?:to)?:?\n\s+(?P<e>.+)$",
    r"(?m)^\s*(?i:expected|expecting)(?: actual)?:?\n\s+(?P<a>.+)\n\s*to equal\n\s+(?P<e>.+)$",
    // Exceptions that did not come
    r"(?i)expected:? (?P<e>[A-Za-z_$][A-Za-z0-9_.:$\\]*) (?:to be (?:thrown|raised), )?but (?P<a>nothing was (?:thrown|raised))",
    // JUnit, Kotest, MSTest, TestNG, kotlin.test
    r"(?i)expected(?: [a-z]+)?:? ?<(?P<e>[^\n]*?)>[.,]? ?(?:but was|actual):? ?<(?P<a>[^\n]*?)>",
    // test-unit, Python's doctest, RSpec's collections, OCaml, Zig, Jasmine's arguments
    r"<(?P<e>[^\n]+)> expected but was\n<(?P<a>[^\n]+)>",
    r"has type\s+(?P<a>[^\n]+?)\s+but an expression was expected of type\s+(?P<e>[^\n]+)",
    r"expected type '(?P<e>[^'\n]+)', found (?:type )?'(?P<a>[^'\n]+)'",
    r"Expected \$\S+ = (?P<a>[^\n]+?) to equal (?P<e>[^\n]+?)\.(?:\n|$)",
    r"\[Expected: (?P<e>[^;\]\n]+); Actual: (?P<a>[^\]\n]+)\]",
    r"expected \[(?P<e>[^\n]*?)\] but found \[(?P<a>[^\n]*?)\]",
    // Node's assert
    r"Expected values to be [^\n]*:\s+(?P<a>[^\n]+?) !== (?P<e>[^\n]+)",
    r"(?m)^\s*(?P<a>\S[^\n]*?) !== (?P<e>[^\n]+?)$",
    r"did not match the regular expression (?P<e>/[^\n]+/[a-z]*)\. Input:\s+(?P<a>[^\n]+)",
    // PHPUnit
    r"Failed asserting that (?:actual [a-z]+ )?(?P<a>[^\n]+?) (?:matches expected(?: size| count)?|is identical to|equals|is equal to) (?P<e>[^\n]+?)\.?(?:\n|$)",
    // Swift
    r#"XCTAssertEqual failed: \("(?P<a>[^\n]*?)"\) is not equal to \("(?P<e>[^\n]*?)"\)"#,
    r"Expectation failed: \([^\n]* → (?P<a>[^\n]+?)\) == (?P<e>[^\n]+)",
    // GoogleTest, Catch2
    r"Expected equality of these values:\n\s+[^\n]+\n\s+Which is: (?P<a>[^\n]+)\n\s+[^\n]+\n\s+Which is: (?P<e>[^\n]+)",
    r"Expected equality of these values:\n\s+[^\n]+\n\s+Which is: (?P<a>[^\n]+)\n\s+(?P<e>[^\n]+)",
    r"Expected equality of these values:\n\s+(?P<e>[^\n]+)\n\s+[^\n]+\n\s+Which is: (?P<a>[^\n]+)",
    r"with expansion:\n\s+(?P<a>[^\n]+?) == (?P<e>[^\n]+)",
    // pytest and unittest
    r"(?m)^(?:E\s+)?(?:AssertionError: )?assert (?P<a>[^\n]+?) == (?P<e>[^\n]+?)$",
    r"(?m)^(?:E\s+)?(?:AssertionError: )(?:[A-Z][a-z]+ differ: )?(?P<a>[^\n]+?) != (?P<e>[^\n]+?)(?: within [0-9.]+ (?:places|delta)\b.*)?(?: : .*)?$",
    // mypy; rustc and other compilers
    r#"\(got "(?P<a>[^"\n]+)", expected "(?P<e>[^"\n]+)"\)"#,
    r"expected `(?P<e>[^`\n]+)`, found `(?P<a>[^`\n]+)`",
    r"expected (?P<e>[a-z]+(?: [a-z]+)?|`[^`\n]+`), found (?P<a>`[^`\n]+`|[a-z]+(?: [a-z]+)?)",
    // Go
    r"= (?P<a>-?[0-9.]+)[,;] want:? (?P<e>-?[0-9.]+) \(",
    r"\bgot:? (?P<a>[^\n]+?)[,;]? (?:but )?want(?:ed)?:? (?P<e>[^\n]+)",
    r"\bwant(?:ed)?:? (?P<e>[^\n]+?)[,;]? (?:but )?got:? (?P<a>[^\n]+)",
    r"(?m)^\s*\S[^\n]* = (?P<a>[^\n]+?)[,;] want:? (?P<e>[^\n]+)$",
    // chai, Vitest, FluentAssertions, and plain English
    r"expected [^\n]+? to be called (?P<e>[0-9]+) times?, but got (?P<a>[0-9]+) times?",
    r"expected [^\n]+? to have (?:a )?length (?:of )?(?P<e>[0-9]+) but got (?P<a>[0-9]+)",
    r"(?i)expected:? (?P<a>[^\n]+?) to (?:be |strictly |deeply |loosely |deep )*(?:equal|eql|match|exactly)(?: to)? (?P<e>[^\n]+?)(?:,? but was not\.)?(?: //[^\n]*| \(at [^\n]*)?(?:\n|$)",
    r"(?i)expected (?P<a>[^\n]+?) to (?:strictly |deeply |loosely |deep )*be (?P<e>(?:true|false|null|undefined|none|nil|nan)\b|[^a-z\n][^\n]*?)(?: //[^\n]*)?\.?(?:\n|$)",
    r"must (?:be |equal |eql )*(?:equal|eql) (?P<e>[^\n]+)(?:\n[^\n]*){0,9}\n\s*-(?P<a>[^\n]+)",
    r"(?P<e>\S+) \(expected\) != (?P<a>\S+) \(actual\)",
    r"<(?P<a>[^\n]*?)> (?:is|to be) equal to <(?P<e>[^\n]*?)>",
    // Boost, Check
    r"\[(?P<a>[^\[\]\n]+?) != (?P<e>[^\[\]\n]+?)\]",
    r"(?m)failed: [^\n]+? == (?P<a>[^\n]+?), [^\n]+? == (?P<e>[^\n]+)$",
    r"\bshould (?:be|equal|have been) (?P<e>[^\n]+?),? but (?:is|was|got|were|had|found) (?P<a>[^\n]+)",
    r#"(?m)^(?P<a>-?[0-9.]+|"[^\n"]*"|'[^\n']*') != (?P<e>-?[0-9.]+|"[^\n"]*"|'[^\n']*')$"#,
    r"(?i)expected:? [^\n]*?to be (?P<e>[^\n]+?), but found (?P<a>[^\n]+)",
    r"(?i)expected:? (?P<e>[^\n]+?),? (?:but )?(?:got|received|found|was|actual):? (?P<a>[^\n]+)",
];

static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| Patterns::new(FORMS.iter().copied()));

/// Both sides of the assertion that a cleaned text tells of.
pub(super) fn sides_in(cleaned: &str) -> Option<Sides> {
    let head = text::prefix(cleaned, 12 * 1024);
    if UNEQUAL.iter().any(|words| head.contains(words)) {
        return None;
    }
    let of_label = |(expected, actual): (String, String)| {
        // Hamcrest: `Expected: is <30>`, `but: was <20>`
        let said = |text: &str| value(["is ", "was "].iter().find_map(|verb| text.strip_prefix(verb)).unwrap_or(text));
        // ExUnit: a pattern stands on the left.
        let is_match = head.contains("match (=) failed");
        let (expected, actual) = if is_match { (actual, expected) } else { (expected, actual) };
        let sides = Sides { expected: said(&expected), actual: said(&actual), extent: Extent::Whole };
        (!sides.expected.is_empty() && !sides.actual.is_empty() && !is_prose(&sides)).then_some(sides)
    };
    let lines: Vec<&str> = head.lines().collect();
    let labelled = labelled(&lines).and_then(of_label);
    let inline = labelled.or_else(|| {
        PATTERNS.matching(head).into_iter().find_map(|row| {
            let captures = PATTERNS.captures(row, head)?;
            let (expected, actual) = (value(&captures["e"]), value(&captures["a"]));
            let sides = Sides { expected, actual, extent: Extent::Whole };
            (!sides.expected.is_empty() && !sides.actual.is_empty() && !is_prose(&sides)).then_some(sides)
        })
    });
    // Where the values on the first line are cut off, the difference below them says more.
    let is_cut =
        |sides: &Sides| sides.expected.contains('…') || sides.actual.contains('…') || sides.expected == sides.actual;
    inline.filter(|sides| !is_cut(sides)).or_else(|| diff_block(head))
}

/// Words of assertions that do not ask whether two sides are equal: neither is what was expected.
const UNEQUAL: [&str; 7] = [
    "assertion `left != right` failed",
    "Refute with ",
    "Assertion with < failed",
    "Assertion with > failed",
    "Assertion with <= failed",
    "Assertion with >= failed",
    "Assertion with != failed",
];

/// Words behind `to be` that say how something is, not what it equals.
const PREDICATES: [&str; 20] = [
    "a",
    "above",
    "an",
    "at",
    "below",
    "called",
    "close",
    "defined",
    "empty",
    "fulfilled",
    "greater",
    "in",
    "instanceof",
    "less",
    "one",
    "raised",
    "rejected",
    "strictly",
    "thrown",
    "within",
];

/// Whether a sentence about a value was taken for the value.
fn is_prose(Sides { expected, actual, .. }: &Sides) -> bool {
    let first = expected.split(' ').next().unwrap_or_default();
    // `installed here: …`
    let is_participle = first.ends_with("ed") && first.chars().all(|c| c.is_ascii_lowercase());
    let is_predicate = expected.contains(' ') && (is_participle || PREDICATES.contains(&first));
    // The end of a remark in brackets.
    let is_remark = expected.ends_with(')') && !expected.contains('(') && expected.contains(' ');
    let is_sentence = [" to be ", " to have "].iter().any(|verb| expected.contains(verb));
    is_predicate
        || is_sentence
        || is_remark
        || expected == "[- snapshot]"
        || actual == "values"
        || actual.ends_with(" not")
        || actual.starts_with("it throws ")
        || expected.ends_with("but nothing")
        // What a parser waits for.
        || [expected, actual].iter().all(|side| side.chars().all(|c| c.is_ascii_punctuation()))
}

/// What an assertion expected and what it found: as the report gives them, else as the message tells them.
pub fn sides(failure: &Failure) -> Option<(String, String)> {
    if let (Some(expected), Some(actual)) = (&failure.expected, &failure.actual) {
        return Some((expected.clone(), actual.clone()));
    }
    sides_in(&text::clean(&failure.error_message)).map(|sides| (sides.expected, sides.actual))
}

/// Words of lines above a difference, in lower case, and whether its lines with a minus are the expected ones.
const LEGENDS: [(&str, bool); 12] = [
    ("--- expected", true),
    ("--- actual", false),
    ("+ expected - actual", false),
    ("(- actual, + expected)", false),
    ("+ actual - expected", true),
    ("- expected", true),
    ("(-want +got)", true),
    ("(-got +want)", false),
    ("[+ received] == [- snapshot]", true),
    ("-old snapshot", true),
    ("full diff:", true),
    ("diff < left / right >", false),
];

/// `- Expected … + Received` of Jest, Vitest and PHPUnit, `+ expected - actual` of mocha, `(-want +got)` of go-cmp.
fn diff_block(head: &str) -> Option<Sides> {
    let lines: Vec<&str> = head.lines().collect();
    let (start, minus_is_expected) = lines.iter().enumerate().find_map(|(index, line)| {
        let line = line.trim().trim_start_matches("E ").trim_start().to_ascii_lowercase();
        let legend = LEGENDS.iter().find(|(words, _)| line.contains(words))?;
        Some((index, legend.1))
    })?;
    let (mut minus, mut plus) = (Vec::new(), Vec::new());
    for line in lines.iter().skip(start + 1).take(60) {
        let line = line.trim_start();
        let line = line.strip_prefix("E ").map_or(line, str::trim_start);
        // insta numbers the lines of both sides.
        let line = line
            .split_once('│')
            .filter(|(number, _)| number.chars().all(|c| c.is_ascii_digit() || c == ' '))
            .map_or(line, |(_, rest)| rest);
        if line == "+ expected - actual" || line.starts_with("at ") || line.starts_with('❯') {
            break;
        }
        let is_legend = ["--- ", "+++ ", "+ Received", "+new "].iter().any(|start| line.starts_with(start));
        if is_legend {
            continue;
        }
        if let Some(rest) = line.strip_prefix(['-', '<']) {
            minus.push(rest.trim());
        } else if let Some(rest) = line.strip_prefix(['+', '>']) {
            plus.push(rest.trim());
        }
    }
    let (expected, actual) = if minus_is_expected { (minus, plus) } else { (plus, minus) };
    let joined = |side: Vec<&str>| if side.is_empty() { "(nothing)".to_owned() } else { value(&side.join(" ")) };
    (!expected.is_empty() || !actual.is_empty()).then(|| Sides {
        expected: joined(expected),
        actual: joined(actual),
        extent: Extent::Differences,
    })
}

fn value(printed: &str) -> String {
    let printed = text::one_line(printed, MAX_VALUE);
    // uvu marks blanks.
    let unmarked = text::one_line(&printed.replace('·', " "), MAX_VALUE);
    let printed = unmarked.trim().trim_end_matches(',');
    // The end of a sentence; Gomega and luassert write the type in front.
    let printed = printed.strip_suffix('.').filter(|rest| !rest.ends_with('.')).unwrap_or(printed);
    let of_type = |open, close| printed.strip_prefix(open)?.split_once(close);
    let is_type = |(name, _): &(&str, &str)| name.chars().all(|c| c.is_alphanumeric() || "*[]. :".contains(c));
    let typed = of_type("<", ">: ").or_else(|| of_type("(", ") ")).filter(is_type).map(|(_, rest)| rest);
    let printed = typed.unwrap_or(printed);
    let unwrapped = [('`', '`'), ('<', '>')]
        .iter()
        .find_map(|(open, close)| printed.strip_prefix(*open)?.strip_suffix(*close))
        .filter(|inner| !inner.is_empty());
    unwrapped.unwrap_or(printed).to_owned()
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
        ];
        for (text, expected, actual) in cases {
            let found = sides_in(&text::clean(text)).map(|sides| (sides.expected, sides.actual));
            assert_eq!(found, Some((expected.to_owned(), actual.to_owned())), "{text}");
        }
        for text in [
            "connection refused",
            "We expected the binary to be installed here: /x/Cypress",
            "undefined function lins/0 (expected Cart to be imported, but none are available) but got nothing to call)",
            "expected \"spy\" to be called with arguments: [ 'b' ]",
            "expected null not to be null",
            "expected `[1].empty?` to be truthy, got false",
            "ArgumentError expected but nothing was raised.",
            "Expected \"]\" but found \";\"",
            "Expected path: \"a.b\"\nReceived path: \"a\"",
            "expected [ 'a' ] to include 'c'",
            "expected function to throw an error, but it didn't",
            "Refute with < failed\ncode:  refute 1 < 2\nleft:  1\nright: 2",
            "assertion `left != right` failed\n  left: 3\n right: 3",
        ] {
            assert_eq!(sides_in(text), None, "{text}");
        }
    }
}
