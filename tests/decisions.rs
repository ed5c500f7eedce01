//! `docs/dev/decisions.md` is the table of what Loopgate decides: a row for each test of a decision, with the file that
//! holds the test. `INSTA_UPDATE=always cargo test --test decisions` writes the file anew.

use std::{collections::BTreeSet, fmt::Write as _, fs, path::Path};

const TABLE: &str = "docs/dev/decisions.md";

const HEAD: &str = "\
<!-- Written by `INSTA_UPDATE=always cargo test --test decisions`. Do not edit: rename the test. -->
# What Loopgate decides

Each row is a test: its name says what is decided, and its file holds the cases; a row without one is in the file of the row
above. `core/` is `crates/loopgate-core/src/`.
";

/// Headings, and the files or folders whose tests stand below them.
const SECTIONS: [(&str, &[&str]); 11] = [
    (
        "Checks and their evidence",
        &[
            "core/deciding/row_tests/evidence.rs",
            "core/deciding/row_tests/reviewers.rs",
            "core/evidence/contradiction.rs",
            "core/concerns/checks/matrix_jobs_tests.rs",
            "core/failure/explain/blame.rs",
            "crates/loopgate-runner/src/schedule.rs",
        ],
    ),
    (
        "Attempts and retries",
        &[
            "core/deciding/row_tests/attempts.rs",
            "core/concerns/attempts",
        ],
    ),
    (
        "From evidence to a decision",
        &[
            "core/deciding/decide_tests",
            "core/deciding/interleavings",
            "core/deciding/row_tests/stages.rs",
        ],
    ),
    (
        "Commands, disputes, calls for a person",
        &[
            "core/deciding/row_tests/commands.rs",
            "core/deciding/row_tests/disputes.rs",
            "core/concerns/fixer",
            "core/concerns/escalation",
        ],
    ),
    (
        "Gates",
        &[
            "core/concerns/gates/waiting.rs",
            "core/concerns/gates/assess/tests",
            "tests/gates",
        ],
    ),
    (
        "Coverage, proofs and weakened tests",
        &[
            "core/concerns/coverage",
            "core/concerns/tampering",
            "crates/loopgate-runner/src/job.rs",
            "crates/loopgate-runner/src/rerun",
        ],
    ),
    ("One commit, several branches", &["tests/github/names.rs"]),
    (
        "Where the state is kept",
        &["tests/github/storage.rs", "tests/action_only"],
    ),
    (
        "Debug memory, metrics, replays",
        &["core/memory", "core/metrics", "core/replay"],
    ),
    (
        "The local loop and `loopgate decide`",
        &["core/reflex", "tests/loops", "core/deciding/iteration.rs"],
    ),
    ("Whole stories", &["tests/scenarios"]),
];

fn long(path: &str) -> String {
    path.strip_prefix("core/").map_or_else(
        || path.to_owned(),
        |rest| format!("crates/loopgate-core/src/{rest}"),
    )
}

/// The files at a path, in the order of their names.
fn files_at(path: &str) -> Vec<String> {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join(long(path));
    if !place.is_dir() {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(&place)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name());
    let names: BTreeSet<String> = entries
        .map(|name| name.into_string().expect("a name in UTF-8"))
        .collect();
    names
        .iter()
        .flat_map(|name| files_at(&format!("{path}/{name}")))
        .filter(|file| file.ends_with(".rs"))
        .collect()
}

fn text_of(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(long(path))).expect(path)
}

/// Names of the stories that a macro makes tests of: lines `the_name_of_the_story,` below `on_both_worlds!`.
fn played(text: &str) -> BTreeSet<&str> {
    let blocks = text.split("on_both_worlds! {").skip(1);
    blocks
        .flat_map(|block| block.lines().skip(1))
        .filter_map(|line| line.trim().strip_suffix(','))
        .collect()
}

/// Names of the tests in a file, in their order. `stories` are functions that a macro elsewhere makes tests of.
fn tests_in<'a>(text: &'a str, stories: &BTreeSet<&str>) -> Vec<&'a str> {
    let mut has_mark = false;
    let mut names = Vec::new();
    for line in text.lines().map(str::trim) {
        let declared = ["pub async fn ", "pub(super) async fn ", "async fn ", "fn "].iter();
        let name = declared
            .filter_map(|begin| line.strip_prefix(begin))
            .find_map(|rest| rest.split('(').next());
        if let Some(name) = name.filter(|name| has_mark || stories.contains(name)) {
            names.push(name);
        }
        let is_mark = line == "#[test]" || line.starts_with("#[tokio::test");
        has_mark = is_mark || has_mark && (line.starts_with("//") || line.starts_with("#["));
    }
    names
}

fn sentence(name: &str) -> String {
    let words = name.replace('_', " ");
    let (first, rest) = words.split_at(1);
    format!("{}{rest}", first.to_uppercase())
}

/// A name of fewer words names a case, not a decision.
const WORDS: usize = 4;

fn table() -> String {
    let mut table = HEAD.to_owned();
    for (heading, paths) in SECTIONS {
        write!(table, "\n## {heading}\n\nDecided | Kept in\n:--|:--\n")
            .expect("a string takes all");
        let files: Vec<String> = paths.iter().flat_map(|path| files_at(path)).collect();
        let texts: Vec<String> = files.iter().map(|file| text_of(file)).collect();
        let stories: BTreeSet<&str> = texts.iter().flat_map(|text| played(text)).collect();
        for (file, text) in files.iter().zip(&texts) {
            let mut place = format!(" `{file}`");
            for name in tests_in(text, &stories)
                .into_iter()
                .filter(|name| name.split('_').count() >= WORDS)
            {
                writeln!(table, "{} |{}", sentence(name), std::mem::take(&mut place))
                    .expect("a string takes all");
            }
        }
    }
    table
}

#[test]
fn the_table_is_that_of_the_tests() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(TABLE);
    loopgate_written::assert_written(path, &table());
}

#[test]
fn every_path_of_the_table_holds_tests() {
    for (heading, paths) in SECTIONS {
        let texts: Vec<String> = paths
            .iter()
            .flat_map(|path| files_at(path))
            .map(|file| text_of(&file))
            .collect();
        let stories: BTreeSet<&str> = texts.iter().flat_map(|text| played(text)).collect();
        for path in paths {
            let count: usize = files_at(path)
                .iter()
                .map(|file| tests_in(&text_of(file), &stories).len())
                .sum();
            assert!(count > 0, "{heading}: {path} holds no test");
        }
    }
    let text = "#[test]\n// A remark.\nfn one() {}\nfn none() {}\n#[tokio::test]\nasync fn two() {}\nasync fn told(w: W) {}";
    assert_eq!(
        tests_in(text, &BTreeSet::from(["told"])),
        ["one", "two", "told"]
    );
    assert_eq!(
        played("on_both_worlds! {\n  stories:\n  a_b,\n}"),
        BTreeSet::from(["a_b"])
    );
}
