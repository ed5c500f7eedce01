//! Every default as a person would write it: `config/loopgate.example.yml`. Tests hold the example against the defaults
//! of the core, which are the ones in force.

use std::sync::LazyLock;

use super::{node::Node, place::Layer, source::Source, yaml};

/// The one key whose default depends on which files there are.
pub(super) const ENABLED: &str = "enabled";

/// Every key that has a default, with its default.
pub(super) fn tree() -> &'static Node {
    static TREE: LazyLock<Node> = LazyLock::new(|| {
        let example = Source::new("config/loopgate.example.yml", include_str!("../../config/loopgate.example.yml"));
        yaml::read(example, Layer::Builtin).expect("the example is part of the program, and tests read it")
    });
    &TREE
}
