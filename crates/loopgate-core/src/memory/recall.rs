//! Looking up a failure, from the surest likeness to the loosest; whether the fix that a look-up shows was followed.

use std::collections::BTreeSet;

use super::{
    Card, MatchOutcome, Memory, MemoryMatch, Recurring, Resolution, ShownFix, Tier,
    line::{added, fingerprint_of, template},
};
use crate::{
    evidence::Failure,
    observed::{ChangedFile, Patch},
    policy::{MemoryPolicy, PatternSource},
    source_files::is_test,
    text,
};

/// Cards that are shown of one failure at most.
pub const MOST_SHOWN: usize = 3;
/// Cards of a tier that are verified at most: each may cost requests.
const MOST_VERIFIED: usize = 6;

/// The cards that a failure may be like, tier after tier.
#[derive(Clone, Debug, PartialEq)]
pub struct RecalledCards<'a> {
    tiers: Vec<(Tier, Vec<&'a Card>)>,
    /// What is known of the error itself.
    error: MemoryMatch,
}

impl Memory {
    /// What a failure of a run may be like. No place is looked at yet.
    pub fn look_up<'a>(
        &'a self,
        run_id: &str,
        failure: &Failure,
        policy: &MemoryPolicy,
    ) -> RecalledCards<'a> {
        let (fingerprint, template) = (fingerprint_of(failure), template(failure));
        let checks = |source| policy.patterns_to_check.contains(&source);
        // What the code of tests raises may come from a helper that many tests call: of another test it is another
        // error.
        let in_product = failure.location().is_some_and(|(file, _)| !is_test(file));
        let without_case =
            |name: &Option<String>| Some(name.as_deref()?.split('[').next()?.to_owned());
        let is_same = |card: &Card| {
            in_product || without_case(&card.test) == without_case(&failure.test_name)
        };
        let same_error = |card: &Card| card.fingerprints.contains(&fingerprint) && is_same(card);
        let same_test = |card: &Card| card.test == failure.test_name && card.template == template;
        let best = |fits: &dyn Fn(&Card) -> bool| {
            self.ranked(fits).into_iter().take(MOST_VERIFIED).collect()
        };
        let mut tiers = vec![(Tier::SameError, best(&same_error))];
        if checks(PatternSource::SameTestFailures) && failure.test_name.is_some() {
            tiers.push((Tier::SameTest, best(&same_test)));
        }
        let known = self.recurring.get(&fingerprint.to_string());
        let begun_since = |seen: &Recurring| {
            self.recent
                .iter()
                .rev()
                .take_while(|at| **at > seen.last_seen)
                .count()
        };
        let is_recent = |seen: &Recurring| begun_since(seen) < policy.lookback as usize;
        let counts = |seen: &&Recurring| is_recent(seen) && seen.last_run != run_id;
        let seen = known
            .filter(counts)
            .filter(|_| checks(PatternSource::RecurringErrorTypes));
        let gave_up = seen.is_some_and(|seen| seen.resolution == Resolution::WontFix);
        let error = MemoryMatch {
            fingerprint,
            outcome: if gave_up {
                MatchOutcome::WontFix
            } else {
                MatchOutcome::Seen
            },
            seen: seen.map_or(0, |seen| seen.occurrences),
            last_pull_request: seen.and_then(|seen| seen.last_pull_request),
            settled: known
                .and_then(|known| known.settled.clone())
                .filter(|word| word.run_id != run_id),
            ..MemoryMatch::default()
        };
        RecalledCards { tiers, error }
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
            let texts = [
                card.template.as_str(),
                &card.cause,
                &card.fix.description,
                card.error_type.as_str(),
            ];
            let others = card
                .test
                .iter()
                .chain(&card.fix.files_modified)
                .map(String::as_str);
            let all: Vec<&str> = texts.into_iter().chain(others).chain(hunks).collect();
            has_words(&format!("{} {}", card.id, all.join(" ")))
        })
    }

    /// Errors whose name holds all these words and of which no card knows a fix, neither of the error nor of its test;
    /// and flaky tests.
    pub fn unmended(&self, words: &str) -> Vec<&Recurring> {
        let has_words = holds(words);
        let mended: BTreeSet<&str> = self
            .cards
            .values()
            .filter_map(|card| card.test.as_deref())
            .collect();
        let is_mended = |seen: &Recurring| {
            seen.fingerprint
                .is_some_and(|error| self.cards.contains_key(&error.into()))
                || seen.flips == 0 && mended.contains(seen.test.as_str())
        };
        self.recurring
            .values()
            .filter(|seen| has_words(&seen.test) && !is_mended(seen))
            .collect()
    }

    fn ranked(&self, fits: impl Fn(&Card) -> bool) -> Vec<&Card> {
        let mut found: Vec<&Card> = self.cards.values().filter(|card| fits(card)).collect();
        found.sort_by_cached_key(|card| std::cmp::Reverse(card.rank()));
        found
    }
}

