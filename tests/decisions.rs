//! The decision table and its tests belong together: a row without a test fails, and so does a test of the table's own
//! files that no row names.

use std::{collections::BTreeMap, fs, path::Path};

/// Letters of the column *test*, and where the tests are.
const FILES: [(&str, &[&str]); 17] = [
    ("K", &["tests/loops"]),
    ("A", &["tests/online"]),
    ("S", &["tests/scenarios"]),
    ("R", &["crates/loopgate-core/src/attempts/retry.rs"]),
    ("U", &["crates/loopgate-core/src/attempts/rerun_tests.rs"]),
    ("D", &["crates/loopgate-core/src/deciding/decide_tests"]),
    ("T", &["crates/loopgate-core/src/deciding/row_tests"]),
    ("B", &["crates/loopgate-core/src/failure/explain/blame.rs"]),
    ("C", &["crates/loopgate-core/src/attempts/comparison.rs"]),
    ("I", &["crates/loopgate-core/src/deciding/iteration.rs", "src/cli/decide.rs"]),
    (
        "V",
        &[
            "crates/loopgate-core/src/verdict/coverage",
            "crates/loopgate-core/src/verdict/legs_tests.rs",
            "crates/loopgate-core/src/evidence/contradiction.rs",
        ],
    ),
    ("N", &["crates/loopgate-core/src/deciding/interleavings"]),
    ("P", &["src/runner/proof/mod.rs", "src/runner/proof/burn_in_tests.rs"]),
    (
        "Q",
        &[
            "crates/loopgate-core/src/escalation/fix_request.rs",
            "src/render/fix_request.rs",
            "src/render/machine/mod.rs",
        ],
    ),
    ("Y", &["crates/loopgate-core/src/escalation/senior_fixer.rs"]),
    ("Z", &["src/runner/schedule.rs"]),
    ("G", &["crates/loopgate-core/src/gate/waiting.rs", "crates/loopgate-core/src/deciding/decide_tests"]),
];
type Letters = &'static [(&'static str, &'static [&'static str])];

/// Letters that mean something else in the rows of one section, and where its tests are without a letter.
const OF_SECTIONS: [(char, Letters); 10] = [
    ('U', &[("", &["src/github/registration", "src/server", "tests/online", "tests/scenarios"])]),
    ('D', &[("", &["crates/loopgate-core/src/memory", "src/refs/memory", "src/render", "tests/scenarios"])]),
    ('M', &[("", &["tests/github/names.rs", "tests/scenarios"])]),
    (
        'G',
        &[(
            "",
            &[
                "crates/loopgate-core/src/gate/assess/tests",
                "crates/loopgate-core/src/gate/trigger/tests.rs",
                "tests/scenarios",
                "tests/gates",
            ],
        )],
    ),
    ('K', &[("", &["tests/github/storage.rs", "tests/action_only", "src/refs", "src/github/storage"])]),
    (
        'L',
        &[
            ("T", &["crates/loopgate-core/src/reflex/turn/tests.rs"]),
            ("X", &["crates/loopgate-core/src/reflex/fix_tests.rs"]),
            ("K", &["tests/loops"]),
            ("Z", &["src/runner/schedule.rs"]),
        ],
    ),
    (
        'Q',
        &[
            ("T", &["crates/loopgate-core/src/metrics/tests.rs"]),
            ("U", &["crates/loopgate-core/src/memory/uplift.rs"]),
            ("L", &["src/refs/run_lines.rs"]),
            ("A", &["tests/online/metrics.rs"]),
            ("K", &["tests/loops/recorded.rs"]),
            ("S", &["src/render/metrics_tests.rs", "src/server/metrics.rs"]),
        ],
    ),
    ('R', &[("T", &["crates/loopgate-core/src/replay/tests.rs"]), ("", &["tests/online", "tests/scenarios"])]),
    ('T', &[("", &["tests/online", "src/github/feedback"])]),
    ('N', &[("", &["tests/action_only", "src/cli/exit.rs", "src/cli/reconcile", "src/cli/reconcile.rs"])]),
];
/// Files whose every test is about rows.
const ABOUT_ROWS: [&str; 4] = ["R", "U", "D", "T"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Names of the tests in a file, or in all files of a folder.
fn tests_in(path: &Path) -> Vec<String> {
    if path.is_dir() {
        let entries = fs::read_dir(path).expect("a folder").map(|entry| entry.expect("an entry").path());
        return entries.flat_map(|entry| tests_in(&entry)).collect();
    }
    let text = fs::read_to_string(path).unwrap_or_default();
    let mut is_test = false;
    let mut names = Vec::new();
    for line in text.lines().map(str::trim) {
        // A row of a macro that makes a test of each: `the_name_of_the_test: …`.
        let row = line.split_once(": ").map(|(name, _)| name);
        names.extend(
            row.filter(|name| name.matches('_').count() >= 3 && name.bytes().all(is_of_name)).map(str::to_owned),
        );
        // A row of a macro that plays each on several worlds: `the_name_of_the_conversation,`.
        let row = line.strip_suffix(',').filter(|name| name.matches('_').count() >= 3 && name.bytes().all(is_of_name));
        names.extend(row.map(str::to_owned));
        match line.trim_start_matches("async ").strip_prefix("fn ").and_then(|rest| rest.split('(').next()) {
            Some(name) if is_test => {
                names.push(name.to_owned());
                is_test = false;
            }
            _ => {
                is_test = (line == "#[test]" || line.starts_with("#[tokio::test"))
                    || is_test && (line.starts_with("//") || line.starts_with("#["))
            }
        }
    }
    names
}

const fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'
}

