//! The example with every key and its default: it knows where a key belongs.

use std::sync::LazyLock;

use super::{
    node::{Kind, Node},
    source::{Layer, Source},
    suggest,
};

pub(super) const SOURCE: Source<'static> =
    Source::new("config/loopgate.example.yml", include_str!("../../config/loopgate.example.yml"));

pub(super) fn tree() -> &'static Node {
    static TREE: LazyLock<Node> = LazyLock::new(|| {
        Node::read(SOURCE, Layer::Builtin).expect("the example is part of the program, and tests read it")
    });
    &TREE
}

/// The path of the only key of this name, to tell people who wrote it somewhere else.
pub(super) fn home_of(key: &str) -> Option<String> {
    let mut homes = Vec::new();
    collect_homes(tree(), "", key, &mut homes);
    match homes.as_slice() {
        [_] => homes.pop(),
        _ => None,
    }
}

fn collect_homes(node: &Node, path: &str, key: &str, homes: &mut Vec<String>) {
    for (name, entry) in node.as_map().into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        if name == key {
            homes.push(path.clone());
        }
        collect_homes(&entry.node, &path, key, homes);
    }
}

/// What could be written instead of the first part of a dotted path that is no key, if there is such a part.
pub(super) fn unknown_part(path: &str) -> Option<String> {
    let mut node = tree();
    for part in path.split('.') {
        match &node.kind {
            // Maps that are empty by default hold names of people's own.
            Kind::Map(map) if map.is_empty() => return None,
            Kind::Map(map) => match map.get(part) {
                Some(entry) => node = &entry.node,
                None => return Some(suggest::among(part, &map.keys().map(String::as_str).collect::<Vec<_>>())),
            },
            _ => return Some("a value cannot be locked in part".to_owned()),
        }
    }
    None
}
