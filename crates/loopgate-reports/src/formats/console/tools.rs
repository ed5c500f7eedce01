//! What tools print for people: one file a tool in `data/console/`, of which this makes one table.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use loopgate_core::expressions::Patterns;
use loopgate_core::{
    evidence::{FindingSeverity, TestFramework},
    source_files::Pattern,
};
use regex::Captures;
use serde::Deserialize;

use crate::severity;

/// Makes the list of files.
macro_rules! files {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("../../../data/console/", $name, ".toml")))),*]
    };
}

/// Earlier files win, and in a file earlier rows: syncpack marks findings as poku its tests, poku and Japa mark tests as Jest its failures, Playwright numbers its blocks as mocha does, and linters write as
/// anyone.
const FILES: &[(&str, &str)] = &files! {
    "syncpack" "poku" "japa" "jest" "pytest" "trial" "zope" "unittest" "playwright" "vitest" "mocha" "node_test" "eunit" "rspec" "phpunit" "junit_console"
    "gradle" "surefire" "ctest" "meson" "gtest" "doctest" "minitest" "test_unit" "cocotb" "exunit" "cucumber" "jasmine" "deno" "bun" "dotnet" "prove" "robot"
    "busted" "uvu" "ava" "behave" "zig" "testthat" "catch2" "knip" "pre_commit" "starters" "linters"
};
const PROOF: &str = "the files are part of the program, and a test reads them";

/// A tool's file: what is particular of its blocks, and the lines that matter.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Tool {
    /// None for what runs no tests.
    pub framework: Option<TestFramework>,
    /// Reads its blocks, where an expression cannot.
    pub reader: Option<BlockReader>,
    /// Its rows count in a block of any tool.
    pub in_every_block: bool,
    /// Its blocks show what another program prints.
    pub shows_output: bool,
    /// Several headings may stand above one text.
    pub shares_text: bool,
    /// It names failing tests ahead of their blocks.
    pub announces: bool,
    /// What a command line that runs it has in it, where such a command must end with the tool's sum once it has begun.
    pub programs: Vec<String>,
    /// The last line, with no end, of a run that was cut off. Others write such lines too.
    pub cut_off: Option<Pattern>,
    /// It prints blocks and sum to two pipes: below what reads both, the sum may stand inside of a block.
    pub two_pipes: bool,
    /// It may report a failure twice.
    pub repeats: bool,
    /// What it counts a file as that cannot be loaded, or that fails outside its tests.
    pub counts_files: Option<FileCount>,
    /// It names a test below all that went wrong in it.
    pub names_below: bool,
    /// The last paragraph of a block names the tests that it is about.
    pub names_last: bool,
    /// What a block says that only sums up the blocks of other tests.
    pub sums: Option<Pattern>,
    /// The line that begins a block is part of what it shows.
    pub has_heading: bool,
    /// What stands between the parts of a name.
    pub parts: Option<String>,
    /// What every line of a block begins with.
    pub margin: Option<Pattern>,
    /// What is no part of a message.
    pub without: Option<Pattern>,
    /// Matched against the name of a block, a line end, and its text. Groups: `name`, `test_file` and `test_line` of
    /// the test; `project` or `badge`, which distinguish tests of one name; `hook`, if it is no test of the tool's sums; `file` and `line` where it failed; `message`; `expected` and `actual`, where the tool prints both
    /// without labels; `text`, if only a part of the block counts.
    pub block: Option<Pattern>,
    row: Vec<RowFields>,
    /// Texts for the test below.
    #[serde(rename = "sample")]
    _sample: serde::de::IgnoredAny,
}

/// What a file that fails counts as in a tool's sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FileCount {
    Error,
    Failure,
}

/// Blocks that only a function can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum BlockReader {
    Pytest,
    Ctest,
    Unittest,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RowFields {
    within: Option<Part>,
    /// The file of the tool whose part that is, if it is another one's.
    of: Option<String>,
    section: Option<Part>,
    means: Option<Means>,
    /// It counts only directly below a line that is a place and nothing else.
    #[serde(default)]
    below_place: bool,
    /// It counts only directly below such a line.
    below: Option<Pattern>,
    /// A finding that is about no file: of a message, of settings.
    #[serde(default)]
    without_place: bool,
    /// Its message is the line above.
    #[serde(default)]
    message_above: bool,
    /// How bad it is, whatever the line says.
    level: Option<String>,
    /// It shows that its tool runs tests, which the tool sums up where the run does not end early.
    #[serde(default)]
    opens: bool,
    pattern: String,
}

