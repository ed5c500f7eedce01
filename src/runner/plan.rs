//! Which checks of a policy are run here, in what order, and how often.

use std::{collections::BTreeSet, num::NonZeroUsize, path::PathBuf, thread};

use chrono::TimeDelta;
use indexmap::IndexMap;

use loopgate_core::{
    CheckName,
    evidence::CheckKind,
    policy::{CheckPolicy, CheckSource, CommandCheck, Waits},
};

/// A selection that names what is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    #[error("there is no check `{name}`; the configuration has {known}")]
    Unknown { name: CheckName, known: String },
    #[error("`{0}` is an external check: it is fed by another system and cannot be run here")]
    External(CheckName),
}

/// The commands to run, in the policy's order.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub checks: IndexMap<CheckName, Planned>,
    pub root: PathBuf,
    pub parallel: NonZeroUsize,
    /// How a check is repeated that failed for reasons outside the code; not at all unless asked for.
    pub(super) repeats: Waits,
}

/// A check that is to be run.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    pub kind: CheckKind,
    pub is_detected: bool,
    pub command: CommandCheck,
}

impl Plan {
    /// Plans the command checks of a policy, or `only` some of them and what they need; external checks run elsewhere. Unless
    /// `parallel` is set, as many run at once as there are cores.
    ///
    /// # Errors
    /// When the selection names an unknown or external check.
    pub fn new(
        checks: &IndexMap<CheckName, CheckPolicy>,
        only: Option<&BTreeSet<CheckName>>,
        root: PathBuf,
        parallel: Option<NonZeroUsize>,
    ) -> Result<Self, SelectionError> {
        let parallel = parallel.or_else(|| thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
        let wanted = only.map_or_else(|| Ok(checks.keys().cloned().collect()), |names| with_needs(checks, names))?;
        let planned = checks.iter().filter(|(name, _)| wanted.contains(*name)).filter_map(|(name, check)| {
            let CheckSource::Command(command) = &check.source else { return None };
            Some((name.clone(), Planned { kind: check.kind, is_detected: check.is_detected, command: command.clone() }))
        });
        let repeats = Waits { first_wait: TimeDelta::zero(), longest_wait: TimeDelta::zero(), times: 0 };
        Ok(Self { checks: planned.collect(), root, parallel, repeats })
    }

    /// The same plan, in which a check that fails for reasons outside the code is run again: as
    /// often as `repeats` says, as long as its runs and waits fit into its timeout.
    #[must_use]
    pub fn repeating(self, repeats: Waits) -> Self {
        Self { repeats, ..self }
    }

    /// The checks of tests, and those that some check needs before it.
    #[must_use]
    pub fn of_tests(&self) -> Self {
        let needed: BTreeSet<CheckName> =
            self.checks.values().flat_map(|planned| planned.command.needs.iter().cloned()).collect();
        let mut tests = self.clone();
        tests.checks.retain(|name, planned| planned.kind.is_of_tests() || needed.contains(name));
        tests
    }
}

fn with_needs(
    checks: &IndexMap<CheckName, CheckPolicy>,
    names: &BTreeSet<CheckName>,
) -> Result<BTreeSet<CheckName>, SelectionError> {
    let mut wanted = BTreeSet::new();
    let mut open: Vec<&CheckName> = names.iter().collect();
    while let Some(name) = open.pop() {
        let check = checks.get(name).ok_or_else(|| SelectionError::Unknown {
            name: name.clone(),
            known: checks.keys().map(CheckName::as_str).collect::<Vec<_>>().join(", "),
        })?;
        match &check.source {
            CheckSource::Command(command) if wanted.insert(name.clone()) => open.extend(&command.needs),
            CheckSource::External(_) | CheckSource::Reviewer(_) if names.contains(name) => {
                return Err(SelectionError::External(name.clone()));
            }
            CheckSource::Command(_) | CheckSource::External(_) | CheckSource::Reviewer(_) => {}
        }
    }
    Ok(wanted)
}
