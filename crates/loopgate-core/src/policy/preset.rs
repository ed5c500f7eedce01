//! What Loopgate itself says of a preset, beside what a configuration can say of any gate.

use serde::Deserialize;

use crate::ids::TemplateName;

/// The part of a preset that no configuration can change: it comes from the gate's file in `config/presets/`, and stays
/// with the gate when a configuration adjusts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatePreset {
    /// The template of the comment that asks for the gate.
    pub template: TemplateName,
    /// How many boxes its checklist has.
    pub boxes: usize,
    pub hybrid: HybridHold,
    pub role: Option<GateRole>,
}

impl GatePreset {
    /// How many boxes the checklist of a gate has that is no preset.
    pub const BOXES_OF_OTHERS: usize = 2;
}

/// When a preset that no configuration mentions holds in the mode `hybrid`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HybridHold {
    /// Whether or not its approvers exist here.
    Always,
    /// Where its team exists.
    WithTeam,
}

/// What else of Loopgate asks for a gate. At most one preset has each role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateRole {
    /// Its approvers decide about security findings, and a change of the files that govern gates opens it.
    Security,
    /// Its approvers let the change be deployed.
    Deploy,
}
