//! What failed before in a repository and what mended it: debug memory, as pure code.
//!
//! Each counted attempt leaves a [`MemoryLine`]. The lines of a run teach: a failure that is fixed in the passing
//! attempt right after it becomes a [`Card`] with the change that fixed it, and a card whose fix worked in two runs is
//! a pattern. An attempt that weakens what checks it, or in which the failing test did not run, makes no card.
//! [`Memory`] holds the cards, how often each error was seen, and what came after cards were shown. A look-up
//! ([`Memory::look_up`]) goes from the surest likeness to the loosest and stops at the first at which a card's place is
//! found ([`Card::find`]); it shows nothing rather than guess.
//!
//! What comes out of a memory is text from outside: anybody with push access can write its refs.

mod card;
mod found;
mod line;
mod recall;
mod retention;
#[cfg(test)]
mod tests;

pub use card::{Card, Memory, Recurring, Resolution};
pub use found::{
    MatchOutcome, MemoryMatch, Offers, Rate, SettledDispute, Settlement, ShownFix, Tier,
};
pub use line::{AppliedFix, Hunk, LineStatus, MEMORY_SCHEMA, MemoryLine, Rights, shorten, union};
pub use recall::{MOST_SHOWN, RecalledCards, followed};
pub use retention::{Folder, Retention, Week, redact, redact_value};
