//! Which keys the schema has: where a key belongs, and whether a path leads anywhere.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::{schema, suggest};

static SCHEMA: LazyLock<Value> = LazyLock::new(schema::value);

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

fn collect_homes<'a>(schema: &'a Value, path: &[&'a str], key: &str, homes: &mut Vec<Vec<&'a str>>) {
    if path.len() >= MAX_DEPTH {
        return;
    }
    for part in alternatives(schema) {
        let named = properties(part).into_iter().flatten().map(|(name, inside)| (name.as_str(), inside));
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
        let parts: Vec<&Value> = here.iter().flat_map(|schema| alternatives(schema)).collect();
        let named = parts.iter().filter_map(|schema| properties(schema)?.get(part));
        let next: Vec<&Value> = named.chain(parts.iter().flat_map(|schema| own_names(schema))).collect();
        if next.is_empty() {
            let known = parts.iter().filter_map(|schema| properties(schema)).flat_map(Map::keys);
            return Some(suggest::among(part, &known.map(String::as_str).collect::<Vec<_>>()));
        }
        here = next;
    }
    None
}

/// A schema with what it refers to, and what it allows instead.
fn alternatives(schema: &Value) -> Vec<&Value> {
    let mut found = vec![schema];
    let referred = schema.get("$ref").and_then(Value::as_str).and_then(|path| SCHEMA.pointer(path.strip_prefix('#')?));
    found.extend(referred.into_iter().flat_map(alternatives));
    for keyword in ["anyOf", "allOf", "oneOf"] {
        let options = schema.get(keyword).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        // What stands in a list has no path.
        if !options.iter().any(|option| option.get("type").is_some_and(|name| name == "array")) {
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
    let patterns = schema.get("patternProperties").and_then(Value::as_object).into_iter().flat_map(Map::values);
    patterns.chain(schema.get("additionalProperties").filter(|inside| inside.is_object()))
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
        for path in
            ["gates", "loop.max_attempts", "gates.security.approvers.users", "verify.checks.unit", "fixer.mention"]
        {
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
