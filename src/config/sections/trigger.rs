//! `gates.<name>.when`, what opens a gate.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::{
    leaf::{Whole, Yes},
    lower::Lowering,
    problem::Problem,
    wrappers::{Located, NonEmpty, OneOrMany, ShortOr},
};
use loopgate_core::{
    Login,
    evidence::FindingSeverity,
    policy::{GateTrigger, NameGlob, PathGlobs},
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
    /// A touched file matches. Globs as in the path filters of workflows; case does not matter; a leading `!` excludes.
    Paths(NonEmpty<Located<String>>),
    /// An added line matches one of these regular expressions.
    AddedLines(ShortOr<NonEmpty<Located<String>>, AddedLinesSection>),
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

/// Patterns over added lines, and where they do not count.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct AddedLinesSection {
    /// Regular expressions; one match is enough.
    patterns: NonEmpty<Located<String>>,
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
            Self::Not(condition) => GateTrigger::Not(Box::new(condition.lower(cx))),
            Self::Always(Yes) => GateTrigger::Always,
            Self::Paths(globs) => {
                let (globs, except) = cx.paths(&globs.0);
                GateTrigger::Paths { globs, except }
            }
            Self::AddedLines(ShortOr::Short(patterns)) => {
                GateTrigger::AddedLines { patterns: cx.line_patterns(&patterns.0), except: PathGlobs::default() }
            }
            Self::AddedLines(ShortOr::Long(AddedLinesSection { patterns, except })) => GateTrigger::AddedLines {
                patterns: cx.line_patterns(&patterns.0),
                except: except.map_or_else(PathGlobs::default, |globs| cx.path_globs(&globs.0)),
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

fn branches(globs: &[Located<String>], cx: &mut Lowering) -> Vec<NameGlob> {
    globs.iter().filter_map(|glob| cx.name_glob(glob)).collect()
}
