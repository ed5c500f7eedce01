//! Who prints each line of a text in which several programs speak: a workspace's task runner, a container build and a
//! process manager put the name of the program in front of its lines.
//!
//! Such a text is one text each. [`Speakers`] learns the labels a page at a time and gives each line to its speaker,
//! before anything is read in it.

use std::{borrow::Cow, collections::HashMap};

use loopgate_core::{evidence::Failure, failure};

use crate::text;

/// Speakers that are told apart; the lines of further ones count as the last one's.
pub(crate) const MAX_SPEAKERS: usize = 64;
/// Bytes of a label.
const MAX_LABEL: usize = 120;
/// Labels counted.
const MAX_LABELS: usize = 1_000;
/// Lines of one label from which on it counts, where nobody announced it.
const FEW: usize = 3;

patterns! {
    /// What programs write in front of their lines for the time.
    TIME = r"^\[?(?:\d{4}[-/]\d\d[-/]\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]? ";
    /// pnpm, of a script of a directory, and bun, of a package's: `packages/api test$ node --test`, `api test $ …`.
    ANNOUNCED = r"^(?P<label>(?P<directory>(?:@[\w.-]+/)?[\w./-]+) [\w.:-]+)(?P<of_bun> )?\$ ";
    /// npm, of a script that failed.
    OF_NPM = r"^npm (?:error|ERR!) path (?P<directory>/\S.*)$";
    /// A container's build quotes the end of the step that failed: ` > [build 5/6] RUN make:`, and each line with its time.
    QUOTED_TIME = r"^[0-9]+\.[0-9]{1,3} ";
}

/// Words that show how bad a line is, and not who printed it.
const LEVELS: [&str; 17] = [
    "debug", "error", "err", "fail", "failed", "fatal", "hint", "info", "note", "notice", "ok",
    "pass", "trace", "warn", "warning", "help", "skip",
];

/// The line without a time in front of it.
pub(crate) fn without_time(line: &str) -> &str {
    let starts = line.starts_with(|c: char| c.is_ascii_digit() || c == '[');
    let time = if starts { TIME.find(line) } else { None };
    time.map_or(line, |time| &line[time.end()..])
}

/// A program that another one starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Speaker {
    /// The directory whose script it is: from the top of the repository where the label is a path, else as npm names it.
    pub directory: Option<String>,
}

impl Speaker {
    /// The path of a file that it names, from the top of the repository: a script runs in its own directory.
    pub fn file<'f>(&self, file: &'f str) -> Cow<'f, str> {
        let is_relative = !file.is_empty() && !file.starts_with(['/', '.']) && !file.contains(":");
        match &self.directory {
            Some(directory) if is_relative && !is_inside(file, directory) => {
                Cow::Owned(format!("{directory}/{file}"))
            }
            _ => Cow::Borrowed(file),
        }
    }

    /// Makes a failure's places those of the repository, and says where its tool ran.
    pub fn settle(&self, failure: &mut Failure) {
        let Some(directory) = &self.directory else {
            return;
        };
        let source = failure.source.as_mut().map(|source| &mut source.file);
        for file in [failure.test_file.as_mut(), source].into_iter().flatten() {
            *file = self.file(file).into_owned();
        }
        if !directory.starts_with('/') {
            failure.directory.get_or_insert_with(|| directory.clone());
        }
    }

    /// `packages/api:test` and `packages/api test` are of a directory, `@shop/api:test` and `web` of a package, whose
    /// directory is not known.
    fn of(name: &str) -> Self {
        let path = name.split([' ', ':', '#']).next().unwrap_or_default();
        let is_path = path.contains('/') && !path.starts_with(['@', '/', '.']);
        Self {
            directory: is_path.then(|| text::path(path.trim_end_matches('/'))),
        }
    }
}

fn is_inside(file: &str, directory: &str) -> bool {
    file.strip_prefix(directory)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// How a label stands in front of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Shape {
    /// `[web] `, `[@shop/api]: `
    Bracket,
    /// `web-1  | `
    Bar,
    /// `@shop/api:test: `, `packages/api test: `; in prose a word stands so too.
    Colon,
    /// `INTERNALERROR> `
    Angle,
    /// `web` and a tab, as GNU parallel tags lines; `gh run view` writes `JOB`, tab, `STEP`, tab, time.
    Tab,
    /// `#11 4.108 `, `#11 [build 5/6] RUN …` of a container's build.
    Step,
}

/// The beginning of a line that may name who printed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Label<'l> {
    shape: Shape,
    name: &'l str,
    /// Bytes of the whole label.
    len: usize,
}

