//! One block: what a tool printed of one failing test, or one finding of a compiler or linter.

use loopgate_core::evidence::{
    ErrorType, Failure, Finding, FindingSeverity, SourceLocation, TestState,
};

use super::tools::{self, BlockReader, MatchedRow, Means, Tool};
use crate::{Case, Clip, MAX_MESSAGE, numbers, severity, text};

/// Lines that explain a finding.
const MAX_FINDING_LINES: usize = 60;
/// Tests that share one text.
const MAX_NAMES: usize = 50;

/// A block while it is read.
#[derive(Clone)]
pub(super) struct Block {
    /// The place of its tool in the table.
    pub tool: usize,
    pub is_finding: bool,
    /// It is what a test printed.
    pub is_output: bool,
    /// Its name is its end: what follows are remarks on it.
    pub is_over: bool,
    /// The stack of the test in which the process may end.
    pub is_dying: bool,
    /// It begins with a line that other programs write too, in no section of its tool.
    pub is_bare: bool,
    /// Several tests may share one text.
    pub names: Vec<String>,
    file: String,
    line: Option<u32>,
    /// The file stands in a line of its own above it.
    is_below_file: bool,
    /// It is about no file.
    is_placeless: bool,
    rule: String,
    level: Option<FindingSeverity>,
    message: String,
    text: Clip,
    /// Lines with text so far.
    pub lines: usize,
    /// Failures that were reported before it.
    pub found: u64,
    /// It as it was where its tool's sum stands.
    before_sum: Option<Box<Self>>,
}

/// A failing test as a block describes it.
pub(super) struct FailedTest {
    pub file: String,
    /// The class, or where in the life of a test it failed, if not in the test itself.
    pub class: String,
    /// Empty where no test is named: the file could not be loaded.
    pub name: String,
    pub is_error: bool,
    /// It is a group's hook, which is no test of the tool's sums.
    pub is_hook: bool,
    pub failure: Failure,
}

impl Block {
    pub fn new(found: &MatchedRow<'_>, line: &str, (file, at): (&str, Option<u32>)) -> Self {
        let (row, group) = (found.row, |name: &str| found.group(name));
        let first = |texts: &[&'_ str]| {
            texts
                .iter()
                .find(|text| !text.is_empty())
                .unwrap_or(&"")
                .to_string()
        };
        let mut block = Self {
            tool: row.tool,
            is_finding: row.means == Means::Finding,
            is_output: row.means == Means::Output,
            is_over: row.means == Means::NamedEnd,
            is_dying: row.means == Means::Dies,
            is_bare: row.within.is_none() && group("unhandled").is_empty(),
            names: Vec::new(),
            file: text::path(&first(&[group("file"), file])),
            line: numbers::line(group("line")).or(at),
            is_below_file: group("file").is_empty() && !file.is_empty(),
            is_placeless: row.without_place,
            rule: text::name(&first(&["rule", "check", "unhandled"].map(group))),
            level: row.level.or_else(|| level(group("level"))),
            message: text::clipped(group("message"), MAX_MESSAGE),
            text: Clip::default(),
            lines: 0,
            found: 0,
            before_sum: None,
        };
        block.name(group("name"));
        if row.tool().has_heading {
            block.push(line);
        }
        block
    }

    /// What it says stands in a line of its own.
    pub fn say(&mut self, message: &str) {
        // Where the terminal knows no other marks: oxlint.
        let message = message.trim();
        let message = match message.split_once(' ') {
            Some(("x", rest)) => format!("× {rest}"),
            Some(("!", rest)) => format!("⚠ {rest}"),
            _ => message.to_owned(),
        };
        let (_, marked) = severity::told(&message);
        self.message = text::clipped(&message, MAX_MESSAGE);
        // `eslint(no-debugger): …`, as oxlint writes a rule.
        if let Some((rule, _)) = marked.split_once("): ")
            && !rule.contains(' ')
            && rule.contains('(')
        {
            self.rule = text::name(&format!("{rule})"));
        }
    }

    /// A further test that the same text is about.
    pub fn name(&mut self, name: &str) {
        if !name.is_empty() && self.names.len() < MAX_NAMES {
            self.names.push(text::name(name));
        }
    }

    pub fn push(&mut self, line: &str) {
        if !line.trim().is_empty() {
            self.lines += 1;
        } else if (self.before_sum.as_ref()).is_some_and(|before| before.lines == self.lines) {
            // It stands around the sum.
            return;
        }
        self.text.push_line(line);
    }

