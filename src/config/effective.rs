//! The configuration in force, key by key, with where each value comes from: `loopgate inspect config`.

use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    load::{ConfigErrors, Layers, load, merged},
    node::{Kind, Node},
    presets::{ENABLED, Presets, defaults},
    problem::Layer,
    source::Source,
};

/// A value in force.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setting {
    /// Dotted path of the key: `gates.security.label`.
    pub key: String,
    pub value: Value,
    pub origin: ValueOrigin,
}

/// Where a value was written; lines count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum ValueOrigin {
    /// Loopgate's own default.
    BuiltIn,
    /// One of the five gates every repository starts with.
    Preset,
    Organisation {
        line: usize,
    },
    Repository {
        line: usize,
    },
}

impl fmt::Display for ValueOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built-in"),
            Self::Preset => f.write_str("preset"),
            Self::Organisation { line } => write!(f, "organisation, line {line}"),
            Self::Repository { line } => write!(f, "repository, line {line}"),
        }
    }
}

/// Every setting in force under a repository's file and its organisation's.
///
/// # Errors
/// As [`load`].
pub fn effective(
    organisation: Option<Source<'_>>,
    repository: Option<Source<'_>>,
) -> Result<Vec<Setting>, ConfigErrors> {
    let policy = load(organisation, repository)?.policy;
    let builtin = merged(defaults().clone(), Presets::builtin().tree.clone(), &mut Vec::new());
    let tree = Layers::read(&builtin, organisation, repository)?.tree;

    let mut settings = Vec::new();
    collect(&tree, String::new(), &mut settings);
    if let Some(enabled) = settings.iter_mut().find(|setting| setting.key == ENABLED) {
        enabled.value = json!(policy.is_active);
    }
    Ok(settings)
}

fn collect(node: &Node, path: String, settings: &mut Vec<Setting>) {
    match &node.kind {
        Kind::Null => {}
        // A gate's condition is read as a whole.
        Kind::Map(map) if !(map.is_empty() || path.starts_with("gates.") && path.ends_with(".when")) => {
            for (key, entry) in map {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                collect(&entry.node, path, settings);
            }
        }
        _ => {
            let line = node.place.line as usize;
            let origin = match node.place.layer {
                Layer::Builtin if path.starts_with("gates.") => ValueOrigin::Preset,
                Layer::Builtin => ValueOrigin::BuiltIn,
                Layer::Organisation => ValueOrigin::Organisation { line },
                Layer::Repository => ValueOrigin::Repository { line },
            };
            settings.push(Setting { key: path, value: node.to_json(), origin });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(organisation: Option<&str>, repository: Option<&str>, keys: &[&str]) -> Vec<String> {
        let organisation = organisation.map(|text| Source::new("organisation", text));
        let repository = repository.map(|text| Source::new("repository", text));
        let settings = effective(organisation, repository).unwrap();
        let chosen = settings.iter().filter(|setting| keys.iter().any(|key| setting.key.starts_with(key)));
        chosen.map(|setting| format!("{} = {} {:?}", setting.key, setting.value, setting.origin)).collect()
    }

    #[test]
    fn every_value_says_where_it_comes_from() {
        let organisation =
            "loop: { max_attempts: 2, same_error: 1 }\ngates:\n  deploy: off\nlabels: { prefix: 'x:' }\n";
        let repository = "loop:\n  max_attempts: 5\ngates:\n  security: { approvers: { users: [alice] } }\n";
        insta::assert_debug_snapshot!(shown(
            Some(organisation),
            Some(repository),
            &["enabled", "mode", "loop.max_attempts", "loop.same", "loop.backoff", "gates.deploy", "gates.security.a",
              "gates.security.l", "labels.prefix", "fixer"],
        ), @r#"
        [
            "enabled = true BuiltIn",
            "mode = \"hybrid\" BuiltIn",
            "loop.max_attempts = 5 Repository { line: 2 }",
            "loop.same_error = 1 Organisation { line: 1 }",
            "loop.backoff = \"none\" BuiltIn",
            "gates.security.label = \"needs:security-review\" Preset",
            "gates.security.approvers.users = [\"alice\"] Repository { line: 4 }",
            "gates.deploy = \"off\" Organisation { line: 3 }",
            "labels.prefix = \"x:\" Organisation { line: 4 }",
            "fixer.kind = \"none\" BuiltIn",
        ]
        "#);
    }

    #[test]
    fn without_files_nothing_is_enabled_and_everything_default() {
        let settings = effective(None, None).unwrap();
        assert!(settings.iter().all(|setting| matches!(setting.origin, ValueOrigin::BuiltIn | ValueOrigin::Preset)));
        assert_eq!(settings.iter().find(|setting| setting.key == "enabled").unwrap().value, json!(false));
        assert!(settings.iter().any(|setting| setting.key == "gates.database.when" && setting.value.is_object()));
    }
}