/// How often a label was seen.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    lines: usize,
    /// Directly below a line of the same label.
    in_a_row: usize,
}

impl Seen {
    /// Whether it names a speaker: a list of keys and values has words in front of its lines too, but no program speaks
    /// in single lines only.
    fn is_speaker(self, label: &Label<'_>) -> bool {
        let is_name = match label.shape {
            Shape::Step => true,
            Shape::Bracket | Shape::Bar => self.lines >= FEW,
            Shape::Colon | Shape::Angle | Shape::Tab => {
                self.lines >= FEW
                    && (label.name.contains([':', '@', '/']) || self.in_a_row * 2 >= self.lines)
            }
        };
        is_name && self.lines > 1
    }
}

/// The speakers of a text as far as it was read.
#[derive(Debug, Default)]
pub(crate) struct Speakers {
    seen: HashMap<String, Seen>,
    /// Where their scripts run, by the labels' names.
    directories: HashMap<String, String>,
    /// The speakers by their labels' names.
    known: HashMap<String, usize>,
    speakers: Vec<Speaker>,
    /// A container is built.
    has_steps: bool,
}

impl Speakers {
    /// Learns the labels of a page of lines.
    pub fn learn<'t>(&mut self, lines: impl Iterator<Item = &'t str> + Clone) {
        let labels: Vec<Option<Label<'t>>> = lines.clone().map(label).collect();
        let mut last = None;
        for (line, label) in lines.clone().zip(&labels) {
            if memchr::memchr(b'$', line.as_bytes()).is_some()
                && let Some(found) = ANNOUNCED.captures(line)
            {
                let is_directory = found.name("of_bun").is_none();
                let directory = is_directory.then(|| text::path(&found["directory"]));
                self.know(&found["label"], Speaker { directory });
            }
            if let Some(label) = label {
                self.see(label.name, last == Some(label.name));
                if let Some(found) = OF_NPM.captures(&line[label.len..]) {
                    self.place(label.name, &found["directory"]);
                }
            }
            last = label.map(|label| label.name);
        }
        if self.seen.is_empty() {
            return;
        }
        let is_speaker = |label: &Label<'_>| {
            let seen = self.seen.get(label.name);
            seen.is_some_and(|seen| seen.is_speaker(label))
        };
        let speakers: Vec<Option<&str>> = labels
            .iter()
            .map(|label| label.filter(is_speaker).map(|label| label.name))
            .collect();
        if !speak_in_most(lines, &speakers) {
            return;
        }
        for name in speakers.into_iter().flatten() {
            self.know(name, Speaker::of(name));
        }
    }

    /// Counts a label.
    fn see(&mut self, name: &str, is_in_a_row: bool) {
        let has_room = self.seen.len() < MAX_LABELS;
        let seen = match self.seen.get_mut(name) {
            None if has_room => self.seen.entry(name.to_owned()).or_default(),
            None => return,
            Some(seen) => seen,
        };
        seen.lines += 1;
        seen.in_a_row += usize::from(is_in_a_row);
    }

    /// Whose line it is, and the line without the label.
    pub fn route<'l>(&self, line: &'l str) -> (usize, &'l str) {
        if self.known.is_empty() {
            return (0, line);
        }
        let spoken = label(line).and_then(|label| {
            let body = &line[label.len..];
            Some((*self.known.get(label.name)?, body))
        });
        spoken.unwrap_or((0, line))
    }

    /// Whether a line only says once more what a step of a container's build said.
    pub fn is_quotation(&self, line: &str) -> bool {
        self.has_steps && QUOTED_TIME.is_match(line)
    }

    /// The labels' names, each with its speaker's number.
    pub fn names(&self) -> impl Iterator<Item = (&str, usize)> {
        let known = self.known.iter();
        known.map(|(name, number)| (name.as_str(), *number))
    }

    /// Whether programs were told apart.
    pub fn are_several(&self) -> bool {
        !self.known.is_empty()
    }

    /// The speaker of that number.
    pub fn speaker(&self, number: usize) -> Speaker {
        let known = number.checked_sub(1).and_then(|at| self.speakers.get(at));
        known.cloned().unwrap_or_default()
    }

    /// Says where the script of that label runs, which stands below what it printed.
    fn place(&mut self, name: &str, directory: &str) {
        if self.directories.len() < MAX_LABELS {
            let directory = text::path(directory.trim_end());
            self.directories.insert(name.to_owned(), directory);
        }
    }

    fn know(&mut self, name: &str, mut speaker: Speaker) {
        speaker.directory = speaker
            .directory
            .or_else(|| self.directories.get(name).cloned());
        if self.known.contains_key(name) || self.known.len() >= MAX_LABELS {
            return;
        }
        if self.speakers.len() + 1 < MAX_SPEAKERS {
            self.speakers.push(speaker);
        }
        self.has_steps |= name.starts_with('#');
        self.known.insert(name.to_owned(), self.speakers.len());
    }
}

