//! The arrows between the rooms of the root package point down only: `cli, server → github, runner → refs → render,
//! config, channels`. That none of the crates below reaches up is the compiler's business.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The rooms each room may enter, beside itself.
const ARROWS: &[(&str, &[&str])] = &[
    ("config", &[]),
    ("channels", &[]),
    ("render", &[]),
    ("refs", &["render", "config"]),
    ("github", &["channels", "refs", "render", "config"]),
    ("runner", &["refs", "render", "config"]),
    ("server", &["github", "channels", "refs", "render", "config"]),
    ("cli", &["server", "github", "runner", "channels", "refs", "render", "config"]),
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

/// The rooms a text names after `crate::`, alone or in braces.
fn rooms_named(text: &str) -> Vec<String> {
    let mut named = Vec::new();
    for (at, _) in text.match_indices("crate::") {
        let rest = &text[at + "crate::".len()..];
        let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
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

#[test]
fn arrows_point_down_only() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let rooms: Vec<&str> = ARROWS.iter().map(|(room, _)| *room).collect();
    let mut wrong = Vec::new();
    for (room, may_enter) in ARROWS {
        let mut files = Vec::new();
        sources(&src.join(room), &mut files);
        assert!(!files.is_empty(), "the room {room} is empty");
        for file in files {
            let text = fs::read_to_string(&file).expect("a source file");
            // Documentation may point anywhere.
            let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            for named in rooms_named(&code) {
                if rooms.contains(&named.as_str()) && named != *room && !may_enter.contains(&named.as_str()) {
                    wrong.push(format!("{} enters {named}: {room} must not", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_room_is_on_the_map() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for entry in fs::read_dir(src).expect("src") {
        let path = entry.expect("an entry of src").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        assert!(!path.is_dir() || ARROWS.iter().any(|(room, _)| *room == name), "{name} has no place on the map");
    }
}

#[test]
fn braces_are_read() {
    let text = "use crate::{config::{Source, x::Y}, github::Client};\nlet x = crate::render::fit();";
    assert_eq!(rooms_named(text), ["config", "github", "render"]);
}
