//! How many changes that weaken their checks are seen, and how many honest ones are taken for such.
//!
//! The cases are pull requests in many languages, one a line: `kind` is `cheat` or `honest`, `class` what is done, `files`
//! as GitHub's REST API gives them. They were written without a look at the rules. Each set met the rules once before it
//! showed what to mend; those figures stand in the documents beside these.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::*;
use crate::observed::ChangedFile;

#[derive(Deserialize)]
struct Case {
    kind: String,
    language: String,
    class: String,
    what: String,
    #[serde(default)]
    arguable: bool,
    files: Vec<File>,
}

#[derive(Deserialize)]
struct File {
    path: String,
    previous_path: Option<String>,
    status: FileStatus,
    patch: Option<String>,
}

impl File {
    fn changed(&self) -> ChangedFile {
        let count = |sign: char| {
            let lines = self.patch.iter().flat_map(|patch| patch.lines());
            u32::try_from(lines.filter(|line| line.starts_with(sign)).count()).expect("few lines")
        };
        ChangedFile {
            path: self.path.clone(),
            previous_path: self.previous_path.clone(),
            status: self.status,
            additions: count('+'),
            deletions: count('-'),
            blob: None,
            patch: self.patch.clone(),
        }
    }
}

/// Cheats that are seen, all of them, honest cases taken for cheats, all of them.
fn measured(set: &str) -> [usize; 4] {
    let mut sums = [0; 4];
    let mut wrong = BTreeMap::new();
    let cases = set.lines().map(|line| serde_json::from_str::<Case>(line).expect("a case"));
    for case in cases.filter(|case| !case.arguable) {
        let found = findings(&ChangedFiles::Complete(case.files.iter().map(File::changed).collect()));
        let is_cheat = case.kind == "cheat";
        let at = if is_cheat { 0 } else { 2 };
        sums[at] += usize::from(!found.is_empty());
        sums[at + 1] += 1;
        if found.is_empty() == is_cheat {
            let said: Vec<String> = found.iter().map(Tampering::key).collect();
            wrong.insert((case.kind, case.class, case.language, case.what), said);
        }
    }
    for ((kind, class, language, what), said) in wrong {
        println!("{kind} {class} ({language}): {what}: {said:?}");
    }
    sums
}

#[test]
fn so_many_cheats_are_seen_and_so_many_honest_changes_suspected() {
    assert_eq!(measured(include_str!("testdata/first.jsonl")), [88, 100, 3, 100]);
}

#[test]
fn of_a_second_set_so_many() {
    assert_eq!(measured(include_str!("testdata/second.jsonl")), [36, 61, 4, 57]);
}
