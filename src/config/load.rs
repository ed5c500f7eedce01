//! From texts to a policy, or to everything that is wrong with them.

use std::{collections::HashSet, fmt};

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    de::{self, MAX_GLOBS, MAX_PATTERNS, Matchers},
    node::{Entry, Kind, Map, Node},
    presets::{ENABLED, Presets, defaults},
    problem::{Hint, Layer, Place, Problem, What, shorten},
    schema,
    sections::{Lowering, file::File, gates::KnownGates},
    source::Source,
    suggest, yaml,
};
use loopgate_core::{
    GateName,
    policy::{ConfigError, Policy},
};

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
        Err(mut errors) => Err(errors.remove(0)),
    }
}

/// The policy of a repository without any file: every preset and every default.
pub fn presets() -> Policy {
    let loaded =
        load(None, None).expect("the presets are part of the program, and tests read them");
    Policy {
        is_active: true,
        ..loaded.policy
    }
}

/// Reads a repository's file on top of its organisation's. Without the former, the policy is
/// not active unless the organisation has `enabled: true`.
///
/// # Errors
/// Everything that is wrong, at least one thing and at most 20, in the order of the files.
pub fn load(
    organisation: Option<Source<'_>>,
    repository: Option<Source<'_>>,
) -> Result<LoadedPolicy, Vec<ConfigError>> {
    load_on(Presets::builtin(), organisation, repository)
}

/// [`load`] on these presets.
pub(super) fn load_on(
    presets: &Presets,
    organisation: Option<Source<'_>>,
    repository: Option<Source<'_>>,
) -> Result<LoadedPolicy, Vec<ConfigError>> {
    let layers = Layers::read(&presets.tree, organisation, repository)?;
    let file = typed(&layers.tree).map_err(|problems| layers.errors(problems))?;
    let known = KnownGates {
        presets: &presets.gates,
        configured: &layers.configured_gates,
    };
    let mut cx = Lowering::default();
    let mut policy = file.lower(repository.is_some(), known, &layers.tree, &mut cx);
    if !cx.problems.is_empty() {
        return Err(layers.errors(cx.problems));
    }
    let errors =
        |problems: &[Problem]| Vec::from_iter(problems.iter().map(|problem| layers.error(problem)));
    policy.overruled = errors(&layers.overruled);
    let warnings = [policy.overruled.clone(), errors(&cx.warnings)].concat();
    Ok(LoadedPolicy { policy, warnings })
}

/// The texts, to quote from, and the tree they make together.
pub(super) struct Layers<'a> {
    organisation: Option<Source<'a>>,
    pub repository: Option<Source<'a>>,
    pub tree: Node,
    /// Gates that a file names, not only the presets.
    configured_gates: Vec<GateName>,
    /// What the repository wrote and the organisation does not allow it to; it has no effect.
    overruled: Vec<Problem>,
}