    /// Its tool's sum stands here, which may come from another pipe: what follows may still be of this block.
    pub fn sum_up(&mut self) {
        if self.before_sum.is_none() {
            self.before_sum = Some(Box::new(self.clone()));
        }
    }

    /// Whether it may be over.
    pub fn is_summed(&self) -> bool {
        self.before_sum.is_some()
    }

    /// Whether the process may have ended in its test: something says so, or nothing stands behind its name.
    pub fn may_be_last_word(&self) -> bool {
        self.lines == 0 || self.says_why()
    }

    /// Whether the line that begins it says what is wrong.
    pub fn says_why(&self) -> bool {
        !self.rule.is_empty()
    }

    /// Whether a line that is a place and nothing else is that of this finding.
    pub fn lacks_place(&self) -> bool {
        self.is_finding && self.file.is_empty() && !self.is_placeless && self.lines == 1
    }

    /// Whether a line still explains this finding.
    pub fn goes_on(&self, line: &str) -> bool {
        // What Biome found stands below an empty line.
        let is_heading = || {
            self.lines == 1 && self.message.is_empty() && self.text.text().trim_end().ends_with('━')
        };
        (!line.is_empty() || is_heading()) && self.lines < MAX_FINDING_LINES
    }

    /// The finding, and whether it is an error. None where what looked like one names no place.
    pub fn finding(self) -> Option<(Finding, Option<ErrorType>, String)> {
        let trace = self.text.text().trim_end().to_owned();
        let (mut file, mut line) = (self.file, self.line);
        if file.is_empty() && !self.is_placeless {
            let place = |line: &str| {
                let place = line
                    .strip_prefix("--> ")
                    .or(line.strip_prefix("Location: "))?;
                text::place(place).or_else(|| text::line_of_file(place))
            };
            // cfn-lint's place is all of the line below.
            let below = || text::place(trace.lines().nth(1)?);
            let found = trace.lines().map(str::trim_start).find_map(place);
            let found = found.or_else(below)?;
            (file, line) = (found.file, found.line);
        }
        // What Biome found stands below its heading, where all others name it in the heading itself.
        let below = text::first_line(trace.split_once("━\n").map_or("", |(_, below)| below));
        let message = match self.message.is_empty() {
            true if !below.is_empty() => below.to_owned(),
            // A formatter shows no more than which file it would write otherwise.
            true => text::first_line(&trace).to_owned(),
            false => wrapped(&self.message, &trace),
        };
        // Prettier warns of each file for which it fails.
        let (told, message) = match self.message.is_empty() && below.is_empty() {
            true => (None, message.as_str()),
            false => severity::told(&message),
        };
        let level = self.level.or(told);
        // knip heads its lists by what is wrong.
        let rule = match self.names.into_iter().next() {
            Some(heading) if self.rule.is_empty() => heading,
            _ => self.rule,
        };
        // The rule stands behind the message, if not in front of it: `[arg-type]` of mypy, `(reportReturnType)` of pyright.
        let last = trace
            .lines()
            .rev()
            .find_map(|line| line.strip_suffix(')')?.rsplit_once(" (report"));
        let behind = message
            .strip_suffix(']')
            .and_then(|whole| whole.rsplit_once(" ["));
        let (rule, message) = match behind {
            _ if !rule.is_empty() => (rule, message.to_owned()),
            Some((before, rule)) => (rule.to_owned(), before.trim_end().to_owned()),
            None => (
                last.map(|(_, rule)| format!("report{rule}"))
                    .unwrap_or_default(),
                message.to_owned(),
            ),
        };
        let severity = level.unwrap_or(FindingSeverity::High);
        // Below a heading with the file stand a linter's findings. `-fpermissive` would let an error pass.
        let is_compiler = rule.is_empty() && !self.is_below_file && !self.message.is_empty()
            || ["TS", "CS", "-f"]
                .iter()
                .any(|start| rule.starts_with(start))
            || trace.contains("): error ");
        let error_type = if is_compiler {
            ErrorType::CompileError
        } else {
            ErrorType::LintError
        };
        let error_type = (severity >= FindingSeverity::High).then_some(error_type);
        let location = (!self.is_placeless).then_some(SourceLocation {
            file,
            line,
            function: None,
        });
        Some((
            Finding {
                rule,
                severity,
                message,
                location,
            },
            error_type,
            trace,
        ))
    }

