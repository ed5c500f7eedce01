//! The JSON Schema of the file, for completion and checks in editors.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::sections::file::File;

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
    if let Value::Object(root) = &mut schema {
        root.insert("title".to_owned(), json!("Loopgate configuration"));
    }
    schema
}

/// Leaves out what Rust's types say and people need not read: that a key which may be left out may also be `null`.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Object(map) => {
            map.values_mut().for_each(tidy);
            without_null(map);
            if let Some(Value::String(description)) = map.get_mut("description") {
                *description = description.replace('\n', " ");
            }
        }
        _ => {}
    }
}

fn without_null(map: &mut Map<String, Value>) {
    if map.get("default").is_some_and(Value::is_null) {
        map.remove("default");
    }
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
