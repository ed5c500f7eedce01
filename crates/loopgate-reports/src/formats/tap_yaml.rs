//! The YAML below a TAP test point, which shows why it failed. A producer may begin another document for each error of
//! one test.

use loopgate_core::{
    evidence::{ErrorType, Failure, SourceLocation},
    failure::{asks_equality, complete, is_outcome},
};

use crate::{Clip, Json, MAX_MESSAGE, numbers, text};

/// The YAML below a test point.
pub(super) struct Yaml {
    /// Indentation of its dashes.
    pub dashes: usize,
    pub is_open: bool,
    text: Clip,
}

/// Documents of one test that are told.
const MAX_DOCUMENTS: usize = 10;

impl Yaml {
    pub fn new(indent: usize) -> Self {
        Self {
            dashes: indent,
            is_open: true,
            text: Clip::default(),
        }
    }

    /// Takes a line of the block.
    pub fn line(&mut self, line: &str) {
        let indent = line.len() - line.trim_start().len();
        if line.trim() == "..." && indent <= self.dashes {
            self.is_open = false;
            return;
        }
        // A value may go on further left than its key.
        let inner = line.get(self.dashes.min(indent)..).unwrap_or_default();
        self.text.push_line(inner);
    }

    /// Its documents. One that is no YAML is a text, which is read as any other.
    fn documents(&self) -> Vec<Json> {
        let text = self.text.text();
        let mut documents = vec![String::new()];
        for line in text.lines() {
            if line == "---" && documents.len() < MAX_DOCUMENTS {
                documents.push(String::new());
            } else if let Some(document) = documents.last_mut() {
                document.push_str(line);
                document.push('\n');
            }
        }
        documents.into_iter().map(read).collect()
    }

    pub fn seconds(&self) -> Option<f64> {
        let millis = self.documents().first()?.text("duration_ms").map(|text| {
            let seconds = numbers::seconds(&text);
            seconds.unwrap_or_default()
        })?;
        Some(millis / 1000.0)
    }

    /// The point sums up its subtests, and failed by itself too.
    pub fn is_of_hook(&self) -> bool {
        let documents = self.documents();
        let kind = documents
            .first()
            .and_then(|first| first.text("failureType"));
        kind.as_deref() == Some("hookFailed")
    }

    /// The test that the point is about, where it is another than the point's own.
    pub fn test(&self) -> Option<String> {
        let documents = self.documents();
        let test = documents.first()?.text("test")?;
        Some(test.into_owned())
    }

    /// A failure for each document.
    pub fn failures(&self, description: &str) -> Vec<Failure> {
        let documents = self.documents();
        documents
            .iter()
            .flat_map(|document| failures(document, description))
            .collect()
    }
}

fn read(document: String) -> Json {
    serde_yaml::from_str(&document).unwrap_or_else(|_| Json::Text(document.into()))
}

/// What a document shows that stands elsewhere than below a point.
pub(super) fn failure_of(document: &str, description: &str) -> Failure {
    let shown = failures(&read(document.to_owned()), description);
    shown.into_iter().next().unwrap_or_default()
}

/// What a document shows, by the keys of node, tap, AVA, Vitest, Deno, Mocha and Criterion.
fn failures(document: &Json, description: &str) -> Vec<Failure> {
    if let Json::Text(text) = document {
        return vec![text::failure(Failure::default(), "", text)];
    }
    // Criterion lists what failed under the places.
    let listed: Vec<Failure> = document
        .get("failures")
        .list()
        .iter()
        .flat_map(|item| item.entries())
        .map(|(place, message)| Failure {
            error_message: short(&message.text("").unwrap_or_default()),
            source: place_in(place, None),
            ..Failure::default()
        })
        .collect();
    if listed.is_empty() {
        vec![failure(document, description)]
    } else {
        listed
    }
}