/// Whether speakers speak in most lines from the first of theirs to the last.
fn speak_in_most<'t>(lines: impl Iterator<Item = &'t str>, speakers: &[Option<&str>]) -> bool {
    let (mut labelled, mut with_text, mut span) = (0, 0, 0);
    for (line, speaker) in lines.zip(speakers) {
        labelled += usize::from(speaker.is_some());
        with_text += usize::from(labelled > 0 && !line.trim().is_empty());
        if speaker.is_some() {
            span = with_text;
        }
    }
    labelled * 2 >= span
}

/// What may be a label: it names somebody, and no place and no level.
fn label(line: &str) -> Option<Label<'_>> {
    let body = without_time(line);
    let found = label_of(&body[..body.floor_char_boundary(MAX_LABEL)])?;
    Some(Label {
        len: found.len + (line.len() - body.len()),
        ..found
    })
}

fn label_of(head: &str) -> Option<Label<'_>> {
    let found = match head.bytes().next()? {
        b'[' => bracket(head)?,
        b'#' => step(head)?,
        byte if byte.is_ascii_alphanumeric() || matches!(byte, b'@' | b'/' | b'.' | b'_') => {
            word(head).or_else(|| tab(head))?
        }
        _ => return None,
    };
    let name = found.name;
    let last = name.rsplit(':').next().unwrap_or(name);
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit());
    let names_somebody = match found.shape {
        Shape::Step => true,
        Shape::Bracket => name.contains(|c: char| c.is_ascii_alphanumeric()) && !is_progress(name),
        Shape::Bar | Shape::Colon | Shape::Angle | Shape::Tab => {
            !is_number && !text::looks_like_path(name)
        }
    };
    let is_level = LEVELS.iter().any(|level| name.eq_ignore_ascii_case(level));
    (names_somebody && !is_level).then_some(found)
}

/// `3/14`, `42%`
fn is_progress(name: &str) -> bool {
    name.contains(['/', '%'])
        && name
            .bytes()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'/' | b'%' | b'.' | b' '))
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'@' | b'/' | b'.' | b'_' | b'-' | b'#')
}

fn bracket(head: &str) -> Option<Label<'_>> {
    let (padded, _) = head[1..].split_once(']')?;
    let is_name = |byte| is_of_name(byte) || byte == b':';
    let end = padded.len() + 2;
    let name = padded.trim_end();
    // GoogleTest pads its words too.
    if name.len() < padded.len() && !name.contains(|c: char| c.is_ascii_lowercase()) {
        return None;
    }
    let end = end + usize::from(head[end..].starts_with(':'));
    let len = behind(head, end)?;
    let is_whole = !name.is_empty() && name.bytes().all(is_name);
    is_whole.then_some(Label {
        shape: Shape::Bracket,
        name,
        len,
    })
}

fn tab(head: &str) -> Option<Label<'_>> {
    let (first, rest) = head.split_once('\t')?;
    let is_plain = |name: &str| !name.ends_with(' ') && !name.contains([':', '=', '"', '\'']);
    let of_first = Label {
        shape: Shape::Tab,
        name: first,
        len: first.len() + 1,
    };
    let of_step = || {
        let (step, rest) = rest.split_once('\t')?;
        let stamp = rest.len() - failure::without_stamp(rest).len();
        let end = first.len() + 1 + step.len();
        (stamp > 0).then(|| Label {
            name: &head[..end],
            len: end + 1 + stamp,
            ..of_first
        })
    };
    of_step().or_else(|| is_plain(first).then_some(of_first))
}

/// `#11 4.108 `, `#11 [build 5/6] RUN …`, `#11 ERROR: …`, `#11 DONE 0.1s`
fn step(head: &str) -> Option<Label<'_>> {
    let digits = head[1..].bytes().take_while(u8::is_ascii_digit).count();
    let end = digits + 1;
    let body = head[end..].strip_prefix(' ').filter(|_| digits > 0)?;
    let (first, _) = body.split_once(' ').unwrap_or((body, ""));
    let is_time = first.contains('.') && first.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let is_own = first.starts_with('[')
        || ["ERROR:", "DONE", "CACHED", "CANCELED", "WARN:"].contains(&first);
    (is_time || is_own).then(|| Label {
        shape: Shape::Step,
        name: &head[..end],
        len: match is_time {
            true => (end + 1 + first.len() + 1).min(head.len()),
            false => end + 1,
        },
    })
}

