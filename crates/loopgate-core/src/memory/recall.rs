//! Looking up a failure, from the surest likeness to the loosest.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::{
    Card, MatchOutcome, Memory, MemoryMatch, Recurring, Resolution, Settled, ToldFix, Verification,
    line::{fingerprint_of, template},
};
use crate::{
    evidence::{ErrorType, Failure},
    ids::{FailureId, Fingerprint},
    policy::{MemoryPolicy, PatternSource, Switch},
    source_files::is_test,
};

/// Cards that are told of one failure at most.
pub const MOST_TOLD: usize = 3;
/// Cards of a tier that are verified at most: each may cost requests.
const MOST_VERIFIED: usize = 6;

/// How like a card is to a failure, the surest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "u8", try_from = "u8")]
pub enum Tier {
    /// The same fingerprint.
    SameError,
    /// The same test, with the same message but for values.
    SameTest,
    /// The same file is edited, and the error is of the same type and says the same but for values. Told to people,
    /// never to fixers.
    SimilarEdit,
}

impl From<Tier> for u8 {
    fn from(tier: Tier) -> Self {
        match tier {
            Tier::SameError => 1,
            Tier::SameTest => 2,
            Tier::SimilarEdit => 3,
        }
    }
}

impl TryFrom<u8> for Tier {
    type Error = String;
    fn try_from(number: u8) -> Result<Self, String> {
        match number {
            1 => Ok(Self::SameError),
            2 => Ok(Self::SameTest),
            3 => Ok(Self::SimilarEdit),
            other => Err(format!("there is no tier {other}")),
        }
    }
}

/// A failure that is looked up.
#[derive(Clone, Copy, Debug)]
pub struct Sought<'a> {
    pub run_id: &'a str,
    pub failure: &'a Failure,
    /// Files that the change edits.
    pub edited: &'a BTreeSet<String>,
}

/// The cards that a failure may be like, tier after tier.
#[derive(Clone, Debug, PartialEq)]
pub struct Recalled<'a> {
    fingerprint: Fingerprint,
    tiers: Vec<(Tier, Vec<&'a Card>)>,
    recurring: Option<&'a Recurring>,
    settled: Option<&'a Settled>,
}

/// A memory, with what finds a card without looking at each.
pub struct Index<'a> {
    memory: &'a Memory,
    by_error: HashMap<Fingerprint, Vec<&'a Card>>,
    by_test: HashMap<&'a str, Vec<&'a Card>>,
    by_file: HashMap<&'a str, Vec<&'a Card>>,
}

impl<'a> Index<'a> {
    pub fn of(memory: &'a Memory) -> Self {
        let mut index = Self { memory, by_error: HashMap::new(), by_test: HashMap::new(), by_file: HashMap::new() };
        let mut cards: Vec<&Card> = memory.cards.values().collect();
        cards.sort_by_cached_key(|card| std::cmp::Reverse(card.rank()));
        for card in cards {
            for fingerprint in &card.fingerprints {
                index.by_error.entry(*fingerprint).or_default().push(card);
            }
            if let Some(test) = &card.test {
                index.by_test.entry(test).or_default().push(card);
            }
            for path in card.citations.iter().map(|citation| citation.path.as_str()).collect::<BTreeSet<_>>() {
                index.by_file.entry(path).or_default().push(card);
            }
        }
        index
    }

