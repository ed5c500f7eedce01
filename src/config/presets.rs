//! What is built in. The gates every repository starts with: `config/presets/` has one file for each, with the gate and its
//! rules. The defaults of all keys.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, LazyLock},
};

use indexmap::IndexMap;
use serde::Deserialize;

use super::{
    de,
    leaf::ShortOr,
    node::{Entry, Kind, Map, Node},
    problem::{Layer, Place, Problem},
    source::Source,
    yaml,
};
use loopgate_core::{
    GateName, PatternName, TemplateName,
    policy::{
        ChosenRules, GatePreset, GateRole, GateRule, HybridHold, ManifestChange, NameGlob, PathGlobs, Pattern,
        RuleBook, RuleCondition, RuleExample, RuleSide, RuleTier,
    },
    source_files::FileKind,
};

macro_rules! files {
    ($($name:literal),*) => {
        [$(($name, concat!("config/presets/", $name, ".yml"), include_str!(concat!("../../config/presets/", $name, ".yml")))),*]
    };
}

/// The files, each by the name of its gate.
const FILES: [(&str, &str, &str); 6] = files!["architecture", "security", "database", "external", "deploy", "agents"];

/// The rules that `api: true` asks, each of which opens there.
const API: [&str; 4] = ["public-contract", "route-file", "route", "controller"];

/// What lies below every configuration.
#[derive(Debug)]
pub(super) struct Presets {
    /// The gates as a configuration of the lowest layer.
    pub tree: Node,
    /// What only the presets say of gates.
    pub gates: IndexMap<GateName, PresetSection>,
    /// The rules of all of them.
    pub rules: Arc<RuleBook>,
}

/// The key `preset` of a gate: what a preset says, and no configuration can.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PresetSection {
    /// The team that approves if no approver is named, if it exists: a slug without its organisation.
    pub team: String,
    template: TemplateName,
    boxes: usize,
    hybrid: HybridHold,
    role: Option<GateRole>,
    /// It is none of the gates that every repository starts with: a configuration names it.
    #[serde(default)]
    pub only_where_written: bool,
}

impl PresetSection {
    pub fn lower(&self) -> GatePreset {
        GatePreset { template: self.template.clone(), boxes: self.boxes, hybrid: self.hybrid, role: self.role }
    }
}

/// A rule as it is written. It looks at exactly one thing.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleSection {
    id: PatternName,
    says: String,
    tier: RuleTier,
    path: Option<Vec<String>>,
    added: Option<ShortOr<Vec<String>, MatchSection>>,
    removed: Option<ShortOr<Vec<String>, MatchSection>>,
    changed: Option<ShortOr<Vec<String>, MatchSection>>,
    manifest: Option<ManifestChange>,
    new: Option<NewThing>,
    r#in: Option<BTreeSet<FileKind>>,
    opens: Vec<String>,
    quiet: Vec<String>,
}

/// An expression over one line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MatchSection {
    r#match: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum NewThing {
    Folder,
}

impl Presets {
    /// The presets that come with Loopgate, read once.
    pub fn builtin() -> &'static Self {
        static BUILTIN: LazyLock<Presets> =
            LazyLock::new(|| Presets::read(&FILES).expect("the presets are part of the program, and tests read them"));
        &BUILTIN
    }

    /// # Errors
    /// When a file lacks what every preset says of itself, or a rule is wrong. What else is wrong with a gate is reported
    /// when the tree is made a policy.
    pub fn read(files: &[(&str, &'static str, &'static str)]) -> Result<Self, Problem> {
        let (mut gates, mut entries, mut rules) = (IndexMap::new(), Map::new(), Vec::new());
        for &(name, file, text) in files {
            let start = Place::start(Layer::Builtin);
            let gate: GateName = name.parse().map_err(|_| Problem::wrong(start, "this is no name of a gate"))?;
            let mut tree = yaml::read(Source::new(file, text), Layer::Builtin)?;
            let mut entry = tree.take("gate").ok_or_else(|| Problem::missing(start, "gate"))?;
            let preset = entry.node.take("preset").ok_or_else(|| Problem::missing(start, "preset"))?;
            gates.insert(gate.clone(), de::from_node(&preset.node)?);
            entries.insert(name.to_owned(), entry);
            if let Some(written) = tree.take("rules") {
                let written: Vec<RuleSection> = de::from_node(&written.node)?;
                for rule in written {
                    rules.push(rule.lower(&gate)?);
                }
            }
        }
        let place = Place::start(Layer::Builtin);
        let gates_entry = Entry { key: place, node: Node { place, kind: Kind::Map(entries) } };
        let tree = Node { place, kind: Kind::Map(Map::from_iter([("gates".to_owned(), gates_entry)])) };
        Ok(Self { tree, gates, rules: Arc::new(RuleBook::new(rules)) })
    }

    /// The rules of a preset, as they come; none of a gate that has none.
    pub fn rules_of(&self, preset: &GateName) -> Option<ChosenRules> {
        Some(ChosenRules::of_preset(&self.rules, preset)).filter(|rules| !rules.tiers.is_empty())
    }

    /// The rules behind `api: true`.
    pub fn api(&self) -> ChosenRules {
        let is_api = |rule: &GateRule| API.contains(&rule.id.as_str());
        let chosen = self.rules.rules().iter().enumerate().filter(|(_, rule)| is_api(rule));
        let tiers: BTreeMap<usize, RuleTier> = chosen.map(|(index, _)| (index, RuleTier::Opens)).collect();
        ChosenRules { book: Arc::clone(&self.rules), tiers }
    }
}