fn word(head: &str) -> Option<Label<'_>> {
    let bytes = head.as_bytes();
    let end_of = |from: usize| {
        let is_name = |byte: &u8| is_of_name(*byte) || *byte == b':';
        from + bytes[from..]
            .iter()
            .take_while(|byte| is_name(byte))
            .count()
    };
    let end = end_of(0);
    let name = &head[..end];
    let colon = |name: &'_ str, end: usize| {
        let name = &head[..name.len() - 1];
        let has_parts = name.split(':').all(|part| !part.is_empty());
        has_parts.then_some(())?;
        Some(Label {
            shape: Shape::Colon,
            name,
            len: behind(head, end)?,
        })
    };
    if name.ends_with(':') {
        return colon(name, end);
    }
    match bytes.get(end)? {
        b'>' => Some(Label {
            shape: Shape::Angle,
            name,
            len: behind(head, end + 1)?,
        }),
        b' ' => {
            let blanks = bytes[end..]
                .iter()
                .take_while(|byte| **byte == b' ')
                .count();
            let next = end + blanks;
            if bytes.get(next) == Some(&b'|') {
                return Some(Label {
                    shape: Shape::Bar,
                    name,
                    len: behind(head, next + 1)?,
                });
            }
            let last = end_of(next);
            let two = &head[..last];
            (blanks == 1 && two.ends_with(':')).then(|| colon(two, last))?
        }
        _ => None,
    }
}

