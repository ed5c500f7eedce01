//! Stack frames and source positions out of the text of a dozen languages' tools.
//!
//! The forms of lines are rows of `data/languages.toml`; this file tries every row on every line and puts the frames in
//! one order: innermost first, a cause before what it caused.

use std::sync::LazyLock;

use regex::Captures;
use serde::{Deserialize, Serialize};

use super::{
    cause,
    changes::Changes,
    paths::{self, FrameOrigin},
    text,
};
use crate::{
    evidence::SourceLocation,
    expressions::Patterns,
    source_files::{FrameLine, LANGUAGES, is_code, is_test, language_of},
};

/// Most frames kept of one text.
const MAX_FRAMES: usize = 100;

/// One place a stack trace or diagnostic names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// Path in the repository where it is known, else as printed, with `/`.
    pub file: String,
    /// From 1.
    pub line: Option<u32>,
    /// From 1, in the unit of the tool.
    pub column: Option<u32>,
    pub function: Option<String>,
    pub origin: FrameOrigin,
}

impl Frame {
    /// As printed, at the line and the column that a form captures: where it comes from is not looked up yet.
    fn printed(file: String, captures: &Captures<'_>, function: Option<String>) -> Self {
        let number = |name| {
            group(captures, name)?
                .parse()
                .ok()
                .filter(|number| *number > 0)
        };
        let [line, column] = ["line", "col"].map(number);
        Self {
            file,
            line,
            column,
            function,
            origin: FrameOrigin::Repository,
        }
    }

    pub fn location(&self) -> SourceLocation {
        SourceLocation {
            file: self.file.clone(),
            line: self.line,
            function: self.function.clone(),
        }
    }
}

static FORMS: LazyLock<Patterns> =
    LazyLock::new(|| Patterns::new(LANGUAGES.frames.iter().map(|form| &form.pattern)));

/// Looks printed places up among a pull request's files.
pub(in crate::failure) fn located(printed: &[Frame], changes: &Changes) -> Vec<Frame> {
    let root = printed
        .iter()
        .find_map(|place| changes.root_of(&place.file));
    let mut frames: Vec<Frame> = Vec::with_capacity(printed.len());
    for place in printed {
        let (file, origin) = changes.locate(&place.file, root.as_deref());
        // A log that a tool wrote is no source.
        if file.is_empty() || file.ends_with(".log") {
            continue;
        }
        let frame = Frame {
            file,
            origin,
            ..place.clone()
        };
        match frames
            .iter_mut()
            .find(|known| known.file == frame.file && known.line == frame.line)
        {
            // The line of a panic or an assertion names the place, the trace below it the function.
            Some(known) if known.function.is_none() => known.function = frame.function,
            Some(_) => {}
            None => frames.push(frame),
        }
    }
    frames
}

/// Whether the line belongs to a trace or names a place, rather than saying what went wrong.
pub(in crate::failure) fn is_trace_line(line: &str) -> bool {
    FORMS
        .matching(line)
        .into_iter()
        .any(|row| match LANGUAGES.frames[row].names {
            // A diagnostic names its place and goes on with its message.
            FrameLine::Frame | FrameLine::Callee => FORMS
                .captures(row, line)
                .and_then(|captures| captures.get(0))
                .is_some_and(|found| {
                    found.end() == line.len() && line[..found.start()].trim().is_empty()
                }),
            FrameLine::Function => line.ends_with(')'),
            FrameLine::Heading => false,
        })
}

