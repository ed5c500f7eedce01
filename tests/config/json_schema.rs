//! As much of JSON Schema as our own schema uses; it panics on a keyword it does not know, so that it cannot pass
//! what it does not check.

use std::collections::BTreeSet;

use regex::Regex;
use serde_json::{Map, Value};

/// What of a document does not fit, as `path: keyword`.
pub fn misfits(schema: &Value, document: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, schema, document, "", &mut found);
    found
}

/// All names of properties a schema speaks of.
pub fn property_names(schema: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    visit(schema, &mut |map| {
        if let Some(Value::Object(properties)) = map.get("properties") {
            names.extend(properties.keys().cloned());
        }
    });
    names
}

/// All keys of a document.
pub fn keys(document: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    visit(document, &mut |map| names.extend(map.keys().cloned()));
    names
}

fn visit(value: &Value, act: &mut impl FnMut(&Map<String, Value>)) {
    match value {
        Value::Object(map) => {
            act(map);
            map.values().for_each(|value| visit(value, act));
        }
        Value::Array(items) => items.iter().for_each(|value| visit(value, act)),
        _ => {}
    }
}

fn fits(root: &Value, schema: &Value, value: &Value) -> bool {
    let mut found = Vec::new();
    check(root, schema, value, "", &mut found);
    found.is_empty()
}

fn check(root: &Value, schema: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    let schema = match schema {
        Value::Bool(true) => return,
        Value::Object(schema) => schema,
        other => panic!("{path}: the schema {other} is not understood"),
    };
    for (keyword, rule) in schema {
        let holds = match keyword.as_str() {
            "$schema" | "title" | "description" | "definitions" | "$defs" | "default"
            | "examples" | "format" => true,
            "$ref" => {
                let pointer = rule
                    .as_str()
                    .and_then(|rule| rule.strip_prefix('#'))
                    .unwrap();
                check(root, root.pointer(pointer).unwrap(), value, path, found);
                true
            }
            "allOf" => rule
                .as_array()
                .unwrap()
                .iter()
                .all(|part| fits(root, part, value)),
            "anyOf" => rule
                .as_array()
                .unwrap()
                .iter()
                .any(|part| fits(root, part, value)),
            "oneOf" => {
                rule.as_array()
                    .unwrap()
                    .iter()
                    .filter(|part| fits(root, part, value))
                    .count()
                    == 1
            }
            "const" => rule == value,
            "enum" => rule.as_array().unwrap().contains(value),
            "type" => has_type(rule, value),
            "minimum" => value
                .as_f64()
                .is_none_or(|number| number >= rule.as_f64().unwrap()),
            "maximum" => value
                .as_f64()
                .is_none_or(|number| number <= rule.as_f64().unwrap()),
            "pattern" => value
                .as_str()
                .is_none_or(|text| Regex::new(rule.as_str().unwrap()).unwrap().is_match(text)),
            "minItems" => value
                .as_array()
                .is_none_or(|items| items.len() as u64 >= rule.as_u64().unwrap()),
            "required" => value.as_object().is_none_or(|map| {
                rule.as_array()
                    .unwrap()
                    .iter()
                    .all(|key| map.contains_key(key.as_str().unwrap()))
            }),
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, rule, item, &format!("{path}[{index}]"), found);
                }
                true
            }
            "properties" => {
                for (key, part) in rule.as_object().unwrap() {
                    if let Some(inside) = value.get(key) {
                        check(root, part, inside, &format!("{path}.{key}"), found);
                    }
                }
                true
            }
            "patternProperties" => {
                for (pattern, part) in rule.as_object().unwrap() {
                    let pattern = Regex::new(pattern).unwrap();
                    for (key, inside) in value.as_object().into_iter().flatten() {
                        if pattern.is_match(key) {
                            check(root, part, inside, &format!("{path}.{key}"), found);
                        }
                    }
                }
                true
            }
            "additionalProperties" => {
                for (key, inside) in value
                    .as_object()
                    .into_iter()
                    .flatten()
                    .filter(|(key, _)| is_additional(schema, key))
                {
                    match rule {
                        Value::Bool(false) => {
                            found.push(format!("{path}.{key}: additionalProperties"))
                        }
                        rule => check(root, rule, inside, &format!("{path}.{key}"), found),
                    }
                }
                true
            }
            other => panic!("{path}: the keyword {other} is not understood"),
        };
        if !holds {
            found.push(format!("{path}: {keyword}"));
        }
    }
}

fn is_additional(schema: &Map<String, Value>, key: &str) -> bool {
    let named = schema
        .get("properties")
        .is_some_and(|properties| properties.get(key).is_some());
    let patterns = schema.get("patternProperties").and_then(Value::as_object);
    let matched = patterns.is_some_and(|all| {
        all.keys()
            .any(|pattern| Regex::new(pattern).unwrap().is_match(key))
    });
    !named && !matched
}

fn has_type(rule: &Value, value: &Value) -> bool {
    match rule {
        Value::Array(any) => any.iter().any(|rule| has_type(rule, value)),
        Value::String(name) => match name.as_str() {
            "null" => value.is_null(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "string" => value.is_string(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            other => panic!("the type {other} is not understood"),
        },
        other => panic!("the type {other} is not understood"),
    }
}