fn failure(document: &Json, description: &str) -> Failure {
    // AVA's details stand below labels: `Difference (- actual, + expected):`, `Error thrown in test:`.
    let details = document.get("details").entries();
    let thrown = details
        .iter()
        .find(|(label, _)| label.starts_with("Error thrown"))
        .and_then(|(_, value)| value.text("").map(|text| text.into_owned()));
    let thrown_message = thrown.as_deref().and_then(|thrown| {
        let quoted = thrown
            .lines()
            .find_map(|line| line.trim().strip_prefix("message: "))?;
        Some(
            quoted
                .trim_end_matches(',')
                .trim_matches(['\'', '"', '`'])
                .to_owned(),
        )
    });
    let details = details
        .iter()
        .map(|(label, value)| format!("{label}\n{}", value.text("").unwrap_or_default()))
        .collect::<Vec<_>>()
        .join("\n");
    let message = ["error/message", "error", "message"]
        .into_iter()
        .find_map(|path| document.text(path))
        .filter(|message| !message.trim().is_empty())
        .map(|message| message.into_owned());
    let message = thrown_message
        .or(message)
        .or_else(|| Some(details.clone()).filter(|details| !details.is_empty()))
        .unwrap_or_else(|| description.to_owned());
    let class = ["error/name", "name", "type", "failureType", "failuretype"]
        .into_iter()
        .find_map(|path| document.text(path))
        // Node's `type` is one of these two.
        .filter(|class| !class.contains('\n') && !matches!(&**class, "test" | "suite"));
    let thrown_class = thrown.as_deref().and_then(|thrown| {
        let class = thrown.split([' ', '{', '\n']).next()?;
        class.ends_with("Error").then(|| class.to_owned())
    });
    let place = ["location", "at", "file"]
        .into_iter()
        .find_map(|key| place(document, key))
        .filter(|place| !place.file.contains("/node_modules/"));
    // Node's `location` is where the test begins; where it failed stands in the stack alone, without `at`.
    let is_node = document.text("location").is_some();
    let trace = document.text("stack").map(|stack| match is_node {
        true => stack
            .lines()
            .map(|line| format!("    at {line}"))
            .collect::<Vec<_>>()
            .join("\n"),
        false => stack.into_owned(),
    });
    let fails_at = place.as_ref().filter(|_| !is_node);
    let operator = document.text("operator");
    let has_sides = operator.is_none_or(|operator| asks_equality(&operator));
    let side = |keys: &str| {
        let side = document.text(keys).map(|side| short(&side));
        side.filter(|side| has_sides && !side.is_empty())
    };
    let mut sides = [side("expected|wanted|want"), side("actual|found|got")];
    let mut message = message;
    // QUnit has no words of its own for an assertion without any, but shows its sides.
    if is_outcome(&message) {
        if sides == [None, None] {
            sides = ["expected", "actual"].map(|key| structure(document.get(key)));
        }
        if let [Some(expected), Some(actual)] = &sides
            && expected != actual
        {
            message = format!("expected: {expected}, actual: {actual}");
        }
    }
    let [expected, actual] = sides;
    // tap and AVA show in a difference alone what the sides are.
    let difference = document.text("diff").map(|diff| diff.into_owned());
    let texts = [
        difference,
        Some(details).filter(|text| !text.is_empty()),
        trace,
    ];
    let mut failure = Failure {
        error_type: match document.text("failureType").as_deref() {
            Some("testTimeoutFailure") => ErrorType::TimeoutError,
            _ => ErrorType::Other,
        },
        error_class: thrown_class.or_else(|| class.map(|class| text::name(&class))),
        error_message: short(&message),
        line_number: fails_at.and_then(|place| place.line),
        test_file: place.as_ref().map(|place| place.file.clone()),
        stack_trace: texts
            .into_iter()
            .flatten()
            .reduce(|above, below| format!("{above}\n{below}")),
        expected,
        actual,
        source: fails_at.cloned(),
        ..Failure::default()
    };
    complete(&mut failure);
    failure.line_number = failure
        .line_number
        .or(place.as_ref().and_then(|place| place.line));
    failure.source = failure.source.or(place);
    failure
}

/// A list or an object, as JSON.
fn structure(value: &Json) -> Option<String> {
    matches!(value, Json::List(_) | Json::Object(_)).then(|| short(&json(value)))
}

fn json(value: &Json) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    match value {
        Json::Null => "null".to_owned(),
        Json::Bool(value) => value.to_string(),
        Json::Number(value) => value.to_string(),
        Json::Text(value) => quoted(value),
        Json::List(values) => {
            format!(
                "[{}]",
                values.iter().map(json).collect::<Vec<_>>().join(",")
            )
        }
        Json::Object(entries) => {
            let entry =
                |(key, value): &(Box<str>, Json)| format!("{}:{}", quoted(key), json(value));
            format!(
                "{{{}}}",
                entries.iter().map(entry).collect::<Vec<_>>().join(",")
            )
        }
    }
}

fn short(text: &str) -> String {
    text::clipped(text.trim(), MAX_MESSAGE)
}

