//! `gates.<name>.when`, what opens a gate.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::{
    leaf::{NonEmpty, ShortOr, Yes},
    lower::Lowering,
    node::Node,
    presets::Presets,
    problem::Problem,
    suggest,
};
use loopgate_core::{
    GateName, Login, PatternName,
    evidence::FindingSeverity,
    policy::{GateTrigger, LineCondition, PathCondition, PathGlobs, Pattern, Whole},
};

/// What opens a gate: exactly one condition, which may be `any`, `all` or `not` of others.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::config) enum When {
    /// At least one of these.
    Any(NonEmpty<When>),
    /// All of these.
    All(NonEmpty<When>),
    /// Not this.
    Not(Box<When>),
    /// Every pull request.
    Always(Yes),
    /// The rules of this preset (docs/rules.md).
    Rules(GateName),
    /// A touched file matches. Globs as in the path filters of workflows; case does not matter; a leading `!` excludes,
    /// and what excludes matches a capital letter as it is written.
    Paths(ShortOr<NonEmpty<String>, PathsSection>),
    /// An added line matches one of these regular expressions.
    AddedLines(ShortOr<NonEmpty<String>, LinesSection>),
    /// A removed line matches one of these regular expressions.
    RemovedLines(ShortOr<NonEmpty<String>, LinesSection>),
    /// A contract with others changes: OpenAPI, protobuf, a GraphQL schema, routes.
    Api(Yes),
    /// A manifest gains a dependency.
    DependenciesAdded(Yes),
    /// A new folder appears at the top level.
    NewTopLevelFolder(Yes),
    /// The pull request carries one of these labels.
    Labels(NonEmpty<String>),
    /// The base branch matches one of these globs.
    BaseBranch(NonEmpty<String>),
    /// One of these people opened it.
    Author(NonEmpty<Login>),
    /// A coding agent wrote, committed, co-authored, pushed, opened or was assigned a part of it.
    Agent(Yes),
    /// It is larger than this.
    Size(SizeSection),
    /// It is a draft.
    Draft(Yes),
    /// A scanner found something of at least this severity.
    Findings(FindingSeverity),
}

/// Touched files under a name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct PathsSection {
    /// What the request calls them.
    name: Option<PatternName>,
    /// Globs; one match is enough, and a leading `!` excludes.
    globs: NonEmpty<String>,
    /// Files that do not count, as globs. Default: none.
    #[serde(default)]
    except: Vec<String>,
}

/// Regular expressions by the name that the request gives them.
type NamedPatterns = IndexMap<PatternName, NonEmpty<String>>;

/// Patterns over changed lines, and where they do not count.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct LinesSection {
    /// Regular expressions, or such under names; one match is enough.
    patterns: ShortOr<NonEmpty<String>, NamedPatterns>,
    /// Files whose lines do not count, as globs. Default: none.
    #[serde(default)]
    except: Vec<String>,
}

/// More than so many changed lines or files.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct SizeSection {
    /// Added and removed lines.
    lines: Option<Whole<0, 10_000_000>>,
    /// Touched files.
    files: Option<Whole<0, 1_000_000>>,
}

