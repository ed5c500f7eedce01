//! What tools print for people, read block by block: every failing test and every finding is one failure, and all of
//! its fields come from its own block.
//!
//! One table shows which lines matter and what a tool's block holds ([`tools`]), and one reader follows them. Memory is
//! one block; a line is matched once. Lists and sums at the end show how many failures there are, so that the notes can
//! name what was announced and not found.

mod block;
mod counts;
mod go;
mod guesses;
mod reported;
mod teamcity;
mod tools;

use std::collections::BTreeSet;

use loopgate_core::evidence::{ErrorType, Failure, Finding, SourceLocation, TestState};

pub(super) use self::go::Go;
use self::{
    block::{Block, FailedTest},
    counts::Counts,
    guesses::{Guesses, place_and_message},
    reported::{Listed, MAX_REPORTED, ReportedTests},
    teamcity::TeamCity,
    tools::{BlockReader, FileCount, MatchedRow, Means, Part, Row, Section},
};
use super::{github_annotations, node_crash::NodeCrashes, tap::explained};
use crate::{Case, Clip, Collector, Flaw, Mark, Speaker, numbers, text};

/// A tool shows with its own lines that it begins.
pub(super) const MARK: Mark = Mark::Text {
    own: |line| {
        line.starts_with("=====")
            && line.ends_with("=====")
            && line.contains(" test session starts ")
            || line.starts_with(" RUN  v")
            || line.starts_with("PHPUnit ") && line.contains(" by Sebastian Bergmann")
    },
    common: is_line,
};

/// Annotations remembered, for a text in which nothing else reports a failure.
const MAX_ANNOTATIONS: usize = 200;
/// Bytes of a line that a tool prints for people; longer ones are what a test printed.
const MAX_LINE: usize = 4 * 1024;

pub(super) fn is_line(line: &str) -> bool {
    let is_silent = |row: &Row| {
        matches!(
            row.means,
            Means::File
                | Means::Place
                | Means::Speaker
                | Means::Aside
                | Means::Hook
                | Means::Flaky
                | Means::End
                | Means::Pass
                | Means::PassAtLast
                | Means::Begun
                | Means::Ended
        )
    };
    Go::begins_with(line)
        || line.starts_with("##teamcity[test")
        || tools::first(line, None, |row| !is_silent(row)).is_some()
}

/// Whether only Python's `unittest` writes such a line.
pub(super) fn is_unittest(line: &str) -> bool {
    let is_own = |row: &Row| {
        row.tool().reader == Some(BlockReader::Unittest)
            && matches!(row.means, Means::Counts | Means::Block | Means::Passed)
    };
    let failures = tools::failures_of("unittest");
    tools::first(line, failures, is_own).is_some_and(|found| {
        let name = found.group("name");
        name.is_empty() || name.contains(" (") && name.contains(".") || name.contains("(__main__)")
    })
}

/// Reads lines.
#[derive(Default)]
pub(super) struct Console {
    section: Option<Section>,
    open: Option<Block>,
    /// CTest's block, in which the tests of the program that it started speak.
    around: Option<Block>,
    /// The file that the lines below are about.
    file: Option<(usize, String, Option<u32>)>,
    /// The line above.
    above: String,
    /// Where pytest says in one line that something failed, without a heading (`--tb=line`): what, file and line.
    places: Vec<(String, SourceLocation)>,
    /// The place that is all of the line above.
    place: Option<(String, Option<u32>)>,
    /// The name that stands above a tool's blocks.
    title: Option<(usize, String)>,
    /// What a tool named as failing ahead of its blocks: AVA's tests, with the first words of what is wrong.
    announced: Vec<String>,
    counts: Counts,
    reported: ReportedTests,
    go: Go,
    teamcity: TeamCity,
    /// Where a template is used in which a compiler finds an error: the error's own place is the library's.
    instantiated: Option<String>,
    /// The test that has begun, of a tool that names each in a line.
    begun: Option<String>,
    /// What CTest shows of a test while it runs, with `-V`.
    shown: Option<RunningProgram>,
    /// What Node printed of each file that it could not run to its end.
    crashes: NodeCrashes,
    /// The open block as it was before what Node printed last: the process may have ended there, with no word of the
    /// tool's behind it.
    before_crash: Option<Block>,
    annotations: Vec<Finding>,
    /// The test in which the process ended, if nothing sums the run up behind it.
    dying: Option<Block>,
    /// The hook that failed last.
    hook: Option<Hook>,
    guesses: Guesses,
    bare: BareBlocks,
    /// Warnings fail, by their tool's own word.
    is_strict: bool,
}

