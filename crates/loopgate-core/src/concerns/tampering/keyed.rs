//! Data with a grammar (JSON, TOML, YAML, XML, INI), read by its parser: each value behind the keys that lead to it, so
//! that two versions are compared by key, however their lines are broken.

use quick_xml::{XmlVersion, events::Event};
use serde_json::Value;

use super::source::CodeLine;
use crate::source_files::{Syntax, file_name};

/// Bytes of a text that are parsed, and values that are kept of it: hostile changes are large.
const LARGEST: usize = 256 << 10;
const MOST_ENTRIES: usize = 5_000;
/// Characters of a value.
const LONGEST_VALUE: usize = 1_000;
/// Elements within each other.
const DEEPEST: usize = 64;

/// What stands between keys and a value.
pub(super) const IS: &str = " = ";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grammar {
    Json,
    Toml,
    Yaml,
    Xml,
    Ini,
}

/// By the name of the file, as the tools that read it do.
fn grammar(path: &str) -> Option<Grammar> {
    let name = file_name(path).to_lowercase();
    let name = name.strip_suffix(".dist").unwrap_or(&name);
    let end = name.rsplit_once('.').map_or(name, |(_, end)| end);
    Some(match end {
        "json" | "jsonc" => Grammar::Json,
        // `.cargo/config` among them.
        "toml" | "pipfile" | "config" => Grammar::Toml,
        "yml" | "yaml" | "taprc" | "mocharc" | "eslintrc" | "nycrc" | "c8rc" => Grammar::Yaml,
        "xml" | "csproj" | "fsproj" | "vbproj" | "runsettings" | "props" | "targets" => {
            Grammar::Xml
        }
        "ini" | "cfg" | "coveragerc" | "flake8" | "pylintrc" => Grammar::Ini,
        _ => return None,
    })
}

/// Whether a file of this name is data with a grammar.
pub(super) fn is_data(path: &str) -> bool {
    grammar(path).is_some()
}

/// The values of a text in its order, each as `key.key = value` at its line. Lists number nothing: their values stand
/// behind the keys of the list. `None` if the text is not of its grammar, or too large.
pub(super) fn entries(path: &str, text: &str) -> Option<Vec<CodeLine>> {
    let grammar = grammar(path)?;
    if text.len() > LARGEST {
        return None;
    }
    let mut found = Entries::default();
    match grammar {
        _ if text.trim().is_empty() => {}
        Grammar::Json => found.value("", &json(path, text)?, None),
        Grammar::Toml => found.value("", &toml::from_str(text).ok()?, None),
        Grammar::Yaml => {
            for document in serde_yaml::Deserializer::from_str(text) {
                let value = serde::Deserialize::deserialize(document).ok()?;
                found.value("", &untagged(value), None);
            }
        }
        Grammar::Xml => found.xml(text)?,
        Grammar::Ini => found.ini(text),
    }
    Some(found.at_lines(text))
}

/// JSON, also with comments and with commas behind the last value, as several tools write it.
fn json(path: &str, text: &str) -> Option<Value> {
    let last = pattern!(r",(\s*[}\]])");
    serde_json::from_str(text).ok().or_else(|| {
        let (lines, _) = Syntax::of(path).without_comments(text.lines());
        serde_json::from_str(&last.replace_all(&lines.join("\n"), "$1")).ok()
    })
}

/// YAML as JSON has it: without tags.
fn untagged(value: serde_yaml::Value) -> Value {
    use serde_yaml::Value as Yaml;
    match value {
        Yaml::Null => Value::Null,
        Yaml::Bool(value) => value.into(),
        Yaml::Number(value) => Value::String(value.to_string()),
        Yaml::String(value) => Value::String(value),
        Yaml::Sequence(values) => values.into_iter().map(untagged).collect(),
        Yaml::Tagged(tagged) => untagged(tagged.value),
        Yaml::Mapping(pairs) => {
            let key = |key| plain(&untagged(key)).unwrap_or_default();
            let pairs = pairs.into_iter();
            Value::Object(pairs.map(|(k, value)| (key(k), untagged(value))).collect())
        }
    }
}