impl When {
    /// The trigger; what is wrong in it is refused, and left out. `node` holds the condition's key.
    pub fn lower(self, node: &Node, cx: &mut Lowering) -> GateTrigger {
        match self {
            Self::Any(conditions) => GateTrigger::Any(Self::lower_all(conditions, node.at("any"), cx)),
            Self::All(conditions) => GateTrigger::All(Self::lower_all(conditions, node.at("all"), cx)),
            Self::Not(condition) => GateTrigger::Not(Box::new(match *condition {
                // What excludes nothing of its own is left out as by `except`.
                Self::Paths(ShortOr::Short(globs)) if globs.0.iter().all(|glob| !glob.starts_with('!')) => {
                    let globs = cx.excluded_paths(&globs.0, node.at("not").at("paths"));
                    GateTrigger::Paths(PathCondition { globs, ..PathCondition::default() })
                }
                condition => condition.lower(node.at("not"), cx),
            })),
            Self::Always(Yes) => GateTrigger::Always,
            Self::Rules(preset) => rules(&preset, node.at("rules"), cx),
            Self::Paths(paths) => GateTrigger::Paths(PathsSection::lower(paths, node.at("paths"), cx)),
            Self::AddedLines(lines) => GateTrigger::AddedLines(LinesSection::lower(lines, node.at("added_lines"), cx)),
            Self::RemovedLines(lines) => {
                GateTrigger::RemovedLines(LinesSection::lower(lines, node.at("removed_lines"), cx))
            }
            Self::Api(Yes) => GateTrigger::Rules(Presets::builtin().api()),
            Self::DependenciesAdded(Yes) => GateTrigger::DependenciesAdded,
            Self::NewTopLevelFolder(Yes) => GateTrigger::NewTopLevelFolder,
            Self::Labels(labels) => GateTrigger::Labels(labels.0),
            Self::BaseBranch(globs) => GateTrigger::BaseBranch(cx.name_globs(&globs.0, node.at("base_branch"))),
            Self::Author(logins) => GateTrigger::Author(logins.0),
            // The accounts are entered where the whole file is known.
            Self::Agent(Yes) => GateTrigger::Agent(BTreeSet::new()),
            Self::Size(SizeSection { lines, files }) => {
                if lines.is_none() && files.is_none() {
                    let problem = Problem::wrong(node.at("size").place, "this names no limit");
                    cx.refuse(problem.hint("add `lines` or `files`"));
                }
                GateTrigger::Size {
                    lines: lines.map(|lines| u64::from(lines.0)),
                    files: files.map(|files| u64::from(files.0)),
                }
            }
            Self::Draft(Yes) => GateTrigger::Draft,
            Self::Findings(severity) => GateTrigger::Findings(severity),
        }
    }

    fn lower_all(conditions: NonEmpty<Self>, node: &Node, cx: &mut Lowering) -> Vec<GateTrigger> {
        node.each(conditions.0).map(|(condition, node)| condition.lower(node, cx)).collect()
    }
}

impl PathsSection {
    fn lower(written: ShortOr<NonEmpty<String>, Self>, node: &Node, cx: &mut Lowering) -> PathCondition {
        let section = match written {
            ShortOr::Short(globs) => Self { name: None, globs, except: Vec::new() },
            ShortOr::Long(section) => section,
        };
        let (globs, except) = cx.paths(&section.globs.0, node.at("globs"));
        let mut except = except.as_slice().to_vec();
        except.extend(cx.excluded_paths(&section.except, node.at("except")).as_slice().iter().cloned());
        PathCondition { name: section.name, globs, except: PathGlobs::new(except) }
    }
}

impl LinesSection {
    fn lower(written: ShortOr<NonEmpty<String>, Self>, node: &Node, cx: &mut Lowering) -> LineCondition {
        let section = match written {
            ShortOr::Short(patterns) => Self { patterns: ShortOr::Short(patterns), except: Vec::new() },
            ShortOr::Long(section) => section,
        };
        let lists = node.at("patterns");
        let patterns: Vec<Pattern> = match section.patterns {
            ShortOr::Short(patterns) => cx.patterns(&patterns.0, lists),
            ShortOr::Long(named) => {
                let named = named.into_iter().flat_map(|(name, patterns)| {
                    let patterns = cx.patterns(&patterns.0, lists.at(name.as_str())).into_iter();
                    patterns.map(move |pattern| pattern.named(Some(name.clone())))
                });
                named.collect()
            }
        };
        LineCondition { patterns, except: cx.excluded_paths(&section.except, node.at("except")) }
    }
}

/// The rules of a preset that is named.
fn rules(preset: &GateName, node: &Node, cx: &mut Lowering) -> GateTrigger {
    let presets = Presets::builtin();
    if let Some(rules) = presets.rules_of(preset) {
        return GateTrigger::Rules(rules);
    }
    let known: Vec<&str> =
        presets.gates.keys().filter(|name| presets.rules_of(name).is_some()).map(GateName::as_str).collect();
    let problem = Problem::wrong(node.place, format!("`{preset}` is no preset with rules"));
    cx.refuse(problem.hint(suggest::among(preset.as_str(), &known)));
    GateTrigger::Any(Vec::new())
}