/// Blocks that only a line shows which other programs write too (`  ● cart`).
#[derive(Default)]
struct BareBlocks {
    /// Their tools, by the place in the table.
    tools: BTreeSet<usize>,
    failures: u64,
    /// Findings about no file, each of which fails.
    placeless: u64,
    /// The tools that showed in other lines that they run tests, or what these came to.
    shown: BTreeSet<usize>,
}

impl BareBlocks {
    /// How many failures they are, where their tools show their runs and showed none; and the findings about no file.
    fn doubtful(&self) -> u64 {
        let is_silent = |tool: &usize| tools::shows_runs(*tool) && !self.shown.contains(tool);
        let blocks = match self.tools.iter().all(is_silent) {
            true => self.failures,
            false => 0,
        };
        blocks + self.placeless
    }
}

/// A hook that failed, and what it printed.
struct Hook {
    name: String,
    text: Clip,
    /// What had failed before it.
    failed: u64,
}

/// The lines of a test that CTest shows with its number in front, ahead of how it ended.
struct RunningProgram {
    /// `9: `
    mark: String,
    text: Clip,
    /// Failures that were reported before it.
    found: u64,
}

impl Console {
    /// Whether nothing is open that a further line could belong to.
    pub fn is_idle(&self) -> bool {
        self.open.is_none() && self.around.is_none()
    }

    /// The errors that Node printed and nothing caught.
    pub(super) const fn crashes(&self) -> &NodeCrashes {
        &self.crashes
    }

    pub fn end(mut self, out: &mut Collector) {
        let crash = self.take_last_crash();
        self.close(out);
        if let Some(crash) = crash {
            out.problem(|| text::failure(Failure::default(), "", &crash));
        }
        self.end_dying(out);
        self.close_around(out);
        self.end_hook(out);
        self.go.end(out);
        if self.is_strict {
            out.fail_for_warnings();
        }
        if out.holds_nothing() {
            for finding in std::mem::take(&mut self.guesses).into_findings() {
                out.lint(finding);
            }
        }
        if out.holds_nothing() {
            self.annotations
                .into_iter()
                .for_each(|finding| github_annotations::report(finding, out));
        }
        let is_summed = self.counts.count_rest(out) || self.teamcity.count_rest(out);
        if let Some((passed, skipped)) = self.counts.closing() {
            out.run.close(passed, skipped);
        }
        if !is_summed {
            for tool in &self.counts.opened {
                out.run.end_early(&tools::tool(*tool).programs);
            }
        }
        out.run.doubt(self.bare.doubtful());
        if !is_summed && (!self.reported.is_empty() || self.counts.unsummed > 0) {
            out.notes.flaw(Flaw::NO_END, || "the run is not summed up");
        }
    }

    /// Takes a cleaned line.
    pub fn line(&mut self, line: &str, out: &mut Collector) {
        self.take(line, out);
        self.above.clear();
        if line.len() <= MAX_LINE {
            self.above.push_str(line);
        }
    }

    fn take(&mut self, line: &str, out: &mut Collector) {
        if self.annotations.len() < MAX_ANNOTATIONS {
            self.annotations
                .extend(github_annotations::annotation(line));
        }
        if line.len() > MAX_LINE {
            return self.plain(line, out);
        }
        let line = match self
            .shown
            .as_mut()
            .and_then(|shown| Some((line.strip_prefix(&shown.mark)?, shown)))
        {
            Some((rest, shown)) => {
                shown.text.push_line(rest);
                rest
            }
            None => line,
        };
        // A linter's rows may know its lines too: `SyntaxError: …`.
        self.crashes.goes_on(line);
        if line.starts_with("##teamcity[")
            && let Some(failed) = self.teamcity.line(line, out)
        {
            self.counts.failures_found += failed;
            return self.close(out);
        }
        if self.open.is_none() && self.go.line(line, out) {
            return;
        }
        let Some(found) = tools::first(line, self.section, |row| self.counts_here(row, line))
        else {
            self.place = None;
            if !line.trim().is_empty() {
                self.counts.interrupt();
            }
            return self.plain(line, out);
        };
        let row = found.row;
        let place = self.place.take();
        // The row names a test of the open block, instead of beginning another: its name stands below its place, or one
        // text belongs to several tests.
        let is_name = |open: &&mut Block| match row.means {
            _ if open.tool != row.tool || open.is_over => false,
            Means::Name => open.lines == 0 && open.names.is_empty(),
            Means::Block => open.lines == 0 && row.tool().shares_text,
            _ => row.means == Means::NamedEnd,
        };
        if row.opens {
            self.counts.opened.insert(row.tool);
        }
        if row.means == Means::Aside {
            return;
        }
        if let Some(open) = self.open.as_mut().filter(is_name) {
            open.name(found.group("name"));
            if row.means == Means::NamedEnd {
                self.close(out);
            }
            return;
        }
        match &mut self.open {
            // Another error of the test that is named below both.
            Some(open)
                if row.means == Means::Block
                    && row.tool().names_below
                    && open.tool == row.tool
                    && !open.is_over
                    && open.names.is_empty() =>
            {
                return open.push(line);
            }
            Some(open) if row.means == Means::Place && open.lacks_place() => {
                return open.push(line);
            }
            Some(open) if row.means.passes() && open.tool == row.tool && !open.is_over => {
                self.open = None;
            }
            Some(open)
                if row.means == Means::Counts && open.tool == row.tool && row.tool().two_pipes =>
            {
                open.sum_up();
            }
            Some(open) if is_ctest(open.tool) && !is_ctest(row.tool) => {
                self.around = self.open.take();
            }
            _ => self.close(out),
        }
        if is_ctest(row.tool) {
            self.close_around(out);
        }
        if let Some((file, line)) = place.filter(|_| row.below_place) {
            self.file = Some((row.tool, file, line));
        }
        self.found(&found, line, out);
    }

