//! How tests, their skipping and their assertions are written, by language.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::source_files::SourceLanguage;

/// Languages that write tests alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TestSyntax {
    Rust,
    Python,
    Script,
    Go,
    Jvm,
    DotNet,
    Ruby,
    Shell,
    Php,
    Swift,
    /// C and C++, with GoogleTest, Catch2 and Boost.
    C,
    Elixir,
    Dart,
    Perl,
    Lua,
    R,
    Haskell,
}

/// What is looked for in one line of a language.
struct Words {
    /// A test begins; the first group that matched is its name, where it stands in the same line.
    test: Regex,
    /// A function begins; the first group that matched is its name.
    function: Regex,
    /// Group 1 keeps tests from running.
    skip: Regex,
    assertion: Regex,
}

impl TestSyntax {
    /// By the language of a path.
    pub(super) fn of(path: &str) -> Option<Self> {
        use SourceLanguage as L;
        Some(match SourceLanguage::of(path)? {
            L::Rust => Self::Rust,
            L::Python => Self::Python,
            L::JavaScript | L::TypeScript => Self::Script,
            L::Go => Self::Go,
            L::Java | L::Kotlin | L::Scala | L::Groovy => Self::Jvm,
            L::CSharp | L::FSharp | L::VisualBasic => Self::DotNet,
            L::Ruby => Self::Ruby,
            L::Shell => Self::Shell,
            L::Php => Self::Php,
            L::Swift => Self::Swift,
            L::C | L::Cpp | L::ObjectiveC => Self::C,
            L::Elixir => Self::Elixir,
            L::Dart => Self::Dart,
            L::Perl => Self::Perl,
            L::Lua => Self::Lua,
            L::R => Self::R,
            L::Haskell => Self::Haskell,
            _ => return None,
        })
    }

    /// The name of the test that begins in this line; empty when it stands further down.
    pub(super) fn test(self, line: &str) -> Option<&str> {
        self.words().test.captures(line).map(|found| first_group(&found).unwrap_or_default())
    }

    pub(super) fn function(self, line: &str) -> Option<&str> {
        self.words().function.captures(line).and_then(|found| first_group(&found))
    }

    /// What in this line keeps tests from running.
    pub(super) fn skip(self, line: &str) -> Option<String> {
        let skip = &self.words().skip;
        // Hardly any line does, and asking alone needs no memory.
        let found = skip.is_match(line).then(|| skip.captures(line)).flatten()?;
        Some(found.get(1)?.as_str().trim().chars().take(60).collect())
    }

    pub(super) fn asserts(self, line: &str) -> bool {
        self.words().assertion.is_match(line)
    }

    fn words(self) -> &'static Words {
        static TABLE: LazyLock<[Words; ROWS.len()]> = LazyLock::new(|| {
            ROWS.map(|[test, function, skip, assertion]| {
                let word = |text: &str| Regex::new(text).expect("a constant expression");
                Words { test: word(test), function: word(function), skip: word(skip), assertion: word(assertion) }
            })
        });
        &TABLE[self as usize]
    }
}

fn first_group<'a>(found: &Captures<'a>) -> Option<&'a str> {
    found.iter().skip(1).flatten().next().map(|group| group.as_str())
}

