//! Whether a gate holds in the mode in force, see [`Mode`](crate::policy::Mode).

use crate::{
    gate::report::Holding,
    ids::RepoName,
    observed::{Authority, TeamStanding},
    policy::{GateDefinition, GatePolicy, HybridHold, Mode},
};

/// Whether a gate stands in the way of a pull request, or is only shown.
pub fn holding(policy: &GatePolicy, mode: Mode, repository: &RepoName, authority: &Authority) -> Holding {
    let configured = policy.definition == GateDefinition::Configured;
    let always = || policy.preset.as_ref().is_some_and(|preset| preset.hybrid == HybridHold::Always);
    let holds = match mode {
        Mode::Supervised => true,
        Mode::Autonomous => configured,
        Mode::Hybrid => configured || always() || has_team(policy, repository, authority),
    };
    if holds { Holding::Holds } else { Holding::Advisory }
}

/// A team that could not be looked up for now may well be there, and its gate holds; one that we may never read is to us
/// one that is not there.
fn has_team(policy: &GatePolicy, repository: &RepoName, authority: &Authority) -> bool {
    let standing = policy.preset_team(repository).and_then(|team| authority.teams.get(&team));
    matches!(standing, Some(TeamStanding::Usable { .. } | TeamStanding::Unknown(_)))
}
