//! The JSON Schema of the file, for completion and checks in editors; and which keys it has: where a key belongs, and
//! whether a path leads anywhere.

use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::{
    node::{Kind, Node},
    presets::{ENABLED, defaults},
    sections::file::File,
    suggest,
};

/// The schema as pretty-printed JSON with a final line break: `config/loopgate.schema.json`.
pub fn schema() -> String {
    let mut text = serde_json::to_string_pretty(&*SCHEMA)
        .expect("a schema is made of strings, numbers and maps");
    text.push('\n');
    text
}

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    // Draft 7 is what the YAML language servers of editors understand.
    let schema = SchemaSettings::draft07()
        .into_generator()
        .into_root_schema_for::<File>();
    let mut schema = schema.to_value();
    tidy(&mut schema);
    show_defaults(&mut schema, String::new(), defaults());
    if let Value::Object(root) = &mut schema {
        root.insert("title".to_owned(), json!("Loopgate configuration"));
    }
    schema
});

/// Leaves out what Rust's types have and people need not read: that a key which may be left out may also be `null`.
/// Adds that a list may be written as its only item.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Object(map) => {
            map.values_mut().for_each(tidy);
            map.remove("default");
            without_null(map);
            if map.get("type").is_some_and(|name| name == "array") && map.contains_key("items") {
                let list: Map<String, Value> = ["type", "items", "minItems"]
                    .into_iter()
                    .filter_map(|key| map.remove_entry(key))
                    .collect();
                map.insert("anyOf".to_owned(), json!([list["items"], list]));
            }
            if let Some(Value::String(description)) = map.get_mut("description") {
                *description = description.replace('\n', " ");
            }
        }
        _ => {}
    }
}

/// Adds to each key the default that the example shows, as a keyword and at the end of its description. A description
/// that has its default in words of its own stays as it is.
fn show_defaults(root: &mut Value, at: String, node: &Node) {
    let Kind::Map(map) = &node.kind else { return };
    for (key, entry) in map.iter().filter(|(key, _)| *key != ENABLED) {
        let Some(found) = property(root, &at, key) else {
            continue;
        };
        if let Kind::Map(_) = &entry.node.kind {
            show_defaults(root, found, &entry.node);
        } else if let Some(Value::Object(map)) = root.pointer_mut(&found)
            && let Some(Value::String(description)) = map.get_mut("description")
            && !description.contains("Default:")
        {
            let value = entry.node.to_json();
            *description = format!("{description} Default: {}.", in_words(&value));
            map.insert("default".to_owned(), value);
        }
    }
}

fn in_words(value: &Value) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    match value {
        Value::String(text) if text.chars().all(is_plain) => text.clone(),
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Array(items) => format!(
            "`[{}]`",
            items.iter().map(in_words).collect::<Vec<_>>().join(", ")
        ),
        other => other.to_string(),
    }
}

/// The pointer to a key of the map that a pointer leads to. A type that several keys share has no default of its own.
fn property(root: &Value, at: &str, key: &str) -> Option<String> {
    let schema = root.pointer(at)?;
    let own = format!("{at}/properties/{key}");
    if root.pointer(&own).is_some() {
        return Some(own);
    }
    let referred = schema
        .get("$ref")
        .and_then(Value::as_str)
        .filter(|path| references(root, path) == 1);
    if let Some(path) = referred.and_then(|path| path.strip_prefix('#')) {
        return property(root, path, key);
    }
    ["anyOf", "allOf"].iter().find_map(|keyword| {
        let parts = schema.get(keyword)?.as_array()?.len();
        (0..parts).find_map(|part| property(root, &format!("{at}/{keyword}/{part}"), key))
    })
}

fn references(schema: &Value, path: &str) -> usize {
    match schema {
        Value::Object(map) => map
            .iter()
            .map(|(key, inside)| {
                usize::from(key == "$ref" && inside == path) + references(inside, path)
            })
            .sum(),
        Value::Array(items) => items.iter().map(|item| references(item, path)).sum(),
        _ => 0,
    }
}

fn without_null(map: &mut Map<String, Value>) {
    for keyword in ["type", "enum", "anyOf"] {
        let Some(Value::Array(options)) = map.get_mut(keyword) else {
            continue;
        };
        options.retain(|option| {
            !(option.is_null() || option == "null" || *option == json!({ "type": "null" }))
        });
        let [only] = options.as_slice() else { continue };
        let only = only.clone();
        match (keyword, only) {
            ("type", only) => drop(map.insert("type".to_owned(), only)),
            // A reference beside other keywords needs a list around it, since draft 7 ignores its neighbours.
            ("anyOf", only) if only.get("$ref").is_some() => {
                map.remove("anyOf");
                map.insert("allOf".to_owned(), json!([only]));
            }
            ("anyOf", Value::Object(only)) => {
                map.remove("anyOf");
                map.extend(only);
            }
            _ => {}
        }
    }
}

