//! The arrows between rooms point down only. That no crate reaches up is the compiler's business; inside the core and
//! inside the root package it is this test's.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The rooms of the core, from the ground up: each may enter those before it.
const CORE: &[&str] = &[
    "ids",
    "stage",
    "text",
    "letters",
    "untrusted",
    "evidence",
    "observed",
    "workflow",
    "source_files",
    "policy",
    "failure",
    "memory",
    "state",
    "commands",
    "concerns",
    "deciding",
    "result",
    "proof",
    "reflex",
    "metrics",
    "replay",
];

/// The rooms of `failure`, in the order in which a failure goes through them: each may enter those before it.
const FAILURE: &[&str] = &["read", "classify", "explain", "feedback"];

/// The concerns, in their phases: each may enter those before it.
const CONCERNS: &[&str] = &[
    "capabilities",
    "queue",
    "coverage",
    "gates",
    "review",
    "reviewers",
    "checks",
    "tampering",
    "verdict",
    "attempts",
    "disputes",
    "fixer",
    "escalation",
];

/// The houses of `github`, each with those it may enter beside itself.
const GITHUB: &[(&str, &[&str])] = &[
    ("client", &[]),
    ("observe", &["client"]),
    ("act", &["client", "observe"]),
    ("app", &["client", "observe"]),
    ("reconcile", &["client", "observe", "act"]),
];

/// The rooms each room may enter, beside itself.
const ARROWS: &[(&str, &[&str])] = &[
    ("config", &[]),
    ("channels", &[]),
    ("proof", &[]),
    ("github", &["proof", "channels", "config"]),
    ("mcp", &["github"]),
    ("server", &["proof", "mcp", "github", "channels", "config"]),
    (
        "cli",
        &["proof", "server", "mcp", "github", "channels", "config"],
    ),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of src") {
        let path = entry.expect("an entry of src").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The rooms a text names after the path of what holds them (`crate::`), alone or in braces.
fn rooms_named(text: &str, holder: &str) -> Vec<String> {
    let mut named = Vec::new();
    for (at, _) in text.match_indices(holder) {
        let rest = &text[at + holder.len()..];
        let word = |text: &str| {
            text.chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect::<String>()
        };
        match rest.strip_prefix('{') {
            None => named.push(word(rest)),
            Some(list) => {
                let mut depth = 0;
                let mut start = true;
                for (offset, letter) in list.char_indices() {
                    match letter {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => start = true,
                        letter if start && letter.is_alphabetic() => {
                            named.push(word(&list[offset..]));
                            start = false;
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    named
}

fn text_of(file: &Path) -> String {
    let text = fs::read_to_string(file).expect("a source file");
    // Documentation may point anywhere, and tests may play the whole.
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    code.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .map(|line| format!("{line}\n"))
        .collect()
}

/// Files of a room without its tests.
fn files_of(room: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    if room.is_dir() {
        sources(room, &mut files)
    } else {
        files.push(room.with_extension("rs"))
    }
    let is_test = |file: &PathBuf| {
        let name = |part: &std::ffi::OsStr| part.to_string_lossy().into_owned();
        file.iter()
            .map(name)
            .any(|part| part.contains("tests") || part == "interleavings.rs" || part == "world.rs")
    };
    files.retain(|file| !is_test(file));
    assert!(!files.is_empty(), "the room {} is empty", room.display());
    files
}

/// What enters where it must not, of the rooms in a folder.
fn climbing<'a>(
    src: &Path,
    holder: &str,
    rooms: impl IntoIterator<Item = (&'a str, Vec<&'a str>)>,
) -> Vec<String> {
    let rooms: Vec<_> = rooms.into_iter().collect();
    let is_room = |name: &str| rooms.iter().any(|(room, _)| *room == name);
    let mut wrong = Vec::new();
    for (room, may_enter) in &rooms {
        for file in files_of(&src.join(room)) {
            for named in rooms_named(&text_of(&file), holder) {
                if is_room(&named) && named != *room && !may_enter.contains(&named.as_str()) {
                    wrong.push(format!(
                        "{} enters {named}: {room} must not",
                        file.display()
                    ));
                }
            }
        }
    }
    wrong
}

/// Rooms of which each may enter those before it.
fn in_order<'a>(rooms: &'a [&'a str]) -> impl Iterator<Item = (&'a str, Vec<&'a str>)> {
    rooms
        .iter()
        .enumerate()
        .map(|(at, room)| (*room, rooms[..at].to_vec()))
}

#[test]
fn arrows_point_down_only() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let core = root.join("crates/loopgate-core/src");
    let mut wrong = climbing(&core, "crate::", in_order(CORE));
    let concerns = core.join("concerns");
    wrong.extend(climbing(&concerns, "concerns::", in_order(CONCERNS)));
    for (folder, holder, rooms) in [
        ("src", "crate::", ARROWS),
        ("src/github", "github::", GITHUB),
    ] {
        let rooms = rooms
            .iter()
            .map(|(room, may_enter)| (*room, may_enter.to_vec()));
        wrong.extend(climbing(&root.join(folder), holder, rooms));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Names that `failure` shows outside would hide which room an arrow leads to, so its own rooms do not use them.
#[test]
fn a_failure_goes_through_its_rooms_in_their_order() {
    let failure = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/loopgate-core/src/failure");
    let mut wrong = Vec::new();
    for (at, room) in FAILURE.iter().enumerate() {
        for file in files_of(&failure.join(room)) {
            let named = rooms_named(&text_of(&file), "failure::");
            let out_of_order = named
                .into_iter()
                .filter(|named| !FAILURE[..=at].contains(&named.as_str()));
            wrong.extend(
                out_of_order
                    .map(|named| format!("{} enters {named}: {room} must not", file.display())),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_room_is_on_the_map() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let on_the_map: Vec<&str> = ARROWS
        .iter()
        .map(|(room, _)| *room)
        .chain(GITHUB.iter().map(|(house, _)| *house))
        .chain(CORE.iter().copied())
        .chain(CONCERNS.iter().copied())
        .collect();
    for src in [
        "src",
        "src/github",
        "crates/loopgate-core/src",
        "crates/loopgate-core/src/concerns",
    ] {
        for entry in fs::read_dir(root.join(src)).expect(src) {
            let path = entry.expect("an entry of src").path();
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .unwrap_or_default()
                .to_owned();
            if matches!(name.as_str(), "fixtures" | "testdata") {
                // Builders for tests may enter every room, and data enters none.
                continue;
            }
            // Elsewhere a file is part of the room that it stands in; a concern may be one.
            let name = match name.strip_suffix(".rs") {
                Some(file) if src.ends_with("concerns") && file != "mod" => file,
                Some(_) => continue,
                None => &name,
            };
            assert!(on_the_map.contains(&name), "{name} has no place on the map");
        }
    }
}

#[test]
fn braces_are_read() {
    let text =
        "use crate::{config::{Source, x::Y}, github::Client};\nlet x = crate::render::fit();";
    assert_eq!(rooms_named(text, "crate::"), ["config", "github", "render"]);
    let nested = "use crate::{failure::{read::{Changes, text}, feedback}, state};";
    assert_eq!(rooms_named(nested, "failure::"), ["read", "feedback"]);
}