/// The places of a cleaned trace, the deepest cause first.
pub(in crate::failure) fn printed(trace: &str) -> Vec<Frame> {
    let mut found = 0;
    let mut places: Vec<Frame> = Vec::new();
    for error in cause::chain(trace) {
        let mut section = Section::default();
        for line in error {
            found += if found < MAX_FRAMES {
                section.read(line)
            } else {
                0
            };
        }
        if section.innermost_last {
            section.places.reverse();
        }
        places.append(&mut section.places);
    }
    // If all frames are a library's, the place is looked for in the message.
    let is_foreign = |place: &Frame| {
        let path = paths::tidy(&place.file);
        paths::foreign(&path).is_some() || paths::is_system(&path)
    };
    let in_sentence = || {
        let (_, captures) = trace.lines().find_map(|line| IN_SENTENCES.first(line))?;
        Some(Frame::printed(
            group(&captures, "file")?.to_owned(),
            &captures,
            None,
        ))
    };
    let of_message = if places.iter().all(is_foreign) {
        in_words(trace).or_else(in_sentence)
    } else {
        None
    };
    of_message.into_iter().chain(places).collect()
}

/// A place that only a tool's own sentence names: the line of a makefile whose command failed, the file that imports
/// what is not there, the first file of a cycle.
static IN_SENTENCES: LazyLock<Patterns> = LazyLock::new(|| {
    Patterns::new([
        r"^make(?:\[[0-9]+\])?: \*\*\* \[(?P<file>[^\]]+):(?P<line>[0-9]+): ",
        r#"\b(?:resolve|find)(?: \w+)* ['"][^'"]+['"] from ['"](?P<file>[^'"]+)['"]"#,
        r"^\s*error [a-z-]+: (?P<file>\S+) →$",
    ])
});

/// A place in the midst of a line: what is left where no tool's form is known.
static IN_WORDS: LazyLock<Patterns> = LazyLock::new(|| {
    Patterns::new([
        r#"(?:^|[\s("'\[:])(?P<file>(?:[a-z]+://[^\s/]*)?[\w@./\\-]*\w\.[A-Za-z]\w{0,9}):(?P<line>[0-9]+)(?::(?P<col>[0-9]+))?(?:[\s:,)"'\]]|$)"#,
        r#"(?:^|[\s("'\[])(?P<file>(?:[a-z]+://[^\s/]*)?[\w@./\\-]*\w\.[A-Za-z]\w{0,9})["']?:? \(?(?P<line>[0-9]+):(?P<col>[0-9]+)\)?(?:[\s:,]|$)"#,
        r#"(?:^|[\s("'\[])(?P<file>(?:[a-z]+://[^\s/]*)?[\w@./\\-]*\w\.[A-Za-z]\w{0,9}): [^()\n]*\((?P<line>[0-9]+):(?P<col>[0-9]+)\)$"#,
        r#"(?:^|[\s("'\[])(?P<file>(?:[a-z]+://[^\s/]*)?[\w@./\\-]*\w\.[A-Za-z]\w{0,9})["']?(?:,| @|:| on| at)? \(?(?:line )?(?P<line>[0-9]+)(?:[\s:,;)\]"']|\.(?:[^0-9]|$)|$)"#,
        // diff-cover; a percentage is no line.
        r"^(?P<file>\S+\.\w+) \([0-9.]+%\): Missing lines (?P<line>[0-9]+)",
        // import-linter names a module.
        r"^-\s+(?P<module>\w+(?:\.\w+)*) -> \w+(?:\.\w+)* \(l\.(?P<line>[0-9]+)",
    ])
});