    /// What a line says of the run as a whole: that it begins, how many tests there were, and which of them passed.
    fn take_counts(&mut self, found: &MatchedRow<'_>, out: &mut Collector) {
        let (row, group) = (found.row, |name: &str| {
            Some(found.group(name)).filter(|text| !text.is_empty())
        });
        let (counts, sum) = (group("counts"), group("sum"));
        let is_count = counts.or(sum).is_some();
        if row.opens || is_count {
            self.bare.shown.insert(row.tool);
        }
        if let Some(counts) = counts {
            self.counts.add(counts);
        }
        if row.opens {
            self.end_dying(out);
        }
        if row.means == Means::Counts {
            if row.tool().names_last || row.tool().reader == Some(BlockReader::Unittest) {
                self.reported.clear();
            }
            self.dying.take_if(|dying| dying.tool == row.tool);
            if let Some(skipped) = group("skipped") {
                self.counts.skip(skipped);
            }
        }
        if !is_count {
            self.counts.interrupt();
        }
        if let Some(sum) = sum {
            self.counts.sum_up(sum);
        }
        if is_count {
            self.framework(row.tool, out);
            out.expect_tests();
        }
    }

    /// A line that matters, behind the block that was open.
    fn found(&mut self, found: &MatchedRow<'_>, line: &str, out: &mut Collector) {
        let (row, group) = (found.row, |name: &str| {
            Some(found.group(name)).filter(|text| !text.is_empty())
        });
        self.take_counts(found, out);
        if self.announced.len() < MAX_REPORTED {
            self.announced.extend(group("announced").map(str::to_owned));
        }
        match row.means {
            Means::Section(section) => {
                if section.1 == Part::Other && self.section != Some(section) {
                    self.title = None;
                }
                self.section = Some(section);
                if let Some(file) = group("file") {
                    self.file = Some((row.tool, text::path(file), None));
                }
                let title = group("name").map(|name| (row.tool, name.to_owned()));
                self.title = title.or_else(|| self.title.take());
            }
            // Why it failed stands below the name, where nothing stands above it.
            Means::Block
            | Means::Output
            | Means::Name
            | Means::NamedEnd
            | Means::Finding
            | Means::Dies => {
                self.begin(found, line);
            }
            // The first line is the test, the others its sections.
            Means::Title => {
                self.title = self
                    .title
                    .take()
                    .or(Some((row.tool, found.group("name").to_owned())))
            }
            Means::File => {
                let scenario = group("name").map(|name| (row.tool, name.to_owned()));
                self.title = scenario.or_else(|| self.title.take());
                self.file = group("file").map(|file| {
                    (
                        row.tool,
                        text::path(file),
                        numbers::line(found.group("line")),
                    )
                });
            }
            Means::Speaker => {
                (self.section, self.file, self.title) = (None, None, None);
                self.announced.clear();
                out.speaker = Speaker {
                    directory: group("directory").map(text::path),
                };
            }
            Means::Hook => {
                self.end_hook(out);
                (self.section, self.file, self.title) = (None, None, None);
                self.hook = group("failed").and(group("name")).map(|name| Hook {
                    name: name.to_owned(),
                    text: Clip::default(),
                    failed: out.failed(),
                });
            }
            Means::Place => {
                self.place = Some((
                    text::path(found.group("file")),
                    numbers::line(found.group("line")),
                ))
            }
            Means::Listed => self.listed(found, out),
            Means::Begun => self.begun = group("name").map(str::to_owned),
            Means::Passed | Means::Ended => {
                let begun = self.begun.take();
                // A failing test has its own block further down.
                let name = group("name")
                    .map(str::to_owned)
                    .or(begun)
                    .filter(|_| group("failed").is_none());
                let state = if group("skipped").is_some() {
                    TestState::Skipped
                } else {
                    TestState::Passed
                };
                if let Some((class, method)) = name.as_deref().map(block::of_unittest) {
                    self.counts.unsummed += 1;
                    self.framework(row.tool, out);
                    out.case(Case::new(&class, &method, state), Failure::default);
                }
            }
            Means::End if !found.group("number").is_empty() => {
                let mark = format!("{}: ", found.group("number"));
                self.shown = Some(RunningProgram {
                    mark,
                    text: Clip::default(),
                    found: self.counts.failures_found,
                });
            }
            Means::Flaky | Means::PassAtLast => {
                if let Some(name) = group("name") {
                    let file = self.file.as_ref().filter(|(tool, ..)| *tool == row.tool);
                    let file = file.map_or("", |(_, file, _)| file.as_str());
                    self.counts.flaky_found += 1;
                    out.case(
                        Case::in_file(file, name, TestState::Flaky),
                        Failure::default,
                    );
                }
            }
            Means::Strict => self.is_strict = true,
            Means::Counts | Means::End | Means::Pass | Means::Aside | Means::StackEnd => {}
        }
    }

