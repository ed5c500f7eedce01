//! What is found of a change: one way in which it weakens what checks it, and which of these hold it.

use std::collections::{BTreeMap, BTreeSet};

use super::source::CodeLine;
use crate::observed::Recallable;

/// Lines shown of a finding.
const MOST_SHOWN: usize = 12;

/// One way in which a change weakens what checks it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tampering {
    pub comparison: Comparison,
    pub weight: Weight,
    /// What is done to the tests, without the file. States keep what was accepted by these texts.
    pub deed: String,
    /// The test that no longer checks anything: its declaration is removed or marked.
    pub gone: Option<String>,
    /// The file that is weakened, where it is one.
    pub path: Option<String>,
    /// At the head; of what is removed, where it was. 0 if it is no line.
    pub line: u32,
    /// The lines that weaken, with the sign of a diff: at most 12.
    pub hunk: Vec<String>,
}

impl Recallable for Vec<Tampering> {
    fn size(&self) -> usize {
        let texts = |one: &Tampering| {
            let names = [one.gone.as_deref(), one.path.as_deref()];
            let lines = one.hunk.iter().map(String::as_str);
            let all = lines.chain(names.into_iter().flatten()).chain([&*one.deed]);
            all.map(str::len).sum::<usize>()
        };
        self.iter()
            .map(|one| size_of::<Tampering>() + texts(one))
            .sum()
    }
}

/// Which of the comparisons finds it: grounds of two of them hold a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Comparison {
    Ran,
    Written,
    Selection,
    BaseTests,
}

/// What a finding does to the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// It may be why a check passes, of which nothing but its exit status is known: it is shown, and holds nothing.
    Named,
    /// It is shown, and holds nothing: the tests of the file, as they were, pass on the head.
    Shown,
    /// It is shown, and holds the change together with a ground of another comparison.
    Ground,
    /// It holds the change alone.
    Proof,
}

/// The sentence for it, behind its file. Names from outside stand in it as they are; the caller makes them safe.
impl std::fmt::Display for Tampering {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.path, self.line) {
            (Some(path), 1..) => write!(f, "{path}:{}: {}", self.line, self.deed),
            _ => f.write_str(&self.key()),
        }
    }
}

impl serde::Serialize for Tampering {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Tampering {
    /// In a file, where the lines of `old` go and those of `new` come.
    pub(super) fn at(self, path: &str, old: &[&CodeLine], new: &[&CodeLine]) -> Self {
        let line = new.first().or(old.first()).map_or(0, |line| line.number);
        let removed = old.iter().map(|line| format!("-{}", line.text));
        let lines = removed.chain(new.iter().map(|line| format!("+{}", line.text)));
        Self {
            path: Some(path.to_owned()),
            line,
            hunk: lines.take(MOST_SHOWN).collect(),
            ..self
        }
    }

    /// A finding that holds where `holds`, and else is only named.
    pub(super) fn named_unless(self, holds: bool) -> Self {
        let weight = if holds { self.weight } else { Weight::Named };
        Self { weight, ..self }
    }

    /// What it is, wherever in its file: lines move with every push.
    pub(super) fn key(&self) -> String {
        self.path
            .iter()
            .map(|path| format!("{path}: "))
            .chain([self.deed.clone()])
            .collect()
    }
}

/// Each way of weakening without its line, and how often it occurs: what a person takes responsibility for.
pub fn counts(found: &[Tampering]) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    found
        .iter()
        .for_each(|one| *counts.entry(one.key()).or_default() += 1);
    counts
}

/// The finding that holds the change, of those that no person accepted: a proof, or one of the grounds that two
/// comparisons find.
pub fn not_accepted<'f>(
    found: &'f [Tampering],
    accepted: &BTreeMap<String, u32>,
) -> Option<&'f Tampering> {
    let counts = counts(found);
    let is_open = |one: &&Tampering| {
        one.weight > Weight::Shown && counts.get(&one.key()) > accepted.get(&one.key())
    };
    let open: Vec<_> = found.iter().filter(is_open).collect();
    let comparisons: BTreeSet<Comparison> = open.iter().map(|one| one.comparison).collect();
    let heaviest = open
        .iter()
        .max_by_key(|one| (one.weight, std::cmp::Reverse(one.comparison)))?;
    (heaviest.weight > Weight::Ground || comparisons.len() > 1).then_some(*heaviest)
}
