//! What real tools printed, held against the truth beside it (`fixtures/console/several/`): every failure is listed
//! once, and all of its fields are its own.

use std::{collections::BTreeMap, fs, path::Path};

use loopgate_core::evidence::Failure;
use loopgate_reports::{ReadOptions, read};
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

const FIXTURES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/fixtures/console/several"
);

#[derive(Deserialize)]
struct Log {
    failures: Vec<Truth>,
}

#[derive(Deserialize)]
struct Truth {
    /// The end of the test's name; none where no test is named.
    test: Option<String>,
    /// Acceptable places, best first; none where the output names none.
    place: Option<Vec<(String, Option<u32>)>>,
    /// What the class and the message say.
    says: String,
    /// Both sides, where the tool states them; `re:` begins an expression.
    #[serde(default)]
    expected: Option<String>,
    #[serde(default)]
    actual: Option<String>,
    /// A warning, which is a finding and no failure.
    #[serde(default)]
    optional: bool,
}

impl Truth {
    /// What of a listed failure is not as it is here.
    fn differs_in(&self, failure: &Failure) -> Vec<&'static str> {
        let name = match (&self.test, &failure.test_name) {
            (Some(wanted), Some(said)) => said.trim_end_matches("()").ends_with(wanted.as_str()),
            (None, None) => true,
            _ => false,
        };
        let source = failure
            .source
            .as_ref()
            .map(|source| (&source.file, source.line));
        let test = failure
            .test_file
            .as_ref()
            .map(|file| (file, failure.line_number));
        let is_at = |(file, line): &(String, Option<u32>)| {
            [source, test]
                .into_iter()
                .flatten()
                .any(|(said, at)| Path::new(said).ends_with(file) && at == *line)
        };
        let place = self
            .place
            .as_ref()
            .is_none_or(|places| places.iter().any(is_at));
        let told = format!(
            "{} {}",
            failure.error_class.as_deref().unwrap_or_default(),
            failure.error_message
        );
        let says = Regex::new(&format!("(?is){}", self.says))
            .unwrap()
            .is_match(&told);
        let sides = [
            (&self.expected, &failure.expected),
            (&self.actual, &failure.actual),
        ];
        let sides =
            sides.into_iter().all(
                |(wanted, said)| match (wanted.as_deref(), said.as_deref()) {
                    (None, _) => true,
                    (Some(wanted), Some(said)) => match wanted.strip_prefix("re:") {
                        Some(pattern) => Regex::new(pattern).unwrap().is_match(said),
                        None => said == wanted,
                    },
                    (Some(_), None) => false,
                },
            );
        let checks = [
            ("name", name),
            ("place", place),
            ("message", says),
            ("sides", sides),
        ];
        checks
            .into_iter()
            .filter(|(_, is_right)| !is_right)
            .map(|(what, _)| what)
            .collect()
    }
}

#[test]
fn every_failure_is_listed_once_with_its_own_fields() {
    let truth = fs::read_to_string(format!("{FIXTURES}/truth.json")).unwrap();
    let logs: BTreeMap<String, Log> = serde_json::from_str(&truth).unwrap();
    let mut wrong = Vec::new();
    let mut failures = 0;
    for (name, log) in &logs {
        let text = fs::read(format!("{FIXTURES}/out/{name}.txt")).unwrap();
        let mut listed = read(name, text.as_slice(), &ReadOptions::default()).failures;
        for truth in log.failures.iter().filter(|truth| !truth.optional) {
            failures += 1;
            match listed
                .iter()
                .position(|failure| truth.differs_in(failure).is_empty())
            {
                Some(at) => drop(listed.remove(at)),
                None => {
                    let near = listed
                        .iter()
                        .min_by_key(|failure| truth.differs_in(failure).len());
                    let differs = near.map(|near| truth.differs_in(near)).unwrap_or_default();
                    wrong.push(format!(
                        "{name}: {:?} {} is not listed; the nearest differs in {differs:?}",
                        truth.test, truth.says
                    ));
                }
            }
        }
        let told = |failure: &Failure| {
            serde_json::to_value(failure)
                .map_or(Value::Null, |value| value["error_message"].clone())
        };
        wrong.extend(
            listed
                .iter()
                .map(|extra| format!("{name}: {:?} {} is none", extra.test_name, told(extra))),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        failures > 150 && logs.len() > 20,
        "{failures} failures in {} logs",
        logs.len()
    );
}