/// A value without values in it, as its tool reads it.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(_) | Value::Object(_) => None,
        value => Some(value.to_string()),
    }
}

/// Whether a list is one command, word by word: an alias of Cargo, and `cmd` of pdm and of pixi.
fn is_command_in_words(keys: &str) -> bool {
    let mut keys = keys.rsplit('.');
    keys.next() == Some("cmd") || keys.next() == Some("alias")
}

/// Keys and values, in the order of their text.
#[derive(Default)]
struct Entries(Vec<(String, String)>);

fn below(keys: &str, key: &str) -> String {
    match keys {
        "" => key.to_owned(),
        keys => format!("{keys}.{key}"),
    }
}

impl Entries {
    fn push(&mut self, keys: &str, value: &str) {
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        let value = value.chars().take(LONGEST_VALUE).collect();
        if self.0.len() < MOST_ENTRIES {
            self.0.push((keys.to_owned(), value));
        }
    }

    /// A value, and all in it. `of` says which one of a list it stands in, where it runs or uses something.
    fn value(&mut self, keys: &str, value: &Value, of: Option<&str>) {
        match (value, of) {
            (Value::Object(values), of) => {
                for (key, value) in values {
                    self.value(&below(keys, key), value, of);
                }
            }
            (Value::Array(values), _) if is_command_in_words(keys) => {
                let words: Vec<String> = values.iter().filter_map(plain).collect();
                self.push(keys, &words.join(" "));
            }
            (Value::Array(values), of) => {
                for value in values {
                    let runs = ["run", "script", "uses", "cmd"].map(|key| value[key].as_str());
                    self.value(keys, value, runs.into_iter().flatten().next().or(of));
                }
            }
            (Value::Bool(value), Some(of)) => self.push(keys, &format!("{value} of `{of}`")),
            // A script of several lines is as many commands.
            (Value::String(text), _) if !text.trim().is_empty() => {
                let lines = text.lines().filter(|line| !line.trim().is_empty());
                lines.for_each(|line| self.push(keys, line));
            }
            (value, _) => self.push(keys, &plain(value).unwrap_or_default()),
        }
    }

    /// Elements and attributes are keys.
    fn xml(&mut self, text: &str) -> Option<()> {
        let mut reader = quick_xml::Reader::from_str(text);
        let mut open: Vec<String> = Vec::new();
        loop {
            match reader.read_event().ok()? {
                Event::Eof => return Some(()),
                Event::Start(tag) if open.len() < DEEPEST => {
                    open.push(tag.local_name().into_inner().to_owned());
                    self.attributes(&open.join("."), &tag);
                }
                Event::Start(_) => return None,
                Event::Empty(tag) => {
                    let name = tag.local_name();
                    self.attributes(&below(&open.join("."), name.into_inner()), &tag);
                }
                Event::End(_) => {
                    open.pop();
                }
                Event::Text(text) => {
                    let text = text.xml_content(XmlVersion::Implicit1_0);
                    if !text.trim().is_empty() {
                        self.push(&open.join("."), &text);
                    }
                }
                Event::CData(text) => self.push(&open.join("."), &text),
                _ => {}
            }
        }
    }

    fn attributes(&mut self, keys: &str, tag: &quick_xml::events::BytesStart<'_>) {
        for attribute in tag.attributes().flatten() {
            let key = attribute.key.local_name();
            let value = attribute.normalized_value(XmlVersion::Implicit1_0);
            self.push(&below(keys, key.into_inner()), &value.unwrap_or_default());
        }
    }

