//! Whether a gate holds in the mode in force, see [`Mode`](crate::policy::Mode).

use crate::{
    gate::{authority::preset_team, report::Holding},
    ids::GateName,
    observed::{Snapshot, TeamStanding},
    policy::{GateDefinition, GatePolicy, Mode},
};

pub(super) fn holding(name: &GateName, policy: &GatePolicy, mode: Mode, snapshot: &Snapshot) -> Holding {
    let configured = policy.definition == GateDefinition::Configured;
    let holds = match mode {
        Mode::Supervised => true,
        Mode::Autonomous => configured,
        Mode::Hybrid => configured || always(name) || has_team(policy, snapshot),
    };
    if holds { Holding::Holds } else { Holding::Advisory }
}

/// The presets that hold in `hybrid` whether or not their approvers exist here.
fn always(name: &GateName) -> bool {
    matches!(name.as_str(), "security" | "deploy")
}

/// A team that could not be looked up for now may well be there, and its gate holds; one that we may never read is to
/// us one that is not there.
fn has_team(policy: &GatePolicy, snapshot: &Snapshot) -> bool {
    let standing = preset_team(policy, snapshot).and_then(|team| snapshot.authority.teams.get(&team));
    matches!(standing, Some(TeamStanding::Usable { .. } | TeamStanding::Unknown(_)))
}