    /// A block goes on past other tools' lines, since a test may print anything; a finding does not.
    fn counts_here(&self, row: &Row, line: &str) -> bool {
        let is_in_section = row.within.is_none() || row.within == self.section;
        let is_meant = match &self.open {
            Some(open) if !open.is_finding && !open.is_summed() => {
                // CTest starts programs, whose blocks are over where it goes on.
                let is_around = is_ctest(row.tool) && open.tool().shows_output;
                let is_inside = is_ctest(open.tool)
                    && row.tool().shows_output
                    && matches!(row.means, Means::Section(_) | Means::Block);
                let is_its_tool = row.tool == open.tool || row.tool().in_every_block;
                is_its_tool
                    || is_around
                    || is_inside
                    || matches!(row.means, Means::Section((_, Part::Failures)))
            }
            _ => true,
        };
        let is_dying = self.open.as_ref().map(|open| open.is_dying);
        let is_apart = match row.means {
            Means::Dies => is_dying != Some(false),
            Means::StackEnd => is_dying == Some(true),
            Means::Ended => self.begun.is_some(),
            _ => true,
        } && (!row.below_place || self.place.is_some())
            && row
                .below
                .as_ref()
                .is_none_or(|below| below.is_match(&self.above));
        let is_announced = || {
            let begins = |known: &String| {
                known
                    .strip_prefix(line.trim())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
            };
            !(row.tool().announces && row.means == Means::Block)
                || self.announced.iter().any(begins)
        };
        is_in_section && is_meant && is_apart && is_announced()
    }

    fn begin(&mut self, found: &MatchedRow<'_>, line: &str) {
        let row = found.row;
        let of_tool = self.file.as_ref().filter(|(tool, ..)| *tool == row.tool);
        let place = of_tool.map_or(("", None), |(_, file, line)| (file.as_str(), *line));
        let mut block = Block::new(found, line, place);
        if let Some((_, title)) = self.title.as_ref().filter(|(tool, _)| *tool == row.tool) {
            block.name(title);
        }
        if let Some(instantiated) = self.instantiated.take().filter(|_| block.is_finding) {
            block.push(&instantiated);
        }
        block.found = self.counts.failures_found;
        if row.message_above {
            block.say(&self.above);
        }
        if let Some(shown) = self.shown.take_if(|_| is_ctest(row.tool)) {
            block.found = shown.found;
            shown.text.text().lines().for_each(|line| block.push(line));
        }
        self.open = Some(block);
    }

    /// What a hook that failed printed is over.
    fn end_hook(&mut self, out: &mut Collector) {
        let Some(hook) = self.hook.take().filter(|hook| out.failed() == hook.failed) else {
            return;
        };
        let text = hook.text.text();
        let said = |line: &&str| {
            !line.trim().is_empty()
                && ["- hook id: ", "- exit code: ", "- duration: "]
                    .iter()
                    .all(|start| !line.starts_with(start))
        };
        let first = text.lines().find(said).unwrap_or("the hook failed");
        let first = first.trim().trim_start_matches("- ");
        out.problem(|| Failure {
            stack_trace: Some(text.trim().to_owned()),
            ..Failure::of(ErrorType::LintError, format!("{}: {first}", hook.name))
        });
    }

