//! What is wrong with a report, counted by kind: a report with a million nameless tests gets one sentence.

use std::fmt::Display;

/// Something a report lacks, or that had to be mended, without making it useless: the subject of its sentence for one
/// and for several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flaw(pub &'static str, pub &'static str);

impl Flaw {
    pub const NAMELESS_TEST: Self = Self("test has no name", "tests have no name");
    pub const NO_CLASS_OR_FILE: Self = Self(
        "test has neither class nor file",
        "tests have neither class nor file",
    );
    pub const NO_TIME: Self = Self("test has no time", "tests have no time");
    pub const BAD_NUMBER: Self = Self(
        "number is not usable and was clamped",
        "numbers are not usable and were clamped",
    );
    pub const WRONG_TOTAL: Self = Self(
        "declared total differs from what is there",
        "declared totals differ from what is there",
    );
    pub const UNKNOWN_RESULT: Self = Self(
        "result is of an unknown kind",
        "results are of an unknown kind",
    );
    pub const NO_END: Self = Self("part has no end", "parts have no end");
    pub const REPAIRED_TEXT: Self = Self("place is not valid text", "places are not valid text");
    pub const OVERSIZED_PART: Self = Self(
        "part is larger than 1 MiB and was cut",
        "parts are larger than 1 MiB and were cut",
    );
    pub const STRAY_MARKUP: Self =
        Self("stray `<` was read as text", "stray `<` were read as text");
    pub const TOO_MANY_TESTS: Self = Self(
        "test was past what is remembered: it is recognised as a rerun only if it failed before",
        "tests were past what is remembered: they are recognised as reruns only if they failed before",
    );
    pub const TOO_MANY_LINES: Self = Self(
        "line was past what is kept and only counted",
        "lines were past what is kept and only counted",
    );
    pub const LINES_NOT_LISTED: Self = Self(
        "file has its lines summed up, not listed",
        "files have their lines summed up, not listed",
    );
    pub const BAD_LINE: Self = Self(
        "line could not be understood",
        "lines could not be understood",
    );
    pub const SECOND_DOCUMENT: Self = Self(
        "further document follows the first",
        "further documents follow the first",
    );
    pub const NO_LOCATION: Self = Self("entry names no file", "entries name no file");
    pub const TOOL_FAILED: Self = Self(
        "run of the tool failed, by its own word",
        "runs of the tool failed, by its own word",
    );
    pub const TOOL_COMPLAINED: Self = Self(
        "error is told by the tool of its own run",
        "errors are told by the tool of its own run",
    );
    pub const SKIPPED_FAILURE: Self = Self(
        "skipped test failed too, by the reason of its skip",
        "skipped tests failed too, by the reasons of their skips",
    );
    pub const UNFINISHED_TEST: Self = Self(
        "test has no end and counts as failed",
        "tests have no end and count as failed",
    );
}

/// A flaw, and how often it was found.
pub(super) struct CountedFlaw {
    pub flaw: Flaw,
    pub first: String,
    pub count: u64,
}

/// The notes of one report.
#[derive(Default)]
pub(super) struct Notes {
    pub flaws: Vec<CountedFlaw>,
    /// Something people should know that is nothing against the report.
    pub remark: Option<&'static str>,
}

impl Notes {
    /// Counts a flaw; `place` is asked only the first time.
    pub fn flaw<P: Display>(&mut self, flaw: Flaw, place: impl FnOnce() -> P) {
        self.flaws(flaw, 1, place);
    }

    /// Counts a flaw that came `count` times, if it came at all.
    pub fn flaws<P: Display>(&mut self, flaw: Flaw, count: u64, place: impl FnOnce() -> P) {
        match self.flaws.iter_mut().find(|known| known.flaw == flaw) {
            Some(known) => known.count += count,
            None if count == 0 => {}
            None => self.flaws.push(CountedFlaw {
                flaw,
                first: super::text::name(&place().to_string()),
                count,
            }),
        }
    }

    /// The number, or the one to use in its place, which is noted.
    pub fn usable<T>(&mut self, number: Result<T, T>, place: impl FnOnce() -> String) -> T {
        number.unwrap_or_else(|clamped| {
            self.flaw(Flaw::BAD_NUMBER, place);
            clamped
        })
    }
}
