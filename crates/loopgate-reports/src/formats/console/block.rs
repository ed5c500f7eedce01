//! One block: what a tool printed of one failing test, or one finding of a compiler or linter.

use loopgate_core::{
    evidence::{ErrorType, Failure, Finding, FindingSeverity, SourceLocation},
    failure,
};
use regex::Captures;

use super::rows::{Row, Tool};
use crate::{
    collect::IsError,
    numbers, severity,
    text::{self, Clip, MAX_MESSAGE, MAX_TRACE},
};

/// Lines that explain a finding.
const MAX_FINDING_LINES: usize = 60;
/// Tests that share one text.
const MAX_NAMES: usize = 50;

/// A block while it is read.
pub(super) struct Block {
    pub tool: Tool,
    pub is_finding: bool,
    /// A test may be told of by the text of the next one.
    names: Vec<String>,
    file: String,
    line: Option<u32>,
    rule: String,
    level: Option<FindingSeverity>,
    message: String,
    text: Clip,
    lines: usize,
}

/// A failing test as a block tells of it.
pub(super) struct Told {
    pub file: String,
    /// Empty where no test is named: the file could not be loaded.
    pub name: String,
    /// Where in the life of a test it failed, if not in the test itself.
    pub phase: &'static str,
    pub failure: Failure,
}

impl Block {
    pub fn new(row: &Row, captures: &Captures<'_>, line: &str, (file, at): (&str, Option<u32>)) -> Self {
        let group = |name: &str| captures.name(name).map_or("", |group| group.as_str().trim());
        let is_finding = row.tool == Tool::Linter;
        let mut block = Self {
            tool: row.tool,
            is_finding,
            names: Vec::new(),
            file: text::path(Some(group("file")).filter(|file| !file.is_empty()).unwrap_or(file)),
            line: numbers::line(group("line")).or(at),
            rule: text::name(
                ["rule", "check", "unhandled"].map(group).into_iter().find(|rule| !rule.is_empty()).unwrap_or(""),
            ),
            level: level(group("level")),
            message: text::clipped(group("message"), MAX_MESSAGE),
            text: Clip::new(MAX_TRACE),
            lines: 0,
        };
        block.name(group("name"));
        // The heading names the place, or says what went wrong.
        if is_finding || matches!(row.tool, Tool::Minitest | Tool::Bun | Tool::Catch2 | Tool::Behave) {
            block.push(line);
        }
        block
    }

    /// A further test that the same text is about.
    pub fn name(&mut self, name: &str) {
        if !name.is_empty() && self.names.len() < MAX_NAMES {
            self.names.push(text::name(name));
        }
    }

    /// Whether no line of it has come yet.
    pub const fn is_bare(&self) -> bool {
        self.lines == 0
    }

    pub const fn is_named(&self) -> bool {
        !self.names.is_empty()
    }

    pub fn push(&mut self, line: &str) {
        if !line.trim().is_empty() {
            self.lines += 1;
        }
        self.text.push_line(line);
    }

    /// Whether a line still explains this finding.
    pub fn goes_on(&self, line: &str) -> bool {
        (!line.is_empty() || self.is_heading()) && self.lines < MAX_FINDING_LINES
    }

    /// Whether what Biome found stands below an empty line yet to come.
    fn is_heading(&self) -> bool {
        self.lines == 1 && self.message.is_empty() && self.text.text().trim_end().ends_with('━')
    }