/// The end of a label that ends at a place: there the line is over, or a blank follows, which belongs to the label.
fn behind(head: &str, end: usize) -> Option<usize> {
    match head.as_bytes().get(end) {
        None => Some(end),
        Some(b' ') => Some(end + 1),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_taken_off() {
        for (line, left) in [
            ("2026-11-20T22:14:38.896Z FAIL", "FAIL"),
            ("[10:22:03] Starting", "Starting"),
            ("12:30 is a time", "12:30 is a time"),
        ] {
            assert_eq!(without_time(line), left);
        }
    }

    /// Speaker and line of each line.
    fn routed<'t>(lines: &[&'t str]) -> Vec<(usize, &'t str)> {
        let mut speakers = Speakers::default();
        speakers.learn(lines.iter().copied());
        lines.iter().map(|line| speakers.route(line)).collect()
    }

    #[test]
    fn each_speaker_has_its_lines() {
        let of_two = [
            (
                [
                    "@shop/api:test: FAIL a.test.ts",
                    "@shop/web:test: RUN",
                    "@shop/api:test: ",
                    "@shop/api:test:   expected 3",
                    "@shop/web:test: ok",
                    "@shop/web:test:",
                    "done",
                ],
                [
                    (1, "FAIL a.test.ts"),
                    (2, "RUN"),
                    (1, ""),
                    (1, "  expected 3"),
                    (2, "ok"),
                    (2, ""),
                    (0, "done"),
                ],
            ),
            (
                [
                    "web-1    | a",
                    "api-1    | b",
                    "api-1    | c",
                    "web-1    | d",
                    "web-1    |   e",
                    "api-1    |",
                    "api-1 exited with code 1",
                ],
                [
                    (1, "a"),
                    (2, "b"),
                    (2, "c"),
                    (1, "d"),
                    (1, "  e"),
                    (2, ""),
                    (0, "api-1 exited with code 1"),
                ],
            ),
            (
                [
                    "#1 [build 1/2] RUN make",
                    "#2 [test 1/2] RUN make test",
                    "#1 0.512 gcc",
                    "#2 0.6   indented",
                    "#1 0.613",
                    "#2 ERROR: process failed",
                    "------",
                ],
                [
                    (1, "[build 1/2] RUN make"),
                    (2, "[test 1/2] RUN make test"),
                    (1, "gcc"),
                    (2, "  indented"),
                    (1, ""),
                    (2, "ERROR: process failed"),
                    (0, "------"),
                ],
            ),
            (
                [
                    "21:09:33 api.1  | a",
                    "21:09:33 belt.1 | b",
                    "21:09:34 api.1  |   c",
                    "21:09:34 belt.1 | d",
                    "21:09:34 api.1  | e",
                    "21:09:35 belt.1 |",
                    "21:09:35 system | api.1 stopped (rc=1)",
                ],
                [
                    (1, "a"),
                    (2, "b"),
                    (1, "  c"),
                    (2, "d"),
                    (1, "e"),
                    (2, ""),
                    (0, "21:09:35 system | api.1 stopped (rc=1)"),
                ],
            ),
            (
                [
                    "[check:web  ] a",
                    "[check:types] b",
                    "[check:web  ]   c",
                    "[check:types] d",
                    "[check:web  ] e",
                    "[check:types] ",
                    "[ RUN      ] f",
                ],
                [
                    (1, "a"),
                    (2, "b"),
                    (1, "  c"),
                    (2, "d"),
                    (1, "e"),
                    (2, ""),
                    (0, "[ RUN      ] f"),
                ],
            ),
            (
                [
                    "yard\ta",
                    "yard\t  b",
                    "yard\t",
                    "test (web)\tRun jest\t2026-11-28T20:14:03.9480421Z c",
                    "test (web)\tRun jest\t2026-11-28T20:14:04.9480421Z   d",
                    "test (web)\tRun jest\t2026-11-28T20:14:05.9480421Z ",
                    "src/a.ts\t7",
                ],
                [
                    (1, "a"),
                    (1, "  b"),
                    (1, ""),
                    (2, "c"),
                    (2, "  d"),
                    (2, ""),
                    (0, "src/a.ts\t7"),
                ],
            ),
        ];
        for (lines, expected) in of_two {
            assert_eq!(routed(&lines), expected);
        }
    }

    #[test]
    fn npm_says_below_what_a_script_printed_where_it_runs() {
        let lines = ["one", "two", "npm error path /s/packages/b"];
        let of = |label: &str| lines.map(|line| format!("{label}: {line}"));
        let all: Vec<String> = of("b:test").into_iter().chain(of("@s/c:test")).collect();
        let mut speakers = Speakers::default();
        speakers.learn(all.iter().map(String::as_str));
        let speaker = speakers.speaker(1);
        assert_eq!(speaker.file("t.test.js"), "/s/packages/b/t.test.js");
        assert_eq!(speaker.file("/s/t.test.js"), "/s/t.test.js");
        let mut failure = Failure {
            test_file: Some("t.test.js".to_owned()),
            ..Failure::default()
        };
        speaker.settle(&mut failure);
        assert_eq!(
            (failure.test_file.as_deref(), failure.directory),
            (Some("/s/packages/b/t.test.js"), None)
        );
    }

    #[test]
    fn a_script_that_is_announced_is_known_by_its_first_line() {
        let lines = [
            "api test$ node --test",
            "@shop/web test $ vitest run",
            "api test: one",
            "@shop/web test: two",
            "[ELIFECYCLE] Test failed.",
        ];
        let mut speakers = Speakers::default();
        speakers.learn(lines.into_iter());
        assert_eq!(
            lines.map(|line| speakers.route(line)),
            [
                (0, lines[0]),
                (0, lines[1]),
                (1, "one"),
                (2, "two"),
                (0, lines[4])
            ]
        );
        let directories = [1, 2].map(|number| speakers.speaker(number).directory);
        assert_eq!(directories, [Some("api".to_owned()), None]);
    }

    #[test]
    fn what_only_looks_like_a_label_stays() {
        for own in [
            ["a.py:3: error: x", "a.py:4: error: y", "a.py:5: error: z"],
            ["a.py: x", "a.py: y", "a.py: z"],
            ["ERROR: x", "ERROR: y", "ERROR: z"],
            ["[INFO] x", "[INFO] y", "[INFO] z"],
            ["[1/3] x", "[2/3] y", "[3/3] z"],
            ["3 | let a", "4 | let b", "5 | let c"],
            ["[ RUN      ] a", "[       OK ] a", "[----------] 1"],
        ] {
            assert_eq!(routed(&own), own.map(|line| (0, line)));
        }
        let pairs = [
            "expected: 1",
            "got: 2",
            "expected: 3",
            "got: 4",
            "expected: 5",
            "got: 6",
        ];
        assert_eq!(routed(&pairs), pairs.map(|line| (0, line)));
    }

    #[test]
    fn a_label_that_is_a_path_names_the_directory() {
        for (name, directory) in [
            ("packages/api test", Some("packages/api")),
            ("packages/api:test", Some("packages/api")),
            ("@shop/api:test", None),
            ("web", None),
        ] {
            assert_eq!(Speaker::of(name).directory.as_deref(), directory, "{name}");
        }
    }
}