    /// The test, where this is the reason of its skip and tells of a failure.
    pub fn skipped_and_failed(&self) -> Option<&str> {
        let name = self.names.first()?;
        text::tells_of_failure(&self.text.text()).then_some(name)
    }

    pub fn tool(&self) -> &'static Tool {
        tools::tool(self.tool)
    }

    /// The failing tests; with what the block shows of them, if that is wanted.
    pub fn failures(mut self, wanted: bool) -> Vec<FailedTest> {
        if let Some(before) = self.before_sum.take() {
            let has_place =
                |tests: &Vec<FailedTest>| tests.iter().any(|it| it.failure.source.is_some());
            let tests = before.failures(wanted);
            return match has_place(&tests) {
                true => tests,
                false => Some(self.failures(wanted))
                    .filter(has_place)
                    .unwrap_or(tests),
            };
        }
        let whole = match wanted || self.tool().names_last {
            true => self.text.text(),
            false => String::new(),
        };
        let (text, names) = match self.tool().names_last {
            true => last_paragraph(&whole),
            false => (whole.as_str(), ""),
        };
        names.lines().for_each(|name| self.name(name));
        let (name, others) = self
            .names
            .split_first()
            .map_or(("", &[][..]), |(first, others)| (first.as_str(), others));
        let mut first = match self.tool().reader {
            Some(BlockReader::Pytest) if self.is_dying => {
                pytest_stack(&self.file, name, &self.rule, text)
            }
            Some(BlockReader::Pytest) => pytest(name, text),
            Some(BlockReader::Ctest) => match &self.tool().without {
                Some(without) => ctest(name, &self.message, &without.replace_all(text, "")),
                None => ctest(name, &self.message, text),
            },
            Some(BlockReader::Unittest) => unittest(name, text),
            None => self.by_expression(name, text),
        };
        if !self.rule.is_empty() && !self.is_dying {
            let message = first.failure.error_message.trim();
            // What is quoted of the source says nothing.
            let is_source = message.starts_with(|c: char| c.is_ascii_digit() || c == '>')
                && message.contains('|');
            first.failure.error_message = match message {
                "" => self.rule.clone(),
                _ if is_source => self.rule.clone(),
                message => format!("{}: {message}", self.rule),
            };
        }
        first.failure.line_number = first.failure.line_number.or(self.line);
        let mut tests = vec![first];
        for heading in others {
            let FailedTest {
                file, class, name, ..
            } = self.by_expression(heading, "");
            let (test_name, test_file) =
                ((!name.is_empty()).then(|| name.clone()), Some(file.clone()));
            let failure = Failure {
                test_name,
                test_file,
                line_number: None,
                ..tests[0].failure.clone()
            };
            tests.push(FailedTest {
                file,
                name,
                failure,
                class: if class.is_empty() {
                    tests[0].class.clone()
                } else {
                    class
                },
                is_error: tests[0].is_error,
                is_hook: tests[0].is_hook,
            });
        }
        tests
    }

    /// What the expression of its tool finds in a block.
    fn by_expression(&self, heading: &str, text: &str) -> FailedTest {
        let tool = self.tool();
        let whole = format!("{heading}\n{text}");
        let found = tool.block.as_ref().and_then(|block| block.captures(&whole));
        let group = |name: &str| {
            found
                .as_ref()
                .and_then(|found| found.name(name))
                .map(|group| group.as_str())
        };
        let plain = |text: &str| match &tool.margin {
            Some(margin) => text
                .lines()
                .map(|line| margin.replace(line, ""))
                .collect::<Vec<_>>()
                .join("\n"),
            None => text.to_owned(),
        };
        let name = if found.is_some() {
            group("name").unwrap_or_default()
        } else {
            heading
        };
        let mut name = name.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        if let Some(between) = &tool.parts {
            name = name.replace(between, " > ");
        }
        let file = group("test_file").map_or_else(|| self.file.clone(), text::path);
        let trace = plain(group("text").unwrap_or(text));
        let message = match group("message").map(plain) {
            // It may stand in the line that begins the block.
            Some(message) if message.trim().is_empty() && !self.message.is_empty() => {
                self.message.clone()
            }
            Some(message) if message.trim().is_empty() && !name.is_empty() => {
                format!("the test '{name}' failed")
            }
            Some(message) => tool
                .without
                .as_ref()
                .map_or(message.clone(), |not| not.replace_all(&message, "").into()),
            None => String::new(),
        };
        let mut test = FailedTest::new(&file, &name, &message, &trace);
        let project = group("project").or_else(|| group("badge"));
        test.class = project.unwrap_or_default().trim().to_owned();
        test.is_hook = group("hook").is_some();
        test.failure.line_number = test
            .failure
            .line_number
            .or(group("test_line").and_then(numbers::line));
        if let Some(file) = group("file") {
            let line = group("line").and_then(numbers::line);
            test.failure.source = Some(text::location(file, line));
        }
        if let (Some(expected), Some(actual)) = (group("expected"), group("actual")) {
            (test.failure.expected, test.failure.actual) =
                (Some(expected.to_owned()), Some(actual.to_owned()));
        }
        test
    }
}