    /// What a failure may be like. Nothing is verified yet.
    pub fn look_up(&self, sought: &Sought<'_>, policy: &MemoryPolicy) -> Recalled<'a> {
        let fingerprint = fingerprint_of(sought.failure);
        let checks = |source| policy.patterns_to_check.contains(&source);
        let of_error = self.by_error.get(&fingerprint).into_iter().flatten().copied();
        let mut tiers = vec![(Tier::SameError, of_error.filter(|card| is_same(card, sought.failure)).collect())];
        let template = template(sought.failure);
        if checks(PatternSource::SameTestFailures)
            && let Some(test) = &sought.failure.test_name
        {
            let of_test = self.by_test.get(test.as_str()).into_iter().flatten().copied();
            tiers.push((Tier::SameTest, of_test.filter(|card| card.template == template).collect()));
        }
        // What an assertion says is what a test compares: the words of another one tell nothing.
        let has_words = sought.failure.error_type != ErrorType::AssertionError;
        if has_words && checks(PatternSource::SimilarFileEdits) && checks(PatternSource::RecurringErrorTypes) {
            let of_files = sought.edited.iter().filter_map(|path| self.by_file.get(path.as_str())).flatten().copied();
            let mut alike: Vec<&Card> = of_files
                .filter(|card| card.error_type == sought.failure.error_type && card.template == template)
                .collect();
            alike.sort_by_cached_key(|card| std::cmp::Reverse(card.rank()));
            alike.dedup_by_key(|card| card.id);
            tiers.push((Tier::SimilarEdit, alike));
        }
        for (_, cards) in &mut tiers {
            cards.truncate(MOST_VERIFIED);
        }
        let recurring = self.memory.recurring.get(&fingerprint.to_string());
        let settled = recurring.and_then(|seen| seen.settled.as_ref()).filter(|word| word.run_id != sought.run_id);
        let recent = self.memory.is_recent(policy.lookback);
        let recurring = recurring.filter(|seen| recent(seen) && seen.last_run != sought.run_id);
        Recalled { fingerprint, tiers, recurring, settled }
    }

    /// Cards whose fix stands in one of these files, the surest first.
    pub fn of_files<'p>(&self, paths: impl IntoIterator<Item = &'p String>) -> Vec<&'a Card> {
        let found = paths.into_iter().filter_map(|path| self.by_file.get(path.as_str())).flatten().copied();
        let mut ids = BTreeSet::new();
        found.filter(|card| ids.insert(card.id)).collect()
    }

    /// Cards that hold every word in their test, message, cause, files or fix, the surest first.
    pub fn search(&self, words: &str) -> Vec<&'a Card> {
        let words: Vec<String> = words.split_whitespace().take(10).map(str::to_lowercase).collect();
        let holds = |card: &&Card| {
            let files = card.fix.files_modified.join(" ");
            let hunks: String = card.fix.hunks.iter().map(|hunk| hunk.text.as_str()).collect();
            let texts = [card.test.as_deref().unwrap_or_default(), &card.template, &card.cause, &card.fix.description];
            let text =
                format!("{} {} {files} {} {hunks}", texts.join(" "), card.id, card.error_type.as_str()).to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        let mut found: Vec<&Card> = self.memory.cards.values().filter(holds).collect();
        found.sort_by_cached_key(|card| std::cmp::Reverse(card.rank()));
        found
    }
}

/// Whether a card with the same fingerprint is about the same thing. What the code of tests raises may come from a helper
/// that many tests call: of another test it is another error.
fn is_same(card: &Card, failure: &Failure) -> bool {
    let in_product = failure.location().is_some_and(|(file, _)| !is_test(file));
    let test = |name: &Option<String>| name.as_deref().and_then(|name| name.split('[').next()).map(str::to_owned);
    in_product || test(&card.test) == test(&failure.test_name)
}

impl<'a> Recalled<'a> {
    /// Paths whose content decides whether a card still holds.
    pub fn cited(&self) -> impl Iterator<Item = &'a str> {
        let cards = self.tiers.iter().flat_map(|(_, cards)| cards.iter().copied());
        cards.flat_map(Card::cited)
    }

    /// What is kept and told of it: the first tier with a card that holds; cards that do not are said to be stale.
    pub fn matches(&self, policy: &MemoryPolicy, verify: impl Fn(&Card) -> Verification) -> Vec<MemoryMatch> {
        let seen = self.recurring.map_or(0, |recurring| recurring.occurrences);
        let found = |outcome, on: Option<(&Card, Tier)>| MemoryMatch {
            fingerprint: self.fingerprint,
            card: on.map(|(card, _)| card.id),
            tier: on.map(|(_, tier)| tier),
            outcome,
            seen,
            last_pull_request: self.recurring.and_then(|recurring| recurring.last_pull_request),
            followed: None,
            went_green: None,
            told: on.filter(|_| outcome == MatchOutcome::Shown).and_then(|(card, _)| ToldFix::of(card)),
            settled: self.settled.cloned(),
        };
        let mut stale: Vec<MemoryMatch> = Vec::new();
        if policy.apply_learnings == Switch::On {
            for (tier, cards) in &self.tiers {
                let (holding, gone): (Vec<_>, Vec<_>) =
                    cards.iter().copied().partition(|card| verify(card) == Verification::Verified);
                if *tier == Tier::SameError {
                    stale.extend(gone.iter().take(1).map(|card| found(MatchOutcome::Stale, Some((card, *tier)))));
                }
                if !holding.is_empty() {
                    let shown = holding.iter().take(MOST_TOLD);
                    return shown.map(|card| found(MatchOutcome::Shown, Some((card, *tier)))).chain(stale).collect();
                }
            }
        }
        if stale.is_empty() && (seen > 0 || self.settled.is_some()) {
            let gave_up = self.recurring.is_some_and(|seen| seen.resolution == Resolution::WontFix);
            return vec![found(if gave_up { MatchOutcome::WontFix } else { MatchOutcome::Seen }, None)];
        }
        stale
    }
}

impl MemoryMatch {
    /// Whether it is about a failure with this id.
    pub fn is_of(&self, failure: FailureId) -> bool {
        FailureId::from(self.fingerprint) == failure
    }
}
