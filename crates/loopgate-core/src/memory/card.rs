//! A card (an error, and the change that mended it), and what else the lines of runs teach.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    AppliedFix, Folder, Hunk, LineStatus, MatchOutcome, MemoryLine, MemoryMatch, Offers, Retention,
    Rights, SettledDispute, Week,
    line::{fingerprint_of, template},
};
use crate::{
    evidence::{ErrorType, Failure, RootCauseCategory},
    ids::{FailureId, Fingerprint, PrNumber, Timestamp},
    text,
};

/// Runs that a card names at most; more only count up to it.
const MOST_RUNS: usize = 50;
/// Changes that are named as tried and failed.
const MOST_TRIED: usize = 5;
/// Times in a row that a card was found stale before it goes.
const STALE_TIMES: u32 = 3;

/// What mended an error. Its texts come from outside.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Card {
    pub id: FailureId,
    pub fingerprints: BTreeSet<Fingerprint>,
    pub test: Option<String>,
    /// The message without what differs between two runs.
    pub template: String,
    pub error_type: ErrorType,
    pub cause: String,
    pub category: RootCauseCategory,
    /// The newest change that mended it.
    pub fix: AppliedFix,
    pub fix_pull_request: Option<PrNumber>,
    pub fixed_at: Timestamp,
    /// Where each hunk of the fix stands: path, blob, and first and last line after the fix, from 1.
    pub citations: Vec<Value>,
    pub tried_and_failed: BTreeSet<String>,
    /// Runs in which it was mended, at most 50.
    pub mended_in: BTreeSet<String>,
    pub offered: u32,
    pub followed: u32,
    pub went_green: u32,
    /// Offers that were followed and after which the error was gone.
    pub worked: u32,
    /// Times in a row that its place was not found again.
    pub stale: u32,
    pub first_seen: Timestamp,
    pub last_seen: Timestamp,
}

impl Card {
    /// The card of a failure of the line at `at` that is gone in the line right after it. `None` where the change shows
    /// no place to look at: nothing could be verified later.
    fn of(failure: &Failure, run: &[&MemoryLine], at: usize) -> Option<Self> {
        let passed = run.get(at + 1)?;
        let fingerprint = fingerprint_of(failure);
        let fails = |line: &&&MemoryLine| {
            line.failures
                .iter()
                .any(|failure| fingerprint_of(failure) == fingerprint)
        };
        let failed = run.get(..=at)?;
        let tried = failed
            .windows(2)
            .filter(|pair| pair.iter().all(|line| fails(&line)));
        let tried = tried.filter_map(|pair| pair.last()?.fix_applied.as_ref());
        let fix = passed
            .fix_applied
            .clone()
            .filter(|fix| !fix.hunks.is_empty())?;
        let analysis = failure.analysis.as_ref();
        let citation = |hunk: &Hunk| {
            let after = hunk
                .text
                .lines()
                .filter(|line| !line.starts_with('-'))
                .count();
            let last = hunk
                .line
                .saturating_add(u32::try_from(after).unwrap_or(u32::MAX).saturating_sub(1));
            json!({ "path": hunk.path, "blob": hunk.blob, "lines": [hunk.line, last] })
        };
        Some(Self {
            id: fingerprint.into(),
            fingerprints: [fingerprint].into(),
            test: failure.test_name.clone(),
            template: template(failure),
            error_type: failure.error_type,
            cause: analysis.map_or_else(String::new, |analysis| {
                text::start(&analysis.root_cause, 400)
            }),
            category: analysis.map_or(RootCauseCategory::Other, |analysis| analysis.category),
            citations: fix.hunks.iter().map(citation).collect(),
            fix,
            fix_pull_request: passed.pull_request,
            fixed_at: passed.timestamp,
            tried_and_failed: tried
                .map(|fix| format!("{} ({})", fix.description, fix.diff_summary))
                .collect(),
            mended_in: [passed.session_id.clone()].into(),
            first_seen: run.iter().find(fails)?.timestamp,
            last_seen: run.get(at)?.timestamp,
            ..Self::default()
        })
    }

    /// Takes in what another run taught of the same error: the newest fix stays, in whatever order they come.
    fn merge(&mut self, mut other: Self) {
        if (other.fixed_at, other.fix.commit) > (self.fixed_at, self.fix.commit) {
            let (offered, followed, went_green, worked) =
                (self.offered, self.followed, self.went_green, self.worked);
            std::mem::swap(self, &mut other);
            (self.offered, self.followed, self.went_green, self.worked) =
                (offered, followed, went_green, worked);
        }
        let first =
            |one: &BTreeSet<String>, other, most| one.union(other).take(most).cloned().collect();
        self.mended_in = first(&self.mended_in, &other.mended_in, MOST_RUNS);
        self.tried_and_failed = first(&self.tried_and_failed, &other.tried_and_failed, MOST_TRIED);
        self.fingerprints.extend(other.fingerprints);
        self.first_seen = self.first_seen.min(other.first_seen);
        self.last_seen = self.last_seen.max(other.last_seen);
    }

    /// Counts that it was shown, and the next attempt's result, or that it was found stale.
    fn count(&mut self, found: &MemoryMatch) {
        // What was read may be any number.
        let add = |count: &mut u32, one: bool| *count = count.saturating_add(u32::from(one));
        add(&mut self.stale, found.outcome == MatchOutcome::Stale);
        if found.outcome == MatchOutcome::Shown {
            let (followed, gone) = (found.followed == Some(true), found.went_green == Some(true));
            self.stale = 0;
            add(&mut self.offered, true);
            add(&mut self.followed, followed);
            add(&mut self.went_green, gone);
            add(&mut self.worked, followed && gone);
        }
    }

