//! `labels:`, the labels of the loop's state.

use crate::config::{node::Node, sections::Lowering};
use loopgate_core::policy::LabelPolicy;

/// Checks the names, each at its place.
pub(super) fn lower(labels: LabelPolicy, node: &Node, cx: &mut Lowering) -> LabelPolicy {
    for (key, name, _) in labels.all() {
        let own = node.get(key).and_then(|label| label.node.written("name"));
        cx.label(own.unwrap_or(node.at("prefix").place), name);
    }
    labels
}
