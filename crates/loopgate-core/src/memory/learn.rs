//! What the lines of runs teach.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{
    Card, Folder, LineStatus, MemoryLine, Offers, Retention, Rights, Settled, Week, card::STALE_TIMES,
    line::fingerprint_of,
};
use crate::{
    evidence::Failure,
    ids::{FailureId, Fingerprint, PrNumber, Timestamp},
    text,
};

/// Cards that a memory holds at most, about 2 KB each; the least worth go first.
const MOST_CARDS: usize = 1_000;
/// Errors whose occurrences are counted; those not seen for longest go first.
const MOST_RECURRING: usize = 5_000;
/// Runs whose beginnings are known, for `memory.lookback`.
const MOST_RECENT: usize = 1_000;

/// What a repository remembers, without the lines: the cards, what recurs, and what came after cards were shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    pub cards: BTreeMap<FailureId, Card>,
    /// By fingerprint, and flaky tests by `flaky:` and their name.
    pub recurring: BTreeMap<String, Recurring>,
    pub offers: Offers,
    /// Weeks whose lines there are.
    pub weeks: BTreeSet<Week>,
    /// When the first attempt of each of the newest runs was counted.
    pub recent: BTreeSet<Timestamp>,
}

/// How often an error was seen, or a test was flaky.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recurring {
    /// The test, else the first words of the message.
    pub test: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
    /// Attempts it was seen in.
    pub occurrences: u32,
    pub resolution: Resolution,
    /// Times it failed and passed on one head.
    pub flips: u32,
    pub last_seen: Timestamp,
    pub last_run: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_pull_request: Option<PrNumber>,
    /// Who was right when it was last disputed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<Settled>,
}

/// The state of a recurring failure when it was last seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resolution {
    #[default]
    Pending,
    Resolved,
    Escalated,
    /// A person decided that it stays.
    WontFix,
}

impl Memory {
    /// What all lines teach, in whatever order they come.
    pub fn learn(lines: impl IntoIterator<Item = MemoryLine>) -> Self {
        let (mut memory, mut lines) = (Self::default(), super::union(lines));
        lines.sort_by(|a, b| a.key().cmp(&b.key()));
        for run in lines.chunk_by(|line, next| line.session_id == next.session_id) {
            memory.take_in(run, |_| true);
        }
        memory
    }

    /// Takes in a run: all its lines, of which `is_new` were not taken in before. Cards are the same however often a
    /// run is taken in; what is counted is counted for new lines.
    pub fn take_in(&mut self, run: &[MemoryLine], is_new: impl Fn(&MemoryLine) -> bool) {
        let mut run: Vec<&MemoryLine> = run.iter().collect();
        run.sort_by_key(|line| line.attempt);
        // Merging is in the hands of those with write, so what they merged or pushed last speaks for the run.
        if run.last().is_some_and(|line| line.rights == Rights::Write) {
            for card in cards_of(&run) {
                self.cards.entry(card.id).and_modify(|known| known.merge(card.clone())).or_insert(card);
            }
        }
        if let Some(first) = run.first().filter(|line| is_new(line)) {
            self.recent.insert(first.timestamp);
        }
        for (at, line) in run.iter().enumerate().filter(|(_, line)| is_new(line)) {
            self.weeks.insert(Week::of(line.timestamp));
            self.see(line);
            self.count(line, at.checked_sub(1).map(|before| run[before]));
        }
        while self.recent.len() > MOST_RECENT {
            self.recent.pop_first();
        }
        keep_best(&mut self.cards, MOST_CARDS, Card::rank);
        keep_best(&mut self.recurring, MOST_RECURRING, |seen| (seen.last_seen, seen.key()));
    }

    /// Counts the errors and the flaky tests of a line, and notes when they were seen last.
    fn see(&mut self, line: &MemoryLine) {
        let name = |failure: &Failure| failure.test_name.as_ref().unwrap_or(&failure.error_message).clone();
        let errors = line.failures.iter().map(|failure| (name(failure), Some(fingerprint_of(failure))));
        for (name, fingerprint) in errors.chain(line.flaky.iter().map(|test| (test.clone(), None))) {
            let new = Recurring { test: text::first_line(&name, 200), fingerprint, ..Recurring::default() };
            let seen = self.recurring.entry(new.key()).or_insert_with(|| new.clone());
            let count = if fingerprint.is_some() { &mut seen.occurrences } else { &mut seen.flips };
            *count = count.saturating_add(1);
            if (line.timestamp, &line.session_id) < (seen.last_seen, &seen.last_run) {
                continue;
            }
            seen.test = new.test;
            seen.last_seen = line.timestamp;
            seen.last_run.clone_from(&line.session_id);
            seen.last_pull_request = line.pull_request;
            seen.resolution = match seen.resolution {
                Resolution::WontFix => Resolution::WontFix,
                _ if fingerprint.is_some() && line.status == LineStatus::Escalated => Resolution::Escalated,
                _ => Resolution::Pending,
            };
        }
    }

