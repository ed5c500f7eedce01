//! Coverage by type of change: which type a change is, which of its lines tests executed, which sorts
//! of tests it came with.
//!
//! ```text
//! title, branch, body, files ───────► change_type  the row of the table that holds
//! reports + diff ───────────────────► measure      where the checks ran: covered and coverable lines of the change
//! evidence of several jobs ─────────► claims       where it is decided: checked, and put together
//! diff, base, proof ────────────────► required     sorts of tests: there, missing, or unknown
//! ```
//!
//! Measuring needs the reports, so it happens in `verify`; what it found travels in `evidence.json`, which the pull
//! request's own code may have written. The verdict checks the figures against themselves and against the diff.

mod change_type;
mod claims;
mod measure;
mod required;
#[cfg(test)]
mod story_tests;

pub use change_type::{change_type, stricter, type_of_label};
pub use claims::{believe, combine, validate};
pub use measure::{coverable_lines, measure};
pub use required::{DeclaredTest, MissingTests, TestsStanding, new_tests, standings};

/// Coverage may lose this many percentage points against the base and still match it.
pub const TOLERATED_LOSS: f64 = 0.1;
