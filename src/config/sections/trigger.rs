//! `gates.<name>.when`, what opens a gate.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::{
    de,
    leaf::{Whole, Yes},
    lower::Lowering,
    presets::Presets,
    problem::Problem,
    wrappers::{Located, NonEmpty, OneOrMany, ShortOr},
};
use loopgate_core::{
    Login, PatternName,
    evidence::FindingSeverity,
    policy::{Context, GateTrigger, LineCondition, NameGlob, PathCondition, PathGlobs},
};

/// What opens a gate: exactly one condition, which may be `any`, `all` or `not` of others.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::config) enum When {
    /// At least one of these.
    Any(NonEmpty<When>),
    /// All of these.
    All(NonEmpty<When>),
    /// All of these of one and the same file. `all` may find each in another.
    SameFile(NonEmpty<When>),
    /// Not this.
    Not(Box<When>),
    /// Every pull request.
    Always(Yes),
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
    globs: Option<NonEmpty<Located<String>>>,
    /// Lower-case words of the path, `sign in` for two in a row. `userSession` and `user_session` hold `session`.
    words: Option<NonEmpty<Located<String>>>,
    /// Files that do not count, as globs. Default: none.
    except: Option<OneOrMany<Located<String>>>,
    /// Files in which only comments, blanks, imports and places of lines change do not count. Default: false.
    code_only: Option<bool>,
    /// Words that are the repository's own name, or its owner's, do not count. Default: false.
    skip_own_name: Option<bool>,
}

/// Regular expressions by the name that the request gives them.
type NamedPatterns = IndexMap<PatternName, NonEmpty<Located<String>>>;

/// Patterns over changed lines, and where they do not count.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct LinesSection {
    /// Regular expressions, or such under names; one match is enough.
    patterns: ShortOr<NonEmpty<Located<String>>, NamedPatterns>,
    /// Regular expressions of lines that do not count. Default: none.
    unless: Option<NonEmpty<Located<String>>>,
    /// Files whose lines do not count, as globs. Default: none.
    except: Option<OneOrMany<Located<String>>>,
    /// Comments, and lines that are moved or indented anew, do not count. Default: false.
    code_only: Option<bool>,
    /// Lines are in lower case, and identifiers split into words: `userSession` is `user session`. Default: false.
    split_words: Option<bool>,
    /// What begins with the repository's own name, or its owner's, does not count. Default: false.
    skip_own_name: Option<bool>,
    /// Unchanged lines that count too: those that the diff shows in one `block` with code that changes, or only those
    /// `enclosing` it, as the call whose argument changes. Default: none.
    with_context: Option<Context>,
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
            Self::SameFile(conditions) => {
                GateTrigger::SameFile(conditions.0.into_iter().map(|when| when.lower(cx)).collect())
            }
            Self::Not(condition) => GateTrigger::Not(Box::new(match *condition {
                // What excludes nothing of its own is left out as by `except`.
                Self::Paths(ShortOr::Short(globs)) if globs.0.iter().all(|glob| !glob.value.starts_with('!')) => {
                    let globs = cx.excluded_paths(&globs.0);
                    GateTrigger::Paths(PathCondition { globs, ..PathCondition::default() })
                }
                condition => condition.lower(cx),
            })),
            Self::Always(Yes) => GateTrigger::Always,
            Self::Paths(ShortOr::Short(globs)) => {
                let (globs, except) = cx.paths(&globs.0);
                GateTrigger::Paths(PathCondition { globs, except, ..PathCondition::default() })
            }
            Self::Paths(ShortOr::Long(section)) => GateTrigger::Paths(section.lower(cx)),
            Self::AddedLines(lines) => GateTrigger::AddedLines(LinesSection::lower(lines, cx)),
            Self::RemovedLines(lines) => GateTrigger::RemovedLines(LinesSection::lower(lines, cx)),
            Self::Api(Yes) => match de::from_node::<Self>(&Presets::builtin().api) {
                Ok(api) => api.lower(cx),
                Err(problem) => {
                    cx.refuse(problem);
                    GateTrigger::Any(Vec::new())
                }
            },
            Self::DependenciesAdded(Yes) => GateTrigger::DependenciesAdded,
            Self::NewTopLevelFolder(Yes) => GateTrigger::NewTopLevelFolder,
            Self::Labels(labels) => GateTrigger::Labels(labels.0),
            Self::BaseBranch(globs) => GateTrigger::BaseBranch(branches(&globs.0, cx)),
            Self::Author(logins) => GateTrigger::Author(logins.0),
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
        let except = self.except.map(|globs| globs.0).unwrap_or_default();
        let (globs, except) = match self.globs {
            Some(NonEmpty(mut globs)) => {
                let excluded = |glob: Located<String>| Located { value: format!("!{}", glob.value), ..glob };
                globs.extend(except.into_iter().map(excluded));
                cx.paths(&globs)
            }
            None => (PathGlobs::default(), cx.excluded_paths(&except)),
        };
        let words = self.words.map(|words| cx.path_words(&words.0)).unwrap_or_default();
        PathCondition {
            name: self.name,
            globs,
            words,
            except,
            code_only: self.code_only.unwrap_or_default(),
            skip_own_name: self.skip_own_name.unwrap_or_default(),
        }
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
            unless: section.unless.map(|lines| cx.line_patterns([(None, &lines.0)])).unwrap_or_default(),
            except: section.except.map_or_else(PathGlobs::default, |globs| cx.excluded_paths(&globs.0)),
            code_only: section.code_only.unwrap_or_default(),
            split_words: section.split_words.unwrap_or_default(),
            skip_own_name: section.skip_own_name.unwrap_or_default(),
            with_context: section.with_context,
        }
    }
}

fn branches(globs: &[Located<String>], cx: &mut Lowering) -> Vec<NameGlob> {
    globs.iter().filter_map(|glob| cx.name_glob(glob)).collect()
}