    /// The finding, and whether it is an error. None where what looked like one names no place.
    pub fn finding(self) -> Option<(Finding, IsError, String)> {
        let trace = self.text.text().trim_end().to_owned();
        let (mut file, mut line) = (self.file, self.line);
        if file.is_empty() {
            let place = trace.lines().map(str::trim_start);
            let place =
                place.filter_map(|line| line.strip_prefix("--> ").or(line.strip_prefix("Location: "))).next()?;
            let mut parts = place.trim().rsplitn(3, ':');
            (_, line) = (parts.next()?, numbers::line(parts.next()?));
            file = text::path(parts.next()?);
        }
        // Biome: `! Unexpected any.`, `× Use the Number.isNaN function.`
        let below = trace.split_once("━\n").and_then(|(_, below)| {
            let first = below.lines().map(str::trim).find(|line| !line.is_empty())?;
            Some((first.starts_with('!'), first.trim_start_matches(['!', '×', 'i', ' ']).to_owned()))
        });
        let is_warning = below.as_ref().is_some_and(|(is_warning, _)| *is_warning);
        let level = self.level.or(is_warning.then_some(FindingSeverity::Medium));
        let (rule, message) = match self.message.is_empty() {
            true if let Some((_, message)) = below => (self.rule, message),
            // A formatter says no more than which file it would write otherwise.
            true => (self.rule, text::first_line(&trace).to_owned()),
            false => with_rule(self.rule, wrapped(&self.message, &trace), &trace),
        };
        let severity = level.unwrap_or(FindingSeverity::High);
        let is_error = match severity {
            FindingSeverity::High | FindingSeverity::Critical => IsError::Yes(error_type(&rule, &trace)),
            _ => IsError::No,
        };
        let location = Some(SourceLocation { file, line, function: None });
        Some((Finding { rule, severity, message, location }, is_error, trace))
    }

    /// The failing tests; with what the block says of them, if that is wanted.
    pub fn failures(self, wanted: bool) -> Vec<Told> {
        let text = if wanted { self.text.text() } else { String::new() };
        let (name, others) = self.names.split_first().map_or(("", &[][..]), |(first, others)| (first.as_str(), others));
        let mut first = match self.tool {
            Tool::Pytest => pytest(name, &text),
            Tool::Vitest if !self.rule.is_empty() => unhandled(&self.rule, &text),
            Tool::Vitest => vitest(name, &text),
            Tool::Mocha => mocha(name, &text),
            Tool::Playwright => playwright(name, &text),
            Tool::JunitConsole => junit_console(name, &text),
            Tool::Jest => jest(name, &self.file, &text),
            Tool::Gradle => gradle(name, &text),
            Tool::Rspec => rspec(name, &self.file, &text),
            Tool::Phpunit => phpunit(name, &text),
            Tool::Ctest => ctest(name, &self.message, &text),
            Tool::Minitest | Tool::Catch2 => below_heading(name, &self.file, &text),
            Tool::ExUnit => exunit(name, &text),
            Tool::Jasmine => jasmine(name, &text),
            Tool::Dotnet => dotnet(name, &text),
            Tool::Prove => prove(name, &text),
            Tool::Deno => deno(name, &self.file, &text),
            Tool::Busted => busted(&self.file, &text),
            _ => Told::new(&self.file, name, "", &text),
        };
        first.failure.line_number = first.failure.line_number.or(self.line);
        let others: Vec<Told> = others.iter().map(|heading| first.of(heading)).collect();
        std::iter::once(first).chain(others).collect()
    }
}

impl Told {
    /// Reads the message out of `message`, or if that is empty out of the whole text.
    pub(super) fn new(file: &str, name: &str, message: &str, trace: &str) -> Self {
        let (message, trace) = (message.trim_matches('\n'), trace.trim_matches('\n'));
        let is_test = !name.is_empty();
        let failure = failure::read_block(Failure {
            test_name: is_test.then(|| name.to_owned()),
            test_file: (!file.is_empty()).then(|| file.to_owned()),
            error_message: text::clipped(if message.is_empty() { trace } else { message }, MAX_TRACE),
            stack_trace: (!trace.is_empty()).then(|| trace.to_owned()),
            ..Failure::default()
        });
        Self { file: file.to_owned(), name: name.to_owned(), phase: "", failure }
    }
}

impl Told {
    /// The same of another test, which Vitest names in a heading of its own.
    fn of(&self, heading: &str) -> Self {
        let (file, name) = vitest_heading(heading);
        let failure = Failure {
            test_name: (!name.is_empty()).then(|| name.clone()),
            test_file: Some(file.clone()),
            line_number: None,
            ..self.failure.clone()
        };
        Self { file, name, phase: self.phase, failure }
    }
}

/// `W` of pylint stands in the rule; only words are levels.
fn level(word: &str) -> Option<FindingSeverity> {
    match word {
        "" => None,
        "✖" | "×" | "e" | "E" | "F" | "C" | "R" | "W" => Some(FindingSeverity::High),
        "⚠" | "w" => Some(FindingSeverity::Medium),
        word => severity::of_word(word),
    }
}

