//! Added lines that keep a check from saying what it would say.

use std::{
    cell::LazyCell,
    collections::{BTreeMap, BTreeSet},
    ops::Deref,
    sync::LazyLock,
};

use regex::Regex;

use super::{
    Tampering, Way,
    kept::values,
    patch::{Line, Patch},
};
use crate::{
    observed::FileStatus,
    source_files::{SourceLanguage, in_test_folder, is_named_test, is_test, subject},
    verdict::test_syntax::TestSyntax,
};

/// Characters of a mark that are kept.
const KEPT: usize = 60;
/// Statements of tests whose values are known, and names that builds drop: hostile changes are large.
const MOST_TESTED: usize = 1_000;
const MOST_NAMED: usize = 100;
const MOST_MARKS: usize = 10_000;
/// Files that nobody writes by hand, by a part of their path.
const NOT_WRITTEN: [&str; 11] = [
    "node_modules/",
    "vendor/",
    "third_party/",
    "generated/",
    "__generated__/",
    ".generated.",
    ".pb.go",
    "_pb2.py",
    ".g.dart",
    "_pb.ts",
    ".min.js",
];

/// Every mark that a change adds, in the order of its files. A line that only moved, from whichever file, is none.
pub(super) fn of(patches: &[Patch<'_>]) -> Vec<Tampering> {
    let mut found = Vec::new();
    let tested = LazyCell::new(|| tested_values(patches));
    for patch in patches.iter().filter(|patch| !NOT_WRITTEN.iter().any(|part| patch.file.path.contains(part))) {
        let reader = Reader::of(patch, &tested);
        let marked = patch.added.iter().filter_map(|line| Some((patch, *line, reader.mark(*line)?)));
        found.extend(marked.take(MOST_MARKS.saturating_sub(found.len())));
    }
    if found.is_empty() {
        return Vec::new();
    }
    let mut moved: BTreeMap<&str, usize> = BTreeMap::new();
    for line in patches.iter().flat_map(|patch| &patch.removed) {
        *moved.entry(line.text.trim()).or_default() += 1;
    }
    found.retain(|(_, line, _)| match moved.get_mut(line.text.trim()) {
        Some(left @ 1..) => {
            *left -= 1;
            false
        }
        _ => true,
    });
    let told = |(patch, line, (way, marker)): (&Patch<'_>, Line<'_>, (Way, String))| Tampering::Line {
        way,
        path: patch.file.path.clone(),
        line: line.number,
        marker,
    };
    found.into_iter().map(told).collect()
}

/// The values of each three lines of the tests that the change shows, of the first ones.
fn tested_values<'p>(patches: &'p [Patch<'p>]) -> Vec<BTreeSet<&'p str>> {
    let tests = patches.iter().filter(|patch| is_test(&patch.file.path));
    let of_three = |lines: &'p [Line<'p>]| lines.iter().flat_map(|line| values(line.text)).collect();
    tests.flat_map(|patch| patch.new.windows(3).map(of_three)).take(MOST_TESTED).collect()
}

/// Files of tests that a build no longer names, though they stay.
pub(super) fn left_out<'p>(patches: &'p [Patch<'p>]) -> impl Iterator<Item = Tampering> + 'p {
    let tokens = |text: &'p str| text.split(|letter: char| !letter.is_alphanumeric() && !"_-./".contains(letter));
    let stays = move |name: &str| {
        let is_removed =
            |patch: &Patch<'_>| patch.file.status == FileStatus::Removed && patch.file.path.ends_with(name);
        let is_named = |patch: &Patch<'_>| patch.added.iter().any(|line| line.text.contains(name));
        !patches.iter().any(|patch| is_removed(patch) || is_named(patch) || patch.file.previous_path.is_some())
    };
    let builds = patches.iter().filter(|patch| BUILDS.is_match(&patch.file.path));
    builds.flat_map(move |patch| {
        let named = patch.removed.iter().flat_map(move |line| tokens(line.text).map(move |name| (line.number, name)));
        let tests = named.filter(|(_, name)| is_named_test(name)).take(MOST_NAMED);
        tests.filter(move |(_, name)| stays(name)).map(|(line, name)| Tampering::Line {
            way: Way::Skips,
            path: patch.file.path.clone(),
            line,
            marker: shown(name),
        })
    })
}

/// The values that stand together in tests; worked out when somebody asks.
type Tested<'a, 'p> = &'a dyn Deref<Target = Vec<BTreeSet<&'p str>>>;

/// What a file is, which tells what a line in it can mean.
struct Reader<'a, 'p> {
    patch: &'a Patch<'p>,
    tested: Tested<'a, 'p>,
    language: Option<SourceLanguage>,
    syntax: Option<TestSyntax>,
    is_test: bool,
    /// It says which commands and rules check the code.
    configures: bool,
}

impl<'a, 'p> Reader<'a, 'p> {
    fn of(patch: &'a Patch<'p>, tested: Tested<'a, 'p>) -> Self {
        let path = &patch.file.path;
        let name = path.rsplit('/').next().unwrap_or(path);
        let language = SourceLanguage::of(path);
        Self {
            patch,
            tested,
            language,
            syntax: TestSyntax::of(path),
            is_test: is_test(path) || HOOKS.contains(&name) || language.is_some() && in_test_folder(path),
            // A workflow opens the gate of security instead.
            configures: HOOKS.contains(&name) || !path.starts_with(".github/") && CONFIGURES.is_match(name),
        }
    }

    fn mark(&self, line: Line<'p>) -> Option<(Way, String)> {
        let text = line.text;
        let of_language = self.language.is_some();
        let skip = || {
            // Elsewhere the words mean something else: Laravel picks fields with `->only(`, SwiftUI has `.disabled(`.
            let tells = |syntax: &TestSyntax| self.is_test || matches!(syntax, TestSyntax::Rust | TestSyntax::Python);
            let marker = self.syntax.filter(tells)?.skip(text).filter(|_| !self.skips_elsewhere(line))?;
            Some((Way::Skips, marker))
        };
        let mark = |way, word: &Regex| {
            let found = word.find(text)?;
            Some((way, found.as_str().trim().chars().take(KEPT).collect::<String>()))
        };
        skip()
            .or_else(|| {
                of_language.then(|| mark(Way::Silences, &SILENCES)).flatten().filter(|it| !self.expects_error(&it.1))
            })
            .or_else(|| (of_language && !self.is_test).then(|| mark(Way::KnowsTests, &KNOWS_TESTS)).flatten())
            .or_else(|| {
                (of_language && !self.is_test && self.knows_by_heart(line)).then(|| (Way::KnowsTests, shown(text)))
            })
            .or_else(|| self.is_test.then(|| mark(Way::EndsEarly, &EXITS)).flatten())
            .or_else(|| (of_language && self.replaces(line)).then(|| (Way::Replaces, shown(text))))
            .or_else(|| (self.is_test && self.swallows(line)).then(|| (Way::Swallows, shown(text))))
            .or_else(|| self.leaves_a_test(line).then(|| (Way::EndsEarly, shown(text))))
            .or_else(|| (of_language && self.is_followed_in_vain(line)).then(|| (Way::EndsEarly, shown(text))))
            .or_else(|| self.configures.then(|| mark(Way::IgnoresFailures, &IGNORES_FAILURES)).flatten())
            .filter(|(_, marker)| !self.packs(marker))
    }

    /// A test may say that a call does not compile.
    fn expects_error(&self, marker: &str) -> bool {
        self.is_test && marker.ends_with("@ts-expect-error")
    }

    /// A manifest leaves tests out of the package, not out of the runs.
    fn packs(&self, marker: &str) -> bool {
        let manifests = ["pyproject.toml", "setup.cfg", "Cargo.toml", "package.json", "composer.json"];
        marker.starts_with("exclude") && manifests.iter().any(|name| self.patch.file.path.ends_with(name))
    }

    /// Whether a skip depends on where the tests run: on the platform, on a variable, on what is installed.
    fn skips_elsewhere(&self, line: Line<'p>) -> bool {
        let function = || self.patch.above(line).find_map(|above| self.syntax?.function(above));
        // An input out of the domain of a fuzz target is skipped, not its test.
        let fuzzes = || self.syntax == Some(TestSyntax::Go) && function().is_some_and(|name| name.starts_with("Fuzz"));
        if CONDITIONAL.is_match(line.text) && ELSEWHERE.is_match(line.text) || fuzzes() {
            return true;
        }
        let mut above = self.patch.above(line);
        let condition = above.next().filter(|above| STARTS_CONDITION.is_match(above));
        // What is asked may be read in the line before.
        condition.is_some_and(|condition| {
            ELSEWHERE.is_match(condition) || above.next().is_some_and(|it| ELSEWHERE.is_match(it))
        })
    }

    /// Whether a test puts something else in the place of what it is about, by its file's name, or a class is made to
    /// equal anything.
    fn replaces(&self, line: Line<'p>) -> bool {
        if EQUALITY.is_match(line.text) {
            let mut below = self.patch.below(line);
            return below.next().is_some_and(|next| EQUALS_ALL.is_match(next));
        }
        let same = |name: &str| {
            let plain = |text: &str| text.replace('_', "").to_lowercase();
            let name = name.rsplit(['/', '.', ':']).find(|part| !matches!(*part, "js" | "ts" | "jsx" | "tsx" | ""));
            // A variable mostly bears the last word of its class.
            let tested = plain(subject(&self.patch.file.path));
            name.map(plain).is_some_and(|name| name == tested || name.len() > 4 && tested.ends_with(&name))
        };
        let mut replaced = REPLACES
            .captures_iter(line.text)
            .flat_map(|found| found.iter().skip(1).flatten().map(|name| name.as_str()).collect::<Vec<_>>());
        self.is_test && !KEEPS.is_match(line.text) && replaced.any(same)
    }

    /// Whether the line leaves for good, and code at its own depth stands below.
    fn is_followed_in_vain(&self, line: Line<'p>) -> bool {
        if !LEAVES.is_match(line.text) {
            return false;
        }
        let depth = |text: &str| text.len() - text.trim_start().len();
        let above = self.patch.above(line).next();
        let always = above.is_some_and(|above| ALWAYS.is_match(above));
        let mut below = self.patch.below(line);
        always
            || below.next().is_some_and(|next| {
                let begins = next.trim_start();
                depth(next) == depth(line.text)
                    && begins.starts_with(|first: char| first.is_alphabetic() || first == '_')
                    && !CONTINUES.is_match(begins)
            })
    }

    /// Whether a test in Python is left on a condition: nothing is given back, so what stands below was to be done. In Go
    /// that is how tables of cases are written.
    fn leaves_a_test(&self, line: Line<'p>) -> bool {
        let Some(syntax @ TestSyntax::Python) = self.syntax.filter(|_| self.is_test && line.text.trim() == "return")
        else {
            return false;
        };
        self.patch
            .above(line)
            .find(|above| syntax.function(above).is_some())
            .is_some_and(|above| syntax.test(above).is_some())
    }

    /// Whether one input gets its own answer, and a test of this change names both.
    fn knows_by_heart(&self, line: Line<'p>) -> bool {
        let Some(condition) = IS_VALUE.find(line.text) else { return false };
        let rest = &line.text[condition.end()..];
        let answer = ANSWERS.captures(rest).or_else(|| ANSWERS.captures(self.patch.below(line).next()?));
        let Some(answer) = answer.and_then(|found| found.get(1)) else { return false };
        let mut asked: BTreeSet<&str> = values(condition.as_str()).chain(values(answer.as_str())).collect();
        // A recursion's first values are asked for by every test.
        let is_plain = asked.iter().all(|value| matches!(*value, "" | "0" | "1" | "2" | "-1"));
        asked.retain(|value| !value.is_empty());
        asked.len() > 1 && !is_plain && self.tested.iter().any(|tested| asked.is_subset(tested))
    }

    /// Whether what is thrown ends in this line. A test that fails by itself just before asks for what is thrown.
    fn swallows(&self, line: Line<'p>) -> bool {
        let empty = |below: &str| NOTHING.is_match(below);
        let catches = SWALLOWS.is_match(line.text)
            || CATCHES.is_match(line.text) && self.patch.below(line).next().is_some_and(empty);
        catches && !self.patch.above(line).take(3).any(|above| FAILS.is_match(above))
    }
}

fn shown(text: &str) -> String {
    text.trim().chars().take(KEPT).collect()
}

/// A marker that takes a condition.
static CONDITIONAL: Words = LazyLock::new(|| {
    words(r"(?i)(?:skip|run|disabled|enabled|assume|exclude)_?(?:if|unless|on|for|when)|\b(?:if|unless)\b")
});

/// What stands above a skip that depends on something.
static STARTS_CONDITION: Words =
    LazyLock::new(|| words(r"^\s*\}?\s*(?:if|unless|guard|else\s+if|elif|\[\[?|when|#if)\b"));

/// Something of the machine, not of the program.
static ELSEWHERE: Words = LazyLock::new(|| {
    words(
        r"(?i)env|platform|goos|goarch|windows|win32|linux|darwin|mac_?os|nt\b|\bos\b|arch|version|short\(\)|\bci\b|docker|which|installed|available|network|root|uid|locale|canimport|onos|forjre|onjre|postgres|redis|import",
    )
});

/// Something is put in the place of something else, by name.
static REPLACES: Words = LazyLock::new(|| {
    words(
        r#"(?x) \b(?:jest|vi)\.(?:do)?[mM]ock\(\s*['"]([^'"]+) | @(?:Mock|Spy|MockK|SpyK|MockBean)\S*\s+(?:private\s+|lateinit\s+var\s+\w+:\s*)?(\w+)
        | \b(?:mock|spy|mockk|spyk|createMock|createPartialMock|getMockBuilder|Substitute\.For|Mock)\s*[<(]+\s*(\w+) | patch(?:\.object)?\(\s*['"]?([\w.]+)"#,
    )
});

/// Most of what is replaced stays as it was.
static KEEPS: Words =
    LazyLock::new(|| words(r"makePartial|and_call_original|importActual|requireActual|CALLS_REAL_METHODS"));

/// A class says what equals it.
static EQUALITY: Words = LazyLock::new(|| {
    words(
        r"\bdef\s+(?:__eq__|==)|\bboolean\s+equals\s*\(|\bbool\s+(?:Equals\s*\(|operator\s*==)|\bfun\s+equals\s*\(|\bfn\s+eq\s*\(|static\s+func\s*==",
    )
});
static EQUALS_ALL: Words =
    LazyLock::new(|| words(r"^\s*(?:return\s+)?(?:True|true|isinstance\(\w+,\s*[\w()]+\)|\w+\s+is\s+\w+)\s*;?\s*$"));

/// Files that say how tests are run, though they are none.
const HOOKS: [&str; 6] =
    ["conftest.py", "spec_helper.rb", "rails_helper.rb", "test_helper.rb", "jest.setup.js", "jest.setup.ts"];

type Words = LazyLock<Regex>;

fn words(text: &str) -> Regex {
    Regex::new(text).expect("a constant expression")
}

/// Files that list what is compiled.
static BUILDS: Words = LazyLock::new(|| {
    words(
        r"(?:^|/)(?:CMakeLists\.txt|meson\.build|BUILD(?:\.bazel)?|Makefile(?:\.am)?|Package\.swift)$|\.(?:cmake|bzl|mk|pro)$",
    )
});

/// Files of which a line decides what is run and what counts, by name.
static CONFIGURES: Words = LazyLock::new(|| {
    words(
        r"(?x)^(?: package\.json | composer\.json | [Mm]akefile | justfile | Taskfile\.ya?ml | Rakefile | tox\.ini | noxfile\.py
        | pytest\.ini | setup\.cfg | pyproject\.toml | ruff\.toml | mypy\.ini | \.flake8 | \.?pylintrc | \.coveragerc
        | (?:jest|vitest|vite|karma|playwright|cypress|eslint)\.config\.\w+ | \.mocharc\.\w+ | \.eslintrc(?:\.\w+)? | biome\.jsonc?
        | phpunit\.xml(?:\.dist)? | phpstan\.neon(?:\.dist)? | \.rspec | \.rubocop\.yml | \.golangci\.ya?ml | \.swiftlint\.yml
        | detekt\.yml | pom\.xml | build\.gradle(?:\.kts)? | mix\.exs | \.credo\.exs | Cargo\.toml | nextest\.toml
        | Jenkinsfile | \.gitlab-ci\.yml | [\w.-]+\.(?:cs|fs|vb)proj | [\w.-]*(?:test|check|lint|ci|verify|build)[\w.-]*\.sh | \.busted | behave\.ini | build\.sbt | rebar\.config | sonar-project\.properties | codecov\.ya?ml | CMakeLists\.txt | analysis_options\.yaml )$",
    )
});

/// Comments and attributes that silence what reads the code.
static SILENCES: Words = LazyLock::new(|| {
    words(
        r"(?x)
        (?:\#|//|/\*|--|<!--)[^'\x22`]*?(?: \bnoqa\b | \btype:\s*ignore\b | \bpyright:\s*ignore | \bpylint:\s*disable | \bnosec\b | \bNOSONAR\b
            | \bpragma:\s*no\s?cover | \beslint-disable[\w-]* | @ts-(?:ignore|nocheck|expect-error)\b | \bbiome-ignore\b
            | \btslint:disable | \b(?:istanbul|c8|v8)\s+ignore\b | \bnolint\b | \blint:(?:file-)?ignore\b | \brubocop:disable\b
            | :nocov: | @?phpstan-ignore[\w-]* | @?psalm-suppress\b | \bphpcs:(?:ignore|disable)\b | @codeCoverageIgnore\w*
            | \bswiftlint:disable\b | \bNOLINT\w*\b | \bktlint-disable\b | \bshellcheck\s+disable\b | \bcredo:disable[\w-]*
            | \bcoveralls-ignore[\w-]* | \bLCOV_EXCL\w* | \bcppcheck-suppress\b | \bignore(?:_for_file)?:\s*\w+ | \bscalastyle:off\b
            | \bfmt:\s*off\b )
        | \#!?\[(?:allow|expect)\([^)]*\)? | \#!?\[coverage\(off\) | @Suppress(?:Warnings|Lint)?\b\(? | @file:Suppress\b
        | \[(?:assembly:\s*)?(?:SuppressMessage|ExcludeFromCodeCoverage) | \#pragma\s+warning\s+disable
        | \#pragma\s+(?:GCC|clang)\s+diagnostic\s+ignored | @nowarn\b | @dialyzer\b",
    )
});

/// How a program asks whether it is under test.
static KNOWS_TESTS: Words = LazyLock::new(|| {
    words(
        r#"(?x) PYTEST_CURRENT_TEST | PYTEST_VERSION | ['"](?:pytest|unittest)['"]\s+in\s+sys\.modules | JEST_WORKER_ID | VITEST_\w+
        | NODE_ENV\b['"\])]*\s*={2,3}\s*['"]test | ['"]test['"]\s*={2,3}\s*process\.env\.NODE_ENV | process\.env\.VITEST\b
        | \btesting\.Testing\(\) | flag\.Lookup\(\s*"test\. | os\.Args\b.*\.test" | \bRails\.env\.test\? | RACK_ENV['"\])]*\s*==\s*['"]test
        | XCTestConfigurationFilePath | NSClassFromString\("XCTest | \bPHPUNIT_\w+ | runningUnitTests\(\) | \bcfg!\(test\)
        | Mix\.env(?:\(\))?\s*==\s*:test | defined\?\(\s*(?:RSpec|Minitest)\b | \borg\.junit\b.*(?:equals|contains|startsWith)
        | FLUTTER_TEST\b | \bbuiltin\.is_test\b | BATS_\w+ | GTEST_\w*ENV\w*"#,
    )
});

/// A condition that something equals a value: all of it, up to what follows.
static IS_VALUE: Words = LazyLock::new(|| {
    words(
        r#"\b(?:if|elif|elsif|when|guard)\b[^=<>]*(?:={2,3}|\.equals\(|\beq\b|-eq)\s*\(?(?:"[^"]*"|'[^']*'|-?\d[\d.]*)(?:(?:\s*(?:,|&&|and|\|\||or)\s*[^=<>:{]*(?:={2,3})?\s*)(?:"[^"]*"|'[^']*'|-?\d[\d.]*))*"#,
    )
});

/// A value given back, right after a condition.
static ANSWERS: Words = LazyLock::new(|| {
    words(r#"^[\s)\]:{]*(?:then\s+)?(?:return\s*\(?\s*)?("[^"]*"|'[^']*'|-?\d+(?:\.\d+)?)\s*\)?\s*[;}]*\s*$"#)
});

/// Ends of a process, and verdicts overruled.
static EXITS: Words = LazyLock::new(|| {
    words(
        r#"(?x) \b(?:sys\.exit|os\._exit|process\.exit|os\.Exit|System\.exit|Environment\.Exit|process::exit)\s*\(\s*0?\s*\) | ^\s*(?:\w+::|Kernel\.)?exit!?\s*\(?\s*(?:0|true)\b\)? | \berror\.SkipZigTest\b | @test_(?:broken|skip)\b | \bAssert\.Pass\( | ^\s*exit(?:\s+0|\s*\(\s*0?\s*\))?\s*;?\s*$
        | \boutcome\s*=\s*['"]passed | \bexitstatus\s*=\s*0\b"#,
    )
});

/// A line that leaves a function, complete in itself.
static LEAVES: Words = LazyLock::new(|| {
    words(
        r#"^\s*(?:return|throw\s+new\s+SkipException\(\)|raise\s+SystemExit\(0\))(?:\s+(?:[\w.:"'+-]+|\w+\(\w*\)|\(\)))?\s*;?\s*(?:(?:#|//).*)?$"#,
    )
});

/// A condition that always holds.
static ALWAYS: Words = LazyLock::new(|| words(r"^\s*if\s*\(?\s*(?:True|true|1)\s*\)?\s*[:{]?\s*(?:then)?\s*$"));

/// What stands at the depth of a `return` and is reached all the same.
static CONTINUES: Words = LazyLock::new(|| {
    words(
        r"^(?:case|default|when|else|elif|elsif|elseif|end|endif|except|catch|rescue|ensure|finally|fi|done|esac|fun|func|fn|def|function|class|public|private|protected|internal|static|export|async|[\w-]+:(?:\s|$))",
    )
});

/// One line that loses what is thrown.
static SWALLOWS: Words = LazyLock::new(|| {
    words(
        r"(?x) ^\s*except\b(?:[^:]*\b(?:Exception|BaseException|AssertionError)\b[^:]*)?:\s*(?:pass|\.\.\.)\s*$ | \bcatch\s*(?:\([^)]*\))?\s*\{\s*\} | \.catch\(\s*(?:\(\w*\)|\w+|_)\s*=>\s*(?:\{\s*\}|null|undefined)\s*\)
        | \brescue\s+(?:nil|true)\s*$ | \bcontextlib\.suppress\(\s*(?:Exception|AssertionError|BaseException) | ^\s*(?:runCatching|try\?)\s*\{ | ^\s*pcall\s*\( | \bcond\w*\s*=\s*true\b",
    )
});

/// A line below which nothing may follow.
static CATCHES: Words = LazyLock::new(|| {
    words(
        r"^\s*except\b(?:[^:]*\b(?:Exception|BaseException|AssertionError)\b[^:]*)?:\s*(?:#.*)?$|\bcatch\s*(?:\([^)]*\)|\w+)?\s*\{\s*(?://.*)?$|^\s*rescue\b(?:\s+[\w:,\s]+)?(?:\s*=>\s*\w+)?\s*$",
    )
});

/// Nothing is done with what was caught.
static NOTHING: Words = LazyLock::new(|| {
    words(
        r"^\s*(?:pass|\.\.\.|return(?:\s+(?:None|True|true|nil))?;?|continue;?|\}[;,)]*|end|nil|true)\s*(?:(?:#|//).*)?$",
    )
});

static FAILS: Words = LazyLock::new(|| words(r"\b(?:fail|Fail|XCTFail|FAIL|fail!|flunk|markTestFailed)\s*\("));

/// Commands and rules that let pass what fails.
static IGNORES_FAILURES: Words = LazyLock::new(|| {
    words(
        r#"(?x) (?:\|\||;)\s*(?:true|:|exit\s+0)\s*(?:["'&;)]|$) | --passWithNoTests\b | --exit-zero\b | ["']?passWithNoTests["']?\s*:\s*true
        | -D?skipTests\b | <skipTests>true | (?:maven\.)?test\.?[fF]ailure\.?[iI]gnore\W+true | ignoreFailures\s*=\s*true | allow_failure:\s*true
        | (?:--deselect|--ignore(?:-glob)?)[=\s]\S*test | -[km]\s+\\?["']?not\s | testPathIgnorePatterns | collect_ignore | norecursedirs
        | \bexclude\W.*(?:tests?|specs?)\b | --exclude-group\b | <exclude>[^<]*[tT]est | \bexclude_tags\b | --exclude\s+\S*tag | --tag\s+~
        | <Compile\s+Remove= | --reruns\b | \bignore_outcome\s*=\s*[Tt]rue | --skiponfailure | --nostatusrc | --soft-fail\b | catchError\b | exclude-tags | excludeSpecPattern | \b(?:run|open)Mode:\s*[1-9] | \binformational:\s*true | default_retry_count | verbose_retry | \bretries["']?\s*[:=]\s*[1-9] | \bretryTimes\b | :\s*\[?["']off["'] | ["'][@\w/]+-[\w/-]+["']:\s*0\s*,?\s*$ | \bEnabled:\s*false | \bdisable\s*=
        | \b(?:extend-)?(?:per-file-)?ignores?\s*=\s*\S | ignoreErrors: | =\s*["']allow["'] | ignore_errors\s*=\s*[Tt]rue | check_untyped_defs\s*=\s*[Ff]alse"#,
    )
});