impl RuleSection {
    fn lower(self, gate: &GateName) -> Result<GateRule, Problem> {
        let wrong = |message: String| Problem::wrong(Place::start(Layer::Builtin), format!("{}: {message}", self.id));
        let line = |side: RuleSide, written: ShortOr<Vec<String>, MatchSection>| match written {
            ShortOr::Short(words) => RuleCondition::Line { side, words, pattern: None },
            ShortOr::Long(expression) => {
                let pattern = Some(Pattern::constant(&expression.r#match));
                RuleCondition::Line { side, words: Vec::new(), pattern }
            }
        };
        let conditions = [
            self.path.map(path_condition).transpose().map_err(|error| wrong(error.to_string()))?,
            self.added.map(|written| line(RuleSide::Added, written)),
            self.removed.map(|written| line(RuleSide::Removed, written)),
            self.changed.map(|written| line(RuleSide::Changed, written)),
            self.manifest.map(RuleCondition::Manifest),
            self.new.map(|NewThing::Folder| RuleCondition::NewFolder),
        ];
        let mut conditions = conditions.into_iter().flatten();
        let (Some(condition), None) = (conditions.next(), conditions.next()) else {
            return Err(wrong("a rule looks at exactly one thing".to_owned()));
        };
        let example = |written: &[String]| match written {
            [path, lines @ ..] if !lines.is_empty() => Ok(RuleExample { path: path.clone(), lines: lines.to_vec() }),
            _ => Err(wrong("an example is a path and the lines of its diff".to_owned())),
        };
        let default = || BTreeSet::from([FileKind::Code, FileKind::Config, FileKind::Ci, FileKind::Manifest]);
        Ok(GateRule {
            gate: gate.clone(),
            tier: self.tier,
            condition,
            kinds: self.r#in.clone().unwrap_or_else(default),
            opens: example(&self.opens)?,
            quiet: example(&self.quiet)?,
            says: self.says.clone(),
            id: self.id.clone(),
        })
    }
}

/// Globs have a `/`, `*` or `.`; words of a path have none.
fn path_condition(written: Vec<String>) -> Result<RuleCondition, impl std::fmt::Display> {
    let (globs, words): (Vec<String>, Vec<String>) = written.into_iter().partition(|one| one.contains(['/', '*', '.']));
    let globs: Result<Vec<NameGlob>, _> = globs.iter().map(|glob| NameGlob::path(glob)).collect();
    globs.map(|globs| RuleCondition::Path { globs: PathGlobs::new(globs), words })
}

/// The one key whose default depends on which files there are.
pub(super) const ENABLED: &str = "enabled";

/// Every key that has a default, with its default, as a person would write it: `config/loopgate.example.yml`. Tests hold the
/// example against the defaults of the core, which are the ones in force.
pub(super) fn defaults() -> &'static Node {
    static TREE: LazyLock<Node> = LazyLock::new(|| {
        let example = Source::new("config/loopgate.example.yml", include_str!("../../config/loopgate.example.yml"));
        yaml::read(example, Layer::Builtin).expect("the example is part of the program, and tests read it")
    });
    &TREE
}

#[cfg(test)]
mod tests;