/// The place that belongs to the line that reports the failure: on that line, otherwise the last one above it in its
/// paragraph, otherwise the first one below. If no line reports a failure, the first place in the text.
fn in_words(trace: &str) -> Option<Frame> {
    let lines: Vec<&str> = trace.lines().filter(|line| !is_trace_line(line)).collect();
    // No address and no version has a column.
    let anywhere = || {
        lines
            .iter()
            .find_map(|line| in_line(line).filter(|place| place.column.is_some()))
    };
    let Some(at) = lines.iter().position(|line| text::names_failure(line)) else {
        // A linter's finding need not show that it is one, but begins with its place.
        let mut words = lines
            .iter()
            .filter_map(|line| line.split_whitespace().next())
            .filter(|word| word.contains(':'));
        let of_place = || {
            lines
                .iter()
                .filter(|line| describes_place(line))
                .find_map(|line| in_line(line))
        };
        // `gofmt -l` shows no more than the names of files.
        let named = || {
            lines
                .iter()
                .map(|line| line.trim())
                .find(|line| !line.contains(' ') && is_code(line))
        };
        let (line, column, function, origin) = (None, None, None, FrameOrigin::Repository);
        let listed = || {
            Some(Frame {
                file: named()?.to_owned(),
                line,
                column,
                function,
                origin,
            })
        };
        return words
            .find_map(in_line)
            .or_else(of_place)
            .or_else(anywhere)
            .or_else(listed);
    };
    let is_there = |line: &&&str| !line.trim().is_empty();
    let above = lines[..at]
        .iter()
        .rev()
        .take_while(is_there)
        .find_map(|line| in_line(line));
    let below = || {
        lines[at + 1..]
            .iter()
            .take_while(is_there)
            .find_map(|line| in_line(line))
    };
    in_line(lines[at])
        .or(above)
        .or_else(below)
        .or_else(anywhere)
}

/// Whether a line that is no remark names a place and shows something of it.
pub(in crate::failure) fn describes_place(line: &str) -> bool {
    let found = IN_WORDS.first(line);
    let is_module = found
        .as_ref()
        .is_some_and(|(_, captures)| captures.name("module").is_some());
    let place = found.map(|(_, captures)| captures.get_match().range());
    let has_words = |place: std::ops::Range<usize>| {
        let words = line[..place.start]
            .split_whitespace()
            .chain(line[place.end..].split_whitespace());
        words
            .filter(|word| word.contains(char::is_alphabetic))
            .count()
            > 1
    };
    // Cucumber and its like write beside each step where it stands.
    !text::is_remark(line)
        && ![".feature", " # "].iter().any(|part| line.contains(part))
        && (is_module || place.is_some_and(has_words))
        && in_line(line).is_some_and(|place| !paths::is_system(&place.file))
}

/// The place that a line names in its words.
fn in_line(line: &str) -> Option<Frame> {
    // pip shows of each package which line of the requirements asked for it.
    let (_, captures) = IN_WORDS
        .first(line)
        .filter(|_| !line.contains("(from -r "))?;
    if let Some(module) = group(&captures, "module") {
        let file = format!("{}.py", module.replace('.', "/"));
        return Some(Frame::printed(file, &captures, None));
    }
    // `name@https://…`: the rest of an address is no path.
    let file = group(&captures, "file")
        .filter(|file| !file.starts_with("//"))?
        .to_owned();
    let is_feature = file.ends_with(".feature") || file.ends_with(".robot");
    let says_line = captures.get_match().as_str().contains("line ");
    let is_source = is_code(&file)
        || is_test(&file)
        || is_feature
        || says_line
        || captures.name("col").is_some();
    let is_foreign = paths::foreign(&paths::tidy(&file)).is_some();
    (is_source && !is_foreign).then(|| Frame::printed(file, &captures, None))
}

/// One trace while it is read.
#[derive(Default)]
struct Section {
    places: Vec<Frame>,
    innermost_last: bool,
    /// The function that the line before named.
    above: Option<String>,
    /// File and function that a heading further up named.
    heading_file: Option<String>,
    heading_function: Option<String>,
}

