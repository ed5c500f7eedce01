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
    letters::{LineWords, without_escapes},
    policy::{NameGlob, PathGlobs, Pattern, guards::guarding_parts},
    source_files::FileKind,
};

words! {
    /// What a rule does with its gate.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum RuleTier {
        /// Opens it alone.
        Opens = "opens",
        /// Opens it together with another suspect of the gate; alone it is a note.
        Suspects = "suspects",
    }
}

/// One rule, as it is written. It looks at one thing: a path, a changed line, a manifest, or a new folder.
#[derive(Clone, Debug, PartialEq, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateRule {
    /// Unique among all rules of its gate: the heading in `docs/rules.md`.
    pub id: PatternName,
    /// The preset it belongs to: the name of its file.
    pub gate: GateName,
    /// What changes, as a sentence without its end: "a check of rights is removed".
    pub says: String,
    pub tier: RuleTier,
    /// Globs of paths, which have a `/`, `*` or `.`, and words of a path, which have none.
    pub path: Option<RuleTerms>,
    pub added: Option<RuleTerms>,
    pub removed: Option<RuleTerms>,
    /// Added or removed.
    pub changed: Option<RuleTerms>,
    /// Guards, by their words, where they are called, decorate, or are handed on: removed, and not added again in the
    /// same file. Without `through`: wherever they stand.
    pub gone: Option<RuleTerms>,
    /// An expression over the declaration that a line stands in directly, with what stands above that one and belongs to
    /// it: other lines are left.
    pub within: Option<Pattern>,
    /// What guards are handed to, in lower case.
    #[serde(default)]
    pub through: BTreeSet<String>,
    /// What a manifest or lock file names.
    pub manifest: Option<ManifestChange>,
    /// A new folder at the top of the repository.
    #[serde(default)]
    pub new_folder: bool,
    /// Kinds of files it looks at.
    #[serde(rename = "in", default = "kinds_that_run")]
    pub kinds: BTreeSet<FileKind>,
    /// A change that it finds: a path, and lines as a diff has them.
    pub opens: Vec<String>,
    /// A change that it leaves.
    pub quiet: Vec<String>,
}

fn kinds_that_run() -> BTreeSet<FileKind> {
    BTreeSet::from([
        FileKind::Code,
        FileKind::Config,
        FileKind::Ci,
        FileKind::Manifest,
    ])
}

/// Words, of which one must be there, or an expression over one line.
#[derive(Clone, Debug, PartialEq, Hash, Deserialize)]
#[serde(untagged)]
pub enum RuleTerms {
    Words(Vec<String>),
    Expression { r#match: String },
}

impl GateRule {
    /// Its terms for changed lines, by the side of the diff that they are for.
    pub fn of_lines(&self) -> impl Iterator<Item = (RulePlace, &RuleTerms)> {
        let sides = [
            (RulePlace::Added, &self.added),
            (RulePlace::Removed, &self.removed),
            (RulePlace::Changed, &self.changed),
            (RulePlace::Gone, &self.gone),
        ];
        sides
            .into_iter()
            .filter_map(|(place, terms)| Some((place, terms.as_ref()?)))
    }
}

/// Where a rule looks for its terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RulePlace {
    Path,
    Added,
    Removed,
    Changed,
    Gone,
}

/// A change of what a build fetches or runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ManifestChange {
    /// A direct dependency that is new.
    Dependency,
    /// Where packages come from: a registry, an index, a repository, a path, a host of a lock file.
    Source,
    /// A command that runs when packages are installed.
    Hook,
    /// A package of a lock file that is another than its name says, or has other contents at the same version.
    Identity,
    /// A package that is held at an older version.
    Downgrade,
    /// A file that a workflow runs.
    Script,
    /// A copy of a package, or what a machine writes, without what it comes from.
    Copy,
    /// Nothing but other references to the same actions of a workflow.
    Action,
}

/// All rules of the presets, with one look-up for the words of all.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleBook {
    pub rules: Vec<GateRule>,
    /// By the first word what follows it, and whose phrase it is.
    words: HashMap<String, Vec<(Vec<String>, usize, RulePlace)>>,
    /// The globs of all rules, and whose each of them is.
    globs: PathGlobs,
    owners: Vec<usize>,
    /// The expressions, and whose each of them is; and one that matches where any of them does: most lines match none.
    patterns: Vec<(Pattern, usize, RulePlace)>,
    any: Pattern,
    guards: Vec<Guards>,
}

/// The guards that one rule looks for.
#[derive(Clone, Debug, PartialEq)]
struct Guards {
    rule: usize,
    /// By the first word of a guard what follows it, and its place in the list of the rule.
    phrases: HashMap<String, Vec<(Vec<String>, usize)>>,
}

impl Guards {
    fn of(rule: usize, list: &[String]) -> Self {
        let mut phrases = HashMap::<_, Vec<_>>::new();
        for (place, guard) in list.iter().enumerate() {
            let mut words = guard.split(' ').map(str::to_owned);
            if let Some(first) = words.next() {
                phrases
                    .entry(first)
                    .or_default()
                    .push((words.collect(), place));
            }
        }
        Self { rule, phrases }
    }
}