    /// Counts what is gone in a line after the attempt before it, what was settled, and what came after cards.
    fn count(&mut self, line: &MemoryLine, before: Option<&MemoryLine>) {
        let now: BTreeSet<Fingerprint> = line.failures.iter().map(fingerprint_of).collect();
        let failures = before.into_iter().flat_map(|before| &before.failures);
        for fingerprint in failures.map(fingerprint_of).collect::<BTreeSet<_>>() {
            let gone = !now.contains(&fingerprint) && !line.weakened;
            self.offers.all.count(gone);
            let known = self.recurring.get_mut(&fingerprint.to_string());
            if let Some(known) = known.filter(|known| gone && known.last_run == line.session_id) {
                known.resolution = Resolution::Resolved;
            }
        }
        for word in &line.settled {
            for seen in self.recurring.values_mut().filter(|seen| seen.is(word.failure)) {
                seen.settled = [word.clone()].into_iter().chain(seen.settled.take()).max_by_key(|word| word.at);
            }
        }
        for found in &line.memory_matches {
            self.offers.count(found);
            if let Some(card) = found.card.and_then(|id| self.cards.get_mut(&id)) {
                card.count(found);
                card.last_seen = card.last_seen.max(line.timestamp);
            }
        }
    }

    /// Drops what is older than its retention, and cards that were found stale too often.
    pub fn drop_old(&mut self, retention: Retention, now: Timestamp) {
        let keeps = |folder, seen_at| retention.keeps(folder, seen_at, now);
        self.cards
            .retain(|_, card| card.stale < STALE_TIMES && keeps(Folder::Taught, card.last_seen.max(card.fixed_at)));
        self.recurring.retain(|_, seen| {
            let folder = match seen.resolution {
                Resolution::Pending => Folder::Failures,
                Resolution::Resolved | Resolution::WontFix => Folder::Taught,
                Resolution::Escalated => Folder::Escalated,
            };
            keeps(folder, seen.last_seen)
        });
    }

    /// Forgets an error: its card and how often it was seen. Whether there was anything to forget.
    pub fn forget(&mut self, id: FailureId) -> bool {
        let (card, seen) = (self.cards.remove(&id), self.recurring.len());
        self.recurring.retain(|_, seen| !seen.is(id));
        card.is_some() || self.recurring.len() < seen
    }

    /// Notes that an error will not be mended. Whether it is known.
    pub fn give_up(&mut self, id: FailureId) -> bool {
        let known = self.recurring.values_mut().find(|seen| seen.is(id));
        known.map(|seen| seen.resolution = Resolution::WontFix).is_some()
    }
}

/// Drops the least of more than `most` entries. A tenth goes at once: looking for the least takes a pass over all.
fn keep_best<K: Ord, V, R: Ord>(entries: &mut BTreeMap<K, V>, most: usize, rank: impl Fn(&V) -> R) {
    if entries.len() > most {
        let mut ranks: Vec<R> = entries.values().map(&rank).collect();
        ranks.sort_unstable();
        if let Some(least) = ranks.into_iter().nth(entries.len() - most + most / 10) {
            entries.retain(|_, entry| rank(entry) >= least);
        }
    }
}

impl Recurring {
    fn is(&self, failure: FailureId) -> bool {
        self.fingerprint.is_some_and(|fingerprint| FailureId::from(fingerprint) == failure)
    }

    /// Under what it is counted.
    pub fn key(&self) -> String {
        self.fingerprint.map_or_else(|| format!("flaky:{}", self.test), |fingerprint| fingerprint.to_string())
    }
}

/// The cards of a run: each failure of a failing attempt that the attempt right after it is seen to fix. An attempt that
/// weakens what checks it teaches nothing, whether or not a person accepted that.
fn cards_of(run: &[&MemoryLine]) -> Vec<Card> {
    let mut cards = Vec::new();
    for (at, pair) in run.windows(2).enumerate() {
        let [failed, passed] = pair else { continue };
        let is_mended = failed.status != LineStatus::Passed && passed.status == LineStatus::Passed;
        if is_mended && !failed.weakened && !passed.weakened {
            let mended = failed.failures.iter().filter(|failure| passed.mends(failure));
            cards.extend(mended.filter_map(|failure| Card::of(failure, run, at)));
        }
    }
    cards
}
