//! The decision table and its tests belong together: a row without a test fails, and so does a test of the table's own
//! files that no row names.

use std::{collections::BTreeMap, fs, path::Path};

/// Letters of the column *test*, and where the tests are.
const FILES: [(&str, &[&str]); 13] = [
    ("R", &["src/core/retry.rs"]),
    ("U", &["src/core/rerun_tests.rs"]),
    ("D", &["src/core/decide_tests.rs"]),
    ("T", &["src/core/row_tests.rs"]),
    ("B", &["src/core/failure/blame.rs"]),
    ("C", &["src/core/comparison.rs"]),
    ("I", &["src/core/iteration.rs"]),
    ("V", &["src/core/coverage"]),
    ("N", &["src/core/interleavings.rs"]),
    ("P", &["src/runner/proof.rs"]),
    ("Q", &["src/core/fix_request.rs"]),
    ("Y", &["src/core/senior.rs"]),
    ("G", &["src/core/waiting.rs", "src/core/decide_tests.rs"]),
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
    // What a workflow (N) and a local loop (L) do beside deciding has its tests elsewhere.
    let rows: Vec<_> = rows(&table).into_iter().filter(|(number, _)| !number.starts_with(['N', 'L'])).collect();
    assert!(rows.len() > 100, "the table could not be read: {} rows", rows.len());
    let mut problems = Vec::new();
    let mut mentioned: Vec<(String, String)> = Vec::new();
    for (number, cell) in &rows {
        if rows.iter().filter(|(other, _)| other == number).count() > 1 {
            problems.push(format!("{number} is there twice"));
        }
        for (letter, name) in named(cell) {
            let known = tests.get(letter.as_str());
            if name.is_empty() || !known.is_some_and(|known| known.iter().any(|test| test.starts_with(&name))) {
                problems.push(format!("{number}: no test {letter} *{name}*"));
            }
            mentioned.push((letter, name));
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
