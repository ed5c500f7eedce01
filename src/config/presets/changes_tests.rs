//! What `changes.toml` lists: changes that a person writes who wants to get past, and everyday ones.

use std::{collections::BTreeSet, fs, path::Path};

use serde::Deserialize;

use super::{opened_in, with_texts};
use loopgate_core::{
    fixtures,
    observed::{ChangedFile, ChangedFiles, FileStatus, Snapshot},
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Changes {
    class: Vec<Class>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Class {
    says: String,
    gate: String,
    #[serde(default)]
    known: Vec<String>,
    #[serde(default)]
    kin: Vec<String>,
    #[serde(default)]
    limits: Vec<String>,
    #[serde(default)]
    everyday: Vec<String>,
}

fn changes() -> Vec<Class> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/config/presets/changes.toml");
    let text = fs::read_to_string(file).unwrap();
    toml::from_str::<Changes>(&text).unwrap().class
}

/// The files of a change: a line without a mark of a diff is the path of one.
fn files(change: &str) -> Vec<(&str, Vec<&str>)> {
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in change.trim_matches('\n').lines() {
        match all
            .last_mut()
            .filter(|_| line.is_empty() || line.starts_with(['+', '-', ' ']))
        {
            Some((_, lines)) => lines.push(if line.is_empty() { " " } else { line }),
            None => all.push((line, Vec::new())),
        }
    }
    all
}

/// A pull request whose files are what the diff shows of them. Their folders are there already.
fn pull_request(change: &str) -> Snapshot {
    let mut snapshot = fixtures::snapshot();
    let files = files(change);
    let tops = files.iter().filter_map(|(path, _)| path.split_once('/'));
    snapshot.base_folders = Some(tops.map(|(top, _)| top.to_owned()).collect());
    let changed = files.iter().map(|(path, lines)| changed_file(path, lines));
    snapshot.files = ChangedFiles::Complete(changed.collect());
    with_texts(snapshot)
}

fn changed_file(path: &str, lines: &[&str]) -> ChangedFile {
    let is_new = lines.iter().all(|line| line.starts_with('+'));
    ChangedFile {
        path: path.to_owned(),
        previous_path: None,
        status: if is_new {
            FileStatus::Added
        } else {
            FileStatus::Modified
        },
        additions: 1,
        deletions: 1,
        blob: None,
        patch: Some(format!("@@ -1,9 +1,9 @@\n{}", lines.join("\n"))),
    }
}

/// The changes of a list that do not do what is wanted of them, each with the class it stands in.
fn wrong(list: fn(&Class) -> &Vec<String>, opens: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    for class in changes() {
        for change in list(&class) {
            let opened = opened_in(&pull_request(change));
            if opened.contains(&class.gate) != opens {
                wrong.push(format!("{}: {opened:?}{change}", class.says));
            }
        }
    }
    wrong
}

fn open_their_gate(list: fn(&Class) -> &Vec<String>) {
    let wrong = wrong(list, true);
    assert!(
        wrong.is_empty(),
        "{} of them do not:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn changes_that_got_past_an_earlier_version_open_their_gate() {
    open_their_gate(|class| &class.known);
}

#[test]
fn changes_of_the_same_class_open_their_gate() {
    open_their_gate(|class| &class.kin);
}

#[test]
fn what_is_said_to_get_past_does() {
    let wrong = wrong(|class| &class.limits, false);
    assert!(wrong.is_empty(), "no limit any more:\n{}", wrong.join("\n"));
}

#[test]
fn everyday_changes_beside_them_leave_the_gate_closed() {
    let wrong = wrong(|class| &class.everyday, false);
    assert!(
        wrong.is_empty(),
        "{} of them do not:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// A path of folders names what stands in a folder's place: a submodule, a link, a file.
#[test]
fn what_stands_in_a_folders_place_opens_as_the_folder_does() {
    for (path, gate) in [
        ("db/migrations", "database"),
        ("web/patches", "security"),
        (".husky", "security"),
        ("deploy/helm", "architecture"),
    ] {
        let change = format!("{path}\n-Subproject commit 1111\n+Subproject commit 2222");
        let opened = opened_in(&pull_request(&change));
        assert!(opened.contains(&gate.to_owned()), "{path}: {opened:?}");
    }
    let opened = opened_in(&pull_request("src/migrate.rs\n+fn total() {}"));
    assert!(opened.is_empty(), "{opened:?}");
}

#[test]
fn no_change_is_listed_twice() {
    let mut seen = BTreeSet::new();
    for class in changes() {
        for change in [class.known, class.kin, class.limits, class.everyday].concat() {
            assert!(seen.insert(change.clone()), "{change}");
        }
    }
}