impl<'a> Layers<'a> {
    /// Reads an organisation's file and a repository's on top of what is built in.
    ///
    /// # Errors
    /// When one of them cannot be read, or the organisation's is wrong: alone, lest what the repository writes over it
    /// hides that.
    pub fn read(
        builtin: &Node,
        organisation: Option<Source<'a>>,
        repository: Option<Source<'a>>,
    ) -> Result<Self, Vec<ConfigError>> {
        let (configured_gates, overruled) = (Vec::new(), Vec::new());
        let mut layers = Self {
            organisation,
            repository,
            tree: builtin.clone(),
            configured_gates,
            overruled,
        };
        let read = |source: Option<Source<'_>>, layer| {
            source.map(|source| yaml::read(source, layer)).transpose()
        };
        let read =
            |source, layer| read(source, layer).map_err(|problem| layers.errors(vec![problem]));
        let (organisation, mut repository) = (
            read(organisation, Layer::Organisation)?,
            read(repository, Layer::Repository)?,
        );
        if let Some(tree) = &organisation {
            let problems = typed(tree).err().unwrap_or_else(|| unknown_locks(tree));
            if !problems.is_empty() {
                layers.tree = tree.clone();
                return Err(layers.errors(problems));
            }
            layers.overruled = repository
                .as_mut()
                .map(|own| take_locked(tree, own))
                .unwrap_or_default();
        }
        // From the top down, so that a gate that is `off` for the organisation and written by the repository stands on
        // the preset, not on the word.
        let written = match (organisation, repository) {
            (Some(organisation), Some(repository)) => {
                Some(merged(organisation, repository, &mut Vec::new()))
            }
            (one, other) => one.or(other),
        };
        if let Some(written) = written {
            let gates = written
                .get("gates")
                .and_then(|gates| gates.node.as_map())
                .into_iter()
                .flatten();
            let gates = gates.filter(|(_, entry)| !matches!(entry.node.kind, Kind::Null));
            layers.configured_gates = gates.filter_map(|(name, _)| name.parse().ok()).collect();
            layers.tree = merged(layers.tree, written, &mut Vec::new());
        }
        Ok(layers)
    }

    fn errors(&self, mut problems: Vec<Problem>) -> Vec<ConfigError> {
        // One sentence for each place: what is wrong with a word is often wrong in several ways.
        problems.sort_by_key(|problem| problem.place);
        problems.dedup_by_key(|problem| problem.place);
        problems.truncate(MOST_ERRORS);
        problems.iter().map(|problem| self.error(problem)).collect()
    }

    pub fn error(&self, problem: &Problem) -> ConfigError {
        let place = problem.place.unwrap_or(Place::start(Layer::Repository));
        let path = self.tree.path_of(place).unwrap_or_default();
        let source = match place.layer {
            Layer::Builtin => Some(Source::new("config/presets", "")),
            Layer::Organisation => self.organisation,
            Layer::Repository => self.repository,
        };
        let source = source.unwrap_or(Source::new("", ""));
        let hint = problem.hint.as_ref().map(|hint| match hint {
            Hint::Words(words) => words.clone(),
            Hint::Misplaced { key, known } => match schema::home_of(key) {
                Some(path) => format!("did you mean `{path}`?"),
                None => suggest::among(key, known),
            },
        });
        source.error(
            place.line as usize,
            place.column as usize,
            problem.message(&path),
            hint,
        )
    }
}

/// More than anybody fixes at once.
const MOST_ERRORS: usize = 20;

/// Maps and lists from which a misfit was taken out, each with the key of the misfit. A missing key is no problem of
/// the file if it was taken out here; without a key, any missing one may be.
type Torn = HashSet<(Place, Option<String>)>;

/// The tree as a file, or all that does not fit: each misfit is taken out, and the rest is tried again.
fn typed(tree: &Node) -> Result<File, Vec<Problem>> {
    let mut matchers = Matchers::default();
    let mut next = match de::from_node(tree, &matchers) {
        Ok(file) => return Ok(file),
        Err(problem) => Some(problem),
    };
    let (mut rest, mut problems, mut torn, mut compiled) =
        (tree.clone(), Vec::new(), Torn::new(), 0);
    // Every misfit takes one round, and at most two more for the maps that then lack a key.
    for _ in 0..3 * MOST_ERRORS {
        let Some(problem) = next else { break };
        let place = problem.place.unwrap_or(rest.place);
        let is_ours = match &problem.what {
            What::UnknownKey(_) => false,
            What::MissingKey(key) => {
                torn.contains(&(place, None)) || torn.contains(&(place, Some((*key).to_owned())))
            }
            _ => torn.iter().any(|(map, _)| *map == place),
        };
        let is_key = matches!(problem.what, What::UnknownKey(_));
        if !is_ours && problems.len() < MOST_ERRORS {
            problems.push(problem);
        }
        // Compiling expressions takes long: what is wrong beyond these rounds is reported the next time.
        compiled += matchers.patterns.get();
        let is_enough = matchers.globs.get() > MAX_GLOBS
            || matchers.patterns.get() > MAX_PATTERNS
            || compiled > 3 * MAX_PATTERNS;
        if is_enough
            || !(rest.take_out(place, is_key, &mut torn) || rest.take_out(place, true, &mut torn))
        {
            break;
        }
        matchers = Matchers::default();
        next = de::from_node::<File>(&rest, &matchers).err();
    }
    Err(problems)
}

