//! What is built in. The gates every repository starts with: `config/presets/` has one file for each, with the gate and
//! its rules. The defaults of all keys.

use std::sync::{Arc, LazyLock};

use indexmap::IndexMap;

use super::{
    de::{self, Matchers},
    node::{Entry, Kind, Map, Node},
    problem::{Layer, Place, Problem},
    source::Source,
    yaml,
};
use loopgate_core::{
    GateName,
    policy::{ChosenRules, GatePreset, GateRule, RuleBook, RuleTier},
};

macro_rules! files {
    ($($name:literal),*) => {
        [$(($name, concat!("config/presets/", $name, ".yml"), include_str!(concat!("../../config/presets/", $name, ".yml")))),*]
    };
}

/// The files, each by the name of its gate.
const FILES: [(&str, &str, &str); 6] = files![
    "architecture",
    "security",
    "database",
    "external",
    "deploy",
    "agents"
];

/// What lies below every configuration.
#[derive(Debug)]
pub(super) struct Presets {
    /// The gates as a configuration of the lowest layer.
    pub tree: Node,
    /// What only the presets have of gates.
    pub gates: IndexMap<GateName, GatePreset>,
    /// The rules of all of them.
    pub rules: Arc<RuleBook>,
}

impl Presets {
    /// The presets that come with Loopgate, read once.
    pub fn builtin() -> &'static Self {
        static BUILTIN: LazyLock<Presets> = LazyLock::new(|| {
            Presets::read(&FILES).expect("the presets are part of the program, and tests read them")
        });
        &BUILTIN
    }

    /// # Errors
    /// When a file lacks what every preset has, or a rule is wrong. What else is wrong with a gate is reported
    /// when the tree is made a policy.
    pub fn read(files: &[(&str, &'static str, &'static str)]) -> Result<Self, Problem> {
        let (mut gates, mut entries, mut rules) = (IndexMap::new(), Map::new(), Vec::new());
        for &(name, file, text) in files {
            let start = Place::start(Layer::Builtin);
            let gate: GateName = name
                .parse()
                .map_err(|_| Problem::wrong(start, "this is no name of a gate"))?;
            let mut tree = yaml::read(Source::new(file, text), Layer::Builtin)?;
            let mut entry = tree
                .take("gate")
                .ok_or_else(|| Problem::missing(start, "gate"))?;
            let preset = entry
                .node
                .take("preset")
                .ok_or_else(|| Problem::missing(start, "preset"))?;
            gates.insert(
                gate.clone(),
                de::from_node(&preset.node, &Matchers::default())?,
            );
            entries.insert(name.to_owned(), entry);
            let Some(mut written) = tree.take("rules") else {
                continue;
            };
            if let Kind::List(written) = &mut written.node.kind {
                for rule in written {
                    let Kind::Map(keys) = &mut rule.kind else {
                        continue;
                    };
                    let gate = Node {
                        place: start,
                        kind: Kind::Text(name.to_owned()),
                    };
                    keys.insert(
                        "gate".to_owned(),
                        Entry {
                            key: start,
                            node: gate,
                        },
                    );
                }
            }
            rules.extend(de::from_node::<Vec<GateRule>>(
                &written.node,
                &Matchers::default(),
            )?);
        }
        let place = Place::start(Layer::Builtin);
        let gates_entry = Entry {
            key: place,
            node: Node {
                place,
                kind: Kind::Map(entries),
            },
        };
        let tree = Node {
            place,
            kind: Kind::Map(Map::from_iter([("gates".to_owned(), gates_entry)])),
        };
        let rules =
            RuleBook::new(rules).map_err(|error| Problem::wrong(place, error.to_string()))?;
        Ok(Self {
            tree,
            gates,
            rules: Arc::new(rules),
        })
    }

    /// The rules of a preset, as they come; none of a gate that has none.
    pub fn rules_of(&self, preset: &GateName) -> Option<ChosenRules> {
        Some(ChosenRules::of_preset(&self.rules, preset)).filter(|rules| !rules.tiers.is_empty())
    }

    /// Some of the rules, each of which opens.
    pub fn opening(&self, ids: &[&str]) -> ChosenRules {
        let chosen = self
            .rules
            .rules
            .iter()
            .enumerate()
            .filter(|(_, rule)| ids.contains(&rule.id.as_str()));
        let tiers = chosen.map(|(index, _)| (index, RuleTier::Opens)).collect();
        ChosenRules {
            book: Arc::clone(&self.rules),
            tiers,
        }
    }
}

/// The one key whose default depends on which files there are.
pub(super) const ENABLED: &str = "enabled";

/// Every key that has a default, with its default, as a person would write it: `config/loopgate.example.yml`. Tests
/// hold the example against the defaults of the core, which are the ones in force.
pub(super) fn defaults() -> &'static Node {
    static TREE: LazyLock<Node> = LazyLock::new(|| {
        let example = Source::new(
            "config/loopgate.example.yml",
            include_str!("../../config/loopgate.example.yml"),
        );
        yaml::read(example, Layer::Builtin)
            .expect("the example is part of the program, and tests read it")
    });
    &TREE
}

#[cfg(test)]
mod tests;