/// In the order of [`TestSyntax`]: test, function, skip, assertion.
const ROWS: [[&str; 4]; 17] = [
    // Rust
    [
        r"^\s*#\[(?:\w+::)*(?:test|rstest|test_case|bench)\b",
        r"\bfn\s+(\w+)",
        r"^\s*(#!?\[(?:ignore\b|cfg\(any\(\)\)|cfg\(FALSE\))[^\]]*\]?|//[/!]\s*```(?:ignore|no_run)\b)",
        r"\b(?:debug_)?assert\w*!|\bshould_panic\b|\bprop_assert",
    ],
    // Python
    [
        r"^\s*(?:async\s+)?def\s+(test\w*)",
        r"\bdef\s+(\w+)",
        r"(@?pytest\.mark\.(?:skip|xfail)\w*|pytest\.(?:skip|xfail|importorskip)\(|@?unittest\.(?:skip|expectedFailure)\w*|self\.skipTest\(|raise\s+(?:unittest\.)?SkipTest|#\s*doctest:\s*\+SKIP)",
        r"^\s*assert\b|\bself\.assert\w+\(|\bself\.fail\w*\(|pytest\.raises\(",
    ],
    // JavaScript and TypeScript
    [
        r#"\b(?:it|test|specify)(?:\.\w+)*\s*\(\s*(?:'([^']*)|"([^"]*)|`([^`]*))"#,
        r"\bfunction\s+(\w+)",
        r"(\b(?:it|test|describe|suite|context)\.(?:skip|todo|only|failing|skipIf|fixme)\b|\b(?:xit|xtest|xdescribe|xcontext|fit|fdescribe)\s*\(|\bthis\.skip\(\)|\{\s*(?:todo|skip)\s*(?::\s*(?:true|['\x22])|\}))",
        r"\bexpect\s*\(|\bassert\b",
    ],
    // Go
    [
        r"^func\s+(?:\([^)]*\)\s*)?((?:Test|Fuzz|Example)\w*)\s*\(",
        r"^func\s+(?:\([^)]*\)\s*)?(\w+)",
        r"(\b[tb]\.(?:Skip|SkipNow|Skipf)\()",
        r"\bt\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\(|\b(?:assert|require)\.\w+\(",
    ],
    // Java, Kotlin, Scala
    [
        r#"^\s*@(?:Test|ParameterizedTest|RepeatedTest)\b|^\s*def\s+"([^"]*)"|^\s*(?:test|it|they)\s*\(\s*"([^"]*)|^\s*"([^"]*)"\s+(?:in|should|must|when)\b|\bit\s+should\s+"([^"]*)"#,
        r"\b(?:void|fun)\s+(?:`([^`]+)|(\w+))",
        r"(@(?:Disabled|Ignore|PendingFeature)\w*|\b(?:assume|cancel|pending)\s*\(|\bignore\s*\(\s*\x22)",
        r"\bassert\w*\s*[({<]|\bverify\s*\(|\bshould\w*\b",
    ],
    // C#, F#
    [
        r"^\s*\[(?:Fact|Theory|Test|TestCase|TestMethod|DataTestMethod)\b",
        r"\b(?:void|Task)\s+(\w+)",
        r"(\[Ignore\b|\bSkip\s*=|Assert\.(?:Ignore|Inconclusive)\()",
        r"\bAssert\.\w+|\.Should\(",
    ],
    // Ruby
    [
        r#"^\s*(?:it|specify|test|scenario)\s*\(?\s*(?:'([^']*)|"([^"]*))|^\s*def\s+(test_\w+)"#,
        r"\bdef\s+(\w+)",
        r#"(^\s*(?:xit|xdescribe|xcontext|skip|pending|fit|fdescribe)\b)"#,
        r"\bexpect\b|\bassert\w*\b|\bshould\b|\b(?:must|wont)_\w+",
    ],
    // Shell, Bats
    [
        r#"^\s*(?:function\s+)?(test\w*)\s*\(\)|^\s*@test\s+['"]"#,
        r"^\s*(?:function\s+)?(\w+)\s*\(\)",
        r"(^\s*skip\b)",
        r"\bassert\w*\b|^\s*\[\[? .* \]\]?|^\s*test\s",
    ],
    // PHP
    [
        r"^\s*(?:public\s+)?function\s+(test\w*)|^\s*(?:#\[Test\]|\*\s*@test\b)|^\s*(?:it|test)\(\s*['\x22]([^'\x22]*)",
        r"\bfunction\s+(\w+)",
        r"(\bmarkTest(?:Skipped|Incomplete)\(|->(?:skip|todo|only)\()",
        r"(?:->|::)assert\w+\(|->expectException|\bexpect\(",
    ],
    // Swift
    [
        r"^\s*(?:override\s+)?func\s+(test\w*)\s*\(|^\s*@Test\b",
        r"\bfunc\s+(\w+)",
        r"(\bXCTSkip\w*|\bXCTExpectFailure|\.disabled\()",
        r"\bXCTAssert\w*|\bXCTFail|#expect\(|#require\(",
    ],
    // C and C++
    [
        r"^\s*(?:TEST(?:_F|_P|_CASE)?|TYPED_TEST|SCENARIO|BOOST_(?:AUTO|FIXTURE)_TEST_CASE)\s*\(\s*\x22?([^)\x22]*)",
        r"^\s*(?:static\s+)?(?:void|int|bool)\s+(\w+)\s*\(",
        r"(\bGTEST_SKIP\(\)|\bDISABLED_\w+|\[!?(?:mayfail|shouldfail)\]|\[\.\]|\bSKIP\(|\bTEST_IGNORE\w*\()",
        r"\b(?:EXPECT|ASSERT)_\w+\(|\b(?:CHECK|REQUIRE)\w*\(|\bBOOST_(?:CHECK|REQUIRE|TEST)\w*|\bTEST_ASSERT\w*|\bRUN_TEST\(|\bassert\s*\(",
    ],
    // Elixir
    [
        r#"^\s*(?:test|property)\s+"([^"]*)"#,
        r"\bdefp?\s+(\w+)",
        r"(@(?:module|describe)?tag\s+:?(?:skip|pending)\b)",
        r"^\s*(?:assert|refute)\w*\b",
    ],
    // Dart
    [
        r#"\b(?:test|testWidgets)\s*\(\s*['"]([^'"]*)"#,
        r"\b(?:void|Future<void>)\s+(\w+)\s*\(",
        r"(\bskip:\s*(?:true|['\x22]\w*)|@Skip\b|\bsolo:\s*true)",
        r"\bexpect\w*\s*\(|\bverify\w*\s*\(",
    ],
    // Perl
    [
        r#"^\s*subtest\s+['"]([^'"]*)|^\s*sub\s+(?:test_\w+)"#,
        r"\bsub\s+(\w+)",
        r"(\bskip_all\b|\bskip\s+['\x22]|\btodo_skip\b|\bTODO:\s*\{|\blocal\s+\$TODO)",
        r"^\s*(?:ok|is|isnt|like|unlike|is_deeply|cmp_ok|can_ok|isa_ok|throws_ok|dies_ok|lives_ok)\b",
    ],
    // Lua
    [
        r#"^\s*(?:it|test)\s*\(\s*['"]([^'"]*)|^\s*function\s+(?:\w+[.:])?test\w*"#,
        r"\bfunction\s+([\w.:]+)",
        r"(\bpending\s*\(|\bxit\s*\()",
        r"\bassert\b|\blu\.assert\w*",
    ],
    // R
    [
        r#"\btest_that\s*\(\s*['"]([^'"]*)"#,
        r"(\w+)\s*<-\s*function",
        r"(^\s*(?:testthat::)?skip(?:_\w+)?\s*\()",
        r"\bexpect_\w+\s*\(",
    ],
    // Haskell
    [
        r#"\b(?:it|prop|testCase|testProperty)\s+"([^"]*)"#,
        r"^(\w+)\s+::",
        r"(\b(?:xit|xdescribe|pending|pendingWith|fit|focus|expectFailBecause|ignoreTest)\b)",
        r"\bshould\w+|`should\w+`|\bassert\w+|@\?=|===",
    ],
];

