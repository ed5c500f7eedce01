//! Every fixture in `tests/fixtures/reports/<format>/` is read as the JSON beside it says, whatever the pieces it comes
//! in; and no damage done to any of them makes a parser panic, hang or keep more than it may.
//!
//! `BLESS=1 cargo test --test reports` writes the expected results anew; read the difference before keeping it.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use loopgate::reports::{Pattern, ReadOptions, Report, RosterMode, read};
use serde_json::{Map, Value, json};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/reports");

/// The expression that the plain-text fixtures are read with.
const PATTERN: &str =
    r"^(?P<file>[^:\s]+):(?P<line>\d+): (?P<severity>error|warning): (?P<message>.+?)(?: \[(?P<rule>.+)\])?$";

/// Every fixture, with its format's folder and its bytes.
fn fixtures() -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for folder in fs::read_dir(FIXTURES).unwrap() {
        for file in fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if !path.to_string_lossy().ends_with(".expected.json") {
                let bytes = fs::read(&path).unwrap();
                found.push((path, bytes));
            }
        }
    }
    found.sort();
    assert!(!found.is_empty());
    found
}

fn options_for(path: &Path) -> ReadOptions {
    let is_regex = path.parent().is_some_and(|folder| folder.ends_with("regex"));
    ReadOptions { pattern: is_regex.then(|| Pattern::new(PATTERN).unwrap()), ..ReadOptions::default() }
}

/// The report without what is absent, so that expected results stay short.
fn normalised(report: &Report) -> Value {
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| {
        if !value.is_null() && value != json!([]) && value != json!(0) {
            out.insert(key.to_owned(), value);
        }
    };
    put("format", json!(report.format));
    put("framework", json!(report.framework));
    put("quality", json!(report.quality));
    put("notes", json!(report.notes));
    put("is_whole", if report.is_whole { Value::Null } else { json!(false) });
    put("results", json!(report.results));
    put("failures", report.failures.iter().map(|failure| without_nulls(json!(failure))).collect());
    put("failures_not_kept", json!(report.failures_not_kept));
    put("findings", report.findings.iter().map(|finding| without_nulls(json!(finding))).collect());
    put("findings_not_kept", json!(report.findings_not_kept));
    put("flaky_tests", json!(report.flaky_tests));
    if let Some(coverage) = &report.coverage {
        put("lines_covered", json!(coverage.lines_covered));
        put("lines_total", json!(coverage.lines_total));
        let line = |(line, hits): (&u32, &u64)| format!("{line}:{hits}");
        let file = |file: &loopgate::core::evidence::FileCoverage| {
            (file.path.clone(), json!(file.lines.iter().map(line).collect::<Vec<_>>().join(" ")))
        };
        put("coverage", Value::Object(coverage.files.iter().map(file).collect()));
    }
    Value::Object(out)
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            map.into_iter().filter(|(_, value)| !value.is_null()).map(|(k, v)| (k, without_nulls(v))).collect()
        }
        other => other,
    }
}

fn expected_path(fixture: &Path) -> PathBuf {
    let mut name = fixture.file_name().unwrap().to_owned();
    name.push(".expected.json");
    fixture.with_file_name(name)
}

fn shown(fixture: &Path) -> String {
    fixture.strip_prefix(FIXTURES).unwrap().to_string_lossy().into_owned()
}