impl FailedTest {
    /// Reads the message out of `message`, or if that is empty out of the whole text.
    pub(super) fn new(file: &str, name: &str, message: &str, trace: &str) -> Self {
        let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let test = Failure {
            test_name: known(name),
            test_file: known(file),
            ..Failure::default()
        };
        let mut failure = text::failure(test, message, trace);
        // Jest writes the places of a project from its own top, and the file of the test from where it was started.
        let is_inside = |whole: &str, end: &str| {
            whole
                .strip_suffix(end)
                .is_some_and(|before| before.ends_with('/'))
        };
        if let Some(source) = failure
            .source
            .as_mut()
            .filter(|source| is_inside(file, &source.file))
        {
            file.clone_into(&mut source.file);
        }
        Self {
            file: file.to_owned(),
            class: String::new(),
            name: name.to_owned(),
            is_error: false,
            is_hook: false,
            failure,
        }
    }
}

/// `W` of pylint stands in the rule; only words are levels.
fn level(word: &str) -> Option<FindingSeverity> {
    match word {
        "" => None,
        "e" | "E" | "F" | "C" | "R" | "W" => Some(FindingSeverity::High),
        "w" => Some(FindingSeverity::Medium),
        word => severity::of_word(word).or_else(|| severity::of_mark(word.chars().next()?)),
    }
}

/// A text without its last paragraph, and that paragraph if it is names alone. A rule below it is no part of either.
fn last_paragraph(text: &str) -> (&str, &str) {
    let text = text.trim_end_matches(['=', '-', '\n']);
    let (above, last) = text.rsplit_once("\n\n").unwrap_or(("", text));
    let is_name = |line: &str| !line.is_empty() && !line.contains(' ');
    match last.lines().all(is_name) {
        true => (above, last),
        false => (text, ""),
    }
}

/// A message that its tool broke over lines (`mypy --pretty`), made whole.
fn wrapped(message: &str, trace: &str) -> String {
    let mut whole = message.to_owned();
    // sqlfluff goes on below the last rule of its table.
    let below = |line: &&str| {
        let at = line.len() - line.trim_start().len();
        let first = trace.lines().next().unwrap_or_default();
        at > 0 && line[at..].starts_with("| ") && first.get(at..at + 2) == Some("| ")
    };
    for line in trace.lines().skip(1).take_while(below) {
        whole.push(' ');
        whole.push_str(line.trim_start().trim_start_matches("| "));
    }
    // What it announces stands below; source would be indented, or numbered.
    let below = trace.lines().nth(1).filter(|_| message.ends_with(':'));
    if let Some(below) = below.filter(|below| below.starts_with(char::is_alphabetic)) {
        whole.push(' ');
        whole.push_str(below.trim());
        return whole;
    }
    // A line above a caret is source, whatever it begins with. What is wrapped stands above an indented line of source.
    let is_source = |line: &str| line.starts_with("    ") && !line.trim().is_empty();
    if trace
        .lines()
        .nth(2)
        .is_some_and(|below| below.trim_start().starts_with('^'))
        || !trace.lines().skip(2).any(is_source)
    {
        return whole;
    }
    for line in trace
        .lines()
        .skip(1)
        .take_while(|line| !line.starts_with([' ', '\t', '|', '-']))
    {
        let is_prose = line.starts_with(['"', '\'', '['])
            || line.starts_with(|c: char| c.is_ascii_lowercase());
        if !is_prose || line.contains(": ") {
            break;
        }
        whole.push(' ');
        whole.push_str(line);
    }
    whole
}

