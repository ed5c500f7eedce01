//! `labels:`, the labels of the loop's state.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::{leaf::WrittenColour, lower::Lowering, place::Place, wrappers::Located};
use loopgate_core::policy::{LabelPolicy, LoopLabel, LoopLabels};

/// The labels of the loop's state. Labels of gates belong to their gates.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(in crate::config) struct LabelsSection {
    /// Whether a pull request carries exactly one of them.
    state: bool,
    /// What each name begins with.
    prefix: Option<Located<String>>,
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
    name: Option<Located<String>>,
    /// Six hexadecimal digits, in quotes.
    color: Option<WrittenColour>,
}

impl LabelsSection {
    pub fn lower(self, cx: &mut Lowering) -> LabelPolicy {
        let (prefix, prefix_place) = match &self.prefix {
            Some(prefix) => (prefix.value.as_str(), Some(prefix.place)),
            None => (LabelPolicy::DEFAULT_PREFIX, None),
        };
        let default = LoopLabels::with_prefix(prefix);
        let mut label = |written: LabelSection, default| written.lower(prefix, prefix_place, default, cx);
        let labels = LoopLabels {
            verifying: label(self.verifying, default.verifying),
            retry: label(self.retry, default.retry),
            blocked: label(self.blocked, default.blocked),
            passed: label(self.passed, default.passed),
            waiting: label(self.waiting, default.waiting),
        };
        LabelPolicy { state: self.state, labels }
    }
}

impl LabelSection {
    fn lower(self, prefix: &str, prefix_place: Option<Place>, default: LoopLabel, cx: &mut Lowering) -> LoopLabel {
        let colour = self.color.map_or(default.colour, |colour| colour.0);
        let place = self.name.as_ref().map(|name| name.place).or(prefix_place);
        let name = self.name.map_or(default.name, |name| format!("{prefix}{}", name.value));
        // Without a place both halves are defaults, which fit.
        let name = match place {
            Some(place) => cx.label(place, name),
            None => name,
        };
        LoopLabel { name, colour }
    }
}