/// Whether an assertion holds for many values: for what is not nothing, for what is truthy, for what is near, for itself.
///
/// An equality beside it, as in `assertTrue(a == b)`, asserts a value.
pub(super) fn is_loose(line: &str) -> bool {
    static LOOSE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"(?xi) not_?\.?(?:be_?)?(?:null|nil|none|undefined|empty) | is_?not_?(?:null|nil|none|empty|nan) | \bnot\s+(?:nil|null|none)\b | is\s+not\s+none
            | to_?be_?(?:defined|truthy|instance) | be_(?:truthy|present|an?\b|kind) | is_(?:some|ok|instance|a)\b | is_?instance | instance_?of | assert_?(?:true|false|is|ok|bool|in|contains|greater|less|regex|match|almost|not_?equals?)\b | in_?range | _NOFAIL\b | \bSUCCEED\(\) | at\.least\( | to\.exist\b | \+- | \batol\s*= | \bisfinite\b | \s-(?:ge|gt|le|lt|ne|n|z)\s | assert\s+\{[^}]*\b_\b[^}]*\}\s*= | assert\s+%?\{:\w+,\s*_
            | (?:assert|expect|require)_(?:true|false|gt|ge|lt|le|ne|near|that_code)\b | to_?(?:be_?greater|be_?less|contain|match\b|be_?close|have_?property|be_?type) | \b(?:greater|less)_?than
            | \b(?:starts|ends)_?with | contains\( | \.should\(\)\.(?:notbe|beof|contain|match) | any_?args | anything\(\) | \bapprox\( | not_?throw | no_?(?:error|exception) | raises?_nothing
            | ^\s*assert\s+[\w.\[\]()'\x22]+\s*(?:,.*)?$ | ^\s*assert\s+len\([^)]*\)\s*>=?\s*[01] | ^\s*(?:ok|isnt|like|can_ok|isa_ok|lives_ok)\b | \bassert!\([^=]*(?:\.|>|<)",
        )
        .expect("a constant expression")
    });
    (LOOSE.is_match(line) && !line.contains("==")) || is_of_itself(line)
}

/// Whether an assertion asks a thing whether it is itself, or a constant whether it is true.
fn is_of_itself(line: &str) -> bool {
    static CONSTANT: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)\bassert(?:_?true|That|!|_)?\s*\(?\s*true\s*[),]|^\s*assert\s+(?:true|1)\s*$|expect\(\s*true\s*\)|Assert\.True\(\s*true|\b1\s*==\s*1\b")
            .expect("a constant expression")
    });
    static SIDES: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?:assert(?:_eq!|Equals?|_equal|Same)?|AreEqual|Equal|EXPECT_EQ|ASSERT_EQ)\s*\(?\s*([\w.()]+)\s*(?:,|==)\s*([\w.()]+?)\s*\)?;?\s*$|expect\(\s*([\w.]+)\s*\)\.to(?:Be|Equal|StrictEqual)\(\s*([\w.]+)\s*\)")
            .expect("a constant expression")
    });
    let same = |found: Captures<'_>| {
        let side = |at: [usize; 2]| Some((found.get(at[0])?.as_str(), found.get(at[1])?.as_str()));
        side([1, 2]).or_else(|| side([3, 4])).is_some_and(|(one, other)| one == other)
    };
    CONSTANT.is_match(line) || SIDES.captures(line).is_some_and(same)
}
