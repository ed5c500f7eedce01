//! Looking up a failure, from the surest likeness to the loosest.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{
    Card, MatchOutcome, Memory, MemoryMatch, Recurring, Resolution, ToldFix,
    line::{fingerprint_of, template},
};
use crate::{
    evidence::Failure,
    policy::{MemoryPolicy, PatternSource},
    source_files::is_test,
};

/// Cards that are shown of one failure at most.
pub const MOST_TOLD: usize = 3;
/// Cards of a tier that are verified at most: each may cost requests.
const MOST_VERIFIED: usize = 6;

/// How like a card is to a failure, the surest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "u8", try_from = "u8")]
pub enum Tier {
    /// The card has the failure's fingerprint.
    SameError,
    /// The card has the failure's test, and its message but for values.
    SameTest,
}

impl From<Tier> for u8 {
    fn from(tier: Tier) -> Self {
        if tier == Tier::SameError { 1 } else { 2 }
    }
}

impl TryFrom<u8> for Tier {
    type Error = &'static str;
    fn try_from(number: u8) -> Result<Self, &'static str> {
        [Self::SameError, Self::SameTest].into_iter().find(|tier| u8::from(*tier) == number).ok_or("no such tier")
    }
}

/// The cards that a failure may be like, tier after tier.
#[derive(Clone, Debug, PartialEq)]
pub struct Recalled<'a> {
    tiers: Vec<(Tier, Vec<&'a Card>)>,
    /// What is known of the error itself.
    error: MemoryMatch,
}

impl Memory {
    /// What a failure of a run may be like. No place is looked at yet.
    pub fn look_up<'a>(&'a self, run_id: &str, failure: &Failure, policy: &MemoryPolicy) -> Recalled<'a> {
        let (fingerprint, template) = (fingerprint_of(failure), template(failure));
        let checks = |source| policy.patterns_to_check.contains(&source);
        let same_error = |card: &Card| card.fingerprints.contains(&fingerprint) && is_same(card, failure);
        let same_test = |card: &Card| card.test == failure.test_name && card.template == template;
        let best = |fits: &dyn Fn(&Card) -> bool| self.ranked(fits).into_iter().take(MOST_VERIFIED).collect();
        let mut tiers = vec![(Tier::SameError, best(&same_error))];
        if checks(PatternSource::SameTestFailures) && failure.test_name.is_some() {
            tiers.push((Tier::SameTest, best(&same_test)));
        }
        let known = self.recurring.get(&fingerprint.to_string());
        let begun_since = |seen: &Recurring| self.recent.iter().rev().take_while(|at| **at > seen.last_seen).count();
        let is_recent = |seen: &Recurring| begun_since(seen) < policy.lookback as usize;
        let counts = |seen: &&Recurring| is_recent(seen) && seen.last_run != run_id;
        let seen = known.filter(counts).filter(|_| checks(PatternSource::RecurringErrorTypes));
        let gave_up = seen.is_some_and(|seen| seen.resolution == Resolution::WontFix);
        let error = MemoryMatch {
            fingerprint,
            outcome: if gave_up { MatchOutcome::WontFix } else { MatchOutcome::Seen },
            seen: seen.map_or(0, |seen| seen.occurrences),
            last_pull_request: seen.and_then(|seen| seen.last_pull_request),
            settled: known.and_then(|known| known.settled.clone()).filter(|word| word.run_id != run_id),
            ..MemoryMatch::default()
        };
        Recalled { tiers, error }
    }

    /// Cards whose fix stands in one of these files, the surest first.
    pub fn of_files<'p>(&self, paths: impl IntoIterator<Item = &'p String>) -> Vec<&Card> {
        let paths: BTreeSet<&str> = paths.into_iter().map(String::as_str).collect();
        self.ranked(|card| card.cited().any(|path| paths.contains(path)))
    }

    /// Cards that hold every word in their test, message, cause, files or fix, the surest first.
    pub fn search(&self, words: &str) -> Vec<&Card> {
        let has_words = holds(words);
        self.ranked(|card| {
            let hunks = card.fix.hunks.iter().map(|hunk| hunk.text.as_str());
            let texts = [card.template.as_str(), &card.cause, &card.fix.description, card.error_type.as_str()];
            let others = card.test.iter().chain(&card.fix.files_modified).map(String::as_str);
            let all: Vec<&str> = texts.into_iter().chain(others).chain(hunks).collect();
            has_words(&format!("{} {}", card.id, all.join(" ")))
        })
    }

    /// Errors whose name holds all these words and of which no card knows a fix, neither of the error nor of its test; and
    /// flaky tests.
    pub fn unmended(&self, words: &str) -> Vec<&Recurring> {
        let has_words = holds(words);
        let mended: BTreeSet<&str> = self.cards.values().filter_map(|card| card.test.as_deref()).collect();
        let is_mended = |seen: &Recurring| {
            seen.fingerprint.is_some_and(|error| self.cards.contains_key(&error.into()))
                || seen.flips == 0 && mended.contains(seen.test.as_str())
        };
        self.recurring.values().filter(|seen| has_words(&seen.test) && !is_mended(seen)).collect()
    }

    fn ranked(&self, fits: impl Fn(&Card) -> bool) -> Vec<&Card> {
        let mut found: Vec<&Card> = self.cards.values().filter(|card| fits(card)).collect();
        found.sort_by_cached_key(|card| std::cmp::Reverse(card.rank()));
        found
    }
}

/// Whether a text holds each of these words, in whatever case; of more than ten words the first ten.
fn holds(words: &str) -> impl Fn(&str) -> bool + use<> {
    let words: Vec<String> = words.split_whitespace().take(10).map(str::to_lowercase).collect();
    move |text| {
        let text = text.to_lowercase();
        words.iter().all(|word| text.contains(word))
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

    /// What is kept and shown of it: the first tier with a card whose place is there; of the first tier's others one is
    /// marked as stale. `find` gives the line at which a card's place stands.
    pub fn matches(&self, policy: &MemoryPolicy, find: impl Fn(&Card) -> Option<u32>) -> Vec<MemoryMatch> {
        let mut stale = None;
        for (tier, cards) in self.tiers.iter().filter(|_| policy.apply_learnings) {
            let all = cards.iter().map(|card| {
                let told = find(card).and_then(|line| ToldFix::of(card, Some(line)));
                let outcome = if told.is_some() { MatchOutcome::Shown } else { MatchOutcome::Stale };
                MemoryMatch { card: Some(card.id), tier: Some(*tier), outcome, told, ..self.error.clone() }
            });
            let (mut shown, gone): (Vec<_>, Vec<_>) = all.partition(|found| found.outcome == MatchOutcome::Shown);
            stale = stale.or(gone.into_iter().next().filter(|_| *tier == Tier::SameError));
            if !shown.is_empty() {
                shown.truncate(MOST_TOLD);
                return shown.into_iter().chain(stale).collect();
            }
        }
        let is_known = self.error.seen > 0 || self.error.settled.is_some();
        stale.or_else(|| is_known.then(|| self.error.clone())).into_iter().collect()
    }
}
