//! The validated configuration that governs a pull request: an input of [`decide`](crate::deciding::decide).
//!
//! `config` makes it from `.github/loopgate.yml`. Nothing in it can be out of range, and every default stands here, in
//! a `Default` impl. Each file of this folder is one section of the configuration.

mod config_value;
mod coverage;
mod error;
mod escalation;
mod evaluate;
mod fixer;
mod gate;
mod guards;
mod labels;
mod matchers;
mod memory;
mod retry;
mod rules;
mod trigger;
mod verify;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::{
    config_value::*, coverage::*, error::*, escalation::*, evaluate::*, fixer::*, gate::*,
    labels::*, matchers::*, memory::*, retry::*, rules::*, trigger::*, verify::*,
};
use super::{
    ids::{GateName, Login, Sha, Timestamp},
    observed::Snapshot,
};

/// Everything configurable about the loop of one pull request.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    pub origin: PolicyOrigin,
    /// What the repository's file says although the organisation has locked it; it has no effect.
    pub overruled: Vec<ConfigError>,
    /// Whether Loopgate writes anything on the repository: it does where the repository has a file, or the
    /// organisation's says `enabled: true`.
    pub is_active: bool,
    pub mode: Mode,
    pub verify: VerifyPolicy,
    /// The `loop:` section.
    pub retry: LoopPolicy,
    pub evaluate: EvaluatePolicy,
    pub coverage: CoveragePolicy,
    /// Every gate that is not `off`, presets included.
    pub gates: BTreeMap<GateName, GatePolicy>,
    pub escalation: EscalationPolicy,
    pub labels: LabelPolicy,
    pub fixer: FixerPolicy,
    pub memory: MemoryPolicy,
    pub state: StateBackend,
    /// `on_complete.delete_branch`: the head branch goes once the pull request is merged.
    pub delete_branch: bool,
    /// `approve_runs`: an approval of the security gate of the very commit lets the workflows run that GitHub holds
    /// back on a fork's pull request; else somebody with write does, on GitHub's page.
    pub approve_runs: bool,
    /// `branches`: patterns whose branches share one name of each check.
    pub branches: Vec<NameGlob>,
    /// Accounts under which coding agents open pull requests: those that are known, and those of `coding_agents`.
    pub coding_agents: BTreeSet<Login>,
}

/// A pull request as it was observed, the policy that governs it, and the time.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    pub snapshot: &'a Snapshot,
    pub policy: &'a Policy,
    pub now: Timestamp,
}

/// The coding agents that Loopgate knows: `data/coding_agents.txt`.
pub fn known_coding_agents() -> impl Iterator<Item = Login> {
    let lines = include_str!("../../data/coding_agents.txt").lines();
    lines
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.trim().parse().ok())
}

impl Policy {
    /// This policy with another origin.
    #[must_use]
    pub fn with_origin(self, origin: PolicyOrigin) -> Self {
        Self { origin, ..self }
    }

    /// The gate with a role, unless it is `off`.
    pub fn gate_with_role(&self, role: GateRole) -> Option<(&GateName, &GatePolicy)> {
        self.gates.iter().find(|(_, gate)| gate.has_role(role))
    }
}

/// Where the policy in force comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyOrigin {
    /// The file as it stands at this commit of the base branch.
    Base { commit: Sha },
    /// The file at the base's head does not validate: the newest older commit that does governs.
    LastGood {
        commit: Sha,
        broken_at: Sha,
        error: ConfigError,
    },
    /// No commit of the file's recent history validates: the presets govern.
    Presets { broken_at: Sha, error: ConfigError },
    /// The working tree of a local repository.
    WorkingTree,
    /// There is no file; the defaults are used (local runs only: a repository without the file gets nothing written).
    Defaults,
}

impl PolicyOrigin {
    /// What is wrong with the file at the base's head, if anything is.
    pub const fn error(&self) -> Option<&ConfigError> {
        match self {
            Self::LastGood { error, .. } | Self::Presets { error, .. } => Some(error),
            Self::Base { .. } | Self::WorkingTree | Self::Defaults => None,
        }
    }

    /// The commit whose file governs, where there is one.
    pub const fn commit(&self) -> Option<Sha> {
        match self {
            Self::Base { commit } | Self::LastGood { commit, .. } => Some(*commit),
            Self::Presets { .. } | Self::WorkingTree | Self::Defaults => None,
        }
    }
}

/// Which gates hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Only gates written in the configuration hold.
    Autonomous,
    /// Every triggered gate that is configured holds, of the presets security and deploy always, the others when
    /// their approvers exist.
    #[default]
    Hybrid,
    /// Every gate holds at its stage, triggered or not.
    Supervised,
}

/// `state.backend`: where the state of a pull request's run is kept. A local loop keeps its own in a ref of the local
/// repository, whatever this says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StateBackend {
    /// The hidden ref `refs/loopgate/pr/<number>`. Needs the permission contents: write.
    #[default]
    Ref,
    /// Packed into the status comment, for people to see nothing of.
    Comment,
    /// An artifact of the workflow run, for all pull requests. In workflows only; a server uses the comment instead.
    Artifact,
}

impl StateBackend {
    /// Bytes that a packed state may take of a comment, whose limit is 65,000.
    pub const ROOM_IN_COMMENT: usize = 30_000;

    /// Bytes of the status comment that are not for people to read.
    pub const fn taken_of_comment(self) -> usize {
        match self {
            Self::Ref | Self::Artifact => 0,
            // And the words around it.
            Self::Comment => Self::ROOM_IN_COMMENT + 100,
        }
    }

    /// Tests whose outcomes are kept, at eight bytes each that cannot be packed: the outcomes of two attempts have to
    /// fit.
    pub const fn most_tests(self) -> usize {
        match self {
            Self::Ref | Self::Artifact => 2_500,
            Self::Comment => 500,
        }
    }
}