fn error_type(rule: &str, trace: &str) -> ErrorType {
    // `-fpermissive` would let an error pass.
    let is_compiler = rule.is_empty()
        || ["TS", "CS", "-f"].iter().any(|start| rule.starts_with(start))
        || trace.contains("): error ");
    if is_compiler { ErrorType::CompileError } else { ErrorType::LintError }
}

/// A message that its tool broke over lines (`mypy --pretty`), made whole.
fn wrapped(message: &str, trace: &str) -> String {
    let mut whole = message.to_owned();
    for line in trace.lines().skip(1).take_while(|line| !line.starts_with([' ', '\t', '|', '-'])) {
        let is_prose = line.starts_with(['"', '\'', '[']) || line.starts_with(|c: char| c.is_ascii_lowercase());
        if !is_prose || line.contains(": ") {
            break;
        }
        whole.push(' ');
        whole.push_str(line);
    }
    whole
}

/// The rule stands behind the message, if not in front of it: `[arg-type]` of mypy, `(reportReturnType)` of pyright.
fn with_rule(rule: String, message: String, trace: &str) -> (String, String) {
    if !rule.is_empty() {
        return (rule, message);
    }
    if let Some((before, rule)) = message.strip_suffix(']').and_then(|whole| whole.rsplit_once(" [")) {
        return (rule.to_owned(), before.trim_end().to_owned());
    }
    let last = trace.lines().last().unwrap_or_default();
    let rule =
        last.strip_suffix(')').and_then(|line| line.rsplit_once(" (report")).map(|(_, rule)| format!("report{rule}"));
    (rule.unwrap_or_default(), message)
}

/// What a test printed is quoted below what went wrong, and is no part of it.
fn without_captured(text: &str) -> &str {
    let captured = |line: &str| line.starts_with('-') && line.contains(" Captured ") && line.ends_with('-');
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if captured(line.trim_end()) {
            break;
        }
        at += line.len();
    }
    &text[..at]
}

/// `ERROR at setup of test_db`, `ERROR collecting tests/test_cart.py`, `TestCart.test_total`.
fn pytest(heading: &str, text: &str) -> Told {
    let trace = without_captured(text);
    // The error that was raised last: the last lines marked with `E`.
    let lines: Vec<&str> = trace.lines().collect();
    let is_marked = |line: &&str| *line == "E" || line.starts_with("E  ");
    let end = lines.iter().rposition(is_marked).map_or(0, |at| at + 1);
    let start = lines[..end].iter().rposition(|line| !is_marked(line)).map_or(0, |at| at + 1);
    let marked = lines[start..end].iter().map(|line| line.strip_prefix("E   ").unwrap_or("").trim_end());
    let mut message = marked.collect::<Vec<_>>().join("\n");
    if let Some((first, _)) = message.split_once('\n').filter(|(first, _)| first.starts_with("fixture '")) {
        message = first.to_owned();
    }
    let first_frame = || {
        let place = |line: &&str| {
            let (file, rest) = line
                .trim_start_matches("file ")
                .split_once(".py:")
                .or(line.strip_prefix("file ")?.split_once(".py, line "))?;
            let is_path = !file.is_empty() && !file.contains([' ', '"']);
            (is_path && rest.starts_with(|c: char| c.is_ascii_digit())).then(|| text::path(&format!("{file}.py")))
        };
        lines.iter().find_map(place).unwrap_or_default()
    };
    for (words, phase) in [("ERROR at setup of ", "setup"), ("ERROR at teardown of ", "teardown")] {
        if let Some(name) = heading.strip_prefix(words) {
            return Told { phase, ..Told::new(&first_frame(), name, &message, trace) };
        }
    }
    match heading.strip_prefix("ERROR collecting ") {
        Some(file) => Told::new(file, "", &message, trace),
        None => Told::new(&first_frame(), heading, &message, trace),
    }
}