/// A part of a tool's output in which some rows count that elsewhere do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Part {
    /// Blocks of failing tests.
    Failures,
    /// The names of failing tests.
    List,
    /// The names of tests that passed at last.
    Flaky,
    /// Tests, warnings and lists that are no failures.
    Other,
}

/// A part of the output of the tool at that place of the table.
pub(super) type Section = (usize, Part);

/// What a line means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Means {
    /// A section begins.
    #[serde(skip)]
    Section(Section),
    /// A block begins; it lasts to the next row of its tool that means something else.
    Block,
    /// A block begins that is no failure.
    Output,
    /// Names the test of the open block, or begins one.
    Name,
    /// Names the test of the open block, which is over. Without one the test failed without a text above its name.
    NamedEnd,
    /// Names the test of the blocks to come.
    Title,
    /// The open block is over, and a failure.
    End,
    /// The open block is over, and its test passed.
    Pass,
    /// The open block is over: it is of an earlier try, and this test passed at last.
    PassAtLast,
    /// The line is no part of anything.
    Aside,
    /// This test passed when it was tried again.
    Flaky,
    /// This test passed, or was skipped or failed, if the groups `skipped` or `failed` are captured.
    Passed,
    /// A test begins that may end in a line below.
    Begun,
    /// The test that has begun ends.
    Ended,
    /// The process may end here, in a test whose stack follows: a failure where nothing sums the run up behind it.
    Dies,
    /// That stack is over.
    StackEnd,
    /// Another program speaks from here on.
    Speaker,
    /// A hook has ended, and what it printed follows: a failure where nothing else in that is one.
    Hook,
    /// What follows is about this file.
    File,
    /// What the next line says stands here.
    Place,
    /// A compiler's or linter's finding; what follows up to an empty line explains it.
    Finding,
    /// How many tests there were; `Counts::add` knows the words.
    Counts,
    /// Its tool ends with an error for the warnings that it told of.
    Strict,
    /// A failing test's name in a list.
    Listed,
}

impl Means {
    /// Whether what the open block shows is no failure.
    pub(super) fn passes(self) -> bool {
        matches!(self, Self::Pass | Self::PassAtLast)
    }
}

/// A line that matters. It counts within its section, or anywhere.
pub(super) struct Row {
    /// Its tool's place in the table.
    pub tool: usize,
    pub within: Option<Section>,
    pub means: Means,
    pub below_place: bool,
    pub below: Option<Pattern>,
    pub without_place: bool,
    pub opens: bool,
    pub message_above: bool,
    pub level: Option<FindingSeverity>,
}

impl RowFields {
    /// Whether a tool shows by such a line that it runs tests, or what they came to.
    fn shows_a_run(&self) -> bool {
        self.opens
            || ["(?P<counts>", "(?P<sum>"]
                .iter()
                .any(|group| self.pattern.contains(group))
    }
}

/// Rows whose lines are looked for together.
struct RowSet {
    patterns: Patterns,
    /// The places of the rows in the table.
    rows: Vec<usize>,
}

impl RowSet {
    fn new(all: &[(usize, &RowFields)], is_in: impl Fn(usize) -> bool) -> Self {
        let rows: Vec<usize> = (0..all.len()).filter(|at| is_in(*at)).collect();
        Self {
            patterns: Patterns::new(rows.iter().map(|at| &all[*at].1.pattern)),
            rows,
        }
    }

    /// The first row that matches and counts, and its place in the table.
    fn first(&self, line: &str, counts: impl Fn(&Row) -> bool) -> Option<(usize, usize)> {
        self.patterns
            .matching(line)
            .into_iter()
            .map(|at| (self.rows[at], at))
            .find(|(row, _)| counts(&TABLE.rows[*row]))
    }
}

struct ToolTable {
    tools: Vec<Tool>,
    rows: Vec<Row>,
    /// The rows that count anywhere, and those that count in one section alone: what those match, most lines do.
    anywhere: RowSet,
    within: HashMap<Section, RowSet>,
}

