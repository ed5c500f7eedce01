//! `labels:`, the labels of the loop's state.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::{node::Node, sections::Lowering};
use loopgate_core::policy::{Colour, LabelPolicy, LoopLabel, LoopLabels};

/// The labels of the loop's state. Labels of gates belong to their gates.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(in crate::config) struct LabelsSection {
    /// Whether a pull request carries exactly one of them.
    state: bool,
    /// What each name begins with.
    prefix: Option<String>,
    /// Checks are running.
    verifying: LabelSection,
    /// A check failed; another attempt is expected.
    retry: LabelSection,
    /// A person was called.
    blocked: LabelSection,
    /// Everything passed.
    passed: LabelSection,
    /// An approval, a review or a push is awaited.
    waiting: LabelSection,
}

/// One label.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct LabelSection {
    /// What follows the prefix. Default: the key's own name.
    name: Option<String>,
    /// Six hexadecimal digits, in quotes.
    color: Option<Colour>,
}

impl LabelsSection {
    pub fn lower(self, node: &Node, cx: &mut Lowering) -> LabelPolicy {
        let prefix = self.prefix.as_deref().unwrap_or(LabelPolicy::DEFAULT_PREFIX);
        let default = LoopLabels::with_prefix(prefix);
        let mut label = |key: &str, written: LabelSection, default: LoopLabel| {
            let own = node.at(key).at("name");
            let name = written.name.as_ref().map(|name| format!("{prefix}{name}"));
            let place = if name.is_some() { own.place } else { node.at("prefix").place };
            LoopLabel {
                name: cx.label(place, name.unwrap_or(default.name)),
                colour: written.color.unwrap_or(default.colour),
            }
        };
        let labels = LoopLabels {
            verifying: label("verifying", self.verifying, default.verifying),
            retry: label("retry", self.retry, default.retry),
            blocked: label("blocked", self.blocked, default.blocked),
            passed: label("passed", self.passed, default.passed),
            waiting: label("waiting", self.waiting, default.waiting),
        };
        LabelPolicy { state: self.state, labels }
    }
}