    /// Sections of pairs; a line that is indented continues the value above it.
    fn ini(&mut self, text: &str) {
        let mut section = String::new();
        let mut key = String::new();
        for line in text.lines() {
            let trimmed = line.trim();
            let head = trimmed
                .strip_prefix('[')
                .and_then(|it| it.strip_suffix(']'));
            if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
                continue;
            }
            if line.starts_with(char::is_whitespace) && !key.is_empty() {
                self.push(&key, trimmed);
            } else if let Some(head) = head {
                head.clone_into(&mut section);
                key.clear();
            } else {
                let (name, value) = trimmed.split_once(['=', ':']).unwrap_or((trimmed, ""));
                key = below(&section, name.trim());
                if !value.trim().is_empty() {
                    self.push(&key, value);
                }
            }
        }
    }

    /// Each at the first line below the one before it that holds its last key and the beginning of its value, or at
    /// that line.
    fn at_lines(self, text: &str) -> Vec<CodeLine> {
        let lines: Vec<&str> = text.lines().collect();
        let mut last = 0;
        let mut entries = Vec::new();
        for (keys, value) in self.0 {
            last = line_of(&keys, &value, &lines, last);
            entries.push(CodeLine {
                number: u32::try_from(last + 1).unwrap_or(u32::MAX),
                text: format!("{keys}{IS}{value}"),
            });
        }
        entries
    }
}

/// The index of the line at which a value stands, looked for from `last` on.
fn line_of(keys: &str, value: &str, lines: &[&str], last: usize) -> usize {
    let key = keys.rsplit('.').next().unwrap_or_default();
    let start = value.split(['"', '`']).next().unwrap_or_default();
    let start: String = start.trim_end_matches(" of ").chars().take(20).collect();
    let holds = |line: &&str| line.contains(&start) && line.contains(key);
    let from = |found: Option<usize>| found.map(|at| last + at);
    let below = from(lines[last..].iter().position(holds));
    // In a list the key stands above it.
    let in_list = || from(lines[last..].iter().position(|it| it.contains(&start)));
    let anywhere = below.or_else(|| lines.iter().position(holds));
    anywhere.or_else(in_list).unwrap_or(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn read(path: &str, text: &str) -> String {
        let lines = entries(path, text).unwrap();
        let texts = lines
            .iter()
            .map(|line| format!("{} {}", line.number, line.text));
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Each grammar, however its lines are broken.
    #[test]
    fn values_stand_behind_their_keys() {
        let cases = [
            (
                "package.json",
                "{ \"scripts\": { \"test\": \"node --test\",\n \"lint\": \"eslint .\" } }",
                "1 scripts.test = node --test\n2 scripts.lint = eslint .",
            ),
            (
                "deno.jsonc",
                "{\n  // ours\n  \"tasks\": { \"test\": \"deno test\", },\n}",
                "3 tasks.test = deno test",
            ),
            (
                "pyproject.toml",
                "[tool.pytest.ini_options]\naddopts = [\n  \"-q\",\n  \"-x\",\n]\n",
                "3 tool.pytest.ini_options.addopts = -q\n4 tool.pytest.ini_options.addopts = -x",
            ),
            (
                ".gitlab-ci.yml",
                "test:\n  script:\n    - !reference [.a, script]\n    - |\n      npm ci\n      npm test\n",
                "3 test.script = .a\n3 test.script = script\n5 test.script = npm ci\n6 test.script = npm test",
            ),
            (
                "ci.yml",
                "steps:\n  - run: npm test\n    continue-on-error: true\n",
                "2 steps.run = npm test\n3 steps.continue-on-error = true of `npm test`",
            ),
            (
                "a.csproj",
                "<Project>\n <Compile Remove=\"A.cs\" />\n <B>x</B>\n</Project>",
                "2 Project.Compile.Remove = A.cs\n3 Project.B = x",
            ),
            (
                "tox.ini",
                "[testenv:unit]\ncommands =\n    pytest -q\n    coverage report\n# no\n",
                "3 testenv:unit.commands = pytest -q\n4 testenv:unit.commands = coverage report",
            ),
        ];
        for (path, text, expected) in cases {
            assert_eq!(read(path, text), expected, "{path}");
        }
        for (path, text) in [("a.json", "{"), ("a.toml", "a"), ("a.yml", "a: [")] {
            assert!(entries(path, text).is_none(), "{path}");
        }
    }
}
