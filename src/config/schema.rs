//! The JSON Schema of the file, for completion and checks in editors.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::{
    defaults,
    node::{Kind, Node},
    sections::file::File,
};

/// The schema as pretty-printed JSON with a final line break: `config/loopgate.schema.json`.
pub fn schema() -> String {
    let mut text = serde_json::to_string_pretty(&value()).expect("a schema is made of strings, numbers and maps");
    text.push('\n');
    text
}

/// The schema as a value.
pub(super) fn value() -> Value {
    // Draft 7 is what the YAML language servers of editors understand.
    let schema = SchemaSettings::draft07().into_generator().into_root_schema_for::<File>();
    let mut schema = schema.to_value();
    tidy(&mut schema);
    tell_defaults(&mut schema, String::new(), defaults::tree());
    if let Value::Object(root) = &mut schema {
        root.insert("title".to_owned(), json!("Loopgate configuration"));
    }
    schema
}

/// Leaves out what Rust's types say and people need not read: that a key which may be left out may also be `null`. Adds
/// that a list may be written as its only item.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Object(map) => {
            map.values_mut().for_each(tidy);
            map.remove("default");
            without_null(map);
            if map.get("type").is_some_and(|name| name == "array") && map.contains_key("items") {
                let list: Map<String, Value> =
                    ["type", "items", "minItems"].into_iter().filter_map(|key| map.remove_entry(key)).collect();
                map.insert("anyOf".to_owned(), json!([list["items"], list]));
            }
            if let Some(Value::String(description)) = map.get_mut("description") {
                *description = description.replace('\n', " ");
            }
        }
        _ => {}
    }
}

/// Says of each key which default the example shows, as a keyword and at the end of its description. A description that
/// says its default in words of its own stays as it is.
fn tell_defaults(root: &mut Value, at: String, node: &Node) {
    let Kind::Map(map) = &node.kind else { return };
    for (key, entry) in map.iter().filter(|(key, _)| *key != defaults::ENABLED) {
        let Some(found) = property(root, &at, key) else { continue };
        match &entry.node.kind {
            Kind::Map(_) => tell_defaults(root, found, &entry.node),
            _ => tell_default(root, &found, &entry.node.to_json()),
        }
    }
}

fn tell_default(root: &mut Value, at: &str, value: &Value) {
    let Some(Value::Object(map)) = root.pointer_mut(at) else { return };
    if let Some(Value::String(description)) = map.get_mut("description")
        && !description.contains("Default:")
    {
        *description = format!("{description} Default: {}.", in_words(value));
        map.insert("default".to_owned(), value.clone());
    }
}

fn in_words(value: &Value) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    match value {
        Value::String(text) if text.chars().all(is_plain) => text.clone(),
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Array(items) => format!("`[{}]`", items.iter().map(in_words).collect::<Vec<_>>().join(", ")),
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
    let referred = schema.get("$ref").and_then(Value::as_str).filter(|path| references(root, path) == 1);
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
            .map(|(key, inside)| usize::from(key == "$ref" && inside == path) + references(inside, path))
            .sum(),
        Value::Array(items) => items.iter().map(|item| references(item, path)).sum(),
        _ => 0,
    }
}

fn without_null(map: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = map.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            map.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = map.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    let Some(Value::Array(options)) = map.get_mut("anyOf") else { return };
    options.retain(|option| *option != json!({ "type": "null" }));
    match options.as_slice() {
        // A reference beside other keywords needs a list around it, since draft 7 ignores its neighbours.
        [only] if only.get("$ref").is_none() => {
            let only = only.clone();
            map.remove("anyOf");
            if let Value::Object(only) = only {
                map.extend(only);
            }
        }
        [_] => {
            let list = map.remove("anyOf").unwrap_or_default();
            map.insert("allOf".to_owned(), list);
        }
        _ => {}
    }
}