    /// A line that shows nothing by itself.
    fn plain(&mut self, line: &str, out: &mut Collector) {
        if let Some(hook) = &mut self.hook {
            hook.text.push_line(line);
        }
        if self.open.is_none() {
            self.guesses.line(line);
            let is_failure = matches!(self.section, Some((tool, Part::Failures))
                if tools::tool(tool).reader == Some(BlockReader::Pytest));
            if is_failure
                && self.places.len() < MAX_ANNOTATIONS
                && let Some((place, message)) = place_and_message(line)
            {
                self.places.push((message.to_owned(), place));
            }
        }
        if line.ends_with(":   required from here") {
            self.instantiated = Some(line.to_owned());
        }
        match &mut self.open {
            Some(open) if open.is_finding && !open.goes_on(line) => self.close(out),
            Some(open) => {
                if self.crashes.begin(line) && !open.is_finding {
                    self.before_crash = Some(open.clone());
                }
                open.push(line);
            }
            None if self.around.is_some() => {
                if let Some(around) = &mut self.around {
                    around.push(line);
                }
            }
            None if self.shown.is_some() => {
                if let Some(shown) = &mut self.shown {
                    shown.text.push_line(line);
                }
            }
            None => {
                self.crashes.begin(line);
            }
        }
    }

    /// CTest goes on to its next program.
    fn close_around(&mut self, out: &mut Collector) {
        if let Some(around) = self.around.take() {
            self.open = Some(around);
            self.close(out);
        }
    }

    /// The error by which the process ended in the midst of the open block, which is not about it.
    fn take_last_crash(&mut self) -> Option<String> {
        let block = self.before_crash.take()?;
        let crash = self.crashes.ended()?;
        self.open = Some(block);
        Some(crash.trim().to_owned())
    }

    /// The open block is over.
    fn close(&mut self, out: &mut Collector) {
        self.before_crash = None;
        let Some(block) = self.open.take() else {
            return;
        };
        if block.is_output {
            if let Some(name) = block.skipped_and_failed() {
                out.notes.flaw(Flaw::SKIPPED_FAILURE, || name);
            }
            return;
        }
        if block.is_finding {
            // A container's build quotes the step that failed, and two tasks may check one file.
            if let Some((finding, error_type, trace)) = block.finding()
                && out.is_new(finding.location.as_ref(), &finding.rule, &finding.message)
            {
                let is_placeless = finding.location.is_none() && error_type.is_some();
                self.bare.placeless += u64::from(is_placeless);
                out.diagnostic(finding, error_type, Some(trace));
            }
            return;
        }
        if block.is_dying {
            self.dying = Some(block).filter(Block::may_be_last_word);
            return;
        }
        self.fail(block, out);
    }

    /// The process ended in that test.
    fn end_dying(&mut self, out: &mut Collector) {
        let Some(block) = self.dying.take() else {
            return;
        };
        if block.says_why() {
            return self.fail(block, out);
        }
        self.framework(block.tool, out);
        if let Some(test) = block.failures(true).into_iter().next() {
            out.run.end_in(test.failure);
        }
    }

    /// Reports the failing tests of a block.
    fn fail(&mut self, block: Block, out: &mut Collector) {
        let tool = block.tool;
        // The failures that the program's own tests reported are more exact, and it is not counted as another one.
        if is_ctest(tool) && self.counts.failures_found > block.found {
            self.counts.reported_inside += 1;
            return block
                .failures(false)
                .into_iter()
                .for_each(|test| self.reported.remember(&test.file, &test.name));
        }
        self.framework(tool, out);
        let is_bare = block.is_bare;
        let tests = block.failures(out.wants_failures());
        if is_bare {
            self.bare.tools.insert(tool);
            self.bare.failures += tests.len() as u64;
        } else {
            self.bare.shown.insert(tool);
        }
        for test in tests {
            self.report(tool, test, out);
        }
    }