/// A text, or an object with file and line.
fn place(document: &Json, key: &str) -> Option<SourceLocation> {
    let beside = || document.line("line|lineno");
    match document.get(key) {
        object @ Json::Object(_) => {
            let file = object.text("file|fileName")?;
            let file = file.strip_prefix("file://").unwrap_or(&file);
            Some(text::location(file, object.line("line|lineNumber")))
        }
        value => place_in(&value.text("")?, beside()),
    }
}

/// `/repo/cart.js:3:5`, `Test.<anonymous> (/repo/cart.js:3:5)`, `cr.c:10`, or a file whose line stands beside it.
fn place_in(text: &str, line: Option<u32>) -> Option<SourceLocation> {
    let text = text.replace('\n', " ");
    let text = text.trim().trim_end_matches(')');
    let place = text.rsplit_once('(').map_or(text, |(_, place)| place);
    let place = place.strip_prefix("file://").unwrap_or(place);
    let without_column = || {
        let (file, line) = place.rsplit_once(':')?;
        Some(text::location(file, Some(numbers::line(line)?)))
    };
    text::place(place)
        .or_else(without_column)
        .or_else(|| (!place.is_empty()).then(|| text::location(place, line)))
}

#[cfg(test)]
mod tests {
    use crate::{ReadOptions, read};

    /// `name | place | message | expected | actual` of each failure.
    fn told(tap: &str) -> Vec<String> {
        let report = read("tap", tap.as_bytes(), &ReadOptions::default());
        let failure = |failure: loopgate_core::evidence::Failure| {
            let place = failure
                .named_place()
                .map(|(file, line)| format!("{file}:{line:?}"));
            [
                failure.test_name.clone(),
                place,
                Some(failure.error_message.clone()),
                failure.expected.clone(),
                failure.actual.clone(),
            ]
            .map(Option::unwrap_or_default)
            .join(" | ")
        };
        report.failures.into_iter().map(failure).collect()
    }

    #[test]
    fn each_producer_has_keys_of_its_own() {
        let cases = [
            (
                "  ---\n  error:\n    name: \"AssertionError\"\n    message: \"expected 1 to be 2\"\n  at: \"/w/a.test.js:3:4\"\n  \
                 ---\n  error:\n    message: \"two\n  lines\"\n  ...\n",
                vec![
                    "adds | /w/a.test.js:Some(3) | expected 1 to be 2 | 2 | 1",
                    "adds |  | two lines |  | ",
                ],
            ),
            (
                "  ---\n    name: AssertionError\n    details:\n      'Error thrown in test:': |-\n        TypeError {\n          \
                 message: 'no price',\n        }\n    message: Error thrown in test\n    \
                 at: 'file:///w/test/cart.js:7:29'\n  ...\n",
                vec!["adds | /w/test/cart.js:Some(7) | no price |  | "],
            ),
            (
                "  ---\n  {\"message\":\"no price\",\"at\":{\"file\":\"file:///w/a_test.ts\",\"line\":4}}\n  ...\n",
                vec!["adds | /w/a_test.ts:Some(4) | no price |  | "],
            ),
            (
                "  ---\n  assertions: 2\n  failures:\n  - cr.c:10: |+\n      Assertion failed: one\n  - cr.c:11: |+\n      \
                 Assertion failed: two\n  ...\n",
                vec![
                    "adds | cr.c:Some(10) | Assertion failed: one |  | ",
                    "adds | cr.c:Some(11) | Assertion failed: two |  | ",
                ],
            ),
            (
                "  ---\n  message: failed\n  severity: failed\n  actual  : 4\n  expected: 5\n  ...\n",
                vec!["adds |  | expected: 5, actual: 4 | 5 | 4"],
            ),
            (
                "  ---\n  message: failed\n  actual  : {\n    \"a\": [1]\n  }\n  expected: {\n    \"a\": \"b\"\n  }\n  ...\n",
                vec![r#"adds |  | expected: {"a":"b"}, actual: {"a":[1]} | {"a":"b"} | {"a":[1]}"#],
            ),
            (
                "  ---\n  error: 'it's broken\n  ...\n",
                vec!["adds |  | 'it's broken |  | "],
            ),
        ];
        for (yaml, expected) in cases {
            let tap = format!("TAP version 13\n1..1\nnot ok 1 - adds\n{yaml}");
            assert_eq!(told(&tap), expected, "{yaml}");
        }
    }
}
