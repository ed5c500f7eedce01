//! From texts to a policy, or to everything that is wrong with them.

use super::{
    collect_errors::{self, MOST_ERRORS},
    keys,
    layer::{self, Layered},
    lower::Lowering,
    node::Node,
    place::{Layer, Place},
    presets::Presets,
    problem::{Hint, Problem},
    sections::{file::Presence, gates::KnownGates},
    source::Source,
    suggest, yaml,
};
use loopgate_core::policy::{ConfigError, Policy};

/// A policy, and what is worth a look although it is accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedPolicy {
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

/// The policy of a repository without any file: every preset and every default.
pub fn presets() -> Policy {
    let loaded = load(None, None).expect("the presets are part of the program, and tests read them");
    Policy { is_active: true, ..loaded.policy }
}

/// Reads a repository's file on top of its organisation's. Without the former, the policy is
/// not active unless the organisation says `enabled: true`.
///
/// # Errors
/// Everything that is wrong, in the order of the files.
pub fn load(organisation: Option<Source<'_>>, repository: Option<Source<'_>>) -> Result<LoadedPolicy, ConfigErrors> {
    load_on(Presets::builtin(), organisation, repository)
}

/// [`load`] on these presets.
pub(super) fn load_on(
    presets: &Presets,
    organisation: Option<Source<'_>>,
    repository: Option<Source<'_>>,
) -> Result<LoadedPolicy, ConfigErrors> {
    let sources = Sources { builtin: presets.source, organisation, repository };
    let trees = sources.trees().map_err(|problem| sources.errors(vec![problem], None))?;
    let [organisation, repository_tree] = trees;

    if let Some(tree) = &organisation {
        // Alone, lest what the repository writes over it hides that it is wrong.
        collect_errors::typed(tree).map_err(|problems| sources.errors(problems, Some(tree)))?;
        let problems = layer::unknown_locks(tree);
        if !problems.is_empty() {
            return Err(sources.errors(problems, Some(tree)));
        }
    }
    let Layered { tree, configured_gates, overruled } =
        layer::layered(presets.tree.clone(), organisation, repository_tree);
    let file = collect_errors::typed(&tree).map_err(|problems| sources.errors(problems, Some(&tree)))?;
    let presence = if repository.is_some() { Presence::Present } else { Presence::Absent };
    let mut cx = Lowering::default();
    let mut policy =
        file.lower(presence, KnownGates { presets: &presets.gates, configured: &configured_gates }, &tree, &mut cx);
    if !cx.problems.is_empty() {
        return Err(sources.errors(cx.problems, Some(&tree)));
    }
    let told = |problems: Vec<Problem>| problems.into_iter().map(|problem| sources.error(&problem, Some(&tree)));
    policy.overruled = told(overruled).collect();
    let warnings = policy.overruled.iter().cloned().chain(told(cx.warnings)).collect();
    Ok(LoadedPolicy { policy, warnings })
}

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
    pub builtin: Source<'static>,
    pub organisation: Option<Source<'a>>,
    pub repository: Option<Source<'a>>,
}

impl Sources<'_> {
    /// The organisation's file and the repository's as trees.
    pub fn trees(&self) -> Result<[Option<Node>; 2], Problem> {
        let read = |source: Option<Source<'_>>, layer| source.map(|source| yaml::read(source, layer)).transpose();
        Ok([read(self.organisation, Layer::Organisation)?, read(self.repository, Layer::Repository)?])
    }

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
            Layer::Builtin => Some(self.builtin),
            Layer::Organisation => self.organisation,
            Layer::Repository => self.repository,
        };
        let source = source.unwrap_or(Source::new("", ""));
        let hint = problem.hint.as_ref().map(words_of);
        source.error(place.line as usize, place.column as usize, problem.message(&path), hint)
    }
}

fn words_of(hint: &Hint) -> String {
    match hint {
        Hint::Said(words) => words.clone(),
        Hint::Misplaced { key, known } => match keys::home_of(key) {
            Some(path) => format!("did you mean `{path}`?"),
            None => suggest::among(key, known),
        },
    }
}
