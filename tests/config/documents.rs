//! Files that are right: what the documentation shows, the example with every default, the schema.

use std::{collections::BTreeSet, fs, path::Path};

use loopgate::config;
use loopgate_core::policy::{Policy, PolicyOrigin, Trigger};
use serde_json::Value;

use crate::json_schema;

const EXAMPLE: &str = "config/loopgate.example.yml";
const SCHEMA: &str = "config/loopgate.schema.json";

fn read(file: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

fn parsed(file: &str, text: &str) -> Policy {
    config::parse(file, text).unwrap_or_else(|error| panic!("{error}"))
}

fn schema() -> Value {
    serde_json::from_str(&config::schema()).unwrap()
}

/// A text as the JSON that editors check against the schema.
fn as_json(text: &str) -> Value {
    let mut value: serde_yaml::Value =
        serde_yaml::from_str(text.trim_start_matches('\u{feff}')).unwrap();
    value.apply_merge().unwrap();
    serde_json::to_value(value).unwrap()
}

#[test]
fn every_good_file_is_read_and_fits_the_schema() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/config/good");
    let files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    assert!(files.len() >= 7, "{files:?}");
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        parsed(&file.display().to_string(), &text);
        let json = as_json(&text);
        // A key whose lines are commented out is no error, but an editor may point at it.
        if !json.is_null() && !file.ends_with("keys_without_values.yml") {
            assert_eq!(
                json_schema::misfits(&schema(), &json),
                [""; 0],
                "{}",
                file.display()
            );
        }
    }
}

#[test]
fn the_example_is_the_defaults() {
    let defaults = config::presets().with_origin(PolicyOrigin::WorkingTree);
    assert_eq!(parsed(EXAMPLE, &read(EXAMPLE)), defaults);
    assert_eq!(parsed("empty", ""), defaults);
    assert_eq!(
        json_schema::misfits(&schema(), &as_json(&read(EXAMPLE))),
        [""; 0]
    );
}

/// The example with its `#:` lines put in force, in place of the defaults they stand beside.
fn example_in_full() -> String {
    let text = read(EXAMPLE);
    let lines: Vec<&str> = text.lines().collect();
    let shown = |line: &str| {
        line.find("#: ")
            .map(|at| format!("{}{}", &line[..at], &line[at + 3..]))
    };
    let key = |line: &str| line.split_once(':').map(|(key, _)| key.to_owned());
    let replaced: BTreeSet<String> = lines.iter().filter_map(|line| key(&shown(line)?)).collect();
    let kept = lines.iter().filter_map(|line| match shown(line) {
        Some(shown) => Some(shown),
        None => (!key(line).is_some_and(|key| replaced.contains(&key))).then(|| (*line).to_owned()),
    });
    kept.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_example_shows_every_key_and_its_samples_are_right() {
    let text = example_in_full();
    let organisation = config::Source::new(EXAMPLE, &text);
    let policy = match config::load(Some(organisation), None) {
        Ok(loaded) => loaded.policy,
        Err(errors) => panic!("{}\n\n{text}", errors.as_slice()[0]),
    };
    let payments = &policy.gates[&"payments".parse().unwrap()];
    assert!(payments.is_configured);

    let json = as_json(&text);
    assert_eq!(json_schema::misfits(&schema(), &json), [""; 0]);
    let (known, shown) = (
        json_schema::property_names(&schema()),
        json_schema::keys(&json),
    );
    // Words of which one sample is enough are listed in comments.
    let listed: BTreeSet<&str> = text
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .collect();
    let missing: Vec<_> = known
        .difference(&shown)
        .filter(|key| !listed.contains(key.as_str()))
        .collect();
    assert!(missing.is_empty(), "{EXAMPLE} does not show {missing:?}");
}

/// Words separated by commas, in lines of a comment.
fn comment(begin: &str, words: &[&str]) -> String {
    let mut lines = vec![begin.to_owned()];
    for word in words {
        let last = lines.last_mut().unwrap();
        if last.len() + word.len() < 118 {
            *last += &format!(" {word},");
        } else {
            lines.push(format!("  # {word},"));
        }
    }
    format!("{}.\n", lines.join("\n").trim_end_matches(','))
}

#[test]
fn the_example_lists_every_cause() {
    let text = read(EXAMPLE);
    let (begin, end) = ("  # Causes:", "  triggers: {}\n");
    let (before, rest) = text.split_once(begin).unwrap();
    let (_, after) = rest.split_once(end).unwrap();
    let causes = comment(begin, &Trigger::ALL.map(Trigger::as_str));
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(EXAMPLE);
    loopgate_written::assert_written(file, &format!("{before}{causes}{end}{after}"));
}

#[test]
fn the_schema_file_is_up_to_date() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(SCHEMA);
    loopgate_written::assert_written(file, &config::schema());
}
