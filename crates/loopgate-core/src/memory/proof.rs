//! Whether a shown fix was followed, and whether the error was gone after it.

use serde::{Deserialize, Serialize};

use super::{Citation, Hunk, MatchOutcome, MemoryMatch, Tier, ToldFix};
use crate::observed::{ChangedFile, hunk_start};

/// Lines from a card's place within which a change follows it.
const NEAR: u32 = 20;

/// Whether a change was made where a card says: within 20 lines of its place, or by adding its hunk. None where a patch
/// of that file is not known.
pub fn followed(told: &ToldFix, files: &[ChangedFile]) -> Option<bool> {
    let hunk = Hunk { path: told.path.clone(), blob: None, line: told.line, text: told.hunk.clone() };
    let last = told.line.saturating_add(u32::try_from(hunk.added().count()).unwrap_or(u32::MAX)).saturating_sub(1);
    let mut known = true;
    for file in files.iter().filter(|file| file.paths().any(|path| path == told.path)) {
        let Some(patch) = file.patch.as_deref() else {
            known = false;
            continue;
        };
        let near = |at: u32| at.saturating_add(NEAR) >= told.line && at <= last.saturating_add(NEAR);
        if changed_lines(patch).into_iter().any(near) {
            return Some(true);
        }
    }
    let added: Vec<&str> = files
        .iter()
        .filter_map(|file| file.patch.as_deref())
        .flat_map(|patch| patch.lines().filter_map(|line| line.strip_prefix('+')))
        .map(str::trim)
        .collect();
    let mut wanted = hunk.added().peekable();
    let adds = wanted.peek().is_some() && wanted.all(|line| added.contains(&line));
    (known || adds).then_some(adds)
}

/// The lines a patch changes, as numbers after it.
fn changed_lines(patch: &str) -> Vec<u32> {
    let (mut line, mut changed) = (0_u32, Vec::new());
    for text in patch.lines() {
        match text.as_bytes().first() {
            Some(b'@') => line = text.strip_prefix("@@ ").and_then(hunk_start).unwrap_or(line),
            Some(b'+') => {
                changed.push(line);
                line = line.saturating_add(1);
            }
            Some(b'-') => changed.push(line),
            _ => line = line.saturating_add(1),
        }
    }
    changed
}

/// Retries for which a verified card of the first tier was shown, and whether the error was gone in the next counted
/// attempt; and all retries beside them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    pub shown: Rate,
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

impl Trial {
    pub(crate) fn count(&mut self, found: &MemoryMatch) {
        if let (MatchOutcome::Shown, Some(Tier::SameError), Some(gone)) = (found.outcome, found.tier, found.went_green)
        {
            self.shown.count(gone);
        }
    }
}

impl Citation {
    /// `src/a.rs:3-9`
    pub fn place(&self) -> String {
        format!("{}:{}-{}", self.path, self.lines.0, self.lines.1)
    }
}
