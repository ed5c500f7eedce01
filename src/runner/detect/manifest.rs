//! The files in which projects describe themselves, read leniently: what cannot be read says nothing.

use std::path::Path;

use serde_json::Value;

/// Largest manifest read, in bytes.
const LIMIT: u64 = 4 * 1024 * 1024;

/// A manifest as plain values, whatever it was written in.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Manifest(Value);

impl Manifest {
    pub fn json(path: &Path) -> Self {
        Self(serde_json::from_str(&text(path)).unwrap_or_default())
    }

    pub fn toml(path: &Path) -> Self {
        Self(toml::from_str(&text(path)).unwrap_or_default())
    }

    pub fn yaml(path: &Path) -> Self {
        Self(serde_yaml::from_str(&text(path)).unwrap_or_default())
    }

    pub fn at(&self, keys: &[&str]) -> Option<&Value> {
        keys.iter().try_fold(&self.0, |value, key| value.get(key))
    }

    pub fn has(&self, keys: &[&str]) -> bool {
        self.at(keys).is_some()
    }

    pub fn text(&self, keys: &[&str]) -> Option<&str> {
        self.at(keys)?.as_str()
    }

    /// The texts of a list.
    pub fn texts(&self, keys: &[&str]) -> Vec<String> {
        let list = self.at(keys).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    }
}

/// A file's text; empty where it is not there, is no text, or is larger than anybody writes.
pub(super) fn text(path: &Path) -> String {
    match path.metadata() {
        Ok(file) if file.is_file() && file.len() <= LIMIT => std::fs::read_to_string(path).unwrap_or_default(),
        _ => String::new(),
    }
}