impl Node {
    /// Takes out each value that stands at a place, or each whose key does; false where there is none.
    fn take_out(&mut self, place: Place, is_key: bool, torn: &mut Torn) -> bool {
        let here = self.place;
        let mut found = false;
        match &mut self.kind {
            Kind::List(items) => {
                let before = items.len();
                items.retain(|item| is_key || item.place != place);
                if items.len() < before {
                    found = true;
                    torn.insert((here, None));
                }
                items
                    .iter_mut()
                    .for_each(|item| found |= item.take_out(place, is_key, torn));
            }
            Kind::Map(map) => {
                map.retain(|key, entry| {
                    let stays = place != if is_key { entry.key } else { entry.node.place };
                    if !stays {
                        found = true;
                        torn.insert((here, Some(key.clone()).filter(|_| !is_key)));
                    }
                    stays
                });
                map.values_mut()
                    .for_each(|entry| found |= entry.node.take_out(place, is_key, torn));
            }
            _ => {}
        }
        found
    }
}

/// One tree on another. `path` leads from the root to both, and is as before when this returns.
pub(super) fn merged(below: Node, above: Node, path: &mut Vec<String>) -> Node {
    match (below, above) {
        (
            below,
            Node {
                kind: Kind::Null, ..
            },
        ) => below,
        (
            Node {
                kind: Kind::Map(mut map),
                ..
            },
            Node {
                kind: Kind::Map(upper),
                place,
            },
        ) if !is_one_thing(path, &upper) => {
            for (key, entry) in upper {
                let Some(known) = map.get_mut(&key) else {
                    map.insert(key, entry);
                    continue;
                };
                let below = std::mem::replace(
                    &mut known.node,
                    Node {
                        place,
                        kind: Kind::Null,
                    },
                );
                path.push(key);
                *known = Entry {
                    key: entry.key,
                    node: merged(below, entry.node, path),
                };
                path.pop();
            }
            Node {
                place,
                kind: Kind::Map(map),
            }
        }
        (_, above) => above,
    }
}

/// Maps that mean one thing as a whole: a gate's condition, and a fixer of a new kind.
fn is_one_thing(path: &[String], above: &Map) -> bool {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    one_thing(&path) == Some(path.len())
        && (path.ends_with(&["when"]) || above.contains_key("kind"))
}

/// The length of the path's beginning that leads to what is replaced, and so locked, as one thing.
fn one_thing(path: &[&str]) -> Option<usize> {
    match path {
        ["fixer", ..] => Some(1),
        ["escalation", "senior", ..] => Some(2),
        ["gates", _, "when", ..] => Some(3),
        _ => None,
    }
}

/// Locks of keys that do not exist would protect nothing.
fn unknown_locks(organisation: &Node) -> Vec<Problem> {
    let unknown = locks(organisation).iter().filter_map(|lock| {
        let path = lock.as_text()?;
        let known_there = schema::unknown_part(path)?;
        let problem = Problem::wrong(
            lock.place,
            format!("there is no key `{}` to lock", shorten(path)),
        );
        Some(problem.hint(known_there))
    });
    unknown.collect()
}

fn locks(organisation: &Node) -> &[Node] {
    match organisation
        .get("policy")
        .and_then(|policy| policy.node.get("locked"))
    {
        Some(Entry {
            node: Node {
                kind: Kind::List(paths),
                ..
            },
            ..
        }) => paths,
        _ => &[],
    }
}

/// Takes out of the repository's tree what the organisation has locked.
fn take_locked(organisation: &Node, repository: &mut Node) -> Vec<Problem> {
    let taken = locks(organisation)
        .iter()
        .filter_map(Node::as_text)
        .filter_map(|lock| {
            let path: Vec<&str> = lock.split('.').collect();
            let entry =
                repository.take(&path[..one_thing(&path).unwrap_or(path.len())].join("."))?;
            let problem = Problem::unreadable(
                entry.key,
                format!("`{}` is locked by the organisation", shorten(lock)),
            );
            Some(problem.hint("what is written here has no effect; remove it"))
        });
    taken.collect()
}

/// A value in force.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setting {
    /// Dotted path of the key: `gates.security.label`.
    pub key: String,
    pub value: Value,
    pub origin: ValueOrigin,
}

