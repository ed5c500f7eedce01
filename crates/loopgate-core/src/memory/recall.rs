//! Looking up a failure, from the surest likeness to the loosest.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{
    Card, MatchOutcome, Memory, MemoryMatch, Recurring, Resolution, Settled, ToldFix,
    line::{fingerprint_of, template},
};
use crate::{
    evidence::Failure,
    ids::Fingerprint,
    policy::{MemoryPolicy, PatternSource, Switch},
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
        match tier {
            Tier::SameError => 1,
            Tier::SameTest => 2,
        }
    }
}

impl TryFrom<u8> for Tier {
    type Error = String;
    fn try_from(number: u8) -> Result<Self, String> {
        match number {
            1 => Ok(Self::SameError),
            2 => Ok(Self::SameTest),
            other => Err(format!("there is no tier {other}")),
        }
    }
}

/// The cards that a failure may be like, tier after tier.
#[derive(Clone, Debug, PartialEq)]
pub struct Recalled<'a> {
    fingerprint: Fingerprint,
    tiers: Vec<(Tier, Vec<&'a Card>)>,
    recurring: Option<&'a Recurring>,
    settled: Option<&'a Settled>,
}

impl Memory {
    /// What a failure of a run may be like. No place is looked at yet.
    pub fn look_up<'a>(&'a self, run_id: &str, failure: &Failure, policy: &MemoryPolicy) -> Recalled<'a> {
        let (fingerprint, template) = (fingerprint_of(failure), template(failure));
        let checks = |source| policy.patterns_to_check.contains(&source);
        let same_error = |card: &Card| card.fingerprints.contains(&fingerprint) && is_same(card, failure);
        let same_test = |card: &Card| card.test == failure.test_name && card.template == template;
        let mut tiers = vec![(Tier::SameError, self.ranked(same_error))];
        if checks(PatternSource::SameTestFailures) && failure.test_name.is_some() {
            tiers.push((Tier::SameTest, self.ranked(same_test)));
        }
        for (_, cards) in &mut tiers {
            cards.truncate(MOST_VERIFIED);
        }
        let recurring = self.recurring.get(&fingerprint.to_string());
        let settled = recurring.and_then(|seen| seen.settled.as_ref()).filter(|word| word.run_id != run_id);
        let recent = self.is_recent(policy.lookback);
        let recurring = recurring.filter(|seen| recent(seen) && seen.last_run != run_id);
        let recurring = recurring.filter(|_| checks(PatternSource::RecurringErrorTypes));
        Recalled { fingerprint, tiers, recurring, settled }
    }

    /// Cards whose fix stands in one of these files, the surest first.
    pub fn of_files<'p>(&self, paths: impl IntoIterator<Item = &'p String>) -> Vec<&Card> {
        let paths: BTreeSet<&str> = paths.into_iter().map(String::as_str).collect();
        self.ranked(|card| card.cited().any(|path| paths.contains(path)))
    }

    /// Cards that hold every word in their test, message, cause, files or fix, the surest first.
    pub fn search(&self, words: &str) -> Vec<&Card> {
        let words: Vec<String> = words.split_whitespace().take(10).map(str::to_lowercase).collect();
        self.ranked(|card| {
            let files = card.fix.files_modified.join(" ");
            let hunks: String = card.fix.hunks.iter().map(|hunk| hunk.text.as_str()).collect();
            let texts = [card.test.as_deref().unwrap_or_default(), &card.template, &card.cause, &card.fix.description];
            let text =
                format!("{} {} {files} {} {hunks}", texts.join(" "), card.id, card.error_type.as_str()).to_lowercase();
            words.iter().all(|word| text.contains(word))
        })
    }

    fn ranked(&self, fits: impl Fn(&Card) -> bool) -> Vec<&Card> {
        let mut found: Vec<&Card> = self.cards.values().filter(|card| fits(card)).collect();
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

    /// What is kept and shown of it: the first tier with a card whose place is there; of the first tier's others one is
    /// marked as stale. `find` gives the line at which a card's place stands.
    pub fn matches(&self, policy: &MemoryPolicy, find: impl Fn(&Card) -> Option<u32>) -> Vec<MemoryMatch> {
        let seen = self.recurring.map_or(0, |recurring| recurring.occurrences);
        let found = |outcome, on: Option<(&Card, Tier)>, line: Option<u32>| MemoryMatch {
            fingerprint: self.fingerprint,
            card: on.map(|(card, _)| card.id),
            tier: on.map(|(_, tier)| tier),
            outcome,
            seen,
            last_pull_request: self.recurring.and_then(|recurring| recurring.last_pull_request),
            followed: None,
            went_green: None,
            told: on.filter(|_| line.is_some()).and_then(|(card, _)| ToldFix::of(card, line)),
            settled: self.settled.cloned(),
        };
        let mut stale = None;
        let tiers = self.tiers.iter().filter(|_| policy.apply_learnings == Switch::On);
        for (tier, cards) in tiers {
            let places: Vec<(&Card, Option<u32>)> = cards.iter().map(|card| (*card, find(card))).collect();
            let gone = places.iter().find(|(_, line)| line.is_none()).filter(|_| *tier == Tier::SameError);
            stale = stale.or(gone.map(|(card, _)| found(MatchOutcome::Stale, Some((card, *tier)), None)));
            let there = places.iter().filter(|(_, line)| line.is_some()).take(MOST_TOLD);
            let shown = there.map(|(card, line)| found(MatchOutcome::Shown, Some((card, *tier)), *line));
            let shown: Vec<MemoryMatch> = shown.collect();
            if !shown.is_empty() {
                return shown.into_iter().chain(stale).collect();
            }
        }
        if stale.is_none() && (seen > 0 || self.settled.is_some()) {
            let gave_up = self.recurring.is_some_and(|seen| seen.resolution == Resolution::WontFix);
            return vec![found(if gave_up { MatchOutcome::WontFix } else { MatchOutcome::Seen }, None, None)];
        }
        stale.into_iter().collect()
    }
}
