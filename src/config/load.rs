//! From texts to a policy, or to everything that is wrong with them.

use super::{
    collect_errors,
    layer::{self, Layered},
    lower::Lowering,
    node::Node,
    presets,
    problem::Problem,
    sections::file::Presence,
    source::{Layer, Place, Source},
};
use loopgate_core::policy::{ConfigError, Policy};

/// A policy, and what is worth a look although it is accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    pub policy: Policy,
    pub warnings: Vec<ConfigError>,
}

/// Reads a repository's file. The policy's origin is the working tree; see [`Policy::with_origin`].
///
/// # Errors
/// The first thing that is wrong with it.
pub fn parse(file: &str, text: &str) -> Result<Policy, ConfigError> {
    match load(None, Some(Source::new(file, text))) {
        Ok(loaded) => Ok(loaded.policy),
        Err(errors) => Err(errors.into_first()),
    }
}

/// Reads a repository's file on top of its organisation's. Without the former, the policy is
/// [`Activation::Off`](loopgate_core::policy::Activation::Off) unless the organisation says `enabled: true`.
///
/// # Errors
/// Everything that is wrong, in the order of the files.
pub fn load(organisation: Option<Source<'_>>, repository: Option<Source<'_>>) -> Result<Loaded, ConfigErrors> {
    let sources = Sources { organisation, repository };
    let read = |source: Option<Source<'_>>, layer| source.map(|source| Node::read(source, layer)).transpose();
    let alone = |problem: Problem| sources.errors(vec![problem], None);
    let organisation = read(organisation, Layer::Organisation).map_err(alone)?;
    let repository_tree = read(repository, Layer::Repository).map_err(alone)?;

    if let Some(tree) = &organisation {
        // Alone, lest what the repository writes over it hides that it is wrong.
        collect_errors::typed(tree).map_err(|problems| sources.errors(problems, Some(tree)))?;
        let problems = layer::unknown_locks(tree);
        if !problems.is_empty() {
            return Err(sources.errors(problems, Some(tree)));
        }
    }
    let Layered { tree, configured_gates, overruled } =
        layer::layered(presets::tree().clone(), organisation, repository_tree);
    let file = collect_errors::typed(&tree).map_err(|problems| sources.errors(problems, Some(&tree)))?;
    let presence = if repository.is_some() { Presence::Present } else { Presence::Absent };
    let mut cx = Lowering::default();
    let mut policy = file.lower(presence, &configured_gates, &mut cx);
    if !cx.problems.is_empty() {
        return Err(sources.errors(cx.problems, Some(&tree)));
    }
    let told = |problems: Vec<Problem>| problems.into_iter().map(|problem| sources.error(&problem, Some(&tree)));
    policy.overruled = told(overruled).collect();
    let warnings = policy.overruled.iter().cloned().chain(told(cx.warnings)).collect();
    Ok(Loaded { policy, warnings })
}

/// More than anybody fixes at once.
pub(super) const MOST_ERRORS: usize = 20;

/// Errors of a configuration: at least one and at most 20, in the order of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigErrors(Vec<ConfigError>);

impl ConfigErrors {
    pub fn as_slice(&self) -> &[ConfigError] {
        &self.0
    }

    /// The one to name where there is room for one.
    pub fn into_first(self) -> ConfigError {
        self.0.into_iter().next().expect("made only from a list with at least one error")
    }
}

/// The texts, to quote from.
#[derive(Clone, Copy)]
pub(super) struct Sources<'a> {
    pub organisation: Option<Source<'a>>,
    pub repository: Option<Source<'a>>,
}

impl Sources<'_> {
    fn errors(&self, mut problems: Vec<Problem>, tree: Option<&Node>) -> ConfigErrors {
        // One sentence for each place: what is wrong with a word is often wrong in several ways.
        problems.sort_by_key(|problem| problem.place);
        problems.dedup_by_key(|problem| problem.place);
        problems.truncate(MOST_ERRORS);
        ConfigErrors(problems.iter().map(|problem| self.error(problem, tree)).collect())
    }

    pub fn error(&self, problem: &Problem, tree: Option<&Node>) -> ConfigError {
        let place = problem.place.unwrap_or(Place::start(Layer::Repository));
        let path = tree.and_then(|tree| tree.path_of(place)).unwrap_or_default();
        let source = match place.layer {
            Layer::Builtin => Some(presets::SOURCE),
            Layer::Organisation => self.organisation,
            Layer::Repository => self.repository,
        };
        let source = source.unwrap_or(Source::new("", ""));
        source.error(place.line as usize, place.column as usize, problem.message(&path), problem.hint.clone())
    }
}
