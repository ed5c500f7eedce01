//! A card: an error, and the change that mended it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    AppliedFix, Hunk, MatchOutcome, MemoryLine, MemoryMatch,
    line::{fingerprint_of, template},
};
use crate::{
    evidence::{ErrorType, Failure, RootCauseCategory},
    ids::{FailureId, Fingerprint, PrNumber, Sha, Timestamp},
    text,
};

/// Runs that a card names at most; more only count up to it.
const MOST_RUNS: usize = 50;
/// Changes that are named as tried and failed.
const MOST_TRIED: usize = 5;
/// Times in a row that a card was found stale before it goes.
pub(super) const STALE_TIMES: u32 = 3;

/// What mended an error. Its texts come from outside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// Where each hunk of the fix stands.
    pub citations: Vec<Citation>,
    #[serde(default)]
    pub tried_and_failed: BTreeSet<String>,
    /// Runs in which it was mended, at most 50.
    pub mended_in: BTreeSet<String>,
    #[serde(default)]
    pub offered: u32,
    #[serde(default)]
    pub followed: u32,
    #[serde(default)]
    pub went_green: u32,
    /// Offers that were followed and after which the error was gone.
    #[serde(default)]
    pub worked: u32,
    /// Times in a row that its place was not found again.
    #[serde(default)]
    pub stale: u32,
    pub first_seen: Timestamp,
    pub last_seen: Timestamp,
}

/// A place of the repository that a card rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Citation {
    pub path: String,
    pub blob: Option<Sha>,
    /// First and last line after the fix, from 1.
    pub lines: (u32, u32),
}

impl Card {
    /// The card of a failure of the line at `at` that is gone in the line right after it. `None` where the change shows no
    /// place to look at: nothing could be verified later.
    pub(super) fn of(failure: &Failure, run: &[&MemoryLine], at: usize) -> Option<Self> {
        let passed = run.get(at + 1)?;
        let fingerprint = fingerprint_of(failure);
        let fails = |line: &&&MemoryLine| line.failures.iter().any(|failure| fingerprint_of(failure) == fingerprint);
        let failed = run.get(..=at)?;
        let tried = failed.windows(2).filter(|pair| pair.iter().all(|line| fails(&line)));
        let tried = tried.filter_map(|pair| pair.last()?.fix_applied.as_ref());
        let fix = passed.fix_applied.clone().filter(|fix| !fix.hunks.is_empty())?;
        let analysis = failure.analysis.as_ref();
        let citation = |hunk: &Hunk| {
            let after = hunk.text.lines().filter(|line| !line.starts_with('-')).count();
            let last = hunk.line.saturating_add(u32::try_from(after).unwrap_or(u32::MAX).saturating_sub(1));
            Citation { path: hunk.path.clone(), blob: hunk.blob, lines: (hunk.line, last) }
        };
        Some(Self {
            id: fingerprint.into(),
            fingerprints: [fingerprint].into(),
            test: failure.test_name.clone(),
            template: template(failure),
            error_type: failure.error_type,
            cause: analysis.map_or_else(String::new, |analysis| text::start(&analysis.root_cause, 400)),
            category: analysis.map_or(RootCauseCategory::Other, |analysis| analysis.category),
            citations: fix.hunks.iter().map(citation).collect(),
            fix,
            fix_pull_request: passed.pull_request,
            fixed_at: passed.timestamp,
            tried_and_failed: tried.map(|fix| format!("{} ({})", fix.description, fix.diff_summary)).collect(),
            mended_in: [passed.session_id.clone()].into(),
            offered: 0,
            followed: 0,
            went_green: 0,
            worked: 0,
            stale: 0,
            first_seen: run.iter().find(fails)?.timestamp,
            last_seen: run.get(at)?.timestamp,
        })
    }

    /// Takes in what another run taught of the same error: the newest fix stays, in whatever order they come.
    pub(super) fn merge(&mut self, mut other: Self) {
        if (other.fixed_at, other.fix.commit) > (self.fixed_at, self.fix.commit) {
            let (offered, followed, went_green, worked) = (self.offered, self.followed, self.went_green, self.worked);
            std::mem::swap(self, &mut other);
            (self.offered, self.followed, self.went_green, self.worked) = (offered, followed, went_green, worked);
        }
        let first = |one: &BTreeSet<String>, other, most| one.union(other).take(most).cloned().collect();
        self.mended_in = first(&self.mended_in, &other.mended_in, MOST_RUNS);
        self.tried_and_failed = first(&self.tried_and_failed, &other.tried_and_failed, MOST_TRIED);
        self.fingerprints.extend(other.fingerprints);
        self.first_seen = self.first_seen.min(other.first_seen);
        self.last_seen = self.last_seen.max(other.last_seen);
    }

    /// Counts that it was shown, and the next attempt's result, or that it was found stale.
    pub(super) fn count(&mut self, found: &MemoryMatch) {
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
    /// while the lines around the change are found, as they were before it or after it. `file` gives a path's text at the
    /// head.
    pub fn find<'a>(&self, file: impl Fn(&str) -> Option<&'a str>) -> Option<u32> {
        let lines = self.fix.hunks.iter().map(|hunk| {
            let text = file(&hunk.path)?;
            hunk.find('-', text).or_else(|| hunk.find('+', text))
        });
        lines.collect::<Option<Vec<u32>>>()?.first().copied()
    }
}