/// Whether a text holds each of these words, in whatever case; of more than ten words the first ten.
fn holds(words: &str) -> impl Fn(&str) -> bool + use<> {
    let words: Vec<String> = words
        .split_whitespace()
        .take(10)
        .map(str::to_lowercase)
        .collect();
    move |text| {
        let text = text.to_lowercase();
        words.iter().all(|word| text.contains(word))
    }
}

impl<'a> RecalledCards<'a> {
    /// Paths whose content decides whether a card still holds.
    pub fn cited(&self) -> impl Iterator<Item = &'a str> {
        let cards = self
            .tiers
            .iter()
            .flat_map(|(_, cards)| cards.iter().copied());
        cards.flat_map(Card::cited)
    }

    /// What is kept and shown of it: the first tier with a card whose place is there; of the first tier's others one is
    /// marked as stale. `find` gives the line at which a card's place stands.
    pub fn matches(
        &self,
        policy: &MemoryPolicy,
        find: impl Fn(&Card) -> Option<u32>,
    ) -> Vec<MemoryMatch> {
        let mut stale = None;
        for (tier, cards) in self.tiers.iter().filter(|_| policy.apply_learnings) {
            let all = cards.iter().map(|card| {
                let fix = find(card).and_then(|line| ShownFix::of(card, Some(line)));
                let outcome = if fix.is_some() {
                    MatchOutcome::Shown
                } else {
                    MatchOutcome::Stale
                };
                MemoryMatch {
                    card: Some(card.id),
                    tier: Some(*tier),
                    outcome,
                    fix,
                    ..self.error.clone()
                }
            });
            let (mut shown, gone): (Vec<_>, Vec<_>) =
                all.partition(|found| found.outcome == MatchOutcome::Shown);
            stale = stale.or(gone.into_iter().next().filter(|_| *tier == Tier::SameError));
            if !shown.is_empty() {
                shown.truncate(MOST_SHOWN);
                return shown.into_iter().chain(stale).collect();
            }
        }
        let is_known = self.error.seen > 0 || self.error.settled.is_some();
        stale
            .or_else(|| is_known.then(|| self.error.clone()))
            .into_iter()
            .collect()
    }
}

/// Lines from a card's place within which a change follows it.
const NEAR: u32 = 20;

impl ShownFix {
    /// What is shown of a card whose place was found at `line`.
    pub fn of(card: &Card, line: Option<u32>) -> Option<Self> {
        let hunk = card.fix.hunks.first()?;
        Some(Self {
            pull_request: card.fix_pull_request,
            commit: card.fix.commit,
            description: text::start(&card.fix.description, 200),
            diff_summary: text::start(&card.fix.diff_summary, 40),
            path: hunk.path.clone(),
            line,
            hunk: text::whole_lines(hunk.text.lines().map(|line| text::start(line, 200)), 801),
            cause: text::start(&card.cause, 300),
            failed_before: card
                .tried_and_failed
                .iter()
                .take(3)
                .map(|tried| text::start(tried, 200))
                .collect(),
        })
    }
}

/// Whether a change was made where a card shows: within 20 lines of its place, or by adding its hunk. None where a
/// patch of that file is not known.
pub fn followed(fix: &ShownFix, files: &[ChangedFile]) -> Option<bool> {
    let line = fix.line?;
    let last = line
        .saturating_add(u32::try_from(added(&fix.hunk).count()).unwrap_or(u32::MAX))
        .saturating_sub(1);
    let near = |at: u32| at.saturating_add(NEAR) >= line && at <= last.saturating_add(NEAR);
    let of_path = files
        .iter()
        .filter(|file| file.paths().any(|path| path == fix.path));
    let of_path: Option<Vec<Patch<'_>>> = of_path.map(ChangedFile::read_patch).collect();
    let is_near = of_path
        .iter()
        .flatten()
        .flat_map(Patch::lines)
        .any(|line| line.is_changed() && near(line.new));
    let patches: Vec<Patch<'_>> = files.iter().filter_map(ChangedFile::read_patch).collect();
    let brought: BTreeSet<&str> = patches
        .iter()
        .flat_map(Patch::added)
        .map(|line| line.text.trim())
        .collect();
    let adds =
        added(&fix.hunk).next().is_some() && added(&fix.hunk).all(|line| brought.contains(line));
    (of_path.is_some() || adds).then_some(is_near || adds)
}
