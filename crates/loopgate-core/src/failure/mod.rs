//! Understanding a failure: what makes it the same as another, where it comes from, and what would mend it.
//!
//! A failure comes in as the text of some tool. [`complete`] fills in what its report left out; [`fingerprint()`]
//! tells whether it is the same error as another; [`blame_check`] and [`retry_class`] say whose it is and whether trying
//! again can help; [`analyse`] finds the root cause, and [`FeedbackPacket`] tells the next attempt what to do. Whoever
//! asks more than one of these examines the failure once ([`ExaminedFailure`]). All of it is pure, bounded whatever the
//! text, and rests on tables: one row per form of stack frame ([`frames`]), headline, comparison or known message.

mod analysis;
mod assertion;
mod blame;
mod category;
mod changes;
mod diagnosis;
mod error_type;
mod examined;
mod expected;
mod feedback;
mod fingerprint;
mod inspect;
mod known;
mod message;
mod normalise;
mod packet;
mod paths;
mod patterns;
mod reading;
mod reproduce;
mod stack;
mod summary;
mod test_key;
mod text;

pub use analysis::{Analysis, AnalysisContext, analyse, analyse_all};
pub use blame::{Blame, Circumstances, ExaminedCheck, Verdict, blame_check, retry_class, retry_class_of};
pub use category::{Confidence, RootCauseCategory};
pub use changes::{ChangedFile, Changes, Origin};
pub use examined::ExaminedFailure;
pub use feedback::{FeedbackItem, Place, Priority, summarise};
pub use fingerprint::fingerprint;
pub use inspect::{FailureInspection, complete, inspect, read_failure, sides};
pub use packet::{
    Entry, EntryKind, FEEDBACK_SCHEMA, FailingCheck, FeedbackPacket, MAX_PACKET, PacketInput, PastFailure, SinceLast,
    Tried, highest_priority,
};
pub use reproduce::{CheckContext, quoted_word, reproduce, rerun};
pub use stack::{Frame, frames};
pub use summary::cut_at_sentence;
pub use text::Excerpt;