impl RuleBook {
    /// # Errors
    /// When a glob of a rule is none.
    pub fn new(rules: Vec<GateRule>) -> Result<Self, globset::Error> {
        let (mut words, mut patterns) = (HashMap::<_, Vec<_>>::new(), Vec::new());
        let (mut globs, mut owners, mut sources) = (Vec::new(), Vec::new(), Vec::new());
        for (index, rule) in rules.iter().enumerate() {
            let of_path = rule.path.iter().map(|terms| (RulePlace::Path, terms));
            for (place, terms) in of_path.chain(rule.of_lines()) {
                let phrases = match terms {
                    RuleTerms::Words(phrases) => phrases.iter(),
                    RuleTerms::Expression { r#match } => {
                        // Boundaries of ASCII words: those of Unicode make a search slow.
                        let source = r#match.replace(r"\b", r"(?-u:\b)");
                        patterns.push((Pattern::constant(&source), index, place));
                        sources.push(format!("(?:{source})"));
                        continue;
                    }
                };
                for phrase in phrases {
                    let mut all = LineWords::of(phrase)
                        .iter()
                        .map(str::to_owned)
                        .collect::<Vec<_>>()
                        .into_iter();
                    if place == RulePlace::Path && phrase.contains(['/', '*', '.']) {
                        globs.push(NameGlob::path(phrase)?);
                        owners.push(index);
                    } else if let Some(first) = all.next() {
                        words
                            .entry(first)
                            .or_default()
                            .push((all.collect(), index, place));
                    }
                }
            }
        }
        let any = Pattern::constant(&sources.join("|"));
        let guards = rules
            .iter()
            .enumerate()
            .filter_map(|(index, rule)| match &rule.gone {
                Some(RuleTerms::Words(list)) => Some(Guards::of(index, list)),
                _ => None,
            });
        Ok(Self {
            guards: guards.collect(),
            rules,
            words,
            globs: PathGlobs::new(globs),
            owners,
            patterns,
            any,
        })
    }

    /// The rules, by their index, that name a path: by a glob, or by a word of one of its folders or its name.
    pub(crate) fn of_path(&self, path: &str) -> BTreeSet<usize> {
        let globs = self
            .globs
            .all_of_entry(path)
            .into_iter()
            .filter_map(|glob| self.owners.get(glob).copied());
        let words = path
            .split('/')
            .flat_map(|part| self.with_word_in(part, |place| place == RulePlace::Path));
        globs.chain(words).collect()
    }

    /// The rules, by their index, that name a changed line, by a word or an expression; those that name the lines it is
    /// joined with, by an expression.
    pub(crate) fn of_line(&self, text: &str, is_added: bool, is_joined: bool) -> BTreeSet<usize> {
        let mut named = self.of_plain_line(text, is_added, is_joined);
        // An escape is the letter that it stands for.
        if let Some(decoded) = without_escapes(text) {
            named.extend(self.of_plain_line(&decoded, is_added, is_joined));
        }
        named
    }

    /// Whether a line that stands directly in this declaration is one that a rule looks at.
    pub(crate) fn looks_within(&self, rule: usize, declaration: impl FnOnce() -> String) -> bool {
        let within = self.rules.get(rule).and_then(|rule| rule.within.as_ref());
        within.is_none_or(|within| within.matches(&declaration()))
    }

    fn of_plain_line(&self, text: &str, is_added: bool, is_joined: bool) -> BTreeSet<usize> {
        let counts = |place: RulePlace| match place {
            RulePlace::Path | RulePlace::Gone => false,
            RulePlace::Added => is_added,
            RulePlace::Removed => !is_added,
            RulePlace::Changed => true,
        };
        let patterns = if self.any.matches(text) {
            &*self.patterns
        } else {
            &[]
        };
        let matching = patterns
            .iter()
            .filter(|(pattern, _, place)| counts(*place) && pattern.matches(text));
        let mut named: BTreeSet<usize> = matching.map(|(_, rule, _)| *rule).collect();
        if !is_joined {
            named.extend(self.with_word_in(text, counts));
        }
        named
    }

    /// The guards that stand in a line: the rule, and which of its guards.
    pub(crate) fn guards_of(&self, text: &str) -> BTreeSet<(usize, usize)> {
        let mut all = BTreeSet::new();
        for Guards { rule, phrases } in &self.guards {
            let through = &self.rules[*rule].through;
            let line = match through.is_empty() {
                true => LineWords::of(text),
                false => LineWords::of(&guarding_parts(text, through)),
            };
            let words: Vec<&str> = line.iter().collect();
            for (at, first) in words.iter().enumerate() {
                let begun = phrases.get(*first).into_iter().flatten();
                let stands = begun.filter(|(rest, _)| {
                    let behind = words[at + 1..].iter().take(rest.len());
                    behind.eq(rest)
                });
                all.extend(stands.map(|(_, guard)| (*rule, *guard)));
            }
        }
        all
    }

    /// The rules of which a word for one of these places stands here.
    fn with_word_in(&self, text: &str, counts: impl Fn(RulePlace) -> bool) -> BTreeSet<usize> {
        let (line, mut found) = (LineWords::of(text), BTreeSet::new());
        for (index, word) in line.iter().enumerate() {
            let phrases = self.words.get(word).into_iter().flatten();
            let here =
                phrases.filter(|(rest, _, place)| counts(*place) && line.continues(index, rest));
            found.extend(here.map(|(_, rule, _)| *rule));
        }
        found
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
        let own = book
            .rules
            .iter()
            .enumerate()
            .filter(|(_, rule)| rule.gate == *preset);
        Self {
            book: Arc::clone(book),
            tiers: own.map(|(index, rule)| (index, rule.tier)).collect(),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (usize, &GateRule, RuleTier)> {
        self.tiers
            .iter()
            .filter_map(|(&index, &tier)| Some((index, self.book.rules.get(index)?, tier)))
    }
}