/// Rows as (number, test cell).
fn rows(table: &str) -> Vec<(String, String)> {
    let number = |cell: &str| {
        let (letter, digits) = cell.split_at_checked(1)?;
        let digits = digits.trim_end_matches(|c: char| c.is_ascii_lowercase());
        (letter.chars().all(|c| c.is_ascii_uppercase()) && !digits.is_empty() && digits.parse::<u32>().is_ok())
            .then(|| cell.to_owned())
    };
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let row = |line: &str| {
        let cells = cells(line);
        let [_, first, .., last, _] = cells.as_slice() else { return None };
        Some((number(first)?, last.clone()))
    };
    table.lines().filter(|line| line.starts_with('|')).filter_map(row).collect()
}

/// `D *a_failing*, *an_opened*, U *retry*` as letters with the beginnings of names; a letter holds until the next.
fn named(cell: &str) -> Vec<(String, String)> {
    let mut letter = String::new();
    let mut named = Vec::new();
    for part in cell.split(',') {
        let (before, name) = part.split_once('*').unwrap_or((part, ""));
        if !before.trim().is_empty() {
            letter = before.trim().to_owned();
        }
        named.push((letter.clone(), name.trim_end_matches('*').to_owned()));
    }
    named
}

#[test]
fn every_row_has_its_test_and_every_test_its_row() {
    let table = fs::read_to_string(root().join("docs/decisions.md")).expect("the table");
    let tests: BTreeMap<&str, Vec<String>> = FILES
        .iter()
        .map(|(letter, paths)| (*letter, paths.iter().flat_map(|path| tests_in(&root().join(path))).collect()))
        .collect();
    let of_sections: BTreeMap<(char, &str), Vec<String>> = OF_SECTIONS
        .iter()
        .flat_map(|(section, files)| files.iter().map(move |(letter, paths)| ((*section, *letter), *paths)))
        .map(|(key, paths)| (key, paths.iter().flat_map(|path| tests_in(&root().join(path))).collect()))
        .collect();
    let rows = rows(&table);
    assert!(rows.len() > 100, "the table could not be read: {} rows", rows.len());
    let mut problems = Vec::new();
    let mut mentioned: Vec<(String, String)> = Vec::new();
    for (number, cell) in &rows {
        if rows.iter().filter(|(other, _)| other == number).count() > 1 {
            problems.push(format!("{number} is there twice"));
        }
        for (letter, name) in named(cell) {
            let section = number.chars().next().unwrap_or_default();
            let has_own = OF_SECTIONS.iter().any(|(own, _)| *own == section);
            let known = match has_own {
                true => of_sections.get(&(section, letter.as_str())),
                false => tests.get(letter.as_str()),
            };
            if name.is_empty() || !known.is_some_and(|known| known.iter().any(|test| test.starts_with(&name))) {
                problems.push(format!("{number}: no test {letter} *{name}*"));
            }
            if !has_own {
                mentioned.push((letter, name));
            }
        }
    }
    for letter in ABOUT_ROWS {
        for test in tests.get(letter).into_iter().flatten() {
            if !mentioned.iter().any(|(of, name)| of == letter && test.starts_with(name)) {
                problems.push(format!("{letter}: no row names the test {test}"));
            }
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
}
