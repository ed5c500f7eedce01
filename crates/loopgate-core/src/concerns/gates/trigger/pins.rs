//! Packages that a project holds at a version, against what others ask for: `overrides`, `resolutions`, `constraints`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    diff::Diff,
    locks,
    manifests::is_lock_file,
    reading::{ChangedLine, FileReading},
};
use crate::source_files::file_name;

/// The keys of `package.json` and `pnpm-workspace.yaml` under which packages are held.
const HELD: [&str; 3] = ["overrides", "resolutions", "pnpm"];

/// Whether a file may hold packages.
pub(super) fn may_pin(path: &str) -> bool {
    let name = file_name(path).to_lowercase();
    matches!(&*name, "package.json" | "pnpm-workspace.yaml") || is_list_of_constraints(&name)
}

fn is_list_of_constraints(name: &str) -> bool {
    name.contains("constraint") && (name.ends_with(".txt") || name.ends_with(".in"))
}

/// The packages that a file holds at an older version than before, or than anything that is known of them, each with the
/// line that does.
pub(super) fn downgrades<'a>(
    reading: &FileReading<'a>,
    diff: &Diff<'_>,
) -> Vec<(ChangedLine<'a>, String)> {
    let path = &reading.file.path;
    if !may_pin(path) {
        return Vec::new();
    }
    let Some([old, new]) = diff.texts(reading.file) else {
        return Vec::new();
    };
    let before = pins(path, old);
    let asked = asked_for(old);
    let is_older = |name: &str, pin: &str| {
        let known = before.get(name).or_else(|| asked.get(name));
        match known.map(|known| version(known)) {
            Some(Some(known)) => version(pin).is_none_or(|pin| pin < known),
            // What nothing asked for at the base may be held at anything but an exact version: of that it is unknown
            // whether it is older, unless a lock file shows what it was.
            _ => {
                is_exact(pin)
                    && locked_at_base(name, diff).is_none_or(|known| version(pin) < Some(known))
            }
        }
    };
    let line_of = |name: &str| {
        let mut added = reading.lines.iter().filter(|line| line.is_added);
        added.find(|line| line.text.contains(name)).copied()
    };
    let held = pins(path, new);
    let changed = held
        .iter()
        .filter(|(name, pin)| before.get(*name) != Some(*pin) && is_older(name, pin));
    changed
        .filter_map(|(name, pin)| Some((line_of(name)?, format!("{name} {pin}"))))
        .collect()
}

/// The packages that a file holds, with what it holds them at.
fn pins(path: &str, text: &str) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    if is_list_of_constraints(&file_name(path).to_lowercase()) {
        let lines = pattern!(r"(?m)^\s*([\w.-]+)(?:\[[^\]]*\])?\s*((?:==|<=?|~=)\s*[\w.*+!-]+)")
            .captures_iter(text);
        all.extend(lines.map(|found| (found[1].to_lowercase(), found[2].to_owned())));
        return all;
    }
    let value: Option<Value> = serde_json::from_str(text)
        .ok()
        .or_else(|| serde_yaml::from_str(text).ok());
    for held in HELD.iter().filter_map(|key| value.as_ref()?.get(key)) {
        collect(held, "", &mut all);
    }
    all
}

/// Every package of a table that has a version, by the last of its names: `a>b`, `a/**/b`, `b@^1`.
fn collect(value: &Value, key: &str, all: &mut BTreeMap<String, String>) {
    match value {
        Value::String(pin) if version(pin).is_some() => {
            all.insert(package(key).to_owned(), pin.clone());
        }
        Value::Object(table) => {
            for (inner, value) in table {
                collect(value, if inner == "." { key } else { inner }, all);
            }
        }
        _ => {}
    }
}

fn package(key: &str) -> &str {
    let key = key
        .rsplit(['>', '*'])
        .next()
        .unwrap_or(key)
        .trim_start_matches('/');
    match key.rfind('@') {
        Some(at) if at > 0 => &key[..at],
        _ => key,
    }
}

/// What the dependencies of a `package.json` ask for.
fn asked_for(text: &str) -> BTreeMap<String, String> {
    const LISTS: [&str; 4] = [
        "dependencies",
        "devDependencies",
        "optionalDependencies",
        "peerDependencies",
    ];
    let value: Option<Value> = serde_json::from_str(text).ok();
    let tables = LISTS
        .iter()
        .filter_map(|list| value.as_ref()?.get(list)?.as_object());
    let entries = tables
        .flatten()
        .filter_map(|(name, version)| Some((name.clone(), version.as_str()?.to_owned())));
    entries.collect()
}

/// The newest version of a package in the lock files at the base that the pull request changes.
fn locked_at_base(name: &str, diff: &Diff<'_>) -> Option<Vec<u64>> {
    let locks = diff
        .files
        .known()
        .iter()
        .filter(|file| is_lock_file(&file.path));
    let old = locks.filter_map(|file| Some((&file.path, diff.texts(file)?[0])));
    old.flat_map(|(path, text)| locks::versions(path, text, name))
        .filter_map(|known| version(&known))
        .max()
}

/// The numbers of the first version in a text.
fn version(text: &str) -> Option<Vec<u64>> {
    let found = pattern!(r"\d+(?:\.\d+)*").find(text)?;
    found
        .as_str()
        .split('.')
        .map(|part| part.parse().ok())
        .collect()
}

/// Whether a text allows no newer version than it names.
fn is_exact(pin: &str) -> bool {
    let pin = pin.trim();
    pin.starts_with(|c: char| c.is_ascii_digit() || "=<~v".contains(c))
}
