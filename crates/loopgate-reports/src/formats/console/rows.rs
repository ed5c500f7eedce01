//! The lines that matter in what tools print: where a failing test's block begins and ends, and the one-line findings
//! of compilers and linters.
//!
//! A row counts within its section, or anywhere. The first row that matches a line and counts there takes it. Groups:
//! `name` of the test, `file`, `line`, `rule`, `level`, `message`; `counts` holds words such as `3 failed, 2 passed`.

use std::sync::LazyLock;

use regex::{Captures, Regex, RegexSet};

/// Whose text it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    Pytest,
    Jest,
    Vitest,
    Mocha,
    NodeTest,
    Playwright,
    Rspec,
    Phpunit,
    JunitConsole,
    Gradle,
    Surefire,
    Ctest,
    Gtest,
    Catch2,
    Minitest,
    ExUnit,
    Jasmine,
    Deno,
    Bun,
    Dotnet,
    Prove,
    Robot,
    Busted,
    Uvu,
    Ava,
    Behave,
    /// Compilers, type checkers, linters and formatters.
    Linter,
    /// Whatever started the tool: nothing of a block goes on past its lines.
    Starter,
}

/// A part of a tool's output in which some rows count that elsewhere do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    /// Blocks of failing tests.
    Failures(Tool),
    /// The names of failing tests.
    List(Tool),
    /// The names of tests that passed at last.
    Flaky(Tool),
    /// Tests, warnings and lists that are no failures.
    Other(Tool),
}

/// What a line means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Means {
    /// A section begins.
    Section(Section),
    /// A block begins; it lasts to the next row of its tool that says something else.
    Block,
    /// Names the test of the open block, or begins one.
    Name,
    /// Names the test of the open block, which is over.
    NamedEnd,
    /// Names the test of the blocks to come.
    Title,
    /// The open block is over, and a failure.
    End,
    /// The open block is over, and its test passed.
    Pass,
    /// What follows is about this file.
    File,
    /// A compiler's or linter's finding; what follows up to an empty line explains it.
    Finding,
    /// How many tests there were; `Counts::add` knows the words.
    Counts,
    /// Where something failed whose test a list names later, with the same message.
    Place,
    /// A failing test's name in a list.
    Listed,
}

pub(super) struct Row {
    pub tool: Tool,
    pub within: Option<Section>,
    pub means: Means,
    pattern: &'static str,
}

const fn row(tool: Tool, means: Means, pattern: &'static str) -> Row {
    Row { tool, within: None, means, pattern }
}

const fn within(section: Section, means: Means, pattern: &'static str) -> Row {
    let tool = match section {
        Section::Failures(tool) | Section::List(tool) | Section::Flaky(tool) | Section::Other(tool) => tool,
    };
    Row { tool, within: Some(section), means, pattern }
}

use Means::{Block, Counts, End, File, Finding, Listed, Name, NamedEnd, Pass, Place, Title};
use Section::{Failures, Flaky, List, Other};
use Tool::{
    Ava, Behave, Bun, Busted, Catch2, Ctest, Deno, Dotnet, ExUnit, Gradle, Gtest, Jasmine, Jest, JunitConsole, Linter,
    Minitest, Mocha, NodeTest, Phpunit, Playwright, Prove, Pytest, Robot, Rspec, Starter, Surefire, Uvu, Vitest,
};

const fn section(section: Section, pattern: &'static str) -> Row {
    let mut row = within(section, Means::Section(section), pattern);
    row.within = None;
    row
}