#[test]
fn every_fixture_is_read_as_expected() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut wrong = Vec::new();
    for (path, bytes) in fixtures() {
        let got = normalised(&read(&shown(&path), bytes.as_slice(), &options_for(&path)));
        let expected = expected_path(&path);
        if bless {
            fs::write(&expected, serde_json::to_string_pretty(&got).unwrap() + "\n").unwrap();
            continue;
        }
        let wanted: Value = match fs::read_to_string(&expected) {
            Ok(text) => serde_json::from_str(&text).unwrap(),
            Err(error) => panic!("{}: {error}", shown(&expected)),
        };
        if got != wanted {
            let texts = [&wanted, &got].map(|value| serde_json::to_string_pretty(value).unwrap());
            let difference = similar::TextDiff::from_lines(&texts[0], &texts[1]).unified_diff().to_string();
            wrong.push(format!("{}\n{difference}", shown(&path)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Gives bytes a few at a time, as a pipe may.
struct Trickle<'a> {
    bytes: &'a [u8],
    step: usize,
}

impl Read for Trickle<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = self.step.min(into.len()).min(self.bytes.len());
        into[..count].copy_from_slice(&self.bytes[..count]);
        self.bytes = &self.bytes[count..];
        Ok(count)
    }
}

#[test]
fn pieces_do_not_matter() {
    for (path, bytes) in fixtures() {
        let options = options_for(&path);
        let whole = read("r", bytes.as_slice(), &options);
        for step in [1, 7, 4096] {
            assert_eq!(read("r", Trickle { bytes: &bytes, step }, &options), whole, "{} by {step}", shown(&path));
        }
    }
}

/// What holds of every report, of whatever bytes.
fn assert_sane(report: &Report, what: &str) {
    if let Some(results) = report.results {
        let parts = results.passed + results.failed + results.errors + results.skipped;
        assert_eq!(results.total, parts, "{what}");
        assert!(results.flaky <= results.passed, "{what}");
    }
    assert!(report.failures.len() <= 200 && report.findings.len() <= 200, "{what}");
    let results_or_notes = report.format.is_some() || !report.notes.is_empty();
    assert!(results_or_notes, "{what}: unread without a reason");
}

#[test]
fn truncation_never_panics_and_hardly_adds_tests() {
    for (path, bytes) in fixtures() {
        let options = options_for(&path);
        let whole = read("r", bytes.as_slice(), &options).results.map_or(0, |results| results.total);
        let step = (bytes.len() / 400).max(1);
        for length in (0..bytes.len()).step_by(step) {
            let what = format!("{} cut at {length}", shown(&path));
            let report = read("r", &bytes[..length], &options);
            assert_sane(&report, &what);
            let total = report.results.map_or(0, |results| results.total);
            // A name cut in half and a crash that was none, at most.
            assert!(total <= whole + 2, "{what}: {total} tests of {whole}");
        }
    }
}

/// A small deterministic generator: a failing case is reproduced by its fixture's name and round.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit.max(1)
    }
}

/// Bytes that mean something to some format.
const SPICES: [&[u8]; 20] = [
    b"<",
    b">",
    b"\"",
    b"&#0;",
    b"]]>",
    b"<![CDATA[",
    b"</testcase>",
    b"<testcase>",
    b"{",
    b"}",
    b"\\",
    b"\n",
    b"\0",
    b"\xFF\xFE",
    b"\xEF\xBB\xBF",
    b"-1",
    b"99999999999999999999",
    b"NaN",
    b"not ok 1\n",
    b"end_of_record\n",
];

fn mutate(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut out = bytes.to_vec();
    for _ in 0..=dice.below(4) {
        let at = dice.below(out.len());
        let end = (at + dice.below(60)).min(out.len());
        match dice.below(5) {
            0 => drop(out.drain(at..end)),
            1 => {
                let piece = out[at..end].to_vec();
                let to = dice.below(out.len());
                out.splice(to..to, piece);
            }
            2 => drop(out.splice(at..at, SPICES[dice.below(SPICES.len())].iter().copied())),
            3 => drop(out.splice(at..end, SPICES[dice.below(SPICES.len())].iter().copied())),
            _ => {
                if let Some(byte) = out.get_mut(at) {
                    *byte = u8::try_from(dice.below(256)).unwrap();
                }
            }
        }
    }
    out
}

#[test]
fn mutations_never_panic() {
    for (index, (path, bytes)) in fixtures().into_iter().enumerate() {
        let format = read("r", bytes.as_slice(), &options_for(&path)).format;
        for round in 0..150_u64 {
            let mut dice = Dice(round * 1_000 + index as u64);
            let mutated = mutate(&bytes, &mut dice);
            // Half of them are kept to their parser, whatever they look like now.
            let forced = format.filter(|_| round % 2 == 0);
            let options = ReadOptions { format: forced, roster: RosterMode::Build, ..options_for(&path) };
            assert_sane(&read("r", mutated.as_slice(), &options), &format!("{} round {round}", shown(&path)));
        }
    }
}