patterns! {
    /// What a test printed is quoted below what went wrong, and is no part of it.
    CAPTURED = r"(?m)^-.* Captured .*-\s*$";
    /// All that pytest-xdist shows of a test in which its worker ended. The block bears the name of the file.
    CRASHED_WORKER = r"\A(?:\[\w+\] [^\n]*\n)?(?P<why>worker '\w+' crashed while running '(?P<file>[^':\n]+)(?:::(?P<name>[^'\n]+))?')\s*\z";
    /// `tests/test_cart.py:4: AssertionError`
    FRAME = r#"(?m)^(?P<file>[^ "\n]+?\.py):[0-9]"#;
    /// `File "/srv/shop/test_t.py", line 9, in test_b`; Python itself writes no comma behind the line.
    STACK_FRAME = r#"(?m)^  File "(?P<file>[^"\n]+)", line [0-9]+,? in (?P<function>.+)$"#;
    /// A method, its class, and `[two]` or `(n=2)` of a subtest.
    UNITTEST = r"^(\S+) \(([^\s()]+)\)( .*)?$";
}

/// `ERROR at setup of test_db`, `ERROR collecting tests/test_cart.py`, `TestCart.test_total`.
fn pytest(heading: &str, text: &str) -> FailedTest {
    if let Some(crash) = CRASHED_WORKER.captures(text) {
        let name = super::with_dots(crash.name("name").map_or("", |name| name.as_str()));
        return FailedTest::new(&text::path(&crash["file"]), &name, &crash["why"], text);
    }
    let trace = CAPTURED
        .find(text)
        .map_or(text, |captured| &text[..captured.start()]);
    // The error that was raised last: the last lines marked with `E`.
    let lines: Vec<&str> = trace.lines().collect();
    let is_marked = |line: &str| line == "E" || line.starts_with("E  ");
    let last = lines
        .chunk_by(|one, next| is_marked(one) == is_marked(next))
        .rfind(|lines| is_marked(lines[0]));
    let lines = last
        .unwrap_or_default()
        .iter()
        .map(|line| line.strip_prefix("E   ").unwrap_or("").trim_end());
    let message = lines.collect::<Vec<_>>().join("\n");
    // All fixtures that there are stand below one that there is not.
    let end = if message.starts_with("fixture '") {
        message.find('\n')
    } else {
        None
    };
    let message = &message[..end.unwrap_or(message.len())];
    // A fixture's frames do not show where the test stands.
    for (words, phase) in [
        ("ERROR at setup of ", "setup"),
        ("ERROR at teardown of ", "teardown"),
    ] {
        if let Some(name) = heading.strip_prefix(words) {
            let class = phase.to_owned();
            return FailedTest {
                class,
                is_error: true,
                ..FailedTest::new("", name, message, trace)
            };
        }
    }
    if let Some(file) = heading.strip_prefix("ERROR collecting ") {
        return FailedTest::new(file, "", message, trace);
    }
    // The test stands at the outermost frame, but for those of plugins that run it.
    let mut files = FRAME
        .captures_iter(trace)
        .map(|frame| text::path(&frame["file"]));
    let file = files
        .find(|file| !file.contains("/lib/python"))
        .unwrap_or_default();
    FailedTest::new(&file, heading, message, trace)
}

/// The test that stands in the stack with which the process ends, unless pytest named it ahead of that.
fn pytest_stack(file: &str, node: &str, message: &str, text: &str) -> FailedTest {
    let lines: Vec<&str> = text.lines().collect();
    let stacks = lines.chunk_by(|one, next| one.starts_with("  ") == next.starts_with("  "));
    let of_pytest = stacks
        .map(|lines| lines.join("\n"))
        .find(|stack| stack.contains(" in pytest_runtest_"));
    let trace = of_pytest.as_deref().unwrap_or(text);
    let mut frames: Vec<(String, &str)> = STACK_FRAME
        .captures_iter(trace)
        .filter_map(|frame| Some((text::path(&frame["file"]), frame.name("function")?.as_str())))
        .collect();
    if text.contains("(most recent call first)") {
        frames.reverse();
    }
    let begins = |(_, function): &&(String, &str)| {
        ["pytest_pyfunc_call", "_callTestMethod"].contains(function)
    };
    let is_own = |(file, _): &&(String, &str)| !file.contains("/lib/python");
    let of_test = frames
        .iter()
        .skip_while(|frame| !begins(frame))
        .find(is_own);
    let of_test = of_test.filter(|(_, function)| function.starts_with("test"));
    let (of_file, name) = match (node.strip_prefix("::"), of_test) {
        (Some(node), _) => (file, super::with_dots(node)),
        (None, Some((of_file, function))) => {
            let known = if file.is_empty() { of_file } else { file };
            (known, (*function).to_owned())
        }
        (None, None) => (file, String::new()),
    };
    let mut test = FailedTest::new(of_file, &name, message, trace);
    // One word is read as a class.
    test.failure.error_message = match message {
        "" if name.is_empty() => "the output ends while a test of this file runs",
        "" => "the output ends while this test runs",
        message => message,
    }
    .to_owned();
    let phase = ["setup", "teardown"].into_iter().find(|phase| {
        frames
            .iter()
            .any(|(_, function)| function.strip_prefix("pytest_runtest_") == Some(phase))
    });
    match phase.filter(|_| !name.is_empty()) {
        Some(phase) => FailedTest {
            class: phase.to_owned(),
            is_error: true,
            ..test
        },
        None => test,
    }
}

