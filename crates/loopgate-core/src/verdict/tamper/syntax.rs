//! How tests, their skipping and their assertions are written, by language.

use std::sync::LazyLock;

use regex::Regex;

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
}

/// What is looked for in one line of a language.
struct Words {
    /// A test begins; group 1 is its name, where it stands in the same line.
    test: Regex,
    /// A function begins; group 1 is its name.
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
            _ => return None,
        })
    }

    /// The name of the test that begins in this line; empty when it stands further down.
    pub(super) fn test(self, line: &str) -> Option<String> {
        let found = self.words().test.captures(line)?;
        Some(found.get(1).map(|name| name.as_str().to_owned()).unwrap_or_default())
    }

    pub(super) fn function(self, line: &str) -> Option<String> {
        let found = self.words().function.captures(line)?;
        Some(found.get(1)?.as_str().to_owned())
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
        static TABLE: LazyLock<[Words; 8]> = LazyLock::new(|| {
            ROWS.map(|[test, function, skip, assertion]| {
                let word = |text: &str| Regex::new(text).expect("a constant expression");
                Words { test: word(test), function: word(function), skip: word(skip), assertion: word(assertion) }
            })
        });
        &TABLE[self as usize]
    }
}

/// In the order of [`TestSyntax`]: test, function, skip, assertion.
const ROWS: [[&str; 4]; 8] = [
    // Rust
    [
        r"^\s*#\[(?:\w+::)*(?:test|rstest|test_case|bench)\b",
        r"\bfn\s+(\w+)",
        r"^\s*(#!?\[(?:ignore\b|cfg\(any\(\)\)|cfg\(FALSE\))[^\]]*\]?)",
        r"\b(?:debug_)?assert\w*!|\bshould_panic\b|\bprop_assert",
    ],
    // Python
    [
        r"^\s*(?:async\s+)?def\s+(test\w*)",
        r"\bdef\s+(\w+)",
        r"(@?pytest\.mark\.(?:skip|xfail)\w*|pytest\.(?:skip|xfail|importorskip)\(|@?unittest\.(?:skip|expectedFailure)\w*|self\.skipTest\(|raise\s+(?:unittest\.)?SkipTest)",
        r"^\s*assert\b|\bself\.assert\w+\(|\bself\.fail\w*\(|pytest\.raises\(",
    ],
    // JavaScript and TypeScript
    [
        r#"\b(?:it|test)(?:\.\w+)*\s*\(\s*['"`]([^'"`]*)"#,
        r"\bfunction\s+(\w+)",
        r"(\b(?:it|test|describe|suite|context)\.(?:skip|todo|only|failing|skipIf|fixme)\b|\b(?:xit|xtest|xdescribe|xcontext|fit|fdescribe)\s*\()",
        r"\bexpect\s*\(|\bassert\b",
    ],
    // Go
    [
        r"^func\s+((?:Test|Fuzz|Example)\w*)\s*\(",
        r"^func\s+(\w+)",
        r"(\b[tb]\.(?:Skip|SkipNow|Skipf)\()",
        r"\bt\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\(|\b(?:assert|require)\.\w+\(",
    ],
    // Java, Kotlin, Scala
    [
        r"^\s*@(?:Test|ParameterizedTest|RepeatedTest)\b",
        r"\b(?:void|fun)\s+`?(\w+)",
        r"(@(?:Disabled|Ignore)\w*)",
        r"\bassert\w*\s*\(|\bverify\s*\(|\bshould\w*\b",
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
        r#"^\s*(?:it|specify|test)\s+['"]([^'"]*)|^\s*def\s+(?:test_\w+)"#,
        r"\bdef\s+(\w+)",
        r#"(^\s*(?:xit|xdescribe|xcontext|skip|pending|fit|fdescribe)\b)"#,
        r"\bexpect\b|\bassert\w*\b|\bshould\b",
    ],
    // Shell, Bats
    [
        r#"^\s*(?:function\s+)?(test\w*)\s*\(\)|^\s*@test\s+['"]"#,
        r"^\s*(?:function\s+)?(\w+)\s*\(\)",
        r"(^\s*skip\b)",
        r"\bassert\w*\b|^\s*\[\[? .* \]\]?|^\s*test\s",
    ],
];