    fn report(&mut self, at: usize, test: FailedTest, out: &mut Collector) {
        let (
            tool,
            FailedTest {
                file,
                class,
                name,
                is_error,
                is_hook,
                mut failure,
            },
        ) = (tools::tool(at), test);
        failure = explained(failure, &file, self.crashes.texts());
        let sums = tool.sums.as_ref();
        if sums.is_some_and(|sums| sums.is_match(&failure.error_message)) {
            return;
        }
        // It began, and nothing else is there of it.
        let says_nothing = failure.error_message.is_empty() && failure.error_class.is_none();
        if says_nothing && !name.is_empty() {
            failure.error_message = "the test failed".to_owned();
        }
        // Tests of one name in one file are apart if their projects are.
        let is_unittest = tool.reader == Some(BlockReader::Unittest);
        let key = match class.is_empty() || tool.reader.is_some() && !is_unittest {
            true => name.clone(),
            false => format!("{class}\n{name}"),
        };
        if tool.repeats && !name.is_empty() && self.reported.is_reported(&file, &key) {
            return;
        }
        // What is named whole is one test, however often it fails in a run.
        let is_whole = tool.names_last || is_unittest;
        let is_again = is_whole && !name.is_empty() && self.reported.is_reported(&file, &key);
        self.reported.remember(&file, &key);
        let is_file = name.is_empty();
        let is_error = is_error || is_file && tool.counts_files == Some(FileCount::Error);
        let state = if is_error {
            TestState::Errored
        } else {
            TestState::Failed
        };
        let found = if is_error {
            &mut self.counts.errors_found
        } else {
            &mut self.counts.failures_found
        };
        if is_file || is_hook {
            // It is no test, but some count it.
            out.problem(|| failure);
            if !is_hook && (is_error || tool.counts_files == Some(FileCount::Failure)) {
                *found += 1;
                out.anonymous_cases(state, 1);
            }
            return;
        }
        *found += 1;
        if is_again {
            return out.problem(|| failure);
        }
        out.case(
            Case {
                class: &class,
                ..Case::in_file(&file, &name, state)
            },
            || failure,
        );
        self.counts.unsummed += u64::from(is_unittest);
    }

    /// A test in a list: one that passed when it was tried again, or one that has no block.
    fn listed(&mut self, found: &MatchedRow<'_>, out: &mut Collector) {
        let (tool, group) = (found.row.tool, |name: &str| found.group(name));
        if matches!(self.section, Some((_, Part::Flaky))) {
            for FailedTest { file, name, .. } in Block::new(found, "", ("", None)).failures(false) {
                self.framework(tool, out);
                self.counts.failures_found = self.counts.failures_found.saturating_sub(1);
                out.case(
                    Case::in_file(&file, &name, TestState::Passed),
                    Failure::default,
                );
            }
            return;
        }
        let is_of_file = |(file, _): &(&str, &str)| text::looks_like_path(file);
        let (file, name) = match group("name").split_once("::").filter(is_of_file) {
            Some((file, name)) => (text::path(file), with_dots(name)),
            None if found.row.tool().reader == Some(BlockReader::Pytest) => {
                (text::path(group("name")), String::new())
            }
            None => (String::new(), group("name").to_owned()),
        };
        let name = match group("subtest") {
            "" => name,
            subtest => format!("{name} {subtest}"),
        };
        let block = match self.reported.of_block(&file, &name) {
            // Its block may not say in which file it is.
            Listed::Known => return out.place_test(&name, &file),
            Listed::Again => out.failure_of(&name),
            Listed::New => None,
        };
        let failure = match block {
            Some(block) => Failure {
                test_file: Some(file.clone()),
                line_number: None,
                ..block
            },
            None => self.told_by_list(found, &file, &name),
        };
        self.report(
            tool,
            FailedTest {
                file,
                class: String::new(),
                name,
                is_error: false,
                is_hook: false,
                failure,
            },
            out,
        );
    }

    /// What a line of a list shows of a failure.
    fn told_by_list(&self, found: &MatchedRow<'_>, file: &str, name: &str) -> Failure {
        let known = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let message = known(found.group("message"));
        // pytest may have said where, in a line of its own.
        let place = self
            .places
            .iter()
            .find(|(said, _)| message.as_ref() == Some(said))
            .map(|(_, place)| place.clone());
        let own = || {
            let line = numbers::line(found.group("line"));
            known(found.group("file")).map(|file| text::location(&file, line))
        };
        Failure {
            test_name: known(&text::name(name)),
            test_file: known(file),
            error_message: text::name(message.as_deref().unwrap_or("the test failed")),
            source: place.or_else(own),
            ..Failure::default()
        }
    }

    fn framework(&self, tool: usize, out: &mut Collector) {
        out.framework = out.framework.or(tools::tool(tool).framework);
    }
}

/// `TestCart::test_parse[a::b]` as its block is headed: what stands in brackets is a parameter.
fn with_dots(name: &str) -> String {
    let (test, parameter) = name.split_at(name.find('[').unwrap_or(name.len()));
    test.replace("::", ".") + parameter
}

/// What runs the tools that print such a line, with no end yet, while tests run.
pub(crate) fn programs_cut_off_at(line: &str) -> Vec<&'static str> {
    tools::programs_cut_off_at(line).collect()
}

/// Whether a line of a text says that its tool fails for warnings alone.
pub fn fails_for_warnings(text: &str) -> bool {
    let is_strict = |line| tools::first(line, None, |row| row.means == Means::Strict).is_some();
    text.lines().any(is_strict)
}

/// CTest starts programs, which may have tests of their own.
fn is_ctest(tool: usize) -> bool {
    tools::tool(tool).reader == Some(BlockReader::Ctest)
}

