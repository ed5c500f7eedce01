//! `gates.<name>.when`, what opens a gate.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error as _};

use crate::config::{leaf::ShortOr, presets::Presets, suggest};
use loopgate_core::{
    GateName, Login, PatternName,
    evidence::FindingSeverity,
    policy::{
        ChosenRules, FileGlob, GateTrigger, LineCondition, NameGlob, NonEmpty, PathCondition,
        PathGlobs, Pattern, SignedGlobs, Whole, Yes,
    },
};

/// What opens a gate: exactly one condition, which may be `any`, `all` or `not` of others.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::config) enum When {
    /// At least one of these.
    Any(NonEmpty<Self>),
    /// All of these.
    All(NonEmpty<Self>),
    /// Not this.
    Not(Box<Self>),
    /// Every pull request.
    Always(Yes),
    /// The rules of this preset (docs/rules.md).
    Rules(
        #[serde(deserialize_with = "preset_rules")]
        #[schemars(with = "GateName")]
        ChosenRules,
    ),
    /// A touched file matches. Globs as in the path filters of workflows; case does not matter; a leading `!` excludes,
    /// and what excludes matches a capital letter as it is written.
    Paths(ShortOr<SignedGlobs, PathsSection>),
    /// An added line matches one of these regular expressions.
    AddedLines(ShortOr<NonEmpty<Pattern>, LinesSection>),
    /// A removed line matches one of these regular expressions.
    RemovedLines(ShortOr<NonEmpty<Pattern>, LinesSection>),
    /// A contract with others changes: OpenAPI, protobuf, a GraphQL schema, routes.
    Api(Yes),
    /// A manifest gains a dependency.
    DependenciesAdded(Yes),
    /// A new folder appears at the top level.
    NewTopLevelFolder(Yes),
    /// The pull request carries one of these labels.
    Labels(NonEmpty<String>),
    /// The base branch matches one of these globs.
    BaseBranch(NonEmpty<NameGlob>),
    /// One of these people opened it.
    Author(NonEmpty<Login>),
    /// A coding agent wrote, committed, co-authored, pushed, opened or was assigned a part of it.
    Agent(Yes),
    /// It is larger than this.
    Size(#[serde(deserialize_with = "some_limit")] SizeSection),
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
    globs: SignedGlobs,
    /// Files that do not count, as globs. Default: none.
    #[serde(default)]
    except: Vec<FileGlob<true>>,
}

/// Regular expressions by the name that the request gives them.
type NamedPatterns = IndexMap<PatternName, NonEmpty<Pattern>>;

/// Patterns over changed lines, and where they do not count.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct LinesSection {
    /// Regular expressions, or such under names; one match is enough.
    patterns: ShortOr<NonEmpty<Pattern>, NamedPatterns>,
    /// Files whose lines do not count, as globs. Default: none.
    #[serde(default)]
    except: Vec<FileGlob<true>>,
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

/// The rules of the presets that `api: true` asks.
const API: [&str; 4] = ["public-contract", "route-file", "route", "controller"];

impl From<When> for GateTrigger {
    fn from(written: When) -> Self {
        let all = |conditions: NonEmpty<When>| conditions.0.into_iter().map(Self::from).collect();
        match written {
            When::Any(conditions) => Self::Any(all(conditions)),
            When::All(conditions) => Self::All(all(conditions)),
            When::Not(condition) => {
                let mut trigger = Self::from(*condition);
                // `not:` over plain globs without exceptions of their own means the same as `except`.
                if let Self::Paths(paths) = &mut trigger
                    && paths.name.is_none()
                    && paths.except.as_slice().is_empty()
                {
                    let globs = paths.globs.as_slice().iter();
                    let excluded =
                        globs.filter_map(|glob| NameGlob::excluded_path(glob.as_str()).ok());
                    paths.globs = PathGlobs::new(excluded.collect());
                }
                Self::Not(Box::new(trigger))
            }
            When::Always(Yes) => Self::Always,
            When::Rules(rules) => Self::Rules(rules),
            When::Paths(paths) => Self::Paths(PathsSection::lower(paths)),
            When::AddedLines(lines) => Self::AddedLines(LinesSection::lower(lines)),
            When::RemovedLines(lines) => Self::RemovedLines(LinesSection::lower(lines)),
            When::Api(Yes) => Self::Rules(Presets::builtin().opening(&API)),
            When::DependenciesAdded(Yes) => {
                Self::Rules(Presets::builtin().opening(&["new-dependency"]))
            }
            When::NewTopLevelFolder(Yes) => {
                Self::Rules(Presets::builtin().opening(&["new-folder"]))
            }
            When::Labels(labels) => Self::Labels(labels.0),
            When::BaseBranch(globs) => Self::BaseBranch(globs.0),
            When::Author(logins) => Self::Author(logins.0),
            // The accounts are entered where the whole file is known.
            When::Agent(Yes) => Self::Agent(BTreeSet::new()),
            When::Size(SizeSection { lines, files }) => Self::Size {
                lines: lines.map(|lines| u64::from(lines.0)),
                files: files.map(|files| u64::from(files.0)),
            },
            When::Draft(Yes) => Self::Draft,
            When::Findings(severity) => Self::Findings(severity),
        }
    }
}

impl PathsSection {
    fn lower(written: ShortOr<SignedGlobs, Self>) -> PathCondition {
        let Self {
            name,
            globs: SignedGlobs { globs, mut except },
            except: more,
        } = match written {
            ShortOr::Short(globs) => Self {
                name: None,
                globs,
                except: Vec::new(),
            },
            ShortOr::Long(section) => section,
        };
        except.extend(more.into_iter().map(|glob| glob.0));
        PathCondition {
            name,
            globs: PathGlobs::new(globs),
            except: PathGlobs::new(except),
        }
    }
}

impl LinesSection {
    fn lower(written: ShortOr<NonEmpty<Pattern>, Self>) -> LineCondition {
        let Self { patterns, except } = match written {
            ShortOr::Short(patterns) => Self {
                patterns: ShortOr::Short(patterns),
                except: Vec::new(),
            },
            ShortOr::Long(section) => section,
        };
        let patterns = match patterns {
            ShortOr::Short(patterns) => patterns.0,
            ShortOr::Long(named) => {
                let each = named.into_iter().flat_map(
                    |(name, patterns): (PatternName, NonEmpty<Pattern>)| {
                        patterns
                            .0
                            .into_iter()
                            .map(move |pattern| (name.clone(), pattern))
                    },
                );
                let named = each.map(|(name, mut pattern)| {
                    pattern.name = Some(name);
                    pattern
                });
                named.collect()
            }
        };
        LineCondition {
            patterns,
            except: PathGlobs::new(except.into_iter().map(|glob| glob.0).collect()),
        }
    }
}

/// The rules of a preset that is named.
fn preset_rules<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ChosenRules, D::Error> {
    let (preset, presets) = (GateName::deserialize(deserializer)?, Presets::builtin());
    presets.rules_of(&preset).ok_or_else(|| {
        let with_rules = presets
            .gates
            .keys()
            .filter(|name| presets.rules_of(name).is_some());
        let hint = suggest::among(
            preset.as_str(),
            &with_rules.map(GateName::as_str).collect::<Vec<_>>(),
        );
        D::Error::custom(format!("`{preset}` is no preset with rules\n{hint}"))
    })
}

fn some_limit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SizeSection, D::Error> {
    match SizeSection::deserialize(deserializer)? {
        SizeSection {
            lines: None,
            files: None,
        } => Err(D::Error::custom(
            "this names no limit\nadd `lines` or `files`",
        )),
        size => Ok(size),
    }
}