/// Where a value was written: the program's own default, one of the five gates every repository starts with, or a line
/// of a file, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ValueOrigin {
    from: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

impl fmt::Display for ValueOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.from.replace('_', "-"))?;
        self.line.map_or(Ok(()), |line| write!(f, ", line {line}"))
    }
}

/// Every setting in force under a repository's file and its organisation's.
///
/// # Errors
/// As [`load`].
pub fn effective(
    organisation: Option<Source<'_>>,
    repository: Option<Source<'_>>,
) -> Result<Vec<Setting>, Vec<ConfigError>> {
    let policy = load(organisation, repository)?.policy;
    let builtin = merged(
        defaults().clone(),
        Presets::builtin().tree.clone(),
        &mut Vec::new(),
    );
    let tree = Layers::read(&builtin, organisation, repository)?.tree;

    let mut settings = Vec::new();
    collect(&tree, String::new(), &mut settings);
    if let Some(enabled) = settings.iter_mut().find(|setting| setting.key == ENABLED) {
        enabled.value = json!(policy.is_active);
    }
    Ok(settings)
}

fn collect(node: &Node, path: String, settings: &mut Vec<Setting>) {
    match &node.kind {
        Kind::Null => {}
        // A gate's condition is read as a whole.
        Kind::Map(map)
            if !(map.is_empty() || path.starts_with("gates.") && path.ends_with(".when")) =>
        {
            for (key, entry) in map {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                collect(&entry.node, path, settings);
            }
        }
        _ => {
            let (from, line) = match node.place.layer {
                Layer::Builtin if path.starts_with("gates.") => ("preset", None),
                Layer::Builtin => ("built_in", None),
                Layer::Organisation => ("organisation", Some(node.place.line)),
                Layer::Repository => ("repository", Some(node.place.line)),
            };
            settings.push(Setting {
                key: path,
                value: node.to_json(),
                origin: ValueOrigin { from, line },
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(organisation: Option<&str>, repository: Option<&str>, keys: &[&str]) -> Vec<String> {
        let organisation = organisation.map(|text| Source::new("organisation", text));
        let repository = repository.map(|text| Source::new("repository", text));
        let settings = effective(organisation, repository).unwrap();
        let chosen = settings
            .iter()
            .filter(|setting| keys.iter().any(|key| setting.key.starts_with(key)));
        chosen
            .map(|setting| format!("{} = {} {}", setting.key, setting.value, setting.origin))
            .collect()
    }

    #[test]
    fn every_value_says_where_it_comes_from() {
        let organisation = "loop: { max_attempts: 2, same_error: 1 }\ngates:\n  deploy: off\nlabels: { prefix: 'x:' }\n";
        let repository =
            "loop:\n  max_attempts: 5\ngates:\n  security: { approvers: { users: [alice] } }\n";
        insta::assert_debug_snapshot!(shown(
            Some(organisation),
            Some(repository),
            &["enabled", "mode", "loop.max_attempts", "loop.same", "loop.backoff", "gates.deploy", "gates.security.a",
              "gates.security.l", "labels.prefix", "fixer"],
        ), @r#"
        [
            "enabled = true built-in",
            "mode = \"hybrid\" built-in",
            "loop.max_attempts = 5 repository, line 2",
            "loop.same_error = 1 organisation, line 1",
            "loop.backoff = \"none\" built-in",
            "gates.security.label = \"needs:security-review\" preset",
            "gates.security.approvers.users = [\"alice\"] repository, line 4",
            "gates.deploy = \"off\" organisation, line 3",
            "labels.prefix = \"x:\" organisation, line 4",
            "fixer.kind = \"none\" built-in",
        ]
        "#);
    }

    #[test]
    fn without_files_nothing_is_enabled_and_everything_default() {
        let settings = effective(None, None).unwrap();
        assert!(
            settings
                .iter()
                .all(|setting| ["built_in", "preset"].contains(&setting.origin.from))
        );
        assert_eq!(
            settings
                .iter()
                .find(|setting| setting.key == "enabled")
                .unwrap()
                .value,
            json!(false)
        );
        assert!(
            settings
                .iter()
                .any(|setting| setting.key == "gates.database.when" && setting.value.is_object())
        );
    }
}