/// Deeper there are only conditions within conditions.
const MAX_DEPTH: usize = 5;

/// The path of a key that somebody wrote in the wrong place, if there is one place to prefer.
pub(super) fn home_of(key: &str) -> Option<String> {
    let mut homes = Vec::new();
    collect_homes(&SCHEMA, &[], key, &mut homes);
    let least = homes.iter().map(Vec::len).min()?;
    let mut nearest = homes.into_iter().filter(|home| home.len() == least);
    match (nearest.next(), nearest.next()) {
        (Some(home), None) => Some(home.join(".")),
        _ => None,
    }
}

fn collect_homes<'a>(
    schema: &'a Value,
    path: &[&'a str],
    key: &str,
    homes: &mut Vec<Vec<&'a str>>,
) {
    if path.len() >= MAX_DEPTH {
        return;
    }
    for part in alternatives(schema) {
        let named = properties(part)
            .into_iter()
            .flatten()
            .map(|(name, inside)| (name.as_str(), inside));
        for (name, inside) in named.chain(own_names(part).map(|inside| ("<name>", inside))) {
            let path = [path, &[name]].concat();
            if name == key {
                homes.push(path.clone());
            }
            collect_homes(inside, &path, key, homes);
        }
    }
}

/// What could be written instead of the first part of a dotted path that is no key, if there is such a part.
pub(super) fn unknown_part(path: &str) -> Option<String> {
    let mut here: Vec<&Value> = vec![&SCHEMA];
    for part in path.split('.') {
        let parts: Vec<&Value> = here
            .iter()
            .flat_map(|schema| alternatives(schema))
            .collect();
        let named = parts
            .iter()
            .filter_map(|schema| properties(schema)?.get(part));
        let next: Vec<&Value> = named
            .chain(parts.iter().flat_map(|schema| own_names(schema)))
            .collect();
        if next.is_empty() {
            let known = parts
                .iter()
                .filter_map(|schema| properties(schema))
                .flat_map(Map::keys);
            return Some(suggest::among(
                part,
                &known.map(String::as_str).collect::<Vec<_>>(),
            ));
        }
        here = next;
    }
    None
}

/// A schema with what it refers to, and what it allows instead.
fn alternatives(schema: &Value) -> Vec<&Value> {
    let mut found = vec![schema];
    let referred = schema
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|path| SCHEMA.pointer(path.strip_prefix('#')?));
    found.extend(referred.into_iter().flat_map(alternatives));
    for keyword in ["anyOf", "allOf", "oneOf"] {
        let options = schema
            .get(keyword)
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        // What stands in a list has no path.
        if !options
            .iter()
            .any(|option| option.get("type").is_some_and(|name| name == "array"))
        {
            found.extend(options.iter().flat_map(alternatives));
        }
    }
    found
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties")?.as_object()
}

/// What stands under names that people choose themselves.
fn own_names(schema: &Value) -> impl Iterator<Item = &Value> {
    let patterns = schema
        .get("patternProperties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::values);
    patterns.chain(
        schema
            .get("additionalProperties")
            .filter(|inside| inside.is_object()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_one_home() {
        for (key, home) in [
            ("max_attempts", Some("loop.max_attempts")),
            ("weight", Some("loop.progress.weight")),
            ("approve_by", Some("gates.<name>.approve_by")),
            ("run", Some("verify.checks.<name>.run")),
            ("wall_time", Some("fixer.budget.wall_time")),
            ("gates", Some("gates")),
            ("kind", Some("fixer.kind")),
            ("name", None),
            ("nonsense", None),
        ] {
            assert_eq!(home_of(key).as_deref(), home, "{key}");
        }
    }

    #[test]
    fn paths_lead_somewhere_or_are_mended() {
        for path in [
            "gates",
            "loop.max_attempts",
            "gates.security.approvers.users",
            "verify.checks.unit",
            "fixer.mention",
        ] {
            assert_eq!(unknown_part(path), None, "{path}");
        }
        for (path, hint) in [
            ("gate", "did you mean `gates`?"),
            ("loop.max_atempts", "did you mean `max_attempts`?"),
            ("gates.security.lable", "did you mean `label`?"),
            ("mode.x", "nothing can be written here"),
        ] {
            assert_eq!(unknown_part(path).as_deref(), Some(hint), "{path}");
        }
    }
}