#[cfg(test)]
mod tests {
    use crate::{ReadOptions, read};

    #[test]
    fn a_file_that_node_cannot_load_is_reported_by_what_node_said() {
        let log = "/home/runner/work/s/s/a.test.js:3\nconst = 3;\n      ^\n\nSyntaxError: Unexpected token '='\n    \
                   at wrapSafe (node:internal/modules/cjs/loader:1:1)\n\nNode.js v22.1.0\n✖ failing tests:\n\n\
                   test at a.test.js:1:1\n✖ a.test.js (10ms)\n  'test failed'\n";
        let failures = read("node", log.as_bytes(), &ReadOptions::default()).failures;
        let failure = failures.first().expect("it is told");
        assert_eq!(failure.error_message, "Unexpected token '='");
        assert_eq!(
            failure.source.as_ref().and_then(|source| source.line),
            Some(3)
        );
    }

    #[test]
    fn a_text_that_ends_in_a_test_names_it_and_fails_nothing_by_itself() {
        let of = |lines: &str| {
            let log = format!(
                "{} test session starts {}\n{lines}",
                "=".repeat(29),
                "=".repeat(30)
            );
            let read = read("test", log.as_bytes(), &ReadOptions::default());
            assert_eq!(read.failures, []);
            let unended = read
                .unended
                .map(|it| (it.test_name, it.test_file, it.error_message));
            unended.map(|(name, file, message)| {
                [name, file, Some(message)].map(Option::unwrap_or_default)
            })
        };
        let named = "test_a.py::T::test_ok PASSED       [ 33%]\ntest_a.py::T::test_exit[a b] ";
        assert_eq!(
            of(named),
            Some(
                [
                    "T.test_exit[a b]",
                    "test_a.py",
                    "the output ends while this test runs"
                ]
                .map(str::to_owned)
            )
        );
        let of_file =
            "test_a.py .         [ 25%]\ntest_b.py .F\nmake: *** [Makefile:2: test] Error 3\n";
        assert_eq!(
            of(of_file),
            Some(
                [
                    "",
                    "test_b.py",
                    "the output ends while a test of this file runs"
                ]
                .map(str::to_owned)
            )
        );
        // The last lines are about no test.
        assert_eq!(of("test_a.py::test_ok \nhello\n"), None);
        let summed = format!("test_a.py .\n\n{0} 1 passed in 0.01s {0}\n", "=".repeat(30));
        assert_eq!(of(&summed), None);
    }

    #[test]
    fn unittest_counts_a_test_once_and_those_skipped_apart() {
        let rule = "-".repeat(70);
        let block = |word: &str, why: &str| {
            format!(
                "{}\n{word}: test_both (test_u.T.test_both)\n{rule}\nTraceback (most recent call last):\n  File \"/s/test_u.py\", line 2, in \
                 test_both\n{why}\n\n",
                "=".repeat(70)
            )
        };
        let counted = |log: &str| {
            let results = read("unittest", log.as_bytes(), &ReadOptions::default()).results;
            let of = |it: loopgate_core::evidence::CheckResults| {
                (it.total, it.passed, it.failed + it.errors, it.skipped)
            };
            results.map(of)
        };
        let both = block("ERROR", "RuntimeError: td") + &block("FAIL", "AssertionError: x");
        let run = format!(
            "{both}{rule}\nRan 3 tests in 0.001s\n\nFAILED (failures=1, errors=1, skipped=1)\n"
        );
        assert_eq!(counted(&run), Some((3, 1, 1, 1)));
        // Each run has tests of its own.
        assert_eq!(counted(&run.repeat(2)), Some((6, 2, 2, 2)));
        let green =
            format!("{rule}\nRan 3 tests in 0.001s\n\nOK (skipped=1, expected failures=1)\n");
        assert_eq!(counted(&green), Some((3, 2, 0, 1)));
        let named = format!(
            "test_s (test_u.T.test_s) ... skipped 'no'\ntest_a (test_u.T.test_a) ... ok\n\n{rule}\nRan 2 tests in 0.001s\n\nOK (skipped=1)\n"
        );
        assert_eq!(counted(&named), Some((2, 1, 0, 1)));
    }

