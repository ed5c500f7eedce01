//! The gates every repository starts with: what `config/presets/gates.yml` says of them.

use std::sync::LazyLock;

use indexmap::IndexMap;
use serde::Deserialize;

use super::{
    de,
    node::{Kind, Node},
    place::Layer,
    problem::Problem,
    source::Source,
    yaml,
};
use loopgate_core::{
    GateName, TemplateName,
    policy::{GatePreset, GateRole, HybridHold},
};

mod partners;

const FILE: &str = "config/presets/gates.yml";

/// The presets, written like any configuration, each with its own key `preset` beside, with the names of partners in
/// their places.
static TEXT: LazyLock<String> = LazyLock::new(|| partners::named_in(include_str!("../../config/presets/gates.yml")));

/// What lies below every configuration.
#[derive(Debug)]
pub(super) struct Presets {
    pub source: Source<'static>,
    /// The gates as a configuration of the lowest layer.
    pub tree: Node,
    /// What only the presets say of gates.
    pub gates: IndexMap<GateName, PresetSection>,
    /// The condition behind `api: true`.
    pub api: Node,
}

/// The key `preset` of a gate: what a preset says, and no configuration can.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PresetSection {
    /// The team that approves where nobody is named, if it exists: a slug without its organisation.
    pub team: String,
    template: TemplateName,
    boxes: usize,
    hybrid: HybridHold,
    role: Option<GateRole>,
}

impl PresetSection {
    pub fn lower(&self) -> GatePreset {
        GatePreset { template: self.template.clone(), boxes: self.boxes, hybrid: self.hybrid, role: self.role }
    }
}

impl Presets {
    /// The presets that come with Loopgate, read once.
    pub fn builtin() -> &'static Self {
        static BUILTIN: LazyLock<Presets> = LazyLock::new(|| {
            Presets::read(Source::new(FILE, &TEXT)).expect("the presets are part of the program, and tests read them")
        });
        &BUILTIN
    }

    /// # Errors
    /// When a gate lacks what every preset says of itself. What else is wrong is told when the tree is made a policy.
    pub fn read(source: Source<'static>) -> Result<Self, Problem> {
        let mut tree = yaml::read(source, Layer::Builtin)?;
        let api = tree.take("api").ok_or_else(|| Problem::missing(tree.place, "api"))?.node;
        let mut gates = IndexMap::new();
        if let Kind::Map(root) = &mut tree.kind
            && let Some(Kind::Map(entries)) = root.get_mut("gates").map(|entry| &mut entry.node.kind)
        {
            for (name, gate) in entries {
                let place = gate.key;
                let name = name.parse().map_err(|_| Problem::wrong(place, "this is no name of a gate"))?;
                let preset = gate.node.take("preset").ok_or_else(|| Problem::missing(place, "preset"))?;
                gates.insert(name, de::from_node(&preset.node)?);
            }
        }
        Ok(Self { source, tree, gates, api })
    }
}

#[cfg(test)]
mod tests;
