//! The gates every repository starts with.

use std::sync::LazyLock;

use super::{
    load::load,
    node::Node,
    source::{Layer, Source},
};
use loopgate_core::{
    GateName,
    policy::{Activation, Policy},
};

/// The policy of a repository without any file: every preset and every default.
pub fn presets() -> Policy {
    let loaded = load(None, None).expect("the presets are part of the program, and tests read them");
    Policy { activation: Activation::Active, ..loaded.policy }
}

/// The presets, written like any configuration.
pub(super) const SOURCE: Source<'static> =
    Source::new("config/presets/gates.yml", include_str!("../../config/presets/gates.yml"));

/// The presets as a tree, read once.
pub(super) fn tree() -> &'static Node {
    static TREE: LazyLock<Node> = LazyLock::new(|| {
        Node::read(SOURCE, Layer::Builtin).expect("the presets are part of the program, and tests read them")
    });
    &TREE
}

/// The team each preset prefers; it counts only where it exists and can read the repository.
const TEAMS: [(&str, &str); 5] = [
    ("architecture", "tech-leads"),
    ("security", "security"),
    ("database", "dba"),
    ("external", "tech-leads"),
    ("deploy", "release-managers"),
];

/// The team a gate prefers, if it is a preset.
pub(super) fn team(gate: &GateName) -> Option<&'static str> {
    TEAMS.iter().find(|(name, _)| *name == gate.as_str()).map(|(_, team)| *team)
}

/// The names of the presets.
pub(super) fn names() -> [&'static str; 5] {
    TEAMS.map(|(name, _)| name)
}

#[cfg(test)]
mod tests;