/// Jest's blocks are indented by four.
fn jest(name: &str, file: &str, text: &str) -> Told {
    let text: Vec<&str> = text.lines().map(|line| line.strip_prefix("    ").unwrap_or(line)).collect();
    let text = text.join("\n");
    let name = if name.starts_with("Test suite failed to run") { "" } else { name };
    // A page of advice stands above what a syntax error says.
    let message = text.split_once("\nDetails:\n").map_or("", |(_, details)| details);
    Told::new(file, name, message, &text)
}

fn vitest(heading: &str, text: &str) -> Told {
    let (file, name) = vitest_heading(heading);
    Told::new(&file, &name, "", text)
}

/// `vt/cart.test.mjs > Cart > sums prices`, `vt/gone.test.mjs [ vt/gone.test.mjs ]`, with the project in front.
fn vitest_heading(heading: &str) -> (String, String) {
    let heading = match heading.strip_prefix('|').and_then(|rest| rest.split_once("| ")) {
        Some((_, rest)) => rest.trim_start(),
        None => heading.split_once("  ").map_or(heading, |(_, rest)| rest.trim_start()),
    };
    let (file, name) = heading.split_once(" > ").unwrap_or((heading.split(" [ ").next().unwrap_or_default(), ""));
    (text::path(file), name.to_owned())
}

/// Vitest heads what no test caught with `Unhandled Rejection`.
fn unhandled(what: &str, text: &str) -> Told {
    let mut told = Told::new("", "", "", text);
    told.failure.error_message = format!("{what}: {}", told.failure.error_message);
    told
}

/// The suites and the test stand on lines of their own, the last of which ends in a colon.
fn mocha(heading: &str, text: &str) -> Told {
    let mut names = vec![heading];
    let mut rest = text;
    while !names.last().is_some_and(|name| name.ends_with(':')) {
        let Some((line, below)) = rest.split_once('\n').filter(|(line, _)| line.starts_with("    ")) else { break };
        names.push(line.trim());
        rest = below;
    }
    let name = names.join(" ");
    Told::new("", name.trim_end_matches(':'), "", rest)
}

/// Gradle says in short `java.lang.NullPointerException at CartTest.java:20`.
fn gradle(name: &str, text: &str) -> Told {
    let mut told = Told::new("", name, "", text);
    let short = text.trim().rsplit_once(" at ").filter(|(class, _)| !class.contains(char::is_whitespace));
    if let Some((class, (file, line))) = short.and_then(|(class, place)| Some((class, place.rsplit_once(':')?))) {
        told = Told::new("", name, class, class);
        told.failure.source =
            Some(SourceLocation { file: text::path(file), line: numbers::line(line), function: None });
    }
    told
}

/// RSpec shows the line that failed, and below it the exception, if it was one.
fn rspec(name: &str, file: &str, text: &str) -> Told {
    let is_class = |line: &str| {
        let class = line.trim().strip_suffix(':').unwrap_or_default();
        class != "Diff" && class.starts_with(char::is_uppercase) && !class.contains(char::is_whitespace)
    };
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if is_class(line) {
            break;
        }
        at += line.len();
    }
    Told::new(file, name, &text[at..], text)
}

/// With `--testdox` a line is drawn in front of what is told.
fn phpunit(name: &str, text: &str) -> Told {
    const DRAWN: &str = "   │";
    if !text.starts_with(DRAWN) {
        return Told::new("", name, "", text);
    }
    let lines: Vec<&str> = text.lines().map_while(|line| line.strip_prefix(DRAWN)).map(str::trim_start).collect();
    Told::new("", name, "", &lines.join("\n"))
}

/// `[chromium] › tests/a.spec.ts:3:5 › suite › name`
fn playwright(heading: &str, text: &str) -> Told {
    let parts: Vec<&str> = heading.split(" › ").collect();
    let at = usize::from(heading.starts_with('['));
    let place = parts.get(at).copied().unwrap_or_default();
    let mut place_parts = place.rsplitn(3, ':');
    let (_, line, file) = (place_parts.next(), place_parts.next().and_then(numbers::line), place_parts.next());
    // The first try says as much as those after it.
    let first = text.find("\n    Retry #").map_or(text, |at| &text[..at]);
    let mut told = Told::new(file.unwrap_or_default(), heading, "", first);
    told.failure.line_number = told.failure.line_number.or(line);
    told
}