    #[test]
    fn a_skip_that_hides_a_failure_is_noted() {
        let rule = "-".repeat(78);
        let log = format!(
            "Ships                                       | SKIP |\nno printer here\n\nAlso failure occurred:\n1 != 2\n{rule}\n\
             Stores                                      | SKIP |\nSkipped in teardown:\nlater\n\nEarlier message:\nSetup \
             failed:\nno database\n{rule}\nWeighs                                      | SKIP |\nSkipped in \
             teardown:\nlater\n\nEarlier message:\nno scales\n{rule}\n3 tests, 0 passed, 0 failed, 3 skipped\n{rule}\n"
        );
        let xml = "<testsuite name='Shop' tests='1' failures='0' skipped='1'><testcase name='Ships'><skipped \
                   message='no printer&#10;&#10;Also parent suite teardown failed:&#10;busy' type='SkipExecution'/>\
                   </testcase></testsuite>";
        for (text, note) in [
            (
                log.as_str(),
                "2 skipped tests failed too, by the reasons of their skips, first Ships",
            ),
            (
                xml,
                "1 skipped test failed too, by the reason of its skip: Ships",
            ),
        ] {
            let read = read("robot", text.as_bytes(), &ReadOptions::default());
            assert_eq!(read.failures, []);
            assert!(read.notes.iter().any(|it| it == note), "{:?}", read.notes);
        }
    }

    #[test]
    fn what_ctest_shows_ahead_of_an_end_is_read_once_and_a_tests_own_words_are_its_own() {
        let failures = |log: &str| -> Vec<(String, String)> {
            let read = read("test", log.as_bytes(), &ReadOptions::default());
            read.failures
                .into_iter()
                .map(|it| (it.test_name.unwrap_or_default(), it.error_message))
                .collect()
        };
        let end = "1/1 Test #9: port ....***Failed    0.00 sec\n\n0% tests passed, 1 tests failed out of 1\n\n\
                   The following tests FAILED:\n\t  9 - port (Failed)\n";
        let googletest = "    Start 9: port\n9: [ RUN      ] port\n9: a.cc:4: Failure\n9: Expected equality\n\
                          9: [  FAILED  ] port (0 ms)\n";
        let told = failures(&format!("{googletest}{end}"));
        assert_eq!(
            told.iter()
                .map(|(name, _)| name.as_str())
                .collect::<Vec<_>>(),
            ["port"],
            "{told:?}"
        );
        let catch = "1/2 Test #1: cart ....***Failed    0.00 sec\n\n~~~~~~~~\ncart_tests is a Catch v2.13.10 host application.\n\
                     RULE\nsums\n  a discount\nRULE\na.cc:16\nDOTS\n\na.cc:17: FAILED:\n  CHECK( total(2, 5) == 9 )\n\
                     with expansion:\n  10 == 9\n\nEND\ntest cases: 2 | 1 passed | 1 failed\n\n    Start 2: ships\n\
                     2/2 Test #2: ships ....***Failed    0.00 sec\nFilters: ships\nRULE\nships\nRULE\na.cc:22\nDOTS\n\n\
                     a.cc:23: FAILED:\n  REQUIRE( ship() == 1 )\n\nEND\ntest cases: 1 | 1 failed\n\n\
                     0% tests passed, 2 tests failed out of 2\n"
            .replace("RULE", &"-".repeat(79))
            .replace("DOTS", &".".repeat(79))
            .replace("END", &"=".repeat(79));
        let told = failures(&catch);
        assert_eq!(
            told.iter()
                .map(|(name, message)| (name.as_str(), message.lines().next().unwrap()))
                .collect::<Vec<_>>(),
            [
                ("sums", "CHECK( total(2, 5) == 9 )"),
                ("ships", "REQUIRE( ship() == 1 )")
            ]
        );
        let unended = failures(
            "[ RUN      ] Cart.Adds\n[ RUN      ] Cart.Ships\n[       OK ] Cart.Ships (0 ms)\n",
        );
        assert_eq!(
            unended,
            [("Cart.Adds".to_owned(), "the test failed".to_owned())]
        );
        let plain = failures(&format!(
            "    Start 9: port\n9: a.c:4: port is closed, expected open\n{end}"
        ));
        assert!(
            plain.len() == 1 && plain[0].1.contains("expected open"),
            "{plain:?}"
        );
        let printed = "=================================== FAILURES ===================================\n\
                       ____ test_warm ____\nStart 1: warm up\nE       assert 2 == 3\n\na.py:3: AssertionError\n\
                       ========================= 1 failed in 0.01s =========================\n";
        assert_eq!(
            failures(printed),
            [("test_warm".to_owned(), "assert 2 == 3".to_owned())]
        );
        // A program with tests of its own fails: they are the ones that count.
        let inside = format!(
            "    Start 9: port\n1/1 Test #9: port ....***Failed    0.00 sec\n{printed}{}",
            &end[end.find("\n\n0%").unwrap()..]
        );
        let results = read("test", inside.as_bytes(), &ReadOptions::default())
            .results
            .unwrap();
        assert_eq!((results.total, results.failed), (1, 1));
    }
}
