//! The rules of the preset gates, as `config/presets/` has them: each looks at one thing, and says in one sentence why
//! it opens its gate.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ids::{GateName, PatternName},
    letters::LineWords,
    policy::{PathGlobs, Pattern},
    source_files::FileKind,
};

words! {
    /// What a rule does with its gate.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum RuleTier {
        /// Opens it alone.
        Opens = "opens",
        /// Opens it together with another suspect of the gate; alone it is a note.
        Suspects = "suspects",
    }
}

/// One rule.
#[derive(Clone, Debug, PartialEq)]
pub struct GateRule {
    /// Unique among all rules of its gate: the heading in `docs/rules.md`.
    pub id: PatternName,
    /// The preset it belongs to.
    pub gate: GateName,
    /// What changes, as a sentence without its end: "a check of rights is removed".
    pub says: String,
    pub tier: RuleTier,
    pub condition: RuleCondition,
    /// Kinds of files it looks at.
    pub kinds: BTreeSet<FileKind>,
    pub opens: RuleExample,
    pub quiet: RuleExample,
}

/// A change to one file: its path, and lines as a diff has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleExample {
    pub path: String,
    pub lines: Vec<String>,
}

/// What a rule looks at.
#[derive(Clone, Debug, PartialEq)]
pub enum RuleCondition {
    /// A path, by a glob or a word.
    Path { globs: PathGlobs, words: Vec<String> },
    /// A changed line, by a word or an expression.
    Line { side: RuleSide, words: Vec<String>, pattern: Option<Pattern> },
    /// What a manifest or lock file names.
    Manifest(ManifestChange),
    /// A new folder at the top of the repository.
    NewFolder,
}

/// Which lines of a diff are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleSide {
    Added,
    Removed,
    Changed,
}

/// A change of what a build fetches or runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ManifestChange {
    /// A direct dependency that is new.
    Dependency,
    /// Where packages come from: a registry, an index, a repository, a path, a host of a lock file.
    Source,
    /// A command that runs when packages are installed.
    Hook,
    /// Nothing but other references to the same actions of a workflow.
    Action,
}

/// All rules of the presets, with one look-up for the words of all.
#[derive(Clone, Debug)]
pub struct RuleBook {
    rules: Vec<GateRule>,
    /// By the first word what follows it, and whose phrase it is.
    words: HashMap<String, Vec<(Vec<String>, usize)>>,
    /// The globs of all rules, and whose each of them is.
    globs: PathGlobs,
    owners: Vec<usize>,
    /// Indices of the rules that ask an expression.
    patterns: Vec<usize>,
}

impl RuleBook {
    pub fn new(rules: Vec<GateRule>) -> Self {
        let mut words: HashMap<String, Vec<(Vec<String>, usize)>> = HashMap::new();
        for (index, rule) in rules.iter().enumerate() {
            let (RuleCondition::Path { words: phrases, .. } | RuleCondition::Line { words: phrases, .. }) =
                &rule.condition
            else {
                continue;
            };
            for phrase in phrases {
                let mut all = LineWords::of(phrase).iter().map(str::to_owned).collect::<Vec<_>>().into_iter();
                if let Some(first) = all.next() {
                    words.entry(first).or_default().push((all.collect(), index));
                }
            }
        }
        let asks = |rule: &GateRule| matches!(rule.condition, RuleCondition::Line { pattern: Some(_), .. });
        let patterns = (0..rules.len()).filter(|&index| asks(&rules[index])).collect();
        let (mut globs, mut owners) = (Vec::new(), Vec::new());
        for (index, rule) in rules.iter().enumerate() {
            if let RuleCondition::Path { globs: own, .. } = &rule.condition {
                globs.extend(own.as_slice().iter().cloned());
                owners.resize(globs.len(), index);
            }
        }
        Self { rules, words, globs: PathGlobs::new(globs), owners, patterns }
    }

    pub fn rules(&self) -> &[GateRule] {
        &self.rules
    }

    /// The rules, by their index, that ask an expression of each line.
    pub(crate) fn with_pattern(&self) -> impl Iterator<Item = usize> {
        self.patterns.iter().copied()
    }

    /// The rules, by their index, of which a glob matches.
    pub(crate) fn with_glob_for(&self, path: &str) -> impl Iterator<Item = usize> {
        self.globs.all(path).into_iter().filter_map(|glob| self.owners.get(glob).copied())
    }

    /// The rules, by their index, of which a word stands here.
    pub(crate) fn with_word_in(&self, line: &LineWords) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        for (index, word) in line.iter().enumerate() {
            let phrases = self.words.get(word).map(Vec::as_slice).unwrap_or_default();
            found.extend(phrases.iter().filter(|(rest, _)| line.continues(index, rest)).map(|(_, rule)| *rule));
        }
        found
    }
}

impl PartialEq for RuleBook {
    fn eq(&self, other: &Self) -> bool {
        self.rules == other.rules
    }
}

/// The rules that a gate goes by, with their tiers here.
#[derive(Clone, Debug, PartialEq)]
pub struct ChosenRules {
    pub book: Arc<RuleBook>,
    /// By the index of the rule in the book.
    pub tiers: BTreeMap<usize, RuleTier>,
}

impl ChosenRules {
    /// The rules of a preset, as they come.
    pub fn of_preset(book: &Arc<RuleBook>, preset: &GateName) -> Self {
        let own = book.rules.iter().enumerate().filter(|(_, rule)| rule.gate == *preset);
        Self { book: Arc::clone(book), tiers: own.map(|(index, rule)| (index, rule.tier)).collect() }
    }

    pub fn iter(&self) -> impl Iterator<Item = (usize, &GateRule, RuleTier)> {
        self.tiers.iter().filter_map(|(&index, &tier)| Some((index, self.book.rules.get(index)?, tier)))
    }
}