static TABLE: LazyLock<ToolTable> = LazyLock::new(|| {
    let tools: Vec<Tool> = FILES
        .iter()
        .map(|(_, text)| toml::from_str(text).expect(PROOF))
        .collect();
    let fields: Vec<(usize, &RowFields)> = tools
        .iter()
        .enumerate()
        .flat_map(|(tool, file)| file.row.iter().map(move |row| (tool, row)))
        .collect();
    let row = |(tool, fields): &(usize, &RowFields)| {
        let at = |name: &String| {
            FILES
                .iter()
                .position(|(file, _)| file == name)
                .expect(PROOF)
        };
        let whose = fields.of.as_ref().map_or(*tool, at);
        let section = fields.section.map(|part| Means::Section((*tool, part)));
        Row {
            tool: *tool,
            within: fields.within.map(|part| (whose, part)),
            means: section.or(fields.means).expect(PROOF),
            below_place: fields.below_place,
            below: fields.below.clone(),
            without_place: fields.without_place,
            opens: fields.opens,
            message_above: fields.message_above,
            level: fields.level.as_deref().and_then(severity::of_word),
        }
    };
    let rows: Vec<Row> = fields.iter().map(row).collect();
    let sections: HashSet<Section> = rows.iter().filter_map(|row| row.within).collect();
    let within = sections.into_iter().map(|section| {
        let set = RowSet::new(&fields, |at| rows[at].within == Some(section));
        (section, set)
    });
    ToolTable {
        within: within.collect(),
        anywhere: RowSet::new(&fields, |at| rows[at].within.is_none()),
        rows,
        tools,
    }
});

impl Row {
    pub fn tool(&self) -> &'static Tool {
        tool(self.tool)
    }
}

/// The tool at a place of the table.
pub(super) fn tool(at: usize) -> &'static Tool {
    &TABLE.tools[at]
}

/// Whether the tool at a place of the table shows with lines of its own that it runs tests, or what they came to.
pub(super) fn shows_runs(at: usize) -> bool {
    tool(at).row.iter().any(RowFields::shows_a_run)
}

/// What runs the tools that print such a line while tests run.
pub(super) fn programs_cut_off_at(line: &str) -> impl Iterator<Item = &'static str> {
    let is_its_line = move |tool: &&Tool| {
        tool.cut_off
            .as_ref()
            .is_some_and(|cut_off| cut_off.is_match(line))
    };
    let cut_off = TABLE.tools.iter().filter(is_its_line);
    cut_off.flat_map(|tool| tool.programs.iter().map(String::as_str))
}

/// The section of a tool's failures.
pub(super) fn failures_of(tool: &str) -> Option<Section> {
    let at = FILES.iter().position(|(file, _)| *file == tool)?;
    Some((at, Part::Failures))
}

/// A line that matters, by its row.
pub(super) struct MatchedRow<'t> {
    pub row: &'static Row,
    captures: Captures<'t>,
}

impl MatchedRow<'_> {
    /// What a group of the row's expression captures; empty where it captures nothing.
    pub fn group(&self, name: &str) -> &str {
        self.captures
            .name(name)
            .map_or("", |group| group.as_str().trim())
    }
}

/// The first row that matches a line, and counts by `counts`, of those that count anywhere or in that section.
pub(super) fn first<'t>(
    line: &'t str,
    section: Option<Section>,
    counts: impl Fn(&Row) -> bool,
) -> Option<MatchedRow<'t>> {
    let inner = section.and_then(|section| TABLE.within.get(&section));
    let sets = [Some(&TABLE.anywhere), inner].into_iter().flatten();
    let (row, at, set) = sets
        .filter_map(|set| {
            let (row, at) = set.first(line, &counts)?;
            Some((row, at, set))
        })
        .min_by_key(|(row, ..)| *row)?;
    Some(MatchedRow {
        row: &TABLE.rows[row],
        captures: set.patterns.captures(at, line)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReadOptions, read};

    #[derive(Deserialize)]
    struct Samples {
        sample: Vec<Sample>,
    }

    /// A text and what is to be read in it.
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        text: String,
        /// `name | place | message` of each failure.
        failures: Vec<String>,
    }

    #[test]
    fn each_tool_s_sample_is_read_as_its_file_says() {
        let options = ReadOptions {
            format: Some(loopgate_core::evidence::ReportFormat::Console),
            ..Default::default()
        };
        for (file, text) in FILES {
            let Samples { sample } =
                toml::from_str(text).unwrap_or_else(|error| panic!("{file}: {error}"));
            assert!(!sample.is_empty(), "{file} has no sample");
            for Sample { text, failures } in sample {
                let found: Vec<String> = read("log", text.as_bytes(), &options)
                    .failures
                    .iter()
                    .map(shown)
                    .collect();
                assert_eq!(found, failures, "{file}");
            }
        }
    }

    /// `name | place | message`
    fn shown(failure: &loopgate_core::evidence::Failure) -> String {
        let place = failure.named_place().map(|(file, line)| match line {
            Some(line) => format!("{file}:{line}"),
            None => file.to_owned(),
        });
        let message = failure.error_message.lines().next().unwrap_or_default();
        [
            failure.test_name.clone().unwrap_or_default(),
            place.unwrap_or_default(),
            message.to_owned(),
        ]
        .join(" | ")
    }
}