/// `JUnit Jupiter:CartTest:fluent()`, whose class stands in full on the next line.
fn junit_console(heading: &str, text: &str) -> Told {
    let name: Vec<&str> = heading.split(':').skip(1).collect();
    let message = text.split_once("=> ").map_or("", |(_, message)| message);
    Told::new("", &name.join(" > "), message, message)
}

/// The first line names the place only.
fn below_heading(name: &str, file: &str, text: &str) -> Told {
    Told::new(file, name, text.split_once('\n').map_or("", |(_, below)| below), text)
}

/// Indented by five, with the place of the test itself on the first line.
fn exunit(name: &str, text: &str) -> Told {
    let lines: Vec<&str> = text.lines().map(|line| line.strip_prefix("     ").unwrap_or(line)).collect();
    let (place, below) = lines.split_first().unwrap_or((&"", &[]));
    let file = place.rsplit_once(':').filter(|(file, _)| file.ends_with(".exs") || file.ends_with(".ex"));
    let below = below.join("\n");
    let message = below.split("\nstacktrace:").next().unwrap_or_default();
    Told::new(&file.map_or(String::new(), |(file, _)| text::path(file)), name, message, &below)
}

/// Each expectation that did not hold has a message and a stack. The first is told.
fn jasmine(name: &str, text: &str) -> Told {
    let (_, first) = text.split_once("  Message:\n").unwrap_or(("", text));
    let first = first.split("\n  Message:").next().unwrap_or_default();
    let message = first.split("\n  Stack:").next().unwrap_or_default();
    let message: Vec<&str> = message.lines().map(str::trim).collect();
    Told::new("", name, &message.join("\n"), first)
}

/// The line of source that threw stands above a caret and is no part of the message.
fn deno(name: &str, file: &str, text: &str) -> Told {
    let mut said: Vec<&str> = Vec::new();
    for line in text.lines().take_while(|line| !line.starts_with("    at ")) {
        if line.trim() == "^" {
            said.pop();
        } else {
            said.push(line);
        }
    }
    let message = said.join("\n");
    Told::new(file, name, message.trim_start_matches("error: "), text)
}

/// Comments of TAP: the place, then what differs.
fn prove(name: &str, text: &str) -> Told {
    let lines: Vec<&str> = text.lines().map(|line| line.trim_start().trim_start_matches('#')).collect();
    let (place, below) = lines.split_first().unwrap_or((&"", &[]));
    let message: Vec<&str> = below.iter().map(|line| line.trim()).collect();
    let message = if below.iter().all(|line| line.trim().is_empty()) {
        format!("the test '{name}' failed")
    } else {
        message.join("\n")
    };
    Told::new("", name, &message, &format!("{}\n{}", place.trim(), below.join("\n")))
}

/// The name stands on the first line.
fn busted(file: &str, text: &str) -> Told {
    let (name, message) = text.trim_start().split_once('\n').unwrap_or((text, ""));
    Told::new(file, name.trim(), message, message)
}

fn dotnet(name: &str, text: &str) -> Told {
    let (_, message) = text.split_once("Error Message:\n").unwrap_or(("", text));
    let message = message.split("\n  Stack Trace:").next().unwrap_or_default();
    // Of data-driven tests the name ends in the arguments.
    Told::new("", name, message.trim(), text)
}

/// `Failed`, `Timeout`, `Exception: SegFault`, and what the program printed.
fn ctest(name: &str, ending: &str, text: &str) -> Told {
    let mut told = Told::new("", name, "", text);
    let ending = ending.trim_end_matches(':');
    // What a program says of its own end is worth more than the signal.
    let says_more = told.failure.source.is_some() && ending != "Timeout";
    if told.failure.error_message.is_empty() || ending != "Failed" && !says_more {
        told.failure = Failure {
            test_name: Some(name.to_owned()),
            error_message: format!("the test ended with: {ending}"),
            error_type: if ending == "Timeout" { ErrorType::TimeoutError } else { ErrorType::RuntimeError },
            error_class: Some(ending.trim_start_matches("Exception: ").to_owned()),
            ..told.failure
        };
    }
    told
}
