//! Whether a shown fix was followed, and whether the error was gone after it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Hunk, MatchOutcome, MemoryMatch, ToldFix};
use crate::observed::{ChangedFile, Patch};

/// Lines from a card's place within which a change follows it.
const NEAR: u32 = 20;

/// Whether a change was made where a card says: within 20 lines of its place, or by adding its hunk. None where a patch
/// of that file is not known.
pub fn followed(told: &ToldFix, files: &[ChangedFile]) -> Option<bool> {
    let line = told.line?;
    let hunk = Hunk { path: told.path.clone(), blob: None, line, text: told.hunk.clone() };
    let last = line.saturating_add(u32::try_from(hunk.added().count()).unwrap_or(u32::MAX)).saturating_sub(1);
    let near = |at: u32| at.saturating_add(NEAR) >= line && at <= last.saturating_add(NEAR);
    let mut known = true;
    for file in files.iter().filter(|file| file.paths().any(|path| path == told.path)) {
        match file.read_patch() {
            Some(patch) if patch.lines().any(|line| line.is_changed() && near(line.new)) => return Some(true),
            Some(_) => {}
            None => known = false,
        }
    }
    let patches: Vec<Patch<'_>> = files.iter().filter_map(ChangedFile::read_patch).collect();
    let added: BTreeSet<&str> = patches.iter().flat_map(Patch::added).map(|line| line.text.trim()).collect();
    let mut wanted = hunk.added().peekable();
    let adds = wanted.peek().is_some() && wanted.all(|line| added.contains(line));
    (known || adds).then_some(adds)
}

/// What came after cards that were shown, beside what comes without them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Offers {
    pub shown: Rate,
    /// Of the shown ones those that the next change followed.
    pub followed: Rate,
    /// Errors of all failing attempts that were followed by another attempt: the base rate.
    pub all: Rate,
}

/// How often an error was gone in the next counted attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    pub retries: u32,
    pub gone: u32,
}

impl Rate {
    pub(crate) fn add(&mut self, other: Self) {
        self.retries = self.retries.saturating_add(other.retries);
        self.gone = self.gone.saturating_add(other.gone);
    }

    pub(crate) fn count(&mut self, gone: bool) {
        self.retries = self.retries.saturating_add(1);
        self.gone = self.gone.saturating_add(u32::from(gone));
    }

    /// The share, where there is any.
    pub fn share(self) -> Option<f64> {
        (self.retries > 0).then(|| f64::from(self.gone) / f64::from(self.retries))
    }
}

impl Offers {
    pub(crate) fn count(&mut self, found: &MemoryMatch) {
        if let (MatchOutcome::Shown, Some(gone)) = (found.outcome, found.went_green) {
            self.shown.count(gone);
            if found.followed == Some(true) {
                self.followed.count(gone);
            }
        }
    }
}