    /// The surest first: what worked when it was shown, then what worked most often, then the newest.
    pub(super) fn rank(&self) -> (i64, usize, Timestamp, FailureId) {
        let failed = self.followed.saturating_sub(self.worked);
        let worth = i64::from(self.worked) - i64::from(failed) - i64::from(self.stale);
        (worth, self.mended_in.len(), self.last_seen, self.id)
    }

    /// Offers that were followed and worked / offers that were followed; none where none was.
    pub fn effectiveness(&self) -> Option<f64> {
        (self.followed > 0).then(|| f64::from(self.worked) / f64::from(self.followed))
    }

    /// Whether it is a pattern: its fix worked in two runs.
    pub fn is_pattern(&self) -> bool {
        self.mended_in.len() >= 2
    }

    /// The pattern as a document.
    pub fn pattern(&self) -> Value {
        json!({
            "pattern": self.template,
            "category": self.category,
            "frequency": self.mended_in.len(),
            "fix_template": self.fix.description,
            "effectiveness": self.effectiveness(),
            "fingerprints": self.fingerprints,
            "last_seen": self.last_seen,
        })
    }

    /// Paths of the places that it cites.
    pub fn cited(&self) -> impl Iterator<Item = &str> {
        self.fix.hunks.iter().map(|hunk| hunk.path.as_str())
    }

    /// The line, from 1, at which the change would stand now; `None` if a place that it cites is gone. A place is there
    /// while the lines around the change are found, as they were before it or after it. `file` gives a path's text at
    /// the head.
    pub fn find<'a>(&self, file: impl Fn(&str) -> Option<&'a str>) -> Option<u32> {
        let lines = self.fix.hunks.iter().map(|hunk| {
            let text = file(&hunk.path)?;
            hunk.find('-', text).or_else(|| hunk.find('+', text))
        });
        lines.collect::<Option<Vec<u32>>>()?.first().copied()
    }
}

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
    pub fingerprint: Option<Fingerprint>,
    /// Attempts it was seen in.
    pub occurrences: u32,
    pub resolution: Resolution,
    /// Times it failed and passed on one head.
    pub flips: u32,
    pub last_seen: Timestamp,
    pub last_run: String,
    pub last_pull_request: Option<PrNumber>,
    /// Who was right when it was last disputed.
    pub settled: Option<SettledDispute>,
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

    /// Takes in a run: all its lines, of which `is_new` were not taken in before. A failure of a failing attempt that
    /// the attempt right after it is seen to fix is a card. Cards are the same however often a run is taken in; what is
    /// counted is counted for new lines.
    pub fn take_in(&mut self, run: &[MemoryLine], is_new: impl Fn(&MemoryLine) -> bool) {
        let mut run: Vec<&MemoryLine> = run.iter().collect();
        run.sort_by_key(|line| line.attempt);
        // Merging is in the hands of those with write, so what they merged or pushed last decides for the run.
        if run.last().is_some_and(|line| line.rights == Rights::Write) {
            for (at, pair) in run.windows(2).enumerate() {
                let [failed, passed] = pair else { continue };
                let is_mended =
                    failed.status != LineStatus::Passed && passed.status == LineStatus::Passed;
                // An attempt that weakens what checks it teaches nothing, whether or not a person accepted that.
                if !is_mended || failed.weakened || passed.weakened {
                    continue;
                }
                let mended = failed
                    .failures
                    .iter()
                    .filter(|failure| passed.mends(failure));
                for card in mended.filter_map(|failure| Card::of(failure, &run, at)) {
                    self.cards
                        .entry(card.id)
                        .and_modify(|known| known.merge(card.clone()))
                        .or_insert(card);
                }
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
        keep_best(&mut self.recurring, MOST_RECURRING, |seen| {
            (seen.last_seen, seen.key())
        });
    }

    /// Counts the errors and the flaky tests of a line, and notes when they were seen last.
    fn see(&mut self, line: &MemoryLine) {
        let name = |failure: &Failure| {
            failure
                .test_name
                .as_ref()
                .unwrap_or(&failure.error_message)
                .clone()
        };
        let errors = line
            .failures
            .iter()
            .map(|failure| (name(failure), Some(fingerprint_of(failure))));
        for (name, fingerprint) in errors.chain(line.flaky.iter().map(|test| (test.clone(), None)))
        {
            let new = Recurring {
                test: text::first_line(&name, 200),
                fingerprint,
                ..Recurring::default()
            };
            let seen = self
                .recurring
                .entry(new.key())
                .or_insert_with(|| new.clone());
            let count = if fingerprint.is_some() {
                &mut seen.occurrences
            } else {
                &mut seen.flips
            };
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
                _ if fingerprint.is_some() && line.status == LineStatus::Escalated => {
                    Resolution::Escalated
                }
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
            for seen in self
                .recurring
                .values_mut()
                .filter(|seen| seen.is(word.failure))
            {
                seen.settled = [word.clone()]
                    .into_iter()
                    .chain(seen.settled.take())
                    .max_by_key(|word| word.at);
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
        self.cards.retain(|_, card| {
            card.stale < STALE_TIMES && keeps(Folder::Taught, card.last_seen.max(card.fixed_at))
        });
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
        known
            .map(|seen| seen.resolution = Resolution::WontFix)
            .is_some()
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
        self.fingerprint
            .is_some_and(|fingerprint| FailureId::from(fingerprint) == failure)
    }

    /// Under what it is counted.
    pub fn key(&self) -> String {
        self.fingerprint.map_or_else(
            || format!("flaky:{}", self.test),
            |fingerprint| fingerprint.to_string(),
        )
    }
}