/// Earlier rows win.
pub(super) const ROWS: &[Row] = &[
    // Its reporter for GitHub tells of a file's tests ahead of the line that names the file.
    row(Jest, File, r"^::group::Errors thrown in (?P<file>\S+)$"),
    row(
        Starter,
        End,
        r"^(?:npm (?:ERR!|error)|error Command failed|\s?ELIFECYCLE|make(?:\[[0-9]+\])?: \*\*\*|##\[|::(?:end)?group|::error|Error: Process completed with)",
    ),
    // pytest
    row(
        Pytest,
        Counts,
        r"^(?:=+ )?(?P<counts>(?:no tests ran|[0-9]+ (?:failed|passed|errors?|skipped|deselected|xfailed|xpassed|warnings?|rerun|subtests (?:passed|failed)))(?:, [0-9]+ [a-z ]+)*) in [0-9.]+s(?: \([0-9:]+\))?(?: =+)?$",
    ),
    section(Failures(Pytest), r"^=+ (?:FAILURES|ERRORS) =+$"),
    section(List(Pytest), r"^=+ short test summary info =+$"),
    section(
        Other(Pytest),
        r"^=+ (?:test session starts|warnings summary|PASSES|XFAILURES|XPASSES|slowest|rerun test summary|tests coverage)\b.* =+$|^!{3,} .+ !{3,}$",
    ),
    within(Failures(Pytest), Block, r"^_+ (?P<name>[^_\s].*?) _+$"),
    // `--tb=line`
    within(Failures(Pytest), Place, r"^(?P<file>(?:[A-Za-z]:)?[^\s:]+\.py):(?P<line>[0-9]+): (?P<message>\S.*)$"),
    within(
        List(Pytest),
        Listed,
        r"^(?:FAILED|ERROR|SUBFAIL(?:ED)?(?:\([^)]*\)|\[[^\]]*\])?) (?P<name>\S.*?)(?: - (?P<message>.*))?$",
    ),
    // Playwright, ahead of mocha, whose blocks are numbered alike
    row(Playwright, Block, r"^  [0-9]+\) (?P<name>(?:\[[^\]]+\] › )?\S+\.[cm]?[jt]sx?:[0-9]+:[0-9]+ › .+?) ?─*$"),
    section(List(Playwright), r"^  (?P<counts>[0-9]+ (?:failed|interrupted|did not run|skipped|passed))(?: \(.+\))?$"),
    section(Flaky(Playwright), r"^  (?P<counts>[0-9]+ flaky)$"),
    within(Flaky(Playwright), Listed, r"^    (?P<name>\S.*?) ?─*$"),
    // Jest
    row(
        Jest,
        File,
        r"^ ?(?:FAIL|PASS)\s+(?:\S+\s+)?(?P<file>\S+\.(?:[cm]?[jt]sx?|vue|svelte))(?: \([0-9.]+ m?s\))?(?: \([0-9.]+ MB heap size\))?$",
    ),
    row(Jest, Block, r"^  ● (?P<name>\S.*)$"),
    row(Jest, Counts, r"^Tests:\s+(?P<counts>[0-9]+ (?:failed|passed|skipped|todo|total)\b.*)$"),
    row(Jest, End, r"^(?:Test Suites: |Snapshot Summary|Summary of all failing tests|Ran all test suites|-+\|-+\|)"),
    // Vitest
    row(Vitest, Block, r"^ FAIL  (?P<name>\S.*)$|^⎯+ (?P<unhandled>Unhandled (?:Error|Rejection|Exception)) ⎯+$"),
    row(Vitest, End, r"^⎯+\[[0-9]+/[0-9]+\]⎯+$|^ Test Files  |^⎯+ (?:Failed (?:Tests|Suites)|Unhandled Errors) "),
    row(Vitest, Counts, r"^\s+Tests  (?P<counts>.+?)(?: \([0-9]+\))?$"),
    // mocha
    row(Mocha, Counts, r"^  (?P<counts>[0-9]+ (?:passing|pending))(?: \(.+\))?$"),
    section(Failures(Mocha), r"^  (?P<counts>[0-9]+ failing)$"),
    within(Failures(Mocha), Block, r"^  [0-9]+\) (?P<name>\S.*)$"),
    // node:test
    section(Failures(NodeTest), r"^✖ failing tests:$"),
    row(NodeTest, Counts, r"^ℹ (?P<counts>(?:pass|fail|cancelled|skipped|todo) [0-9]+)$"),
    within(Failures(NodeTest), Block, r"^test at (?P<file>.+?):(?P<line>[0-9]+):[0-9]+$"),
    within(Failures(NodeTest), Name, r"^✖ (?P<name>.+?)(?: \([0-9.]+ms\))?(?: # .*)?$"),
    // RSpec
    section(Failures(Rspec), r"^Failures:$"),
    section(Other(Rspec), r"^(?:Pending: |Finished in [0-9.]+ )|^Failed examples:$"),
    within(Failures(Rspec), Block, r"^  [0-9]+\) (?P<name>\S.*)$"),
    // hspec, which writes like RSpec, with the place above the name
    within(Failures(Rspec), File, r"^  (?P<file>[^\s:]+\.hs):(?P<line>[0-9]+):[0-9]+:\s*$"),
    row(Rspec, Block, r"^An error occurred while loading (?P<file>\S+?)\.(?: - .*)?$"),
    row(Rspec, End, r"^Run options: "),
    row(
        Rspec,
        Counts,
        r"^(?P<counts>[0-9]+ examples?, [0-9]+ failures?(?:, [0-9]+ pending)?(?:, [0-9]+ errors? occurred outside of examples)?)$",
    ),
    // PHPUnit
    section(Failures(Phpunit), r"^There (?:was|were) [0-9]+ (?:failure|error)s?:$"),
    section(Other(Phpunit), r"^There (?:was|were) [0-9]+ .+:$|^(?:FAILURES|ERRORS|WARNINGS)!$"),
    within(Failures(Phpunit), Means::Section(Other(Phpunit)), r"^--$"),
    within(Failures(Phpunit), Block, r"^[0-9]+\) (?P<name>\S.*)$"),
    // `--testdox`; some versions tell of what failed once more below.
    section(Other(Phpunit), r"^Summary of (?:non-successful tests|tests with .+):$"),
    section(Failures(Phpunit), r"^PHPUnit [0-9.]+ by Sebastian Bergmann"),
    within(Failures(Phpunit), Pass, r"^ [✔↩∅☢⚠] "),
    within(Failures(Phpunit), Block, r"^ ✘ (?P<name>\S.*?)(?: \[[0-9.]+ ms\])?$"),
    row(Phpunit, Counts, r"^(?P<counts>Tests: [0-9]+, Assertions: [0-9]+.*)\.$"),
    row(Phpunit, Counts, r"^OK \((?P<counts>[0-9]+ tests?), [0-9]+ assertions?\)$"),
    // JUnit's console launcher, Gradle, Maven Surefire
    section(Failures(JunitConsole), r"^Failures \([0-9]+\):$"),
    within(Failures(JunitConsole), Block, r"^  (?P<name>\S.*:.*\S)$"),
    row(JunitConsole, End, r"^Test run finished after "),
    row(JunitConsole, Counts, r"^\[\s+(?P<counts>[0-9]+ tests (?:successful|failed|skipped|aborted))\s+\]$"),
    row(Gradle, Block, r"^(?P<name>[A-Za-z_][\w.$]* > \S.*) FAILED$"),
    row(Gradle, End, r"^(?:> Task |FAILURE: Build failed|\S.* > .* (?:PASSED|SKIPPED)$|\* )"),
    row(Gradle, Counts, r"^(?P<counts>[0-9]+ tests? completed, [0-9]+ failed(?:, [0-9]+ skipped)?)$"),
    row(Surefire, Block, r"^\[ERROR\]\s+(?P<name>\S.*?)\s+(?:--\s+)?Time elapsed: .*<<< (?:FAILURE|ERROR)!\s*$"),
    row(
        Surefire,
        Counts,
        r"^\[(?:INFO|ERROR|WARNING)\] (?P<counts>Tests run: [0-9]+, Failures: [0-9]+, Errors: [0-9]+, Skipped: [0-9]+)$",
    ),
    row(Surefire, End, r"^\[(?:INFO|ERROR|WARNING)\](?:\s*$| (?:Tests run|Running|Results|Failures|Errors|BUILD)\b)"),
    // CTest and GoogleTest
    row(
        Ctest,
        Block,
        r"^\s*[0-9]+/[0-9]+ Test\s+#[0-9]+: (?P<name>\S+) [. ]*(?:[A-Z][a-z ]+)?\*\*\*(?P<message>\S.*?)\s+[0-9.]+ sec\s*$",
    ),
    row(Ctest, Counts, r"^[0-9]+% tests passed, (?P<counts>[0-9]+ tests? failed out of [0-9]+)$"),
    row(Ctest, End, r"^\s+Start\s+[0-9]+: |^\s*[0-9]+/[0-9]+ Test\s+#[0-9]+: "),
    section(List(Ctest), r"^The following tests FAILED:$"),
    within(List(Ctest), Listed, r"^\s+[0-9]+ - (?P<name>\S+) \((?P<message>[^)]+)\)"),
    row(Gtest, Block, r"^\[ RUN      \] (?P<name>\S+)$"),
    row(Gtest, Pass, r"^\[       OK \] |^\[  SKIPPED \] "),
    row(Gtest, End, r"^\[  FAILED  \] \S+.* \([0-9]+ ms\)$"),
    section(List(Gtest), r"^\[  (?P<counts>FAILED  \] [0-9]+) tests?, listed below:$"),
    row(Gtest, Counts, r"^\[  (?P<counts>PASSED  \] [0-9]+) tests?\.$"),
    // Catch2
    section(Other(Catch2), r"^-{79}$"),
    section(Failures(Catch2), r"^\.{79}$"),
    within(Other(Catch2), End, r"^\S+:[0-9]+$"),
    within(Other(Catch2), Title, r"^(?P<name>\S.*)$"),
    within(Failures(Catch2), Block, r"^(?P<file>\S.*):(?P<line>[0-9]+): FAILED:$"),
    row(Catch2, Counts, r"^test cases: +(?P<counts>[0-9]+ \|.+)$"),
    row(Catch2, Counts, r"^All tests passed \([0-9]+ assertions? in (?P<counts>[0-9]+ test) cases?\)$"),
    row(Catch2, End, r"^={79}$"),
    // minitest
    section(Failures(Minitest), r"^  [0-9]+\) (?:Failure|Error):$|^# Running:$"),
    section(Other(Minitest), r"^  [0-9]+\) Skipped:$"),
    within(
        Failures(Minitest),
        Block,
        r"^(?P<name>[A-Z]\w*(?:::\w+)*#\S.*?)(?: \[(?P<file>[^\]]+):(?P<line>[0-9]+)\])?:$",
    ),
    row(Minitest, Counts, r"^(?P<counts>[0-9]+ (?:runs|tests), [0-9]+ assertions, [0-9]+ failures, [0-9]+ errors.*)$"),
    row(Minitest, End, r"^(?:bin/rails test |Finished in |rails test )"),
    // ExUnit
    row(ExUnit, Block, r"^ +[0-9]+\) (?:test|doctest|property) (?P<name>\S.*) \([A-Z][\w.]*\)$"),
    row(ExUnit, Block, r"^ +[0-9]+\) (?P<name>[A-Z][\w.]*: failure on setup_all callback), "),
    row(ExUnit, Counts, r"^(?P<counts>(?:[0-9]+ (?:doctests?|propert(?:y|ies)), )*[0-9]+ tests?, [0-9]+ failures?.*)$"),
    row(ExUnit, End, r"^Finished in [0-9.]+ seconds"),
    // Jasmine, whose blocks stand below the words that RSpec's do
    Row { tool: Jasmine, within: Some(Failures(Rspec)), means: Block, pattern: r"^[0-9]+\) (?P<name>\S.*)$" },
    row(Jasmine, Counts, r"^(?P<counts>[0-9]+ specs?, [0-9]+ failures?(?:, [0-9]+ pending specs?)?)$"),
    row(Jasmine, End, r"^(?:Pending:|Incomplete: .*)$"),
    // Deno
    section(Failures(Deno), r"^ ERRORS $"),
    section(Other(Deno), r"^ FAILURES $"),
    within(Failures(Deno), Block, r"^(?P<name>\S.*) => (?P<file>\S+\.[cm]?[jt]sx?):(?P<line>[0-9]+):[0-9]+$"),
    row(Deno, Counts, r"^(?:FAILED|ok) \| (?P<counts>[0-9]+ passed .+)$"),
    // Bun, which names a test below what went wrong
    section(Failures(Bun), r"^bun test v[0-9.]+\b"),
    row(Bun, File, r"^(?P<file>\S+\.[cm]?[jt]sx?):$"),
    within(Failures(Bun), Block, r"^(?P<message>(?:error|[A-Z]\w*(?:Error|Exception)): .+)$"),
    within(Failures(Bun), NamedEnd, r"^\(fail\) (?P<name>\S.*?)(?: \[[0-9.]+m?s\])?$"),
    within(Failures(Bun), Pass, r"^\((?:pass|skip|todo)\) "),
    within(Failures(Bun), Counts, r"^ (?P<counts>[0-9]+ (?:pass|fail|skip|todo|errors?))$"),
    // dotnet test
    row(Dotnet, Block, r"^\s+Failed (?P<name>\S.*?) \[[^\]]*[0-9] ?m?s\]$"),
    row(Dotnet, End, r"^\s+(?:Passed|Skipped) \S.* \[|^Results File: |^Test Run (?:Failed|Successful)\."),
    row(
        Dotnet,
        Counts,
        r"^(?:Failed|Passed|Skipped)!\s+- (?P<counts>Failed:\s+[0-9]+, Passed:\s+[0-9]+, Skipped:\s+[0-9]+, Total:\s+[0-9]+)",
    ),
    // Perl's Test::More under prove
    row(Prove, Block, r"^\s*#   Failed (?:test|subtest) '(?P<name>.+)'$"),
    row(Prove, End, r"^\s*# Looks like |^\S+\.t \.+|^Test Summary Report$"),
    // Robot Framework, whose suites fail with their tests
    row(Robot, Block, r"^(?P<name>\S.*?) +\| FAIL \|$"),
    row(Robot, Pass, r"^[0-9]+ tests?, [0-9]+ passed, [0-9]+ failed"),
    row(Robot, End, r"^[-=]{78}$"),
    row(Busted, Block, r"^(?:Failure|Error) (?:→|->) (?P<file>\S+) @ (?P<line>[0-9]+)$"),
    row(Uvu, Block, r#"^   FAIL  "(?P<name>.+)"$"#),
    row(Uvu, End, r"^  Total: "),
    // AVA, which lists the failing tests ahead of their blocks
    section(Failures(Ava), r"^  [✘✖] \[fail\]: (?P<announced>\S.*)$"),
    within(Failures(Ava), Block, r"^  (?P<name>\S.*)$"),
    within(Failures(Ava), Counts, r"^  (?P<counts>[0-9]+ tests? (?:failed|passed|skipped))$"),
    row(Ava, End, r"^  ─$"),
    // behave, whose scenarios stand above what went wrong in them
    row(Behave, File, r"^  Scenario(?: Outline)?: (?P<name>.*\S)\s+# (?P<file>\S+\.feature):(?P<line>[0-9]+)$"),
    row(Behave, Block, r"^      (?:ASSERT FAILED: |Traceback \(most recent call last\):$)"),
    section(List(Behave), r"^(?:Failing|Errored) scenarios:$"),
    within(List(Behave), Listed, r"^  (?P<file>\S+\.feature):(?P<line>[0-9]+)  (?P<name>\S.*)$"),
    section(Other(Behave), r"^[0-9]+ features? passed, "),
    row(Behave, Counts, r"^(?P<counts>[0-9]+ scenarios? passed, [0-9]+ failed.*)$"),
    // Compilers, type checkers, linters, formatters
    row(
        Linter,
        Finding,
        r"^(?P<file>[^\s(][^(:]*)\((?P<line>[0-9]+),[0-9]+\): (?P<level>error|warning|info) (?P<rule>[A-Z]{1,7}[0-9]+): (?P<message>.+?)(?: \[[^\]]+proj\])?$",
    ),
    row(Linter, Finding, r"^(?P<level>error) (?P<rule>TS[0-9]+): (?P<message>.+)$"),
    row(
        Linter,
        Finding,
        r"^\s*(?P<file>(?:[A-Za-z]:)?[^\s:]+):(?P<line>[0-9]+):[0-9]+ - (?P<level>error|warning)(?: (?P<rule>TS[0-9]+))?: (?P<message>.+?)(?: \((?P<check>report[A-Za-z]+)\))?$",
    ),
    row(Linter, File, r"^(?P<file>(?:/|[A-Za-z]:\\|\.{1,2}/|[A-Za-z0-9_@.-]+[/\\])?[^\s:|]*[^\s:|.]\.[A-Za-z]{1,6})$"),
    row(
        Linter,
        Finding,
        r"^\s+(?P<line>[0-9]+):[0-9]+\s+(?P<level>error|warning|✖|⚠|×)\s+(?P<message>.+?)(?:\s{2,}(?P<rule>[@A-Za-z][A-Za-z0-9@/_-]*))?$",
    ),
    // XO, tsd: the heading names the first finding's line.
    row(Linter, File, r"^  (?P<file>[^\s:]+\.[A-Za-z]{1,6}):[0-9]+:[0-9]+$"),
    row(
        Linter,
        Finding,
        r"^\s+(?P<level>✖|⚠|×)\s+(?P<line>[0-9]+):[0-9]+\s+(?P<message>.+?)(?:\s{2,}(?P<rule>[@A-Za-z][A-Za-z0-9@/_-]*)?)?$",
    ),
    row(
        Linter,
        Finding,
        r"^(?P<file>(?:[A-Za-z]:)?[^\s:]+):(?P<line>[0-9]+):[0-9]+: (?P<rule>[A-Z]{1,4}[0-9]{3,4}|invalid-syntax|SyntaxError):? (?:\[\*\] )?(?P<message>.+)$",
    ),
    row(
        Linter,
        Finding,
        r"^(?P<file>[^\s:]+):(?P<line>[0-9]+):[0-9]+: (?P<level>[CWEFR]): (?:\[[A-Za-z ]+\] )?(?P<rule>[A-Z][A-Za-z]+/[A-Za-z]+): (?P<message>.+)$",
    ),
    row(
        Linter,
        Finding,
        r"^(?P<file>[^\s:]+\.go):(?P<line>[0-9]+):[0-9]+: (?P<message>.+) \((?P<rule>[a-z][a-z0-9]*)\)$",
    ),
    row(
        Linter,
        Finding,
        r"^(?P<file>(?:[A-Za-z]:)?[^\s:]+\.[A-Za-z][A-Za-z0-9+]{0,5}):(?P<line>[0-9]+)(?::[0-9]+)?: (?:fatal )?(?P<level>error|warning): (?P<message>.+?)(?:\s+\[(?P<rule>[a-zA-Z][A-Za-z0-9+=,-]*|-W[^\]]+)\])?$",
    ),
    // RuboCop's simple form
    row(Linter, File, r"^== (?P<file>\S+) ==$"),
    row(
        Linter,
        Finding,
        r"^(?P<level>[CWEFR]): +(?P<line>[0-9]+): +[0-9]+: (?:\[[A-Za-z ]+\] )?(?P<rule>[A-Z][A-Za-z]+/[A-Za-z]+): (?P<message>.+)$",
    ),
    // ShellCheck, PHP_CodeSniffer
    row(Linter, File, r"^In (?P<file>\S+) line (?P<line>[0-9]+):$"),
    row(Linter, Finding, r"^ *\^-*\^?-* (?P<rule>SC[0-9]{4}) \([a-z]+\): (?P<message>.+)$"),
    row(
        Linter,
        Finding,
        r"^(?P<file>[^\s:]+):(?P<line>[0-9]+):[0-9]+: (?P<level>note): (?P<message>.+) \[(?P<rule>SC[0-9]+)\]$",
    ),
    row(Linter, File, r"^FILE: (?P<file>\S.*)$"),
    row(Linter, Finding, r"^ +(?P<line>[0-9]+) \| (?P<level>ERROR|WARNING) +\| (?:\[[x ]\] )?(?P<message>.+)$"),
    row(
        Linter,
        Finding,
        r"^\[(?P<level>ERROR|WARNING)\] (?P<file>(?:[A-Za-z]:)?[^\s:]+):\[(?P<line>[0-9]+),[0-9]+\] (?P<message>.+)$",
    ),
    row(
        Linter,
        Finding,
        r"^(?P<level>[ew]): (?:file://)?(?P<file>(?:[A-Za-z]:)?[^\s:]+\.kts?):? ?\(?(?P<line>[0-9]+)[:,] ?[0-9]+\)?:? (?P<message>.+)$",
    ),
    row(
        Linter,
        Finding,
        r"^(?:\S*ld: )?(?:\S+: )?(?P<file>[^\s:]+\.(?:c|cc|cpp|cxx|m|rs)):(?:(?P<line>[0-9]+)|\(\.[^)]+\)): (?P<message>undefined reference to .+)$",
    ),
    // markdownlint, hadolint; Biome
    row(
        Linter,
        Finding,
        r"^(?P<file>[^\s:]+):(?P<line>[0-9]+)(?::[0-9]+)? (?:(?P<level>error|warning) )?(?P<rule>[A-Z]{1,5}[0-9]{3,4}(?:/[a-z-]+)?) (?P<message>.+)$",
    ),
    row(
        Linter,
        Finding,
        r"^(?P<file>[^\s:]+)(?::(?P<line>[0-9]+):[0-9]+)? (?P<rule>(?:lint|assist|parse|format|organizeImports)\S*) .*━$",
    ),
    // bandit: the place stands further down.
    row(Linter, Finding, r"^>> Issue: \[(?P<rule>B[0-9]+)[^\]]*\] (?P<message>.+)$"),
    // Any other that names a column, but for the notes that explain what stands above
    row(
        Linter,
        Finding,
        r"^ {0,4}(?P<file>[^\s:()]+\.[A-Za-z]\w{0,9}):(?P<line>[0-9]+):[0-9]+: (?P<message>(?:[A-Za-hj-mo-qs-z'`]|n[^o]|r[^e]|i[^n]).*[^:\s])$",
    ),
    // ruff: the place stands on the next line.
    row(
        Linter,
        Finding,
        r"^(?P<rule>[A-Z]{1,4}[0-9]{3,4}|invalid-syntax|SyntaxError):? (?:\[\*\] )?(?:(?P<line>[0-9]+):[0-9]+ )?(?P<message>\S.*)$",
    ),
    row(Linter, Finding, r"^Diff in (?P<file>.+?)(?::| at line )(?P<line>[0-9]+):$"),
    row(Linter, Finding, r"^(?:would reformat|Would reformat:|\[warn\]) (?P<file>\S+\.[A-Za-z]+)$"),
];

struct Table {
    set: RegexSet,
    each: Vec<Regex>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    // Unicode's word boundaries and classes would cost the automaton; tools write their own words in ASCII.
    let patterns: Vec<&str> = ROWS.iter().map(|row| row.pattern).collect();
    let proof = "every pattern is part of the program, and a test compiles it";
    Table {
        set: RegexSet::new(&patterns).expect(proof),
        each: patterns.iter().map(|pattern| Regex::new(pattern).expect(proof)).collect(),
    }
});

/// The rows that match a line and count by `counts`, with what the first of them captures.
pub(super) fn first<'t>(line: &'t str, counts: impl Fn(&Row) -> bool) -> Option<(&'static Row, Captures<'t>)> {
    let at = TABLE.set.matches(line).into_iter().find(|at| counts(&ROWS[*at]))?;
    Some((&ROWS[at], TABLE.each[at].captures(line)?))
}
