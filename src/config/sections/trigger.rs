//! `gates.<name>.when`, what opens a gate.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::{
    leaf::{Whole, Yes},
    lower::Lowering,
    presets::Presets,
    problem::Problem,
    suggest,
    wrappers::{Located, NonEmpty, OneOrMany, ShortOr},
};
use loopgate_core::{
    GateName, Login, PatternName,
    evidence::FindingSeverity,
    policy::{GateTrigger, LineCondition, NameGlob, PathCondition, PathGlobs},
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
    Rules(Located<GateName>),
    /// A touched file matches. Globs as in the path filters of workflows; case does not matter; a leading `!` excludes,
    /// and what excludes matches a capital letter as it is written.
    Paths(ShortOr<NonEmpty<Located<String>>, PathsSection>),
    /// An added line matches one of these regular expressions.
    AddedLines(ShortOr<NonEmpty<Located<String>>, LinesSection>),
    /// A removed line matches one of these regular expressions.
    RemovedLines(ShortOr<NonEmpty<Located<String>>, LinesSection>),
    /// A contract with others changes: OpenAPI, protobuf, a GraphQL schema, routes.
    Api(Yes),
    /// A manifest gains a dependency.
    DependenciesAdded(Yes),
    /// A new folder appears at the top level.
    NewTopLevelFolder(Yes),
    /// The pull request carries one of these labels.
    Labels(NonEmpty<String>),
    /// The base branch matches one of these globs.
    BaseBranch(NonEmpty<Located<String>>),
    /// One of these people opened it.
    Author(NonEmpty<Login>),
    /// A coding agent wrote, committed, co-authored, pushed, opened or was assigned a part of it.
    Agent(Yes),
    /// It is larger than this.
    Size(Located<SizeSection>),
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
    globs: NonEmpty<Located<String>>,
    /// Files that do not count, as globs. Default: none.
    except: Option<OneOrMany<Located<String>>>,
}

/// Regular expressions by the name that the request gives them.
type NamedPatterns = IndexMap<PatternName, NonEmpty<Located<String>>>;

/// Patterns over changed lines, and where they do not count.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct LinesSection {
    /// Regular expressions, or such under names; one match is enough.
    patterns: ShortOr<NonEmpty<Located<String>>, NamedPatterns>,
    /// Files whose lines do not count, as globs. Default: none.
    except: Option<OneOrMany<Located<String>>>,
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
    /// What is wrong in it is refused, and left out of the trigger.
    pub fn lower(self, cx: &mut Lowering) -> GateTrigger {
        match self {
            Self::Any(conditions) => GateTrigger::Any(conditions.0.into_iter().map(|when| when.lower(cx)).collect()),
            Self::All(conditions) => GateTrigger::All(conditions.0.into_iter().map(|when| when.lower(cx)).collect()),
            Self::Not(condition) => GateTrigger::Not(Box::new(match *condition {
                // What excludes nothing of its own is left out as by `except`.
                Self::Paths(ShortOr::Short(globs)) if globs.0.iter().all(|glob| !glob.value.starts_with('!')) => {
                    let globs = cx.excluded_paths(&globs.0);
                    GateTrigger::Paths(PathCondition { globs, ..PathCondition::default() })
                }
                condition => condition.lower(cx),
            })),
            Self::Always(Yes) => GateTrigger::Always,
            Self::Rules(preset) => rules(&preset, cx),
            Self::Paths(ShortOr::Short(globs)) => {
                let (globs, except) = cx.paths(&globs.0);
                GateTrigger::Paths(PathCondition { globs, except, ..PathCondition::default() })
            }
            Self::Paths(ShortOr::Long(section)) => GateTrigger::Paths(section.lower(cx)),
            Self::AddedLines(lines) => GateTrigger::AddedLines(LinesSection::lower(lines, cx)),
            Self::RemovedLines(lines) => GateTrigger::RemovedLines(LinesSection::lower(lines, cx)),
            Self::Api(Yes) => GateTrigger::Rules(Presets::builtin().api()),
            Self::DependenciesAdded(Yes) => GateTrigger::DependenciesAdded,
            Self::NewTopLevelFolder(Yes) => GateTrigger::NewTopLevelFolder,
            Self::Labels(labels) => GateTrigger::Labels(labels.0),
            Self::BaseBranch(globs) => GateTrigger::BaseBranch(branches(&globs.0, cx)),
            Self::Author(logins) => GateTrigger::Author(logins.0),
            // The accounts are entered where the whole file is known.
            Self::Agent(Yes) => GateTrigger::Agent(BTreeSet::new()),
            Self::Size(size) => {
                if size.value.lines.is_none() && size.value.files.is_none() {
                    cx.refuse(Problem::wrong(size.place, "this names no limit").hint("add `lines` or `files`"));
                }
                GateTrigger::Size {
                    lines: size.value.lines.map(|lines| u64::from(lines.0)),
                    files: size.value.files.map(|files| u64::from(files.0)),
                }
            }
            Self::Draft(Yes) => GateTrigger::Draft,
            Self::Findings(severity) => GateTrigger::Findings(severity),
        }
    }
}

impl PathsSection {
    fn lower(self, cx: &mut Lowering) -> PathCondition {
        let mut globs = self.globs.0;
        let excluded = |glob: Located<String>| Located { value: format!("!{}", glob.value), ..glob };
        globs.extend(self.except.map(|globs| globs.0).unwrap_or_default().into_iter().map(excluded));
        let (globs, except) = cx.paths(&globs);
        PathCondition { name: self.name, globs, except }
    }
}

impl LinesSection {
    fn lower(written: ShortOr<NonEmpty<Located<String>>, Self>, cx: &mut Lowering) -> LineCondition {
        let section = match written {
            ShortOr::Short(patterns) => {
                return LineCondition { patterns: cx.line_patterns([(None, &patterns.0)]), ..LineCondition::default() };
            }
            ShortOr::Long(section) => section,
        };
        let patterns = match &section.patterns {
            ShortOr::Short(patterns) => cx.line_patterns([(None, &patterns.0)]),
            ShortOr::Long(named) => cx.line_patterns(named.iter().map(|(name, patterns)| (Some(name), &patterns.0))),
        };
        LineCondition {
            patterns,
            except: section.except.map_or_else(PathGlobs::default, |globs| cx.excluded_paths(&globs.0)),
        }
    }
}

/// The rules of a preset that is named.
fn rules(preset: &Located<GateName>, cx: &mut Lowering) -> GateTrigger {
    let presets = Presets::builtin();
    if let Some(rules) = presets.rules_of(&preset.value) {
        return GateTrigger::Rules(rules);
    }
    let known: Vec<&str> =
        presets.gates.keys().filter(|name| presets.rules_of(name).is_some()).map(GateName::as_str).collect();
    let problem = Problem::wrong(preset.place, format!("`{}` is no preset with rules", preset.value));
    cx.refuse(problem.hint(suggest::among(preset.value.as_str(), &known)));
    GateTrigger::Any(Vec::new())
}

fn branches(globs: &[Located<String>], cx: &mut Lowering) -> Vec<NameGlob> {
    globs.iter().filter_map(|glob| cx.name_glob(glob)).collect()
}