/// Class and method of a test as unittest names it: `test_total (cart.tests.CartTests.test_total) (n=2)`.
pub(super) fn of_unittest(name: &str) -> (String, String) {
    let Some(found) = UNITTEST.captures(name) else {
        return (String::new(), name.to_owned());
    };
    let (method, part) = (&found[1], found.get(3).map_or("", |part| part.as_str()));
    // Since Python 3.11 the method stands in the parentheses too.
    let class = found[2]
        .strip_suffix(method)
        .and_then(|class| class.strip_suffix('.'))
        .unwrap_or(&found[2]);
    (class.to_owned(), format!("{method}{part}"))
}

/// `FAIL: test_total (cart.tests.CartTests.test_total)`, a description, and between two rules of `-` the traceback; or
/// `Failure in test test_total (…)` of zope.testrunner, which draws no rules.
fn unittest(heading: &str, text: &str) -> FailedTest {
    let of_zope = ["Failure", "Error"].map(|word| (word, format!("{word} in test ")));
    let (word, test) = of_zope
        .iter()
        .find_map(|(word, start)| Some((*word, heading.strip_prefix(start)?)))
        .or_else(|| heading.split_once(": "))
        .unwrap_or(("", heading));
    let (class, name) = of_unittest(test);
    let trace = match word {
        "Failure" | "Error" | "" => text,
        _ => text.split(&"-".repeat(70)).nth(1).unwrap_or_default(),
    };
    // What a test printed is quoted below what went wrong.
    let error = match word {
        "UNEXPECTED SUCCESS" => "the test passed, which is not expected",
        _ => trace.split("\nStdout:").next().unwrap_or_default(),
    };
    let title = Case::new(&class, &name, TestState::Failed).title();
    let failure = Failure {
        test_name: Some(title).filter(|_| !name.is_empty()),
        ..text::failure(Failure::default(), error, trace.trim())
    };
    FailedTest {
        file: String::new(),
        class,
        name,
        is_error: word == "ERROR",
        is_hook: false,
        failure,
    }
}

/// `Failed`, `Timeout`, `Exception: SegFault`, and what the program printed.
fn ctest(name: &str, ending: &str, text: &str) -> FailedTest {
    // An expression that the output had to match may go on below: `Failed  Required … Regex=[all good`, `]  0.01 sec`.
    let (rest, text) = match text.split_once(" sec\n") {
        Some((rest, text)) if ending.contains("Regex=[") && !rest.contains('\n') => (rest, text),
        _ => ("", text),
    };
    let rest = rest.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ' ');
    let ending = format!("{ending}{rest}");
    let mut test = FailedTest::new("", name, "", text);
    let ending = ending.trim_end_matches(':');
    // Of what was not run CTest itself says why, last of all.
    let last = text.lines().rfind(|line| !line.trim().is_empty());
    if let Some(last) = last.filter(|_| ending == "Not Run") {
        test.failure.error_message = last.trim().to_owned();
        return test;
    }
    // The message of a program about its own end is worth more than the signal.
    let has_more = test.failure.source.is_some() && ending != "Timeout";
    if test.failure.error_message.is_empty() || ending != "Failed" && !has_more {
        test.failure = Failure {
            test_name: Some(name.to_owned()),
            error_message: format!("the test ended with: {ending}"),
            error_type: if ending == "Timeout" {
                ErrorType::TimeoutError
            } else {
                ErrorType::RuntimeError
            },
            error_class: Some(ending.trim_start_matches("Exception: ").to_owned()),
            ..test.failure
        };
    }
    test
}