impl Section {
    /// Returns how many places the line added.
    fn read(&mut self, line: &str) -> usize {
        let above = self.above.take();
        let Some((row, captures)) = FORMS.first(line) else {
            return 0;
        };
        let form = &LANGUAGES.frames[row];
        let function = group(&captures, "fun").and_then(tidy_function);
        let file = group(&captures, "file")
            .filter(|file| !file.contains("<anonymous>"))
            .map(str::to_owned);
        match form.names {
            FrameLine::Function => self.above = function,
            FrameLine::Heading => {
                self.heading_file = file;
                self.heading_function = function;
            }
            FrameLine::Frame | FrameLine::Callee => {
                let Some(file) = file.or_else(|| self.heading_file.clone()) else {
                    return 0;
                };
                self.innermost_last |= form.innermost_last;
                let function = if form.names == FrameLine::Callee {
                    if let Some(caller) = self.places.last_mut() {
                        caller.function = caller.function.take().or(function);
                    }
                    None
                } else {
                    function.or(above).or_else(|| self.heading_function.take())
                };
                // Jest names the frames of test files after what their lines call.
                let path = file.split('?').next().unwrap_or(&file);
                let is_script = matches!(language_of(path), Some("javascript" | "typescript"));
                let function = function.filter(|_| !(is_script && is_test(path)));
                // The path of a class's file below some source directory; for foreign classes one that `paths` knows as
                // such.
                let file = match group(&captures, "class") {
                    None => file,
                    Some(class) => {
                        let package = class
                            .rsplit_once('.')
                            .map_or("", |(package, _)| package)
                            .replace('.', "/");
                        let path = if package.is_empty() {
                            file
                        } else {
                            format!("{package}/{file}")
                        };
                        let is_of = |packages: &[String]| {
                            packages.iter().any(|start| class.starts_with(start))
                        };
                        match &LANGUAGES.foreign {
                            foreign if is_of(&foreign.jvm_packages) => {
                                format!("<internal:jvm>/{path}")
                            }
                            foreign if is_of(&foreign.jvm_libraries) => format!(".m2/{path}"),
                            _ => path,
                        }
                    }
                };
                self.places.push(Frame::printed(file, &captures, function));
                return 1;
            }
        }
        0
    }
}

fn group<'t>(captures: &Captures<'t>, name: &str) -> Option<&'t str> {
    captures
        .name(name)
        .map(|found| found.as_str())
        .filter(|found| !found.is_empty())
}

/// A function's name without arguments, hashes, closures and the words traces put around it.
///
/// None for code outside any function, and for functions without a name.
pub(in crate::failure) fn tidy_function(printed: &str) -> Option<String> {
    let mut name = text::prefix(printed.trim(), 200);
    for before in ["async ", "new ", "bound ", "static "] {
        name = name.strip_prefix(before).unwrap_or(name);
    }
    if let Some(index) = name.find(" [as ") {
        name = &name[..index];
    }
    // Ruby: `block (2 levels) in total`
    if let Some((_, method)) = name
        .split_once(" in ")
        .filter(|(before, _)| RUBY_BLOCKS.iter().any(|b| before.starts_with(b)))
    {
        name = method;
    }
    // The hash of a Rust symbol: `::h` and 16 digits.
    if let Some(index) = name.rfind("::h").filter(|index| name.len() - index == 19) {
        name = &name[..index];
    }
    // `name(arguments) const` → `name`; Go's `pkg.(*T).Method` keeps its receiver.
    let end = name
        .find('(')
        .filter(|at| *at > 0 && !name[..*at].ends_with('.'));
    let name = end.map_or(name, |end| name[..end].trim_end());
    let name: String = [
        "::{{closure}}",
        "{{closure}}",
        "{closure}",
        "::{closure#0}",
        "<anonymous>",
        "Object.",
        "Module.",
    ]
    .iter()
    .fold(name.to_owned(), |name, noise| name.replace(noise, ""));
    let name = name
        .trim_matches(|c: char| matches!(c, '.' | ':' | ' '))
        .to_owned();
    // `<module>`, `<lambda>`, `<genexpr>`, `<main>`, `<top (required)>`, `<class:Cart>`
    let nameless = matches!(name.as_str(), "" | "anonymous" | "null")
        || (name.starts_with('<') && !name.contains("::"));
    (!nameless).then_some(name)
}

const RUBY_BLOCKS: [&str; 3] = ["block", "rescue", "ensure"];

#[cfg(test)]
mod tests;
